"""The vectors and own words of all documents by a model: stored, or computed when asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from likewise.collection.manifest import Artifact
from likewise.collection.pack import Memory
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ints
from likewise.derived.store import derived_of
from likewise.models.document_vectors import Halves, from_arrays
from likewise.models.kinds import (
    STORED_WORDS,
    encode_documents,
    find_model,
    load_model,
)
from likewise.models.model import Model, Weights
from likewise.neighbours.int8 import Coded, decode
from likewise.neighbours.vector_finders import VectorFinder


class StoredHalves:
    """The halves of all documents of a snapshot by one model, which may not be stored."""

    def __init__(
        self,
        collection: Snapshot,
        model: Model,
        artifact: Artifact | None = None,
        words: int = STORED_WORDS,
        threads: int = 1,
    ) -> None:
        self.collection = collection
        self.model = model
        self.artifact = artifact
        self.words = words
        self.threads = threads

    @cached_property
    def segments(self) -> list[Halves]:
        """The halves of each segment, deleted documents included."""
        return [self._segment(i) for i in range(len(self.collection.segments))]

    @cached_property
    def finders(self) -> list[VectorFinder | None]:
        """The index of each segment's vectors, None where there is none."""
        n = len(self.collection.segments)
        if self.artifact is None:
            return [None] * n
        derived = derived_of(self.collection)
        return [derived.stored("finder", self.artifact.name, i) for i in range(n)]

    @property
    def weights(self) -> Weights | None:
        """How the halves are weighed, where that was stored."""
        stored = self.artifact.about.get("weights") if self.artifact else None
        return Weights(**stored) if stored else None

    def point(self, doc: int) -> Floats:
        """Give the compact half of a document."""
        i, row = self.collection.locate(doc)
        codes, scales = self.segments[i].points
        found: Floats = decode(Coded(codes[row : row + 1], scales[row : row + 1]))[0]
        return found

    def coordinates(self, docs: Ints) -> Floats:
        """Give documents as the model has them: shares of topics, projections or directions."""
        out = np.empty((len(docs), self.model.width), np.float32)
        for i, places, rows in self.collection.by_segment(docs):
            points, shares, *_ = self.segments[i]
            vectors = decode(Coded(points.codes[rows], points.scales[rows]))
            out[places] = self.model.coordinates(vectors, shares[rows])
        return out

    def _segment(self, i: int) -> Halves:
        if self.artifact is not None:
            derived = derived_of(self.collection)
            stored: Halves = derived.of_segment("vectors", self.artifact.name, i)
            return stored
        bases, memory = self.collection.bases, Memory()
        docs = np.arange(bases[i], bases[i + 1])
        encode_documents(self.model, self.collection, docs, memory, self.words, self.threads)
        return from_arrays(memory, len(docs), self.model.width, self.model.name)


def open_halves(collection: Snapshot, name: str | None = None) -> StoredHalves:
    """Open the halves by a model of the collection; without a name, its default."""
    artifact = find_model(collection, name)
    model = load_model(collection, artifact.name)
    return StoredHalves(collection, model, artifact, artifact.about["words"])


def halves_of(collection: Snapshot, name: str = "") -> StoredHalves:
    """Give the halves by a model of the collection, opened once; "" is its default."""
    return collection.memo(("halves", name), lambda: open_halves(collection, name or None))


def make_halves(
    collection: Snapshot, model: Model, *, words: int = STORED_WORDS, threads: int = 1
) -> StoredHalves:
    """Work out halves by a model that need not be stored, each segment when it is asked for."""
    return StoredHalves(collection, model, words=words, threads=threads)
