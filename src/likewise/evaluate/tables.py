"""A comparison as text, for terminals of 100 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.evaluate.significance import ALPHA
from likewise.show.table import cut_middle, named_blocks, printable, ruled

if TYPE_CHECKING:
    from likewise.evaluate.report import Cell, Comparison

WIDTH = 100
TESTED = (
    "† randomisation test, ‡ t-test: p < .05. Tests are paired and two-sided; p is Holm-corrected."
)

NONE = "–"


def single_table(comparison: Comparison) -> str:
    """One run: a row a measure, with the confidence interval in place of comparisons."""
    (row,) = comparison.cells
    body = [("measure", "mean", "95% interval")]
    for cell in row:
        low, high = cell.interval
        interval = NONE if math.isnan(low) else f"{low:.4f} – {high:.4f}"
        body.append((cell.measure, f"{cell.mean:.4f}", interval))
    lines = [printable(row[0].run), *ruled([*zip(*body, strict=True)]), "", *notes_of(comparison)]
    lines.append("95% interval: bootstrap over the queries.")
    return "\n".join(lines)


def comparison_table(comparison: Comparison) -> str:
    """Several runs: a row a run; measures that do not fit beside each other follow below."""
    columns = [
        [measure, *column_of(cells)]
        for measure, *cells in zip(comparison.measures, *comparison.cells, strict=True)
    ]
    first = [row[0].difference for row in comparison.cells]
    extra = [
        ["+/−", *(f"{d.changes.helped}/{d.changes.hurt}" if d else "" for d in first)],
        ["p", *(shown_p(d.p_randomisation_holm) if d else "" for d in first)],
    ]
    # The changes are those of the first measure, so they stand right beside it.
    columns[1:1] = extra
    lines = []
    for block in named_blocks("run", comparison.runs, columns, WIDTH):
        lines += [*ruled(block), ""]
    measure = comparison.measures[0]
    return "\n".join(
        [
            *lines,
            *notes_of(comparison),
            f"%: difference to {cut_middle(comparison.baseline)}, the baseline.",
            f"+/−: queries helped and hurt in {measure}; p: of its randomisation test.",
            TESTED,
        ]
    )


def notes_of(comparison: Comparison) -> list[str]:
    """Tell what is counted, and what is not."""
    n_queries = len(comparison.scores[0].qids)
    plural = "query" if n_queries == 1 else "queries"
    notes = [
        f"Means over the {n_queries} {plural} with a document judged relevant.",
        *_counted(
            "Of these, not answered and counted as 0:",
            names=comparison.runs,
            counts=[scores.absent for scores in comparison.scores],
        ),
        *_counted(
            "Queries left out, as no document is judged relevant to them:",
            names=comparison.runs,
            counts=[scores.left_out for scores in comparison.scores],
        ),
    ]
    return [line for note in notes for line in textwrap.wrap(note, WIDTH)]


def _counted(what: str, *, names: Sequence[str], counts: Sequence[int]) -> list[str]:
    if not any(counts):
        return []
    if len(set(counts)) == 1:
        return [f"{what} {counts[0]}{' in each run' if len(counts) > 1 else ''}."]
    some = ", ".join(f"{cut_middle(name)} {n}" for name, n in zip(names, counts, strict=True) if n)
    return [f"{what} {some}."]


def column_of(cells: Sequence[Cell]) -> list[str]:
    """Means, differences and marks of one measure, each aligned, as wide as they need to be."""
    parts = [_parts(cell) for cell in cells]
    widths = [max(len(part[i]) for part in parts) for i in range(3)]
    return [
        f"{mean:>{widths[0]}} {percent:>{widths[1]}}{marks:<{widths[2]}}"
        for mean, percent, marks in parts
    ]


def _parts(cell: Cell) -> tuple[str, str, str]:
    mean = f"{cell.mean:.4f}"
    gap = cell.difference
    if gap is None:
        return mean, "", ""
    percent = NONE if math.isnan(gap.percent) else f"{gap.percent:+.1f}%"
    if len(percent) > 8:
        percent = f"{gap.percent:+.0e}%"
    marks = ("†" if gap.p_randomisation_holm < ALPHA else "") + (
        "‡" if gap.p_t_holm < ALPHA else ""
    )
    return mean, percent, marks


def shown_p(p: float) -> str:
    """Write a p value."""
    if math.isnan(p):
        return NONE
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
