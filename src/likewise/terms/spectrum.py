"""What does the whole spectrum say? The kernel of a graph that is small enough to decompose.

The Laplacian is decomposed component by component, so that nodes without a way between them have
nothing in common, exactly.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.errors import UsageError
from likewise.terms.laplacian import Laplacian
from likewise.terms.transforms import Transform

_LARGEST = 20_000


class Spectrum(NamedTuple):
    """Eigenvalues of the Laplacian, ascending, and their vectors as columns of length one."""

    values: Doubles
    vectors: Doubles


def full_spectrum(laplacian: Laplacian) -> Spectrum:
    """Decompose the whole Laplacian, component by component.

    Where a vector is known to belong to the eigenvalue 0, it is put in place of the one found, so
    that a tiny ε is not lost in rounding.
    """
    n = len(laplacian)
    if n > _LARGEST:
        raise UsageError(
            f"all eigenvalues of {n} nodes take {8 * n * n / 1e9:.0f} GB and hours: at most "
            f"{_LARGEST} nodes; other routes do without them, and sets by mean or collapse do"
        )
    values = np.array(laplacian.own)
    vectors = np.zeros((n, n))
    known = laplacian.kernels_of_components
    with one_blas_thread():
        for nodes in parts_of(laplacian):
            if len(nodes) < 2:
                vectors[nodes, nodes] = 1.0
                continue
            found, turns = np.linalg.eigh(dense_part(laplacian, nodes))
            if laplacian.is_singular:
                found[0], turns[:, 0] = 0.0, known[nodes]
            values[nodes] = np.maximum(found, 0.0)
            vectors[np.ix_(nodes, nodes)] = turns
    ascending = np.argsort(values, kind="stable")
    return Spectrum(values[ascending], np.ascontiguousarray(vectors[:, ascending]))


def parts_of(laplacian: Laplacian) -> list[Ints]:
    """List the nodes of each component, the largest first."""
    labels = laplacian.graph.components
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def dense_part(laplacian: Laplacian, nodes: Ints) -> Doubles:
    """Write out the Laplacian of a component, whose nodes ascend."""
    square = np.diag(laplacian.own[nodes])
    for i, node in enumerate(nodes):
        to, entries = laplacian.row(node)
        square[i, np.searchsorted(nodes, to)] = -entries
    return square


class SpectralKernel:
    """K = Σ g(λ) u uᵀ over all eigenvalues: exact to rounding.

    Without `constant` the vectors that L takes to zero are left out.
    """

    def __init__(
        self,
        laplacian: Laplacian,
        transform: Transform,
        *,
        spectrum: Spectrum | None = None,
        constant: bool = True,
    ) -> None:
        self.laplacian = laplacian
        self.transform = transform
        self.spectrum = spectrum or full_spectrum(laplacian)
        self.constant = constant

    def __len__(self) -> int:
        return len(self.laplacian)

    @cached_property
    def _factors(self) -> Doubles:
        return self._kept(self.transform(self.spectrum.values))

    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets."""
        return self._columns(self._factors, sets)

    def at(self, nodes: Ints, sets: Doubles) -> Doubles:
        """Give these rows of K @ sets."""
        return self.columns(sets)[nodes]

    def last_step(self, reached: Doubles, sets: Doubles) -> Doubles:
        """Give K @ sets from h(M) @ sets."""
        at_centre = self.transform(np.array([self.laplacian.centre]))
        return self.laplacian.apply(reached) + at_centre * sets

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets."""
        centre = self.laplacian.centre
        factors = self.transform.difference(centre - self.spectrum.values, centre)
        return self._columns(self._kept(factors), sets)

    def block(self, nodes: Ints) -> Doubles:
        """Give the entries of K between nodes."""
        rows = self.spectrum.vectors[nodes]
        with one_blas_thread():
            found = (rows * self._factors) @ rows.T
        return (found + found.T) / 2

    def diagonal(self) -> Doubles:
        """Give K_ii of all nodes, exactly."""
        return self.diagonal_of(np.arange(len(self)))

    def diagonal_errors(self) -> Doubles:
        """Give zeros: the diagonal is exact."""
        return np.zeros(len(self))

    def diagonal_of(self, nodes: Ints) -> Doubles:
        """Give K_ii of some nodes, exactly."""
        with one_blas_thread():
            found: Doubles = self.spectrum.vectors[nodes] ** 2 @ self._factors
        return found

    def centred(self) -> SpectralKernel:
        """Give the kernel without what L takes to zero."""
        return SpectralKernel(
            self.laplacian, self.transform, spectrum=self.spectrum, constant=False
        )

    def _columns(self, factors: Doubles, sets: Doubles) -> Doubles:
        vectors = self.spectrum.vectors
        with one_blas_thread():
            found: Doubles = vectors @ (factors[:, None] * (vectors.T @ sets))
        return found

    def _kept(self, factors: Doubles) -> Doubles:
        if self.constant or not self.laplacian.is_singular:
            return factors
        return np.where(self.spectrum.values > 0, factors, 0.0)
