"""The collection as what is like a document: by halves, topics, and nearness in a space."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.app.answers import Answers, one_line
from likewise.app.opened import UNTITLED, Opened, Path_, of_one_state
from likewise.errors import UsageError
from likewise.retrieve.filters import Filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.derived.kind import Progress as Watch
    from likewise.like.methods import Config
    from likewise.like.near import Near
    from likewise.like.question import Example, Question, Ranker
    from likewise.like.space import Space
    from likewise.like.store import StoredHalves

# Models are imported when they are first used: a search does not wait for them.


class Liking(Opened):
    """Answers with documents like those in hand."""

    @of_one_state
    def like(
        self,
        doc_ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        k: int = 10,
        method: str | Config = "halves",
        where: str | Filter | Sequence[str | Filter] = (),
        explained: bool = False,
    ) -> Answers:
        """Find the k documents most like some in hand: ids of the collection, or texts.

        A score is the mean of those for each document, less half the mean of those for `unlike`.
        `vector` is that of the one text, for a model of vectors (`fit_vectors`).
        """
        question = self.question(
            doc_ids, text=text, unlike=unlike, unlike_text=unlike_text, vector=vector, qid="1"
        )
        ranker = self.ranker(method)
        if vector is not None:
            _compares_vectors(ranker, str(method))
        [ranking] = ranker.rank([question], k=k, allowed=self.allowed(where))
        shown = ", ".join([*_listed(doc_ids), *map(one_line, _listed(text))])
        answers = self._found(ranking, None, query=shown[:UNTITLED], method=str(method))
        if not explained:
            return answers
        from likewise.like.methods import HalvesRanker

        texts = _listed(text)
        if isinstance(ranker, HalvesRanker):
            only = texts[0] if len(texts) == 1 and not _listed(doc_ids) else ""
            found = ranker.reasons(
                question, ranking.docs.tolist(), k=k, allowed=self.allowed(where), text=only
            )
            return answers.explained([(tuple(one.parts), one) for one in found])
        parts = [tuple(ranker.explain(question, doc)) for doc in ranking.docs.tolist()]
        return answers.explained([(one, None) for one in parts])

    def question(
        self,
        doc_ids: str | Sequence[str] = (),
        *,
        text: str | Sequence[str] = (),
        unlike: str | Sequence[str] = (),
        unlike_text: str | Sequence[str] = (),
        vector: ArrayLike | None = None,
        qid: str = "1",
    ) -> Question:
        """Take documents in hand, by id or as texts; `vector` is that of the one text."""
        from likewise.like.question import Question, of_doc, of_text

        s = self._snapshot

        def taken(ids: str | Sequence[str], texts: str | Sequence[str]) -> tuple[Example, ...]:
            known = [of_doc(s, s.find_doc(doc_id)) for doc_id in _listed(ids)]
            return (*known, *(of_text(s, one) for one in _listed(texts)))

        like = taken(doc_ids, text)
        if vector is not None:
            from likewise.models.vectors import one_vector

            # A vector may stand alone, as that of a text without words.
            like = like or taken((), "")
            if sum(example.doc < 0 for example in like) != 1:
                raise UsageError(
                    f"a vector goes with one text, and there are {len(_listed(text))}: documents "
                    "of the collection have their own"
                )
            like = (*like[:-1], like[-1]._replace(vector=one_vector(vector)))
        if not like:
            raise UsageError("like what? name documents by id, or give texts")
        return Question(qid, like, taken(unlike, unlike_text))

    @of_one_state
    def ranker(self, method: str | Config = "halves") -> Ranker:
        """Give a method of likeness, ready to rank: `halves`, `eq4`, `bm25`, `topn(words=20)`."""
        from likewise.like.methods import make_ranker, read_method

        config = read_method(method) if isinstance(method, str) else method
        s = self._snapshot
        return s.memo(("ranker", str(config)), lambda: make_ranker(s, config, self.halves))

    def halves(self, model: str = "") -> StoredHalves:
        """Give what is stored of all documents by a model; "" is the model fitted last."""
        from likewise.like.store import open_halves

        s = self._snapshot
        return s.memo(("halves", model), lambda: open_halves(s, model or None))

    @of_one_state
    def space(self, near: str | Near = "near") -> Space:
        """Give all documents as vectors of a model: `near(model=lda,metric=js)`."""
        from likewise.like.near import read_near
        from likewise.like.space import open_space

        config = read_near(near)

        def make() -> Space:
            halves = self.halves(config.model)
            return open_space(halves, metric=config.metric, method=config.index)

        return self._snapshot.memo(("space", config), make)

    @of_one_state
    def neighbours(
        self,
        doc_id: str,
        *,
        k: int = 10,
        near: str | Near = "near",
        explained: bool = False,
    ) -> Answers:
        """Find the k documents nearest to one of the collection in a model's space."""
        doc = self._snapshot.find_doc(doc_id)
        space = self.space(near)
        ranking = space.rank_near_doc(doc, k)
        explain = (lambda other: space.explain_docs(doc, other)) if explained else None
        return self._found(ranking, explain, query=doc_id, method=str(near))

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

        config = read_near(near)
        return write_graph(
            self.halves(config.model),
            to,
            k=k,
            near=config,
            threads=threads or os.cpu_count() or 1,
            overwrite=overwrite,
            on_doc=on_doc,
        )


def _compares_vectors(ranker: Ranker, method: str) -> None:
    from likewise.like.methods import HalvesRanker

    if not isinstance(ranker, HalvesRanker):
        raise UsageError(
            f"method {method} has no use for a vector; halves, topics and eq4 compare them"
        )


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else [*names]
