"""The exact scan: nothing is missed, whatever the numbers look like."""

import numpy as np
import pytest
from drawn import families, nearest_of, reference, rows_of, simplex, stored
from hypothesis import given
from hypothesis import strategies as st

from likewise.neighbours import scan
from likewise.neighbours.scan import Scan, Scanner, keep_largest, nearest_rows


def squares(points, queries):
    return reference("euclidean", points, queries)


def whole_numbers(n, dimension, most, seed=0):
    """Vectors whose distances single precision holds without rounding; with many duplicates."""
    random = np.random.default_rng(seed)
    return random.integers(-most, most + 1, (n, dimension)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 3, 10, 40, 1000])
@pytest.mark.parametrize("n", [1, 2, 17, 300])
def test_the_nearest_are_proposed(n, k):
    points, queries = np.sqrt(families(n)), np.sqrt(families(20, seed=1))
    wanted = nearest_of(squares(points, queries), k)
    for rows, near in zip(rows_of(Scanner(points).propose(queries, k)), wanted, strict=True):
        assert set(near) <= set(rows)
        assert len(set(rows)) == len(rows)
        # Few are proposed for nothing.
        assert len(rows) <= k + 20


@pytest.mark.parametrize("rows_at_once", [7, 64, 8192])
def test_points_are_taken_in_blocks(monkeypatch, rows_at_once):
    points, queries = np.sqrt(families(200)), np.sqrt(families(9, seed=1))
    monkeypatch.setattr(scan, "_ROWS_AT_ONCE", rows_at_once)
    assert nearest_rows(points, queries, 10) == nearest_of(squares(points, queries), 10).tolist()
    near = Scanner(points).propose_within(queries, 0.9)
    for rows, apart in zip(rows_of(near), squares(points, queries), strict=True):
        assert set(np.flatnonzero(apart <= 0.81)) <= set(rows)


@given(
    st.integers(1, 60), st.integers(1, 4), st.integers(1, 70), st.integers(0, 3), st.integers(0, 99)
)
def test_ties_go_by_row(n, dimension, k, most, seed):
    points, queries = whole_numbers(n, dimension, most, seed), whole_numbers(3, dimension, most)
    wanted = nearest_of(squares(points, queries), k)
    assert nearest_rows(points, queries, k) == wanted.tolist()


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), st.integers(0, 5))
def test_all_within_are_proposed(n, dimension, most, square):
    points, queries = whole_numbers(n, dimension, most), whole_numbers(3, dimension, most, 1)
    found = rows_of(Scanner(points).propose_within(queries, square**0.5))
    for rows, apart in zip(found, squares(points, queries), strict=True):
        assert set(np.flatnonzero(apart <= square)) == set(rows)


def test_many_of_the_same():
    points = np.sqrt(np.repeat(families(5), 100, axis=0))
    for i, rows in enumerate(nearest_rows(points, points[::100], 30)):
        assert rows == list(range(100 * i, 100 * i + 30))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("shift", [0.0, 1.0, 100.0])
def test_vectors_of_any_length_and_far_from_the_origin(scale, shift):
    """A product of matrices rounds with the size of its numbers."""
    random = np.random.default_rng(0)
    points = ((random.standard_normal((2000, 12)) + shift) * scale).astype(np.float32)
    queries = ((random.standard_normal((20, 12)) + shift) * scale).astype(np.float32)
    apart = squares(points, queries)
    wanted = nearest_of(apart, 10)
    found = rows_of(Scanner(points).propose(queries, 10))
    radius = float(np.sqrt(np.sort(apart, axis=1)[:, 9].max()))
    within = rows_of(Scanner(points).propose_within(queries, radius))
    for i in range(len(queries)):
        assert set(wanted[i]) <= set(found[i])
        assert set(np.flatnonzero(apart[i] <= radius**2)) <= set(within[i])


def test_nothing_to_find():
    none = Scanner(np.empty((0, 5), np.float32))
    queries = np.ones((3, 5), np.float32)
    assert none.propose(queries, 4).bounds.tolist() == [0, 0, 0, 0]
    assert none.propose_within(queries, 4.0).bounds.tolist() == [0, 0, 0, 0]
    some = Scanner(queries)
    assert some.propose(np.empty((0, 5), np.float32), 4).bounds.tolist() == [0]
    assert some.propose_within(np.empty((0, 5), np.float32), 4.0).bounds.tolist() == [0]


def test_a_scan_keeps_nothing(tmp_path):
    points = np.sqrt(simplex(9))
    finder = Scan().build(points, seed=3)
    pack = stored(finder, tmp_path / "pack")
    assert pack.names == []
    assert finder.exact
    assert finder.n_bytes == 0
    assert isinstance(Scan().load(pack, points), Scanner)


@given(st.integers(1, 9), st.integers(0, 40), st.integers(1, 13), st.integers(0, 99))
def test_the_largest_are_kept(k, n, step, seed):
    values = np.random.default_rng(seed).integers(0, 9, (3, n)).astype(np.float32)
    keys = np.full((3, k), -np.inf, np.float32)
    rows = np.full((3, k), -1, np.int64)
    for start in range(0, n, step):
        keep_largest(values[:, start : start + step].copy(), start, keys, rows)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    assert np.array_equal(rows[:, : order.shape[1]], order)
    assert np.array_equal(keys[:, : order.shape[1]], np.take_along_axis(values, order, axis=1))
    assert (rows[:, order.shape[1] :] == -1).all()
