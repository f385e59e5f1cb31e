"""The kernels against what their docstrings say they equal, and what is promised of the layout."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.draw import radial
from likewise.draw.boxes import cross, meets, overlap
from likewise.draw.radial import (
    Orbits,
    Scene,
    anneal,
    another,
    around,
    cost,
    middle,
    move,
    on_orbit,
)

FRAME = np.array([10.0, 20.0, 510.0, 400.0])
SEEDS = st.integers(0, 10_000)


def some(seed, m=2, n=6, e=7):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 120, (m + n, 2))
    half = rng.uniform(3, 9, (m + n, 2))
    links = np.array([rng.choice(m + n, 2, replace=False) for _ in range(e)]).reshape(-1, 2)
    scene = Scene(
        points,
        np.hstack((points - half, points + half)),
        np.hstack((points - 3 * half, points + 2 * half)),
        np.hstack((points[links[:, 0]], points[links[:, 1]])),
        links,
        rng.random(e),
    )
    orbits = Orbits(
        np.array([60.0, 50.0]),
        rng.uniform(20, 60, (n, 2)),
        np.tile([10.0, 5.0, 110.0, 100.0], (n, 1)),
    )
    return rng, scene, orbits


def copy(scene):
    return Scene(*(array.copy() for array in scene))


def moved(scene, i, to):
    """What `move` does, in NumPy."""
    scene = copy(scene)
    by = np.array(to) - scene.points[i]
    scene.points[i] = to
    scene.solids[i] += np.tile(by, 2)
    scene.rooms[i] += np.tile(by, 2)
    for side in (0, 1):
        scene.ways[scene.links[:, side] == i, 2 * side : 2 * side + 2] = to
    return scene


def total(scene):
    n, e = len(scene.points), len(scene.links)
    across, up = (scene.points[:, None] - scene.points).transpose(2, 0, 1)
    near = radial._NEAR / np.maximum((radial._SLIM * across) ** 2 + up**2, 1.0)
    found = np.triu(near, 1).sum()
    found += scene.pulls @ np.hypot(*(scene.ways[:, 2:] - scene.ways[:, :2]).T)
    for i in range(n):
        for j in range(i):
            found += radial._OVERLAP * overlap(scene.rooms, i, scene.rooms, j)
            found += radial._HIDDEN * overlap(scene.solids, i, scene.solids, j)
        for f in range(e):
            if i not in scene.links[f]:
                found += radial._ON_TERM * meets(scene.ways, f, scene.solids, i)
                found += radial._ON_ROOM * meets(scene.ways, f, scene.rooms, i)
    return found + radial._CROSS * sum(
        cross(scene.ways, f, scene.ways, g) for f in range(e) for g in range(f)
    )


@settings(max_examples=40)
@given(SEEDS)
def test_a_term_takes_its_boxes_and_links_along(seed):
    rng, scene, _ = some(seed)
    expected = moved(scene, 3, to := tuple(rng.uniform(0, 120, 2)))
    move(scene, 3, to)
    for array, other in zip(scene, expected, strict=True):
        np.testing.assert_allclose(array, other)


@settings(max_examples=40)
@given(SEEDS)
def test_what_a_term_costs_is_its_part_of_the_total(seed):
    rng, scene, _ = some(seed)
    i, to = int(rng.integers(8)), rng.uniform(0, 120, 2)
    after = moved(scene, i, to)
    assert cost(after, i) - cost(scene, i) == pytest.approx(total(after) - total(scene), abs=1e-6)


@settings(max_examples=40)
@given(SEEDS)
def test_a_point_is_on_its_orbit_or_at_the_bounds(seed):
    rng, _, orbits = some(seed)
    angle = rng.uniform(-7, 7)
    expected = orbits.centre + orbits.axes[4] * (np.cos(angle), np.sin(angle))
    expected = np.clip(expected, orbits.bounds[4, :2], orbits.bounds[4, 2:])
    np.testing.assert_allclose(on_orbit(orbits, 4, angle), expected)


def other_angle(scene, orbits, i, angle, which, way):
    at = len(scene.points) - len(orbits.axes) + i
    ends = [one + other - at for one, other in scene.links if at in (one, other)]
    w = 2 * way - 1
    t, j = np.pi * w * abs(w), int(2 * which * len(ends))
    if j >= len(ends):
        return angle + t
    x, y = (scene.points[ends[j]] - orbits.centre) / orbits.axes[i]
    return np.arctan2(y, x) + 0.3 * t


@settings(max_examples=40)
@given(SEEDS)
def test_a_term_tries_to_stand_beside_one_that_it_is_linked_with(seed):
    rng, scene, orbits = some(seed)
    which, way = rng.random(2)
    found = another(scene, orbits, 2, 1.5, which, way)
    assert found == pytest.approx(other_angle(scene, orbits, 2, 1.5, which, way))


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.0, 300.0]))
def test_annealing_takes_the_steps_that_it_says(seed, warmth):
    rng, scene, orbits = some(seed)
    angles, heat, draws = rng.uniform(0, 6, 6), np.full(40, warmth), rng.random((40, 4))
    expected, at = scene, angles.copy()
    for i in range(6):
        expected = moved(expected, 2 + i, on_orbit(orbits, i, at[i]))
    for limit, (who, which, way, luck) in zip(heat, draws, strict=True):
        i = int(6 * who)
        angle = other_angle(expected, orbits, i, at[i], which, way)
        tried = moved(expected, 2 + i, on_orbit(orbits, i, angle))
        if total(tried) - total(expected) <= limit * luck + 1e-9:
            expected, at[i] = tried, angle
    found = copy(scene)
    anneal(found, orbits, angles, heat, draws)
    np.testing.assert_allclose(found.points, expected.points)
    np.testing.assert_allclose(angles, at)


@pytest.mark.parametrize("n", range(1, 9))
def test_boxes_of_the_middle_are_apart_and_around_it(n):
    sizes = np.column_stack((np.linspace(40, 180, n), np.full(n, 20.0)))
    boxes = middle(sizes, FRAME)
    np.testing.assert_allclose(boxes[:, 2:] - boxes[:, :2], sizes)
    assert not any(overlap(boxes, i, boxes, j) for i in range(n) for j in range(i))
    np.testing.assert_allclose(boxes.reshape(-1, 2, 2).mean(axis=(0, 1)), [260, 210], atol=1e-9)


def spokes(n, linked=True):
    """Terms around one, each linked with it, the first half and the rest among themselves."""
    rooms, solids = np.tile((60.0, 24.0), (n, 1)), np.tile((12.0, 12.0), (n, 1))
    near = [(i, j) for i in range(1, n + 1) for j in range(max(1, i - 3), i)]
    pairs = [(i, j) for i, j in near if (i <= n / 2) == (j <= n / 2)]
    links = np.array([(0, i) for i in range(1, n + 1)] + pairs)[: None if linked else 0]
    links = links.reshape(-1, 2).astype(np.int64)
    boxes = middle(np.array([[60.0, 20.0]]), FRAME)
    return boxes, around(boxes, rooms, solids, links, np.ones(len(links)), FRAME)


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 9, 25])
def test_terms_keep_to_the_frame_and_off_each_other(n, linked):
    boxes, points = spokes(n, linked)
    assert points.shape == (n, 2)
    half = np.array([30.0, 12.0])
    rooms = np.vstack((boxes, np.hstack((points - half, points + half))))
    assert (rooms >= np.tile(FRAME[:2], 2)).all()
    assert (rooms <= np.tile(FRAME[2:], 2)).all()
    if n < 25 or not linked:
        assert not any(overlap(rooms, i, rooms, j) for i in range(n + 1) for j in range(i))


def test_the_first_are_nearest_to_the_middle():
    _, points = spokes(25)
    axes = 0.5 * (FRAME[2:] - FRAME[:2]) - np.array([30.0, 7.2])
    reach = np.hypot(*((points - (260, 210)) / axes).T)
    assert (np.diff(reach) > 0).all()


def test_what_is_linked_comes_together():
    _, points = spokes(12)
    apart = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    within = np.kron(np.eye(2), np.ones((6, 6))).astype(bool)
    assert apart[within].mean() < 0.7 * apart[~within].mean()
