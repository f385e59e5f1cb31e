"""What a Laplacian takes to zero: a vector for each component of edges, and projections on them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Ints, kernel
from likewise.terms.laplacian import Laplacian


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
