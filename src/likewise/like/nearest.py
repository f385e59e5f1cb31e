"""The nearest documents to vectors of a model: by what is stored, or by an index that is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from likewise.compiled import Bools, Floats, Ints
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.finder import gather
from likewise.neighbours.index import Nearest, Neighbours, blocks, each
from likewise.neighbours.kernels import keep_nearest, score_pairs
from likewise.neighbours.metrics import Metric, absent, as_rows, embed

# So many documents are decoded at a time, for so many queries at most.
_DOCS_AT_ONCE = 1 << 13
_QUERIES_AT_ONCE = 256


class NearestDocs(Protocol):
    """Finds the nearest documents, by distance and then document."""

    def nearest(
        self,
        vectors: Floats,
        k: int,
        *,
        allowed: Sequence[Bools | None] | None = None,
        threads: int = 1,
    ) -> Nearest:
        """Find the k documents nearest to each vector; their numbers are those of documents."""
        ...

    def distances(self, vector: Floats, docs: Ints) -> Floats:
        """Give distances with the bits of a search; infinite ones of what has no place."""
        ...


@dataclass(frozen=True)
class BuiltIndex:
    """An index of vectors; vector i is that of document `docs[i]`, which ascend.

    `bases` are the first documents of segments.
    """

    neighbours: Neighbours
    docs: Ints
    bases: Ints

    def nearest(
        self,
        vectors: Floats,
        k: int,
        *,
        allowed: Sequence[Bools | None] | None = None,
        threads: int = 1,
    ) -> Nearest:
        """Find the k documents nearest to each vector, as far as the index knows."""
        mask = None if allowed is None else self._inside(allowed)
        found = self.neighbours.nearest(vectors, k, allowed=mask, threads=threads)
        return Nearest(np.append(self.docs, -1)[found.numbers], found.distances)

    def distances(self, vector: Floats, docs: Ints) -> Floats:
        """Give distances from the points of the index."""
        out = np.full(len(docs), np.inf, np.float32)
        numbers = np.searchsorted(self.docs, docs)
        there = np.append(self.docs, -1)[numbers] == docs
        there[there] &= ~self.neighbours.gone[numbers[there]]
        points = self.neighbours.points(numbers[there])
        out[there] = _distances(self.neighbours.metric, vector, points)
        return out

    def _inside(self, allowed: Sequence[Bools | None]) -> Bools:
        owners = np.searchsorted(self.bases, self.docs, "right") - 1
        inside = np.ones(len(self.docs), np.bool_)
        for i, mask in enumerate(allowed):
            if mask is not None:
                mine = owners == i
                inside[mine] = mask[self.docs[mine] - self.bases[i]]
        return inside


class VectorNeighbours:
    """Vectors as they are stored: searched by inner products if the metric suits, else scanned.

    Candidates of the search are all that single precision cannot tell from the k nearest, so that
    distances, which are of single precision too, have the last word.
    """

    def __init__(self, stored: StoredVectors, metric: Metric) -> None:
        self._stored = stored
        self._collection = stored.collection
        self._metric = metric
        self._searched = metric.name == stored.model.metric

    def nearest(
        self,
        vectors: Floats,
        k: int,
        *,
        allowed: Sequence[Bools | None] | None = None,
        threads: int = 1,
    ) -> Nearest:
        """Find the k documents nearest to each vector, as far as finders of segments know."""
        points = embed(self._metric, as_rows(vectors, self._stored.model.width), query=True)
        masks = self._open(allowed)
        every = None if self._searched else self._open_docs(masks)

        def of(queries: Floats) -> Nearest:
            if every is not None:
                return self._scored(queries, every, [np.arange(len(every))] * len(queries), k)
            found = self._stored.search.candidates_of_each(queries.astype(np.float64), k, masks)
            docs = np.unique(np.concatenate(found))
            return self._scored(queries, docs, [np.searchsorted(docs, one) for one in found], k)

        there = points.any(axis=1) | (not self._metric.rootless)
        numbers = np.full((len(points), k), -1, np.int64)
        distances = np.full((len(points), k), np.inf, np.float32)
        size = min(_QUERIES_AT_ONCE, -(-len(points) // max(threads, 1)))
        found = each(of, blocks(points[there], max(size, 1)), threads)
        if found:
            numbers[there] = np.concatenate([one.numbers for one in found])
            distances[there] = np.concatenate([one.distances for one in found])
        return Nearest(numbers, distances)

    def distances(self, vector: Floats, docs: Ints) -> Floats:
        """Give distances from vectors as they are stored."""
        out = np.empty(len(docs), np.float32)
        for first in range(0, len(docs), _DOCS_AT_ONCE):
            block = slice(first, first + _DOCS_AT_ONCE)
            rows = self._stored.coordinates(docs[block])
            points = embed(self._metric, rows, query=True)
            out[block] = _distances(self._metric, vector, points)
            out[block][absent(self._metric, rows)] = np.inf
        return out

    def _scored(self, queries: Floats, docs: Ints, candidates: Sequence[Ints], k: int) -> Nearest:
        """Give the k nearest of each query, whose candidates are places in `docs`, ascending."""
        numbers = np.full((len(queries), k), -1, np.int64)
        distances = np.full((len(queries), k), np.inf, np.float32)
        gone = np.zeros(len(docs), np.bool_)
        for first in range(0, len(docs), _DOCS_AT_ONCE):
            block = slice(first, first + _DOCS_AT_ONCE)
            rows = self._stored.coordinates(docs[block])
            gone[block] = absent(self._metric, rows)
            ends = [np.searchsorted(mine, [first, block.stop]) for mine in candidates]
            proposed = gather(
                [mine[a:b] - first for mine, (a, b) in zip(candidates, ends, strict=True)]
            )
            keep_nearest(
                self._metric.form,
                np.float32(self._metric.scale),
                queries,
                # An inner product is of vectors as a query has them.
                embed(self._metric, rows, query=True),
                proposed.bounds,
                proposed.rows,
                gone,
                first,
                numbers,
                distances,
            )
        return Nearest(np.append(docs, -1)[numbers], distances)

    @cached_property
    def _placed(self) -> list[Bools | None]:
        """The documents of each segment that are not deleted and have a place (None: all)."""
        masks: list[Bools | None] = []
        for segment, part in zip(self._collection.segments, self._stored.segments, strict=True):
            mask = np.ones(segment.n_docs, np.bool_)
            if segment.entry.deleted is not None:
                mask &= segment.live
            if self._metric.rootless:
                mask &= part.dense.scales != 0
            masks.append(None if mask.all() else mask)
        return masks

    def _open(self, allowed: Sequence[Bools | None] | None) -> list[Bools | None]:
        if allowed is None:
            return self._placed
        return [
            other if mask is None else mask if other is None else mask & other
            for mask, other in zip(self._placed, allowed, strict=True)
        ]

    def _open_docs(self, masks: Sequence[Bools | None]) -> Ints:
        bases = self._collection.bases
        rows = [
            np.arange(end - base) if mask is None else np.flatnonzero(mask)
            for base, end, mask in zip(bases[:-1], bases[1:], masks, strict=True)
        ]
        found = (mine + base for mine, base in zip(rows, bases[:-1], strict=True))
        return np.concatenate([np.empty(0, np.int64), *found])


def _distances(metric: Metric, vector: Floats, points: Floats) -> Floats:
    """Give the distances of points to a vector, which may have no place itself."""
    query = embed(metric, as_rows(vector), query=True)
    out = np.full((1, len(points)), np.inf, np.float32)
    if query.any() or not metric.rootless:
        score_pairs(metric.form, np.float32(metric.scale), query, points, 0, out)
    distances: Floats = out[0]
    return distances
