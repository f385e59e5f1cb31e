"""JSON files: an array of records, an object that has one, records one after the other.

Records are cut out of the stream one at a time, so that a file need not fit in memory.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources.columns import ENCODING, Columns, Expected, OnBad, Origin, document_maker
from likewise.sources.jsonl import read_jsonl

_CHUNK = 1 << 18
_LONGEST = 1 << 28
# How far from the end of what was read an error may only mean that more is to come.
_EDGE = 16


def read_json(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Documents of a JSON file; the place of one in an array is its number."""
    if _is_lines(stream):
        yield from read_jsonl(stream, origin=origin, columns=columns, on_bad=on_bad)
        return
    make = document_maker(columns, origin)
    expected = Expected(columns)
    number = 0
    for record in _records(_Values(stream, origin.name), columns):
        number += 1
        try:
            if not isinstance(record, dict):
                found = type(record).__name__
                reason = f"a record is a JSON object, received {found}"
                raise SourceError(f"{origin.name}:{number}", reason)
            document = make(record, number)
        except SourceError as error:
            on_bad(error)
            continue
        expected.see(record)
        yield document
    expected.warn(origin.name)


def _is_lines(stream: BinaryIO) -> bool:
    """Tell whether the first line is an object, and others follow."""
    peek = getattr(stream, "peek", None)
    head: bytes = peek(1 << 20) if peek else b""
    line, end, rest = head.lstrip().partition(b"\n")
    if not end or not rest.strip():
        return False
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _records(values: _Values, columns: Columns) -> Iterator[Any]:
    """The records of all values of a file."""
    while first := values.peek():
        if first == "[":
            yield from values.items()
        elif first == "{":
            yield from _of_object(values, columns)
        else:
            raise values.error("expected an array or an object of records")


def _of_object(values: _Values, columns: Columns) -> Iterator[Any]:
    """The records of its one array of objects, or else the object itself, as one record."""
    own: dict[str, Any] = {}
    array = ""
    for name in values.names():
        is_record = any(column in own for column in (columns.title, *columns.text))
        if values.peek() != "[" or is_record:
            own[name] = values.value()
            continue
        items = values.items()
        first = next(items, None)
        if not isinstance(first, dict):
            own[name] = [] if first is None else [first, *items]
            continue
        if array:
            raise values.error(
                f"two arrays of records, {array!r} and {name!r}: leave one, or make a file of each"
            )
        array = name
        yield first
        yield from items
    if not array:
        yield own
    elif any(column in own for column in (columns.title, *columns.text)):
        raise values.error(f"the object is a record and has records in {array!r}: leave one")


class _Values:
    """JSON values, one after the other, of a stream."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._line = 1
        self._ended = False

    def error(self, reason: str) -> SourceError:
        """An error at the line that was reached."""
        line = self._line + self._text.count("\n", 0, self._at)
        return SourceError(f"{self._name}:{line}", f"not valid JSON: {reason}")

    def peek(self) -> str:
        """The next character that is no space, "" at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in " \t\r\n\ufeff":
                    return character
                self._at += 1
            if not self._more():
                return ""

    def value(self) -> Any:
        """Take a whole value."""
        self.peek()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _EDGE
                if cut and self._more():
                    continue
                self._at = error.pos
                raise self.error(error.msg) from None
            except RecursionError:
                raise self.error("it is nested too deeply") from None
            # A number that ends where the text does may go on.
            if end < len(self._text) or not self._more():
                self._at = end
                return value

    def items(self) -> Iterator[Any]:
        """Take an array, item by item."""
        self._take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self._take(",")
                if self.peek() == "]":
                    raise self.error("a comma and no item after it")
        self._take("]")

    def names(self) -> Iterator[str]:
        """Take an object, name by name; the caller takes each value."""
        self._take("{")
        while self.peek() != "}":
            name = self.value()
            if not isinstance(name, str):
                raise self.error("a name is expected, in quotes")
            self._take(":")
            self.peek()
            yield name
            if self.peek() != "}":
                self._take(",")
        self._take("}")

    def _take(self, character: str) -> None:
        if (found := self.peek()) != character:
            shown = repr(found) if found else "the end"
            raise self.error(f"expected {character!r}, found {shown}")
        self._at += 1

    def _more(self) -> bool:
        """Read on, twice as much as is held, so that a long value is scanned few times."""
        if self._ended:
            return False
        self._line += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :]
        self._at = 0
        if len(self._text) > _LONGEST:
            raise self.error("a record has more than 256 million characters")
        data = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not data
        try:
            self._text += self._decode(data, self._ended)
        except UnicodeDecodeError:
            raise SourceError(self._name, "not valid UTF-8", remedy=ENCODING) from None
        return True
