"""Types of a kernel's arguments and results, written in a few characters, as ahead.c reads them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np


class Unsupported(Exception):
    """A kernel that only numba can call."""


def program_of(kind: Any, classes: list[type], *, readable: bool = False) -> str:
    """Write what a type is, as ahead.c reads it."""
    types: Any = import_module("numba").types
    if isinstance(kind, types.Array):
        number = _number(kind.dtype)
        if kind.ndim > 9 or not kind.aligned:
            raise Unsupported(f"an argument is {kind}")
        access = "r" if readable or not kind.mutable else "w"
        return f"A{number}{kind.ndim}{kind.layout}{access}"
    if isinstance(kind, types.BaseTuple):
        given = getattr(kind, "instance_class", None)
        if given is not None and given not in classes:
            classes.append(given)
        place = 0 if given is None else 1 + classes.index(given)
        members = "".join(program_of(one, classes, readable=readable) for one in kind)
        return f"T{digit(len(kind))}{digit(place)}{members}"
    return f"S{_number(kind)}"


def _number(kind: Any) -> str:
    types: Any = import_module("numba").types
    if isinstance(kind, types.Boolean):
        return "b1"
    if isinstance(kind, types.Integer | types.Float) and not isinstance(kind, types.Literal):
        dtype = np.dtype(str(kind))
        if dtype.itemsize <= 8 and dtype.kind in "iuf" and dtype != np.float16:
            return f"{dtype.kind}{dtype.itemsize}"
    raise Unsupported(f"an argument is {kind}")


def digit(n: int) -> str:
    """Write a small number as a character."""
    if n > 70:
        raise Unsupported(f"{n} arguments or members")
    return chr(ord("0") + n)


def types_of(arguments: str, classes: tuple[type, ...]) -> tuple[Any, ...]:
    """Read types of arguments, as numba has them: how many, and what each is."""
    rest = iter(arguments)
    return tuple(_read(rest, classes) for _ in range(ord(next(rest)) - ord("0")))


def _read(rest: Iterator[str], classes: tuple[type, ...]) -> Any:
    numba: Any = import_module("numba")
    what = next(rest)
    if what == "T":
        n, place = (ord(next(rest)) - ord("0") for _ in range(2))
        members = [_read(rest, classes) for _ in range(n)]
        named = (classes[place - 1],) if place else ()
        return numba.types.BaseTuple.from_types(members, *named)
    number = numba.from_dtype(np.dtype(f"{next(rest)}{next(rest)}"))
    if what == "S":
        return number
    n_axes, layout, access = int(next(rest)), next(rest), next(rest)
    return numba.types.Array(number, n_axes, layout, readonly=access == "r")
