from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from generative import draw
from hypothesis import given
from hypothesis import strategies as st

from likewise.compiled import kernel
from likewise.lanes import LANES, cumulate, take
from likewise.models.gibbs import PARTS, make_cells, start, sweep
from likewise.models.gibbs_kernels import (
    SEGMENT,
    add_weights,
    make_sums,
    next_random,
    pick,
    seed_of,
    uniform,
)
from likewise.models.priors import Priors

PRIORS = Priors(np.full(7, 0.3), np.full(3, 0.3), 0.01, 1e-4, 0.01)


def chain(drawn, *, switch, threads, priors=PRIORS, sweeps=4, seed=3):
    n_topics = len(priors.alpha)
    cells = make_cells(drawn.bags, len(drawn.vocabulary))
    n_rows = len(drawn.vocabulary)
    state = start(
        cells, drawn.bags, n_rows, n_topics=n_topics, seed=seed, background=0.1 if switch else 0.0
    )
    with ThreadPoolExecutor(threads) as pool:
        for number in range(sweeps):
            sweep(
                cells,
                state,
                priors,
                seed=seed,
                number=number,
                switch=switch,
                pool=pool,
                threads=threads,
            )
    return cells, state


@pytest.mark.parametrize("switch", [False, True])
@pytest.mark.parametrize("threads", [2, PARTS])
def test_counts_follow_from_where_the_tokens_are(drawn, switch, threads):
    cells, state = chain(drawn, switch=switch, threads=threads)
    n_topics = 7
    pairs = np.repeat(np.arange(len(cells.docs)), np.diff(cells.first))
    docs, rows, z = cells.docs[pairs], cells.rows[pairs], state.topics
    by_doc = np.zeros_like(state.doc_topics)
    np.add.at(by_doc, (docs, z), 1)
    assert np.array_equal(by_doc, state.doc_topics)
    by_word = np.zeros_like(state.word_topics)
    np.add.at(by_word, (rows, z), 1)
    assert np.array_equal(by_word, state.word_topics)
    assert np.array_equal(by_word.sum(axis=0), state.topic_totals)
    own, behind = z == n_topics, z == n_topics + 1
    assert np.array_equal(np.bincount(pairs[own], minlength=len(cells.docs)), state.own)
    assert np.array_equal(
        np.bincount(rows[behind], minlength=len(state.background)), state.background
    )
    routes = np.where(z < n_topics, 0, np.where(own, 1, 2))
    shares = np.zeros_like(state.shares)
    np.add.at(shares, (docs, routes), 1)
    assert np.array_equal(shares, state.shares)
    assert np.array_equal(shares.sum(axis=1), cells.lengths)
    assert behind.any() == switch
    assert own.any() == switch


@pytest.mark.parametrize("switch", [False, True])
def test_the_same_bits_on_any_number_of_threads_and_twice(drawn, switch):
    first = chain(drawn, switch=switch, threads=1)[1]
    for threads in (1, 2, 5):
        again = chain(drawn, switch=switch, threads=threads)[1]
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    other = chain(drawn, switch=switch, threads=2, seed=4)[1]
    assert not np.array_equal(first.topics, other.topics)


def test_cells_hold_every_pair_once_and_cells_of_a_round_are_apart(drawn):
    cells = make_cells(drawn.bags, len(drawn.vocabulary))
    docs = np.repeat(np.arange(drawn.bags.n_docs), np.diff(drawn.bags.bounds))
    expected = sorted(zip(docs, drawn.bags.rows, drawn.bags.counts, strict=True))
    assert sorted(zip(cells.docs, cells.rows, np.diff(cells.first), strict=True)) == expected
    for shift in range(PARTS):
        members = [
            slice(*cells.bounds[p * PARTS + (p + shift) % PARTS :][:2]) for p in range(PARTS)
        ]
        for what in (cells.docs, cells.rows):
            sets = [set(what[member].tolist()) for member in members]
            assert sum(map(len, sets)) == len(set.union(*sets))


WIDTHS = (8, 24, SEGMENT, SEGMENT + 8, 4 * SEGMENT, 5 * SEGMENT + 24)


@kernel
def picked(scaled, words, beta, share, sums, n_topics):
    """Pick a topic at a share of the sum of all weights; give it and the sum."""
    width, zero = np.uintp(len(scaled)), np.uintp(0)
    lanes = cumulate(add_weights((scaled, words, sums), (zero, width, zero), beta, width))
    total = take(lanes, np.uintp(7))
    target = min(share * total, total * np.float32(1 - 2**-23))
    return np.int64(pick(sums, zero, lanes, target, width, np.uintp(n_topics))), total


def pick_at(share, scaled, words, beta=np.float32(0), n_topics=None):
    sums = make_sums(1, np.uintp(len(scaled)))
    words = np.concatenate([np.full(len(words), np.nan, np.float32), words])
    return picked(scaled, words, beta, np.float32(share), sums, n_topics or len(scaled))


def in_order(width):
    """The topics in the order of the cumulative sums: by lane, segment, topic."""
    return np.arange(width).reshape(-1, LANES).T.ravel()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_topic_picked_is_where_the_cumulative_sum_reaches_the_target(width):
    rng = np.random.default_rng(width)
    scaled, words = 0.1 + rng.random((2, width), np.float32)
    weights = (scaled * (np.float32(0.2) + words)).astype(np.float64)
    order = in_order(width)
    ends = np.cumsum(weights[order])
    for topic, middle in zip(order, (ends - weights[order] / 2) / ends[-1], strict=True):
        found, total = pick_at(middle, scaled, words, np.float32(0.2))
        assert found == topic
        assert total == pytest.approx(ends[-1], rel=1e-5)


def test_a_topic_is_drawn_in_proportion_to_its_weight():
    rng = np.random.default_rng(0)
    scaled, words = rng.random((2, 72), np.float32)
    expected = scaled * words
    drawn = np.zeros(72)
    random = np.uint64(seed_of(0, 0, 0))
    for _ in range(20_000):
        random = np.uint64(next_random(random))
        drawn[pick_at(uniform(random), scaled, words)[0]] += 1
    assert drawn / drawn.sum() == pytest.approx(expected / expected.sum(), abs=0.005)


@given(
    st.sampled_from(WIDTHS),
    st.integers(0, 2**32),
    st.floats(0, 1),
    st.floats(0, 10),
    st.floats(0, 1, width=32),
)
def test_pick_gives_a_topic_with_weight(width, seed, share_of_zeros, spread, share):
    rng = np.random.default_rng(seed)
    weights = rng.lognormal(0, spread, width).astype(np.float32)
    weights[rng.random(width) < share_of_zeros] = 0
    weights[rng.integers(width)] = 1
    ends = np.cumsum(weights[in_order(width)], dtype=np.float64)
    # Where one topic ends and the next begins, rounding decides.
    for at in (0, share, 1, *rng.choice(ends / ends[-1], 3)):
        assert weights[pick_at(at, np.ones_like(weights), weights)[0]] > 0


@given(
    st.sampled_from(WIDTHS),
    st.integers(0, 7),
    st.integers(0, 2**32),
    st.sampled_from([0, 1e-45, 1, np.finfo(np.float32).max, np.inf, np.nan]),
    st.sampled_from([0, 0.5, 1]),
    st.floats(0, 1, width=32),
)
def test_pick_gives_no_topic_outside_whatever_the_weights(
    width, n_others, seed, weight, share_of_zeros, share
):
    rng = np.random.default_rng(seed)
    weights = np.full(width, weight, np.float32)
    weights[rng.random(width) < share_of_zeros] = 0
    n_topics = width - n_others
    for some in (weights, np.where(np.arange(width) == seed % width, np.float32(weight), 0)):
        for at in (0, share, 1):
            found = pick_at(at, np.ones_like(weights), some.astype(np.float32), n_topics=n_topics)
            assert 0 <= found[0] < n_topics


@pytest.mark.parametrize("switch", [False, True])
@pytest.mark.parametrize("alpha", [0, 1e-46, 1e-42, np.inf, np.nan])
@pytest.mark.parametrize("beta", [0, 1e-46, 0.01, np.inf, np.nan])
def test_no_token_is_put_outside_whatever_the_priors(switch, alpha, beta):
    """Here they are given to the kernel as no configuration can."""
    short = draw(n_docs=40, n_words=48, n_topics=2, length=1)
    priors = PRIORS._replace(alpha=np.full(10, alpha), beta_topic=beta)
    _, state = chain(short, switch=switch, threads=1, priors=priors)
    assert 0 <= state.topics.min() <= state.topics.max() < 12
    totals = np.bincount(state.topics, minlength=len(state.topic_totals))
    docs, rows = state.doc_topics.sum(axis=0), state.word_topics.sum(axis=0)
    for each in (state.topic_totals, docs, rows):
        assert np.array_equal(each, totals)


def test_random_numbers_are_uniform():
    random, values = np.uint64(seed_of(1, 2, 3)), []
    for _ in range(20_000):
        random = np.uint64(next_random(random))
        values.append(uniform(random))
    histogram = np.histogram(values, 10, (0, 1))[0] / len(values)
    assert histogram == pytest.approx(np.full(10, 0.1), abs=0.01)
    seeds = {int(seed_of(a, b, c)) for a in range(8) for b in range(8) for c in range(8)}
    assert len(seeds) == 512


def test_one_document_of_one_word_can_be_sampled():
    tiny = draw(n_docs=1, n_words=16, n_topics=2, length=20)
    _, state = chain(tiny, switch=True, threads=2, priors=PRIORS._replace(alpha=np.full(2, 0.3)))
    assert state.shares.sum() == tiny.bags.n_tokens
