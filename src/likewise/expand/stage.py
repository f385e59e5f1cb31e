"""Expansion as a stage: `bm25 >> rm3 >> bm25`."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.compiled import Bools
from likewise.expand.expander import Asked, Expander, Setting, expand
from likewise.records import Query
from likewise.retrieve.search import Retriever
from likewise.stages.retrieval import Retrieve
from likewise.stages.stage import Answered, Chain, Cut, Stage


class Expand(Stage):
    """Give each query the terms that an expander finds; rankings stay as they were.

    `retriever` is what made the rankings: perturbed queries are searched for by it too. One that
    is not `fixed` gives way to that of the search before.
    """

    def __init__(
        self,
        retriever: Retriever,
        how: Expander,
        *,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
        fixed: bool = True,
    ) -> None:
        self.how = how
        self.retriever = retriever
        self.allowed = allowed
        self._setting = Setting(retriever, allowed, threads)
        self._fixed = fixed

    def after(self, before: Stage) -> Expand:
        """Search as the stage before does."""
        stages = [*before.stages] if isinstance(before, Chain) else [before]
        while stages and isinstance(stages[-1], Cut):
            stages.pop()
        if self._fixed or not stages or not isinstance(search := stages[-1], Retrieve):
            return self
        _, allowed, threads = self._setting
        allowed = search.allowed if allowed is None else allowed
        return Expand(search.retriever, self.how, allowed=allowed, threads=threads)

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Expand the queries."""
        queries = [answered.query for answered in batch]
        asked = [Asked(self._terms(query), ranking) for query, ranking in batch]
        grown = expand(self.how, queries, asked, self._setting)
        return [
            Answered(query, answered.ranking) for query, answered in zip(grown, batch, strict=True)
        ]

    def _terms(self, query: Query) -> dict[str, float]:
        if query.terms is not None:
            return dict(query.terms)
        return dict(self._setting.retriever.collection.analyzer.counts(query.text))

    def __repr__(self) -> str:
        return str(self.how)
