"""Which documents does a file ask with? Ids, a line each, or documents as JSONL."""

from __future__ import annotations

from pathlib import Path

from likewise.app.texts import read_text
from likewise.collection.build import content
from likewise.errors import UsageError
from likewise.records import Query, QueryDocument
from likewise.sources import open_source


def read_queries_of(file: str) -> list[Query]:
    """Read documents to ask with, a query each, named by their ids.

    A JSONL document that the collection has by the same id is left out of its own answers.
    """
    if _is_jsonl(file):
        documents = [
            QueryDocument(one.id, content(one), one.title)
            for one in open_source(file, format="jsonl")
        ]
    else:
        lines = (line.rstrip("\r") for line in read_text(file).split("\n"))
        documents = [QueryDocument(doc_id) for doc_id in lines if doc_id]
    if not documents:
        raise UsageError(f"{file} names no document: an id a line, or JSONL with id and text")
    seen: set[str] = set()
    for document in documents:
        if document.doc_id in seen:
            raise UsageError(f"{file} names {document.doc_id!r} more than once")
        seen.add(document.doc_id)
    return [Query(document.doc_id, like=(document,)) for document in documents]


def _is_jsonl(file: str) -> bool:
    names = Path(file).name.lower()
    return file != "-" and any(names.endswith(end) for end in (".jsonl", ".jsonl.gz", ".jsonl.zst"))
