"""A field of words of a segment: lengths, records and postings, under a prefix of their names.

The document as analysed has no prefix. `title.` are the terms of its title, each occurrence counted
once; `exact.` the words that are not terms as they are spelled: accented ones, stop words, single
letters, `c++`. One table of terms numbers the words of all fields. A segment notes which fields it
was written with; one that none of its documents has a word of has no arrays.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from likewise.collection.arrays import Arrays, Memory, PrefixedArrays, PrefixedOutput
from likewise.collection.files import REMEDY
from likewise.collection.impact_columns import ImpactColumns, read_columns
from likewise.collection.pack import Pack, Packer
from likewise.collection.postings import (
    Bounds,
    Postings,
    read_bounds,
    read_postings,
    write_postings,
)
from likewise.collection.records import Records, encode
from likewise.compiled import Bytes, Ids, Int, Ints, Offsets, kernel
from likewise.errors import DamagedError, StorageError
from likewise.text.lexicon import Counts

MAIN, TITLE, EXACT = "", "title.", "exact."
FIELDS = (TITLE, EXACT)
_DOCS_AT_ONCE = 4096
_NO_SENTENCES = np.empty(0, np.uint32)

# Terms, and how many documents and occurrences of each there are.
Sums = tuple[Ints, Ints, Ints | Ids]


class WordsWriter:
    """Writes a field of words into the pack of a segment."""

    def __init__(self, out: Packer, field: str) -> None:
        self.field = field
        self._out = PrefixedOutput(out, field)
        self._lengths = self._out.stream("lengths", np.uint32)
        self._records = self._out.stream("records", np.uint8)
        self._offsets = self._out.stream("records.offsets", np.uint32)
        self._offsets.append(np.zeros(1))
        self.n_tokens = 0

    @property
    def size(self) -> int:
        """How many bytes of records there are."""
        return self._records.size

    def add(
        self,
        counts: Counts,
        sentences: Offsets = _NO_SENTENCES,
        sentence_bounds: Ints | None = None,
    ) -> None:
        """Append the words of documents, of the field without a prefix with their sentences."""
        bounds = np.zeros_like(counts.bounds) if sentence_bounds is None else sentence_bounds
        records = encode(counts.bounds, counts.terms, counts.counts, sentences, bounds)
        self.append(counts.lengths, *records)

    def append(self, lengths: Ints | Offsets, records: Bytes, ends: Ints) -> None:
        """Append records, which end where `ends` say."""
        if self._records.size + len(records) >= 1 << 32:
            raise StorageError("a segment's records would pass 4 GB: a document is too large")
        self._lengths.append(lengths)
        self._offsets.append(self._records.size + ends)
        self._records.append(records)
        self.n_tokens += int(np.sum(lengths, dtype=np.int64))

    def close(self, *, n_terms: int, memory: int) -> None:
        """Write postings and all the rest; of a field without words nothing."""
        if self.field != MAIN and not self.n_tokens:
            self.abandon()
            return
        records = self._records.values(), self._offsets.values()
        lengths = self._lengths.values()
        write_postings(self._out, records, lengths, n_terms=n_terms, memory=memory)
        for stream in (self._lengths, self._records, self._offsets):
            stream.close()

    def abandon(self) -> None:
        """Close without finishing."""
        for stream in (self._lengths, self._records, self._offsets):
            stream.abandon()


class Words:
    """A field of words of a segment, mapped; what is not asked for is not read.

    `gone` are its deleted documents and the pack that says what they counted for. `before` is the
    same field in another generation: what is open there is taken over.
    """

    def __init__(
        self,
        pack: Pack,
        field: str,
        size: tuple[int, int],
        gone: tuple[Ints, Pack | None],
        before: Words | None = None,
    ) -> None:
        self.field = field
        self.name = str(pack.path)
        self._pack = pack
        self._n_docs, self._n_terms = size
        self._deleted, self._deleted_pack = gone
        if before is not None:
            shared = ("_arrays", "lengths", "records", "postings", "columns", "bounds")
            # By name: another thread may be opening more of the one before.
            vars(self).update({n: vars(before)[n] for n in shared if n in vars(before)})

    @cached_property
    def _arrays(self) -> Arrays:
        if f"{self.field}lengths" in self._pack or self.field == MAIN:
            return PrefixedArrays(self._pack, self.field)
        nothing = Memory()
        lengths = np.zeros(self._n_docs, np.uint32)
        records = np.empty(0, np.uint8), np.zeros(self._n_docs + 1, np.uint32)
        write_postings(nothing, records, lengths, n_terms=0, memory=1)
        nothing.put("lengths", lengths)
        nothing.put("records", records[0])
        nothing.put("records.offsets", records[1])
        return nothing

    @cached_property
    def lengths(self) -> Offsets:
        """The number of words of each document."""
        lengths: Offsets = self._of_docs("lengths")
        return lengths

    @cached_property
    def records(self) -> Records:
        """The words and counts of each document, and of the main field its sentences."""
        offsets = self._of_docs("records.offsets", 1)
        return Records(self._arrays["records"], offsets, self._n_terms, self.name)

    @cached_property
    def postings(self) -> Postings:
        """The documents of each word."""
        return read_postings(self._arrays)

    @cached_property
    def columns(self) -> ImpactColumns:
        """The impacts of frequent terms, for all documents."""
        return read_columns(self._arrays, self.name)

    @cached_property
    def bounds(self) -> Bounds:
        """What the impacts of long postings cannot exceed."""
        return read_bounds(self._arrays)

    @property
    def impact_parameters(self) -> tuple[float, float, float]:
        """What stored impacts are by: BM25's k1 and b, and the average length."""
        noted = self._arrays.meta["impacts"]
        return noted["k1"], noted["b"], noted["average_length"]

    @cached_property
    def n_deleted_tokens(self) -> int:
        """How many words the deleted documents have."""
        return int(np.sum(self.lengths[self._deleted], dtype=np.int64))

    @cached_property
    def n_tokens(self) -> int:
        """How many words the live documents have."""
        return int(np.sum(self.lengths, dtype=np.int64)) - self.n_deleted_tokens

    @cached_property
    def deleted(self) -> Sums:
        """What deleted documents counted for: terms, ascending, their documents, occurrences."""
        pack = self._deleted_pack
        if pack is None:
            return sum_terms(self.records, np.empty(0, np.int64))
        if f"{self.field}terms" not in pack:
            # Deleted by a likewise that did not know the field.
            return sum_terms(self.records, self._deleted)
        names = ("terms", "doc-freqs", "term-freqs")
        terms, doc_freqs, term_freqs = (pack[self.field + name].copy() for name in names)
        if not len(terms) == len(doc_freqs) == len(term_freqs):
            raise DamagedError(f"{pack.path}: {self.field}terms without counts; {REMEDY}")
        return terms.astype(np.int64), doc_freqs, term_freqs

    def frequencies(self, terms: Ints) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms, deleted documents left out."""
        held = self.postings
        asked = terms.astype(np.int64, copy=False)
        doc_freqs, term_freqs = count_terms(asked, held.terms, held.heads)
        if self._deleted_pack is not None:
            gone, gone_docs, gone_occurrences = self.deleted
            rows = find_rows(gone, terms)
            doc_freqs -= np.where(rows >= 0, gone_docs[rows], 0) if len(gone) else 0
            term_freqs -= np.where(rows >= 0, gone_occurrences[rows], 0) if len(gone) else 0
        return doc_freqs, term_freqs

    def _of_docs(self, array: str, more: int = 0) -> Any:
        """Give an array that has a number for each document."""
        values = self._arrays[array]
        if len(values) != self._n_docs + more:
            raise DamagedError(
                f"{self.name}: {self.field}{array} has {len(values)} numbers of {self._n_docs} "
                f"documents; {REMEDY}"
            )
        return values


def sum_terms(records: Records, docs: Ints, sums: Sums | None = None) -> Sums:
    """Add up the documents and occurrences of each term in some documents, to those of others."""
    none = np.empty(0, np.int64)
    sums = sums or (none, none, none)
    for first in range(0, len(docs), _DOCS_AT_ONCE):
        _, terms, counts = records.counts(docs[first : first + _DOCS_AT_ONCE])
        sums = _add(sums, (terms.astype(np.int64), np.ones(len(terms), np.int64), counts))
    return sums


def _add(sums: Sums, more: Sums) -> Sums:
    """Add documents and occurrences of terms to those of other documents."""
    terms = np.concatenate([sums[0], more[0]])
    order = np.argsort(terms, kind="stable")
    distinct, starts = np.unique(terms[order], return_index=True)
    if not len(distinct):
        return sums
    doc_freqs, term_freqs = (
        np.add.reduceat(np.concatenate([a, b])[order], starts, dtype=np.int64)
        for a, b in zip(sums[1:], more[1:], strict=True)
    )
    return distinct, doc_freqs, term_freqs


@kernel
def term_rows(terms: Ints, held: Offsets) -> Ints:
    """Find the rows of terms in the postings of a segment, -1 for those that are not held.

    Equals `find_rows(held, terms)`.
    """
    rows = np.empty(len(terms), np.int64)
    n: Int = len(held)
    # A first segment holds nearly every term up to its last: a term stands at its number, or
    # before it by no more than how many are not held.
    n_missing: Int = np.int64(held[n - 1]) + 1 - n if n else 0
    for i in range(len(terms)):
        term = np.int64(terms[i])
        low: Int = min(max(term - n_missing, 0), n)
        high: Int = min(max(term + 1, low), n)
        while low < high:
            middle = (low + high) >> 1
            if np.int64(held[middle]) < term:
                low = middle + 1
            else:
                high = middle
        rows[i] = low if low < n and np.int64(held[low]) == term else -1
    return rows


@kernel
def count_terms(terms: Ints, held: Offsets, heads: Offsets) -> tuple[Ints, Ints]:
    """Look up the document and total frequencies of terms, 0 for those that are not held.

    Equals `heads[rows, 1]` and `heads[rows, 2]`, with `rows = np.searchsorted(held, terms)`.
    """
    doc_freqs = np.zeros(len(terms), np.int64)
    term_freqs = np.zeros(len(terms), np.int64)
    rows = term_rows(terms, held)
    for i in range(len(terms)):
        if rows[i] >= 0:
            doc_freqs[i] = heads[rows[i], 1]
            term_freqs[i] = heads[rows[i], 2]
    return doc_freqs, term_freqs


def find_rows(ascending: Offsets | Ints | Ids, values: Ints) -> Ints:
    """Find the place of each value in an ascending array, -1 where it is not there."""
    if len(ascending) == 0:
        return np.full(len(values), -1, np.int64)
    # In the array's own type: else NumPy converts the whole array for a few values.
    keys: Any = values.astype(ascending.dtype, copy=False)
    rows = np.searchsorted(ascending, keys)
    rows[rows == len(ascending)] = 0
    return np.where((ascending[rows] == keys) & (values >= 0), rows, -1)
