"""How is a k-d tree grown and searched? Loops over flat arrays.

A node is a number: a branch from 0 on, or a leaf, as `~leaf`. Each branch keeps the stretch of its
cell along the dimension that it cuts and, drawn in to the points, those of its two children; that
is all that a search needs to update the distance to a cell when it goes down (Arya and Mount).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel, kernel

_SAMPLE = 256
_BLOCK = 32
# Distances to cells are kept up by adding and subtracting: rounding must not hide a point.
_ROUNDING = 1 - 1e-12


class Branches(NamedTuple):
    """A tree: `rows` of points leaf by leaf, those of leaf i from `leaves[i]` on.

    Branch i cuts dimension `dims[i]`; its children are `children[2 * i]` and the next. Of
    `edges[6 * i:]`, the first two are its cell's stretch along that dimension and the others
    those of its children. `box` has the least values of all points, and then the greatest.
    """

    rows: Ids
    leaves: Ints
    dims: Ids
    children: Ids
    edges: Floats
    box: Floats


@fast_kernel
def widest(points: Floats, rows: Ids, sums: Doubles, squares: Doubles) -> Int:
    """Give the dimension of the largest variance, that of a sample; -1 where points are equal.

    Equals `points[rows[::step]].var(axis=0).argmax()`, step so that at most 512 are looked at.
    """
    n: Int = len(rows)
    d: Int = points.shape[1]
    step = max(n // _SAMPLE, 1)
    while True:
        size, origin = 0, rows[0]
        sums[:] = 0.0
        squares[:] = 0.0
        for i in range(0, n, step):
            row = rows[i]
            size += 1
            # Seen from one of them, equal points have no variance whatever the rounding.
            for j in range(d):
                value = np.float64(points[row, j]) - np.float64(points[origin, j])
                sums[j] += value
                squares[j] += value * value
        best, dim = 0.0, -1
        for j in range(d):
            variance = squares[j] - sums[j] * sums[j] / size
            if variance > best:
                best, dim = variance, j
        if dim >= 0 or step == 1:
            return dim
        step = 1


@kernel
def cut_at(values: Floats, low: Any, high: Any, halve: bool) -> float:
    """Give where to cut values: what is below goes left, and neither side is empty.

    Equals `(low + high) / 2`; to halve, `np.partition(values, n // 2)[n // 2]`, or what follows
    the least where that is the least.
    """
    if not halve:
        return (np.float64(low) + np.float64(high)) / 2
    at = np.partition(values, len(values) // 2)[len(values) // 2]
    if at > low:
        return np.float64(at)
    after = high
    for value in values:
        if value > low:
            after = min(after, value)
    return np.float64(after)


@kernel
def grow(points: Floats, leaf: int) -> Branches:
    """Grow a tree: cells of more than `leaf` points are cut in the middle of their points' stretch.

    The middle of what the points take up never leaves a side empty (the sliding midpoint rule).
    Cells far down are cut at the median, so that skewed points do not make the tree a list.
    """
    n: Int = len(points)
    d: Int = points.shape[1]
    deep = 2 * d + 64
    rows = np.arange(n).astype(np.int32)
    leaves = np.zeros(n + 2, np.int64)
    dims = np.empty(n, np.int32)
    children = np.empty(2 * n, np.int32)
    edges = np.empty(6 * n, np.float32)
    box = np.zeros(2 * d, np.float32)
    for i in range(n):
        for j in range(d):
            box[j] = min(box[j], points[i, j]) if i > 0 else points[i, j]
            box[d + j] = max(box[d + j], points[i, j]) if i > 0 else points[i, j]
    parents = np.empty(n, np.int32)
    sums = np.empty(d, np.float64)
    squares = np.empty(d, np.float64)
    values = np.empty(n, np.float32)
    aside = np.empty(n, np.int32)
    # Starts, ends, places among children, and depths of cells still to be cut.
    todo = np.empty((deep, 4), np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3] = 0, n, -1, 0
    node: Int
    dim: Int
    waiting, n_branches, n_leaves = 1, 0, 0
    while waiting > 0:
        waiting -= 1
        start, stop = todo[waiting, 0], todo[waiting, 1]
        place, depth = todo[waiting, 2], todo[waiting, 3]
        dim = -1
        middle = start
        if stop - start > leaf:
            dim = widest(points, rows[start:stop], sums, squares)
        if dim >= 0:
            low = high = points[rows[start], dim]
            for i in range(start, stop):
                value = points[rows[i], dim]
                values[i] = value
                low, high = min(low, value), max(high, value)
            at = cut_at(values[start:stop], low, high, depth >= deep)
            left_high, right_low, n_right = low, high, 0
            for i in range(start, stop):
                value = values[i]
                if value < at:
                    rows[middle] = rows[i]
                    middle += 1
                    left_high = max(left_high, value)
                else:
                    aside[n_right] = rows[i]
                    n_right += 1
                    right_low = min(right_low, value)
            rows[middle:stop] = aside[:n_right]
        if middle in (start, stop):
            node = ~n_leaves
            n_leaves += 1
            leaves[n_leaves] = stop
        else:
            node = n_branches
            n_branches += 1
            dims[node] = dim
            parents[node] = place
            cell_low, cell_high = box[dim], box[d + dim]
            above = place
            while above >= 0:
                if dims[above >> 1] == dim:
                    edge = 6 * (above >> 1) + 2 + 2 * (above & 1)
                    cell_low, cell_high = edges[edge], edges[edge + 1]
                    break
                above = np.int64(parents[above >> 1])
            edge = 6 * node
            edges[edge], edges[edge + 1] = cell_low, cell_high
            edges[edge + 2], edges[edge + 3] = low, left_high
            edges[edge + 4], edges[edge + 5] = right_low, high
            if waiting + 2 > len(todo):
                todo = np.concatenate((todo, todo))
            for side in (1, 0):
                todo[waiting, 0] = middle if side else start
                todo[waiting, 1] = stop if side else middle
                todo[waiting, 2] = 2 * node + side
                todo[waiting, 3] = depth + 1
                waiting += 1
        if place >= 0:
            children[place] = node
    return Branches(
        rows,
        leaves[: n_leaves + 1].copy(),
        dims[:n_branches].copy(),
        children[: 2 * n_branches].copy(),
        edges[: 6 * n_branches].copy(),
        box,
    )


@fast_kernel
def distance(points: Floats, row: Int, queries: Floats, query: Int, limit: float) -> float:
    """Give the squared distance of a point from a query, or any above the limit if it is above.

    Equals `((points[row] - queries[query]) ** 2).sum()` in double precision.
    """
    d: Int = points.shape[1]
    total = 0.0
    for first in range(0, d, _BLOCK):
        part = 0.0
        for j in range(first, min(first + _BLOCK, d)):
            value = np.float64(points[row, j]) - np.float64(queries[query, j])
            part += value * value
        total += part
        if total > limit:
            break
    return total


@kernel
def gap(value: Any, low: Any, high: Any) -> Any:
    """Give the squared distance of a value from a stretch; `max(low - value, value - high, 0)²`."""
    outside = max(np.float64(low) - value, value - np.float64(high), 0.0)
    return outside * outside


@kernel
def distance_to_box(box: Floats, queries: Floats, query: Int) -> float:
    """Give the squared distance of a query from all points' box.

    Equals `((queries[query] - queries[query].clip(low, high)) ** 2).sum()`.
    """
    d: Int = queries.shape[1]
    total = 0.0
    for j in range(d):
        total += gap(np.float64(queries[query, j]), box[j], box[d + j])
    return total


@kernel
def put(bounds: Doubles, nodes: Ids, size: Int, bound: float, node: Int) -> None:
    """Put a node into a heap, the nearest on top."""
    i = size
    while i > 0:
        above = (i - 1) >> 1
        if bounds[above] <= bound:
            break
        bounds[i], nodes[i] = bounds[above], nodes[above]
        i = above
    bounds[i], nodes[i] = bound, node


@kernel
def take(bounds: Doubles, nodes: Ids, size: Int) -> None:
    """Take the nearest node out of a heap, and leave its last place empty."""
    bound, node = bounds[size - 1], nodes[size - 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and bounds[child + 1] < bounds[child]:
            child += 1
        if bounds[child] >= bound:
            break
        bounds[i], nodes[i] = bounds[child], nodes[child]
        i = child
    bounds[i], nodes[i] = bound, node


@kernel
def descend(
    tree: Branches,
    heap: tuple[Doubles, Ids],
    waiting: Int,
    queries: Floats,
    query: Int,
    reach: float,
) -> tuple[Int, Int]:
    """Go from the nearest cell down to a leaf, putting others within reach aside.

    Gives the leaf, -1 where it turns out to be beyond reach, and how many cells now wait.
    """
    bounds, nodes = heap
    bound, node = bounds[0], np.int64(nodes[0])
    take(bounds, nodes, waiting)
    waiting -= 1
    while node >= 0 and bound <= reach:
        edge = 6 * node
        value = np.float64(queries[query, tree.dims[node]])
        rest = bound - gap(value, tree.edges[edge], tree.edges[edge + 1])
        left = max(bound, rest + gap(value, tree.edges[edge + 2], tree.edges[edge + 3]))
        right = max(bound, rest + gap(value, tree.edges[edge + 4], tree.edges[edge + 5]))
        side = np.int64(right < left)
        far = np.int64(tree.children[2 * node + 1 - side])
        node = np.int64(tree.children[2 * node + side])
        bound = min(left, right)
        if max(left, right) <= reach:
            put(bounds, nodes, waiting, max(left, right), far)
            waiting += 1
    return (~node if bound <= reach else np.int64(-1)), waiting


@kernel
def offer(best: Doubles, rows: Ints, size: Int, far: float, row: Int) -> None:
    """Put an answer into a heap of them, or in place of its worst where it is full."""
    k: Int = len(best)
    i = size
    if size < k:
        while i > 0:
            above = (i - 1) >> 1
            if best[above] > far or (best[above] == far and rows[above] > row):
                break
            best[i], rows[i] = best[above], rows[above]
            i = above
    else:
        i = 0
        while True:
            child = 2 * i + 1
            if child >= k:
                break
            other = child + 1
            if other < k and (
                best[other] > best[child]
                or (best[other] == best[child] and rows[other] > rows[child])
            ):
                child = other
            if best[child] < far or (best[child] == far and rows[child] < row):
                break
            best[i], rows[i] = best[child], rows[child]
            i = child
    best[i], rows[i] = far, row


@kernel
def nearest(
    points: Floats, tree: Branches, queries: Floats, k: int, stretch: float, most: int
) -> tuple[Ints, Ints]:
    """Find the k nearest points of each query, and how many were found in `most` leaves (0: all).

    A cell is left out once `stretch` times its distance is beyond the k-th best. With a stretch of
    one this equals `np.lexsort((rows, distances))[:k]`, but in any order.
    """
    n_queries: Int = len(queries)
    waiting: Int
    found = np.empty((n_queries, k), np.int64)
    sizes = np.zeros(n_queries, np.int64)
    best = np.empty(k, np.float64)
    heap = (np.empty(len(tree.dims) + 1, np.float64), np.empty(len(tree.dims) + 1, np.int32))
    slack = stretch * stretch * _ROUNDING
    for query in range(n_queries):
        rows = found[query]
        heap[0][0] = distance_to_box(tree.box, queries, query)
        heap[1][0] = 0 if len(tree.dims) > 0 else -1
        waiting, size, visited, worst = 1, 0, 0, np.inf
        while waiting > 0 and heap[0][0] <= worst / slack:
            leaf, waiting = descend(tree, heap, waiting, queries, query, worst / slack)
            if leaf < 0:
                continue
            for i in range(tree.leaves[leaf], tree.leaves[leaf + 1]):
                row = np.int64(tree.rows[i])
                far = distance(points, row, queries, query, worst)
                if size < k or far < worst or (far == worst and row < rows[0]):
                    offer(best, rows, size, far, row)
                    size = min(size + 1, k)
                    if size == k:
                        worst = best[0]
            visited += 1
            if visited == most:
                break
        sizes[query] = size
    return found, sizes


@kernel
def within(
    points: Floats, tree: Branches, queries: Floats, limit: float, stretch: float, most: int
) -> tuple[Ints, Ints]:
    """Find the points of each query whose squared distance is at most a limit.

    With a stretch of one and any number of leaves this equals `distances <= limit`. Gives the
    bounds of the rows of each query, and the rows.
    """
    n_queries: Int = len(queries)
    waiting: Int
    ends = np.zeros(n_queries + 1, np.int64)
    rows = np.empty(256, np.int64)
    heap = (np.empty(len(tree.dims) + 1, np.float64), np.empty(len(tree.dims) + 1, np.int32))
    reach = limit / (stretch * stretch * _ROUNDING)
    size = 0
    for query in range(n_queries):
        heap[0][0] = distance_to_box(tree.box, queries, query)
        heap[1][0] = 0 if len(tree.dims) > 0 else -1
        waiting, visited = 1, 0
        while waiting > 0 and heap[0][0] <= reach:
            leaf, waiting = descend(tree, heap, waiting, queries, query, reach)
            if leaf < 0:
                continue
            first, last = tree.leaves[leaf], tree.leaves[leaf + 1]
            while size + last - first > len(rows):
                longer = np.empty(2 * len(rows), np.int64)
                longer[:size] = rows[:size]
                rows = longer
            for i in range(first, last):
                row = np.int64(tree.rows[i])
                if distance(points, row, queries, query, limit) <= limit:
                    rows[size] = row
                    size += 1
            visited += 1
            if visited == most:
                break
        ends[query + 1] = size
    return ends, rows[:size].copy()
