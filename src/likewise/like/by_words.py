"""Scores by words: specific words, all words and titles of documents, read together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.collection.words import TITLE
from likewise.compiled import Doubles, Floats, Ints
from likewise.like.components import EncodedQuery, Encoder
from likewise.like.kernels import (
    TITLES,
    WORDS,
    Stream,
    Table,
    Words,
    score_rows,
    split_rows,
    table_of,
)
from likewise.models.model import Weights
from likewise.retrieve.models import bm25_idf

_NO_NORMS: Floats = np.zeros(0, np.float32)
_NO_RARITY: Doubles = np.zeros(0)


class WordScores:
    """Scores documents by the words of a query, for these weights of the parts.

    Feedback does not change them. Each part is as its component (`components`, `titles`) says.
    """

    def __init__(self, encoder: Encoder, query: EncodedQuery, weights: Weights) -> None:
        self._encoder = encoder
        self._collection = encoder.collection
        titles = weights.titles if self._collection.has_field(TITLE) else 0.0
        self._weights = np.array([weights.specific, weights.words, titles], np.float64)
        self._columns = (
            (query.terms, query.weights),
            (query.words.terms, query.words.weights),
            (query.said_terms, query.said),
        )
        self._rarity = every_idf(self._collection) if titles else _NO_RARITY

    @cached_property
    def _table(self) -> Table:
        return table_of(*self._columns)

    def score(self, docs: Ints) -> Doubles:
        """Score documents; 0 for those that share no word with the query."""
        scores = np.zeros(len(docs))
        if self._weights.any():
            for i, places, rows, scales in self._by_segment(docs):
                part = np.empty(len(rows))
                score_rows(rows, self._documents(i), scales, self._table, self._weights, part)
                scores[places] = part
        return scores

    def split(self, docs: Ints) -> tuple[Ints, Doubles]:
        """Give the terms of the query, and what each gives: by part, document and term."""
        terms = np.unique(np.concatenate([its for its, _ in self._columns]))
        values = np.zeros((len(self._columns), len(terms)))
        for mine, (its, weights), weight in zip(values, self._columns, self._weights, strict=True):
            mine[np.searchsorted(terms, its)] = weight * weights
        out = np.zeros((len(values), len(docs), len(terms)))
        for i, places, rows, scales in self._by_segment(docs):
            part = np.zeros((len(values), len(rows), len(terms)))
            split_rows(rows, self._documents(i), scales, terms, values, part)
            out[:, places] = part
        return terms, out

    def _by_segment(self, docs: Ints) -> Iterator[tuple[int, Ints, Ints, tuple[Floats, Doubles]]]:
        """Give documents of each segment: places, rows, and what scales their parts."""
        norms = self._encoder.retriever.norms(docs) if self._weights[WORDS] else None
        for i, places, rows in self._collection.by_segment(docs):
            yield i, places, rows, (_NO_NORMS if norms is None else norms[places], self._rarity)

    def _documents(self, i: int) -> tuple[Words, Stream, Stream]:
        """Give what is known of the documents of a segment."""
        segment = self._collection.segments[i]
        records = segment.words().records
        titles = segment.words(TITLE).records if self._weights[TITLES] else records
        words = self._encoder.segments[i].words
        return words, (records.stream, records.offsets), (titles.stream, titles.offsets)


def every_idf(collection: Snapshot) -> Doubles:
    """Give the rarity of each term in the main field."""

    def measured() -> Doubles:
        doc_freqs, _ = collection.frequencies(np.arange(collection.n_terms))
        return bm25_idf(collection.n_docs, doc_freqs)

    return collection.memo(("idf",), measured)
