"""Which documents are like these, weighed? The largest inner products of rows, by scan or index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Ints
from likewise.models.stored import SMOOTH, find_model
from likewise.neighbours.vectors import VectorSearch
from likewise.records import Ranking
from likewise.smooth.store import StoredRows, open_rows
from likewise.stages.masks import mask_of


def rows_of(snapshot: Snapshot, name: str = "") -> RowSearch:
    """Give the documents by a kernel model, ready to be searched; "" is the default."""
    named = find_model(snapshot, name or None, SMOOTH).name
    return snapshot.memo(("rows", named), lambda: RowSearch(open_rows(snapshot, named)))


class RowSearch:
    """Finds the documents with the largest `⟨point, u⟩`; safe to use from several threads."""

    def __init__(self, stored: StoredRows, *, indexed: bool = True) -> None:
        self.stored = stored
        self.collection = stored.collection
        self._indexed = indexed

    def point(self, docs: Ints, weights: Doubles) -> Doubles:
        """Give the weighted sum of documents' rows."""
        rows = self.stored.of(docs).astype(np.float64)
        # Added up in one order, whatever BLAS has in mind.
        return np.asarray((rows * weights[:, None]).sum(axis=0))

    def scores(self, point: Doubles, docs: Ints) -> Doubles:
        """Give the inner products of documents' rows with a point."""
        return self._vectors.scores(point, docs)

    def nearest(
        self, point: Doubles, n: int, *, masks: Sequence[Bools | None] | None = None
    ) -> Ranking:
        """Rank the n documents with the largest inner products; n of 0 is all of them.

        Without masks all live documents may be answers.
        """
        open_docs = mask_of(self.collection).segments if masks is None else masks
        return self._vectors.nearest(point, n, open_docs)

    @cached_property
    def _vectors(self) -> VectorSearch:
        parts = self.stored.segments
        finders = self.stored.finders if self._indexed else [None] * len(parts)
        return VectorSearch(parts, self.collection.bases, finders)
