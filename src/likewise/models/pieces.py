"""Documents cut into pieces, which are dealt out at random to two views of each document.

A piece is a run of positions, as long as a sentence; the words after a title begin another one.
A document of fewer than three pieces, and any whose positions are not stored, is dealt out word by
word. Draws depend on the seed, the epoch and the document alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.positions import Occurrences
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ids, Int, Ints, kernel
from likewise.models.gibbs_kernels import next_random, seed_of, uniform
from likewise.models.weighting import Scale, weight_of

RUN = 20
_FEWEST = 3
_READ_CHUNK = 4096
# What a position takes while it is read and kept, in bytes.
_POSITION_BYTES = 16


class Pieces(NamedTuple):
    """Documents as words by piece: document i has the rows `rows[bounds[i]:bounds[i + 1]]`.

    Row j of them stands in the pieces `pieces[first[j]:first[j + 1]]`, of `sizes[i]` in all.
    """

    bounds: Ints
    rows: Ids
    first: Ints
    pieces: Ids
    sizes: Ids

    @property
    def n_docs(self) -> int:
        """How many documents there are."""
        return len(self.sizes)


class Views(NamedTuple):
    """Views of n documents as weights of rows: the first of each, then the second of each.

    View i has `rows[starts[i]:starts[i] + sizes[i]]`; `owners` has the view of each row.
    """

    starts: Ints
    sizes: Ints
    rows: Ids
    weights: Floats
    owners: Ids


def read_pieces(
    collection: Snapshot, docs: Ints, scale: Scale, *, memory: int, seed: int = 0, run: int = RUN
) -> Pieces:
    """Read documents, ascending, as pieces; some, drawn by the seed, where not all have room.

    Words without weight are left out, and documents of fewer than two words.
    """
    lengths = collection.lengths(docs)
    order = np.random.default_rng(seed).permutation(len(docs))
    room = int(np.searchsorted(np.cumsum(lengths[order]), memory // _POSITION_BYTES, "right"))
    docs = np.sort(docs[order[:room]])
    read = [
        Pieces(*cut(some, scale.rows, scale.factors, run))
        for first in range(0, len(docs), _READ_CHUNK)
        for some in _occurrences(collection, docs[first : first + _READ_CHUNK])
    ]
    return Pieces(
        _ends([np.diff(one.bounds) for one in read]),
        np.concatenate([np.empty(0, np.int32), *(one.rows for one in read)]),
        _ends([np.diff(one.first) for one in read]),
        np.concatenate([np.empty(0, np.int32), *(one.pieces for one in read)]),
        np.concatenate([np.empty(0, np.int32), *(one.sizes for one in read)]),
    )


def _occurrences(collection: Snapshot, docs: Ints) -> Iterator[Occurrences]:
    """Give where terms stand; no positions where they are not stored of all documents."""
    if collection.has_positions:
        yield from collection.occurrences(docs)
    else:
        bounds, terms, counts = collection.term_counts(docs)
        yield Occurrences(bounds, terms, counts, np.empty(0, np.int64))


def _ends(sizes: list[Ints]) -> Ints:
    return np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes])).astype(np.int64)


@kernel
def cut(
    found: Occurrences, row_of: Ids, factors: Floats, run: Int
) -> tuple[Ints, Ids, Ints, Ids, Ids]:
    """Cut documents into runs of positions, numbered from 0 in each.

    Equals `np.unique(positions // run, return_inverse=True)[1]` of the known words of each
    document, or `np.arange` where these are fewer than three.
    """
    n_docs, n_tokens = len(found.bounds) - 1, found.uses.sum()
    placed = len(found.positions) > 0
    bounds, n_rows = np.zeros(n_docs + 1, np.int64), 0
    rows = np.empty(len(found.terms), np.int32)
    first = np.zeros(len(found.terms) + 1, np.int64)
    pieces = np.empty(n_tokens, np.int32)
    sizes = np.empty(n_docs, np.int32)
    n_kept, n_pieces, at = 0, 0, 0
    for doc in range(n_docs):
        start, start_row, last = n_pieces, n_rows, 0
        for j in range(found.bounds[doc], found.bounds[doc + 1]):
            term = found.terms[j]
            row = row_of[term] if 0 <= term < len(row_of) else -1
            if row >= 0 and factors[row] > 0:
                for i in range(found.uses[j]):
                    if placed:
                        pieces[n_pieces] = found.positions[at + i] // run
                        last = max(last, pieces[n_pieces])
                    n_pieces += 1
                rows[n_rows] = row
                n_rows += 1
                first[n_rows] = n_pieces
            at += found.uses[j]
        n = n_pieces - start
        if n < 2:
            n_rows, n_pieces = start_row, start
            continue
        size = 0
        if placed:
            numbers = np.full(last + 1, -1, np.int32)
            for i in range(start, n_pieces):
                numbers[pieces[i]] = 0
            for i in range(last + 1):
                if numbers[i] == 0:
                    numbers[i] = size
                    size += 1
            for i in range(start, n_pieces):
                pieces[i] = numbers[pieces[i]]
        if size < _FEWEST:
            size = n
            for i in range(n):
                pieces[start + i] = i
        sizes[n_kept] = size
        n_kept += 1
        bounds[n_kept] = n_rows
    return (
        bounds[: n_kept + 1],
        rows[:n_rows].copy(),
        first[: n_rows + 1].copy(),
        pieces[:n_pieces].copy(),
        sizes[:n_kept],
    )


def room_for(pieces: Pieces, docs: Ints) -> Views:
    """Give room for the views of documents."""
    widths = np.diff(pieces.bounds)[docs]
    ends = np.cumsum(2 * widths)
    starts = np.concatenate([ends - 2 * widths, ends - widths])
    n = int(ends[-1]) if len(docs) else 0
    return Views(
        starts,
        np.zeros(2 * len(docs), np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.float32),
        np.empty(n, np.int32),
    )


@kernel
def deal(
    pieces: Pieces,
    docs: Ints,
    span: tuple[Int, Int],
    draw: tuple[Int, Int],
    scale: tuple[Floats, tuple[Any, Any, Any]],
    out: Views,
) -> None:
    """Deal the pieces of some documents out, half of them to each view, weighed, of length one.

    `span` is which of the documents, `draw` the seed and the epoch. Equals `weight_of` of how
    often each word stands in the pieces of a view, over the root of the sum of their squares.
    """
    factors, norm = scale
    n_docs = len(docs)
    for i in range(span[0], span[1]):
        doc = docs[i]
        random = next_random(seed_of(draw[0], draw[1], doc))
        n = pieces.sizes[doc]
        wanted = (n + (1 if uniform(random) < 0.5 else 0)) // 2
        chosen = np.empty(n, np.int32)
        for p in range(n):
            random = next_random(random)
            chosen[p] = 1 if uniform(random) * (n - p) < wanted else 0
            wanted -= chosen[p]
        lengths = np.zeros(2, np.float32)
        for f in range(pieces.first[pieces.bounds[doc]], pieces.first[pieces.bounds[doc + 1]]):
            lengths[chosen[pieces.pieces[f]]] += 1
        ends = np.array([out.starts[i], out.starts[n_docs + i]])
        squares = np.zeros(2, np.float32)
        for j in range(pieces.bounds[doc], pieces.bounds[doc + 1]):
            counts = np.zeros(2, np.float32)
            for f in range(pieces.first[j], pieces.first[j + 1]):
                counts[chosen[pieces.pieces[f]]] += 1
            row = pieces.rows[j]
            for view in range(2):
                if counts[view] > 0:
                    weight = weight_of(counts[view], lengths[view], factors[row], norm)
                    out.rows[ends[view]] = row
                    out.weights[ends[view]] = weight
                    out.owners[ends[view]] = view * n_docs + i
                    squares[view] += weight * weight
                    ends[view] += 1
        for view in range(2):
            at = view * n_docs + i
            out.sizes[at] = ends[view] - out.starts[at]
            if squares[view] > 0:
                inverse = np.float32(1) / np.sqrt(squares[view])
                for f in range(out.starts[at], ends[view]):
                    out.weights[f] *= inverse
