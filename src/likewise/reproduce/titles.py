"""Queries and judgements where no collection has any: titles of documents, and their links."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from likewise.evaluate.trec import Qrels
from likewise.records import Document, Query
from likewise.sources.docstrings import JUDGED_FIELD

_QUERIES = 300


def judged_titles(documents: Iterable[Document]) -> tuple[list[Query], Qrels]:
    """Draw documents that link to others; their titles are to find them and what they link to."""
    linking = [one for one in documents if one.title and one.fields.get(JUDGED_FIELD)]
    order = np.random.default_rng(0).permutation(len(linking))[:_QUERIES]
    drawn = [linking[i] for i in np.sort(order).tolist()]
    relevant = {one.id: dict.fromkeys((one.id, *one.fields[JUDGED_FIELD]), 1) for one in drawn}
    return [Query(one.id, one.title) for one in drawn], Qrels(relevant)
