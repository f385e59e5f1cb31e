"""What is kept of a document to compare it: a dense vector, and a sparse one of specific words.

The dense vector is of length one: of topics the square roots of their shares, so that an inner
product is Bhattacharyya's and goes with Hellinger distance; of axes the direction of the
projection; of the user's vectors their direction from the mean. A byte a coordinate is kept of it
(`neighbours.int8`). Specific words have the weights of the model's triple, a byte each. Kernel
models have rows of any length, and no words.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, require
from likewise.compiled import Floats, Ids, Ints, Offsets
from likewise.models.triple import Triples
from likewise.neighbours.int8 import Coded, Codes, encode, round_rows

Layout: TypeAlias = dict[str, tuple[Any, int]]


class DocumentVectors(NamedTuple):
    """The vectors of documents, a row each.

    `shares` are those of topics and of specific words. Specific words of document i are
    `terms[bounds[i]:bounds[i + 1]]`, with weights `weights * word_scales[i]`.
    """

    dense: Coded
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
        return sum(array.nbytes for array in (*self.dense, *self[1:]))


def document_vectors(triples: Triples, vectors: Floats) -> DocumentVectors:
    """Keep of triples what is compared, with these dense vectors."""
    n_docs = len(vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    dense = encode((vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32))
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
    return DocumentVectors(
        dense,
        np.ascontiguousarray(triples.shares[:, :2]),
        triples.bounds.astype(np.uint32),
        triples.terms.astype(np.int32),
        weights,
        scales,
    )


def without_words(dense: Coded) -> DocumentVectors:
    """Give the vectors of documents that have no words; what they have none of takes no memory."""
    n_docs = len(dense.scales)
    nothing = np.float32(0)
    return DocumentVectors(
        dense,
        np.broadcast_to(nothing, (n_docs, 2)),
        np.broadcast_to(np.uint32(0), n_docs + 1),
        np.empty(0, np.int32),
        np.empty(0, np.int8),
        np.broadcast_to(nothing, n_docs),
    )


def take(vectors: DocumentVectors, rows: Ints) -> DocumentVectors:
    """Give the vectors of some documents."""
    starts = vectors.bounds[rows].astype(np.int64)
    sizes = vectors.bounds[rows + 1].astype(np.int64) - starts
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], sizes)
    return DocumentVectors(
        Coded(vectors.dense.codes[rows], vectors.dense.scales[rows]),
        vectors.shares[rows],
        bounds.astype(np.uint32),
        vectors.terms[places],
        vectors.weights[places],
        vectors.word_scales[rows],
    )


def layout_of(width: int) -> Layout:
    """Give the arrays that vectors of so many coordinates are stored as: types, widths of rows."""
    return {
        "codes": (np.int8, width),
        "scales": (np.float32, 0),
        "shares": (np.float32, 2),
        "words.sizes": (np.uint16, 0),
        "words.terms": (np.int32, 0),
        "words.weights": (np.int8, 0),
        "words.scales": (np.float32, 0),
    }


def to_arrays(vectors: DocumentVectors) -> dict[str, NDArray[Any]]:
    """Give vectors as they are stored."""
    return {
        "codes": vectors.dense.codes,
        "scales": vectors.dense.scales,
        "shares": vectors.shares,
        "words.sizes": np.diff(vectors.bounds.astype(np.int64)),
        "words.terms": vectors.terms,
        "words.weights": vectors.weights,
        "words.scales": vectors.word_scales,
    }


def from_arrays(arrays: Arrays, n_docs: int, layout: Layout, what: str) -> DocumentVectors:
    """Give the vectors of so many documents as they were stored; what is stored, `layout` says."""
    width = layout["codes"][1]
    if "words.sizes" not in layout:
        require(arrays, what, codes=(n_docs, width), scales=(n_docs,))
        return without_words(Coded(arrays["codes"], arrays["scales"]))
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
    return DocumentVectors(
        Coded(arrays["codes"], arrays["scales"]),
        arrays["shares"],
        bounds,
        arrays["words.terms"],
        arrays["words.weights"],
        arrays["words.scales"],
    )
