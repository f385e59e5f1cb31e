"""Where do the terms around some others stand?

Pure geometry, in points, as in `labels`. The middle is given. Around it each term has a distance
of its own, the first the least, so that nearness can be read as rank; what is left to choose is
the direction. It is annealed: linked terms come together, links seldom cross or run through a
term, and each term keeps room for its name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ints, kernel
from likewise.draw.boxes import cross, meets, overlap

_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
_TOGETHER, _CLEAR = 13.0, 16.0  # points, between boxes of the middle, and from them to the others
_MARGIN = 5.0  # points, between the boxes of the middle and what passes by
# Few terms keep away from the middle, though it leaves them room.
_FAR, _NEARER, _CROWD = 0.62, 0.3, 24
_RIM, _INNER_RIM = 1.0, 0.8
# What a fault costs, in points of the length of a strong link.
_CROSS, _ON_TERM, _ON_ROOM, _OVERLAP, _HIDDEN = 40.0, 400.0, 25.0, 250.0, 2000.0
_NEAR = 60.0 * 40.0**2  # over the squared distance
_SLIM = 0.55  # what a point across counts in it: names stand above each other more closely
# Steps for each term, but no more than so many pairs of terms and links are looked at.
_HEAT, _STEPS, _MOST_PAIRS = 500.0, 1500, 30_000_000
_BESIDE = 0.3  # of a turn, when a term goes where one is that it is linked with


class Scene(NamedTuple):
    """Terms with the room that they take, and their links.

    `points` has the middles of the terms, `solids` the boxes that no link should run through and
    `rooms` those that hold the name as well. `ways` are the links as segments between the terms
    of the numbers in `links`, and `pulls` what a point of their length costs.
    """

    points: Doubles
    solids: Doubles
    rooms: Doubles
    ways: Doubles
    links: Ints
    pulls: Doubles


class Orbits(NamedTuple):
    """Ellipses around a centre, one for each of the last terms, and boxes that they stay in."""

    centre: Doubles
    axes: Doubles
    bounds: Doubles


def middle(sizes: Doubles, frame: Doubles) -> Doubles:
    """Give boxes of these sizes (width, height) around the middle of a frame, none overlapping."""
    centre, n = 0.5 * (frame[:2] + frame[2:]), len(sizes)
    # Two stand aslant, so that the link between them is seen.
    angles = (0.5 if n > 2 else 0.8) * np.pi - 2 * np.pi * np.arange(n) / n
    ways = np.column_stack((2.4 * np.cos(angles), 1.5 * np.sin(angles)))
    half = 0.5 * sizes
    for step in range(400):
        at = centre + (step if n > 1 else 0) * ways
        apart = np.hstack((at - half, at + half + _TOGETHER))
        if not any(overlap(apart, i, apart, j) for i in range(n) for j in range(i)):
            break
    return np.hstack((at - half, at + half))


def around(
    boxes: Doubles, rooms: Doubles, solids: Doubles, links: Ints, pulls: Doubles, frame: Doubles
) -> Doubles:
    """Give the points of terms around the `boxes` of the middle, the first ones nearest.

    `rooms` and `solids` are the sizes (width, height) of what each takes with and without its
    name. `links` count the boxes first and then the terms.
    """
    n = len(rooms)
    if not n:
        return np.empty((0, 2))
    centre, half = 0.5 * (frame[:2] + frame[2:]), 0.5 * (frame[2:] - frame[:2])
    axes = half - np.median(rooms, axis=0) * np.array([0.5, 0.3])
    bounds = np.hstack((frame[:2] + 0.5 * rooms, frame[2:] - 0.5 * rooms))
    orbits = Orbits(centre, axes * _reach(boxes, n, centre, axes)[:, None], bounds)
    points = np.vstack((0.5 * (boxes[:, :2] + boxes[:, 2:]), np.zeros((n, 2))))
    scene = Scene(
        points,
        np.vstack((boxes + _MARGIN * np.array([-1, -1, 1, 1]), 0.5 * np.hstack((-solids, solids)))),
        np.vstack((boxes, 0.5 * np.hstack((-rooms, rooms)))),
        np.hstack((points[links[:, 0]], points[links[:, 1]])),
        links,
        # Few terms need not come together.
        pulls * min(n / _CROWD, 1.0),
    )
    looks = n + 6 * len(links) + 2 * len(links) ** 2 // n
    steps = min(_STEPS * n, _MOST_PAIRS // looks)
    heat = np.linspace(_HEAT, 0.0, steps) ** 2 / _HEAT
    angles = _GOLDEN_ANGLE * np.arange(n)
    anneal(scene, orbits, angles, heat, np.random.default_rng(0).random((steps, 4)))
    return points[len(boxes) :]


def _reach(boxes: Doubles, n: int, centre: Doubles, axes: Doubles) -> Doubles:
    """Give how far out each of n terms stands, 1 being the rim: evenly over the ground."""
    corners = np.abs(np.vstack((boxes[:, :2], boxes[:, 2:])) - centre)
    inner = float(np.hypot(*((corners + _CLEAR) / axes).T).max())
    inner = min(max(inner, _FAR - _NEARER * min(n / _CROWD, 1.0)), 0.85)
    outer = max(_RIM if n > 3 else _INNER_RIM, inner + 0.1)
    return np.sqrt(inner**2 + (outer**2 - inner**2) * (np.arange(n) + 0.5) / n)


@kernel
def anneal(scene: Scene, orbits: Orbits, angles: Doubles, heat: Doubles, draws: Doubles) -> None:
    """Turn the last terms on their orbits, from these angles, so that they cost little together.

    At each step one term tries another angle, both drawn. Equals moving it there if
    `total(moved) - total(now) <= heat * draw` (threshold accepting: Dueck and Scheuer 1990), where
    `total` adds up, over pairs of terms, nearness and each `overlap` of their boxes; over links,
    length and what they meet of other terms; over pairs of links, `cross`.
    """
    n = len(angles)
    first = len(scene.points) - n
    for i in range(n):
        move(scene, first + i, on_orbit(orbits, i, angles[i]))
    for step in range(len(heat)):
        i = min(int(draws[step, 0] * n), n - 1)
        at = first + i
        was = scene.points[at, 0], scene.points[at, 1]
        angle = another(scene, orbits, i, angles[i], draws[step, 1], draws[step, 2])
        now = cost(scene, at)
        move(scene, at, on_orbit(orbits, i, angle))
        if cost(scene, at) - now <= heat[step] * draws[step, 3]:
            angles[i] = angle
        else:
            move(scene, at, was)


@kernel
def on_orbit(orbits: Orbits, i: int, angle: float) -> tuple[float, float]:
    """Give the point at an angle, or the nearest within bounds.

    Equals `np.clip(centre + axes[i] * (np.cos(angle), np.sin(angle)), bounds[i, :2],
    bounds[i, 2:])`.
    """
    x = orbits.centre[0] + orbits.axes[i, 0] * np.cos(angle)
    y = orbits.centre[1] + orbits.axes[i, 1] * np.sin(angle)
    x = min(max(x, orbits.bounds[i, 0]), orbits.bounds[i, 2])
    y = min(max(y, orbits.bounds[i, 1]), orbits.bounds[i, 3])
    return x, y


@kernel
def another(scene: Scene, orbits: Orbits, i: int, angle: float, which: float, way: float) -> float:
    """Give an angle for a term to try: half the time beside one that it is linked with.

    Equals `angle + t`, or if `j = int(2 * which * len(ends))` is the number of one of the `ends`
    that it is linked with, `np.arctan2(y, x) + 0.3 * t` with `(x, y) = (points[ends[j]] - centre)
    / axes[i]`; t is `np.pi * w * abs(w)` with `w = 2 * way - 1`, mostly small.
    """
    turn = (2.0 * way - 1.0) * abs(2.0 * way - 1.0) * np.pi
    at, degree = len(scene.points) - len(orbits.axes) + i, 0
    for e in range(len(scene.links)):
        degree += scene.links[e, 0] == at or scene.links[e, 1] == at
    left = int(2.0 * which * degree)
    if left >= degree:
        return angle + turn
    for e in range(len(scene.links)):
        if scene.links[e, 0] == at or scene.links[e, 1] == at:
            if left == 0:
                other = scene.links[e, 0] + scene.links[e, 1] - at
                x = (scene.points[other, 0] - orbits.centre[0]) / orbits.axes[i, 0]
                y = (scene.points[other, 1] - orbits.centre[1]) / orbits.axes[i, 1]
                return float(np.arctan2(y, x) + _BESIDE * turn)
            left -= 1
    return angle


@kernel
def move(scene: Scene, i: int, to: tuple[float, float]) -> None:
    """Put a term somewhere, with its boxes and the ends of its links.

    Equals adding `to - points[i]` to it and to its boxes, and
    `ways[links[:, side] == i, 2 * side : 2 * side + 2] = to` for both sides.
    """
    for axis in range(2):
        by = to[axis] - scene.points[i, axis]
        scene.points[i, axis] = to[axis]
        for side in (axis, axis + 2):
            scene.solids[i, side] += by
            scene.rooms[i, side] += by
        for e in range(len(scene.links)):
            if scene.links[e, 0] == i:
                scene.ways[e, axis] = to[axis]
            if scene.links[e, 1] == i:
                scene.ways[e, axis + 2] = to[axis]


@kernel
def cost(scene: Scene, i: int) -> float:
    """Give what it costs that a term is where it is.

    Equals the part of the `total` of `anneal` that has to do with it or its links.
    """
    points, links, ways = scene.points, scene.links, scene.ways
    total = 0.0
    for j in range(len(points)):
        if j != i:
            x = _SLIM * (points[i, 0] - points[j, 0])
            y = points[i, 1] - points[j, 1]
            total += _NEAR / max(x * x + y * y, 1.0)
            total += _OVERLAP * overlap(scene.rooms, i, scene.rooms, j)
            total += _HIDDEN * overlap(scene.solids, i, scene.solids, j)
    for e in range(len(links)):
        one, other = links[e, 0], links[e, 1]
        if one != i and other != i:
            total += _ON_TERM * meets(ways, e, scene.solids, i)
            total += _ON_ROOM * meets(ways, e, scene.rooms, i)
            continue
        x, y = ways[e, 2] - ways[e, 0], ways[e, 3] - ways[e, 1]
        total += scene.pulls[e] * np.sqrt(x * x + y * y)
        for j in range(len(points)):
            if j != one and j != other:
                total += _ON_TERM * meets(ways, e, scene.solids, j)
                total += _ON_ROOM * meets(ways, e, scene.rooms, j)
        for f in range(len(links)):
            total += _CROSS * cross(ways, e, ways, f)
    return total
