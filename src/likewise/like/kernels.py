"""The hot loops of comparing specific words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Bytes, Doubles, Floats, Ids, Ints, Offsets, kernel
from likewise.neighbours.int8 import Codes

_EMPTY = -1
_SPREAD = 0x9E3779B1
_FLAGS = (1 << 14) - 1

Rows = NDArray[Any]
Words = tuple[Offsets, Ids, Codes, Floats]


class Table(NamedTuple):
    """A hash table of a query's words; `flags` are up where a term may be one of them."""

    keys: Ids
    values: Doubles
    flags: Bytes


def table_of(terms: Ints, weights: Doubles) -> Table:
    """Make a hash table of a query's words."""
    size = 4
    while size < 4 * len(terms):
        size *= 2
    keys, values = np.full(size, _EMPTY, np.int32), np.zeros(size, np.float64)
    fill_table(terms.astype(np.int32), weights.astype(np.float64), keys, values)
    flags = np.zeros(_FLAGS + 1, np.uint8)
    flags[terms & _FLAGS] = 1
    return Table(keys, values, flags)


@kernel
def place_of(term: Any, keys: Ids) -> Any:
    """Find where a term is in a table, or where it would be put."""
    mask = len(keys) - 1
    place = ((np.uint64(term) * np.uint64(_SPREAD)) >> np.uint64(16)) & np.uint64(mask)
    at = np.int64(place)
    while keys[at] != term and keys[at] != _EMPTY:
        at = (at + 1) & mask
    return at


@kernel
def fill_table(terms: Ids, weights: Doubles, keys: Ids, values: Doubles) -> None:
    """Put distinct terms and their weights into an empty table."""
    for i in range(len(terms)):
        at = place_of(terms[i], keys)
        keys[at] = terms[i]
        values[at] = weights[i]


@kernel
def scan_words(words: Words, table: Table, factor: Any, out: Floats) -> None:
    """Add to every score `factor` times the inner product of specific words with a query's."""
    bounds, terms, weights, scales = words
    keys, values, flags = table
    for i in range(len(bounds) - 1):
        total = 0.0
        for j in range(np.int64(bounds[i]), np.int64(bounds[i + 1])):
            if flags[terms[j] & _FLAGS]:
                at = place_of(terms[j], keys)
                if keys[at] == terms[j]:
                    total += values[at] * weights[j]
        out[i] += np.float32(factor * total * scales[i])


@kernel
def score_words(rows: Ints, words: Words, table: Table, out: Doubles) -> None:
    """Give the inner products of some documents' specific words with a query's.

    Equals, for a dense vector `q` of the query's weights,
    `(q[terms] * weights).sum() * scales` over the words of each row.
    """
    bounds, terms, weights, scales = words
    keys, values, flags = table
    for i in range(len(rows)):
        row = rows[i]
        total = 0.0
        for j in range(np.int64(bounds[row]), np.int64(bounds[row + 1])):
            if flags[terms[j] & _FLAGS]:
                at = place_of(terms[j], keys)
                if keys[at] == terms[j]:
                    total += values[at] * weights[j]
        out[i] = total * scales[row]
