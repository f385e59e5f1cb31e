"""The values of one field while a segment is built, and what they are by the field's type."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.dates import read_date
from likewise.collection.schema import (
    FieldType,
    decide,
    is_missing,
    read_boolean,
    read_number,
    spell,
)
from likewise.compiled import Bools, Ints

LONGEST_VALUE = 256
MOST_NUMBERS = 64
# Above it a double does not hold every whole number: such are codes, not quantities.
_EXACT = 2**53


def is_vector(values: list[Any]) -> bool:
    """Tell whether a list is so many numbers that it is no metadata."""
    return len(values) > MOST_NUMBERS and all(isinstance(v, int | float) for v in values)


class Column:
    """Gathers values as they come; each distinct text is held once."""

    def __init__(self) -> None:
        self.unseen_docs = array("I")
        self._number_docs = array("I")
        self._numbers = array("d")
        self._boolean_docs = array("I")
        self._booleans = array("b")
        self._text_docs = array("I")
        self._texts = array("I")
        self._codes: dict[str, int] = {}
        self._code_bytes = 0

    @property
    def n_bytes(self) -> int:
        """About how much memory is held."""
        few = 5 * len(self._booleans) + 4 * len(self.unseen_docs)
        return self._code_bytes + 8 * len(self._texts) + 12 * len(self._numbers) + few

    def add(self, doc: int, value: Any) -> None:
        """Add a document's value, or each of a list."""
        if isinstance(value, str):
            self.add_text(doc, value)
        elif isinstance(value, bool):
            self._booleans.append(value)
            self._boolean_docs.append(doc)
        elif isinstance(value, int) and abs(value) > _EXACT:
            self.add_text(doc, str(value))
        elif isinstance(value, int | float):
            self._numbers.append(value)
            self._number_docs.append(doc)
        elif isinstance(value, list) and is_vector(value):
            self.unseen_docs.append(doc)
        elif isinstance(value, list):
            for member in value:
                if isinstance(member, str | int | float):
                    self.add(doc, member)

    def add_text(self, doc: int, value: str) -> None:
        """Add a document's text."""
        if len(value) > LONGEST_VALUE:
            self.unseen_docs.append(doc)
            return
        code = self._codes.get(value, -1)
        if code < 0:
            code = self._codes[value] = len(self._codes)
            self._code_bytes += 100 + len(value)
        self._text_docs.append(doc)
        self._texts.append(code)

    def decide(self) -> tuple[FieldType | None, str]:
        """Decide on a type, as `schema.decide` does."""
        counts = np.bincount(np.array(self._texts, np.int64), minlength=len(self._codes))
        texts = zip(self._codes, counts.tolist(), strict=True)
        return decide(texts, self._numbers, len(self._booleans))

    def read_as(self, type: FieldType) -> Typed:
        """Read the values as a type; what does not fit is the rest."""
        dtype = np.int64 if type.is_date else np.float64
        numbers = np.array(self._numbers, np.float64), np.array(self._number_docs, np.int64)
        booleans = np.array(self._booleans, np.int64), np.array(self._boolean_docs, np.int64)
        codes, docs = np.array(self._texts, np.int64), np.array(self._text_docs, np.int64)
        spelled = [_Spelled(list(self._codes), codes, docs)]
        fitting: list[tuple[Any, Ints]] = []
        # What has a type of its own need not be spelled out and read again.
        if type is FieldType.NUMBER:
            fitting.append(numbers)
        else:
            values, codes = np.unique(numbers[0], return_inverse=True)
            spelled.append(_Spelled([spell(one) for one in values.tolist()], codes, numbers[1]))
        if type in (FieldType.NUMBER, FieldType.BOOLEAN):
            fitting.append(booleans)
        else:
            spelled.append(_Spelled(["false", "true"], *booleans))
        rest = []
        for group in spelled:
            values, docs, left = group.read(_READERS[type], dtype)
            fitting.append((values, docs))
            if len(left.docs):
                rest.append(left)
        pieces = [[piece[i] for piece in fitting] for i in (0, 1)]
        return Typed(np.concatenate(pieces[0]).astype(dtype), np.concatenate(pieces[1]), rest)


Reader = Callable[[str], float | None]


class _Spelled(NamedTuple):
    """Distinct texts, and for each occurrence which it is and its document."""

    texts: Sequence[str]
    codes: Ints
    docs: Ints

    def read(self, read: Reader, dtype: Any) -> tuple[Any, Ints, _Spelled]:
        """Give the values that can be read with their documents, and the others."""
        found = [read(text) for text in self.texts]
        fits: Bools = np.array([one is not None for one in found], np.bool_)[self.codes]
        values = np.array([one or 0 for one in found], dtype)[self.codes[fits]]
        return values, self.docs[fits], _Spelled(self.texts, self.codes[~fits], self.docs[~fits])


class Typed(NamedTuple):
    """A column by its type: the values that fit with their documents, and the rest as texts."""

    values: Any
    docs: Ints
    rest: Sequence[_Spelled]

    def misfits(self) -> tuple[int, str]:
        """Count the values that do not fit, but for what stands for none; give one of them."""
        total, example = 0, ""
        for texts, codes, _ in self.rest:
            counts = np.bincount(codes, minlength=len(texts)).tolist()
            for text, count in zip(texts, counts, strict=True):
                if count and not is_missing(text):
                    total += count
                    example = example or text
        return total, example

    def ranked(self) -> tuple[list[bytes], Ints, Ints]:
        """Give the distinct texts of the rest, ascending, where each begins, and the documents."""
        numbers: dict[bytes, int] = {}
        pieces, docs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for group in self.rest:
            used = np.unique(group.codes)
            number_of = np.zeros(len(group.texts), np.int64)
            number_of[used] = [
                numbers.setdefault(group.texts[code].encode(), len(numbers))
                for code in used.tolist()
            ]
            pieces.append(number_of[group.codes])
            docs.append(group.docs)
        ranked = sorted(numbers)
        rank_of = np.empty(len(ranked), np.int64)
        rank_of[[numbers[text] for text in ranked]] = np.arange(len(ranked))
        ranks, rows = rank_of[np.concatenate(pieces)], np.concatenate(docs)
        order = np.lexsort((rows, ranks))
        return ranked, np.searchsorted(ranks[order], np.arange(len(ranked))), rows[order]


def _dates(type: FieldType) -> Reader:
    order = type.order

    def start(text: str) -> int | None:
        found = read_date(text, order)
        return None if found is None else found.start

    return start


_READERS: dict[FieldType, Reader] = {
    FieldType.TEXT: lambda text: None,
    FieldType.NUMBER: read_number,
    FieldType.BOOLEAN: read_boolean,
} | {type: _dates(type) for type in FieldType if type.is_date}
