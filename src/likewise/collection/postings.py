"""Which documents hold this term, and how often?

Documents are cut into blocks of 65,536, so that a posting is two bytes (the document within
its block) and one (the count). The postings of a term are a run of *entries*, one for each
block in which it occurs: term i has the entries `entry_bounds[i]` to `entry_bounds[i + 1]`,
entry e lies in block `entry_blocks[e]` and has the postings `starts[e]` to `starts[e + 1]`. A
count of 255 or more is written as 255 and found in the short list of large counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.collection.files import ArrayWriter, write_array
from likewise.collection.forward import get, next_term
from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, Shorts, kernel

BLOCK_BITS = 16
BLOCK = 1 << BLOCK_BITS
LARGE = 255
_BYTES_PER_POSTING = 3


class Postings(NamedTuple):
    """The postings of a segment as mapped arrays; `terms` are the term numbers, ascending."""

    terms: Offsets
    term_freqs: Offsets
    entry_bounds: Offsets
    entry_blocks: Shorts
    starts: Offsets
    docs: Shorts
    counts: Bytes
    large_at: Offsets
    large_counts: Offsets


def write_postings(
    folder: Path, stream: Bytes, offsets: Offsets, *, n_terms: int, memory: int
) -> None:
    """Turn a segment's forward records around, in as many passes as the memory asks for."""
    doc_freqs, term_freqs, entries = _survey(stream, offsets, n_terms)
    terms = np.flatnonzero(doc_freqs)
    doc_freqs, entries = doc_freqs[terms], entries[terms]
    write_array(folder / "postings-terms.npy", terms, np.uint32)
    write_array(folder / "postings-term-freqs.npy", term_freqs[terms], np.uint32)
    write_array(folder / "postings-entry-bounds.npy", _bounds(entries), np.uint32)
    ends = np.cumsum(doc_freqs)
    large_at: list[Ints] = []
    large_counts: list[Ints] = []
    first = 0
    with (
        ArrayWriter(folder / "postings-docs.npy", np.uint16) as docs,
        ArrayWriter(folder / "postings-counts.npy", np.uint8) as counts,
        ArrayWriter(folder / "postings-entry-blocks.npy", np.uint16) as blocks,
        ArrayWriter(folder / "postings-starts.npy", np.uint32) as starts,
    ):
        while first < len(terms):
            done = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, done + memory // _BYTES_PER_POSTING, "right"))
            last = min(max(last, first + 1), len(terms))
            ranks = np.full(n_terms, -1, np.int32)
            ranks[terms[first:last]] = np.arange(last - first)
            turned = _turn(
                stream, offsets, ranks, _bounds(doc_freqs[first:last]), _bounds(entries[first:last])
            )
            docs.append(turned[0])
            counts.append(turned[1])
            blocks.append(turned[2])
            starts.append(turned[3] + done)
            order = np.argsort(turned[4])
            large_at.append(turned[4][order] + done)
            large_counts.append(turned[5][order])
            first = last
        starts.append(np.array([int(ends[-1]) if len(ends) else 0]))
    write_array(folder / "postings-large-at.npy", _joined(large_at), np.uint32)
    write_array(folder / "postings-large-counts.npy", _joined(large_counts), np.uint32)


def _joined(pieces: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *pieces])


def _bounds(sizes: Ints) -> Ints:
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out


@kernel
def _survey(stream: Bytes, offsets: Offsets, n_terms: Int) -> tuple[Ints, Ints, Ints]:
    """Count for each term its documents, its occurrences and its blocks."""
    doc_freqs = np.zeros(n_terms, np.int64)
    term_freqs = np.zeros(n_terms, np.int64)
    entries = np.zeros(n_terms, np.int64)
    last = np.full(n_terms, -1, np.int64)
    for doc in range(len(offsets) - 1):
        stop = np.int64(offsets[doc + 1])
        n, at = get(stream, np.int64(offsets[doc]), stop)
        term: Int = 0
        for _ in range(n):
            term, count, at = next_term(stream, at, stop, term)
            doc_freqs[term] += 1
            term_freqs[term] += count
            if last[term] != doc >> BLOCK_BITS:
                last[term] = doc >> BLOCK_BITS
                entries[term] += 1
    return doc_freqs, term_freqs, entries


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
    cursor = bounds[:-1].copy()
    entry = entry_bounds[:-1].copy()
    last = np.full(len(cursor), -1, np.int64)
    for doc in range(len(offsets) - 1):
        stop = np.int64(offsets[doc + 1])
        n, at = get(stream, np.int64(offsets[doc]), stop)
        term: Int = 0
        for _ in range(n):
            term, count, at = next_term(stream, at, stop, term)
            rank = ranks[term]
            if rank < 0:
                continue
            place = cursor[rank]
            cursor[rank] += 1
            if last[rank] != doc >> BLOCK_BITS:
                last[rank] = doc >> BLOCK_BITS
                blocks[entry[rank]] = doc >> BLOCK_BITS
                starts[entry[rank]] = place
                entry[rank] += 1
            docs[place] = doc & (BLOCK - 1)
            counts[place] = min(count, LARGE)
            if count >= LARGE:
                if n_large == len(large_at):
                    large_at = np.concatenate((large_at, np.empty_like(large_at)))
                    large_counts = np.concatenate((large_counts, np.empty_like(large_counts)))
                large_at[n_large] = place
                large_counts[n_large] = count
                n_large += 1
    return docs, counts, blocks, starts, large_at[:n_large], large_counts[:n_large]
