"""Tables of text: columns aligned by what characters take, the last one cut or wrapped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from likewise.show.text import display_width, harmless, pad, shorten

_GAP = "  "
# Names are cut no shorter than it takes to have all columns beside each other, if that is enough.
_NAME_WIDTHS = (24, 20, 16, 12)


def align(
    rows: Sequence[Sequence[str]],
    sides: str,
    *,
    width: int = 0,
    least: int = 20,
    wrap: bool = False,
) -> list[str]:
    """Write rows as lines; `sides` has "<" or ">" for each column, where its cells are set.

    Where a width is given, the last column is cut to what is left of it, but not below `least`, or
    takes as many lines as it needs.
    """
    *widths, last = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    room = max(width - sum(widths) - len(_GAP) * len(widths), least) if width else 0
    lines = []
    for *cells, text in rows:
        if wrap and room:
            texts = textwrap.wrap(harmless(text), room) or [""]
        else:
            texts = [shorten(text, room) if room else text]
        for text in texts:
            line = [*map(_set, cells, widths, sides), _set(text, last, sides[-1])]
            lines.append(_GAP.join(line).rstrip())
            cells = [""] * len(cells)
    return lines


def _set(cell: str, width: int, side: str) -> str:
    return pad(cell, width) if side == "<" else " " * (width - display_width(cell)) + cell


def ruled(columns: Sequence[Sequence[str]]) -> list[str]:
    """Write columns under a line below their heads: names from the left, then numbers."""
    widths = [max(map(display_width, column)) for column in columns]
    heads = [pad(column[0], width) for column, width in zip(columns, widths, strict=True)]
    rows = [heads, *zip(*(column[1:] for column in columns), strict=True)]
    lines = align(rows, "<" + ">" * (len(columns) - 1))
    return [lines[0], "─" * max(map(display_width, lines)), *lines[1:]]


def in_blocks(
    names: Sequence[str], columns: Sequence[Sequence[str]], width: int
) -> list[list[Sequence[str]]]:
    """Put columns side by side as far as they fit, each block after the names."""
    room = width - max(map(display_width, names))
    blocks: list[list[Sequence[str]]] = [[names]]
    left = room
    for column in columns:
        needed = len(_GAP) + max(map(display_width, column))
        if needed > left and len(blocks[-1]) > 1:
            blocks.append([names])
            left = room
        blocks[-1].append(column)
        left -= needed
    return blocks


def named_blocks(
    head: str, names: Sequence[str], columns: Sequence[Sequence[str]], width: int
) -> list[list[Sequence[str]]]:
    """Put columns beside names, these cut as far as it takes to have one block."""
    tries = (
        in_blocks([head, *(cut_middle(name, most) for name in names)], columns, width)
        for most in _NAME_WIDTHS
    )
    return min(tries, key=lambda blocks: len(blocks) > 1)


def cut_middle(name: str, width: int = _NAME_WIDTHS[0]) -> str:
    """Cut a name in the middle, to so many columns."""
    shown = printable(name)
    if display_width(shown) <= width:
        return shown
    half = (width - 1) // 2
    return f"{_start(shown, half)}…{_start(shown[::-1], half)[::-1]}"


def _start(text: str, width: int) -> str:
    end = len(text)
    while display_width(text[:end]) > width:
        end -= 1
    return text[:end]


def printable(name: str) -> str:
    """Replace what a terminal would act on, not show."""
    return "".join(char if char.isprintable() else "�" for char in name)
