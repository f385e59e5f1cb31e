"""Finders of stored vectors: what proposes rows of one segment, and how it is named and stored."""

from __future__ import annotations

import math
from typing import Protocol

from likewise import notation
from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats, Ints
from likewise.neighbours.cells import Cells
from likewise.neighbours.int8 import Coded
from likewise.neighbours.tiles import Tiles

# Segments of fewer documents are scanned, which takes a few milliseconds.
FEWEST_FOUND = 50_000


class VectorFinder(Protocol):
    """An index of the vectors of one segment; safe to use from several threads."""

    def propose(
        self, point: Floats, n: int, *, rough: bool = False, least: float = -math.inf
    ) -> Ints:
        """Propose n rows or more, if there are, that seem to have the largest inner products.

        Fewer only where no others seem to have one of `least` or more. A rough look reads less and
        misses more.
        """
        ...

    def save(self, out: Output) -> None:
        """Put the index, without the vectors."""
        ...


class VectorMethod(Protocol):
    """The configuration of a finder; None is given where it cannot be had, and all are scanned."""

    def build(self, coded: Coded, *, seed: int = 0) -> VectorFinder | None:
        """Index the vectors of a segment."""
        ...

    def load(self, arrays: Arrays, coded: Coded) -> VectorFinder | None:
        """Take what `save` put, for the same vectors."""
        ...


_FINDERS: dict[str, type[Cells | Tiles]] = {kind.notation: kind for kind in (Cells, Tiles)}


def read_vector_finder(text: str) -> VectorMethod:
    """Read a finder as it is written: `tiles`, `cells(axes=32)`."""
    config: Cells | Tiles = notation.read(text, _FINDERS, what="finder")
    return config
