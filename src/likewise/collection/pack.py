"""Arrays in one file: a plain `.npz`, uncompressed and aligned, with a table of contents.

Any NumPy or unzip reads it. We read the table of contents alone, whose place the manifest knows,
map the file once and make views; an array's checksum is looked at when it is first used.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import DTypeLike, NDArray

from likewise.collection.arrays import BUFFER, Stream
from likewise.collection.files import REMEDY, reading_errors, storage_errors, sync, sync_folder
from likewise.errors import DamagedError
from likewise.forking import Lock

_TOC = "toc.json"
_ALIGNED = 64
_NPY_HEADER = 128
# What zipfile puts before a member beside its name and our padding: a header, and sizes of 8 bytes.
_ZIP_HEADER = 30 + 20
_ZIP_NAME_SIZES = slice(26, 30)
_PADDING_ID = 0x4C57
_DTYPE = re.compile(r"[<|][uifb][1248]")
# What `zipfile` makes of a damaged directory.
_UNREADABLE = (zipfile.BadZipFile, struct.error, OSError, ValueError, LookupError, RuntimeError)
# An array that is written piece by piece is held up to here: as much as a file's own buffer.
MOST_BUFFERED = 1 << 16
# Values that lead nowhere, whatever they are: kernels guard themselves against them. Their
# checksums are looked at by `check` alone, because that reads nearly all bytes of a collection.
_WORDS = ("records", "postings.docs", "postings.counts", "postings.impacts", "columns.codes")
BULK = {field + name for field in ("", "title.", "exact.") for name in _WORDS}
BULK |= {"cards", "positions", "codes", "tiles", "words.terms", "words.weights", "basis"}
# Of these a few rows are looked up, wherever they are.
SPARSE = {"basis"}
# Arrays from this size on are read ahead as the system does, smaller ones as a whole.
_READ_AHEAD_FROM = 1 << 22
_READ_AT_ONCE = 1 << 17
# Memory of arrays from this size on is let go of when their checksums were looked at.
_LET_GO_FROM = 1 << 16


class PackEntry(NamedTuple):
    """What a manifest knows of a pack: its file, size, and where its table of contents is.

    `frame` is the checksum of all that lies around the arrays: the headers of a zip file and of
    its members, which other programs read.
    """

    file: str
    size: int
    toc: tuple[int, int, int]
    frame: int | None = None


class Packer:
    """Writes a pack; `close` gives what the manifest has to know of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("w+b", buffering=BUFFER)
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        self._meta: dict[str, Any] = {}
        self._arrays: dict[str, list[Any]] = {}

    @property
    def folder(self) -> Path:
        """The folder of its file."""
        return self.path.parent

    def put(self, name: str, values: NDArray[Any], dtype: DTypeLike | None = None) -> None:
        """Put a whole array."""
        laid = np.ascontiguousarray(values, dtype)
        data = laid.reshape(-1).data.cast("B") if laid.size else b""
        self._begin(name, laid.dtype)
        offset = self._put(f"{name}.npy", _npy_header(laid.dtype, laid.shape), data)
        self._arrays[name] = [laid.dtype.str, list(laid.shape), offset, zlib.crc32(data)]

    def stream(self, name: str, dtype: DTypeLike, width: int = 0) -> Stream:
        """Begin an array of unknown length, written beside until it is closed."""
        return Stream(self, name, dtype, width, most=MOST_BUFFERED, folder=self.folder)

    def note(self, **values: Any) -> None:
        """Put small plain values."""
        self._meta |= values

    def finish(self, stream: Stream) -> None:
        """Put what was streamed: from a file its bytes are copied, some at a time."""
        if not stream.in_file:
            self.put(stream.name, stream.array())
            return
        name, dtype, shape = stream.name, stream.dtype, stream.shape
        self._begin(name, dtype)
        crc = 0
        with self._zip.open(self._info(f"{name}.npy"), "w", force_zip64=True) as member:
            member.write(_npy_header(dtype, shape))
            offset = self._file.tell()
            for piece in stream.copied():
                crc = zlib.crc32(piece, crc)
                member.write(piece)
        self._arrays[name] = [dtype.str, list(shape), offset, crc]

    def close(self) -> PackEntry:
        """Write the table of contents and push everything to the disk."""
        toc = orjson.dumps({"meta": self._meta, "arrays": self._arrays})
        try:
            offset = self._put(_TOC, b"", toc)
            self._zip.close()
            sync(self._file)
            size = self._file.tell()
            frame = _frame_crc(self._file.fileno(), self._arrays.values(), size)
        finally:
            self.abandon()
        return PackEntry(self.path.name, size, (offset, len(toc), zlib.crc32(toc)), frame)

    def abandon(self) -> None:
        """Close without finishing, whatever a full disk says to the last bytes."""
        self._zip.fp = None  # else it would write its directory when it is collected
        with suppress(OSError):
            self._file.close()

    def _begin(self, name: str, dtype: np.dtype[Any]) -> None:
        assert name not in self._arrays, name
        assert _DTYPE.fullmatch(dtype.str), dtype

    def _put(self, name: str, header: bytes, data: Any) -> int:
        """Write a member that is known, without going back to its header; give where data begin."""
        info = self._info(name)
        info.CRC = zlib.crc32(data, zlib.crc32(header))
        info.file_size = info.compress_size = len(header) + len(data)
        info.header_offset = self._file.tell()
        self._file.write(info.FileHeader(zip64=True) + header)
        offset = self._file.tell()
        self._file.write(data)
        archive: Any = self._zip
        archive.filelist.append(info)
        archive.NameToInfo[name] = info
        archive.start_dir = self._file.tell()
        archive._didModify = True
        return offset

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name)
        info.external_attr = 0o644 << 16
        at = self._file.tell() + _ZIP_HEADER + len(name.encode())
        padding = -(at + 4) % _ALIGNED
        info.extra = _PADDING_ID.to_bytes(2, "little") + padding.to_bytes(2, "little")
        info.extra += bytes(padding)
        return info


class Pack:
    """A pack that is mapped; safe to use from several threads."""

    def __init__(self, path: Path, entry: PackEntry, opened: Any = None) -> None:
        self.path = path
        self.size = entry.size
        self._frame = entry.frame
        offset, length, crc = entry.toc
        with nullcontext(opened) if opened else open_whole(path, entry.size) as file:
            toc = os.pread(file.fileno(), length, offset)
            # Copy-on-write, so that kernels compiled for writable arrays take it.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        if zlib.crc32(toc) != crc:
            raise self._damaged("its table of contents was altered")
        read = orjson.loads(toc)
        self._meta: dict[str, Any] = read["meta"]
        self._arrays: dict[str, list[Any]] = read["arrays"]
        self._views: dict[str, NDArray[Any]] = {}
        # Else a look at one place reads what is around it, by megabytes on some machines.
        if hasattr(mmap, "MADV_RANDOM"):
            self._map.madvise(mmap.MADV_RANDOM)
        self._probed: dict[str, NDArray[Any]] = {}
        self._lock = Lock()

    @property
    def meta(self) -> Mapping[str, Any]:
        """The plain values."""
        return self._meta

    @property
    def names(self) -> list[str]:
        """The arrays that there are."""
        return list(self._arrays)

    def n_bytes(self, name: str) -> int:
        """How large an array is."""
        dtype, shape = self._arrays[name][:2]
        return int(np.dtype(dtype).itemsize * math.prod(shape))

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Give an array, its checksum looked at once; of bulk arrays it is not."""
        with self._lock:
            view = self._views.get(name)
            if view is None:
                view = self._view(name)
                if name not in BULK:
                    self._check(name)
                elif name not in SPARSE:
                    self._advise(name, "MADV_NORMAL")
                self._views[name] = view
        return view

    def unchecked(self, name: str) -> NDArray[Any]:
        """Give an array to code that nothing in it leads astray."""
        view = self._view(name)
        self._advise(name, "MADV_NORMAL")
        return view

    def probed(self, name: str) -> NDArray[Any]:
        """Give an unchecked array of which a few places are looked at: only these are read."""
        view = self._probed.get(name)
        if view is None:
            view = self._probed[name] = self._view(name)
        return view

    def check(self) -> None:
        """Read every array and raise if one was altered."""
        for name in self._arrays:
            self._check(name)

    def check_frame(self) -> None:
        """Raise if what lies around the arrays was altered, which only other programs read."""
        with open_whole(self.path, self.size) as file:
            found = _frame_crc(file.fileno(), self._arrays.values(), self.size)
        if self._frame not in (None, found):
            raise self._damaged("what lies around its arrays was altered (checksum)")

    def _view(self, name: str) -> NDArray[Any]:
        try:
            text, shape, offset = self._arrays[name][:3]
        except KeyError:
            raise self._damaged(f"there is no array {name}") from None
        size, end = self.n_bytes(name), offset + self.n_bytes(name)
        if not _DTYPE.fullmatch(text) or not 0 <= offset <= end <= self.size:
            raise self._damaged(f"{name} has no place in it")
        dtype = np.dtype(text)
        flat = np.frombuffer(self._map, dtype, size // dtype.itemsize, offset)
        return flat.reshape(shape)

    def _check(self, name: str) -> None:
        start, size = self._arrays[name][2], self.n_bytes(name)
        self._advise(name, "MADV_WILLNEED" if size < _READ_AHEAD_FROM else "MADV_NORMAL")
        with memoryview(self._map) as data, data[start : start + size] as mine:
            if zlib.crc32(mine) != self._arrays[name][3]:
                raise self._damaged(f"{name} was altered (checksum)")
        # It was read from end to end; of most arrays a few places are used, which are there still.
        if size >= _LET_GO_FROM:
            self._advise(name, "MADV_DONTNEED")

    def _advise(self, name: str, how: str) -> None:
        """Tell the system how an array will be read, where it can be told."""
        advice, size = getattr(mmap, how, None), self.n_bytes(name)
        if advice is None or not size:
            return
        start = self._arrays[name][2]
        stop, start = start + size, start - start % mmap.PAGESIZE
        if how != "MADV_WILLNEED":
            self._map.madvise(advice, start, stop - start)
            return
        # The system reads ahead no more than its limit at each call.
        for first in range(start, stop, _READ_AT_ONCE):
            self._map.madvise(advice, first, min(_READ_AT_ONCE, stop - first))

    def _damaged(self, how: str) -> DamagedError:
        return DamagedError(f"{self.path}: {how}; {REMEDY}")


@contextmanager
def write_pack(path: Path) -> Iterator[Packer]:
    """Write a pack that is there whole or as it was before; its folder is made where it is not."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        packer = Packer(aside)
        try:
            yield packer
            packer.close()
            aside.replace(path)
        except BaseException:
            packer.abandon()
            aside.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def open_pack(path: Path) -> Pack:
    """Open a pack that no manifest names: its own end tells where its table of contents is."""
    with path.open("rb", buffering=0) as file:
        try:
            entry = _find_toc(path, file)
        except _UNREADABLE:
            raise DamagedError(f"{path}: cut off, or its end was altered; {REMEDY}") from None
        return Pack(path, entry, file)


def _find_toc(path: Path, file: Any) -> PackEntry:
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as archive:
        last = archive.infolist()[-1]
    header = os.pread(file.fileno(), _ZIP_NAME_SIZES.stop, last.header_offset)
    name_size, extra_size = struct.unpack("<HH", header[_ZIP_NAME_SIZES])
    offset = last.header_offset + len(header) + name_size + extra_size
    if last.filename != _TOC or last.file_size > size:
        raise ValueError(last)
    return PackEntry(path.name, size, (offset, last.file_size, last.CRC))


@contextmanager
def open_whole(path: Path, size: int) -> Iterator[Any]:
    """Open a file for reading, after it was seen to be of its size."""
    with reading_errors(path), path.open("rb", buffering=0) as file:
        found = os.fstat(file.fileno()).st_size
        if found != size:
            raise DamagedError(f"{path}: {found} bytes where {size} were written; {REMEDY}")
        yield file


def _frame_crc(handle: int, arrays: Iterable[list[Any]], size: int) -> int:
    """Give the checksum of all bytes of a pack that are not those of its arrays."""
    crc = at = 0
    for dtype, shape, offset, _ in sorted(arrays, key=lambda array: array[2]):
        crc = zlib.crc32(os.pread(handle, offset - at, at), crc)
        at = offset + np.dtype(dtype).itemsize * math.prod(shape)
    return zlib.crc32(os.pread(handle, size - at, at), crc)


def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    described = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    text = str(described).ljust(_NPY_HEADER - 11).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
