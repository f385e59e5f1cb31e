"""Runs side by side: means, differences to a baseline, and what of it is more than chance."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.arguments import check_counts, check_kind, several
from likewise.errors import UsageError
from likewise.evaluate.measures import DEFAULT_MEASURES, Scores, evaluate
from likewise.evaluate.significance import (
    ALPHA,
    Changes,
    Interval,
    bootstrap_interval,
    changes,
    holm,
    randomisation_test,
    t_test,
)
from likewise.evaluate.tables import comparison_table, single_table
from likewise.evaluate.trec import Qrels, Run

if TYPE_CHECKING:
    from ir_measures import Measure


class Value(NamedTuple):
    """One value of one query."""

    qid: str
    run: str
    measure: str
    value: float


@dataclass(frozen=True)
class Difference:
    """How a run differs from the baseline in one measure.

    `percent` is NaN where the baseline's mean is 0. The corrected p values count every run and
    measure of the comparison.
    """

    absolute: float
    percent: float
    p_t: float
    p_randomisation: float
    p_t_holm: float
    p_randomisation_holm: float
    changes: Changes


@dataclass(frozen=True)
class Cell:
    """One run under one measure; the baseline has no `difference`."""

    run: str
    measure: str
    mean: float
    interval: Interval
    difference: Difference | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs under measures: prints as a table, and gives JSON, CSV and the value of each query."""

    baseline: str
    scores: tuple[Scores, ...]
    cells: tuple[tuple[Cell, ...], ...]
    seed: int

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs, in the order given."""
        return tuple(row[0].run for row in self.cells)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in the order given."""
        return self.scores[0].measures

    def __getitem__(self, key: tuple[str, str]) -> Cell:
        for cell in (cell for row in self.cells for cell in row):
            if (cell.run, cell.measure) == key:
                return cell
        raise UsageError(
            f"there is no {key!r}: the runs are {', '.join(self.runs)}, "
            f"the measures {', '.join(self.measures)}"
        )

    def __str__(self) -> str:
        table = single_table if len(self.cells) == 1 else comparison_table
        return table(self)

    def per_query(self) -> list[Value]:
        """The value of every query under every run and measure."""
        return [
            Value(qid, name, measure, float(value))
            for name, scores in zip(self.runs, self.scores, strict=True)
            for measure in self.measures
            for qid, value in zip(scores.qids, scores[measure], strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """A plain dict; what cannot be computed is None."""
        return {
            "baseline": self.baseline,
            "queries": len(self.scores[0].qids),
            "measures": list(self.measures),
            "alpha": ALPHA,
            "seed": self.seed,
            "runs": [
                {
                    "name": name,
                    "queries_absent": scores.absent,
                    "queries_left_out": scores.left_out,
                    "measures": {cell.measure: _plain(cell) for cell in row},
                }
                for name, scores, row in zip(self.runs, self.scores, self.cells, strict=True)
            ],
        }

    def to_csv(self) -> str:
        """One line for each run and measure; what cannot be computed is empty."""
        stream = io.StringIO()
        rows = [
            {"run": cell.run, "measure": cell.measure, **_plain(cell)}
            for row in self.cells
            for cell in row
        ]
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()


def compare(
    runs: Sequence[Run],
    qrels: Qrels,
    *,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    baseline: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Measure runs and test each against the baseline: the first run, unless another is named.

    Runs of one name are told apart by a number: "bm25", "bm25 (2)".
    """
    runs = several(runs, Run, "runs are a list of Run, as in compare([run, other], qrels)")
    check_kind(qrels, Qrels, "judgements are Qrels, as read_qrels gives them")
    check_counts(seed=seed)
    if not runs:
        raise UsageError("there is no run to evaluate; give at least one")
    names = _distinct([run.name for run in runs])
    if baseline is None:
        baseline = names[0]
    if baseline not in names:
        raise UsageError(f"no run is named {baseline!r}; the runs are {', '.join(names)}")
    if not isinstance(measures, str):
        measures = list(measures) if isinstance(measures, Iterable) else [measures]
    scores = tuple(evaluate(run, qrels, measures=measures) for run in runs)
    against = scores[names.index(baseline)]
    differences = iter(
        _differences([s for s in scores if s is not against], against=against, seed=seed)
    )
    cells = tuple(
        tuple(
            Cell(
                run=name,
                measure=measure,
                mean=float(own[measure].mean()),
                interval=bootstrap_interval(own[measure], seed=seed),
                difference=None if own is against else next(differences),
            )
            for measure in own.measures
        )
        for name, own in zip(names, scores, strict=True)
    )
    return Comparison(baseline=baseline, scores=scores, cells=cells, seed=seed)


def _differences(others: list[Scores], *, against: Scores, seed: int) -> list[Difference]:
    """Every run × measure, run by run, with p values corrected over all of them."""
    pairs = [(own[measure], against[measure]) for own in others for measure in own.measures]
    gaps = [own - base for own, base in pairs]
    p_t = [t_test(gap) for gap in gaps]
    p_randomisation = [randomisation_test(gap, seed=seed) for gap in gaps]
    corrected = zip(holm(p_t), holm(p_randomisation), strict=True)
    found = []
    for i, (t_holm, randomisation_holm) in enumerate(corrected):
        base = float(pairs[i][1].mean())
        gap = float(gaps[i].mean())
        found.append(
            Difference(
                absolute=gap,
                percent=100 * gap / base if base else math.nan,
                p_t=p_t[i],
                p_randomisation=p_randomisation[i],
                p_t_holm=t_holm,
                p_randomisation_holm=randomisation_holm,
                changes=changes(gaps[i]),
            )
        )
    return found


def _distinct(names: list[str]) -> list[str]:
    taken: set[str] = set()
    distinct = []
    for name in names:
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name} ({number})"
        taken.add(unique)
        distinct.append(unique)
    return distinct


def _plain(cell: Cell) -> dict[str, Any]:
    gap = cell.difference
    plain = {
        "mean": cell.mean,
        "ci95_low": cell.interval.low,
        "ci95_high": cell.interval.high,
        "difference": gap.absolute if gap else None,
        "percent": gap.percent if gap else None,
        "p_t": gap.p_t if gap else None,
        "p_t_holm": gap.p_t_holm if gap else None,
        "p_randomisation": gap.p_randomisation if gap else None,
        "p_randomisation_holm": gap.p_randomisation_holm if gap else None,
        "helped": gap.changes.helped if gap else None,
        "hurt": gap.changes.hurt if gap else None,
        "equal": gap.changes.equal if gap else None,
    }
    return {key: None if _undefined(value) else value for key, value in plain.items()}


def _undefined(value: float | None) -> bool:
    return value is None or math.isnan(value)
