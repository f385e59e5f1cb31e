"""Which documents and terms is a model fitted on? Drawn, counted and read in passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ints
from likewise.models.bags import Vocabulary
from likewise.models.lanczos import Weighted

# How much memory a fit takes, where nothing else is said.
MEMORY = 1 << 30
_READ_CHUNK = 4096
_MIN_DF, _MANY_DOCS = 4, 10_000


def read_counts(collection: Snapshot, docs: Ints) -> Iterator[TermCounts]:
    """Read the term counts of documents, some thousands at a time."""
    for first in range(0, len(docs), _READ_CHUNK):
        yield collection.term_counts(docs[first : first + _READ_CHUNK])


class SampleCounts(NamedTuple):
    """How many documents of a sample have each term of the collection, and how often they do."""

    doc_freqs: Ints
    term_freqs: Ints

    @property
    def n_tokens(self) -> int:
        """How many words the documents have together."""
        return int(self.term_freqs.sum())


def count_terms(collection: Snapshot, docs: Ints) -> SampleCounts:
    """Count the terms of documents, in one pass over them."""
    doc_freqs, term_freqs = np.zeros((2, collection.n_terms), np.int64)
    for counts in read_counts(collection, docs):
        doc_freqs += np.bincount(counts.terms, minlength=len(doc_freqs))
        term_freqs += np.bincount(counts.terms, counts.counts, len(term_freqs)).astype(np.int64)
    return SampleCounts(doc_freqs, term_freqs)


def room_for_terms(memory: int, per_term: int) -> int:
    """Give how many terms a fit has room for, of which each takes so many bytes."""
    return max(memory * 3 // 4 // per_term, 1)


def weighed_documents(
    collection: Snapshot,
    docs: Ints,
    weigh: Callable[[TermCounts], Weighted],
    vocabulary: Vocabulary,
    memory: int,
) -> Callable[[], Iterable[Weighted]]:
    """Give passes over documents: kept where memory has room for them, else read each time."""

    def stream() -> Iterator[Weighted]:
        return map(weigh, read_counts(collection, docs))

    return list(stream()).__iter__ if 8 * int(vocabulary.doc_freqs.sum()) <= memory // 4 else stream


def choose_terms(collection: Snapshot, doc_freqs: Ints, n_docs: int, *, limit: int) -> Vocabulary:
    """Choose the terms that recur, frequent ones too: unknown to the model they would look rare."""
    least = min(_MIN_DF if n_docs >= _MANY_DOCS else 2, max(n_docs // 8, 1))
    terms = np.flatnonzero(doc_freqs >= least)
    if len(terms) == 0:
        terms = np.flatnonzero(doc_freqs)
    if len(terms) > limit:
        terms = np.sort(terms[np.argsort(-doc_freqs[terms], kind="stable")[:limit]])
    doc_freqs = doc_freqs[terms]
    if collection.analysis.filters_terms:
        # What the analysis does not admit says nothing, as if it were in every document.
        admitted = collection.admitted(*collection.frequencies(terms))
        doc_freqs = np.where(admitted, doc_freqs, n_docs)
    return Vocabulary(terms, doc_freqs, n_docs)
