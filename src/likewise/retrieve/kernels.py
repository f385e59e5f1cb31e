"""The hot loops of search: postings in, the best k documents out.

The score of a document is summed over the query's terms in one order, that of descending
weight, whatever path is taken: pruned and exhaustive search, one segment or twenty, give the
same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.postings import BLOCK, LARGE, Postings
from likewise.compiled import Bools, Floats, Int, Ints, Offsets, Shorts, kernel
from likewise.retrieve.models import BM25_IMPACT, DIRICHLET_IMPACT, TFIDF_IMPACT

WINDOW = 8192
# Sums of single-precision numbers may pass the sum of their bounds by this share.
_SLACK = np.float32(1.00001)
# A binary search costs about as much as passing over this many postings.
_SEARCH_COST = 48


@kernel
def impact(kind: Int, count: Any, norm: Any, factor: Any) -> Any:
    """Give the impact of a count: see the models for what each is."""
    if kind == BM25_IMPACT:
        return count / (count + norm)
    if kind == TFIDF_IMPACT:
        return np.float32(1.0 + np.log(count)) * norm
    if kind == DIRICHLET_IMPACT:
        return np.float32(np.log1p(count * factor))
    return np.float32(np.log1p(count * factor * norm))


@kernel
def large_count(large_at: Offsets, large_counts: Offsets, posting: Int) -> Any:
    """Give a count of 255 or more."""
    i = np.searchsorted(large_at, posting)
    if i < len(large_at) and large_at[i] == posting:
        return np.float32(large_counts[i])
    return np.float32(LARGE)


@kernel
def add_impacts(
    postings: Postings,
    start: Int,
    stop: Int,
    first_doc: Int,
    model: tuple[Int, Floats],
    term: tuple[Any, Any],
    scores: Floats,
    shift: Int,
) -> None:
    """Add `weight · impact` of the postings from start to stop to `scores[doc - shift]`.

    `first_doc` is the number of the block's first document, `model` the kind of impact and the
    norms, `term` the weight and the factor. Equals np.add.at(scores, docs - shift, weight *
    impact(counts, norms[docs], factor)).
    """
    kind, norms = model
    weight, factor = term
    docs, counts = postings.docs, postings.counts
    if kind == BM25_IMPACT:
        for p in range(start, stop):
            doc = np.int64(docs[p])
            count = np.float32(counts[p])
            if counts[p] == LARGE:
                count = large_count(postings.large_at, postings.large_counts, p)
            scores[doc - shift] += weight * (count / (count + norms[first_doc + doc]))
    else:
        for p in range(start, stop):
            doc = np.int64(docs[p])
            count = np.float32(counts[p])
            if counts[p] == LARGE:
                count = large_count(postings.large_at, postings.large_counts, p)
            scores[doc - shift] += weight * impact(kind, count, norms[first_doc + doc], factor)


@kernel
def best_impact(
    postings: Postings, entry: Int, model: tuple[Int, Floats], factor: Any, best: Floats
) -> Any:
    """Give the largest impact of an entry, worked out once and kept in `best`."""
    if best[entry] >= 0:
        return best[entry]
    kind, norms = model
    first_doc = np.int64(postings.entry_blocks[entry]) * BLOCK
    top = np.float32(0.0)
    for p in range(np.int64(postings.starts[entry]), np.int64(postings.starts[entry + 1])):
        count = np.float32(postings.counts[p])
        if postings.counts[p] == LARGE:
            count = large_count(postings.large_at, postings.large_counts, p)
        value = impact(kind, count, norms[first_doc + np.int64(postings.docs[p])], factor)
        top = max(top, value)
    best[entry] = top
    return top


@kernel
def lower_bound(docs: Shorts, start: Int, stop: Int, doc: Int) -> Int:
    """Find the first posting from start to stop whose document is `doc` or later, galloping."""
    step = 16
    low = start
    while low + step < stop and docs[low + step] < doc:
        low += step
        step *= 2
    high = min(low + step, stop)
    while low < high:
        middle = (low + high) // 2
        if docs[middle] < doc:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def worse(score: Any, doc: Int, other_score: Any, other_doc: Int) -> Any:
    """Tell whether an answer ranks after another: a lower score, or the same and a later doc."""
    return score < other_score or (score == other_score and doc > other_doc)


@kernel
def push(scores: Floats, docs: Ints, size: Int, score: Any, doc: Int) -> Int:
    """Offer an answer to a heap of the best, the worst of them on top; give its new size."""
    k = len(scores)
    if size < k:
        i = size
        while i > 0:
            parent = (i - 1) // 2
            if not worse(score, doc, scores[parent], docs[parent]):
                break
            scores[i], docs[i] = scores[parent], docs[parent]
            i = parent
        scores[i], docs[i] = score, doc
        return size + 1
    if not worse(scores[0], docs[0], score, doc):
        return size
    i = 0
    while True:
        child = 2 * i + 1
        if child >= k:
            break
        if child + 1 < k and worse(scores[child + 1], docs[child + 1], scores[child], docs[child]):
            child += 1
        if not worse(scores[child], docs[child], score, doc):
            break
        scores[i], docs[i] = scores[child], docs[child]
        i = child
    scores[i], docs[i] = score, doc
    return size


@kernel
def search_exhaustive(
    postings: Postings,
    model: tuple[Int, Floats],
    query: tuple[Ints, Floats, Floats, Any],
    allowed: Bools,
    base: Int,
    heap: tuple[Floats, Ints],
    size: Int,
) -> Int:
    """Score every document that has a term of the query, block by block; give the heap's size.

    `query` is the terms' rows in the postings (-1: none), weights and factors, in descending
    order of weight, and the share of the documents' own part; `base` is added to the documents.
    """
    rows, weights, factors, share = query
    norms = model[1]
    n_docs = len(norms)
    scores = np.zeros(min(BLOCK, n_docs), np.float32)
    seen = np.zeros(min(BLOCK, n_docs), np.bool_)
    entries = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        entries[i] = np.int64(postings.entry_bounds[rows[i]]) if rows[i] >= 0 else -1
    cancelling = len(weights) > 0 and weights.min() < 0
    for first_doc in range(0, n_docs, BLOCK):
        block = first_doc // BLOCK
        touched = False
        for i in range(len(rows)):
            e = entries[i]
            if e < 0 or e == np.int64(postings.entry_bounds[rows[i] + 1]):
                continue
            if np.int64(postings.entry_blocks[e]) != block:
                continue
            entries[i] += 1
            touched = True
            start, stop = np.int64(postings.starts[e]), np.int64(postings.starts[e + 1])
            add_impacts(
                postings, start, stop, first_doc, model, (weights[i], factors[i]), scores, 0
            )
            if cancelling:
                for p in range(start, stop):
                    seen[postings.docs[p]] = True
        if touched:
            n = min(BLOCK, n_docs - first_doc)
            size = _sift(
                scores[:n], seen, cancelling, norms, share, allowed, base, first_doc, heap, size
            )
    return size


@kernel
def _sift(
    scores: Floats,
    seen: Bools,
    cancelling: bool,
    norms: Floats,
    share: Any,
    allowed: Bools,
    base: Int,
    first_doc: Int,
    heap: tuple[Floats, Ints],
    size: Int,
) -> Int:
    """Offer a block's scores to the heap and clear them."""
    k = len(heap[0])
    for first in range(0, len(scores), 64):
        last = min(first + 64, len(scores))
        if not cancelling:
            top = np.float32(0.0)
            for i in range(first, last):
                top = max(top, scores[i])
            # A document's own part is never positive, so this bounds the whole score.
            if top == 0 or (size == k and top < heap[0][0]):
                for i in range(first, last):
                    scores[i] = 0
                continue
        for i in range(first, last):
            if (seen[i] if cancelling else scores[i] != 0) and allowed[first_doc + i]:
                score = scores[i]
                if share != 0:
                    score += share * norms[first_doc + i]
                size = push(heap[0], heap[1], size, score, base + first_doc + i)
            scores[i] = 0
            seen[i] = False
    return size


@kernel
def search_pruned(
    postings: Postings,
    model: tuple[Int, Floats],
    query: tuple[Ints, Floats, Floats, Any],
    allowed: Bools,
    base: Int,
    heap: tuple[Floats, Ints],
    size: Int,
    best: Floats,
) -> Int:
    """Find the same answers as `search_exhaustive`, looking at fewer documents.

    MaxScore (Turtle, Flood 1995) in windows of documents: terms whose bounds together stay below
    the k-th score so far are looked up only for documents that the other terms bring forward.
    For weights above zero.
    """
    rows, weights, factors, share = query
    norms = model[1]
    n_terms, n_docs, k = len(rows), len(norms), len(heap[0])
    n_found: Int = 0
    scores = np.zeros(WINDOW, np.float32)
    found_docs = np.empty(WINDOW, np.int64)
    found_scores = np.empty(WINDOW, np.float32)
    entries = np.empty(n_terms, np.int64)
    at = np.zeros(n_terms, np.int64)
    window_end = np.zeros(n_terms, np.int64)
    end = np.zeros(n_terms, np.int64)
    rest = np.zeros(n_terms + 1, np.float32)
    for i in range(n_terms):
        entries[i] = np.int64(postings.entry_bounds[rows[i]]) if rows[i] >= 0 else -1
    for first_doc in range(0, n_docs, BLOCK):
        block = first_doc // BLOCK
        for i in range(n_terms - 1, -1, -1):
            e = entries[i]
            at[i] = end[i] = 0
            rest[i] = rest[i + 1]
            if e < 0 or e == np.int64(postings.entry_bounds[rows[i] + 1]):
                continue
            if np.int64(postings.entry_blocks[e]) != block:
                continue
            entries[i] += 1
            at[i], end[i] = np.int64(postings.starts[e]), np.int64(postings.starts[e + 1])
            bound = best_impact(postings, e, model, factors[i], best)
            rest[i] = rest[i + 1] + weights[i] * bound * _SLACK
        n_leading = n_terms
        for window in range(0, min(BLOCK, n_docs - first_doc), WINDOW):
            if size == k:
                while n_leading > 0 and rest[n_leading - 1] < heap[0][0]:
                    n_leading -= 1
                if n_leading == 0:
                    break
            threshold = heap[0][0] if size == k else np.float32(-np.inf)
            for i in range(n_leading):
                window_end[i] = lower_bound(postings.docs, at[i], end[i], window + WINDOW)
                add_impacts(
                    postings,
                    at[i],
                    window_end[i],
                    first_doc,
                    model,
                    (weights[i], factors[i]),
                    scores,
                    window,
                )
            n_found = 0
            for i in range(n_leading):
                for p in range(at[i], window_end[i]):
                    doc = np.int64(postings.docs[p])
                    score = scores[doc - window]
                    if score != 0:
                        scores[doc - window] = 0
                        if score + rest[n_leading] >= threshold:
                            found_docs[n_found] = doc
                            found_scores[n_found] = score
                            n_found += 1
                at[i] = window_end[i]
            for i in range(n_leading, n_terms):
                if n_found == 0:
                    break
                n_found = _keep(found_docs, found_scores, n_found, threshold - rest[i])
                at[i] = _look_up(
                    postings,
                    (at[i], end[i], window),
                    first_doc,
                    model,
                    (weights[i], factors[i]),
                    (found_docs, found_scores, scores),
                    n_found,
                )
            for j in range(n_found):
                doc = first_doc + found_docs[j]
                score = found_scores[j]
                if share != 0:
                    score += share * norms[doc]
                if allowed[doc]:
                    size = push(heap[0], heap[1], size, score, base + doc)
    return size


@kernel
def _keep(docs: Ints, scores: Floats, n: Int, least: Any) -> Int:
    """Drop the documents that stay below a score; give how many are left."""
    kept = 0
    for j in range(n):
        if scores[j] >= least:
            docs[kept], scores[kept] = docs[j], scores[j]
            kept += 1
    return kept


@kernel
def _look_up(
    postings: Postings,
    span: tuple[Int, Int, Int],
    first_doc: Int,
    model: tuple[Int, Floats],
    term: tuple[Any, Any],
    found: tuple[Ints, Floats, Floats],
    n_found: Int,
) -> Int:
    """Add one term's impacts to the documents found; give its first posting after the window."""
    at, end, window = span
    docs, scores, scratch = found
    start = lower_bound(postings.docs, at, end, window)
    if n_found * _SEARCH_COST < WINDOW and n_found * _SEARCH_COST < end - start:
        for j in range(n_found):
            p = lower_bound(postings.docs, start, end, docs[j])
            if p < end and np.int64(postings.docs[p]) == docs[j]:
                scores[j] += term[0] * _impact_at(postings, p, first_doc, model, term[1])
        return start
    stop = lower_bound(postings.docs, start, end, window + WINDOW)
    for j in range(n_found):
        scratch[docs[j] - window] = scores[j]
    for p in range(start, stop):
        doc = np.int64(postings.docs[p]) - window
        if scratch[doc] != 0:
            scratch[doc] += term[0] * _impact_at(postings, p, first_doc, model, term[1])
    for j in range(n_found):
        scores[j] = scratch[docs[j] - window]
        scratch[docs[j] - window] = 0
    return stop


@kernel
def _impact_at(
    postings: Postings, p: Int, first_doc: Int, model: tuple[Int, Floats], factor: Any
) -> Any:
    count = np.float32(postings.counts[p])
    if postings.counts[p] == LARGE:
        count = large_count(postings.large_at, postings.large_counts, p)
    return impact(model[0], count, model[1][first_doc + np.int64(postings.docs[p])], factor)


@kernel
def search_batch(
    postings: Postings,
    model: tuple[Int, Floats],
    queries: tuple[Ints, Ints, Floats, Floats, Floats],
    allowed: Bools,
    base: Int,
    heaps: tuple[NDArray[np.float32], NDArray[np.int64], Ints],
    best: Floats,
    longest_pruned: Int,
) -> None:
    """Search for several queries, one after the other.

    `queries` is bounds, rows, weights, factors and shares; `heaps` the scores and documents, a
    row each, and the sizes. Queries of more than `longest_pruned` terms are not pruned.
    """
    bounds, rows, weights, factors, shares = queries
    for q in range(len(bounds) - 1):
        a, b = bounds[q], bounds[q + 1]
        if a == b or heaps[0].shape[1] == 0:
            continue
        query = (rows[a:b], weights[a:b], factors[a:b], shares[q])
        heap = (heaps[0][q], heaps[1][q])
        # Weights descend, so the last is the least.
        if b - a <= longest_pruned and weights[b - 1] > 0:
            heaps[2][q] = search_pruned(
                postings, model, query, allowed, base, heap, heaps[2][q], best
            )
        else:
            heaps[2][q] = search_exhaustive(
                postings, model, query, allowed, base, heap, heaps[2][q]
            )


@kernel
def order_heaps(heaps: tuple[NDArray[np.float32], NDArray[np.int64], Ints]) -> None:
    """Sort each heap, the best first."""
    for q in range(len(heaps[2])):
        scores, docs = heaps[0][q], heaps[1][q]
        for size in range(heaps[2][q] - 1, 0, -1):
            score, doc = scores[0], docs[0]
            push(scores[:size], docs[:size], size, scores[size], docs[size])
            scores[size], docs[size] = score, doc
