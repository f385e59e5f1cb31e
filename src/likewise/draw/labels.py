"""Where do labels stand, so that each can be read?

Pure geometry, in points: y grows upwards, a box is (left, bottom, right, top), and the order of
the rows is their priority. No label overlaps another, a point or the border. Places around a
point, and a leader where it is not plain whose a label is, cost the more the farther they are and
the more they run across; what all labels cost together is annealed, then overlaps are mended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.compiled import Bools, Doubles, Ints, kernel
from likewise.draw.boxes import count_met, cross, distances, meets, overlap, overlapping

_RINGS = 4.0 * (1.3 ** np.arange(14) - 1) / 0.3  # 0, 4, 9.2, 16, ... to 390 points
_GRID = 4.0  # points, of the search for a place anywhere
# What a fault of a place costs, in points of distance from its own.
_LEADER, _NEARER, _LEADER_ON_POINT = 5.0, 10.0, 12.0
_LEADERS_CROSS, _LEADER_ON_LABEL, _OVERLAP = 60.0, 200.0, 300.0
# A cost that is worth a look all over the frame.
_POOR = 100.0
# Steps of annealing for each label, but no more than so many pairs are looked at.
_HEAT, _STEPS, _MOST_PAIRS = 80.0, 4000, 24_000_000
_ROUNDS = 3
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def _around() -> Doubles:
    """Give where a label's centre goes around its point, and what it costs: right is best.

    The centre is on a rectangle; (1, 0) is the middle of its right side.
    """
    steps = np.linspace(-1, 1, 9)
    sides = [(x, y) for x in (1.0, -1.0) for y in steps]
    sides += [(x, y) for y in (1.0, -1.0) for x in steps[1:-1]]
    x, y = np.array(sides, np.float64).T
    costs = np.where(np.abs(x) == 1, 0.6 * (x < 0) + 0.8 * np.abs(y), 1.0 + 0.4 * (x < 0))
    return np.column_stack((x, y, costs + 0.2 * (y < 0)))


_AROUND = _around()


@dataclass(frozen=True, eq=False)
class Placed:
    """A box and a leader for each label; both are NaN where there is none.

    A leader goes from the edge of the point (x, y) to the edge of the box (x, y).
    """

    boxes: Doubles
    leaders: Doubles

    @property
    def shown(self) -> Bools:
        """Which labels found a place."""
        return ~np.isnan(self.boxes[:, 0])

    @property
    def left_out(self) -> int:
        """How many labels found none."""
        return int((~self.shown).sum())


def place(
    anchors: Doubles,
    sizes: Doubles,
    frame: Doubles,
    *,
    radii: Doubles,
    weights: Doubles | None = None,
    obstacles: Doubles | None = None,
    gap: float = 2.0,
) -> Placed:
    """Place a label of the given size (width, height) at each anchor, the first rows first.

    Points are squares of `radii` around their anchors, and labels keep `gap` from them; boxes of
    `obstacles` are kept free as well. `weights` say whose nearness to its point matters more. A
    label goes without a place only if the others leave none in the whole frame.
    """
    ground = _Ground(anchors, sizes, frame, radii, obstacles, gap)
    n = len(ground.anchors)
    placing = _Placing(ground)
    placing.place(_annealed(ground, np.ones(n) if weights is None else weights))
    return Placed(placing.boxes, placing.leaders)


def spread(points: Doubles, distance: float, frame: Doubles) -> Doubles:
    """Move points apart until no two are nearer than the distance, the first ones least.

    A point takes the first free place on a spiral around its own; if there is none in the frame,
    it stays.
    """
    moved = np.array(points, np.float64)
    block = 64
    for row in range(1, len(moved)):
        before = moved[:row]
        for start in range(0, 16 * (row + 4), block):
            turn = np.arange(start, start + block, dtype=np.float64)
            # Half a distance apart, so that no free place is missed for long.
            radius, angle = 0.5 * distance * np.sqrt(turn), turn * _GOLDEN_ANGLE
            tried = points[row] + np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))
            apart = np.hypot(*(tried[:, None, :] - before[None, :, :]).transpose(2, 0, 1))
            free = (apart >= distance).all(axis=1)
            free &= ((tried >= frame[:2]) & (tried <= frame[2:])).all(axis=1) | (turn == 0)
            if free.any():
                moved[row] = tried[np.argmax(free)]
                break
    return moved


@kernel
def fault(
    places: Doubles, leads: Doubles, i: int, boxes: Doubles, leaders: Doubles, j: int
) -> float:
    """Give what it costs that two labels with their leaders are where they are.

    Equals `L (meets(lead, box) + meets(leader, place)) + C cross(lead, leader)`, with L and C
    what it costs that a leader runs through a label, or crosses another.
    """
    cost = 0.0
    if meets(leads, i, boxes, j):
        cost += _LEADER_ON_LABEL
    if meets(leaders, j, places, i):
        cost += _LEADER_ON_LABEL
    if cross(leads, i, leaders, j):
        cost += _LEADERS_CROSS
    return cost


@kernel
def cheapest(
    places: Doubles, leads: Doubles, costs: Doubles, boxes: Doubles, leaders: Doubles
) -> tuple[int, float]:
    """Find the cheapest place that overlaps no box, given the leaders of the boxes: (row, cost).

    Places come in order of their own `costs`; the row is -1 if none is free. Equals `np.argmin`
    of `costs[i]` plus the sum of `fault(places, leads, i, boxes, leaders, j)` over the places i
    that are not `overlapping(places, boxes)`.
    """
    best, least = -1, np.inf
    for i in range(len(places)):
        cost = costs[i]
        if cost >= least:
            break
        for j in range(len(boxes)):
            if overlap(places, i, boxes, j):
                cost = np.inf
                break
        for j in range(len(boxes)):
            if cost >= least:
                break
            cost += fault(places, leads, i, boxes, leaders, j)
        if cost < least:
            best, least = i, cost
    return best, least


@kernel
def anneal(
    boxes: Doubles,
    leaders: Doubles,
    costs: Doubles,
    bounds: Ints,
    heat: Doubles,
    draws: Doubles,
) -> Ints:
    """Choose a place for each label so that they cost little together, overlaps being costly.

    Places of label i are the rows from `bounds[i]` to `bounds[i + 1]`, one at least, the cheapest
    first; there it begins. At each step one label tries one of its places, both drawn, the
    cheap ones oftener. Equals moving it if `total(moved) - total(now) <= heat * draw`, where
    `total` adds up costs and, over all pairs, `fault` and what an overlap costs (threshold
    accepting: Dueck and Scheuer 1990).
    """
    n = len(bounds) - 1
    chosen = bounds[:-1].copy()
    # Around a box and its leader: most pairs are told apart by these.
    hulls = boxes.copy()
    for i in range(len(boxes)):
        if leaders[i, 0] == leaders[i, 0]:
            for side in range(2):
                ends = leaders[i, side], leaders[i, side + 2]
                hulls[i, side] = min(hulls[i, side], ends[0], ends[1])
                hulls[i, side + 2] = max(hulls[i, side + 2], ends[0], ends[1])
    for step in range(len(heat)):
        row = min(int(draws[step, 0] * n), n - 1)
        size = bounds[row + 1] - bounds[row]
        tried = bounds[row] + min(int(draws[step, 1] ** 2 * size), size - 1)
        now = chosen[row]
        rise = costs[tried] - costs[now]
        limit = heat[step] * draws[step, 2]
        for j in range(n):
            if j != row:
                other = chosen[j]
                if overlap(hulls, tried, hulls, other):
                    rise += fault(boxes, leaders, tried, boxes, leaders, other)
                    rise += _OVERLAP * overlap(boxes, tried, boxes, other)
                if overlap(hulls, now, hulls, other):
                    rise -= fault(boxes, leaders, now, boxes, leaders, other)
                    rise -= _OVERLAP * overlap(boxes, now, boxes, other)
        if rise <= limit:
            chosen[row] = tried
    return chosen


def _annealed(ground: _Ground, weights: Doubles) -> Ints:
    """Choose among the places around its point for each label; -1 if it has none."""
    options = [ground.options(row) for row in range(len(ground.anchors))]
    sizes = np.array([len(some.costs) for some in options], np.int64)
    rows = np.flatnonzero(sizes)
    chosen = np.full(len(options), -1, np.int64)
    if len(rows):
        bounds = np.concatenate(([0], np.cumsum(sizes[rows])))
        steps = min(_STEPS * len(rows), _MOST_PAIRS // len(rows))
        chosen[rows] = anneal(
            np.concatenate([options[row].boxes for row in rows]),
            np.concatenate([options[row].leaders for row in rows]),
            np.concatenate([weights[row] * options[row].costs for row in rows]),
            bounds,
            np.linspace(_HEAT, 0.0, steps) ** 2 / _HEAT,
            np.random.default_rng(0).random((steps, 3)),
        )
        chosen[rows] -= bounds[:-1]
    return chosen


class _Options(NamedTuple):
    """The places that a label may take, whatever the other labels do, the cheapest first."""

    boxes: Doubles
    leaders: Doubles
    costs: Doubles

    def only(self, which: slice | Ints) -> _Options:
        """Give some of them."""
        return _Options(*(array[which] for array in self))


class _Ground:
    """The points and all that does not move, with the places that they leave to each label."""

    def __init__(
        self,
        anchors: Doubles,
        sizes: Doubles,
        frame: Doubles,
        radii: Doubles,
        obstacles: Doubles | None,
        gap: float,
    ) -> None:
        self.anchors = np.asarray(anchors, np.float64).reshape(-1, 2)
        self.sizes = np.asarray(sizes, np.float64).reshape(-1, 2)
        self.frame = np.asarray(frame, np.float64)
        self.radii = np.asarray(radii, np.float64)
        self.gap = gap
        points = np.hstack((self.anchors - self.radii[:, None], self.anchors + self.radii[:, None]))
        given = np.empty((0, 4)) if obstacles is None else np.asarray(obstacles, np.float64)
        self.solid = np.vstack((points, given))
        self._known: dict[tuple[int, bool], _Options] = {}

    def options(self, row: int, *, anywhere: bool = False) -> _Options:
        """Give places around the anchor, and with `anywhere` those of all the frame too."""
        if (row, anywhere) not in self._known:
            centres, costs = self._around(row)
            if anywhere:
                grid = self._everywhere(row)
                centres = np.vstack((centres, grid))
                costs = np.append(costs, np.zeros(len(grid)))
            self._known[row, anywhere] = self._weighed(row, centres, costs)
        return self._known[row, anywhere]

    def _around(self, row: int) -> tuple[Doubles, Doubles]:
        away = (self.radii[row] + self.gap + _RINGS)[:, None, None]
        centres = self.anchors[row] + (0.5 * self.sizes[row] + away) * _AROUND[:, :2]
        return centres.reshape(-1, 2), np.tile(_AROUND[:, 2], len(_RINGS))

    def _everywhere(self, row: int) -> Doubles:
        half = 0.5 * self.sizes[row]
        low, high = self.frame[:2] + half, self.frame[2:] - half + 1e-9
        grid = np.meshgrid(*(np.arange(low[side], high[side], _GRID) for side in (0, 1)))
        return np.stack(grid, axis=-1).reshape(-1, 2)

    def _weighed(self, row: int, centres: Doubles, costs: Doubles) -> _Options:
        """Keep the places in the frame and clear of all points, and work out what they cost."""
        half = 0.5 * self.sizes[row]
        boxes = np.hstack((centres - half, centres + half))
        usable = (boxes[:, :2] >= self.frame[:2]).all(axis=1)
        usable &= (boxes[:, 2:] <= self.frame[2:]).all(axis=1)
        boxes, costs = boxes[usable], costs[usable]
        usable = ~overlapping(boxes, self.solid)
        boxes, costs = boxes[usable], costs[usable]

        anchor, radius = self.anchors[row], self.radii[row]
        ends = np.clip(anchor, boxes[:, :2], boxes[:, 2:])
        distance = np.hypot(*(ends - anchor).T)
        # Labels of one point share it.
        others = np.hypot(*(self.anchors - anchor).T) > 0.5 * radius
        nearest = distances(boxes, self.anchors[others])
        nearer = nearest < distance + 0.5 * self.gap
        led = nearer | (distance > 2.2 * (radius + self.gap))
        # From the edge of the point, not from under it.
        starts = anchor + (ends - anchor) * (radius / np.maximum(distance, 1e-9))[:, None]
        leaders = np.where(led[:, None], np.hstack((starts, ends)), np.nan)
        costs = costs + distance - (radius + self.gap) + _LEADER * led + _NEARER * nearer
        solid = self.solid[np.append(others, np.ones(len(self.solid) - len(others), np.bool_))]
        met = count_met(leaders, solid)
        costs += _LEADER_ON_POINT * np.minimum(met, 4)
        order = np.argsort(costs, kind="stable")
        return _Options(boxes[order], leaders[order], costs[order])


class _Placing:
    """The labels that have a place so far, none of which overlap."""

    def __init__(self, ground: _Ground) -> None:
        self.ground = ground
        n = len(ground.anchors)
        self.boxes = np.full((n, 4), np.nan)
        self.leaders = np.full((n, 4), np.nan)
        self.costs = np.full(n, np.inf)
        # Sizes that found no place in the whole frame. No larger label need look again, because
        # the left and bottom sides tried are the same for all.
        self.hopeless: list[Doubles] = []

    def place(self, chosen: Ints) -> None:
        """Give labels the places chosen for them or, where one of higher priority is, others."""
        for row, at in enumerate(chosen):
            if at < 0 or not self.take(row, self.ground.options(row).only(slice(at, at + 1))):
                self.put(row)
        for _ in range(_ROUNDS):
            self.hopeless.clear()
            for worst in np.argsort(-self.costs, kind="stable"):
                self.put(int(worst))
        # The last to move may have left room.
        self.hopeless.clear()
        for absent in np.flatnonzero(np.isinf(self.costs)):
            self.put(int(absent))

    def put(self, row: int) -> None:
        """Give a label the best place that is free; what it had is free to it."""
        had, size = bool(self.costs[row] < np.inf), self.ground.sizes[row]
        self.clear(row)
        self.take(row, self.ground.options(row))
        cost, useless = self.costs[row], any((least <= size).all() for least in self.hopeless)
        if cost > _POOR and (had or not useless):
            self.clear(row)
            # What is found near is found here too, or something better.
            if not self.take(row, self.ground.options(row, anywhere=True)):
                self.hopeless.append(size)

    def clear(self, row: int) -> None:
        """Take a label away."""
        self.boxes[row] = self.leaders[row] = np.nan
        self.costs[row] = np.inf

    def take(self, row: int, options: _Options) -> bool:
        """Give a label without a place the best of some, if one is free."""
        at, cost = cheapest(*options, self.boxes, self.leaders)
        if at >= 0:
            self.boxes[row], self.leaders[row] = options.boxes[at], options.leaders[at]
            self.costs[row] = cost
        return bool(at >= 0)
