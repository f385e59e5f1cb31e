"""What was passed to a call: is it of the type that is meant?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any, TypeVar

from likewise.errors import UsageError, WrongType

Kind = TypeVar("Kind")


def check_kind(given: object, kind: type | UnionType, expected: str) -> None:
    """Raise unless what was given is of a kind; `expected` says it, as in "qrels are Qrels"."""
    if not isinstance(given, kind):
        raise WrongType.of(given, expected)


def check_path(path: object, what: str) -> None:
    """Raise unless a path is given as Python has them."""
    check_kind(path, str | os.PathLike, f"{what} is named by a text or a path")


def several(given: object, kind: type[Kind], expected: str) -> list[Kind]:
    """Give an iterable of values of one kind as a list; one alone or anything else is refused."""
    if not isinstance(given, Iterable) or isinstance(given, kind | str | bytes):
        raise WrongType.of(given, expected)
    found = _items(given, expected)
    for one in found:
        check_kind(one, kind, expected)
    return found


def numbers(given: object, name: str) -> list[Any]:
    """Give numbers, one after the other, as a list; anything else is refused."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise WrongType.of(given, f"{name} are numbers, as in a list")
    found = _items(given, f"{name} are numbers, as in a list")
    for one in found:
        if not isinstance(one, Real):
            raise WrongType.of(one, f"{name} are numbers")
    return found


def _items(given: Iterable[Any], expected: str) -> list[Any]:
    """Give the items of an iterable; an array of no dimension has none."""
    try:
        return [*given]
    except TypeError:
        raise WrongType.of(given, expected) from None


def check_texts(**given: object) -> None:
    """Raise unless all that was given is text."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise WrongType.of(value, f"{name} is a text")


def check_counts(*, least: int = 0, **given: object) -> None:
    """Raise unless all that was given are whole numbers; true and false are none."""
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise WrongType.of(value, f"{name} is a whole number")
        if int(value) < least:
            allowed = f"at least {least}" if least else "0 or more"
            raise UsageError(f"{name} must be {allowed}, not {value}")


def listed(given: object, *, what: str) -> list[str]:
    """Give one text, or an iterable of them (a column of a frame is one), as a list."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise WrongType.of(given, f"{what} is a text, or a list of texts")
    found = _items(given, f"{what} is a text, or a list of texts")
    for one in found:
        if not isinstance(one, str):
            raise WrongType.of(one, f"{what} is a text")
    return found
