"""How do steps make a search? Queries and rankings flow from stage to stage: `bm25 >> cut`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.records import Query, Ranking
from likewise.retrieve.explain import Part

NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.float64))


class Answered(NamedTuple):
    """A query and the ranking it has so far (empty before the first retrieval)."""

    query: Query
    ranking: Ranking = NOTHING


class Stage:
    """A step of a search; a subclass says in `apply` what it does to queries with rankings."""

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Take queries with the rankings so far; give as many, in the same order."""
        raise UsageError(f"{type(self).__name__} does not say what it does: define apply")

    def after(self, before: Stage) -> Stage:
        """Give the stage as it is to be after another; most do not mind what comes before them."""
        return self

    def score(self, query: Query, docs: Ints) -> Doubles | None:
        """Score documents whether or not they were ranked; None for what cannot be told."""
        return None

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split the score that the stage gave a document; the query is as the stage left it."""
        raise UsageError(f"{self!r} does not say what its scores are made of")

    def __call__(self, queries: str | Query | Iterable[str | Query | Answered]) -> list[Answered]:
        """Run the stage on queries: texts, `Query` records, or the answers of another stage."""
        alone = isinstance(queries, str | Query)
        several = cast("Iterable[str | Query | Answered]", [queries] if alone else queries)
        return self.apply([_answered(query, i) for i, query in enumerate(several, 1)])

    def __rshift__(self, other: Stage | Callable[[Answered], Answered]) -> Stage:
        """Send what this stage gives through another, or through a function of one answer."""
        if not isinstance(other, Stage):
            if not callable(other):
                raise UsageError(
                    f"{other!s} is neither a stage nor a function; an expander becomes a stage by "
                    "the collection's `expand`"
                )
            other = Each(other)
        chained = _parts(self)
        for part in _parts(other):
            chained = (*chained, part.after(Chain(chained) if len(chained) > 1 else chained[0]))
        return Chain(chained)


class Chain(Stage):
    """Stages one after the other."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(stages)

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Run every stage on what the last one gave."""
        for stage in self.stages:
            batch = stage.apply(batch)
        return list(batch)

    def score(self, query: Query, docs: Ints) -> Doubles | None:
        """Score documents by the last stage."""
        return self.stages[-1].score(query, docs)

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split a score of the last stage."""
        return self.stages[-1].explain(query, doc)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))


class Each(Stage):
    """A function of one answer, as a stage: to rewrite queries or re-rank."""

    def __init__(self, function: Callable[[Answered], Answered]) -> None:
        self.function = function

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Call the function on each."""
        return [self.function(answered) for answered in batch]

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


class Cut(Stage):
    """Keep the k best documents."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise UsageError(f"a cut-off must be at least 1, not {k}")
        self.k = k

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Cut each ranking."""
        return [
            Answered(query, Ranking(ranking.docs[: self.k], ranking.scores[: self.k]))
            for query, ranking in batch
        ]

    def __repr__(self) -> str:
        return f"Cut({self.k})"


def text_of(query: Query, stage: Stage) -> str:
    """Give the text of a query to a stage that has no use for terms."""
    if query.expansion and not query.expansion.left:
        raise UsageError(f"{stage!r} compares texts, and has no use for the terms of an expansion")
    return query.text


def _answered(query: str | Query | Answered, number: int) -> Answered:
    if isinstance(query, Answered):
        return query
    return Answered(Query(str(number), query) if isinstance(query, str) else query)


def _parts(stage: Stage) -> tuple[Stage, ...]:
    return stage.stages if isinstance(stage, Chain) else (stage,)
