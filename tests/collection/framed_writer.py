"""Writes cards as earlier versions did: a few documents to a frame."""

from __future__ import annotations

import numpy as np
import zstandard

from likewise.collection.cards import _card
from likewise.collection.documents import write_json
from likewise.collection.framed_cards import NOTED


class FramedWriter:
    """Stands in for `CardsWriter`."""

    AT_ONCE = 4

    def __init__(self, out):
        self._out = out
        self._cards = []

    def append(self, documents):
        self._cards += map(_card, documents)

    def close(self):
        compress = zstandard.ZstdCompressor(level=3, write_checksum=True).compress
        pieces = range(0, len(self._cards), self.AT_ONCE)
        frames = [compress(write_json(self._cards[i : i + self.AT_ONCE])) for i in pieces]
        self._out.put("cards", np.frombuffer(bytearray(b"".join(frames)), np.uint8))
        self._out.put("cards.offsets", np.cumsum([0, *map(len, frames)]), np.uint32)
        self._out.note(**{NOTED: self.AT_ONCE})

    def abandon(self):
        self._cards = []

    size = 0


class SixteenWriter(FramedWriter):
    """As it was first, when nothing was noted."""

    AT_ONCE = 16
