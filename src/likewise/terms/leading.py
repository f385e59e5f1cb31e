"""Which of the graph's vibrations stand out? The leading eigenvectors of a large Laplacian.

A block Lanczos method with thick restarts (Wu, Simon 2000): what a block of vectors passes through
is kept, and when there is no more room the best of it is where the next passes start from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.errors import LikewiseError, UsageError
from likewise.terms.laplacian import Laplacian
from likewise.terms.spectrum import Spectrum, dense_part, parts_of

WIDTH = 8
# The basis takes this much memory at most, and this many blocks.
MEMORY = 1 << 29
_ROOM = 25
# Relative to the largest: below it double precision sees noise.
_LEAST = 1e-13
_LEAST_SHARE = 1e-10
_SURVEY = 8
_MARGIN, _MARGIN_LEFT = 0.03, 0.1
_SMALL = 300


class Leading(NamedTuple):
    """Eigenvectors of M = cI - L as columns, and where all its other eigenvalues lie."""

    values: Doubles
    vectors: Doubles
    rest: tuple[float, float]


def truncated_spectrum(
    laplacian: Laplacian, count: int, *, tol: float = 1e-8, passes: int = 400, seed: int = 0
) -> Spectrum:
    """Give the smallest eigenvalues of the Laplacian within the largest component.

    Residuals are below `tol` times the radius of M, or it raises an error.
    """
    nodes = _largest_part(laplacian)
    if not 1 <= count <= len(nodes):
        raise UsageError(f"there are 1 to {len(nodes)} eigenvalues to be had, not {count}")
    known = _known(laplacian, nodes)
    n_known = known.shape[1]
    search = _Lanczos(laplacian, nodes, known, seed)
    found = search.run(min(count, len(nodes)) - n_known, tol, passes, both_ends=False)
    if len(found.values) < count - n_known or not found.good.all():
        raise LikewiseError(
            f"{count} eigenvalues were not found to {tol:g} in {passes} passes: ask for fewer, "
            "or allow a larger tol or more passes"
        )
    values = np.concatenate([np.zeros(n_known), laplacian.centre - found.values])
    vectors = np.concatenate([known, found.vectors], axis=1)
    return Spectrum(np.maximum(values, 0.0), vectors)


def leading(
    laplacian: Laplacian, count: int, *, tol: float = 1e-8, passes: int = 80, seed: int = 0
) -> Leading:
    """Give eigenvectors of M within the largest component, at most `count`, far from 0 first.

    Only those with residuals below `tol` times the radius are given, so there may be fewer. The
    vectors that L takes to zero are not among them: they are known.
    """
    nodes = _largest_part(laplacian)
    known = _known(laplacian, nodes)
    vectors, values = known[:, :0], np.empty(0)
    if count and len(nodes) > 1 and laplacian.radius > 0:
        search = _Lanczos(laplacian, nodes, known, seed)
        found = search.run(count, tol, passes, both_ends=True)
        values, vectors = found.values[found.good], found.vectors[:, found.good]
    rest = _rest(laplacian, np.concatenate([known, vectors], axis=1), seed)
    return Leading(values, np.ascontiguousarray(vectors), rest)


def _largest_part(laplacian: Laplacian) -> Ints:
    """List the nodes of the largest component."""
    return np.flatnonzero(laplacian.graph.components == 0)


def _known(laplacian: Laplacian, nodes: Ints) -> Doubles:
    """Give the vector that L takes to zero in a component, as a column, or none."""
    known = np.zeros((len(laplacian), int(laplacian.is_singular)))
    if laplacian.is_singular and len(nodes):
        known[nodes, 0] = laplacian.kernels_of_components[nodes]
    return known if known.any() else known[:, :0]


def _rest(laplacian: Laplacian, known: Doubles, seed: int) -> tuple[float, float]:
    """Bound the eigenvalues of M that are left, component by component.

    Gershgorin's bound is enough for most of the small ones. The other small ones are decomposed;
    in large ones a few passes of new random vectors show the ends, to which their residuals are
    added, and a margin.
    """
    first, last = laplacian.interval
    low = high = 0.0
    shares = laplacian.graph.degrees * laplacian.scale**2
    for number, nodes in enumerate(parts_of(laplacian)):
        if len(nodes) < 2:
            break
        radius = float(shares[nodes].max())
        if laplacian.kind == "normalised" and low <= -radius and radius <= high:
            continue
        if number == 0 or len(nodes) > _SMALL:
            vectors = known if number == 0 else _known(laplacian, nodes)
            values, residuals = _Lanczos(laplacian, nodes, vectors, seed + 1).survey(_SURVEY)
            within = (values - residuals).min(initial=0.0), (values + residuals).max(initial=0.0)
            low = min(low, _wider(float(within[0]), first))
            high = max(high, _wider(float(within[1]), last))
        else:
            with one_blas_thread():
                found: Doubles = np.linalg.eigvalsh(dense_part(laplacian, nodes)).astype(float)
            values = laplacian.centre - found[int(laplacian.is_singular) :]
            noise = _LEAST * laplacian.radius
            low = min(low, float(values.min(initial=0.0)) - noise)
            high = max(high, float(values.max(initial=0.0)) + noise)
    return max(low, first), min(high, last)


def _wider(end: float, bound: float) -> float:
    """Move an end away from 0 by a margin that leaves most of the way to its known bound."""
    return end + min(_MARGIN * abs(end), _MARGIN_LEFT * max(abs(bound) - abs(end), 0.0)) * (
        1 if bound > 0 else -1
    )


class _Found(NamedTuple):
    """Ritz pairs of M, and which of them are within the tolerance."""

    values: Doubles
    vectors: Doubles
    good: NDArray[np.bool_]


class _Lanczos:
    """A block Lanczos method on M, among vectors of some nodes at right angles to known ones.

    Vectors are zero outside of the nodes, exactly: they are only ever added up.
    """

    def __init__(self, laplacian: Laplacian, nodes: Ints, known: Doubles, seed: int) -> None:
        self.laplacian = laplacian
        self.known = known
        random = np.random.default_rng(seed)
        n = len(laplacian)
        self.size = 0
        self.dimension = max(len(nodes) - known.shape[1], 0)
        blocks = min(max(MEMORY // (8 * n * WIDTH), 6), _ROOM)
        self.room = blocks * WIDTH
        self._store = np.empty((n, self.room))
        self.inner = np.zeros((0, 0))
        start = np.zeros((n, WIDTH))
        start[nodes] = random.standard_normal((len(nodes), WIDTH))
        with one_blas_thread():
            _take_off(known, start)
            self.block = _orthonormal(start, _LEAST_SHARE)
            _take_off(known, self.block)
        # What the next block was before it was brought to length one, in the last block's terms.
        self.link = np.zeros((self.block.shape[1], 0))

    @property
    def basis(self) -> Doubles:
        """What was passed through, as orthonormal columns."""
        return self._store[:, : self.size]

    def step(self) -> None:
        """Pass the block over the graph."""
        before, width = self.size, self.block.shape[1]
        self.size += width
        self._store[:, before : self.size] = self.block
        image = self.laplacian.apply(self.block)
        with one_blas_thread():
            _take_off(self.known, image)
            products = _take_off(self.basis, image)
            products += _take_off(self.basis, image)
            inner = np.zeros((before + width, before + width))
            inner[:before, :before] = self.inner
            inner[:, before:] = products
            inner[before:, :before] = products[:before].T
            self.inner = inner
            self.block = _orthonormal(image, _LEAST * self.laplacian.radius)
            for _ in range(2):
                _take_off(self.known, self.block)
                _take_off(self.basis, self.block)
            self.block = _orthonormal(self.block, _LEAST_SHARE)
            self.link = np.zeros((self.block.shape[1], before + width))
            self.link[:, before:] = self.block.T @ image

    def ritz(self) -> tuple[Doubles, Doubles, Doubles]:
        """Give Ritz values, their vectors in the basis, and their residuals."""
        with one_blas_thread():
            values, turns = np.linalg.eigh((self.inner + self.inner.T) / 2)
            residuals = np.linalg.norm(self.link @ turns, axis=0)
        return values, turns, residuals

    def survey(self, passes: int) -> tuple[Doubles, Doubles]:
        """Give Ritz values and residuals after a few passes without restarts."""
        for _ in range(min(passes, self.room // WIDTH)):
            if self.block.shape[1] == 0:
                break
            self.step()
        values, _, residuals = self.ritz()
        return values, residuals

    def run(self, count: int, tol: float, passes: int, *, both_ends: bool) -> _Found:
        """Pass until the pairs sought are good, restarting from the best when room is short."""
        count = min(count, self.dimension, self.room - 2 * WIDTH)
        limit = tol * self.laplacian.radius
        while True:
            if self.block.shape[1] == 0:
                break
            self.step()
            passes -= 1
            values, turns, residuals = self.ritz()
            order = np.argsort(-np.abs(values) if both_ends else -values, kind="stable")
            done = (residuals[order[:count]] <= limit).all() and len(order) >= count
            if done or passes <= 0:
                break
            if self.size + WIDTH > self.room:
                # A third of the room for what was not asked for, which speeds up what was.
                kept = order[: count + (self.room - count) // 3]
                with one_blas_thread():
                    self._store[:, : len(kept)] = self.basis @ turns[:, kept]
                self.size = len(kept)
                self.inner = np.diag(values[kept])
        values, turns, residuals = self.ritz()
        order = np.argsort(-np.abs(values) if both_ends else -values, kind="stable")[:count]
        with one_blas_thread():
            vectors = self.basis @ turns[:, order]
        return _Found(values[order], vectors, residuals[order] <= limit)


def _take_off(basis: Doubles, block: Doubles) -> Doubles:
    """Take the part within an orthonormal basis off a block, in place; give its coordinates."""
    products: Doubles = basis.T @ block
    block -= basis @ products
    return products


def _orthonormal(block: Doubles, least: float) -> Doubles:
    """Give an orthonormal basis of a block's columns, fewer where they are not independent.

    Columns shorter than `least` count as nothing (Stathopoulos, Wu 2002, twice). Rows of zeros
    stay so, exactly.
    """
    for _ in range(2):
        products = block.T @ block
        lengths = np.sqrt(np.diag(products))
        long = lengths > least
        scale = 1 / lengths[long]
        shares, turns = np.linalg.eigh(products[np.ix_(long, long)] * np.outer(scale, scale))
        good = shares > _LEAST_SHARE * shares.max(initial=0)
        within = np.zeros((block.shape[1], int(good.sum())))
        within[long] = scale[:, None] * turns[:, good] / np.sqrt(shares[good])
        block = block @ within[:, ::-1]
        least = 0.0
    return block
