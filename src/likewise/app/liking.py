"""The collection as what is like a document: by halves, topics, and nearness in a space."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.app.opened import Opened, Path_
from likewise.engine.answers import Answers
from likewise.engine.pipeline import Pipeline
from likewise.errors import UsageError
from likewise.records import Filter, Query, QueryDocument
from likewise.stages.reading import read_stage
from likewise.stages.stage import Stage, Where

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.derived.kind import Progress as Watch
    from likewise.like.near import Near

# Models are imported when they are first used: a search does not wait for them.


class Liking(Opened):
    """Answers with documents like those in hand."""

    def like(
        self,
        doc_ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        k: int = 10,
        method: str | Stage = "halves",
        filter: str | Filter | Sequence[str | Filter] = (),
        explain: bool = False,
    ) -> Answers:
        """Find the k documents most like some in hand: ids of the collection, or texts.

        A score is the mean of those for each document, less half the mean of those for `unlike`.
        `vector` is that of the one text, for a model of vectors (`fit_vectors`).
        """
        like = _in_hand(doc_ids, text)
        if vector is not None:
            like = _with_vector(like, vector)
        if not like:
            raise UsageError("like what? name documents by id, or give texts")
        query = Query("1", like=like, unlike=_in_hand(unlike, unlike_text))
        stage = read_stage(method) if isinstance(method, str) else method
        if vector is not None and not getattr(stage, "compares_vectors", False):
            raise UsageError(
                f"method {stage} has no use for a vector; halves, topics and eq4 compare them"
            )
        if filter:
            stage = Where(Filter.read(filter)) >> stage
        return Pipeline(self._snapshot, stage, k=k).answers(query, explain=explain)

    def neighbours(
        self, doc_id: str, *, k: int = 10, near: str | Near = "near", explain: bool = False
    ) -> Answers:
        """Find the k documents nearest to one of the collection in a model's space."""
        from likewise.like.near import read_near

        return self.like(doc_id, k=k, method=read_near(near), explain=explain)

    def graph(
        self,
        to: Path_,
        *,
        k: int = 10,
        near: str | Near = "near",
        threads: int = 0,
        overwrite: bool = False,
        on_doc: Watch | None = None,
    ) -> int:
        """Write the k nearest neighbours of every document (`.parquet`, `.jsonl`); count lines."""
        from likewise.like.graph import write_graph
        from likewise.like.near import read_near
        from likewise.like.store import halves_of

        config = read_near(near)
        return write_graph(
            halves_of(self._snapshot, config.model),
            to,
            k=k,
            near=config,
            threads=threads or os.cpu_count() or 1,
            overwrite=overwrite,
            on_doc=on_doc,
        )


def _in_hand(ids: str | Sequence[str], texts: str | Sequence[str]) -> tuple[QueryDocument, ...]:
    known = [QueryDocument(doc_id) for doc_id in _listed(ids)]
    return (*known, *(QueryDocument(text=one) for one in _listed(texts)))


def _with_vector(like: tuple[QueryDocument, ...], vector: ArrayLike) -> tuple[QueryDocument, ...]:
    from likewise.models.vectors import one_vector

    # A vector may stand alone, as that of a text without words.
    like = like or (QueryDocument(),)
    texts = [document for document in like if not document.doc_id]
    if len(texts) != 1:
        raise UsageError(
            f"a vector goes with one text, and there are {len(texts)}: documents "
            "of the collection have their own"
        )
    given = tuple(one_vector(vector).tolist())
    return (*like[:-1], like[-1]._replace(vector=given))


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else [*names]
