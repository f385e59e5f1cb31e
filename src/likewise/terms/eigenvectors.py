"""Leading eigenvectors of a large Laplacian, and an interval of its other eigenvalues, by ARPACK.

Each component is searched on its own, so that vectors are zero outside of it exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.terms.laplacian import Laplacian
from likewise.terms.spectrum import dense_part, parts_of

# Components up to this many nodes are decomposed whole.
_SMALL = 300
# Relative to the radius: below it double precision sees noise.
_NOISE = 1e-13
# ARPACK's basis has at least this many vectors.
_VECTORS = 20
# How exactly the ends of the interval are sought, and in how many restarts.
_END_TOL, _END_RESTARTS = 1e-3, 20
_MARGIN, _MARGIN_LEFT = 0.03, 0.1


class Leading(NamedTuple):
    """Eigenvectors of M = cI - L as columns, and where all its other eigenvalues lie."""

    values: Doubles
    vectors: Doubles
    rest: tuple[float, float]


def leading(
    laplacian: Laplacian, count: int, *, tol: float = 1e-8, products: int = 640, seed: int = 0
) -> Leading:
    """Give eigenvectors of M within the largest component, at most `count`, far from 0 first.

    Only those with residuals below `tol` times the radius after about so many products of M with a
    vector are given, and none whose eigenvalue is below that, so there may be fewer. The vectors
    that L takes to zero are not among them: they are known.
    """
    first, last = laplacian.interval
    low = high = 0.0
    values, vectors = np.empty(0), np.empty((len(laplacian), 0))
    shares = laplacian.graph.degrees * laplacian.scale**2
    for number, nodes in enumerate(parts_of(laplacian)):
        if len(nodes) < 2:
            break
        # Gershgorin's bound is enough for most of the small components.
        radius = float(shares[nodes].max())
        bounded = laplacian.kind == "normalised" and low <= -radius and radius <= high
        if bounded and number > 0:
            continue
        part = _Part(laplacian, nodes)
        if number == 0 and count > 0:
            values, within = part.leading(count, tol, products, seed)
            vectors = np.zeros((len(laplacian), len(values)))
            vectors[nodes] = within
        ends = part.ends(seed + 1)
        low = min(low, max(ends[0], first))
        high = max(high, min(ends[1], last))
    return Leading(values, vectors, (low, high))


class _Part:
    """M within a component, with 0 for the eigenvalues of vectors that are known."""

    def __init__(self, laplacian: Laplacian, nodes: Ints) -> None:
        self.laplacian = laplacian
        self.nodes = nodes
        null = laplacian.kernels_of_components[nodes]
        self.known = null[:, None] if null.any() else np.empty((len(nodes), 0))

    def leading(self, count: int, tol: float, products: int, seed: int) -> tuple[Doubles, Doubles]:
        """Give the eigenvalues farthest from 0 and their vectors, which are known from now on."""
        size = max(3 * count, _VECTORS)
        if len(self.nodes) <= max(_SMALL, size):
            values, vectors = self._decompose()
        else:
            restarts = max(products // (size - count), 1)
            values, vectors = self._search(count, "LM", tol, size, restarts, seed)
        order = np.argsort(-np.abs(values), kind="stable")[:count]
        values, vectors = values[order], vectors[:, order]
        limit = tol * self.laplacian.radius
        good = (self._residuals(values, vectors) <= limit) & (np.abs(values) > limit)
        values, vectors = values[good], vectors[:, good]
        largest = np.abs(vectors).argmax(axis=0)
        vectors *= np.sign(vectors[largest, np.arange(len(values))])
        self.known = np.concatenate([self.known, vectors], axis=1)
        return values, vectors

    def ends(self, seed: int) -> tuple[float, float]:
        """Bound the eigenvalues that are not known.

        Those of large components are found nearly, from another start; their residuals are added,
        and a margin.
        """
        first, last = self.laplacian.interval
        if len(self.nodes) <= _SMALL:
            values, _ = self._decompose()
            noise = _NOISE * self.laplacian.radius
            return float(values.min()) - noise, float(values.max()) + noise
        values, vectors = self._search(2, "BE", _END_TOL, _VECTORS, _END_RESTARTS, seed)
        if len(values) < 2:
            return first, last
        residuals = self._residuals(values, vectors)
        return (
            _widen(float((values - residuals).min()), first),
            _widen(float((values + residuals).max()), last),
        )

    def apply(self, x: Doubles) -> Doubles:
        """Give the product with a vector or with columns."""
        inside = x - self.known @ (self.known.T @ x)
        whole = np.zeros((len(self.laplacian), *x.shape[1:]))
        whole[self.nodes] = inside
        image: Doubles = self.laplacian.apply(whole)[self.nodes]
        image -= self.known @ (self.known.T @ image)
        return image

    def _search(
        self, count: int, which: str, tol: float, size: int, restarts: int, seed: int
    ) -> tuple[Doubles, Doubles]:
        """Give those eigenvalues that ARPACK finds, with their vectors, from a basis of `size`."""
        n = len(self.nodes)
        operator = LinearOperator((n, n), matvec=lambda x: self.apply(x.ravel()), dtype=np.float64)
        start = np.random.default_rng(seed).standard_normal(n)
        with one_blas_thread():
            try:
                values, vectors = eigsh(
                    operator,
                    count,
                    which=which,
                    v0=start,
                    ncv=size,
                    maxiter=restarts,
                    tol=tol,
                    rng=seed,
                )
            except ArpackNoConvergence as failure:
                values, vectors = failure.eigenvalues, failure.eigenvectors
        return values, vectors

    def _decompose(self) -> tuple[Doubles, Doubles]:
        """Give all eigenvalues and vectors."""
        with one_blas_thread():
            square = np.diag(np.full(len(self.nodes), self.laplacian.centre))
            square -= dense_part(self.laplacian, self.nodes)
            square -= self.known @ (self.known.T @ square)
            square -= (square @ self.known) @ self.known.T
            values, vectors = np.linalg.eigh(square)
        return values, vectors

    def _residuals(self, values: Doubles, vectors: Doubles) -> Doubles:
        with one_blas_thread():
            found: Doubles = np.linalg.norm(self.apply(vectors) - vectors * values, axis=0)
        return found


def _widen(end: float, bound: float) -> float:
    """Move an end away from 0 by a margin that leaves most of the way to its known bound."""
    return end + min(_MARGIN * abs(end), _MARGIN_LEFT * max(abs(bound) - abs(end), 0.0)) * (
        1 if bound > 0 else -1
    )
