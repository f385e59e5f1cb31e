"""Bags of words over a model's own vocabulary: what models are fitted on and applied to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.compiled import Doubles, Ids, Ints
from likewise.errors import UsageError


class Bags(NamedTuple):
    """Documents as counts of vocabulary rows: document i has `rows[bounds[i]:bounds[i + 1]]`."""

    bounds: Ints
    rows: Ids
    counts: Ids

    @property
    def n_docs(self) -> int:
        """How many documents there are."""
        return len(self.bounds) - 1

    @property
    def n_tokens(self) -> int:
        """How many words they have together."""
        return int(self.counts.sum(dtype=np.int64))

    def take(self, docs: Ints) -> Bags:
        """Give some of the documents."""
        sizes = np.diff(self.bounds)[docs]
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.arange(bounds[-1]) + np.repeat(self.bounds[docs] - bounds[:-1], sizes)
        return Bags(bounds, self.rows[at], self.counts[at])


def counts_in(counted: TermCounts | Bags) -> Doubles:
    """Count the words of each document."""
    totals = np.concatenate([[0], np.cumsum(counted.counts, dtype=np.float64)])
    return np.diff(totals[counted.bounds])


@dataclass(frozen=True)
class Vocabulary:
    """The terms that a model knows, by their numbers in the collection, ascending.

    `doc_freqs` and `n_docs` are those of the documents that the model was fitted on.
    """

    terms: Ints
    doc_freqs: Ints
    n_docs: int

    def __len__(self) -> int:
        return len(self.terms)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return {
            "vocabulary": np.asarray(self.terms, np.int64),
            "vocabulary.doc-freqs": np.asarray(self.doc_freqs, np.int64),
        }

    @classmethod
    def load(cls, arrays: Arrays, n_docs: int) -> Vocabulary:
        """Give it as it was stored."""
        return cls(arrays["vocabulary"], arrays["vocabulary.doc-freqs"], n_docs)

    @property
    def idf(self) -> Doubles:
        """Give `ln(N/n)` of each term."""
        return np.log(self.n_docs / np.maximum(self.doc_freqs, 1).astype(np.float64))

    def bags(self, counts: TermCounts) -> Bags:
        """Keep the terms that the vocabulary has."""
        rows = find_rows(self.terms, counts.terms.astype(np.int64))
        known = rows >= 0
        kept = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        return Bags(kept[counts.bounds], rows[known].astype(np.int32), counts.counts[known])


@dataclass(frozen=True)
class Sample:
    """Which documents and terms a model is fitted on.

    `docs` 0 is all of the documents, else a seeded sample of so many. Terms are those that the
    analysis admits, in at least `min_df` of these documents and at most the share `max_df`.
    """

    docs: int = 0
    min_df: int = 4
    max_df: float = 1.0
    seed: int = 0


def draw_docs(collection: Snapshot, n: int, seed: int) -> Ints:
    """Draw n of a collection's documents by a seed; 0 are all of them."""
    docs = collection.live_docs()
    if not n or n >= len(docs):
        return docs
    return docs[np.sort(np.random.default_rng(seed).choice(len(docs), n, replace=False))]


def gather(collection: Snapshot, sample: Sample) -> tuple[Vocabulary, Bags]:
    """Choose a vocabulary and give the documents as bags of it; empty documents are left out."""
    docs = draw_docs(collection, sample.docs, sample.seed)
    counts = collection.term_counts(docs)
    doc_freqs = np.bincount(counts.terms, minlength=collection.n_terms)
    admitted = np.ones(collection.n_terms, np.bool_)
    if collection.analysis.filters_terms:
        admitted = collection.admitted(*collection.frequencies(np.arange(collection.n_terms)))
    most = max(sample.max_df * len(docs), 1)
    # A handful of documents has no term in four of them, and still is a corpus.
    least = min(sample.min_df, max(len(docs) // 8, 1))
    terms = np.flatnonzero(admitted & (doc_freqs >= least) & (doc_freqs <= most))
    if len(terms) == 0:
        raise UsageError(
            f"no term is in {least} to {most:.0f} of the {len(docs)} documents: nothing to fit"
        )
    vocabulary = Vocabulary(terms, doc_freqs[terms], len(docs))
    bags = vocabulary.bags(counts)
    return vocabulary, bags.take(np.flatnonzero(np.diff(bags.bounds)))
