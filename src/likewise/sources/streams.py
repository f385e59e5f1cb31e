"""Bytes, whatever they are stored in: files, standard input, gzip, zstd."""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO

import zstandard

from likewise.errors import SourceError
from likewise.formats.encoding import UTF8, WESTERN, decode_western, sniff, undecodable
from likewise.formats.parsed import ENCODING

STDIN = "<stdin>"
BUFFER = 1 << 20
_BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
# What a first read must show: a magic number, or enough to tell UTF-16 without a mark.
_AT_LEAST = 16
# zstd has no output limit: 4 kB can become at most about 128 MB.
_ZSTD_CHUNK = 1 << 12
_GZIP_CHUNK = 1 << 16


@contextmanager
def open_bytes(
    path: str, count: Callable[[int], None], *, encoding: str | None = None
) -> Iterator[BinaryIO]:
    """The decompressed content of a file (or of STDIN), without a byte order mark.

    With an `encoding` the content is text, given as UTF-8; where that is "" it is sniffed.
    `count` is told of every stored byte read; what goes wrong below is a SourceError.
    """
    file, owned = _open(path)
    try:
        pieces = _from_start(_stored(file, path, count))
        magic = next(pieces, b"")
        pieces = chain((magic,), pieces)
        if kind := _compression(magic):
            pieces = _from_start(_members(io.BufferedReader(_Pieces(pieces), BUFFER), path, kind))
        if encoding is not None:
            pieces = _as_utf8(pieces, encoding, path)
        content = io.BufferedReader(_Pieces(pieces), BUFFER)
        if content.peek(len(_BOM)).startswith(_BOM):
            content.read(len(_BOM))
        yield content
    finally:
        if owned:
            file.close()


def open_file(path: str) -> BinaryIO:
    """The stored bytes, unbuffered."""
    try:
        return open(path, "rb", buffering=0)
    except (OSError, ValueError) as error:
        raise SourceError(path, _why(error)) from None


def _open(path: str) -> tuple[BinaryIO, bool]:
    if path != STDIN:
        return open_file(path), True
    stdin = getattr(sys.stdin, "buffer", None)
    if stdin is None or stdin.closed:
        raise SourceError(STDIN, "standard input is closed; give a file name")
    return stdin, False


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _stored(file: BinaryIO, name: str, count: Callable[[int], None]) -> Iterator[bytes]:
    # read1 gives what a pipe has; read would wait for a full buffer.
    read = getattr(file, "read1", file.read)
    while True:
        try:
            data = read(BUFFER)
        except (OSError, ValueError) as error:
            raise SourceError(name, f"reading failed: {_why(error)}") from None
        if not data:
            return
        count(len(data))
        yield data


def _from_start(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes; the first piece shows a whole magic number, however little a pipe gives."""
    start = b""
    for piece in pieces:
        start += piece
        if len(start) >= _AT_LEAST:
            break
    yield start
    yield from pieces


def _compression(magic: bytes) -> str:
    if magic.startswith(_GZIP_MAGIC):
        return "gzip"
    magic = magic[:4]
    if magic == _ZSTD_MAGIC or (magic[1:] == _ZSTD_SKIPPABLE and magic[0] & 0xF0 == 0x50):
        return "zstd"
    return ""


def _members(stored: io.BufferedReader[_Pieces], name: str, kind: str) -> Iterator[bytes]:
    """Decompressed pieces of one or more gzip members or zstd frames laid end to end."""
    gzip = kind == "gzip"
    chunk = _GZIP_CHUNK if gzip else _ZSTD_CHUNK
    limit = (BUFFER,) if gzip else ()
    member: Any = None
    data = b""
    try:
        while data or (data := stored.read1(chunk)):
            if member is None:
                # Tape padding between and after gzip members is allowed.
                data = data.lstrip(b"\0") if gzip else data
                if not data:
                    continue
                member = (
                    zlib.decompressobj(31) if gzip else zstandard.ZstdDecompressor().decompressobj()
                )
            yield member.decompress(data, *limit)
            if member.eof:
                data, member = member.unused_data, None
            else:
                data = member.unconsumed_tail if gzip else b""
        if member is not None and gzip:
            yield member.flush()
            member = None if member.eof else member
    except (zlib.error, zstandard.ZstdError) as error:
        raise SourceError(name, f"the {kind} data is damaged: {error}") from None
    if member is not None:
        raise SourceError(name, f"the {kind} data is cut short; get the whole file again")


def _as_utf8(pieces: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """The text in UTF-8; where no encoding is named, the first bytes that are not ASCII decide."""
    for piece in pieces:
        sniffed = encoding or sniff(piece, whole=False)
        if sniffed is None:
            yield piece
            continue
        pieces = chain((piece,), pieces)
        yield from pieces if sniffed.startswith(UTF8) else _decoded(pieces, sniffed, name)
        return


def _decoded(pieces: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    if encoding == WESTERN:
        yield from (decode_western(piece).encode() for piece in pieces)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", True).encode()
    except UnicodeError as error:
        raise SourceError(name, undecodable(error, encoding), kind=ENCODING) from None


class _Pieces(io.RawIOBase):
    """An iterator of byte strings as a raw stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(self._rest), len(buffer))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def size_of(path: str) -> int | None:
    """Bytes of a regular file, None for a pipe or whatever cannot be asked."""
    try:
        return os.stat(path).st_size if os.path.isfile(path) else None
    except (OSError, ValueError):
        return None
