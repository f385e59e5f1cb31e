"""How the dense part of scores splits: by topics, or by the words whose vectors it is a sum of.

Of topics, a word carries what inference gave it of each; of axes, a document's vector is the sum of
its words' rows, so that an inner product splits by words exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import TermCounts
from likewise.compiled import Doubles, Ids, Int, Ints, fast_kernel, kernel
from likewise.models.triple import Triples

# So many words, the strongest, are parts of their own; so many of an answer's are behind each.
LEADING, BEHIND = 5, 2


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
    """The leading words of the query, and the words of an answer behind each.

    `words` are places among the query's words, by magnitude; each has a row of `terms` with
    `scores` (nothing where there is no such word).
    """

    words: Ints
    terms: Ints
    scores: Doubles


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
    vectors: NDArray[np.float32]

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
    """Lay the weights of documents' specific words out as their terms are; others have none."""
    n_terms = int(counts.terms.max(initial=0)) + 1
    keys = owners_of(counts.bounds) * n_terms + counts.terms
    out = np.zeros(len(keys))
    out[np.searchsorted(keys, owners_of(triples.bounds) * n_terms + triples.terms)] = (
        triples.weights
    )
    return out


def add_up(sums: list[WordSum]) -> WordSum:
    """Add vectors, one of each; a word that several have becomes one, with a vector of weight 1."""
    if len(sums) == 1:
        return sums[0]
    terms, places = np.unique(np.concatenate([one.terms for one in sums]), return_inverse=True)
    vectors = np.zeros((len(terms), sums[0].vectors.shape[1]), np.float32)
    weighed = [one.weights[:, None] * one.vectors for one in sums]
    np.add.at(vectors, places, np.concatenate(weighed).astype(np.float32))
    return WordSum(np.array([0, len(terms)]), terms, np.ones(len(terms)), vectors)


def split_by_words(
    query: WordSum, answers: WordSum, point: Doubles, rows: Doubles
) -> list[Attribution]:
    """Split the inner products of a query's vector and stored rows by the words of both.

    `point` is what was asked for in the end, which the words of answers are compared with.
    """
    given = (query.weights[:, None] * (query.vectors.astype(np.float64) @ rows.T)).T.copy()
    carried = np.empty(len(answers.weights))
    carry(answers.weights, answers.vectors, point, carried)
    # As `by_magnitude` of each: what gives nothing comes last.
    leading = np.argsort(-np.abs(given), axis=1, kind="stable")[:, :LEADING].copy()
    n_leading = np.minimum((given != 0).sum(axis=1), LEADING)
    places = np.full((*leading.shape, BEHIND), -1)
    pairs = np.zeros(places.shape)
    choose_pairs(query, answers, given, (leading, n_leading), (places, pairs))
    terms = np.zeros_like(places)
    terms[places >= 0] = answers.terms[places[places >= 0]]
    none, no_topics = np.full(max(len(carried), given.shape[1]), -1), np.empty(0)
    found, bounds = [], answers.bounds.tolist()
    for i, n in enumerate(n_leading.tolist()):
        mine = slice(bounds[i], bounds[i + 1])
        found.append(
            Attribution(
                Shares(query.terms, given[i], none[: given.shape[1]]),
                Shares(answers.terms[mine], carried[mine], none[: mine.stop - mine.start]),
                no_topics,
                Pairs(leading[i, :n], terms[i, :n], pairs[i, :n]),
            )
        )
    return found


@kernel
def take_words(
    bounds: Ints,
    rows: Ids,
    weights: Doubles,
    basis: NDArray[np.float32],
    out: tuple[NDArray[np.float32], Doubles],
) -> None:
    """Copy the vectors of documents' words, and add them up by their weights.

    Equals `vectors = basis[rows]` and `totals += weights[mine] @ vectors[mine]` for each document.
    """
    vectors, totals = out
    width: Int = basis.shape[1]
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            row, weight = rows[j], weights[j]
            for k in range(width):
                vectors[j, k] = basis[row, k]
            for k in range(width):
                totals[i, k] += weight * np.float64(vectors[j, k])


@kernel
def scale_words(bounds: Ints, factors: NDArray[np.float32], vectors: NDArray[np.float32]) -> None:
    """Multiply the vectors of each document's words.

    Equals `vectors[mine] *= factors[i]` for each document.
    """
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            for k in range(vectors.shape[1]):
                vectors[j, k] *= factors[i, k]


@fast_kernel
def carry(weights: Doubles, vectors: NDArray[np.float32], point: Doubles, out: Doubles) -> None:
    """Give what words carry of an inner product. Equals `weights * (vectors @ point)`."""
    for j in range(len(weights)):
        total = 0.0
        for k in range(len(point)):
            total += np.float64(vectors[j, k]) * point[k]
        out[j] = weights[j] * total


@fast_kernel
def choose_pairs(
    query: WordSum,
    answers: WordSum,
    given: Doubles,
    leading: tuple[Ints, Ints],
    out: tuple[Ints, Doubles],
) -> None:
    """Choose the words of each answer that speak most for what a word of the query gives.

    `leading` are words of the query for each answer, and how many of them count. For each equals
    the largest of `np.outer(query.weights, answers.weights) * (query.vectors @ answers.vectors.T)`,
    by the sign of what is `given`, that are above nothing.
    """
    words, n_words = leading
    places, scores = out
    for i in range(len(words)):
        for p in range(n_words[i]):
            word = words[i, p]
            sign = 1.0 if given[i, word] > 0 else -1.0
            vector = query.vectors[word]
            for j in range(answers.bounds[i], answers.bounds[i + 1]):
                total = np.float32(0)
                for k in range(len(vector)):
                    total += vector[k] * answers.vectors[j, k]
                value = query.weights[word] * answers.weights[j] * np.float64(total)
                if value * sign <= 0:
                    continue
                at = places.shape[2]
                while at > 0 and (
                    places[i, p, at - 1] < 0 or scores[i, p, at - 1] * sign < value * sign
                ):
                    at -= 1
                for k in range(places.shape[2] - 1, at, -1):
                    places[i, p, k], scores[i, p, k] = places[i, p, k - 1], scores[i, p, k - 1]
                if at < places.shape[2]:
                    places[i, p, at], scores[i, p, at] = j, value


@kernel
def merge_shares(
    carried: tuple[Ints, Doubles, Ints], words: tuple[Ints, Doubles]
) -> tuple[Ints, Doubles, Doubles, Ints]:
    """Merge what terms carry of vectors with what they give as words: terms, both, and topics.

    Both come by term. Equals a sum by term, without those that give nothing; a term that carries
    nothing of vectors has the topic -1.
    """
    dense_terms, dense_scores, dense_topics = carried
    word_terms, word_scores = words
    room = len(dense_terms) + len(word_terms)
    terms, topics = np.empty(room, np.int64), np.empty(room, np.int64)
    specific, dense = np.empty(room), np.empty(room)
    i, j, n = 0, 0, 0
    while i < len(dense_terms) or j < len(word_terms):
        left = j == len(word_terms) or (i < len(dense_terms) and dense_terms[i] <= word_terms[j])
        right = i == len(dense_terms) or (j < len(word_terms) and word_terms[j] <= dense_terms[i])
        specific[n], dense[n], topics[n] = 0.0, 0.0, -1
        if left:
            terms[n], dense[n], topics[n] = dense_terms[i], dense_scores[i], dense_topics[i]
            i += 1
        if right:
            terms[n], specific[n] = word_terms[j], word_scores[j]
            j += 1
        if specific[n] != 0 or dense[n] != 0:
            n += 1
    return terms[:n].copy(), specific[:n].copy(), dense[:n].copy(), topics[:n].copy()


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
