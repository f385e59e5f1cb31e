"""The hot loops of perturbation: rankings and counts in, relevance models and distances out."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.compiled import Doubles, Ints, kernel


@kernel
def gather(docs: Ints, bounds: Ints, weights: Doubles) -> tuple[Any, Any]:
    """Give the distinct documents of rankings, and a row of their weights for each ranking.

    Ranking i is `docs[bounds[i]:bounds[i + 1]]`; documents come in the order in which they are
    first met. Equals, for `found = list(dict.fromkeys(docs))`, the found, and zeros in which
    `shares[i, found.index(d)] = w` for every document d of ranking i and its weight w.
    """
    n_slots = 16
    while n_slots < 2 * len(docs):
        n_slots *= 2
    slots = np.full(n_slots, -1, np.int64)
    places = np.empty(len(docs), np.int64)
    found = np.empty(len(docs), np.int64)
    n_found = 0
    for j in range(len(docs)):
        slot = docs[j] & (n_slots - 1)
        while slots[slot] >= 0 and found[slots[slot]] != docs[j]:
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            slots[slot] = n_found
            found[n_found] = docs[j]
            n_found += 1
        places[j] = slots[slot]
    shares = np.zeros((len(bounds) - 1, n_found))
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            shares[i, places[j]] = weights[j]
    return found[:n_found].copy(), shares


@kernel
def relevance_models(
    counted: tuple[Ints, Ints, Doubles],
    lengths: Doubles,
    shares: Doubles,
    background: Doubles,
    smoothing: float,
) -> Any:
    """Give a smoothed relevance model (RM1) for each row of shares, in one pass over the counts.

    `counted` is bounds, columns and counts of documents, `shares` the weight of each document in
    each model. Equals `(1 - smoothing) * (shares / lengths) @ counts + smoothing * background`
    for dense counts, but the background alone where there are no documents.
    """
    bounds, columns, counts = counted
    n_models, n_docs = shares.shape
    n_terms = len(background)
    # A column for each model while counts are added, so that a term's sums stand side by side.
    sums = np.zeros((n_terms, n_models))
    used = np.empty(n_models, np.int64)
    weights = np.empty(n_models)
    is_used = np.zeros(n_models, np.bool_)
    for doc in range(n_docs):
        n_used = 0
        for i in range(n_models):
            if shares[i, doc] != 0:
                used[n_used] = i
                weights[n_used] = shares[i, doc] / lengths[doc]
                is_used[i] = True
                n_used += 1
        for j in range(bounds[doc], bounds[doc + 1]):
            for u in range(n_used):
                sums[columns[j], used[u]] += counts[j] * weights[u]
    models = np.empty((n_models, n_terms))
    for i in range(n_models):
        kept = 1 - smoothing if is_used[i] else 0.0
        added = smoothing if is_used[i] else 1.0
        for term in range(n_terms):
            models[i, term] = kept * sums[term, i] + added * background[term]
    return models


@kernel
def squared_distances(points: Doubles) -> Any:
    """Give the squared Euclidean distances of all pairs of rows.

    Equals g_ii + g_jj - 2 g_ij with g = points @ points.T, but nothing cancels out: it is never
    below 0, and 0 for equal rows.
    """
    n, width = points.shape
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = 0.0
            for c in range(width):
                step = points[i, c] - points[j, c]
                total += step * step
            out[i, j] = out[j, i] = total
    return out
