"""Vectors in, neighbours out: one index over any metric and any method.

An index keeps its points in *parts*, each with a finder of its own. Added vectors make a new
part, and parts are put together as they come to the same size, so that n vectors added one call
after the other make about log n parts and each vector is moved about log n times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise import notation, registry
from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError, WrongType
from likewise.neighbours.choose import Auto, choose
from likewise.neighbours.finder import Finder, Method, Proposals, gather
from likewise.neighbours.kernels import keep_nearest, keep_within
from likewise.neighbours.metrics import (
    PRODUCT,
    Metric,
    absent,
    as_rows,
    embed,
    lifted,
    norms,
    read_metric,
)
from likewise.neighbours.scan import Scanner

if TYPE_CHECKING:
    from likewise.neighbours.certified import Certified

_QUERIES_AT_ONCE = 64
_NOTHING_BARRED = np.empty(0, np.bool_)
_SCANNED_ANYWAY = 5000
# Where too many of what was proposed are barred, so many times as many are asked for.
_MORE = 8
# The nearest by a divergence that is only bounded by Euclidean distance are among so many times
# as many nearest points, nearly always; `certified` makes it always.
_WIDER = 4

METHODS = registry.Table(registry.FINDERS, groups=("likewise.finders",))

Item = TypeVar("Item")


class Nearest(NamedTuple):
    """The nearest vectors of each query, by distance and then number.

    Where fewer were found, numbers are -1 and distances infinite.
    """

    numbers: NDArray[np.int64]
    distances: NDArray[np.float32]


class Within(NamedTuple):
    """All vectors within a distance: those of query i are `numbers[bounds[i]:bounds[i + 1]]`."""

    bounds: Ints
    numbers: Ints
    distances: Floats


@dataclass(frozen=True)
class Part:
    """Some of the points, numbered from `first`, and their finder."""

    first: int
    points: Floats
    finder: Finder

    @cached_property
    def scanner(self) -> Finder:
        """An exact finder of the same points."""
        return self.finder if self.finder.scans else Scanner(self.points)

    @cached_property
    def largest(self) -> float:
        """The length of the longest point."""
        return float(norms(self.points).max(initial=0.0))


class Neighbours:
    """An index of vectors, numbered in the order in which they were added.

    Searches may run in several threads at once; `add` and `delete` may not run beside them.
    """

    def __init__(
        self,
        metric: Metric,
        method: Method,
        *,
        dimensions: int,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.method = method
        self.dimensions = dimensions
        self.seed = seed
        self.parts: list[Part] = []
        self.gone: Bools = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return int(len(self.gone) - self.gone.sum())

    def __repr__(self) -> str:
        method = notation.write(self.method)
        return f"<Neighbours {self.metric.name} by {method}: {len(self):,} vectors>"

    @property
    def n_slots(self) -> int:
        """How many vectors were ever added."""
        return len(self.gone)

    @property
    def exact(self) -> bool:
        """Whether answers are certainly the nearest."""
        return all(
            part.finder.scans or (part.finder.exact and self.metric.euclidean)
            for part in self.parts
        )

    @property
    def n_bytes(self) -> int:
        """How large the index is, without the points."""
        return sum(part.finder.n_bytes for part in self.parts)

    def add(self, vectors: ArrayLike) -> Ints:
        """Add vectors; give their numbers."""
        rows = as_rows(vectors, self.dimensions)
        points = embed(self.metric, rows)
        first = self.n_slots
        if len(points) == 0:
            return np.empty(0, np.int64)
        origin = self.parts[0].finder if self.parts else None
        kept = list(self.parts)
        pieces, start = [points], first
        while kept and len(kept[-1].points) <= sum(map(len, pieces)):
            last = kept.pop()
            pieces, start = [last.points, *pieces], last.first
        together = points
        if len(pieces) > 1:
            together = np.concatenate(pieces)
            together = lifted(together) if self.metric.form == PRODUCT else together
        finder = self.method.build(together, seed=self.seed, origin=origin if kept else None)
        self.parts = [*kept, Part(start, together, finder)]
        self.gone = np.concatenate([self.gone, absent(self.metric, rows)])
        return np.arange(first, self.n_slots)

    def delete(self, numbers: ArrayLike) -> None:
        """Delete vectors by number: they never come back in an answer."""
        wanted = self._checked(numbers)
        gone = self.gone.copy()
        gone[wanted] = True
        self.gone = gone

    @overload
    def nearest(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        allowed: Bools | None = None,
        threads: int = 1,
    ) -> Nearest: ...

    @overload
    def nearest(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        allowed: Bools | None = None,
        certified: Literal[True],
        limit: int = 0,
    ) -> Certified: ...

    def nearest(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        allowed: Bools | None = None,
        threads: int = 1,
        certified: bool = False,
        limit: int = 0,
    ) -> Nearest | Certified:
        """Find the k nearest vectors of each query, among those `allowed` by number.

        With `certified` it is proved of each query, by js or kl, that nothing nearer exists.
        Vectors are then examined from the nearest in Hellinger distance on, until the bound closes;
        with a `limit`, a query that would need more of them than that is not closed, and has the
        nearest known by then.
        """
        _check_at_least_one("neighbours", k)
        if certified:
            from likewise.neighbours.certified import certify

            return certify(self, queries, k, limit=limit, allowed=allowed)
        if limit:
            raise UsageError("limit is how much a proof may examine: it goes with certified=True")
        points, barred = self.asked(queries, allowed)
        return self._nearest_points(points, k, barred, threads)

    def within(
        self,
        queries: ArrayLike,
        radius: float,
        *,
        allowed: Bools | None = None,
        threads: int = 1,
    ) -> Within:
        """Find all vectors at most `radius` from each query, in the metric's own distance."""
        points, barred = self.asked(queries, allowed)
        found = each(lambda point: self._within(point, radius, barred), list(points), threads)
        sizes = np.array([len(numbers) for numbers, _ in found], np.int64)
        return Within(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([numbers for numbers, _ in found] or [np.empty(0, np.int64)]),
            np.concatenate([distances for _, distances in found] or [np.empty(0, np.float32)]),
        )

    def nearest_to(self, numbers: ArrayLike, k: int = 10, *, threads: int = 1) -> Nearest:
        """Find the k nearest of vectors of the index, each by number; itself is left out."""
        _check_at_least_one("neighbours", k)
        wanted = self._checked(numbers)
        found = self._nearest_points(self.points(wanted), k + 1, self._barred(), threads)
        own = found.numbers == wanted[:, None]
        # Of several that are the same as a vector, itself may not be among the k + 1 nearest.
        own[~own.any(axis=1), -1] = True
        return Nearest(
            found.numbers[~own].reshape(len(wanted), k),
            found.distances[~own].reshape(len(wanted), k),
        )

    def points(self, numbers: ArrayLike) -> Floats:
        """Give the points of vectors by number, as a query has them."""
        wanted = self._checked(numbers)
        width = self.parts[0].points.shape[1] if self.parts else self.dimensions
        out = np.empty((len(wanted), width), np.float32)
        for part in self.parts:
            here = (wanted >= part.first) & (wanted < part.first + len(part.points))
            out[here] = part.points[wanted[here] - part.first]
        out[:, self.dimensions :] = 0
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index into one file; one that was there is replaced when all is written."""
        from likewise.neighbours.store import save_neighbours

        save_neighbours(self, Path(path))

    def asked(self, queries: ArrayLike, allowed: Bools | None) -> tuple[Floats, Bools]:
        """Give the points of queries, and which numbers are barred (empty for none)."""
        points = embed(self.metric, as_rows(queries, self.dimensions), query=True)
        if allowed is not None:
            mask = np.asarray(allowed, np.bool_)
            if mask.shape != self.gone.shape:
                raise UsageError(
                    f"a mask of {mask.size} where the index has {self.n_slots} vectors"
                )
            return points, self.gone | ~mask
        return points, self._barred()

    def _barred(self) -> Bools:
        return self.gone if self.gone.any() else _NOTHING_BARRED

    def _checked(self, numbers: ArrayLike) -> Ints:
        wanted = np.atleast_1d(np.asarray(numbers))
        if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise UsageError(f"vectors are named by whole numbers, not by {wanted.dtype}")
        outside = (wanted < 0) | (wanted >= self.n_slots)
        if outside.any():
            raise UsageError(
                f"no vector has the number {int(wanted[outside.argmax()])}: "
                f"{self.n_slots} were added, numbered from 0"
            )
        return wanted.astype(np.int64)

    def _nearest_points(self, points: Floats, k: int, barred: Bools, threads: int) -> Nearest:
        found = each(lambda block: self._nearest(block, k, barred), blocks(points), threads)
        numbers = np.concatenate([f.numbers for f in found] or [np.empty((0, k), np.int64)])
        distances = np.concatenate([f.distances for f in found] or [np.empty((0, k), np.float32)])
        empty = ~points.any(axis=1) & self.metric.rootless
        numbers[empty], distances[empty] = -1, np.inf
        return Nearest(numbers, distances)

    def _nearest(self, queries: Floats, k: int, barred: Bools) -> Nearest:
        numbers = np.full((len(queries), k), -1, np.int64)
        distances = np.full((len(queries), k), np.inf, np.float32)
        for part in self.parts:
            rows = self._scored_anyway(part, barred)
            if rows is None:
                proposals = self._propose(part, queries, k, barred)
                self.merge(part, queries, proposals, barred, Nearest(numbers, distances))
                continue
            every = Proposals(np.array([0, len(rows)], np.int64), rows)
            for i in range(len(queries)):
                one = slice(i, i + 1)
                best = Nearest(numbers[one], distances[one])
                self.merge(part, queries[one], every, barred, best)
        return Nearest(numbers, distances)

    def merge(
        self, part: Part, queries: Floats, proposals: Proposals, barred: Bools, into: Nearest
    ) -> None:
        """Score what a part's finder proposed, and merge it into the nearest so far."""
        keep_nearest(
            self.metric.form,
            np.float32(self.metric.scale),
            queries,
            part.points,
            proposals.bounds,
            proposals.rows,
            barred,
            part.first,
            into.numbers,
            into.distances,
        )

    def _scored_anyway(self, part: Part, barred: Bools) -> Ints | None:
        """Give the rows of a part that are all scored, because no finder would save time."""
        n = len(part.points)
        here = barred[part.first : part.first + n]
        n_left = n - int(here.sum())
        every = part.finder.scans and not self.metric.euclidean
        if every or (n_left < n and n_left <= max(_SCANNED_ANYWAY, n // 50)):
            return np.flatnonzero(~here) if len(here) else np.arange(n)
        return None

    def _propose(self, part: Part, queries: Floats, k: int, barred: Bools) -> Proposals:
        n = len(part.points)
        here = barred[part.first : part.first + n]
        n_left = n - int(here.sum())
        wanted = min(k if self.metric.euclidean else _WIDER * k, n_left)
        if n_left == n:
            return part.finder.propose(queries, wanted)
        return _propose_left(part.finder, queries, wanted, here)

    def _within(self, query: Floats, radius: float, barred: Bools) -> tuple[Ints, Floats]:
        numbers, distances = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        if query.any() or not self.metric.rootless:
            length = float(norms(query[None, :])[0])
            for part in self.parts:
                reach = self.metric.reach(radius, length, part.largest)
                proposals = part.finder.propose_within(query[None, :], reach)
                found = keep_within(
                    self.metric.form,
                    np.float32(self.metric.scale),
                    query,
                    part.points,
                    proposals.rows,
                    barred,
                    part.first,
                    radius,
                )
                numbers.append(found[0])
                distances.append(found[1])
        together = np.concatenate(numbers), np.concatenate(distances)
        order = np.lexsort(together)
        return together[0][order], together[1][order]


def build_neighbours(
    vectors: ArrayLike,
    *,
    metric: str | Metric = "hellinger",
    method: str | Method = "auto",
    seed: int = 0,
) -> Neighbours:
    """Build an index of vectors; `auto` lets the data choose the method."""
    chosen = read_metric(metric)
    config = read_method(method) if isinstance(method, str) else method
    if not isinstance(config, Auto) and not hasattr(config, "build"):
        raise WrongType.of(config, "a method is a text such as scan or ivf")
    rows = as_rows(vectors)
    if isinstance(config, Auto):
        config = choose(embed(chosen, rows), chosen, config, seed=seed)
    neighbours = Neighbours(chosen, config, dimensions=rows.shape[1], seed=seed)
    neighbours.add(rows)
    return neighbours


def read_method(text: str) -> Method:
    """Read a method as it is written: `scan`, `lsh(radius=0.8)`."""
    config: Method = notation.read(text, METHODS, what="method")
    return config


def blocks(points: Floats, size: int = _QUERIES_AT_ONCE) -> list[Floats]:
    """Cut queries into those that are asked together."""
    return [points[i : i + size] for i in range(0, len(points), size)]


def _propose_left(finder: Finder, queries: Floats, wanted: int, barred: Bools) -> Proposals:
    """Propose so many points of each query that are not barred, if they can be found.

    Where all that is near to a query is barred ever more are asked for, in the end all others;
    for each query by itself, so that its answer is the same in any company.
    """
    left = np.flatnonzero(~barred)
    found = [left] * len(queries)
    short = np.arange(len(queries))
    # Of the points nearest to a query, as many are barred as elsewhere, and then some.
    n_asked = -(-wanted * len(barred) // len(left)) + 2 * wanted
    while len(short) and n_asked < len(left):
        bounds, rows = finder.propose(queries[short], n_asked)
        n_good = np.diff(np.concatenate([[0], np.cumsum(~barred[rows])])[bounds])
        for i, start, end in zip(short.tolist(), bounds[:-1], bounds[1:], strict=True):
            found[i] = rows[start:end]
        # A finder that has not as many as were asked for has no more.
        short = short[(n_good < wanted) & (np.diff(bounds) >= n_asked)]
        n_asked *= _MORE
    for i in short.tolist():
        found[i] = left
    return gather(found)


def _check_at_least_one(what: str, number: int) -> None:
    if number < 1:
        raise UsageError(f"the number of {what} must be at least 1, not {number}")


def each(function: Callable[[Any], Item], items: Sequence[Any], threads: int) -> list[Item]:
    """Give what a function makes of each item, on so many threads."""
    _check_at_least_one("threads", threads)
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
