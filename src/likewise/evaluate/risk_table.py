"""Risk and reward of several runs side by side."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from likewise.errors import UsageError
from likewise.evaluate.measures import parse_measures
from likewise.evaluate.report import Comparison, compare
from likewise.evaluate.risk import DEPTHS, MEASURES, Curve, Risk, Ruler, measure_risk
from likewise.evaluate.significance import ALPHA, holm
from likewise.evaluate.tables import (
    NONE,
    TESTED,
    WIDTH,
    column_of,
    notes_of,
    shown_p,
)
from likewise.show.table import cut_middle, in_blocks, named_blocks, ruled

if TYPE_CHECKING:
    from ir_measures import Measure

    from likewise.evaluate.trec import Qrels, Run


@dataclass(frozen=True, eq=False)
class RiskTable:
    """Runs against a baseline: prints as a table, and gives JSON and CSV.

    `comparison` has the baseline and the runs of `risks`; p is corrected over all of these and
    their measures. `pairs` hold two of the runs against each other, and p is corrected over the
    pairs. `curves` show a course, not a choice: their p is that of each point alone.
    """

    comparison: Comparison
    risks: tuple[Risk, ...]
    curves: tuple[Curve, ...] = ()
    pairs: tuple[Risk, ...] = ()

    @property
    def depths(self) -> tuple[int, ...]:
        """The depths of R-Loss."""
        return tuple(loss.depth for loss in self.risks[0].losses)

    @property
    def first_depth_with_loss(self) -> int:
        """The first depth at which anything is lost, so that a figure has something to show."""
        shown = [*self.risks, *(point.risk for curve in self.curves for point in curve.points)]
        lost = [any(risk.losses[i].lost for risk in shown) for i in range(len(self.depths))]
        return self.depths[lost.index(True) if any(lost) else 0]

    def lines(self, depth: int) -> dict[str, list[tuple[float, float]]]:
        """What a figure shows by name: the curves, or (where there are none) a point for each run.

        A point is R-Loss at a depth, and the gain in per cent.
        """
        at = self.depths.index(depth)
        if self.curves:
            return {curve.name: curve.line(at) for curve in self.curves}
        names = self.comparison.runs[1:]
        return {
            name: [(float(risk.losses[at].lost), risk.percent)]
            for name, risk in zip(names, self.risks, strict=True)
        }

    def __str__(self) -> str:
        lines = [*_summary(self), "", *_legend(self)]
        for curve in self.curves:
            lines += ["", *_course(curve)]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Give plain values; what cannot be computed is None."""
        before = {cell.measure: cell.mean for cell in self.comparison.cells[0]}
        return {
            "baseline": {"name": self.comparison.baseline, "measures": before},
            "queries": self.risks[0].n_queries,
            "measures": list(self.comparison.measures),
            "depths": list(self.depths),
            "alpha": ALPHA,
            "seed": self.comparison.seed,
            "runs": [
                {**risk, "name": name}
                for name, risk in zip(self.comparison.runs[1:], _corrected(self.risks), strict=True)
            ],
            "pairs": _corrected(self.pairs),
            "curves": [curve.to_json() for curve in self.curves],
        }

    def to_csv(self) -> str:
        """A line for the baseline, for each run, and for each point of a curve (with its share)."""
        values = self.to_json()
        rows = [_flat(run) for run in values["runs"]]
        for curve in values["curves"]:
            rows += [_flat({**point, "name": curve["name"]}) for point in curve["points"]]
        first = {"run": values["baseline"]["name"], "queries": values["queries"]}
        stream = io.StringIO()
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first | values["baseline"]["measures"])
        writer.writerows(rows)
        return stream.getvalue()


def compare_risk(
    runs: Sequence[Run],
    qrels: Qrels,
    *,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    depths: Sequence[int] = DEPTHS,
    seed: int = 0,
    curves: Sequence[Curve] = (),
    pairs: Sequence[tuple[Run, Run]] = (),
) -> RiskTable:
    """Hold runs against the first of them; in `pairs` the second run is the baseline."""
    if len(runs) < 2:
        raise UsageError(
            f"risk is that of a run against a baseline; {len(runs)} given, give at least two runs"
        )
    measures = parse_measures(measures)
    baseline, *others = runs
    ruler = Ruler(baseline, qrels, measures=measures, depths=depths, seed=seed)
    risks = tuple(map(ruler.measure, others))
    held = (
        measure_risk(other, run, qrels, measures=measures, depths=depths, seed=seed)
        for run, other in pairs
    )
    comparison = compare(runs, qrels, measures=measures, seed=seed)
    return RiskTable(comparison, risks, tuple(curves), tuple(held))


def _summary(table: RiskTable) -> list[str]:
    comparison, risks = table.comparison, table.risks
    means = [
        [measure, *column_of(cells)]
        for measure, *cells in zip(comparison.measures, *comparison.cells, strict=True)
    ]
    first = [row[0].difference for row in comparison.cells[1:]]
    columns = [
        *means,
        ["hurt", "", *(str(risk.changes.hurt) for risk in risks)],
        ["helped", "", *(str(risk.changes.helped) for risk in risks)],
        ["RI", "", *(_signed(risk.robustness) for risk in risks)],
        *(
            [_loss_head(i, depth), "", *(str(risk.losses[i].lost) for risk in risks)]
            for i, depth in enumerate(table.depths)
        ),
        ["p", "", *(shown_p(d.p_randomisation_holm) if d else "" for d in first)],
    ]
    lines: list[str] = []
    for block in named_blocks("run", comparison.runs, columns, WIDTH):
        lines += [*([""] if lines else []), *ruled(block)]
    return lines


def _legend(table: RiskTable) -> list[str]:
    measure = table.comparison.measures[0]
    worst = [
        f"query {cut_middle(risk.worst.qid)} by {cut_middle(name)} ({risk.worst.before:.4f} to "
        f"{risk.worst.after:.4f})"
        for name, risk in zip(table.comparison.runs[1:], table.risks, strict=True)
        if risk.worst
    ]
    notes = [
        *map(_pair, table.pairs, _corrected(table.pairs)),
        *([f"Hurt most in {measure}: {', '.join(worst)}."] if worst else []),
        f"%: gain over {cut_middle(table.comparison.baseline)}, the baseline. "
        f"Hurt, helped: queries whose {measure} fell, rose. RI: (helped − hurt) / queries. "
        "R-Loss: relevant documents that the queries hurt lost from so many first places.",
        f"p: of the randomisation test in {measure}. {TESTED}",
    ]
    return [
        *notes_of(table.comparison),
        *(line for note in notes for line in textwrap.wrap(note, WIDTH)),
    ]


def _pair(risk: Risk, corrected: dict[str, Any]) -> str:
    gains = []
    for reward in risk.rewards:
        p = corrected["measures"][reward.measure]["p_randomisation_holm"]
        shown = shown_p(math.nan if p is None else p)
        gains.append(f"{reward.measure} {_percent(reward.percent)}% (p {shown})")
    lost = [f"{_loss_head(i, depth)} {lost}" for i, (depth, lost) in enumerate(risk.losses)]
    return (
        f"{cut_middle(risk.name, 40)} against {cut_middle(risk.baseline, 40)}: {', '.join(gains)}, "
        f"hurt {risk.changes.hurt}, helped {risk.changes.helped}, RI {_signed(risk.robustness)}, "
        f"{', '.join(lost)}."
    )


def _course(curve: Curve) -> list[str]:
    """A curve: a column for each share."""
    _, first = curve.points[0]
    heads = [
        "share",
        *(f"{reward.measure} %" for reward in first.rewards),
        "hurt",
        "helped",
        "RI",
        *(f"R-Loss@{depth}" for depth, _ in first.losses),
    ]
    columns = []
    for share, risk in curve.points:
        numbers = [
            *(_percent(reward.percent) for reward in risk.rewards),
            str(risk.changes.hurt),
            str(risk.changes.helped),
            _signed(risk.robustness),
            *(str(lost) for _, lost in risk.losses),
        ]
        # Heads are set from the left; these stand over numbers.
        columns.append([f"{share:g}".rjust(max(map(len, numbers))), *numbers])
    lines = [f"{cut_middle(curve.name, WIDTH - 40)} as the share of the expansion grows"]
    for block in in_blocks(heads, columns, WIDTH):
        lines += ruled(block)
    return lines


def _loss_head(i: int, depth: int) -> str:
    return f"@{depth}" if i else f"R-Loss@{depth}"


def _percent(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:+.1f}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("0.", ".", 1)


def _corrected(risks: Sequence[Risk]) -> list[dict[str, Any]]:
    """Plain values with p corrected over all of them and their measures."""
    rewards = [reward for risk in risks for reward in risk.rewards]
    p_t = iter(holm([reward.p_t for reward in rewards]))
    p_randomisation = iter(holm([reward.p_randomisation for reward in rewards]))
    plain = [risk.to_json() for risk in risks]
    for values in (values for risk in plain for values in risk["measures"].values()):
        for key, p in (("p_t_holm", next(p_t)), ("p_randomisation_holm", next(p_randomisation))):
            values[key] = None if math.isnan(p) else p
    return plain


def _flat(risk: dict[str, Any]) -> dict[str, Any]:
    worst = risk["worst"] or {}
    row: dict[str, Any] = {"run": risk["name"], "share": risk.get("share")}
    row |= {key: risk[key] for key in ("queries", "helped", "hurt", "equal", "ri")}
    row |= {f"r_loss@{depth}": lost for depth, lost in risk["r_loss"].items()}
    row |= {f"worst_{key}": worst.get(key) for key in ("qid", "before", "after")}
    for measure, values in risk["measures"].items():
        row[measure] = values["mean"]
        for key in ("percent", "p_t", "p_t_holm", "p_randomisation", "p_randomisation_holm"):
            row[f"{measure}_{key}"] = values.get(key)
    return row
