"""Text as a terminal or a page shows it: harmless, on one line, cut and padded by columns."""

from __future__ import annotations

import shutil
import unicodedata

# Joiners and soft hyphens shape words; other format characters may turn text around.
_SHAPING = frozenset("\n\t\u00ad\u200b\u200c\u200d\u2060\ufeff")


def columns() -> int:
    """How many columns the terminal has; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def counted(n: int, what: str) -> str:
    """Write how many of something there are: 1 document, 2,000 documents."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def harmless(text: str) -> str:
    """Replace what a terminal or a page would act on, not show; line ends become newlines."""
    if text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if _is_shown(c) else "�" for c in lines)


def _is_shown(char: str) -> bool:
    return char.isprintable() or char in _SHAPING or unicodedata.category(char) == "Zs"


def one_line(text: str) -> str:
    """Make text safe for one line of a terminal: white space runs become a space."""
    words = " ".join(text.split())
    if words.isprintable():
        return words
    return "".join(char if char.isprintable() else "�" for char in words)


def shorten(text: str, width: int) -> str:
    """Cut text to so many columns of a terminal."""
    text = one_line(text)
    if display_width(text) <= width:
        return text
    if text.isascii():
        return text[: max(width - 1, 0)].rstrip() + "…"
    used = 0
    for i, char in enumerate(text):
        used += display_width(char)
        if used > width - 1:
            return text[:i].rstrip() + "…"
    return text


def pad(text: str, width: int) -> str:
    """Fill text with spaces to so many columns."""
    return text + " " * (width - display_width(text))


def display_width(text: str) -> int:
    """Count the columns that text takes on a terminal: wide characters take two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)
