"""Which numbers do the terms of these texts have, and how often do they occur?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from likewise.compiled import Ids, Int, Ints, kernel
from likewise.text.analysis import Analyzer
from likewise.text.chunks import Chunks
from likewise.text.table import Strings, StringTable

CACHED = 256 << 20


class Counts(NamedTuple):
    """Term counts of a batch of texts: text i has `terms[bounds[i]:bounds[i + 1]]`, ascending."""

    bounds: Ints
    terms: Ids
    counts: Ids
    lengths: Ints


class Counted(NamedTuple):
    """What is counted of a batch of texts.

    `terms` are those of the whole, in which the head of a text counts as often as the analysis
    says; `head` those of the heads alone, each occurrence once; `exact` the words that are not
    terms as they are spelled. `positions` are those of the occurrences of each term, in the order
    of `terms`, so many as `occurrences` says; the head of text i has `widths[i]`.
    """

    terms: Counts
    head: Counts
    exact: Counts
    occurrences: Ids
    positions: Ids
    widths: Ints


class Lexicon:
    """Numbers terms in the order in which they first appear.

    `known` looks up the numbers of terms that have one, -1 for others; new terms are numbered
    from `first` on. Only these are held in memory, and chunks of text that were met before: up to
    about `cached` bytes of them. Exact forms are counted where `exact` says so.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        known: Callable[[Strings], Ints] | None = None,
        first: int = 0,
        *,
        cached: int = CACHED,
        exact: bool = True,
    ) -> None:
        self.analyzer = analyzer
        self._with_exact = exact
        self.first = first
        self._cached = cached
        self.terms = StringTable()
        self._known = known
        self._forget()

    def take_new(self) -> Strings:
        """Give the terms that were new, which are from now on `known`."""
        new = self.terms.strings
        self.first += new.size
        self.terms = StringTable()
        return new

    def count(self, chunks: Chunks) -> Counted:
        """Count the terms of each text, numbering those that are new."""
        known = self._chunks.find(chunks.distinct)
        if (known < 0).any():
            known = self._learn(chunks.distinct, known)
        batch = (chunks.tokens, chunks.token_bounds, chunks.heads, known)
        weight = self.analyzer.analysis.title_weight
        found = _count(*batch, self._terms.part, self._widths.values, weight)
        terms, head = Counts(*found[:4]), Counts(*found[4:8])
        if not self._with_exact:
            nothing = Counts(0 * terms.bounds, terms.terms[:0], terms.counts[:0], 0 * terms.lengths)
            return Counted(terms, head, nothing, *found[8:])
        spelled = _count(*batch, self._exact.part, self._widths.values, 1)
        return Counted(terms, head, Counts(*spelled[:4]), *found[8:])

    @property
    def n_bytes(self) -> int:
        """How much memory the lexicon holds."""
        return self.terms.n_bytes + self._n_cached

    @property
    def _n_cached(self) -> int:
        parts = (*self._terms, *self._exact, self._widths)
        return self._chunks.n_bytes + sum(one.n_bytes for one in parts)

    def _forget(self) -> None:
        self._chunks = StringTable()
        self._widths = _Grown()
        self._terms = _Entries(_Grown([0]), _Grown(), _Grown())
        self._exact = _Entries(_Grown([0]), _Grown(), _Grown())

    def _learn(self, distinct: Strings, known: Ints) -> Ints:
        if self._n_cached > self._cached:
            self._forget()
            known = np.full(distinct.size, -1, np.int64)
        new = distinct.take(np.flatnonzero(known < 0))
        found = self.analyzer.resolve_all(new.all())
        numbers = self._number(Strings.of([term.encode() for term in found.terms]))
        self._terms.append(found.sizes, numbers, found.places)
        if self._with_exact:
            # After the terms: these are numbered alike, whether or not exact forms are kept.
            numbers = self._number(Strings.of([word.encode() for word in found.exact]))
            self._exact.append(found.exact_sizes, numbers, [0] * len(numbers))
        self._widths.append(found.widths)
        self._chunks.intern(new)
        return self._chunks.find(distinct)

    def _number(self, terms: Strings) -> Ints:
        if self._known is None:
            return self.first + self.terms.intern(terms)
        numbers = self._known(terms)
        unknown = np.flatnonzero(numbers < 0)
        numbers[unknown] = self.first + self.terms.intern(terms.take(unknown))
        return numbers


class _Grown:
    """A growing array of integers."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        self._held = np.array(values, np.int64)
        self._size = len(values)

    @property
    def values(self) -> Ints:
        return self._held[: self._size]

    @property
    def n_bytes(self) -> int:
        return self._held.nbytes

    def append(self, values: Sequence[int] | Ints) -> None:
        size = self._size + len(values)
        if size > len(self._held):
            self._held = np.resize(self._held, max(size, 2 * len(self._held)))
        self._held[self._size : size] = values
        self._size = size


class _Entries(NamedTuple):
    """The terms of chunks: those of chunk c are from `starts[c]` to `starts[c + 1]`."""

    starts: _Grown
    numbers: _Grown
    places: _Grown

    @property
    def part(self) -> tuple[Ints, Ints, Ints]:
        return self.starts.values, self.numbers.values, self.places.values

    def append(self, sizes: Sequence[int], numbers: Ints, places: Sequence[int]) -> None:
        self.starts.append(self.starts.values[-1] + np.cumsum(sizes, dtype=np.int64))
        self.numbers.append(numbers)
        self.places.append(places)


@kernel
def _count(
    tokens: Ids,
    bounds: Ints,
    heads: Ints,
    chunks: Ints,
    entries: tuple[Ints, Ints, Ints],
    widths: Ints,
    weight: Int,
) -> tuple[Ints, Ids, Ids, Ints, Ints, Ids, Ids, Ints, Ids, Ids, Ints]:
    """Count the terms of each text, and of its head; give the positions of their occurrences.

    Token j stands for the terms `numbers[starts[c]:starts[c + 1]]` with `c = chunks[tokens[j]]`,
    and takes `widths[c]` positions. Equals np.unique(terms of the text, return_counts=True) for
    each text, with `weight` of each in its head; here a text's distinct terms alone are sorted.
    """
    starts, numbers, places = entries
    n_texts = len(bounds) - 1
    # What belongs to the chunks of the batch, side by side.
    first = np.zeros(len(chunks) + 1, np.int64)
    steps = np.empty(len(chunks), np.int64)
    for i in range(len(chunks)):
        first[i + 1] = first[i] + starts[chunks[i] + 1] - starts[chunks[i]]
        steps[i] = widths[chunks[i]]
    mine = np.empty(first[-1], np.int32)
    within = np.empty(first[-1], np.int32)
    n_terms = np.int64(0)
    for i in range(len(chunks)):
        for j in range(first[i + 1] - first[i]):
            number = numbers[starts[chunks[i]] + j]
            n_terms = max(n_terms, number + 1)
            mine[first[i] + j] = number
            within[first[i] + j] = places[starts[chunks[i]] + j]
    lengths = np.zeros(n_texts, np.int64)
    longest = np.int64(0)
    for text in range(n_texts):
        n = np.int64(0)
        for j in range(bounds[text], bounds[text + 1]):
            n += first[tokens[j] + 1] - first[tokens[j]]
        lengths[text] = n
        longest = max(longest, n)
    room = lengths.sum()
    out_bounds, head_bounds = np.zeros(n_texts + 1, np.int64), np.zeros(n_texts + 1, np.int64)
    terms, head_terms = np.empty(room, np.int32), np.empty(room, np.int32)
    counts, head_counts = np.empty(room, np.int32), np.empty(room, np.int32)
    uses, positions = np.empty(room, np.int32), np.empty(room, np.int32)
    head_lengths, head_widths = np.zeros(n_texts, np.int64), np.zeros(n_texts, np.int64)
    # Of one text: its occurrences, its distinct terms, and how often each was met.
    found, places_found = np.empty(longest, np.int32), np.empty(longest, np.int32)
    distinct = np.empty(longest, np.int32)
    met = np.zeros(n_terms, np.int32)
    n_out = n_head_out = base = 0
    for text in range(n_texts):
        size, n_distinct, at = 0, 0, np.int64(0)
        head_stop = bounds[text] + heads[text]
        for j in range(bounds[text], bounds[text + 1]):
            token = tokens[j]
            for k in range(first[token], first[token + 1]):
                term = mine[k]
                found[size] = term
                places_found[size] = at + within[k]
                size += 1
                if met[term] == 0:
                    distinct[n_distinct] = term
                    n_distinct += 1
                met[term] += 1
            at += steps[token]
            if j + 1 == head_stop:
                head_lengths[text], head_widths[text] = size, at
        distinct[:n_distinct].sort()
        # Where the positions of each term go.
        free = 0
        for i in range(n_distinct):
            term = distinct[i]
            terms[n_out + i], uses[n_out + i] = term, met[term]
            met[term], free = free, free + met[term]
        for i in range(size):
            positions[base + met[found[i]]] = places_found[i]
            met[found[i]] += 1
        start = base
        for i in range(n_out, n_out + n_distinct):
            met[terms[i]] = 0
            n_head = 0
            while n_head < uses[i] and positions[start + n_head] < head_widths[text]:
                n_head += 1
            start += uses[i]
            counts[i] = uses[i] + (weight - 1) * n_head
            if n_head > 0:
                head_terms[n_head_out], head_counts[n_head_out] = terms[i], n_head
                n_head_out += 1
        lengths[text] += (weight - 1) * head_lengths[text]
        base += size
        n_out += n_distinct
        out_bounds[text + 1], head_bounds[text + 1] = n_out, n_head_out
    return (
        out_bounds,
        terms[:n_out].copy(),
        counts[:n_out].copy(),
        lengths,
        head_bounds,
        head_terms[:n_head_out].copy(),
        head_counts[:n_head_out].copy(),
        head_lengths,
        uses[:n_out].copy(),
        positions,
        head_widths,
    )
