"""How do boxes and segments lie to each other?

A box is (left, bottom, right, top), a segment (x, y, x, y), y growing upwards. A row of NaN is
nowhere: it overlaps, meets and crosses nothing. Rows are given by their array and number, because
a view of a row in a hot loop is slow.
"""

from __future__ import annotations

import numpy as np

from likewise.compiled import Bools, Doubles, Ints, kernel


@kernel
def overlap(boxes: Doubles, i: int, others: Doubles, j: int) -> bool:
    """Say whether two boxes share more than an edge.

    Equals `np.all(np.minimum(boxes[i, 2:], others[j, 2:]) > np.maximum(boxes[i, :2],
    others[j, :2]))`.
    """
    return bool(
        boxes[i, 0] < others[j, 2]
        and others[j, 0] < boxes[i, 2]
        and boxes[i, 1] < others[j, 3]
        and others[j, 1] < boxes[i, 3]
    )


@kernel
def meets(segments: Doubles, i: int, boxes: Doubles, j: int) -> bool:
    """Say whether a segment (x, y, x, y) runs through a box; along an edge is not through.

    It does if its own box overlaps and the corners are not all on one side of its line. Equals
    `any(boxes[j, :2] < point < boxes[j, 2:])` over the points of the segment; one without length
    meets nothing.
    """
    x, y, to_x, to_y = segments[i, 0], segments[i, 1], segments[i, 2], segments[i, 3]
    left, bottom, right, top = boxes[j, 0], boxes[j, 1], boxes[j, 2], boxes[j, 3]
    if not (min(x, to_x) < right and left < max(x, to_x)):
        return False
    if not (min(y, to_y) < top and bottom < max(y, to_y)):
        return False
    way_x, way_y = to_x - x, to_y - y
    # The middle's distance from the line, and the farthest corner's from the middle: both times
    # the length of the segment.
    middle = way_x * (0.5 * (bottom + top) - y) - way_y * (0.5 * (left + right) - x)
    corner = abs(way_y) * 0.5 * (right - left) + abs(way_x) * 0.5 * (top - bottom)
    return bool(abs(middle) < corner)


@kernel
def cross(segments: Doubles, i: int, others: Doubles, j: int) -> bool:
    """Say whether two segments cross; to touch is not to cross.

    Equals `side(s, t[:2]) * side(s, t[2:]) < 0` and the same with s and t exchanged, where s and
    t are the segments and `side(s, p) = np.linalg.det([s[2:] - s[:2], p - s[:2]])`.
    """
    return bool(_sides(segments, i, others, j) < 0 and _sides(others, j, segments, i) < 0)


@kernel
def _sides(lines: Doubles, i: int, ends: Doubles, j: int) -> float:
    x, y = lines[i, 0], lines[i, 1]
    way_x, way_y = lines[i, 2] - x, lines[i, 3] - y
    first = way_x * (ends[j, 1] - y) - way_y * (ends[j, 0] - x)
    second = way_x * (ends[j, 3] - y) - way_y * (ends[j, 2] - x)
    return float(first * second)


@kernel
def overlapping(boxes: Doubles, others: Doubles) -> Bools:
    """Say which boxes overlap any of the others.

    Equals `[any(overlap(boxes, i, others, j) for j in range(len(others)))]` for each i.
    """
    found = np.zeros(len(boxes), np.bool_)
    for i in range(len(boxes)):
        for j in range(len(others)):
            if overlap(boxes, i, others, j):
                found[i] = True
                break
    return found


@kernel
def count_met(segments: Doubles, boxes: Doubles) -> Ints:
    """Count the boxes that each segment runs through.

    Equals `sum(meets(segments, i, boxes, j) for j in range(len(boxes)))` for each i.
    """
    counts = np.zeros(len(segments), np.int64)
    for i in range(len(segments)):
        for j in range(len(boxes)):
            counts[i] += meets(segments, i, boxes, j)
    return counts


@kernel
def distances(boxes: Doubles, points: Doubles) -> Doubles:
    """Give the distance from each box to the point nearest to it.

    Equals `np.hypot(*(np.clip(points, box[:2], box[2:]) - points).T).min()` for each box.
    """
    found = np.full(len(boxes), np.inf)
    for i in range(len(boxes)):
        for j in range(len(points)):
            x = max(boxes[i, 0] - points[j, 0], points[j, 0] - boxes[i, 2], 0.0)
            y = max(boxes[i, 1] - points[j, 1], points[j, 1] - boxes[i, 3], 0.0)
            found[i] = min(found[i], np.sqrt(x * x + y * y))
    return found
