"""The exact scan: every point is looked at, many at a time by one product of matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Doubles, Floats, Int, Ints, kernel
from likewise.neighbours.finder import Finder, Proposals, gather
from likewise.neighbours.int8 import Points

_ROWS_AT_ONCE = 8192
# A product of matrices rounds in an order of its own, so all rows that it puts this close to the
# k-th (as a share of squared lengths) are proposed, and whoever asks has the last word.
_ROUNDING = 1e-5
_SPARE = 16


@dataclass(frozen=True)
class Scan:
    """Look at every point."""

    notation: ClassVar[str] = "scan"

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> Scanner:
        """Build nothing: the points are the index."""
        return Scanner(points)

    def load(self, arrays: Arrays, points: Floats) -> Scanner:
        """Load nothing: the points are the index."""
        return Scanner(points)


class Scanner:
    """The points themselves."""

    exact = True
    scans = True
    n_bytes = 0

    def __init__(self, points: Points) -> None:
        self._points = points
        blocks = range(0, len(points), _ROWS_AT_ONCE)
        halves = [_half_squares(points[i : i + _ROWS_AT_ONCE]) for i in blocks]
        self._halves: Doubles = np.concatenate([*halves, np.empty(0)])
        self._largest = float(self._halves.max(initial=0.0))

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the k nearest points, and a few more."""
        k = min(k, len(self._points))
        keys = np.full((len(queries), k + _SPARE), -np.inf, np.float32)
        rows = np.full((len(queries), k + _SPARE), -1, np.int64)
        if k == 0:
            return gather([np.empty(0, np.int64) for _ in queries])
        for start in range(0, len(self._points), _ROWS_AT_ONCE):
            keep_largest(self._nearness(queries, start), start, keys, rows)
        least = keys[:, k - 1] - self._rounding(_half_squares(queries)).astype(np.float32)
        if (keys[:, -1] >= least).any():  # as where many documents are the same
            return self._at_least(queries, least)
        kept = keys >= least[:, None]
        bounds = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        return Proposals(bounds, rows[kept])

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose all points within a radius."""
        halves = _half_squares(queries)
        return self._at_least(queries, halves - radius**2 / 2 - self._rounding(halves))

    def _at_least(self, queries: Floats, least: NDArray[Any]) -> Proposals:
        found: list[list[Ints]] = [[] for _ in range(len(queries))]
        for start in range(0, len(self._points), _ROWS_AT_ONCE):
            where, rows = np.nonzero(self._nearness(queries, start) >= least[:, None])
            ends = np.searchsorted(where, np.arange(1, len(queries) + 1))
            for mine, piece in zip(found, np.split(rows, ends)[:-1], strict=True):
                mine.append(piece + start)
        return gather([np.concatenate([*mine, np.empty(0, np.int64)]) for mine in found])

    def save(self, out: Output) -> None:
        """Put nothing: the points are kept by whoever has them."""

    def _rounding(self, halves: Doubles) -> Doubles:
        """Give how far products of queries may be from what they should be."""
        return np.asarray(2 * _ROUNDING * np.maximum(halves, self._largest))

    def _nearness(self, queries: Floats, start: int) -> Floats:
        """Give `⟨x, y⟩ - ‖x‖²/2` of points x and queries y: the larger the nearer."""
        end = start + _ROWS_AT_ONCE
        product: Floats = queries @ self._points[start:end].T
        product -= self._halves[start:end].astype(np.float32)
        return product


def _half_squares(points: Floats) -> Doubles:
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64) / 2)


def nearest_rows(points: Points, queries: Floats, k: int) -> list[list[int]]:
    """Find the k nearest points of each query exactly, the nearest first, ties by row."""
    bounds, rows = Scanner(points).propose(queries, k)
    out = []
    for i, query in enumerate(queries):
        mine = rows[bounds[i] : bounds[i + 1]]
        order = np.lexsort((mine, ((points[mine] - query) ** 2).sum(axis=1)))
        out.append(mine[order[:k]].tolist())
    return out


@kernel
def keep_largest(values: Floats, start: Int, keys: Floats, rows: Ints) -> None:
    """Merge a block of values into the largest so far of each row, ties by earlier column.

    Column j stands for row number `start + j`. Equals a stable argsort of -values, merged.
    """
    k = keys.shape[1]
    for i in range(values.shape[0]):
        least = keys[i, k - 1]
        for j in range(values.shape[1]):
            value = values[i, j]
            if not value > least:
                continue
            place = k - 1
            while place > 0 and keys[i, place - 1] < value:
                keys[i, place] = keys[i, place - 1]
                rows[i, place] = rows[i, place - 1]
                place -= 1
            keys[i, place] = value
            rows[i, place] = start + j
            least = keys[i, k - 1]
