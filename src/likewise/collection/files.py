"""Files that are written whole, pushed to the disk and checked; errors of the disk in words."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from likewise.errors import DamagedError, StorageError

REMEDY = "restore it from a copy, or index again"
_CRC_STEP = 1 << 24


class Seal(NamedTuple):
    """What the manifest knows of a finished file."""

    size: int
    crc: int


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file and push it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        sync(file)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or as it was before; its folder is made where it is not."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_bytes(aside, data)
            aside.replace(path)
        except BaseException:
            with suppress(OSError):
                aside.unlink()
            raise


def seal(path: Path) -> Seal:
    """Measure a finished file."""
    crc = 0
    with reading_errors(path), path.open("rb") as file:
        while piece := file.read(_CRC_STEP):
            crc = zlib.crc32(piece, crc)
        return Seal(os.fstat(file.fileno()).st_size, crc)


def check_size(path: Path, expected: Seal) -> None:
    """Raise unless the file is there, whole."""
    with reading_errors(path):
        size = path.stat().st_size
    if size != expected.size:
        raise DamagedError(f"{path}: {size} bytes where {expected.size} were written; {REMEDY}")


def check_content(path: Path, expected: Seal) -> None:
    """Raise unless the file holds what was written."""
    check_size(path, expected)
    if seal(path).crc != expected.crc:
        raise DamagedError(f"{path}: its content was altered (checksum); {REMEDY}")


def sync(file: BinaryIO) -> None:
    """Push a file to the disk."""
    file.flush()
    _push(file.fileno())


def sync_folder(folder: Path) -> None:
    """Push a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _push(handle)
    finally:
        os.close(handle)


def _push(handle: int) -> None:
    if sys.platform == "darwin":
        # There fsync leaves data in the drive's own memory.
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def free_bytes(folder: Path) -> int:
    """Tell how much may still be written to a folder's file system."""
    return shutil.disk_usage(folder).free


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raise where a change would clearly not fit, before it writes anything."""
    free = free_bytes(folder)
    if free < needed:
        raise StorageError(
            f"{folder}: {what} needs about {needed:,} bytes, and {free:,} are available: free some "
            "space; nothing was changed"
        )


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into a message with a remedy."""
    try:
        yield
    except OSError as error:
        remedy = {
            errno.ENOSPC: "the disk is full: free some space; the collection is as it was before",
            errno.EDQUOT: "the disk quota is used up; the collection is as it was before",
            errno.EROFS: "the file system is read-only",
            errno.EACCES: "permission denied",
            errno.EPERM: "permission denied",
            errno.EFBIG: "the file would be too large; the collection is as it was before",
        }.get(error.errno or 0, os.strerror(error.errno) if error.errno else str(error))
        raise StorageError(f"cannot write to {error.filename or path}: {remedy}") from error


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses to a reader of the collection into a message."""
    try:
        yield
    except FileNotFoundError:
        raise DamagedError(f"{path}: missing; {REMEDY}") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StorageError(f"{error.filename or path}: cannot be read ({reason})") from error
