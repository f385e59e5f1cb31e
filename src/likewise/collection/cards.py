"""What an answer shows of a document: its title and short fields, each card coded by itself.

A page of answers that stand anywhere is read in one call. Cards of arXiv's abstracts take 72 bytes
a document, where frames of four, as `framed_cards` has them, took 83.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from likewise.collection.arrays import Output
from likewise.collection.documents import write_json
from likewise.collection.files import REMEDY
from likewise.collection.symbols import (
    CodedTexts,
    choose_symbols,
    decode_texts,
    encode_texts,
    joined,
)
from likewise.compiled import Bytes, Ints, Longs
from likewise.errors import DamagedError
from likewise.records import Document

# Cards with one table of symbols: so many, or so many bytes.
_RUN, _RUN_BYTES = 1 << 15, 1 << 23
# Titles are looked through so many at a time.
_AT_ONCE = 1 << 10
# A longer list is no short field.
_MOST_ITEMS = 16
# So much of the text stands for the title of a document that has none.
LEAD = 160
_SMALL = frozenset((int, float, bool, type(None)))
_TEXTS = {str}
_LONGEST = 256


class Card(NamedTuple):
    """The title, the beginning of the text where there is none, and the fields that are short."""

    title: str
    lead: str
    fields: Mapping[str, Any]
    complete: bool


class CardsWriter:
    """Gathers the cards of a segment."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._stream = out.stream("cards", np.uint8)
        self._offsets = out.stream("cards.offsets", np.uint32)
        self._offsets.append(np.zeros(1))
        self._runs = [0]
        self._values: list[Longs] = []
        self._sizes: list[Bytes] = []
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    def append(self, documents: Sequence[Document]) -> None:
        """Add documents."""
        for document in documents:
            # Without the brackets.
            card = write_json(_card(document))[1:-1]
            self._waiting.append(card)
            self._waiting_bytes += len(card)
            if len(self._waiting) == _RUN or self._waiting_bytes >= _RUN_BYTES:
                self._flush()

    def close(self) -> None:
        """Put the cards."""
        if self._waiting:
            self._flush()
        self._stream.close()
        self._offsets.close()
        self._out.put("cards.runs", np.array(self._runs[:-1], np.uint32))
        self._out.put("cards.symbols", np.concatenate([np.empty(0, np.uint64), *self._values]))
        self._out.put("cards.sizes", np.concatenate([np.empty(0, np.uint8), *self._sizes]))

    def abandon(self) -> None:
        """Let go of what was written."""
        self._stream.abandon()
        self._offsets.abandon()

    @property
    def size(self) -> int:
        """How many bytes there are, at most."""
        return self._stream.size + 2 * (self._waiting_bytes + len(self._waiting))

    def _flush(self) -> None:
        symbols = choose_symbols(self._waiting)
        codes, ends = encode_texts(*joined(self._waiting), *symbols)
        self._offsets.append(self._stream.size + ends)
        self._stream.append(codes)
        self._values.append(symbols.values)
        self._sizes.append(symbols.sizes)
        self._runs.append(self._runs[-1] + len(self._waiting))
        self._waiting, self._waiting_bytes = [], 0


def _card(document: Document) -> list[Any]:
    """Give what a card holds, in its order."""
    fields = document.fields
    if not all(map(_is_short, fields.values())):
        fields = {name: value for name, value in fields.items() if _is_short(value)}
    lead = "" if document.title else document.text[:LEAD]
    return [document.title, lead, fields, len(fields) == len(document.fields)]


def _is_short(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return len(value) <= _LONGEST
    if kind in _SMALL:
        return True
    if isinstance(value, list | tuple):
        if len(value) > _MOST_ITEMS:
            return False
        # Nearly always texts: no function is called for each.
        if {*map(type, value)} == _TEXTS:
            return max(map(len, value)) <= _LONGEST
        return all(map(_is_short_scalar, value))
    return _is_short_scalar(value)


def _is_short_scalar(value: Any) -> bool:
    # Other types are stored as text, which may be of any length.
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return value is None or isinstance(value, int | float)


class Cards:
    """Reads cards; safe to use from several threads."""

    def __init__(self, coded: CodedTexts, name: str) -> None:
        self._coded: tuple[Any, ...] = tuple(coded)
        self._n_docs = len(coded.offsets) - 1
        self._name = name

    def titles(self, part: str = "") -> Iterator[tuple[int, bytes]]:
        """Give documents with their titles; those may be left out that have no such part in it."""
        key = key_of(part)
        try:
            yield from self._titles(key)
        except (ValueError, TypeError) as error:
            raise self._damaged(str(error)) from None

    def _titles(self, key: bytes) -> Iterator[tuple[int, bytes]]:
        for first in range(0, self._n_docs, _AT_ONCE):
            docs = np.arange(first, min(first + _AT_ONCE, self._n_docs))
            text, ends = self._decoded(docs)
            data = text.tobytes()
            if key in data.lower():
                start = 2
                for doc, end in zip(docs.tolist(), ends.tolist(), strict=True):
                    yield doc, title_of(data[start + 1 : end])
                    start = end + 3

    def take(self, docs: Sequence[int] | Ints) -> list[Card]:
        """Give the cards of documents."""
        if not len(docs):
            return []
        text, _ = self._decoded(np.asarray(docs, np.int64))
        try:
            return [*map(Card._make, orjson.loads(text.data))]
        except (ValueError, TypeError) as error:
            raise self._damaged(str(error)) from None

    def _decoded(self, docs: Ints) -> tuple[Bytes, Ints]:
        """Give cards as `decode_texts` does."""
        text, ends = decode_texts(docs, *self._coded)
        if len(ends) != len(docs):
            raise self._damaged("a card was altered")
        return text, ends

    def _damaged(self, how: str) -> DamagedError:
        return DamagedError(f"{self._name}: cards: {how}; {REMEDY}")


def key_of(part: str) -> bytes:
    """Give what a title that has a part has in JSON; nothing where that is not certain."""
    # Letters of other alphabets have more than one case.
    key = part.lower().encode() if part.isascii() and part.isprintable() else b""
    return b"" if b'"' in key or b"\\" in key else key


def title_of(card: bytes) -> bytes:
    """Give the title of a card that begins within the title's quotation marks."""
    # Nearly no card has anything escaped: then its first text ends here.
    if b"\\" in card:
        title: str = orjson.loads(b'["%b]' % card)[0]
        return title.encode()
    return card[: card.index(b'"')]
