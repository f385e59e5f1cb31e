"""What likeness is made of: dense vectors, specific words and all words.

Titles, the fourth part, are in `titles`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from likewise.collection.records import TermCounts
from likewise.compiled import Doubles, Floats, Ints, Offsets, kernel
from likewise.like.kernels import Rows, Words, scan_words, table_of
from likewise.models.document_vectors import DocumentVectors
from likewise.models.stored_vectors import StoredVectors
from likewise.models.triple import Triples
from likewise.neighbours.int8 import Coded, scan_points
from likewise.neighbours.vectors import VectorSearch
from likewise.retrieve.models import BM25, bm25_idf
from likewise.retrieve.search import Retriever
from likewise.retrieve.words import retriever_of

_NONE: Ints = np.empty(0, np.int64)


class QueryWords(NamedTuple):
    """All words that are searched for, ascending, how often each is said, and its rarity (idf).

    `counts` are such that by these the document itself would score 1.
    """

    terms: Ints
    counts: Doubles
    rarity: Doubles

    @property
    def weights(self) -> Doubles:
        """What words weigh in BM25."""
        return self.counts * self.rarity


class EncodedQuery(NamedTuple):
    """What is compared with documents: a dense vector, specific words (ascending), all words.

    `said` is how much each term (by number) counts where another's title has it.
    """

    point: Doubles
    terms: Ints
    weights: Doubles
    words: QueryWords
    said_terms: Ints = _NONE
    said: Doubles = np.empty(0)


class SegmentVectors(NamedTuple):
    """The documents of a segment as they are compared: `codes * scales`, and specific words."""

    codes: Rows
    scales: Floats
    words: Words


class Parts(NamedTuple):
    """What makes up a score: a part for each topic or axis, and three for each shared word.

    `specific` is what a term gives as a specific word, `words` what it gives as one of all,
    `titles` what it gives as a word of the answer's title.
    """

    topics: Doubles
    terms: Ints
    specific: Doubles
    words: Doubles
    titles: Doubles

    @property
    def by_words(self) -> Doubles:
        """What each term gives in all."""
        return self.specific + self.words + self.titles

    @property
    def score(self) -> float:
        """Their sum."""
        return float(self.topics.sum() + self.by_words.sum())


class Encoder:
    """The vectors of a collection and of queries, as they are compared: of length one.

    Specific words are so before all but the largest were left out.
    """

    # Whether dense vectors are compared as they are stored, so that finders know them.
    as_stored: ClassVar[bool] = True

    def __init__(self, stored: StoredVectors) -> None:
        self.stored = stored
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
        said = counts.counts / (counts.counts + 1.0)
        return EncodedQuery(
            point,
            triples.terms[order],
            weights[order],
            self._words(counts),
            counts.terms.astype(np.int64),
            said,
        )

    def weigh(self, point: Doubles, triples: Triples) -> tuple[Doubles, Doubles]:
        """Give both vectors of one document in hand, as long as they count."""
        weights = triples.weights.astype(np.float64)
        if self.topical:
            weights /= np.linalg.norm(weights) or 1.0
        return point, weights

    def scaled(self, i: int, vectors: DocumentVectors) -> tuple[Rows, Floats, Floats]:
        """Give the dense vectors of a segment with their scales, and those of specific words."""
        scales, word_scales = vectors.dense.scales, vectors.word_scales
        if self.topical:
            norms = np.empty(vectors.n_docs, np.float32)
            word_norms(vectors.bounds, vectors.weights, norms)
            word_scales = np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0)
        return vectors.dense.codes, scales, word_scales

    @cached_property
    def retriever(self) -> Retriever:
        """The search by all words."""
        return retriever_of(self.collection, BM25())

    def _words(self, counts: TermCounts) -> QueryWords:
        """Give all words of a document, weighed so that it would score 1 itself."""
        collection = self.collection
        known = counts.terms < collection.n_terms
        terms = counts.terms[known].astype(np.int64)
        doc_freqs, term_freqs = collection.frequencies(terms)
        there = collection.admitted(doc_freqs, term_freqs)
        numbers = counts.counts[known][there].astype(np.float64)
        rarity = bm25_idf(collection.n_docs, doc_freqs[there])
        own = self._own_score(numbers, rarity)
        return QueryWords(terms[there], numbers / own if own > 0 else numbers * 0, rarity)

    def _own_score(self, counts: Doubles, rarity: Doubles) -> float:
        """Give what a document of words would score as its own query.

        Words that the collection does not have are none of them, and do not make it longer.
        """
        retriever, length = self.retriever, round(float(counts.sum()))
        norms = retriever.model.norms_of(np.array([length], np.uint32), retriever.statistics)
        assert norms is not None
        return float((counts * rarity * counts / (counts + norms[0])).sum())

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
    """A part of likeness; `by_words` scores documents by all parts that are of words."""

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add `weight` times the scores of all documents, in single precision."""
        ...


class Dense:
    """Inner products of dense vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @cached_property
    def search(self) -> VectorSearch:
        """The search over vectors; finders know these as they are stored only."""
        if self._encoder.as_stored:
            return self._encoder.stored.search
        parts = [Coded(segment.codes, segment.scales) for segment in self._encoder.segments]
        return VectorSearch(parts, self._encoder.collection.bases)

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents, in double precision and one order of sums."""
        return self.search.scores(query.point, docs)

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add the scores of all documents."""
        found, point = np.empty_like(out), (weight * query.point).astype(np.float32)
        bases = self._encoder.collection.bases.tolist()
        for i, (codes, scales, _) in enumerate(self._encoder.segments):
            scan_points(codes, scales, point, found[bases[i] : bases[i + 1]])
        out += found

    def rows(self, docs: Ints) -> Doubles:
        """Give the vectors of documents as they are compared."""
        out = np.empty((len(docs), self._encoder.model.width))
        for i, places, rows in self._encoder.collection.by_segment(docs):
            codes, scales, _ = self._encoder.segments[i]
            out[places] = codes[rows] * scales[rows].astype(np.float64)[:, None]
        return out


class SpecificWords:
    """Inner products of specific words."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._collection = encoder.collection

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add the scores of all documents."""
        table, bases = table_of(specific=(query.terms, query.weights)), self._collection.bases
        for i, segment in enumerate(self._encoder.segments):
            scan_words(segment.words, table, weight, out[bases[i] : bases[i + 1]])


class AllWords:
    """BM25 of all words, the document in hand as the query: a share of its own score."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add the scores of all documents."""
        names = self._encoder.collection.terms(query.words.terms)
        words = dict(zip(names, query.words.counts.tolist(), strict=True))
        [ranking] = self._encoder.retriever.rank([words], k=max(len(out), 1))
        out[ranking.docs] += (weight * ranking.scores).astype(np.float32)


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
    terms, weights = _added([(q.terms, q.weights * weight) for q, weight in parts])
    said_terms, said = _added([(q.said_terms, q.said * weight) for q, weight in parts])
    word_terms, counts = _added([(q.words.terms, q.words.counts * weight) for q, weight in parts])
    rarity = np.empty(len(word_terms))
    for query, _ in parts:
        rarity[np.searchsorted(word_terms, query.words.terms)] = query.words.rarity
    words = QueryWords(word_terms, counts, rarity)
    return EncodedQuery(point, terms, weights, words, said_terms, said)


def _added(vectors: Sequence[tuple[Ints, Doubles]]) -> tuple[Ints, Doubles]:
    """Add up sparse vectors; terms ascend."""
    every, weights = (np.concatenate(each) for each in zip(*vectors, strict=True))
    terms, places = np.unique(every, return_inverse=True)
    summed: Doubles = np.bincount(places, weights, len(terms)).astype(np.float64)
    return terms, summed


@kernel
def word_norms(bounds: Offsets, weights: Rows, out: Floats) -> None:
    """Give the lengths of documents' specific words. Equals `np.linalg.norm` of each slice."""
    for i in range(len(bounds) - 1):
        total = 0.0
        for j in range(np.int64(bounds[i]), np.int64(bounds[i + 1])):
            total += np.float64(weights[j]) * weights[j]
        out[i] = np.sqrt(total)
