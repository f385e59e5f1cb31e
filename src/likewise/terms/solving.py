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

from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.errors import LikewiseError, UsageError
from likewise.terms.eigenvectors import Leading, leading
from likewise.terms.laplacian import Laplacian
from likewise.terms.null_space import Null
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

    @abstractmethod
    def at(self, nodes: Ints, sets: Doubles) -> Doubles:
        """Give these rows of K @ sets."""

    @property
    @abstractmethod
    def sketch(self) -> Sketch:
        """The diagonal of K, with its standard errors."""

    def block(self, nodes: Ints) -> Doubles:
        """Give the entries of K between nodes."""
        found = np.empty((len(nodes), len(nodes)))
        for first, sets in self._some_sets(nodes):
            found[:, first : first + sets.shape[1]] = self.at(nodes, sets)
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
        for first, sets in self._some_sets(nodes):
            some = nodes[first : first + sets.shape[1]]
            found[first : first + len(some)] = np.diag(self.at(some, sets))
        return found

    def _some_sets(self, nodes: Ints) -> Iterator[tuple[int, Doubles]]:
        for first in range(0, len(nodes), _BLOCK):
            some = nodes[first : first + _BLOCK]
            sets = np.zeros((len(self), len(some)))
            sets[some, np.arange(len(some))] = 1.0
            yield first, sets


class ChebyshevKernel(ColumnKernel):
    """K = g(c) I + M h(M), h by a polynomial but for the eigenvectors that are known.

    K x = g(c) x + M (Σ_k (h(μ_k) - p(μ_k)) u_k u_kᵀ x + p(M) x): the more of the leading u_k are
    known, the narrower is the rest and the shorter the polynomial (`count`; 0 is plain Chebyshev).
    The vectors that L takes to zero are always known. `tol` is the error relative to the largest
    g(λ), those aside: what the polynomial leaves of it is left to products, which few rows of the
    graph are then enough for. Single entries (`at`) are the sums of their parts exactly, whatever
    the error.
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
        # The polynomial takes its error, and once more what it is off at 0. What is left is shared
        # by all products but the first, which is cheap.
        left = max(tol * largest - 2 * whole.error, 0.0)
        self._error = left / max(self.degree - 1, 1)
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
        return self.last_step(self.through(sets), sets)

    def at(self, nodes: Ints, sets: Doubles) -> Doubles:
        """Give these rows of K @ sets."""
        out = self.laplacian.apply_at(nodes, self.through(sets))
        out += self.at_centre * (sets if self.constant else self.null.without(sets))[nodes]
        return out

    def last_step(self, reached: Doubles, sets: Doubles) -> Doubles:
        """Give K @ sets from h(M) @ sets."""
        out = self._product(reached, sets, self._error)
        out += self.at_centre * (sets if self.constant else self.null.without(sets))
        return out

    def _product(self, x: Doubles, sets: Doubles, error: float) -> Doubles:
        """Give M @ x, off by no more than `error` times the lengths of sets.

        With U the known eigenvectors, M = U Λ Uᵀ + R, and no eigenvalue of R is beyond the ends of
        the rest. M x is M k + U Λ Uᵀ (x - k) but for R (x - k). So k is what of x is not known, at
        the nodes where that is large for the length of their rows.
        """
        laplacian = self.laplacian
        # A set's own nodes stand out: without them more of the others is known.
        others = np.where(sets.any(axis=1, keepdims=True), 0.0, x)
        far = x - self.null.within(others)
        self._add_known(far, others, np.full(len(self.leading.values), -1.0))
        most = max(map(abs, self.leading.rest))
        may_lose = np.sqrt(_products(sets, sets)) * (error / most if most > 0 else np.inf)
        rows = _worth_reading(far, may_lose, laplacian.graph.sizes)
        if not laplacian.are_few(rows):
            return laplacian.apply(x)
        kept = np.zeros_like(x)
        kept[rows] = far[rows]
        out = laplacian.apply(kept)
        left = x - kept
        self._add_known(out, left, self.leading.values)
        if self.null.is_there:
            out += laplacian.centre * self.null.within(left)
        return out

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets."""
        polynomial, most = self.polynomial, max(map(abs, self.leading.rest))

        def product(x: Doubles, degree: int) -> Doubles:
            if degree == 1:
                return self.laplacian.apply(x)
            grown = most * polynomial.influence(degree)
            return self._product(x, sets, self._error / grown if grown > 0 else np.inf)

        if self.is_guarded:
            out = polynomial.apply(
                lambda x, _: self.laplacian.apply(x), self.unknown(sets), self.unknown
            )
        else:
            out = polynomial.apply(product, sets)
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
            inside = self._inside(x)
            with one_blas_thread():
                out += self.leading.vectors @ (factors[:, None] * inside)

    def _inside(self, x: Doubles) -> Doubles:
        """Give Uᵀ x."""
        rows = np.flatnonzero(x.any(axis=1))
        vectors = self.leading.vectors
        with one_blas_thread():
            if 2 * len(rows) > len(x):
                return vectors.T @ x
            inside: Doubles = vectors[rows].T @ x[rows]
        return inside

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

    def at(self, nodes: Ints, sets: Doubles) -> Doubles:
        """Give these rows of K @ sets."""
        return self.columns(sets)[nodes]

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets, which is K @ sets / (c + ε)."""
        return self.columns(sets) / (self.laplacian.centre + self.shift)

    def last_step(self, reached: Doubles, sets: Doubles) -> Doubles:
        """Give K @ sets from h(M) @ sets."""
        return self.laplacian.apply(reached) + sets / (self.laplacian.centre + self.shift)

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


def _worth_reading(x: Doubles, may_lose: Doubles, sizes: Ints) -> Ints:
    """Choose rows of columns such that the others are no longer than may be lost of each column.

    Those with the smallest squares for the lengths of their rows of the graph are left out first,
    to a 32nd of a power of two.
    """
    with np.errstate(divide="ignore", over="ignore"):
        parts = np.divide(x, may_lose, out=np.zeros_like(x), where=x != 0)
        lost = np.square(parts, out=parts).max(axis=1, initial=0.0)
    # The first bits of a positive number ascend with it.
    steps = (lost / np.maximum(sizes, 1)).view(np.int64) >> 47
    first = np.searchsorted(np.cumsum(np.bincount(steps, lost)), 1.0, side="right")
    return np.flatnonzero(steps >= max(int(first), 1))


def _products(a: Doubles, b: Doubles) -> Doubles:
    """Give the inner products of columns."""
    out: Doubles = np.einsum("ij,ij->j", a, b)
    return out


def _check_tol(tol: float) -> None:
    if not 1e-15 <= tol < 1:
        raise UsageError(f"tol must be a number from 1e-15 to below 1, not {tol}")
