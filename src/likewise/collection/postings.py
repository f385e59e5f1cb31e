"""Which documents hold this term, how often, and how much does that say for them?

Documents are cut into blocks of 65,536, so that a posting is two bytes (the document within its
block), one (the count) and one more (the impact: `ceil(255 f / (f + norm))`, BM25's at the
parameters and the average length that the pack's meta has). The postings of a term are a run of
*entries*, one for each block in which it occurs. An entry is one integer, `start << 32 | block << 8
| its largest impact`; the head of term i is its first entry, document frequency, occurrences and
largest impact, and one head more says where the last entry ends. A count of 255 or more is written
as 255 and found in the short list of large counts.

For entries of 64 postings and more the (count, length) pairs that no other pair beats are kept: by
them any impact that rises with the count and falls with the length is bounded, whatever its
parameters and the average length have become.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.collection.impact_columns import write_columns
from likewise.collection.records import PART, get, read_terms
from likewise.compiled import (
    Bytes,
    Floats,
    Ids,
    Int,
    Ints,
    Longs,
    Offsets,
    Shorts,
    kernel,
)

BLOCK_BITS = 16
BLOCK = 1 << BLOCK_BITS
LARGE = 255
# Of what an entry says: its block and its largest impact stand below its start.
START_BITS, BLOCK_AT = 32, 8
BLOCK_MASK = (1 << 24) - 1
K1, B = 1.2, 0.75
# An entry of fewer postings is looked through as fast as its pairs.
PAIRS_FROM = 64
_LONGEST = (1 << 16) - 1
_BYTES_PER_POSTING = 4


class Postings(NamedTuple):
    """The postings of a segment as mapped arrays; `terms` are the term numbers, ascending."""

    terms: Offsets
    heads: Offsets
    entries: Longs
    docs: Shorts
    counts: Bytes
    impacts: Bytes
    large_at: Offsets
    large_counts: Offsets


class Bounds(NamedTuple):
    """The pairs of entry `entries[i]` are those from `starts[i]` to `starts[i + 1]`.

    Lengths of 65,535 and more are written as that, which bounds them all the same.
    """

    entries: Offsets
    starts: Offsets
    counts: Bytes
    lengths: Shorts


def read_postings(arrays: Arrays) -> Postings:
    """Give the postings of a pack."""
    return Postings(*(arrays[f"postings.{_spelled(name)}"] for name in Postings._fields))


def read_bounds(arrays: Arrays) -> Bounds:
    """Give the pairs of a pack."""
    return Bounds(*(arrays[f"bounds.{name}"] for name in Bounds._fields))


def _spelled(name: str) -> str:
    return name.replace("_", "-")


def write_postings(
    out: Output,
    records: tuple[Bytes, Offsets],
    lengths: Offsets,
    *,
    n_terms: int,
    memory: int,
) -> None:
    """Turn a segment's records around, in as many passes as the memory asks for."""
    doc_freqs, term_freqs, entries = _survey(*records, n_terms)
    terms = np.flatnonzero(doc_freqs)
    doc_freqs, entries = doc_freqs[terms], entries[terms]
    average = max(float(np.mean(lengths)) if len(lengths) else 0.0, 1e-9)
    norms = bm25_norms(lengths, average)
    out.note(impacts={"k1": K1, "b": B, "average_length": average})
    heads = np.zeros((len(terms) + 1, 4), np.uint32)
    heads[1:, 0] = np.cumsum(entries)
    heads[:-1, 1] = doc_freqs
    heads[:-1, 2] = term_freqs[terms]
    ends = np.cumsum(doc_freqs)
    large_at: list[Ints] = []
    large_counts: list[Ints] = []
    bounding: list[Any] = []
    first = 0
    with (
        out.stream("postings.docs", np.uint16) as docs,
        out.stream("postings.counts", np.uint8) as counts,
        out.stream("postings.impacts", np.uint8) as impacts,
        out.stream("postings.entries", np.uint64) as all_entries,
    ):
        while first < len(terms):
            done = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, done + memory // _BYTES_PER_POSTING, "right"))
            last = min(max(last, first + 1), len(terms))
            ranks = np.full(n_terms, -1, np.int32)
            ranks[terms[first:last]] = np.arange(last - first)
            bounds = _bounds(entries[first:last])
            turned = _turn(*records, ranks, _bounds(doc_freqs[first:last]), bounds)
            rated, best, which, *pairs = _rate(*turned[:4], norms, lengths)
            docs.append(turned[0])
            counts.append(turned[1])
            impacts.append(rated)
            starts = (turned[3] + done).astype(np.uint64)
            blocks = turned[2].astype(np.uint64)
            all_entries.append(starts << 32 | blocks << 8 | best)
            if len(best):
                heads[first:last, 3] = np.maximum.reduceat(best, bounds[:-1])
            bounding.append([which + int(heads[first, 0]), *pairs])
            order = np.argsort(turned[4])
            large_at.append(turned[4][order] + done)
            large_counts.append(turned[5][order])
            first = last
        total = int(ends[-1]) if len(ends) else 0
        all_entries.append(np.array([total << 32], np.uint64))
        ends = (all_entries.values() >> np.uint64(START_BITS)).astype(np.int64)
        write_columns(out, ends, docs.values(), impacts.values())
    out.put("postings.terms", terms, np.uint32)
    out.put("postings.heads", heads)
    out.put("postings.large-at", _joined(large_at), np.uint32)
    out.put("postings.large-counts", _joined(large_counts), np.uint32)
    out.put("bounds.entries", _joined([one[0] for one in bounding]), np.uint32)
    out.put("bounds.starts", _bounds(_joined([one[1] for one in bounding])), np.uint32)
    out.put("bounds.counts", _joined([one[2] for one in bounding]), np.uint8)
    out.put("bounds.lengths", _joined([one[3] for one in bounding]), np.uint16)


def bm25_norms(lengths: Offsets, average: float, k1: float = K1, b: float = B) -> Floats:
    """Give `k1 (1 - b + b length/average)`."""
    relative = lengths.astype(np.float64) / average
    norms: Floats = (k1 * (1 - b + b * relative)).astype(np.float32)
    return norms


def _joined(pieces: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *pieces])


def _bounds(sizes: Ints) -> Ints:
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out


@kernel
def start_of(entries: Longs, entry: Int) -> Int:
    """Give where the postings of an entry start. Equals `entries[entry] >> 32`."""
    return np.int64(entries[entry]) >> START_BITS


@kernel
def block_of(entries: Longs, entry: Int) -> Int:
    """Give the block of an entry. Equals `entries[entry] >> 8 & 0xffffff`."""
    return np.int64(entries[entry]) >> BLOCK_AT & BLOCK_MASK


@kernel
def stored_impact(count: Int, norm: Any) -> Any:
    """Give the impact that is stored of a count. Equals `ceil(255 * (count / (count + norm)))`."""
    number = np.float32(count)
    return np.uint8(np.ceil(255.0 * np.float64(number / (number + norm))))


@kernel
def _rate(
    docs: Shorts, counts: Bytes, blocks: Shorts, starts: Ints, norms: Floats, lengths: Offsets
) -> tuple[Bytes, Bytes, Ints, Ints, Bytes, Shorts]:
    """Give the impacts of postings, the largest of each entry, and the pairs of the long ones.

    Large counts are at their word of 255: their impacts, and their pairs, are those of the
    largest that there may be. Pairs come as entries, sizes, counts and lengths.
    """
    n = len(starts)
    impacts = np.empty(len(docs), np.uint8)
    best = np.zeros(n, np.uint8)
    entries = np.empty(n, np.int64)
    sizes = np.empty(n, np.int64)
    pair_counts = np.empty(1024, np.uint8)
    pair_lengths = np.empty(1024, np.uint16)
    n_entries = n_pairs = 0
    shortest = np.empty(LARGE + 1, np.int64)
    for e in range(n):
        start, stop = starts[e], starts[e + 1] if e + 1 < n else len(docs)
        base = np.int64(blocks[e]) << BLOCK_BITS
        long = stop - start >= PAIRS_FROM
        if long:
            shortest[:] = _LONGEST + 1
        for p in range(start, stop):
            doc = base + np.int64(docs[p])
            impacts[p] = LARGE
            if counts[p] < LARGE:
                impacts[p] = stored_impact(np.int64(counts[p]), norms[doc])
            best[e] = max(best[e], impacts[p])
            if long:
                length = min(np.int64(lengths[doc]), _LONGEST)
                shortest[counts[p]] = min(shortest[counts[p]], length)
        if not long:
            continue
        entries[n_entries] = e
        if n_pairs + LARGE + 1 > len(pair_counts):
            pair_counts = np.concatenate((pair_counts, np.empty_like(pair_counts)))
            pair_lengths = np.concatenate((pair_lengths, np.empty_like(pair_lengths)))
        before = n_pairs
        least = _LONGEST + 1
        for count_value in range(LARGE, 0, -1):
            if shortest[count_value] < least:
                least = shortest[count_value]
                pair_counts[n_pairs] = count_value
                pair_lengths[n_pairs] = least
                n_pairs += 1
        sizes[n_entries] = n_pairs - before
        n_entries += 1
    return (
        impacts,
        best,
        entries[:n_entries],
        sizes[:n_entries],
        pair_counts[:n_pairs],
        pair_lengths[:n_pairs],
    )


@kernel
def _survey(stream: Bytes, offsets: Offsets, n_terms: Int) -> tuple[Ints, Ints, Ints]:
    """Count for each term its documents, its occurrences and its blocks."""
    # Side by side, so that a term is one look into memory; the fourth is the block after its last.
    table = np.zeros((n_terms, 4), np.int64)
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    for doc in range(len(offsets) - 1):
        stop = np.int64(offsets[doc + 1])
        n, at = get(stream, np.int64(offsets[doc]), stop)
        term: Int = 0
        while n > 0:
            m = min(n, PART)
            term, at = read_terms(stream, at, stop, term, terms[:m], counts[:m])
            for j in range(m):
                row = table[terms[j]]
                row[0] += 1
                row[1] += counts[j]
                if row[3] <= doc >> BLOCK_BITS:
                    row[3] = (doc >> BLOCK_BITS) + 1
                    row[2] += 1
            n -= m
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


@kernel
def _turn(
    stream: Bytes, offsets: Offsets, ranks: Ids, bounds: Ints, entry_bounds: Ints
) -> tuple[Shorts, Bytes, Shorts, Ints, Ints, Ints]:
    """Give the postings of the terms that have a rank, as a sparse transpose."""
    docs = np.empty(bounds[-1], np.uint16)
    counts = np.empty(bounds[-1], np.uint8)
    blocks = np.empty(entry_bounds[-1], np.uint16)
    starts = np.empty(entry_bounds[-1], np.int64)
    large_at = np.empty(64, np.int64)
    large_counts = np.empty(64, np.int64)
    n_large = 0
    # Side by side, for each rank: where its next posting goes, and the block after its last.
    cursor = np.zeros((len(bounds) - 1, 2), np.int64)
    for i in range(len(cursor)):
        cursor[i, 0] = bounds[i]
    entry = entry_bounds[:-1].copy()
    terms, numbers = np.empty(PART, np.int32), np.empty(PART, np.int32)
    for doc in range(len(offsets) - 1):
        stop = np.int64(offsets[doc + 1])
        n, at = get(stream, np.int64(offsets[doc]), stop)
        term: Int = 0
        while n > 0:
            m = min(n, PART)
            term, at = read_terms(stream, at, stop, term, terms[:m], numbers[:m])
            for j in range(m):
                rank = ranks[terms[j]]
                if rank < 0:
                    continue
                row = cursor[rank]
                place = row[0]
                row[0] += 1
                if row[1] <= doc >> BLOCK_BITS:
                    row[1] = (doc >> BLOCK_BITS) + 1
                    blocks[entry[rank]] = doc >> BLOCK_BITS
                    starts[entry[rank]] = place
                    entry[rank] += 1
                docs[place] = doc & (BLOCK - 1)
                counts[place] = min(numbers[j], LARGE)
                if numbers[j] >= LARGE:
                    if n_large == len(large_at):
                        large_at = np.concatenate((large_at, np.empty_like(large_at)))
                        large_counts = np.concatenate((large_counts, np.empty_like(large_counts)))
                    large_at[n_large] = place
                    large_counts[n_large] = numbers[j]
                    n_large += 1
            n -= m
    return docs, counts, blocks, starts, large_at[:n_large], large_counts[:n_large]
