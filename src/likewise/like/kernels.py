"""The hot loops of comparing words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import PART, get, read_terms
from likewise.compiled import Bytes, Doubles, Floats, Ids, Int, Ints, Offsets, kernel
from likewise.neighbours.int8 import Codes

_EMPTY = -1
_SPREAD = 0x9E3779B1
FLAGS = (1 << 14) - 1
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
    flags = np.zeros(FLAGS + 1, np.uint8)
    fill_table(terms.astype(np.int32), weights.astype(np.float64, copy=False), keys, values, flags)
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
def fill_table(terms: Ids, weights: Doubles, keys: Ids, values: Doubles, flags: Bytes) -> None:
    """Put distinct terms and their weights into an empty table."""
    for i in range(len(terms)):
        flags[terms[i] & FLAGS] = 1
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
            if flags[terms[j] & FLAGS]:
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
    likely = np.empty(PART, np.int64)
    for i in range(len(rows)):
        row = rows[i]
        total = 0.0
        stop: Any = np.int64(bounds[row + 1])
        for first in range(np.int64(bounds[row]), stop, PART):
            # Which words are shared cannot be predicted: those that may be are listed first.
            n_likely: Any = 0
            for j in range(first, min(first + PART, stop)):
                likely[n_likely] = j
                n_likely += np.int64(flags[terms[j] & FLAGS])
            for j in likely[:n_likely]:
                at = place_of(terms[j], keys)
                if keys[at] == terms[j]:
                    total += values[at] * weights[j]
        out[i] = total * scales[row]


@kernel
def score_records(
    rows: Ints, records: tuple[Bytes, Offsets], table: Table, norms: Floats, out: Doubles
) -> None:
    """Score some documents by BM25, from their records, for a table of words and weights.

    Equals `sum(weight * count / (count + norm))` over the words that a document shares. Parts are
    added up as whole numbers, so that the order of words does not matter. Words are read first and
    then compared, as which of them are shared cannot be predicted.
    """
    stream, offsets = records
    keys, values, flags = table
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    likely = np.empty(PART, np.int64)
    for i in range(len(rows)):
        start, stop = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        norm = np.float64(norms[i])
        n, at = get(stream, start, stop)
        term: Int = 0
        total = np.int64(0)
        left: Int = min(n, stop - start)
        while left > 0:
            m = min(left, PART)
            term, at = read_terms(stream, at, stop, term, terms[:m], counts[:m])
            n_likely: Any = 0
            for j in range(m):
                likely[n_likely] = j
                n_likely += np.int64(flags[terms[j] & FLAGS])
            for j in likely[:n_likely]:
                place = place_of(terms[j], keys)
                if keys[place] == terms[j]:
                    share = counts[j] / (counts[j] + norm)
                    total += np.int64(np.rint(values[place] * share * _WHOLE))
            left -= m
        out[i] = total / _WHOLE
