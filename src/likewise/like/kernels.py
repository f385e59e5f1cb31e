"""The hot loops of comparing words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.borrowed import borrowed
from likewise.collection.records import PART, get, read_terms
from likewise.compiled import Bytes, Doubles, Floats, Ids, Int, Ints, Offsets, kernel
from likewise.neighbours.int8 import Codes
from likewise.retrieve.term_slots import EMPTY, slot_of

# What a table has of each word: its value as a specific word, as one of all, in a title.
SPECIFIC, WORDS, TITLES, _COLUMNS = 0, 1, 2, 3
_FLAGS = (1 << 14) - 1
# One in the whole numbers that parts of a score are added up as.
_WHOLE = float(1 << 40)
# Documents stand all over memory: of so many at a time each line of the cache is fetched first.
_AT_ONCE, _LINE = 16, 64

Rows = NDArray[Any]
Words = tuple[Offsets, Ids, Codes, Floats]
# Records, and where each begins.
Stream = tuple[Bytes, Offsets]


class Table(NamedTuple):
    """A hash table of a query's words; `flags` are up where a term may be one of them."""

    keys: Ids
    values: Doubles
    flags: Bytes


Column = tuple[Ints, Doubles]
NO_WORDS: Column = np.zeros(0, np.int64), np.zeros(0)


def table_of(
    specific: Column = NO_WORDS, words: Column = NO_WORDS, titles: Column = NO_WORDS
) -> Table:
    """Make a hash table of a query's words: distinct terms, and their values of each kind."""
    size = 4
    while size < 4 * max(len(specific[0]), len(words[0]), len(titles[0])):
        size *= 2
    table = Table(
        np.full(size, EMPTY, np.int32),
        np.zeros((size, _COLUMNS), np.float64),
        np.zeros(_FLAGS + 1, np.uint8),
    )
    fill_table(specific, words, titles, table)
    return table


@kernel
def fill_table(specific: Column, words: Column, titles: Column, table: Table) -> None:
    """Put the terms of columns into an empty table, each with its values."""
    fill_column(specific, SPECIFIC, table)
    fill_column(words, WORDS, table)
    fill_column(titles, TITLES, table)


@kernel
def fill_column(given: Column, column: Int, table: Table) -> None:
    """Put distinct terms and their values into a column that has none so far."""
    keys, values, flags = table
    terms, weights = given
    for i in range(len(terms)):
        term = np.int32(terms[i])
        flags[term & _FLAGS] = 1
        at = slot_of(term, keys)
        keys[at] = term
        values[at, column] = weights[i]


@kernel
def scan_words(words: Words, table: Table, factor: Any, out: Floats) -> None:
    """Add to every score `factor` times the inner product of specific words with a query's."""
    bounds, terms, weights, scales = words
    keys, values, flags = table
    for i in range(len(bounds) - 1):
        total = 0.0
        for j in range(np.int64(bounds[i]), np.int64(bounds[i + 1])):
            if flags[terms[j] & _FLAGS]:
                at = slot_of(terms[j], keys)
                if keys[at] == terms[j]:
                    total += values[at, SPECIFIC] * weights[j]
        out[i] += np.float32(factor * total * scales[i])


@kernel
def score_rows(
    rows: Ints,
    documents: tuple[Words, Stream, Stream],
    scales: tuple[Floats, Doubles],
    table: Table,
    weights: Doubles,
    out: Doubles,
) -> Int:
    """Score documents of a segment by words, each part as often as its weight says.

    `documents` are specific words, records and those of titles; `scales` the norms of these rows,
    and the rarity of every term. Equals for each row the sum of `weights` times `specific_of`,
    `words_of` and `title_of`, in this order; a part of weight 0 is not read. What it gives is of no
    use, but that the lines of the cache that it is summed from are fetched side by side.
    """
    words, records, titles = borrowed(documents)
    norms, rarity = borrowed(scales)
    table = borrowed(table)
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    likely = np.empty(PART, np.int64)
    room = (terms, counts, likely)
    fetched = np.int64(0)
    for first in range(0, len(rows), _AT_ONCE):
        last: Int = min(first + _AT_ONCE, len(rows))
        for row in rows[first:last]:
            if weights[SPECIFIC] != 0:
                fetched += fetch_words(row, words)
            if weights[WORDS] != 0:
                fetched += fetch_record(row, records)
            if weights[TITLES] != 0:
                fetched += fetch_record(row, titles)
        for i in range(first, last):
            score = 0.0
            if weights[SPECIFIC] != 0:
                score += weights[SPECIFIC] * specific_of(rows[i], words, table, likely)
            if weights[WORDS] != 0:
                score += weights[WORDS] * words_of(rows[i], records, norms[i], table, room)
            if weights[TITLES] != 0:
                score += weights[TITLES] * title_of(rows[i], titles, rarity, table, room)
            out[i] = score
    return fetched


@kernel
def fetch_words(row: Int, words: Words) -> Int:
    """Read a number from each line of the cache that has specific words of a document."""
    bounds, terms, weights, _ = words
    start, stop = np.int64(bounds[row]), np.int64(bounds[row + 1])
    total = np.int64(0)
    for j in range(start, stop, _LINE // 4):
        total += terms[j]
    for j in range(start, stop, _LINE):
        total += np.int64(weights[j])
    return total


@kernel
def fetch_record(row: Int, records: Stream) -> Int:
    """Read a number from each line of the cache that has the record of a document."""
    stream, _ = records
    start, stop = place_of_record(row, records)
    total = np.int64(0)
    for j in range(start, stop, _LINE):
        total += stream[j]
    return total


@kernel
def place_of_record(row: Int, records: Stream) -> tuple[Int, Int]:
    """Give where the record of a document begins and ends, within the stream if that is damaged.

    Equals `np.minimum(offsets[row : row + 2], len(stream))`.
    """
    stream, offsets = records
    size: Int = np.int64(len(stream))
    return min(np.int64(offsets[row]), size), min(np.int64(offsets[row + 1]), size)


@kernel
def specific_of(row: Int, words: Words, table: Table, likely: Ints) -> Any:
    """Give the inner product of a document's specific words with a query's.

    Equals, for a dense vector `q` of the query's weights, `(q[terms] * weights).sum() * scale`.
    Which words are shared cannot be predicted: those that may be are listed first.
    """
    bounds, terms, weights, scales = words
    keys, values, flags = table
    total = 0.0
    stop: Any = np.int64(bounds[row + 1])
    for first in range(np.int64(bounds[row]), stop, PART):
        n_likely: Any = 0
        for j in range(first, min(first + PART, stop)):
            likely[n_likely] = j
            n_likely += np.int64(flags[terms[j] & _FLAGS])
        for j in likely[:n_likely]:
            at = slot_of(terms[j], keys)
            if keys[at] == terms[j]:
                total += values[at, SPECIFIC] * weights[j]
    return total * scales[row]


@kernel
def words_of(
    row: Int, records: Stream, norm: Any, table: Table, room: tuple[Ids, Ids, Ints]
) -> Any:
    """Score a document by BM25, from its record.

    Equals `sum(weight * count / (count + norm))` over the words that it shares. Parts are added up
    as whole numbers, so that the order of words does not matter. Words are read first and then
    compared, as which of them are shared cannot be predicted.
    """
    stream, _ = records
    keys, values, flags = table
    terms, counts, likely = room
    start, stop = place_of_record(row, records)
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
            n_likely += np.int64(flags[terms[j] & _FLAGS])
        for j in likely[:n_likely]:
            place = slot_of(terms[j], keys)
            if keys[place] == terms[j]:
                share = counts[j] / (counts[j] + np.float64(norm))
                total += np.int64(np.rint(values[place, WORDS] * share * _WHOLE))
        left -= m
    return total / _WHOLE


@kernel
def title_of(
    row: Int, records: Stream, rarity: Doubles, table: Table, room: tuple[Ids, Ids, Ints]
) -> Any:
    """Give the share of a document's title that a query says, from its record.

    Equals, for a dense vector `q` of the query's weights,
    `(q[terms] * rarity[terms]).sum() / rarity[terms].sum()` over the terms of the title, 0 for an
    empty one.
    """
    stream, _ = records
    keys, values, flags = table
    terms, counts, _ = room
    start, stop = place_of_record(row, records)
    n, at = get(stream, start, stop)
    term: Int = 0
    there, whole = 0.0, 0.0
    left: Int = min(n, stop - start)
    while left > 0:
        m = min(left, PART)
        term, at = read_terms(stream, at, stop, term, terms[:m], counts[:m])
        for j in range(m):
            # A damaged record may have terms that there are not.
            if terms[j] < 0 or terms[j] >= len(rarity):
                break
            whole += rarity[terms[j]]
            if flags[terms[j] & _FLAGS]:
                place = slot_of(terms[j], keys)
                if keys[place] == terms[j]:
                    there += values[place, TITLES] * rarity[terms[j]]
        left -= m
    return there / whole if whole > 0 else 0.0


@kernel
def split_rows(
    rows: Ints,
    documents: tuple[Words, Stream, Stream],
    scales: tuple[Floats, Doubles],
    terms: Ints,
    values: Doubles,
    out: Doubles,
) -> None:
    """Split what words give to documents of a segment by terms, which ascend.

    `values` has a row for each kind, already as often as its weight says: all 0 where it is not
    read. `out` has one for each kind and document; the others are as for `score_rows`, of whose
    parts without a weight it equals the sums over terms.
    """
    words, records, titles = borrowed(documents)
    norms, rarity = borrowed(scales)
    bounds, own, weights, factors = words
    reads = np.zeros(_COLUMNS, np.bool_)
    for column in range(_COLUMNS):
        for at in range(len(terms)):
            reads[column] |= values[column, at] != 0
    for i in range(len(rows)):
        row = rows[i]
        if reads[SPECIFIC]:
            for j in range(np.int64(bounds[row]), np.int64(bounds[row + 1])):
                at = find_term(terms, own[j])
                if at >= 0:
                    weight = weights[j] * np.float64(factors[row])
                    out[SPECIFIC, i, at] = values[SPECIFIC, at] * weight
        if reads[WORDS]:
            mine, counts = terms_of(row, records)
            for j in range(len(mine)):
                at = find_term(terms, mine[j])
                if at >= 0:
                    share = counts[j] / (counts[j] + np.float64(norms[i]))
                    out[WORDS, i, at] = values[WORDS, at] * share
        if reads[TITLES]:
            mine, _ = terms_of(row, titles)
            whole = 0.0
            for term in mine:
                whole += rarity[term] if 0 <= term < len(rarity) else 0.0
            for term in mine:
                at = find_term(terms, term)
                if at >= 0 and 0 <= term < len(rarity):
                    out[TITLES, i, at] = values[TITLES, at] * rarity[term] / whole


@kernel
def find_term(terms: Ints, term: Int) -> Any:
    """Find a term among ascending ones; -1 where it is not there."""
    low: Any = 0
    high: Any = len(terms)
    while low < high:
        middle = (low + high) >> 1
        if terms[middle] < term:
            low = middle + 1
        else:
            high = middle
    return low if low < len(terms) and terms[low] == term else -1


@kernel
def terms_of(row: Int, records: Stream) -> tuple[Ids, Ids]:
    """Read the terms of a document and their counts, from its record."""
    stream, _ = records
    start, stop = place_of_record(row, records)
    n, at = get(stream, start, stop)
    size = min(n, stop - start)
    terms, counts = np.empty(size, np.int32), np.empty(size, np.int32)
    read_terms(stream, at, stop, 0, terms, counts)
    return terms, counts
