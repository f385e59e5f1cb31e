"""Which documents match these words?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from likewise.collection.segment import Segment, find_rows
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.retrieve.best import NO_ANSWER, scores_and_docs
from likewise.retrieve.kernels import Workspace, make_workspace, search_batch
from likewise.retrieve.models import Model, QueryTerms

_BATCH = 256
_BATCH_ANSWERS = 1 << 20
_CACHE_LIMIT = 200_000
_LARGEST_WEIGHT = 1e30


class Retriever:
    """Ranks the documents of a snapshot by a model; safe to use from several threads."""

    def __init__(self, collection: Snapshot, model: Model) -> None:
        self.collection = collection
        self.model = model
        self._norms: dict[str, Floats] = {}
        self._best: dict[str, Floats] = {}
        self._known: dict[str, tuple[int, int, int]] = {}
        self._spaces: list[Workspace] = []

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

        `allowed` masks the documents of each segment; `threads` 0 is one for each core; pruning
        changes the time, not the answer.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        if threads < 0:
            raise UsageError(f"threads must be at least 1, or 0 for all cores, not {threads}")
        threads = threads or os.cpu_count() or 1
        k = min(k, max(self.collection.n_docs, 1))
        size = min(_BATCH, -(-len(queries) // threads) or 1, max(_BATCH_ANSWERS // k, 1))
        batches = [queries[i : i + size] for i in range(0, len(queries), size)]

        def rank_batch(batch: Sequence[Mapping[str, float]]) -> list[Ranking]:
            return self._rank(batch, k, allowed, prune)

        if threads == 1 or len(batches) < 2:
            return [ranking for batch in batches for ranking in rank_batch(batch)]
        with ThreadPoolExecutor(threads) as pool:
            return [ranking for rankings in pool.map(rank_batch, batches) for ranking in rankings]

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        k: int,
        allowed: Sequence[Bools] | None,
        prune: bool,
    ) -> list[Ranking]:
        bounds, terms, weights, factors, shares = self.weigh(queries)
        keys = np.full((len(queries), k), NO_ANSWER, np.int64)
        sizes = np.zeros(len(queries), np.int64)
        space = self._spaces.pop() if self._spaces else make_workspace()
        for i, segment in enumerate(self.collection.segments):
            if segment.n_docs == 0 or len(segment.postings.terms) == 0:
                continue
            rows = find_rows(segment.postings.terms, terms)
            live = segment.live if allowed is None else allowed[i] & segment.live
            search_batch(
                segment.postings,
                (self.model.impact, self._segment_norms(segment)),
                (bounds, rows, weights, factors, shares),
                (live, self.collection.bases[i]),
                (keys, sizes),
                self._segment_best(segment),
                prune,
                space,
            )
        self._spaces.append(space)
        keys.sort(axis=1)
        scores, docs = scores_and_docs(keys[:, ::-1])
        return [
            Ranking(docs[q, :n].copy(), scores[q, :n].astype(np.float64))
            for q, n in enumerate(sizes.tolist())
        ]

    def weigh(
        self, queries: Sequence[Mapping[str, float]]
    ) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Turn queries into the known terms of each, in the order in which scores are summed.

        That is by descending weight, then the rarer term, then the term itself: none of which
        depends on what was added and deleted before. Gives the bounds of the queries, the
        terms' numbers, weights and factors, and the share of the documents' own part.
        """
        known = self._look_up({term for query in queries for term in query})
        found = [
            (owner, weight, *known[term])
            for owner, query in enumerate(queries)
            for term, weight in sorted(query.items())
            if known[term][0] >= 0 and weight and math.fabs(weight) <= _LARGEST_WEIGHT
        ]
        owners, given, terms, doc_freqs, term_freqs = np.array(found, np.float64).reshape(-1, 5).T
        owners = owners.astype(np.int64)
        bounds = np.searchsorted(owners, np.arange(len(queries) + 1))
        shares = np.zeros(len(queries), np.float32)
        if self.model.has_own_part:
            shares = np.bincount(owners, given, len(queries)).astype(np.float32)
        about = QueryTerms(owners, given, doc_freqs.astype(np.int64), term_freqs.astype(np.int64))
        weighed = self.model.term_weights(about, self.collection.n_docs, self.collection.n_tokens)
        weights = weighed.weights.astype(np.float32)
        order = np.lexsort((doc_freqs, -weights, owners))
        return (
            bounds,
            terms.astype(np.uint32)[order],
            weights[order],
            weighed.factors.astype(np.float32)[order],
            shares,
        )

    def _look_up(self, terms: Iterable[str]) -> dict[str, tuple[int, int, int]]:
        """Give the number (-1 where it is not searched for) and the frequencies of terms."""
        known = self._known
        new = [term for term in terms if term not in known]
        if new:
            if len(known) > _CACHE_LIMIT:
                # A new one, as other threads may be reading the old.
                known, new = {}, list(terms)
            numbers = self.collection.find_terms(new)
            doc_freqs, term_freqs = self.collection.frequencies(numbers)
            numbers[~self.collection.admitted(doc_freqs, term_freqs)] = -1
            table = (numbers.tolist(), doc_freqs.tolist(), term_freqs.tolist())
            known.update(zip(new, zip(*table, strict=True), strict=True))
            self._known = known
        return known

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
