"""What is in a folder: files to read, each with its format, and what is left out and why."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from likewise.errors import SourceError
from likewise.formats.kinds import KINDS, TABLE, by_name
from likewise.sources.skipped import COLLECTIONS, HIDDEN, LINKS, SPECIAL, TABLES, Skipped

_POINTER = "manifest.json"
_POINTER_SIGN = b'"likewise collection"'


class Entry(NamedTuple):
    """A file: its path within the folder (with /), its size, and its format where that is known."""

    stem: str
    size: int
    format: str | None


def is_collection(folder: str) -> bool:
    """Tell whether a folder is a stored collection."""
    try:
        with open(os.path.join(folder, _POINTER), "rb") as file:
            return _POINTER_SIGN in file.read(1 << 16)
    except OSError:
        return False


def list_files(folder: str, *, format: str | None, skipped: Skipped) -> list[Entry]:
    """Every file to read under the folder, in sorted order; others are counted as skipped.

    With a `format` all files are of it; else each has that of its name, and tables are left out,
    since their columns would have to be named. A file that cannot be asked has size 0 and fails
    when read.
    """

    def refuse(error: OSError) -> None:
        raise SourceError(str(error.filename), error.strerror or str(error))

    root = os.path.realpath(folder)
    found = []
    for where, folders, names in os.walk(folder, onerror=refuse):

        def told(name: str, where: str = where) -> str:
            return os.path.relpath(os.path.join(where, name), folder).replace(os.sep, "/")

        kept = []
        for name in sorted(folders):
            path = os.path.join(where, name)
            if name.startswith("."):
                skipped.add(HIDDEN, told(name))
            elif os.path.islink(path):
                skipped.add(LINKS, told(name))
            elif is_collection(path):
                skipped.add(COLLECTIONS, told(name))
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            path = os.path.join(where, name)
            named = format or by_name(name)
            if name.startswith("."):
                skipped.add(HIDDEN, told(name))
            elif not _is_within(path, root):
                skipped.add(LINKS, told(name))
            elif (size := _size(path)) is None:
                skipped.add(SPECIAL, told(name))
            elif not format and named and KINDS[named].holds == TABLE:
                skipped.add(TABLES, told(name))
            else:
                found.append(Entry(told(name), size, named))
    return sorted(found)


def _is_within(path: str, root: str) -> bool:
    if not os.path.islink(path):
        return True
    target = os.path.realpath(path)
    return os.path.commonpath((root, target)) == root


def _size(path: str) -> int | None:
    """Bytes of a file, 0 if that cannot be asked, None for what could be waited for for ever."""
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else None
