"""The hot loops of search: postings in, the best k documents out.

The score of a document is summed over the query's terms in one order, whatever path is taken:
pruned and exhaustive search, one segment or twenty, give the same bits. What a posting says for its
document, by any model, is in `impacts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from likewise.collection.postings import BLOCK, Bounds, Postings, block_of, start_of
from likewise.collection.words import term_rows
from likewise.compiled import Bools, Floats, Int, Ints, Shorts, kernel
from likewise.retrieve.best import key_of, push, score_of
from likewise.retrieve.impacts import add_impacts, best_impact, impact_at

# Documents are scored in windows, so that their scores and norms stay in the cache.
WINDOW = 32768
# Scores are looked through in groups, most of which one comparison rules out.
GROUP = 64
# What costs about as much as adding one posting: a look at this many scores in groups, a
# share of finding one posting by its document, or of one push to a heap.
_SCORES_PER_POSTING = 8
_SEARCH_COST = 16
_PUSH_COST = 16
# Terms are looked up when they can add at most this share of what is needed: earlier, and too
# many documents would still be in question.
_EARLY = np.float32(0.5)
# A look is worth it when the terms to come can add at most this share of what the scores so far
# could reach, by their bounds.
_HOPEFUL = np.float32(0.25)
# The least number above zero.
_LEAST = np.float32(1e-45)


# From and to which document of a block; the block's norms, the share of the documents' own part,
# which are allowed, and what is added to their numbers.
Window: TypeAlias = tuple[Int, Int, Floats, Any, Bools, Int]


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
def _any_above(group: Floats, least: Any) -> Any:
    """Tell whether a group of scores has one of `least` or more, without a branch.

    Equals (group >= least).any().
    """
    hit = np.int32(0)
    for i in range(GROUP):
        hit = hit | np.int32(group[i] >= least)
    return hit != 0


@kernel
def find_above(scores: Floats, low: Int, high: Int, least: Any, found: Shorts) -> Int:
    """List the places from low to high whose score is `least` or more; give how many there are.

    Low is where a group starts. Equals low + np.flatnonzero(scores[low:high] >= least), for
    least above 0 and zeros beyond high.
    """
    n_found = 0
    for first in range(low, high, GROUP):
        if _any_above(scores[first : first + GROUP], least):
            for i in range(first, first + GROUP):
                if scores[i] >= least:
                    found[n_found] = i
                    n_found += 1
    return n_found


@kernel
def search_segment(
    postings: Postings,
    model: tuple[Int, Floats],
    query: tuple[Ints, Floats, Floats, Any],
    documents: tuple[Bools, Int, Int],
    heap: Ints,
    size: Int,
    bounding: tuple[Bounds, Floats, Floats],
    prune: bool,
    space: Workspace,
) -> Int:
    """Find the best documents of a segment, window by window; give the heap's size.

    `query` is the terms' rows in the postings (-1: none), weights and factors, in descending
    order of weight, and the share of the documents' own part; `documents` which are allowed,
    what is added to their numbers, and how many there are: masks and norms go to the end of the
    last block. `bounding` is pairs of entries, their norms, and what no impact of an entry exceeds
    (-1: not known yet). Pruning needs weights above zero.
    """
    rows, weights, factors, share = query
    n_docs, n_terms = documents[2], len(rows)
    known = bounding[2]
    entries = np.empty(n_terms, np.int64)
    at = np.empty(n_terms, np.int64)
    end = np.empty(n_terms, np.int64)
    bounds = np.zeros(n_terms, np.float32)
    here = np.empty(n_terms, np.int64)
    spans = np.empty((n_terms, 2), np.int64)
    for i in range(n_terms):
        entries[i] = np.int64(postings.heads[rows[i], 0]) if rows[i] >= 0 else -1
    for first_doc in range(0, n_docs, BLOCK):
        n = min(BLOCK, n_docs - first_doc)
        norms = model[1][first_doc : first_doc + BLOCK]
        for i in range(n_terms):
            e = entries[i]
            at[i] = end[i] = 0
            if e < 0 or e == np.int64(postings.heads[rows[i] + 1, 0]):
                continue
            if block_of(postings.entries, e) != first_doc // BLOCK:
                continue
            entries[i] += 1
            at[i], end[i] = start_of(postings.entries, e), start_of(postings.entries, e + 1)
            if prune:
                if known[e] < 0:
                    known[e] = best_impact(postings, e, norms, model, factors[i], bounding)
                bounds[i] = weights[i] * known[e]
        allowed = documents[0][first_doc : first_doc + BLOCK]
        for low in range(0, n, WINDOW):
            high = min(low + WINDOW, n)
            n_here = 0
            for i in range(n_terms):
                stop = end[i] if high == n else lower_bound(postings.docs, at[i], end[i], high)
                if stop > at[i]:
                    here[n_here] = i
                    spans[n_here] = at[i], stop
                    n_here += 1
                    at[i] = stop
            if n_here:
                window = (low, high, norms, share, allowed, documents[1] + first_doc)
                terms = (here[:n_here], spans, weights, factors, bounds)
                size = _search_window(postings, model, window, terms, heap, size, prune, space)
    return size


@kernel
def _search_window(
    postings: Postings,
    model: tuple[Int, Floats],
    window: Window,
    terms: tuple[Ints, Any, Floats, Floats, Floats],
    heap: Ints,
    size: Int,
    prune: bool,
    space: Workspace,
) -> Int:
    """Find the best documents of a window; give the heap's size.

    As MaxScore (Turtle, Flood 1995), a term at a time: once the terms to come, all together,
    cannot bring a new document among the best, they are looked up only for the documents that
    still may be. What the best are sure to have is known by earlier windows, and by a look at
    the scores so far.
    """
    here, spans, weights, factors, bounds = terms
    low, high, norms = window[0], window[1], window[2]
    n_here, k = len(here), len(heap)
    # Rounding may lift a sum above that of its bounds, by half a bit each time.
    slack = np.float32(1 + 2e-7 * (n_here + 4))
    rest = np.zeros(n_here + 1, np.float32)
    left = np.zeros(n_here + 1, np.int64)
    for j in range(n_here - 1, -1, -1):
        rest[j] = (bounds[here[j]] + rest[j + 1]) * slack
        left[j] = left[j + 1] + spans[j, 1] - spans[j, 0]
    reach = score_of(heap[0]) / slack if prune and size == k else np.float32(0.0)
    look = (high - low) // _SCORES_PER_POSTING + _PUSH_COST * k
    since_look = 0
    rest_at_look = rest[0]
    done = 0
    while done < n_here and not rest[done] < _EARLY * reach:
        size_of_next = spans[done, 1] - spans[done, 0]
        if (
            prune
            and left[done] > 2 * look
            and max(since_look, size_of_next) > look
            and rest[done] < _HOPEFUL * (reach + rest_at_look - rest[done])
        ):
            since_look = 0
            rest_at_look = rest[done]
            reach = max(reach, _reach(space, -1, window, heap, size) / slack)
            if rest[done] < _EARLY * reach:
                break
        i = here[done]
        span = (spans[done, 0], spans[done, 1])
        add_impacts(postings, span, norms, model, (weights[i], factors[i]), space.scores)
        since_look += size_of_next
        done += 1
    if done == n_here:
        size = _offer_all(space, window, heap, size)
    elif done > 0:
        n_found = find_above(space.scores, low, high, reach - rest[done], space.found)
        for j in range(done, n_here):
            i = here[j]
            term = (weights[i], factors[i])
            span = (spans[j, 0], spans[j, 1])
            if n_found * _SEARCH_COST < span[1] - span[0]:
                _look_up(postings, span, norms, model, term, space, n_found)
            else:
                add_impacts(postings, span, norms, model, term, space.scores)
            if n_found > 4 * k:
                reach = max(reach, _reach(space, n_found, window, heap, size) / slack)
            n_found = _keep(space, n_found, reach - rest[j + 1])
        size = _offer(space, n_found, window, heap, size)
    if done > 0:
        # To the end of the group: a damaged posting may name a document beyond the last.
        space.scores[low : -(-high // GROUP) * GROUP] = 0
    return size


@kernel
def _reach(space: Workspace, n_found: Int, window: Window, heap: Ints, size: Int) -> Any:
    """Give a score that k documents are sure to have, by what those found (-1: all) have so far."""
    trial = heap.copy()
    if n_found < 0:
        size = _offer_all(space, window, trial, size)
    else:
        size = _offer(space, n_found, window, trial, size)
    return score_of(trial[0]) if size == len(trial) else np.float32(0.0)


@kernel
def _offer_all(space: Workspace, window: Window, heap: Ints, size: Int) -> Int:
    """Offer the documents of a window that have a score to a heap; give its size."""
    low, high, norms, share, allowed, base = window
    k = len(heap)
    bits = space.scores.view(np.int32)
    own = np.empty(1, np.float32)
    own_bits = own.view(np.int32)
    least = max(score_of(heap[0]), _LEAST) if size == k else _LEAST
    for first in range(low, high, GROUP):
        if not _any_above(space.scores[first : first + GROUP], least):
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
def _offer(space: Workspace, n_found: Int, window: Window, heap: Ints, size: Int) -> Int:
    """Offer the documents found to a heap, with their own part; give its size."""
    _, _, norms, share, allowed, base = window
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
    documents: tuple[Bools, Int, Int],
    heap: Ints,
    size: Int,
    space: Workspace,
) -> Int:
    """Find the best documents of a segment for weights of either sign; give the heap's size.

    The parameters are those of `search_segment`. Scores may cancel out, so that the documents
    are known by their postings.
    """
    rows, weights, factors, share = query
    n_docs = documents[2]
    for first_doc in range(0, n_docs, BLOCK):
        n = min(BLOCK, n_docs - first_doc)
        norms = model[1][first_doc : first_doc + BLOCK]
        allowed = documents[0][first_doc : first_doc + BLOCK]
        window = (0, n, norms, share, allowed, documents[1] + first_doc)
        n_found = 0
        for i in range(len(rows)):
            if rows[i] < 0:
                continue
            first = np.int64(postings.heads[rows[i], 0])
            last = np.int64(postings.heads[rows[i] + 1, 0])
            for e in range(first, last):
                if block_of(postings.entries, e) != first_doc // BLOCK:
                    continue
                span = (start_of(postings.entries, e), start_of(postings.entries, e + 1))
                add_impacts(postings, span, norms, model, (weights[i], factors[i]), space.scores)
                for p in range(span[0], span[1]):
                    doc = postings.docs[p]
                    if not space.seen[doc]:
                        space.seen[doc] = True
                        space.found[n_found] = doc
                        n_found += 1
        size = _offer(space, n_found, window, heap, size)
        space.scores[:] = 0
        space.seen[:] = False
    return size


@kernel
def search_batch(
    postings: Postings,
    model: tuple[Int, Floats],
    queries: tuple[Ints, Ints, Floats, Floats, Floats],
    documents: tuple[Bools, Int, Int],
    heaps: tuple[Any, Ints],
    bounding: tuple[Bounds, Floats, Floats],
    prune: bool,
    space: Workspace,
) -> None:
    """Search for several queries, one after the other.

    `queries` is bounds, terms, weights, factors and shares; `heaps` the keys, a row for each
    query, and the sizes.
    """
    bounds, terms, weights, factors, shares = queries
    keys, sizes = heaps
    rows = term_rows(terms, postings.terms)
    for q in range(len(bounds) - 1):
        a, b = bounds[q], bounds[q + 1]
        if a == b or keys.shape[1] == 0:
            continue
        query = (rows[a:b], weights[a:b], factors[a:b], shares[q])
        # Weights descend, so the last is the least.
        if weights[b - 1] > 0:
            sizes[q] = search_segment(
                postings, model, query, documents, keys[q], sizes[q], bounding, prune, space
            )
        else:
            sizes[q] = search_signed(postings, model, query, documents, keys[q], sizes[q], space)
