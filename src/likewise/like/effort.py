"""How much has to be read to find candidates in a collection? Counted, when a model is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.compiled import Floats, Ints
from likewise.like.components import EncodedQuery, Encoder
from likewise.like.focus import LEVELS, weights_at
from likewise.like.hybrid import Hybrid, Likeness
from likewise.like.rescoring import ranked
from likewise.models.model import Typical
from likewise.retrieve.question import of_doc

# A sample of documents is asked with; of the ten most like each, so large a share is to be found on
# average, and so many of each ten.
_SAMPLE, _K, _FOUND, _WORST = 40, 10, 0.996, 8
# Documents of one text have one score but for rounding, and any of them is right: so is what scores
# no less than the last of the ten, but for this share of it.
_EQUAL = 1e-6
# Less than this more is as much.
_AS_MUCH = 0.001
# Scans are in single precision: so many more are scored once more.
_SPARE = 20
EFFORTS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


def measure_effort(encoder: Encoder, typical: Typical, *, seed: int = 1) -> float:
    """Give the least effort that finds what scoring every document does, wherever the dial is.

    Where no effort finds enough, it is the least that finds as much as the most does. Where every
    vector is compared, in small collections, it is 1.
    """
    if all(finder is None for finder in encoder.stored.finders):
        return EFFORTS[0]
    collection, how = encoder.collection, Hybrid()
    dense = encoder.model.dense_weight
    likenesses = [
        Likeness(encoder, weights_at(place, typical, dense=dense)) for place in LEVELS.values()
    ]
    sample = np.random.default_rng(seed).permutation(collection.live_docs())[:_SAMPLE]
    if not len(sample):
        return EFFORTS[0]
    asked = [encoder.encode(*of_doc(collection, doc)) for doc in sample.tolist()]
    truth = [
        accurate(likenesses, query, doc, feedback=how.feedback)
        for query, doc in zip(asked, sample, strict=True)
    ]

    def found(effort: float) -> Ints:
        counts = []
        for i, likeness in enumerate(likenesses):
            likeness.candidates.effort = effort
            for query, doc, best in zip(asked, sample, truth, strict=True):
                ranking, _ = likeness.rank(
                    query,
                    k=_K,
                    candidates=how.candidates,
                    feedback=how.feedback,
                    omit=np.array([doc]),
                )
                counts.append(_K - len(best[i].docs) + best[i].count_right(likeness, ranking.docs))
        return np.array(counts)

    shares = []
    for effort in EFFORTS:
        counts = found(effort)
        if counts.mean() >= _FOUND * _K and counts.min(initial=_K) >= _WORST:
            return effort
        shares.append(counts.mean() / _K)
    enough = max(shares) - _AS_MUCH
    return next(effort for effort, share in zip(EFFORTS, shares, strict=True) if share >= enough)


class Accurate(NamedTuple):
    """The best documents for a query, every document scored, and the query after feedback."""

    docs: Ints
    query: EncodedQuery
    least: float

    def count_right(self, likeness: Likeness, found: Ints) -> int:
        """Count the documents found that are among them, or as good as their last."""
        scores = likeness.score(self.query, found)
        right = np.isin(found, self.docs) | (scores >= self.least - _EQUAL * abs(self.least))
        return min(int(np.count_nonzero(right)), len(self.docs))


def accurate(
    likenesses: Sequence[Likeness], query: EncodedQuery, doc: int, *, feedback: int
) -> list[Accurate]:
    """Give the best documents by each likeness, every document scored; parts are scanned once."""
    n = likenesses[0].collection.n_slots
    live = likenesses[0].collection.live_docs()
    live = live[live != doc]

    def scan(likeness: Likeness, query: EncodedQuery, part: str) -> Floats:
        scores = np.zeros(n, np.float32)
        getattr(likeness, part).scan(query, 1.0, scores)
        found: Floats = scores[live]
        return found

    names = ("dense", "specific", "words", "titles")
    parts = {part: scan(likenesses[0], query, part) for part in names}
    found = []
    for likeness in likenesses:
        weights = likeness.weights
        by_words = weights.specific * parts["specific"] + weights.words * parts["words"]
        by_words += weights.titles * parts["titles"]
        first = live[_largest(weights.dense * parts["dense"] + by_words, feedback + _SPARE)]
        best = ranked(first, likeness.score(query, first), feedback)
        turned = likeness.with_feedback(query, best.docs)
        last = weights.dense * scan(likeness, turned, "dense") + by_words
        docs = live[_largest(last, _K + _SPARE)]
        best = ranked(docs, likeness.score(turned, docs), _K)
        found.append(Accurate(best.docs, turned, float(best.scores.min(initial=np.inf))))
    return found


def _largest(scores: Floats, n: int) -> Ints:
    n = min(n, len(scores))
    rows: Ints = np.argpartition(-scores, n - 1)[:n] if n else np.empty(0, np.int64)
    return rows
