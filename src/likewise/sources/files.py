"""Files that are documents: one each, as PDF, or one after the other, as an mbox of e-mails."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, groupby, pairwise
from typing import Any, BinaryIO, NamedTuple

from likewise.errors import MissingExtra, SourceError
from likewise.formats.encoding import is_text
from likewise.formats.kinds import (
    KINDS,
    ONE,
    Kind,
    by_content,
    is_installed,
    parse_here,
    parser_of,
)
from likewise.formats.parsed import DAMAGED, TOO_LARGE, Refused
from likewise.formats.pool import Pool
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin
from likewise.sources.fields import check_unicode, clean
from likewise.sources.folder import Entry
from likewise.sources.skipped import EMPTY, NOT_TEXT, Skipped
from likewise.sources.streams import open_bytes

_HEAD = 1 << 16
_MESSAGE = b"From "
_HEADER = re.compile(rb">?[!-9;-~]+[ \t]*:")


class Raw(NamedTuple):
    """The bytes of a document on their way to a parser."""

    origin: Origin
    format: str | None
    data: bytes


def read_one(
    stream: BinaryIO, *, origin: Origin, on_bad: OnBad, format: str, encoding: str
) -> Iterator[Document]:
    """The one document of a stream, or none where that is empty."""
    require(format)
    try:
        with Pool(size=1) as pool:
            raw = Raw(origin, format, _whole(stream, origin, pool))
            yield from _documents(raw, pool, encoding)
    except SourceError as error:
        on_bad(error)


def read_mbox(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad, encoding: str = ""
) -> Iterator[Document]:
    """The messages of an mbox; their ids are the file's name and the line where they begin."""
    with Pool() as pool:

        def work(raw: Raw) -> list[Document]:
            return list(_documents(raw, pool, encoding))

        yield from _good(pool.map(_messages(stream, origin, pool.limits.file), work), on_bad)


def read_folder(
    folder: str,
    entries: list[Entry],
    *,
    on_bad: OnBad,
    encoding: str,
    skipped: Skipped,
    advance: Callable[[int], None],
    read_many: Callable[[Origin, str], Iterator[Document]],
) -> Iterator[Document]:
    """The documents of files of any formats, in their order.

    `read_many` reads a file that holds several; a file that is of no format is `skipped`.
    """

    def origin_of(entry: Entry) -> Origin:
        return Origin(os.path.join(folder, entry.stem), entry.stem)

    with Pool() as pool:

        def work(entry: Entry) -> list[Document] | None:
            origin = origin_of(entry)
            with open_bytes(origin.name, lambda n: None) as stream:
                head = _peeked(stream)
                format = entry.format or by_content(head)
                if format is None and not is_text(head):
                    return None
                raw = Raw(origin, format, _whole(stream, origin, pool))
            require(format or "text", origin.name)
            return list(_documents(raw, pool, encoding))

        for single, group in groupby(entries, key=_is_single):
            if not single:
                for entry in group:
                    yield from read_many(origin_of(entry), entry.format or "")
                continue
            for entry, outcome in pool.map(group, work):
                advance(entry.size)
                try:
                    documents = outcome.result()
                except SourceError as error:
                    on_bad(error)
                    continue
                if documents is None:
                    skipped.add(NOT_TEXT, entry.stem)
                    continue
                if not documents:
                    skipped.add(EMPTY, entry.stem)
                yield from documents


def require(format: str, place: str = "") -> None:
    """Refuse a format whose optional package is missing."""
    if not is_installed(KINDS[format]):
        missing = MissingExtra(f"reading {format.upper()}", extra="files")
        if not place:
            raise missing
        raise SourceError(place, str(missing), kind="need pip install 'likewise[files]'")


def _is_single(entry: Entry) -> bool:
    return entry.format is None or KINDS[entry.format].holds == ONE


def _documents(raw: Raw, pool: Pool, encoding: str) -> Iterator[Document]:
    """Parse, here or in a process apart; what is refused is a SourceError, what is empty none."""
    origin = raw.origin
    kind = KINDS[raw.format or "text"]
    check_unicode((origin.stem,), repr(origin.name))
    if not raw.data.strip():
        return
    try:
        for title, text, fields in _parts(kind, raw.data, pool, encoding):
            check_unicode((title, text), origin.name)
            if title.strip() or text.strip():
                yield Document(origin.stem, title, text, clean(fields, origin.name), origin.name)
    except Refused as refused:
        raise SourceError(origin.name, refused.reason, kind=refused.status) from None


def _parts(kind: Kind, data: bytes, pool: Pool, encoding: str) -> Iterator[Any]:
    if kind.apart:
        return pool.parse(parser_of(kind), data, encoding=encoding)
    return parse_here(kind, data, encoding)


def _good(outcomes: Iterable[tuple[Raw, Any]], on_bad: OnBad) -> Iterator[Document]:
    for _, outcome in outcomes:
        try:
            documents = outcome.result()
        except SourceError as error:
            on_bad(error)
            continue
        yield from documents


def _peeked(stream: BinaryIO) -> bytes:
    peek = getattr(stream, "peek", None)
    head: bytes = peek(_HEAD)[:_HEAD] if peek else b""
    return head


def _whole(stream: BinaryIO, origin: Origin, pool: Pool) -> bytes:
    data = stream.read(pool.limits.file + 1)
    if len(data) > pool.limits.file:
        reason = f"it is larger than {pool.limits.file >> 20} MB"
        raise SourceError(origin.name, reason, kind=TOO_LARGE)
    return data


def _messages(stream: BinaryIO, origin: Origin, largest: int) -> Iterator[Raw]:
    """Cut an mbox where a line begins with «From », after a blank one and before a header."""
    lines: list[bytes] = []
    start, size, blank = 1, 0, True

    def message() -> Raw:
        place = Origin(f"{origin.name}:{start}", f"{origin.stem}:{start}")
        return Raw(place, "eml", b"".join(lines))

    # No line is held that is longer than a message may be.
    pieces = iter(partial(stream.readline, largest), b"")
    for number, (line, following) in enumerate(pairwise(chain(pieces, (b"",))), 1):
        if blank and line.startswith(_MESSAGE) and _HEADER.match(following):
            if lines:
                yield message()
            lines, start, size = [], number, 0
        elif not lines:
            if line.strip():
                reason = "not an mbox: each message begins with a line «From …» and headers"
                raise SourceError(f"{origin.name}:{number}", reason, kind=DAMAGED)
            continue
        elif line.startswith((b">From ", b">>From ")):
            line = line[1:]
        size += len(line)
        # What is too much for a parser is refused there; it need not be held.
        if size <= largest + len(line):
            lines.append(line)
        blank = not line.strip()
    if lines:
        yield message()
