"""Which vector do words predict? A map by ridge regression, and how far it can be trusted."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ints
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.lanczos import Watch, overlap, slabs, times
from likewise.models.ridge import STRIP, Matrix, Pairs, choose_ridge, cosines, regress
from likewise.models.sampling import choose_terms, count_terms, room_for_terms, weighed_documents
from likewise.models.vector_sources import unit
from likewise.models.weighting import Scale

_AT_ONCE = 4
_MOST_HELD_OUT, _FEW_DOCS = 2048, 256
# How many standard errors from chance a thing must be to count as seen.
_AXIS_ERRORS, _TRUST_ERRORS = 3.0, 2.0
_LEAST_SHARE = 1e-6


class Regression(NamedTuple):
    """How a map is fitted: on how many documents (0: all), by which ridge (0: the best)."""

    docs: int
    ridge: float
    seed: int


class WordMap(NamedTuple):
    """A map from words to vectors: coordinates on the axes of `basis`, turned into vectors.

    `centre` and `trust` are those of `UserVectors`.
    """

    vocabulary: Vocabulary
    average_length: float
    basis: Matrix
    turn: Matrix
    centre: Floats
    trust: float
    ridge: float
    n_held_out: int


def map_words(
    collection: Snapshot,
    docs: Ints,
    vectors: NDArray[Any],
    plan: Regression,
    *,
    threads: int,
    memory: int,
    watch: Watch | None = None,
) -> WordMap:
    """Fit a map from the words of documents to their vectors, row i that of `docs[i]`.

    An eighth of the documents, at most 2,048, is held out: one half of it tells which axes are
    borne out, the other what the trust is. A collection with more terms than memory has room for
    keeps those in the most documents.
    """
    order = np.random.default_rng(plan.seed).permutation(len(docs))
    chosen = np.sort(order[: plan.docs or None])
    rows = unit(vectors[chosen])
    told = rows.any(axis=1) & (collection.lengths(docs[chosen]) > 0)
    chosen, rows = docs[chosen][told], rows[told]
    n = len(chosen)
    if n < 2:
        raise UsageError(f"{n} documents have both words and a vector: at least 2 are needed")
    vocabulary, average = _terms(collection, chosen, rows.shape[1], memory)
    scale = Scale(vocabulary, "tfidf", average)
    picked = np.random.default_rng(plan.seed).permutation(n)
    n_held = min(_MOST_HELD_OUT, max(n // 8, min(n // 4, _FEW_DOCS), 1))
    held, rest = np.sort(picked[:n_held]), np.sort(picked[n_held:])
    centre = rows[rest].mean(axis=0, dtype=np.float64).astype(np.float32)
    rows -= centre

    def sample(which: Ints) -> Pairs:
        documents = weighed_documents(collection, chosen[which], scale.weigh, vocabulary, memory)
        return Pairs(documents, rows[which])

    known, unseen = sample(rest), sample(held)
    with slabs(min(threads or os.cpu_count() or 1, _AT_ONCE)) as pool:
        size = len(vocabulary)
        ridge = plan.ridge or choose_ridge(known, unseen, size, plan.seed, pool)
        mapped, predicted = regress(known, unseen, size, ridge, pool, watch)
        basis, turn, good = _axes_of(mapped, predicted, unseen.vectors, pool)
    predicted @= good
    trust = _trust(predicted[1::2], unseen.vectors[1::2])
    return WordMap(vocabulary, average, basis, turn, centre, trust, ridge, n_held)


def _terms(collection: Snapshot, docs: Ints, width: int, memory: int) -> tuple[Vocabulary, float]:
    """Choose the terms that there is room for, and tell how long a document is."""
    counted = count_terms(collection, docs)
    limit = room_for_terms(memory, 4 * (3 * width + 5 * STRIP * _AT_ONCE))
    vocabulary = choose_terms(collection, counted.doc_freqs, len(docs), limit=limit)
    return vocabulary, counted.n_tokens / len(docs)


def _axes_of(
    mapped: Matrix, predicted: Matrix, vectors: Matrix, pool: Executor
) -> tuple[Matrix, Matrix, Matrix]:
    """Give the axes of a map, it in them, and the projection on what it can predict.

    An axis is kept if on every other held-out document what it predicts goes with what is there,
    by three standard errors of a chance correlation.
    """
    squares, turns = np.linalg.eigh(overlap(mapped, mapped, pool))
    squares, turns = squares[::-1], turns[:, ::-1]
    a, b = predicted[::2] @ turns, vectors[::2] @ turns
    chance = _AXIS_ERRORS * np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0) / len(a))
    good = (squares > _LEAST_SHARE * max(squares[0], 0)) & ((a * b).sum(axis=0) > chance)
    squares, turns = squares[good], turns[:, good]
    basis = times(mapped, turns / np.sqrt(squares), pool)
    # One step of Newton's towards the nearest orthonormal matrix, which turns no axis.
    overlaps = overlap(basis, basis, pool)
    basis = times(basis, 1.5 * np.eye(len(overlaps)) - 0.5 * overlaps, pool)
    turn = (turns * np.sqrt(squares)).T.astype(np.float32)
    return basis, np.ascontiguousarray(turn), (turns @ turns.T).astype(np.float32)


def _trust(predicted: Matrix, vectors: Matrix) -> float:
    """Give the mean cosine of what is predicted and what is there, less two standard errors."""
    found = cosines(predicted, vectors)
    if len(found) < 2:
        return 0.0
    error = float(found.std(ddof=1) / np.sqrt(len(found)))
    return min(max(float(found.mean()) - _TRUST_ERRORS * error, 0.0), 1.0)
