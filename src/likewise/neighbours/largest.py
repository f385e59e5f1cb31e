"""The largest of many whole numbers with their rows: keys are gathered, and now and then cut.

A key is `value << 32 | (2^32 - 1 - row)`: of equal values the earlier row is the larger key. An
array of keys has room for several times as many as are wanted. When it is full the largest are
kept, and the least of them bounds what comes: that takes a fraction of what a heap takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.compiled import Int, Ints, kernel

# Values are whole multiples of one over this, within 31 bits.
KEY_UNIT = 1 << 24
# Room for so many keys for each that is wanted.
_ROOM = 4
_ROWS = (1 << 32) - 1


def room_for(n: int) -> Ints:
    """Make an array to gather the n largest keys in."""
    return np.empty(_ROOM * n, np.int64)


def rows_of(*keys: Ints) -> Ints:
    """Give the distinct rows of keys, ascending."""
    rows: Ints = np.sort(_ROWS - (np.concatenate(keys) & _ROWS))
    fresh = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=fresh[1:])
    distinct: Ints = rows[fresh]
    return distinct


@kernel
def key_of(value: Any, row: Int) -> Any:
    """Give the key of a row."""
    return np.int64(value) << 32 | (_ROWS - np.int64(row))


@kernel
def keep_largest(keys: Ints, size: Int, n: Int) -> Int:
    """Move the n largest of the first keys to the front, if there are as many; give how many.

    Where there were more, the n-th is the least of them.
    """
    if size <= n:
        return size
    kth_largest(keys[:size], n)
    return n


@kernel
def kth_largest(values: Ints, k: Int) -> Int:
    """Find the k-th largest of values, which are put in another order (Hoare 1961).

    Equals `np.sort(values)[-k]`; no value before the k-th is less, and none after it is larger.
    """
    low, high = 0, len(values) - 1
    wanted = k - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return np.int64(values[wanted])


@kernel
def kth_of_few(values: Any, k: Int, least: Int) -> Int:
    """Find the k-th largest of values if it is more than `least`, else give that.

    Equals `max(np.sort(values)[-k], least)`, of fewer than k values `least`. The largest so far are
    kept in order, which takes a quarter of the time of `kth_largest` where k is small.
    """
    largest = np.full(k, least, np.int64)
    for value in values:
        found = np.int64(value)
        if found > largest[0]:
            at: Int = 0
            while at + 1 < k and largest[at + 1] < found:
                largest[at] = largest[at + 1]
                at += 1
            largest[at] = found
    return np.int64(largest[0])


@kernel
def strided_maxima(values: Any, maxima: Any) -> None:
    """Find the largest value of each group of those that stand `len(maxima)` apart.

    Equals `values.reshape(-1, len(maxima)).max(axis=0)`.
    """
    n = len(maxima)
    for i in range(n):
        maxima[i] = values[i]
    for first in range(n, len(values), n):
        mine = values[first : first + n]
        for i in range(n):
            maxima[i] = max(maxima[i], mine[i])
