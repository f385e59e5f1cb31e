"""How much of a document's title does the document in hand say? A part of likeness.

What a text refers to (a related page, a cited paper, an entry that explains a word) is named in it
by its title. The part is the share of the title's words that the text has, by their idf, with a
word that occurs f times counted as `f / (f + 1)`:

    Σ idf(w) f(w) / (f(w) + 1)  /  Σ idf(w)    over the words w of the title

It is linear in the weights of the text's words, so that documents in hand can be mixed.
"""

from __future__ import annotations

import numpy as np

from likewise.collection.records import PART, get, read_terms
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import TITLE
from likewise.compiled import Bytes, Doubles, Floats, Int, Ints, Offsets, kernel
from likewise.like.components import EncodedQuery, find_among
from likewise.like.kernels import FLAGS, Table, place_of, table_of
from likewise.retrieve.models import bm25_idf

# Where fewer documents have a title, those that have one would be preferred for that alone.
_LEAST_TITLED = 0.5


def has_titles(collection: Snapshot) -> bool:
    """Tell whether most documents have a title."""
    if not collection.has_field(TITLE):
        return False
    live = collection.live_docs()
    return bool(len(live) and (collection.lengths(live, TITLE) > 0).mean() >= _LEAST_TITLED)


class Titles:
    """Shares of titles that the document in hand says."""

    def __init__(self, collection: Snapshot) -> None:
        self._collection = collection

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents; 0 for those without a title."""
        scores = np.zeros(len(docs))
        if self._collection.has_field(TITLE):
            table, rarity = table_of(query.said_terms, query.said), self._every_idf
            for i, places, rows in self._collection.by_segment(docs):
                part = np.empty(len(rows))
                records = self._collection.segments[i].words(TITLE).records
                cover_titles(rows, (records.stream, records.offsets), rarity, table, part)
                scores[places] = part
        return scores

    def scan(self, query: EncodedQuery, weight: float, out: Floats) -> None:
        """Add the scores of all documents."""
        out += (weight * self.score(query, np.arange(len(out)))).astype(np.float32)

    def split(self, query: EncodedQuery, docs: Ints, terms: Ints) -> Doubles:
        """Give what terms (ascending, the query's among them) give to documents, a row for each."""
        out = np.zeros((len(docs), len(terms)))
        if not self._collection.has_field(TITLE) or not len(terms):
            return out
        counts = self._collection.term_counts(docs, TITLE)
        said = np.zeros(len(terms))
        said[np.searchsorted(terms, query.said_terms)] = query.said
        owners = np.repeat(np.arange(len(docs)), np.diff(counts.bounds))
        rarity = self._every_idf[counts.terms]
        whole = np.bincount(owners, rarity, len(docs))
        at, shared = find_among(terms, counts.terms)
        out[owners[shared], at] = said[at] * rarity[shared] / whole[owners[shared]]
        return out

    @property
    def _every_idf(self) -> Doubles:
        """The rarity of each term in the main field."""
        return self._collection.memo(("idf",), self._measure_idf)

    def _measure_idf(self) -> Doubles:
        doc_freqs, _ = self._collection.frequencies(np.arange(self._collection.n_terms))
        return bm25_idf(self._collection.n_docs, doc_freqs)


@kernel
def cover_titles(
    rows: Ints, records: tuple[Bytes, Offsets], rarity: Doubles, table: Table, out: Doubles
) -> None:
    """Give the shares of some documents' titles that a query says, from their records.

    Equals, for a dense vector `q` of the query's weights,
    `(q[terms] * rarity[terms]).sum() / rarity[terms].sum()` over the terms of each title, 0 for an
    empty one.
    """
    stream, offsets = records
    keys, values, flags = table
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    for i in range(len(rows)):
        start, stop = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        n, at = get(stream, start, stop)
        term: Int = 0
        there, whole = 0.0, 0.0
        left: Int = min(n, stop - start)
        while left > 0:
            m = min(left, PART)
            term, at = read_terms(stream, at, stop, term, terms[:m], counts[:m])
            for j in range(m):
                # A damaged record may have terms that there are not.
                if terms[j] < 0 or terms[j] >= len(rarity):
                    break
                whole += rarity[terms[j]]
                if flags[terms[j] & FLAGS]:
                    place = place_of(terms[j], keys)
                    if keys[place] == terms[j]:
                        there += values[place] * rarity[terms[j]]
            left -= m
        out[i] = there / whole if whole > 0 else 0.0
