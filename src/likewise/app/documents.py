"""Which documents does a file ask with? Ids, a line each, or documents of any format."""

from __future__ import annotations

from likewise.app.texts import read_text
from likewise.collection.build import content
from likewise.errors import UsageError
from likewise.formats.kinds import by_name
from likewise.records import Query, QueryDocument
from likewise.sources import open_source


def read_queries_of(file: str) -> list[Query]:
    """Read documents to ask with, a query each, named by their ids.

    A document that the collection has by the same id is left out of its own answers.
    """
    if file != "-" and by_name(file) not in (None, "text"):
        documents = [QueryDocument(one.id, content(one), one.title) for one in open_source(file)]
    else:
        lines = (line.rstrip("\r") for line in read_text(file).split("\n"))
        documents = [QueryDocument(doc_id) for doc_id in lines if doc_id]
    if not documents:
        raise UsageError(f"{file} names no document: an id a line, or documents with id and text")
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            raise UsageError(f"{file} names {document.doc_id!r} more than once")
        seen.add(document.doc_id)
    return [Query(document.doc_id, like=(document,)) for document in documents]
