"""Which documents have this metadata?

For each field the distinct values, ascending, each with its documents: by the field's type numbers
(true and false are 1 and 0) or dates, and as texts what does not fit. A list gives one value for
each member. A text of more than 256 characters and a list of more than 64 numbers, which is a
vector rather than metadata, are kept with the document; here it is only known that they are there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.collection.documents import plain
from likewise.collection.field_values import Column
from likewise.collection.schema import FieldNote, FieldType, Types
from likewise.compiled import Bools, Doubles, Ints
from likewise.text.table import Strings

_DIRECTORY = "fields"
# Apart from the directory, which earlier versions read.
_DATES = "fields.dates"
_UNSEEN = "fields.unseen"
_ARRAYS = {
    "numbers": np.float64,
    "number-docs": np.uint32,
    "texts": np.uint8,
    "text-offsets": np.uint32,
    "text-starts": np.uint32,
    "text-docs": np.uint32,
}
# Only where there are any.
_OPTIONAL = {"dates": np.int64, "date-docs": np.uint32, "unseen-docs": np.uint32}


class FieldsWriter:
    """Gathers the metadata of a segment; `types` are those that fields are known to have."""

    def __init__(self, types: Types | None = None) -> None:
        self.types: dict[str, FieldType] = dict(types or {})
        self._columns: dict[str, Column] = {}

    @property
    def names(self) -> set[str]:
        """The fields that any document has."""
        return set(self._columns)

    @property
    def n_bytes(self) -> int:
        """About how much memory is held."""
        return sum(column.n_bytes for column in self._columns.values())

    def add(self, first: int, batch: Sequence[Mapping[str, Any]]) -> None:
        """Add the metadata of documents numbered from `first`."""
        columns = self._columns
        for doc, fields in enumerate(batch, first):
            for name, value in fields.items():
                column = columns.get(name)
                if column is None:
                    column = columns.setdefault(plain(str(name)), Column())
                kind = type(value)
                if kind is str and value.isascii():
                    column.add_text(doc, value)
                elif kind is list and all(type(one) is str and one.isascii() for one in value):
                    for one in value:
                        column.add_text(doc, one)
                else:
                    # As it will be stored, so that a merge, which reads it back, finds the same.
                    column.add(doc, plain(value))

    def write(self, out: Output) -> list[FieldNote]:
        """Write all columns, one after the other, with a directory of where each stands.

        Types that are not known are decided by the values, and known from then on.
        """
        laid, notes = _Laid(), []
        for name, column in sorted(self._columns.items()):
            kind, ambiguous = self.types.get(name), ""
            if kind is None:
                kind, ambiguous = column.decide()
            typed = column.read_as(kind or FieldType.TEXT)
            if kind is not None:
                self.types[name] = kind
                misfits = (0, "") if kind is FieldType.TEXT else typed.misfits()
                notes.append(FieldNote(name, kind, *misfits, ambiguous))
            order = np.lexsort((typed.docs, typed.values))
            values, docs = typed.values[order], typed.docs[order]
            is_date = kind is not None and kind.is_date
            laid.put_values(name, values, docs, is_date=is_date)
            laid.put_texts(name, *typed.ranked())
            laid.put_unseen(name, np.array(column.unseen_docs, np.int64))
        laid.write(out)
        return notes


class _Laid:
    """Columns laid end to end, and where each stands."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[Any]] = {name: [] for name in _ARRAYS | _OPTIONAL}
        self._sizes = dict.fromkeys(_ARRAYS | _OPTIONAL, 0)
        self._texts: list[bytes] = []
        self._directory: dict[str, list[int]] = {}
        self._dates: dict[str, list[int]] = {}
        self._unseen: dict[str, list[int]] = {}

    def put_values(self, name: str, values: Any, docs: Ints, *, is_date: bool) -> None:
        """Append numbers or dates with their documents."""
        kind = "date" if is_date else "number"
        span = self._append(f"{kind}-docs", docs)
        self._append(f"{kind}s", values)
        if is_date:
            self._dates[name] = span
        at = self._sizes["numbers"]
        self._directory[name] = [at, at] if is_date else span

    def put_texts(self, name: str, texts: list[bytes], starts: Ints, docs: Ints) -> None:
        """Append texts with their documents."""
        self._append("text-starts", self._sizes["text-docs"] + starts)
        self._append("text-docs", docs)
        self._directory[name] += [len(self._texts), len(self._texts) + len(texts)]
        self._texts += texts

    def put_unseen(self, name: str, docs: Ints) -> None:
        """Append documents whose values cannot be asked for."""
        if len(docs):
            self._unseen[name] = self._append("unseen-docs", docs)

    def write(self, out: Output) -> None:
        """Put everything."""
        self._append("text-starts", np.array([self._sizes["text-docs"]]))
        out.note(**{_DIRECTORY: self._directory, _DATES: self._dates, _UNSEEN: self._unseen})
        laid = Strings.of(self._texts)
        self._append("texts", laid.arena)
        self._append("text-offsets", laid.offsets)
        for name, dtype in (_ARRAYS | _OPTIONAL).items():
            if name in _ARRAYS or self._sizes[name]:
                joined = np.concatenate([np.empty(0, dtype), *self._pieces[name]])
                out.put(f"fields.{name}", joined.astype(dtype))

    def _append(self, name: str, values: Any) -> list[int]:
        self._pieces[name].append(values)
        first = self._sizes[name]
        self._sizes[name] += len(values)
        return [first, self._sizes[name]]


class Fields:
    """The metadata of a segment, mapped; each question is answered with a mask of documents."""

    def __init__(self, arrays: Arrays, n_docs: int) -> None:
        self._n_docs = n_docs
        self._directory: dict[str, list[int]] = arrays.meta[_DIRECTORY]
        # A segment of a version that knew no types has none of these.
        self._is_typed = _DATES in arrays.meta
        self._dates: dict[str, list[int]] = arrays.meta.get(_DATES, {})
        self._unseen: dict[str, list[int]] = arrays.meta.get(_UNSEEN, {})
        self._arrays = arrays

    @cached_property
    def _texts(self) -> Strings:
        return Strings(self._arrays["fields.texts"], self._arrays["fields.text-offsets"])

    @property
    def names(self) -> list[str]:
        """The fields that any document has."""
        return list(self._directory)

    @cached_property
    def inferred_types(self) -> dict[str, FieldType]:
        """What types fields have where the segment was written without any."""
        return {} if self._is_typed else {name: self._infer(name) for name in self._directory}

    def _infer(self, name: str) -> FieldType:
        values, _ = self.numbers(name)
        _, docs = self.texts(name)
        if len(values) < 9 * len(docs) or not len(values):
            return FieldType.TEXT
        return FieldType.BOOLEAN if np.isin(values, (0, 1)).all() else FieldType.NUMBER

    # Values, ascending, and the document of each

    def numbers(self, field: str) -> tuple[Doubles, Ints]:
        """Give the numbers of a field with their documents."""
        first, last = self._span(field)[:2]
        return self._slices("number", first, last)

    def dates(self, field: str) -> tuple[Ints, Ints]:
        """Give the dates of a field, in microseconds since 1970, with their documents."""
        return self._slices("date", *self._dates.get(field, (0, 0)))

    def texts(self, field: str) -> tuple[Strings, Ints]:
        """Give the distinct texts of a field, and the documents of all of them."""
        first, last = self._span(field)[2:]
        if first == last:
            return Strings.of([]), np.empty(0, np.uint32)
        arena, offsets = self._texts
        return Strings(arena, offsets[first : last + 1]), self._docs_of_texts(first, last)

    def common_text(self, field: str, live: Bools) -> tuple[int, str]:
        """Give the text of a field that most of these documents have: how many, and which."""
        first, last = self._span(field)[2:]
        if first == last:
            return 0, ""
        starts = self._arrays["fields.text-starts"][first : last + 1].astype(np.int64)
        here = live[self._docs_of_texts(first, last)]
        counts = np.add.reduceat(here.astype(np.int64), starts[:-1] - starts[0])
        best = int(np.argmax(counts))
        return int(counts[best]), self._texts.at(first + best).decode() if counts[best] else ""

    def unseen(self, field: str) -> Ints:
        """Give the documents with values of a field that cannot be asked for."""
        first, last = self._unseen.get(field, (0, 0))
        return self._arrays["fields.unseen-docs"][first:last] if last else np.empty(0, np.uint32)

    # Masks of documents

    def present(self, field: str) -> Bools:
        """Mark the documents that have the field."""
        mask = np.zeros(self._n_docs, np.bool_)
        for _, docs in (self.numbers(field), self.dates(field), self.texts(field)):
            mask[docs] = True
        mask[self.unseen(field)] = True
        return mask

    def with_number(
        self, field: str, low: float, high: float, *, closed: tuple[bool, bool] = (True, True)
    ) -> Bools:
        """Mark the documents with a number from `low` to `high`."""
        values, docs = self.numbers(field)
        a = int(np.searchsorted(values, low, "left" if closed[0] else "right"))
        b = int(np.searchsorted(values, high, "right" if closed[1] else "left"))
        return self._mask(docs[a : max(a, b)])

    def with_date(self, field: str, start: int | None, stop: int | None) -> Bools:
        """Mark the documents with a date from `start` on and before `stop`."""
        values, docs = self.dates(field)
        a = 0 if start is None else int(np.searchsorted(values, start))
        b = len(values) if stop is None else int(np.searchsorted(values, stop))
        return self._mask(docs[a : max(a, b)])

    def with_text(self, field: str, text: str, *, prefix: bool = False) -> Bools:
        """Mark the documents with this text, or with one that begins so."""
        key = text.encode("utf-8", "replace")
        first, last = self._span(field)[2:]
        a = self._rank(first, last, key)
        # No text has a byte as large as the one, or ends before the other.
        b = self._rank(a, last, key + (b"\xff" if prefix else b"\0"))
        return self._mask(self._docs_of_texts(a, b) if a < b else [])

    def with_part(self, field: str, part: str) -> Bools:
        """Mark the documents with a text that has this in it, whatever the case of letters."""
        first, last = self._span(field)[2:]
        mask = np.zeros(self._n_docs, np.bool_)
        if first < last:
            starts = self._arrays["fields.text-starts"]
            docs = self._arrays["fields.text-docs"]
            for i in containing(self.texts(field)[0], part):
                mask[docs[int(starts[first + i]) : int(starts[first + i + 1])]] = True
        return mask

    def _span(self, field: str) -> Sequence[int]:
        return self._directory.get(field, (0, 0, 0, 0))

    def _slices(self, kind: str, first: int, last: int) -> tuple[Any, Ints]:
        if first == last:
            return np.empty(0), np.empty(0, np.uint32)
        arrays = self._arrays
        return arrays[f"fields.{kind}s"][first:last], arrays[f"fields.{kind}-docs"][first:last]

    def _docs_of_texts(self, first: int, last: int) -> Ints:
        starts = self._arrays["fields.text-starts"]
        return self._arrays["fields.text-docs"][int(starts[first]) : int(starts[last])]

    def _mask(self, docs: Any) -> Bools:
        mask = np.zeros(self._n_docs, np.bool_)
        mask[docs] = True
        return mask

    def _rank(self, first: int, last: int, key: bytes) -> int:
        """Give the first text from `key` on."""
        while first < last:
            middle = (first + last) // 2
            if self._texts.at(middle) < key:
                first = middle + 1
            else:
                last = middle
        return first


def containing(texts: Strings, part: str) -> list[int]:
    """Tell which texts have a part in them, whatever the case of letters."""
    if not part:
        return list(range(texts.size))
    if not part.isascii():
        lower = part.lower()
        return [i for i, text in enumerate(texts.all()) if lower in text.decode().lower()]
    # All texts at once: what lies across two of them is passed over.
    start = int(texts.offsets[0])
    ends = (texts.offsets.astype(np.int64) - start).tolist()
    data, key = texts.arena[start : start + ends[-1]].tobytes().lower(), part.lower().encode()
    found = []
    at = data.find(key)
    while at >= 0:
        i = bisect_right(ends, at) - 1
        inside = at + len(key) <= ends[i + 1]
        if inside:
            found.append(i)
        at = data.find(key, ends[i + 1] if inside else at + 1)
    return found
