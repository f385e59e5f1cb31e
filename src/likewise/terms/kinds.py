"""Kinds of derived data of a term graph: its nodes, the pairs of a segment, and what is kept ready.

Pairs that are not stored are counted when they are asked for, so that no answer depends on what is
stored. Those of a segment are of all its documents: what deleted ones count for is subtracted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, Output
from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ids, Ints
from likewise.derived.kind import Inputs, Kind, Scope
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.terms.counting import (
    Counted,
    add_all,
    count_pairs,
    no_counts,
    read_counted,
    subtract,
    write_pairs,
    write_sum,
)
from likewise.terms.extracting import without_texts
from likewise.terms.graph import Graph
from likewise.terms.nodes import SENTENCE, TERMS, Filters, Heard, Nodes
from likewise.terms.occurrences import Occurrences, occurrences
from likewise.text.analysis import encode
from likewise.text.table import Strings

if TYPE_CHECKING:
    from likewise.terms.eigenvectors import Leading

# Graphs of fewer pairs are made ready in a fraction of a second.
FEWEST_PAIRS = 1_000_000


@dataclass(frozen=True)
class GraphSettings:
    """How a graph was made: what pairs stand within, and where its nodes come from.

    `filters` are those of terms; `names` says how names were given (a file, an extractor).
    """

    within: str = SENTENCE
    filters: Filters = field(default_factory=Filters)
    names: str = ""


class GraphRoot(NamedTuple):
    """What a graph is counted by; everything else of it follows from the documents."""

    nodes: Nodes
    settings: GraphSettings

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is stored as arrays: lists of names may be long."""
        nodes = self.nodes
        if nodes.kind == TERMS:
            return {"numbers": nodes.numbers.astype(np.int64)}
        merged = [name for pair in nodes.merged for name in pair]
        out: dict[str, NDArray[Any]] = {}
        for name, texts in zip(_LISTS, (nodes.texts, nodes.left_out, merged), strict=True):
            out[name], out[f"{name}.offsets"] = Strings.of([encode(text) for text in texts])
        if nodes.heard is not None:
            for name, dtype in _HEARD.items():
                out[f"heard.{name}"] = getattr(nodes.heard, name).astype(dtype)
        return out

    def about(self) -> dict[str, Any]:
        """Give what is stored as plain values."""
        about = {"kind": self.nodes.kind, "settings": dataclasses.asdict(self.settings)}
        return about | ({"heard": self.nodes.heard.within} if self.nodes.heard else {})


_LISTS = ("names", "left-out", "merged")
_HEARD = {"keys": np.uint64, "bounds": np.int64, "nodes": np.int32, "sentences": np.int32}


class PreparedGraph(NamedTuple):
    """A graph by the usual weights, and the leading eigenvectors where a kernel goes by them."""

    graph: Graph
    leading: Leading | None


class GraphKind(Kind):
    """The nodes of a graph, and what an extractor said of texts."""

    name = "graph"
    scope = Scope.ROOT
    keeps_texts = True
    remedy = "make it again"

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> GraphRoot:
        """Give nodes and settings."""
        values = about["settings"]
        settings = GraphSettings(**values | {"filters": Filters(**values["filters"])})
        if about["kind"] == TERMS:
            numbers = arrays["numbers"]
            if not _are_within(numbers, inputs.snapshot.n_terms):
                raise _damaged(inputs, "terms that no document ever had")
            return GraphRoot(Nodes(TERMS, numbers), settings)
        names, left_out, merged = (
            [text.decode() for text in Strings(arrays[name], arrays[f"{name}.offsets"]).all()]
            for name in _LISTS
        )
        heard = None
        if "heard" in about:
            keys, bounds, mentions, sentences = (arrays[f"heard.{name}"] for name in _HEARD)
            heard = Heard(keys, bounds, mentions, sentences, about["heard"])
            sizes = len(heard.bounds), len(heard.sentences)
            whole = sizes == (len(heard.keys) + 1, len(heard.nodes))
            fit = whole and _are_rows(heard.bounds, len(heard.nodes))
            if not (fit and _are_within(heard.nodes, len(names))):
                raise _damaged(inputs, "names that do not fit together")
        nodes = Nodes(
            about["kind"],
            texts=tuple(names),
            left_out=tuple(left_out),
            merged=tuple(zip(merged[::2], merged[1::2], strict=True)),
            heard=heard,
        )
        return GraphRoot(nodes, settings)

    def forget(self, root: GraphRoot, gone: Iterable[Document], inputs: Inputs) -> GraphRoot | None:
        """Leave out what was heard in texts that no document has any more."""
        if root.nodes.heard is None:
            return None
        texts = (encode(content(document)) for document in gone)
        left = without_texts(root.nodes.heard, texts, inputs.snapshot)
        if left is None:
            return None
        return root._replace(nodes=dataclasses.replace(root.nodes, heard=left))


class PairsKind(Kind):
    """The pairs of all documents of a segment, deleted ones included."""

    name = "pairs"
    scope = Scope.SEGMENT
    root = "graph"

    def compute(self, inputs: Inputs, out: Output) -> None:
        """Count them."""
        root = _root(inputs)
        seen = _occurrences(inputs.snapshot, root, inputs.segment, None, inputs.threads)
        write_pairs(seen, len(root.nodes), out, threads=inputs.threads, progress=inputs.progress)

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> Counted:
        """Give the counts, in arrays that no kernel reads outside of."""
        counted, n_nodes = read_counted(arrays), len(_root(inputs).nodes)
        bounds, columns, counts = counted.pairs
        sizes = len(bounds), len(counts), len(counted.doc_freqs), counted.n_docs
        n_docs = inputs.snapshot.segments[inputs.segment].n_docs
        whole = sizes == (n_nodes + 1, len(columns), n_nodes, n_docs)
        if not (whole and _are_rows(bounds, len(columns)) and _are_within(columns, n_nodes)):
            raise _damaged(inputs, "pairs that do not fit together")
        return counted

    def join(
        self, parts: Sequence[Arrays], rows: Sequence[Ints], inputs: Inputs, out: Output
    ) -> bool:
        """Add them up; the documents that are left of a segment with deleted ones are counted."""
        root, threads = _root(inputs), inputs.threads
        whole, counted = [read_counted(part) for part in parts], []
        if not any(len(kept) == part.n_docs for kept, part in zip(rows, whole, strict=True)):
            return False
        first = 0
        for kept, part in zip(rows, whole, strict=True):
            docs = np.arange(first, first + len(kept))
            first += len(kept)
            if len(kept) < part.n_docs:
                part = count_segment(inputs.snapshot, root, inputs.segment, docs, threads=threads)
            counted.append(part)
        write_sum(counted, out, threads=threads)
        return True


class PreparedKind(Kind):
    """A large graph by the usual weights, and of the largest eigenvectors.

    They serve the usual edges and Laplacian only, and only while the documents are those that they
    were made of. Anything else is worked out when it is asked for, to the same bits: what is kept
    saves time and changes no answer.
    """

    name = "prepared"
    scope = Scope.WHOLE
    root = "graph"
    sees_deletions = True

    def due(self, inputs: Inputs, *, adding: bool) -> bool:
        """Whether the graph is large; where pairs found no room, this would not either."""
        derived = inputs.derived
        keys = [
            derived.key(PAIRS.name, inputs.name, i) for i in range(len(inputs.snapshot.segments))
        ]
        stored = [derived.artifacts[key] for key in keys if key in derived.artifacts]
        sizes = [derived.arrays(artifact).meta["n_pairs"] for artifact in stored]
        return len(stored) == len(keys) and sum(sizes) >= FEWEST_PAIRS

    def compute(self, inputs: Inputs, out: Output) -> None:
        """Weigh the pairs of the live documents."""
        from likewise.terms import kernel
        from likewise.terms.laplacian import Laplacian
        from likewise.terms.weights import weigh

        def pairs(i: int) -> Counted:
            found: Counted = inputs.derived.of_segment(PAIRS.name, inputs.name, i)
            return found

        counted = count_live(inputs.snapshot, _root(inputs), pairs, threads=inputs.threads)
        graph = weigh(counted)
        out.put("bounds", graph.bounds)
        out.put("columns", graph.columns)
        out.put("weights", graph.weights)
        out.put("parts", graph.components)
        if graph.n_edges >= kernel.LARGE:
            found = kernel.few_leading(Laplacian(graph, threads=inputs.threads))
            out.put("values", found.values, np.float64)
            out.put("vectors", found.vectors, np.float64)
            out.note(rest=[*map(float, found.rest)])

    def load(self, arrays: Arrays, about: Mapping[str, Any], inputs: Inputs) -> PreparedGraph:
        """Give the graph, and the eigenvectors where there are some."""
        graph = Graph(arrays["bounds"], arrays["columns"], arrays["weights"], arrays["parts"])
        n, size = len(_root(inputs).nodes), len(graph.columns)
        whole = (len(graph), len(graph.weights), len(graph.components)) == (n, size, n)
        fit = whole and _are_rows(graph.bounds, size) and _are_within(graph.columns, n)
        leading = None
        if fit and "rest" in arrays.meta:
            from likewise.terms.eigenvectors import Leading

            low, high = arrays.meta["rest"]
            leading = Leading(arrays["values"], arrays["vectors"], (low, high))
            fit = leading.vectors.shape == (n, len(leading.values))
        if not fit:
            raise _damaged(inputs, "arrays kept ready that do not fit together")
        return PreparedGraph(graph, leading)


GRAPH, PAIRS, PREPARED = GraphKind(), PairsKind(), PreparedKind()


def count_live(
    snapshot: Snapshot, root: GraphRoot, pairs: Callable[[int], Counted], *, threads: int = 1
) -> Counted:
    """Give the counts of the live documents, from those of all documents of each segment.

    One segment without deletions gives its arrays as they are.
    """
    parts = [pairs(i) for i in range(len(snapshot.segments))]
    total = add_all(parts, threads=threads) if parts else no_counts(len(root.nodes))
    for i, segment in enumerate(snapshot.segments):
        if len(segment.deleted):
            gone = count_segment(snapshot, root, i, np.sort(segment.deleted), threads=threads)
            total = subtract(total, gone, threads=threads)
    return total


def count_segment(
    snapshot: Snapshot, root: GraphRoot, segment: int, docs: Ints | None = None, *, threads: int = 1
) -> Counted:
    """Count the pairs of documents of a segment, without `docs` of all."""
    seen = _occurrences(snapshot, root, segment, docs, threads)
    return count_pairs(seen, len(root.nodes), threads=threads)


def _root(inputs: Inputs) -> GraphRoot:
    root: GraphRoot = inputs.derived.root(GRAPH.name, inputs.name)
    return root


def _occurrences(
    snapshot: Snapshot, root: GraphRoot, segment: int, docs: Ints | None, threads: int
) -> Iterator[Occurrences]:
    within = root.settings.within
    return occurrences(snapshot, root.nodes, segment, docs, within=within, threads=threads)


def _damaged(inputs: Inputs, how: str) -> DamagedError:
    return DamagedError(
        f"{inputs.snapshot.folder}: the graph {inputs.name!r} has {how}; make the graph again"
    )


def _are_rows(bounds: Ints, n: int) -> bool:
    """Tell whether rows follow each other from 0 to n."""
    ends = bounds.dtype == np.int64 and bounds[0] == 0 and bounds[-1] == n
    return bool(ends and (np.diff(bounds) >= 0).all())


def _are_within(numbers: Ids | Ints, n: int) -> bool:
    """Tell whether numbers go from 0 to below n."""
    # As unsigned numbers those below 0 are too large as well: one pass is enough.
    unsigned = numbers.view(f"u{numbers.itemsize}")
    return numbers.dtype.kind == "i" and bool(unsigned.max(initial=0) < max(n, 1))
