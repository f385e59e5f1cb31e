"""Which documents are the best for parts of a query? Mostly the best of the whole query tell.

No document scores more for some of a query's words than for all of them. So where the k-th best
score that the first documents of the whole have for a part is above the last of these, no other
document is among the part's k best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from likewise.records import Ranking
from likewise.retrieve.documents import split_counts
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

    Parts have some of the query's terms, with the same weights above 0; `first` is its own ranking.
    """
    _, numbers, weights, factors, _ = retriever.weigh([whole])
    ascending = np.argsort(numbers)
    docs, scores = first
    given = np.zeros((len(docs), len(numbers)), np.float32)
    split_counts(
        retriever.collection.term_counts(docs, retriever.field),
        (numbers[ascending], weights[ascending], factors[ascending]),
        retriever.model.impact,
        retriever.norms(docs),
        given,
    )
    names = sorted(whole)
    place_of = {number: place for place, number in enumerate(numbers.tolist())}
    places = {
        name: place_of[number]
        for name, number in zip(names, retriever.known(names)[0].tolist(), strict=True)
        if number in place_of
    }
    has = np.zeros((len(parts), len(numbers)), np.bool_)
    for row, part in zip(has, parts, strict=True):
        row[[places[name] for name in part if name in places]] = True
    sums = np.zeros((len(parts), len(docs)), np.float32)
    # In the order in which a search adds up.
    for place, column in enumerate(np.argsort(ascending).tolist()):
        sums += has[:, place, None] * given[:, column]
    found: list[Ranking | None] = []
    for its_scores in sums:
        best = np.lexsort((docs, -its_scores))[:k]
        told = len(best) == k and its_scores[best[-1]] > scores[-1] * (1 + _ROUNDED)
        ranking = Ranking(docs[best], its_scores[best].astype(np.float64))
        found.append(ranking if told else None)
    return found
