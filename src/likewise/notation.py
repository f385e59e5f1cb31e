"""How a configuration is written: what prints is what compares, and what the command line takes.

A configuration is a frozen dataclass with a class attribute `notation`, its short name:
`BM25(k1=2.0)` is written `bm25(k1=2.0)`, and fields at their default are left out. A value may be
written so itself: `graph(kernel=walk(alpha=2,steps=3))`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from likewise.errors import UsageError

Config = TypeVar("Config")

_CALL = re.compile(r"\s*([a-z][a-z0-9-]*)\s*(?:\((.*)\))?\s*", re.DOTALL | re.IGNORECASE)


def write(config: object) -> str:
    """Write a configuration: `bm25`, `bm25(k1=2.0)`."""
    parts = []
    for field in _fields(type(config)):
        value = getattr(config, field.name)
        if value != field.default:
            parts.append(f"{field.name}={value}")
    name: str = getattr(config, "notation")  # noqa: B009
    return f"{name}({','.join(parts)})" if parts else name


def read(text: str, table: Mapping[str, type[Config]], *, what: str) -> Config:
    """Read a configuration that is written as `write` does; `what` names it in messages."""
    written = name_and_inside(text)
    if written is None:
        raise UsageError(f"{what} {text!r} is not written as name or name(option=value,…)")
    name, inside = written
    if name not in table:
        raise UsageError(unknown(what, name, table))
    kind = table[name]
    fields = {field.name: field for field in _fields(kind)}
    options: dict[str, Any] = {}
    pieces = split(inside)
    if pieces is None:
        raise UsageError(f"{what} {text!r} has parentheses that do not match: each ( needs its )")
    for part in filter(None, map(str.strip, pieces)):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in fields:
            allowed = ", ".join(f"{k}={f.default}" for k, f in fields.items()) or "none"
            raise UsageError(f"{what} {name}: {part!r} is no option; it has {allowed}")
        if key in options:
            raise UsageError(f"{what} {name}: {key} is given twice")
        options[key] = convert(value, like=fields[key].default, what=f"{what} {name}: {key}")
    return kind(**options)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is none of those known, and which of them are close to it."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"unknown {what} {name!r}: it is one of {', '.join(names)}{meant}"


def convert(value: str, *, like: Any, what: str) -> Any:
    """Turn text into a value of the same type as `like`."""
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[value.lower()]
        return type(like)(value)
    except (KeyError, ValueError):
        kind = {int: "a whole number", float: "a number", bool: "true or false"}[type(like)]
        raise UsageError(f"{what} must be {kind}, not {value!r}") from None


def split(text: str, separator: str = ",") -> list[str] | None:
    """Cut text where no parentheses are around a separator; None where these do not match."""
    out, depth, at = [""], 0, 0
    while at < len(text):
        if depth == 0 and text.startswith(separator, at):
            out.append("")
            at += len(separator)
            continue
        depth += (text[at] == "(") - (text[at] == ")")
        if depth < 0:
            return None
        out[-1] += text[at]
        at += 1
    return out if depth == 0 else None


def name_and_inside(text: str) -> tuple[str, str] | None:
    """Give the name of what is written, in lower case, and what stands in its parentheses."""
    match = _CALL.fullmatch(text)
    return (match[1].lower(), match[2] or "") if match else None


def _fields(kind: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)
