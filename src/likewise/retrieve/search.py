"""Which documents match these words?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from likewise.collection.postings import BLOCK, BLOCK_AT, BLOCK_MASK, Bounds
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import MAIN
from likewise.compiled import Bools, Floats, Ints
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.retrieve.best import NO_ANSWER, unpack
from likewise.retrieve.bm25 import BM25Search
from likewise.retrieve.kernels import Workspace, make_workspace, search_batch
from likewise.retrieve.lookup import LARGEST_WEIGHT, LEAST_WEIGHT, Lookup, weigh_bm25
from likewise.retrieve.models import BM25, Model, QueryTerms, Statistics

_BATCH = 256
_BATCH_ANSWERS = 1 << 20


class Retriever:
    """Ranks the documents of a snapshot by a model; safe to use from several threads.

    `field` is the field of words that is searched.
    """

    def __init__(self, collection: Snapshot, model: Model, field: str = MAIN) -> None:
        self.collection = collection
        self.model = model
        self.field = field
        self.statistics = Statistics(collection, field)
        self._norms: dict[str, Floats] = {}
        self._bounds: dict[str, tuple[Bounds, Floats, Floats]] = {}
        self._spaces: list[Workspace] = []
        self._lookup = Lookup(self.statistics)
        self._bm25 = (
            BM25Search(model, self.statistics, self._lookup) if isinstance(model, BM25) else None
        )

    def rank(
        self,
        queries: Sequence[Mapping[str, float]],
        *,
        k: int = 10,
        allowed: Sequence[Bools | None] | None = None,
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
        if len(queries) == 1:
            return self._rank_batch(queries, k, allowed, prune)
        size = min(_BATCH, -(-len(queries) // threads) or 1, max(_BATCH_ANSWERS // k, 1))
        batches = [queries[i : i + size] for i in range(0, len(queries), size)]

        def rank_batch(batch: Sequence[Mapping[str, float]]) -> list[Ranking]:
            return self._rank_batch(batch, k, allowed, prune)

        if threads == 1 or len(batches) < 2:
            return [ranking for batch in batches for ranking in rank_batch(batch)]
        with ThreadPoolExecutor(threads) as pool:
            return [ranking for rankings in pool.map(rank_batch, batches) for ranking in rankings]

    def _rank_batch(
        self,
        batch: Sequence[Mapping[str, float]],
        k: int,
        allowed: Sequence[Bools | None] | None,
        prune: bool,
    ) -> list[Ranking]:
        """Rank in the calling thread, by one compiled call where the model has one."""
        if self._bm25 is None or not prune or not self._bm25.tells:
            return self._rank(batch, k, allowed, prune)
        found = self._bm25.rank(batch, k=k, allowed=allowed)
        return [
            one if one is not None else self._rank([query], k, allowed, prune)[0]
            for query, one in zip(batch, found, strict=True)
        ]

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        k: int,
        allowed: Sequence[Bools | None] | None,
        prune: bool,
    ) -> list[Ranking]:
        bounds, terms, weights, factors, shares = self.weigh(queries)
        keys = np.full((len(queries), k), NO_ANSWER, np.int64)
        sizes = np.zeros(len(queries), np.int64)
        try:
            space = self._spaces.pop()
        except IndexError:
            space = make_workspace()
        for i, segment in enumerate(self.collection.segments):
            words = segment.words(self.field)
            if segment.n_docs == 0 or len(words.postings.terms) == 0:
                continue
            live = segment.mask
            open_here = None if allowed is None else allowed[i]
            if open_here is not None:
                live = np.zeros(len(segment.mask), np.bool_)
                live[: segment.n_docs] = open_here & segment.live
            search_batch(
                words.postings,
                (self.model.impact, self._segment_norms(segment)),
                (bounds, terms, weights, factors, shares),
                (live, self.collection.bases[i], segment.n_docs),
                (keys, sizes),
                self._segment_bounds(segment),
                prune,
                space,
            )
        self._spaces.append(space)
        keys.sort(axis=1)
        docs, scores = unpack(keys)
        return [
            Ranking(docs[q, :n].copy(), scores[q, :n].copy()) for q, n in enumerate(sizes.tolist())
        ]

    def weigh(
        self, queries: Sequence[Mapping[str, float]]
    ) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Turn queries into the known terms of each, in the order in which scores are summed.

        That is by descending weight, then the rarer term, then the term itself: none of which
        depends on what was added and deleted before. Gives the bounds of the queries, the
        terms' numbers, weights and factors, and the share of the documents' own part.
        """
        ordered = [sorted(query) for query in queries]
        found = self._lookup.find([term for terms in ordered for term in terms])
        given = np.array(
            [query[term] for query, terms in zip(queries, ordered, strict=True) for term in terms],
            np.float64,
        )
        sizes = [len(terms) for terms in ordered]
        shares = np.zeros(len(queries), np.float32)
        if self._bm25 is not None:
            starts = np.cumsum([0, *sizes], dtype=np.int64)
            weighed_by = weigh_bm25(found, starts, given, self.statistics.n_docs)
            return *weighed_by, np.ones(len(weighed_by[1]), np.float32), shares
        owners = np.repeat(np.arange(len(queries)), sizes)
        terms, doc_freqs, term_freqs = found
        size = np.abs(given)
        keep = (terms >= 0) & (size >= LEAST_WEIGHT) & (size <= LARGEST_WEIGHT)
        if not keep.all():
            owners, given, terms = owners[keep], given[keep], terms[keep]
            doc_freqs, term_freqs = doc_freqs[keep], term_freqs[keep]
        bounds = np.searchsorted(owners, np.arange(len(queries) + 1)).astype(np.int64)
        if self.model.has_own_part:
            shares = np.bincount(owners, given, len(queries)).astype(np.float32)
        about = QueryTerms(owners, given, doc_freqs, term_freqs)
        statistics = self.statistics
        weighed = self.model.term_weights(about, statistics.n_docs, statistics.n_tokens)
        weights = weighed.weights.astype(np.float32)
        order = np.lexsort((doc_freqs, -weights, owners))
        return (
            bounds,
            terms[order],
            weights[order],
            weighed.factors.astype(np.float32)[order],
            shares,
        )

    def known(self, terms: Sequence[str]) -> tuple[Ints, Ints, Ints]:
        """Give the numbers of terms (-1: not searched for) and their frequencies."""
        numbers, doc_freqs, term_freqs = self._lookup.find(terms)
        return numbers, doc_freqs, term_freqs

    def norms(self, docs: Ints) -> Floats:
        """Give the norms of documents."""
        out = np.empty(len(docs), np.float32)
        for i, places, rows in self.collection.by_segment(docs):
            segment = self.collection.segments[i]
            lengths = segment.words(self.field).lengths[rows]
            mine = self.model.norms_of(lengths, self.statistics)
            out[places] = self._segment_norms(segment)[rows] if mine is None else mine
        return out

    def _segment_norms(self, segment: Segment) -> Floats:
        name = segment.entry.id
        if name not in self._norms:
            norms = np.zeros(len(segment.mask), np.float32)
            words = segment.words(self.field)
            norms[: segment.n_docs] = self.model.norms(words, self.statistics)
            self._norms[name] = norms
        return self._norms[name]

    def _segment_bounds(self, segment: Segment) -> tuple[Bounds, Floats, Floats]:
        """Give the pairs of entries, their norms, and the bounds of entries known so far."""
        name = segment.entry.id
        if name not in self._bounds:
            words = segment.words(self.field)
            pairs, postings = words.bounds, words.postings
            norms = self.model.norms_of(pairs.lengths.astype(np.uint32), self.statistics)
            if norms is None:
                blocks = self._segment_norms(segment).reshape(-1, BLOCK).max(axis=1)
                sizes = np.diff(pairs.starts.astype(np.int64)).tolist()
                owners = np.repeat(pairs.entries, sizes)
                of_entries = postings.entries[owners] >> BLOCK_AT & BLOCK_MASK
                norms = blocks[of_entries.astype(np.int64)]
            known = np.full(len(postings.entries) - 1, -1, np.float32)
            if self._bm25 is not None:
                known = self._bm25.highest_impacts(words)
            self._bounds[name] = (pairs, norms, known)
        return self._bounds[name]
