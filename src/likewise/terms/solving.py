"""What reaches a set of nodes, without a decomposition? Kernels by products with the graph.

Two routes: a polynomial of M, with the leading eigenvectors taken off first where they are known,
and for the resistance kernel the solution of (L + εI) x = b by conjugate gradients. Nodes without
a way between them have K_ij = 0 exactly: vectors are only ever added up and passed along edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Ints, kernel, one_blas_thread
from likewise.errors import LikewiseError, UsageError
from likewise.terms.eigenvectors import Leading, leading
from likewise.terms.laplacian import Laplacian
from likewise.terms.polynomial import approximate
from likewise.terms.sketch import PROBES, Sketch, sketch_by_polynomial, sketch_by_solving
from likewise.terms.transforms import Transform

_BLOCK = 32
_LARGEST_GROWTH = 1e3
# Eigenvectors that take longer to find are too near the others to be worth it.
_PRODUCTS = 128


class ColumnKernel(ABC):
    """A kernel known by its columns: entries are read off them, and the diagonal is sketched."""

    laplacian: Laplacian

    def __len__(self) -> int:
        return len(self.laplacian)

    @abstractmethod
    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets."""

    @property
    @abstractmethod
    def sketch(self) -> Sketch:
        """The diagonal of K, with its standard errors."""

    def block(self, nodes: Ints) -> Doubles:
        """Give the entries of K between nodes."""
        found = np.empty((len(nodes), len(nodes)))
        for first, part in self._some_columns(nodes):
            found[:, first : first + part.shape[1]] = part[nodes]
        return (found + found.T) / 2

    def diagonal(self) -> Doubles:
        """Give K_ii of all nodes, sketched."""
        return self.sketch.values

    def diagonal_errors(self) -> Doubles:
        """Give the standard errors of the sketched diagonal."""
        return self.sketch.errors

    def diagonal_of(self, nodes: Ints) -> Doubles:
        """Give K_ii of some nodes, to the kernel's tolerance."""
        found = np.empty(len(nodes))
        for first, part in self._some_columns(nodes):
            some = nodes[first : first + part.shape[1]]
            found[first : first + len(some)] = part[some, np.arange(len(some))]
        return found

    def _some_columns(self, nodes: Ints) -> Iterator[tuple[int, Doubles]]:
        for first in range(0, len(nodes), _BLOCK):
            some = nodes[first : first + _BLOCK]
            sets = np.zeros((len(self), len(some)))
            sets[some, np.arange(len(some))] = 1.0
            yield first, self.columns(sets)


class ChebyshevKernel(ColumnKernel):
    """K = g(c) I + M h(M), h by a polynomial but for the eigenvectors that are known.

    K x = g(c) x + M (Σ_k (h(μ_k) - p(μ_k)) u_k u_kᵀ x + p(M) x): the more of the leading u_k are
    known, the narrower is the rest and the shorter the polynomial (`count`; 0 is plain Chebyshev).
    The vectors that L takes to zero are always known. `tol` is the error relative to the largest
    g(λ), those aside; entries are the sums of their parts exactly, whatever the error.
    """

    def __init__(
        self,
        laplacian: Laplacian,
        transform: Transform,
        *,
        count: int = 0,
        tol: float = 1e-6,
        seed: int = 0,
        constant: bool = True,
        found: Leading | None = None,
    ) -> None:
        _check_tol(tol)
        self.laplacian = laplacian
        self.transform = transform
        self.tol = tol
        self.seed = seed
        self.constant = constant
        self.leading = found or leading(
            laplacian, count, tol=min(1e-4, tol), products=_PRODUCTS, seed=seed
        )
        self.null = Null(laplacian)
        centre, (low, high) = laplacian.centre, self.leading.rest
        values = self.leading.values
        largest = float(transform(np.array([centre - max(high, *values, 0.0)]))[0])
        self.at_centre = float(transform(np.array([centre]))[0])
        whole = approximate(lambda steps: transform(centre - steps), (low, high), tol * largest / 2)
        self.polynomial = whole.difference()
        # Beyond its ends a long polynomial is so large that the difference to h has no digits
        # left: then the known vectors are taken off at each step instead.
        known = [*values, centre] if self.null.is_there else list(values)
        grown = max((self.polynomial.growth(step) for step in known), default=0.0)
        self.is_guarded = grown * max(map(abs, known), default=0.0) > _LARGEST_GROWTH * largest
        self._factors = self._left(values)
        self._null_factor = float(self._left(np.array([centre]))[0])

    def _left(self, steps: Doubles) -> Doubles:
        whole = self.transform.difference(steps, self.laplacian.centre)
        return whole if self.is_guarded else whole - self.polynomial(steps)

    @property
    def degree(self) -> int:
        """How many times a query is passed over the graph; the first is cheap for small sets."""
        return len(self.polynomial.coefficients)

    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets."""
        out = self.laplacian.apply(self.through(sets))
        out += self.at_centre * sets
        if not self.constant:
            out -= self.at_centre * self.null.within(sets)
        return out

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets."""
        if self.is_guarded:
            out = self.polynomial.apply(self.laplacian, self.unknown(sets), self.unknown)
        else:
            out = self.polynomial.apply(self.laplacian, sets)
        self._add_known(out, sets, self._factors)
        if self.null.is_there:
            factor = self._null_factor
            if not self.constant:
                centre = self.laplacian.centre
                factor -= float(self.transform.difference(np.array([centre]), centre)[0])
            out += factor * self.null.within(sets)
        return out

    def unknown(self, x: Doubles) -> Doubles:
        """Give the part of columns at right angles to all known eigenvectors."""
        out = self.null.without(x)
        self._add_known(out, x, np.full(len(self.leading.values), -1.0))
        return out

    def _add_known(self, out: Doubles, x: Doubles, factors: Doubles) -> None:
        """Add Σ_k f_k u_k u_kᵀ x, in place."""
        if len(factors):
            rows = np.flatnonzero(x.any(axis=1))
            vectors = self.leading.vectors
            with one_blas_thread():
                inside = vectors[rows].T @ x[rows]
                out += vectors @ (factors[:, None] * inside)

    @cached_property
    def sketch(self) -> Sketch:
        """The diagonal of K, with its standard errors."""
        return sketch_by_polynomial(self, PROBES)

    def centred(self) -> ChebyshevKernel:
        """Give the kernel without what L takes to zero."""
        return ChebyshevKernel(
            self.laplacian,
            self.transform,
            tol=self.tol,
            seed=self.seed,
            constant=False,
            found=self.leading,
        )


class SolvedKernel(ColumnKernel):
    """K = (L + εI)⁻¹ by conjugate gradients, with D + εI as the preconditioner.

    On graphs of text D is nearly L, because a node has many neighbours, and few steps are needed.
    The vectors that L takes to zero are taken off first, so that a tiny ε is no harder than a
    small one. `tol` is the residual relative to the right-hand side.
    """

    def __init__(
        self,
        laplacian: Laplacian,
        transform: Transform,
        *,
        tol: float = 1e-10,
        steps: int = 5000,
        seed: int = 0,
        constant: bool = True,
    ) -> None:
        if transform.shift is None:
            raise UsageError(
                f"only the resistance kernel is the solution of equations, not {transform}: use "
                "route='auto'"
            )
        _check_tol(tol)
        self.laplacian = laplacian
        self.transform = transform
        self.shift = transform.shift
        self.tol = tol
        self.steps = steps
        self.seed = seed
        self.constant = constant
        self.null = Null(laplacian)
        self.last_steps = 0

    @property
    def inverse(self) -> Doubles:
        """The inverse of what L + εI has on its diagonal."""
        return 1.0 / (self.laplacian.own + self.shift)

    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets."""
        out = self.solve(sets)
        if self.constant and self.null.is_there:
            out += self.null.within(sets) / self.shift
        return out

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets, which is K @ sets / (c + ε)."""
        return self.columns(sets) / (self.laplacian.centre + self.shift)

    @cached_property
    def sketch(self) -> Sketch:
        """The diagonal of K, with its standard errors."""
        return sketch_by_solving(self, PROBES)

    def centred(self) -> SolvedKernel:
        """Give the kernel without what L takes to zero."""
        return SolvedKernel(
            self.laplacian,
            self.transform,
            tol=self.tol,
            steps=self.steps,
            seed=self.seed,
            constant=False,
        )

    def solve(self, sides: Doubles) -> Doubles:
        """Solve (L + εI) x = b for the part of b that L does not take to zero, column by column."""
        own = (self.laplacian.own + self.shift)[:, None]
        left = self.null.without(sides)
        out = np.zeros_like(left)
        limits = self.tol * np.sqrt(_products(left, left))
        ahead = self.null.without(left / own)
        sizes = _products(left, ahead)
        step = ahead.copy()
        for number in range(self.steps + 1):
            going = np.sqrt(_products(left, left)) > limits
            self.last_steps = number
            if not going.any():
                return out
            image = own * step - self.laplacian.spread(step)
            lengths = _products(step, image)
            # A column that has come to its end stays as it is while others go on.
            share = np.divide(sizes, lengths, out=np.zeros_like(sizes), where=going & (lengths > 0))
            out += share * step
            # Rounding leads back to what L takes to zero, and no step could take that off.
            left = self.null.without(left - share * image)
            ahead = self.null.without(left / own)
            new = _products(left, ahead)
            turn = np.divide(new, sizes, out=np.zeros_like(sizes), where=going & (sizes > 0))
            sizes = np.where(going, new, sizes)
            step *= turn
            step += ahead
        raise LikewiseError(
            f"{self.transform} was not solved to {self.tol:g} in {self.steps} steps: allow a "
            "larger tol or more steps, or a larger eps"
        )


class Null:
    """The vectors that L takes to zero, one for each component of edges, if they are known."""

    def __init__(self, laplacian: Laplacian) -> None:
        self.vector = laplacian.kernels_of_components
        self.is_there = bool(self.vector.any())
        self.labels = laplacian.graph.components if self.is_there else np.empty(0, np.int64)
        self.n_parts = int(self.labels.max(initial=-1)) + 1

    def within(self, x: Doubles) -> Doubles:
        """Give the part of columns within these vectors."""
        out = np.zeros_like(x)
        if self.is_there:
            sums = np.zeros((self.n_parts, x.shape[1]))
            project(self.labels, self.vector, np.ascontiguousarray(x), sums, out)
        return out

    def without(self, x: Doubles) -> Doubles:
        """Give the part of columns at right angles to these vectors."""
        return x - self.within(x) if self.is_there else np.array(x, np.float64)


@kernel
def project(
    labels: Ints, vector: Doubles, x: NDArray[np.float64], sums: NDArray[np.float64], out: Doubles
) -> None:
    """Project columns on a vector cut into parts by labels; `sums` are zeros, a row for each.

    Equals, for each label, `out[at] = np.outer(vector[at], vector[at]) @ x[at]`.
    """
    width = x.shape[1]
    for i in range(len(labels)):
        for k in range(width):
            sums[labels[i], k] += vector[i] * x[i, k]
    for i in range(len(labels)):
        for k in range(width):
            out[i, k] = vector[i] * sums[labels[i], k]


def _products(a: Doubles, b: Doubles) -> Doubles:
    """Give the inner products of columns."""
    out: Doubles = np.einsum("ij,ij->j", a, b)
    return out


def _check_tol(tol: float) -> None:
    if not 1e-15 <= tol < 1:
        raise UsageError(f"tol must be a number from 1e-15 to below 1, not {tol}")
