"""How is a file of the collection written, sealed, checked and mapped?"""

from __future__ import annotations

import errno
import mmap
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from likewise.errors import DamagedError, StorageError

_HEADER = 128
_DESCRIBED = re.compile(
    rb"\x93NUMPY\x01\x00\x76\x00\{'descr': '([<|][uif][1248])', 'fortran_order': False, "
    rb"'shape': \((\d{1,18}),\), \} *\n"
)
_CRC_STEP = 1 << 24


class Seal(NamedTuple):
    """What the manifest knows of a finished file."""

    size: int
    crc: int


class ArrayWriter:
    """Writes a one-dimensional `.npy` file piece by piece, its length known only at the end."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file: BinaryIO = path.open("wb")
        self._file.write(bytes(_HEADER))

    def append(self, values: NDArray[Any]) -> None:
        """Add values at the end."""
        piece = np.ascontiguousarray(values, self.dtype)
        self._file.write(piece.data.cast("B") if piece.size else b"")
        self.size += piece.size

    def close(self) -> None:
        """Write the header and push everything to the disk."""
        described = (
            f"{{'descr': {self.dtype.str!r}, 'fortran_order': False, 'shape': ({self.size},), }}"
        )
        body = described.ljust(_HEADER - 11).encode() + b"\n"
        try:
            self._file.seek(0)
            self._file.write(b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body)
            sync(self._file)
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close without finishing, whatever a full disk says to the last bytes."""
        with suppress(OSError):
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def write_array(path: Path, values: NDArray[Any], dtype: DTypeLike | None = None) -> None:
    """Write a whole array as `.npy`."""
    with ArrayWriter(path, dtype or values.dtype) as writer:
        writer.append(values)


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
        write_bytes(aside, data)
        aside.replace(path)


def map_array(path: Path) -> NDArray[Any]:
    """Map a `.npy` file as `ArrayWriter` writes it.

    Copy-on-write, so that kernels compiled for writable arrays take it; the file never changes.
    NumPy's own reader parses the header as Python, which CPython 3.11 cannot always do in
    several threads at once.
    """
    with path.open("rb") as file:
        described = _DESCRIBED.fullmatch(file.read(_HEADER))
        if described is not None:
            dtype, size = np.dtype(described[1].decode()), int(described[2])
            if os.fstat(file.fileno()).st_size == _HEADER + size * dtype.itemsize:
                if size == 0:
                    return np.empty(0, dtype)
                return np.asarray(np.memmap(file, dtype, "c", _HEADER, (size,)))
    raise DamagedError(f"{path}: not a readable array; restore it from a copy, or index again")


def map_bytes(path: Path) -> mmap.mmap | bytes:
    """Map a file's bytes."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def seal(path: Path) -> Seal:
    """Measure a finished file."""
    crc = 0
    with path.open("rb") as file:
        while piece := file.read(_CRC_STEP):
            crc = zlib.crc32(piece, crc)
    return Seal(path.stat().st_size, crc)


def seal_folder(folder: Path) -> dict[str, Seal]:
    """Measure every file of a finished folder and push the folder itself to the disk."""
    seals = {path.name: seal(path) for path in sorted(folder.iterdir())}
    sync_folder(folder)
    return seals


def check_size(path: Path, expected: Seal) -> None:
    """Raise unless the file is there, whole."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise DamagedError(f"{path}: missing; restore it from a copy, or index again") from None
    if size != expected.size:
        raise DamagedError(
            f"{path}: {size} bytes where {expected.size} were written; "
            "restore it from a copy, or index again"
        )


def check_content(path: Path, expected: Seal) -> None:
    """Raise unless the file holds what was written."""
    check_size(path, expected)
    if seal(path).crc != expected.crc:
        raise DamagedError(
            f"{path}: its content was altered (checksum); restore it from a copy, or index again"
        )


def sync(file: BinaryIO) -> None:
    """Push a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Push a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
