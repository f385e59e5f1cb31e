"""Finders of stored vectors: what proposes rows of one segment, and how it is named and stored."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from likewise import notation
from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats, Ints
from likewise.neighbours.int8 import Coded, CodedPoints
from likewise.neighbours.ivf import IVF, ListsFinder
from likewise.neighbours.tiles import Tiles

# Segments of fewer documents are scanned, which takes a few milliseconds.
FEWEST_FOUND = 50_000


class VectorFinder(Protocol):
    """An index of the vectors of one segment; safe to use from several threads."""

    def propose(self, point: Floats, n: int) -> Ints:
        """Propose n rows or more, if there are, that seem to have the largest inner products."""
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


@dataclass(frozen=True)
class VectorLists:
    """Inverted lists by faiss, for vectors of one length: the nearest have the largest products."""

    lists: IVF

    def __str__(self) -> str:
        return str(self.lists)

    def build(self, coded: Coded, *, seed: int = 0) -> VectorListsFinder | None:
        """List the vectors of a segment; None without faiss."""
        if not find_spec("faiss"):
            return None
        return VectorListsFinder(self.lists.build(CodedPoints([coded]), seed=seed))

    def load(self, arrays: Arrays, coded: Coded) -> VectorListsFinder | None:
        """Take what `save` put, for the same vectors; None without faiss."""
        if not find_spec("faiss"):
            return None
        return VectorListsFinder(self.lists.load(arrays, CodedPoints([coded])))


@dataclass(frozen=True, eq=False)
class VectorListsFinder:
    """Inverted lists of the vectors of a segment."""

    finder: ListsFinder

    def propose(self, point: Floats, n: int) -> Ints:
        """Propose the rows whose codes seem nearest to the point's direction."""
        # Lists are chosen by the distance of their centroids, which depends on a point's length.
        length = float(np.linalg.norm(point.astype(np.float64)))
        query = (point / length if length > 0 else point).astype(np.float32)
        return self.finder.propose(query[None, :], n).rows

    def save(self, out: Output) -> None:
        """Put the lists."""
        self.finder.save(out)


_FINDERS: dict[str, type[IVF | Tiles]] = {kind.notation: kind for kind in (IVF, Tiles)}


def read_vector_finder(text: str) -> VectorMethod:
    """Read a finder as it is written: `tiles`, `ivf(refine=4)`."""
    config: IVF | Tiles = notation.read(text, _FINDERS, what="finder")
    return VectorLists(config) if isinstance(config, IVF) else config
