"""Which vectors do words predict? A ridge regression from weighed words to vectors.

`min ‖TW - Y‖² + λ‖W‖²` with T the documents' words, Y their vectors from the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Ids, Ints, fast_kernel
from likewise.models.lanczos import Watch, Weighted, add_gram
from likewise.models.vector_sources import unit

Matrix = NDArray[np.float32]

RIDGES = (0.3, 1.0, 3.0)
STRIP = 32
_TOLERANCE = 0.03
_MOST_PASSES = 60
_CHUNK = 4096


class Pairs(NamedTuple):
    """Documents and their vectors, from the mean."""

    documents: Callable[[], Iterable[Weighted]]
    vectors: Matrix


def choose_ridge(known: Pairs, unseen: Pairs, n_rows: int, seed: int, pool: Executor) -> float:
    """Choose the ridge whose held-out cosine is best, by a few random mixtures of coordinates.

    Mixtures keep angles well enough to compare ridges (Johnson, Lindenstrauss 1984). By squared
    error the best is smaller, but lengths do not matter here.
    """
    width = known.vectors.shape[1]
    mix = np.random.default_rng(seed).standard_normal((width, STRIP)).astype(np.float32)
    mix = np.eye(width, dtype=np.float32) if width <= STRIP else mix
    known = known._replace(vectors=known.vectors @ mix)
    target = unseen.vectors @ mix

    def goodness(ridge: float) -> float:
        mapped = _solve(known, n_rows, ridge)
        predicted = _predict(unseen.documents(), mapped, len(target))
        return float(cosines(predicted, target).mean())

    return RIDGES[int(np.argmax(list(pool.map(goodness, RIDGES))))]


def regress(
    known: Pairs, unseen: Pairs, n_rows: int, ridge: float, pool: Executor, watch: Watch | None
) -> tuple[Matrix, Matrix]:
    """Give the map, and what it predicts of the held-out documents, strip by strip."""
    width = known.vectors.shape[1]
    mapped = np.empty((n_rows, width), np.float32)
    predicted = np.empty((len(unseen.vectors), width), np.float32)

    def strip(first: int) -> None:
        inside = slice(first, first + STRIP)
        part = _solve(known._replace(vectors=known.vectors[:, inside]), n_rows, ridge)
        mapped[:, inside] = part
        predicted[:, inside] = _predict(unseen.documents(), part, len(predicted))

    firsts = range(0, width, STRIP)
    for number, _ in enumerate(pool.map(strip, firsts), 1):
        if watch is not None:
            watch({"pass": number, "of": len(firsts)})
    return mapped, predicted


def _solve(known: Pairs, n_rows: int, ridge: float) -> Matrix:
    """Solve `(TᵀT + λ) W = TᵀY` by conjugate gradients, each column by itself.

    (Hestenes, Stiefel 1952.) The sample is read once an iteration. It stops at residuals of three
    hundredths, below what held-out documents can tell.
    """
    start = np.zeros((n_rows, known.vectors.shape[1]), np.float32)
    done = 0
    for chunk in known.documents():
        n = len(chunk.bounds) - 1
        values = np.ascontiguousarray(known.vectors[done : done + n])
        add_words(chunk.bounds, chunk.rows, chunk.weights, values, start)
        done += n
    found = np.zeros_like(start)
    left, step = start, start.copy()
    squares = _squares(left, left)
    enough = _TOLERANCE**2 * squares
    for _ in range(_MOST_PASSES):
        if (squares <= enough).all():
            break
        product = np.float32(ridge) * step
        for chunk in known.documents():
            add_gram(chunk.bounds, chunk.rows, chunk.weights, step, product)
        along = _ratio(squares, _squares(step, product))
        found += along * step
        product *= along
        left -= product
        before, squares = squares, _squares(left, left)
        step *= _ratio(squares, before)
        step += left
    return found


def _squares(a: Matrix, b: Matrix) -> Doubles:
    total = np.zeros(a.shape[1])
    for first in range(0, len(a), _CHUNK):
        total += np.einsum("ij,ij->j", a[first : first + _CHUNK], b[first : first + _CHUNK])
    return total


def _ratio(a: Doubles, b: Doubles) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0).astype(np.float32)


def _predict(documents: Iterable[Weighted], mapped: Matrix, n_docs: int) -> Matrix:
    out = np.zeros((n_docs, mapped.shape[1]), np.float32)
    done = 0
    for chunk in documents:
        n = len(chunk.bounds) - 1
        predict(chunk.bounds, chunk.rows, chunk.weights, mapped, out[done : done + n])
        done += n
    return out


def cosines(a: Matrix, b: Matrix) -> Doubles:
    """Give the cosines of rows."""
    found: Doubles = np.einsum("ij,ij->i", unit(a), unit(b)).astype(np.float64)
    return found


@fast_kernel
def add_words(bounds: Ints, rows: Ids, weights: Floats, values: Matrix, out: Matrix) -> None:
    """Add the values of documents to their words.

    Equals `out += A.T @ values`.
    """
    for doc in range(len(bounds) - 1):
        for j in range(bounds[doc], bounds[doc + 1]):
            row, weight = rows[j], weights[j]
            for k in range(values.shape[1]):
                out[row, k] += weight * values[doc, k]


@fast_kernel
def predict(bounds: Ints, rows: Ids, weights: Floats, mapped: Matrix, out: Matrix) -> None:
    """Add what is mapped from the words of documents.

    Equals `out += A @ mapped`.
    """
    for doc in range(len(bounds) - 1):
        for j in range(bounds[doc], bounds[doc + 1]):
            row, weight = rows[j], weights[j]
            for k in range(mapped.shape[1]):
                out[doc, k] += weight * mapped[row, k]
