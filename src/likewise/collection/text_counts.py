"""What are the terms of a text that is not in the collection?"""

from __future__ import annotations

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot


def counts_of(
    collection: Snapshot, text: str, *, title: str = ""
) -> tuple[TermCounts, dict[int, str]]:
    """Count the terms of a text, as those of a document; give their names by number as well.

    `title` is the part of the text whose words count as often as those of a title do. Terms that
    the collection never had are numbered from `n_terms` upward, as they appear.
    """
    counted = collection.analyzer.counts(text)
    if title:
        for term, count in collection.analyzer.counts(title).items():
            counted[term] += count * (collection.analysis.title_weight - 1)
    names = list(counted)
    numbers = collection.find_terms(names)
    unknown = np.flatnonzero(numbers < 0)
    numbers[unknown] = collection.n_terms + np.arange(len(unknown))
    order = np.argsort(numbers)
    counts = np.array([counted[names[i]] for i in order.tolist()], np.int32)
    terms = numbers[order].astype(np.int32)
    bounds = np.array([0, len(terms)], np.int64)
    return TermCounts(bounds, terms, counts), {int(numbers[i]): names[i] for i in order.tolist()}
