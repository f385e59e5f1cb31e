"""How do graphs stay with their collection? The nodes as a model, the pairs of each segment.

Pairs that are missing (of a segment that was added or merged and then the machine stopped) are
counted when they are asked for, so that a graph never depends on what is stored. What deleted
documents counted for is subtracted: their text is there until a merge.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from likewise.collection.files import check_content, check_size, map_array, write_array, write_bytes
from likewise.collection.manifest import (
    GRAPH,
    DerivedEntry,
    Manifest,
    ModelEntry,
    read_manifest,
)
from likewise.collection.merge import Watch
from likewise.collection.snapshot import DERIVED, MODELS, Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.compiled import Ids, Ints
from likewise.errors import (
    CollectionError,
    DamagedError,
    FormatError,
    StorageError,
    UsageError,
)
from likewise.terms.counting import Counted, add, count_pairs, map_counted, no_counts, subtract
from likewise.terms.graph import Graph
from likewise.terms.nodes import SENTENCE, TERMS, Filters, Heard, Nodes
from likewise.terms.sightings import check_within, sightings
from likewise.terms.weights import weigh
from likewise.text.analysis import encode
from likewise.text.table import Strings

PAIRS = "pairs"
_BEING_MADE = " (being made)"
FORMAT = 1
_ABOUT = "graph.json"
_CHECKED_AT_OPEN = 64 << 20


@dataclass(frozen=True)
class GraphSettings:
    """How a graph was made: what pairs stand within, and where its nodes come from.

    `filters` are those of terms; `names` says how names were given (a file, an extractor).
    """

    within: str = SENTENCE
    filters: Filters = field(default_factory=Filters)
    names: str = ""


@dataclass(frozen=True, eq=False)
class Stored:
    """A graph of a collection: its nodes, and the counts of the live documents.

    One without an entry is not stored: all of it is counted when it is asked for.
    """

    collection: Snapshot
    entry: ModelEntry | None
    nodes: Nodes
    settings: GraphSettings
    threads: int = field(default=1, repr=False)

    @property
    def name(self) -> str:
        """The name that the graph is stored under, or would be."""
        return self.entry.name if self.entry is not None else GRAPH

    @cached_property
    def counted(self) -> Counted:
        """The counts of pairs and nodes in the live documents.

        One segment without deletions gives the stored arrays, mapped.
        """
        parts = [self._segment(i) for i in range(len(self.collection.segments))]
        # From the smallest on, so that the largest is copied once.
        parts.sort(key=lambda part: len(part.pairs.columns))
        total = parts[0] if parts else no_counts(len(self.nodes))
        for part in parts[1:]:
            total = add(total, part, threads=self.threads)
        for i, segment in enumerate(self.collection.segments):
            if len(segment.deleted):
                gone = self._count(i, np.sort(segment.deleted))
                total = subtract(total, gone, threads=self.threads)
        return total

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
        names = [segment.entry.name for segment in self.collection.segments]
        return [i for i, name in enumerate(names) if name not in self._found]

    def write(self, segment: int, folder: Path, watch: Watch | None = None) -> None:
        """Count the pairs of all documents of a segment into a folder."""
        self._count(segment, None, to=folder, watch=watch)

    @cached_property
    def _found(self) -> dict[str, DerivedEntry]:
        if self.entry is None:
            return {}
        entries = self.collection.derived(PAIRS, model=self.entry.folder)
        return {entry.segments[0]: entry for entry in entries}

    def _segment(self, i: int) -> Counted:
        segment = self.collection.segments[i]
        derived = self._found.get(segment.entry.name)
        # A writer may have removed it after the collection was opened; the segment is mapped.
        if derived is None or not (self.collection.folder / DERIVED / derived.folder).exists():
            return self._count(i, None)
        folder = self.collection.derived_folder(derived)
        counted = map_counted(folder, segment.n_docs)
        _check(counted, len(self.nodes), folder)
        return counted

    def _count(
        self, segment: int, docs: Ints | None, to: Path | None = None, watch: Watch | None = None
    ) -> Counted:
        seen = sightings(
            self.collection,
            self.nodes,
            segment,
            docs,
            within=self.settings.within,
            threads=self.threads,
        )
        # Beside the folder, where the next writer sweeps away what a killed one left.
        scratch = to.parent if to is not None else None
        return count_pairs(
            seen, len(self.nodes), folder=scratch, to=to, threads=self.threads, watch=watch
        )


def store_graph(
    writer: Writer,
    nodes: Nodes,
    settings: GraphSettings = GraphSettings(),
    *,
    name: str = GRAPH,
    threads: int = 1,
    watch: Watch | None = None,
) -> None:
    """Store a graph of nodes with the collection, in place of one of the same name.

    `watch` is told of documents. Pairs that find no room are left to be counted when asked for.
    """
    check_within(nodes, settings.within)
    if len(nodes) == 0:
        raise UsageError("a graph needs at least one node")
    check_graph_name(writer.manifest, name)
    # Under another name until its pairs are there: the old graph stays if this is broken off.
    aside = name + _BEING_MADE
    writer.put_model(aside, kind=GRAPH, write=lambda folder: _write(folder, nodes, settings))
    _store_pairs(writer, aside, threads, watch)
    others = [entry for entry in writer.manifest.models if _final(entry.name) != name]
    made = next(entry for entry in writer.manifest.models if entry.name == aside)
    writer.commit(models=[*others, dataclasses.replace(made, name=name)])


def _final(name: str) -> str:
    return name.removesuffix(_BEING_MADE)


def check_graph_name(manifest: Manifest, name: str) -> None:
    """Raise where a graph cannot be called that."""
    for entry in manifest.models:
        if entry.name == name and entry.kind != GRAPH:
            raise UsageError(
                f"{name!r} is the name of a model of kind {entry.kind}; give another name"
            )


def stored_graphs(manifest: Manifest) -> list[str]:
    """List the graphs of a collection by name; what was broken off is none."""
    graphs = [entry.name for entry in manifest.models if entry.kind == GRAPH]
    return [name for name in graphs if name == _final(name)]


def keep_up_graphs(writer: Writer, *, threads: int = 1, watch: Watch | None = None) -> None:
    """Store the pairs of documents that are new, or were merged, for every graph."""
    for name in stored_graphs(writer.manifest):
        _store_pairs(writer, name, threads, watch)


def find_graph(snapshot: Snapshot, name: str | None = None) -> ModelEntry:
    """Find the entry of a graph, or raise; without a name, the one that is called "graph".

    Where none is called so, it is the one that was made last.
    """
    named = {*stored_graphs(snapshot.manifest), *([name] if name else [])}
    graphs = [e for e in snapshot.manifest.models if e.kind == GRAPH and e.name in named]
    if not graphs:
        raise UsageError(
            f"{snapshot.folder} has no term graph; make one with: likewise term-graph "
            f"{snapshot.folder}"
        )
    for entry in graphs:
        if entry.name == (name or GRAPH):
            return entry
    if name is None:
        return graphs[-1]
    known = ", ".join(entry.name for entry in graphs)
    raise UsageError(f"no term graph {name!r} in {snapshot.folder}; there is {known}")


def open_counts(snapshot: Snapshot, name: str | None = None, *, threads: int = 1) -> Stored:
    """Open a graph of the collection; which one without a name, see `find_graph`."""
    entry = find_graph(snapshot, name)
    folder = snapshot.folder / MODELS / entry.folder
    try:
        for file, expected in entry.files.items():
            check = check_content if expected.size <= _CHECKED_AT_OPEN else check_size
            check(folder / file, expected)
        nodes, settings = _read(folder)
    except (DamagedError, FileNotFoundError):
        if any(one.folder == entry.folder for one in read_manifest(snapshot.folder).models):
            raise
        raise CollectionError(
            f"{snapshot.folder} has changed since it was opened: the graph {entry.name!r} was "
            "made again or removed; open the collection again, or refresh() it"
        ) from None
    return Stored(snapshot, entry, nodes, settings, threads)


def _store_pairs(writer: Writer, name: str, threads: int, watch: Watch | None) -> None:
    with suppress(OSError, StorageError):
        snapshot = open_snapshot(writer.folder)
        folder = find_graph(snapshot, name).folder
        stored = open_counts(snapshot, name, threads=threads)
        for i in stored.missing():

            def write(folder: Path, i: int = i) -> None:
                stored.write(i, folder, watch)

            segment = stored.collection.segments[i].entry.name
            writer.put_derived(PAIRS, model=folder, segments=[segment], write=write)


def _write(folder: Path, nodes: Nodes, settings: GraphSettings) -> None:
    about: dict[str, Any] = {
        "format": FORMAT,
        "kind": nodes.kind,
        "left_out": list(nodes.left_out),
        "merged": [list(pair) for pair in nodes.merged],
        "settings": dataclasses.asdict(settings),
    }
    if nodes.kind == TERMS:
        write_array(folder / "numbers.npy", nodes.numbers, np.int64)
    else:
        names = Strings.of([encode(name) for name in nodes.texts])
        write_array(folder / "names.npy", names.arena)
        write_array(folder / "names-offsets.npy", names.offsets)
    if nodes.heard is not None:
        about["heard"] = nodes.heard.within
        write_array(folder / "heard-keys.npy", nodes.heard.keys, np.uint64)
        write_array(folder / "heard-bounds.npy", nodes.heard.bounds, np.int64)
        write_array(folder / "heard-nodes.npy", nodes.heard.nodes, np.int32)
        write_array(folder / "heard-sentences.npy", nodes.heard.sentences, np.int32)
    write_bytes(folder / _ABOUT, orjson.dumps(about))


def _read(folder: Path) -> tuple[Nodes, GraphSettings]:
    about = orjson.loads((folder / _ABOUT).read_bytes())
    if about["format"] != FORMAT:
        raise FormatError(f"{folder}: a graph of format {about['format']}; make it again")
    stored = about["settings"]
    settings = GraphSettings(**stored | {"filters": Filters(**stored["filters"])})
    if about["kind"] == TERMS:
        return Nodes(TERMS, map_array(folder / "numbers.npy")), settings
    names = Strings(map_array(folder / "names.npy"), map_array(folder / "names-offsets.npy"))
    heard = None
    if "heard" in about:
        heard = Heard(
            map_array(folder / "heard-keys.npy"),
            map_array(folder / "heard-bounds.npy"),
            map_array(folder / "heard-nodes.npy"),
            map_array(folder / "heard-sentences.npy"),
            about["heard"],
        )
        _check_heard(heard, names.size, folder)
    nodes = Nodes(
        about["kind"],
        texts=tuple(name.decode() for name in names.all()),
        left_out=tuple(about["left_out"]),
        merged=tuple((name, into) for name, into in about["merged"]),
        heard=heard,
    )
    return nodes, settings


def _check(counted: Counted, n_nodes: int, folder: Path) -> None:
    """Raise unless the arrays fit together, so that no kernel reads outside them."""
    bounds, columns, counts = counted.pairs
    whole = (len(bounds), len(counts), len(counted.doc_freqs)) == (
        n_nodes + 1,
        len(columns),
        n_nodes,
    )
    if not (whole and are_rows(bounds, len(columns)) and are_within(columns, n_nodes)):
        raise DamagedError(f"{folder}: pairs that do not fit together; make the graph again")


def _check_heard(heard: Heard, n_nodes: int, folder: Path) -> None:
    n_texts, n = len(heard.keys), len(heard.nodes)
    whole = (len(heard.bounds), len(heard.sentences)) == (n_texts + 1, n)
    if not (whole and are_rows(heard.bounds, n) and are_within(heard.nodes, n_nodes)):
        raise DamagedError(f"{folder}: names that do not fit together; make the graph again")


def are_rows(bounds: Ints, n: int) -> bool:
    """Tell whether rows follow each other from 0 to n."""
    ends = bounds.dtype == np.int64 and bounds[0] == 0 and bounds[-1] == n
    return bool(ends and (np.diff(bounds) >= 0).all())


def are_within(numbers: Ids, n: int) -> bool:
    """Tell whether numbers go from 0 to below n."""
    # As unsigned numbers those below 0 are too large as well: one pass is enough.
    return numbers.dtype == np.int32 and bool(numbers.view(np.uint32).max(initial=0) < max(n, 1))
