"""What is kept of a document to compare it: its compact half, and the words that are its own.

The compact half is a vector of length one: of topics the square roots of their shares, so that an
inner product is Bhattacharyya's and goes with Hellinger distance; of axes the direction of the
projection; of vectors from elsewhere their direction from the mean. A byte a coordinate is kept of
it (`neighbours.int8`). Own words have the weights of the model's triple, a byte each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.pack import Arrays, require
from likewise.compiled import Floats, Ids, Ints, Offsets
from likewise.models.triple import Triples
from likewise.neighbours.int8 import Coded, Codes, encode, round_rows


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


def take(halves: Halves, rows: Ints) -> Halves:
    """Give the halves of some documents."""
    starts = halves.bounds[rows].astype(np.int64)
    sizes = halves.bounds[rows + 1].astype(np.int64) - starts
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], sizes)
    return Halves(
        Coded(halves.points.codes[rows], halves.points.scales[rows]),
        halves.shares[rows],
        bounds.astype(np.uint32),
        halves.terms[places],
        halves.weights[places],
        halves.word_scales[rows],
    )


def layout_of(width: int) -> dict[str, tuple[Any, int]]:
    """Give the arrays that halves of so many coordinates are stored as: types, widths of rows."""
    return {
        "codes": (np.int8, width),
        "scales": (np.float32, 0),
        "shares": (np.float32, 2),
        "words.sizes": (np.uint16, 0),
        "words.terms": (np.int32, 0),
        "words.weights": (np.int8, 0),
        "words.scales": (np.float32, 0),
    }


def to_arrays(halves: Halves) -> dict[str, NDArray[Any]]:
    """Give halves as they are stored."""
    return {
        "codes": halves.points.codes,
        "scales": halves.points.scales,
        "shares": halves.shares,
        "words.sizes": np.diff(halves.bounds.astype(np.int64)),
        "words.terms": halves.terms,
        "words.weights": halves.weights,
        "words.scales": halves.word_scales,
    }


def from_arrays(arrays: Arrays, n_docs: int, width: int, what: str) -> Halves:
    """Give halves of so many documents from what `to_arrays` gave."""
    require(
        arrays,
        what,
        codes=(n_docs, width),
        scales=(n_docs,),
        shares=(n_docs, 2),
        words_sizes=(n_docs,),
        words_scales=(n_docs,),
    )
    bounds = np.zeros(n_docs + 1, np.uint32)
    np.cumsum(arrays["words.sizes"], out=bounds[1:])
    require(arrays, what, words_terms=(int(bounds[-1]),), words_weights=(int(bounds[-1]),))
    return Halves(
        Coded(arrays["codes"], arrays["scales"]),
        arrays["shares"],
        bounds,
        arrays["words.terms"],
        arrays["words.weights"],
        arrays["words.scales"],
    )
