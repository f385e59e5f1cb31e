"""Documents in hand as a query: ids of the collection, texts, and what answers are to be unlike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from likewise.arguments import listed
from likewise.errors import UsageError
from likewise.records import Query, QueryDocument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Names = str | Sequence[str]


def like_query(
    ids: Names, text: Names, unlike: Names, unlike_text: Names, vector: ArrayLike | None
) -> Query:
    """Make the query of `Collection.like`."""
    like = _in_hand(ids, text)
    if vector is not None:
        like = _with_vector(like, vector)
    if not like:
        raise UsageError("like what? name documents by id, or give texts")
    return Query("1", like=like, unlike=_in_hand(unlike, unlike_text))


def _in_hand(ids: Names, texts: Names) -> tuple[QueryDocument, ...]:
    known = [QueryDocument(doc_id) for doc_id in listed(ids, what="an id")]
    if QueryDocument() in known:
        raise UsageError("an id is a text that is not empty, not ''")
    given = listed(texts, what="text")
    return (*known, *(QueryDocument(text=one) for one in given))


def _with_vector(like: tuple[QueryDocument, ...], vector: ArrayLike) -> tuple[QueryDocument, ...]:
    from likewise.models.vector_sources import one_vector

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
