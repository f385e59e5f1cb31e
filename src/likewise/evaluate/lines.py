"""The lines of an evaluation file, each with its place; or what ir_datasets has instead."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from likewise.arguments import check_path
from likewise.errors import SourceError

if TYPE_CHECKING:
    from likewise.sources.irdatasets import IrDataset

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
# Tab, line feed, vertical tab, form feed and carriage return are white space, the rest is binary.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")

FilePath = str | os.PathLike[str]


def shown(path: FilePath) -> str:
    """The name of the file as errors show it."""
    check_path(path, "a file")
    name = os.fsdecode(path)
    return "standard input" if name == "-" else name


def catalogued(path: FilePath) -> IrDataset | None:
    """Give the dataset of ir_datasets that `ir:ID` names; None for a file."""
    check_path(path, "a file")
    name = os.fsdecode(path)
    if not name.startswith("ir:"):
        return None
    from likewise.sources.irdatasets import IrDataset

    return IrDataset(name.removeprefix("ir:"))


def read_bytes(path: FilePath) -> bytes:
    """The file's bytes, or standard input's where the path is `-`; gzip is known by its magic."""
    check_path(path, "a file")
    name = os.fsdecode(path)
    try:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as stream:
                data = stream.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(shown(path), f"cannot be read: {reason}") from error
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(
                shown(path), f"starts like a gzip file but is damaged: {error}"
            ) from error
    return data.removeprefix(_BOM)


def numbered_lines(path: FilePath, *, data: bytes | None = None) -> Iterator[tuple[str, bytes]]:
    """Each line that is not blank, with its place (file:line); of `data` where already read."""
    name = shown(path)
    for number, line in enumerate(io.BytesIO(read_bytes(path) if data is None else data), start=1):
        if line.strip():
            yield f"{name}:{number}", line


def columns(place: str, line: bytes, *, names: str) -> list[str]:
    """The columns of one line, separated by ASCII white space; `names` says which are expected."""
    if _CONTROL.search(line):
        raise SourceError(place, f"control characters found where text is expected ({names})")
    found = line.split()
    expected = names.count(" ") + 1
    if len(found) != expected:
        raise SourceError(
            place, f"{len(found)} columns found, {expected} expected, separated by space: {names}"
        )
    return [decoded(place, column) for column in found]


def decoded(place: str, data: bytes) -> str:
    """The UTF-8 text of these bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise SourceError(
            place, f"byte {byte:#04x} is not UTF-8; convert the file to UTF-8"
        ) from None
