"""Which documents have this metadata?

For each field the distinct values, ascending, each with its documents: numbers and texts apart.
True and false are the numbers 1 and 0; a list gives one value for each member. A text of more
than 256 characters and a list of more than 64 numbers, which is a vector rather than metadata, are
kept with the document but cannot be asked for here.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.collection.documents import plain
from likewise.compiled import Bools, Doubles, Ints
from likewise.text.table import Strings

LONGEST_VALUE = 256
MOST_NUMBERS = 64
_DIRECTORY = "fields"


class _Column:
    def __init__(self) -> None:
        self.number_docs = array("I")
        self.numbers = array("d")
        self.text_docs = array("I")
        self.texts = array("I")
        self.codes: dict[str, int] = {}
        self._code_bytes = 0

    @property
    def n_bytes(self) -> int:
        return self._code_bytes + 8 * len(self.texts) + 12 * len(self.numbers)

    def add(self, doc: int, value: Any) -> None:
        if isinstance(value, str):
            self.add_text(doc, value)
        elif isinstance(value, int | float):
            self.numbers.append(value)
            self.number_docs.append(doc)
        elif isinstance(value, list) and not is_vector(value):
            for member in value:
                if isinstance(member, str | int | float):
                    self.add(doc, member)

    def add_text(self, doc: int, value: str) -> None:
        if len(value) > LONGEST_VALUE:
            return
        code = self.codes.get(value, -1)
        if code < 0:
            code = self.codes[value] = len(self.codes)
            self._code_bytes += 100 + len(value)
        self.text_docs.append(doc)
        self.texts.append(code)


def is_vector(values: list[Any]) -> bool:
    """Tell whether a list is so many numbers that it is no metadata."""
    return len(values) > MOST_NUMBERS and all(isinstance(v, int | float) for v in values)


class FieldsWriter:
    """Gathers the metadata of a segment."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}

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
                    column = columns.setdefault(plain(str(name)), _Column())
                kind = type(value)
                if kind is str and value.isascii():
                    column.add_text(doc, value)
                elif kind is list and all(type(one) is str and one.isascii() for one in value):
                    for one in value:
                        column.add_text(doc, one)
                else:
                    # As it will be stored, so that a merge, which reads it back, finds the same.
                    column.add(doc, plain(value))

    def write(self, out: Output) -> None:
        """Write all columns, one after the other, with a directory of where each stands."""
        directory: dict[str, list[int]] = {}
        numbers: list[Doubles] = []
        number_docs: list[Ints] = []
        texts: list[bytes] = []
        text_starts: list[Ints] = []
        text_docs: list[Ints] = []
        n_numbers = n_texts = n_text_docs = 0
        for name, column in sorted(self._columns.items()):
            values = np.array(column.numbers, np.float64)
            docs = np.array(column.number_docs, np.int64)
            order = np.lexsort((docs, values))
            numbers.append(values[order])
            number_docs.append(docs[order])
            ranked = sorted(
                (text.encode("utf-8", "replace"), code) for text, code in column.codes.items()
            )
            rank_of = np.empty(len(ranked), np.int64)
            rank_of[[code for _, code in ranked]] = np.arange(len(ranked))
            ranks = rank_of[np.array(column.texts, np.int64)]
            docs = np.array(column.text_docs, np.int64)
            order = np.lexsort((docs, ranks))
            texts.extend(text for text, _ in ranked)
            text_starts.append(n_text_docs + np.searchsorted(ranks[order], np.arange(len(ranked))))
            text_docs.append(docs[order])
            spans = [n_numbers, n_numbers + len(values), n_texts, n_texts + len(ranked)]
            directory[name] = spans
            n_numbers, n_texts, n_text_docs = spans[1], spans[3], n_text_docs + len(docs)
        out.note(**{_DIRECTORY: directory})
        out.put("fields.numbers", _joined(numbers, np.float64))
        out.put("fields.number-docs", _joined(number_docs, np.uint32))
        laid = Strings.of(texts)
        out.put("fields.texts", laid.arena)
        out.put("fields.text-offsets", laid.offsets)
        starts = _joined([*text_starts, np.array([n_text_docs])], np.uint32)
        out.put("fields.text-starts", starts)
        out.put("fields.text-docs", _joined(text_docs, np.uint32))


def _joined(pieces: Sequence[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *pieces]).astype(dtype)


class Fields:
    """The metadata of a segment, mapped; each question is answered with a mask of documents."""

    def __init__(self, arrays: Arrays, n_docs: int) -> None:
        self._n_docs = n_docs
        self._directory: dict[str, list[int]] = arrays.meta[_DIRECTORY]
        self._arrays = arrays

    @cached_property
    def _numbers(self) -> Doubles:
        return self._arrays["fields.numbers"]

    @cached_property
    def _texts(self) -> Strings:
        return Strings(self._arrays["fields.texts"], self._arrays["fields.text-offsets"])

    @property
    def names(self) -> list[str]:
        """The fields that any document has."""
        return list(self._directory)

    def present(self, field: str) -> Bools:
        """Mark the documents that have the field."""
        return self.between(field, -np.inf, np.inf) | self._texts_between(field, b"", None)

    def equal(self, field: str, value: str) -> Bools:
        """Mark the documents with this value, as a text or (where it reads as one) a number."""
        key = value.encode("utf-8", "replace")
        mask = self._texts_between(field, key, key)
        number = as_number(value)
        return mask if number is None else mask | self.between(field, number, number)

    def between(
        self, field: str, low: float, high: float, *, closed: tuple[bool, bool] = (True, True)
    ) -> Bools:
        """Mark the documents with a number from `low` to `high`."""
        mask = np.zeros(self._n_docs, np.bool_)
        first, last = self._directory.get(field, (0, 0, 0, 0))[:2]
        values = self._numbers[first:last]
        a = int(np.searchsorted(values, low, "left" if closed[0] else "right"))
        b = int(np.searchsorted(values, high, "right" if closed[1] else "left"))
        mask[self._arrays["fields.number-docs"][first + a : first + max(a, b)]] = True
        return mask

    def texts_from(self, field: str, operator: str, value: str) -> Bools:
        """Mark the documents with a text before or after a value, in the order of code points."""
        key = value.encode("utf-8", "replace")
        if operator in (">", ">="):
            return self._texts_between(field, key, None, closed=operator == ">=")
        return self._texts_between(field, None, key, closed=operator == "<=")

    def _texts_between(
        self, field: str, low: bytes | None, high: bytes | None, *, closed: bool = True
    ) -> Bools:
        mask = np.zeros(self._n_docs, np.bool_)
        first, last = self._directory.get(field, (0, 0, 0, 0))[2:]
        a = first if low is None else self._rank(first, last, low, after=not closed)
        b = last if high is None else self._rank(first, last, high, after=closed)
        if a < b:
            starts = self._arrays["fields.text-starts"]
            mask[self._arrays["fields.text-docs"][int(starts[a]) : int(starts[b])]] = True
        return mask

    def _rank(self, first: int, last: int, key: bytes, *, after: bool) -> int:
        while first < last:
            middle = (first + last) // 2
            text = self._texts.at(middle)
            if text < key or (after and text == key):
                first = middle + 1
            else:
                last = middle
        return first


def as_number(text: str) -> float | None:
    """Read a number, or true and false as 1 and 0; None for anything else."""
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        number = float(text)
    except ValueError:
        return None
    return None if np.isnan(number) else number
