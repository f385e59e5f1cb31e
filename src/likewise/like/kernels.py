"""The hot loops of comparing words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import get
from likewise.compiled import Bytes, Doubles, Floats, Ids, Int, Ints, Offsets, kernel
from likewise.neighbours.int8 import Codes

_EMPTY = -1
_SPREAD = 0x9E3779B1
_FLAGS = (1 << 14) - 1
# One in the whole numbers that parts of a score are added up as.
_WHOLE = float(1 << 40)

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


@kernel
def _next_code(stream: Bytes, at: Int, stop: Int) -> tuple[Int, Int]:
    """Read one integer of a record. Equals `get`, without a branch for those of up to four bytes.

    How many bytes there are cannot be predicted: a branch would cost more than reading all four.
    """
    if at + 4 > stop:
        return get(stream, at, stop)
    a, b = np.int64(stream[at]), np.int64(stream[at + 1])
    c, d = np.int64(stream[at + 2]), np.int64(stream[at + 3])
    two = a >> 7
    three = two & b >> 7
    four = three & c >> 7
    if four & d >> 7:
        return get(stream, at, stop)
    value = (a & 127) | two * ((b & 127) << 7) | three * ((c & 127) << 14) | four * (d << 21)
    return value, at + 1 + two + three + four


@kernel
def score_records(
    rows: Ints, records: tuple[Bytes, Offsets], table: Table, norms: Floats, out: Doubles
) -> None:
    """Score some documents by BM25, from their records, for a table of words and weights.

    Equals `sum(weight * count / (count + norm))` over the words that a document shares. Parts are
    added up as whole numbers, so that the order of words does not matter.
    """
    stream, offsets = records
    keys, values, flags = table
    for i in range(len(rows)):
        start, stop = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        norm = np.float64(norms[i])
        n, at = get(stream, start, stop)
        term: Int = 0
        total = np.int64(0)
        for _ in range(min(n, stop - start)):
            code, at = _next_code(stream, at, stop)
            term += code >> 1
            count: Int = 1
            if code & 1 == 0:
                more, at = _next_code(stream, at, stop)
                count = more + 2
            if flags[term & _FLAGS]:
                place = place_of(term, keys)
                if keys[place] == term:
                    total += np.int64(np.rint(values[place] * (count / (count + norm)) * _WHOLE))
        out[i] = total / _WHOLE
