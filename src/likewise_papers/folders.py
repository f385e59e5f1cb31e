"""Which folders of collections does the environment name?

LIKEWISE_DATA is a list as PATH is: folders of collections, or ids of ir_datasets (`ir:cranfield`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from likewise.errors import Remedy, UsageError

VARIABLE = "LIKEWISE_DATA"
_CATALOGUE = "ir"


def named_folders() -> list[str]:
    """List what LIKEWISE_DATA names, nothing where it is not set; raise if a folder is not there.

    An id of ir_datasets stays as it is written.
    """
    given = [*_members(os.environ.get(VARIABLE, ""))]
    for one in given:
        if not one.startswith(f"{_CATALOGUE}:") and not Path(one).is_dir():
            raise UsageError(
                f"{VARIABLE} names {one}, and there is no such folder: correct the list (folders "
                f"of collections with {os.pathsep!r} between them)",
                remedy=Remedy("or name them with data=", "or name them with --data"),
            )
    return given


def find_collection(name: str, folders: Sequence[str | Path] | None = None) -> Path | None:
    """Find the folder of a collection by its name, in the first of these folders that has it.

    Without folders it is looked for in those of LIKEWISE_DATA.
    """
    for folder in map(Path, named_folders() if folders is None else folders):
        for place in (folder / name, folder):
            if place.name == name and place.is_dir():
                return place
    return None


def _members(listed: str) -> Iterator[str]:
    """Split a list; where members are separated by colons, that of ir:cranfield is none."""
    members = iter(listed.split(os.pathsep))
    for one in members:
        if one == _CATALOGUE:
            one = f"{one}:{next(members, '')}"
        if one:
            yield one
