"""Search by words as a stage: rankings, and the scorer that each leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.collection.words import MAIN
from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.records import EMPTY, Explanation, Query, Ranking, explanation
from likewise.retrieve.documents import Whole, rank_examples, score_records, split_records
from likewise.retrieve.models import BM25, Model
from likewise.retrieve.search import Retriever
from likewise.stages.masks import mask_of
from likewise.stages.stage import Context, Result, by_mask
from likewise.stages.word_forms import terms_asked


def retriever_of(snapshot: Snapshot, model: Model, field: str = MAIN) -> Retriever:
    """Give a search by words of a snapshot, in a field of them, made once."""
    key = ("retriever", model, field)
    return snapshot.memo(key, lambda: Retriever(snapshot, model, field))


def search_words(model: Model, batch: Sequence[Result], context: Context) -> list[Result]:
    """Rank for each query the documents that have its words; k of 0 only leaves the scorer.

    Of documents in hand each is a query of all its words.
    """
    snapshot = context.snapshot
    retriever = retriever_of(snapshot, model)
    in_hand = [bool(result.query.like) for result in batch]
    if any(in_hand):
        if not all(in_hand):
            return [found for result in batch for found in search_words(model, [result], context)]
        return rank_examples(model, Whole(retriever), batch, context)
    scorers = [WordScorer(retriever, terms_of(result.query, snapshot)) for result in batch]
    for mask, places in by_mask(batch, context) if context.k else ():
        mine = [scorers[i] for i in places]
        allowed = mask.segments if mask.bars else None
        # Scores above 0 count from 0, however few are known.
        k = context.k
        if 0 < context.enough < k and isinstance(model, BM25):
            k = context.enough if all(scorer.is_positive for scorer in mine) else k
        rankings = retriever.rank(
            [scorer.terms for scorer in mine], k=k, allowed=allowed, threads=context.threads
        )
        for scorer, ranking in zip(mine, rankings, strict=True):
            scorer.found, scorer.allowed = ranking, allowed
            scorer.left = context.k if len(ranking.docs) == k < context.k else 0
    return [
        Result(result.query, scorer.found, scorer)
        for result, scorer in zip(batch, scorers, strict=True)
    ]


def terms_of(query: Query, snapshot: Snapshot) -> Mapping[str, float]:
    """Give the weighted terms of a query: its own, or those of its text and what they find."""
    if query.terms is not None:
        return query.terms
    return terms_asked(query.text, snapshot)


class WordScorer:
    """Scores documents by the words of one query, from their records or by a search for them.

    `found` is what the search gave of the documents that were `allowed`: others of these score no
    more than its last. `left` is how many it was asked for where it gave fewer, else 0.
    """

    def __init__(self, retriever: Retriever, terms: Mapping[str, float]) -> None:
        self.retriever = retriever
        self.terms = terms
        self.found = EMPTY
        self.allowed: Sequence[Bools | None] | None = None
        self.left = 0

    @property
    def log(self) -> bool:
        """Whether scores are logarithms."""
        return self.retriever.model.log

    @property
    def searches(self) -> Model:
        """The search behind the scores."""
        return self.retriever.model

    @property
    def is_positive(self) -> bool:
        """Whether no word counts against a document."""
        return min(self.terms.values(), default=0.0) >= 0

    def find_left(self, n: int = 0) -> Ranking:
        """Search again, for the n best, or for all that was asked for (0)."""
        if self.left:
            read = min(n or self.left, self.left)
            [self.found] = self.retriever.rank([self.terms], k=read, allowed=self.allowed)
            if len(self.found.docs) < read or read == self.left:
                self.left = 0
        return self.found

    @cached_property
    def _weighed(self) -> tuple[Ints, Floats, Floats, Floats]:
        _, terms, weights, factors, shares = self.retriever.weigh([self.terms])
        return terms, weights, factors, shares

    def score(self, docs: Ints) -> Doubles:
        """Score documents with the bits of the search; -inf for those that have none of the words.

        Records of the documents are read, or the postings of the words, whichever are fewer.
        """
        snapshot = self.retriever.collection
        terms = self._weighed[0]
        there = np.flatnonzero(mask_of(snapshot).holds(docs, snapshot))
        mine = docs[there]
        field = self.retriever.field
        n_read = int(snapshot.lengths(mine, field).sum())
        if n_read <= int(snapshot.frequencies(terms, field)[0].sum()):
            return self._by_records(docs)
        scores = np.full(len(docs), -np.inf)
        if len(terms):
            [found] = self.retriever.rank([self.terms], k=len(mine), allowed=_only(snapshot, mine))
            order = np.argsort(mine, kind="stable")
            scores[there[order[np.searchsorted(mine[order], found.docs)]]] = found.scores
        return scores

    def _by_records(self, docs: Ints) -> Doubles:
        """Score documents from their records."""
        terms, weights, factors, (share,) = self._weighed
        scores = np.full(len(docs), -np.inf)
        snapshot = self.retriever.collection
        there = np.flatnonzero(mask_of(snapshot).holds(docs, snapshot))
        if len(there) and len(terms):
            query = (terms, weights, factors, share)
            scores[there] = score_records(self.retriever, query, docs[there], absent=-np.inf)
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores by the words of the query, from the records of documents."""
        terms, weights, factors, (share,) = self._weighed
        parts = split_records(self.retriever, (terms, weights, factors, share), docs)
        scores = self._by_records(docs).tolist()
        return [explanation(*one) for one in zip(scores, parts, strict=True)]


def _only(snapshot: Snapshot, docs: Ints) -> list[Bools]:
    masks = [np.zeros(segment.n_docs, np.bool_) for segment in snapshot.segments]
    for i, _, rows in snapshot.by_segment(docs):
        masks[i][rows] = True
    return masks
