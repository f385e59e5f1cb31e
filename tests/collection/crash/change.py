"""A change to what is kept in a folder, and how to tell what became of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Change(NamedTuple):
    """A change that has to happen as a whole or not at all, wherever it is cut off.

    `look` gives all that can be seen in the folder, as values that compare; `go_on` makes another
    change, and raises if it cannot; `strays` names the files that do not belong there after it.
    """

    begin: Callable[[Path], None]
    make: Callable[[Path], None]
    look: Callable[[Path], Any]
    go_on: Callable[[Path], None]
    strays: Callable[[Path], list[str]]
