"""Cells: centroids, heads and what is proposed, against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.cells import (
    Cells,
    Lists,
    add_rows,
    least_of_largest,
    multiply,
    read_cells,
)
from likewise.neighbours.int8 import Coded, decode, encode
from likewise.neighbours.largest import KEY_UNIT, keep_largest, key_of, room_for, rows_of


def drawn(n, width=40, *, seed=0):
    """Unit vectors whose first coordinates are the longest, around some centres."""
    random = np.random.default_rng(seed)
    decay = 1 / np.sqrt(1 + np.arange(width))
    centres = random.normal(size=(max(n // 50, 1), width)) * decay
    rows = centres[random.integers(0, len(centres), n)]
    rows = rows + 0.5 * random.normal(size=(n, width)) * decay
    return encode((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


@pytest.fixture(scope="module")
def coded():
    return drawn(6000)


@pytest.fixture(scope="module")
def finder(coded):
    return Cells(axes=16).build(coded)


def test_every_row_is_in_the_nearest_cell(coded, finder):
    bounds, rows, heads = finder.lists
    assert np.array_equal(np.sort(rows), np.arange(6000))
    inside = decode(coded)[rows] @ finder.axes.T
    cells = np.repeat(np.arange(len(finder.centroids)), np.diff(bounds.astype(int)))
    squares = np.square(inside[:, None, :] - finder.centroids[None]).sum(axis=2)
    assert squares[np.arange(6000), cells] == pytest.approx(squares.min(axis=1), abs=1e-4)
    assert heads * finder.steps == pytest.approx(inside, abs=float(finder.steps.max()))


def test_axes_keep_inner_products(coded, finder):
    assert finder.axes @ finder.axes.T == pytest.approx(np.eye(16), abs=1e-5)
    rows = decode(coded)
    inside, first = rows @ finder.axes.T, rows[:, :16]
    products, kept, cut = (one[:50] @ one.T for one in (rows, inside, first))
    assert np.square(products - kept).sum() <= np.square(products - cut).sum() + 1e-6


def test_the_same_bits_whatever_is_done_at_once(coded, finder, monkeypatch):
    monkeypatch.setattr("likewise.neighbours.cells.os.cpu_count", lambda: 5)
    other = Cells(axes=16).build(coded)
    for one, two in zip(finder.lists, other.lists, strict=True):
        assert np.array_equal(one, two)
    assert finder.centroids.tobytes() == other.centroids.tobytes()


def test_what_is_added_counts_with_the_products(coded, finder):
    random = np.random.default_rng(1)
    point, sums = random.normal(size=40), random.integers(-500, 500, 6000).astype(np.int16)
    allowed = random.random(6000) < 0.5
    keys = finder.largest(point, 50, read=6000, added=(sums, 0.002), allowed=allowed)
    inside = finder.axes.astype(np.float64) @ point
    _, rows, heads = finder.lists
    expected = np.full(6000, -np.inf)
    expected[rows] = heads.astype(np.float64) @ (inside * finder.steps)
    expected += sums * 0.002
    expected[~allowed] = -np.inf
    found, best = rows_of(keys), np.sort(np.argsort(-expected)[:50])
    assert len(keys) == 50
    assert allowed[found].all()
    assert len(np.intersect1d(found, best)) >= 49
    assert expected[found].min() == pytest.approx(expected[best].min(), abs=1e-3)


def test_few_cells_are_read_for_few_rows(finder):
    sizes = np.diff(finder.lists.bounds.astype(int))
    keys = finder.largest(np.ones(40), 6000, read=100)
    assert 100 <= len(keys) < 100 + sizes.max()


def test_what_does_not_fit_is_refused(coded, finder):
    memory = Memory()
    finder.save(memory)
    with pytest.raises((UsageError, DamagedError)):
        Cells(axes=20).load(memory, coded)
    with pytest.raises(UsageError, match="cells must be 0 or more, axes from 1 to 512"):
        Cells(axes=0)


def test_vectors_that_are_not_numbers_do_no_harm():
    coded = drawn(300)
    scales = coded.scales.copy()
    scales[7] = np.nan
    finder = Cells(axes=8).build(Coded(coded.codes, scales))
    assert len(finder.propose(np.ones(40, np.float32), 300)) == 300


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 60))
@settings(max_examples=50)
def test_the_largest_keys_are_kept(seed, n, size):
    random = np.random.default_rng(seed)
    values, rows = random.integers(-5, 5, size), random.permutation(1000)[:size]
    pairs = zip(values.tolist(), rows.tolist(), strict=True)
    keys = np.array([key_of(value, row) for value, row in pairs], np.int64)
    kept = keep_largest(keys, size, n)
    best = np.lexsort((rows, -values))[:n]
    assert rows_of(keys[:kept]).tolist() == sorted(rows[best].tolist())
    if size > n:
        assert keys[n - 1] == keys[:n].min()
    assert rows_of(keys[:kept], keys[:kept]).tolist() == rows_of(keys[:kept]).tolist()


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, 50))
@settings(max_examples=30)
def test_kernels_equal_numpy(seed, width, n):
    random = np.random.default_rng(seed)
    heads = random.integers(-127, 128, (n, width)).astype(np.int8)
    query = random.integers(-32_000, 32_000, width).astype(np.int16)
    out = np.empty(n, np.int32)
    multiply(heads, query, out)
    assert np.array_equal(out, heads.astype(np.int64) @ query.astype(np.int64))
    points = random.normal(size=(n, width)).astype(np.float32)
    cells = random.integers(0, 4, n)
    sums, expected = np.zeros((4, width)), np.zeros((4, width))
    add_rows(points, cells, sums)
    np.add.at(expected, cells, points)
    assert np.array_equal(sums, expected)
    bounds = np.array([0, n // 2, n], np.uint32)
    lists = Lists(bounds, random.permutation(n).astype(np.uint32), heads)
    added = random.integers(-100, 100, n).astype(np.int16)
    keys, nothing = room_for(5), np.zeros(0, np.bool_)
    order = np.array([1, 0])
    size = read_cells(lists, order, n, (query, 1e-8), (added, 1e-4), nothing, keys, 5)
    scores = np.empty(n)
    scores[lists.rows] = heads.astype(np.int64) @ query.astype(np.int64) * 1e-8 * KEY_UNIT
    scores = np.floor(scores + added * 1e-4 * KEY_UNIT)
    best = np.lexsort((np.arange(n), -scores))[:5]
    assert len(rows_of(keys[:size])) == min(n, 5)
    assert scores[rows_of(keys[:size])].min() >= scores[best].min() - 1


@given(st.integers(0, 2**32 - 1), st.integers(0, 700), st.integers(1, 50), st.integers(1, 31))
@settings(max_examples=50)
def test_a_bound_of_the_largest_scores(seed, size, n, bits):
    random = np.random.default_rng(seed)
    scores = random.integers(-(1 << bits) + 1, 1 << bits, size).astype(np.int32)
    scores[random.random(size) < 0.2] = -(1 << 31)
    least = least_of_largest(scores, n)
    assert (scores >= least).sum() >= min(n, size)
    # Not many more than n, where most scores differ and are within reach of the largest.
    if 15 <= bits <= 24 and (scores > -(1 << 24)).sum() >= n:
        assert (scores >= least).sum() <= n + 10 + size * (1 << 13) / (1 << bits)
