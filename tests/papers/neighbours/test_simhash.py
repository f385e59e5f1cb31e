"""Codes of signs: kernels against plain NumPy, what is proposed, and how it is stored."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from drawn import n_stored, stored
from hypothesis import given
from hypothesis import strategies as st

from likewise import notation
from likewise.errors import UsageError
from likewise_papers.neighbours.simhash import Codes, list_codes, project


def simplex(n, seed=0, dimension=50):
    """Square roots of distributions over topics in families of ten, so that there are near ones."""
    random = np.random.default_rng(seed)
    themes = random.dirichlet(np.full(dimension, 0.05), -(-n // 10))
    own = random.dirichlet(np.full(dimension, 0.05), n)
    share = random.uniform(0.05, 0.6, (n, 1))
    mixed = (1 - share) * np.repeat(themes, 10, axis=0)[:n] + share * own
    return np.sqrt(mixed).astype(np.float32)[random.permutation(n)]


def lists_of(proposals):
    bounds = proposals.bounds.tolist()
    return [proposals.rows[a:b] for a, b in pairwise(bounds)]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def codes_of(points, finder):
    """The codes of points (rows) by table, by the plain formula."""
    axes, offsets = finder.functions
    values = np.tile(offsets, (len(points), 1))
    for j in range(points.shape[1]):
        values = values + points[:, j : j + 1] * axes[j]
    bits = (values >= 0).reshape(len(points), -1, finder.config.length)
    return bits @ (1 << np.arange(finder.config.length))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 9))
def test_project_adds_coordinate_by_coordinate(dimension, n_axes, seed):
    random = np.random.default_rng(seed)
    point = random.standard_normal(dimension).astype(np.float32)
    point[random.random(dimension) < 0.5] = 0
    axes = random.standard_normal((dimension, n_axes), np.float32)
    offsets = random.random(n_axes, np.float32)
    values = np.empty(n_axes, np.float32)
    project(point, axes, offsets, values)
    expected = offsets.copy()
    for x, row in zip(point, axes, strict=True):
        expected += x * row
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(values, offsets + point @ axes, atol=1e-4)


def test_lists_are_in_order_of_code_and_row():
    points = simplex(400)
    finder = Codes(tables=5, length=4).build(points, seed=0)
    codes = codes_of(points, finder)
    starts, rows = np.empty(5 * 17, np.uint32), np.empty(5 * 400, np.int32)
    list_codes(points, *finder.functions, 4, (starts, rows))
    for t in range(5):
        order = np.argsort(codes[:, t], kind="stable")
        np.testing.assert_array_equal(rows[400 * t : 400 * (t + 1)], order)
        expected = np.searchsorted(codes[order, t], np.arange(17))
        np.testing.assert_array_equal(starts[17 * t : 17 * (t + 1)], expected)
    assert np.array_equal(finder.rows, rows)
    assert np.array_equal(finder.starts, starts)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1001])
@pytest.mark.parametrize("config", [Codes(), Codes(tables=127, length=2), Codes(length=12)])
@pytest.mark.parametrize("limit", [0, 1, 3, 60])
def test_proposed_are_those_that_share_the_most_codes(n, config, limit):
    points, queries = simplex(n), simplex(30, seed=1)
    finder = Codes(config.tables, config.length, limit).build(points, seed=2)
    shared = codes_of(queries, finder)[:, None] == codes_of(points, finder)
    shared = shared.sum(axis=2)
    for k in (1, 4):
        for own, counts in zip(lists_of(finder.propose(queries, k)), shared, strict=True):
            first = np.lexsort((np.arange(n), -counts))[: k * limit or n]
            assert own.tolist() == sorted(first[counts[first] > 0].tolist())
    for own, counts in zip(lists_of(finder.propose_within(queries, 0.5)), shared, strict=True):
        assert own.tolist() == np.flatnonzero(counts).tolist()


def test_planes_part_the_points_evenly():
    """Through the mean: through the origin a third of the planes would leave one side bare."""
    points = simplex(3000) + np.float32(1)
    finder = Codes(length=1, tables=100).build(points, seed=0)
    above = codes_of(points, finder).mean(axis=0)
    assert 0.35 < above.min() < above.max() < 0.65


def test_recall_of_the_nearest():
    points = simplex(5000)
    squares = ((points[:100, None] - points) ** 2).sum(axis=2)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, :11]
    finder = Codes(limit=20).build(points, seed=0)
    found = [
        np.isin(near, own)
        for near, own in zip(nearest, lists_of(finder.propose(points[:100], 10)), strict=True)
    ]
    assert np.mean(found) > 0.8
    # A point shares all codes with itself.
    assert all(own[0] for own in found)


def test_proposals_are_the_same_however_they_are_asked_for():
    points = simplex(1500)
    finder = Codes(limit=5).build(points, seed=3)
    whole = finder.propose(points, 10)
    assert same(whole, Codes(limit=5).build(points, seed=3).propose(points, 10))
    assert not same(whole, Codes(limit=5).build(points, seed=4).propose(points, 10))
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda i: finder.propose(points[i : i + 1], 10).rows, range(200))
    assert all(np.array_equal(*pair) for pair in zip(parts, lists_of(whole)[:200], strict=True))


def test_saved_mapped_and_taken_over(tmp_path):
    points = simplex(700)
    finder = Codes().build(points[:500], seed=1)
    pack = stored(finder, tmp_path / "pack")
    mapped = Codes().load(pack, points[:500])
    assert mapped.n_bytes == finder.n_bytes
    assert same(mapped.propose(points[:50], 5), finder.propose(points[:50], 5))
    assert n_stored(pack) == finder.n_bytes
    grown = Codes().build(points, seed=2, origin=mapped)
    assert np.array_equal(codes_of(points, grown), codes_of(points, finder))
    with pytest.raises(UsageError, match="build it again"):
        Codes().load(pack, points)
    with pytest.raises(UsageError, match="build it again"):
        Codes(tables=29).load(pack, points[:500])
    with pytest.raises(UsageError, match="without an origin"):
        Codes(length=5).build(points, seed=0, origin=finder)
    with pytest.raises(UsageError, match="without an origin"):
        Codes().build(points[:, :9], seed=0, origin=finder)


def test_none_one_and_equal_points(tmp_path):
    none = Codes().build(np.empty((0, 8), np.float32), seed=0)
    queries = np.ones((3, 8), np.float32)
    assert none.propose(queries, 5).bounds.tolist() == [0, 0, 0, 0]
    loaded = Codes().load(stored(none, tmp_path / "pack"), np.empty((0, 8), np.float32))
    assert len(loaded.propose(queries, 1).rows) == 0
    one = Codes().build(queries[:1], seed=0)
    assert one.propose(queries, 5).rows.tolist() == [0, 0, 0]
    assert one.propose(queries[:0], 5).bounds.tolist() == [0]
    equal = Codes(limit=0).build(np.repeat(queries[:1], 500, axis=0), seed=0)
    assert equal.propose(queries[:1], 5).rows.tolist() == list(range(500))


@pytest.mark.parametrize(
    "wrong", [{"tables": 0}, {"tables": 128}, {"length": 0}, {"length": 17}, {"limit": -1}]
)
def test_settings_out_of_range(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Codes(**wrong)


def test_shapes_that_do_not_fit():
    finder = Codes().build(simplex(50), seed=0)
    with pytest.raises(UsageError, match="50 coordinates"):
        finder.propose(np.ones((2, 49), np.float32), 3)
    with pytest.raises(UsageError, match="rows of one coordinate or more"):
        Codes().build(np.ones((3, 0), np.float32), seed=0)


def test_notation():
    assert str(Codes(limit=20)) == "codes(limit=20)"
    assert notation.read("codes(limit=20)", {"codes": Codes}, what="index") == Codes(limit=20)
