"""Documents, mappings like the rows of a table, or texts, that Python code already holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from likewise.errors import SourceError, UsageError, with_article
from likewise.records import Document
from likewise.sources.columns import (
    Columns,
    Expected,
    OnBad,
    Origin,
    as_text,
    document_id,
    document_maker,
)
from likewise.sources.fields import check_unicode, clean

NAME = "documents"


def read_iterable(
    items: Iterable[Document | Mapping[str, Any] | str], *, columns: Columns, on_bad: OnBad
) -> Iterator[Document]:
    """Each item checked as any other source's; the place of a mapping is its number, from 1.

    The id of a text is its number from 0, as a list is subscripted.
    """
    make = document_maker(columns, Origin(NAME, NAME))
    expected = Expected(columns)
    for number, item in enumerate(items, 1):
        place = f"{NAME}:{number}"
        try:
            if isinstance(item, Document):
                document = _checked(item, columns, place)
            elif isinstance(item, Mapping):
                document = make(dict(item), number)
                expected.see(item)
            elif isinstance(item, os.PathLike) or (number == 1 and _is_file(item)):
                raise UsageError(
                    f"{str(item)!r} is a file in a list of texts: give files as sources of their "
                    "own, as in index(*files, to=…)"
                )
            elif isinstance(item, str):
                document = _checked(Document(str(number - 1), text=item), columns, place)
            else:
                kind = with_article(type(item).__name__)
                raise SourceError(
                    place, f"expected a Document, a mapping or a text, received {kind}"
                )
        except SourceError as error:
            on_bad(error)
            continue
        yield document
    expected.warn(NAME)


def _is_file(item: object) -> bool:
    """Whether a text is meant as the name of a file."""
    return isinstance(item, str) and bool(os.path.splitext(item)[1]) and os.path.isfile(item)


def _checked(document: Document, columns: Columns, number: str) -> Document:
    place = document.place or number
    doc_id = document_id(document.id, columns, number, place, {columns.id: document.id})
    title = as_text(document.title, "title", place)
    text = as_text(document.text, "text", place)
    check_unicode((doc_id, title, text), place)
    return Document(doc_id, title, text, clean(document.fields, place), place)
