"""Cards as they were written before: a few documents to a frame of zstd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import orjson
import zstandard

from likewise.collection.cards import Card, key_of, title_of
from likewise.collection.documents import decompress, write_json
from likewise.collection.files import REMEDY
from likewise.compiled import Bytes, Ints, Offsets
from likewise.errors import DamagedError

# In the meta of a segment; of one that has no number there are sixteen.
NOTED = "cards.at_once"
AT_ONCE_BEFORE = 16


class FramedCards:
    """Reads cards; safe to use from several threads."""

    def __init__(
        self, cards: Bytes, offsets: Offsets, n_docs: int, name: str, at_once: int = AT_ONCE_BEFORE
    ) -> None:
        self._cards, self._offsets, self._name = cards.data, offsets, name
        self._n_docs, self._at_once = n_docs, at_once

    def titles(self, part: str = "") -> Iterator[tuple[int, bytes]]:
        """Give documents with their titles; those may be left out that have no such part in it."""
        key = key_of(part)
        try:
            for i, (first, last) in enumerate(pairwise(self._offsets.tolist())):
                data = decompress(self._cards[first:last])
                if key in data.lower():
                    for doc, card in enumerate(_split(data, self._size(i)), i * self._at_once):
                        # Nearly no card has anything escaped: then its first text ends here.
                        yield doc, title_of(card)
        except (zstandard.ZstdError, MemoryError, ValueError, TypeError) as error:
            raise self._damaged(error) from None

    def take(self, docs: Sequence[int] | Ints) -> list[Card]:
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
