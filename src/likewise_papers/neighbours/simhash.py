"""Short codes in many tables, and how often two points share one.

The index of the decomposition paper (level one of its ranking): 30 tables of codes of length 6,
each an inverted list. The paper names locality-sensitive hashing (Andoni, Indyk) and not the
functions. Here a code's bits say on which sides of random planes through the mean of the points
one lies (Charikar 2002), so that every plane parts the points about evenly. Of the functions
measured on draws from a Dirichlet distribution (20,000 of 250 topics, α = .02, 1000 candidates)
these found .52 of the 10 nearest points; planes through the origin .50 while reading three
tenths more, and p-stable functions .33 (their width chosen so that they read as much).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.arrays import Arrays, Output, require
from likewise.compiled import Floats, Ids, Int, Ints, Offsets, kernel
from likewise.errors import UsageError
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries

# Counts are bytes without their highest bit.
_MOST_TABLES = 127
_ONES = np.uint64(0x0101010101010101)
_HIGHEST = np.uint64(0x8080808080808080)
_LONGEST = 16


@dataclass(frozen=True)
class Codes:
    """Codes of `length` bits in a number of `tables`; the more are shared, the nearer.

    For each result asked for, the `limit` points that share the most codes with the query are
    proposed, the earlier first among equals (0: all that share one).
    """

    tables: int = 30
    length: int = 6
    limit: int = 100
    notation: ClassVar[str] = "codes"

    def __post_init__(self) -> None:
        if not (1 <= self.tables <= _MOST_TABLES and 1 <= self.length <= _LONGEST):
            raise UsageError(
                f"{self}: tables must be from 1 to {_MOST_TABLES}, length from 1 to {_LONGEST}"
            )
        if self.limit < 0:
            raise UsageError(f"{self}: limit must be 1 or more, or 0 for all")

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int, origin: Finder | None = None) -> CodesFinder:
        """List the points by their codes; the planes, and the mean, are those of `origin`."""
        points = checked_points(points)
        if origin is None:
            planes = _draw(points, self.tables * self.length, seed)
        else:
            planes = taken_over(origin, CodesFinder, self, points.shape[1]).functions
        starts = np.empty(self.tables * ((1 << self.length) + 1), np.uint32)
        rows = np.empty(self.tables * len(points), np.int32)
        list_codes(points, planes.axes, planes.offsets, self.length, (starts, rows))
        return CodesFinder(self, planes, starts, rows, len(points))

    def load(self, arrays: Arrays, points: Floats) -> CodesFinder:
        """Take what `save` put, for the same points."""
        read_about(arrays, str(self), points)
        n_planes = self.tables * self.length
        require(
            arrays,
            str(self),
            axes=(points.shape[1], n_planes),
            offsets=(n_planes,),
            starts=(self.tables * ((1 << self.length) + 1),),
            rows=(self.tables * len(points),),
        )
        planes = Planes(arrays["axes"], arrays["offsets"])
        return CodesFinder(self, planes, arrays["starts"], arrays["rows"], len(points))


class Planes(NamedTuple):
    """A point x lies above plane i where `offsets[i] + x @ axes[:, i] >= 0`."""

    axes: NDArray[np.float32]
    offsets: Floats


@dataclass(frozen=True, eq=False)
class CodesFinder:
    """Inverted lists of codes: table t lists code c as `rows[t n + starts[t (2^length + 1) + c]:]`.

    A query reads every point with its code, in each table: with 6 bits about a 64th of them.
    """

    exact: ClassVar[bool] = False
    scans: ClassVar[bool] = False
    config: Codes
    functions: Planes
    starts: Offsets
    rows: Ids
    n_points: int

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the points that share the most codes with each query."""
        limit = min(k * self.config.limit or self.n_points, self.n_points)
        return self._count(queries, limit)

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose all points that share a code with each query: codes know no radius."""
        return self._count(queries, self.n_points)

    def save(self, out: Output) -> None:
        """Put the planes and the lists."""
        lists = {"starts": self.starts, "rows": self.rows}
        for name, array in (self.functions._asdict() | lists).items():
            out.put(name, array)
        note_about(out, str(self.config), self.n_points, len(self.functions.axes))

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        arrays = (*self.functions, self.starts, self.rows)
        return sum(array.nbytes for array in arrays)

    def _count(self, queries: Floats, limit: int) -> Proposals:
        queries = checked_queries(queries, len(self.functions.axes))
        lists = (self.starts, self.rows, self.n_points)
        return Proposals(
            *most_shared(queries, *self.functions, self.config.length, lists, max(limit, 1))
        )


def taken_over(origin: Any, kind: type[Any], config: object, dimension: int) -> Any:
    """Give the finder whose functions are used again, or say why they cannot be."""
    if not isinstance(origin, kind) or origin.config != config:
        theirs = getattr(origin, "config", type(origin).__name__)
        raise UsageError(f"{config} cannot take over from {theirs}: build without an origin")
    theirs = len(origin.functions.axes)
    if theirs != dimension:
        raise UsageError(
            f"points of {dimension} coordinates cannot take over from an index of {theirs}: "
            "build without an origin"
        )
    return origin


def note_about(out: Output, method: str, n_points: int, dimension: int, **more: int) -> None:
    """Put what arrays alone do not say of an index."""
    out.note(method=method, points=n_points, dimension=dimension, **more)


def read_about(arrays: Arrays, method: str, points: Floats) -> Mapping[str, Any]:
    """Give what `note_about` put, or say why the index is not one of these points."""
    about = arrays.meta
    shape = (about["points"], about["dimension"])
    if about["method"] != method or np.shape(points) != shape:
        raise UsageError(
            f"the stored index is {about['method']} of points shaped {shape}, "
            f"not {method} of points shaped {np.shape(points)}: build it again"
        )
    return about


def _draw(points: Floats, n_planes: int, seed: int) -> Planes:
    """Draw planes through the mean of the points."""
    random = np.random.default_rng(seed)
    axes = random.standard_normal((points.shape[1], n_planes), np.float32)
    centre = np.zeros(points.shape[1])
    if len(points):
        centre = points.mean(axis=0, dtype=np.float64)
    offsets = np.empty(n_planes, np.float32)
    project(centre.astype(np.float32), axes, np.zeros(n_planes, np.float32), offsets)
    return Planes(axes, -offsets)


@kernel
def project(point: Floats, axes: NDArray[np.float32], offsets: Floats, values: Floats) -> None:
    """Project a point on many axes, coordinate by coordinate: the order of a sum never changes.

    Equals, in single precision, `values = offsets; for x, row in zip(point, axes): values += x *
    row`, and but for rounding `values = offsets + point @ axes`.
    """
    values[:] = offsets
    fours = len(point) - len(point) % 4
    for j in range(0, fours, 4):
        # Sums are fetched and put back once for four coordinates.
        x0, x1, x2, x3 = point[j], point[j + 1], point[j + 2], point[j + 3]
        # One comparison: with four the loop below is not vectorised.
        if abs(x0) + abs(x1) + abs(x2) + abs(x3) == 0:
            continue
        row0, row1, row2, row3 = axes[j], axes[j + 1], axes[j + 2], axes[j + 3]
        for i in range(len(values)):
            value = values[i] + x0 * row0[i]
            value = value + x1 * row1[i]
            value = value + x2 * row2[i]
            values[i] = value + x3 * row3[i]
    for j in range(fours, len(point)):
        x, row = point[j], axes[j]
        for i in range(len(values)):
            values[i] += x * row[i]


@kernel
def code_of(values: Floats, first: Int, length: Int) -> Int:
    """Read a code off projections. Equals `(values[first:first + length] >= 0) @ 2 ** arange`."""
    code = 0
    for i in range(length):
        if values[first + i] >= 0:
            code += 1 << i
    return code


@kernel
def list_codes(
    points: Floats,
    axes: NDArray[np.float32],
    offsets: Floats,
    length: Int,
    out: tuple[Offsets, Ids],
) -> None:
    """List points by code in each table, in ascending order.

    Equals for table t, where `codes` is that of each point, `rows = codes.argsort(stable=True)`
    and `starts = codes[rows].searchsorted(arange(2 ** length + 1))`.
    """
    starts, rows = out
    n_points, n_tables = len(points), len(offsets) // length
    n_codes: Int = 1 << length
    values = np.empty(len(offsets), np.float32)
    codes = np.empty((n_tables, n_points), np.uint16)
    for i in range(n_points):
        project(points[i], axes, offsets, values)
        for t in range(n_tables):
            codes[t, i] = code_of(values, t * length, length)
    at = np.empty(n_codes + 1, np.int64)
    c: Int
    for t in range(n_tables):
        own = codes[t]
        at[:] = 0
        for i in range(n_points):
            at[np.int64(own[i]) + 1] += 1
        for c in range(n_codes):
            at[c + 1] += at[c]
        for c in range(n_codes + 1):
            starts[t * (n_codes + 1) + c] = at[c]
        for i in range(n_points):
            c = np.int64(own[i])
            rows[t * n_points + at[c]] = i
            at[c] += 1


@kernel
def most_shared(
    queries: Floats,
    axes: NDArray[np.float32],
    offsets: Floats,
    length: Int,
    lists: tuple[Offsets, Ids, Int],
    limit: Int,
) -> tuple[Ints, Ints]:
    """Find the points that share the most codes with each query, at most `limit`, ascending.

    Equals, where `shared` counts the tables in which a point has the query's code,
    `sort(lexsort((arange(n), -shared))[:min(limit, (shared > 0).sum())])`.
    """
    starts, rows, n_points = lists
    n_tables = len(offsets) // length
    n_codes: Int = 1 << length
    values = np.empty(len(offsets), np.float32)
    shared = np.zeros((n_points + 7) // 8 * 8, np.uint8)
    eights = shared.view(np.uint64)
    reached = np.empty(n_tables + 2, np.int64)
    bounds = np.zeros(len(queries) + 1, np.int64)
    room = min(limit, n_points)
    found = np.empty(room * min(len(queries), 16), np.int64)
    for q in range(len(queries)):
        project(queries[q], axes, offsets, values)
        reached[:] = 0
        for t in range(n_tables):
            c = t * (n_codes + 1) + code_of(values, t * length, length)
            for e in range(np.int64(starts[c]), np.int64(starts[c + 1])):
                row = rows[t * n_points + e]
                count = shared[row] + np.uint8(1)
                shared[row] = count
                reached[count] += 1
        least = n_tables
        while least > 1 and reached[least] < limit:
            least -= 1
        # How many of those that share just as many as the last are among the first.
        spare = limit - reached[least + 1]
        n_found = bounds[q]
        if n_found + room > len(found):
            grown = np.empty(2 * len(found) + room, np.int64)
            grown[:n_found] = found[:n_found]
            found = grown
        # Eight counts at a time: the sum with this has a byte's highest bit where it is reached.
        lift = _ONES * np.uint64(128 - least)
        for e in range(len(eights)):
            if (eights[e] + lift) & _HIGHEST:
                for i in range(8 * e, 8 * e + 8):
                    count = np.int64(shared[i])
                    if count > least or (count == least and spare > 0):
                        spare -= count == least
                        found[n_found] = i
                        n_found += 1
            eights[e] = 0
        bounds[q + 1] = n_found
    return bounds, found[: bounds[-1]].copy()
