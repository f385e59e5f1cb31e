"""The house style of figures, and how they are written.

A drawing stands in `with house():`, which holds matplotlib's settings for as long as it takes and
puts back the user's. Figures are laid out at 72 dots an inch, so that a dot is a point (1/72 in).
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.errors import MissingExtra, StorageError, UsageError
from likewise.forking import Lock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from likewise.compiled import Bools, Doubles

FORMATS = (".svg", ".png")
CARD, INK, SOFT, LINE = "#ffffff", "#1d2129", "#5c6470", "#d9d6cf"
# The colours are Okabe and Ito's, which stay apart for the colour-blind; dashes and markers
# differ as well. Letters, being thinner than lines, take a darker shade of the same hue.
BLUE, VERMILLION, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY = "#cc79a7", "#e69f00", "#56b4e9"
_LETTERS = {
    BLUE: "#005b8f",
    VERMILLION: "#b04d00",
    GREEN: "#00704f",
    PURPLE: "#9c4476",
    ORANGE: "#8f6200",
    SKY: "#1f74a3",
}


class Stroke(NamedTuple):
    """How one of several lines is drawn."""

    colour: str
    dashes: tuple[float, ...]
    marker: str


STROKES = (
    Stroke(BLUE, (), "o"),
    Stroke(VERMILLION, (4, 2.2), "s"),
    Stroke(GREEN, (1.2, 1.2), "^"),
    Stroke(PURPLE, (6, 1.5, 1.2, 1.5), "D"),
    Stroke(ORANGE, (8, 2), "v"),
    Stroke(SKY, (3, 1.5, 1, 1.5, 1, 1.5), "P"),
)
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 12.5, 10.5, 9.0
# From below a g to above an l, in points for letters of TEXT_SIZE.
LABEL_HEIGHT = 11.5
_BASELINE = 0.25  # of it
_TOO_LARGE = 1e100
_EDGE, _PAD = 8.0, 2.0
DOTS = 200  # an inch, of the PNG

# The first comes with matplotlib and is wider than what a browser takes instead, so that labels
# that are apart here are apart there.
_FONT = "DejaVu Sans"
# Where installed, these write what it cannot.
_OTHER_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Noto Sans Devanagari",
)
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.facecolor": CARD,
    "axes.labelcolor": INK,
    "axes.labelpad": 6.0,
    "axes.labelsize": TEXT_SIZE,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlepad": 12.0,
    "axes.titlesize": TITLE_SIZE,
    "axes.titleweight": "bold",
    "figure.dpi": 72.0,
    "figure.facecolor": CARD,
    "font.sans-serif": [_FONT, "Verdana", "Arial", "Helvetica"],
    "font.size": TEXT_SIZE,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.0,
    "legend.columnspacing": 1.6,
    "legend.fontsize": SMALL_SIZE,
    "legend.frameon": False,
    "legend.handlelength": 1.0,
    "legend.handletextpad": 0.4,
    "legend.labelcolor": SOFT,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "savefig.facecolor": CARD,
    "svg.fonttype": "none",
    "svg.hashsalt": "likewise",
    "text.color": INK,
    "text.hinting": "none",
    # A word may hold dollar signs.
    "text.parse_math": False,
    "xtick.color": SOFT,
    "xtick.labelsize": SMALL_SIZE,
    "xtick.major.size": 3.0,
    "xtick.major.width": 0.6,
    "ytick.color": SOFT,
    "ytick.labelsize": SMALL_SIZE,
    "ytick.major.size": 3.0,
    "ytick.major.width": 0.6,
}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Settings are matplotlib's own for the whole process: one drawing at a time.
_ALONE = Lock()

_PROLOGUE = '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n'
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_RULES = re.compile(r"\s*<defs>\s*<style[^>]*>.*?</style>\s*</defs>", re.DOTALL)
_GROUP_ID = re.compile(r'(<g) id="[^"]*"')
# What XML cannot hold, and what turns the direction of the text after it.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


@contextmanager
def house() -> Iterator[None]:
    """Draw in the house style, whatever the user's own settings."""
    try:
        import matplotlib.style
        from matplotlib.font_manager import fontManager
    except ImportError:
        raise MissingExtra("a figure", extra="plots") from None
    installed = set(fontManager.get_font_names())
    family = ["sans-serif", *(name for name in _OTHER_SCRIPTS if name in installed)]
    with _ALONE, warnings.catch_warnings():
        # SVG has the letters all the same; PNG shows a box for them.
        warnings.filterwarnings("ignore", message=r"(?s).*Glyph .* missing from")
        with matplotlib.style.context(_SETTINGS | {"font.family": family}, after_reset=True):
            yield


def figure(width: float = 7.0, height: float = 5.0) -> Figure:
    """Make an empty figure, so many inches wide and high; it needs no window and no pyplot."""
    with house():
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        fig = Figure(
            figsize=(width, height),
        )
        x, y = _EDGE / 72 / width, _EDGE / 72 / height
        layout = ConstrainedLayoutEngine(
            w_pad=_PAD / 72, h_pad=_PAD / 72, rect=(x, y, 1 - 2 * x, 1 - 2 * y)
        )
        fig.set_layout_engine(layout)
        return fig


def axes(fig: Figure, *, title: str, x_label: str, y_label: str, room: float = 0.0) -> Axes:
    """Add axes with lines at zero and texts cut to fit; `room` points are kept below the title.

    The title is also what the figure is called where it cannot be seen.
    """
    width, height = (72 * float(side) for side in fig.get_size_inches())
    ax = fig.add_subplot()
    ax.set_title(
        "\n".join(wrapped(title, 0.86 * width, TITLE_SIZE, bold=True)), loc="left", pad=12 + room
    )
    ax.set_xlabel(shortened(x_label, 0.8 * width))
    ax.set_ylabel(shortened(y_label, 0.7 * height))
    ax.axhline(0, color=LINE, linewidth=0.9, zorder=0)
    ax.axvline(0, color=LINE, linewidth=0.9, zorder=0)
    fig.set_label(clean(title))
    return ax


def fix_layout(fig: Figure) -> None:
    """Lay the figure out once and for all, so that positions in points can be worked out."""
    fig.draw_without_rendering()
    fig.set_layout_engine("none")


def inside(ax: Axes) -> Doubles:
    """Give the box, in points, that labels may stand in."""
    window = ax.get_window_extent()
    return np.array([window.x0 + 3, window.y0 + 3, window.x1, window.y1], np.float64)


def zero_lines(ax: Axes) -> Doubles:
    """Give the boxes, in points, of the lines at zero."""
    x, y = ax.transData.transform((0.0, 0.0))
    left, bottom, right, top = inside(ax)
    return np.array([(left, y - 0.6, right, y + 0.6), (x - 0.6, bottom, x + 0.6, top)])


def letters(colour: str) -> str:
    """Give the shade in which letters of a colour are written."""
    return _LETTERS.get(colour, colour)


def clean(text: str) -> str:
    """Give text on one line, without what cannot be drawn or stored."""
    told = " ".join(_UNPRINTABLE.sub(" ", text).split())
    return told.encode("utf-8", "replace").decode("utf-8")


def measure(texts: Sequence[str], size: float = TEXT_SIZE, *, bold: bool = False) -> list[float]:
    """Give the widths of texts in points, as matplotlib's own font has them."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return [float(text_to_path.get_text_width_height_descent(t, font, False)[0]) for t in texts]


def shortened(text: str, width: float, size: float = TEXT_SIZE, *, bold: bool = False) -> str:
    """Cut text to a width in points; an ellipsis says so."""
    text = clean(text)
    if not text or measure([text], size, bold=bold)[0] <= width:
        return text
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if measure([text[:middle] + "…"], size, bold=bold)[0] <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…"


def wrapped(text: str, width: float, size: float = TEXT_SIZE, *, bold: bool = False) -> list[str]:
    """Break text into one line, or two if it must be."""
    words, first = clean(text).split(" "), ""
    for at, word in enumerate(words):
        longer = f"{first} {word}".strip()
        if first and measure([longer], size, bold=bold)[0] > width:
            return [first, shortened(" ".join(words[at:]), width, size, bold=bold)]
        first = shortened(longer, width, size, bold=bold)
    return [first]


def label(
    fig: Figure,
    text: str,
    box: Doubles,
    leader: Doubles,
    *,
    colour: str = INK,
    size: float = TEXT_SIZE,
    bold: bool = False,
) -> None:
    """Write text into a box that `labels.place` gave, and draw its leader if it has one."""
    from matplotlib.lines import Line2D

    left, bottom, right, top = (float(side) / 72 for side in box)
    inches = fig.dpi_scale_trans
    if leader[0] == leader[0]:
        (x, y, to_x, to_y) = (float(end) / 72 for end in leader)
        fig.add_artist(
            Line2D([x, to_x], [y, to_y], transform=inches, color=SOFT, linewidth=0.5, alpha=0.7)
        )
    fig.text(
        0.5 * (left + right),
        bottom + _BASELINE * (top - bottom),
        text,
        transform=inches,
        ha="center",
        va="baseline",
        color=colour,
        fontsize=size,
        fontweight="bold" if bold else "normal",
    )


def number(value: float) -> str:
    """Write a round number as axes have it: 0.05, −200, 2·10⁶."""
    sign, size = "−" if value < 0 else "", abs(value)
    if size == 0 or 1e-3 <= size < 1e6:
        return f"{sign}{size:.6g}"
    digits, power = f"{size:.2e}".split("e")
    digits = digits.rstrip("0").rstrip(".")
    raised = "10" + str(int(power)).translate(_SUPERSCRIPT)
    return f"{sign}{raised}" if digits == "1" else f"{sign}{digits}·{raised}"


def counted(n: int, thing: str) -> str:
    """Write how many things there are."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def drawable(values: Doubles) -> Bools:
    """Say which rows are numbers that an axis can show."""
    return np.asarray((np.abs(values) < _TOO_LARGE).all(axis=1))


def caption(fig: Figure) -> Text:
    """Keep a line at the foot of a figure; what it says may be known only later."""
    edge = _EDGE / 72 / float(fig.get_size_inches()[0])
    return fig.supxlabel(" ", x=1 - edge, ha="right", fontsize=SMALL_SIZE, color=SOFT)


def save(fig: Figure, to: Path) -> list[Path]:
    """Write `to.svg` and `to.png`, or the one that is named; give the files.

    Files are written aside and then renamed: what stood there is replaced whole or not at all.
    """
    files = _files(Path(to))
    drawn = [_svg_file(fig) if file.suffix.lower() == ".svg" else _png(fig) for file in files]
    for file, data in zip(files, drawn, strict=True):
        _write(file, data)
    return files


def svg_text(fig: Figure) -> str:
    """Give the figure as an `<svg>` element for a page.

    It brings no rules and no names of its own parts that could meet those of the page or of
    another figure, and shrinks with the column that it stands in.
    """
    with house():
        buffer = io.StringIO()
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = _GROUP_ID.sub(r"\1", _RULES.sub("", _METADATA.sub("", text)))
    root = (
        f'<svg role="img" aria-label="{escape(str(fig.get_label()))}" style="max-width: 100%; '
        'height: auto; stroke-linejoin: round; stroke-linecap: butt"'
    )
    return text.replace("<svg", root, 1)


def check(to: Path) -> None:
    """Raise unless a figure may be called that, before any work is done."""
    _files(Path(to))


def _files(to: Path) -> list[Path]:
    """Give the files to write."""
    if to.is_dir():
        raise UsageError(f"{to}: a folder; name the figure in it, such as {to / 'figure'}")
    if not to.suffix:
        both = [to.with_name(to.name + suffix) for suffix in FORMATS]
        taken = [file for file in both if file.is_dir()]
        if taken:
            raise UsageError(f"{taken[0]}: a folder stands where the figure is to be written")
        return both
    if to.suffix.lower() not in FORMATS:
        raise UsageError(
            f"{to}: figures are written as {' or '.join(FORMATS)}, not as {to.suffix}; "
            "without an ending, as both"
        )
    return [to]


def _svg_file(fig: Figure) -> bytes:
    return (_PROLOGUE + svg_text(fig)).encode("utf-8")


def _png(fig: Figure) -> bytes:
    with house():
        buffer = io.BytesIO()
        fig.savefig(buffer, format="png", dpi=DOTS, metadata={"Software": None})
    return buffer.getvalue()


def _write(file: Path, data: bytes) -> None:
    aside = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        aside.write_bytes(data)
        aside.replace(file)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            aside.unlink(missing_ok=True)
        if isinstance(error, FileNotFoundError):
            raise StorageError(
                f"{file}: cannot be written: there is no folder {file.parent}; make it first"
            ) from None
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{file}: cannot be written ({reason})") from None
