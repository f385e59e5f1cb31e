"""Sums of bounds in 16 bits: what no BM25 score can exceed, at less than a nanosecond a posting.

A posting's stored impact of 8 bits, times its term's weight as an integer, bounds what it adds to
the score of its document; and as no bound is off by more than is known, sums of them also tell what
documents score at least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.collection.impact_columns import ImpactColumns
from likewise.collection.postings import BLOCK_BITS, Postings
from likewise.compiled import Bools, Bytes, Floats, Ids, Int, Ints, Offsets, Shorts, kernel
from likewise.retrieve.term_slots import slots_of

# Sums are looked through in groups of so many documents, most of which their maxima rule out.
GROUP = 128
# So many documents are looked for together.
TOGETHER = 16
# What sums are kept below, and how many terms a query may have for that.
MOST = 65535
MOST_TERMS = 4096
# What bounds of postings add up to at most. Those by columns are rounded up to units of a 239th of
# what sixteen terms add, so by 16/239 of the whole, and no sum passes 64,017: see `columns`.
_TOTAL = 60_000


class SegmentWords(NamedTuple):
    """A field of words of a segment as BM25 reads it.

    `columns` are of the frequent terms; `table` gives for a stored impact what 255 times the impact
    cannot exceed by the parameters and the average length of now.
    """

    postings: Postings
    lengths: Offsets
    stream: Bytes
    offsets: Offsets
    table: Bytes
    columns: ImpactColumns


class Scale(NamedTuple):
    """What impacts are by now: k1, b, the average length; and by how much bounds may be off.

    `error` is that of a bound of `table`, `large_error` where a term has counts of 255 or more;
    `same` tells that the table changes nothing. The last three are what stored impacts are by.
    """

    k1: float
    b: float
    average_length: float
    error: float
    large_error: float
    same: bool
    stored_k1: float
    stored_b: float
    stored_average: float


class QuantisedQuery(NamedTuple):
    """A query's terms in the order in which scores are summed, with weights also as integers.

    `keys` and `places` are a hash table of them.

    A sum of bounds is at least `scale` times the score; `slack` is what rounding may make of it.
    """

    numbers: Ints
    weights: Floats
    integers: Ints
    keys: Ids
    places: Ids
    scale: float
    slack: int


@kernel
def quantise(numbers: Ints, weights: Floats) -> QuantisedQuery:
    """Give a query with integer weights, whose bounds never add up to more than `MOST`.

    Weights are above 0, terms not more than `MOST_TERMS`.
    """
    n = len(weights)
    total = 0.0
    for i in range(n):
        total += np.float64(weights[i])
    step = (_TOTAL - 2.0 * n - 2.0) / total
    integers = np.empty(n, np.int64)
    for i in range(n):
        integers[i] = np.int64(np.float64(weights[i]) * step) + 1
    # A score in single precision is off by half a bit for each term, and so is another.
    slots = slots_of(numbers)
    slack = (n + 4) // 64 + 2
    return QuantisedQuery(numbers, weights, integers, *slots, step * 255.0 / 256.0, slack)


@kernel
def bound_of(impact: Int, weight: Int) -> Int:
    """Give what a posting adds to a sum of bounds. Equals `ceil(impact * weight / 256)`."""
    return (np.int64(impact) * weight + 255) >> 8


@kernel
def add_bounds(docs: Shorts, impacts: Bytes, weight: Int, sums: Shorts) -> None:
    """Add the bounds of postings to sums.

    Equals `np.add.at(sums, docs, bound_of(impacts, weight))`.
    """
    factor = np.uint32(weight)
    for i in range(len(docs)):
        sums[docs[i]] += np.uint16(
            (np.uint32(impacts[i]) * factor + np.uint32(255)) >> np.uint32(8)
        )


@kernel
def add_bounds_by(docs: Shorts, impacts: Bytes, table: Bytes, weight: Int, sums: Shorts) -> None:
    """Add the bounds of postings by a table. Equals `add_bounds(docs, table[impacts], …)`."""
    factor = np.uint32(weight)
    for i in range(len(docs)):
        impact = np.uint32(table[impacts[i]])
        sums[docs[i]] += np.uint16((impact * factor + np.uint32(255)) >> np.uint32(8))


@kernel
def group_maxima(sums: Shorts, maxima: Shorts) -> None:
    """Find the largest sum of each group. Equals `sums.reshape(-1, GROUP).max(axis=1)`."""
    for g in range(len(maxima)):
        first = g * GROUP
        top = np.uint16(0)
        for i in range(GROUP):
            top = max(top, sums[first + i])
        maxima[g] = top


@kernel
def bar(sums: Shorts, open_here: Bools) -> None:
    """Take away the sums of documents that are not open. Equals `sums[~open_here] = 0`."""
    for i in range(len(sums)):
        sums[i] *= np.uint16(open_here[i])


@kernel
def find_places(
    docs: Shorts, impacts: Bytes, found: Shorts, places: Ints, impacts_there: Bytes
) -> None:
    """Find the places of documents in a run of postings, which is not empty, and the impacts there.

    Equals `np.maximum(np.searchsorted(docs, found, "right") - 1, 0)`. Documents stand
    about evenly: what is looked for is in a stretch near where that would have it, or near that.
    What is there is read for all of them before the first is looked for, so that memory is waited
    for once. In their stretches four are looked for at a time, without a branch: which half one is
    in cannot be predicted, but others need not wait for it.
    """
    n, size = len(found), len(docs)
    level: Int = 0
    while 2 << level <= size and (level < 4 or 1 << (2 * level) < 16 * size):
        level += 1
    stretch = 1 << level
    there = np.empty(TOGETHER, np.int64)
    for j in range(n):
        middle = size * np.int64(found[j]) >> BLOCK_BITS
        places[j] = max(min(middle - (stretch >> 1), size - stretch), 0)
        there[j] = docs[places[j]]
        impacts_there[j] = impacts[middle]
    for j in range(n):
        doc, at = np.int64(found[j]), places[j]
        if there[j] > doc:
            while at > 0 and np.int64(docs[at]) > doc:
                at = max(at - stretch, 0)
        while at + stretch < size and np.int64(docs[at + stretch]) <= doc:
            at = min(at + stretch, size - stretch)
        places[j] = at
    for a in range(0, n, 4):
        b, c, d = min(a + 1, n - 1), min(a + 2, n - 1), min(a + 3, n - 1)
        doc_a, doc_b = np.int64(found[a]), np.int64(found[b])
        doc_c, doc_d = np.int64(found[c]), np.int64(found[d])
        at_a, at_b, at_c, at_d = places[a], places[b], places[c], places[d]
        for bit in range(level - 1, -1, -1):
            half = 1 << bit
            at_a += np.int64(np.int64(docs[at_a + half]) <= doc_a) << bit
            at_b += np.int64(np.int64(docs[at_b + half]) <= doc_b) << bit
            at_c += np.int64(np.int64(docs[at_c + half]) <= doc_c) << bit
            at_d += np.int64(np.int64(docs[at_d + half]) <= doc_d) << bit
        places[a], places[b], places[c], places[d] = at_a, at_b, at_c, at_d
    for j in range(n):
        impacts_there[j] = impacts[places[j]]
