"""How do several rankings become one? (Fox, Shaw 1994; Cormack, Clarke, Büttcher 2009.)

The scores of each list are normalised and multiplied by the list's weight; what a document has in
the lists that hold it then becomes one score. A list of weight 0 is left out.
"""

from __future__ import annotations

import math
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
    low, high = float(scores.min()), float(scores.max())
    span = high - low
    if not math.isfinite(span):
        raise UsageError(
            f"scores from {high!r} down to {low!r} have no finite range; normalise by rank"
        )
    return (scores - low) / span if span > 0 else np.ones(len(scores))


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
    rankings: Sequence[Ranking],
    *,
    method: str = "sum",
    normalise: str = "score",
    weights: Sequence[float] | None = None,
) -> Ranking:
    """Fuse rankings of one query; a document of one list only keeps its score there.

    The order of the rankings, each with its weight, makes no difference to any bit.
    """
    given = check_fusion(len(rankings), method=method, normalise=normalise, weights=weights)
    score = reciprocal_rank if method == "rrf" else NORMALISATIONS[normalise]
    lists = [
        (ranking, weight)
        for ranking, weight in zip(rankings, given, strict=True)
        if weight > 0 and len(ranking.docs)
    ]
    if not lists:
        return NOTHING
    docs = np.concatenate([ranking.docs for ranking, _ in lists])
    scores = np.concatenate([score(ranking) * weight for ranking, weight in lists])
    # A document's scores are added from the lowest up: added list by list, two documents with the
    # same scores in different lists could come out an ulp apart.
    order = np.lexsort((scores, docs))
    docs, scores = docs[order], scores[order]
    starts = np.flatnonzero(np.concatenate(([True], docs[1:] != docs[:-1])))
    n = np.diff(starts, append=len(docs))
    total = np.bincount(np.repeat(np.arange(len(starts)), n), scores).astype(np.float64)
    fused = METHODS[method](total, scores[starts], scores[starts + n - 1], n)
    docs = docs[starts]
    order = np.lexsort((docs, -fused))
    return Ranking(docs[order], fused[order])


class Fuse(Stage):
    """Send the queries through several stages and fuse what they give."""

    def __init__(
        self,
        stages: Sequence[Stage],
        *,
        method: str = "sum",
        normalise: str = "score",
        weights: Sequence[float] | None = None,
    ) -> None:
        if not stages:
            raise UsageError("fusion needs at least one stage")
        self.weights = check_fusion(
            len(stages), method=method, normalise=normalise, weights=weights
        )
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
                    [run[i].ranking for run in runs],
                    method=self.method,
                    normalise=self.normalise,
                    weights=self.weights,
                ),
            )
            for i, answered in enumerate(batch)
        ]

    def __repr__(self) -> str:
        parts = [*map(repr, self.stages), f"method={self.method!r}"]
        if self.normalise != "score":
            parts.append(f"normalise={self.normalise!r}")
        if any(weight != 1 for weight in self.weights):
            parts.append(f"weights={list(self.weights)}")
        return f"fuse({', '.join(parts)})"


def fuse(
    *stages: Stage,
    method: str = "sum",
    normalise: str = "score",
    weights: Sequence[float] | None = None,
) -> Fuse:
    """Fuse stages: `fuse(bm25, ql, method="mnz")`, `fuse(bm25, ql, weights=[1, 0.5])`."""
    return Fuse(stages, method=method, normalise=normalise, weights=weights)


def check_fusion(
    n_lists: int, *, method: str, normalise: str, weights: Sequence[float] | None
) -> tuple[float, ...]:
    """Refuse what cannot be meant; give the weight of each list, 1 where none were given."""
    if method not in METHODS:
        raise UsageError(f"unknown fusion {method!r}: it is one of {', '.join(METHODS)}")
    if normalise not in NORMALISATIONS:
        raise UsageError(
            f"unknown normalisation {normalise!r}: it is one of {', '.join(NORMALISATIONS)}"
        )
    if weights is None:
        return (1.0,) * n_lists
    try:
        numbers = tuple(map(float, weights))
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"weights are numbers, one for each list, not {weights!r}") from None
    shown = ", ".join(f"{number:g}" for number in numbers)
    if len(numbers) != n_lists:
        raise UsageError(
            f"{len(numbers)} weight{'s' * (len(numbers) != 1)} ({shown}) for {n_lists} to be "
            "fused: give one for each"
        )
    # One test for infinite weights, for NaN, and for those whose fused scores would overflow.
    if any(number < 0 for number in numbers) or not math.isfinite(sum(numbers) * n_lists):
        raise UsageError(f"weights are numbers from 0 up, not {shown}")
    if numbers and not any(numbers):
        raise UsageError("every weight is 0: at least one list must count")
    return numbers
