"""What likeness is made of: dense vectors and specific words, each found and scored by itself."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from likewise.collection.records import TermCounts
from likewise.compiled import Bools, Doubles, Floats, Ints, Offsets, kernel
from likewise.like.kernels import Rows, Words, scan_words, score_words, table_of
from likewise.models.document_vectors import DocumentVectors
from likewise.models.stored_vectors import StoredVectors
from likewise.models.triple import Triples
from likewise.neighbours.int8 import Coded, scan_points
from likewise.neighbours.vectors import VectorSearch
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

# The specific words that candidates are looked up by, and how many postings are read for them.
_LOOKED_UP = 10
_READ = 50_000
_NONE: Ints = np.empty(0, np.int64)


class Scoring(StrEnum):
    """How vectors are compared, each by an inner product.

    `EVEN`: both are of length one (specific words before all but the largest were left out).
    `SHARES`: each is as long as the root of its share of the document, so that the longer one
    counts for more.
    """

    EVEN = "even"
    SHARES = "shares"


class EncodedQuery(NamedTuple):
    """What is compared with documents: a dense vector, and words (ascending) with weights."""

    point: Doubles
    terms: Ints
    weights: Doubles


class SegmentVectors(NamedTuple):
    """The documents of a segment as they are compared: `codes * scales`, and specific words."""

    codes: Rows
    scales: Floats
    words: Words


class Parts(NamedTuple):
    """What makes up a score: a part for each topic or axis, and for each shared specific word."""

    topics: Doubles
    terms: Ints
    words: Doubles

    @property
    def score(self) -> float:
        """Their sum."""
        return float(self.topics.sum() + self.words.sum())


class Encoder:
    """The vectors of a collection and of queries, as they are compared by one scoring."""

    def __init__(self, stored: StoredVectors, scoring: Scoring = Scoring.EVEN) -> None:
        self.stored = stored
        self.scoring = scoring
        self.collection = stored.collection
        self.model = stored.model
        self.topical = stored.model.distributions

    @cached_property
    def segments(self) -> list[SegmentVectors]:
        """The documents of each segment."""
        return [self._segment(i, vectors) for i, vectors in enumerate(self.stored.segments)]

    def encode(
        self, counts: TermCounts, doc: int = -1, vector: Floats | None = None
    ) -> EncodedQuery:
        """Encode one document in hand, given as `encode(*example)`.

        Of the user's vectors, a document of the collection has the one that is stored, and a text
        its own if it comes with one; else it is what the words predict.
        """
        triples = self.model.transform(counts, words=max(len(counts.terms), 1))
        order = np.argsort(triples.terms, kind="stable")
        point = self._dense(counts, triples, doc, vector).astype(np.float64)
        length = np.linalg.norm(point)
        point, weights = self.weigh(point / length if length > 0 else point, triples)
        return EncodedQuery(point, triples.terms[order], weights[order])

    def weigh(self, point: Doubles, triples: Triples) -> tuple[Doubles, Doubles]:
        """Give both vectors of one document in hand, as long as they count."""
        weights = triples.weights.astype(np.float64)
        if self.topical:
            weights /= np.linalg.norm(weights) or 1.0
        if self.scoring is Scoring.SHARES:
            roots = np.sqrt(triples.shares[0, :2].astype(np.float64))
            return point * roots[0], weights * roots[1]
        return point, weights

    def scaled(self, i: int, vectors: DocumentVectors) -> tuple[Rows, Floats, Floats]:
        """Give the dense vectors of a segment with their scales, and those of specific words."""
        scales, word_scales = vectors.dense.scales, vectors.word_scales
        if self.topical:
            norms = np.empty(vectors.n_docs, np.float32)
            word_norms(vectors.bounds, vectors.weights, norms)
            word_scales = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
        if self.scoring is Scoring.SHARES:
            roots = np.sqrt(vectors.shares)
            scales, word_scales = scales * roots[:, 0], word_scales * roots[:, 1]
        return vectors.dense.codes, scales, word_scales

    def _dense(
        self, counts: TermCounts, triples: Triples, doc: int, vector: Floats | None
    ) -> Floats:
        if self.model.has_own_vectors and vector is None and doc >= 0:
            row: Floats = self.stored.rows(np.array([doc]))[0]
            return row
        return self.model.query_vector(counts, triples, vector)

    def _segment(self, i: int, vectors: DocumentVectors) -> SegmentVectors:
        codes, scales, word_scales = self.scaled(i, vectors)
        words = (vectors.bounds, vectors.terms, vectors.weights, word_scales.astype(np.float32))
        return SegmentVectors(codes, np.ascontiguousarray(scales, np.float32), words)


class Component(Protocol):
    """A part of likeness: finds candidates by itself, and scores any documents."""

    def find(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        """Find about n documents with the best scores, among those of the masks."""
        ...

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents, in double precision and one order of sums."""
        ...

    def scan(self, query: EncodedQuery, weight: float, segment: int, out: Floats) -> None:
        """Add `weight` times the scores of all documents of a segment, in single precision."""
        ...


class Dense:
    """Inner products of dense vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @cached_property
    def search(self) -> VectorSearch:
        """The search over vectors; finders know these as they are stored only."""
        if self._encoder.scoring is Scoring.EVEN:
            return self._encoder.stored.search
        parts = [Coded(segment.codes, segment.scales) for segment in self._encoder.segments]
        return VectorSearch(parts, self._encoder.collection.bases)

    def find(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        """Find the n nearest documents: by a scan, or by an index where there are many."""
        return np.sort(self.search.nearest(query.point, n, masks).docs)

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents."""
        return self.search.scores(query.point, docs)

    def scan(self, query: EncodedQuery, weight: float, segment: int, out: Floats) -> None:
        """Add the scores of all documents of a segment."""
        codes, scales, _ = self._encoder.segments[segment]
        found = np.empty_like(out)
        scan_points(codes, scales, (weight * query.point).astype(np.float32), found)
        out += found

    def rows(self, docs: Ints) -> Doubles:
        """Give the vectors of documents as they are compared."""
        out = np.empty((len(docs), self._encoder.model.width))
        for i, places, rows in self._encoder.collection.by_segment(docs):
            codes, scales, _ = self._encoder.segments[i]
            out[places] = codes[rows] * scales[rows].astype(np.float64)[:, None]
        return out


class SpecificWords:
    """Inner products of specific words.

    Candidates come from the collection's postings, which is beyond the published index: of the ten
    documents most like one of 20 Newsgroups, 200 candidates by dense vectors alone have .963, 100
    by each component .997.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._collection = encoder.collection

    def find(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        """Find documents that have the weightiest of the query's words."""
        collection = self._collection
        known = np.flatnonzero((query.weights > 0) & (query.terms < collection.n_terms))
        likely = known[np.argsort(-query.weights[known], kind="stable")[: 2 * _LOOKED_UP]]
        doc_freqs, _ = collection.frequencies(query.terms[likely])
        # What is in very many documents brings no candidates of its own, and takes long to read.
        left, chosen = _READ, list[int]()
        for place, doc_freq in zip(likely.tolist(), doc_freqs.tolist(), strict=True):
            if 0 < doc_freq <= left and len(chosen) < _LOOKED_UP:
                chosen.append(place)
                left -= doc_freq
        if not chosen:
            return _NONE
        best = np.array(chosen, np.int64)
        names = collection.terms(query.terms[best])
        words = dict(zip(names, query.weights[best].tolist(), strict=True))
        allowed = None
        if any(mask is not None and not mask.all() for mask in masks):
            segments = zip(masks, collection.segments, strict=True)
            allowed = [segment.live if mask is None else mask for mask, segment in segments]
        [ranking] = self._retriever.rank([words], k=n, allowed=allowed)
        return ranking.docs

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(self._collection, BM25())

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents."""
        table, scores = table_of(query.terms, query.weights), np.empty(len(docs))
        for i, places, rows in self._collection.by_segment(docs):
            part = np.empty(len(rows))
            score_words(rows, self._encoder.segments[i].words, table, part)
            scores[places] = part
        return scores

    def scan(self, query: EncodedQuery, weight: float, segment: int, out: Floats) -> None:
        """Add the scores of all documents of a segment."""
        table = table_of(query.terms, query.weights)
        scan_words(self._encoder.segments[segment].words, table, weight, out)

    def split(self, query: EncodedQuery, weight: float, docs: Ints) -> list[tuple[Ints, Doubles]]:
        """Give the words that documents share with the query, ascending, and their parts."""
        found = [(_NONE, np.empty(0))] * len(docs)
        for i, places, rows in self._collection.by_segment(docs):
            bounds, terms, weights, scales = self._encoder.segments[i].words
            starts, stops = bounds[rows].astype(np.int64), bounds[rows + 1].astype(np.int64)
            sizes = stops - starts
            ends = np.cumsum(sizes)
            at = np.arange(ends[-1]) + np.repeat(starts - ends + sizes, sizes)
            own, owners = terms[at].astype(np.int64), np.repeat(np.arange(len(rows)), sizes)
            if not len(own) or not len(query.terms):
                continue
            near = np.minimum(np.searchsorted(query.terms, own), len(query.terms) - 1)
            shared = np.flatnonzero(query.terms[near] == own)
            # Specific words of a document are stored by weight: parts come by their numbers.
            shared = shared[np.lexsort((own[shared], owners[shared]))]
            mine = weights[at[shared]] * scales[rows].astype(np.float64)[owners[shared]]
            given = weight * mine * query.weights[near[shared]]
            cuts = np.searchsorted(owners[shared], np.arange(len(rows) + 1)).tolist()
            for place, first, last in zip(places.tolist(), cuts, cuts[1:], strict=False):
                found[place] = (own[shared[first:last]], given[first:last])
        return found


def mix(
    like: Sequence[EncodedQuery], unlike: Sequence[EncodedQuery], *, against: float
) -> EncodedQuery:
    """Ask for several documents at once, and away from others.

    Scores are linear in the query: the mean of the scores for each of `like`, less `against` times
    the mean of those for `unlike`.
    """
    parts = [(query, 1 / len(like)) for query in like]
    parts += [(query, -against / len(unlike)) for query in unlike]
    if len(like) == 1 and not unlike:
        return like[0]
    point = np.sum([query.point * weight for query, weight in parts], axis=0)
    terms, places = np.unique(
        np.concatenate([query.terms for query, _ in parts]), return_inverse=True
    )
    weights = np.concatenate([query.weights * weight for query, weight in parts])
    summed: Doubles = np.bincount(places, weights, len(terms)).astype(np.float64)
    return EncodedQuery(point, terms, summed)


@kernel
def word_norms(bounds: Offsets, weights: Rows, out: Floats) -> None:
    """Give the lengths of documents' specific words. Equals `np.linalg.norm` of each slice."""
    for i in range(len(bounds) - 1):
        total = 0.0
        for j in range(np.int64(bounds[i]), np.int64(bounds[i + 1])):
            total += np.float64(weights[j]) * weights[j]
        out[i] = np.sqrt(total)
