"""What does a change of the queries gain, and what does it put at risk?

Reward is the relative change of a measure's mean. Risk is what the queries that were made worse
lose (R-Loss: Collins-Thompson, PhD thesis, 2008). A curve shows both as more and more of an
expansion is let into the queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.arguments import numbers
from likewise.errors import UsageError
from likewise.evaluate.measures import evaluate, parse_measures
from likewise.evaluate.significance import (
    TOLERANCE,
    Changes,
    changes,
    randomisation_test,
    t_test,
)

if TYPE_CHECKING:
    from ir_measures import Measure

    from likewise.evaluate.trec import Qrels, Run

MEASURES = ("AP", "nDCG@10")
DEPTHS = (1000, 100)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Reward(NamedTuple):
    """One measure of the baseline and of the run, and whether they differ by more than chance."""

    measure: str
    before: float
    after: float
    p_t: float
    p_randomisation: float

    @property
    def difference(self) -> float:
        """The change of the mean."""
        return self.after - self.before

    @property
    def percent(self) -> float:
        """The change relative to the baseline's mean; NaN where that is 0."""
        return 100 * self.difference / self.before if self.before else math.nan

    def to_json(self) -> dict[str, Any]:
        """Give plain values; what cannot be computed is None."""
        values = {
            "before": self.before,
            "mean": self.after,
            "difference": self.difference,
            "percent": self.percent,
            "p_t": self.p_t,
            "p_randomisation": self.p_randomisation,
        }
        return {key: None if math.isnan(value) else value for key, value in values.items()}


class Loss(NamedTuple):
    """How many relevant documents the queries made worse lost from the first `depth` places."""

    depth: int
    lost: int


class Worst(NamedTuple):
    """The query that lost most in the first measure; the earliest judged, where several did."""

    qid: str
    before: float
    after: float


@dataclass(frozen=True)
class Risk:
    """What a run gains over a baseline and what it puts at risk, query by query.

    The first measure decides which queries are hurt and helped. The queries are those with a
    relevant document; one that a run does not answer counts as 0.
    """

    baseline: str
    name: str
    n_queries: int
    rewards: tuple[Reward, ...]
    changes: Changes
    losses: tuple[Loss, ...]
    worst: Worst | None

    @property
    def robustness(self) -> float:
        """RI, from -1 to 1: (helped - hurt) / queries."""
        return (self.changes.helped - self.changes.hurt) / self.n_queries

    @property
    def percent(self) -> float:
        """The gain in the first measure."""
        return self.rewards[0].percent

    def to_json(self) -> dict[str, Any]:
        """Give plain values; what cannot be computed is None."""
        return {
            "name": self.name,
            "baseline": self.baseline,
            "queries": self.n_queries,
            "helped": self.changes.helped,
            "hurt": self.changes.hurt,
            "equal": self.changes.equal,
            "ri": self.robustness,
            "r_loss": {str(depth): lost for depth, lost in self.losses},
            "worst": self.worst._asdict() if self.worst else None,
            "measures": {reward.measure: reward.to_json() for reward in self.rewards},
        }


class Point(NamedTuple):
    """A share of the expansion in the queries, and what it brings."""

    share: float
    risk: Risk


@dataclass(frozen=True)
class Curve:
    """Risk and reward as the share of the expansion grows."""

    name: str
    points: tuple[Point, ...]

    def line(self, at: int = 0) -> list[tuple[float, float]]:
        """The curve for a figure: R-Loss at one of the depths, and the gain in per cent."""
        return [(float(risk.losses[at].lost), risk.percent) for _, risk in self.points]

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "name": self.name,
            "points": [{"share": share, **risk.to_json()} for share, risk in self.points],
        }


def measure_risk(
    baseline: Run,
    run: Run,
    qrels: Qrels,
    *,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    depths: Sequence[int] = DEPTHS,
    seed: int = 0,
) -> Risk:
    """Measure what a run gains over a baseline, and what it puts at risk.

    R-Loss at k: of the queries hurt, the relevant documents (grade 1 or higher) that the first k
    places lost, `max(0, before - after)` a query. So a query that is made worse and yet finds
    more relevant documents counts 0, and does not make up for what another one lost.
    """
    return Ruler(baseline, qrels, measures=measures, depths=depths, seed=seed).measure(run)


def risk_curve(
    name: str,
    run_at: Callable[[float], Run],
    baseline: Run,
    qrels: Qrels,
    *,
    shares: Sequence[float] = SHARES,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    depths: Sequence[int] = DEPTHS,
    seed: int = 0,
) -> Curve:
    """Measure risk and reward at several shares of an expansion, the smallest share first."""
    ruler = Ruler(baseline, qrels, measures=measures, depths=depths, seed=seed)
    return Curve(
        name, tuple(Point(share, ruler.measure(run_at(share))) for share in check_shares(shares))
    )


class Ruler:
    """A baseline, measured once, that runs are held against."""

    def __init__(
        self,
        baseline: Run,
        qrels: Qrels,
        *,
        measures: str | Measure | Iterable[str | Measure] = MEASURES,
        depths: Sequence[int] = DEPTHS,
        seed: int = 0,
    ) -> None:
        self.depths = check_depths(depths)
        self.measures = parse_measures(measures)
        self._scores = evaluate(baseline, qrels, measures=self.measures)
        self._baseline = baseline
        self._qrels = qrels
        self._seed = seed

    def measure(self, run: Run) -> Risk:
        """Hold a run against the baseline."""
        before, baseline = self._scores, self._baseline
        after = evaluate(run, self._qrels, measures=self.measures)
        if run and baseline and run.keys().isdisjoint(baseline):
            raise UsageError(
                f"runs {baseline.name!r} and {run.name!r} answer no query in common; "
                "give runs of the same queries"
            )
        gaps = after.values - before.values
        hurt = [before.qids[i] for i in np.flatnonzero(gaps[0] < -TOLERANCE).tolist()]
        rewards = tuple(
            Reward(
                measure,
                float(before.values[i].mean()),
                float(after.values[i].mean()),
                t_test(gaps[i]),
                randomisation_test(gaps[i], seed=self._seed),
            )
            for i, measure in enumerate(before.measures)
        )
        worst = int(gaps[0].argmin())
        return Risk(
            baseline.name,
            run.name,
            len(before.qids),
            rewards,
            changes(gaps[0]),
            tuple(Loss(depth, self._lost(run, hurt, depth)) for depth in self.depths),
            Worst(before.qids[worst], float(before.values[0, worst]), float(after.values[0, worst]))
            if hurt
            else None,
        )

    def _lost(self, run: Run, qids: Iterable[str], depth: int) -> int:
        return sum(
            max(0, self._found(self._baseline, qid, depth) - self._found(run, qid, depth))
            for qid in qids
        )

    def _found(self, run: Run, qid: str, depth: int) -> int:
        relevant = self._qrels.relevant(qid)
        return sum(doc_id in relevant for doc_id, _ in run.get(qid, [])[:depth])


def check_depths(depths: Sequence[int]) -> tuple[int, ...]:
    """Refuse depths that are none; give each once, in the order given."""
    given = tuple(dict.fromkeys(numbers(depths, "depths")))
    if not given or any(depth < 1 for depth in given):
        shown = ", ".join(map(str, given)) or "none"
        raise UsageError(f"R-Loss needs depths of at least 1, such as 1000,100, not {shown}")
    return given


def check_shares(shares: Iterable[float]) -> tuple[float, ...]:
    """Refuse shares that are none; give each once, the smallest first."""
    given = numbers(shares, "shares")
    # Written so that NaN fails too.
    if not given or not all(0 <= share <= 1 for share in given):
        shown = ", ".join(f"{share:g}" for share in given) or "none"
        raise UsageError(
            f"shares are from 0 (the query alone) to 1 (the expansion alone), not {shown}"
        )
    return tuple(sorted(set(map(float, given))))
