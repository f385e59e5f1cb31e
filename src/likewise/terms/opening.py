"""Which graph is asked? One that is stored with the collection, or one that is counted now."""

from __future__ import annotations

from typing import NamedTuple

from likewise.collection.snapshot import Snapshot
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import choose_nodes, usual_filters
from likewise.terms.related import TermGraph
from likewise.terms.store import (
    GraphSettings,
    Stored,
    find_graph,
    open_counts,
    stored_graphs,
)

# So many ways to ask are kept: each may have a graph of its own.
_MOST_KEPT = 8


class _Kept(NamedTuple):
    """What was opened of a snapshot: by name, and by name and nearness."""

    counts: dict[str, Stored]
    graphs: dict[tuple[str, Nearness], TermGraph]


def has_graph(snapshot: Snapshot) -> bool:
    """Tell whether a graph is stored with the collection."""
    return bool(stored_graphs(snapshot.manifest))


def is_open(snapshot: Snapshot) -> bool:
    """Tell whether a graph was opened without a name before, or made where there is none."""
    return "" in _kept(snapshot).counts


def open_graph(
    snapshot: Snapshot, name: str = "", nearness: Nearness = Nearness(), *, threads: int = 1
) -> TermGraph:
    """Open a graph; without a name the one called "graph" (else the last), or one made now.

    What was opened of a snapshot is kept with it.
    """
    counts, graphs = _kept(snapshot)
    if not name and has_graph(snapshot):
        name = find_graph(snapshot).name
    found = graphs.get((name, nearness))
    if found is None:
        # Other threads may open graphs as well, and drop this one.
        while len(graphs) >= _MOST_KEPT:
            graphs.pop(next(iter(graphs)), None)
        if name not in counts:
            counts[name] = _counts(snapshot, name, threads)
        found = graphs[name, nearness] = TermGraph(counts[name], nearness, threads=threads)
    return found


def _kept(snapshot: Snapshot) -> _Kept:
    # On the snapshot itself: graphs refer to it, and a table beside it would never let it go.
    kept: _Kept = vars(snapshot).setdefault("_term_graphs", _Kept({}, {}))
    return kept


def _counts(snapshot: Snapshot, name: str, threads: int) -> Stored:
    if name or has_graph(snapshot):
        return open_counts(snapshot, name or None, threads=threads)
    settings = GraphSettings(filters=usual_filters(snapshot.n_docs))
    return Stored(snapshot, None, choose_nodes(snapshot, settings.filters), settings, threads)
