"""Which graph is asked? One that is stored with the collection, or one that is counted now."""

from __future__ import annotations

from likewise.collection.snapshot import Snapshot
from likewise.terms.catalogue import Stored, find_graph, open_counts, stored_graphs
from likewise.terms.kinds import GraphSettings
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import choose_nodes, usual_filters
from likewise.terms.related import TermGraph

# So many ways to ask are kept: each may have a graph of its own.
_MOST_KEPT = 8
_COUNTED_NOW = "term graph counted now"


def has_graph(snapshot: Snapshot) -> bool:
    """Tell whether a graph is stored with the collection."""
    return bool(stored_graphs(snapshot.manifest))


def is_open(snapshot: Snapshot) -> bool:
    """Tell whether a graph was counted before, where none is stored."""
    return snapshot.made(_COUNTED_NOW) is not None


def open_graph(
    snapshot: Snapshot, name: str = "", nearness: Nearness = Nearness(), *, threads: int = 1
) -> TermGraph:
    """Open a graph; without a name the one called "graph" (else the last), or one made now.

    What was opened of a snapshot is kept with it.
    """
    graphs: dict[tuple[str, Nearness], TermGraph] = snapshot.memo("term graphs", dict)
    if not name and has_graph(snapshot):
        name = find_graph(snapshot).name
    found = graphs.get((name, nearness))
    if found is None:
        # Other threads may open graphs as well, and drop this one.
        while len(graphs) >= _MOST_KEPT:
            graphs.pop(next(iter(graphs)), None)
        counts = open_counts(snapshot, name, threads=threads) if name else _now(snapshot, threads)
        found = graphs[name, nearness] = TermGraph(counts, nearness, threads=threads)
    return found


def _now(snapshot: Snapshot, threads: int) -> Stored:
    """Give the graph of a collection that has none."""

    def make() -> Stored:
        settings = GraphSettings(filters=usual_filters(snapshot.n_docs))
        return Stored(snapshot, None, choose_nodes(snapshot, settings.filters), settings, threads)

    return snapshot.memo(_COUNTED_NOW, make)
