"""What did the documents say? Their text and metadata, compressed in blocks.

`documents.jsonl.zst` is a plain series of zstd frames of JSON lines, so that the tools of any
machine can read it; `document-blocks.npy` has, for each frame, its first document and its
offset.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import zstandard

from likewise.collection.files import ArrayWriter, map_array, map_bytes, sync
from likewise.errors import DamagedError
from likewise.records import Document

FILE = "documents.jsonl.zst"
_BLOCKS = "document-blocks.npy"
_BLOCK_BYTES = 1 << 16
_CACHED_BLOCKS = 64
_DEEPEST = 100
# Dates and objects are refused here, so that `plain` alone says what they become.
_JSON = (
    orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
)


class Frame(NamedTuple):
    """A compressed block and how many documents it holds."""

    data: bytes
    n_docs: int


def compress(documents: Sequence[Document]) -> list[Frame]:
    """Compress documents into frames of about 64 KB of JSON."""
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    frames: list[Frame] = []
    lines: list[bytes] = []
    size = 0
    for document in documents:
        line = _line(document)
        lines.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            frames.append(Frame(compressor.compress(b"".join(lines)), len(lines)))
            lines, size = [], 0
    if lines:
        frames.append(Frame(compressor.compress(b"".join(lines)), len(lines)))
    return frames


def _line(document: Document) -> bytes:
    record = document._asdict()
    try:
        return orjson.dumps(record, option=_JSON)
    except TypeError:
        return orjson.dumps(plain(record), option=_JSON)


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

    def __init__(self, folder: Path) -> None:
        self.n_docs = 0
        self._path = folder / FILE
        self._file = self._path.open("wb")
        self._blocks = ArrayWriter(folder / _BLOCKS, np.uint64)
        self._firsts: list[int] = []
        self._offsets: list[int] = []

    def append(self, frames: Sequence[Frame]) -> None:
        """Add compressed documents."""
        for frame in frames:
            self._firsts.append(self.n_docs)
            self._offsets.append(self._file.tell())
            self._blocks.append(np.array([self.n_docs, self._file.tell()], np.uint64))
            self._file.write(frame.data)
            self.n_docs += frame.n_docs

    def read(self, doc: int) -> Document:
        """Read a document back."""
        self._file.flush()
        block = int(np.searchsorted(self._firsts, doc, "right")) - 1
        with self._path.open("rb") as file:
            file.seek(self._offsets[block])
            ends = [*self._offsets, self._file.tell()]
            frame = file.read(ends[block + 1] - ends[block])
            lines = _lines(
                frame, [*self._firsts, self.n_docs][block + 1] - self._firsts[block], self._path
            )
        return _document(lines[doc - self._firsts[block]])

    def close(self) -> None:
        """Finish both files."""
        try:
            self._blocks.append(np.array([self.n_docs, self._file.tell()], np.uint64))
            self._blocks.close()
            sync(self._file)
        finally:
            self._file.close()

    def abandon(self) -> None:
        """Close without finishing."""
        with suppress(OSError):
            self._file.close()
        self._blocks.abandon()


class Documents:
    """Reads documents; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._data = map_bytes(self._path)
        blocks = map_array(folder / _BLOCKS).reshape(-1, 2).astype(np.int64)
        self._firsts, self._offsets = blocks[:, 0], blocks[:, 1]
        self._cache: OrderedDict[int, list[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, doc: int) -> Document:
        block = int(np.searchsorted(self._firsts, doc, "right")) - 1
        lines = self._block(block)
        return _document(lines[doc - int(self._firsts[block])])

    @property
    def n_blocks(self) -> int:
        """How many frames there are."""
        return len(self._firsts) - 1

    def block(self, block: int) -> tuple[int, list[Document]]:
        """Give the first number and the documents of one frame, for whole scans."""
        return int(self._firsts[block]), [_document(line) for line in self._read(block)]

    def frame(self, block: int) -> Frame:
        """Give one frame as it is."""
        return Frame(self._compressed(block), int(self._firsts[block + 1] - self._firsts[block]))

    def _block(self, block: int) -> list[bytes]:
        with self._lock:
            if block in self._cache:
                self._cache.move_to_end(block)
                return self._cache[block]
        lines = self._read(block)
        with self._lock:
            self._cache[block] = lines
            while len(self._cache) > _CACHED_BLOCKS:
                self._cache.popitem(last=False)
        return lines

    def _read(self, block: int) -> list[bytes]:
        return _lines(*self.frame(block), self._path)

    def _compressed(self, block: int) -> bytes:
        return self._data[int(self._offsets[block]) : int(self._offsets[block + 1])]


def _lines(frame: bytes, n_docs: int, path: Path) -> list[bytes]:
    try:
        lines = zstandard.ZstdDecompressor().decompress(frame).split(b"\n")[:-1]
    except (zstandard.ZstdError, MemoryError) as error:
        # A damaged header may ask for any amount of memory.
        reason = str(error) or "a block is not readable"
        raise DamagedError(f"{path}: {reason}; restore it from a copy, or index again") from None
    if len(lines) != n_docs:
        raise DamagedError(
            f"{path}: {len(lines)} documents in a block of {n_docs}; "
            "restore it from a copy, or index again"
        )
    return lines


def _document(line: bytes) -> Document:
    return Document(**orjson.loads(line))
