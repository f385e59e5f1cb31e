"""The hot loops of finding candidates: sums of words over postings, and the best of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.postings import BLOCK, BLOCK_BITS, Postings, block_of, start_of
from likewise.compiled import Bools, Bytes, Floats, Ids, Int, Ints, Shorts, kernel
from likewise.neighbours.largest import KEY_UNIT, keep_largest, key_of

# Sums are looked through in tiles of so many columns, whose maxima are taken many at a time.
_COLUMNS, _TILE = 64, 2048
# Vectors stand all over memory: of so many at a time each line of the cache is fetched first.
_AT_ONCE, _LINE = 16, 64
# Maxima of columns are counted by so many bits less.
_COARSE = 4

Sums = NDArray[np.int16]


@kernel
def add_words(postings: Postings, rows: Ints, weights: Ids, sums: Sums) -> None:
    """Add up what words give to the documents of a segment, a block at a time.

    `rows` are those of the words in the postings (-1: none). Equals for each posting
    `sums[block * BLOCK + doc] += weight * impact >> 8`; sums go to the end of the last block.
    """
    n = len(rows)
    entries, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        known = rows[i] >= 0
        entries[i] = np.int64(postings.heads[rows[i], 0]) if known else 0
        ends[i] = np.int64(postings.heads[rows[i] + 1, 0]) if known else 0
    for block in range(len(sums) >> BLOCK_BITS):
        mine = sums[block * BLOCK : (block + 1) * BLOCK]
        for i in range(n):
            e = entries[i]
            if e < ends[i] and block_of(postings.entries, e) == block:
                first, last = start_of(postings.entries, e), start_of(postings.entries, e + 1)
                add_word(postings.docs[first:last], postings.impacts[first:last], weights[i], mine)
                entries[i] += 1


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
def largest_sums(sums: Sums, n_docs: Int, allowed: Bools, keys: Ints, n: Int) -> Int:
    """Gather the keys of the n documents with the largest sums above 0; give how many there are.

    Sums of the documents go to the end of a block; what is not allowed loses its sum, where the
    mask is not empty. Every 64th of some thousands is a column: as many documents as there are
    columns have a sum no less than the least of their maxima.
    """
    for row in range(len(allowed)):
        sums[row] *= np.int16(allowed[row])
    maxima = np.zeros((len(sums) // _TILE, _COLUMNS), np.int16)
    numbers = np.zeros((1 << 15 >> _COARSE) + 1, np.int64)
    for tile in range(len(maxima)):
        largest = maxima[tile]
        for start in range(tile * _TILE, (tile + 1) * _TILE, _COLUMNS):
            _raise(largest, sums[start : start + _COLUMNS])
        for column in range(_COLUMNS):
            numbers[largest[column] >> _COARSE] += 1
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
