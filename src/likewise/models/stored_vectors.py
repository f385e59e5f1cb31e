"""What a model says of all documents of a snapshot, stored or computed, and the search over it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np

from likewise.collection.arrays import Memory
from likewise.collection.manifest import Artifact
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.derived.store import derived_of
from likewise.models.document_vectors import DocumentVectors, from_arrays, without_words
from likewise.models.kinds import STORED_WORDS, encode_documents, find_model, load_model
from likewise.models.model import BALANCED, LIKE, Model, Typical, Weights
from likewise.neighbours.int8 import Coded, Codes
from likewise.neighbours.vector_finders import VectorFinder
from likewise.neighbours.vectors import VectorSearch


class StoredVectors:
    """The vectors of all documents of a snapshot by one model, which may not be stored.

    `indexed` asks the finders of large segments; else these are scanned. `exact` keeps rows of a
    kernel model in single precision, four times as large, and nothing of it on disk: what rounding
    costs can be measured against it.
    """

    def __init__(
        self,
        collection: Snapshot,
        model: Model,
        artifact: Artifact | None = None,
        *,
        words: int = STORED_WORDS,
        threads: int = 1,
        exact: bool = False,
        indexed: bool = True,
    ) -> None:
        self.collection = collection
        self.model = model
        self.artifact = None if exact else artifact
        self.words = words
        self.threads = threads
        self.exact = exact
        self.indexed = indexed

    @cached_property
    def segments(self) -> list[DocumentVectors]:
        """The vectors of each segment, deleted documents included."""
        return [self._segment(i) for i in range(len(self.collection.segments))]

    @cached_property
    def finders(self) -> list[VectorFinder | None]:
        """The index of each segment's vectors, None where there is none."""
        n = len(self.collection.segments)
        if self.artifact is None or not self.indexed:
            return [None] * n
        derived = derived_of(self.collection)
        return [derived.stored("finder", self.artifact.name, i) for i in range(n)]

    @cached_property
    def search(self) -> VectorSearch:
        """The search over dense vectors."""
        return self._search(rough=False)

    @cached_property
    def rough_search(self) -> VectorSearch:
        """The same with a rough look at what is nearest."""
        return self._search(rough=True)

    def _search(self, *, rough: bool) -> VectorSearch:
        dense = [segment.dense for segment in self.segments]
        return VectorSearch(dense, self.collection.bases, self.finders, rough=rough)

    @property
    def typical(self) -> Typical:
        """What the documents most like one have on average, where that was stored."""
        return Typical(**self._about.get("typical", {}))

    @property
    def focus(self) -> float:
        """The place of the dial that was learnt from judgements, else its middle."""
        return float(self._about.get("focus", BALANCED))

    @property
    def effort(self) -> float:
        """How much more than usual is read to find candidates, as counted when it was stored."""
        return float(self._about.get("effort", 1.0))

    @property
    def weights_before(self) -> Weights | None:
        """How parts were weighed before there was a dial, until the model is fitted or tuned."""
        before = self._about.get("weights")
        if not before or "typical" in self._about or "focus" in self._about:
            return None
        return Weights(before["points"], before["words"])

    @property
    def _about(self) -> Mapping[str, Any]:
        return self.artifact.about if self.artifact else {}

    def rows(self, docs: Ints) -> Floats:
        """Give the dense vectors of documents, decoded."""
        return self.search.rows(docs)

    def weighted_sum(self, docs: Ints, weights: Doubles) -> Doubles:
        """Give the weighted sum of documents' vectors."""
        rows = self.rows(docs).astype(np.float64)
        # Added up in one order, whatever BLAS has in mind.
        return np.asarray((rows * weights[:, None]).sum(axis=0))

    def coordinates(self, docs: Ints) -> Floats:
        """Give documents as the model has them: shares of topics, projections or directions."""
        out = np.empty((len(docs), self.model.width), np.float32)
        for i, places, rows in self.collection.by_segment(docs):
            shares = self.segments[i].shares[rows]
            out[places] = self.model.coordinates(self.rows(docs[places]), shares)
        return out

    def _segment(self, i: int) -> DocumentVectors:
        if self.artifact is not None:
            derived = derived_of(self.collection)
            stored: DocumentVectors = derived.of_segment("vectors", self.artifact.name, i)
            return stored
        docs = np.arange(*self.collection.bases[i : i + 2])
        if self.exact:
            rows = self.model.document_rows(self.collection, docs)
            return without_words(Coded(cast("Codes", rows), np.ones(len(rows), np.float32)))
        memory = Memory()
        encode_documents(self.model, self.collection, docs, memory, self.words, self.threads)
        return from_arrays(memory, len(docs), self.model.layout, self.model.name)


def vectors_of(collection: Snapshot, name: str = "", role: str = LIKE) -> StoredVectors:
    """Give the vectors by a model of the collection, opened once; "" is its default."""
    artifact = find_model(collection, name or None, role)

    def opened() -> StoredVectors:
        model = load_model(collection, artifact.name, role)
        return StoredVectors(collection, model, artifact, words=artifact.about["words"])

    return collection.memo(("vectors", artifact.name), opened)
