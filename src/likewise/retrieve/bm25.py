"""Search by BM25 in one compiled call: look-up of terms, weights, the search, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from likewise.borrowed import borrowed
from likewise.collection.impact_columns import ImpactColumns
from likewise.collection.postings import LARGE, Postings, bm25_norms
from likewise.collection.segment import Segment
from likewise.collection.words import Words, term_rows
from likewise.compiled import Bools, Bytes, Doubles, Floats, Int, Ints, kernel
from likewise.records import Ranking
from likewise.retrieve.best import NO_ANSWER, unpack
from likewise.retrieve.bm25_kernels import search_bm25
from likewise.retrieve.bm25_state import Best, Documents, Search, Workspace, make_workspace
from likewise.retrieve.lookup import (
    FoundTerms,
    Lookup,
    joined,
    look_up,
    weigh_bm25,
)
from likewise.retrieve.models import BM25, Statistics
from likewise.retrieve.sums import MOST_TERMS, Scale, SegmentWords, quantise

# Rounding of impacts in single precision.
_ROUNDED = 1e-6
# Where stored impacts are off by more, of 255, adding exact ones is faster: benchmarks/search.py.
_MOST_ERROR = 12.0
_NO_MASK = np.empty(0, np.bool_)


class BM25Search:
    """Searches a field of words of a snapshot by BM25; safe to use from several threads."""

    def __init__(self, model: BM25, statistics: Statistics, lookup: Lookup) -> None:
        self._model = model
        self._statistics = statistics
        self._lookup = lookup
        self._segments: dict[int, tuple[SegmentWords, Scale]] = {}
        self._spaces: list[Workspace] = []

    def rank(
        self,
        queries: Sequence[Mapping[str, float]],
        *,
        k: int,
        allowed: Sequence[Bools | None] | None,
    ) -> list[Ranking | None]:
        """Find the k best for each query; None for those that need another way to be searched.

        These have weights below 0, or more terms than sums of 16 bits have room for.
        """
        names, weights, ends = list[str](), list[float](), [0]
        for query in queries:
            mine = sorted(query)
            names += mine
            weights += map(query.__getitem__, mine)
            ends.append(len(names))
        terms, given = joined(names), np.array(weights, np.float64)
        bounds = np.array(ends, np.int64)
        segments = self._statistics.collection.segments
        try:
            space = self._spaces.pop()
        except IndexError:
            space = make_workspace()
        mask = None if allowed is None else allowed[0]
        if len(segments) == 1:
            docs, scores, sizes = rank_batch(
                (terms, bounds, given), *self.flat, flat_mask(segments[0], mask), k, tuple(space)
            )
            if not len(sizes):
                raise self._lookup.damaged(0)
        else:
            docs, scores, sizes = self._rank_segments((terms, bounds, given), k, allowed, space)
        self._spaces.append(space)
        if len(sizes) == 1 and sizes[0] == k:
            return [Ranking(docs[0], scores[0])]
        return [
            None if n < 0 else Ranking(docs[q, :n].copy(), scores[q, :n].copy())
            for q, n in enumerate(sizes.tolist())
        ]

    def _rank_segments(
        self,
        queries: tuple[Bytes, Ints, Doubles],
        k: int,
        allowed: Sequence[Bools | None] | None,
        space: Workspace,
    ) -> tuple[Ints, Doubles, Ints]:
        """Search several segments, one after the other: what was found in one bounds the next."""
        terms, bounds, given = queries
        found = FoundTerms(*(np.full(len(given), value, np.int64) for value in (-1, 0, 0)))
        self._lookup.fill(found, terms)
        weighed = weigh_bm25(found, bounds, given, self._statistics.n_docs)
        keys = np.full((len(bounds) - 1, k), NO_ANSWER, np.int64)
        sizes = np.zeros(len(bounds) - 1, np.int64)
        collection = self._statistics.collection
        for i, segment in enumerate(collection.segments):
            if segment.n_docs:
                mask = None if allowed is None else allowed[i]
                open_here = flat_mask(segment, mask)
                barred = len(open_here) > 0
                documents = Documents(open_here, barred, int(collection.bases[i]), segment.n_docs)
                search_batch(self.segment(i), weighed, documents, (keys, sizes), space)
        keys.sort(axis=1)
        return *unpack(keys), sizes

    @cached_property
    def tells(self) -> bool:
        """Whether stored impacts are near what they are by the parameters and average of now."""
        n_segments = len(self._statistics.collection.segments)
        return all(self.segment(i)[1].error <= _MOST_ERROR for i in range(n_segments))

    def highest_impacts(self, words: Words) -> Floats:
        """Give what no impact of an entry exceeds."""
        table, _ = scale_of(self._model, words, self._statistics.average_length)
        highest = table[(words.postings.entries[:-1] & np.uint64(255)).astype(np.int64)]
        return (highest.astype(np.float64) * ((1 + _ROUNDED) / 255)).astype(np.float32)

    @cached_property
    def flat(self) -> tuple[tuple[Any, ...], Doubles]:
        """What `rank_batch` takes of the only segment: arrays, and numbers.

        Plain tuples of arrays, as calling compiled code with named ones takes ten times as long.
        """
        table, _, gone = self._lookup.segment(0)
        words, scale = self.segment(0)
        numbers = (table.first, *self._lookup.limits, *scale, self._statistics.n_docs)
        arrays = (*table[:3], *gone, *words.postings, *words[1:-1], *words.columns)
        return arrays, np.array(numbers, np.float64)

    def segment(self, i: int) -> tuple[SegmentWords, Scale]:
        """Give a segment as the kernel reads it."""
        made = self._segments.get(i)
        if made is None:
            words = self._statistics.collection.segments[i].words(self._statistics.field)
            table, scale = scale_of(self._model, words, self._statistics.average_length)
            records = words.records
            stored = (records.stream, records.offsets)
            mine = SegmentWords(words.postings, words.lengths, *stored, table, words.columns)
            made = self._segments[i] = (mine, scale)
        return made


def flat_mask(segment: Segment, allowed: Bools | None) -> Bools:
    """Give which documents of a segment may be answers; nothing where all may."""
    if segment.entry.deleted is None:
        return _NO_MASK if allowed is None else allowed
    return segment.live if allowed is None else allowed & segment.live


def scale_of(model: BM25, words: Words, average_length: float) -> tuple[Bytes, Scale]:
    """Give what stored impacts bound by the parameters and the average length of now.

    An impact f / (f + norm) becomes 1 / (1 + ratio · norm / f), with a ratio of norms that lies
    between those of the shortest and the longest document.
    """
    average = max(average_length, 1e-9)
    k1, b = float(model.k1), float(model.b)
    stored = words.impact_parameters
    same = (k1, b, average) == stored
    large = words.postings.large_counts
    table = np.arange(256, dtype=np.uint8)
    error, large_error = 1.0, 0.0
    lengths = words.lengths
    if len(lengths) and (len(large) or not same):
        ends = np.array([lengths.min(), lengths.max()], np.uint32)
        norms = bm25_norms(ends, average, k1, b).astype(np.float64)
        # A count of 255 or more is stored as an impact of 1.
        large_error = 255.0 * (1 - LARGE / (LARGE + norms.max())) + 1
        if not same:
            ratios = norms / bm25_norms(ends, stored[2], *stored[:2])
            highest = _impacts(np.arange(256) / 255, ratios.min()) * (1 + _ROUNDED)
            lowest = _impacts((np.arange(256) - 1).clip(0) / 255, ratios.max()) * (1 - _ROUNDED)
            table = np.minimum(np.ceil(255 * highest), 255).astype(np.uint8)
            error = float((table - 255 * lowest)[1:].max())
    return table, Scale(k1, b, average, error, large_error, same, *stored)


def _impacts(stored: Doubles, ratio: float) -> Doubles:
    """Give impacts with norms that are so many times what they were."""
    return np.divide(stored, stored + ratio * (1 - stored), where=stored > 0, out=np.zeros(256))


@kernel
def rank_batch(
    queries: tuple[Bytes, Ints, Doubles],
    arrays: tuple[Any, ...],
    numbers: Doubles,
    mask: Bools,
    k: Int,
    space: tuple[Any, ...],
) -> tuple[Any, Any, Ints]:
    """Answer queries from the only segment: documents, scores, and how many there are of each.

    `queries` are their terms as `joined` gives them, bounds and weights; `arrays` and `numbers` as
    `BM25Search.flat` has them. No sizes where the table of terms was altered; -1 for a query that
    needs another way to be searched.
    """
    arrays, space = borrowed(arrays), borrowed(space)
    terms, bounds, given = borrowed(queries)
    postings = Postings(
        arrays[6],
        arrays[7],
        arrays[8],
        arrays[9],
        arrays[10],
        arrays[11],
        arrays[12],
        arrays[13],
    )
    columns = ImpactColumns(arrays[18], arrays[19], arrays[20])
    words = SegmentWords(postings, arrays[14], arrays[15], arrays[16], arrays[17], columns)
    same = numbers[10] > 0
    scale = Scale(
        numbers[5],
        numbers[6],
        numbers[7],
        numbers[8],
        numbers[9],
        same,
        numbers[11],
        numbers[12],
        numbers[13],
    )
    n, n_queries = len(given), len(bounds) - 1
    keys = np.full((n_queries, k), NO_ANSWER, np.int64)
    sizes = np.zeros(n_queries, np.int64)
    term_numbers, doc_freqs, term_freqs = look_up(terms, n, arrays[:8], numbers)
    found = FoundTerms(term_numbers, doc_freqs, term_freqs)
    if len(found.numbers) < n:
        sizes = sizes[:0]
    else:
        weighed = weigh_bm25(found, bounds, given, np.int64(numbers[14]))
        documents = Documents(mask, len(mask) > 0, 0, len(words.lengths))
        room = Workspace(space[0], space[1], space[2], space[3], space[4])
        search_batch((words, scale), weighed, documents, (keys, sizes), room)
    for q in range(n_queries):
        keys[q].sort()
    docs, scores = unpack(keys)
    return docs, scores, sizes


@kernel
def search_batch(
    segment: tuple[SegmentWords, Scale],
    weighed: tuple[Ints, Ints, Floats],
    documents: Documents,
    best: tuple[Any, Any],
    space: Workspace,
) -> None:
    """Search a segment for queries as `weigh_bm25` gives them, one after the other."""
    words, scale = segment
    bounds, numbers, weights = weighed
    keys, sizes = best
    rows = term_rows(numbers, words.postings.terms)
    for q in range(len(bounds) - 1):
        a, b = bounds[q], bounds[q + 1]
        if a == b or keys.shape[1] == 0:
            continue
        # Weights descend, so the last is the least.
        if weights[b - 1] <= 0 or b - a > MOST_TERMS:
            sizes[q] = -1
            continue
        query = quantise(numbers[a:b], weights[a:b])
        mine = Best(keys[q], sizes[q : q + 1])
        # Who called has what is stored, and the workspace.
        stored, room = borrowed(words), borrowed(space)
        search_bm25(Search(stored, scale, query, borrowed(documents), mine, room), rows[a:b])
