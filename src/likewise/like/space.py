"""The documents of a collection as vectors of a model: which are near, and by what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.collection.text_counts import counts_of
from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.like.nearest import BuiltIndex, NearestDocs, VectorNeighbours
from likewise.models.document_vectors import document_vectors
from likewise.models.model import Model
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.choose import Auto
from likewise.neighbours.finder import Method
from likewise.neighbours.index import Nearest, build_neighbours, read_method
from likewise.neighbours.int8 import decode
from likewise.neighbours.metrics import Metric, embed, read_metric, similarity, similarity_parts
from likewise.records import Part, Ranking
from likewise.stages.masks import mask_of


@dataclass(frozen=True)
class Space:
    """Documents as vectors of a model, and what finds those that are near by a metric."""

    stored: StoredVectors
    metric: Metric
    finder: NearestDocs

    @property
    def collection(self) -> Snapshot:
        """Where the documents are."""
        return self.stored.collection

    @property
    def model(self) -> Model:
        """Whose vectors they are."""
        return self.stored.model

    def text_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give the vectors of texts from outside the collection."""
        return np.concatenate(
            [np.empty((0, self.model.width), np.float32), *map(self._text_vector, texts)]
        )

    def _text_vector(self, text: str) -> Floats:
        counts, _ = counts_of(self.collection, text)
        triples = self.model.transform(counts, words=0)
        kept = document_vectors(triples, self.model.compact(counts, triples))
        return self.model.coordinates(decode(kept.dense), kept.shares)

    def rank(
        self,
        vectors: Floats,
        k: int,
        *,
        allowed: Sequence[Bools | None] | None = None,
        omit: Ints | None = None,
        threads: int = 1,
    ) -> list[Ranking]:
        """Rank the documents nearest to vectors, by similarity (`metrics.similarity`).

        `omit` has for each vector the document that it is of, which is left out (-1: none).
        """
        own = np.full(len(vectors), -1) if omit is None else omit
        k = min(k, self.collection.n_docs)
        found = self._nearest(vectors, k + bool((own >= 0).any()), allowed, threads)
        return [
            self._ranking(docs[docs != doc], distances[docs != doc]).cut(k)
            for docs, distances, doc in zip(found.numbers, found.distances, own, strict=True)
        ]

    def score(self, vector: Floats, docs: Ints) -> Doubles:
        """Give similarities with the bits of a ranking; -inf for what none would have."""
        live = mask_of(self.collection).holds(docs, self.collection)
        with _checking(self.stored, self.metric):
            distances = self.finder.distances(vector, docs)
        scores = similarity(self.metric, distances)
        scores[~live | ~np.isfinite(distances)] = -np.inf
        return scores

    def nearest_to(self, docs: Ints, k: int, *, threads: int = 1) -> Nearest:
        """Find the k documents nearest to each of some of the collection; itself is left out."""
        k = max(min(k, self.collection.n_docs - 1), 1)
        found = self._nearest(self.stored.coordinates(docs), k + 1, None, threads)
        own = found.numbers == docs[:, None]
        # Of several that are the same as a document, itself may not be among the k + 1 nearest.
        own[~own.any(axis=1), -1] = True
        return Nearest(
            found.numbers[~own].reshape(len(docs), k),
            found.distances[~own].reshape(len(docs), k),
        )

    def _nearest(
        self, vectors: Floats, k: int, allowed: Sequence[Bools | None] | None, threads: int
    ) -> Nearest:
        with _checking(self.stored, self.metric):
            return self.finder.nearest(vectors, max(k, 1), allowed=allowed, threads=threads)

    def _ranking(self, docs: Ints, distances: Floats) -> Ranking:
        there = (docs >= 0) & np.isfinite(distances)
        docs, scores = docs[there], similarity(self.metric, distances[there])
        order = np.lexsort((docs, -scores))
        return Ranking(docs[order], scores[order])

    def explain(self, vector: Floats, docs: Ints) -> list[list[Part]]:
        """Split the similarities of a vector and documents by topics, the largest part first."""
        [query] = embed(self.metric, vector[None, :], query=True)
        points = embed(self.metric, self.stored.coordinates(docs), query=True)
        return [self._explain(query, point) for point in points]

    def _explain(self, query: Floats, point: Floats) -> list[Part]:
        parts = similarity_parts(self.metric, point, query)[: self.model.width]
        order = np.argsort(-np.abs(parts), kind="stable")
        used = order[np.abs(parts[order]) > 0]
        kind = self.model.dimension
        return [Part(kind, self._names[t], float(parts[t])) for t in used.tolist()]

    @cached_property
    def _names(self) -> list[str]:
        return self.model.dimension_names(self.collection)


def open_space(
    stored: StoredVectors, *, metric: str = "", method: str | Method = "auto", seed: int = 0
) -> Space:
    """Take documents as vectors; `metric` "" is the one that suits the model.

    With `auto` neighbours come from vectors as they are stored; by any other method an index of all
    of them is built.
    """
    chosen = read_metric(metric or stored.model.metric)
    config = read_method(method) if isinstance(method, str) else method
    if config == Auto():
        return Space(stored, chosen, VectorNeighbours(stored, chosen))
    docs = stored.collection.live_docs()
    with _checking(stored, chosen):
        vectors = stored.coordinates(docs)
        neighbours = build_neighbours(vectors, metric=chosen, method=config, seed=seed)
    return Space(stored, chosen, BuiltIndex(neighbours, docs, stored.collection.bases))


@contextmanager
def _checking(stored: StoredVectors, metric: Metric) -> Iterator[None]:
    """Check the collection where stored vectors are not what suits their model's metric.

    What was stored was altered then, and a check says where.
    """
    try:
        yield
    except UsageError:
        if metric.name == stored.model.metric:
            stored.collection.check()
        raise
