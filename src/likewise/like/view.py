"""How are stored halves compared? As unit vectors, or each as long as its share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise.collection.records import TermCounts
from likewise.compiled import Doubles, Floats, Ints, Offsets, kernel
from likewise.like.kernels import Rows, Words
from likewise.models.document_vectors import DocumentVectors
from likewise.models.stored_vectors import StoredVectors
from likewise.models.triple import Triples


class How(StrEnum):
    """How halves are compared, each by an inner product.

    `EVEN`: both halves are of length one (own words before all but the largest were left out).
    `SHARES`: each half is as long as the root of its share of the document, so that the longer
    half counts for more.
    """

    EVEN = "even"
    SHARES = "shares"


class Asked(NamedTuple):
    """What is compared with documents: a vector, and words (ascending) with weights."""

    point: Doubles
    terms: Ints
    weights: Doubles


class Lot(NamedTuple):
    """The documents of a segment as they are compared: `codes * scales`, and own words."""

    codes: Rows
    scales: Floats
    words: Words


class View:
    """The halves of a collection, compared in one way."""

    def __init__(self, halves: StoredVectors, how: How = How.EVEN) -> None:
        self.halves = halves
        self.how = how
        self.model = halves.model
        self.topical = halves.model.distributions

    @cached_property
    def lots(self) -> list[Lot]:
        """The documents of each segment."""
        return [self._lot(i, halves) for i, halves in enumerate(self.halves.segments)]

    def ask(self, counts: TermCounts, doc: int = -1, vector: Floats | None = None) -> Asked:
        """Take one document apart to compare others with it; it is asked for as `ask(*example)`.

        Of vectors from elsewhere, a document of the collection has the one that is stored, and a
        text its own if it comes with one; else it is what the words predict.
        """
        triples = self.model.transform(counts, words=max(len(counts.terms), 1))
        order = np.argsort(triples.terms, kind="stable")
        point = self._compact(counts, triples, doc, vector).astype(np.float64)
        length = np.linalg.norm(point)
        point, weights = self.weigh(point / length if length > 0 else point, triples)
        return Asked(point, triples.terms[order], weights[order])

    def weigh(self, point: Doubles, triples: Triples) -> tuple[Doubles, Doubles]:
        """Give both halves of one document that is asked for, as long as they count."""
        weights = triples.weights.astype(np.float64)
        if self.topical:
            weights /= np.linalg.norm(weights) or 1.0
        if self.how is How.SHARES:
            roots = np.sqrt(triples.shares[0, :2].astype(np.float64))
            return point * roots[0], weights * roots[1]
        return point, weights

    def _compact(
        self, counts: TermCounts, triples: Triples, doc: int, vector: Floats | None
    ) -> Floats:
        if self.model.has_own_vectors and vector is None and doc >= 0:
            row: Floats = self.halves.rows(np.array([doc]))[0]
            return row
        return self.model.query_vector(counts, triples, vector)

    def _lot(self, i: int, halves: DocumentVectors) -> Lot:
        codes, scales, word_scales = self.scaled(i, halves)
        words = (halves.bounds, halves.terms, halves.weights, word_scales.astype(np.float32))
        return Lot(codes, np.ascontiguousarray(scales, np.float32), words)

    def scaled(self, i: int, halves: DocumentVectors) -> tuple[Rows, Floats, Floats]:
        """Give the compact halves of a segment with their scales, and the scales of own words."""
        scales, word_scales = halves.dense.scales, halves.word_scales
        if self.topical:
            norms = np.empty(halves.n_docs, np.float32)
            word_norms(halves.bounds, halves.weights, norms)
            word_scales = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
        if self.how is How.SHARES:
            roots = np.sqrt(halves.shares)
            scales, word_scales = scales * roots[:, 0], word_scales * roots[:, 1]
        return halves.dense.codes, scales, word_scales


def mix(like: Sequence[Asked], unlike: Sequence[Asked], *, against: float) -> Asked:
    """Ask for several documents at once, and away from others.

    Scores are linear in what is asked: the mean of the scores for each of `like`, less `against`
    times the mean of those for `unlike`.
    """
    parts = [(asked, 1 / len(like)) for asked in like]
    parts += [(asked, -against / len(unlike)) for asked in unlike]
    if len(like) == 1 and not unlike:
        return like[0]
    point = np.sum([asked.point * weight for asked, weight in parts], axis=0)
    terms, places = np.unique(
        np.concatenate([asked.terms for asked, _ in parts]), return_inverse=True
    )
    weights = np.concatenate([asked.weights * weight for asked, weight in parts])
    summed: Doubles = np.bincount(places, weights, len(terms)).astype(np.float64)
    return Asked(point, terms, summed)


@kernel
def word_norms(bounds: Offsets, weights: Rows, out: Floats) -> None:
    """Give the lengths of documents' own words. Equals `np.linalg.norm` of each slice."""
    for i in range(len(bounds) - 1):
        total = 0.0
        for j in range(np.int64(bounds[i]), np.int64(bounds[i + 1])):
            total += np.float64(weights[j]) * weights[j]
        out[i] = np.sqrt(total)
