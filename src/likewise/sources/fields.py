"""Metadata: from whatever a format can hold to what a collection stores.

A field's value is a str, int, float, bool, or a list of those.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import orjson

from likewise.errors import SourceError, with_article

MAX_DEPTH = 64
# What a JSON writer can hold: signed or unsigned 64 bits.
_INT_RANGE = range(-(2**63), 2**64)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(
    r"-?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,5})?"
)
_LEADING_ZERO = re.compile(r"-?0[0-9]")
# Values that hold no mapping.
_FLAT = frozenset({str, int, float, bool, list, type(None)})


def as_number(cell: str) -> str | int | float | None:
    """The number that an untyped cell spells, the cell itself if none, None if it is empty.

    Codes such as 007 and integers too long to be exact stay strings.
    """
    if not cell:
        return None
    if cell[0] not in "-.0123456789":
        return cell
    if _INTEGER.fullmatch(cell):
        return int(cell)
    if (
        _DECIMAL.fullmatch(cell)
        and not cell.lstrip("-").isdigit()
        and not _LEADING_ZERO.match(cell)
    ):
        number = float(cell)
        return number if math.isfinite(number) else cell
    return cell


def flatten(record: Mapping[Any, Any], place: str) -> dict[str, Any]:
    """The record with nested mappings turned into dotted keys; their values as they were."""
    if all(type(key) is str for key in record) and _FLAT.issuperset(map(type, record.values())):
        return dict(record)
    flat: dict[str, Any] = {}
    stack = [(str(key), value, 1) for key, value in reversed(list(record.items()))]
    while stack:
        key, value, depth = stack.pop()
        if isinstance(value, Mapping):
            if depth > MAX_DEPTH:
                reason = f"field {key[:40]!r}… is nested deeper than {MAX_DEPTH} levels"
                raise SourceError(place, reason)
            inner = list(value.items())
            stack.extend((f"{key}.{name}", item, depth + 1) for name, item in reversed(inner))
        elif key in flat:
            raise SourceError(place, f"two fields are both called {key!r}; rename one")
        else:
            flat[key] = value
    return flat


def clean(record: Mapping[Any, Any], place: str) -> dict[str, Any]:
    """Only storable values: flattened, dates as ISO text, without null, NaN, infinity and bytes."""
    fields = {}
    for key, value in flatten(record, place).items():
        try:
            stored = _stored(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise SourceError(place, f"field {key!r} cannot be stored: {error}") from None
        if stored is not None:
            fields[key] = stored
    check_unicode((*fields, *_strings(fields.values())), place)
    return fields


def scalar(value: Any) -> str | int | float | bool | None:
    """The storable form of one value, None where there is none; TypeError if it is no scalar."""
    if isinstance(value, np.datetime64):
        # In nanoseconds it would be an integer.
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | bytes() | bytearray() | memoryview():
            return None
        case bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            if value in _INT_RANGE:
                return int(value)
            return float(value) if abs(value) < 2**1000 else str(hex(value))
        case float() | Decimal():
            number = (
                float(value) if not (isinstance(value, Decimal) and value.is_snan()) else math.nan
            )
            return number if math.isfinite(number) else None
        case datetime() | date() | time():
            written = value.isoformat()
            return None if written == "NaT" else written
        case timedelta():
            return value.total_seconds()
    if type(value).__name__ == "NAType":
        return None
    kind = with_article(type(value).__name__)
    raise TypeError(f"{kind} is not text, a number, a date, a list or a mapping")


def check_unicode(texts: Iterable[str], place: str) -> None:
    """Refuse half of a surrogate pair, which no file can hold as UTF-8."""
    for text in texts:
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                reason = f"a lone surrogate {text[error.start]!r} is not valid Unicode; remove it"
                raise SourceError(place, reason) from None


def _strings(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))


def _stored(value: Any) -> Any:
    # Most values are stored as they are.
    kind = type(value)
    if kind is str or kind is bool or (kind is int and value in _INT_RANGE):
        return value
    if kind is list and all(type(item) is str for item in value):
        return [*value]
    if isinstance(value, np.ndarray):
        value = list(value) if value.dtype.kind == "M" else value.tolist()
    if not isinstance(value, list | tuple | set | frozenset):
        return scalar(value)
    items = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
    if any(isinstance(item, list | tuple | Mapping | np.ndarray) for item in items):
        return orjson.dumps(items, default=_json, option=orjson.OPT_NON_STR_KEYS).decode()
    return [stored for item in items if (stored := scalar(item)) is not None]


def _json(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else scalar(value)
