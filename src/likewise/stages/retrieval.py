"""Search by words as a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from likewise.compiled import Bools, Doubles, Ints
from likewise.records import Query
from likewise.retrieve.explain import Part, explain
from likewise.retrieve.search import Retriever
from likewise.stages.stage import Answered, Stage


class Retrieve(Stage):
    """Rank the documents of a collection for each query; earlier rankings are replaced."""

    def __init__(
        self,
        retriever: Retriever,
        *,
        k: int = 1000,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> None:
        self.retriever = retriever
        self.k = k
        self.allowed = allowed
        self._threads = threads

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Search for the queries' terms."""
        rankings = self.retriever.rank(
            [self.terms(answered.query) for answered in batch],
            k=self.k,
            allowed=self.allowed,
            threads=self._threads,
        )
        return [
            Answered(answered.query, ranking)
            for answered, ranking in zip(batch, rankings, strict=True)
        ]

    def terms(self, query: Query) -> Mapping[str, float]:
        """Give the weighted terms of a query: its own, or those of its text."""
        if query.terms is not None:
            return query.terms
        return self.retriever.collection.analyzer.counts(query.text)

    def score(self, query: Query, docs: Ints) -> Doubles:
        """Score documents for a query's terms; -inf for those that have none of them."""
        collection = self.retriever.collection
        masks = [np.zeros(segment.n_docs, np.bool_) for segment in collection.segments]
        owners = np.searchsorted(collection.bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            masks[i][docs[owners == i] - collection.bases[i]] = True
        scores = np.full(len(docs), -np.inf)
        if len(docs):
            [found] = self.retriever.rank([self.terms(query)], k=len(docs), allowed=masks)
            order = np.argsort(docs, kind="stable")
            scores[order[np.searchsorted(docs[order], found.docs)]] = found.scores
        return scores

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split a score by the terms of the query."""
        return explain(self.retriever, self.terms(query), doc)

    def __repr__(self) -> str:
        return f"{self.retriever.model}"
