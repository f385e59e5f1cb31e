"""Which documents match these words?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from likewise.collection.segment import Segment, find_rows
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.retrieve.kernels import order_heaps, search_batch
from likewise.retrieve.models import Model, QueryTerms

# Beyond this many terms bounds add up to more than they save.
LONGEST_PRUNED = 24
_BATCH = 256


class Retriever:
    """Ranks the documents of a snapshot by a model; safe to use from several threads."""

    def __init__(self, collection: Snapshot, model: Model) -> None:
        self.collection = collection
        self.model = model
        self._norms: dict[str, Floats] = {}
        self._best: dict[str, Floats] = {}

    def rank(
        self,
        queries: Sequence[Mapping[str, float]],
        *,
        k: int = 10,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
        prune: bool = True,
    ) -> list[Ranking]:
        """Find the k best documents for each query, given as analysed terms with weights.

        `allowed` masks the documents of each segment; pruning changes the time, not the answer.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        batches = [queries[i : i + _BATCH] for i in range(0, len(queries), _BATCH)]
        longest = LONGEST_PRUNED if prune else -1

        def rank_batch(batch: Sequence[Mapping[str, float]]) -> list[Ranking]:
            return self._rank(batch, k, allowed, longest)

        if threads == 1 or len(batches) < 2:
            return [ranking for batch in batches for ranking in rank_batch(batch)]
        with ThreadPoolExecutor(threads) as pool:
            return [ranking for rankings in pool.map(rank_batch, batches) for ranking in rankings]

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        k: int,
        allowed: Sequence[Bools] | None,
        longest: int,
    ) -> list[Ranking]:
        bounds, terms, weights, factors, shares = self.weigh(queries)
        k = min(k, max(self.collection.n_docs, 1))
        heaps = (
            np.empty((len(queries), k), np.float32),
            np.empty((len(queries), k), np.int64),
            np.zeros(len(queries), np.int64),
        )
        for i, segment in enumerate(self.collection.segments):
            if segment.n_docs == 0 or len(segment.postings.terms) == 0:
                continue
            search_batch(
                segment.postings,
                (self.model.impact, self._segment_norms(segment)),
                (bounds, find_rows(segment.postings.terms, terms), weights, factors, shares),
                segment.live if allowed is None else allowed[i] & segment.live,
                self.collection.bases[i],
                heaps,
                self._segment_best(segment),
                longest,
            )
        order_heaps(heaps)
        scores, docs, sizes = heaps
        return [
            Ranking(docs[q, :n].copy(), scores[q, :n].astype(np.float64))
            for q, n in enumerate(sizes.tolist())
        ]

    def weigh(
        self, queries: Sequence[Mapping[str, float]]
    ) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Turn queries into the known terms of each, in descending order of weight."""
        collection, model = self.collection, self.model
        distinct = list({term for query in queries for term in query})
        numbers = dict(zip(distinct, collection.find_terms(distinct).tolist(), strict=True))
        owners = np.repeat(np.arange(len(queries)), [len(query) for query in queries])
        terms = np.array([numbers[term] for query in queries for term in query], np.int64)
        given = np.array([weight for query in queries for weight in query.values()], np.float64)
        used, inverse = np.unique(terms, return_inverse=True)
        doc_freqs, term_freqs = collection.frequencies(used)
        admitted = (used >= 0) & collection.admitted(doc_freqs, term_freqs)
        keep = admitted[inverse] & (given != 0) & np.isfinite(given)
        owners, terms, given, inverse = owners[keep], terms[keep], given[keep], inverse[keep]
        about = QueryTerms(owners, given, doc_freqs[inverse], term_freqs[inverse])
        shares = np.zeros(len(queries), np.float32)
        if len(terms) == 0:
            return (
                np.zeros(len(queries) + 1, np.int64),
                terms,
                *[np.empty(0, np.float32)] * 2,
                shares,
            )
        if model.has_own_part:
            shares = np.bincount(owners, given, len(queries)).astype(np.float32)
        weighed = model.term_weights(about, collection.n_docs, collection.n_tokens)
        weights = weighed.weights.astype(np.float32)
        order = np.lexsort((terms, -weights, owners))
        bounds = np.searchsorted(owners, np.arange(len(queries) + 1))
        return (
            bounds,
            terms[order],
            weights[order],
            weighed.factors.astype(np.float32)[order],
            shares,
        )

    def norm(self, doc: int) -> np.float32:
        """Give a document's norm."""
        owner = int(np.searchsorted(self.collection.bases, doc, "right")) - 1
        norms = self._segment_norms(self.collection.segments[owner])
        return np.float32(norms[doc - int(self.collection.bases[owner])])

    def _segment_norms(self, segment: Segment) -> Floats:
        name = segment.entry.name
        if name not in self._norms:
            self._norms[name] = self.model.norms(segment, self.collection)
        return self._norms[name]

    def _segment_best(self, segment: Segment) -> Floats:
        name = segment.entry.name
        if name not in self._best:
            self._best[name] = np.full(len(segment.postings.entry_blocks), -1, np.float32)
        return self._best[name]
