"""How do several rankings become one? (Fox, Shaw 1994; Cormack, Clarke, Büttcher 2009.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.stages.stage import NOTHING, Answered, Stage

RECIPROCAL_RANK_CONSTANT = 60


def by_score(ranking: Ranking) -> Doubles:
    """Normalise scores to `(s - min)/(max - min)`; all equal scores become 1."""
    scores = ranking.scores
    if len(scores) == 0:
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def by_rank(ranking: Ranking) -> Doubles:
    """Normalise to `1 - (rank - 1)/n`."""
    n = len(ranking.scores)
    return 1 - np.arange(n) / max(n, 1)


def reciprocal_rank(ranking: Ranking) -> Doubles:
    """Give `1 / (60 + rank)`."""
    return 1 / (RECIPROCAL_RANK_CONSTANT + 1 + np.arange(len(ranking.scores), dtype=np.float64))


NORMALISATIONS: dict[str, Callable[[Ranking], Doubles]] = {"score": by_score, "rank": by_rank}

# How the normalised scores of one document (sum, smallest, largest, count) become one.
METHODS: dict[str, Callable[[Doubles, Doubles, Doubles, Ints], Any]] = {
    "min": lambda total, low, high, n: low,
    "max": lambda total, low, high, n: high,
    "sum": lambda total, low, high, n: total,
    "anz": lambda total, low, high, n: total / n,
    "mnz": lambda total, low, high, n: total * n,
    "rrf": lambda total, low, high, n: total,
}


def fuse_rankings(
    rankings: Sequence[Ranking], *, method: str = "sum", normalise: str = "score"
) -> Ranking:
    """Fuse rankings of one query; a document of one list only keeps its score there."""
    _check(method, normalise)
    score = reciprocal_rank if method == "rrf" else NORMALISATIONS[normalise]
    lists = [ranking for ranking in rankings if len(ranking.docs)]
    if not lists:
        return NOTHING
    docs, where = np.unique(np.concatenate([r.docs for r in lists]), return_inverse=True)
    scores = np.concatenate([score(ranking) for ranking in lists])
    total = np.bincount(where, scores, len(docs)).astype(np.float64)
    low, high = np.full(len(docs), np.inf), np.full(len(docs), -np.inf)
    np.minimum.at(low, where, scores)
    np.maximum.at(high, where, scores)
    fused = METHODS[method](total, low, high, np.bincount(where, minlength=len(docs)))
    order = np.lexsort((docs, -fused))
    return Ranking(docs[order], fused[order])


class Fuse(Stage):
    """Send the queries through several stages and fuse what they give."""

    def __init__(
        self, stages: Sequence[Stage], *, method: str = "sum", normalise: str = "score"
    ) -> None:
        if not stages:
            raise UsageError("fusion needs at least one stage")
        _check(method, normalise)
        self.stages = tuple(stages)
        self.method = method
        self.normalise = normalise

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Fuse the rankings of each query; the queries stay as they were."""
        runs = [stage.apply(batch) for stage in self.stages]
        return [
            Answered(
                answered.query,
                fuse_rankings(
                    [run[i].ranking for run in runs], method=self.method, normalise=self.normalise
                ),
            )
            for i, answered in enumerate(batch)
        ]

    def __repr__(self) -> str:
        return f"fuse({', '.join(map(repr, self.stages))}, method={self.method!r})"


def fuse(*stages: Stage, method: str = "sum", normalise: str = "score") -> Fuse:
    """Fuse stages: `fuse(bm25, ql, method="mnz")`."""
    return Fuse(stages, method=method, normalise=normalise)


def _check(method: str, normalise: str) -> None:
    if method not in METHODS:
        raise UsageError(f"unknown fusion {method!r}: it is one of {', '.join(METHODS)}")
    if normalise not in NORMALISATIONS:
        raise UsageError(
            f"unknown normalisation {normalise!r}: it is one of {', '.join(NORMALISATIONS)}"
        )
