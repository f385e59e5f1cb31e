"""A graph of near points in layers (Malkov, Yashunin 2018), walked towards the query.

By the faiss library (an extra), on one thread, so that the same points give the same bits; it
reads the points themselves, and keeps no copy of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from likewise import notation
from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats, Ints
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.faiss_io import (
    lend,
    load_faiss,
    one_thread,
    put_index,
    squared_limit,
    take_index,
)
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries, gather

# The graph knows distances but rounds in another way than whoever asks.
_SPARE_WALKED = 4
_LEAST_WIDTH = 128


@dataclass(frozen=True)
class HNSW:
    """A graph in layers: each point is linked to `links` near ones, twice as many at the bottom.

    `construction` is how many of the nearest so far are kept when a point is linked in, `search`
    when a query is answered (0: 128, or twice as many as are asked for).
    """

    links: int = 16
    construction: int = 100
    search: int = 0
    notation: ClassVar[str] = "hnsw"

    def __post_init__(self) -> None:
        if self.links < 2 or self.construction < 1 or self.search < 0:
            raise UsageError(
                f"{self}: links must be at least 2, construction at least 1, "
                "search 1 or more, or 0 to derive it"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> GraphFinder:
        """Link points one after the other; nothing is learnt that could be taken over."""
        points, faiss = checked_points(points), load_faiss(self)
        index = faiss.IndexHNSWFlat(points.shape[1], self.links)
        index.hnsw.efConstruction = self.construction
        index.hnsw.rng = faiss.RandomGenerator(seed % (1 << 31))
        if len(points):
            with one_thread(faiss):
                index.add(points)
            lend(faiss, faiss.downcast_index(index.storage), points)
        return GraphFinder(self, points, index)

    def load(self, arrays: Arrays, points: Floats) -> GraphFinder:
        """Take what `save` put, for the same points."""
        points, faiss = checked_points(points), load_faiss(self)
        index = take_index(faiss, arrays, self, points)
        if not isinstance(index, faiss.IndexHNSW) or index.d != points.shape[1]:
            raise DamagedError("what is stored is no graph of these points; build it again")
        storage = faiss.IndexFlatL2(points.shape[1])
        lend(faiss, storage, points)
        storage.this.disown()
        index.storage, index.own_fields = storage, True
        return GraphFinder(self, points, index)


@dataclass(frozen=True, eq=False)
class GraphFinder:
    """A graph over points, which it reads where they are."""

    exact: ClassVar[bool] = False
    scans: ClassVar[bool] = False
    config: HNSW
    points: Floats
    index: Any

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the k nearest points that were come across, and a few more."""
        queries = checked_queries(queries, self.points.shape[1])
        wanted = min(max(k, 1) + _SPARE_WALKED, len(self.points))
        # Many equal points can cut a graph into pieces: then what was come across is too few.
        return gather(
            [
                rows if len(rows) == wanted else np.arange(len(self.points))
                for rows, _ in self._walk(queries, wanted)
            ]
        )

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose points within a radius: ever more, until one beyond it was come across."""
        queries = checked_queries(queries, self.points.shape[1])
        return gather([self._within(query, radius) for query in queries])

    def save(self, out: Output) -> None:
        """Put the graph, without the points."""
        put_index(load_faiss(self.config), out, self.index, self.points)

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        graph = self.index.hnsw
        return int(4 * graph.neighbors.size() + 12 * len(self.points))

    def _walk(self, queries: Floats, wanted: int) -> list[tuple[Ints, Floats]]:
        if wanted == 0:
            return [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(queries)
        faiss = load_faiss(self.config)
        width = self.config.search or max(_LEAST_WIDTH, 2 * wanted)
        options = faiss.SearchParametersHNSW(efSearch=max(width, wanted))
        with one_thread(faiss):
            distances, found = self.index.search(queries, wanted, params=options)
        good = (found >= 0) & (found < len(self.points))
        return [(found[i, good[i]], distances[i, good[i]]) for i in range(len(queries))]

    def _within(self, query: Floats, radius: float) -> Ints:
        wanted, limit = _LEAST_WIDTH // 2, squared_limit(radius)
        while 4 * wanted < len(self.points):
            ((rows, distances),) = self._walk(query[None, :], wanted)
            if len(rows) < wanted:
                break
            if distances[-1] > limit:
                return rows[distances <= limit]
            wanted *= 4
        return np.arange(len(self.points))
