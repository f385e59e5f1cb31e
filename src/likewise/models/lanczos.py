"""Which axes hold the most of a sparse matrix? Truncated SVD, streamed over its rows.

A block Lanczos method on the Gram matrix: a narrow block of vectors goes over the documents again
and again, and all that it passes through is kept, so that a pass costs little and none is wasted
(Golub, Underwood 1977; Musco, Musco 2015). Documents are cut into parts and long matrices into
slabs by their sizes alone, and what they give is summed in order: the result has the same bits on
any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Ids, Ints, fast_kernel, one_blas_thread

Matrix = NDArray[np.float32]
Watch = Callable[[dict[str, float]], None]

LANES = 16
PARTS = 4
_SLAB = 4096
# Relative to the largest: below it single precision sees noise.
_LEAST_NORM = 1e-5
_LEAST_SHARE = 1e-6


class Weighted(NamedTuple):
    """Documents as weights of rows: document i has `rows[bounds[i]:bounds[i + 1]]`."""

    bounds: Ints
    rows: Ids
    weights: Floats


@dataclass(frozen=True)
class Plan:
    """How many axes of how many terms are sought, and in how many passes over the documents."""

    n_rows: int
    n_axes: int
    passes: int
    seed: int = 0

    @property
    def width(self) -> int:
        """How many vectors go over the documents in a pass."""
        return -(-self.n_axes // (5 * LANES)) * LANES

    @property
    def is_small(self) -> bool:
        """Whether the whole Gram matrix is no larger than what the passes would keep."""
        return self.n_rows <= self.width * self.passes

    @property
    def row_bytes(self) -> int:
        """How much memory a term takes."""
        return 4 * (self.width * (self.passes + PARTS + 3) + 2 * self.n_axes)


def principal_axes(
    documents: Callable[[], Iterable[Weighted]],
    plan: Plan,
    *,
    threads: int = 1,
    watch: Watch | None = None,
) -> tuple[Matrix, Doubles]:
    """Give the leading right singular vectors, as columns, and their singular values.

    There are fewer than asked for where the matrix has a lower rank. The entry of an axis that is
    largest by magnitude is positive.
    """
    with slabs(threads) as pool:
        if plan.is_small:
            square = np.eye(plan.n_rows, dtype=np.float32)
            whole = _apply(documents, square, pool).astype(np.float64)
            return _read(square, whole, plan.n_axes, pool)
        return _read(*_krylov(documents, plan, pool, watch), plan.n_axes, pool)


@contextmanager
def slabs(threads: int) -> Iterator[Executor]:
    """Give threads that work slab by slab, while BLAS keeps to one thread in each.

    The library's own division of a product depends on how many threads it has, and so do the
    last bits.
    """
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        yield pool


def _krylov(
    documents: Callable[[], Iterable[Weighted]], plan: Plan, pool: Executor, watch: Watch | None
) -> tuple[Matrix, Doubles]:
    """Give an orthonormal basis of what the passes went through, and the Gram matrix in it."""
    random = np.random.default_rng(plan.seed)
    width, size = plan.width, plan.width * plan.passes
    kept = np.empty((plan.n_rows, size), np.float32)
    inner = np.zeros((size, size), np.float64)
    block = random.standard_normal((plan.n_rows, width), np.float32)
    block = _apply(documents, block, pool)
    block = _fill(orthonormal(block, pool), kept[:, :0], width, random, pool)
    for number in range(plan.passes):
        here = slice(number * width, (number + 1) * width)
        so_far = kept[:, : here.stop]
        kept[:, here] = block
        block = _apply(documents, block, pool)
        scale = np.linalg.norm(block)
        # In exact arithmetic the last two blocks are all that is met; the others keep it so.
        near = max(here.start - width, 0)
        nearby = _take_off(so_far[:, near:], block, pool)
        products = _take_off(so_far, block, pool)
        products[near:] += nearby
        inner[: here.stop, here] = products
        inner[here, : here.stop] = products.T
        if watch is not None:
            watch({"pass": number + 1, "of": plan.passes})
        if number + 1 < plan.passes:
            block = orthonormal(block, pool, least=_LEAST_NORM * float(scale))
            block = _fill(block, so_far, width, random, pool)
    return kept, inner


def _fill(
    block: Matrix, kept: Matrix, width: int, random: np.random.Generator, pool: Executor
) -> Matrix:
    """Make a block as wide as it was, by random vectors, where its vectors were not independent."""
    while block.shape[1] < width:
        fresh = random.standard_normal((len(block), width - block.shape[1]), np.float32)
        block = np.concatenate([block, fresh], axis=1)
        for _ in range(2):
            _take_off(kept, block, pool)
            block = orthonormal(block, pool)
    return block


def _read(kept: Matrix, inner: Doubles, n_axes: int, pool: Executor) -> tuple[Matrix, Doubles]:
    """Turn a basis and the Gram matrix in it into axes (Rayleigh, Ritz)."""
    squares, turns = np.linalg.eigh((inner + inner.T) / 2)
    squares, turns = squares[::-1][:n_axes], turns[:, ::-1][:, :n_axes]
    real = squares > max(_LEAST_SHARE * squares[0], 0)
    basis = times(kept, turns[:, real], pool)
    # One step of Newton's towards the nearest orthonormal matrix, which turns no axis.
    overlaps = overlap(basis, basis, pool)
    basis = times(basis, 1.5 * np.eye(len(overlaps)) - 0.5 * overlaps, pool)
    largest = basis[np.argmax(np.abs(basis), axis=0), np.arange(basis.shape[1])]
    basis *= np.where(largest < 0, np.float32(-1), np.float32(1))
    return basis, np.sqrt(squares[real])


# Long and narrow matrices, slab by slab


def overlap(a: Matrix, b: Matrix, pool: Executor) -> Doubles:
    """Equals `a.T @ b`."""

    def part(first: int) -> Matrix:
        return a[first : first + _SLAB].T @ b[first : first + _SLAB]

    total = np.zeros((a.shape[1], b.shape[1]), np.float64)
    for product in pool.map(part, range(0, len(a), _SLAB)):
        total += product
    return total


def times(a: Matrix, turns: Doubles, pool: Executor) -> Matrix:
    """Equals `a @ turns`."""
    narrow = turns.astype(np.float32)
    out = np.empty((len(a), turns.shape[1]), np.float32)

    def part(first: int) -> None:
        np.matmul(a[first : first + _SLAB], narrow, out=out[first : first + _SLAB])

    list(pool.map(part, range(0, len(a), _SLAB)))
    return out


def _take_off(kept: Matrix, block: Matrix, pool: Executor) -> Doubles:
    """Take the part within `kept` off a block, in place; give its coordinates."""
    products = overlap(kept, block, pool)
    narrow = products.astype(np.float32)

    def part(first: int) -> None:
        block[first : first + _SLAB] -= kept[first : first + _SLAB] @ narrow

    list(pool.map(part, range(0, len(block), _SLAB)))
    return products


def orthonormal(block: Matrix, pool: Executor, *, least: float = 0.0) -> Matrix:
    """Give an orthonormal basis of a block's columns; fewer where they are not independent.

    Columns shorter than `least` count as nothing (Stathopoulos, Wu 2002, twice).
    """
    for _ in range(2):
        products = overlap(block, block, pool)
        lengths = np.sqrt(np.diag(products))
        long = lengths > least
        scale = 1 / lengths[long]
        shares, turns = np.linalg.eigh(products[np.ix_(long, long)] * np.outer(scale, scale))
        good = shares > _LEAST_SHARE * shares.max(initial=0)
        within = np.zeros((block.shape[1], int(good.sum())))
        within[long] = scale[:, None] * turns[:, good] / np.sqrt(shares[good])
        block = times(block, within[:, ::-1], pool)
        least = 0.0
    return block


# Over the documents


def _apply(documents: Callable[[], Iterable[Weighted]], block: Matrix, pool: Executor) -> Matrix:
    """Equals `A.T @ (A @ block)`, A the documents by terms."""
    sums = np.zeros((PARTS, *block.shape), np.float32)
    for chunk in documents():
        cuts = np.searchsorted(chunk.bounds, np.arange(PARTS + 1) * chunk.bounds[-1] // PARTS)
        cuts[0], cuts[-1] = 0, len(chunk.bounds) - 1

        def part(i: int, chunk: Weighted = chunk, cuts: Ints = cuts) -> None:
            bounds = chunk.bounds[cuts[i] : cuts[i + 1] + 1]
            add_gram(bounds, chunk.rows, chunk.weights, block, sums[i])

        list(pool.map(part, range(PARTS)))
    total: Matrix = sums[0]
    for i in range(1, PARTS):
        total += sums[i]
    return total


@fast_kernel
def add_gram(bounds: Ints, rows: Ids, weights: Floats, block: Matrix, out: Matrix) -> None:
    """Add what documents give of the Gram matrix times a block.

    Equals `out += A.T @ (A @ block)`.
    """
    width = block.shape[1]
    seen = np.empty(width, np.float32)
    for doc in range(len(bounds) - 1):
        seen[:] = 0
        for j in range(bounds[doc], bounds[doc + 1]):
            row, weight = rows[j], weights[j]
            for k in range(width):
                seen[k] += weight * block[row, k]
        for j in range(bounds[doc], bounds[doc + 1]):
            row, weight = rows[j], weights[j]
            for k in range(width):
                out[row, k] += weight * seen[k]
