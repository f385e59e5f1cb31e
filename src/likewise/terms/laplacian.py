"""What does the graph pass on? Its Laplacian, as a product with the stored weights.

Everything is said by M = cI - L, which is sparse: for the normalised Laplacian c = 1 and M = S, for
the combinatorial one c is the largest degree. The scaling stands in vectors beside the graph, so
that weights are kept once and in single precision; sums are in double precision. A row is one sum
in one order, whoever works it out: the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel, kernel
from likewise.errors import UsageError
from likewise.terms.graph import Graph

KINDS = ("normalised", "combinatorial")
# Below this many products threads cost more than they give.
_WORTH_THREADS = 1 << 18
_PARTS = 8
# Adding to scattered places costs more than a sum in order.
_SCATTER_COST = 3
_LANES = 8
_U = np.uint64


class Laplacian:
    """The Laplacian of a graph: `normalised` L = I - S, or `combinatorial` L = D - W.

    S = D'^-1/2 W D'^-1/2 where D' = D + damping · mean(d) I (von Luxburg 2007; damping 0 is the
    textbook one). A node without edges has no row in S, so that L is 1 there; combinatorial L is 0.
    Damping says nothing of the combinatorial one.
    """

    def __init__(
        self, graph: Graph, kind: str = "normalised", damping: float = 1.0, *, threads: int = 1
    ) -> None:
        if kind not in KINDS:
            raise UsageError(f"a Laplacian is one of {', '.join(KINDS)}, not {kind!r}")
        if not 0 <= damping < np.inf:
            raise UsageError(f"damping must be a number from 0 up, not {damping}")
        if threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads}")
        self.graph = graph
        self.kind = kind
        self.damping = damping if kind == "normalised" else 0.0
        self.threads = threads
        degrees = graph.degrees
        ones: Doubles = np.ones(len(graph), np.float64)
        if kind == "combinatorial":
            self.own: Doubles = degrees
            self.scale = ones
            self.centre = float(degrees.max(initial=0.0))
            self.radius = self.centre
        else:
            damped = degrees + damping * degrees.mean() if len(graph) else degrees
            self.own = ones
            self.scale = np.zeros(len(graph))
            np.divide(1.0, np.sqrt(damped), out=self.scale, where=degrees > 0)
            self.centre = 1.0
            shares = degrees * self.scale**2
            self.radius = min(float(shares.max(initial=0.0)), 1.0)
        self._pool: ThreadPoolExecutor | None = None

    def __len__(self) -> int:
        return len(self.graph)

    @property
    def interval(self) -> tuple[float, float]:
        """From where to where the eigenvalues of M are known to lie.

        Those of S are at most the largest d/d' (Gershgorin, in the order of D'); those of
        D - W at most twice the largest degree.
        """
        return -self.radius, self.radius

    @property
    def is_singular(self) -> bool:
        """Whether L takes a known vector of each component of edges to zero."""
        return self.kind == "combinatorial" or self.damping == 0

    @cached_property
    def kernels_of_components(self) -> Doubles:
        """Give the vectors that L takes to zero, each of length one, as their sum over components.

        It is 1 over the root of the component's size, or √d over that of its sum. Zeros where
        there is none: at any damping, and at nodes without edges if normalised.
        """
        raw = np.ones(len(self)) if self.kind == "combinatorial" else np.sqrt(self.graph.degrees)
        if not self.is_singular:
            return np.zeros(len(self))
        labels = self.graph.components
        sums = np.bincount(labels, raw * raw)[labels] if len(labels) else raw
        out: Doubles = np.divide(raw, np.sqrt(sums), out=np.zeros(len(self)), where=sums > 0)
        return out

    def apply(self, x: Doubles) -> Doubles:
        """Give M @ x, for a vector or for columns."""
        out = self.spread(x)
        if self.kind == "combinatorial":
            left = self.centre - self.own
            out += left * x if x.ndim == 1 else left[:, None] * x
        return out

    def apply_at(self, nodes: Ints, x: Doubles) -> Doubles:
        """Give these rows of M @ x, for columns, with the bits of one column at a time."""
        out = np.empty((len(nodes), x.shape[1]))
        image = np.empty(len(self))
        for j in range(x.shape[1]):
            scaled = x[:, j] * self.scale
            for node in nodes.tolist():
                multiply(*self._arrays, scaled, image, node, node + 1)
            out[:, j] = image[nodes]
        out *= self.scale[nodes, None]
        if self.kind == "combinatorial":
            out += (self.centre - self.own[nodes])[:, None] * x[nodes]
        return out

    def are_few(self, rows: Ints) -> bool:
        """Tell whether to read these rows alone is less work than to read the whole graph."""
        size = int(self.graph.sizes[rows].sum())
        return _SCATTER_COST * size < len(self.graph.columns)

    def spread(self, x: Doubles) -> Doubles:
        """Give the part of M @ x off the diagonal: S @ x, or W @ x.

        Where x has few rows that are not zero only these rows of the graph are read.
        """
        columns = x.reshape(len(x), -1)
        scaled = np.multiply(columns, self.scale[:, None], order="C")
        if self.are_few(np.flatnonzero(scaled.any(axis=1))):
            out = np.zeros_like(scaled)
            for j in range(scaled.shape[1]):
                rows = np.flatnonzero(scaled[:, j])
                image = np.zeros(len(self))
                scatter(*self._arrays, rows, scaled[rows, j], image)
                out[:, j] = image
        else:
            out = np.empty_like(scaled)
            self._product(scaled, out)
        out *= self.scale[:, None]
        return out.reshape(x.shape)

    def spread_squares(self, x: Doubles) -> Doubles:
        """Give Σ_v m_tv² x_v for each node t, m the entries of M off the diagonal."""
        squares = self.scale**2
        out = np.empty(len(self))
        add_squares(*self._arrays, squares * x, out)
        out *= squares
        return out

    def row(self, node: Int) -> tuple[Ids, Doubles]:
        """Give the nodes and entries of a row of M, without the diagonal."""
        here = slice(self.graph.bounds[node], self.graph.bounds[node + 1])
        to = self.graph.columns[here]
        return to, self.graph.weights[here] * self.scale[to] * self.scale[node]

    @property
    def _arrays(self) -> tuple[Ints, Ids, Floats]:
        return self.graph.bounds, self.graph.columns, self.graph.weights

    def _product(self, x: Doubles, out: Doubles) -> None:
        """Give W @ x: eight columns at a time, which share a cache line, then the others."""
        width = x.shape[1]
        whole = width - width % _LANES
        for first in range(0, whole, _LANES):
            some = np.ascontiguousarray(x[:, first : first + _LANES])
            image = np.empty_like(some)
            self._in_parts(multiply_lanes, some.ravel(), image)
            out[:, first : first + _LANES] = image
        for column in range(whole, width):
            image = np.empty(len(x))
            self._in_parts(multiply, np.ascontiguousarray(x[:, column]), image)
            out[:, column] = image

    def _in_parts(self, kernel: Callable[..., None], x: Doubles, out: Doubles) -> None:
        """Run a kernel over all rows, in as many threads as the work is worth."""
        arrays = self._arrays

        def part(rows: tuple[int, int]) -> None:
            kernel(*arrays, x, out, *rows)

        if self.threads == 1 or len(self.graph.columns) < _WORTH_THREADS:
            part((0, len(self)))
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        list(self._pool.map(part, self._cuts))

    @cached_property
    def _cuts(self) -> list[tuple[int, int]]:
        """Parts of the rows with about as many edges each."""
        bounds = self.graph.bounds
        n_parts = _PARTS * self.threads
        at = np.searchsorted(bounds, np.arange(1, n_parts) * int(bounds[-1]) // n_parts)
        cuts = [0, *at.tolist(), len(self)]
        return [(a, b) for a, b in pairwise(cuts) if a < b]


@fast_kernel
def multiply(
    bounds: Ints, columns: Ids, weights: Floats, x: Doubles, out: Doubles, low: Int, high: Int
) -> None:
    """Multiply a vector by some rows. Equals `out[low:high] = W[low:high] @ x`."""
    for i in range(low, high):
        # Views of a row and unsigned places: no check for places counted from the end.
        to = columns[bounds[i] : bounds[i + 1]]
        by = weights[bounds[i] : bounds[i + 1]]
        total = 0.0
        for j in range(len(to)):
            total += np.float64(by[j]) * x[_U(to[j])]
        out[i] = total


@kernel
def multiply_lanes(
    bounds: Ints,
    columns: Ids,
    weights: Floats,
    x: Doubles,
    out: NDArray[np.float64],
    low: Int,
    high: Int,
) -> None:
    """Multiply eight columns, whose rows follow each other in x, by some rows.

    A row of eight is a cache line. Sums are in order: else the compiler gathers the numbers of one
    column from several rows, which is far slower on some processors.
    Equals `out[low:high] = W[low:high] @ x.reshape(-1, 8)`.
    """
    one, two, three, four, five, six, seven = _U(1), _U(2), _U(3), _U(4), _U(5), _U(6), _U(7)
    for i in range(low, high):
        a = b = c = d = e = f = g = h = 0.0
        for j in range(_U(bounds[i]), _U(bounds[i + 1])):
            weight = np.float64(weights[j])
            at = _U(columns[j]) * _U(8)
            a += weight * x[at]
            b += weight * x[at + one]
            c += weight * x[at + two]
            d += weight * x[at + three]
            e += weight * x[at + four]
            f += weight * x[at + five]
            g += weight * x[at + six]
            h += weight * x[at + seven]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = a, b, c, d
        out[i, 4], out[i, 5], out[i, 6], out[i, 7] = e, f, g, h


@kernel
def scatter(
    bounds: Ints, columns: Ids, weights: Floats, rows: Ints, values: Doubles, out: Doubles
) -> None:
    """Add what a few nodes pass on, by the symmetry of W.

    Equals `out += W[:, rows] @ values`.
    """
    for r in range(len(rows)):
        row, value = rows[r], values[r]
        to = columns[bounds[row] : bounds[row + 1]]
        by = weights[bounds[row] : bounds[row + 1]]
        for j in range(len(to)):
            out[_U(to[j])] += np.float64(by[j]) * value


@fast_kernel
def add_squares(bounds: Ints, columns: Ids, weights: Floats, x: Doubles, out: Doubles) -> None:
    """Multiply a vector by the squares of the weights. Equals `out[:] = W**2 @ x`."""
    for i in range(len(out)):
        total = 0.0
        for j in range(bounds[i], bounds[i + 1]):
            weight = np.float64(weights[j])
            total += weight * weight * x[_U(columns[j])]
        out[i] = total
