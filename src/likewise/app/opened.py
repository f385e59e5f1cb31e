"""An opened collection: what it holds, and how its documents are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from likewise.app.answers import Answer, Answers, one_line
from likewise.collection.cards import LEAD
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.compiled import Bools
from likewise.derived.store import carry_over
from likewise.records import Document, Ranking
from likewise.retrieve.explain import Part
from likewise.retrieve.filters import Filter, allowed_docs
from likewise.retrieve.models import BM25, Model, read_model
from likewise.retrieve.search import Retriever

if TYPE_CHECKING:
    from likewise.smooth.search import RowSearch

Path_ = str | os.PathLike[str]

UNTITLED = LEAD


class Opened:
    """A collection as of the last change made through it, or the last `refresh`."""

    def __init__(self, folder: Path_) -> None:
        self.folder = Path(folder)
        self.refresh()

    def refresh(self) -> None:
        """See what other processes have changed."""
        before = vars(self).get("_snapshot")
        self._show(open_snapshot(self.folder, before))
        if before is not None:
            carry_over(before, self._snapshot)
            before.forget()

    def _show(self, snapshot: Snapshot) -> None:
        """Show a state, and let go of what was made of the one before."""
        self._snapshot = snapshot
        self._retrievers: dict[Model, Retriever] = {}
        self._rows: dict[str, RowSearch] = {}

    def close(self) -> None:
        """Let go of the generation that is shown: what it names may then be removed."""
        self._snapshot.close()

    def __del__(self) -> None:
        # What was made of the snapshot refers to it, and would keep its lease until the next
        # collection of garbage.
        snapshot = vars(self).get("_snapshot")
        if snapshot is not None:
            snapshot.forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._reopened, (self._snapshot,)

    @classmethod
    def _reopened(cls, snapshot: Snapshot) -> Self:
        made = cls.__new__(cls)
        made.folder = snapshot.folder
        made._show(snapshot)
        return made

    @property
    def snapshot(self) -> Snapshot:
        """The state that is being shown: terms, counts and statistics."""
        return self._snapshot

    def __len__(self) -> int:
        return self._snapshot.n_docs

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and bool(self._snapshot.find_docs([doc_id])[0] >= 0)

    def __iter__(self) -> Iterator[Document]:
        for _, document in self._snapshot.documents():
            yield document

    def __getitem__(self, doc_id: str) -> Document:
        return self._snapshot.document(self._snapshot.find_doc(doc_id))

    def __repr__(self) -> str:
        return f"<Collection {str(self.folder)!r}: {len(self):,} documents>"

    def allowed(self, where: str | Filter | Sequence[str | Filter]) -> list[Bools] | None:
        """Mark, for each segment, the documents that meet conditions; None where there are none."""
        conditions = [where] if isinstance(where, str | Filter) else where
        return allowed_docs(self._snapshot, conditions)

    def retriever(self, method: str | Model = BM25()) -> Retriever:
        """Give a method of search by words, ready to rank."""
        model = read_model(method) if isinstance(method, str) else method
        if model not in self._retrievers:
            self._retrievers[model] = Retriever(self._snapshot, model)
        return self._retrievers[model]

    def rows(self, name: str = "") -> RowSearch:
        """Give the documents by a kernel model, ready to be searched; "" is the default."""
        from likewise.models.stored import SMOOTH, find_model
        from likewise.smooth.search import RowSearch
        from likewise.smooth.store import open_rows

        named = find_model(self._snapshot, name or None, SMOOTH).name
        if named not in self._rows:
            self._rows[named] = RowSearch(open_rows(self._snapshot, named))
        return self._rows[named]

    def _found(
        self,
        ranking: Ranking,
        explain: Callable[[int], list[Part]] | None,
        *,
        query: str,
        method: str,
    ) -> Answers:
        found = []
        ids, cards = self._snapshot.doc_ids(ranking.docs), self._snapshot.cards(ranking.docs)
        docs, scores = ranking.docs.tolist(), ranking.scores.tolist()
        for doc, score, doc_id, card in zip(docs, scores, ids, cards, strict=True):
            parts = explain(doc) if explain else []
            title = card.title or one_line(card.lead)
            found.append(Answer(doc_id, score, title, card.fields, tuple(parts)))
        return Answers(found, query=query, method=method)
