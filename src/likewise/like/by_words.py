"""Scores by words: specific words, all words and titles of a document, read one after the other."""

from __future__ import annotations

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.collection.words import TITLE
from likewise.compiled import Doubles, Floats, Ints
from likewise.like.components import EncodedQuery, Encoder
from likewise.like.kernels import Stream, Words, score_rows, table_of
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
        self._any = bool(self._weights.any())
        if self._any:
            self._table = table_of(
                specific=(query.terms, query.weights),
                words=(query.words.terms, query.words.weights),
                titles=(query.said_terms, query.said),
            )
        self._rarity = every_idf(self._collection) if titles else _NO_RARITY

    def score(self, docs: Ints) -> Doubles:
        """Score documents; 0 for those that share no word with the query."""
        scores = np.zeros(len(docs))
        if not self._any:
            return scores
        norms = self._encoder.retriever.norms(docs) if self._weights[1] else _NO_NORMS
        for i, places, rows in self._collection.by_segment(docs):
            part = np.empty(len(rows))
            mine = norms[places] if self._weights[1] else norms
            score_rows(
                rows, self._documents(i), (mine, self._rarity), self._table, self._weights, part
            )
            scores[places] = part
        return scores

    def _documents(self, i: int) -> tuple[Words, Stream, Stream]:
        """Give what is known of the documents of a segment."""
        segment = self._collection.segments[i]
        records = segment.words().records
        titles = segment.words(TITLE).records if self._weights[2] else records
        words = self._encoder.segments[i].words
        return words, (records.stream, records.offsets), (titles.stream, titles.offsets)


def every_idf(collection: Snapshot) -> Doubles:
    """Give the rarity of each term in the main field."""

    def measured() -> Doubles:
        doc_freqs, _ = collection.frequencies(np.arange(collection.n_terms))
        return bm25_idf(collection.n_docs, doc_freqs)

    return collection.memo(("idf",), measured)
