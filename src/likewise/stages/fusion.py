"""How do several rankings become one? (Fox, Shaw 1994; Cormack, Clarke, Büttcher 2009.)

The scores of each list are normalised and multiplied by the list's weight; what a document has in
the lists that hold it then becomes one score. A list of weight 0 is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any, ClassVar

import numpy as np

from likewise.arguments import check_counts, check_texts
from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.records import EMPTY, Explanation, Part, Ranking, in_order
from likewise.stages.stage import DEPTH, Chain, Context, Result, Stage, as_stage

RECIPROCAL_RANK_CONSTANT = 60
# What a list's own parts leave of its part of a score.
NORMALISED = "(normalised)"
_ROUNDING = 1e-9


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
        return EMPTY
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


@dataclass(frozen=True)
class Fuse(Stage):
    """Send the queries through several stages and fuse what they give.

    Each gives `list_depth` documents, whatever is asked for, so that normalised scores do not hang
    on k. An answer may be of any stage: its filter is what any of theirs lets through.
    """

    stages: tuple[Stage, ...]
    method: str = "sum"
    normalise: str = "score"
    weights: tuple[float, ...] = ()
    list_depth: int = DEPTH
    notation: ClassVar[str] = "fuse"
    log: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        stages: Sequence[Stage],
        *,
        method: str = "sum",
        normalise: str = "score",
        weights: Sequence[float] | None = None,
        depth: int = DEPTH,
    ) -> Fuse:
        """Fuse stages, after a look at whether that can be meant."""
        if not stages:
            raise UsageError("fusion needs at least one stage")
        check_counts(least=1, depth=depth)
        checked = check_fusion(len(stages), method=method, normalise=normalise, weights=weights)
        return cls(tuple(stages), method, normalise, checked, depth)

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Fuse the rankings of each query; the queries stay as they were, but for the filter."""
        inside = replace(context, k=self.list_depth)
        runs = [Chain(stage.steps).run(batch, inside) for stage in self.stages]
        return [
            self._fuse(result, [run[i] for run in runs], context.k)
            for i, result in enumerate(batch)
        ]

    def depth(self, k: int, *, log: bool) -> int:
        """As deep as any of the stages reads."""
        return max(stage.depth(self.list_depth, log=log) for stage in self.stages)

    def _fuse(self, result: Result, found: Sequence[Result], k: int) -> Result:
        fused = fuse_rankings(
            [one.ranking for one in found],
            method=self.method,
            normalise=self.normalise,
            weights=self.weights,
        )
        either = reduce(or_, (one.query.filter for one in found))
        query = result.query._replace(filter=either)
        return Result(query, fused.cut(k), _FusedScorer(self, fused, found))

    def __str__(self) -> str:
        parts = [*map(str, self.stages), f"method={self.method}"]
        if self.normalise != "score":
            parts.append(f"normalise={self.normalise}")
        if any(weight != 1 for weight in self.weights):
            parts.append(f"weights={'|'.join(f'{weight:g}' for weight in self.weights)}")
        if self.list_depth != DEPTH:
            parts.append(f"depth={self.list_depth}")
        return f"fuse({', '.join(parts)})"


class _FusedScorer:
    """What lists gave to the documents that any of them has, and why each of them did."""

    log = False
    searches = None

    def __init__(self, how: Fuse, fused: Ranking, lists: Sequence[Result]) -> None:
        self._how = how
        self._fused = fused
        self._lists = lists

    def score(self, docs: Ints) -> Doubles:
        """Give fused scores; documents of no list have none."""
        return _looked_up(self._fused.docs, self._fused.scores, docs)

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores by lists, and what each gave as it splits its own scores."""
        parts = self._given(docs)
        names = _names(self._how.stages)
        every = zip(names, self._lists, parts, strict=True)
        lists = [_split(name, one, given, docs) for name, one, given in every]
        found = []
        for i, score in enumerate(self.score(docs).tolist()):
            split = [mine[i] for mine in lists if i in mine]
            shown = [one for one in split if one.evidence]
            most = max(shown, key=lambda one: one.score, default=None)
            every_part = in_order(part for one in split for part in one.parts)
            found.append(Explanation(score, every_part, most.evidence if most else None))
        return found

    def _given(self, docs: Ints) -> Doubles:
        """Give what each list (rows) gave to the scores of documents."""
        how = self._how
        normalise = reciprocal_rank if how.method == "rrf" else NORMALISATIONS[how.normalise]
        given = np.stack(
            [
                _looked_up(one.ranking.docs, normalise(one.ranking) * weight, docs)
                for one, weight in zip(self._lists, how.weights, strict=True)
            ]
        )
        given[np.array(how.weights) == 0] = -np.inf
        there = np.isfinite(given)
        n = there.sum(axis=0)
        parts = np.where(there, given, 0.0)
        if how.method in ("min", "max"):
            # The one list that decides has all of the score, the first of several as good.
            best = given.argmax(axis=0) if how.method == "max" else _least(given)
            parts = np.where(np.arange(len(given))[:, None] == best, parts, 0.0)
        elif how.method in ("anz", "mnz"):
            parts = parts / np.maximum(n, 1) if how.method == "anz" else parts * n
        return parts


def _split(name: str, found: Result, given: Doubles, docs: Ints) -> dict[int, Explanation]:
    """Split what a list gave, where it gave anything, in the proportions of its own scores.

    Where these are not above zero, as logarithms are not, proportions would turn what speaks for a
    document into what speaks against it: such a part stays whole.
    """
    places = np.flatnonzero(given)
    own = [] if found.scorer is None else found.scorer.explain(docs[places])
    told = own or [Explanation(0.0)] * len(places)
    split = {}
    for i, part, one in zip(places.tolist(), given[places].tolist(), told, strict=True):
        scale = part / one.score if one.score > 0 else math.inf
        inner = [mine.scaled(scale) for mine in one.parts] if math.isfinite(scale) else []
        rest = part - math.fsum(mine.score for mine in inner)
        if inner and abs(rest) > _ROUNDING * abs(part):
            inner.append(Part("rest", NORMALISED, rest))
        split[i] = Explanation(part, (Part("list", name, part, tuple(inner)),), one.evidence)
    return split


def _names(stages: Sequence[Stage]) -> list[str]:
    """Name lists by their last searches; those that have these in common by all they are."""
    short = [_short_name(stage) for stage in stages]
    count = Counter(short)
    return [
        name if count[name] == 1 else str(stage) for name, stage in zip(short, stages, strict=True)
    ]


def _short_name(stage: Stage) -> str:
    """Write the last search of a stage, with a mark that there is more."""
    steps = [step for step in stage.steps if not step.only_filters]
    searches = [step for step in steps if step.depth(1, log=False) == 0]
    if len(steps) < 2 or not searches:
        return str(stage)
    return f"{searches[-1]} …"


def _least(given: Doubles) -> Ints:
    places: Ints = np.where(np.isfinite(given), given, np.inf).argmin(axis=0)
    return places


def _looked_up(known: Ints, scores: Doubles, docs: Ints) -> Doubles:
    """Give the scores of documents, -inf for those that are not known."""
    out = np.full(len(docs), -np.inf)
    if len(known):
        order = np.argsort(known, kind="stable")
        places = order[np.minimum(np.searchsorted(known[order], docs), len(known) - 1)]
        there = known[places] == docs
        out[there] = scores[places[there]]
    return out


def fuse(
    *stages: Stage | str,
    method: str = "sum",
    normalise: str = "score",
    weights: Sequence[float] | None = None,
    depth: int = DEPTH,
) -> Fuse:
    """Fuse stages: `fuse("bm25", "ql", method="mnz")`, `fuse("bm25", "ql", weights=[1, 0.5])`."""
    return Fuse.of(
        [as_stage(one) for one in stages],
        method=method,
        normalise=normalise,
        weights=weights,
        depth=depth,
    )


def check_fusion(
    n_lists: int, *, method: str, normalise: str, weights: Sequence[float] | None
) -> tuple[float, ...]:
    """Refuse what cannot be meant; give the weight of each list, 1 where none were given."""
    check_texts(method=method, normalise=normalise)
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
