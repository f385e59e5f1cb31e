"""Which documents are the best for parts of a query? Mostly the best of the whole query tell.

No document scores more for some of a query's words than for all of them. So where the k-th best
score that the first documents of the whole have for a part is above the last of these, no other
document is among the part's k best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise.compiled import Bools, Floats, Int, Ints, kernel
from likewise.records import Ranking
from likewise.retrieve.best import key_of, unpack
from likewise.retrieve.impacts import impact
from likewise.retrieve.models import BM25_IMPACT
from likewise.retrieve.order import order_of
from likewise.retrieve.search import Retriever

# Sums of different terms are rounded differently, by less than this share.
_ROUNDED = 1e-5


def rank_parts(
    retriever: Retriever,
    whole: Mapping[str, float],
    parts: Sequence[Mapping[str, float]],
    first: Ranking,
    *,
    k: int,
) -> list[Ranking | None]:
    """Give the k best documents for parts of a query with the bits of a search; None: not known.

    It is a search by BM25. Parts have some of the query's terms, with the same weights above 0;
    `first` is its own ranking.
    """
    docs, scores = first
    if len(docs) < k:
        return [None] * len(parts)
    _, numbers, weights, _, _ = retriever.weigh([whole])
    place_of = {number: place for place, number in enumerate(numbers.tolist())}
    names = sorted(whole)
    numbered = zip(names, retriever.known(names)[0].tolist(), strict=True)
    places = {name: place_of[number] for name, number in numbered if number in place_of}
    has = np.zeros((len(parts), len(numbers)), np.bool_)
    for row, part in zip(has, parts, strict=True):
        row[[places[name] for name in part if name in places]] = True
    bounds, terms, counts = retriever.collection.term_counts(docs, retriever.field)
    counted, query = (bounds, terms, counts), (numbers, weights)
    keys = score_parts(counted, docs, retriever.norms(docs), query, has)
    found, given = unpack(keys[:, -k:])
    least = float(scores[-1]) * (1 + _ROUNDED)
    return [
        Ranking(its_docs, its_scores) if its_scores[-1] > least else None
        for its_docs, its_scores in zip(found, given, strict=True)
    ]


@kernel
def score_parts(
    counted: tuple[Any, Any, Any],
    docs: Ints,
    norms: Floats,
    query: tuple[Ints, Floats],
    has: Bools,
) -> Ints:
    """Score documents by BM25 for parts of a query; give their keys, ascending, a row for a part.

    `query` is terms and weights in the order in which a search adds up; `has` tells which of them
    each part has.
    """
    bounds, doc_terms, counts = counted
    numbers, weights = query
    order = order_of(numbers.astype(np.float64))
    n = len(numbers)
    given = np.empty(n, np.float32)
    score = np.empty(1, np.float32)
    bits = score.view(np.int32)
    keys = np.empty((len(has), len(docs)), np.int64)
    for i in range(len(docs)):
        given[:] = 0
        at: Int = 0
        for j in range(bounds[i], bounds[i + 1]):
            term = np.int64(doc_terms[j])
            while at < n and numbers[order[at]] < term:
                at += 1
            if at == n:
                break
            place = order[at]
            if numbers[place] == term:
                value = impact(BM25_IMPACT, np.float32(counts[j]), norms[i], np.float32(1))
                given[place] = weights[place] * value
        for q in range(len(has)):
            total = np.float32(0)
            for place in range(n):
                if has[q, place]:
                    total += given[place]
            score[0] = total
            keys[q, i] = key_of(bits[0], docs[i])
    for q in range(len(has)):
        keys[q].sort()
    return keys
