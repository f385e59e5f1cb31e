"""Risk-reward trade-off curves (Collins-Thompson and Callan, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.draw import style
from likewise.draw.labels import Placed, place
from likewise.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from likewise.compiled import Doubles

_MARGIN = 0.08
_RADIUS = 3.4
_SAME = 4.0  # points: marks nearer than that, and of the same text, are one
_APART = 10.0  # points, from other curves, for a name to belong to its own
_THICKNESS, _STEP = 1.8, 2.5  # of a line and along it, where labels may not be
_WIDEST = 190.0  # points, of a name


class _Mark(NamedTuple):
    """What is written at a point."""

    text: str
    where: Doubles
    colour: str
    size: float
    bold: bool


def draw_risk(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x_label: str = "R-Loss: relevant documents lost by the queries made worse",
    y_label: str = "gain in MAP (%)",
    title: str,
    to: Path,
    marks: Sequence[str] | None = None,
) -> list[Path]:
    """Draw a line through the points (risk, reward) of each name, from α = 0 to α = 1.

    `marks` are written at the points, in their order, an empty one at none; without them the
    first, the middle and the last are marked with their α, steps of α being equal.
    """
    style.check(to)
    lines = {name: _points(name, points) for name, points in curves.items()}
    _check(lines, marks)
    with style.house():
        return style.save(_drawn(lines, marks, x_label, y_label, title), to)


def _points(name: str, points: Sequence[tuple[float, float]]) -> Doubles:
    if not len(points) or any(len(point) != 2 for point in points):
        raise UsageError(f"the curve {name!r} needs points (x, y), one at least")
    return np.array(points, np.float64)


def _check(lines: Mapping[str, Doubles], marks: Sequence[str] | None) -> None:
    most = len(style.STROKES)
    if not 1 <= len(lines) <= most:
        raise UsageError(
            f"a figure holds 1 to {most} curves that can be told apart, not {len(lines)}"
        )
    for name, points in lines.items():
        good = style.drawable(points)
        if not good.all():
            x, y = points[int(np.argmin(good))]
            raise UsageError(f"the curve {name!r} cannot be drawn through ({x:g}, {y:g})")
        if marks is not None and len(marks) != len(points):
            raise UsageError(
                f"the curve {name!r} has {len(points)} points, and there are {len(marks)} marks: "
                "give one for each, empty for none"
            )


def _drawn(
    lines: Mapping[str, Doubles],
    marks: Sequence[str] | None,
    x_label: str,
    y_label: str,
    title: str,
) -> Figure:
    fig = style.figure(7.2, 5.2)
    ax = style.axes(fig, title=title, x_label=x_label, y_label=y_label)
    _limit(ax, np.vstack([*lines.values(), np.zeros((1, 2))]))
    for at, points in enumerate(lines.values()):
        _line(ax, points, style.STROKES[at], _labels(len(points), marks), at)
    caption = style.caption(fig)
    style.fix_layout(fig)

    drawn = [np.asarray(ax.transData.transform(points)) for points in lines.values()]
    written = list(_written(list(lines), drawn, marks))
    placed = _place(ax, written, drawn)
    for mark, box, leader in zip(written, placed.boxes, placed.leaders, strict=True):
        if not np.isnan(box[0]):
            style.label(
                fig, mark.text, box, leader, colour=mark.colour, size=mark.size, bold=mark.bold
            )
    told = ["higher and further left is better"]
    if placed.left_out:
        told.append(f"{style.counted(placed.left_out, 'label')} not shown")
    caption.set_text("  ·  ".join(told))
    return fig


def _limit(ax: Axes, points: Doubles) -> None:
    """Show all points, zero among them, with room around."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = points.min(axis=0), points.max(axis=0)
    # Where nothing but zeros is: no risk, and neither gain nor loss.
    low, high = np.where(high > low, (low, high), ((0.0, -1.0), (1.0, 1.0)))
    low, high = low - _MARGIN * (high - low), high + _MARGIN * (high - low)
    ax.set_xlim(float(low[0]), float(high[0]))
    ax.set_ylim(float(low[1]), float(high[1]))
    for axis, whole in ((ax.xaxis, True), (ax.yaxis, False)):
        # Documents are lost whole.
        axis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10], integer=whole))
        axis.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))


def _line(ax: Axes, points: Doubles, stroke: style.Stroke, labels: Sequence[str], at: int) -> None:
    """Draw a curve, small at each point, larger where it is marked.

    Later ones are thinner, so that the first is seen beneath where they coincide.
    """
    x, y = points.T
    look: dict[str, Any] = {"color": stroke.colour, "zorder": 2 + 0.1 * at, "clip_on": False}
    edge: dict[str, Any] = {"markeredgecolor": style.CARD, "markeredgewidth": 0.6}
    dashes: Any = (0, stroke.dashes) if stroke.dashes else "solid"
    ax.plot(x, y, linestyle=dashes, linewidth=2.4 if at == 0 else 1.5, **look)
    ax.plot(x, y, linestyle="none", marker=stroke.marker, markersize=4, **edge, **look)
    # A point alone is all there is of its curve. (No point at all would stand in a corner of the
    # figure when that is laid out.)
    chosen = np.array([bool(label) or len(labels) == 1 for label in labels])
    if chosen.any():
        x, y = points[chosen].T
        ax.plot(x, y, linestyle="none", marker=stroke.marker, markersize=7, **edge, **look)


def _labels(n: int, marks: Sequence[str] | None) -> list[str]:
    """Give what is written at each of n points."""
    if marks is not None:
        return [style.clean(mark) for mark in marks]
    labels = [""] * n
    for at in {0, n // 2, n - 1}:
        alpha = at / max(n - 1, 1)
        labels[at] = "α = " + (f"{alpha:.2g}".removeprefix("0") or "0")
    return labels


def _written(
    names: Sequence[str], drawn: Sequence[Doubles], marks: Sequence[str] | None
) -> Iterator[_Mark]:
    """Give names where their curves are farthest from others, then marks, those alike once."""
    for at, (name, points) in enumerate(zip(names, drawn, strict=True)):
        others = [_along(line) for other, line in enumerate(drawn) if other != at]
        text = style.shortened(name, _WIDEST, bold=True)
        where = points[_loneliest(points, others)]
        colour = style.letters(style.STROKES[at].colour)
        if text:
            yield _Mark(text, where, colour, style.TEXT_SIZE, True)
    seen: list[_Mark] = []
    for at, points in enumerate(drawn):
        colour = style.letters(style.STROKES[at].colour)
        for text, where in zip(_labels(len(points), marks), points, strict=True):
            if text:
                mark = _Mark(text, where, colour, style.SMALL_SIZE, False)
                twins = [
                    row
                    for row, other in enumerate(seen)
                    if other.text == text and np.hypot(*(other.where - where)) < _SAME
                ]
                if twins:
                    seen[twins[0]] = seen[twins[0]]._replace(colour=style.SOFT)
                else:
                    seen.append(mark)
    yield from seen


def _loneliest(points: Doubles, others: Sequence[Doubles]) -> int:
    """Give the point of the later half that is farthest from other curves; if alike, the last."""
    if not others:
        return len(points) - 1
    near = np.vstack(others)
    apart = np.array([np.hypot(*(near - point).T).min() for point in points])
    # Beyond that they are plainly apart, and nearer to the end is better.
    apart = np.minimum(np.round(apart), _APART)
    apart[: len(points) // 2] = -1
    return int(len(points) - 1 - np.argmax(apart[::-1]))


def _along(points: Doubles) -> Doubles:
    """Give points along a line, no farther apart than a step."""
    pieces = [points[:1]]
    for start, end in pairwise(points):
        steps = int(np.hypot(*(end - start)) / _STEP) + 1
        pieces.append(start + (end - start) * (np.arange(1, steps + 1) / steps)[:, None])
    return np.vstack(pieces)


def _place(ax: Axes, written: Sequence[_Mark], drawn: Sequence[Doubles]) -> Placed:
    along = np.vstack([_along(points) for points in drawn])
    sizes = [
        (
            style.measure([mark.text], mark.size, bold=mark.bold)[0] + 2,
            style.LABEL_HEIGHT * mark.size / style.TEXT_SIZE,
        )
        for mark in written
    ]
    kept_free = np.hstack((along - _THICKNESS, along + _THICKNESS))
    return place(
        np.array([mark.where for mark in written]).reshape(-1, 2),
        np.array(sizes).reshape(-1, 2),
        style.inside(ax),
        radii=np.full(len(written), _RADIUS),
        obstacles=np.vstack((kept_free, style.zero_lines(ax))),
    )
