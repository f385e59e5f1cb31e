"""Which of the documents that were listed are best? Exact scores, of those that may be.

What dense vectors and sums of words estimate orders what was listed. The first are scored; then,
again and again, those whose estimate is not farther below the k-th score than a margin, which goes
by how far above its estimate a score came so far.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise.compiled import Doubles, Floats, Ints
from likewise.like.by_words import WordScores
from likewise.like.candidates import Listed
from likewise.like.components import EncodedQuery
from likewise.records import Ranking

# So many are scored first; others whose estimate is below the k-th score by no more than so many
# times what a score was above its estimate. Of the ten of 500 queries (100,000 abstracts, 700,000
# documents; subject, balanced, thing) 1, 2, 8 and 3, 3, 6 are missed so, and 1, 2, 6 and 3, 3, 6 if
# all are scored; with 2 in place of 2.5 11 of thing, with 1.5 26.
_AT_FIRST, _MARGIN = 48, 2.5
# Estimates are of single precision.
_ROUNDING = 1e-5


class DenseScores(Protocol):
    """Scores documents by dense vectors, as often as these count."""

    def __call__(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents."""
        ...


class Rescorer:
    """Scores what was listed for a query, which may turn, but not in its words."""

    def __init__(self, listed: Listed, dense: DenseScores, words: WordScores) -> None:
        self._listed = listed
        self._dense = dense
        self._words = words
        # What words give to documents, where these were scored; the places of those.
        self._by_words = np.zeros(len(listed.docs))
        self._is_scored = np.zeros(len(listed.docs), np.bool_)
        self._scored: Ints = np.zeros(0, np.int64)

    def best(self, query: EncodedQuery, k: int, *, share: float = 1.0) -> Ranking:
        """Rank the k best by a query, of those listed or of the best share of them."""
        if self._listed.by_words is None:
            self._score(np.flatnonzero(~self._is_scored))
        else:
            self._score_likely(self._listed.estimates(query), self._listed.by_words, k, share)
        docs = self._listed.docs[self._scored]
        return ranked(docs, self._dense(query, docs) + self._by_words[self._scored], k)

    def _score_likely(self, estimates: Floats, by_words: Floats, k: int, share: float) -> None:
        """Score those that may be among the k best."""
        left = largest(estimates, self._listed.limit(share, least=k))
        left = left[~self._is_scored[left]]
        while len(left):
            n = max(k, _AT_FIRST) - len(self._scored)
            if n <= 0:
                above = self._by_words[self._scored] - by_words[self._scored]
                scores = estimates[self._scored] + above
                least = np.partition(scores, len(scores) - k)[len(scores) - k]
                least -= _MARGIN * max(float(above.max()), 0.0) + _ROUNDING
                n = int(np.count_nonzero(estimates[left] >= least))
            if not n:
                break
            self._score(left[:n])
            left = left[n:]

    def _score(self, places: Ints) -> None:
        self._by_words[places] = self._words.score(self._listed.docs[places])
        self._is_scored[places] = True
        self._scored = np.concatenate([self._scored, places])


def largest(scores: Floats, n: int) -> Ints:
    """Give the places of the n largest scores, and of those as large as the last, in order."""
    places = np.arange(len(scores))
    if n < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, len(scores) - n)[len(scores) - n])
    order: Ints = places[np.argsort(-scores[places], kind="stable")]
    return order


def ranked(docs: Ints, scores: Doubles, k: int) -> Ranking:
    """Rank the k best documents; what shares nothing with the query, and so has 0, is none."""
    there = scores != 0
    docs, scores = docs[there], scores[there]
    order = np.lexsort((docs, -scores))[:k]
    return Ranking(docs[order], scores[order])
