"""One door to every kind of source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias, TypeVar, cast

from likewise.errors import Remedy, SourceError, UsageError, WrongType
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin
from likewise.sources.delimited import read_csv, read_tsv
from likewise.sources.folder import list_files, read_text, text_document
from likewise.sources.frames import NAME as FRAME
from likewise.sources.frames import Frame, as_frame, check_ids, choose_columns, read_frame
from likewise.sources.irdatasets import IrDataset
from likewise.sources.iterable import NAME, read_iterable
from likewise.sources.jsonl import read_jsonl
from likewise.sources.parquet import is_parquet, read_parquet, read_parquet_file
from likewise.sources.sgml import read_sgml
from likewise.sources.streams import STDIN, open_bytes, open_file, size_of

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame, IntoSeries


class Reader(Protocol):
    """Documents of one stream; what is wrong with a single document goes to `on_bad`."""

    def __call__(
        self, stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
    ) -> Iterator[Document]:
        """Begin reading."""


READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "sgml": read_sgml,
    "text": read_text,
}
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".sgml": "sgml",
    ".trec": "sgml",
    ".txt": "text",
}
_COMPRESSED = (".gz", ".zst")
_COLUMNS = Columns()
_Item = TypeVar("_Item")

Place: TypeAlias = (
    "str | os.PathLike[str] | Iterable[Document | Mapping[str, Any] | str] | IntoFrame | IntoSeries"
)


class Source:
    """Documents to iterate over, and how far the reading is: `done` of `total`.

    Files are measured in bytes as they are stored, other sources in documents; `total` is None
    where it cannot be known. Iterating again begins again, except over a pipe or an iterator.
    """

    def __init__(
        self, name: str, *, total: int | None, read: Callable[[Source], Iterator[Document]]
    ) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self._read = read

    def __iter__(self) -> Iterator[Document]:
        self.done = 0
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
    on_bad: OnBad | None = None,
) -> Source:
    """The documents of a file, a folder, `-`, `ir:<id>`, `docstrings:<packages>`, or of Python.

    In Python they are an iterable of documents, mappings or texts (whose ids are "0", "1", …), or a
    frame or a column of pandas, polars or Arrow; `id`, `title` and `text` name columns. A frame
    without an id column goes by its index, or by row numbers from 0. The format of a file follows
    from its extension unless given. A document that cannot be read raises SourceError; with
    `on_bad` it is reported there instead and the reading goes on.
    """
    columns = columns.choose(id=id, title=title, text=text)
    report = _refuse if on_bad is None else on_bad
    if format is not None and EXTENSIONS.get(f".{format}", format) not in READERS:
        raise UsageError(f"unknown format {format!r}; it is one of {', '.join(READERS)}")
    if isinstance(source, str):
        if source == "-":
            return _stdin(format, columns, report)
        kind, colon, what = source.partition(":")
        if colon and kind in ("ir", "docstrings"):
            _no_format(format, source)
            return _ir(what, columns, report) if kind == "ir" else _docstrings(what)
    if isinstance(source, str | os.PathLike):
        return _path(os.fsdecode(source), format, columns, report)
    frame = as_frame(source)
    if frame is not None:
        return _frame(frame, format, columns, report)
    return _iterable(cast("Iterable[Any]", source), format, columns, report)


def documents_of(
    places: Sequence[Place], columns: Columns, format: str | None, on_bad: OnBad | None
) -> Iterator[Document]:
    """Read the documents of several sources."""
    # All are opened before the first is read, so that a misspelt name stops at once.
    opened = [open_source(one, columns=columns, format=format, on_bad=on_bad) for one in places]
    return chain.from_iterable(opened)


def _refuse(error: SourceError) -> None:
    raise error


def _no_format(format: str | None, what: str) -> None:
    if format is not None:
        raise UsageError(f"a format ({format!r}) fits only files and standard input, not {what}")


def _stdin(format: str | None, columns: Columns, on_bad: OnBad) -> Source:
    reader = _named(format or "jsonl")
    origin = Origin(STDIN, STDIN)

    def read(source: Source) -> Iterator[Document]:
        with open_bytes(STDIN, source.advance) as stream:
            yield from reader(stream, origin=origin, columns=columns, on_bad=on_bad)

    return Source("-", total=None, read=read)


def _path(path: str, format: str | None, columns: Columns, on_bad: OnBad) -> Source:
    if os.path.isdir(path):
        return _folder(path, _named(format or "text"), columns, on_bad)
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}; {_accepted()}")
    total = size_of(path)
    # What a shell substitutes for a command's output has no telling name.
    reader = _named(format or _by_extension(path) or ("jsonl" if total is None else None), path)
    origin = Origin(path, os.path.basename(path))

    def read(source: Source) -> Iterator[Document]:
        return _read_file(source, reader, origin, columns, on_bad)

    return Source(path, total=total, read=read)


def _folder(path: str, reader: Reader, columns: Columns, on_bad: OnBad) -> Source:
    files = list_files(path)

    def read(source: Source) -> Iterator[Document]:
        for stem, _ in files:
            origin = Origin(os.path.join(path, stem), stem)
            if reader is not read_text:
                yield from _read_file(source, reader, origin, columns, on_bad)
                continue
            # Here a whole file is one document, so that a damaged one may be passed over.
            try:
                with open_bytes(origin.name, source.advance) as stream:
                    document = text_document(stream, origin)
            except SourceError as error:
                on_bad(error)
                continue
            yield document

    return Source(path, total=sum(size for _, size in files), read=read)


def _read_file(
    source: Source, reader: Reader, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    path = origin.name
    size = size_of(path)
    if reader is read_parquet and size and is_parquet(path):
        before = source.done

        def progress(share: float) -> None:
            source.done = before + int(share * size)

        with open_file(path) as file:
            yield from read_parquet_file(
                file, origin=origin, columns=columns, on_bad=on_bad, progress=progress
            )
        return
    with open_bytes(path, source.advance) as stream:
        yield from reader(stream, origin=origin, columns=columns, on_bad=on_bad)


def _ir(dataset_id: str, columns: Columns, on_bad: OnBad) -> Source:
    dataset = IrDataset(dataset_id)

    def read(source: Source) -> Iterator[Document]:
        return _counted(source, dataset.read(columns=columns, on_bad=on_bad))

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


def _named(format: str | None, path: str = "") -> Reader:
    if format is None:
        known = ", ".join(READERS)
        raise UsageError(
            f"cannot tell the format of {path!r} by its name",
            remedy=Remedy(f"name it with format=: {known}", f"name it with --format: {known}"),
        )
    return READERS[EXTENSIONS.get(f".{format}", format)]


def _by_extension(path: str) -> str | None:
    name = os.path.basename(path).lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return EXTENSIONS.get(os.path.splitext(name)[1])


def _accepted() -> str:
    return (
        f"a source is a file ({' '.join(EXTENSIONS)}, also with .gz or .zst), "
        "a folder of text files, - for standard input, ir:<id> for a dataset of ir_datasets, "
        "docstrings:<packages>, or in Python a frame, or a list of documents, mappings or texts"
    )
