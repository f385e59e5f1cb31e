"""Lines in several panels beside each other, one legend for all (small multiples)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.draw import style
from likewise.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 0.08
_MOST = 12
# Of an entry of the legend: its line, in letters, and what stands around its name, in points.
_HANDLE = 2.8
_AROUND = (_HANDLE + 2.2) * style.SMALL_SIZE
_SIDE = 10.0
_LEVELS = (style.SOFT, (1.5, 1.5)), (style.INK, (5, 2))


@dataclass(frozen=True)
class Panel:
    """A name, lines through points (x, y), and levels: what is the same for all x."""

    name: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    levels: Mapping[str, float] = field(default_factory=dict)


def draw_panels(
    panels: Sequence[Panel], *, x_label: str, y_label: str, title: str, to: Path
) -> list[Path]:
    """Draw panels, each with its own range of y; lines of one name look alike in all of them."""
    style.check(to)
    with style.house():
        return style.save(panels_figure(panels, x_label=x_label, y_label=y_label, title=title), to)


def panels_figure(panels: Sequence[Panel], *, x_label: str, y_label: str, title: str) -> Figure:
    """Make the figure that `draw_panels` writes."""
    names, levels = _check(panels)
    with style.house():
        columns = min(len(panels), 2 if len(panels) <= 4 else 3)
        rows = math.ceil(len(panels) / columns)
        fig = style.figure(3.6 * columns + 0.4, 2.7 * rows + 1.0)
        grid = fig.subplots(rows, columns, squeeze=False)
        for ax, panel in zip(grid.ravel(), panels, strict=False):
            _draw(ax, panel, names, levels)
        for ax in grid.ravel()[len(panels) :]:
            ax.set_visible(False)
        width = 72 * float(fig.get_size_inches()[0])
        fig.suptitle(
            "\n".join(style.wrapped(title, 0.9 * width, style.TITLE_SIZE, bold=True)),
            x=8 / width,
            ha="left",
            fontsize=style.TITLE_SIZE,
            fontweight="bold",
        )
        for ax in grid[-1]:
            ax.set_xlabel(style.shortened(x_label, 0.9 * width / columns))
        for ax in grid[:, 0]:
            ax.set_ylabel(y_label)
        handles = [_key(_look(names, name), name) for name in names]
        handles += [_key(_level_look(levels, name), name) for name in levels]
        fig.legend(
            handles=handles,
            loc="outside lower center",
            ncols=_columns([*names, *levels], width),
            handlelength=_HANDLE,
        )
        fig.set_label(style.clean(title))
        return fig


def _check(panels: Sequence[Panel]) -> tuple[list[str], list[str]]:
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    levels = list(dict.fromkeys(name for panel in panels for name in panel.levels))
    if not 1 <= len(panels) <= _MOST:
        raise UsageError(f"a figure holds 1 to {_MOST} panels, not {len(panels)}")
    most = len(style.STROKES)
    if len(names) > most or len(levels) > len(_LEVELS):
        raise UsageError(
            f"a panel holds {most} lines and {len(_LEVELS)} levels that can be told apart, not "
            f"{len(names)} and {len(levels)}"
        )
    for panel in panels:
        for name, points in panel.lines.items():
            rows = np.array(points, np.float64).reshape(-1, 2)
            if not len(rows) or not style.drawable(rows).all():
                raise UsageError(f"{panel.name}: the line {name!r} cannot be drawn")
        if not all(math.isfinite(value) for value in panel.levels.values()):
            raise UsageError(f"{panel.name}: a level that is no number cannot be drawn")
    return names, levels


def _draw(ax: Axes, panel: Panel, names: list[str], levels: list[str]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    ax.set_title(style.clean(panel.name), fontsize=style.TEXT_SIZE, pad=5)
    heights = [*panel.levels.values()]
    for name, points in panel.lines.items():
        x, y = np.array(points, np.float64).T
        heights += y.tolist()
        ax.plot(x, y, zorder=3 + names.index(name) / 10, clip_on=False, **_look(names, name))
    for name, level in panel.levels.items():
        ax.axhline(level, zorder=2, **_level_look(levels, name))
    low, high = min(heights, default=0.0), max(heights, default=1.0)
    room = _MARGIN * ((high - low) or 1.0)
    ax.set_ylim(low - room, high + room)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))
    ax.grid(axis="y", color=style.LINE, linewidth=0.5)


def _look(names: list[str], name: str) -> dict[str, Any]:
    stroke = style.STROKES[names.index(name)]
    return {
        "color": stroke.colour,
        "linestyle": (0, stroke.dashes) if stroke.dashes else "solid",
        "linewidth": 1.6,
        "marker": stroke.marker,
        "markersize": 3.6,
        "markeredgecolor": style.CARD,
        "markeredgewidth": 0.5,
    }


def _level_look(levels: list[str], name: str) -> dict[str, Any]:
    colour, dashes = _LEVELS[levels.index(name)]
    return {"color": colour, "linestyle": (0, dashes), "linewidth": 1.2}


def _columns(names: list[str], width: float) -> int:
    """Give how many entries of a legend stand beside each other in so many points."""
    widest = max(style.measure([style.clean(name) for name in names], style.SMALL_SIZE))
    return max(min(int((width - 2 * _SIDE) / (widest + _AROUND)), len(names)), 1)


def _key(look: dict[str, Any], name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=style.clean(name), **look)
