"""Queries and judgements for documents that link to others: their titles, and the links."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from likewise.evaluate.trec import Qrels
from likewise.records import Document, Query

_QUERIES = 300


def judged_titles(
    documents: Iterable[Document], field: str, *, itself: bool
) -> tuple[list[Query], Qrels]:
    """Draw documents that link to others by a field; their titles are to find what they link to.

    And the document `itself`, if it counts.
    """
    titles = {}
    linked = {}
    for one in documents:
        titles[one.id] = one.title
        links = one.fields.get(field)
        linked[one.id] = links if isinstance(links, list) else []
    relevant = {
        doc_id: [link for link in dict.fromkeys(links) if link in titles and link != doc_id]
        for doc_id, links in linked.items()
        if titles[doc_id]
    }
    linking = [doc_id for doc_id, links in relevant.items() if links]
    order = np.random.default_rng(0).permutation(len(linking))[:_QUERIES]
    drawn = [linking[i] for i in np.sort(order).tolist()]
    first = {doc_id: [doc_id] if itself else [] for doc_id in drawn}
    qrels = Qrels({d: dict.fromkeys((*first[d], *relevant[d]), 1) for d in drawn})
    return [Query(doc_id, titles[doc_id]) for doc_id in drawn], qrels
