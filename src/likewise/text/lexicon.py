"""Which numbers do the terms of these texts have, and how often do they occur?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from likewise.compiled import Ids, Ints, kernel
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


class Lexicon:
    """Numbers terms in the order in which they first appear.

    `known` looks up the numbers of terms that have one, -1 for others; new terms are numbered
    from `first` on. Only these are held in memory, and chunks of text that were met before: up to
    about `cached` bytes of them.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        known: Callable[[Strings], Ints] | None = None,
        first: int = 0,
        *,
        cached: int = CACHED,
    ) -> None:
        self.analyzer = analyzer
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

    def count(self, chunks: Chunks) -> Counts:
        """Count the terms of each text, numbering those that are new."""
        known = self._chunks.find(chunks.distinct)
        if (known < 0).any():
            known = self._learn(chunks.distinct, known)
        starts = self._starts[: len(self._chunks) + 1]
        return Counts(*_count(chunks.tokens, chunks.token_bounds, known, starts, self._numbers))

    @property
    def n_bytes(self) -> int:
        """How much memory the lexicon holds."""
        return (
            self.terms.n_bytes + self._chunks.n_bytes + self._starts.nbytes + self._numbers.nbytes
        )

    def _forget(self) -> None:
        self._chunks = StringTable()
        self._starts = np.zeros(1, np.int64)
        self._numbers = np.empty(0, np.int32)

    def _learn(self, distinct: Strings, known: Ints) -> Ints:
        if self._chunks.n_bytes + self._starts.nbytes + self._numbers.nbytes > self._cached:
            self._forget()
            known = np.full(distinct.size, -1, np.int64)
        new = distinct.take(np.flatnonzero(known < 0))
        sizes, terms = self.analyzer.resolve(new.all())
        numbers = self._number(Strings.of([term.encode() for term in terms]))
        self._chunks.intern(new)
        ends = self._starts[-1] + np.cumsum(sizes, dtype=np.int64)
        self._starts = np.concatenate([self._starts, ends])
        self._numbers = np.concatenate([self._numbers, numbers.astype(np.int32)])
        return self._chunks.find(distinct)

    def _number(self, terms: Strings) -> Ints:
        if self._known is None:
            return self.first + self.terms.intern(terms)
        numbers = self._known(terms)
        unknown = np.flatnonzero(numbers < 0)
        numbers[unknown] = self.first + self.terms.intern(terms.take(unknown))
        return numbers


@kernel
def _count(
    tokens: Ids, bounds: Ints, chunks: Ints, starts: Ints, numbers: Ids
) -> tuple[Ints, Ids, Ids, Ints]:
    """Count the terms of each text.

    Token j stands for the terms `numbers[starts[c]:starts[c + 1]]` with `c = chunks[tokens[j]]`.
    Equals np.unique(terms of the text, return_counts=True) for each text; here by two bucket
    sorts over the batch, in time linear in its tokens.
    """
    n_texts = len(bounds) - 1
    # Rank the distinct terms of the batch, so that buckets are few and ascending.
    n = 0
    for c in chunks:
        n += starts[c + 1] - starts[c]
    distinct = np.empty(n, np.int32)
    n = 0
    for c in chunks:
        for j in range(starts[c], starts[c + 1]):
            distinct[n] = numbers[j]
            n += 1
    distinct = np.unique(distinct)
    first = np.zeros(len(chunks) + 1, np.int64)
    for i in range(len(chunks)):
        first[i + 1] = first[i] + starts[chunks[i] + 1] - starts[chunks[i]]
    ranks = np.empty(first[-1], np.int64)
    for i in range(len(chunks)):
        for j in range(first[i + 1] - first[i]):
            ranks[first[i] + j] = np.searchsorted(distinct, numbers[starts[chunks[i]] + j])
    lengths = np.zeros(n_texts, np.int64)
    buckets = np.zeros(len(distinct) + 1, np.int64)
    for text in range(n_texts):
        for j in range(bounds[text], bounds[text + 1]):
            for k in range(first[tokens[j]], first[tokens[j] + 1]):
                buckets[ranks[k] + 1] += 1
                lengths[text] += 1
    buckets = np.cumsum(buckets)
    owners = np.empty(buckets[-1], np.int32)
    cursor = buckets[:-1].copy()
    for text in range(n_texts):
        for j in range(bounds[text], bounds[text + 1]):
            for k in range(first[tokens[j]], first[tokens[j] + 1]):
                owners[cursor[ranks[k]]] = text
                cursor[ranks[k]] += 1
    sizes = np.zeros(n_texts + 1, np.int64)
    for rank in range(len(distinct)):
        last = -1
        for j in range(buckets[rank], buckets[rank + 1]):
            if owners[j] != last:
                last = owners[j]
                sizes[last + 1] += 1
    out_bounds = np.cumsum(sizes)
    terms = np.empty(out_bounds[-1], np.int32)
    counts = np.empty(out_bounds[-1], np.int32)
    place = out_bounds[:-1].copy()
    for rank in range(len(distinct)):
        j = buckets[rank]
        while j < buckets[rank + 1]:
            text, first_of_run = owners[j], j
            while j < buckets[rank + 1] and owners[j] == text:
                j += 1
            terms[place[text]] = distinct[rank]
            counts[place[text]] = j - first_of_run
            place[text] += 1
    return out_bounds, terms, counts, lengths
