"""What is asked: documents in hand, of the collection or not, and documents to keep away from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.text_counts import counts_of
from likewise.compiled import Floats, Ints
from likewise.errors import UsageError
from likewise.records import Query, QueryDocument

# How much likeness to what is to be kept away from takes off the score.
AGAINST = 0.5


class Example(NamedTuple):
    """A document in hand: its term counts, its number (-1 from outside) and its vector, if given.

    Terms that the collection never had are numbered from `n_terms` upward.
    """

    counts: TermCounts
    doc: int = -1
    vector: Floats | None = None


class Question(NamedTuple):
    """Documents that answers should be like, and others that they should not be like."""

    qid: str
    like: tuple[Example, ...]
    unlike: tuple[Example, ...] = ()

    @property
    def examples(self) -> tuple[Example, ...]:
        """All of them."""
        return self.like + self.unlike

    @property
    def docs(self) -> Ints:
        """The documents of the collection among them, which are no answers."""
        return np.unique([e.doc for e in self.examples if e.doc >= 0]).astype(np.int64)


def question_of(query: Query, snapshot: Snapshot, method: object) -> Question:
    """Take the documents of a query in hand: those that it names, or its text as one."""
    if not query.like:
        text = text_of(query, method)
        return Question(query.qid, (of_text(snapshot, text),))
    return Question(
        query.qid,
        tuple(_taken(document, snapshot) for document in query.like),
        tuple(_taken(document, snapshot) for document in query.unlike),
    )


def _taken(document: QueryDocument, snapshot: Snapshot) -> Example:
    if document.doc_id and not document.text:
        return of_doc(snapshot, snapshot.find_doc(document.doc_id))
    vector = None if document.vector is None else np.array(document.vector, np.float32)
    taken = of_text(snapshot, document.text, title=document.title, vector=vector)
    # A text that has an id is left out of its own answers, where the collection has it.
    own = int(snapshot.find_docs([document.doc_id])[0]) if document.doc_id else -1
    return taken._replace(doc=own)


def docs_in_hand(query: Query, snapshot: Snapshot) -> Ints:
    """Give the documents of the collection that a query names: they are no answers to it."""
    ids = [one.doc_id for one in (*query.like, *query.unlike) if one.doc_id]
    found = snapshot.find_docs(ids) if ids else np.empty(0, np.int64)
    return np.unique(found[found >= 0]).astype(np.int64)


def text_of(query: Query, method: object) -> str:
    """Give the text of a query to a stage that has no use for terms."""
    if query.expansion and not query.expansion.skipped_reason:
        raise UsageError(f"{method} compares texts, and has no use for the terms of an expansion")
    return query.text


def of_text(
    collection: Snapshot, text: str, *, title: str = "", vector: Floats | None = None
) -> Example:
    """Take a text in hand, with the vector that the user has of it, where a model compares such.

    `title` is the part of the text that counts as a title.
    """
    return Example(counts_of(collection, text, title=title)[0], -1, vector)


def of_doc(collection: Snapshot, doc: int) -> Example:
    """Take a document of the collection in hand."""
    return Example(collection.term_counts(np.array([doc])), doc)
