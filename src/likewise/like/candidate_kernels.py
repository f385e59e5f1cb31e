"""The hot loops of finding candidates: sums of words over postings, and the best of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.postings import BLOCK, BLOCK_BITS, Postings, block_of, start_of
from likewise.compiled import Bools, Bytes, Doubles, Floats, Ids, Int, Ints, Shorts, kernel
from likewise.neighbours.largest import KEY_UNIT, keep_largest, key_of

# Sums are looked through in tiles of so many columns, whose maxima are taken many at a time.
_COLUMNS, _TILE = 64, 2048
# Vectors stand all over memory: of so many at a time each line of the cache is fetched first.
_AT_ONCE, _LINE = 16, 64
# Maxima of columns are counted by so many bits less.
_COARSE = 4

Sums = NDArray[np.int16]
# Postings, the rows of words in them (-1: none), and what each word weighs.
Weighed = tuple[Postings, Ints, Ids]


@kernel
def add_words(main: Weighed, titles: Weighed, allowed: Bools, sums: Sums, maxima: Sums) -> None:
    """Add up what words of two fields give to the documents of a segment, a block at a time.

    Equals for each posting `sums[block * BLOCK + doc] += weight * impact >> 8`, where all were
    nothing; sums go to the end of the last block. What is not allowed has none, where the mask is
    not empty. `maxima` become those of columns: see `column_maxima`.
    """
    first, second = entries_of(main), entries_of(titles)
    n_tiles = BLOCK // _TILE
    for block in range(len(sums) >> BLOCK_BITS):
        start = block * BLOCK
        mine = sums[start : start + BLOCK]
        mine[:] = 0
        add_block(main, first, block, mine)
        add_block(titles, second, block, mine)
        for row in range(min(max(len(allowed) - start, 0), BLOCK)):
            mine[row] *= np.int16(allowed[start + row])
        column_maxima(mine, maxima[block * n_tiles : (block + 1) * n_tiles])


@kernel
def entries_of(words: Weighed) -> Ints:
    """Give for each word where its entries begin and end; they are read one after the other."""
    postings, rows, _ = words
    found = np.zeros((len(rows), 2), np.int64)
    for i in range(len(rows)):
        if rows[i] >= 0:
            found[i, 0] = np.int64(postings.heads[rows[i], 0])
            found[i, 1] = np.int64(postings.heads[rows[i] + 1, 0])
    return found


@kernel
def add_block(words: Weighed, entries: Ints, block: Int, sums: Sums) -> None:
    """Add what words give to the documents of a block, of which no entry was read so far."""
    postings, rows, weights = words
    for i in range(len(rows)):
        e = entries[i, 0]
        if e < entries[i, 1] and block_of(postings.entries, e) == block:
            first, last = start_of(postings.entries, e), start_of(postings.entries, e + 1)
            add_word(postings.docs[first:last], postings.impacts[first:last], weights[i], sums)
            entries[i, 0] += 1


@kernel
def add_word(docs: Shorts, impacts: Bytes, weight: Any, sums: Sums) -> None:
    """Add what one word gives to the documents of a block.

    Equals `np.add.at(sums, docs, weight * impacts >> 8)`.
    """
    for p in range(len(docs)):
        sums[docs[p]] += np.int16(np.int32(weight) * np.int32(impacts[p]) >> 8)


@kernel
def _raise(largest: Sums, sums: Sums) -> None:
    """Take what is larger. Equals `np.maximum(largest, sums, out=largest)`."""
    for i in range(len(largest)):
        largest[i] = max(largest[i], sums[i])


@kernel
def choose_within(order: Ints, weights: Doubles, sizes: Ints, limit: Any) -> Ints:
    """Choose of an order what has no more of a size together than a limit; what is larger is not.

    Neither is what has no weight or no size.
    """
    chosen = np.empty(len(order), np.int64)
    n = 0
    left = np.float64(limit)
    for place in order:
        if weights[place] != 0 and 0 < sizes[place] <= left:
            chosen[n] = place
            n += 1
            left -= sizes[place]
    return chosen[:n]


@kernel
def column_maxima(sums: Sums, maxima: Sums) -> None:
    """Find the largest sum of each column of a tile: of every 64th of some thousands.

    Equals `maxima = sums.reshape(-1, _TILE // _COLUMNS, _COLUMNS).max(axis=1)`, 0 at least.
    """
    for tile in range(len(maxima)):
        largest = maxima[tile]
        largest[:] = 0
        for start in range(tile * _TILE, (tile + 1) * _TILE, _COLUMNS):
            _raise(largest, sums[start : start + _COLUMNS])


@kernel
def largest_sums(sums: Sums, n_docs: Int, maxima: Sums, keys: Ints, n: Int) -> Int:
    """Gather the keys of the n documents with the largest sums above 0; give how many there are.

    As many documents as there are columns have a sum no less than the least of their maxima.
    """
    numbers = np.zeros((1 << 15 >> _COARSE) + 1, np.int64)
    for tile in range(len(maxima)):
        for column in range(_COLUMNS):
            numbers[maxima[tile, column] >> _COARSE] += 1
    level: Any = len(numbers) - 1
    there: Int = 0
    while level > 0 and there < n:
        level -= 1
        there += numbers[level]
    least: Any = max(level << _COARSE, 1)
    size: Int = 0
    for tile in range(len(maxima)):
        for column in range(_COLUMNS):
            if maxima[tile, column] < least:
                continue
            first, stop = tile * _TILE + column, min((tile + 1) * _TILE, n_docs)
            for row in range(first, stop, _COLUMNS):
                if sums[row] >= least:
                    keys[size] = key_of(sums[row], row)
                    size += 1
                    if size == len(keys):
                        size = keep_largest(keys, size, n)
                        least = max(least, keys[n - 1] >> 32)
    return keep_largest(keys, size, n)


def room_for_maxima(sums: Sums) -> Sums:
    """Make an array for the maxima of columns."""
    return np.empty((len(sums) // _TILE, _COLUMNS), np.int16)


@kernel
def largest_scores(rows: Ints, scores: Floats, added: tuple[Sums, Any], keys: Ints, n: Int) -> Int:
    """Gather the keys of the n rows with the largest `scores + added[rows] * factor`."""
    sums, factor = added
    size: Int = 0
    least: Any = -(np.int64(1) << 62)
    for j in range(len(rows)):
        value = np.float64(scores[j])
        if len(sums):
            value += sums[rows[j]] * factor
        score = np.int64(value * KEY_UNIT)
        if score >= least:
            keys[size] = key_of(score, rows[j])
            size += 1
            if size == len(keys):
                size = keep_largest(keys, size, n)
                least = keys[n - 1] >> 32
    return keep_largest(keys, size, n)


@kernel
def gather_rows(
    rows: Ints,
    codes: NDArray[Any],
    scales: Floats,
    places: Ints,
    out: NDArray[Any],
    factors: Floats,
) -> Any:
    """Copy vectors and their scales to places.

    Equals `out[places], factors[places] = codes[rows], scales[rows]`. What it gives is of no use,
    but that the lines of the cache that it is summed from are fetched side by side.
    """
    width: Int = codes.shape[1]
    step: Int = max(_LINE // codes.itemsize, 1)
    fetched = 0.0
    for first in range(0, len(rows), _AT_ONCE):
        last: Int = min(first + _AT_ONCE, len(rows))
        for row in rows[first:last]:
            for k in range(0, width, step):
                fetched += codes[row, k]
        for i in range(first, last):
            here, row = places[i], rows[i]
            for k in range(width):
                out[here, k] = codes[row, k]
            factors[here] = scales[row]
    return fetched
