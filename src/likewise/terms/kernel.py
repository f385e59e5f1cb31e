"""How near are nodes of the graph to each other? A kernel K = g(L), by the route that suits.

The distance between nodes is d(i, j) = K_ii + K_jj - 2 K_ij. Nodes without a way between them have
K_ij = 0, exactly and by every route, so that theirs is K_ii + K_jj: finite, and for the resistance
kernel without bound as ε goes to 0. A node without edges is as near to all others as that says.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise.terms.laplacian import Laplacian
from likewise.terms.solving import ChebyshevKernel, SolvedKernel
from likewise.terms.spectrum import SpectralKernel
from likewise.terms.transforms import Learnt, Resistance, Transform

ROUTES = ("auto", "spectrum", "solve", "chebyshev", "deflated")
# Up to here the whole spectrum is worked out in some hundredths of a second.
SMALL = 400
# How many leading eigenvectors are taken off.
LEADING = 32
# A table has corners, which take long polynomials.
TOL, TABLE_TOL = 1e-6, 1e-3


class Kernel(Protocol):
    """A positive semi-definite matrix over the nodes of a graph."""

    def __len__(self) -> int: ...

    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets, for sets of shape (n, k)."""
        ...

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets, the other factor of K = g(c) I + M h(M)."""
        ...

    def block(self, nodes: Ints) -> Doubles:
        """Give K[nodes][:, nodes], exactly symmetric."""
        ...

    def diagonal(self) -> Doubles:
        """Give K_ii of all nodes; on large graphs it is sketched."""
        ...

    def diagonal_of(self, nodes: Ints) -> Doubles:
        """Give K_ii of some nodes, as exactly as columns are."""
        ...


def make_kernel(
    graph: Graph,
    transform: Transform,
    *,
    laplacian: str = "normalised",
    damping: float = 1.0,
    route: str = "auto",
    tol: float = 0.0,
    threads: int = 1,
    seed: int = 0,
) -> SpectralKernel | SolvedKernel | ChebyshevKernel:
    """Make the kernel of a graph.

    Routes: the whole `spectrum`; `solve`, for resistance only, by conjugate gradients; a
    `chebyshev` polynomial; the same `deflated` by the leading eigenvectors, which takes seconds
    to make and is the fastest to ask. `auto` takes the spectrum of small graphs, solves for
    resistance, which takes no making, and else takes a polynomial. `tol` 0 is 1e-10 for solving
    (1e-6 where `auto` does so on the normalised Laplacian) and 1e-6 for polynomials, or 1e-3 if g
    is a learnt table; steep tables may need more yet, and then it says so.
    """
    if route not in ROUTES:
        raise UsageError(f"a route is one of {', '.join(ROUTES)}, not {route!r}")
    transform.check(laplacian)
    whole = Laplacian(graph, laplacian, damping, threads=threads)
    if route == "auto":
        if len(graph) <= SMALL:
            route = "spectrum"
        elif isinstance(transform, Resistance):
            route = "solve"
            tol = tol or (TOL if laplacian == "normalised" else 0.0)
        else:
            route = "chebyshev"
    if route == "spectrum":
        return SpectralKernel(whole, transform)
    if route == "solve":
        return SolvedKernel(whole, transform, tol=tol or 1e-10, seed=seed)
    count = LEADING if route == "deflated" else 0
    usual = TABLE_TOL if isinstance(transform, Learnt) else TOL
    return ChebyshevKernel(whole, transform, count=count, tol=tol or usual, seed=seed)


def distances(kernel: Kernel, nodes: Ints) -> Doubles:
    """Give the distances between nodes, from entries that are as exact as columns are."""
    entries = kernel.block(nodes)
    own = np.diag(entries)
    found: Doubles = np.maximum(own[:, None] + own[None, :] - 2 * entries, 0.0)
    np.fill_diagonal(found, 0.0)
    return found
