"""What was passed to a call: is it of the type that is meant?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral

from likewise.errors import UsageError, WrongType


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
    found = [*given]
    for one in found:
        if not isinstance(one, str):
            raise WrongType.of(one, f"{what} is a text")
    return found
