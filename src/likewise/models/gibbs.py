"""The collapsed Gibbs sampler of the document decomposition model; LDA with the switch off.

Tokens are cut into cells by parts of the documents and parts of the words. The cells of one
round share no document and no word, so that they run side by side; the totals of the topics
are exchanged after each round. Rounds and random numbers depend on the parts only: the result
is the same on any number of threads.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Ids, Int, Ints, kernel
from likewise.lanes import LANES
from likewise.models.bags import Bags
from likewise.models.gibbs_kernels import (
    BACKGROUND,
    Cells,
    Counts,
    Weights,
    draw_cells,
    next_random,
    seed_of,
    uniform,
)
from likewise.models.priors import Priors

PARTS = 4
# Bytes at whose multiples rows of counts begin: a vector that two cache lines have takes two loads.
ALIGNED = 64
# The length of a model's rows is a multiple of it.
ROW_LANES = 16


class State(NamedTuple):
    """Where every token is, and the counts that follow from it.

    Counts are single-precision numbers, a row of padded length for each document and each word,
    because the inner loop multiplies them: columns 0 to K-1 are the topics', then come that of
    documents' own words and that of the background. A token's route is the number of its column.
    `own` counts the tokens of a pair that are the document's own.
    """

    topics: Ids
    doc_topics: NDArray[np.float32]
    word_topics: NDArray[np.float32]
    topic_totals: Doubles
    own: Ids
    n_topics: int

    @property
    def background(self) -> Floats:
        """Tokens of each word on the background."""
        return self.word_topics[:, self.n_topics + BACKGROUND]

    @property
    def shares(self) -> NDArray[np.float32]:
        """Tokens of each document by route: topics, own, background."""
        topics = self.doc_topics[:, : self.n_topics].sum(axis=1)
        return np.column_stack([topics, self.doc_topics[:, self.n_topics :][:, :2]])


def padded(n_topics: int, lanes: int = ROW_LANES) -> int:
    """Give the row length for so many topics."""
    return -(-n_topics // lanes) * lanes


def _zeros(n_rows: int, width: int) -> NDArray[np.float32]:
    """Give rows of zeros that begin where a vector does, or loading one would take two loads."""
    room = np.zeros(n_rows * width + ALIGNED // 4, np.float32)
    start = -room.ctypes.data % ALIGNED // 4
    return room[start : start + n_rows * width].reshape(n_rows, width)


def make_cells(bags: Bags, n_rows: int) -> Cells:
    """Group the pairs of bags into cells with about equal numbers of tokens."""
    docs = np.repeat(np.arange(bags.n_docs), np.diff(bags.bounds))
    lengths = np.bincount(docs, bags.counts, bags.n_docs)
    doc_parts = _parts(lengths.astype(np.float64))
    row_parts = _parts(np.bincount(bags.rows, bags.counts, n_rows).astype(np.float64))
    cell: Ints = np.add(doc_parts[docs] * PARTS, row_parts[bags.rows])
    order = np.argsort(cell, kind="stable")
    first = np.concatenate([[0], np.cumsum(bags.counts[order])]).astype(np.int64)
    return Cells(
        np.searchsorted(cell[order], np.arange(PARTS * PARTS + 1)).astype(np.int64),
        docs[order].astype(np.int32),
        bags.rows[order].astype(np.int32),
        first,
        lengths.astype(np.float32),
    )


def _parts(weights: Doubles) -> Ints:
    """Deal items out to parts, the heaviest first, to and fro, so that the parts weigh alike."""
    order = np.argsort(-weights, kind="stable")
    turn = np.arange(len(weights)) % (2 * PARTS)
    parts = np.empty(len(weights), np.int64)
    parts[order] = np.where(turn < PARTS, turn, 2 * PARTS - 1 - turn)
    return parts


def start(
    cells: Cells, bags: Bags, n_rows: int, *, n_topics: int, seed: int, background: float
) -> State:
    """Put every token on a random topic, and the share `background` on the background.

    Topics first: with random starts over all three routes the sampler stays at a bad solution.
    """
    width = padded(n_topics + 2, LANES)
    state = State(
        topics=np.empty(int(cells.first[-1]), np.int32),
        doc_topics=_zeros(bags.n_docs, width),
        word_topics=_zeros(n_rows, width),
        topic_totals=np.zeros(width, np.float64),
        own=np.zeros(len(cells.docs), np.int32),
        n_topics=n_topics,
    )
    _scatter(cells, state, seed, background)
    return state


@kernel
def _place(cells: Cells, state: State, pair: Int, token: Int, route: Int) -> None:
    """Put a token on a route."""
    doc, row = cells.docs[pair], cells.rows[pair]
    state.topics[token] = route
    state.doc_topics[doc, route] += 1
    state.word_topics[row, route] += 1
    state.topic_totals[route] += 1


@kernel
def _scatter(cells: Cells, state: State, seed: Int, background: float) -> None:
    random = seed_of(seed, -1, -1)
    n_topics = state.n_topics
    for pair in range(len(cells.docs)):
        for token in range(cells.first[pair], cells.first[pair + 1]):
            random = next_random(random)
            if uniform(random) < background:
                _place(cells, state, pair, token, n_topics + BACKGROUND)
                continue
            random = next_random(random)
            topic = min(int(uniform(random) * n_topics), n_topics - 1)
            _place(cells, state, pair, token, topic)


def resume(
    cells: Cells,
    state: State,
    model: tuple[Ints, NDArray[np.float32], Floats],
    priors: tuple[Doubles, Doubles],
    *,
    seed: int,
    switch: bool,
) -> None:
    """Put every token where a model that is already there would have it.

    `model` is the row of each word in it (-1: new to it), its topics and its background.
    """
    for counts in (state.doc_topics, state.word_topics, state.topic_totals, state.own):
        counts[:] = 0
    _scatter_by(cells, state, model, priors, seed, switch)


@kernel
def _scatter_by(
    cells: Cells,
    state: State,
    model: tuple[Ints, NDArray[np.float32], Floats],
    priors: tuple[Doubles, Doubles],
    seed: Int,
    switch: bool,
) -> None:
    rows, word_topics, background = model
    alpha, gamma = priors
    n_topics = len(alpha)
    weights = np.empty(n_topics, np.float64)
    random = seed_of(seed, -2, -2)
    for pair in range(len(cells.docs)):
        known = rows[cells.rows[pair]]
        total = 0.0
        for k in range(n_topics):
            total += alpha[k] * (word_topics[known, k] if known >= 0 else 1.0)
            weights[k] = total
        behind = 0.0
        if switch and known >= 0:
            behind = gamma[2] * background[known] * alpha.sum() / gamma[0]
        for token in range(cells.first[pair], cells.first[pair + 1]):
            random = next_random(random)
            target = uniform(random) * (total + behind)
            if target >= total:
                _place(cells, state, pair, token, n_topics + BACKGROUND)
                continue
            topic: Int = min(int(np.searchsorted(weights, target, "right")), n_topics - 1)
            _place(cells, state, pair, token, topic)


def sweep(
    cells: Cells,
    state: State,
    priors: Priors,
    *,
    seed: int,
    number: int,
    switch: bool,
    pool: Executor,
    threads: int,
) -> None:
    """Draw a new route for every token once, on the threads of a pool.

    Two cells together take little longer than one: apart they are drawn only where there is a
    thread for each.
    """
    n_topics, width = state.n_topics, state.doc_topics.shape[1]
    alpha, is_topic = np.zeros((2, width), np.float32)
    alpha[:n_topics], is_topic[:n_topics] = priors.alpha, 1
    weights = Weights(
        alpha,
        is_topic,
        priors.gamma.astype(np.float32),
        alpha.sum(),
        np.float32(priors.beta_topic),
        np.float32(priors.beta_own),
        np.float32(priors.beta_background),
        np.float32(len(state.word_topics)),
    )
    counts = Counts(state.topics, state.own, state.doc_topics.ravel(), state.word_topics.ravel())
    for shift in range(PARTS):

        def draw(parts: Ints, shift: int = shift) -> Doubles:
            which = parts * PARTS + (parts + shift) % PARTS
            randoms = np.array([seed_of(seed, number, cell) for cell in which.tolist()], np.uint64)
            changes: Doubles = draw_cells(
                cells, which, counts, state.topic_totals, weights, n_topics, randoms, switch
            )
            return changes

        together = np.arange(PARTS).reshape(-1, 1 if threads >= PARTS else 2)
        for change in list(pool.map(draw, together)):
            state.topic_totals[:] += change
