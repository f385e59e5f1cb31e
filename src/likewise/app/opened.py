"""An opened collection: what it holds, and how its documents are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.answers import Answer, Answers, one_line
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.compiled import Bools
from likewise.records import Document, Ranking
from likewise.retrieve.explain import Part
from likewise.retrieve.filters import Filter, allowed_docs
from likewise.retrieve.models import BM25, Model, read_model
from likewise.retrieve.search import Retriever

if TYPE_CHECKING:
    from likewise.smooth.search import RowSearch

Path_ = str | os.PathLike[str]

UNTITLED = 160


class Opened:
    """A collection as of the last change made through it, or the last `refresh`."""

    def __init__(self, folder: Path_) -> None:
        self.folder = Path(folder)
        self.refresh()

    def refresh(self) -> None:
        """See what other processes have changed."""
        self._snapshot = open_snapshot(self.folder)
        self._retrievers: dict[Model, Retriever] = {}
        self._rows: dict[str, RowSearch] = {}

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
        """Give the documents by a kernel model, ready to be searched; "" is the one fitted last."""
        from likewise.smooth.search import RowSearch
        from likewise.smooth.store import find_kernel, open_rows

        named = find_kernel(self._snapshot, name).name
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
        for doc, score in zip(ranking.docs.tolist(), ranking.scores.tolist(), strict=True):
            document = self._snapshot.document(doc)
            parts = explain(doc) if explain else []
            title = document.title or one_line(document.text[:UNTITLED])
            found.append(Answer(document.id, score, title, document.fields, tuple(parts)))
        return Answers(found, query=query, method=method)
