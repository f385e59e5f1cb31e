"""Words in perturbation co-ordinates (Collins-Thompson and Callan, Figure 2b)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from likewise.draw import style
from likewise.draw.labels import Placed, place, spread
from likewise.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from likewise.compiled import Bools, Doubles

_LONGEST = 130.0  # points, of a word
_RADIUS, _MARKED_RADIUS = 2.4, 3.8
_APART = 6.5
# The axis is linear as far as the smallest tenth of the words, but no more than four decades
# below the largest.
_SMALL, _DECADES = 0.1, 4
_LINEAR_WIDTH = 0.6  # of a decade
_MARGIN = 0.1
_TICK_DISTANCE = 0.08
_TIMES = ((1,), (2, 5), (3, 4, 7))


def draw_words(
    points: Doubles,
    labels: Sequence[str],
    marked: Sequence[bool],
    *,
    x_label: str,
    y_label: str,
    title: str,
    to: Path,
) -> list[Path]:
    """Draw words as points on signed-log axes, those marked being the terms of the query.

    Words are in order of importance: if there is no room for all, the last go without a name,
    and the figure says how many. Words at the same place are set apart.
    """
    style.check(to)
    points = np.asarray(points, np.float64)
    _check(points, labels, marked)
    with style.house():
        return style.save(_drawn(points, labels, marked, x_label, y_label, title), to)


def _check(points: Doubles, labels: Sequence[str], marked: Sequence[bool]) -> None:
    if not len(labels):
        raise UsageError("there are no words to draw: give one at least")
    if points.shape != (len(labels), 2) or len(marked) != len(labels):
        raise UsageError(
            f"{len(labels)} words need an array of {len(labels)} × 2 co-ordinates and as many "
            f"marks, not {' × '.join(map(str, points.shape))} and {len(marked)}"
        )
    good = style.drawable(points)
    if not good.all():
        word, (x, y) = labels[int(np.argmin(good))], points[int(np.argmin(good))]
        raise UsageError(f"the word {word!r} cannot be drawn at ({x:g}, {y:g}): leave it out")


def _drawn(
    points: Doubles,
    labels: Sequence[str],
    marked: Sequence[bool],
    x_label: str,
    y_label: str,
    title: str,
) -> Figure:
    fig = style.figure(7.2, 5.6)
    ax = style.axes(fig, title=title, x_label=x_label, y_label=y_label, room=18)
    for axis, values in ((ax.xaxis, points[:, 0]), (ax.yaxis, points[:, 1])):
        _scale(ax, axis, values)
    caption = style.caption(fig)
    stars = np.asarray(marked, np.bool_)
    _legend(ax, stars)
    style.fix_layout(fig)

    # Terms of the query first, then by importance: they stay where they are, and get a name.
    order = np.argsort(~stars, kind="stable")
    stars = stars[order]
    words = [style.shortened(labels[row], _LONGEST, bold=bool(marked[row])) for row in order]
    true = np.asarray(ax.transData.transform(points[order]), np.float64)
    where = spread(true, _APART, style.inside(ax))
    placed = _place(ax, where, words, stars)

    _points(fig, ax, where, stars)
    _names(fig, placed, words, stars)
    told = ["signed-log axes"]
    if (np.abs(where - true) > 1.0).any():
        told.append("words at one place are set apart")
    if placed.left_out:
        told.append(f"{style.counted(placed.left_out, 'word')} not shown by name")
    caption.set_text("  ·  ".join(told))
    return fig


def _scale(ax: Axes, axis: Axis, values: Doubles) -> None:
    """Set a signed-log scale that shows all values and zero."""
    from matplotlib.ticker import FixedLocator, NullLocator

    small = threshold(values)
    name = "x" if axis is ax.xaxis else "y"
    scale = {"linthresh": small, "linscale": _LINEAR_WIDTH, "base": 10}
    if name == "x":
        ax.set_xscale("symlog", **scale)
    else:
        ax.set_yscale("symlog", **scale)
    warp = axis.get_transform()
    seen = np.asarray(warp.transform(np.append(values, 0.0)), np.float64)
    # One value only: it stands amid room for its names.
    margin = float((_MARGIN if np.ptp(values) else 0.5) * np.ptp(seen))
    margin = margin or 1.2 * float(warp.transform(np.array([small]))[0])
    ends = np.array([seen.min() - margin, seen.max() + margin])
    low, high = warp.inverted().transform(ends)
    (ax.set_xlim if name == "x" else ax.set_ylim)(float(low), float(high))

    kept: list[float] = []
    for tick in _rounded(small, float(low), float(high)):
        at = warp.transform(np.array([tick, *kept]))
        if (np.abs(at[1:] - at[0]) >= _TICK_DISTANCE * (ends[1] - ends[0])).all():
            kept.append(tick)
    axis.set_major_locator(FixedLocator(sorted(kept)))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels([style.number(tick) for tick in sorted(kept)])


def threshold(values: Doubles) -> float:
    """Give the magnitude below which an axis is linear: 1, 2 or 5 times a power of ten."""
    sizes = np.abs(values[values != 0])
    if not len(sizes):
        return 1.0
    least = max(float(np.quantile(sizes, _SMALL)), float(sizes.max()) / 10.0**_DECADES, 1e-300)
    power = 10.0 ** np.floor(np.log10(least))
    return float(power * max((n for n in (1, 2, 5) if n * power <= least), default=1))


def _rounded(small: float, low: float, high: float) -> list[float]:
    """Give round numbers in a range, the most welcome first."""
    largest = max(abs(low), abs(high), small)
    powers = range(int(np.floor(np.log10(small))), int(np.ceil(np.log10(largest))) + 1)
    sizes = [times * 10.0**power for some in _TIMES for power in powers for times in some]
    sizes = [0.0, *(size for size in sizes if size >= 0.999 * small), 0.5 * small]
    return [tick for size in sizes for tick in (size, -size) if low <= tick <= high]


def _legend(ax: Axes, stars: Bools) -> None:
    from matplotlib.lines import Line2D

    keys = []
    if stars.any():
        keys.append(("D", style.VERMILLION, _MARKED_RADIUS, "term of the query"))
    if not stars.all():
        keys.append(("o", style.BLUE, _RADIUS, "other word"))
    handles = [
        Line2D([], [], linestyle="none", marker=m, color=c, markersize=1.6 * r, label=name)
        for m, c, r, name in keys
    ]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.02), ncols=2)


def _place(ax: Axes, where: Doubles, words: Sequence[str], stars: Bools) -> Placed:
    widths = [
        style.measure([word], bold=bool(star))[0] for word, star in zip(words, stars, strict=True)
    ]
    sizes = np.column_stack((np.array(widths) + 2, np.full(len(words), style.LABEL_HEIGHT)))
    return place(
        where,
        sizes,
        style.inside(ax),
        radii=np.where(stars, _MARKED_RADIUS, _RADIUS),
        weights=np.where(stars, 4.0, 1.0),
        obstacles=style.zero_lines(ax),
    )


def _points(fig: Figure, ax: Axes, where: Doubles, stars: Bools) -> None:
    inches = fig.dpi_scale_trans
    for chosen, marker, colour, radius in (
        (~stars, "o", style.BLUE, _RADIUS),
        (stars, "D", style.VERMILLION, _MARKED_RADIUS),
    ):
        ax.plot(
            *(where[chosen] / 72).T,
            linestyle="none",
            marker=marker,
            markersize=1.6 * radius,
            markerfacecolor=colour,
            markeredgecolor=style.CARD,
            markeredgewidth=0.5,
            transform=inches,
            clip_on=False,
            zorder=3,
        )


def _names(fig: Figure, placed: Placed, words: Sequence[str], stars: Bools) -> None:
    for word, star, box, leader in zip(words, stars, placed.boxes, placed.leaders, strict=True):
        if np.isnan(box[0]):
            continue
        colour = style.letters(style.VERMILLION) if star else style.INK
        style.label(fig, word, box, leader, colour=colour, bold=bool(star))
