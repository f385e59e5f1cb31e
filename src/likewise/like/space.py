"""The documents of a collection as vectors of a model, and an index of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError
from likewise.like.store import StoredHalves
from likewise.models.document_vectors import as_halves
from likewise.models.outside import counts_of
from likewise.models.reading import top_rows, with_words
from likewise.models.stored import AnyModel
from likewise.models.supplied import SuppliedModel
from likewise.models.topics import TopicModel
from likewise.neighbours.finder import Method
from likewise.neighbours.index import Neighbours, build_neighbours
from likewise.neighbours.metrics import Metric, embed, read_metric, similarity, similarity_parts
from likewise.records import Ranking
from likewise.retrieve.explain import Part

_NAMED_BY = 3


def default_metric(model: AnyModel) -> str:
    """Give the metric that suits a model: of distributions Hellinger's, else the cosine."""
    return "hellinger" if isinstance(model, TopicModel) else "cosine"


@dataclass(frozen=True)
class Space:
    """Documents as vectors: vector i of `neighbours` is that of document `docs[i]`."""

    collection: Snapshot
    model: AnyModel
    docs: Ints
    neighbours: Neighbours

    @property
    def metric(self) -> Metric:
        """What is near."""
        return self.neighbours.metric

    def text_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give the vectors of texts from outside the collection."""
        return np.concatenate(
            [np.empty((0, self.model.n_topics), np.float32), *map(self._text_vector, texts)]
        )

    def _text_vector(self, text: str) -> Floats:
        counts, _ = counts_of(self.collection, text)
        triples = self.model.decompose(counts, words=0)
        return self.model.coordinates(as_halves(triples, self.model.compact(counts, triples)))

    def rank(
        self, vectors: Floats, k: int, *, allowed: Bools | None = None, threads: int = 1
    ) -> list[Ranking]:
        """Rank the documents nearest to vectors, by similarity (`metrics.similarity`)."""
        found = self.neighbours.nearest(
            vectors,
            max(min(k, len(self.docs)), 1),
            allowed=None if allowed is None else allowed[self.docs],
            threads=threads,
        )
        return [
            self._ranking(numbers, distances)
            for numbers, distances in zip(found.numbers, found.distances, strict=True)
        ]

    def rank_near_doc(self, doc: int, k: int) -> Ranking:
        """Rank the documents nearest to one of the space, which is left out."""
        found = self.neighbours.nearest_to(self._row(doc), max(min(k, len(self.docs) - 1), 1))
        return self._ranking(found.numbers[0], found.distances[0])

    def _row(self, doc: int) -> int:
        return int(np.searchsorted(self.docs, doc))

    def _ranking(self, numbers: Ints, distances: Floats) -> Ranking:
        there = (numbers >= 0) & np.isfinite(distances)
        docs, scores = self.docs[numbers[there]], similarity(self.metric, distances[there])
        order = np.lexsort((docs, -scores))
        return Ranking(docs[order], scores[order])

    def explain(self, vector: Floats, doc: int) -> list[Part]:
        """Split the similarity of a vector and a document by topics, the largest part first."""
        return self._explain(embed(self.metric, vector[None, :], query=True)[0], doc)

    def explain_docs(self, doc: int, other: int) -> list[Part]:
        """Split the similarity of two documents by topics, the largest part first."""
        return self._explain(self.neighbours.points(self._row(doc))[0], other)

    def _explain(self, query: Floats, doc: int) -> list[Part]:
        point = self.neighbours.points(self._row(doc))[0]
        parts = similarity_parts(self.metric, point, query)[: self.neighbours.dimensions]
        order = np.argsort(-np.abs(parts), kind="stable")
        used = order[np.abs(parts[order]) > 0]
        return [Part(self._name(int(t)), float(parts[t])) for t in used]

    def _name(self, topic: int) -> str:
        if isinstance(self.model, TopicModel) and self.model.labels:
            return self.model.labels[topic]
        if isinstance(self.model, SuppliedModel):
            return f"dimension {topic}"
        return f"{self._unit}{topic} ({', '.join(self._words[topic])})"

    @cached_property
    def _unit(self) -> str:
        return "topic " if isinstance(self.model, TopicModel) else "axis "

    @cached_property
    def _words(self) -> list[list[str]]:
        rows = top_rows(with_words(self.model), np.arange(self.model.n_topics), n=_NAMED_BY)
        return [self.collection.terms(self.model.vocabulary.terms[mine]) for mine in rows]


def build_space(
    halves: StoredHalves, *, metric: str = "", method: str | Method = "auto", seed: int = 0
) -> Space:
    """Index the compact halves of all documents; `metric` "" is the one that suits the model."""
    collection, model = halves.collection, halves.model
    chosen = read_metric(metric or default_metric(model))
    docs = collection.live_docs()
    rows = [model.coordinates(part) for part in halves.segments]
    vectors = np.concatenate([*rows, np.empty((0, model.n_topics), np.float32)])
    try:
        neighbours = build_neighbours(vectors[docs], metric=chosen, method=method, seed=seed)
    except UsageError:
        if not metric:
            # The metric suits the model: what was stored was altered, and a check says where.
            collection.check()
        raise
    return Space(collection, model, docs, neighbours)
