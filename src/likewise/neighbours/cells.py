"""Cells: vectors listed by the nearest of some centroids, with a head of each that is compared.

Centroids are learnt from a sample (k-means). A head is a vector's coordinates along the directions
in which the sample is longest (its principal axes, not centred, so that inner products are kept as
well as so few numbers can), a byte each; heads of a cell stand side by side. A query reads the
cells whose centroids are nearest until they have enough vectors, and proposes those with the
largest products of heads. What is scored by another part besides can add what it knows of each row:
the best of both together are then proposed.

Products of matrices run on one thread and parts of fixed sizes: the same vectors give the same bits
on any number of threads.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise import notation
from likewise.borrowed import borrowed
from likewise.collection.arrays import Arrays, Output, require
from likewise.compiled import (
    Bools,
    Doubles,
    Floats,
    Ids,
    Int,
    Ints,
    Offsets,
    kernel,
    one_blas_thread,
)
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.int8 import LARGEST, Coded, CodedPoints, Codes, scan_points
from likewise.neighbours.largest import KEY_UNIT, keep_largest, key_of, room_for, rows_of

# So many cells for the root of the number of vectors, learnt from so many vectors each, and no
# fewer than `_FEWEST`.
_PER_ROOT, _PER_CELL, _ITERATIONS = 1.2, 39, 8
_AT_ONCE = _FEWEST = 1 << 14
# This share of vectors is read by a query that does not say how many; so many times as many as
# are asked for are proposed, and some more: heads are a rough guide.
_SHARE, _TIMES, _SPARE = 0.06, 4, 400
_LARGEST_WEIGHT = 32_000
# So many rows of a cell at a time.
_PART = 256
# Scores are counted by so many ranges of so many bits, which are two in all; what is not allowed
# has the least number that there is.
_RANGES, _RANGE_BITS = 1 << 12, 13
_NEVER = -(1 << 31)

_NO_ROWS: NDArray[np.int16] = np.zeros(0, np.int16)
# Products of so many bytes and 16-bit numbers stay within 32 bits.
_MOST_AXES = 512
_NO_MASK: Bools = np.zeros(0, np.bool_)


class Lists(NamedTuple):
    """The vectors of cell i are `rows[bounds[i]:bounds[i + 1]]`, their heads beside them."""

    bounds: Offsets
    rows: Offsets
    heads: Codes


@dataclass(frozen=True)
class Cells:
    """Cells of vectors of one length: about 1.2 times the root of their number where it is 0.

    Heads have `axes` coordinates.
    """

    cells: int = 0
    axes: int = 48
    notation: ClassVar[str] = "cells"

    def __post_init__(self) -> None:
        if self.cells < 0 or not 1 <= self.axes <= _MOST_AXES:
            raise UsageError(f"{self}: cells must be 0 or more, axes from 1 to {_MOST_AXES}")

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, coded: Coded, *, seed: int = 0) -> CellsFinder:
        """List the vectors of a segment."""
        points = CodedPoints([coded])
        n, width = points.shape
        n_cells = self.cells or max(round(_PER_ROOT * math.sqrt(n)), 1)
        n_cells = min(n_cells, max(n // _PER_CELL, 1))
        generator = np.random.default_rng(seed)
        size = min(n, max(n_cells * _PER_CELL, _FEWEST))
        sample = points[np.sort(generator.permutation(n)[:size])]
        sample = sample[np.isfinite(sample).all(axis=1)]
        with one_blas_thread():
            axes = _principal_axes(sample, min(self.axes, width))
            inside = sample @ axes.T
            steps = np.abs(inside).max(axis=0, initial=0).astype(np.float32) / LARGEST
            steps[steps == 0] = 1
            centroids = _learn(inside, n_cells, generator)
            lists = _list(points, axes, steps, centroids)
        return CellsFinder(axes, steps, centroids, lists)

    def load(self, arrays: Arrays, coded: Coded) -> CellsFinder:
        """Take what `save` put, for the same vectors."""
        n, width = coded.codes.shape
        n_axes = min(self.axes, width)
        require(
            arrays,
            str(self),
            axes=(n_axes, width),
            steps=(n_axes,),
            centroids=(-1, n_axes),
            rows=(n,),
            heads=(n, n_axes),
        )
        require(arrays, str(self), bounds=(len(arrays["centroids"]) + 1,))
        lists = Lists(arrays["bounds"], arrays["rows"], arrays["heads"])
        ends = lists.bounds.astype(np.int64)
        whole = ends[0] == 0 and ends[-1] == n and (np.diff(ends) >= 0).all()
        if not whole or (n and int(lists.rows.max()) >= n):
            raise DamagedError(f"{self}: its lists do not fit the vectors; build it again")
        return CellsFinder(arrays["axes"], arrays["steps"], arrays["centroids"], lists)


class CellsFinder:
    """Cells of the vectors of a segment; safe to use from several threads."""

    def __init__(self, axes: Floats, steps: Floats, centroids: Floats, lists: Lists) -> None:
        self.axes = axes
        self.steps = steps
        self.centroids = centroids
        self.lists = lists
        self._halves = np.square(centroids).sum(axis=1) / 2

    def __len__(self) -> int:
        return len(self.lists.rows)

    def propose(
        self, point: Floats, n: int, *, rough: bool = False, least: float = -math.inf
    ) -> Ints:
        """Propose n rows or more, if there are, with the largest products of heads."""
        n = min(_TIMES * n + (0 if rough else _SPARE), len(self))
        wanted = math.ceil(max(_SHARE * len(self), 2 * n))
        # Keys have room for products up to 128; only their order counts.
        unit = point / (np.linalg.norm(point.astype(np.float64)) or 1.0)
        return rows_of(self.largest(unit.astype(np.float64), n, read=wanted))

    def largest(
        self,
        point: Doubles,
        n: int,
        *,
        read: int,
        added: tuple[NDArray[np.int16], float] = (_NO_ROWS, 0.0),
        allowed: Bools | None = None,
    ) -> Ints:
        """Give the keys (see `largest`) of the n rows with the largest products with a point.

        The nearest cells that have `read` rows together are read. `added` are numbers of rows,
        which count in scores by a factor.
        """
        length = math.sqrt(float(point @ point)) or 1.0
        inside = np.empty(len(self.axes), np.float32)
        scan_points(self.axes, _ones(len(inside)), (point / length).astype(np.float32), inside)
        near = np.empty(len(self.centroids), np.float32)
        scan_points(self.centroids, _ones(len(near)), inside, near)
        order = np.argsort(self._halves - near, kind="stable")
        weights = inside * (self.steps * np.float64(length))
        unit = max(float(np.abs(weights).max(initial=0)), 1e-300) / _LARGEST_WEIGHT
        asked = np.rint(weights / unit).astype(np.int16)
        mask = _NO_MASK if allowed is None else allowed
        keys = room_for(n)
        size = read_cells(self.lists, order, read, (asked, unit), added, mask, keys, n)
        found: Ints = keys[:size]
        return found

    def save(self, out: Output) -> None:
        """Put the cells."""
        for name in ("axes", "steps", "centroids"):
            out.put(name, getattr(self, name))
        for name, values in self.lists._asdict().items():
            out.put(name, values)

    @property
    def n_bytes(self) -> int:
        """How large it is, without the vectors."""
        arrays = (self.axes, self.steps, self.centroids, *self.lists)
        return sum(array.nbytes for array in arrays)


@cache
def _ones(n: int) -> Floats:
    return np.ones(n, np.float32)


def _principal_axes(sample: Floats, n: int) -> Floats:
    """Give the n directions in which a sample is longest, a row each, of a fixed sign."""
    wide = sample.astype(np.float64)
    _, vectors = np.linalg.eigh(wide.T @ wide)
    axes = vectors[:, ::-1][:, :n].T
    signs = np.sign(axes[np.arange(n), np.abs(axes).argmax(axis=1)])
    return np.ascontiguousarray(axes * signs[:, None], np.float32)


def _learn(points: Floats, n_cells: int, generator: np.random.Generator) -> Floats:
    """Learn centroids by k-means; a cell that has lost its points takes half of the largest's."""
    width = points.shape[1]
    if not len(points):
        return np.zeros((1, width), np.float32)
    chosen = generator.permutation(len(points))[: min(n_cells, len(points))]
    centroids = points[np.sort(chosen)]
    for _ in range(_ITERATIONS):
        cells = _assigned(points, centroids)
        sums = np.zeros(centroids.shape)
        add_rows(points, cells, sums)
        sizes = np.bincount(cells, minlength=len(centroids))
        centroids = (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32)
        for empty in np.flatnonzero(sizes == 0).tolist():
            largest = int(sizes.argmax())
            nudge = np.where(np.arange(width) % 2 == 0, 1 / 1024, -1 / 1024)
            centroids[empty] = centroids[largest] * (1 + nudge)
            centroids[largest] *= 1 - nudge
            sizes[empty] = sizes[largest] // 2
            sizes[largest] -= sizes[empty]
    return centroids


def _assigned(points: Floats, centroids: Floats) -> Ints:
    """Give the nearest centroid of each point, in parts of a fixed size."""
    halves = np.square(centroids).sum(axis=1) / 2
    found = [
        np.argmax(points[i : i + _AT_ONCE] @ centroids.T - halves, axis=1)
        for i in range(0, len(points), _AT_ONCE)
    ]
    return np.concatenate([np.empty(0, np.int64), *found])


def _list(points: CodedPoints, axes: Floats, steps: Floats, centroids: Floats) -> Lists:
    """Put all vectors into cells, in the order of rows."""
    n = len(points)
    cells, heads = np.empty(n, np.int32), np.empty((n, len(axes)), np.int8)

    def part(first: int) -> None:
        mine = slice(first, first + _AT_ONCE)
        # Some libraries' limit is a thread's own.
        with one_blas_thread():
            inside = np.nan_to_num(points[mine]) @ axes.T
            cells[mine] = _assigned(inside, centroids)
        heads[mine] = np.clip(np.rint(inside / steps), -LARGEST, LARGEST)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(part, range(0, n, _AT_ONCE)))
    order = np.argsort(cells, kind="stable")
    bounds = np.searchsorted(cells[order], np.arange(len(centroids) + 1))
    return Lists(bounds.astype(np.uint32), order.astype(np.uint32), heads[order])


@kernel
def add_rows(points: Floats, cells: Ints, out: Doubles) -> None:
    """Add up the points of each cell. Equals `np.add.at(out, cells, points)`."""
    for i in range(len(points)):
        for k in range(points.shape[1]):
            out[cells[i], k] += points[i, k]


@kernel
def product(head: Codes, query: NDArray[np.int16]) -> Any:
    """Multiply a head with a query. Equals `head.astype(int) @ query`, within 32 bits.

    Of slices whole numbers are added many at a time.
    """
    total = np.int32(0)
    for k in range(len(query)):
        total = np.int32(total + np.int32(np.int32(head[k]) * np.int32(query[k])))
    return total


@kernel
def multiply(heads: Codes, query: NDArray[np.int16], out: Ids) -> None:
    """Multiply the heads of a cell with a query. Equals `out = heads @ query`.

    Four heads side by side take half as long as one after the other.
    """
    whole: Int = len(out) // 4 * 4
    for j in range(0, whole, 4):
        one, two, three, four = heads[j], heads[j + 1], heads[j + 2], heads[j + 3]
        a = b = c = d = np.int32(0)
        for k in range(len(query)):
            value = np.int32(query[k])
            a = np.int32(a + np.int32(one[k]) * value)
            b = np.int32(b + np.int32(two[k]) * value)
            c = np.int32(c + np.int32(three[k]) * value)
            d = np.int32(d + np.int32(four[k]) * value)
        out[j], out[j + 1], out[j + 2], out[j + 3] = a, b, c, d
    for j in range(whole, len(out)):
        out[j] = product(heads[j], query)


@kernel
def read_cells(
    lists: Lists,
    order: Ints,
    read: Int,
    query: tuple[NDArray[np.int16], Any],
    added: tuple[NDArray[np.int16], Any],
    allowed: Bools,
    keys: Ints,
    n: Int,
) -> Int:
    """Gather the keys of the n best rows of the first cells of an order; give how many there are.

    Rows have the score `heads @ query * unit + added * factor`, cell by cell until `read` rows were
    read; what is not allowed is left out, where the mask is not empty. Products come first, then
    the sums that are added, which stand all over memory: so they are fetched at once. Which rows
    are among the best is told when all have a score, by how many have one as large.
    """
    bounds, rows, heads = borrowed(lists)
    asked, unit = borrowed(query)
    sums, factor = borrowed(added)
    total: Int = 0
    n_cells = 0
    while n_cells < len(order) and total < read:
        cell = order[n_cells]
        total += np.int64(bounds[cell + 1]) - np.int64(bounds[cell])
        n_cells += 1
    scores = np.empty(total, np.int32)
    to_key, sums_to_key = unit * KEY_UNIT, factor * KEY_UNIT
    products = np.empty(_PART, np.int32)
    values = np.empty(_PART, np.float64)
    done: Int = 0
    for i in range(n_cells):
        start: Int = np.int64(bounds[order[i]])
        stop: Int = np.int64(bounds[order[i] + 1])
        for first in range(start, stop, _PART):
            last: Int = min(first + _PART, stop)
            mine, m = rows[first:last], last - first
            multiply(heads[first:last], asked, products[:m])
            for j in range(m):
                values[j] = products[j] * to_key
            if len(sums):
                for j in range(m):
                    values[j] += sums[mine[j]] * sums_to_key
            out = scores[done : done + m]
            for j in range(m):
                out[j] = np.int32(np.floor(values[j]))
            if len(allowed):
                for j in range(m):
                    if not allowed[mine[j]]:
                        out[j] = _NEVER
            done += m
    least: Any = least_of_largest(scores, n)
    size: Int = 0
    done = 0
    for i in range(n_cells):
        mine = rows[np.int64(bounds[order[i]]) : np.int64(bounds[order[i] + 1])]
        for j in range(len(mine)):
            score = scores[done + j]
            if score >= least and score != _NEVER:
                keys[size] = key_of(score, mine[j])
                size += 1
                if size == len(keys):
                    size = keep_largest(keys, size, n)
                    least = max(least, keys[n - 1] >> 32)
        done += len(mine)
    return keep_largest(keys, size, n)


@kernel
def _largest(values: Ids) -> Any:
    """Find the largest of values. Equals `values.max()`: of a slice many are compared at a time."""
    largest = values[0]
    for i in range(len(values)):
        largest = max(largest, values[i])
    return largest


@kernel
def least_of_largest(scores: Ids, n: Int) -> Int:
    """Give a number that at least n of the scores are not below, near the largest of such.

    It is the lower end of one of some thousand ranges below the largest score.
    """
    high: Any = _NEVER
    for first in range(0, len(scores), _PART):
        high = max(high, np.int64(_largest(scores[first : first + _PART])))
    low: Any = high + 1 - (_RANGES << _RANGE_BITS)
    numbers = np.zeros(_RANGES, np.int64)
    for i in range(len(scores)):
        above: Any = max(np.int64(scores[i]) - low, 0)
        numbers[above >> _RANGE_BITS] += 1
    place: Any = _RANGES
    there: Any = 0
    while place > 1 and there < n:
        place -= 1
        there += numbers[place]
    least: Int = _NEVER
    if there >= n:
        least = low + (place << _RANGE_BITS)
    return least
