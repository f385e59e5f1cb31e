"""One door to every kind of source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

from likewise.arguments import check_texts
from likewise.errors import Remedy, SourceError, UsageError, WrongType
from likewise.formats.encoding import check_encoding
from likewise.formats.kinds import EXTENSIONS, KINDS, ONE, by_content, by_name, named
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin, chosen_columns
from likewise.sources.delimited import read_csv, read_tsv
from likewise.sources.files import read_folder, read_mbox, read_one, require
from likewise.sources.folder import is_collection, list_files
from likewise.sources.frames import NAME as FRAME
from likewise.sources.frames import Frame, as_frame, check_ids, choose_columns, read_frame
from likewise.sources.irdatasets import IrDataset
from likewise.sources.iterable import NAME, read_iterable
from likewise.sources.json_file import read_json
from likewise.sources.jsonl import read_jsonl
from likewise.sources.parquet import is_parquet, read_parquet, read_parquet_file
from likewise.sources.sgml import read_sgml
from likewise.sources.skipped import EMPTY, Skipped
from likewise.sources.spreadsheet import read_xlsx
from likewise.sources.streams import STDIN, open_bytes, open_file, size_of

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame, IntoSeries

# Of a stream, `origin`, `columns` and `on_bad`, which hears what is wrong with a single document.
Reader = Callable[..., Iterator[Document]]
# Formats that hold many documents; those of one are parsed by `files`.
READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": read_tsv,
    "xlsx": read_xlsx,
    "parquet": read_parquet,
    "sgml": read_sgml,
    "mbox": read_mbox,
}
_DELIMITED = ("csv", "tsv")
# What is no text, or says itself in which encoding its parts are.
_BYTES = ("xlsx", "parquet", "mbox")
_COLUMNS = Columns()
_Item = TypeVar("_Item")

Place: TypeAlias = (
    "str | os.PathLike[str] | Iterable[Document | Mapping[str, Any] | str] | IntoFrame | IntoSeries"
)


class Source:
    """Documents to iterate over, and how far the reading is: `done` of `total`.

    Files are measured in bytes as they are stored, other sources in documents; `total` is None
    where it cannot be known. Iterating again begins again, except over a pipe or an iterator.
    `skipped` counts the files that are not read, by reason: empty ones, and others of a folder.
    """

    def __init__(
        self, name: str, *, total: int | None, read: Callable[[Source], Iterator[Document]]
    ) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.skipped = Skipped()
        self._read = read

    def __iter__(self) -> Iterator[Document]:
        self.done = 0
        self.skipped = Skipped()
        return self._read(self)

    def advance(self, amount: int) -> None:
        """Note that so much more has been read."""
        self.done += amount

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


def open_source(
    source: Place,
    *,
    columns: Columns = _COLUMNS,
    id: str = "",
    title: str = "",
    text: str | Sequence[str] = (),
    format: str | None = None,
    encoding: str = "",
    delimiter: str = "",
    on_bad: OnBad | None = None,
) -> Source:
    """The documents of a file, a folder, `-`, `ir:<id>`, `docstrings:<packages>`, or of Python.

    In Python they are an iterable of documents, mappings or texts (whose ids are "0", "1", …), or a
    frame or a column of pandas, polars or Arrow; `id`, `title` and `text` name columns. A frame
    without an id column goes by its index, or by row numbers from 0. The format of a file follows
    from its extension unless given; encoding and delimiter are sniffed unless given. A document
    that cannot be read raises SourceError; with `on_bad` it is reported there instead and the
    reading goes on.
    """
    columns = chosen_columns(columns, id=id, title=title, text=text)
    check_texts(format="" if format is None else format, encoding=encoding, delimiter=delimiter)
    report = _refuse if on_bad is None else on_bad
    if format is not None and named(format) is None:
        raise UsageError(f"unknown format {format!r}; it is one of {', '.join(KINDS)}")
    how = _How(columns, report, _encoding(encoding), _delimiter(delimiter))
    if isinstance(source, str):
        if source == "-":
            return _stdin(named(format or "jsonl") or "", how)
        kind, colon, what = source.partition(":")
        if colon and kind in ("ir", "docstrings"):
            _no_format(format, source)
            return _ir(what, how) if kind == "ir" else _docstrings(what)
    if isinstance(source, str | os.PathLike):
        return _path(os.fsdecode(source), named(format or ""), how)
    frame = as_frame(source)
    if frame is not None:
        return _frame(frame, format, columns, report)
    return _iterable(cast("Iterable[Any]", source), format, columns, report)


def _refuse(error: SourceError) -> None:
    raise error


class _How(NamedTuple):
    """How files are read."""

    columns: Columns
    on_bad: OnBad
    encoding: str
    delimiter: str


def _no_format(format: str | None, what: str) -> None:
    if format is not None:
        raise UsageError(f"a format ({format!r}) fits only files and standard input, not {what}")


def _encoding(name: str) -> str:
    try:
        return check_encoding(name) if name else ""
    except ValueError:
        raise UsageError(
            f"unknown encoding {name!r}; it is one that Python knows, such as utf-8, utf-16, "
            "cp1252, iso-8859-2 or shift_jis"
        ) from None


def _delimiter(text: str) -> str:
    found = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(found) > 1 or found in ('"', "\r", "\n"):
        raise UsageError(f"a delimiter is one character, or tab; received {text!r}")
    return found


def _stdin(format: str, how: _How) -> Source:
    origin = Origin(STDIN, STDIN)

    def read(source: Source) -> Iterator[Document]:
        return _read_whole(source, origin, format, how)

    return Source("-", total=None, read=read)


def _path(path: str, format: str | None, how: _How) -> Source:
    if os.path.isdir(path):
        return _folder(path, format, how)
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}; {_accepted()}")
    total = size_of(path)
    # What a shell substitutes for a command's output has no telling name.
    chosen = format or by_name(path) or ("jsonl" if total is None else _by_sign(path))
    if chosen is None:
        known = ", ".join(KINDS)
        raise UsageError(
            f"cannot tell the format of {path!r} by its name",
            remedy=Remedy(f"name it with format=: {known}", f"name it with --format: {known}"),
        )
    if KINDS[chosen].holds == ONE:
        require(chosen)
    origin = Origin(path, os.path.basename(path))

    def read(source: Source) -> Iterator[Document]:
        return _read_whole(source, origin, chosen, how)

    return Source(path, total=total, read=read)


def _by_sign(path: str) -> str | None:
    with open_file(path) as file:
        return by_content(file.read(1 << 16))


def _folder(path: str, format: str | None, how: _How) -> Source:
    if is_collection(path):
        raise UsageError(
            f"{path!r} is a likewise collection, not a folder of documents: "
            "name where its documents came from, or copy the collection"
        )
    skipped = Skipped()
    entries = list_files(path, format=format, skipped=skipped)

    def read(source: Source) -> Iterator[Document]:
        source.skipped.update(skipped)
        failed = Skipped()

        def on_bad(error: SourceError) -> None:
            failed.add_error(error)
            if how.on_bad is _refuse:
                remedy = Remedy("on_bad= leaves such files out", "--skip-bad leaves such files out")
                raise SourceError(error.place, error.reason, remedy=remedy, kind=error.kind)
            how.on_bad(error)

        def read_many(origin: Origin, kind: str) -> Iterator[Document]:
            return _read_whole(source, origin, kind, how._replace(on_bad=on_bad))

        n_read = 0
        for document in read_folder(
            path,
            entries,
            on_bad=on_bad,
            encoding=how.encoding,
            skipped=source.skipped,
            advance=source.advance,
            read_many=read_many,
        ):
            n_read += 1
            yield document
        if not n_read:
            failed.update(source.skipped)
            found = f"skipped {failed}" if failed else "it is empty"
            raise SourceError(path, f"the folder holds nothing that can be read: {found}")

    return Source(path, total=sum(entry.size for entry in entries), read=read)


def _read_whole(source: Source, origin: Origin, format: str, how: _How) -> Iterator[Document]:
    """The documents of a file; one that holds none is skipped, an unreadable one is one bad thing.

    What was read of it before stays.
    """
    n_docs = 0
    last: SourceError | None = None

    def on_bad(error: SourceError) -> None:
        nonlocal last
        last = error
        how.on_bad(error)

    try:
        for document in _read_file(source, origin, format, how._replace(on_bad=on_bad)):
            n_docs += 1
            yield document
    except SourceError as error:
        if error is last:
            raise
        on_bad(error)
    if not n_docs and last is None:
        source.skipped.add(EMPTY, origin.name)


def _read_file(source: Source, origin: Origin, format: str, how: _How) -> Iterator[Document]:
    path = origin.name
    size = size_of(path) if path != STDIN else None
    if format == "parquet" and size and is_parquet(path):
        before = source.done

        def progress(share: float) -> None:
            source.done = before + int(share * size)

        with open_file(path) as file:
            yield from read_parquet_file(
                file, origin=origin, columns=how.columns, on_bad=how.on_bad, progress=progress
            )
        return
    yield from _read_stream(source, origin, format, how)


def _read_stream(source: Source, origin: Origin, format: str, how: _How) -> Iterator[Document]:
    single = KINDS[format].holds == ONE
    encoding = None if single or format in _BYTES else how.encoding
    with open_bytes(origin.name, source.advance, encoding=encoding) as stream:
        if single:
            yield from read_one(
                stream, origin=origin, on_bad=how.on_bad, format=format, encoding=how.encoding
            )
            return
        reader = READERS[format]
        if format in _DELIMITED and how.delimiter:
            reader = partial(reader, delimiter=how.delimiter)
        elif format == "mbox":
            reader = partial(reader, encoding=how.encoding)
        yield from reader(stream, origin=origin, columns=how.columns, on_bad=how.on_bad)


def _ir(dataset_id: str, how: _How) -> Source:
    dataset = IrDataset(dataset_id)

    def read(source: Source) -> Iterator[Document]:
        return _counted(source, dataset.read(columns=how.columns, on_bad=how.on_bad))

    return Source(dataset.name, total=dataset.n_docs, read=read)


def _docstrings(packages: str) -> Source:
    from likewise.sources.docstrings import read_docstrings

    def read(source: Source) -> Iterator[Document]:
        return _counted(source, read_docstrings(packages))

    return Source(f"docstrings:{packages}", total=None, read=read)


def _frame(frame: Frame, format: str | None, columns: Columns, on_bad: OnBad) -> Source:
    _no_format(format, "a frame")
    columns = choose_columns(frame, columns)
    check_ids(frame, columns)

    def read(source: Source) -> Iterator[Document]:
        return _counted(source, read_frame(frame, columns=columns, on_bad=on_bad))

    return Source(FRAME, total=len(frame.rows), read=read)


def _iterable(
    items: Iterable[Document | Mapping[str, Any] | str],
    format: str | None,
    columns: Columns,
    on_bad: OnBad,
) -> Source:
    _no_format(format, "a Python iterable")
    single = isinstance(items, Document | Mapping | bytes | bytearray)
    if single or not isinstance(items, Iterable):
        raise WrongType(f"received a single {type(items).__name__}; {_accepted()}")

    def read(source: Source) -> Iterator[Document]:
        seen = _counted(source, items)
        return read_iterable(seen, columns=columns, on_bad=on_bad)

    return Source(NAME, total=len(items) if isinstance(items, Sized) else None, read=read)


def _counted(source: Source, items: Iterable[_Item]) -> Iterator[_Item]:
    for item in items:
        source.advance(1)
        yield item


def _accepted() -> str:
    return (
        f"a source is a file ({' '.join(EXTENSIONS)}, also with .gz or .zst), "
        "a folder of documents, - for standard input, ir:<id> for a dataset of ir_datasets, "
        "docstrings:<packages>, or in Python a frame, or a list of documents, mappings or texts"
    )
