"""What is kept of a document to compare it: its compact half, and the words that are its own.

The compact half is a vector of length one: of topics the square roots of their shares, so that an
inner product is Bhattacharyya's and goes with Hellinger distance; of axes the direction of the
projection; of vectors from elsewhere their direction from the mean. A byte a coordinate is kept of
it (`neighbours.coded`). Own words have the weights of the model's triple, a byte each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.files import ArrayWriter, map_array
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ids, Ints, Offsets
from likewise.errors import DamagedError
from likewise.models.store import AnyModel
from likewise.models.supplied import SuppliedModel
from likewise.models.topics import TopicModel
from likewise.models.triple import Triples
from likewise.neighbours.coded import Coded, Codes, decode, encode, round_rows

_DOCS_AT_ONCE = 4096

Watch = Callable[[int], None]


class Halves(NamedTuple):
    """Both halves of documents, a row each.

    `points` are the compact halves, `shares` those of topics and of own words. Own words of
    document i are `terms[bounds[i]:bounds[i + 1]]`, with weights `weights * word_scales[i]`.
    """

    points: Coded
    shares: NDArray[np.float32]
    bounds: Offsets
    terms: Ids
    weights: Codes
    word_scales: Floats

    @property
    def n_docs(self) -> int:
        """How many documents there are."""
        return len(self.shares)

    @property
    def n_bytes(self) -> int:
        """How much memory they take."""
        return sum(array.nbytes for array in (*self.points, *self[1:]))


def halve(
    collection: Snapshot, model: AnyModel, docs: Ints, *, words: int, threads: int = 1
) -> Halves:
    """Work out the halves of documents."""
    counts = collection.term_counts(docs)
    triples = model.decompose(counts, words=words, threads=threads)
    if isinstance(model, SuppliedModel):
        return as_halves(triples, model.blended(model.placed(collection, docs), triples))
    return as_halves(triples, model.compact(counts, triples))


def as_halves(triples: Triples, vectors: Floats) -> Halves:
    """Keep of triples what is compared, with these compact halves."""
    n_docs = len(vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = encode((vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32))
    sizes = np.diff(triples.bounds)
    weights = np.empty(len(triples.weights), np.int8)
    scales = np.zeros(n_docs, np.float32)
    # Rows of unequal length, each by itself: the largest weight of each is its first.
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        places = triples.bounds[mine][:, None] + np.arange(size)
        codes, its_scales = np.empty((len(mine), size), np.int8), np.empty(len(mine), np.float32)
        round_rows(np.ascontiguousarray(triples.weights[places], np.float32), codes, its_scales)
        weights[places], scales[mine] = codes, its_scales
    return Halves(
        points,
        np.ascontiguousarray(triples.shares[:, :2]),
        triples.bounds.astype(np.uint32),
        triples.terms.astype(np.int32),
        weights,
        scales,
    )


def vectors_of(model: AnyModel, halves: Halves) -> Floats:
    """Give compact halves as a model's own vectors: shares of topics, projections, directions."""
    rows = decode(halves.points)
    if isinstance(model, TopicModel):
        return rows * rows
    if isinstance(model, SuppliedModel):
        return rows
    return rows * np.sqrt(halves.shares[:, :1])


def put_together(parts: list[Halves]) -> Halves:
    """Make one of the halves of several lots of documents."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([np.diff(part.bounds.astype(np.int64)) for part in parts])
    return Halves(
        Coded(
            np.concatenate([part.points.codes for part in parts]),
            np.concatenate([part.points.scales for part in parts]),
        ),
        np.concatenate([part.shares for part in parts]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32),
        np.concatenate([part.terms for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.word_scales for part in parts]),
    )


def halve_all(
    collection: Snapshot,
    model: AnyModel,
    docs: Ints,
    *,
    words: int,
    threads: int = 1,
    watch: Watch | None = None,
) -> Iterator[Halves]:
    """Work out the halves of many documents, some thousands at a time."""
    # A segment of no documents has halves of none.
    for start in range(0, max(len(docs), 1), _DOCS_AT_ONCE):
        block = docs[start : start + _DOCS_AT_ONCE]
        yield halve(collection, model, block, words=words, threads=threads)
        if watch:
            watch(len(block))


# On disk

_FILES: dict[str, Any] = {
    "codes": np.int8,
    "scales": np.float32,
    "shares": np.float32,
    "bounds": np.uint32,
    "terms": np.int32,
    "weights": np.int8,
    "word-scales": np.float32,
}


def write_halves(folder: Path, parts: Iterator[Halves]) -> None:
    """Write halves as arrays, lot by lot."""
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(ArrayWriter(folder / f"{name}.npy", dtype))
            for name, dtype in _FILES.items()
        }
        files["bounds"].append(np.zeros(1, np.uint32))
        before = 0
        for part in parts:
            bounds = part.bounds[1:].astype(np.int64) + before
            values: list[NDArray[Any]] = [*part.points, part.shares, bounds, part.terms]
            values += [part.weights, part.word_scales]
            for name, array in zip(_FILES, values, strict=True):
                files[name].append(array.ravel())
            before += int(part.bounds[-1])


def map_halves(folder: Path, n_docs: int, n_topics: int) -> Halves:
    """Map what `write_halves` wrote of so many documents."""
    arrays = {name: map_array(folder / f"{name}.npy") for name in _FILES}
    sizes = {"codes": n_docs * n_topics, "scales": n_docs, "shares": 2 * n_docs}
    sizes |= {"bounds": n_docs + 1, "word-scales": n_docs}
    for name, size in sizes.items():
        if len(arrays[name]) != size:
            raise DamagedError(f"{folder}: {name} has {len(arrays[name])} numbers, not {size}")
    return Halves(
        Coded(arrays["codes"].reshape(n_docs, n_topics), arrays["scales"]),
        arrays["shares"].reshape(n_docs, 2),
        arrays["bounds"],
        arrays["terms"],
        arrays["weights"],
        arrays["word-scales"],
    )
