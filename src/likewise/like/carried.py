"""Which words of a document carry its compact half? A share for each, on either side of a score.

Of topics, a word carries what inference gave it of each topic; of axes, a document's vector is
the sum of its words' rows, so that an inner product splits by words exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import TermCounts
from likewise.collection.segment import find_rows
from likewise.compiled import Doubles, Ids, Ints
from likewise.models.colour import word_routes
from likewise.models.subspace import Subspace
from likewise.models.topics import TopicModel


class Carried(NamedTuple):
    """What words carry of a compact half's score, and the topic they carry most of (-1: none)."""

    terms: Ints
    scores: Doubles
    topics: Ints


class Sum(NamedTuple):
    """A vector as a sum over words: `weights @ vectors`, where a word's vector is its axes' row."""

    terms: Ints
    weights: Doubles
    vectors: Doubles

    @property
    def vector(self) -> Doubles:
        """The vector."""
        return np.asarray(self.weights @ self.vectors)


# Topics


def word_shares(model: TopicModel, counts: TermCounts) -> Doubles:
    """Give the shares of a document's words in each of its topics: a row a word, columns of one.

    A word's share of topic k is that of `n_w p(topical|w) p(k|w)` (see `word_routes`).
    """
    triples = model.decompose(counts, words=max(len(counts.terms), 1))
    topical = np.array([route.topic for route in word_routes(model, counts, triples)])
    rows = find_rows(np.asarray(model.vocabulary.terms), counts.terms.astype(np.int64))
    topics = triples.topics[0].astype(np.float64)
    by_topic = model.word_topics[np.maximum(rows, 0), : model.width] * topics
    by_topic *= (counts.counts * topical)[:, None] / _or_one(by_topic.sum(axis=1, keepdims=True))
    return np.asarray(by_topic / _or_one(by_topic.sum(axis=0)))


def by_word(terms: Ints | Ids, parts: NDArray[np.float64]) -> Carried:
    """Add up the parts of words (rows) by topic (columns); a word may have several rows."""
    distinct, places = np.unique(terms.astype(np.int64), return_inverse=True)
    table = np.zeros((len(distinct), parts.shape[1]))
    np.add.at(table, places, parts)
    return Carried(distinct, table.sum(axis=1), np.abs(table).argmax(axis=1))


def _or_one(values: Doubles) -> Doubles:
    return np.where(values > 0, values, 1.0)


# Axes


def as_sum(model: Subspace, counts: TermCounts, length: float) -> Sum:
    """Give the projection of a document, made so long, as a sum over its words."""
    weighed = model.weigh(counts)
    rows = weighed.rows.astype(np.int64)
    vectors = np.asarray(model.basis)[rows].astype(np.float64)
    weights = weighed.weights.astype(np.float64)
    size = float(np.linalg.norm(weights @ vectors)) if len(rows) else 0.0
    terms = np.asarray(model.vocabulary.terms)[rows].astype(np.int64)
    return Sum(terms, weights * (length / size if size > 0 else 0.0), vectors)


def add(sums: list[Sum]) -> Sum:
    """Add sums; a word that several have becomes one."""
    if len(sums) == 1:
        return sums[0]
    terms, first, places = np.unique(
        np.concatenate([one.terms for one in sums]), return_index=True, return_inverse=True
    )
    weights = np.zeros(len(terms))
    np.add.at(weights, places, np.concatenate([one.weights for one in sums]))
    return Sum(terms, weights, np.concatenate([one.vectors for one in sums])[first])
