"""Models with axes: a document is its projection on them, and the words that they leave over.

A document is a vector t of length one, a weight for each of its words. With orthonormal axes V its
topical half is `z = Vᵀt`; what they leave over is `ε = t - Vz`, at right angles to them, so that
`‖z‖² + ‖ε‖² = 1` and `<t, u> = <z, z'> + <ε, ε'>`. A document's specific words are those where ε is
largest by magnitude. A weight is signed: below zero the axes promise more of a word than there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, require
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel
from likewise.errors import UsageError
from likewise.models.attribution import (
    Attribution,
    EncodedDocument,
    WordSum,
    add_up,
    or_one,
    owners_of,
    scale_words,
    split_by_words,
    take_words,
    weights_by_place,
)
from likewise.models.bags import Vocabulary
from likewise.models.document_vectors import document_vectors, layout_of, to_arrays
from likewise.models.ladder import factors, nest
from likewise.models.lanczos import Weighted
from likewise.models.model import Model
from likewise.models.triple import OWN_WORDS, Triples, largest
from likewise.models.weighting import Scale, fold, weigh

if TYPE_CHECKING:
    from likewise.models.topic_summary import Survey, TopicDescription

_CHUNK = 512
# A residual below single precision's noise is none.
_LEAST_SHARE = 1e-6
_NO_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class Subspace(Model):
    """Orthonormal axes (the columns of `basis`, a row for each word) and their singular values.

    `average_length` is that of the documents it was fitted on, for weights as in BM25. With a
    `ladder` of widths documents are compared by nested axes. Where there are `vectors` of words E,
    a row each, the dense part alone goes by `Eᵀt` in place of z.
    """

    kind: ClassVar[str] = "subspace"
    name: str
    vocabulary: Vocabulary
    basis: NDArray[np.float32]
    values: Doubles
    weighting: str = "tfidf"
    average_length: float = 1.0
    power: float = 1.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()
    ladder: tuple[int, ...] = ()
    vectors: NDArray[np.float32] | None = None

    @property
    def width(self) -> int:
        """How many axes there are."""
        return int(self.basis.shape[1])

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        made = self.vocabulary.arrays() | {
            "basis": np.ascontiguousarray(self.basis, np.float32),
            "values": np.asarray(self.values, np.float64),
        }
        if self.vectors is not None:
            made["vectors"] = np.ascontiguousarray(self.vectors, np.float32)
        return made

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return {
            "n_docs": self.vocabulary.n_docs,
            **super().about(),
            "weighting": self.weighting,
            "average_length": self.average_length,
            "power": self.power,
            "ladder": list(self.ladder),
        }

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> Subspace:
        """Give it as it was stored."""
        vocabulary = Vocabulary.load(arrays, about["n_docs"])
        require(arrays, name, basis=(len(vocabulary), -1))
        trained = "vectors" in arrays
        if trained:
            require(arrays, name, vectors=arrays["basis"].shape)
        return cls(
            name,
            vocabulary,
            arrays["basis"],
            arrays["values"],
            about["weighting"],
            about["average_length"],
            about["power"],
            about["settings"],
            tuple(about["history"]),
            tuple(about.get("ladder", ())),
            arrays["vectors"] if trained else None,
        )

    @property
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`."""
        return layout_of(self.width)

    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents to compare them: vectors, and so many specific words."""
        counts = collection.term_counts(docs)
        triples = self.transform(counts, words=words, threads=threads)
        dense = self.compact(counts, triples, threads=threads)
        return to_arrays(document_vectors(triples, dense))

    def coordinates(self, vectors: Floats, shares: Floats) -> Floats:
        """Give vectors as they are stored, with their shares, as projections (nested).

        Sums of word vectors are as long as the projections on the axes are.
        """
        return vectors * np.sqrt(shares[:, :1])

    @cached_property
    def scale(self) -> Scale:
        """How words are weighed."""
        return Scale(self.vocabulary, self.weighting, self.average_length, self.power)

    def weigh(self, counts: TermCounts) -> Weighted:
        """Give documents as weights of vocabulary rows, without the words that are unknown.

        A document has length one together with these.
        """
        return self.scale.weigh(counts)

    def transform(self, counts: TermCounts, *, words: int = OWN_WORDS, threads: int = 1) -> Triples:
        """Decompose documents; a term that the model does not know can only be a document's own.

        Topics are z, as long as the topical share's root; weights of specific words are ε over its
        length before all but the largest are left out. The background has no share.
        """
        if words < 0:
            raise UsageError(f"a document cannot have {words} specific words: 0 or more")
        n_docs = len(counts.bounds) - 1
        basis, scale = np.asarray(self.basis), self.scale
        topics = np.zeros((n_docs, self.width), np.float32)
        shares = np.zeros((n_docs, 3), np.float32)
        rest = np.zeros(len(counts.terms), np.float32)

        def part(first: int) -> tuple[Ints, Ints]:
            last = min(first + _CHUNK, n_docs)
            bounds = counts.bounds[first : last + 1]
            inside = (counts.terms, counts.counts)
            out = (topics[first:last], shares[first:last], rest)
            project(bounds, inside, (scale.rows, scale.factors), scale.norm, basis, out)
            magnitudes = np.abs(rest[bounds[0] : bounds[-1]])
            ends, places = largest(bounds - bounds[0], magnitudes, max(words, 1))
            kept = len(places) if words else 0
            return np.diff(ends) * bool(words), places[:kept] + bounds[0]

        found = in_parts(part, range(0, n_docs, _CHUNK), threads)
        sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for sizes, _ in found)])
        places = np.concatenate([np.empty(0, np.int64), *(places for _, places in found)])
        return Triples(
            topics, np.cumsum(sizes), counts.terms[places].astype(np.int64), rest[places], shares
        )

    def compact(
        self, counts: TermCounts, triples: Triples, *, threads: int = 1
    ) -> NDArray[np.float32]:
        """Give the projections, or the sums of word vectors where there are such, nested."""
        return nest(self._sums(counts, triples, threads), self.ladder)

    def _sums(self, counts: TermCounts, triples: Triples, threads: int) -> NDArray[np.float32]:
        if self.vectors is None:
            return triples.topics
        n_docs = len(counts.bounds) - 1
        vectors, scale = np.asarray(self.vectors), self.scale
        sums = np.zeros((n_docs, self.width), np.float32)

        def part(first: int) -> None:
            last = min(first + _CHUNK, n_docs)
            inside = counts._replace(bounds=counts.bounds[first : last + 1])
            fold(*scale.weigh(inside), vectors, sums[first:last])

        in_parts(part, range(0, n_docs, _CHUNK), threads)
        return sums

    # Meaning

    @property
    def word_weights(self) -> NDArray[np.float32]:
        """What words weigh on axes."""
        return self.basis

    def dimension_names(self, collection: Snapshot) -> list[str]:
        """Name axes by the words of their positive poles."""
        from likewise.models.topic_summary import named_by_words

        return named_by_words(self, collection, "axis")

    def describe(
        self, collection: Snapshot, seen: Survey, *, words: int, docs: int
    ) -> list[TopicDescription]:
        """Describe every axis."""
        from likewise.models.topic_summary import describe_axes

        return describe_axes(self, collection, seen, words=words, docs=docs)

    # What words carry

    def attribute(
        self, asked: Sequence[EncodedDocument], point: Doubles, counts: TermCounts, rows: Doubles
    ) -> list[Attribution]:
        """Split the dense scores of answers, given by their terms and stored rows, by words."""
        lengths = [np.array([np.linalg.norm(one.point)]) for one in asked]
        sums = [
            self.as_sums(one.counts, length) for one, length in zip(asked, lengths, strict=True)
        ]
        weighed = zip(sums, asked, strict=True)
        query = add_up([mine._replace(weights=mine.weights * one.weight) for mine, one in weighed])
        answers = self.as_sums(counts, np.linalg.norm(rows, axis=1))
        return split_by_words(query, answers, point, rows)

    def as_sums(self, counts: TermCounts, lengths: Doubles) -> WordSum:
        """Give the dense vectors of documents, made so long, as sums over their words."""
        bounds, rows, weighed = self.weigh(counts)
        weights, totals = weighed.astype(np.float64), np.zeros((len(bounds) - 1, self.width))
        vectors = np.empty((len(rows), self.width), np.float32)
        basis = np.asarray(self.basis if self.vectors is None else self.vectors)
        take_words(bounds, rows, weights, basis, (vectors, totals))
        if self.ladder:
            # Up to a length, which comes in with the scales.
            mine = factors(totals, self.ladder)
            mine /= or_one(mine[:, :1])
            totals *= mine
            scale_words(bounds, mine.astype(np.float32), vectors)
        scales = lengths / or_one(np.linalg.norm(totals, axis=1))
        terms = np.asarray(self.vocabulary.terms)[rows].astype(np.int64)
        return WordSum(bounds, terms, weights * scales[owners_of(bounds)], vectors)

    def distinctive_rows(
        self, collection: Snapshot, weights: Doubles, numbers: Ints, n: int
    ) -> list[Ints]:
        """Find the vocabulary rows of the n weightiest words of poles of axes."""
        from likewise.models.topic_summary import top_rows

        return [
            top_rows(self, np.array([k]), n=n, sign=-1 if weights[k] < 0 else 1)[0]
            for k in numbers.tolist()
        ]

    def routes(self, counts: TermCounts, triples: Triples) -> tuple[Doubles, Ints]:
        """Give for each word of documents how far it is topical, its own, background; its topic.

        A word's weight is projection and residual together, which are its topical and own parts;
        one without weight, as a word of every document is, is background. `triples` has all own
        words. A term unknown to the model is the document's own.
        """
        rows = find_rows(np.asarray(self.vocabulary.terms), counts.terms.astype(np.int64))
        docs = owners_of(counts.bounds)
        shares = triples.shares.astype(np.float64)[docs]
        by_topic = (
            np.asarray(self.basis)[np.maximum(rows, 0)] * triples.topics.astype(np.float64)[docs]
        )
        residual = np.sqrt(shares[:, 1]) * weights_by_place(counts, triples)
        whole = by_topic.sum(axis=1) + residual
        own = np.clip(residual / np.maximum(whole, _NO_WEIGHT), 0, 1)
        found = np.stack([1 - own, own, np.zeros(len(own))], axis=1)
        found[whole <= _NO_WEIGHT] = (0, 0, 1)
        found[rows < 0] = (0, 1, 0)
        return found, by_topic.argmax(axis=1) if self.width else np.zeros(len(rows), np.int64)


def in_parts(part: Callable[[int], Any], firsts: range, threads: int) -> list[Any]:
    """Do each part of a job, in several threads; give what they gave in order."""
    if threads == 1 or len(firsts) < 2:
        return [part(first) for first in firsts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, firsts))


@fast_kernel
def project(
    bounds: Ints,
    words: tuple[Ids, Ids],
    scale: tuple[Ids, Floats],
    norm: tuple[Any, Any, Any],
    basis: NDArray[np.float32],
    out: tuple[NDArray[np.float32], NDArray[np.float32], Floats],
) -> None:
    """Project documents on axes; give what is left of each word over the length of all that is.

    Equals, for t the dense vector of weights, `z = basis.T @ t`, `rest = t - basis @ z`,
    `shares = z @ z, 1 - z @ z, 0` and `rest / np.sqrt(1 - z @ z)`.
    """
    terms, counts = words
    topics, shares, rest = out
    width: Int = basis.shape[1]
    first, last = bounds[0], bounds[-1]
    rows = np.empty(last - first, np.int32)
    own = rest[first:last]
    weigh(bounds - first, (terms[first:last], counts[first:last]), scale, norm, (rows, own))
    z = np.empty(width, np.float32)
    for doc in range(len(bounds) - 1):
        start, stop = bounds[doc] - first, bounds[doc + 1] - first
        z[:] = 0
        total = np.float32(0)
        for j in range(start, stop):
            total += own[j]
            if rows[j] >= 0:
                row, weight = rows[j], own[j]
                for k in range(width):
                    z[k] += weight * basis[row, k]
        if total == 0:
            continue
        share = np.float32(0)
        for k in range(width):
            share += z[k] * z[k]
        for k in range(width):
            topics[doc, k] = z[k]
        left = np.float32(1) - share
        if left < _LEAST_SHARE:
            shares[doc, 0] = 1
            own[start:stop] = 0
            continue
        shares[doc, 0], shares[doc, 1] = share, left
        inverse = np.float32(1) / np.sqrt(left)
        for j in range(start, stop):
            predicted = np.float32(0)
            if rows[j] >= 0:
                row = rows[j]
                for k in range(width):
                    predicted += z[k] * basis[row, k]
            own[j] = (own[j] - predicted) * inverse
