"""What did the documents say? Their text and metadata, compressed in blocks.

A file of documents is a plain series of zstd frames of JSON lines, so that the tools of any
machine can read it. *Blocks* have, for each frame, its first document and its offset. Frames are
read by `pread` through a few descriptors that all collections of a process share.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import zstandard

from likewise.collection.files import REMEDY, reading_errors, sync
from likewise.collection.manifest import FileEntry
from likewise.compiled import Longs
from likewise.errors import DamagedError
from likewise.forking import Lock
from likewise.records import Document

_BLOCK_BYTES = 1 << 14
_CACHED_BYTES = 1 << 22
_MOST_OPEN = 8
_DEEPEST = 100
_NEWLINE = ord("\n")
# Dates and objects are refused here, so that `plain` alone says what they become.
_JSON = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


class Frame(NamedTuple):
    """A compressed block and how many documents it holds."""

    data: bytes
    n_docs: int


def compress(documents: Sequence[Document]) -> list[Frame]:
    """Compress documents into frames of about 16 KB of JSON."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    frames: list[Frame] = []
    lines: list[bytes] = []
    size = 0
    for id, title, text, fields, place in documents:
        document = {"id": id, "title": title, "text": text, "fields": fields, "place": place}
        line = write_json(document) + b"\n"
        lines.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            frames.append(Frame(compressor.compress(b"".join(lines)), len(lines)))
            lines, size = [], 0
    if lines:
        frames.append(Frame(compressor.compress(b"".join(lines)), len(lines)))
    return frames


def write_json(value: Any) -> bytes:
    """Write a value as JSON, as `plain` has it."""
    try:
        return orjson.dumps(value, option=_JSON)
    except TypeError:
        return orjson.dumps(plain(value), option=_JSON)


def plain(value: Any, *, depth: int = 0) -> Any:
    """Give a value as it is read back once stored.

    Lone surrogates become question marks, integers beyond 64 bits and unknown types text,
    numbers that are not finite nothing; what is nested too deeply is cut off.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        # In hexadecimal, because Python refuses to write thousands of decimal digits.
        text = str(value) if value.bit_length() < 4096 else hex(value)
        return int(value) if -(2**63) <= value < 2**64 else text
    if isinstance(value, Mapping | list | tuple) and depth == _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {plain(str(k)): plain(v, depth=depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, depth=depth + 1) for v in value]
    return plain(str(value))


class DocumentsWriter:
    """Writes frames one after the other; what is written can be read back before the end."""

    def __init__(self, path: Path) -> None:
        self.n_docs = 0
        self._path = path
        self._file = path.open("w+b")
        self._crc = 0
        self._size = 0
        self._blocks: list[tuple[int, int]] = []

    def append(self, frames: Sequence[Frame]) -> None:
        """Add compressed documents."""
        for frame in frames:
            self._blocks.append((self.n_docs, self._size))
            self._file.write(frame.data)
            self._crc = zlib.crc32(frame.data, self._crc)
            self._size += len(frame.data)
            self.n_docs += frame.n_docs

    @property
    def blocks(self) -> Longs:
        """The first document and the offset of each frame, and where the last one ends."""
        return np.array([*self._blocks, (self.n_docs, self._size)], np.uint64)

    def read(self, doc: int) -> Document:
        """Read a document back."""
        self._file.flush()
        return Documents(self._path, self.blocks)[doc]

    def close(self) -> FileEntry:
        """Push the file to the disk."""
        try:
            sync(self._file)
        finally:
            self._file.close()
        return FileEntry(self._path.name, self._size, self._crc)

    def abandon(self) -> None:
        """Close without finishing."""
        with suppress(OSError):
            self._file.close()


class Documents:
    """Reads documents; safe to use from several threads."""

    def __init__(self, path: Path, blocks: Longs) -> None:
        self._path = path
        self._firsts, self._offsets = blocks.astype(np.int64).T
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._cached_bytes = 0
        self._lock = Lock()
        weakref.finalize(self, _DESCRIPTORS.forget, path)

    def __getitem__(self, doc: int) -> Document:
        block = int(np.searchsorted(self._firsts, doc, "right")) - 1
        data = self._block(block)
        start = 0
        for _ in range(doc - int(self._firsts[block])):
            start = data.index(b"\n", start) + 1
        return _document(data[start : data.index(b"\n", start)])

    @property
    def n_blocks(self) -> int:
        """How many frames there are."""
        return len(self._firsts) - 1

    def block(self, block: int, frame: Frame | None = None) -> tuple[int, list[Document]]:
        """Give the first number and the documents of one frame, for whole scans.

        It is not read again where `frame` gave it.
        """
        lines = _lines(*(frame or self.frame(block)), self._path)
        return int(self._firsts[block]), [*map(_document, lines.split(b"\n")[:-1])]

    def frame(self, block: int) -> Frame:
        """Give one frame as it is."""
        start, stop = self._offsets[block : block + 2].tolist()
        data = _DESCRIPTORS.read(self._path, start, stop - start)
        return Frame(data, int(self._firsts[block + 1] - self._firsts[block]))

    def _block(self, block: int) -> bytes:
        with self._lock:
            if block in self._cache:
                self._cache.move_to_end(block)
                return self._cache[block]
        data = _lines(*self.frame(block), self._path)
        with self._lock:
            if block not in self._cache:
                self._cache[block] = data
                self._cached_bytes += len(data)
            # A document may be larger than all that is kept: it is kept alone.
            while self._cached_bytes > _CACHED_BYTES and len(self._cache) > 1:
                self._cached_bytes -= len(self._cache.popitem(last=False)[1])
        return data


class _Descriptors:
    """Open files of documents, a few for the whole process: whoever reads takes one out."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, int] = OrderedDict()
        # One thread can take it twice: `forget` runs whenever garbage is collected.
        self._lock = Lock()

    def read(self, path: Path, offset: int, length: int) -> bytes:
        """Read some bytes of a file."""
        with self._lock:
            handle = self._open.pop(path, None)
        try:
            with reading_errors(path):
                if handle is None:
                    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                return os.pread(handle, length, offset)
        finally:
            if handle is not None:
                self._put(path, handle)

    def _put(self, path: Path, handle: int) -> None:
        with self._lock:
            extra = [handle] if path in self._open else []
            self._open.setdefault(path, handle)
            while len(self._open) > _MOST_OPEN:
                extra.append(self._open.popitem(last=False)[1])
        for one in extra:
            os.close(one)

    def forget(self, path: Path) -> None:
        """Close a file that is no longer read."""
        with self._lock:
            handle = self._open.pop(path, None)
        if handle is not None:
            os.close(handle)


_DESCRIPTORS = _Descriptors()
_of_thread = threading.local()


def decompress(frame: bytes | memoryview) -> bytes:
    """Decompress a frame. A decompressor takes as long to make as to use, so threads keep one."""
    try:
        using = _of_thread.decompressor
    except AttributeError:
        using = _of_thread.decompressor = zstandard.ZstdDecompressor()
    data: bytes = using.decompress(frame)
    return data


def _lines(frame: bytes, n_docs: int, path: Path) -> bytes:
    """Give the lines of a frame, each with the newline that ends it."""
    try:
        data = decompress(frame)
    except (zstandard.ZstdError, MemoryError) as error:
        # A damaged header may ask for any amount of memory.
        reason = str(error) or "a block is not readable"
        raise DamagedError(f"{path}: {reason}; {REMEDY}") from None
    # Of bytes, `count` takes half as long as to decompress them.
    n_lines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))
    if n_lines != n_docs:
        raise DamagedError(f"{path}: {n_lines} documents in a block of {n_docs}; {REMEDY}")
    return data


def _document(line: bytes) -> Document:
    return Document(**orjson.loads(line))
