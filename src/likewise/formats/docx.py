"""Word documents (.docx): paragraphs, tables, footnotes, with text boxes once."""

from __future__ import annotations

from collections.abc import Iterator

from likewise.formats.archive import Archive
from likewise.formats.office import properties
from likewise.formats.parsed import DAMAGED, NO_TEXT, Parsed, Refused, check_length
from likewise.formats.titles import LONGEST, one_line, split_title, without_title

_BODY = "word/document.xml"
_STYLES = "word/styles.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_HEADINGS = ("title", "heading 1")
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# What was deleted, how fields are computed, and what older programs show in place of a text box.
_UNSEEN = frozenset(("del", "moveFrom", "instrText", "delText", "Fallback"))


def parse(data: bytes, encoding: str) -> Iterator[Parsed]:
    """One document: its title is that of its properties, or the first heading."""
    archive = Archive(data)
    if _BODY not in archive:
        raise Refused(DAMAGED, "no Word document: there is no word/document.xml in it")
    body = _Text()
    archive.parse(_BODY, start=body.start, end=body.end, characters=body.characters)
    fields = properties(archive)
    notes = _Text()
    for name in _NOTES:
        if name in archive:
            archive.parse(name, start=notes.start, end=notes.end, characters=notes.characters)
    text = check_length("\n\n".join(filter(None, (body.text(), notes.text()))))
    title = fields.pop("title", "") or one_line(_heading(archive, body.first))
    if not title or len(title) > LONGEST:
        title, text = split_title(text)
    if not text and not title:
        raise Refused(NO_TEXT, "the document holds no text, perhaps pictures of it")
    yield Parsed(title, without_title(title, text), fields)


def _heading(archive: Archive, first: dict[str, str]) -> str:
    """The first paragraph in a style for titles, of the first ones in each style."""
    styles = _heading_styles(archive) if first else ()
    return next((text for style, text in first.items() if style in styles), "")


def _heading_styles(archive: Archive) -> frozenset[str]:
    """The ids of styles for titles; ids are in the language of the program, names are not."""
    styles: dict[str, str] = {}
    current = [""]

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "style":
            current[0] = attributes.get("styleId", "")
        elif name == "name" and current[0]:
            styles[current[0]] = attributes.get("val", "").lower()

    def end(name: str) -> None:
        if name == "style":
            current[0] = ""

    if _STYLES in archive:
        archive.parse(_STYLES, start=start, end=end)
    named = frozenset(style for style, name in styles.items() if name in _HEADINGS)
    return named or frozenset(("Title", "Heading1"))


class _Text:
    """Collects the text of a part of a document, and the first paragraph in each style."""

    def __init__(self) -> None:
        self.first: dict[str, str] = {}
        self._pieces: list[str] = []
        self._paragraph = 0
        self._style = ""
        self._takes = False
        self._unseen = 0

    def text(self) -> str:
        """What was collected."""
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return "\n".join(lines).strip()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Hear of an element's beginning."""
        if self._unseen or name in _UNSEEN:
            self._unseen += 1
        elif name == "p":
            self._paragraph = len(self._pieces)
            self._style = ""
        elif name == "pStyle":
            self._style = attributes.get("val", "")
        elif name == "t":
            self._takes = True
        elif name in _BREAKS and self._pieces:
            self._pieces.append(_BREAKS[name])

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        if self._unseen:
            self._unseen -= 1
        elif name == "t":
            self._takes = False
        elif name == "p":
            if self._style and self._style not in self.first:
                text = "".join(self._pieces[self._paragraph :]).strip()
                self.first |= {self._style: text} if text else {}
            self._pieces.append("\n")
        elif name == "tc" and self._pieces and self._pieces[-1] == "\n":
            self._pieces[-1] = "\t"
        elif name == "tr":
            self._pieces.append("\n")

    def characters(self, text: str) -> None:
        """Hear of text."""
        if self._takes and not self._unseen:
            self._pieces.append(text)
