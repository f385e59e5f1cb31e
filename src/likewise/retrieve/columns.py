"""Sums of bounds by columns of impacts: sixty-four documents at a time, or one where it stands.

So many terms are added together, in 8 bits, that what they add up to is cut into units: what each
code says is rounded up to whole ones, which together are no more than 255.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.byte_lanes import add_looked_up, add_multiplied, no_bytes
from likewise.collection.impact_columns import COLUMN_BYTES, HALF, N_CODES, STRIPE, code_in
from likewise.compiled import Bytes, Int, Ints, Shorts, kernel
from likewise.retrieve.bm25_state import Block, Search
from likewise.retrieve.sums import GROUP, bound_of

COLUMNS_TOGETHER = 16
_UNITS = 255 - COLUMNS_TOGETHER


@kernel
def column_error(search: Search, weight: Int, total: Int) -> Int:
    """Give by how much what a column adds may be off, of some whose weights are `total`."""
    table, levels = search.words.table, search.words.columns.levels
    widest: Int = 0
    for c in range(1, N_CODES):
        above = np.int64(levels[c - 1]) + 1
        lowest = table[above if above < len(table) else above - 1]
        widest = max(widest, np.int64(table[levels[c]]) - np.int64(lowest))
    return ((widest * weight) >> 8) + total // _UNITS + 3


@kernel
def add_columns(search: Search, block: Block, first: Int, least: Int) -> None:
    """Add what columns say to the sums of a block: those of its terms from `first` on.

    Where no document of a group can have `least` with it the group is left as it is.
    """
    here = block.here
    for start in range(first, len(here), COLUMNS_TOGETHER):
        some = here[start : start + COLUMNS_TOGETHER]
        _add_together(search, block, some, least - block.rest[start])


@kernel
def _add_together(search: Search, block: Block, some: Ints, least: Int) -> None:
    words, query, sums = search.words, search.query, search.space.sums
    codes, levels = words.columns.codes, words.columns.levels
    n = len(some)
    total: Int = 0
    for i in some:
        total += bound_of(words.table[levels[N_CODES - 1]], query.integers[i])
    unit = total // _UNITS + 1
    tables = np.zeros(n * N_CODES, np.uint8)
    starts = np.empty(n, np.uintp)
    for j in range(n):
        i = some[j]
        starts[j] = block.columns[i] * COLUMN_BYTES
        for c in range(1, N_CODES):
            bound = bound_of(words.table[levels[c]], query.integers[i])
            tables[j * N_CODES + c] = (bound + unit - 1) // unit
    factor = np.uint16(unit)
    for g in range(block.n_groups):
        if least > 0 and np.int64(_largest(sums, g * GROUP)) < least:
            continue
        for stripe in range(g * (GROUP // STRIPE), (g + 1) * (GROUP // STRIPE)):
            more = no_bytes()
            offset = np.uintp(stripe * HALF)
            for j in range(n):
                more = add_looked_up(more, codes, starts[j] + offset, tables, np.uintp(j * N_CODES))
            add_multiplied(sums, np.uintp(stripe * STRIPE), more, factor)


@kernel
def _largest(sums: Shorts, first: Int) -> Any:
    """Give the largest sum of a group."""
    top: Any = np.uint16(0)
    for i in range(GROUP):
        top = max(top, sums[first + i])
    return top


@kernel
def find_in_column(search: Search, block: Block, i: Int, found: Shorts) -> None:
    """Add what the column of a term says to the sums of the documents found."""
    words, sums = search.words, search.space.sums
    bounds = _bounds(words.table, words.columns.levels, search.query.integers[i])
    for doc in found:
        sums[doc] += bounds[code_in(words.columns.codes, block.columns[i], np.int64(doc))]


@kernel
def _bounds(table: Bytes, levels: Bytes, weight: Int) -> Shorts:
    """Give what each code adds to sums."""
    bounds = np.zeros(N_CODES, np.uint16)
    for c in range(1, N_CODES):
        bounds[c] = bound_of(table[levels[c]], weight)
    return bounds
