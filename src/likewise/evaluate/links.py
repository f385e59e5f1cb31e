"""Judgements from metadata: what a document links to, or what has the same label, is relevant."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from likewise.errors import Remedy, UsageError
from likewise.evaluate.trec import Qrels

_MOST_JUDGEMENTS = 20_000_000


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


def qrels_from_labels(labels: Mapping[str, Any], *, wanted: Collection[str] | None = None) -> Qrels:
    """Judge every document relevant (grade 1) that has a label of the document that asks.

    `labels` gives each document's label, or list of labels; of `wanted` documents only, where
    given. A document that shares its labels with no other has no judgement.
    """
    having: dict[Any, list[str]] = {}
    mine = {doc_id: _listed(label) for doc_id, label in labels.items()}
    for doc_id, its in mine.items():
        for label in its:
            having.setdefault(label, []).append(doc_id)
    asking = mine if wanted is None else wanted
    n = sum(len(having[label]) for doc_id in asking for label in mine[doc_id])
    if n > _MOST_JUDGEMENTS:
        raise UsageError(
            f"{n:,} pairs of documents share a label, and {_MOST_JUDGEMENTS:,} fit; take a field "
            "whose values fewer documents share, or fewer documents as queries",
            remedy=Remedy("sample=1000 takes so many", "--sample 1000 takes so many"),
        )
    qrels = Qrels()
    for doc_id in asking:
        same = dict.fromkeys(other for label in mine[doc_id] for other in having[label])
        for other in same:
            if other != doc_id:
                qrels.add(doc_id, other, grade=1)
    return qrels


def _listed(label: Any) -> list[Any]:
    given = label if isinstance(label, list | tuple) else [label]
    return [
        *dict.fromkeys(one for one in given if isinstance(one, str | int | float) and one != "")
    ]
