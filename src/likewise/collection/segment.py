"""What is in one segment? Immutable files, mapped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise.collection.documents import FILE as DOCUMENTS_FILE
from likewise.collection.documents import Documents
from likewise.collection.fields import Fields
from likewise.collection.files import check_content, check_size, map_array
from likewise.collection.forward import decode_sentences
from likewise.collection.manifest import SegmentEntry
from likewise.collection.postings import Postings
from likewise.compiled import Bools, Bytes, Ids, Ints, Offsets, kernel
from likewise.text.table import Strings, find

# Bulky contents above this size are checked by `check` only: mapping would otherwise mean reading
# everything. What other arrays are reached by is always checked, so that no kernel reads outside
# its arrays. Frames of documents carry checksums of their own, looked at whenever one is read.
_CHECKED_AT_OPEN = 64 << 20
_BULKY = {"forward.npy", "postings-docs.npy", "postings-counts.npy", "ids.npy", "field-texts.npy"}


class Segment:
    """A segment and its deleted documents, as they were when it was opened."""

    def __init__(self, root: Path, entry: SegmentEntry) -> None:
        self.entry = entry
        self.folder = folder = root / entry.name
        for name, expected in entry.files.items():
            bulky = name in _BULKY and expected.size > _CHECKED_AT_OPEN
            if name == DOCUMENTS_FILE or bulky:
                check_size(folder / name, expected)
            else:
                check_content(folder / name, expected)
        self.n_docs = entry.n_docs
        self.lengths: Offsets = map_array(folder / "lengths.npy")
        self.ids = _strings(folder, "ids")
        self._id_slots: Ids = map_array(folder / "ids-slots.npy")
        self.terms = _strings(folder, "terms")
        self._term_slots: Ids = map_array(folder / "terms-slots.npy")
        self.forward: Bytes = map_array(folder / "forward.npy")
        self.forward_offsets: Offsets = map_array(folder / "forward-offsets.npy")
        self.postings = Postings(
            *(
                map_array(folder / f"postings-{name.replace('_', '-')}.npy")
                for name in Postings._fields
            )
        )
        self.documents = Documents(folder)
        self.fields = Fields(folder, entry.n_docs)
        self.deleted: Ints = np.empty(0, np.int64)
        self._deleted_terms = (np.empty(0, np.int64),) * 3
        self.live: Bools = np.ones(entry.n_docs, np.bool_)
        if entry.deleted is not None:
            self._read_tombstones(root / entry.deleted.name)

    def find_terms(self, keys: Strings) -> Ints:
        """Look up terms that this segment was the first to use: their numbers, else -1."""
        found = find(keys, self.terms, self._term_slots)
        return np.where(found >= 0, found + self.entry.first_term, -1)

    def find_docs(self, keys: Strings) -> Ints:
        """Look up live documents by id: their numbers in the segment, else -1."""
        found = find(keys, self.ids, self._id_slots)
        return np.where((found >= 0) & self.live[found], found, -1) if self.n_docs else found

    def frequencies(self, terms: Ints) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms, deleted documents left out."""
        held = self.postings
        doc_freqs, term_freqs = count_terms(
            terms.astype(np.int64, copy=False),
            held.terms,
            held.term_freqs,
            held.entry_bounds,
            held.starts,
        )
        dead, dead_docs, dead_counts = self._deleted_terms
        if len(dead):
            rows = find_rows(dead, terms)
            doc_freqs -= np.where(rows >= 0, dead_docs[rows], 0)
            term_freqs -= np.where(rows >= 0, dead_counts[rows], 0)
        return doc_freqs, term_freqs

    def sentences(self, doc: int) -> Ints:
        """Give the lengths in bytes of a document's sentences."""
        start, stop = (int(at) for at in self.forward_offsets[doc : doc + 2])
        return decode_sentences(self.forward, start, stop)

    def check(self) -> None:
        """Read every file and raise if one was altered."""
        for name, expected in self.entry.files.items():
            check_content(self.folder / name, expected)
        if self.entry.deleted is not None:
            self._check_tombstones(self.folder.parent / self.entry.deleted.name)

    def _check_tombstones(self, folder: Path) -> None:
        assert self.entry.deleted is not None
        for name, expected in self.entry.deleted.files.items():
            check_content(folder / name, expected)

    def _read_tombstones(self, folder: Path) -> None:
        self._check_tombstones(folder)
        self.deleted = map_array(folder / "docs.npy")
        self.live[self.deleted] = False
        self._deleted_terms = (
            map_array(folder / "terms.npy"),
            map_array(folder / "doc-freqs.npy"),
            map_array(folder / "term-freqs.npy"),
        )


@kernel
def count_terms(
    terms: Ints, held: Offsets, freqs: Offsets, entry_bounds: Offsets, starts: Offsets
) -> tuple[Ints, Ints]:
    """Look up the document and total frequencies of terms, 0 for those that are not held.

    Equals `starts[entry_bounds[rows + 1]] - starts[entry_bounds[rows]]` and `freqs[rows]`, with
    `rows = np.searchsorted(held, terms)`.
    """
    doc_freqs = np.zeros(len(terms), np.int64)
    term_freqs = np.zeros(len(terms), np.int64)
    n = len(held)
    for i in range(len(terms)):
        # A first segment holds every term up to its last, so that most stand at their number.
        row = terms[i]
        if row < 0 or row >= n or np.int64(held[row]) != terms[i]:
            row = np.searchsorted(held, terms[i])
            if row == n or np.int64(held[row]) != terms[i]:
                continue
        first, last = np.int64(entry_bounds[row]), np.int64(entry_bounds[row + 1])
        doc_freqs[i] = np.int64(starts[last]) - np.int64(starts[first])
        term_freqs[i] = freqs[row]
    return doc_freqs, term_freqs


def find_rows(ascending: Offsets | Ints, values: Ints) -> Ints:
    """Find the place of each value in an ascending array, -1 where it is not there."""
    if len(ascending) == 0:
        return np.full(len(values), -1, np.int64)
    # In the array's own type: else NumPy converts the whole array for a few values.
    keys: Any = values.astype(ascending.dtype, copy=False)
    rows = np.searchsorted(ascending, keys)
    rows[rows == len(ascending)] = 0
    return np.where((ascending[rows] == keys) & (values >= 0), rows, -1)


def _strings(folder: Path, name: str) -> Strings:
    return Strings(map_array(folder / f"{name}.npy"), map_array(folder / f"{name}-offsets.npy"))
