"""A set of terms by Nyström's extension: the term-graph paper's approximation to one node."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np

from likewise.compiled import Doubles, one_blas_thread
from likewise.errors import UsageError
from likewise.terms.kernel import Kernel
from likewise.terms.sets import AsGiven, TermSet
from likewise.terms.spectrum import SpectralKernel, Spectrum

# The paper's "high association weight" over the largest eigenvalue.
_HEAVY = 100.0

Heights: TypeAlias = Callable[[Doubles], Doubles]


class Nystrom(AsGiven):
    """A set is an auxiliary node, onto which eigenvectors are extended.

    The paper's Eq. 3: `u_k(s) = Σ_j w_j u_k(j) / (Σ_j w_j - λ_k)`, with its single weight w spread
    by the members' weights (`w_j = |S| w · weight`). A set of one term is that term: it needs no
    auxiliary node.

    It needs eigenvectors and the transform g of their eigenvalues, which a kernel that was made of
    its whole spectrum has; `weight` is that of an edge to a member (0: a hundred times the largest
    eigenvalue). With growing weight it turns into the mean of a set's terms.
    """

    spectral: ClassVar[bool] = True

    def __init__(
        self,
        kernel: Kernel,
        *,
        spectrum: Spectrum | None = None,
        transform: Heights | None = None,
        weight: float = 0.0,
    ) -> None:
        if isinstance(kernel, SpectralKernel) and kernel.constant:
            spectrum, transform = spectrum or kernel.spectrum, transform or kernel.transform
        if spectrum is None or transform is None:
            raise UsageError(
                "sets by nystrom need a spectrum and its transform; mean and collapse do not"
            )
        values = np.asarray(spectrum.values, np.float64)
        top = float(values.max(initial=0.0))
        self.weight = weight or _HEAVY * max(top, 1.0)
        if not self.weight > top:
            raise UsageError(
                f"the weight of edges to a set's members must be above the largest eigenvalue "
                f"{top:.6g}, not {weight:g}; 0 is a hundred times that"
            )
        self.values, self.vectors = values, np.asarray(spectrum.vectors, np.float64)
        self.heights = transform(values)

    def places(self, sets: list[TermSet]) -> Doubles:
        """Give u_k(s) of each set, a row."""
        rows = [self._place(one) for one in sets]
        return np.array(rows).reshape(len(rows), len(self.values))

    def _place(self, one: TermSet) -> Doubles:
        if len(one.nodes) == 1:
            alone: Doubles = self.vectors[one.nodes[0]]
            return alone
        total = len(one.nodes) * self.weight
        with one_blas_thread():
            mean = one.weights @ self.vectors[one.nodes]
        place: Doubles = total * mean / (total - self.values)
        return place

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        """Give K_st of each set (a column) and every term."""
        with one_blas_thread():
            found: Doubles = self.vectors @ (self.heights * self.places(sets)).T
        return found

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        """Give d(S, t) of each set (a column) and every term."""
        places = self.places(sets)
        own = np.einsum("sk,sk,k->s", places, places, self.heights)
        found: Doubles = own + self._terms[:, None] - 2 * self.similarities_of(sets)
        return found

    @cached_property
    def _terms(self) -> Doubles:
        """K_tt of every term."""
        found: Doubles = np.einsum("tk,tk,k->t", self.vectors, self.vectors, self.heights)
        return found

    def similarity(self, a: TermSet, b: TermSet) -> float:
        """Give K_ab."""
        return self.gram(a, b)[2]

    def distance(self, a: TermSet, b: TermSet) -> float:
        """Give d of two sets."""
        left, right = self.places([a, b])
        return float((self.heights * (left - right) ** 2).sum())

    def gram(self, a: TermSet, b: TermSet) -> tuple[float, float, float]:
        """Give K_aa, K_bb and K_ab."""
        left, right = self.places([a, b])
        pairs = (left, left), (right, right), (left, right)
        own, other, between = (float((self.heights * x * y).sum()) for x, y in pairs)
        return own, other, between
