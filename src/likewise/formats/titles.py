"""Which line is the title? One that looks like it, and that the text does not repeat."""

from __future__ import annotations

import re

LONGEST = 150
_MOST_WORDS = 25
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\*{3,})\s*")
_LABEL = re.compile(r"\s*title\s*:\s*", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
# What programs write where nobody gave a title.
_MADE_UP = re.compile(
    r"\(?(untitled|title|document|presentation|slide|microsoft word|powerpoint|no title|anonymous"
    r"|unspecified|unknown)\b[\s\d.)-]*"
    r"|microsoft \w+ - .*|.*\.(docx?|pdf|tex|dvi|rtf|odt|pptx?|indd|qxd|html?|ps|eps|txt)"
    r"|[\W\d_]*",
    re.IGNORECASE,
)


def one_line(text: str) -> str:
    """Put a title on one line, its spaces single."""
    return _SPACE.sub(" ", text).strip()


def given_title(text: str) -> str:
    """The title that a file's metadata give, nothing where it is what a program made up."""
    title = one_line(text.replace("\0", ""))
    return "" if len(title) > 2 * LONGEST or _MADE_UP.fullmatch(title) else title


def could_be_title(line: str) -> bool:
    """Tell whether a line is short enough for a title and does not end as a sentence does."""
    line = line.strip()
    return (
        0 < len(line) <= LONGEST
        and len(line.split()) <= _MOST_WORDS
        and line[-1] not in ".,;:…-"
        and any(map(str.isalpha, line))
    )


def split_title(text: str) -> tuple[str, str]:
    """The first line as the title, and the rest; or no title and the whole text.

    A first line is a title where it could be one and stands apart: a blank line or an underline
    follows, or a line that begins anew and is so long that the first was not cut off by its width.
    """
    first, _, rest = text.lstrip().partition("\n")
    following, _, after = rest.partition("\n")
    title = _LABEL.sub("", first, count=1)
    if not rest.strip() or not could_be_title(title):
        return "", text
    if _UNDERLINE.fullmatch(following):
        return one_line(title), after.strip()
    fresh = following.lstrip()[:1]
    anew = (fresh.isupper() or fresh.isdigit()) and len(following) >= 1.5 * len(first)
    if not following.strip() or anew or title != first:
        return one_line(title), rest.strip()
    return "", text


def without_title(title: str, text: str) -> str:
    """The text without the title, where its first lines are just that."""
    words = title.casefold().split()
    position = 0
    for word in words:
        found = re.compile(r"\s*").match(text, position)
        position = found.end() if found else position
        if text[position : position + len(word)].casefold() != word:
            return text
        position += len(word)
    # The title must end where a line does, or it is how the first sentence begins.
    line_end = re.compile(r"[ \t]*(?:\n|\Z)").match(text, position)
    return text[line_end.end() :].strip() if words and line_end else text
