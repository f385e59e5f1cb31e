"""Nested axes: vectors that are compared by their first few axes, by more of them, and by all.

With z a projection on axes, the most important first, and a ladder of widths l (25, 50, 100, 200),
two documents are as alike as the mean over l of the cosines of their first l axes: the few that
carry most of every document count in each of them, and those that only few share are not drowned.
That mean is nearly the inner product of vectors no wider than z, with each axis k times
`sqrt(mean over l > k of 1/‖z_l‖²)` (z_l the first l axes), which are of length one: these are what
is stored and compared. Between two documents the two differ by some thousandths.

How the steps are chosen matters little (benchmarks/likeness.py --parts).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Int, Ints, kernel

# Axes that have less than this share of a projection are noise, and not made any larger.
_LEAST = 1e-6


def ladder_of(width: int, rungs: int) -> tuple[int, ...]:
    """Give the widths that vectors are compared by: all axes, half of them, and so on."""
    return tuple(sorted({max(width >> i, 1) for i in range(rungs)})) if width else ()


def factors(rows: NDArray[Any], ladder: tuple[int, ...]) -> Doubles:
    """Give what each axis of projections is multiplied by; zeros for a projection of nothing."""
    out = np.empty(rows.shape)
    find_factors(rows, np.array(ladder), out)
    return out


def nest(rows: Floats, ladder: tuple[int, ...]) -> Floats:
    """Give projections, of whatever length, as they are compared: at length one."""
    if not ladder:
        return rows
    nested = np.empty(rows.shape, np.float32)
    nest_rows(rows, np.array(ladder), nested)
    return nested


def unnest(rows: Floats, ladder: tuple[int, ...]) -> Floats:
    """Give the directions of projections back, at length one."""
    if not ladder:
        return rows
    out = np.array(rows, np.float64)
    starts = (0, *ladder[:-1])
    # Of a projection of length one: how much of it is in the axes up to here, from the last back.
    inside, inverse = np.ones(len(rows)), np.zeros(len(rows))
    for start, width in zip(reversed(starts), reversed(ladder), strict=True):
        inverse = inverse + 1 / (np.maximum(inside, 0) + _LEAST) / len(ladder)
        out[:, start:width] /= np.sqrt(inverse)[:, None]
        inside = inside - np.square(out[:, start:width]).sum(axis=1)
    lengths = np.linalg.norm(out, axis=1, keepdims=True)
    return (out / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@kernel
def find_factors(rows: NDArray[Any], ladder: Ints, out: Doubles) -> None:
    """Find the factors of the axes of projections, up to each width of a ladder.

    Equals, with `inside = np.square(rows).cumsum(axis=1)[:, ladder - 1]` and a millionth of the
    whole more, `np.sqrt(mean over widths above k of 1 / inside)` for axis k.
    """
    inverse = np.empty(len(ladder))
    for i in range(len(rows)):
        total = 0.0
        first = 0
        for r in range(len(ladder)):
            for k in range(first, ladder[r]):
                total += np.float64(rows[i, k]) * np.float64(rows[i, k])
            inverse[r] = total
            first = ladder[r]
        for k in range(first, rows.shape[1]):
            total += np.float64(rows[i, k]) * np.float64(rows[i, k])
        left = 0.0
        for r in range(len(ladder)):
            inside = inverse[r] + _LEAST * total
            inverse[r] = 1 / inside if inside > 0 else 0.0
            left += inverse[r]
        left /= len(ladder)
        out[i] = 0
        first = 0
        for r in range(len(ladder)):
            out[i, first : ladder[r]] = np.sqrt(max(left, 0.0))
            left -= inverse[r] / len(ladder)
            first = ladder[r]


@kernel
def nest_rows(rows: Floats, ladder: Ints, out: Floats) -> None:
    """Multiply projections, their largest coordinate brought to 1, by their factors.

    Equals `scaled * factors(scaled, ladder)`, with `scaled = rows / np.abs(rows).max(axis=1)`.
    """
    width: Int = rows.shape[1]
    scaled, found = np.empty((1, width), np.float32), np.empty((1, width))
    for i in range(len(rows)):
        largest = np.float32(0)
        for k in range(width):
            largest = max(largest, np.abs(rows[i, k]))
        for k in range(width):
            scaled[0, k] = rows[i, k] / largest if largest > 0 else rows[i, k]
        find_factors(scaled, ladder, found)
        for k in range(width):
            out[i, k] = np.float32(scaled[0, k] * found[0, k])
