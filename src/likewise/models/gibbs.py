"""The collapsed Gibbs sampler of the document decomposition model; LDA with the switch off.

Tokens are cut into cells by parts of the documents and parts of the words. The cells of one
round share no document and no word, so that they run side by side; the totals of the topics
are exchanged after each round. Rounds and random numbers depend on the parts only: the result
is the same on any number of threads.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import APART, Doubles, Floats, Ids, Int, Ints, fast_kernel, kernel
from likewise.models.bags import Bags
from likewise.models.priors import Priors

PARTS = 4
LANES = 16
# Rows of words, and numbers of each, that are fetched together.
AHEAD_PAIRS, AHEAD_TOPICS = 16, 256
# Routes of a token beyond the topics 0 … K-1.
OWN, BACKGROUND = 0, 1


class Cells(NamedTuple):
    """Pairs of document and word, grouped by cell, then document, then word.

    Cell `p * PARTS + q` holds the pairs `bounds[cell]` to `bounds[cell + 1]`; pair i stands for
    the tokens `first[i]` to `first[i + 1]`.
    """

    bounds: Ints
    docs: Ids
    rows: Ids
    first: Ints


class State(NamedTuple):
    """Where every token is, and the counts that follow from it.

    Counts of topics are single-precision numbers, a row of padded length for each document and
    each word, because the inner loop multiplies them. `shares` counts a document's tokens by
    route (topic, own, background); `own` the tokens of a pair on the document's own route.
    """

    topics: Ids
    doc_topics: NDArray[np.float32]
    word_topics: NDArray[np.float32]
    topic_totals: Doubles
    shares: NDArray[np.float32]
    own: Ids
    background: Floats


def padded(n_topics: int) -> int:
    """Give the row length for so many topics."""
    return -(-n_topics // LANES) * LANES


def make_cells(bags: Bags, n_rows: int) -> Cells:
    """Group the pairs of bags into cells with about equal numbers of tokens."""
    docs = np.repeat(np.arange(bags.n_docs), np.diff(bags.bounds))
    doc_parts = _parts(np.bincount(docs, bags.counts, bags.n_docs).astype(np.float64))
    row_parts = _parts(np.bincount(bags.rows, bags.counts, n_rows).astype(np.float64))
    cell: Ints = np.add(doc_parts[docs] * PARTS, row_parts[bags.rows])
    order = np.argsort(cell, kind="stable")
    first = np.concatenate([[0], np.cumsum(bags.counts[order])]).astype(np.int64)
    return Cells(
        np.searchsorted(cell[order], np.arange(PARTS * PARTS + 1)).astype(np.int64),
        docs[order].astype(np.int32),
        bags.rows[order].astype(np.int32),
        first,
    )


def _parts(weights: Doubles) -> Ints:
    """Deal items out to parts, the heaviest first, to and fro, so that the parts weigh alike."""
    order = np.argsort(-weights, kind="stable")
    turn = np.arange(len(weights)) % (2 * PARTS)
    parts = np.empty(len(weights), np.int64)
    parts[order] = np.where(turn < PARTS, turn, 2 * PARTS - 1 - turn)
    return parts


@kernel
def next_random(state: Any) -> Any:
    """Step a 64-bit generator (xorshift64*, Vigna 2016)."""
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    return state


@kernel
def uniform(state: Any) -> Any:
    """Give a number from 0 to 1 from a generator's state."""
    return (
        np.float64((state * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11))
        * 1.1102230246251565e-16
    )


@kernel
def seed_of(seed: Int, sweep: Int, cell: Int) -> Any:
    """Mix three numbers into a generator's first state (splitmix64), never 0."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    z ^= np.uint64(sweep + 1) * np.uint64(0xBF58476D1CE4E5B9)
    z ^= np.uint64(cell + 1) * np.uint64(0x94D049BB133111EB)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z | np.uint64(1)


def start(
    cells: Cells, bags: Bags, n_rows: int, *, n_topics: int, seed: int, background: float
) -> State:
    """Put every token on a random topic, and the share `background` on the background.

    Topics first: with random starts over all three routes the sampler stays at a bad solution.
    """
    width = padded(n_topics)
    state = State(
        topics=np.empty(int(cells.first[-1]), np.int32),
        doc_topics=np.zeros((bags.n_docs, width), np.float32),
        word_topics=np.zeros((n_rows, width), np.float32),
        topic_totals=np.zeros(width, np.float64),
        shares=np.zeros((bags.n_docs, 3), np.float32),
        own=np.zeros(len(cells.docs), np.int32),
        background=np.zeros(n_rows, np.float32),
    )
    _scatter(cells, state, n_topics, seed, background)
    return state


@kernel
def _scatter(cells: Cells, state: State, n_topics: Int, seed: Int, background: float) -> None:
    random = seed_of(seed, -1, -1)
    for pair in range(len(cells.docs)):
        doc, row = cells.docs[pair], cells.rows[pair]
        for token in range(cells.first[pair], cells.first[pair + 1]):
            random = next_random(random)
            if uniform(random) < background:
                state.topics[token] = n_topics + BACKGROUND
                state.background[row] += 1
                state.shares[doc, 2] += 1
                continue
            random = next_random(random)
            topic = min(np.int64(uniform(random) * n_topics), n_topics - 1)
            state.topics[token] = topic
            state.doc_topics[doc, topic] += 1
            state.word_topics[row, topic] += 1
            state.topic_totals[topic] += 1
            state.shares[doc, 0] += 1


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
    for counts in state[1:]:
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
        doc, row = cells.docs[pair], cells.rows[pair]
        known = rows[row]
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
                state.topics[token] = n_topics + BACKGROUND
                state.background[row] += 1
                state.shares[doc, 2] += 1
                continue
            topic = min(np.searchsorted(weights, target, "right"), n_topics - 1)
            state.topics[token] = topic
            state.doc_topics[doc, topic] += 1
            state.word_topics[row, topic] += 1
            state.topic_totals[topic] += 1
            state.shares[doc, 0] += 1


@fast_kernel
def weigh_topics(scaled: Floats, words: Floats, at: Int, beta: Any, out: Floats) -> Any:
    """Give the weight of each topic for a token, and their sum.

    Equals `out = scaled * (beta + words[at : at + len(out)]); out.sum()`, with
    `scaled = (alpha + doc) * scale` kept up to date by the caller.
    """
    total: Any = np.float32(0.0)
    # Unsigned, or the test for an index from the end would keep the loop from being vectorised.
    first = np.uintp(at)
    if len(out) < APART:
        for k in range(len(out)):
            total += scaled[k] * (beta + words[first + np.uintp(k)])
        for k in range(len(out)):
            out[k] = scaled[k] * (beta + words[first + np.uintp(k)])
        return total
    for k in range(len(out)):
        value = scaled[k] * (beta + words[first + np.uintp(k)])
        out[k] = value
        total += value
    return total


@fast_kernel
def _lane_sum(values: Floats, start: Int) -> Any:
    total: Any = np.float32(0.0)
    for k in range(LANES):
        total += values[start + k]
    return total


@fast_kernel
def pick(weights: Floats, target: Any) -> Int:
    """Find the first index whose cumulative weight reaches the target, a block at a time."""
    start = 0
    while start + LANES < len(weights):
        block = _lane_sum(weights, start)
        if target < block:
            break
        target -= block
        start += LANES
    last = start
    # Every weight is looked at: where to stop could not be predicted.
    for k in range(start, start + LANES):
        last = k if target >= 0 and weights[k] > 0 else last
        target -= weights[k]
    return last


@fast_kernel
def read_ahead(words: Floats, rows: Ids, first: Int, end: Int, width: Int) -> Any:
    """Add up a number of each cache line of rows that come next, for the sake of reading them.

    Fetched together they take little longer than one: a token waits for the one before it, and so
    would its row. Equals `words.reshape(-1, width)[rows[first:end], :AHEAD_TOPICS:LANES].sum()`.
    """
    total: Any = np.float32(0.0)
    for pair in range(np.uintp(first), np.uintp(end)):
        at = np.uintp(rows[pair]) * np.uintp(width)
        for k in range(0, min(width, AHEAD_TOPICS), LANES):
            total += words[at + np.uintp(k)]
    return total


@fast_kernel
def sweep_cell(
    cells: Cells,
    cell: Int,
    state: State,
    priors: tuple[Floats, Floats, Any, Any, Any],
    n_topics: Int,
    random: Any,
    switch: bool,
    background_total: Any,
) -> tuple[Doubles, Any]:
    """Draw a new route for every token of a cell; give the changes of the totals.

    `priors` is alpha (padded with 0), gamma and the three betas. With the switch off only tokens
    on topics move, between topics.
    """
    alpha, gamma, beta, beta_own, beta_background = priors
    n_rows = np.float32(len(state.background))
    width = len(alpha)
    totals = state.topic_totals.copy()
    scale = np.zeros(width, np.float32)
    for k in range(n_topics):
        scale[k] = 1.0 / (n_rows * beta + totals[k])
    alpha_sum = alpha.sum()
    weights = np.empty(width, np.float32)
    scaled = np.empty(width, np.float32)
    background_change = 0.0
    current = np.int64(-1)
    # The sum is kept where the compiler cannot tell that nobody looks at it.
    sum_ahead = np.empty(1, np.float32)
    ahead: Any = np.int64(-1)
    # Rows of flat arrays: a view of a row for each pair would cost more than the row's sum.
    doc_topics, word_topics = state.doc_topics.ravel(), state.word_topics.ravel()
    shares, topics, own, background = state.shares, state.topics, state.own, state.background
    last: Any = cells.bounds[cell + 1]
    for pair in range(cells.bounds[cell], last):
        if pair >= ahead:
            ahead = min(pair + AHEAD_PAIRS, last)
            sum_ahead[0] = read_ahead(word_topics, cells.rows, pair, ahead, width)
        doc, row = np.int64(cells.docs[pair]), np.int64(cells.rows[pair])
        at_doc, at_word = doc * width, row * width
        if doc != current:
            current = doc
            for k in range(width):
                scaled[k] = (alpha[k] + doc_topics[np.uintp(at_doc) + np.uintp(k)]) * scale[k]
        for token in range(cells.first[pair], cells.first[pair + 1]):
            old = np.int64(topics[token])
            if old < n_topics:
                doc_topics[at_doc + old] -= 1
                word_topics[at_word + old] -= 1
                totals[old] -= 1
                scale[old] = np.float32(1.0) / (n_rows * beta + np.float32(totals[old]))
                scaled[old] = (alpha[old] + doc_topics[at_doc + old]) * scale[old]
                shares[doc, 0] -= 1
            elif not switch:
                continue
            elif old == n_topics + OWN:
                own[pair] -= 1
                shares[doc, 1] -= 1
            else:
                background[row] -= 1
                background_change -= 1
                shares[doc, 2] -= 1
            by_topic = np.float64(weigh_topics(scaled, word_topics, at_word, beta, weights))
            random = next_random(random)
            target = uniform(random)
            new: Int = np.int64(-1)
            if switch:
                on_topics, on_own, on_background = shares[doc, 0], shares[doc, 1], shares[doc, 2]
                factor = (gamma[0] + on_topics) / (alpha_sum + on_topics)
                as_own = (gamma[1] + on_own) * (beta_own + own[pair]) / (n_rows * beta_own + on_own)
                as_background = (
                    (gamma[2] + on_background)
                    * (beta_background + background[row])
                    / (n_rows * beta_background + background_total + background_change)
                )
                target *= by_topic * factor + as_own + as_background
                if target >= by_topic * factor:
                    target -= by_topic * factor
                    new = n_topics + (OWN if target < as_own else BACKGROUND)
                else:
                    target /= factor
            else:
                target *= by_topic
            if new < 0:
                new = pick(weights, np.float32(target))
                doc_topics[at_doc + new] += 1
                word_topics[at_word + new] += 1
                totals[new] += 1
                scale[new] = np.float32(1.0) / (n_rows * beta + np.float32(totals[new]))
                scaled[new] = (alpha[new] + doc_topics[at_doc + new]) * scale[new]
                shares[doc, 0] += 1
            elif new == n_topics + OWN:
                own[pair] += 1
                shares[doc, 1] += 1
            else:
                background[row] += 1
                background_change += 1
                shares[doc, 2] += 1
            topics[token] = new
    return totals - state.topic_totals, background_change


def sweep(
    cells: Cells,
    state: State,
    priors: Priors,
    *,
    seed: int,
    number: int,
    switch: bool,
    pool: Executor,
) -> None:
    """Draw a new route for every token once."""
    n_topics = len(priors.alpha)
    alpha = np.zeros(state.doc_topics.shape[1], np.float32)
    alpha[:n_topics] = priors.alpha
    packed = (
        alpha,
        priors.gamma.astype(np.float32),
        np.float32(priors.beta_topic),
        np.float32(priors.beta_own),
        np.float32(priors.beta_background),
    )
    background_total = float(state.background.sum(dtype=np.float64))
    for shift in range(PARTS):

        def draw(part: int, shift: int = shift, total: float = background_total) -> Any:
            cell = part * PARTS + (part + shift) % PARTS
            random = np.uint64(seed_of(seed, number, cell))
            return sweep_cell(cells, cell, state, packed, n_topics, random, switch, total)

        for change, background_change in list(pool.map(draw, range(PARTS))):
            state.topic_totals[:] += change
            background_total += background_change
