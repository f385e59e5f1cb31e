"""Frequent terms by block: a 4-bit code of the impact of every document, 0 for those without.

An entry of `COLUMN_FROM` postings and more has a column beside its postings, which says for all
documents of the block at once what its postings say one by one: it is added to sums sixty-four
documents at a time, and what it says of one document is found where that stands. A code stands for
the impacts above the level before its own, up to its own. Levels are the segment's: those by which
the impacts in its columns are overstated least.

A byte of a column has two documents, `HALF` apart: of each `STRIPE` documents the first half is in
the low bits. Columns are longer than a block needs: if they began a power of two apart, the same
documents of several would not fit into the nearest cache together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.byte_lanes import BYTES, CODES
from likewise.collection.arrays import Arrays, Output
from likewise.collection.files import REMEDY
from likewise.compiled import Bytes, Int, Ints, Offsets, Shorts, inlined_kernel, kernel
from likewise.errors import DamagedError

# Adding a column takes as long as adding some 1,500 postings; it is read in their place, and has as
# many bytes as 11,000 of them.
COLUMN_FROM = 8192
STRIPE, HALF, N_CODES = BYTES, BYTES // 2, CODES
# As many documents as a block of `postings` has.
_BLOCK = 1 << 16
COLUMN_BYTES = _BLOCK // 2 + 256
_COLUMNS_AT_ONCE = 64


class ImpactColumns(NamedTuple):
    """The columns of a segment: those of the entries named, ascending, one after the other."""

    entries: Offsets
    codes: Bytes
    levels: Bytes


def read_columns(arrays: Arrays, name: str) -> ImpactColumns:
    """Give the columns of a pack, which may have none."""
    if "columns.entries" not in arrays:
        return ImpactColumns(
            np.empty(0, np.uint32), np.empty(0, np.uint8), np.zeros(N_CODES, np.uint8)
        )
    columns = ImpactColumns(*(arrays[f"columns.{one}"] for one in ImpactColumns._fields))
    if (
        len(columns.codes) != len(columns.entries) * COLUMN_BYTES
        or columns.levels.shape != (N_CODES,)
        or np.any(columns.levels[1:] < columns.levels[:-1])
        or np.any(columns.entries[1:] <= columns.entries[:-1])
    ):
        raise DamagedError(f"{name}: columns of impacts do not fit together; {REMEDY}")
    return columns


def write_columns(out: Output, starts: Ints, docs: Shorts, impacts: Bytes) -> None:
    """Put the columns of the entries that have many postings; where none has nothing is put.

    `starts` are where entries begin in the postings, and where the last one ends.
    """
    chosen = np.flatnonzero(np.diff(starts) >= COLUMN_FROM)
    if not len(chosen):
        return
    frequencies = np.zeros(256, np.int64)
    for entry in chosen:
        frequencies += np.bincount(impacts[starts[entry] : starts[entry + 1]], minlength=256)
    levels = choose_levels(frequencies)
    out.put("columns.entries", chosen, np.uint32)
    out.put("columns.levels", levels)
    # As `codes_of`, for which nothing has to be compiled.
    code_of = np.searchsorted(levels, np.arange(256)).astype(np.uint8)
    with out.stream("columns.codes", np.uint8) as codes:
        for first in range(0, len(chosen), _COLUMNS_AT_ONCE):
            some = chosen[first : first + _COLUMNS_AT_ONCE]
            codes.append(_code(starts[some], starts[some + 1], docs, impacts, code_of))


def choose_levels(frequencies: Ints) -> Bytes:
    """Choose 16 levels, the first 0 and the last 255, that impacts are raised to the least by.

    `frequencies` is how many postings have each impact. By dynamic programming, which is exact.
    """
    values = np.arange(256)
    counts = np.concatenate([[0], np.cumsum(frequencies)])
    totals = np.concatenate([[0], np.cumsum(frequencies * values)])
    # What raising the impacts above `low` to `high` costs.
    low, high = values[:, None], values[None, :]
    cost = high * (counts[high + 1] - counts[low + 1]) - (totals[high + 1] - totals[low + 1])
    cost = np.where(low < high, cost.astype(np.float64), np.inf)
    best = cost[0]
    before = []
    for _ in range(N_CODES - 2):
        through = best[:, None] + cost
        before.append(np.argmin(through, axis=0))
        best = np.min(through, axis=0)
    levels = [255]
    for each in reversed(before):
        levels.append(int(each[levels[-1]]))
    return np.array([0, *reversed(levels)], np.uint8)


@kernel
def _code(starts: Ints, stops: Ints, docs: Shorts, impacts: Bytes, code_of: Bytes) -> Bytes:
    """Give the columns of runs of postings, one after the other."""
    codes = np.zeros(len(starts) * COLUMN_BYTES, np.uint8)
    for i in range(len(starts)):
        first = i * COLUMN_BYTES
        for p in range(starts[i], stops[i]):
            doc = np.int64(docs[p])
            codes[first + byte_of(doc)] |= code_of[impacts[p]] << shift_of(doc)
    return codes


@inlined_kernel
def byte_of(doc: Int) -> Int:
    """Give the byte of a document of a block in its columns."""
    return (doc // STRIPE) * HALF + doc % HALF


@inlined_kernel
def shift_of(doc: Int) -> Any:
    """Give how far up in its byte the code of a document stands."""
    return np.uint8((doc // HALF & 1) * 4)


@inlined_kernel
def code_in(codes: Bytes, column: Int, doc: Int) -> Int:
    """Give the code of a document of a block in a column."""
    return np.int64(codes[column * COLUMN_BYTES + byte_of(doc)] >> shift_of(doc)) & (N_CODES - 1)


@kernel
def codes_of(levels: Bytes) -> Bytes:
    """Give the code of each impact. Equals `np.searchsorted(levels, np.arange(256))`."""
    codes = np.zeros(256, np.uint8)
    code: Int = 0
    for impact in range(1, 256):
        while code < N_CODES - 1 and np.int64(levels[code]) < impact:
            code += 1
        codes[impact] = code
    return codes
