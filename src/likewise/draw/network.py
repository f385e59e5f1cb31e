"""A few terms, those most related to them, and the strongest links among all of these."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.draw import style
from likewise.draw.labels import Placed, place
from likewise.draw.radial import around, middle
from likewise.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from likewise.compiled import Bools, Doubles, Ints

_MOST, _MOST_ASKED = 60, 8
_CROWD = 20  # terms around the middle: with more, names and links are made shorter and thinner
_LONGEST, _LONGEST_IN_CROWD = 150.0, 115.0  # points, of a name
_PAD = 8.0  # points, beside a name that was asked for
_SMALLEST, _LARGEST = 3.0, 7.4  # radii
_ALIKE = 0.1  # of a score: differences that are less show as less
_FEW = 3  # links that each term may show, beside those that hold all together
# Inches: the more there are, the higher.
_WIDTH, _HEIGHTS = 7.2, ((1, 2.4), (3, 3.4), (6, 4.2), (14, 5.2), (26, 6.0), (10**9, 6.8))
# Strengths show as they differ, but by no less than a factor of 4 and no more than of 1000.
_LEAST_RANGE, _MOST_RANGE = 4.0, 1000.0
_THINNEST, _THICKEST, _THICKEST_IN_CROWD = 0.6, 3.6, 2.8
_ASKED = style.letters(style.VERMILLION)
_FAINT, _DARK = "#dfe3e8", "#66727f"
_FAINT_ASKED, _DARK_ASKED = "#f7dfcd", "#d07a3a"
_STEP = 2.5  # points along a link, where names may not be
_TOO_FAR = 16.0  # points: a name would rather stand on a link


class Network(NamedTuple):
    """Terms and their links: the first `asked` names are what was asked for.

    `scores` say how related each name is to these, in descending order; those of the first ones
    are not looked at. `edges` are pairs of numbers of names, with positive `strengths`.
    """

    names: Sequence[str]
    asked: int
    scores: Doubles
    edges: Ints
    strengths: Doubles


def draw_network(network: Network, to: Path, *, title: str = "", most: int = 30) -> list[Path]:
    """Draw what was asked for in the middle, and around it the `most` terms most related to it.

    Of the links between all of these the strongest few of each are drawn. The figure says how
    many terms and links it leaves out.
    """
    style.check(to)
    network = _checked(network)
    if not 0 <= most <= _MOST:
        raise UsageError(f"0 to {_MOST} terms may be drawn around those asked for, not {most}")
    with style.house():
        return style.save(_drawn(network, title, most), to)


def _checked(network: Network) -> Network:
    """Give the network as arrays, each link once, or say what is wrong with it."""
    names, asked, n = list(network.names), network.asked, len(network.names)
    if not n:
        raise UsageError("there are no terms to draw: give one at least")
    if not 1 <= asked <= n:
        raise UsageError(f"of {style.counted(n, 'term')}, 1 to {n} may be asked for, not {asked}")
    scores = np.asarray(network.scores, np.float64)
    if scores.shape != (n,):
        raise UsageError(
            f"{style.counted(n, 'term')} need an array of {style.counted(n, 'score')}, not one of "
            f"{_shape(scores)}"
        )
    around = scores[asked:]
    good = style.drawable(around[:, None])
    if not good.all():
        at = int(np.argmin(good))
        raise UsageError(
            f"the term {names[asked + at]!r} cannot be drawn with a score of {around[at]:g}: "
            "leave it out"
        )
    rises = np.diff(around) > 0
    if rises.any():
        name = names[asked + 1 + int(np.argmax(rises))]
        raise UsageError(f"the term {name!r} scores more than the one before: give the best first")

    edges, strengths = np.asarray(network.edges), np.asarray(network.strengths, np.float64)
    edges = edges if edges.size else np.empty((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or strengths.shape != edges.shape[:1]:
        raise UsageError(
            "edges need an array of pairs and as many strengths, not arrays of "
            f"{_shape(edges)} and {_shape(strengths)}"
        )
    for (one, other), strength in zip(edges.tolist(), strengths.tolist(), strict=True):
        edge = f"the edge ({one}, {other})"
        if one == other or not (0 <= one < n and 0 <= other < n):
            raise UsageError(f"{edge} must join two different terms of the numbers 0 to {n - 1}")
        if not 0 < strength < np.inf:
            raise UsageError(f"{edge} needs a strength above 0 that is finite, not {strength:g}")
    return Network(names, asked, scores, *_once(edges.astype(np.int64), strengths))


def _shape(array: NDArray[Any]) -> str:
    return " × ".join(map(str, array.shape)) or "no dimension"


def _once(edges: Ints, strengths: Doubles) -> tuple[Ints, Doubles]:
    """Give each edge once, its lower end first, with the greatest strength that it has."""
    edges = np.sort(edges, axis=1)
    order = np.lexsort((-strengths, edges[:, 1], edges[:, 0]))
    edges, strengths = edges[order], strengths[order]
    new = np.ones(len(edges), np.bool_)
    new[1:] = (edges[1:] != edges[:-1]).any(axis=1)
    return edges[new], strengths[new]


def strongest(edges: Ints, strengths: Doubles, few: int) -> Bools:
    """Say which edges are among the strongest few of both their ends, or hold terms together.

    The latter are those of a spanning forest of the strongest (Kruskal 1956), and so each term's
    strongest is kept. A term that many are linked with keeps few of its other ones.
    """
    seen, part = dict[int, int](), {end: end for end in edges.ravel().tolist()}
    kept = np.zeros(len(edges), np.bool_)
    for at in np.argsort(-strengths, kind="stable"):
        one, other = edges[at].tolist()
        seen[one], seen[other] = seen.get(one, 0) + 1, seen.get(other, 0) + 1
        kept[at] = max(seen[one], seen[other]) <= few or part[one] != part[other]
        joined, gone = part[one], part[other]
        part = {end: joined if of == gone else of for end, of in part.items()}
    return kept


def _drawn(network: Network, title: str, most: int) -> Figure:
    kept, told = _capped(network, most)
    asked, n = kept.asked, len(kept.names) - kept.asked
    fig = style.figure(_WIDTH, next(high for terms, high in _HEIGHTS if asked + n <= terms))
    ax = fig.add_subplot()
    ax.set_axis_off()
    lines = style.wrapped(title, 0.86 * 72 * _WIDTH, style.TITLE_SIZE, bold=True)
    ax.set_title("\n".join(lines) or " ", loc="left", pad=24)
    fig.set_label(style.clean(title or "Terms related to " + ", ".join(kept.names[:asked])))
    caption = style.caption(fig)
    _legend(ax, kept)
    style.fix_layout(fig)
    frame = style.inside(ax)

    size, longest = _asked_look(asked)
    heads = [_name(name, longest, size, bold=True) for name in kept.names[:asked]]
    pills = middle(_sizes(heads, size, bold=True) + np.array([2 * _PAD, 0.6 * size]), frame)
    longest = _LONGEST if n <= _CROWD else _LONGEST_IN_CROWD
    words = [_name(name, longest, style.TEXT_SIZE) for name in kept.names[asked:]]
    sizes, radii, shade = _sizes(words, style.TEXT_SIZE), _radii(kept.scores[asked:]), shades(kept)
    widths = _THINNEST + shade**1.5 * (
        (_THICKEST if n <= _CROWD else _THICKEST_IN_CROWD) - _THINNEST
    )
    discs = np.column_stack((2 * radii, 2 * radii))
    rooms = sizes + discs + np.array([0.0, 8.0])
    where = around(pills, rooms, discs + 6, kept.edges, 0.25 + 0.75 * shade, frame)
    ends = np.vstack((0.5 * (pills[:, :2] + pills[:, 2:]), where))[kept.edges]
    placed = _place(where, sizes, radii, frame, pills, _along(ends, widths))

    _draw_links(fig, kept, ends, shade, widths)
    _draw_terms(fig, where, radii)
    _draw_names(fig, placed, words)
    _draw_asked(fig, pills, heads, size)
    if placed.left_out:
        told.append(f"{style.counted(placed.left_out, 'term')} not shown by name")
    caption.set_text("  ·  ".join(told))
    return fig


def _capped(network: Network, most: int) -> tuple[Network, list[str]]:
    """Keep what can be told apart, and say what is left out."""
    n, asked = len(network.names), min(network.asked, _MOST_ASKED)
    rows = np.r_[:asked, network.asked : min(n, network.asked + most)]
    number = np.full(n, -1)
    number[rows] = np.arange(len(rows))
    edges = number[network.edges]
    inside = (edges >= 0).all(axis=1)
    edges, strengths = edges[inside], network.strengths[inside]
    best = strongest(edges, strengths, _FEW)
    left_out = (
        (network.asked - asked, "term asked for", "terms asked for"),
        (n - network.asked - (len(rows) - asked), "less related term", "less related terms"),
        (int((~best).sum()), "weaker link", "weaker links"),
    )
    told = [f"{count} {one if count == 1 else more}" for count, one, more in left_out if count]
    if told:
        told = ["left out: " + ", ".join(told)]
    names = [network.names[row] for row in rows]
    return Network(names, asked, network.scores[rows], edges[best], strengths[best]), told


def _asked_look(asked: int) -> tuple[float, float]:
    """Give the size of letters and the longest name of what was asked for: less if it is much."""
    if asked <= 2:
        return style.TITLE_SIZE, 170.0
    return (style.TITLE_SIZE, 120.0) if asked <= 4 else (style.TEXT_SIZE, 90.0)


def _name(name: str, longest: float, size: float, *, bold: bool = False) -> str:
    """Give a name as it is written, cut to a width in points."""
    name = style.clean(name) or "?"
    wide = _widened(name)
    cut = style.shortened(wide, longest, size, bold=bold)
    return name if cut == wide else name[: len(cut) - 1] + "…"


def _sizes(texts: Sequence[str], size: float, *, bold: bool = False) -> Doubles:
    """Give the boxes (width, height) that texts fill."""
    widths = style.measure([_widened(text) for text in texts], size, bold=bold)
    height = style.LABEL_HEIGHT * size / style.TEXT_SIZE
    return np.column_stack((np.array(widths) + 2, np.full(len(texts), height)))


def _widened(text: str) -> str:
    """Put a dash, which is as wide as high, for each character that is so elsewhere.

    Matplotlib's own font lacks most of these, and what it measures for them is narrower than what
    a browser shows.
    """
    return "".join("—" if unicodedata.east_asian_width(char) in "WF" else char for char in text)


def _radii(scores: Doubles) -> Doubles:
    """Give the radii of discs that are the larger, the higher the score."""
    if not len(scores):
        return np.empty(0)
    high = float(scores.max())
    span = max(high - float(scores.min()), _ALIKE * abs(high)) or 1.0
    share = np.sqrt(1 - (high - scores) / span)
    return np.asarray(_SMALLEST + (_LARGEST - _SMALLEST) * share)


def shades(network: Network) -> Doubles:
    """Give how strong each edge looks, 1 being the strongest and 0 the faintest: by logarithms."""
    if not len(network.strengths):
        return np.empty(0)
    logs = np.log(network.strengths)
    below = logs.max() - logs
    span = np.clip(below.max(), np.log(_LEAST_RANGE), np.log(_MOST_RANGE))
    return np.asarray(np.maximum(1 - below / span, 0.0))


def _place(
    where: Doubles, sizes: Doubles, radii: Doubles, frame: Doubles, pills: Doubles, links: Doubles
) -> Placed:
    """Place names beside links, or on them where they would be far from their terms."""
    placed = place(where, sizes, frame, radii=radii, obstacles=np.vstack((pills, links)))
    leaders = placed.leaders
    lengths = np.hypot(*(leaders[:, 2:] - leaders[:, :2]).T)
    far = ~placed.shown | (lengths > _TOO_FAR)
    if far.any():
        taken = np.hstack((where - radii[:, None], where + radii[:, None]))[~far]
        obstacles = np.vstack((pills, taken, placed.boxes[~far]))
        again = place(where[far], sizes[far], frame, radii=radii[far], obstacles=obstacles)
        placed.boxes[far], placed.leaders[far] = again.boxes, again.leaders
    return placed


def _along(ends: Doubles, widths: Doubles) -> Doubles:
    """Give boxes along links of these widths."""
    boxes = [np.empty((0, 4))]
    for (start, end), width in zip(ends, widths, strict=True):
        steps = int(np.hypot(*(end - start)) / _STEP) + 1
        at = start + (end - start) * (np.arange(steps + 1) / steps)[:, None]
        boxes.append(np.hstack((at - 0.5 * width - 0.5, at + 0.5 * width + 0.5)))
    return np.vstack(boxes)


def _legend(ax: Axes, kept: Network) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"linestyle": "none"}
    handles = [Line2D([], [], marker="s", color=_ASKED, markersize=6, label="asked for", **dot)]
    if len(kept.names) > kept.asked:
        told = "related: the more, the larger and nearer"
        handles.append(
            Line2D([], [], marker="o", color=style.BLUE, markersize=6, label=told, **dot)
        )
    if len(kept.edges):
        told = "linked: the stronger, the thicker and darker"
        handles.append(Line2D([], [], color=_DARK, linewidth=2, label=told))
    legend = ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=3)
    # It stands in the room below the title, and would narrow the ground if it had its own.
    legend.set_in_layout(False)


def _draw_links(fig: Figure, kept: Network, ends: Doubles, shade: Doubles, widths: Doubles) -> None:
    from matplotlib.collections import LineCollection

    # The strong ones over the weak.
    order = np.argsort(shade, kind="stable")
    hues = [
        (_FAINT_ASKED, _DARK_ASKED) if one < kept.asked else (_FAINT, _DARK)
        for one, _ in kept.edges[order]
    ]
    links = LineCollection(
        list(ends[order] / 72),
        colors=[_between(*hue, share) for hue, share in zip(hues, shade[order], strict=True)],
        linewidths=widths[order],
        capstyle="round",
        transform=fig.dpi_scale_trans,
        zorder=1,
    )
    fig.add_artist(links)


def _between(light: str, dark: str, share: float) -> str:
    """Mix two colours."""
    parts = [[int(hue[at : at + 2], 16) for at in (1, 3, 5)] for hue in (light, dark)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*parts, strict=True))


def _draw_terms(fig: Figure, where: Doubles, radii: Doubles) -> None:
    from matplotlib.patches import Circle

    look: dict[str, Any] = {"facecolor": style.BLUE, "edgecolor": style.CARD, "linewidth": 0.8}
    for (x, y), radius in zip(where / 72, radii / 72, strict=True):
        fig.add_artist(Circle((x, y), radius, transform=fig.dpi_scale_trans, zorder=2.5, **look))


def _draw_names(fig: Figure, placed: Placed, words: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": style.CARD, "edgecolor": "none", "alpha": 0.85}
    for word, box, leader in zip(words, placed.boxes, placed.leaders, strict=True):
        if not np.isnan(box[0]):
            left, bottom, right, top = box / 72
            # A link passes behind a name.
            behind = Rectangle((left, bottom), right - left, top - bottom, **look)
            behind.set(transform=fig.dpi_scale_trans, zorder=1.5)
            fig.add_artist(behind)
            style.label(fig, word, box, leader)


def _draw_asked(fig: Figure, pills: Doubles, heads: Sequence[str], size: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    look: dict[str, Any] = {"facecolor": _ASKED, "edgecolor": style.CARD, "linewidth": 1.2}
    for box, head in zip(pills, heads, strict=True):
        left, bottom, right, top = box / 72
        pill = FancyBboxPatch((left, bottom), right - left, top - bottom, **look)
        pill.set_boxstyle("round", pad=0, rounding_size=0.45 * (top - bottom))
        pill.set(transform=fig.dpi_scale_trans, zorder=2.6)
        fig.add_artist(pill)
        inner = box + 0.3 * size * np.array([0.0, 1.0, 0.0, -1.0])
        nothing = np.full(4, np.nan)
        style.label(fig, head, inner, nothing, colour=style.CARD, size=size, bold=True)
