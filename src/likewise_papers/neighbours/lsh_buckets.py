"""How are points put into the buckets of hash tables, and found there?

A bucket's key is the sum, modulo 2^64, of its slices times random multipliers. Its leading bits
are a cell of the table, the next 16 a tag: buckets that have both in common by chance are read as
one. All are flat arrays, so that they can be memory-mapped.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Floats, Ids, Int, Ints, Offsets, Shorts, kernel
from likewise_papers.neighbours.collision_probability import order_by
from likewise_papers.neighbours.simhash import project

# Axes, offsets and multipliers; starts of cells, tags and rows.
Functions: TypeAlias = tuple[NDArray[np.float32], Floats, NDArray[np.uint64]]
Lists: TypeAlias = tuple[Offsets, Shorts, Ids]

# Points per cell are at most this, on average; and at least half as many.
LOAD = 4
_TAG_BITS = 16
# A product with it has in its six leading bits which power of two the other factor was.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
_PLACES[[((0x03F79D71B4CB0A89 << i) & (1 << 64) - 1) >> 58 for i in range(64)]] = np.arange(64)


def cell_bits(n_points: int) -> int:
    """Give how many leading bits of a key are its cell."""
    return max((max(n_points, 1) - 1) // LOAD, 1).bit_length()


@kernel
def find_keys(
    points: Floats,
    functions: Functions,
    length: Int,
    keys: NDArray[np.uint64],
) -> None:
    """Find the key of each point in each table.

    Equals, where `slices` are `floor(offsets + points @ axes)` as 64-bit integers, the sum over
    a table's functions of `slices * multipliers`.
    """
    axes, offsets, multipliers = functions
    values = np.empty(len(offsets), np.float32)
    for i in range(len(points)):
        project(points[i], axes, offsets, values)
        for t in range(len(keys)):
            key = np.uint64(0)
            for f in range(t * length, (t + 1) * length):
                key += np.uint64(np.int64(np.floor(values[f]))) * multipliers[f]
            keys[t, i] = key


@kernel
def sort_keys(keys: NDArray[np.uint64], bits: Int, out: Lists) -> None:
    """Sort the points of a table by cell and tag, in two passes.

    Equals `rows = (keys >> (48 - bits)).argsort(stable=True)`, `tags = (keys >> (48 - bits))[rows]`
    as 16 bits, and `starts = (keys >> (64 - bits))[rows].searchsorted(arange(2 ** bits + 1))`.
    """
    starts, tags, rows = out
    n_cells: Int = 1 << bits
    low, high = np.uint64(64 - _TAG_BITS - bits), np.uint64(64 - bits)
    at = np.zeros((1 << _TAG_BITS) + 1, np.int64)
    i: Int
    cell: Int
    tag: Int
    for i in range(len(keys)):
        at[np.int64(np.uint16(keys[i] >> low)) + 1] += 1
    for tag in range(1 << _TAG_BITS):
        at[tag + 1] += at[tag]
    by_tag = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        tag = np.int64(np.uint16(keys[i] >> low))
        by_tag[at[tag]] = i
        at[tag] += 1
    at = np.zeros(n_cells + 1, np.int64)
    for i in range(len(keys)):
        at[np.int64(keys[i] >> high) + 1] += 1
    for cell in range(n_cells):
        at[cell + 1] += at[cell]
    for cell in range(n_cells + 1):
        starts[cell] = at[cell]
    for e in range(len(keys)):
        i = by_tag[e]
        cell = np.int64(keys[i] >> high)
        rows[at[cell]] = i
        tags[at[cell]] = np.uint16(keys[i] >> low)
        at[cell] += 1


@kernel
def read_buckets(
    queries: Floats,
    functions: Functions,
    length: Int,
    buckets: Lists,
    size: tuple[Int, Int],
    steps: tuple[Ids, Ids],
) -> tuple[Ints, Ints]:
    """Find the points in the buckets of each query and in those that steps lead to, ascending.

    `size` is the number of points and of a cell's bits. Equals `unique` of the rows of all
    buckets with the query's key, or with that of its slices after a set of `perturbations`.
    """
    axes, offsets, multipliers = functions
    n_points, rows = size[0], buckets[2]
    n_tables, per_table = len(offsets) // length, len(steps[0])
    values = np.empty(len(offsets), np.float32)
    keys = np.empty(n_tables * per_table, np.uint64)
    spans = np.empty((len(keys), 2), np.int64)
    marks = np.zeros((n_points + 63) // 64, np.uint64)
    bounds = np.zeros(len(queries) + 1, np.int64)
    found = np.empty(1024, np.int64)
    for q in range(len(queries)):
        project(queries[q], axes, offsets, values)
        probe(values, multipliers, length, steps, keys)
        n_rows = find_buckets(keys, per_table, buckets, size, spans)
        for s in range(len(spans)):
            for e in range(spans[s, 0], spans[s, 1]):
                row = rows[e]
                marks[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
        n_found = bounds[q]
        room = n_found + min(n_rows, n_points)
        if room > len(found):
            grown = np.empty(2 * room, np.int64)
            grown[:n_found] = found[:n_found]
            found = grown
        bounds[q + 1] = list_marks(marks, found, n_found)
    return bounds, found[: bounds[-1]].copy()


@kernel
def probe(
    values: Floats,
    multipliers: NDArray[np.uint64],
    length: Int,
    steps: tuple[Ids, Ids],
    keys: NDArray[np.uint64],
) -> None:
    """Give the keys of the buckets to read, table by table: a query's own, then the likeliest.

    Equals in each table `slices @ multipliers` and, for every set of steps, the same with the
    slices that the set steps to: down or up, whichever border is nearer, then the other way.
    """
    bounds, members = steps
    apart = np.empty(length, np.float32)
    order = np.empty(length, np.int64)
    step = np.empty(2 * length, np.uint64)
    for t in range(len(values) // length):
        key = np.uint64(0)
        for i in range(length):
            f = t * length + i
            below = np.floor(values[f])
            apart[i] = values[f] - below
            key += np.uint64(np.int64(below)) * multipliers[f]
        at = t * len(bounds)
        keys[at] = key
        if len(bounds) == 1:
            continue
        for i in range(length):
            apart[i] = apart[i] - np.float32(1) if apart[i] >= 0.5 else apart[i]
        order_by(np.abs(apart), order)
        for j in range(length):
            i = order[j]
            down = np.uint64(0) - multipliers[t * length + i]
            step[j] = down if apart[i] >= 0 else np.uint64(0) - down
            step[2 * length - 1 - j] = np.uint64(0) - step[j]
        for s in range(len(bounds) - 1):
            probed = key
            for e in range(bounds[s], bounds[s + 1]):
                probed += step[members[e]]
            keys[at + 1 + s] = probed


@kernel
def find_buckets(
    keys: NDArray[np.uint64], per_table: Int, buckets: Lists, size: tuple[Int, Int], spans: Ints
) -> Int:
    """Find from where to where points with the keys' cells and tags are listed; give how many.

    Equals, within a table, `searchsorted` of a key's leading bits from the left and the right.
    """
    starts, tags, _ = buckets
    n_points, bits = size
    low_bits, high_bits = np.uint64(64 - _TAG_BITS - bits), np.uint64(64 - bits)
    # All cells first, then all tags, so that memory is asked for many at a time.
    for i in range(len(keys)):
        table = i // per_table
        cell = table * ((1 << bits) + 1) + np.int64(keys[i] >> high_bits)
        spans[i, 0] = table * n_points + np.int64(starts[cell])
        spans[i, 1] = table * n_points + np.int64(starts[cell + 1])
    n_rows = 0
    for i in range(len(keys)):
        tag = np.uint16(keys[i] >> low_bits)
        low, high = spans[i, 0], spans[i, 1]
        stop = high
        while low < high:
            middle = (low + high) // 2
            if tags[middle] < tag:
                low = middle + 1
            else:
                high = middle
        while high < stop and tags[high] == tag:
            high += 1
        spans[i, 0] = low
        spans[i, 1] = high
        n_rows += high - low
    return n_rows


@kernel
def list_marks(marks: NDArray[np.uint64], found: Ints, n_found: Int) -> Int:
    """List which bits are set, and clear them; give how many are listed now.

    Equals `flatnonzero(unpackbits(marks.view(uint8), bitorder="little"))`.
    """
    for word in range(len(marks)):
        left = marks[word]
        while left:
            lowest = left & (np.uint64(0) - left)
            found[n_found] = word * 64 + _PLACES[(lowest * _DE_BRUIJN) >> np.uint64(58)]
            n_found += 1
            left ^= lowest
        marks[word] = 0
    return n_found
