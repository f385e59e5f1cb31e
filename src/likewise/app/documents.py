"""Which documents does a file ask with? Ids, a line each, or documents as JSONL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.texts import read_text
from likewise.collection.build import content
from likewise.errors import UsageError
from likewise.like.question import Question, of_text
from likewise.records import Document
from likewise.sources import open_source

if TYPE_CHECKING:
    from likewise.app.library import Collection


def read_questions(collection: Collection, file: str) -> list[Question]:
    """Read documents to ask with, a question each, named by their ids.

    A JSONL document that the collection has by the same id is left out of its own answers.
    """
    if _is_jsonl(file):
        source = open_source(file, format="jsonl")
        questions = [_outside(collection, document) for document in source]
    else:
        lines = (line.rstrip("\r") for line in read_text(file).split("\n"))
        questions = [collection.question(doc_id, qid=doc_id) for doc_id in lines if doc_id]
    if not questions:
        raise UsageError(f"{file} names no document: an id a line, or JSONL with id and text")
    seen: set[str] = set()
    for question in questions:
        if question.qid in seen:
            raise UsageError(f"{file} names {question.qid!r} more than once")
        seen.add(question.qid)
    return questions


def _outside(collection: Collection, document: Document) -> Question:
    s = collection.snapshot
    example = of_text(s, content(document), title=document.title)
    return Question(document.id, (example._replace(doc=int(s.find_docs([document.id])[0])),))


def _is_jsonl(file: str) -> bool:
    names = Path(file).name.lower()
    return file != "-" and any(names.endswith(end) for end in (".jsonl", ".jsonl.gz", ".jsonl.zst"))
