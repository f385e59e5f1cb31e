"""The hot loops of search: postings in, the best k documents out.

The score of a document is summed over the query's terms in one order, whatever path is taken:
pruned and exhaustive search, one segment or twenty, give the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.collection.postings import BLOCK, LARGE, Postings
from likewise.compiled import Bools, Floats, Ids, Int, Ints, Offsets, Shorts, kernel
from likewise.retrieve.best import key_of, push, score_of
from likewise.retrieve.models import BM25_IMPACT, DIRICHLET_IMPACT, TFIDF_IMPACT

# Scores are looked through in groups, most of which one comparison rules out.
GROUP = 64
# What costs about as much as adding one posting: a look at this many scores in groups, a
# share of finding one posting by its document, or of one push to a heap.
_SCORES_PER_POSTING = 8
_SEARCH_COST = 16
_PUSH_COST = 16
# The least number above zero.
_LEAST = np.float32(1e-45)
# From this many postings on, impacts that depend on the count alone are worked out once for each.
_TABLE_FROM = 512


class Workspace(NamedTuple):
    """Arrays as large as a block, used again and again: zeros between uses."""

    scores: Floats
    seen: Bools
    found: Shorts


def make_workspace() -> Workspace:
    """Make the arrays that one thread needs."""
    return Workspace(
        np.zeros(BLOCK, np.float32), np.zeros(BLOCK, np.bool_), np.zeros(BLOCK, np.uint16)
    )


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
        table = np.empty(LARGE, np.float32)
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
    postings: Postings, entry: Int, norms: Floats, model: tuple[Int, Floats], factor: Any
) -> Any:
    """Give the largest impact of an entry."""
    top = np.float32(0.0)
    for p in range(np.int64(postings.starts[entry]), np.int64(postings.starts[entry + 1])):
        top = max(top, impact_at(postings, p, norms, model, factor))
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
def _any_above(scores: Floats, first: Int, least: Any) -> Any:
    """Tell whether a group has a score of `least` or more.

    Equals (scores[first : first + GROUP] >= least).any(), without a branch.
    """
    hit = np.int32(0)
    for i in range(first, first + GROUP):
        hit = hit | np.int32(scores[i] >= least)
    return hit != 0


@kernel
def find_above(scores: Floats, n: Int, least: Any, found: Shorts) -> Int:
    """List the places of the first n whose score is `least` or more; give how many there are.

    Equals np.flatnonzero(scores[:n] >= least), for least above 0.
    """
    n_found = 0
    for first in range(0, n, GROUP):
        if _any_above(scores, first, least):
            for i in range(first, first + GROUP):
                found[n_found] = i
                n_found += scores[i] >= least
    return n_found


@kernel
def search_segment(
    postings: Postings,
    model: tuple[Int, Floats],
    query: tuple[Ints, Floats, Floats, Any],
    documents: tuple[Bools, Int],
    heap: Ints,
    size: Int,
    best: Floats,
    prune: bool,
    space: Workspace,
) -> Int:
    """Find the best documents of a segment, block by block; give the heap's size.

    `query` is the terms' rows in the postings (-1: none), weights and factors, in descending
    order of weight, and the share of the documents' own part; `documents` which are allowed,
    and what is added to their numbers. `best` keeps the largest impact of each entry (-1: not
    known yet).

    Pruned as by MaxScore (Turtle, Flood 1995), a term at a time: once the terms to come, all
    together, cannot bring a new document among the best, they are looked up only for the
    documents that still may be. For that weights must be above zero.
    """
    rows, weights, factors, share = query
    n_docs, n_terms, k = len(model[1]), len(rows), len(heap)
    entries = np.empty(n_terms, np.int64)
    active = np.empty(n_terms, np.int64)
    spans = np.empty((n_terms, 2), np.int64)
    rest = np.zeros(n_terms + 1, np.float32)
    left = np.zeros(n_terms + 1, np.int64)
    # Rounding may lift a sum above that of its bounds, by half a bit each time.
    slack = np.float32(1 + 2e-7 * (n_terms + 4))
    for i in range(n_terms):
        entries[i] = np.int64(postings.entry_bounds[rows[i]]) if rows[i] >= 0 else -1
    for first_doc in range(0, n_docs, BLOCK):
        n = min(BLOCK, n_docs - first_doc)
        norms = model[1][first_doc : first_doc + n]
        block = (norms, share, documents[0][first_doc : first_doc + n], documents[1] + first_doc)
        n_active = 0
        for i in range(n_terms):
            e = entries[i]
            if e < 0 or e == np.int64(postings.entry_bounds[rows[i] + 1]):
                continue
            if np.int64(postings.entry_blocks[e]) != first_doc // BLOCK:
                continue
            entries[i] += 1
            active[n_active] = i
            spans[n_active] = np.int64(postings.starts[e]), np.int64(postings.starts[e + 1])
            if prune:
                if best[e] < 0:
                    best[e] = best_impact(postings, e, norms, model, factors[i])
                rest[n_active] = weights[i] * best[e]
            n_active += 1
        rest[n_active] = left[n_active] = 0
        for j in range(n_active - 1, -1, -1):
            rest[j] = (rest[j] + rest[j + 1]) * slack
            left[j] = left[j + 1] + spans[j, 1] - spans[j, 0]
        reach = score_of(heap[0]) / slack if prune and size == k else np.float32(0.0)
        look = n // _SCORES_PER_POSTING + _PUSH_COST * k
        since_look = 0
        done = 0
        while done < n_active and not rest[done] < reach:
            size_of_next = spans[done, 1] - spans[done, 0]
            if (
                prune
                and left[done] > 2 * look
                and max(since_look, size_of_next) > look
                and 2 * rest[done] < rest[0]
            ):
                since_look = 0
                reach = max(reach, _reach(space, block, heap, size) / slack)
                if rest[done] < reach:
                    break
            i = active[done]
            span = (spans[done, 0], spans[done, 1])
            add_impacts(postings, span, norms, model, (weights[i], factors[i]), space.scores)
            since_look += size_of_next
            done += 1
        if done == 0:
            continue
        if done == n_active:
            size = _offer_all(space, block, heap, size)
            space.scores[:n] = 0
            continue
        n_found = find_above(space.scores, n, reach - rest[done], space.found)
        for j in range(done, n_active):
            i = active[j]
            term = (weights[i], factors[i])
            span = (spans[j, 0], spans[j, 1])
            if n_found * _SEARCH_COST < span[1] - span[0]:
                _look_up(postings, span, norms, model, term, space, n_found)
            else:
                add_impacts(postings, span, norms, model, term, space.scores)
            n_found = _keep(space, n_found, reach - rest[j + 1])
        size = _offer(space, n_found, block, heap, size)
        space.scores[:n] = 0
    return size


@kernel
def _reach(space: Workspace, block: tuple[Floats, Any, Bools, Int], heap: Ints, size: Int) -> Any:
    """Give a score that k documents are sure to have, by what they have so far."""
    trial = heap.copy()
    size = _offer_all(space, block, trial, size)
    return score_of(trial[0]) if size == len(trial) else np.float32(0.0)


@kernel
def _offer_all(
    space: Workspace, block: tuple[Floats, Any, Bools, Int], heap: Ints, size: Int
) -> Int:
    """Offer the documents of a block that have a score to a heap; give its size."""
    norms, share, allowed, base = block
    k, n = len(heap), len(norms)
    bits = space.scores.view(np.int32)
    own = np.empty(1, np.float32)
    own_bits = own.view(np.int32)
    least = max(score_of(heap[0]), _LEAST) if size == k else _LEAST
    for first in range(0, n, GROUP):
        if not _any_above(space.scores, first, least):
            continue
        for doc in range(first, first + GROUP):
            # A document's own part is never positive, so its other parts bound the score.
            if space.scores[doc] >= least and allowed[doc]:
                if share != 0:
                    own[0] = space.scores[doc] + share * norms[doc]
                    size = push(heap, size, key_of(own_bits[0], base + doc))
                else:
                    size = push(heap, size, key_of(bits[doc], base + doc))
                if size == k:
                    least = max(score_of(heap[0]), _LEAST)
    return size


@kernel
def _offer(
    space: Workspace, n_found: Int, block: tuple[Floats, Any, Bools, Int], heap: Ints, size: Int
) -> Int:
    """Offer the documents found to a heap, with their own part; give its size."""
    norms, share, allowed, base = block
    own = np.empty(1, np.float32)
    bits = space.scores.view(np.int32)
    own_bits = own.view(np.int32)
    for j in range(n_found):
        doc = np.int64(space.found[j])
        if allowed[doc]:
            if share != 0:
                own[0] = space.scores[doc] + share * norms[doc]
                size = push(heap, size, key_of(own_bits[0], base + doc))
            else:
                size = push(heap, size, key_of(bits[doc], base + doc))
    return size


@kernel
def _keep(space: Workspace, n: Int, least: Any) -> Int:
    """Drop the documents found that stay below a score; give how many are left."""
    kept = 0
    for j in range(n):
        doc = space.found[j]
        space.found[kept] = doc
        kept += space.scores[doc] >= least
    return kept


@kernel
def _look_up(
    postings: Postings,
    span: tuple[Int, Int],
    norms: Floats,
    model: tuple[Int, Floats],
    term: tuple[Any, Any],
    space: Workspace,
    n_found: Int,
) -> None:
    """Add one term's impacts to the scores of the documents found."""
    at, end = span
    for j in range(n_found):
        doc = space.found[j]
        at = lower_bound(postings.docs, at, end, doc)
        if at == end:
            break
        if postings.docs[at] == doc:
            space.scores[doc] += term[0] * impact_at(postings, at, norms, model, term[1])


@kernel
def search_signed(
    postings: Postings,
    model: tuple[Int, Floats],
    query: tuple[Ints, Floats, Floats, Any],
    documents: tuple[Bools, Int],
    heap: Ints,
    size: Int,
    space: Workspace,
) -> Int:
    """Find the best documents of a segment for weights of either sign; give the heap's size.

    The parameters are those of `search_segment`. Scores may cancel out, so that the documents
    are known by their postings.
    """
    rows, weights, factors, share = query
    n_docs = len(model[1])
    for first_doc in range(0, n_docs, BLOCK):
        n = min(BLOCK, n_docs - first_doc)
        norms = model[1][first_doc : first_doc + n]
        block = (norms, share, documents[0][first_doc : first_doc + n], documents[1] + first_doc)
        n_found = 0
        for i in range(len(rows)):
            if rows[i] < 0:
                continue
            first = np.int64(postings.entry_bounds[rows[i]])
            last = np.int64(postings.entry_bounds[rows[i] + 1])
            for e in range(first, last):
                if np.int64(postings.entry_blocks[e]) != first_doc // BLOCK:
                    continue
                span = (np.int64(postings.starts[e]), np.int64(postings.starts[e + 1]))
                add_impacts(postings, span, norms, model, (weights[i], factors[i]), space.scores)
                for p in range(span[0], span[1]):
                    doc = postings.docs[p]
                    if not space.seen[doc]:
                        space.seen[doc] = True
                        space.found[n_found] = doc
                        n_found += 1
        size = _offer(space, n_found, block, heap, size)
        space.scores[:n] = 0
        space.seen[:n] = False
    return size


@kernel
def search_batch(
    postings: Postings,
    model: tuple[Int, Floats],
    queries: tuple[Ints, Ints, Floats, Floats, Floats],
    documents: tuple[Bools, Int],
    heaps: tuple[Any, Ints],
    best: Floats,
    prune: bool,
    space: Workspace,
) -> None:
    """Search for several queries, one after the other.

    `queries` is bounds, rows, weights, factors and shares; `heaps` the keys, a row for each
    query, and the sizes.
    """
    bounds, rows, weights, factors, shares = queries
    keys, sizes = heaps
    for q in range(len(bounds) - 1):
        a, b = bounds[q], bounds[q + 1]
        if a == b or keys.shape[1] == 0:
            continue
        query = (rows[a:b], weights[a:b], factors[a:b], shares[q])
        # Weights descend, so the last is the least.
        if weights[b - 1] > 0:
            sizes[q] = search_segment(
                postings, model, query, documents, keys[q], sizes[q], best, prune, space
            )
        else:
            sizes[q] = search_signed(postings, model, query, documents, keys[q], sizes[q], space)
