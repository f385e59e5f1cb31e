"""How do commands come by a graph of terms? It is made where there is none, and that is told."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from likewise.app.figures import say
from likewise.app.options import spoken
from likewise.app.progress import OutOf, Progress

if TYPE_CHECKING:
    from likewise.engine.collection import Collection


# What is listed of a text or a list of names may be thousands.
_MOST_NAMED = 12


def graph_name(text: str) -> str:
    """Read the name of a graph."""
    return spoken([text])


def listed(names: Sequence[str]) -> str:
    """Write the first of some names in a line, and how many there are."""
    from likewise.show.text import shorten

    more = f", … ({len(names):,})" if len(names) > _MOST_NAMED else ""
    return ", ".join(shorten(name, 60) for name in names[:_MOST_NAMED]) + more


def see_graph(collection: Collection, options: argparse.Namespace) -> None:
    """See that there is a graph, showing how far it is."""
    from likewise.terms.graph_cache import has_graph

    if has_graph(collection.snapshot):
        return
    with Progress("count pairs", quiet=options.quiet) as progress:
        collection.terms.graph(progress=told_of_pairs(collection, progress))
    kept = "and kept with the collection" if has_graph(collection.snapshot) else "but not kept"
    say(options, f"a graph of terms was made {kept} (`likewise term-graph` makes others)")


def told_of_pairs(collection: Collection, progress: Progress) -> Callable[[int], None]:
    """Give what tells a progress of documents whose pairs were counted."""
    measured = OutOf(collection.snapshot.n_slots, progress)
    return lambda n_docs: progress.advance(n_docs, measured=measured)
