"""How much does a posting say for its document? In loops over postings."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import LARGE, PAIRS_FROM, Bounds, Postings, start_of
from likewise.compiled import Floats, Int, Offsets, kernel
from likewise.retrieve.models import BM25_IMPACT, COUNT_IMPACT, DIRICHLET_IMPACT, TFIDF_IMPACT

# From this many postings on, impacts that depend on the count alone are worked out once for each.
_TABLE_FROM = 512


@kernel
def impact(kind: Int, count: Any, norm: Any, factor: Any) -> Any:
    """Give the impact of a count: see the models for what each is."""
    if kind == BM25_IMPACT:
        return count / (count + norm)
    if kind == TFIDF_IMPACT:
        return np.float32(1.0 + np.log(count)) * norm
    if kind == DIRICHLET_IMPACT:
        return np.float32(np.log1p(count * factor))
    if kind == COUNT_IMPACT:
        return count
    return np.float32(np.log1p(count * factor * norm))


@kernel
def large_count(large_at: Offsets, large_counts: Offsets, posting: Int) -> Any:
    """Give a count of 255 or more."""
    i = np.searchsorted(large_at, np.uint32(posting))
    if i < len(large_at) and large_at[i] == posting:
        return np.float32(large_counts[i])
    return np.float32(LARGE)


@kernel
def impact_at(
    postings: Postings, p: Int, norms: Floats, model: tuple[Int, Floats], factor: Any
) -> Any:
    """Give the impact of a posting; `norms` are those of its block."""
    count = np.float32(postings.counts[p])
    if postings.counts[p] == LARGE:
        count = large_count(postings.large_at, postings.large_counts, p)
    return impact(model[0], count, norms[postings.docs[p]], factor)


@kernel
def add_impacts(
    postings: Postings,
    span: tuple[Int, Int],
    norms: Floats,
    model: tuple[Int, Floats],
    term: tuple[Any, Any],
    scores: Floats,
) -> None:
    """Add `weight · impact` of the postings of a span to the scores of their documents.

    `norms` and `scores` are those of a block, `term` is the weight and the factor. Equals
    np.add.at(scores, docs, weight * impact(counts, norms[docs], factor)).
    """
    start, stop = span
    kind = model[0]
    weight, factor = term
    docs, counts = postings.docs, postings.counts
    if kind == BM25_IMPACT:
        for p in range(start, stop):
            count = np.float32(counts[p])
            if counts[p] == LARGE:
                count = large_count(postings.large_at, postings.large_counts, p)
            scores[docs[p]] += weight * (count / (count + norms[docs[p]]))
    elif kind in (TFIDF_IMPACT, DIRICHLET_IMPACT) and stop - start >= _TABLE_FROM:
        table = np.zeros(LARGE, np.float32)
        for c in range(1, LARGE):
            table[c] = impact(kind, np.float32(c), np.float32(1.0), factor)
        for p in range(start, stop):
            if counts[p] == LARGE:
                scores[docs[p]] += weight * impact_at(postings, p, norms, model, factor)
            elif kind == TFIDF_IMPACT:
                scores[docs[p]] += weight * (table[counts[p]] * norms[docs[p]])
            else:
                scores[docs[p]] += weight * table[counts[p]]
    else:
        for p in range(start, stop):
            scores[docs[p]] += weight * impact_at(postings, p, norms, model, factor)


@kernel
def best_impact(
    postings: Postings,
    entry: Int,
    norms: Floats,
    model: tuple[Int, Floats],
    factor: Any,
    bounding: tuple[Bounds, Floats, Floats],
) -> Any:
    """Give what no impact of an entry exceeds.

    Of a long one by its pairs of count and length, else by its postings; a large count is taken
    for the largest that there is.
    """
    start, stop = start_of(postings.entries, entry), start_of(postings.entries, entry + 1)
    if stop - start >= PAIRS_FROM:
        pairs, pair_norms, _ = bounding
        i = np.searchsorted(pairs.entries, np.uint32(entry))
        first, last = np.int64(pairs.starts[i]), np.int64(pairs.starts[i + 1])
        counts, its_norms = pairs.counts[first:last], pair_norms[first:last]
    else:
        counts, its_norms = postings.counts[start:stop], norms[postings.docs[start:stop]]
    top = np.float32(0.0)
    n_large = 0
    for p in range(len(counts)):
        if counts[p] < LARGE:
            top = max(top, impact(model[0], np.float32(counts[p]), its_norms[p], factor))
        else:
            n_large += 1
    if n_large:
        largest = np.float32(LARGE)
        if len(postings.large_counts):
            largest = np.float32(postings.large_counts.max())
        for p in range(len(counts)):
            if counts[p] == LARGE:
                top = max(top, impact(model[0], largest, its_norms[p], factor))
    return top
