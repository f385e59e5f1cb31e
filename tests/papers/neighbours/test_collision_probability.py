"""Chances of sharing a bucket: closed forms against integrals, enumeration and simulation."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from likewise_papers.neighbours.collision_probability import (
    Chances,
    collision,
    order_by,
    perturbations,
    reach,
    tables_for,
)


@given(st.floats(0.01, 50))
def test_collision_is_the_integral_of_the_paper(ratio):
    # Datar et al.: the integral over |difference| = t of f(t/c)/c (1 - t/w), here with w = 1.
    density = stats.halfnorm(scale=ratio).pdf
    expected, _ = integrate.quad(lambda t: density(t) * (1 - t), 0, min(1, 12 * ratio))
    assert collision(np.array([ratio]))[0] == pytest.approx(expected, abs=1e-7)


def test_collision_falls_from_one():
    chances = collision(np.linspace(0, 5, 100))
    assert chances[0] == pytest.approx(1)
    assert (np.diff(chances) < 0).all()
    # The figure that E2LSH starts from: width 4, radius 1.
    assert collision(np.array([0.25]))[0] == pytest.approx(0.8005, abs=1e-4)


@given(st.floats(1e-4, 0.999), st.floats(0.001, 0.5))
def test_tables_are_just_enough(chance, delta):
    tables = tables_for(chance, delta)
    assert (1 - chance) ** tables <= delta * (1 + 1e-6)
    assert tables == 1 or (1 - chance) ** (tables - 1) > delta * (1 - 1e-6)


def test_no_table_suffices_without_a_chance():
    assert tables_for(0.0, 0.1) == np.inf
    assert tables_for(1.0, 0.1) == 1


def sets_of(length, probes):
    bounds, members = perturbations(length, probes)
    return [tuple(members[a:b].tolist()) for a, b in pairwise(bounds)]


def expected_squares(length):
    """Mean squared distances to the borders in order, by their definition as order statistics."""
    places = np.random.default_rng(0).random((200_000, length))
    borders = np.concatenate([places, 1 - places], axis=1)
    return (np.sort(borders, axis=1) ** 2).mean(axis=0)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_perturbations_are_the_likeliest_sets(length):
    squares = expected_squares(length)
    valid = [
        (squares[list(steps)].sum(), steps)
        for size in range(1, length + 1)
        for steps in combinations(range(2 * length), size)
        if all(2 * length - 1 - step not in steps for step in steps)
    ]
    probes = min(20, len(valid))
    found = sets_of(length, probes)
    assert len(set(found)) == len(found) == probes
    assert set(found) <= {steps for _, steps in valid}
    scores = [squares[list(steps)].sum() for steps in found]
    np.testing.assert_allclose(scores, [score for score, _ in sorted(valid)[:probes]], rtol=0.02)


def test_there_are_no_more_perturbations_than_neighbours():
    assert set(sets_of(1, 100)) == {(0,), (1,)}
    assert len(sets_of(2, 100)) == 3**2 - 1
    assert sets_of(7, 0) == []


@given(st.lists(st.floats(0, 1, width=32), max_size=30))
def test_order_by_is_argsort(values):
    values = np.array(values, np.float64)
    order = np.empty(len(values), np.int64)
    order_by(values, order)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


def test_reach_is_the_sum_over_buckets():
    random = np.random.default_rng(1)
    length, n_distances = 6, 3
    places = random.random((5, length))
    slices = random.random((5, length, 3, n_distances))
    steps = perturbations(length, 15)
    got = reach(places, (slices[:, :, 1].copy(), slices[:, :, ::2] / slices[:, :, 1:2]), steps)
    for draw in range(5):
        order = np.argsort(np.minimum(places[draw], 1 - places[draw]))
        for c in range(n_distances):
            total = 0.0
            for members in [(), *sets_of(length, 15)]:
                to = np.ones(length, int)
                for member in members:
                    near = member < length
                    i = order[member if near else 2 * length - 1 - member]
                    to[i] = 2 if (places[draw, i] >= 0.5) == near else 0
                total += np.prod(slices[draw, np.arange(length), to, c])
            assert got[draw, c] == pytest.approx(total)


@pytest.mark.parametrize("probes", [0, 6, 40])
def test_chances_are_those_of_simulated_points(probes):
    """Two points at a distance of 1 in slices 4 wide: how often is the other's bucket read?"""
    random = np.random.default_rng(2)
    length, n = 8, 40_000
    places = random.random((n, length))
    others = np.floor(places + random.standard_normal((n, length)) / 4).astype(int)
    order = np.argsort(np.minimum(places, 1 - places), axis=1)
    way = np.where(places >= 0.5, 1, -1)
    steps = perturbations(length, probes)
    hits = (others == 0).all(axis=1)
    for members in sets_of(length, probes):
        to = np.zeros((n, length), int)
        for member in members:
            near = member < length
            i = order[:, member if near else 2 * length - 1 - member]
            to[np.arange(n), i] = (1 if near else -1) * way[np.arange(n), i]
        hits |= (others == to).all(axis=1)
    chances = Chances(4.0, probes, np.array([1.0, 0.5]), 8192)
    tolerance = 4 * np.sqrt(0.25 / n)
    assert chances.mean(length, steps)[0] == pytest.approx(hits.mean(), abs=tolerance)
    assert chances.at_least(length, steps) <= chances.mean(length, steps)[0]
    assert chances.at_least(length, steps) == pytest.approx(hits.mean(), abs=2 * tolerance)
    assert chances.mean(length, steps)[1] > chances.mean(length, steps)[0]
