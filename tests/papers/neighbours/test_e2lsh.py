"""Locality-sensitive hashing: what it promises, how it is tuned, and how it is stored."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from drawn import n_stored, stored

from likewise import notation
from likewise.errors import UsageError
from likewise_papers.neighbours.collision_probability import collision
from likewise_papers.neighbours.e2lsh import LSH, LSHFinder, Shape, choose, squared_distances


def simplex(n, seed=0, dimension=60):
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


def share_found(config, distance, *, seeds=8, n=400, dimension=30):
    """How often is a point found from a place at this distance of it?"""
    found = 0
    for seed in range(seeds):
        random = np.random.default_rng(100 + seed)
        points = random.standard_normal((n, dimension)).astype(np.float32)
        away = random.standard_normal((n, dimension))
        away *= distance / np.linalg.norm(away, axis=1, keepdims=True)
        proposals = config.build(points, seed=seed).propose((points + away).astype(np.float32), 1)
        found += sum(i in rows for i, rows in enumerate(lists_of(proposals)))
    return found / (seeds * n)


@pytest.mark.parametrize("probes", [0, 3, 24])
@pytest.mark.parametrize(("radius", "delta"), [(0.6, 0.1), (0.4, 0.3), (3.0, 0.05)])
def test_the_promise_is_kept_at_the_radius(probes, radius, delta):
    share = share_found(LSH(radius=radius, delta=delta, probes=probes, length=14), radius)
    noise = 3 * np.sqrt(delta * (1 - delta) / 3200)
    assert share >= 1 - delta - noise
    # Far more would be tables for nothing.
    assert share <= 1 - delta / 2


@pytest.mark.parametrize("probes", [0, 10])
def test_the_promise_is_kept_with_the_length_chosen(probes):
    assert share_found(LSH(probes=probes), 0.6, seeds=4) >= 0.9 - 3 * np.sqrt(0.09 / 1600)


@pytest.mark.parametrize("probes", [0, 24])
def test_nearer_points_are_found_more_often(probes):
    config = LSH(probes=probes, length=10)
    shares = [share_found(config, distance, seeds=3) for distance in (0.1, 0.4, 0.6, 1.2)]
    assert shares[0] > 0.99
    assert (np.diff(shares) < 0).all()


def test_without_the_promised_tables_points_are_missed():
    derived = choose(LSH(), simplex(400), 0)
    few = LSH(length=derived.length, tables=derived.tables // 3)
    assert share_found(few, 0.6, seeds=3) < 0.8


def test_probes_need_fewer_tables():
    points = simplex(500)
    length = 12
    tables = [choose(LSH(length=length, probes=p), points, 0).tables for p in (0, 4, 16, 64)]
    assert tables == sorted(tables, reverse=True)
    assert tables[-1] < tables[0] / 5


@pytest.mark.parametrize("memory", [16, 64, 256, 1024])
def test_memory_is_bounded_and_the_promise_still_kept(memory):
    points = simplex(2000)
    config = LSH(radius=0.8, memory=memory)
    finder = config.build(points, seed=0)
    functions = sum(array.nbytes for array in finder.functions)
    assert finder.n_bytes - functions <= memory * len(points) + 4 * finder.shape.tables
    length, tables = finder.shape
    alike = collision(np.array([0.25]))[0] ** length
    assert (1 - alike) ** tables <= 0.1


def test_what_is_given_is_not_worked_out():
    points = simplex(300)
    assert choose(LSH(length=5, tables=3), points, 0) == Shape(5, 3)
    assert choose(LSH(length=8), points, 0) == Shape(8, 13)
    # Thirteen tables are enough for eight functions, and not for nine.
    assert choose(LSH(tables=13), points, 0) == Shape(8, 13)


def test_the_length_chosen_is_cheapest():
    """Neither much shorter (more candidates) nor much longer codes (more tables) read less."""
    points = simplex(20_000)
    chosen = choose(LSH(), points, 0)

    def cost(length):
        finder = LSH(length=length, memory=1 << 16).build(points, seed=0)
        n_candidates = len(finder.propose(points[:50], 10).rows) / 50
        return finder.shape.tables * (length * 60 + 2000) + n_candidates * 4 * 60

    costs = [cost(length) for length in (chosen.length - 5, chosen.length, chosen.length + 5)]
    assert costs[1] == min(costs)


def test_few_points_leave_room_to_grow():
    """An index of nothing much is tuned as for ten thousand points."""
    few, many = choose(LSH(), simplex(20), 0), choose(LSH(), simplex(9000), 0)
    assert abs(few.length - many.length) <= 4
    assert choose(LSH(), np.empty((0, 60), np.float32), 0).length > 4


def test_squared_distances():
    random = np.random.default_rng(0)
    points = random.random((20, 7), np.float32)
    queries = random.random((3, 7), np.float32)
    apart = points.astype(np.float64) - queries.astype(np.float64)[:, None]
    np.testing.assert_allclose(squared_distances(points, queries), (apart**2).sum(axis=2))


def test_every_point_within_the_radius_is_likely_found():
    points = simplex(3000)
    squares = squared_distances(points, points[:100])
    for probes in (0, 16):
        proposals = LSH(probes=probes).build(points, seed=0).propose_within(points[:100], 0.6)
        found = [
            np.isin(np.flatnonzero(s < 0.36), rows)
            for s, rows in zip(squares, lists_of(proposals), strict=True)
        ]
        assert np.concatenate(found).mean() >= 0.9
        assert len(proposals.rows) < 0.2 * 100 * 3000


@pytest.mark.parametrize("probes", [0, 7])
def test_proposals_are_the_same_however_they_are_asked_for(probes):
    points = simplex(1500)
    finder = LSH(probes=probes).build(points, seed=3)
    whole = finder.propose(points, 10)
    rows = lists_of(whole)
    assert all((np.diff(own) > 0).all() for own in rows)
    # A point shares all buckets with itself.
    assert all(i in own for i, own in enumerate(rows))
    assert same(whole, LSH(probes=probes).build(points, seed=3).propose_within(points, 0.1))
    assert not same(whole, LSH(probes=probes).build(points, seed=4).propose(points, 10))
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda i: finder.propose(points[i : i + 1], 10).rows, range(200))
    assert all(np.array_equal(one, own) for one, own in zip(parts, rows[:200], strict=True))


@pytest.mark.parametrize("config", [LSH(), LSH(radius=0.4, probes=5)])
def test_saved_and_mapped(tmp_path, config):
    points = simplex(700)
    finder = config.build(points, seed=1)
    pack = stored(finder, tmp_path / "pack")
    mapped = config.load(pack, points)
    assert isinstance(mapped, LSHFinder)
    assert mapped.shape == finder.shape
    assert mapped.n_bytes == finder.n_bytes
    assert same(mapped.propose(points[:50], 5), finder.propose(points[:50], 5))
    assert n_stored(pack) == finder.n_bytes
    grown = config.build(simplex(900, seed=5), seed=2, origin=mapped)
    assert grown.functions is mapped.functions
    with pytest.raises(UsageError, match="build it again"):
        config.load(pack, points[1:])
    with pytest.raises(UsageError, match="build it again"):
        LSH(radius=0.5).load(pack, points)


def test_functions_are_taken_over():
    points = simplex(1000)
    first = LSH().build(points[:400], seed=1)
    grown = LSH().build(points, seed=2, origin=first)
    assert grown.shape == first.shape
    before, after = lists_of(first.propose(points[:30], 5)), lists_of(grown.propose(points[:30], 5))
    assert all(np.array_equal(a, b[b < 400]) for a, b in zip(before, after, strict=True))
    with pytest.raises(UsageError, match="without an origin"):
        LSH(radius=0.5).build(points, seed=0, origin=first)
    with pytest.raises(UsageError, match="without an origin"):
        LSH().build(points[:, :50], seed=0, origin=first)


@pytest.mark.parametrize("probes", [0, 4])
def test_none_one_and_equal_points(tmp_path, probes):
    config = LSH(probes=probes)
    none = config.build(np.empty((0, 8), np.float32), seed=0)
    queries = np.ones((3, 8), np.float32)
    assert none.propose(queries, 5).bounds.tolist() == [0, 0, 0, 0]
    loaded = config.load(stored(none, tmp_path / "pack"), np.empty((0, 8), np.float32))
    assert len(loaded.propose(queries, 1).rows) == 0
    one = config.build(queries[:1], seed=0)
    assert one.propose(queries, 5).rows.tolist() == [0, 0, 0]
    assert one.propose(queries[:0], 5).bounds.tolist() == [0]
    equal = config.build(np.repeat(queries[:1], 500, axis=0), seed=0)
    assert equal.propose(queries[:1], 5).rows.tolist() == list(range(500))
    assert len(equal.propose(queries[:1] + 100, 5).rows) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"radius": 0.0},
        {"radius": float("nan")},
        {"delta": 1.0},
        {"delta": 0.0},
        {"width": -1.0},
        {"probes": -1},
        {"probes": 5000},
        {"length": 65},
        {"tables": -1},
        {"memory": 4},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        LSH(**wrong)


def test_impossible_promises_are_refused():
    points = simplex(50)
    with pytest.raises(UsageError, match="allow more memory"):
        LSH(length=40).build(points, seed=0)
    with pytest.raises(UsageError, match="1 tables cannot find a point within"):
        LSH(tables=1, delta=0.001).build(points, seed=0)


def test_shapes_that_do_not_fit():
    finder = LSH().build(simplex(50), seed=0)
    with pytest.raises(UsageError, match="60 coordinates"):
        finder.propose(np.ones((2, 59), np.float32), 3)
    with pytest.raises(UsageError, match="60 coordinates"):
        finder.propose_within(np.ones(60, np.float32), 0.5)
    with pytest.raises(UsageError, match="rows of one coordinate or more"):
        LSH().build(np.ones(3, np.float32), seed=0)


def test_notation():
    config = LSH(radius=0.8, probes=10)
    assert str(config) == "lsh(radius=0.8,probes=10)"
    assert notation.read(str(config), {"lsh": LSH}, what="index") == config
