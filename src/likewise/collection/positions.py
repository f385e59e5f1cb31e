"""Where in a document does each of its terms stand?

The positions of a document are a run of variable-length integers: how many its title has, then for
each term, in the order of its record, the steps from one position to the next. A term has as many
as it occurs: its count, less what the weight of titles added. Words that analysis drops take a
position. What comes after the title is read `GAP` further on, so that no phrase crosses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.collection.pack import PackEntry, Packer
from likewise.collection.records import get, next_term, put
from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel
from likewise.errors import StorageError
from likewise.text.lexicon import Counted

GAP = 100
_MOST = 1 << 31


class Positions(NamedTuple):
    """Positions of terms in documents: those of term j in document i are `values[a:b]`, ascending.

    `a, b = bounds[i * n_terms + j], bounds[i * n_terms + j + 1]`.
    """

    bounds: Ints
    values: Ints

    @classmethod
    def joined(
        cls, n_docs: int, n_terms: int, pieces: Sequence[tuple[Ints, Positions]]
    ) -> Positions:
        """Put positions of some of the documents, each with its places, together."""
        sizes = np.zeros((n_docs, n_terms), np.int64)
        for places, piece in pieces:
            sizes[places] = np.diff(piece.bounds).reshape(len(places), n_terms)
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        values = np.empty(bounds[-1], np.int64)
        for places, piece in pieces:
            starts = bounds[:-1].reshape(n_docs, n_terms)[places].reshape(-1)
            to = np.repeat(starts - piece.bounds[:-1], np.diff(piece.bounds))
            values[to + np.arange(len(to))] = piece.values
        return cls(bounds, values)


class Occurrences(NamedTuple):
    """Every position of documents: document i has `terms[bounds[i]:bounds[i + 1]]`, ascending.

    Term j of them occurs `uses[j]` times; `positions` has those of one term after the other.
    """

    bounds: Ints
    terms: Ids
    uses: Ids
    positions: Ints


class PositionsWriter:
    """Writes the positions of a segment, a pack of its own."""

    def __init__(self, out: Packer) -> None:
        self._out = out
        self._stream = out.stream("positions", np.uint8)
        self._offsets = out.stream("positions.offsets", np.uint32)
        self._offsets.append(np.zeros(1))

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._stream.size

    def add(self, counted: Counted) -> None:
        """Append the positions of documents, as they were counted."""
        uses, positions, widths = counted.occurrences, counted.positions, counted.widths
        self.append(*encode(counted.terms.bounds, uses, positions, widths))

    def append(self, stream: Bytes, ends: Ints) -> None:
        """Append documents that are written already."""
        if self._stream.size + len(stream) >= 1 << 32:
            raise StorageError("a segment's positions would pass 4 GB: a document is too large")
        self._offsets.append(self._stream.size + ends)
        self._stream.append(stream)

    def close(self) -> PackEntry:
        """Finish the pack."""
        self._stream.close()
        self._offsets.close()
        return self._out.close()

    def abandon(self) -> None:
        """Close without finishing."""
        self._stream.abandon()
        self._offsets.abandon()
        self._out.abandon()


# A stream of bytes, and where the part of each document begins.
Encoded = tuple[Bytes, Offsets]


class Placed(NamedTuple):
    """What positions are decoded from; `weight` is how often a title's words count."""

    records: Encoded
    titles: Encoded
    positions: Encoded
    weight: int


def find_positions(placed: Placed, docs: Ints, terms: Ints) -> Positions | None:
    """Decode the positions of terms in documents; None where the streams do not fit together."""
    distinct = np.unique(terms)
    columns = np.searchsorted(distinct, terms)
    starts, sizes, widths, fits = find(placed, docs, distinct)
    if not fits:
        return None
    found = (starts, sizes, widths)
    return Positions(*decode(placed.positions, docs, columns, found, len(distinct)))


def all_positions(placed: Placed, docs: Ints) -> Occurrences | None:
    """Decode all positions of documents; None where the streams do not fit together."""
    bounds, terms, uses, positions, fits = decode_all(placed, docs)
    return Occurrences(bounds, terms, uses, positions) if fits else None


@kernel
def encode(bounds: Ints, uses: Ids, positions: Ids, widths: Ints) -> tuple[Bytes, Ints]:
    """Encode a batch of documents: the stream and where each one's positions end.

    Term j occurs `uses[j]` times; document i has `widths[i]` positions in its title.
    """
    n_docs = len(bounds) - 1
    out = np.empty(5 * len(positions) + 10 * n_docs, np.uint8)
    ends = np.empty(n_docs, np.int64)
    at: Int = 0
    p = 0
    for doc in range(n_docs):
        at = put(out, at, widths[doc])
        for j in range(bounds[doc], bounds[doc + 1]):
            last = np.int64(0)
            for _ in range(uses[j]):
                at = put(out, at, np.int64(positions[p]) - last)
                last = np.int64(positions[p])
                p += 1
        ends[doc] = at
    return out[:at].copy(), ends


@kernel
def find(placed: Placed, docs: Ints, terms: Ints) -> tuple[Ints, Ints, Ints, bool]:
    """Find where the positions of terms, ascending, begin in the stream, and how many there are.

    A row for each document, then each document's positions in its title, and whether all fit
    together: a damaged stream leads nowhere outside.
    """
    records, offsets = placed.records
    titles, title_offsets = placed.titles
    positions, position_offsets = placed.positions
    starts = np.zeros(len(docs) * len(terms), np.int64)
    sizes = np.zeros(len(docs) * len(terms), np.int64)
    widths = np.zeros(len(docs), np.int64)
    fits = True
    for i in range(len(docs)):
        doc = docs[i]
        start, stop = np.int64(offsets[doc]), np.int64(offsets[doc + 1])
        n, at = get(records, start, stop)
        title_stop = np.int64(title_offsets[doc + 1])
        n_titles, title_at = get(titles, np.int64(title_offsets[doc]), title_stop)
        end = np.int64(position_offsets[doc + 1])
        widths[i], place = get(positions, np.int64(position_offsets[doc]), end)
        term: Int = 0
        title_term: Int = -1
        title_count: Int = 0
        if n_titles > 0:
            title_term, title_count, title_at = next_term(titles, title_at, title_stop, 0)
        j = 0
        for _ in range(min(n, stop - start)):
            term, count, at = next_term(records, at, stop, term)
            while j < len(terms) and terms[j] < term:
                j += 1
            if j == len(terms):
                break
            if title_term == term:
                count -= (placed.weight - 1) * title_count
                n_titles -= 1
                if n_titles > 0:
                    title_term, title_count, title_at = next_term(
                        titles, title_at, title_stop, title_term
                    )
            if count < 1 or count > end - place:
                fits = False
                break
            if terms[j] == term:
                starts[i * len(terms) + j] = place
                sizes[i * len(terms) + j] = count
            while count > 0 and place < end:
                count -= positions[place] < 128
                place += 1
            fits &= count == 0
    return starts, sizes, widths, fits


@kernel
def decode(
    positions: Encoded, docs: Ints, columns: Ints, found: tuple[Ints, Ints, Ints], n_distinct: Int
) -> tuple[Ints, Ints]:
    """Decode the positions that were found; `columns` has the place of each term asked for.

    Equals np.cumsum of the steps of each, `GAP` more beyond the title.
    """
    stream, offsets = positions
    starts, sizes, widths = found
    bounds = np.zeros(len(docs) * len(columns) + 1, np.int64)
    for i in range(len(docs)):
        for j in range(len(columns)):
            size = sizes[i * n_distinct + columns[j]]
            row = i * len(columns) + j
            bounds[row + 1] = bounds[row] + size
    values = np.empty(bounds[-1], np.int64)
    for i in range(len(docs)):
        end = np.int64(offsets[docs[i] + 1])
        for j in range(len(columns)):
            row = i * len(columns) + j
            if bounds[row + 1] == bounds[row]:
                continue
            at: Int = starts[i * n_distinct + columns[j]]
            position = np.int64(0)
            for p in range(bounds[row], bounds[row + 1]):
                step, at = get(stream, at, end)
                position += step
                values[p] = position + (GAP if position >= widths[i] > 0 else 0)
    return bounds, values


@kernel
def decode_all(placed: Placed, docs: Ints) -> tuple[Ints, Ids, Ids, Ints, bool]:
    """Decode all positions of documents, and whether records and positions fit together.

    Equals `find` and `decode` of the terms of each document.
    """
    records, offsets = placed.records
    titles, title_offsets = placed.titles
    stream, position_offsets = placed.positions
    n_terms = n_places = np.int64(0)
    for doc in docs:
        # A term takes at least a byte, and so does a position.
        n_terms += np.int64(offsets[doc + 1]) - np.int64(offsets[doc])
        n_places += np.int64(position_offsets[doc + 1]) - np.int64(position_offsets[doc])
    bounds = np.zeros(len(docs) + 1, np.int64)
    terms, uses = np.empty(n_terms, np.int32), np.empty(n_terms, np.int32)
    values = np.empty(n_places, np.int64)
    n_terms = n_places = np.int64(0)
    fits = True
    for i in range(len(docs)):
        doc = docs[i]
        start, stop = np.int64(offsets[doc]), np.int64(offsets[doc + 1])
        n, at = get(records, start, stop)
        title_stop = np.int64(title_offsets[doc + 1])
        n_titles, title_at = get(titles, np.int64(title_offsets[doc]), title_stop)
        end = np.int64(position_offsets[doc + 1])
        width, place = get(stream, np.int64(position_offsets[doc]), end)
        term: Int = 0
        title_term: Int = -1
        title_count: Int = 0
        if n_titles > 0:
            title_term, title_count, title_at = next_term(titles, title_at, title_stop, 0)
        for _ in range(min(n, stop - at)):
            term, count, at = next_term(records, at, stop, term)
            if title_term == term:
                count -= (placed.weight - 1) * title_count
                n_titles -= 1
                if n_titles > 0:
                    title_term, title_count, title_at = next_term(
                        titles, title_at, title_stop, title_term
                    )
            if count < 1 or count > end - place:
                fits = False
                break
            terms[n_terms], uses[n_terms] = term, count
            n_terms += 1
            position = np.int64(0)
            for _use in range(count):
                fits &= bool(place < end)
                step, place = get(stream, place, end)
                position += step
                values[n_places] = position + (GAP if position >= width > 0 else 0)
                n_places += 1
            fits &= bool(position < _MOST) and bool(stream[place - 1] < 128)
        bounds[i + 1] = n_terms
    return bounds, terms[:n_terms].copy(), uses[:n_terms].copy(), values[:n_places].copy(), fits
