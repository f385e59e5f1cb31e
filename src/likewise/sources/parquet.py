"""Parquet, a batch of rows at a time."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from likewise.errors import MissingExtra, SourceError
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin, check_header, document_maker

_BATCH = 256
_MAGIC = b"PAR1"


def is_parquet(path: str) -> bool:
    """Whether the file holds plain Parquet, not a compressed one."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_parquet(
    stream: BinaryIO, *, origin: Origin, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Documents of a Parquet stream, which is copied to a temporary file since it needs seeking."""
    with tempfile.TemporaryFile() as copy:
        try:
            shutil.copyfileobj(stream, copy, 1 << 20)
            copy.seek(0)
        except OSError as error:
            raise SourceError(origin.name, f"no room for a temporary copy: {error}") from None
        yield from read_parquet_file(copy, origin=origin, columns=columns, on_bad=on_bad)


def read_parquet_file(
    file: BinaryIO,
    *,
    origin: Origin,
    columns: Columns,
    on_bad: OnBad,
    progress: Callable[[float], None] = lambda share: None,
) -> Iterator[Document]:
    """Documents of a seekable Parquet file; the place is the row.

    `progress` hears which share has been read.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("reading Parquet", extra="parquet") from None

    file_errors = (pa.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError)
    make = document_maker(columns, origin)
    if file.seek(0, io.SEEK_END) == 0:
        return
    file.seek(0)
    try:
        table = pq.ParquetFile(file)
        names = table.schema_arrow.names
        n_rows = table.metadata.num_rows
        batches = table.iter_batches(batch_size=_BATCH, use_threads=False)
    except file_errors as error:
        raise SourceError(
            origin.name, f"not a readable Parquet file: {_first_line(error)}"
        ) from None
    check_header(names, columns, origin.name)
    number = 0
    while True:
        try:
            batch = next(batches, None)
        except file_errors as error:
            reason = f"the Parquet file is damaged: {_first_line(error)}"
            raise SourceError(f"{origin.name}:{number + 1}", reason) from None
        if batch is None:
            return
        for row in _rows(batch, file_errors):
            number += 1
            try:
                if isinstance(row, Exception):
                    reason = f"the row cannot be read: {_first_line(row)}"
                    raise SourceError(f"{origin.name}:{number}", reason)
                document = make(row, number)
            except SourceError as error:
                on_bad(error)
                continue
            yield document
        progress(number / n_rows)


def _rows(
    batch: Any,
    errors: tuple[type[Exception], ...],
) -> Iterator[dict[str, Any] | Exception]:
    """Rows as dicts, or for a row that has no Python form the error that says so."""
    batch = _microseconds(batch)
    try:
        yield from batch.to_pylist()
        return
    except errors:
        pass
    for i in range(batch.num_rows):
        try:
            yield batch.slice(i, 1).to_pylist()[0]
        except errors as error:
            yield error


def _microseconds(batch: Any) -> Any:
    """Timestamps in nanoseconds have no form in Python's datetime; microseconds have."""
    import pyarrow as pa

    for i, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            coarse = batch.column(i).cast(pa.timestamp("us", field.type.tz), safe=False)
            batch = batch.set_column(i, field.name, coarse)
    return batch


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
