"""HTML without its tags, by one pass over them.

Text needs no tree, and trees are what makes HTML dangerous to read: of a few hundred kilobytes of
tags within tags a parser to the standard makes gigabytes, or takes half a minute. Here nothing
looks further than the next tag, or for the end of an element more than once.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from likewise.formats.titles import LONGEST, one_line, without_title

_INLINE = (
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike "
    "strong sub sup tt u var"
)
_BLOCKS = (
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section "
    "summary table tbody tfoot thead title tr ul"
)
# JATS, the XML of publishers, is common in abstracts.
_JATS = "jats:p jats:title jats:sec jats:list jats:list-item jats:disp-quote"
_JATS_INLINE = "jats:italic jats:bold jats:sub jats:sup jats:inline-formula jats:xref"
BLOCKS = frozenset(f"{_BLOCKS} {_JATS} br".split())
_CELLS = frozenset(("td", "th"))
_KNOWN = "|".join(sorted(f"{_INLINE} {_BLOCKS} {_JATS} {_JATS_INLINE} td th".split()))

# Quoted values may hold >, but no <, so that an open quote is not looked for beyond the next tag.
_TAG = re.compile(
    r"""<(?:(?P<comment>!--)|[!?][^<>]*>|(?P<close>/?)(?P<name>[A-Za-z][^\s/<>"']*)"""
    r"""(?:(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>|[^<>]*>))"""
)
_OPENED = re.compile(rf"<({_KNOWN})(?:\s[^<>]*)?>(?!`)", re.IGNORECASE)
_CLOSED = re.compile(rf"</({_KNOWN})\s*>", re.IGNORECASE)
_TELLING = ("</", "<br", "<BR", "<Br")
_BREAK = re.compile(r"<(br)\s*/?>(?!`)", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r" *\n[ \n]*")
_DROPPED = frozenset(("script", "style", "template", "svg", "annotation"))
_DROPPED_OF_PAGES = _DROPPED | frozenset(
    ("noscript", "iframe", "object", "nav", "footer", "select", "button", "dialog")
)


class Page(NamedTuple):
    """What a page says."""

    title: str
    text: str


def has_markup(text: str) -> bool:
    """Tell whether HTML occurs in a text: a line break, or an element of HTML with both its tags.

    Names in angle brackets, comparisons and tags in `back quotes` are none.
    """
    # Going from one < to the next is many times faster than looking for a pattern.
    at = text.find("<")
    while at >= 0 and not text.startswith(_TELLING, at):
        at = text.find("<", at + 1)
    if at < 0:
        return False
    if _seen(_BREAK, text):
        return True
    closed = {name.lower() for name in _CLOSED.findall(text)}
    return bool(closed) and not closed.isdisjoint(_seen(_OPENED, text))


def _seen(pattern: re.Pattern[str], text: str) -> set[str]:
    """The names of the tags that match and are not in back quotes."""
    found = pattern.finditer(text)
    return {one[1].lower() for one in found if text[one.start() - 1 : one.start()] != "`"}


def strip_markup(text: str) -> str:
    """The text without tags, entities as the characters they stand for.

    Where no element begins a line, the text's own lines are kept.
    """
    names = {found["name"].lower() for found in _TAG.finditer(text) if found["name"]}
    return _Stripping(text, _DROPPED, keep_lines=names.isdisjoint(BLOCKS)).stripped()


def strip_page(text: str) -> Page:
    """Title and text of a whole page, without navigation, footers and what is not shown.

    The title is <title>, or the first <h1> where there is none or it only adds the site's name.
    """
    stripping = _Stripping(text, _DROPPED_OF_PAGES)
    body = stripping.stripped()
    if not body:
        # All of the page is in what was dropped.
        stripping = _Stripping(text, _DROPPED | {"iframe", "object"})
        body = stripping.stripped()
    title, heading = one_line(stripping.title), one_line(stripping.heading)
    if heading and len(heading) <= LONGEST and (not title or heading.lower() in title.lower()):
        title = heading
    return Page(title, without_title(title, body))


class _Stripping:
    """One pass over the tags of a text."""

    def __init__(self, text: str, dropped: frozenset[str], *, keep_lines: bool = False) -> None:
        self.title = ""
        self.heading = ""
        self._source = text
        self._dropped = dropped
        self._spaces = _BLANKS if keep_lines else _SPACES
        self._pieces: list[str] = []
        self._unclosed: set[str] = set()
        self._pre = 0

    def stripped(self) -> str:
        """Work it out."""
        position = 0
        heading_from = -1
        while found := _TAG.search(self._source, position):
            self._write(self._source[position : found.start()])
            position = found.end()
            if found["comment"]:
                position = self._after("-->", position)
                continue
            name = (found["name"] or "").lower()
            closes = bool(found["close"])
            if name == "title":
                position = position if closes else self._take_title(position)
            elif name in self._dropped and not closes:
                position = self._after_element(name, position)
            elif name in BLOCKS:
                if name == "pre":
                    self._pre = max(0, self._pre + (-1 if closes else 1))
                if name == "h1" and not self.heading:
                    if not closes:
                        heading_from = len(self._pieces)
                    elif heading_from >= 0:
                        self.heading = "".join(self._pieces[heading_from:])
                self._pieces.append("\n\n" if name == "p" else "\n")
            elif name in _CELLS:
                self._pieces.append(" ")
        self._write(self._source[position:])
        return _tidy("".join(self._pieces))

    def _write(self, text: str) -> None:
        if text:
            text = html.unescape(text) if "&" in text else text
            self._pieces.append(text if self._pre else self._spaces.sub(" ", text))

    def _take_title(self, position: int) -> int:
        end = self._after("</title", position, before=True)
        if end > position and not self.title:
            self.title = html.unescape(self._source[position:end])
        return end

    def _after(self, what: str, position: int, *, before: bool = False) -> int:
        """Where something ends that is looked for; the same position if it never comes."""
        if what in self._unclosed:
            return position
        found = re.compile(re.escape(what), re.IGNORECASE).search(self._source, position)
        if found is None:
            self._unclosed.add(what)
            return position
        return found.start() if before else found.end()

    def _after_element(self, name: str, position: int) -> int:
        """Where an element ends, elements of its name within it counted."""
        if name in self._unclosed:
            return position
        depth = 1
        for found in re.compile(rf"<(/?){name}\b[^<>]*>", re.IGNORECASE).finditer(
            self._source, position
        ):
            depth += -1 if found[1] else 1
            if not depth:
                return found.end()
        self._unclosed.add(name)
        return position


def _tidy(text: str) -> str:
    """No spaces around line ends, and at most one blank line."""

    def ends(found: re.Match[str]) -> str:
        return "\n\n" if found[0].count("\n") > 1 else "\n"

    return _LINE_ENDS.sub(ends, text).strip()
