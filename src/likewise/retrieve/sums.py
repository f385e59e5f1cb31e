"""Sums of bounds in 16 bits: what no BM25 score can exceed, at less than a nanosecond a posting.

A posting's stored impact of 8 bits, times its term's weight as an integer, bounds what it adds to
the score of its document; and as no bound is off by more than is known, sums of them also tell what
documents score at least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.collection.postings import Postings
from likewise.compiled import Bools, Bytes, Floats, Int, Ints, Offsets, Shorts, kernel

# Sums are looked through in groups of so many documents, most of which their maxima rule out.
GROUP = 128
# What sums are kept below, and how many terms a query may have for that.
MOST = 65535
MOST_TERMS = 4096


class SegmentWords(NamedTuple):
    """A field of words of a segment as BM25 reads it.

    `table` gives for a stored impact what 255 times the impact cannot exceed by the parameters
    and the average length of now.
    """

    postings: Postings
    lengths: Offsets
    stream: Bytes
    offsets: Offsets
    table: Bytes


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

    A sum of bounds is at least `scale` times the score; `slack` is what rounding may make of it.
    """

    numbers: Ints
    weights: Floats
    integers: Ints
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
    step = (MOST - 2.0 * n - 2.0) / total
    integers = np.empty(n, np.int64)
    for i in range(n):
        integers[i] = np.int64(np.float64(weights[i]) * step) + 1
    # A score in single precision is off by half a bit for each term, and so is another.
    return QuantisedQuery(numbers, weights, integers, step * 255.0 / 256.0, (n + 4) // 64 + 2)


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
        group = sums[g * GROUP : (g + 1) * GROUP]
        top = np.uint16(0)
        for i in range(GROUP):
            top = max(top, group[i])
        maxima[g] = top


@kernel
def fine_maxima(sums: Shorts, maxima: Shorts) -> None:
    """Find the largest sum of smaller groups, whose documents stand far apart.

    Equals `sums.reshape(-1, len(maxima)).max(axis=0)`.
    """
    n = len(maxima)
    for i in range(n):
        maxima[i] = sums[i]
    for first in range(n, len(sums), n):
        mine = sums[first : first + n]
        for i in range(n):
            maxima[i] = max(maxima[i], mine[i])


@kernel
def bar(sums: Shorts, open_here: Bools) -> None:
    """Take away the sums of documents that are not open. Equals `sums[~open_here] = 0`."""
    for i in range(len(sums)):
        sums[i] *= np.uint16(open_here[i])
