"""What is in one segment? Immutable files, mapped; what is not asked for is not read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.cards import Cards
from likewise.collection.documents import Documents
from likewise.collection.fields import Fields
from likewise.collection.files import REMEDY, Seal, check_content, check_size
from likewise.collection.manifest import SegmentEntry
from likewise.collection.pack import Pack
from likewise.collection.postings import (
    BLOCK,
    Bounds,
    Postings,
    read_bounds,
    read_postings,
)
from likewise.collection.records import Records
from likewise.compiled import Bools, Ids, Ints, Offsets, kernel
from likewise.errors import DamagedError
from likewise.text.table import Strings, find_into

Locate = Callable[[str], Path]


class Segment:
    """A segment and its deleted documents, as they were when it was opened.

    `before` is the same segment in another generation: what is open there is taken over.
    """

    def __init__(self, entry: SegmentEntry, locate: Locate, before: Segment | None = None) -> None:
        self.entry = entry
        self.n_docs = entry.n_docs
        self.documents_path = locate(entry.documents.file)
        if before is not None and before.entry.packs == entry.packs:
            shared = ("packs", "documents", "postings", "bounds", "fields", "ids", "terms", "cards")
            self.packs: list[Pack] = before.packs
            # By name: another thread may be opening more of the one before.
            vars(self).update({n: vars(before)[n] for n in shared if n in vars(before)})
        else:
            check_size(self.documents_path, self._documents_seal)
            self.packs = [Pack(locate(pack.file), pack) for pack in entry.packs]
        gone = entry.deleted.pack if entry.deleted else None
        self._deleted_pack = Pack(locate(gone.file), gone) if gone else None
        self._read_deleted()

    # What it holds

    @property
    def all_packs(self) -> list[Pack]:
        """The files of its arrays, with that of deleted documents."""
        return [*self.packs, *([self._deleted_pack] if self._deleted_pack else [])]

    @property
    def name(self) -> str:
        """The file of its arrays, for messages."""
        return str(self.packs[0].path)

    @property
    def _documents_seal(self) -> Seal:
        return Seal(self.entry.documents.size, self.entry.documents.crc)

    def pack_of(self, array: str) -> Pack | None:
        """Give the pack that has an array; None where the segment was written without it."""
        return next((pack for pack in self.packs if array in pack), None)

    def __getitem__(self, array: str) -> Any:
        return (self.pack_of(array) or self.packs[0])[array]

    @cached_property
    def lengths(self) -> Offsets:
        """The number of terms of each document."""
        lengths: Offsets = self._of_docs("lengths")
        return lengths

    @cached_property
    def ids(self) -> Strings:
        """The ids of documents."""
        return Strings(self["ids"], self._of_docs("ids.offsets", 1))

    @cached_property
    def terms(self) -> Strings:
        """The terms that it was the first to use."""
        return Strings(self["terms"], self["terms.offsets"])

    @cached_property
    def records(self) -> Records:
        """The term counts and sentences of each document."""
        n_terms = self.entry.first_term + self.entry.n_terms
        return Records(self["records"], self._of_docs("records.offsets", 1), n_terms, self.name)

    @cached_property
    def postings(self) -> Postings:
        """The documents of each term."""
        return read_postings(self.packs[0])

    @cached_property
    def bounds(self) -> Bounds:
        """What the impacts of long postings cannot exceed."""
        return read_bounds(self.packs[0])

    @cached_property
    def documents(self) -> Documents:
        """What the documents said."""
        return Documents(self.documents_path, self["documents.blocks"])

    @cached_property
    def cards(self) -> Cards:
        """What answers show of documents."""
        return Cards(self["cards"], self["cards.offsets"], self.n_docs, self.name)

    @cached_property
    def fields(self) -> Fields:
        """The metadata."""
        return Fields(self.packs[0], self.n_docs)

    # What is asked of it

    def find_terms(self, keys: Strings, out: Ints | None = None) -> Ints:
        """Look up terms that this segment was the first to use: their numbers, else -1.

        Where `out` has what other segments found, only the rest is looked up, and put there.
        """
        return self._find("terms", keys, out, self.entry.first_term)

    def first_terms(self) -> Ints:
        """Give the numbers of the terms that this segment was the first to use."""
        first = self.entry.first_term
        return np.arange(first, first + self.entry.n_terms)

    def find_docs(self, keys: Strings) -> Ints:
        """Look up live documents by id: their numbers in the segment, else -1."""
        found = self._find("ids", keys)
        return np.where((found >= 0) & self.live[found], found, -1) if self.n_docs else found

    def _find(self, table: str, keys: Strings, out: Ints | None = None, first: int = 0) -> Ints:
        # Unchecked, so that looking up reads a few pages only: the look-up guards itself.
        pack = self.packs[0]
        strings = Strings(pack.probed(table), pack.probed(f"{table}.offsets"))
        out = np.full(keys.size, -1, np.int64) if out is None else out
        if not find_into(out, keys, strings, pack.probed(f"{table}.slots"), first=first):
            raise DamagedError(f"{self.name}: {table}.slots was altered; {REMEDY}")
        return out

    def frequencies(self, terms: Ints) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms, deleted documents left out."""
        held = self.postings
        asked = terms.astype(np.int64, copy=False)
        doc_freqs, term_freqs = count_terms(asked, held.terms, held.heads)
        if len(self.deleted_terms):
            rows = find_rows(self.deleted_terms, terms)
            doc_freqs -= np.where(rows >= 0, self.deleted_counts[0][rows], 0)
            term_freqs -= np.where(rows >= 0, self.deleted_counts[1][rows], 0)
        return doc_freqs, term_freqs

    def check(self) -> None:
        """Read all that is stored and raise if something was altered."""
        check_content(self.documents_path, self._documents_seal)
        for pack in self.all_packs:
            pack.check()

    def _of_docs(self, array: str, more: int = 0) -> Any:
        """Give an array that has a number for each document."""
        values = self[array]
        if len(values) != self.n_docs + more:
            raise DamagedError(
                f"{self.name}: {array} has {len(values)} numbers of {self.n_docs} documents; "
                f"{REMEDY}"
            )
        return values

    def _read_deleted(self) -> None:
        # One for each document of a block, so that no posting, whatever it says, leads outside.
        self.mask: Bools = np.zeros(max(-(-self.n_docs // BLOCK), 1) * BLOCK, np.bool_)
        self.mask[: self.n_docs] = True
        self.deleted: Ints = np.empty(0, np.int64)
        # Their terms, and how many documents and occurrences of each were deleted.
        self.deleted_terms: Offsets = np.empty(0, np.uint32)
        self.deleted_counts: tuple[Ints, Ints] = (self.deleted, self.deleted)
        pack = self._deleted_pack
        if pack is not None:
            self.deleted = pack["docs"].astype(np.int64)
            if self.deleted.max(initial=-1) >= self.n_docs:
                raise DamagedError(f"{pack.path}: deleted documents never there; {REMEDY}")
            self.mask[self.deleted] = False
            self.deleted_terms = pack["terms"].copy()
            self.deleted_counts = pack["doc-freqs"].copy(), pack["term-freqs"].copy()

    @property
    def live(self) -> Bools:
        """Which documents are not deleted."""
        return self.mask[: self.n_docs]


@kernel
def term_rows(terms: Ints, held: Offsets) -> Ints:
    """Find the rows of terms in the postings of a segment, -1 for those that are not held.

    Equals `find_rows(held, terms)`.
    """
    rows = np.empty(len(terms), np.int64)
    n = len(held)
    for i in range(len(terms)):
        # A first segment holds every term up to its last, so that most stand at their number.
        row = terms[i]
        if row < 0 or row >= n or np.int64(held[row]) != terms[i]:
            row = np.searchsorted(held, terms[i])
            if row == n or np.int64(held[row]) != terms[i]:
                row = -1
        rows[i] = row
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
