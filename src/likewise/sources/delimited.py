"""CSV and TSV with a header row; the delimiter is sniffed unless it is named."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources.columns import ENCODING, Columns, OnBad, Origin, check_header, document_maker
from likewise.sources.fields import as_number

# Room for any document, yet an unclosed quote cannot swallow a file larger than memory.
_LONGEST_CELL = 1 << 28
_DELIMITERS = ",;\t|"
_SAMPLE = 1 << 16
_SAMPLE_ROWS = 20


def read_csv(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad, delimiter: str = ""
) -> Iterator[Document]:
    """Documents of comma-separated rows; the place is the line where the row starts."""
    delimiter = delimiter or _sniffed(stream, columns, usual=",")
    return _read(_Rows(stream, delimiter, origin.name), origin, columns, on_bad)


def read_tsv(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad, delimiter: str = ""
) -> Iterator[Document]:
    """Documents of tab-separated rows, quoted as in CSV."""
    delimiter = delimiter or _sniffed(stream, columns, usual="\t")
    return _read(_Rows(stream, delimiter, origin.name), origin, columns, on_bad)


def _sniffed(stream: BinaryIO, columns: Columns, *, usual: str) -> str:
    """The delimiter by which the header has the columns' names, or else rows have its length."""
    peek = getattr(stream, "peek", None)
    head = peek(_SAMPLE)[:_SAMPLE] if peek else b""
    sample = head.decode("utf-8", "replace")
    if len(head) == _SAMPLE:
        # The last row of the sample is not whole.
        sample = sample.rpartition("\n")[0]
    best, most = usual, (0, 0)
    for delimiter in (usual, *_DELIMITERS.replace(usual, "")):
        rows = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            found = [row for row in islice(rows, _SAMPLE_ROWS) if row]
        except csv.Error:
            continue
        if not found or len(found[0]) < 2:
            continue
        n_known = len(columns.used.intersection(name.strip() for name in found[0]))
        n_alike = sum(len(row) == len(found[0]) for row in found)
        if (n_known, n_alike) > most:
            best, most = delimiter, (n_known, n_alike)
    return best


def _read(rows: _Rows, origin: Origin, columns: Columns, on_bad: OnBad) -> Iterator[Document]:
    header = rows.header()
    if header:
        check_header(header, columns, rows.place)
    used = columns.used
    make = document_maker(columns, origin, parsed=True)
    while True:
        try:
            row = rows.next()
            if row is None:
                return
            if not row:
                continue
            if len(row) != len(header):
                raise SourceError(
                    rows.place,
                    f"the row has {len(row)} cells and the header {len(header)}; "
                    "quote cells that hold separators or quotes",
                )
            record = {
                name: cell if name in used else as_number(cell)
                for name, cell in zip(header, row, strict=True)
            }
            document = make(record, rows.start)
        except SourceError as error:
            on_bad(error)
            continue
        yield document


class _Rows:
    """Rows of cells that know their first line."""

    def __init__(self, stream: BinaryIO, delimiter: str, name: str) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        self._stream = stream
        self._name = name
        self._damaged = False
        self._reader = csv.reader(self._lines(), delimiter=delimiter, strict=True)
        self.start = 1

    @property
    def place(self) -> str:
        return f"{self._name}:{self.start}"

    def header(self) -> list[str]:
        """The first row that is not blank; a column without a name is called by its position."""
        row = self.next()
        while row == []:
            row = self.next()
        return [name.strip() or f"column_{i}" for i, name in enumerate(row or (), 1)]

    def next(self) -> list[str] | None:
        """The cells of the next row, none for a blank line, None at the end."""
        self.start = self._reader.line_num + 1
        self._damaged = False
        try:
            row = next(self._reader, None)
        except csv.Error as error:
            advice = "quote cells that hold quotes or line ends, and double the quotes inside"
            raise SourceError(self.place, f"not a valid row: {error}; {advice}") from None
        if self._damaged:
            raise SourceError(self.place, "not valid UTF-8", remedy=ENCODING)
        return row

    def _lines(self) -> Iterator[str]:
        for line in self._stream:
            try:
                text = line.decode()
            except UnicodeDecodeError:
                # The row must still be parsed to its end, or its remaining lines become rows.
                text = line.decode(errors="replace")
                self._damaged = True
            yield text
