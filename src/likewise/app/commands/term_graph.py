"""term-graph: which terms or names are said together?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.figures import say
from likewise.app.graphs import graph_name, listed, told_of_pairs
from likewise.app.options import Commands, add_json, command, positive, print_json, spoken, whole
from likewise.app.progress import Progress
from likewise.app.texts import read_text
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.collection import Collection
    from likewise.terms.extracting import Extractor
    from likewise.terms.nodes import Filters
    from likewise.terms.related import TermGraph

_MANUAL = """\
Two terms are joined by the number of documents in which a sentence has both. The graph is stored
with the collection and kept up as documents come and go; its terms stay those that were chosen.
`terms`, `distance`, `predict-terms` and `--expand graph` use the graph that is called graph (where
there is none, the one made last), or the one that --graph names; they make one of the collection's
terms where there is no graph at all.

Names (genes, products, statutes) are given by a file, one a line, of one word or several. All words
of a name must stand one after another in a sentence, in any case and with any ending that the
collection's stemmer takes off, or with --exact letter for letter; the longest name wins.
Punctuation is no part of a word: names that differ in nothing else ("C", "C++") are one, and
that is said. A function of yours that takes a sentence and gives the names in it is used by
--extract; it is run once, and in documents added later its names are found letter for letter.

examples:
  likewise term-graph papers.lw
  likewise term-graph papers.lw --min-df 5 --size 20000 --within document
  likewise term-graph papers.lw --names genes.txt --exact
  likewise term-graph papers.lw --extract mymodule:find_genes --name genes
"""


def register(commands: Commands) -> None:
    """Add the command."""
    graph = command(
        commands,
        "term-graph",
        _graph,
        manual=_MANUAL,
    )
    graph.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    graph.add_argument(
        "--name",
        type=graph_name,
        default="",
        metavar="NAME",
        help="its name (default graph; with --names or --extract: names)",
    )
    graph.add_argument(
        "--within",
        choices=("sentence", "document"),
        default="sentence",
        help="where both must stand (default sentence)",
    )
    which = graph.add_mutually_exclusive_group()
    which.add_argument("--names", metavar="FILE", help="names, one a line; - is standard input")
    which.add_argument("--extract", metavar="MODULE:FUNCTION", help="what finds names in a text")
    graph.add_argument("--exact", action="store_true", help="names are found letter for letter")
    graph.add_argument(
        "--min-df",
        type=positive,
        metavar="N",
        help="terms in N documents (default 3; fewer in a small collection; with --extract: 1)",
    )
    graph.add_argument(
        "--max-df",
        type=float,
        metavar="SHARE",
        help="and at most this share of them (default 0.5; all in a small collection)",
    )
    graph.add_argument(
        "--size", type=whole, default=0, metavar="N", help="the N most frequent (default all)"
    )
    graph.add_argument("--threads", type=whole, default=0, metavar="N", help="default: all cores")
    graph.add_argument(
        "--drop", action="store_true", help="remove the graph of this name (default graph)"
    )
    graph.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(graph)


def _graph(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    collection = Collection(options.collection)
    if options.drop:
        _drop(collection, options)
        return
    if options.exact and not options.names:
        raise UsageError("--exact goes with --names")
    if options.names and (options.min_df or options.max_df or options.size):
        raise UsageError("--min-df, --max-df and --size choose terms; names are taken as they are")
    if options.extract and (options.max_df or options.size):
        raise UsageError("--max-df and --size choose terms; of names found --min-df does")
    names = read_text(options.names).split("\n") if options.names else None
    with Progress("count pairs", quiet=options.quiet) as progress:
        made = collection.terms.make_graph(
            filters=_filters(collection, options),
            names=names,
            exact=options.exact,
            extract=_extractor(options.extract) if options.extract else None,
            within=options.within,
            name=options.name,
            origin=spoken([options.names or options.extract or ""]),
            threads=options.threads,
            progress=told_of_pairs(collection, progress),
        )
    _report(options, made, progress.elapsed)


def _filters(collection: Collection, options: argparse.Namespace) -> Filters | None:
    from dataclasses import replace

    from likewise.terms.nodes import Filters, usual_filters

    if options.names or (options.extract and options.min_df is None):
        return None
    if options.extract:
        return Filters(min_df=options.min_df, max_df=1.0)
    usual = usual_filters(collection.snapshot.n_docs)
    given = {"min_df": options.min_df, "max_df": options.max_df, "size": options.size}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})


def _drop(collection: Collection, options: argparse.Namespace) -> None:
    name = options.name or "graph"
    collection.terms.drop_graph(name)
    if options.json:
        print_json({"dropped": name})
    else:
        print(f"{options.collection}: the graph {name} was removed")


def _report(options: argparse.Namespace, made: TermGraph, seconds: float) -> None:
    import numpy as np

    counted, nodes = made.stored.counted, made.stored.nodes
    seen = int(np.count_nonzero(counted.doc_freqs))
    values: dict[str, Any] = {
        "folder": str(options.collection),
        "name": made.stored.name,
        "kind": nodes.kind,
        "within": options.within,
        "terms": len(nodes),
        "mentioned": seen,
        "pairs": len(counted.pairs.columns),
        "documents": counted.n_docs,
        "left_out": list(nodes.left_out),
        "merged": [{"name": name, "into": into} for name, into in nodes.merged],
        "seconds": round(seconds, 2),
    }
    if nodes.left_out:
        say(options, f"names without a word that can be searched for: {listed(nodes.left_out)}")
    if nodes.merged:
        merged = [f"{name} into {into}" for name, into in nodes.merged]
        say(options, f"names of the same words were merged: {listed(merged)}")
    if options.json:
        print_json(values)
        return
    what = "terms" if nodes.kind == "terms" else "names"
    unseen = f" ({len(nodes) - seen:,} of them nowhere)" if seen < len(nodes) else ""
    print(
        f"{options.collection}: {made.stored.name} made, {len(nodes):,} {what}{unseen} and "
        f"{values['pairs']:,} pairs within a {options.within} of {counted.n_docs:,} documents, "
        f"{seconds:.1f} s"
    )


def _extractor(named: str) -> Extractor:
    import importlib

    module, colon, function = named.partition(":")
    if not colon or not module or not function:
        raise UsageError(f"--extract {named}: write it as module:function")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:
        # Whatever the user's module does when it is imported.
        raise UsageError(f"--extract {named}: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UsageError(f"--extract {named}: {function} is no function")
    extract: Extractor = found
    return extract
