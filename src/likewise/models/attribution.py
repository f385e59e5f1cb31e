"""How the dense part of scores splits: by topics, or by the words whose vectors it is a sum of.

Of topics, a word carries what inference gave it of each; of axes, a document's vector is the sum of
its words' rows, so that an inner product splits by words exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import TermCounts
from likewise.compiled import Doubles, Ids, Ints
from likewise.models.triple import Triples

# So many words of a query, the strongest, are paired with so many of an answer's words.
PAIRED, PAIRS = 20, 3


class EncodedDocument(NamedTuple):
    """A document in hand: its terms, its dense vector, and what its scores count for."""

    counts: TermCounts
    point: Doubles
    weight: float


class Shares(NamedTuple):
    """What words carry of a dense score, and the topic they carry most of (-1: there are none).

    Terms are ascending.
    """

    terms: Ints
    scores: Doubles
    topics: Ints


class Pairs(NamedTuple):
    """The words of an answer behind words of the query, a row for each of these.

    `order` are the query's words that give anything, by magnitude; the first of them have a row
    of `terms` with `scores` (nothing where there is no such word), and in `totals` what all words
    of the answer give together.
    """

    order: Ints
    terms: Ints
    scores: Doubles
    totals: Doubles


class Attribution(NamedTuple):
    """Of one answer: what the words of both sides carry, and the part of each topic, if any.

    `pairs` are there where a score splits by the words of the query.
    """

    query: Shares
    answer: Shares
    topics: Doubles
    pairs: Pairs | None = None


_NO_TERMS: Ints = np.empty(0, np.int64)
NO_SHARES = Shares(_NO_TERMS, np.empty(0), _NO_TERMS)
# Of a model whose vectors no words make up.
NOTHING = Attribution(NO_SHARES, NO_SHARES, np.empty(0))


class WordSum(NamedTuple):
    """Vectors as sums over words: that of document i is `weights @ vectors` of its own rows."""

    bounds: Ints
    terms: Ints
    weights: Doubles
    vectors: Doubles

    @property
    def totals(self) -> Doubles:
        """The vectors, a row for each document."""
        return sums_of(self.weights[:, None] * self.vectors, self.bounds)


def sums_of(rows: Doubles, bounds: Ints) -> Doubles:
    """Add up the rows of each document."""
    out = np.zeros((len(bounds) - 1, *rows.shape[1:]))
    there = np.flatnonzero(np.diff(bounds))
    if len(there):
        out[there] = np.add.reduceat(rows, bounds[there], axis=0)
    return out


def owners_of(bounds: Ints) -> Ints:
    """Give the document of each row."""
    return np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))


def weights_by_place(counts: TermCounts, triples: Triples) -> Doubles:
    """Lay the weights of documents' own words out as their terms are; others have none."""
    n_terms = int(counts.terms.max(initial=0)) + 1
    keys = owners_of(counts.bounds) * n_terms + counts.terms
    out = np.zeros(len(keys))
    out[np.searchsorted(keys, owners_of(triples.bounds) * n_terms + triples.terms)] = (
        triples.weights
    )
    return out


def add_up(sums: list[WordSum]) -> WordSum:
    """Add vectors, one of each; a word that several have becomes one."""
    if len(sums) == 1:
        return sums[0]
    terms, first, places = np.unique(
        np.concatenate([one.terms for one in sums]), return_index=True, return_inverse=True
    )
    weights = np.zeros(len(terms))
    np.add.at(weights, places, np.concatenate([one.weights for one in sums]))
    vectors = np.concatenate([one.vectors for one in sums])[first]
    return WordSum(np.array([0, len(terms)]), terms, weights, vectors)


def split_by_words(
    query: WordSum, answers: WordSum, point: Doubles, rows: Doubles
) -> list[Attribution]:
    """Split the inner products of a query's vector and stored rows by the words of both.

    `point` is what was asked for in the end, which the words of answers are compared with.
    """
    given = query.weights[:, None] * (query.vectors @ rows.T)
    carried = answers.weights * (answers.vectors @ point)
    totals = answers.totals
    none = np.full(max(len(carried), len(given)), -1)
    found = []
    for i in range(len(rows)):
        mine = slice(int(answers.bounds[i]), int(answers.bounds[i + 1]))
        scores = np.ascontiguousarray(given[:, i])
        order = by_magnitude(scores)
        paired = order[:PAIRED]
        strong = query.weights[paired, None] * query.vectors[paired]
        each = (strong @ answers.vectors[mine].T) * answers.weights[mine]
        # Those that speak for the word's part: the others are what they outweigh.
        signed = each * np.sign(scores[paired])[:, None]
        best = np.argsort(-signed, axis=1, kind="stable")[:, :PAIRS]
        kept = np.take_along_axis(signed, best, axis=1) > 0
        pairs = np.where(kept, np.take_along_axis(each, best, axis=1), 0.0)
        terms = answers.terms[mine][best] if each.shape[1] else np.zeros(best.shape, np.int64)
        found.append(
            Attribution(
                Shares(query.terms, scores, none[: len(scores)]),
                Shares(answers.terms[mine], carried[mine], none[: mine.stop - mine.start]),
                np.empty(0),
                Pairs(order, terms, pairs, strong @ totals[i]),
            )
        )
    return found


def by_magnitude(scores: Doubles) -> Ints:
    """Order scores by magnitude, the largest first, without those that are nothing."""
    order = np.argsort(-np.abs(scores), kind="stable")
    found: Ints = order[scores[order] != 0]
    return found


def by_word(terms: Ints | Ids, parts: NDArray[np.float64]) -> Shares:
    """Add up the parts of words (rows) by topic (columns); a word may have several rows."""
    distinct, places = np.unique(terms.astype(np.int64), return_inverse=True)
    table = np.zeros((len(distinct), parts.shape[1]))
    np.add.at(table, places, parts)
    return Shares(distinct, table.sum(axis=1), np.abs(table).argmax(axis=1))


def or_one(values: Doubles) -> Doubles:
    """Give values that can be divided by: one for those that are nothing."""
    return np.where(values > 0, values, 1.0)
