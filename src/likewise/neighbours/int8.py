"""Points at a byte a coordinate: what is kept of millions of vectors in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, Floats, Int, Ints, fast_kernel, kernel

LARGEST = 127

Codes = NDArray[np.int8]


class Coded(NamedTuple):
    """Points: point i is `codes[i] * scales[i]`; codes that are not rounded are float32."""

    codes: Codes | Floats
    scales: Floats


def encode(points: Floats) -> Coded:
    """Round each point to 255 steps of its largest coordinate; lengths are as they were."""
    codes = np.empty(points.shape, np.int8)
    scales = np.empty(len(points), np.float32)
    round_rows(np.ascontiguousarray(points, np.float32), codes, scales)
    return Coded(codes, scales)


def decode(coded: Coded) -> Floats:
    """Give points as float32."""
    return coded.codes.astype(np.float32) * coded.scales[:, None]


class CodedPoints:
    """Points as rows of float32, decoded when they are read; several pieces count as one.

    What an index of them needs of an array: length, shape, and rows by slice or numbers.
    """

    def __init__(self, pieces: Sequence[Coded]) -> None:
        self._pieces = list(pieces)
        self._bases = np.cumsum([0, *(len(piece.codes) for piece in pieces)], dtype=np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """How many points of how many coordinates there are."""
        width = self._pieces[0].codes.shape[1] if self._pieces else 0
        return int(self._bases[-1]), width

    def __len__(self) -> int:
        return int(self._bases[-1])

    def __getitem__(self, rows: slice | Ints) -> Floats:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        out = np.empty((len(rows), self.shape[1]), np.float32)
        owners = np.searchsorted(self._bases, rows, "right") - 1
        for owner in np.unique(owners).tolist():
            mine, piece = np.flatnonzero(owners == owner), self._pieces[owner]
            local = rows[mine] - self._bases[owner]
            out[mine] = decode(Coded(piece.codes[local], piece.scales[local]))
        return out


Points = Floats | CodedPoints


@kernel
def round_rows(points: Floats, codes: Codes, scales: Floats) -> None:
    """Round points to codes, and find the scales that leave their lengths unchanged.

    Equals `codes = np.rint(points / largest * 127)`, with `largest` the largest magnitude of a
    row, and `scales = norm(points) / norm(codes)`; rows of zeros have the scale zero.
    """
    width: Int = points.shape[1]
    for i in range(len(points)):
        largest = np.float32(0)
        squares = 0.0
        for k in range(width):
            largest = max(largest, abs(points[i, k]))
            squares += np.float64(points[i, k]) * points[i, k]
        if not largest > 0:
            codes[i, :] = 0
            scales[i] = 0
            continue
        factor = LARGEST / np.float64(largest)
        coded = 0.0
        for k in range(width):
            code = np.rint(points[i, k] * factor)
            codes[i, k] = np.int8(code)
            coded += code * code
        scales[i] = np.sqrt(squares / coded)


@fast_kernel
def scan_points(codes: NDArray[Any], scales: Floats, query: Floats, out: Floats) -> None:
    """Multiply every point with a query. Equals `out = (codes @ query) * scales`."""
    width: Int = codes.shape[1]
    for i in range(len(codes)):
        total = np.float32(0)
        for k in range(width):
            total += np.float32(codes[i, k]) * query[k]
        out[i] = total * scales[i]


@fast_kernel
def scan_rows(rows: Ints, codes: NDArray[Any], scales: Floats, query: Floats, out: Floats) -> None:
    """Multiply some points with a query. Equals `out = (codes[rows] @ query) * scales[rows]`."""
    width: Int = codes.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        total = np.float32(0)
        for k in range(width):
            total += np.float32(codes[row, k]) * query[k]
        out[i] = total * scales[row]


@kernel
def score_points(
    rows: Ints, codes: NDArray[Any], scales: Floats, query: Doubles, out: Doubles
) -> None:
    """Multiply some points with a query, in one order of adding up.

    Four points at a time: a sum waits for itself, not for those of the others. Equals
    `out = (codes[rows] @ query) * scales[rows]` in double precision.
    """
    width: Int = codes.shape[1]
    whole = len(rows) // 4 * 4
    for i in range(0, whole, 4):
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        of_a = of_b = of_c = of_d = 0.0
        for k in range(width):
            of_a += codes[a, k] * query[k]
            of_b += codes[b, k] * query[k]
            of_c += codes[c, k] * query[k]
            of_d += codes[d, k] * query[k]
        out[i], out[i + 1] = of_a * scales[a], of_b * scales[b]
        out[i + 2], out[i + 3] = of_c * scales[c], of_d * scales[d]
    for i in range(whole, len(rows)):
        row = rows[i]
        total = 0.0
        for k in range(width):
            total += codes[row, k] * query[k]
        out[i] = total * scales[row]
