"""The numbers of the terms of words, as a collection has them, without a Python object per word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ints
from likewise.forking import Lock
from likewise.text.analysis import Analyzer
from likewise.text.table import Strings, StringTable

_MOST_KNOWN = 100_000


class WordTerms(NamedTuple):
    """Words, and the numbers of the terms of each: word w has `sizes[w]` from `firsts[w]` on."""

    words: Strings
    firsts: Ints
    sizes: Ints
    terms: Ints


class TermNumbers:
    """Numbers words, and looks the terms of each up once.

    Terms that the collection never had are left out.
    """

    def __init__(self, analyzer: Analyzer, find_terms: Callable[[Sequence[str]], Ints]) -> None:
        self._analyzer = analyzer
        self._find_terms = find_terms
        self._lock = Lock()
        self._clear()

    @classmethod
    def of(cls, snapshot: Snapshot) -> TermNumbers:
        """Give those of a collection."""
        return snapshot.memo("term numbers", lambda: cls(snapshot.analyzer, snapshot.find_terms))

    def __call__(self, words: Strings) -> tuple[Ints, WordTerms]:
        """Give the numbers of words, and the terms of all that are known.

        What was given stays as it is: more words are only written after it, or elsewhere.
        """
        with self._lock:
            if len(self._table) > _MOST_KNOWN:
                self._clear()
            numbers = self._table.find(words)
            new = np.flatnonzero(numbers < 0)
            if len(new):
                numbers[new] = self._add(words.take(new))
            known, n = self._table.strings, len(self._table)
            terms = self._terms[: self._n_terms]
            return numbers, WordTerms(known, self._firsts[:n], self._sizes[:n], terms)

    def _clear(self) -> None:
        self._table = StringTable()
        self._firsts, self._sizes, self._terms = (np.zeros(1 << 10, np.int64) for _ in range(3))
        self._n_terms = 0

    def _add(self, words: Strings) -> Ints:
        first = len(self._table)
        numbers = self._table.intern(words)
        last = len(self._table)
        new = self._table.strings.take(np.arange(first, last)).all()
        terms = self._analyzer.terms_of(new)
        owners = np.repeat(np.arange(last - first), [*map(len, terms)])
        found = self._find_terms([*chain.from_iterable(terms)])
        there = found >= 0
        sizes = np.bincount(owners[there], minlength=last - first)
        start, self._n_terms = self._n_terms, self._n_terms + int(sizes.sum())
        self._firsts = _with_room(self._firsts, last)
        self._sizes = _with_room(self._sizes, last)
        self._terms = _with_room(self._terms, self._n_terms)
        self._firsts[first:last] = start + np.cumsum(sizes) - sizes
        self._sizes[first:last] = sizes
        self._terms[start : self._n_terms] = found[there]
        return numbers


def _with_room(values: Ints, size: int) -> Ints:
    return values if size <= len(values) else np.resize(values, max(size, 2 * len(values)))
