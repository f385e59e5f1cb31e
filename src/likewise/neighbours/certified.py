"""Exact search by a divergence that Euclidean distance bounds, with a proof for each query.

Jensen-Shannon divergence is at least (ln 2 / 2) times the Hellinger distance, and
Kullback-Leibler at least 1 times. So once k documents within a divergence J are known, a document
whose Hellinger distance exceeds J over that factor cannot be among the k nearest, and is ruled
out without its divergence being worked out: it takes a product of matrices, which is many times
faster than logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError
from likewise.neighbours.finder import Proposals
from likewise.neighbours.index import Nearest, Neighbours, Part

# Both sides of the proof are of single precision.
_ROUNDING = 1e-5
_QUERIES_AT_ONCE = 64
_FIRST, _FEWEST = 8, 64


class Certified(NamedTuple):
    """The nearest vectors of each query as `Nearest` has them, and whether that is proved.

    `closed` says that nothing nearer exists; `examined` is how many divergences were worked out.
    """

    numbers: Ints
    distances: Floats
    closed: Bools
    examined: Ints


def certify(
    neighbours: Neighbours, queries: ArrayLike, k: int, *, limit: int, allowed: Bools | None
) -> Certified:
    """Find the k nearest by Jensen-Shannon or Kullback-Leibler divergence, and prove it.

    See `Neighbours.nearest`.
    """
    if neighbours.metric.floor == 0:
        raise UsageError(
            f"{neighbours.metric.name} needs no certificate, its scan is exact; "
            "js and kl can be certified"
        )
    points, barred = neighbours.asked(queries, allowed)
    numbers = np.full((len(points), k), -1, np.int64)
    distances = np.full((len(points), k), np.inf, np.float32)
    closed = np.zeros(len(points), np.bool_)
    examined = np.zeros(len(points), np.int64)
    for start in range(0, len(points), _QUERIES_AT_ONCE):
        block = slice(start, start + _QUERIES_AT_ONCE)
        best = Nearest(numbers[block], distances[block])
        horizon = _examine_nearest(neighbours, points[block], barred, best, examined[block])
        for i in range(*block.indices(len(points))):
            reach = neighbours.metric.reach(float(distances[i, -1]) + _ROUNDING)
            if reach < horizon[i - start] or horizon[i - start] == np.inf:
                closed[i] = True
            else:
                best = Nearest(numbers[i : i + 1], distances[i : i + 1])
                closed[i], n = _examine_within(neighbours, points[i], reach, barred, best, limit)
                # What was examined before is within reach, and is examined again.
                examined[i] = max(examined[i], n)
    empty = ~points.any(axis=1)
    numbers[empty], distances[empty] = -1, np.inf
    return Certified(numbers, distances, closed | empty, examined)


def _examine_nearest(
    neighbours: Neighbours, queries: Floats, barred: Bools, best: Nearest, examined: Ints
) -> Floats:
    """Examine the nearest points; tell how far everything nearer was examined (all: infinity)."""
    n_first = max(_FIRST * best.numbers.shape[1], _FEWEST)
    horizon = np.full(len(queries), np.inf, np.float32)
    for part in neighbours.parts:
        proposals = part.scanner.propose(queries, n_first)
        neighbours.merge(part, queries, proposals, barred, best)
        examined += np.diff(proposals.bounds)
        if n_first < len(part.points):
            farthest = [
                _distances(part, query, proposals, i).max() for i, query in enumerate(queries)
            ]
            np.minimum(horizon, np.array(farthest, np.float32) - _ROUNDING, out=horizon)
    return horizon


def _examine_within(
    neighbours: Neighbours, query: Floats, reach: float, barred: Bools, best: Nearest, limit: int
) -> tuple[bool, int]:
    """Examine all points within reach, if they are not too many."""
    n = 0
    found: list[tuple[Part, Proposals]] = []
    for part in neighbours.parts:
        # Two points of the simplex are never farther than √2: beyond, everything is in reach.
        proposals = part.scanner.propose_within(query[None, :], min(reach, math.sqrt(2) + 0.01))
        found.append((part, proposals))
        n += len(proposals.rows)
    if limit and n > limit:
        return False, 0
    best.numbers[:], best.distances[:] = -1, np.inf
    for part, proposals in found:
        neighbours.merge(part, query[None, :], proposals, barred, best)
    return True, n


def _distances(part: Part, query: Floats, proposals: Proposals, i: int) -> Floats:
    rows = proposals.rows[proposals.bounds[i] : proposals.bounds[i + 1]]
    out: Floats = np.sqrt(((part.points[rows] - query) ** 2).sum(axis=1))
    return out
