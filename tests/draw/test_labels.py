"""Labels keep clear of each other, of points and of the border, whatever the points."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.draw import labels
from likewise.draw.boxes import overlap
from likewise.draw.labels import anneal, cheapest, fault, place, spread

FRAME = np.array([10.0, 20.0, 170.0, 140.0])
GRID = 4.0


def overlapping_pairs(some, others):
    return (
        (some[:, None, 0] < others[None, :, 2])
        & (others[None, :, 0] < some[:, None, 2])
        & (some[:, None, 1] < others[None, :, 3])
        & (others[None, :, 1] < some[:, None, 3])
    )


@st.composite
def scenes(draw, most=14):
    n = draw(st.integers(0, most))
    steps = draw(arrays(np.float64, (n, 2), elements=st.integers(0, 12).map(float)))
    anchors = FRAME[:2] + steps * (FRAME[2:] - FRAME[:2]) / 12
    sizes = draw(arrays(np.float64, (n, 2), elements=st.integers(2, 60).map(float)))
    radii = draw(arrays(np.float64, n, elements=st.integers(0, 4).map(float)))
    obstacles = draw(st.sampled_from([None, np.array([[60.0, 20.0, 64.0, 140.0]])]))
    return anchors, sizes, radii, obstacles


def solid(anchors, radii, obstacles):
    points = np.hstack((anchors - radii[:, None], anchors + radii[:, None]))
    return points if obstacles is None else np.vstack((points, obstacles))


@settings(max_examples=40)
@given(scenes())
def test_no_label_overlaps_anything_and_all_are_in_the_frame(scene):
    anchors, sizes, radii, obstacles = scene
    placed = place(anchors, sizes, FRAME, radii=radii, obstacles=obstacles)
    boxes = placed.boxes[placed.shown]
    np.testing.assert_allclose(boxes[:, 2:] - boxes[:, :2], sizes[placed.shown])
    assert not np.triu(overlapping_pairs(boxes, boxes), 1).any()
    assert not overlapping_pairs(boxes, solid(anchors, radii, obstacles)).any()
    assert (boxes[:, :2] >= FRAME[:2]).all()
    assert (boxes[:, 2:] <= FRAME[2:]).all()


@settings(max_examples=40)
@given(scenes())
def test_a_label_is_left_out_only_if_there_is_no_room(scene):
    anchors, sizes, radii, obstacles = scene
    placed = place(anchors, sizes, FRAME, radii=radii, obstacles=obstacles)
    assert placed.left_out == len(anchors) - placed.shown.sum()
    taken = np.vstack((placed.boxes[placed.shown], solid(anchors, radii, obstacles)))
    for size in sizes[~placed.shown]:
        corners = np.array(
            [
                (x, y)
                for x in np.arange(FRAME[0], FRAME[2] - size[0] + 1e-9, GRID)
                for y in np.arange(FRAME[1], FRAME[3] - size[1] + 1e-9, GRID)
            ]
        ).reshape(-1, 2)
        tried = np.hstack((corners, corners + size))
        assert overlapping_pairs(tried, taken).any(axis=1).all()


@settings(max_examples=20)
@given(scenes())
def test_the_same_points_give_the_same_places(scene):
    anchors, sizes, radii, obstacles = scene
    first = place(anchors, sizes, FRAME, radii=radii, obstacles=obstacles)
    again = place(anchors, sizes, FRAME, radii=radii, obstacles=obstacles)
    np.testing.assert_array_equal(first.boxes, again.boxes)
    np.testing.assert_array_equal(first.leaders, again.leaders)


@settings(max_examples=40)
@given(scenes())
def test_a_leader_goes_from_its_point_to_its_label(scene):
    anchors, sizes, radii, obstacles = scene
    placed = place(anchors, sizes, FRAME, radii=radii, obstacles=obstacles)
    led = ~np.isnan(placed.leaders[:, 0])
    assert placed.shown[led].all()
    starts, ends = placed.leaders[led, :2], placed.leaders[led, 2:]
    np.testing.assert_allclose(np.hypot(*(starts - anchors[led]).T), radii[led], atol=1e-6)
    nearest = np.clip(anchors[led], placed.boxes[led, :2], placed.boxes[led, 2:])
    np.testing.assert_allclose(ends, nearest)


def test_a_lone_label_is_at_the_right_and_without_a_leader():
    placed = place(
        np.array([[50.0, 60.0]]), np.array([[30.0, 10.0]]), FRAME, radii=np.array([3.0]), gap=2.0
    )
    np.testing.assert_allclose(placed.boxes, [[55.0, 55.0, 85.0, 65.0]])
    assert np.isnan(placed.leaders).all()


def test_the_first_labels_are_the_last_to_go_without():
    n = 40
    anchors = np.tile((FRAME[:2] + FRAME[2:]) / 2, (n, 1))
    placed = place(anchors, np.tile((35.0, 24.0), (n, 1)), FRAME, radii=np.full(n, 2.0))
    assert 10 < placed.shown.sum() < 20
    # All are alike: those shown are the first.
    assert placed.shown[: placed.shown.sum()].all()


def test_eighty_words_find_a_place():
    frame = np.array([0.0, 0.0, 450.0, 330.0])
    anchors = np.random.default_rng(3).uniform((40, 40), (410, 290), (80, 2))
    placed = place(anchors, np.tile((45.0, 11.5), (80, 1)), frame, radii=np.full(80, 2.5))
    assert placed.left_out == 0


@settings(max_examples=30)
@given(
    arrays(np.float64, (30, 2), elements=st.integers(0, 3).map(float)), st.sampled_from([1.0, 6.0])
)
def test_points_are_spread_and_the_first_stays(points, distance):
    moved = spread(points, distance, np.array([-100.0, -100.0, 100.0, 100.0]))
    apart = np.hypot(*(moved[:, None] - moved[None, :]).transpose(2, 0, 1))
    assert (apart[~np.eye(len(moved), dtype=bool)] >= distance).all()
    np.testing.assert_array_equal(moved[0], points[0])


def test_points_that_are_apart_stay_where_they_are():
    points = np.array([[0.0, 0.0], [50.0, 3.0], [200.0, 7.0]])
    np.testing.assert_array_equal(spread(points, 6.0, np.array([-1.0, -1.0, 100.0, 100.0])), points)


def some_places(rng, n):
    corners = rng.integers(0, 40, (n, 2)).astype(float)
    boxes = np.hstack((corners, corners + rng.integers(1, 12, (n, 2))))
    leaders = rng.integers(0, 40, (n, 4)).astype(float)
    leaders[rng.random(n) < 0.4] = np.nan
    return boxes, leaders, np.sort(rng.uniform(0, 300, n))


def faults(places, leads, i, boxes, leaders):
    return sum(fault(places, leads, i, boxes, leaders, j) for j in range(len(boxes)))


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_the_cheapest_place_is_that_of_a_full_search(seed):
    rng = np.random.default_rng(seed)
    places, leads, costs = some_places(rng, 12)
    boxes, leaders, _ = some_places(rng, 4)
    boxes[0] = leaders[0] = np.nan
    totals = [
        np.inf
        if any(overlap(places, i, boxes, j) for j in range(4))
        else costs[i] + faults(places, leads, i, boxes, leaders)
        for i in range(12)
    ]
    at, cost = cheapest(places, leads, costs, boxes, leaders)
    if np.isinf(min(totals)):
        assert at == -1
    else:
        assert (at, cost) == (np.argmin(totals), min(totals))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 50.0]))
def test_annealing_takes_the_steps_that_it_says(seed, warmth):
    rng = np.random.default_rng(seed)
    boxes, leaders, costs = some_places(rng, 20)
    bounds = np.array([0, 6, 11, 20])
    heat, draws = np.full(60, warmth), rng.random((60, 3))

    def total(chosen):
        pairs = [(i, j) for k, i in enumerate(chosen) for j in chosen[:k]]
        return sum(costs[i] for i in chosen) + sum(
            fault(boxes, leaders, i, boxes, leaders, j)
            + labels._OVERLAP * overlap(boxes, i, boxes, j)
            for i, j in pairs
        )

    chosen = [0, 6, 11]
    for limit, (who, where, luck) in zip(heat, draws, strict=True):
        row = int(who * 3)
        moved = list(chosen)
        moved[row] = bounds[row] + int(where**2 * (bounds[row + 1] - bounds[row]))
        if total(moved) - total(chosen) <= limit * luck + 1e-9:
            chosen = moved
    assert anneal(boxes, leaders, costs, bounds, heat, draws).tolist() == chosen
