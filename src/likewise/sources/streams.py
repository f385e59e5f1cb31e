"""Bytes, whatever they are stored in: files, standard input, gzip, zstd."""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
# The first read must show a whole magic number, however little a pipe gives at a time.
_AT_LEAST = 4
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
        stored = io.BufferedReader(_Pieces(_stored(file, path, count)), BUFFER)
        pieces = _decompressed(stored, path)
        content = stored if pieces is None else io.BufferedReader(_Pieces(pieces), BUFFER)
        if encoding is not None and (pieces := _as_utf8(content, encoding, path)) is not None:
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


def _decompressed(stored: io.BufferedReader[_Pieces], name: str) -> Iterator[bytes] | None:
    magic = stored.peek(_AT_LEAST)[:_AT_LEAST]
    if magic.startswith(_GZIP_MAGIC):
        return _members(stored, name, "gzip")
    if magic == _ZSTD_MAGIC or (magic[1:] == _ZSTD_SKIPPABLE and magic[0] & 0xF0 == 0x50):
        return _members(stored, name, "zstd")
    return None


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


def _as_utf8(
    content: io.BufferedReader[_Pieces], encoding: str, name: str
) -> Iterator[bytes] | None:
    """Pieces of the text in UTF-8; None where it is UTF-8 already."""
    if encoding:
        return _decoded(content, encoding, name)
    head = content.peek(BUFFER)
    sniffed = sniff(head, whole=False)
    if sniffed is None:
        # A pipe shows little at first: what is not ASCII may come at any time.
        return _decided_later(content, name)
    return None if sniffed.startswith(UTF8) else _decoded(content, sniffed, name)


def _decided_later(content: io.BufferedReader[_Pieces], name: str) -> Iterator[bytes]:
    while (piece := content.read1(BUFFER)).isascii():
        if not piece:
            return
        yield piece
    if sniff(piece, whole=False) == WESTERN:
        yield decode_western(piece).encode()
        yield from _decoded(content, WESTERN, name)
        return
    while piece:
        yield piece
        piece = content.read1(BUFFER)


def _decoded(content: io.BufferedReader[_Pieces], encoding: str, name: str) -> Iterator[bytes]:
    if encoding == WESTERN:
        while piece := content.read1(BUFFER):
            yield decode_western(piece).encode()
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while piece := content.read1(BUFFER):
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
        wanted = min(_AT_LEAST, len(buffer))
        got = 0
        while got < wanted:
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            size = min(len(self._rest), len(buffer) - got)
            buffer[got : got + size] = self._rest[:size]
            self._rest = self._rest[size:]
            got += size
        return got


def size_of(path: str) -> int | None:
    """Bytes of a regular file, None for a pipe or whatever cannot be asked."""
    try:
        return os.stat(path).st_size if os.path.isfile(path) else None
    except (OSError, ValueError):
        return None
