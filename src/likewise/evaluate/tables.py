"""A comparison as text, for terminals of 100 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.evaluate.significance import ALPHA

if TYPE_CHECKING:
    from likewise.evaluate.report import Cell, Comparison

WIDTH = 100
TESTED = (
    "† randomisation test, ‡ t-test: p < .05. Tests are paired and two-sided; p is Holm-corrected."
)

NONE = "–"
_GAP = "  "
# Names are cut no shorter than it takes to have all measures beside each other, if that is enough.
NAME_WIDTHS = (24, 20, 16, 12)


def single_table(comparison: Comparison) -> str:
    """One run: a row a measure, with the confidence interval in place of comparisons."""
    (row,) = comparison.cells
    body = [["measure", "mean", "95% interval"]]
    for cell in row:
        low, high = cell.interval
        interval = NONE if math.isnan(low) else f"{low:.4f} – {high:.4f}"
        body.append([cell.measure, f"{cell.mean:.4f}", interval])
    lines = [_printable(row[0].run), *align(body), "", *notes_of(comparison)]
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
    tries = (
        in_blocks(["run", *(short_name(name, width) for name in comparison.runs)], columns)
        for width in NAME_WIDTHS
    )
    lines = []
    for block in min(tries, key=lambda blocks: len(blocks) > 1):
        lines += [*align([list(row) for row in zip(*block, strict=True)]), ""]
    measure = comparison.measures[0]
    return "\n".join(
        [
            *lines,
            *notes_of(comparison),
            f"%: difference to {short_name(comparison.baseline)}, the baseline.",
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
    some = ", ".join(f"{short_name(name)} {n}" for name, n in zip(names, counts, strict=True) if n)
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


def in_blocks(names: list[str], columns: list[list[str]]) -> list[list[list[str]]]:
    """Put columns side by side as far as they fit, each block after the names."""
    room = WIDTH - max(map(len, names))
    blocks, left = [[names]], room
    for column in columns:
        needed = len(_GAP) + max(map(len, column))
        if needed > left and len(blocks[-1]) > 1:
            blocks.append([names])
            left = room
        blocks[-1].append(column)
        left -= needed
    return blocks


def align(rows: list[list[str]]) -> list[str]:
    """Write rows as lines, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        _GAP.join(
            cell.ljust(width) if i == 0 or is_head else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row, is_head in ((row, row is rows[0]) for row in rows)
    ]
    return [lines[0], "─" * max(map(len, lines)), *lines[1:]]


def short_name(name: str, width: int = NAME_WIDTHS[0]) -> str:
    """Cut a name in the middle."""
    shown = _printable(name)
    half = (width - 1) // 2
    return shown if len(shown) <= width else f"{shown[:half]}…{shown[-half:]}"


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "�" for char in name)
