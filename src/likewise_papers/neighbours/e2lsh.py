"""Locality-sensitive hashing for Euclidean distance, its parameters worked out from a promise.

A function cuts space into slices at right angles to a random direction (Datar, Immorlica, Indyk,
Mirrokni 2004); a bucket of a table is where the slices of several functions meet. As in E2LSH
(Andoni, Indyk 2005) the promise is that any point within `radius` of a query is found with a
probability of at least 1 - δ, and of the numbers of functions that can keep it that is taken which
makes a query cheapest. Costs are counted, not timed, so that the same points give the same index.
Unlike E2LSH, tables share no functions: for the same promise they are a third as many, and it is
tables that take memory.

With probes a table is also asked for the buckets next to the query's, the likeliest first (Lv,
Josephson, Wang, Charikar, Li 2007), and fewer tables keep the promise.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.arrays import Arrays, Output, require
from likewise.compiled import Doubles, Floats, Ids, Offsets, Shorts, kernel
from likewise.errors import UsageError
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries
from likewise_papers.neighbours.collision_probability import (
    LONGEST,
    Chances,
    perturbations,
    tables_for,
)
from likewise_papers.neighbours.lsh_buckets import cell_bits, find_keys, read_buckets, sort_keys
from likewise_papers.neighbours.simhash import note_about, read_about, taken_over

_MOST_PROBES = 1024
# What a point takes in a table: its row, a tag, and a share of the table's cells.
_ENTRY_BYTES = 8
# How many tables are filled at a time by a thread.
_GROUP = 8

# Costs, counted in multiplications of a projection: of finding a bucket, of reading a point's row
# from one, and of scoring a coordinate of a candidate, which has to be fetched from anywhere.
_BUCKET_COST = 2000.0
_ROW_COST = 50.0
_SCORE_COST = 4.0
# Few points may become many, to which the functions are carried over.
_FEWEST = 10_000
_SAMPLED_QUERIES, _SAMPLED_POINTS, _DISTANCES = 128, 2048, 32
# Draws that chances with probes are averaged over: for the promise, and for the cost.
_PROMISE_DRAWS, _COST_DRAWS = 8192, 512


@dataclass(frozen=True)
class LSH:
    """Hashing that finds a point within `radius` with a probability of at least 1 - `delta`.

    `width` is that of a slice in radii, `probes` how many more buckets of a table are read.
    `length` (functions of a table) and `tables` are worked out where they are 0; where both are
    given nothing is promised. Tables take at most `memory` bytes per point: where that is too
    few for the cheapest length it is shorter, so that candidates are more but the promise holds.
    """

    radius: float = 0.6
    delta: float = 0.1
    probes: int = 0
    width: float = 4.0
    length: int = 0
    tables: int = 0
    memory: int = 1024
    notation: ClassVar[str] = "lsh"

    def __post_init__(self) -> None:
        if not (0 < self.radius < math.inf and 0 < self.width < math.inf and 0 < self.delta < 1):
            raise UsageError(
                f"{self}: radius and width must be above 0, delta between 0 and 1 (both excluded)"
            )
        if not (0 <= self.length <= LONGEST and 0 <= self.probes <= _MOST_PROBES):
            raise UsageError(
                f"{self}: length must be from 1 to {LONGEST}, or 0 to work it out; "
                f"probes from 0 to {_MOST_PROBES}"
            )
        if self.tables < 0 or self.memory < _ENTRY_BYTES:
            raise UsageError(
                f"{self}: tables must be 1 or more, or 0 to work them out; "
                f"memory at least {_ENTRY_BYTES} bytes per point"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int, origin: Finder | None = None) -> LSHFinder:
        """Put the points into buckets; the functions, and how many, are those of `origin`."""
        points = checked_points(points)
        if origin is None:
            shape = choose(self, points, seed)
            functions = _draw(self, shape, points.shape[1], seed)
        else:
            other = taken_over(origin, LSHFinder, self, points.shape[1])
            shape, functions = other.shape, other.functions
        return LSHFinder(self, shape, functions, _fill(points, shape, functions), len(points))

    def load(self, arrays: Arrays, points: Floats) -> LSHFinder:
        """Take what `save` put, for the same points."""
        about = read_about(arrays, str(self), points)
        shape = Shape(about["length"], about["tables"])
        n, n_functions = len(points), shape.length * shape.tables
        require(
            arrays,
            str(self),
            axes=(points.shape[1], n_functions),
            offsets=(n_functions,),
            multipliers=(n_functions,),
            starts=(shape.tables * ((1 << cell_bits(n)) + 1),),
            tags=(shape.tables * n,),
            rows=(shape.tables * n,),
        )
        slices = Slices(*(arrays[name] for name in Slices._fields))
        buckets = Buckets(*(arrays[name] for name in Buckets._fields))
        return LSHFinder(self, shape, slices, buckets, n)


class Shape(NamedTuple):
    """How many functions a table has, and how many tables there are."""

    length: int
    tables: int


class Slices(NamedTuple):
    """Point x lies in slice `floor(offsets[i] + x @ axes[:, i])` of function i.

    A bucket's key is the sum, modulo 2^64, of its slices times the multipliers.
    """

    axes: NDArray[np.float32]
    offsets: Floats
    multipliers: NDArray[np.uint64]


class Buckets(NamedTuple):
    """Points by table, cell (the leading bits of their key), tag (the next 16) and row.

    Cell c of table t is `rows[t n + starts[t (n_cells + 1) + c]:]`, up to where the next starts.
    """

    starts: Offsets
    tags: Shorts
    rows: Ids


@dataclass(frozen=True, eq=False)
class LSHFinder:
    """Points in the buckets of several tables: a query reads those that it would be put into."""

    exact: ClassVar[bool] = False
    scans: ClassVar[bool] = False
    config: LSH
    shape: Shape
    functions: Slices
    buckets: Buckets
    n_points: int

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose all points that share a bucket with each query, however many are asked for."""
        return self._find(queries)

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose as `propose` does: the promise is for the radius that the index was built for."""
        return self._find(queries)

    def save(self, out: Output) -> None:
        """Put the functions and the buckets."""
        for name, array in (self.functions._asdict() | self.buckets._asdict()).items():
            out.put(name, array)
        dimension = len(self.functions.axes)
        note_about(out, str(self.config), self.n_points, dimension, **self.shape._asdict())

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        return sum(array.nbytes for array in (*self.functions, *self.buckets))

    @cached_property
    def _steps(self) -> tuple[Ids, Ids]:
        return perturbations(self.shape.length, self.config.probes)

    def _find(self, queries: Floats) -> Proposals:
        queries = checked_queries(queries, len(self.functions.axes))
        size = (self.n_points, cell_bits(self.n_points))
        return Proposals(
            *read_buckets(
                queries, self.functions, self.shape.length, self.buckets, size, self._steps
            )
        )


def choose(config: LSH, points: Floats, seed: int) -> Shape:
    """Choose how many functions and tables there are: of those that keep the promise, the cheapest.

    The cost of a query is that of projections, of buckets, of the rows in them, and of scoring
    the distinct candidates, as expected from distances between points drawn by the seed.
    """
    if config.length and config.tables:
        return Shape(config.length, config.tables)
    n_points, dimension = max(len(points), _FEWEST), points.shape[1]
    distances, shares = _sample_distances(config, points, seed)
    promise = Chances(config.width, config.probes, np.ones(1), _PROMISE_DRAWS)
    reading = Chances(config.width, config.probes, distances, _COST_DRAWS)
    most = config.tables or config.memory // _ENTRY_BYTES
    best, least = None, math.inf
    for length in [config.length] if config.length else range(1, LONGEST + 1):
        steps = perturbations(length, config.probes)
        needed = tables_for(promise.at_least(length, steps), config.delta)
        if needed > most:
            break
        if config.tables:
            best = Shape(length, config.tables)
            continue
        tables = int(needed)
        chances = reading.mean(length, steps)
        n_rows = n_points * tables * float(shares @ chances)
        n_candidates = n_points * float(shares @ -np.expm1(tables * np.log1p(-chances)))
        cost = tables * (length * dimension + len(steps[0]) * _BUCKET_COST)
        cost += n_rows * _ROW_COST + n_candidates * dimension * _SCORE_COST
        if cost < least:
            best, least = Shape(length, tables), cost
    if best is None:
        raise UsageError(
            f"{config}: {most} tables cannot find a point within {config.radius} with a "
            f"probability of {1 - config.delta:g}; allow more memory or tables, a larger delta "
            "or width, or a smaller length"
        )
    return best


def _sample_distances(config: LSH, points: Floats, seed: int) -> tuple[Doubles, Doubles]:
    """Give distances between points, in radii, and which share of the pairs is at each."""
    if len(points) < 2:
        # As the theory has it: what is not near is twice as far.
        return np.full(1, 2.0), np.ones(1)
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(points))[:_SAMPLED_POINTS]
    squares = squared_distances(points[np.sort(chosen)], points[np.sort(chosen[:_SAMPLED_QUERIES])])
    # Each query was among the points: its distance from itself is the least, and left out.
    squares = np.sort(squares, axis=1)[:, 1:].ravel()
    distances = np.sqrt(squares) / config.radius
    edges = np.linspace(0, distances.max(), _DISTANCES + 1)[1:-1]
    groups = np.searchsorted(edges, distances)
    sizes = np.bincount(groups, minlength=_DISTANCES)
    means = np.bincount(groups, distances, minlength=_DISTANCES)[sizes > 0] / sizes[sizes > 0]
    return means, sizes[sizes > 0] / len(distances)


def _draw(config: LSH, shape: Shape, dimension: int, seed: int) -> Slices:
    random = np.random.default_rng(seed)
    n_functions = shape.length * shape.tables
    axes = random.standard_normal((dimension, n_functions), np.float32)
    axes /= np.float32(config.width * config.radius)
    offsets = random.random(n_functions, np.float32)
    multipliers = random.integers(0, 1 << 64, n_functions, np.uint64) | np.uint64(1)
    return Slices(axes, offsets, multipliers)


def _fill(points: Floats, shape: Shape, slices: Slices) -> Buckets:
    """Put points into the buckets of each table, some tables at a time on each core."""
    n, (length, tables) = len(points), shape
    bits = cell_bits(n)
    width = (1 << bits) + 1
    starts = np.empty(tables * width, np.uint32)
    tags, rows = np.empty(tables * n, np.uint16), np.empty(tables * n, np.int32)

    def fill(first: int) -> None:
        last = min(first + _GROUP, tables)
        of = slice(first * length, last * length)
        axes = np.ascontiguousarray(slices.axes[:, of])
        keys = np.empty((last - first, n), np.uint64)
        find_keys(points, (axes, slices.offsets[of], slices.multipliers[of]), length, keys)
        for table in range(first, last):
            span = slice(table * n, (table + 1) * n)
            out = (starts[table * width : (table + 1) * width], tags[span], rows[span])
            sort_keys(keys[table - first], bits, out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, range(0, tables, _GROUP)))
    return Buckets(starts, tags, rows)


@kernel
def squared_distances(points: Floats, queries: Floats) -> Doubles:
    """Give squared distances. Equals `((points - queries[:, None]) ** 2).sum(axis=2)`."""
    out = np.empty((len(queries), len(points)), np.float64)
    for q in range(len(queries)):
        for i in range(len(points)):
            total = 0.0
            for j in range(points.shape[1]):
                apart = np.float64(points[i, j]) - np.float64(queries[q, j])
                total += apart * apart
            out[q, i] = total
    return out
