"""The rows of all documents by a kernel model, stored or computed, and the search over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from likewise.collection.manifest import Artifact
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.derived.store import derived_of
from likewise.models.kinds import find_model, load_model
from likewise.models.klsa import KernelRows
from likewise.models.model import SMOOTH
from likewise.models.user_kernels import UserKernelRows
from likewise.neighbours.int8 import Coded, Codes, decode, encode
from likewise.neighbours.vector_finders import VectorFinder
from likewise.neighbours.vectors import VectorSearch
from likewise.records import Ranking
from likewise.stages.masks import mask_of

AnySpace = KernelRows | UserKernelRows
_DOCS_AT_ONCE = 4096


class StoredRows:
    """The rows of all documents of a snapshot by one model, which may not be stored.

    `exact` keeps them in single precision, four times as large, and nothing of it on disk: what
    rounding costs can be measured against it.
    """

    def __init__(
        self,
        collection: Snapshot,
        space: AnySpace,
        artifact: Artifact | None = None,
        *,
        exact: bool = False,
    ) -> None:
        self.collection = collection
        self.space = space
        self.artifact = None if exact else artifact
        self.exact = exact

    @cached_property
    def segments(self) -> list[Coded]:
        """The rows of each segment, deleted documents included."""
        return [self._segment(i) for i in range(len(self.collection.segments))]

    @cached_property
    def finders(self) -> list[VectorFinder | None]:
        """The index of each segment's rows, None where there is none."""
        n = len(self.collection.segments)
        if self.artifact is None:
            return [None] * n
        derived = derived_of(self.collection)
        return [derived.stored("finder", self.artifact.name, i) for i in range(n)]

    def of(self, docs: Ints) -> Floats:
        """Give the rows of documents, as they are kept."""
        out = np.empty((len(docs), self.space.width), np.float32)
        for i, places, rows in self.collection.by_segment(docs):
            codes, scales = self.segments[i]
            out[places] = decode(Coded(codes[rows], scales[rows]))
        return out

    def _segment(self, i: int) -> Coded:
        if self.artifact is not None:
            stored: Coded = derived_of(self.collection).of_segment("vectors", self.artifact.name, i)
            return stored
        first, last = self.collection.bases[i : i + 2].tolist()
        parts = []
        # A segment of no documents has rows of none.
        for start in range(first, max(last, first + 1), _DOCS_AT_ONCE):
            docs = np.arange(start, min(start + _DOCS_AT_ONCE, last))
            rows = self.space.document_rows(self.collection, docs)
            if self.exact:
                parts.append(Coded(cast("Codes", rows), np.ones(len(rows), np.float32)))
            else:
                parts.append(encode(rows))
        return Coded(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def open_rows(collection: Snapshot, name: str = "") -> StoredRows:
    """Open the rows of documents by a kernel model; without a name, the collection's default."""
    artifact = find_model(collection, name or None, SMOOTH)
    space = load_model(collection, artifact.name, SMOOTH)
    return StoredRows(collection, space, artifact)


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
