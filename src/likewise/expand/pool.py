"""What do documents hold? Their terms, counted, with what the collection knows of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Ids, Int, Ints, kernel
from likewise.errors import DamagedError
from likewise.retrieve.lookup import LARGEST_WEIGHT, LEAST_WEIGHT
from likewise.retrieve.models import bm25_idf

# Values are equal that fall into the same of so many steps up to the largest: what the order of
# a sum can change is far below that.
_STEPS = 1e12
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """The counts of documents, a row for each; columns are the terms that they and a query have.

    Row i is `columns[bounds[i]:bounds[i + 1]]` with `counts`; `terms` are numbers, ascending;
    `query` is the query's weight of each. Terms that the analysis does not admit are left out,
    but count in `lengths` (which are at least 1, so that one can divide by them).
    """

    docs: Ints
    lengths: Doubles
    bounds: Ints
    columns: Ints
    counts: Doubles
    terms: Ints
    doc_freqs: Ints
    term_freqs: Ints
    query: Doubles
    collection: Snapshot

    @cached_property
    def rows(self) -> Ints:
        """The document of each count."""
        return np.repeat(np.arange(len(self.docs)), np.diff(self.bounds))

    @cached_property
    def asked(self) -> Ints:
        """The columns of the query's terms, the rarest first."""
        places = np.flatnonzero(self.query)
        return places[np.argsort(self.doc_freqs[places], kind="stable")]

    @cached_property
    def idf(self) -> Doubles:
        """`ln(1 + (N - n + ½)/(n + ½))` of each term, as in BM25."""
        return bm25_idf(self.collection.n_docs, self.doc_freqs)

    @cached_property
    def background(self) -> Doubles:
        """The share of each term in the whole collection."""
        return self.term_freqs / max(self.collection.n_tokens, 1)

    @cached_property
    def n_tokens(self) -> int:
        """How long the documents are together."""
        return int(self.collection.lengths(self.docs).sum())

    def total(self, values: Doubles) -> Doubles:
        """Add up, for each term, a value for each count."""
        totals: Doubles = np.bincount(self.columns, values, len(self.terms)).astype(np.float64)
        return totals

    def weighted(self, weights: Doubles) -> Doubles:
        """Add up, for each term, its counts, each multiplied by its document's weight."""
        return add_counts(self.bounds, self.columns, self.counts, weights, len(self.terms))

    def largest(self, values: Doubles, n: int) -> Ints:
        """Give the columns of the n largest values above 0, the largest first.

        Of equal values that of the rarer term comes first, and where n would part equals, those
        that come first in the alphabet are taken: it makes no difference what was added to the
        collection and deleted before.
        """
        top = float(values.max(initial=0))
        if top <= 0:
            return np.empty(0, np.int64)
        least = float(np.partition(values, -n)[-n]) if n < len(values) else 0.0
        among = np.flatnonzero(values >= max(least - top / _STEPS, _TINY))
        keys = np.rint(values[among] * (-_STEPS / top))
        rarity = self.doc_freqs[among]
        order = np.lexsort((rarity, keys))
        found = among[order]
        if len(found) > n:
            last = order[n - 1]
            equal = np.flatnonzero(((keys == keys[last]) & (rarity == rarity[last]))[order])
            if equal[-1] >= n:
                names = self.names(found[equal])
                found[equal] = found[equal[sorted(range(len(names)), key=names.__getitem__)]]
        return found[:n]

    def names(self, columns: Ints) -> list[str]:
        """Give the terms of columns."""
        return self.collection.terms(self.terms[columns])

    def occurs(self, columns: Ints) -> Bools:
        """Tell which documents (rows) have which of some terms."""
        place = np.full(len(self.terms), -1, np.int64)
        place[columns] = np.arange(len(columns))
        found = np.zeros((len(self.docs), len(columns)), np.bool_)
        at = place[self.columns]
        found[self.rows[at >= 0], at[at >= 0]] = True
        return found


def read_pool(collection: Snapshot, docs: Ints, query: Mapping[str, float]) -> Pool:
    """Read documents, and look up the query's terms (those that no document has are left out)."""
    bounds, terms, counts = collection.term_counts(docs)
    if terms.view(np.uint32).max(initial=0) >= max(collection.n_terms, 1):
        raise DamagedError(
            f"{collection.folder}: a document has a term that is none; restore it from a copy, or "
            "index again"
        )
    lengths = np.maximum(collection.lengths(docs), 1).astype(np.float64)
    names = sorted(t for t, weight in query.items() if LEAST_WEIGHT <= weight <= LARGEST_WEIGHT)
    asked = collection.find_terms(names)
    given = np.array([query[name] for name in names], np.float64)[asked >= 0]
    distinct, columns = number_terms(terms, asked[asked >= 0], collection.n_terms)
    doc_freqs, term_freqs = collection.frequencies(distinct)
    weights = np.zeros(len(distinct))
    weights[columns[len(terms) :]] = given
    columns = columns[: len(terms)]
    admitted = collection.admitted(doc_freqs, term_freqs)
    if not admitted.all():
        kept = admitted[columns]
        bounds = np.concatenate([[0], np.cumsum(kept)])[bounds]
        columns = (np.cumsum(admitted) - 1)[columns[kept]]
        counts, distinct, weights = counts[kept], distinct[admitted], weights[admitted]
        doc_freqs, term_freqs = doc_freqs[admitted], term_freqs[admitted]
    return Pool(
        docs,
        lengths,
        bounds,
        columns,
        counts.astype(np.float64),
        distinct,
        doc_freqs,
        term_freqs,
        weights,
        collection,
    )


@kernel
def number_terms(terms: Ids, more: Ints, n_terms: Int) -> tuple[Ints, Ints]:
    """Find the distinct terms and the place of each term among them, by a bit for every term.

    Equals `np.unique(np.concatenate([terms, more]), return_inverse=True)`; all terms are from 0
    to `n_terms - 1`.
    """
    one = np.uint64(1)
    bits = np.zeros((n_terms >> 6) + 1, np.uint64)
    for i in range(len(terms)):
        bits[np.int64(terms[i]) >> 6] |= one << np.uint64(terms[i] & 63)
    for i in range(len(more)):
        bits[more[i] >> 6] |= one << np.uint64(more[i] & 63)
    before = np.empty(len(bits), np.int64)
    n: Int = 0
    for word in range(len(bits)):
        before[word] = n
        n += count_bits(bits[word])
    distinct = np.empty(n, np.int64)
    n = 0
    for word in range(len(bits)):
        left = bits[word]
        while left:
            rest = left & (left - one)
            distinct[n] = (word << 6) + count_bits((left ^ rest) - one)
            left = rest
            n += 1
    places = np.empty(len(terms) + len(more), np.int64)
    for i in range(len(places)):
        term = np.int64(terms[i]) if i < len(terms) else more[i - len(terms)]
        below = (one << np.uint64(term & 63)) - one
        places[i] = before[term >> 6] + count_bits(bits[term >> 6] & below)
    return distinct, places


@kernel
def count_bits(word: Any) -> Any:
    """Count the bits of a word of 64. Equals `int(word).bit_count()`."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def add_counts(bounds: Ints, columns: Ints, counts: Doubles, weights: Doubles, n: Int) -> Doubles:
    """Add up each column's counts, multiplied by the weights of their rows.

    Equals `np.bincount(columns, counts * np.repeat(weights, np.diff(bounds)), n)`.
    """
    out = np.zeros(n, np.float64)
    for row in range(len(weights)):
        for j in range(bounds[row], bounds[row + 1]):
            out[columns[j]] += counts[j] * weights[row]
    return out
