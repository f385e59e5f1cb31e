"""Frames and columns of pandas, polars, Arrow and whatever else narwhals reads, as documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise import notation
from likewise.errors import SourceError, UsageError
from likewise.records import Document
from likewise.sources.columns import Columns, OnBad, Origin, document_maker

if TYPE_CHECKING:
    import narwhals as nw

NAME = "frame"
# What has no form in JSON but one as text: of pandas, which is not imported for it.
_AS_TEXT = ("Period", "Interval")
# Types, as narwhals calls them, of columns that may hold such, or arrays.
_ANYTHING = ("Categorical", "Enum", "Object", "Unknown")


@dataclass(frozen=True)
class Frame:
    """A frame, its column names as text, and pandas' index; `column`: it was a column alone."""

    rows: nw.DataFrame[Any]
    names: tuple[str, ...]
    index: Any = None
    column: bool = False

    @property
    def types(self) -> list[tuple[str, str]]:
        """The columns with the names of their types, as narwhals calls these."""
        types = (type(one).__name__ for one in self.rows.schema.values())
        return [*zip(self.names, types, strict=True)]

    @property
    def listed(self) -> str:
        """The columns and their types, for messages."""
        shown = [f"{name!r} ({type})" for name, type in self.types]
        more = f" and {len(shown) - 50} more" if len(shown) > 50 else ""
        return (", ".join(shown[:50]) + more) or "no columns at all"

    @property
    def texts(self) -> list[str]:
        """The columns that hold text."""
        return [name for name, type in self.types if type == "String"]

    def has(self, name: str) -> bool:
        """Whether there is such a column; a dotted name reaches into nested records."""
        return name in self.names or name.partition(".")[0] in self.names


def as_frame(given: object) -> Frame | None:
    """Take a frame or a column of any library, lazy ones too; None for everything else."""
    # Lists, mappings and iterators are none, and narwhals takes a while to import.
    if type(given).__module__ == "builtins" or isinstance(given, Mapping | Iterator):
        return None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(_whole(given), allow_series=True, pass_through=True)
        if isinstance(found, nw.LazyFrame):
            found = found.collect()
        column = isinstance(found, nw.Series)
        if isinstance(found, nw.Series):
            found = found.alias(*Columns().text).to_frame()
        if not isinstance(found, nw.DataFrame):
            return None
        names = tuple(str(name) for name in found.columns)
    except DuplicateError:
        raise UsageError("two columns of the frame have one name; rename one") from None
    if len({*names}) < len(names):
        raise UsageError("two columns of the frame have one name as text; rename one")
    return Frame(found, names, nw.maybe_get_index(found), column)


def choose_columns(frame: Frame, columns: Columns) -> Columns:
    """Find the columns of a frame that make documents, or raise.

    A column that the caller named has to be there. Where none is called as the text is by default,
    it is the only column of text beside id and title; of several none is guessed.
    """
    usual = Columns()
    chosen = sorted(columns.chosen)
    if frame.column:
        _check_column(frame, chosen)
        return usual
    index = getattr(frame.index, "name", None)
    for name in chosen:
        if not frame.has(name) and not (name == columns.id == index):
            raise UsageError(notation.unknown("column", name, frame.names))
    if any(map(frame.has, columns.text)):
        return columns
    texts = [name for name in frame.texts if name not in (columns.id, columns.title)]
    if len(texts) == 1:
        return replace(columns, text=(texts[0],))
    if not texts and frame.has(columns.title):
        return columns
    shown = repr(texts[0] if texts else "body")
    raise UsageError(
        f"which column is the text? The frame has {frame.listed}; name one, as in text={shown}, or "
        "several in a list"
    )


def _check_column(frame: Frame, chosen: Sequence[str]) -> None:
    [kind] = frame.rows.schema.values()
    if kind.is_numeric() or kind.is_temporal():
        raise UsageError(f"a column of texts was expected, and this one holds {kind}")
    if chosen:
        names = ", ".join(map(repr, chosen))
        raise UsageError(f"there is no {names} in a column alone: give the frame that it is of")


def read_frame(frame: Frame, *, columns: Columns, on_bad: OnBad) -> Iterator[Document]:
    """Each row as a document; one without an id column has its label in the index, or its number.

    The place of a row is its number from 0, as `iloc` counts.
    """
    make = document_maker(columns, Origin(NAME, NAME))
    labels = None if frame.has(columns.id) else _labels(frame)
    for number, row in enumerate(_rows(frame)):
        record = dict(zip(frame.names, row, strict=True))
        if labels is not None:
            record[columns.id] = next(labels)
        try:
            document = make(record, number)
        except SourceError as error:
            on_bad(error)
            continue
        yield document


def check_ids(frame: Frame, columns: Columns) -> None:
    """Refuse an index of several levels, where there is no column of ids."""
    if not frame.has(columns.id) and getattr(frame.index, "nlevels", 1) > 1:
        raise UsageError(
            "the frame's index has several levels, and an id is one: name a column with id=, after "
            "reset_index() where it is a level of the index"
        )


def _labels(frame: Frame) -> Iterator[Any]:
    return iter(range(len(frame.rows)) if frame.index is None else frame.index)


def _rows(frame: Frame) -> Iterator[tuple[Any, ...]]:
    """Give rows of values that a field or a text can be made of."""
    odd = frozenset(i for i, (_, type) in enumerate(frame.types) if type in _ANYTHING)
    number = 0
    try:
        for row in _microseconds(frame.rows).iter_rows():
            if odd:
                row = tuple(_plain(value) if i in odd else value for i, value in enumerate(row))
            yield row
            number += 1
    # Libraries have errors of their own for what has no form in Python, as a date after 9999.
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise SourceError(f"{NAME}:{number}", f"rows cannot be read from here: {reason}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value) if type(value).__name__ in _AS_TEXT else value


def _microseconds(rows: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Arrow needs pandas to give nanoseconds, which Python's datetime has not."""
    import narwhals as nw

    if not rows.implementation.is_pyarrow():
        return rows
    coarse = [
        nw.col(name).dt.truncate("1us").cast(nw.Datetime("us", type.time_zone))
        for name, type in rows.schema.items()
        if isinstance(type, nw.Datetime) and type.time_unit == "ns"
    ]
    return rows.with_columns(*coarse) if coarse else rows


def _whole(given: Any) -> Any:
    """Take a batch of Arrow as a table, and an array as a column."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(given, arrow.RecordBatch):
        return arrow.Table.from_batches([given])
    if arrow is not None and isinstance(given, arrow.Array):
        return arrow.chunked_array([given])
    return given
