"""How are pairs counted row by row, over flat arrays?

Counting is a sparse product of a matrix with its transpose (Gustavson 1978), the upper half only:
for each node, the nodes after it in its sentences are added up in an array with a place for every
node. A word of 64 bits says which places are in use, and a second level which words are: so the
columns come out in order without being sorted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Ids, Int, Ints, kernel

Words = NDArray[np.uint64]

_ONE, _NONE = np.uint64(1), np.uint64(0)
_COUNT = np.int64((1 << 32) - 1)
# The place of the lowest bit of a word, by a de Bruijn sequence (Leiserson, Prokop, Randall 1998).
_DE_BRUIJN, _SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_LOWEST = np.zeros(64, np.int64)
for _bit in range(64):
    _LOWEST[((0x03F79D71B4CB0A89 << _bit) & ((1 << 64) - 1)) >> 58] = _bit


@kernel
def group(bounds: Ints, sentences: Ids, longest: int) -> tuple[Ids, Ids]:
    """Number the groups of mentions: sentences, in runs of at most `longest` (0: whole documents).

    Gives the group of each mention and the document of each group. Equals, for each document,
    `np.cumsum` of where the sentence changes or a run is full.
    """
    groups = np.empty(len(sentences), np.int32)
    docs = np.empty(len(sentences), np.int32)
    n = 0
    for doc in range(len(bounds) - 1):
        length = 0
        for j in range(bounds[doc], bounds[doc + 1]):
            fresh = j == bounds[doc]
            if longest > 0 and not fresh:
                fresh = sentences[j] != sentences[j - 1] or length == longest
            if fresh:
                docs[n] = doc
                n += 1
                length = 0
            length += 1
            groups[j] = n - 1
    return groups, docs[:n].copy()


@kernel
def by_node(nodes: Ids, groups: Ids, n_nodes: int) -> tuple[Ints, Ids]:
    """List the groups of each node, each once; groups come ascending.

    Equals `np.unique(groups[nodes == i])` for each node.
    """
    last = np.full(n_nodes, -1, np.int32)
    bounds = np.zeros(n_nodes + 1, np.int64)
    for j in range(len(nodes)):
        if last[nodes[j]] != groups[j]:
            last[nodes[j]] = groups[j]
            bounds[nodes[j] + 1] += 1
    bounds = np.cumsum(bounds)
    out = np.empty(bounds[-1], np.int32)
    places = bounds[:-1].copy()
    last[:] = -1
    for j in range(len(nodes)):
        node = nodes[j]
        if last[node] != groups[j]:
            last[node] = groups[j]
            out[places[node]] = groups[j]
            places[node] += 1
    return bounds, out


@kernel
def lay_out(bounds: Ints, owners: Ids, docs: Ids, doc_freqs: Ints) -> tuple[Ids, Ids, Ints]:
    """Lay out the nodes of each group, ascending, each group closed by -1.

    `owners` are the groups of each node, and become its documents. Gives the nodes, the place of
    each of `owners` there, and how many nodes come after node i in its groups, in all.
    """
    n_groups = len(docs)
    n_nodes = len(bounds) - 1
    starts = np.zeros(n_groups + 1, np.int64)
    for e in range(len(owners)):
        starts[owners[e] + 1] += 1
    for g in range(n_groups):
        starts[g + 1] += starts[g] + 1
    laid = np.full(starts[-1], -1, np.int32)
    places = np.empty(len(owners), np.int32)
    work = np.zeros(n_nodes, np.int64)
    cursor = starts[:-1].copy()
    for i in range(n_nodes):
        last = -1
        for e in range(bounds[i], bounds[i + 1]):
            g = owners[e]
            at = cursor[g]
            cursor[g] += 1
            laid[at] = i
            places[e] = at
            work[i] += starts[g + 1] - at - 2
            owners[e] = docs[g]
            if docs[g] != last:
                last = docs[g]
                doc_freqs[i] += 1
    return laid, places, work


@kernel
def _use(j: Int, low: Words, high: Words) -> None:
    """Note that place j is in use."""
    low[j >> 6] |= _ONE << np.uint64(j & 63)
    high[j >> 12] |= _ONE << np.uint64((j >> 6) & 63)


@kernel
def _empty(
    sums: Ints, low: Words, high: Words, columns: Ids, counts: Ids, n: Int, first: Int
) -> Int:
    """Move what is in use to columns and counts, in order, and clear it; no place is below first.

    Sums that are 0 are left out.
    """
    for top in range(first >> 12, len(high)):
        over = high[top]
        high[top] = _NONE
        while over != _NONE:
            bit = over & (~over + _ONE)
            over ^= bit
            middle = (top << 6) + _LOWEST[(bit * _DE_BRUIJN) >> _SHIFT]
            word = low[middle]
            low[middle] = _NONE
            while word != _NONE:
                bit = word & (~word + _ONE)
                word ^= bit
                j = (middle << 6) + _LOWEST[(bit * _DE_BRUIJN) >> _SHIFT]
                count = sums[j] & _COUNT
                sums[j] = 0
                if count != 0:
                    columns[n] = j
                    counts[n] = count
                    n += 1
    return n


@kernel
def _room(columns: Ids, counts: Ids, n: Int, more: Int) -> tuple[Ids, Ids]:
    """Give arrays with room for more."""
    if n + more <= len(columns):
        return columns, counts
    size = max(2 * len(columns), n + more)
    wider = np.empty(size, np.int32), np.empty(size, np.int32)
    wider[0][:n] = columns[:n]
    wider[1][:n] = counts[:n]
    return wider


@kernel
def count_rows(
    first: int, last: int, bounds: Ints, docs: Ids, places: Ids, laid: Ids
) -> tuple[Ints, Ids, Ids]:
    """Count, for nodes from first to last, the documents in which another comes in a group of it.

    Gives how many columns each row has, and columns and counts. Equals the rows of
    `np.triu(X.T @ X, 1)`, X the groups by nodes, where no document has two groups.
    """
    n_nodes = len(bounds) - 1
    # A document's number above, the count below: a later document has a larger number.
    sums = np.zeros(n_nodes, np.int64)
    low, high = np.zeros((n_nodes >> 6) + 1, np.uint64), np.zeros((n_nodes >> 12) + 1, np.uint64)
    sizes = np.zeros(last - first, np.int64)
    columns, counts = np.empty(1 << 12, np.int32), np.empty(1 << 12, np.int32)
    n: Int = 0
    for i in range(first, last):
        used = 0
        for e in range(bounds[i], bounds[i + 1]):
            stamp = (np.int64(docs[e]) + 1) << 32
            at = np.int64(places[e]) + 1
            j = laid[at]
            while j >= 0:
                held = sums[j]
                if held < stamp:
                    if held == 0:
                        _use(j, low, high)
                        used += 1
                    sums[j] = stamp + (held & _COUNT) + 1
                at += 1
                j = laid[at]
        columns, counts = _room(columns, counts, n, used)
        start = n
        n = _empty(sums, low, high, columns, counts, n, np.int64(i))
        sizes[i - first] = n - start
    return sizes, columns[:n].copy(), counts[:n].copy()


@kernel
def merge_rows(
    first: int, last: int, n_nodes: int, starts: Ints, columns: Ids, counts: Ids
) -> tuple[Ints, Ids, Ids]:
    """Add up rows from first to last of several runs.

    Run r has row i at `starts[r * (n_nodes + 1) + i]`. Equals the sum of the runs as matrices.
    """
    n_runs = len(starts) // (n_nodes + 1)
    sums = np.zeros(n_nodes, np.int64)
    low, high = np.zeros((n_nodes >> 6) + 1, np.uint64), np.zeros((n_nodes >> 12) + 1, np.uint64)
    sizes = np.zeros(last - first, np.int64)
    to, values = np.empty(1 << 12, np.int32), np.empty(1 << 12, np.int32)
    n: Int = 0
    for i in range(first, last):
        used = 0
        for r in range(n_runs):
            row = r * (n_nodes + 1) + i
            for j in range(starts[row], starts[row + 1]):
                if sums[columns[j]] == 0:
                    _use(columns[j], low, high)
                    used += 1
                sums[columns[j]] += counts[j]
        to, values = _room(to, values, n, used)
        start = n
        n = _empty(sums, low, high, to, values, n, np.int64(i))
        sizes[i - first] = n - start
    return sizes, to[:n].copy(), values[:n].copy()


@kernel
def combine_rows(
    first: int,
    last: int,
    sign: int,
    bounds: Ints,
    columns: Ids,
    counts: Ids,
    other_bounds: Ints,
    other_columns: Ids,
    other_counts: Ids,
) -> tuple[Ints, Ids, Ids]:
    """Give rows from first to last of `a + sign * b`, without zeros."""
    room = bounds[last] - bounds[first] + other_bounds[last] - other_bounds[first]
    to, values = np.empty(room, np.int32), np.empty(room, np.int32)
    sizes = np.zeros(last - first, np.int64)
    n = 0
    for i in range(first, last):
        start = n
        a, b = bounds[i], other_bounds[i]
        while a < bounds[i + 1] or b < other_bounds[i + 1]:
            left = columns[a] if a < bounds[i + 1] else np.int32(2147483647)
            right = other_columns[b] if b < other_bounds[i + 1] else np.int32(2147483647)
            value = 0
            if left <= right:
                value += counts[a]
                a += 1
            if right <= left:
                value += sign * other_counts[b]
                b += 1
            if value != 0:
                to[n] = min(left, right)
                values[n] = value
                n += 1
        sizes[i - first] = n - start
    return sizes, to[:n].copy(), values[:n].copy()
