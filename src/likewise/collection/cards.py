"""What an answer shows of a document: its title and short fields, a few documents to a frame.

Four to a frame take 23 bytes a document more than sixteen, and half the time for a page of answers
that stand anywhere: abstracts of arXiv, 85 bytes in place of 62.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import orjson
import zstandard

from likewise.collection.arrays import Output
from likewise.collection.documents import decompress, write_json
from likewise.collection.files import REMEDY
from likewise.compiled import Bytes, Offsets
from likewise.errors import DamagedError
from likewise.records import Document

AT_ONCE = 4
# In the meta of a segment; of one that has no number there are sixteen.
NOTED = "cards.at_once"
AT_ONCE_BEFORE = 16
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
        self._stream = out.stream("cards", np.uint8)
        self._out = out
        self._ends = [0]
        self._waiting: list[list[Any]] = []
        self._compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)

    def append(self, documents: Sequence[Document]) -> None:
        """Add documents."""
        for document in documents:
            self._waiting.append(_card(document))
            if len(self._waiting) == AT_ONCE:
                self._flush()

    def close(self) -> None:
        """Put the cards."""
        if self._waiting:
            self._flush()
        self._stream.close()
        self._out.put("cards.offsets", np.array(self._ends, np.uint32))
        self._out.note(**{NOTED: AT_ONCE})

    def abandon(self) -> None:
        """Let go of what was written."""
        self._stream.abandon()

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._ends[-1]

    def _flush(self) -> None:
        frame = self._compressor.compress(write_json(self._waiting))
        self._stream.append(np.frombuffer(frame, np.uint8))
        self._ends.append(self._ends[-1] + len(frame))
        self._waiting = []


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

    def __init__(
        self, cards: Bytes, offsets: Offsets, n_docs: int, name: str, at_once: int = AT_ONCE
    ) -> None:
        self._cards, self._offsets, self._name = cards.data, offsets, name
        self._n_docs, self._at_once = n_docs, at_once

    def titles(self, part: str = "") -> Iterator[tuple[int, bytes]]:
        """Give documents with their titles; those may be left out that have no such part in it."""
        # As it stands in JSON, where letters of other alphabets have more than one case.
        key = part.lower().encode() if part.isascii() and part.isprintable() else b""
        key = b"" if b'"' in key or b"\\" in key else key
        try:
            for i, (first, last) in enumerate(pairwise(self._offsets.tolist())):
                data = decompress(self._cards[first:last])
                if key in data.lower():
                    for doc, card in enumerate(_split(data, self._size(i)), i * self._at_once):
                        # Nearly no card has anything escaped: then its first text ends here.
                        yield (
                            doc,
                            (
                                orjson.loads(b'["%b]' % card)[0].encode()
                                if b"\\" in card
                                else card[: card.index(b'"')]
                            ),
                        )
        except (zstandard.ZstdError, MemoryError, ValueError, TypeError) as error:
            raise self._damaged(error) from None

    def take(self, docs: Sequence[int]) -> list[Card]:
        """Give the cards of documents; each frame is read once."""
        asked = np.array(docs, np.int64)
        numbers = asked // self._at_once
        starts, stops = self._offsets[numbers].tolist(), self._offsets[numbers + 1].tolist()
        frames: dict[int, list[bytes]] = {}
        found = []
        try:
            for i, frame in enumerate(numbers.tolist()):
                held = frames.get(frame)
                if held is None:
                    data = decompress(self._cards[starts[i] : stops[i]])
                    held = frames[frame] = _split(data, self._size(frame))
                found.append(held[docs[i] % self._at_once])
            if not found:
                return []
            cards = [Card(*card) for card in orjson.loads(b'[["%b]]' % b'],["'.join(found))]
            if len(cards) != len(found):
                raise ValueError(f"{len(cards)} in place of {len(found)}")
            return cards
        except (zstandard.ZstdError, MemoryError, ValueError, TypeError) as error:
            raise self._damaged(error) from None

    def _size(self, frame: int) -> int:
        """Give how many cards a frame has."""
        return min(self._at_once, self._n_docs - frame * self._at_once)

    def _damaged(self, error: Exception) -> DamagedError:
        return DamagedError(f"{self._name}: cards: {str(error) or 'not readable'}; {REMEDY}")


def _split(data: bytes, n: int) -> list[bytes]:
    # Only the card that is asked for is parsed: between two cards there is always this.
    found = data[3:-2].split(b'],["')
    if len(found) != n:
        # A text that ends like the end of a card has it too.
        parsed = orjson.loads(data)
        if len(parsed) != n:
            raise ValueError(f"{len(parsed)} in a frame of {n}")
        found = [write_json(card)[2:-1] for card in parsed]
    return found
