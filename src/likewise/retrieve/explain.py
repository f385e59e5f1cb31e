"""Why this score? The parts that add up to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from likewise.retrieve.impacts import impact
from likewise.retrieve.search import Retriever

OWN_PART = "(document length)"


class Part(NamedTuple):
    """What one term of the query, or the document's own part, gave to a score."""

    term: str
    score: float


def explain(retriever: Retriever, query: Mapping[str, float], doc: int) -> list[Part]:
    """Split the score of a document by the terms of the query, the largest part first."""
    collection = retriever.collection
    _, terms, weights, factors, shares = retriever.weigh([query])
    _, doc_terms, doc_counts = collection.term_counts(np.array([doc]))
    counts = dict(zip(doc_terms.tolist(), doc_counts.tolist(), strict=True))
    norm = retriever.norm(doc)
    kind = retriever.model.impact
    parts = [
        Part(name, float(weight * impact(kind, np.float32(counts[term]), norm, factor)))
        for name, term, weight, factor in zip(
            collection.terms(terms), terms.tolist(), weights, factors, strict=True
        )
        if term in counts
    ]
    if shares[0]:
        parts.append(Part(OWN_PART, float(shares[0] * norm)))
    return sorted(parts, key=lambda part: (-abs(part.score), part.term))
