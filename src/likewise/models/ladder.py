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

from likewise.compiled import Floats

# Axes that have less than this share of a projection are noise, and not made any larger.
_LEAST = 1e-6


def ladder_of(width: int, rungs: int) -> tuple[int, ...]:
    """Give the widths that vectors are compared by: all axes, half of them, and so on."""
    return tuple(sorted({max(width >> i, 1) for i in range(rungs)})) if width else ()


def factors(rows: NDArray[Any], ladder: tuple[int, ...]) -> NDArray[Any]:
    """Give what each axis of projections is multiplied by; zeros for a projection of nothing."""
    squares = np.square(rows, dtype=np.float64).cumsum(axis=1)
    # A row for each width.
    inside = squares.T[np.array(ladder) - 1] + _LEAST * squares[:, -1]
    inverse = np.divide(1, inside, out=np.zeros_like(inside), where=inside > 0)
    left = np.empty_like(inverse)
    left[0] = np.sum(inverse, axis=0) / len(ladder)
    for i, mine in enumerate(inverse[:-1] / len(ladder), 1):
        left[i] = left[i - 1] - mine
    roots = np.sqrt(np.maximum(left, 0))
    return np.repeat(roots, np.diff([0, *ladder]), axis=0).T


def nest(rows: Floats, ladder: tuple[int, ...]) -> Floats:
    """Give projections, of whatever length, as they are compared: at length one."""
    if not ladder:
        return rows
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    scaled = rows / np.where(largest > 0, largest, 1)
    nested: Floats = (scaled * factors(scaled, ladder)).astype(np.float32)
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
