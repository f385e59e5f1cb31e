"""How are the largest inner products found among many rows without reading all of them?

A point has most of its length in few of its coordinates, and over all documents no axis is longer
than another: rows with large products agree with the point where it is largest. So coordinates
are kept side by side for thousands of documents, 4 bits each; those of a point's largest
coordinates are read and added up as 16-bit integers. The rows that seem best, several times as
many as are asked for, are then read whole.

Lists of rows by the nearest of some centroids, which libraries would take, read less still, but
miss more: in hundreds of coordinates of one length, what is near a point is scattered over lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.collection.files import ArrayWriter, map_array
from likewise.collection.snapshot import DERIVED
from likewise.collection.writer import Writer
from likewise.compiled import Bytes, Floats, Int, Ints, kernel
from likewise.errors import DamagedError
from likewise.neighbours.coded import Coded, Codes, scan_rows

if TYPE_CHECKING:
    from likewise.smooth.store import StoredRows

FINDER = "row-finder"
# Below this a scan of all rows takes a few milliseconds.
_FEWEST_FOUND = 100_000
# Documents that the finder does not have are scanned; beyond this share it is built anew.
_MOST_SCANNED = 0.2
# Coordinates are kept for so many rows at a time: what is added up stays in the nearest cache.
TILE = 1 << 13
_HALF = TILE // 2
# A coordinate is one of 15 levels, the middle one nothing.
_LARGEST, _NOTHING = 7, 8
_LEVELS = (np.rint(np.arange(-128, 128) * (_LARGEST / 127)) + _NOTHING).astype(np.uint8)
# Weights add up to no more than this, so that a sum of levels fits 16 bits.
_WEIGHT = (1 << 15) // (_LARGEST + 1)
# So many coordinates of a point are read, the largest, and so many times as many rows as are asked
# for, and some more, are then read whole. Of half a million passages of text that found .994 of
# the 200 nearest, of as many drawn documents .981, and of the ten nearest 1 and .995.
_AXES = 64
_TIMES, _SPARE = 4, 1200
_STRIDE = 17

Sums = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class RowFinder:
    """An index of the rows of some segments; safe to use from several threads.

    `columns` are the levels of coordinates, tile by tile, in each one coordinate after the other;
    a byte has that of one row of the tile's first half, and above it of one of the second.
    """

    segments: Sequence[int]
    parts: Sequence[Coded]
    columns: Bytes
    scales: Floats

    def propose(self, point: Floats, n: int) -> Iterator[tuple[int, Ints]]:
        """Propose the n rows that seem to have the largest inner products, by segment."""
        rows = self._likely(point, n)
        bounds = np.searchsorted(rows, self._bases)
        scores = np.empty(len(rows), np.float32)
        for i, (codes, scales) in enumerate(self.parts):
            mine = slice(bounds[i], bounds[i + 1])
            scan_rows(rows[mine] - self._bases[i], codes, scales, point, scores[mine])
        rows = rows[_best(scores, n)]
        bounds = np.searchsorted(rows, self._bases)
        for i, segment in enumerate(self.segments):
            yield segment, rows[bounds[i] : bounds[i + 1]] - self._bases[i]

    def _likely(self, point: Floats, n: int) -> Ints:
        """Give the rows, several times n, that seem best by some coordinates."""
        wanted, n_rows = _TIMES * n + _SPARE, len(self.scales)
        if wanted >= n_rows:
            return np.arange(n_rows)
        axes, weights = weigh_axes(point)
        scores = np.empty(n_rows, np.float32)
        scan_columns(self.columns, self.scales, axes, weights, len(point), scores)
        # A sample tells well enough how many are above a score.
        rows = np.flatnonzero(scores >= _largest(scores[::_STRIDE], max(wanted // _STRIDE, 1)))
        return rows if n <= len(rows) <= 2 * wanted else _best(scores, wanted)

    @cached_property
    def _bases(self) -> Ints:
        return np.cumsum([0, *(len(part.scales) for part in self.parts)], dtype=np.int64)


def open_finder(stored: StoredRows) -> RowFinder | None:
    """Open the index that is stored with rows, if there is one."""
    if stored.entry is None:
        return None
    for entry in stored.collection.derived(FINDER, model=stored.entry.folder):
        # A writer may have removed it after the collection was opened.
        if not (stored.collection.folder / DERIVED / entry.folder).exists():
            continue
        names = [segment.entry.name for segment in stored.collection.segments]
        covered = [names.index(name) for name in entry.segments]
        folder = stored.collection.derived_folder(entry)
        columns, scales = map_array(folder / "columns.npy"), map_array(folder / "scales.npy")
        parts = [stored.segments[i] for i in covered]
        n_rows = sum(len(part.scales) for part in parts)
        n_bytes = math.ceil(n_rows / TILE) * _HALF * stored.space.n_axes
        if len(scales) != n_rows or len(columns) != n_bytes:
            raise DamagedError(f"{folder}: an index of other rows; fit the model again")
        return RowFinder(covered, parts, columns, scales)
    return None


def store_finder(writer: Writer, stored: StoredRows) -> None:
    """Store an index of rows where there are many, and too many that the one there lacks."""
    if stored.entry is None:
        return
    sizes = {segment.entry.name: segment.n_docs for segment in stored.collection.segments}
    there = stored.collection.derived(FINDER, model=stored.entry.folder)
    covered = sum(sizes[name] for name in there[0].segments) if there else 0
    total = sum(sizes.values())
    if total < _FEWEST_FOUND or covered >= (1 - _MOST_SCANNED) * total:
        return
    writer.put_derived(
        FINDER,
        model=stored.entry.folder,
        segments=[*sizes],
        write=lambda folder: write_finder(folder, stored.segments),
    )


def write_finder(folder: Path, parts: Sequence[Coded]) -> None:
    """Write an index of rows, a tile at a time."""
    with (
        ArrayWriter(folder / "columns.npy", np.uint8) as columns,
        ArrayWriter(folder / "scales.npy", np.float32) as scales,
    ):
        for tile in _tiles(parts):
            columns.append(pack(tile.codes).ravel())
            scales.append(tile.scales)


def pack(codes: Codes) -> Bytes:
    """Give the levels of a tile's rows, by coordinate; rows that it lacks are nothing."""
    levels = np.full((TILE, codes.shape[1]), _NOTHING, np.uint8)
    levels[: len(codes)] = _LEVELS[codes.astype(np.int16) + 128]
    across = np.ascontiguousarray(levels.T)
    return np.asarray(across[:, :_HALF] | across[:, _HALF:] << 4)


def weigh_axes(point: Floats) -> tuple[Ints, Ints]:
    """Choose the coordinates of a point that are read, and round them to whole weights."""
    axes = np.sort(np.argsort(-np.abs(point), kind="stable")[:_AXES])
    chosen = point[axes].astype(np.float64)
    # Rounding adds half to each at most.
    factor = (_WEIGHT - len(axes) / 2) / max(float(np.abs(chosen).sum()), 1e-300)
    return axes, np.rint(chosen * factor).astype(np.int64)


def _largest(scores: Floats, n: int) -> float:
    """Give the n-th largest of scores."""
    return float(np.partition(scores, len(scores) - n)[len(scores) - n])


def _best(scores: Floats, n: int) -> Ints:
    """Give the places of the n largest scores, ascending; of equals the first."""
    if n >= len(scores):
        return np.arange(len(scores))
    least = _largest(scores, n)
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    return np.sort(np.concatenate([above, equal[: n - len(above)]]))


def _tiles(parts: Sequence[Coded]) -> Iterator[Coded]:
    """Give the rows of parts, so many at a time."""
    bases = np.cumsum([0, *(len(part.scales) for part in parts)]).tolist()
    for first in range(0, bases[-1], TILE):
        codes, scales = [], []
        for part, base in zip(parts, bases, strict=False):
            inside = slice(max(first - base, 0), max(first + TILE - base, 0))
            codes.append(part.codes[inside])
            scales.append(part.scales[inside])
        yield Coded(np.concatenate(codes), np.concatenate(scales))


@kernel
def scan_columns(
    columns: Bytes, scales: Floats, axes: Ints, weights: Ints, width: Int, out: Floats
) -> None:
    """Multiply every row with a point, by some coordinates.

    Equals `out = (weights @ (levels[axes] - 8)) * scales`, levels by coordinate and row. On the
    way sums may leave 16 bits, and come back: these are the integers modulo 2^16.
    """
    total = 0
    for j in range(len(axes)):
        total += weights[j]
    sums = np.empty(TILE, np.int16)
    for first in range(0, len(scales), TILE):
        sums[:] = np.int16(-_NOTHING * total)
        low, high = sums[:_HALF], sums[_HALF:]
        start, whole = first // TILE * width * _HALF, len(axes) // 4 * 4
        for j in range(0, whole, 4):
            add_four(
                columns[start + axes[j] * _HALF :][:_HALF],
                columns[start + axes[j + 1] * _HALF :][:_HALF],
                columns[start + axes[j + 2] * _HALF :][:_HALF],
                columns[start + axes[j + 3] * _HALF :][:_HALF],
                weights[j : j + 4].astype(np.int16),
                low,
                high,
            )
        for j in range(whole, len(axes)):
            add_column(columns[start + axes[j] * _HALF :][:_HALF], np.int16(weights[j]), low, high)
        scale_sums(sums, scales[first : first + TILE], out[first : first + TILE])


@kernel
def add_column(column: Bytes, weight: np.int16, low: Sums, high: Sums) -> None:
    """Add one coordinate. Equals `low += weight * (column & 15); high += weight * (column >> 4)`.

    Slices start at nothing, which is what lets the compiler take many at once.
    """
    for i in range(len(column)):
        levels = column[i]
        low[i] += weight * np.int16(levels & 15)
        high[i] += weight * np.int16(levels >> 4)


@kernel
def add_four(a: Bytes, b: Bytes, c: Bytes, d: Bytes, weights: Sums, low: Sums, high: Sums) -> None:
    """Add four coordinates, so that sums are read and written once.

    Equals `add_column` of each.
    """
    wa, wb, wc, wd = weights[0], weights[1], weights[2], weights[3]
    for i in range(len(a)):
        first = wa * np.int16(a[i] & 15) + wb * np.int16(b[i] & 15)
        low[i] += first + wc * np.int16(c[i] & 15) + wd * np.int16(d[i] & 15)
        second = wa * np.int16(a[i] >> 4) + wb * np.int16(b[i] >> 4)
        high[i] += second + wc * np.int16(c[i] >> 4) + wd * np.int16(d[i] >> 4)


@kernel
def scale_sums(sums: Sums, scales: Floats, out: Floats) -> None:
    """Turn sums into scores. Equals `out = sums[: len(scales)] * scales`."""
    for i in range(len(scales)):
        out[i] = np.float32(sums[i]) * scales[i]
