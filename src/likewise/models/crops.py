"""Word vectors trained on a collection itself: views of one document are nearer than of two.

Each epoch deals the pieces of every document out to two views at random (`pieces`). With word
vectors E, which begin as the axes of LSI, a view t is `z = Eᵀt`, two are compared by the mean of
the cosines of their first numbers, up to each width of the ladder, and E goes down the gradient of
the symmetric cross-entropy of each view's partner among all of a batch (InfoNCE: van den Oord et
al. 2018; views as in Lee et al. 2019) by Adagrad with one rate for a word. Documents that are kept
out say when to stop; more than five epochs help dense vectors alone, but not the score that they
are a part of (benchmarks/README.md). The mean of E before and after does better than either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ids, Int, Ints, fast_kernel, kernel
from likewise.models.lanczos import Matrix, Watch, slabs
from likewise.models.pieces import Pieces, Views, deal, read_pieces, room_for
from likewise.models.sampling import MEMORY
from likewise.models.weighting import Scale

TEMPERATURE, RATE, BATCH = 0.3, 0.02, 256
EPOCHS, PATIENCE, LEAST_FALL = 5, 2, 0.001
KEPT_OUT = 0.1
_HELD = -1
_DOCS, _SLAB, _ROWS = 32, 64, 512
_LEAST_SQUARE = 1e-12


class Trained(NamedTuple):
    """Word vectors, a row for each word (None: none were trained), and the losses."""

    vectors: Matrix | None
    history: tuple[dict[str, float], ...]


def train_vectors(
    collection: Snapshot,
    docs: Ints,
    axes: Matrix,
    scale: Scale,
    *,
    ladder: tuple[int, ...],
    seed: int = 0,
    threads: int = 0,
    memory: int = MEMORY,
    watch: Watch | None = None,
) -> Trained:
    """Train word vectors from axes, with words as `scale` weighs them, on some documents."""
    pieces = read_pieces(collection, docs, scale, memory=memory // 4, seed=seed)
    with slabs(threads or os.cpu_count() or 1) as pool:
        training = Training(pieces, axes, scale, pool, ladder=ladder, seed=seed)
        history = training.run(watch)
        return Trained(training.mean_of_both(axes), history)


class Training:
    """Word vectors, what Adagrad knows of each, and the documents that they are trained on."""

    def __init__(
        self,
        pieces: Pieces,
        axes: Matrix,
        scale: Scale,
        pool: Executor,
        *,
        ladder: tuple[int, ...],
        seed: int = 0,
    ) -> None:
        self.pieces, self.seed, self._pool = pieces, seed, pool
        self._scale = (scale.factors, scale.norm)
        n_rows, width = axes.shape
        # Entries then are about as large whatever the number of words, and so is a step.
        self._size = np.float32(np.sqrt(n_rows / max(width, 1)))
        self.vectors: Matrix = np.asarray(axes, np.float32) * self._size
        self.best: Matrix = self.vectors.copy()
        self._squares = np.zeros(n_rows, np.float32)
        self._heads = np.full(n_rows, -1, np.int32)
        self._ladder = np.array(ladder, np.int64)
        order = np.random.default_rng(seed).permutation(pieces.n_docs)
        n_kept_out = round(KEPT_OUT * pieces.n_docs)
        self.kept_out, self.trained = np.sort(order[:n_kept_out]), np.sort(order[n_kept_out:])

    def run(self, watch: Watch | None = None) -> tuple[dict[str, float], ...]:
        """Train until documents that were kept out are no better known; give the losses."""
        least = self.loss()
        history: list[dict[str, float]] = [{"epoch": 0, "loss": least}]
        while len(history) <= EPOCHS and history[-1]["epoch"] - _last_fall(history) < PATIENCE:
            epoch = len(history)
            trained = self.epoch(epoch)
            loss = self.loss()
            history.append({"epoch": epoch, "loss": loss, "trained": trained})
            if loss < least:
                least = loss
                self.best[:] = self.vectors
            if watch is not None:
                watch({"pass": epoch, "of": EPOCHS, "loss": loss})
        return tuple(history)

    def mean_of_both(self, axes: Matrix) -> Matrix:
        """Give the mean of the best vectors and of those at the beginning, as long as axes are."""
        return (self.best / self._size + axes) / np.float32(2)

    def loss(self) -> float:
        """Give the loss on the views of documents that were kept out, the same each time."""
        total = 0.0
        for docs in _batches(self.kept_out):
            _, seen = self._look(docs, _HELD)
            total += _loss(seen.units, len(docs), self._pool)[0] * len(docs)
        return total / max(len(self.kept_out), 1)

    def epoch(self, number: int) -> float:
        """Go once over the documents, in an order of this epoch's; give the mean loss."""
        order = np.random.default_rng((self.seed, number)).permutation(self.trained)
        total = 0.0
        for docs in _batches(order):
            loss, views, slopes = self.gradient(docs, number)
            self._step(views, slopes)
            total += loss * len(docs)
        return total / max(len(order), 1)

    def gradient(self, docs: Ints, number: int) -> tuple[float, Views, Matrix]:
        """Give the loss of a batch, its views, and how the loss changes with their vectors."""
        views, seen = self._look(docs, number)
        loss, by_unit = _loss(seen.units, len(docs), self._pool)
        slopes = np.empty((len(seen.units), self.vectors.shape[1]), np.float32)

        def part(first: int) -> None:
            span = slice(first, first + _SLAB)
            rungs = (seen.units[span], seen.inverses[span])
            pull_back(by_unit[span], rungs, self._ladder, slopes[span])

        _each(part, len(slopes), _SLAB, self._pool)
        return loss, views, slopes

    def _look(self, docs: Ints, number: int) -> tuple[Views, Seen]:
        """Deal documents out to views, and give these and their vectors."""
        views = room_for(self.pieces, docs)
        n, width = len(docs), self.vectors.shape[1]
        units = np.zeros((2 * n, int(self._ladder.sum())), np.float32)
        inverses = np.zeros((2 * n, len(self._ladder)), np.float32)

        def part(first: int) -> None:
            last = min(first + _DOCS, n)
            deal(self.pieces, docs, (first, last), (self.seed, number), self._scale, views)
            for start, stop in ((first, last), (n + first, n + last)):
                place = np.zeros((stop - start, width), np.float32)
                embed(views, (start, stop), self.vectors, place)
                side_by_side(place, self._ladder, units[start:stop], inverses[start:stop])

        _each(part, n, _DOCS, self._pool)
        return views, Seen(units, inverses)

    def _step(self, views: Views, slopes: Matrix) -> None:
        """Take a step of Adagrad with every word of a batch."""
        links, rows = chain(views, self._heads)
        state = (self.vectors, self._squares, self._heads)

        def part(first: int) -> None:
            descend(rows[first : first + _ROWS], links, views, slopes, state)

        _each(part, len(rows), _ROWS, self._pool)


class Seen(NamedTuple):
    """Views as they are compared: unit vectors of each rung, one after the other, and 1/lengths.

    Inner products of `units` are the nested cosine.
    """

    units: Matrix
    inverses: Matrix


def _last_fall(history: list[dict[str, float]]) -> int:
    """Give the last epoch in which the loss fell by enough below what it was before."""
    last, least = 0, history[0]["loss"]
    for number, note in enumerate(history):
        if note["loss"] <= least - LEAST_FALL:
            last, least = number, note["loss"]
    return last


def _batches(docs: Ints) -> list[Ints]:
    """Cut documents into batches of about the same size."""
    return np.array_split(docs, -(-len(docs) // BATCH)) if len(docs) else []


def _each(part: Callable[[int], None], n: int, size: int, pool: Executor) -> None:
    list(pool.map(part, range(0, n, size)))


def _loss(units: Matrix, n: int, pool: Executor) -> tuple[float, Matrix]:
    """Give the symmetric cross-entropy of n pairs of views, and how it changes with units."""
    one, other = units[:n], units[n:]
    scores, by_unit = np.empty((n, n), np.float32), np.empty_like(units)

    def compare(first: int) -> None:
        np.matmul(one[first : first + _SLAB], other.T, out=scores[first : first + _SLAB])

    _each(compare, n, _SLAB, pool)
    # Cosines are at most one: nothing overflows.
    scores = np.exp((scores - np.float32(1)) / np.float32(TEMPERATURE))
    across, down = scores.sum(axis=1, keepdims=True), scores.sum(axis=0, keepdims=True)
    own = np.diag(scores).astype(np.float64)
    loss = np.log(across[:, 0] / own).mean() / 2 + np.log(down[0] / own).mean() / 2
    slopes = scores / across + scores / down
    slopes[np.arange(n), np.arange(n)] -= np.float32(2)
    slopes *= np.float32(0.5 / (n * TEMPERATURE))
    turned = np.ascontiguousarray(slopes.T)

    def pull(first: int) -> None:
        span = slice(first, min(first + _SLAB, n))
        np.matmul(slopes[span], other, out=by_unit[span])
        np.matmul(turned[span], one, out=by_unit[n + span.start : n + span.stop])

    _each(pull, n, _SLAB, pool)
    return float(loss), by_unit


# Kernels


@fast_kernel
def embed(views: Views, span: tuple[Int, Int], vectors: Matrix, out: Matrix) -> None:
    """Add up the vectors of the words of some views. Equals `T @ vectors`, T views by words."""
    width = vectors.shape[1]
    for view in range(span[0], span[1]):
        i = view - span[0]
        for j in range(views.starts[view], views.starts[view] + views.sizes[view]):
            row, weight = views.rows[j], views.weights[j]
            for k in range(width):
                out[i, k] += weight * vectors[row, k]


@fast_kernel
def side_by_side(places: Matrix, ladder: Ints, units: Matrix, inverses: Matrix) -> None:
    """Give the rungs of vectors, so long that their inner products add up to the nested cosine.

    Equals `places[:, :n] / norm / sqrt(len(ladder))` for each n of the ladder, next to each other;
    zeros where a norm is none. `inverses` are `1 / norm / sqrt(len(ladder))`.
    """
    share = np.float32(1 / np.sqrt(len(ladder)))
    for i in range(len(places)):
        squares, done, at = np.float32(0), 0, 0
        for rung in range(len(ladder)):
            for k in range(done, ladder[rung]):
                squares += places[i, k] * places[i, k]
            done = ladder[rung]
            inverse = share / np.sqrt(squares) if squares > _LEAST_SQUARE else np.float32(0)
            inverses[i, rung] = inverse
            for k in range(done):
                units[i, at + k] = places[i, k] * inverse
            at += done


@fast_kernel
def pull_back(by_unit: Matrix, rungs: tuple[Matrix, Matrix], ladder: Ints, out: Matrix) -> None:
    """Turn slopes by rungs into slopes by vectors: the derivative of `side_by_side`.

    Equals the sum over rungs of `inverse * (g - (g @ u) u)`, u the rung as a unit vector.
    """
    units, inverses = rungs
    for i in range(len(units)):
        out[i] = 0
        at = 0
        for rung in range(len(ladder)):
            n = ladder[rung]
            along = np.float32(0)
            for k in range(at, at + n):
                along += by_unit[i, k] * units[i, k]
            along *= np.float32(len(ladder))
            inverse = inverses[i, rung]
            for k in range(n):
                out[i, k] += inverse * (by_unit[i, at + k] - along * units[i, at + k])
            at += n


@kernel
def chain(views: Views, heads: Ids) -> tuple[Ids, Ids]:
    """Chain the places of each row, from the last to the first; give the rows that there are.

    `heads[row]` is the row's last place, `links[place]` the one before it, -1 where there is none.
    """
    links = np.empty(len(views.rows), np.int32)
    rows = np.empty(len(views.rows), np.int32)
    n = 0
    for view in range(len(views.starts)):
        for j in range(views.starts[view], views.starts[view] + views.sizes[view]):
            row = views.rows[j]
            if heads[row] < 0:
                rows[n] = row
                n += 1
            links[j] = heads[row]
            heads[row] = j
    return links, rows[:n]


@fast_kernel
def descend(
    rows: Ids,
    links: Ids,
    views: Views,
    slopes: Matrix,
    state: tuple[Matrix, Floats, Ids],
) -> None:
    """Take a step of row-wise Adagrad (Duchi et al. 2011) with some rows, and end their chains.

    With g = `T[:, row] @ slopes`, squares += mean(g²), vectors -= rate · g / sqrt(squares).
    """
    vectors, squares, heads = state
    width = vectors.shape[1]
    total = np.empty(width, np.float32)
    for row in rows:
        total[:] = 0
        j = heads[row]
        while j >= 0:
            weight, view = views.weights[j], views.owners[j]
            for k in range(width):
                total[k] += weight * slopes[view, k]
            j = links[j]
        heads[row] = -1
        square = np.float32(0)
        for k in range(width):
            square += total[k] * total[k]
        squares[row] += square / np.float32(width)
        if squares[row] > 0:
            step = np.float32(RATE) / np.sqrt(squares[row])
            for k in range(width):
                vectors[row, k] -= step * total[k]
