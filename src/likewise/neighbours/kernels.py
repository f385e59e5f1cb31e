"""Distances between a query's point and many others, and the nearest of them.

A distance has the same bits wherever it is worked out: there is one kernel for a pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Bools, Floats, Int, Ints, fast_kernel, kernel
from likewise.neighbours.metrics import JENSEN_SHANNON, KULLBACK_LEIBLER, SQUARED

_LN2 = np.float32(0.6931471805599453)
_TINY = np.float32(1e-37)


@fast_kernel
def fill_logs(values: Floats, bits: NDArray[np.int32], out: Floats) -> None:
    """Work out natural logarithms of positive numbers; `bits` is `values.view(np.int32)`.

    By a polynomial on [√½, √2) (Cephes), because a call of the library's logarithm keeps the
    loop from being vectorised. Equals np.log(values) to 2e-7 of the larger of it and 1.
    """
    mantissas = np.empty(len(values), np.int32)
    for i in range(len(values)):
        mantissas[i] = (bits[i] & 0x007FFFFF) | 0x3F000000
    halves = mantissas.view(np.float32)
    for i in range(len(values)):
        small = halves[i] < np.float32(0.70710678)
        power = np.float32((bits[i] >> 23) - 126 - (1 if small else 0))
        x = (halves[i] + halves[i] if small else halves[i]) - np.float32(1.0)
        y = np.float32(7.0376836292e-2)
        y = y * x - np.float32(1.1514610310e-1)
        y = y * x + np.float32(1.1676998740e-1)
        y = y * x - np.float32(1.2420140846e-1)
        y = y * x + np.float32(1.4249322787e-1)
        y = y * x - np.float32(1.6668057665e-1)
        y = y * x + np.float32(2.0000714765e-1)
        y = y * x - np.float32(2.4999993993e-1)
        y = y * x + np.float32(3.3333331174e-1)
        square = x * x
        out[i] = x + (y * x * square - np.float32(0.5) * square) + power * _LN2


@fast_kernel
def _squared(query: Floats, rows: Floats, row: Int) -> np.float32:
    total = np.float32(0.0)
    for j in range(len(query)):
        difference = query[j] - rows[row, j]
        total += difference * difference
    return total


@fast_kernel
def _product(query: Floats, rows: Floats, row: Int) -> np.float32:
    total = np.float32(0.0)
    for j in range(len(query)):
        total += query[j] * rows[row, j]
    return -total


@fast_kernel
def _fill_squares(roots: Floats, row: Int, out: Floats) -> None:
    for j in range(len(out)):
        out[j] = roots[row, j] * roots[row, j]


@fast_kernel
def _apart(p: Floats, q: Floats, ratios: Floats, logs: Floats) -> np.float32:
    """Sum `p * log(p / (p + q) * 2)`."""
    for j in range(len(p)):
        mean = np.float32(0.5) * (p[j] + q[j])
        ratios[j] = max(p[j], _TINY) / max(mean, _TINY)
    fill_logs(ratios, ratios.view(np.int32), logs)
    total = np.float32(0.0)
    for j in range(len(p)):
        total += p[j] * logs[j]
    return total


@kernel
def _jensen_shannon(query: Floats, rows: Floats, row: Int, room: Floats) -> np.float32:
    d = len(query)
    p, q, ratios, logs = room[:d], room[d : 2 * d], room[2 * d : 3 * d], room[3 * d :]
    _fill_squares(rows, row, p)
    for j in range(d):
        q[j] = query[j] * query[j]
    total = _apart(p, q, ratios, logs) + _apart(q, p, ratios, logs)
    return max(np.float32(0.5) * total, np.float32(0.0))


@fast_kernel
def _kullback_leibler(query: Floats, rows: Floats, row: Int, room: Floats) -> np.float32:
    d = len(query)
    ratios, logs = room[:d], room[d : 2 * d]
    for j in range(d):
        if query[j] > 0 and rows[row, j] == 0:
            return np.float32(np.inf)
        # Of roots: a ratio of the numbers themselves may be too large for single precision.
        ratios[j] = max(query[j], _TINY) / max(rows[row, j], _TINY)
    fill_logs(ratios, ratios.view(np.int32), logs)
    total = np.float32(0.0)
    for j in range(d):
        total += query[j] * query[j] * logs[j]
    return max(np.float32(2.0) * total, np.float32(0.0))


@kernel
def distance(
    form: Int, factor: np.float32, query: Floats, rows: Floats, row: Int, room: Floats
) -> np.float32:
    """Work out one distance; `room` is scratch of four times the query's length.

    Equals, for points x of a row and y of a query: factor * ((x - y)**2).sum() (SQUARED);
    -(x * y).sum() (PRODUCT); with p = x², q = y², m = (p + q) / 2,
    0.5 * (p * log(p / m) + q * log(q / m)).sum() (JENSEN_SHANNON) or
    (q * log(q / p)).sum() (KULLBACK_LEIBLER), with 0 log 0 = 0.
    """
    if form == SQUARED:
        return factor * _squared(query, rows, row)
    if form == JENSEN_SHANNON:
        return _jensen_shannon(query, rows, row, room)
    if form == KULLBACK_LEIBLER:
        return _kullback_leibler(query, rows, row, room)
    return _product(query, rows, row)


@kernel
def keep_nearest(
    form: Int,
    factor: np.float32,
    queries: Floats,
    rows: Floats,
    bounds: Ints,
    candidates: Ints,
    barred: Bools,
    first: Int,
    numbers: NDArray[np.int64],
    distances: Floats,
) -> None:
    """Merge candidates into the nearest so far, by distance and then number.

    Row i of a part has the number `first + i`; `barred` is by number, and empty where nothing is.
    Equals a lexsort by (number, distance) of what is in `numbers` and of the candidates that are
    not barred, cut to the width of `numbers`; places left over hold -1 at an infinite distance.
    """
    k = numbers.shape[1]
    room = np.empty(4 * queries.shape[1], np.float32)
    for i in range(len(queries)):
        query = queries[i]
        for place in range(bounds[i], bounds[i + 1]):
            row = candidates[place]
            number = first + row
            if len(barred) > 0 and barred[number]:
                continue
            d = distance(form, factor, query, rows, row, room)
            j = k
            while j > 0 and (
                numbers[i, j - 1] < 0
                or d < distances[i, j - 1]
                or (d == distances[i, j - 1] and number < numbers[i, j - 1])
            ):
                j -= 1
            if j == k:
                continue
            for back in range(k - 1, j, -1):
                numbers[i, back] = numbers[i, back - 1]
                distances[i, back] = distances[i, back - 1]
            numbers[i, j] = number
            distances[i, j] = d


@kernel
def keep_within(
    form: Int,
    factor: np.float32,
    query: Floats,
    rows: Floats,
    candidates: Ints,
    barred: Bools,
    first: Int,
    radius: float,
) -> tuple[Ints, Floats]:
    """Find the candidates of one query that are within a distance, in the order given.

    Equals the candidates that are not barred and whose `distance` is at most `radius`.
    """
    numbers = np.empty(len(candidates), np.int64)
    distances = np.empty(len(candidates), np.float32)
    room = np.empty(4 * len(query), np.float32)
    n = 0
    for place in range(len(candidates)):
        row = candidates[place]
        number = first + row
        if len(barred) > 0 and barred[number]:
            continue
        d = distance(form, factor, query, rows, row, room)
        if d <= radius:
            numbers[n] = number
            distances[n] = d
            n += 1
    return numbers[:n].copy(), distances[:n].copy()


@kernel
def score_pairs(
    form: Int,
    factor: np.float32,
    queries: Floats,
    rows: Floats,
    start: Int,
    out: NDArray[np.float32],
) -> None:
    """Work out the distances of queries to consecutive rows, `out.shape[1]` from `start` on.

    Equals `distance` of every pair.
    """
    room = np.empty(4 * queries.shape[1], np.float32)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = distance(form, factor, queries[i], rows, start + j, room)
