"""Search by nearness of vectors, as a stage: documents whose topics are those of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from likewise import notation
from likewise.compiled import Bools
from likewise.like.space import Space
from likewise.records import Query
from likewise.retrieve.explain import Part
from likewise.stages.stage import Answered, Stage, text_of


@dataclass(frozen=True)
class Near:
    """Rank by nearness in a model's space.

    `model` "" is the model fitted last, and `metric` "" the one that suits it. `index` is a method
    of finding neighbours that an index is built by; `auto` builds none.
    """

    model: str = ""
    metric: str = ""
    index: str = "auto"
    notation: ClassVar[str] = "near"

    def __str__(self) -> str:
        return notation.write(self)


def read_near(near: str | Near) -> Near:
    """Read a configuration as it is written: `near`, `near(model=lda,metric=js)`."""
    if isinstance(near, Near):
        return near
    return notation.read(near, {Near.notation: Near}, what="method")


class RankNear(Stage):
    """Rank the documents nearest to each query's text; earlier rankings are replaced."""

    def __init__(
        self,
        space: Space,
        config: Near = Near(),
        *,
        k: int = 1000,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> None:
        self.space = space
        self.config = config
        self.k = k
        self._allowed = allowed
        self._threads = threads

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Decompose the queries, and rank what is near."""
        vectors = self.space.text_vectors([text_of(answered.query, self) for answered in batch])
        rankings = self.space.rank(vectors, self.k, allowed=self._allowed, threads=self._threads)
        return [
            Answered(answered.query, ranking)
            for answered, ranking in zip(batch, rankings, strict=True)
        ]

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split a score by topics."""
        return self.space.explain(self.space.text_vectors([query.text])[0], doc)

    def __repr__(self) -> str:
        return str(self.config)
