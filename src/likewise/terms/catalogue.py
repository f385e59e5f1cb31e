"""The term graphs of a collection: listed and found by name, made, opened and dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from likewise.collection.files import storage_errors
from likewise.collection.job import Job
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import Artifact, Manifest
from likewise.collection.snapshot import Snapshot
from likewise.collection.writer import Writer
from likewise.compiled import Ints
from likewise.derived.keeping import derive, publish, put_root, with_artifacts
from likewise.derived.kind import Progress
from likewise.derived.store import derived_of
from likewise.errors import Remedy, UsageError
from likewise.terms.counting import Counted
from likewise.terms.graph import Graph
from likewise.terms.kinds import (
    GRAPH,
    PAIRS,
    PREPARED,
    GraphRoot,
    GraphSettings,
    PreparedGraph,
    count_live,
    count_segment,
)
from likewise.terms.nodes import Nodes
from likewise.terms.occurrences import check_within
from likewise.terms.weights import weigh

# What a graph is called that was given no name.
UNNAMED = "graph"


@dataclass(frozen=True, eq=False)
class Stored:
    """A graph of a collection: its nodes, and the counts of the live documents.

    One without an entry is not stored: all of it is counted when it is asked for.
    """

    collection: Snapshot
    entry: Artifact | None
    nodes: Nodes
    settings: GraphSettings
    threads: int = field(default=1, repr=False)

    @property
    def name(self) -> str:
        """The name that the graph is stored under, or would be."""
        return self.entry.name if self.entry is not None else UNNAMED

    @cached_property
    def counted(self) -> Counted:
        """The counts of pairs and nodes in the live documents."""
        root = GraphRoot(self.nodes, self.settings)
        return count_live(self.collection, root, self._segment, threads=self.threads)

    def prepared(self) -> PreparedGraph | None:
        """Give what is kept ready of the graph; None where nothing is."""
        if self.entry is None:
            return None
        return derived_of(self.collection).stored(PREPARED.name, self.entry.name)

    def weighed(self, by: str, least: int) -> Graph:
        """Give the graph of these weights; the last one that was asked for is kept."""
        if (by, least) not in self._weighed:
            self._weighed.clear()
            self._weighed[by, least] = weigh(self.counted, by, least=least)
        return self._weighed[by, least]

    @cached_property
    def _weighed(self) -> dict[tuple[str, int], Graph]:
        return {}

    @cached_property
    def term_numbers(self) -> Ints:
        """The collection's number of each node that is a single term, -1 for others.

        Exact names may be several spellings of one term: it is left to the first of them.
        """
        numbers = self.nodes.term_numbers(self.collection)
        _, first = np.unique(numbers, return_index=True)
        out = np.full(len(numbers), -1, np.int64)
        out[first] = numbers[first]
        return out

    @cached_property
    def node_of(self) -> dict[int, int]:
        """The node of each of the collection's terms that is one."""
        numbers = enumerate(self.term_numbers.tolist())
        return {number: node for node, number in numbers if number >= 0}

    def missing(self) -> list[int]:
        """List the segments of which no pairs are stored."""
        every = range(len(self.collection.segments))
        if self.entry is None:
            return [*every]
        derived, name = derived_of(self.collection), self.entry.name
        return [i for i in every if not derived.is_stored(PAIRS.name, name, i)]

    def _segment(self, i: int) -> Counted:
        if self.entry is None:
            root = GraphRoot(self.nodes, self.settings)
            return count_segment(self.collection, root, i, threads=self.threads)
        derived, name = derived_of(self.collection), self.entry.name
        counted: Counted = derived.of_segment(PAIRS.name, name, i, threads=self.threads)
        return counted


def stored_graphs(manifest: Manifest) -> list[str]:
    """List the graphs of a collection by name."""
    return [entry.name for entry in manifest.artifacts if entry.kind == GRAPH.name]


def check_graph_name(manifest: Manifest, name: str) -> None:
    """Raise where a graph cannot be called that."""
    if not name or not name.isprintable():
        raise UsageError(f"{name!r} cannot be the name of a graph: give plain text")
    if any(entry.name == name and entry.kind == "model" for entry in manifest.artifacts):
        raise UsageError(f"{name!r} is the name of a model; give another name")


def find_graph(snapshot: Snapshot, name: str | None = None) -> Artifact:
    """Find a graph, or raise; without a name, the one that is called "graph".

    Where none is called so, it is the one that was made last.
    """
    graphs = snapshot.artifacts(GRAPH.name)
    if not graphs:
        raise UsageError(
            f"{snapshot.folder} has no term graph",
            remedy=Remedy(
                "make one with terms.make_graph()",
                f"make one with: likewise term-graph {snapshot.folder}",
            ),
        )
    for entry in graphs:
        if entry.name == (name or UNNAMED):
            return entry
    if name is None:
        return graphs[-1]
    known = ", ".join(entry.name for entry in graphs)
    raise UsageError(f"no term graph {name!r} in {snapshot.folder}; there is {known}")


def open_counts(snapshot: Snapshot, name: str | None = None, *, threads: int = 1) -> Stored:
    """Open a graph of the collection, once; which one without a name, see `find_graph`."""
    entry = find_graph(snapshot, name)

    def make() -> Stored:
        root: GraphRoot = derived_of(snapshot).root(GRAPH.name, entry.name)
        return Stored(snapshot, entry, *root, threads)

    return snapshot.memo(("term graph", entry.name), make)


def store_graph(
    snapshot: Snapshot,
    nodes: Nodes,
    settings: GraphSettings = GraphSettings(),
    *,
    name: str = UNNAMED,
    threads: int = 1,
    progress: Progress | None = None,
    wait: bool = True,
) -> None:
    """Count a graph of nodes and store it with the collection, in place of one of the same name.

    `progress` is told of documents. Others may write meanwhile, and are waited for at the end; who
    does not `wait` gets an error. Pairs that find no room are counted when they are asked for.
    """
    check_within(nodes, settings.within)
    if len(nodes) == 0:
        raise UsageError("a graph needs at least one node")
    check_graph_name(snapshot.manifest, name)

    def check(writer: Writer) -> Mapping[str, str]:
        check_graph_name(writer.manifest, name)
        return writer.manifest.defaults

    with storage_errors(snapshot.folder):
        if not wait:
            # Not after all has been counted.
            WriteLock(snapshot.folder).release()
        with Job(snapshot.folder) as job:
            made = GraphRoot(nodes, settings)
            root = put_root(job, GRAPH.name, name, made.arrays(), made.about())
            private = with_artifacts(snapshot, [root], job)
            rest = derive(private, root, job, threads=threads, progress=progress)
            publish(snapshot, [root, *rest], job, check, wait=wait)


def drop_graph(folder: Path, name: str) -> None:
    """Remove a graph from a collection, with all that was counted for it."""
    with Writer(folder) as writer:
        writer.put(drop=[find_graph(writer.snapshot, name).id])
