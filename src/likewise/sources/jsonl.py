"""JSON Lines: one object a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources.columns import Columns, Expected, OnBad, Origin, document_maker

_NAMES = {list: "an array", str: "a string", int: "a number", float: "a number", type(None): "null"}


def read_jsonl(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Documents of a JSON Lines stream; blank lines are ignored but counted."""
    make = document_maker(columns, origin, parsed=True)
    expected = Expected(columns)
    loads = orjson.loads
    number = 0
    for line in stream:
        number += 1
        try:
            record = loads(line)
            if type(record) is not dict:
                raise SourceError(f"{origin.name}:{number}", _not_an_object(record))
            document = make(record, number)
        except orjson.JSONDecodeError as error:
            if not line.isspace():
                on_bad(SourceError(f"{origin.name}:{number}", _not_json(line, error)))
            continue
        except SourceError as error:
            on_bad(error)
            continue
        expected.see(record)
        yield document
    expected.warn(origin.name)


def _not_an_object(value: Any) -> str:
    found = _NAMES.get(type(value), "a boolean")
    advice = "; the format json reads arrays" if isinstance(value, list) else ""
    return f"this is not JSON Lines: expected one object a line, found {found}{advice}"


def _not_json(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        text = line.decode().rstrip()
    except UnicodeDecodeError as wrong:
        return f"not valid UTF-8: byte {line[wrong.start]:#04x} at column {wrong.start + 1}"
    if text.lstrip().startswith("["):
        return "this is not JSON Lines: a JSON array begins here; the format json reads it"
    if text.strip() == "{":
        return (
            "this is not JSON Lines: an object begins here and goes on in the next line; "
            "the format json reads it"
        )
    return f"not valid JSON: {error.msg} at column {min(error.pos, len(text)) + 1}"
