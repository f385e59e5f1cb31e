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
from likewise.terms.eigenvectors import Leading, leading
from likewise.terms.graph import Graph
from likewise.terms.laplacian import Laplacian
from likewise.terms.solving import ChebyshevKernel, SolvedKernel
from likewise.terms.spectrum import SpectralKernel
from likewise.terms.transforms import TOL, Transform

ROUTES = ("auto", "spectrum", "solve", "chebyshev", "deflated")
# Up to here the whole spectrum is worked out in some hundredths of a second.
SMALL = 400
# From so many edges on, passes over them are what a query waits for.
LARGE = 20_000_000
# How many leading eigenvectors are taken off, and by how many products they are sought.
LEADING, _PRODUCTS = 8, 128
# Of large graphs; and the part of what g tells apart, below it.
LARGE_TOL, _PART = 1e-3, 7e-3


class Kernel(Protocol):
    """A positive semi-definite matrix over the nodes of a graph."""

    def __len__(self) -> int: ...

    def columns(self, sets: Doubles) -> Doubles:
        """Give K @ sets, for sets of shape (n, k)."""
        ...

    def through(self, sets: Doubles) -> Doubles:
        """Give h(M) @ sets, the other factor of K = g(c) I + M h(M)."""
        ...

    def last_step(self, reached: Doubles, sets: Doubles) -> Doubles:
        """Give K @ sets from h(M) @ sets."""
        ...

    def at(self, nodes: Ints, sets: Doubles) -> Doubles:
        """Give these rows of K @ sets, as sums over the last step."""
        ...

    def block(self, nodes: Ints) -> Doubles:
        """Give K[nodes][:, nodes], exactly symmetric."""
        ...

    def diagonal(self) -> Doubles:
        """Give K_ii of all nodes; on large graphs it is sketched."""
        ...

    def diagonal_errors(self) -> Doubles:
        """Give the standard errors of the diagonal of all nodes, zeros where it is exact."""
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
    found: Leading | None = None,
) -> SpectralKernel | SolvedKernel | ChebyshevKernel:
    """Make the kernel of a graph.

    Routes: the whole `spectrum`; `solve`, for resistance only, by conjugate gradients; a
    `chebyshev` polynomial; the same `deflated` by the leading eigenvectors (`found`, where they
    are known), which takes seconds to make and is the fastest to ask. `auto` goes by the graph
    alone: it takes the spectrum of small ones, deflates large ones with a normalised Laplacian,
    solves for resistance, which takes no making, and else takes a polynomial. `tol` 0 is 1e-10 for
    solving (1e-6 where `auto` does so on the normalised Laplacian) and the transform's own for
    polynomials; of large graphs what leaves 99 of the 100 nearest as they are.
    """
    if route not in ROUTES:
        raise UsageError(f"a route is one of {', '.join(ROUTES)}, not {route!r}")
    transform.check(laplacian)
    whole = Laplacian(graph, laplacian, damping, threads=threads)
    if route == "auto":
        if len(graph) <= SMALL:
            route = "spectrum"
        elif graph.n_edges >= LARGE and laplacian == "normalised":
            route = "deflated"
            found = found or few_leading(whole)
            tol = tol or _tolerance(transform, whole.centre, found)
        elif transform.shift is not None:
            route = "solve"
            tol = tol or (TOL if laplacian == "normalised" else 0.0)
        else:
            route = "chebyshev"
    if route == "spectrum":
        return SpectralKernel(whole, transform)
    if route == "solve":
        return SolvedKernel(whole, transform, tol=tol or 1e-10, seed=seed)
    tol = tol or transform.tol
    if route == "chebyshev":
        found = None
    elif found is None:
        found = few_leading(whole, tol)
    return ChebyshevKernel(whole, transform, found=found, tol=tol, seed=seed)


def few_leading(laplacian: Laplacian, tol: float = LARGE_TOL) -> Leading:
    """Give the eigenvectors that stand out: others would take long and save little."""
    return leading(laplacian, LEADING, tol=min(1e-4, tol), products=_PRODUCTS)


def _tolerance(transform: Transform, centre: float, found: Leading) -> float:
    """Give the error that a polynomial may have, by how much g tells apart what it is for."""
    heights = transform(centre - np.array([0.0, *found.rest, *found.values]))
    apart, largest = float(np.abs(heights[1:3] - heights[0]).max()), float(heights.max())
    # Of a kernel so narrow that nothing is left, nothing can be lost.
    part = _PART * apart / largest if largest > 0 else LARGE_TOL
    return max(min(LARGE_TOL, part), 1e-9)


def distances(kernel: Kernel, nodes: Ints) -> Doubles:
    """Give the distances between nodes, from entries that are as exact as columns are."""
    entries = kernel.block(nodes)
    own = np.diag(entries)
    found: Doubles = np.maximum(own[:, None] + own[None, :] - 2 * entries, 0.0)
    np.fill_diagonal(found, 0.0)
    return found
