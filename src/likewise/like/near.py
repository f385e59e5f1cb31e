"""Search by nearness of vectors, as a stage: documents whose topics are those of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise import notation
from likewise.arguments import check_kind
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.like.space import Space, open_space
from likewise.models.stored_vectors import vectors_of
from likewise.records import Explanation, Query, explanation
from likewise.retrieve.question import text_of
from likewise.stages.stage import Context, Result, Stage, by_mask


@dataclass(frozen=True)
class Near(Stage):
    """Rank by nearness in a model's space.

    `model` "" is the collection's default, and `metric` "" the one that suits it. `index` is a
    method of finding neighbours that an index is built by; `auto` builds none.
    """

    model: str = ""
    metric: str = ""
    index: str = "auto"
    notation: ClassVar[str] = "near"
    log: ClassVar[bool] = False

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank what is near the text of each query, or the one document in hand."""
        if not context.k:
            return [Result(result.query) for result in batch]
        return rank_near(self, space_of(context.snapshot, self), batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0


@dataclass(frozen=True)
class NearIn(Stage):
    """Rank by nearness in a space that need not be that of a stored model."""

    space: Space
    log: ClassVar[bool] = False

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank what is near the text of each query."""
        return rank_near(self, self.space, batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0

    def __str__(self) -> str:
        return str(Near())


def rank_near(how: Stage, space: Space, batch: Sequence[Result], context: Context) -> list[Result]:
    """Rank what is near queries in a space, those of one mask together."""
    asked = context.map(lambda result: _asked(how, result.query, space), batch)
    docs, vectors = np.array([doc for doc, _ in asked]), [vector for _, vector in asked]
    found = [*batch]
    for mask, places in by_mask(batch, context):
        context.check()
        rankings = space.rank(
            np.stack([vectors[i] for i in places]),
            context.k,
            allowed=mask.segments if mask.bars else None,
            omit=docs[places],
            threads=context.threads,
        )
        for i, ranking in zip(places, rankings, strict=True):
            scorer = NearScorer(space, vectors[i], int(docs[i]))
            found[i] = Result(batch[i].query, ranking, scorer)
    return found


def _asked(how: Stage, query: Query, space: Space) -> tuple[int, Floats]:
    """Give the document in hand (-1: none) and its vector."""
    if not query.like:
        return -1, space.text_vectors([text_of(query, how)])[0]
    if len(query.like) > 1 or query.unlike:
        raise UsageError(f"{how} compares with one document; hybrid compares with several")
    [document] = query.like
    if document.text or not document.doc_id:
        own = space.collection.find_docs([document.doc_id])[0] if document.doc_id else -1
        return int(own), space.text_vectors([document.text])[0]
    doc = space.collection.find_doc(document.doc_id)
    return doc, space.stored.coordinates(np.array([doc]))[0]


def read_near(near: str | Near) -> Near:
    """Read a configuration as it is written: `near`, `near(model=lda,metric=js)`."""
    if isinstance(near, Near):
        return near
    check_kind(near, str, "a method is a text such as near(metric=js), or Near")
    return notation.read(near, {Near.notation: Near}, what="method")


class NearScorer:
    """Scores documents by their nearness to a vector."""

    log = False
    searches = None

    def __init__(self, space: Space, vector: Floats, doc: int) -> None:
        self._space = space
        self._vector = vector
        self._doc = doc

    def score(self, docs: Ints) -> Doubles:
        """Give similarities; the document in hand is not found."""
        scores = self._space.score(self._vector, docs)
        scores[docs == self._doc] = -np.inf
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores by topics."""
        parts = self._space.explain(self._vector, docs)
        scores = self.score(docs).tolist()
        return [explanation(*one) for one in zip(scores, parts, strict=True)]


def space_of(snapshot: Snapshot, how: Near) -> Space:
    """Give all documents as vectors of a model, ready to be searched; made once."""
    return snapshot.memo(
        ("space", how),
        lambda: open_space(vectors_of(snapshot, how.model), metric=how.metric, method=how.index),
    )
