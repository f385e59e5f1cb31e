"""Judgements from links: what a document links to is relevant to it."""

from __future__ import annotations

from collections.abc import Container, Iterable

from likewise.errors import UsageError
from likewise.evaluate.trec import Qrels


def qrels_from_links(
    pairs: Iterable[tuple[str, Iterable[str]]], *, known: Container[str] | None = None
) -> Qrels:
    """Judge every linked document relevant (grade 1) to the document that links to it.

    Links of a document to itself are dropped, and so are ids outside `known` where it is given.
    A document without a link left has no judgement.
    """
    qrels = Qrels()
    for doc_id, links in pairs:
        # A text is iterable too, but its characters are not ids.
        if isinstance(links, str | bytes) or not isinstance(links, Iterable):
            raise UsageError(f"document {doc_id!r}: a list of ids is expected, not {links!r}")
        if known is not None and doc_id not in known:
            continue
        for linked in links:
            if not isinstance(linked, str):
                raise UsageError(f"document {doc_id!r}: a linked id is a text, not {linked!r}")
            if linked and linked != doc_id and (known is None or linked in known):
                qrels.add(doc_id, linked, grade=1)
    return qrels
