"""The terms of queries: their numbers, how frequent they are, and what BM25 weighs them by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.postings import Postings
from likewise.collection.words import MAIN, count_terms
from likewise.compiled import Bytes, Doubles, Floats, Ids, Int, Ints, Offsets, kernel
from likewise.errors import DamagedError
from likewise.retrieve.models import Statistics
from likewise.retrieve.order import order_of
from likewise.text.analysis import encode
from likewise.text.table import find_all

# Weights beyond these cannot be told from nothing, or infinity, in single precision.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e30
# A byte that UTF-8 never has.
_BETWEEN = 255


class TermTable(NamedTuple):
    """The terms that a segment was the first to use, as they are looked up; `first` is a number."""

    arena: Bytes
    offsets: Offsets
    slots: Ids
    first: int


class Gone(NamedTuple):
    """What deleted documents of a segment counted for: terms, ascending, documents, occurrences."""

    terms: Ints
    doc_freqs: Ints
    term_freqs: Ints


class Limits(NamedTuple):
    """How frequent a term must be to be searched for."""

    least_docs: float
    most_docs: float
    least_count: float
    most_count: float


class FoundTerms(NamedTuple):
    """Terms as they were looked up: numbers (-1: not searched for) and frequencies."""

    numbers: Ints
    doc_freqs: Ints
    term_freqs: Ints


def joined(terms: Sequence[str]) -> Bytes:
    """Give terms as bytes for `look_up`."""
    try:
        data = bytearray(b"\xff".join(map(str.encode, terms)))
    except UnicodeEncodeError:
        data = bytearray(b"\xff".join(map(encode, terms)))
    return np.frombuffer(data, np.uint8)


@kernel
def find_numbers(terms: Bytes, table: TermTable, numbers: Ints) -> bool:
    """Look up the terms that have no number so far; False where the table was altered."""
    arena = np.empty(len(terms), np.uint8)
    bounds = np.zeros(len(numbers) + 1, np.uint32)
    n, size = 0, 0
    for byte in terms:
        if byte == _BETWEEN:
            n += 1
            bounds[n] = size
        else:
            arena[size] = byte
            size += 1
    bounds[len(numbers)] = size
    return find_all(arena, bounds, table.arena, table.offsets, table.slots, table.first, numbers)


@kernel
def look_up(
    terms: Bytes, n: Int, arrays: tuple[Any, ...], numbers: Doubles
) -> tuple[Ints, Ints, Ints]:
    """Look up n terms as `joined` gives them in the only segment, as `Lookup.flat` has it.

    Equals `Lookup.fill`; nothing where the table was altered.
    """
    found = FoundTerms(np.full(n, -1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
    table = TermTable(arrays[0], arrays[1], arrays[2], int(numbers[0]))
    if n and not find_numbers(terms, table, found.numbers):
        found = FoundTerms(found.numbers[:0], found.doc_freqs[:0], found.term_freqs[:0])
    gone = Gone(arrays[3], arrays[4], arrays[5])
    add_frequencies(found, arrays[6], arrays[7], gone)
    leave_out(found, Limits(numbers[1], numbers[2], numbers[3], numbers[4]))
    return found.numbers, found.doc_freqs, found.term_freqs


@kernel
def add_frequencies(found: FoundTerms, held: Offsets, heads: Any, gone: Gone) -> None:
    """Add what the live documents of a segment have of terms.

    Equals adding `words.frequencies(numbers)`.
    """
    doc_freqs, term_freqs = count_terms(found.numbers, held, heads)
    for i in range(len(doc_freqs)):
        found.doc_freqs[i] += doc_freqs[i]
        found.term_freqs[i] += term_freqs[i]
        if len(gone.terms):
            row = np.searchsorted(gone.terms, found.numbers[i])
            if row < len(gone.terms) and gone.terms[row] == found.numbers[i]:
                found.doc_freqs[i] -= gone.doc_freqs[row]
                found.term_freqs[i] -= gone.term_freqs[row]


@kernel
def leave_out(found: FoundTerms, limits: Limits) -> None:
    """Take the numbers of terms that are too rare or too frequent. Equals `~admitted(…)`."""
    for i in range(len(found.numbers)):
        docs, count = found.doc_freqs[i], found.term_freqs[i]
        if not (
            limits.least_docs <= docs <= limits.most_docs
            and limits.least_count <= count <= limits.most_count
        ):
            found.numbers[i] = -1


@kernel
def bm25_weight(given: Any, n_docs: Int, doc_freq: Int) -> Any:
    """Weigh a term. Equals `np.float32(given * bm25_idf(n_docs, doc_freq))`."""
    return np.float32(given * np.log1p((n_docs - doc_freq + 0.5) / (doc_freq + 0.5)))


@kernel
def weigh_bm25(
    found: FoundTerms, bounds: Ints, given: Doubles, n_docs: Int
) -> tuple[Ints, Ints, Floats]:
    """Give the known terms of queries in the order in which scores are summed.

    That is by descending weight, then the rarer term, then as they are given: see
    `Retriever.weigh`. Gives bounds of the queries, numbers and weights.
    """
    out = np.zeros(len(bounds), np.int64)
    numbers = np.empty(len(given), np.int64)
    weights = np.empty(len(given), np.float32)
    n = 0
    for q in range(len(bounds) - 1):
        first = n
        size = bounds[q + 1] - bounds[q]
        places = np.empty(size, np.int64)
        rarity = np.empty(size, np.float64)
        heavy = np.empty(size, np.float64)
        m = 0
        for i in range(bounds[q], bounds[q + 1]):
            if found.numbers[i] >= 0 and LEAST_WEIGHT <= abs(given[i]) <= LARGEST_WEIGHT:
                places[m] = i
                rarity[m] = found.doc_freqs[i]
                m += 1
        order = order_of(rarity[:m])
        for j in range(m):
            i = places[order[j]]
            heavy[j] = -bm25_weight(given[i], n_docs, found.doc_freqs[i])
        again = order_of(heavy[:m])
        for j in range(m):
            numbers[n] = found.numbers[places[order[again[j]]]]
            weights[n] = -heavy[again[j]]
            n += 1
        out[q + 1] = out[q] + n - first
    return out, numbers[:n], weights[:n]


class Lookup:
    """Looks up terms of a field of words in a snapshot; safe to use from several threads."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._segments: dict[int, tuple[TermTable, Postings, Gone]] = {}

    def find(self, terms: Sequence[str]) -> FoundTerms:
        """Give the numbers of terms and their frequencies in the field."""
        if len(self._statistics.collection.segments) == 1:
            numbers, doc_freqs, term_freqs = look_up(joined(terms), len(terms), *self.flat)
            if terms and not len(numbers):
                raise self.damaged(0)
            return FoundTerms(numbers, doc_freqs, term_freqs)
        found = FoundTerms(*(np.full(len(terms), value, np.int64) for value in (-1, 0, 0)))
        self.fill(found, joined(terms))
        return found

    @cached_property
    def flat(self) -> tuple[tuple[Any, ...], Doubles]:
        """What `look_up` takes of the only segment: arrays, and numbers.

        Plain tuples of arrays, as calling compiled code with named ones takes ten times as long.
        """
        table, postings, gone = self.segment(0)
        numbers = np.array((table.first, *self.limits), np.float64)
        return (*table[:3], *gone, postings.terms, postings.heads), numbers

    def fill(self, found: FoundTerms, terms: Bytes) -> None:
        """Look up terms, in all segments that there are."""
        if not len(found.numbers):
            return
        n_segments = len(self._statistics.collection.segments)
        for i in range(n_segments):
            if not find_numbers(terms, self.segment(i)[0], found.numbers):
                raise self.damaged(i)
        for i in range(n_segments):
            _, postings, gone = self.segment(i)
            add_frequencies(found, postings.terms, postings.heads, gone)
        leave_out(found, self.limits)

    def damaged(self, i: int) -> DamagedError:
        """Give what is raised where the table of a segment was altered."""
        return self._statistics.collection.segments[i].damaged_table("terms")

    def segment(self, i: int) -> tuple[TermTable, Postings, Gone]:
        """Give what terms are looked up by in a segment."""
        made = self._segments.get(i)
        if made is None:
            segment = self._statistics.collection.segments[i]
            words = segment.words(self._statistics.field)
            strings, slots = segment.table("terms")
            gone = Gone(*(np.ascontiguousarray(one, np.int64) for one in words.deleted))
            table = TermTable(*strings, slots, segment.entry.first_term)
            made = self._segments[i] = (table, words.postings, gone)
        return made

    @cached_property
    def limits(self) -> Limits:
        """How frequent a term must be: limits of the analysis are those of the main field."""
        if self._statistics.field != MAIN:
            return Limits(1, math.inf, 0, math.inf)
        rule = self._statistics.collection.analysis
        most_docs = rule.max_df * self._statistics.n_docs if rule.max_df < 1 else math.inf
        most_count = float(rule.max_count) if rule.max_count else math.inf
        return Limits(max(rule.min_df, 1), most_docs, rule.min_count, most_count)
