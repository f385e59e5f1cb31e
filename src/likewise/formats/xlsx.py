"""Spreadsheets (.xlsx): the rows of each sheet, as the values that are stored."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from likewise.formats.archive import Archive
from likewise.formats.parsed import DAMAGED, Refused

_WORKBOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_STRINGS = "xl/sharedStrings.xml"
_STYLES = "xl/styles.xml"
_BUILT_IN_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_COLUMN = re.compile(r"([A-Z]{1,3})[0-9]+")
Row = tuple[str, int, list[tuple[int, Any]]]


def parse(data: bytes, encoding: str) -> Iterator[list[Row]]:
    """Rows in batches: the sheet's name, the row's number, and column and value of its cells."""
    archive = Archive(data)
    if _WORKBOOK not in archive:
        raise Refused(DAMAGED, "no spreadsheet: there is no xl/workbook.xml in it")
    sheets, is_1904 = _sheets(archive)
    strings = _strings(archive)
    dates = _date_styles(archive)
    for name, member in sheets:
        if member not in archive:
            raise Refused(DAMAGED, f"the sheet {name!r} is missing")
        sheet = _Sheet(name, strings, dates, is_1904)
        for _ in archive.steps(
            member, start=sheet.start, end=sheet.end, characters=sheet.characters
        ):
            if sheet.rows:
                yield sheet.take()


def _sheets(archive: Archive) -> tuple[list[tuple[str, str]], bool]:
    """Name and member of each sheet that is shown, and whether dates count from 1904."""
    listed: list[tuple[str, str]] = []
    members: dict[str, str] = {}
    is_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_1904
        if name == "sheet" and attributes.get("state", "visible") == "visible":
            listed.append((attributes.get("name", ""), attributes.get("id", "")))
        elif name == "workbookPr":
            is_1904 = attributes.get("date1904", "") in ("1", "true")
        elif name == "Relationship":
            target = attributes.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            members[attributes.get("Id", "")] = posixpath.normpath(path)

    archive.parse(_WORKBOOK, start=start, end=lambda name: None)
    if _RELATIONS in archive:
        archive.parse(_RELATIONS, start=start, end=lambda name: None)
    found = [(name, members.get(key, "")) for name, key in listed]
    return [(name, member) for name, member in found if "chartsheets" not in member], is_1904


def _strings(archive: Archive) -> list[str]:
    """The table of strings, each without its formatting and its phonetic reading."""
    strings: list[str] = []
    pieces: list[str] = []
    takes = False
    phonetic = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal takes, phonetic
        if name == "si":
            pieces.clear()
        elif name == "rPh":
            phonetic = True
        takes = name == "t" and not phonetic

    def end(name: str) -> None:
        nonlocal takes, phonetic
        takes = False
        if name == "rPh":
            phonetic = False
        elif name == "si":
            strings.append("".join(pieces))

    def characters(text: str) -> None:
        if takes:
            pieces.append(text)

    if _STRINGS in archive:
        archive.parse(_STRINGS, start=start, end=end, characters=characters)
    return strings


def _date_styles(archive: Archive) -> frozenset[int]:
    """The numbers of cell styles that show a number as a date."""
    custom: set[int] = set()
    styles: list[int] = []
    inside = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside
        if name == "numFmt":
            shown = _QUOTED.sub("", attributes.get("formatCode", "")).lower()
            if "d" in shown or "y" in shown or "h:" in shown:
                custom.add(_whole(attributes.get("numFmtId", "")))
        elif name == "cellXfs":
            inside = True
        elif name == "xf" and inside:
            styles.append(_whole(attributes.get("numFmtId", "")))

    def end(name: str) -> None:
        nonlocal inside
        if name == "cellXfs":
            inside = False

    if _STYLES in archive:
        archive.parse(_STYLES, start=start, end=end)
    return frozenset(
        i for i, number in enumerate(styles) if number in _BUILT_IN_DATES or number in custom
    )


class _Sheet:
    """Collects the rows of a sheet."""

    def __init__(self, name: str, strings: list[str], dates: frozenset[int], is_1904: bool) -> None:
        self.rows: list[Row] = []
        self._name = name
        self._strings = strings
        self._dates = dates
        self._epoch = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)
        self._row: list[tuple[int, Any]] = []
        self._number = 0
        self._column = 0
        self._kind = ""
        self._style = 0
        self._pieces: list[str] = []
        self._takes = False

    def take(self) -> list[Row]:
        """The rows that were collected since."""
        rows, self.rows = self.rows, []
        return rows

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Hear of an element's beginning."""
        if name == "row":
            self._row = []
            self._column = -1
            self._number = _whole(attributes.get("r", "")) or self._number + 1
        elif name == "c":
            place = _COLUMN.fullmatch(attributes.get("r", ""))
            self._column = _column(place[1]) if place else self._column + 1
            self._kind = attributes.get("t", "n")
            self._style = _whole(attributes.get("s", ""))
            self._pieces = []
        self._takes = name in ("v", "t")

    def end(self, name: str) -> None:
        """Hear of an element's end."""
        self._takes = False
        if name == "c":
            self._put("".join(self._pieces))
        elif name == "row" and self._row:
            self.rows.append((self._name, self._number, self._row))

    def characters(self, text: str) -> None:
        """Hear of text."""
        if self._takes:
            self._pieces.append(text)

    def _put(self, stored: str) -> None:
        value = self._value(stored) if stored else None
        if value is not None:
            self._row.append((self._column, value))

    def _value(self, stored: str) -> Any:
        match self._kind:
            case "s":
                index = _whole(stored)
                return self._strings[index] if index < len(self._strings) else None
            case "b":
                return stored == "1"
            case "e":
                return None
            case "n":
                return self._as_number(stored)
        return stored

    def _as_number(self, stored: str) -> Any:
        try:
            number = float(stored)
        except ValueError:
            return stored
        if self._style in self._dates:
            try:
                when = self._epoch + timedelta(seconds=round(number * 86_400))
            except (OverflowError, ValueError):
                return number
            # A day without a time is a date.
            return when.date().isoformat() if number == int(number) else when.isoformat()
        return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
