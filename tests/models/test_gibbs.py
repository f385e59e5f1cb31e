from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from generative import draw
from hypothesis import given
from hypothesis import strategies as st

from likewise.models.gibbs import (
    AHEAD_TOPICS,
    LANES,
    PARTS,
    make_cells,
    next_random,
    pick,
    read_ahead,
    seed_of,
    start,
    sweep,
    uniform,
    weigh_topics,
)
from likewise.models.priors import Priors


def chain(drawn, *, switch, threads, n_topics=7, sweeps=4, seed=3):
    cells = make_cells(drawn.bags, len(drawn.vocabulary))
    n_rows = len(drawn.vocabulary)
    state = start(
        cells, drawn.bags, n_rows, n_topics=n_topics, seed=seed, background=0.1 if switch else 0.0
    )
    priors = Priors(np.full(n_topics, 0.3), np.full(3, 0.3), 0.01, 1e-4, 0.01)
    with ThreadPoolExecutor(threads) as pool:
        for number in range(sweeps):
            sweep(cells, state, priors, seed=seed, number=number, switch=switch, pool=pool)
    return cells, state, priors


@pytest.mark.parametrize("switch", [False, True])
def test_counts_follow_from_where_the_tokens_are(drawn, switch):
    cells, state, _ = chain(drawn, switch=switch, threads=2)
    n_topics = 7
    pairs = np.repeat(np.arange(len(cells.docs)), np.diff(cells.first))
    docs, rows, z = cells.docs[pairs], cells.rows[pairs], state.topics
    on_topic = z < n_topics
    by_doc = np.zeros_like(state.doc_topics)
    np.add.at(by_doc, (docs[on_topic], z[on_topic]), 1)
    assert np.array_equal(by_doc, state.doc_topics)
    by_word = np.zeros_like(state.word_topics)
    np.add.at(by_word, (rows[on_topic], z[on_topic]), 1)
    assert np.array_equal(by_word, state.word_topics)
    assert np.array_equal(by_word.sum(axis=0), state.topic_totals)
    own, behind = z == n_topics, z == n_topics + 1
    assert np.array_equal(np.bincount(pairs[own], minlength=len(cells.docs)), state.own)
    assert np.array_equal(
        np.bincount(rows[behind], minlength=len(state.background)), state.background
    )
    routes = np.where(on_topic, 0, np.where(own, 1, 2))
    shares = np.zeros_like(state.shares)
    np.add.at(shares, (docs, routes), 1)
    assert np.array_equal(shares, state.shares)
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


def test_a_topic_is_drawn_in_proportion_to_its_weight():
    rng = np.random.default_rng(0)
    scaled, words = rng.random(32, np.float32), rng.random(96, np.float32)
    beta, out = np.float32(0.2), np.empty(32, np.float32)
    total = weigh_topics(scaled, words, 48, beta, out)
    expected = scaled * (beta + words[48:80])
    assert out == pytest.approx(expected, rel=1e-5)
    assert total == pytest.approx(expected.sum(), rel=1e-5)
    drawn = np.zeros(32)
    random = np.uint64(seed_of(0, 0, 0))
    for _ in range(20_000):
        random = np.uint64(next_random(random))
        drawn[pick(out, np.float32(uniform(random) * total))] += 1
    assert drawn / drawn.sum() == pytest.approx(expected / expected.sum(), abs=0.01)


@pytest.mark.parametrize("width", [16, 48, AHEAD_TOPICS + LANES])
def test_rows_that_come_next_are_read(width):
    rng = np.random.default_rng(0)
    words = rng.random((9, width), np.float32)
    rows = rng.integers(0, 9, 20).astype(np.int32)
    expected = words[rows[3:19], :AHEAD_TOPICS:LANES].sum()
    assert read_ahead(words.ravel(), rows, 3, 19, width) == pytest.approx(expected, rel=1e-5)
    assert read_ahead(words.ravel(), rows, 4, 4, width) == 0


@given(st.lists(st.floats(0, 10, width=32), min_size=16, max_size=16), st.floats(0, 1, width=32))
def test_pick_gives_an_index_with_weight(weights, share):
    weights = np.array(weights, np.float32)
    if weights.sum() > 0:
        assert weights[pick(weights, np.float32(share * weights.sum()))] > 0


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
    _, state, _ = chain(tiny, switch=True, threads=2, n_topics=2)
    assert state.shares.sum() == tiny.bags.n_tokens
