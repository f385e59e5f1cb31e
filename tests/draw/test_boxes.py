"""The kernels against what their docstrings say they equal."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.draw.boxes import count_met, cross, distances, meets, overlap, overlapping

# Whole numbers: sides touch and points coincide often.
NUMBERS = st.integers(-6, 6).map(float)


def rows(width):
    return st.integers(0, 5).flatmap(lambda n: arrays(np.float64, (n, width), elements=NUMBERS))


def boxes():
    return rows(4).map(lambda a: np.hstack((np.minimum(a[:, :2], a[:, 2:]), a[:, 2:] + 7)))


@settings(max_examples=50)
@given(boxes(), boxes())
def test_boxes_overlap_if_they_share_more_than_an_edge(some, others):
    expected = [
        [bool(np.all(np.minimum(a[2:], b[2:]) > np.maximum(a[:2], b[:2]))) for b in others]
        for a in some
    ]
    found = [[overlap(some, i, others, j) for j in range(len(others))] for i in range(len(some))]
    assert found == expected
    assert overlapping(some, others).tolist() == [any(row) for row in expected]


@settings(max_examples=50)
@given(rows(4), boxes())
def test_a_segment_meets_a_box_if_one_of_its_points_is_inside(segments, some):
    steps = np.linspace(0, 1, 499)[:, None]
    for i, segment in enumerate(segments):
        if (segment[:2] == segment[2:]).all():
            continue
        points = segment[:2] + steps * (segment[2:] - segment[:2])
        for j, box in enumerate(some):
            inside = ((points > box[:2] + 1e-9) & (points < box[2:] - 1e-9)).all(axis=1)
            # A corner may be cut between two of the points that are looked at.
            if inside.any() or not _nearly(segment, box):
                assert meets(segments, i, some, j) == inside.any()
    expected = [
        sum(meets(segments, i, some, j) for j in range(len(some))) for i in range(len(segments))
    ]
    assert count_met(segments, some).tolist() == expected


def _nearly(segment, box):
    corners = np.array([(x, y) for x in box[[0, 2]] for y in box[[1, 3]]])
    steps = np.linspace(0, 1, 499)[:, None]
    points = segment[:2] + steps * (segment[2:] - segment[:2])
    return np.hypot(*(points[:, None] - corners).transpose(2, 0, 1)).min() < 0.1


@settings(max_examples=50)
@given(rows(4), rows(4))
def test_segments_cross_if_each_has_its_ends_on_two_sides_of_the_other(some, others):
    def side(s, p):
        return np.round(np.linalg.det(np.array([s[2:] - s[:2], p - s[:2]])))

    for i, s in enumerate(some):
        for j, t in enumerate(others):
            expected = side(s, t[:2]) * side(s, t[2:]) < 0 and side(t, s[:2]) * side(t, s[2:]) < 0
            assert cross(some, i, others, j) == expected


@settings(max_examples=50)
@given(boxes(), rows(2))
def test_distance_is_to_the_nearest_point(some, points):
    expected = [
        np.hypot(*(np.clip(points, box[:2], box[2:]) - points).T).min(initial=np.inf)
        for box in some
    ]
    np.testing.assert_allclose(distances(some, points), expected)


def test_a_segment_without_length_meets_nothing():
    assert not meets(np.ones((1, 4)), 0, np.array([[0.0, 0.0, 2.0, 2.0]]), 0)


def test_a_row_of_nan_is_nowhere():
    nowhere, somewhere = np.full((1, 4), np.nan), np.array([[0.0, 0.0, 5.0, 5.0]])
    for one, other in ((nowhere, somewhere), (somewhere, nowhere), (nowhere, nowhere)):
        assert not overlap(one, 0, other, 0)
        assert not meets(one, 0, other, 0)
        assert not cross(one, 0, other, 0)
