"""Spreadsheets: each sheet with a header row is a table."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, BinaryIO

from likewise.errors import Remedy, SourceError
from likewise.formats.parsed import TOO_LARGE, Refused
from likewise.formats.pool import Pool
from likewise.records import Document
from likewise.sources.columns import (
    Columns,
    Expected,
    MakeDocument,
    OnBad,
    Origin,
    check_names,
    document_maker,
)

_PARSER = "likewise.formats.xlsx:parse"
_log = logging.getLogger(__name__)


def read_xlsx(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Documents of the rows of all sheets whose header has a text or a title; others are named.

    The place of a row is the file, the sheet and the row's number.
    """
    with Pool(size=1) as pool:
        data = stream.read(pool.limits.file + 1)
        if len(data) > pool.limits.file:
            reason = f"it is larger than {pool.limits.file >> 20} MB"
            raise SourceError(origin.name, reason, kind=TOO_LARGE)
        sheet: _Sheet | None = None
        left_out: list[_Sheet] = []
        n_used = 0
        expected = Expected(columns)
        for name, number, cells in _rows(pool, data, origin):
            if sheet is None or sheet.name != name:
                sheet = _Sheet(name, cells, columns, origin)
                if sheet.is_used:
                    n_used += 1
                    expected.see(sheet.names)
                else:
                    left_out.append(sheet)
                continue
            if not sheet.is_used:
                continue
            try:
                document = sheet.document(cells, number)
            except SourceError as error:
                on_bad(error)
                continue
            yield document
        wanted = " or ".join(map(repr, _wanted(columns)))
        if left_out and not n_used:
            shown = "; ".join(f"{one.name!r} has {one.listed}" for one in left_out[:5])
            reason = f"no sheet has a column {wanted}: {shown}"
            remedy = Remedy("name one with text=", "name one with --text")
            raise SourceError(origin.name, reason, remedy=remedy)
        expected.warn(origin.name)
        if left_out:
            names = ", ".join(repr(one.name) for one in left_out)
            _log.warning("%s: without a column %s, left out: %s", origin.name, wanted, names)


def _wanted(columns: Columns) -> list[str]:
    """Give the columns of which a sheet needs one: a title alone, unless the text was named."""
    wanted = columns.text if columns.names_text else (*columns.text, columns.title)
    return [*dict.fromkeys(wanted)]


def _rows(pool: Pool, data: bytes, origin: Origin) -> Iterator[Any]:
    try:
        for batch in pool.parse(_PARSER, data) if data else ():
            yield from batch
    except Refused as refused:
        raise SourceError(origin.name, refused.reason, kind=refused.status) from None


class _Sheet:
    """A sheet: its name, its columns, and how its rows become documents."""

    def __init__(
        self, name: str, cells: list[tuple[int, Any]], columns: Columns, origin: Origin
    ) -> None:
        self.name = name
        self._header = {column: str(value).strip() for column, value in cells}
        self._header = {column: name for column, name in self._header.items() if name}
        place = f"{origin.name}:{name}"
        wanted = _wanted(columns)
        self.is_used = not set(wanted).isdisjoint(self._header.values())
        if self.is_used:
            check_names(self.names, place)
        self._make: MakeDocument = document_maker(columns, Origin(place, f"{origin.stem}:{name}"))

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [*self._header.values()]

    @property
    def listed(self) -> str:
        return ", ".join(map(repr, self.names[:20])) or "no header"

    def document(self, cells: list[tuple[int, Any]], number: int) -> Document:
        """The document of a row."""
        record: dict[str, Any] = dict.fromkeys(self._header.values())
        for column, value in cells:
            if column in self._header:
                record[self._header[column]] = value
        return self._make(record, number)
