"""How the Gibbs sampler draws tokens anew: the inner loops, for one or two cells at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.compiled import Doubles, Floats, Ids, Int, Ints, Longs, inlined_kernel, kernel
from likewise.lanes import (
    LANES,
    add,
    add_at,
    count_to,
    cumulate,
    load,
    multiply,
    prefetch,
    put_at,
    shift,
    spread,
    store,
    take,
    taken,
    tally,
)

# Topics whose weights are added up in one go, lane by lane.
SEGMENT = 8 * LANES
# A token's row of its word is fetched so many pairs before.
AHEAD = 8
CACHE_LINE = 16
# Columns of counts, after those of the topics, and routes of a token.
OWN, BACKGROUND = 0, 1
# What a product with it is less than.
_LESS = np.float32(1 - 2**-23)
_ONE = np.float32(1)
# What there is of a chain: the next token, the one after the last, its pair, its document.
TOKEN, END, PAIR, DOC = 0, 1, 2, 3


class Cells(NamedTuple):
    """Pairs of document and word, grouped by cell, then document, then word.

    Cell `p * PARTS + q` holds the pairs `bounds[cell]` to `bounds[cell + 1]`; pair i stands for
    the tokens `first[i]` to `first[i + 1]`. `lengths` has the tokens of each document.
    """

    bounds: Ints
    docs: Ids
    rows: Ids
    first: Ints
    lengths: Floats


class Counts(NamedTuple):
    """Where every token is, and the counts that follow from it, as kernels have them.

    `by_doc` and `by_word` are rows of one length, one after the other: the columns of the topics,
    of a document's own words, of the background, and some that stay 0.
    """

    topics: Ids
    own: Ids
    by_doc: Floats
    by_word: Floats


class Weights(NamedTuple):
    """The priors, in rows as long as those of the counts; 1 in `is_topic` for topics, else 0."""

    alpha: Floats
    is_topic: Floats
    gamma: Floats
    alpha_sum: Any
    beta: Any
    beta_own: Any
    beta_background: Any
    n_rows: Any


class Chains(NamedTuple):
    """What each chain has of its own: a row for each.

    `scale` is one over a topic's total with its prior, `scaled` that times the counts of the
    document with their priors; `sums` is where the weights of a token are added up.
    """

    places: Ints
    randoms: Longs
    totals: Doubles
    scale: Floats
    scaled: Floats
    sums: Floats


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


@kernel
def room_for_sums(width: Any) -> Any:
    """Give where the sums of segments begin behind those of a row of weights, and where they end.

    Those of weights are whole segments.
    """
    n_segments = (width + np.uintp(SEGMENT - 1)) // np.uintp(SEGMENT)
    first = n_segments * np.uintp(SEGMENT) + np.uintp(LANES)
    return first, first + n_segments * np.uintp(LANES)


@kernel
def make_sums(n: Int, width: Any) -> Floats:
    """Make room for n rows of sums; what is behind the last weight is never reached."""
    first, end = room_for_sums(width)
    sums = np.full((n, end), np.inf, np.float32)
    sums[:, first - np.uintp(LANES) : first] = 0
    return sums.ravel()


@inlined_kernel
def add_segment(rows: tuple[Floats, Floats, Floats], at: Any, beta: Any, start: Any, n: Any) -> Any:
    """Store the cumulative sums of n times eight weights from `start` on, and give the last."""
    scaled, words, sums = rows
    at_scaled, at_word, room = at
    betas, segment = spread(beta), spread(np.float32(0))
    for i in range(n):
        k = start + np.uintp(i) * np.uintp(LANES)
        weights = multiply(load(scaled, at_scaled + k), add(betas, load(words, at_word + k)))
        segment = add(segment, weights)
        store(sums, room + k, segment)
    return segment


@inlined_kernel
def add_weights(rows: tuple[Floats, Floats, Floats], at: Any, beta: Any, width: Any) -> Any:
    """Add up the weights of topics, `scaled * (beta + words)`, lane by lane.

    `rows` are scaled, words and where the sums go, and `at` is where each row begins. Of each
    segment the cumulative sums are stored, and behind them, after eight that are 0, those of the
    segments, the last of which are given. It equals
    `w = (scaled * (beta + words)).reshape(-1, SEGMENT // LANES, LANES)`, `w.cumsum(axis=1)` and
    `w.sum(axis=1).cumsum(axis=0)`.
    """
    sums, total = rows[2], spread(np.float32(0))
    after = at[2] + room_for_sums(width)[0]
    whole = width & ~np.uintp(SEGMENT - 1)
    for start in range(np.uintp(0), whole, np.uintp(SEGMENT)):
        total = add(total, add_segment(rows, at, beta, start, SEGMENT // LANES))
        store(sums, after, total)
        after += np.uintp(LANES)
    if whole < width:
        left = (width - whole) // np.uintp(LANES)
        total = add(total, add_segment(rows, at, beta, whole, left))
        store(sums, after, total)
    return total


@inlined_kernel
def pick(sums: Floats, room: Any, lanes: Any, target: Any, width: Any, n_topics: Any) -> Any:
    """Find the topic at a target below the sum of `lanes`, in the order of the cumulative sums.

    That is by lanes, then segments, then topics. There is no branch that depends on numbers: it
    could not be predicted. A topic of weight 0 is never picked, unless no target is below the sum
    because it is 0 or not finite: then some topic is, but none that is not there.
    """
    first, end = room_for_sums(width)
    first, last = room + first, room + end - np.uintp(LANES)
    lane = min(count_to(lanes, target), np.uintp(LANES - 1))
    # What rounding leaves beyond the last sum belongs to it.
    rest = min(target - take(shift(lanes), lane), sums[last + lane] * _LESS)
    segment = np.uintp(0)
    if first < last:
        counts = spread(np.float32(0))
        for k in range(first, last, np.uintp(LANES)):
            counts = tally(counts, load(sums, k), rest)
        segment = taken(counts, lane)
        rest -= sums[first - np.uintp(LANES) + segment * np.uintp(LANES) + lane]
    start = segment * np.uintp(SEGMENT)
    last_of_segment = min(start + np.uintp(SEGMENT), width) - np.uintp(LANES)
    rest = min(rest, sums[room + last_of_segment + lane] * _LESS)
    counts = spread(np.float32(0))
    for i in range(SEGMENT // LANES):
        eight = load(sums, room + start + np.uintp(i * LANES))
        counts = tally(counts, eight, rest)
    return min(start + taken(counts, lane) * np.uintp(LANES) + lane, n_topics - np.uintp(1))


@inlined_kernel
def move(counts: Counts, weights: Weights, chains: Chains, at: Any, change: Any) -> None:
    """Add a token to the counts of a route, or take it away.

    `at` is the chain, the row's length, where the rows of document and word begin, the column.
    """
    chain, width, at_doc, at_word, k = at
    here = chain * width + k
    n = counts.by_doc[at_doc + k] + change
    counts.by_doc[at_doc + k] = n
    add_at(counts.by_word, at_word + k, change)
    total = chains.totals[here] + np.float64(change)
    chains.totals[here] = total
    scale = weights.is_topic[k] / (weights.n_rows * weights.beta + np.float32(total))
    chains.scale[here] = scale
    put_at(chains.scaled, here, (weights.alpha[k] + n) * scale)


@inlined_kernel
def fetch_rows(cells: Cells, counts: Counts, pair: Any, width: Any) -> None:
    """Have the counts fetched of a pair's word that is near, and of its document if it is new."""
    last = np.uintp(len(cells.rows) - 1)
    ahead, before = min(pair + np.uintp(AHEAD), last), min(pair + np.uintp(AHEAD - 1), last)
    at_word, doc = np.uintp(cells.rows[ahead]) * width, np.uintp(cells.docs[ahead])
    for k in range(np.uintp(0), width, np.uintp(CACHE_LINE)):
        prefetch(counts.by_word, at_word + k)
    if doc != np.uintp(cells.docs[before]):
        for k in range(np.uintp(0), width, np.uintp(CACHE_LINE)):
            prefetch(counts.by_doc, doc * width + k)


@inlined_kernel
def draw_token(
    chain: Any,
    cells: Cells,
    counts: Counts,
    weights: Weights,
    chains: Chains,
    n_topics: Any,
    switch: bool,
) -> None:
    """Draw a new route for the next token of a chain."""
    places = chains.places
    token, pair = np.uintp(places[chain, TOKEN]), np.uintp(places[chain, PAIR])
    width = np.uintp(len(weights.alpha))
    places[chain, TOKEN] = token + np.uintp(1)
    pair += np.uintp(np.uintp(cells.first[pair + np.uintp(1)]) <= token)
    places[chain, PAIR] = pair
    doc, at_word = np.uintp(cells.docs[pair]), np.uintp(cells.rows[pair]) * width
    at_doc = doc * width
    fetch_rows(cells, counts, pair, width)
    if doc != np.uintp(places[chain, DOC]):
        places[chain, DOC] = doc
        for k in range(np.uintp(0), width, np.uintp(LANES)):
            of_doc = add(load(weights.alpha, k), load(counts.by_doc, at_doc + k))
            scale = load(chains.scale, chain * width + k)
            store(chains.scaled, chain * width + k, multiply(of_doc, scale))
    old = np.uintp(counts.topics[token])
    if old >= n_topics and not switch:
        return
    move(counts, weights, chains, (chain, width, at_doc, at_word, old), -_ONE)
    room = chain * room_for_sums(width)[1]
    rows = (chains.scaled, counts.by_word, chains.sums)
    by_lane = add_weights(rows, (chain * width, at_word, room), weights.beta, width)
    lanes = cumulate(by_lane)
    by_topic = take(lanes, np.uintp(LANES - 1))
    random = next_random(chains.randoms[chain])
    chains.randoms[chain] = random
    target = np.float32(uniform(random)) * by_topic
    new = np.uintp(0)
    if switch:
        gamma = weights.gamma
        own, background = n_topics + np.uintp(OWN), n_topics + np.uintp(BACKGROUND)
        of_pair = counts.own[pair] - np.int32(old == own)
        on_own, on_background = counts.by_doc[at_doc + own], counts.by_doc[at_doc + background]
        on_topics = cells.lengths[doc] - _ONE - on_own - on_background
        factor = (weights.alpha_sum + on_topics) / (gamma[0] + on_topics)
        as_own = (gamma[1] + on_own) * (weights.beta_own + np.float32(of_pair))
        as_own *= factor / (weights.n_rows * weights.beta_own + on_own)
        total = np.float32(chains.totals[chain * width + background])
        of_word = weights.beta_background + counts.by_word[at_word + background]
        as_background = (gamma[2] + on_background) * of_word
        as_background *= factor / (weights.n_rows * weights.beta_background + total)
        target = np.float32(uniform(random)) * (by_topic + as_own + as_background)
        within = min(target, by_topic * _LESS)
        new = pick(chains.sums, room, lanes, within, width, n_topics)
        other = own + np.uintp(target >= by_topic + as_own)
        new = other if target >= by_topic else new
        counts.own[pair] = of_pair + np.int32(new == own)
    else:
        new = pick(chains.sums, room, lanes, min(target, by_topic * _LESS), width, n_topics)
    move(counts, weights, chains, (chain, width, at_doc, at_word, new), _ONE)
    counts.topics[token] = new


@kernel
def draw_cells(
    cells: Cells,
    which: Ints,
    counts: Counts,
    totals: Doubles,
    weights: Weights,
    n_topics: Int,
    randoms: Longs,
    switch: bool,
) -> Doubles:
    """Draw a new route for every token of one or two cells; give the changes of the totals.

    Two cells share nothing and are drawn in turns: while a token of one waits for the token
    before it, the other's goes on. The code is there twice, or the processor would take what one
    stores for what the other loads. With the switch off only tokens on topics move, between topics.
    """
    n_chains, width = len(which), len(totals)
    chains = Chains(
        np.full((2, 4), -1, np.int64),
        np.zeros(2, np.uint64),
        np.zeros(2 * width, np.float64),
        np.zeros(2 * width, np.float32),
        np.zeros(2 * width, np.float32),
        make_sums(2, np.uintp(width)),
    )
    for c in range(n_chains):
        pair, end = cells.bounds[which[c]], cells.bounds[which[c] + 1]
        chains.places[c, TOKEN], chains.places[c, END] = cells.first[pair], cells.first[end]
        chains.places[c, PAIR] = pair
        chains.randoms[c] = randoms[c]
        for k in range(width):
            chains.totals[c * width + k] = totals[k]
            total = weights.n_rows * weights.beta + np.float32(totals[k])
            chains.scale[c * width + k] = weights.is_topic[k] / total
    one, other, places, n = np.uintp(0), np.uintp(1), chains.places, np.uintp(n_topics)
    while places[0, TOKEN] < places[0, END] or places[1, TOKEN] < places[1, END]:
        if places[0, TOKEN] < places[0, END]:
            draw_token(one, cells, counts, weights, chains, n, switch)
        if places[1, TOKEN] < places[1, END]:
            draw_token(other, cells, counts, weights, chains, n, switch)
    change = np.zeros(width, np.float64)
    for c in range(n_chains):
        for k in range(width):
            change[k] += chains.totals[c * width + k] - totals[k]
    return change
