"""BM25's best k: exact, and most documents are never scored.

A block of 65,536 documents at a time, terms are added to sums of bounds, those first that say much
in few postings, until what is left cannot bring a document among the best that has none of them; it
is looked up for those that may still win (as MaxScore does: Turtle, Flood 1995). What k documents
have at least is known from these sums as well. Documents that may win at the end are scored by
their postings where the query is short, else by their records; by all postings of a block where
they are many.

Costs were chosen on abstracts of arXiv: benchmarks/README.md, `benchmarks/search.py --tune`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import BLOCK, Postings, block_of, start_of
from likewise.compiled import Int, Ints, Shorts, kernel
from likewise.neighbours.largest import kth_largest
from likewise.retrieve.best import push
from likewise.retrieve.bm25_scores import score_aside, score_found, thin
from likewise.retrieve.bm25_state import Best, Block, Search, Workspace, is_open, threshold_of
from likewise.retrieve.kernels import lower_bound
from likewise.retrieve.order import order_of
from likewise.retrieve.sums import (
    GROUP,
    add_bounds,
    add_bounds_by,
    bar,
    bound_of,
    fine_maxima,
    group_maxima,
)

# In postings added: a look at the sums of a block, one at smaller groups, finding one posting,
# scoring by one posting, by one record.
_LOOK_COST = 15000
_FINE_LOOK_COST = 30000
_FIND_COST = 100
_SCORE_COST = 3
_RECORD_COST = 1000
# Queries of up to so many terms are scored by postings. From half as many on records are a little
# faster, but nothing else of a search reads these: they stay on the disk.
_SHORT = 20
# From so many documents asked for on, several stand in one group: smaller groups tell them apart.
_MANY = 64
_FINE = 16
# The next look is due when the terms to come can add this share of what they could at the last.
_FALLEN = 0.5
# A block of fewer postings is gone through by them, not by its sums.
_SPARSE = 2048
# A term counts as if it were in so many documents more: among rare ones the heavier comes first.
_RARE = 64.0


@kernel
def search_bm25(search: Search, rows: Ints) -> None:
    """Find the best documents of a segment, block by block; `rows` are the terms' (-1: none).

    Equals scoring every document by `search_segment` without pruning.
    """
    words, scale, query, documents, best, space = search
    postings, table = words.postings, words.table
    n = len(rows)
    at, end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    rate, error = np.zeros(n), np.zeros(n, np.int64)
    for i in range(n):
        if rows[i] < 0:
            continue
        head = postings.heads[rows[i]]
        at[i], end[i] = np.int64(head[0]), np.int64(postings.heads[rows[i] + 1, 0])
        weight = np.float64(query.integers[i])
        rate[i] = -np.float64(table[min(head[3], 255)]) * weight / (np.float64(head[1]) + _RARE)
        off = scale.error
        if len(postings.large_at) and _has_large(postings, at[i], end[i]):
            off = max(off, scale.large_error)
        error[i] = np.int64(weight * off / 256.0) + 3
    order = order_of(rate)
    aside = np.empty((256, 2), np.int64)
    n_aside: Int = 0
    here, tops = np.empty(n, np.int64), np.empty(n, np.int64)
    starts, stops = np.zeros(n, np.int64), np.zeros(n, np.int64)
    rest, left, errors = np.zeros((3, n + 1), np.int64)
    for number in range((documents.n_docs + BLOCK - 1) // BLOCK):
        n_here = 0
        for i in order:
            starts[i] = stops[i] = 0
            e = at[i]
            if e == end[i] or block_of(postings.entries, e) != number:
                continue
            at[i] += 1
            starts[i], stops[i] = start_of(postings.entries, e), start_of(postings.entries, e + 1)
            largest = table[np.int64(postings.entries[e]) & 255]
            tops[n_here] = bound_of(largest, query.integers[i])
            here[n_here] = i
            n_here += 1
        rest[n_here] = left[n_here] = 0
        for j in range(n_here - 1, -1, -1):
            rest[j] = rest[j + 1] + tops[j]
            left[j] = left[j + 1] + stops[here[j]] - starts[here[j]]
        if n_here == 0 or rest[0] < threshold_of(best, query):
            continue
        errors[0] = query.slack
        for j in range(n_here):
            errors[j + 1] = errors[j] + error[here[j]]
        block = Block(number * BLOCK, here[:n_here], starts, stops, rest, left, errors)
        n_found = _list_few(search, block) if left[0] < _SPARSE else _list_many(search, block)
        if _SCORE_COST * left[0] < n_found * min(_RECORD_COST, n * _FIND_COST):
            score_found(search, block, n_found)
            n_found = 0
        if n_aside + n_found > len(aside):
            n_aside = thin(aside, n_aside, threshold_of(best, query))
            while n_aside + n_found > len(aside):
                aside = np.concatenate((aside, np.empty_like(aside)))
        for j in range(n_found):
            doc = np.int64(space.found[j])
            aside[n_aside, 0], aside[n_aside, 1] = space.sums[doc], block.first + doc
            n_aside += 1
            low = np.int64(space.sums[doc]) - errors[n_here]
            best.sizes[1] = push(best.lows, best.sizes[1], low)
        _clear(search, block)
    aside = aside[: thin(aside, n_aside, threshold_of(best, query))]
    score_aside(search, rows, aside, n > _SHORT)


@kernel
def _has_large(postings: Postings, first_entry: Int, last_entry: Int) -> Any:
    """Tell whether a term has counts of 255 or more, whose bounds are off by more."""
    start, stop = start_of(postings.entries, first_entry), start_of(postings.entries, last_entry)
    i = np.searchsorted(postings.large_at, np.uint32(start))
    return i < len(postings.large_at) and np.int64(postings.large_at[i]) < stop


@kernel
def _raised(best: Best, sums: Shorts, error: Int, threshold: Int) -> Int:
    """Give what k documents have at least: those set aside, and others by their sums so far."""
    values = np.empty(best.sizes[1] + len(sums), np.int64)
    k = len(best.lows)
    n: Int = 0
    for j in range(best.sizes[1]):
        values[n] = best.lows[j]
        n += np.int64(best.lows[j] > threshold)
    for j in range(len(sums)):
        values[n] = np.int64(sums[j]) - error
        n += np.int64(values[n] > threshold)
    return threshold if n < k else kth_largest(values[:n], k)


@kernel
def _look(search: Search, block: Block, done: Int, threshold: Int) -> Int:
    """Find the maxima of groups; give what k documents have at least.

    Sums of barred documents are taken away before: they must not count.
    """
    space, documents = search.space, search.documents
    if documents.barred:
        n = min(BLOCK, documents.n_docs - block.first)
        bar(space.sums[:n], documents.open[block.first : block.first + n])
    group_maxima(space.sums, space.maxima)
    if len(search.best.lows) < _MANY:
        return _raised(search.best, space.maxima, block.errors[done], threshold)
    fine = np.empty(BLOCK // _FINE, np.uint16)
    fine_maxima(space.sums, fine)
    return _raised(search.best, fine, block.errors[done], threshold)


# Documents of a block that may win


@kernel
def _list_few(search: Search, block: Block) -> Int:
    """List the documents of a block of few postings that may win; give how many."""
    words, space = search.words, search.space
    for i in block.here:
        _add(search, block, i)
    threshold = threshold_of(search.best, search.query)
    n: Int = 0
    for i in block.here:
        for p in range(block.starts[i], block.stops[i]):
            doc = np.int64(words.postings.docs[p])
            # Those listed before are marked by a score that none has.
            is_new = np.int64(space.sums[doc]) >= threshold and space.scores[doc] == 0
            if is_new and is_open(search.documents, block.first + doc):
                space.scores[doc] = -1
                space.found[n] = doc
                n += 1
    for j in range(n):
        space.scores[space.found[j]] = 0
    return n


@kernel
def _list_many(search: Search, block: Block) -> Int:
    """List the documents of a block of many postings that may win, ascending; give how many."""
    space, best = search.space, search.best
    rest, left = block.rest, block.left
    n_here, k = len(block.here), len(best.lows)
    look_cost = _LOOK_COST if k < _MANY else _FINE_LOOK_COST
    threshold = threshold_of(best, search.query)
    since, rest_at_look, done = 0, rest[0], 0
    while done < n_here:
        # So many documents can be looked up for what adding the rest would cost.
        most = left[done] // ((n_here - done) * _FIND_COST)
        if rest[done] < threshold and left[0] - left[done] < most:
            break
        # Due when the rest has fallen, and when it first could bring no other document.
        is_due = rest[done] < max(_FALLEN * rest_at_look, min(threshold, rest_at_look))
        if is_due and since >= look_cost and left[done] > look_cost:
            since, rest_at_look = 0, rest[done]
            threshold = _look(search, block, done, threshold)
            enough = threshold - rest[done]
            if enough > 0 and _count_above(space, enough, most) <= most:
                break
        i = block.here[done]
        _add(search, block, i)
        since += block.stops[i] - block.starts[i]
        done += 1
    threshold = _look(search, block, done, threshold)
    n = _take_above(search, block, max(threshold - rest[done], 1))
    for j in range(done, n_here):
        i = block.here[j]
        if n * _FIND_COST < block.stops[i] - block.starts[i]:
            _find(search, block, i, n)
        else:
            _add(search, block, i)
        if n > 2 * k:
            sums = np.empty(n, np.uint16)
            for m in range(n):
                sums[m] = space.sums[space.found[m]]
            threshold = _raised(best, sums, block.errors[j + 1], threshold)
        n = _keep_above(space, n, threshold - rest[j + 1])
    return n


@kernel
def _add(search: Search, block: Block, i: Int) -> None:
    """Add the bounds of a term's postings to the sums of their documents."""
    words, weight = search.words, search.query.integers[i]
    docs = words.postings.docs[block.starts[i] : block.stops[i]]
    impacts = words.postings.impacts[block.starts[i] : block.stops[i]]
    if search.scale.same:
        add_bounds(docs, impacts, weight, search.space.sums)
    else:
        add_bounds_by(docs, impacts, words.table, weight, search.space.sums)


@kernel
def _find(search: Search, block: Block, i: Int, n: Int) -> None:
    """Add the bounds of a term to the sums of the documents found, which ascend."""
    words, space = search.words, search.space
    docs, impacts = words.postings.docs, words.postings.impacts
    at, stop = block.starts[i], block.stops[i]
    for j in range(n):
        doc = space.found[j]
        at = lower_bound(docs, at, stop, doc)
        if at == stop:
            break
        if docs[at] == doc:
            bound = bound_of(words.table[impacts[at]], search.query.integers[i])
            space.sums[doc] += np.uint16(bound)


@kernel
def _count_above(space: Workspace, least: Int, most: Int) -> Int:
    """Count the sums of `least` or more, up to about `most`."""
    n: Int = 0
    for g in range(len(space.maxima)):
        if np.int64(space.maxima[g]) >= least:
            group = space.sums[g * GROUP : (g + 1) * GROUP]
            for i in range(GROUP):
                n += np.int64(np.int64(group[i]) >= least)
            if n > most:
                break
    return n


@kernel
def _take_above(search: Search, block: Block, least: Int) -> Int:
    """List the documents with sums of `least` or more that may be answers; give how many."""
    space = search.space
    n: Int = 0
    for g in range(len(space.maxima)):
        if np.int64(space.maxima[g]) >= least:
            for i in range(g * GROUP, (g + 1) * GROUP):
                if np.int64(space.sums[i]) >= least:
                    space.found[n] = i
                    n += np.int64(is_open(search.documents, block.first + i))
    return n


@kernel
def _keep_above(space: Workspace, n: Int, least: Int) -> Int:
    """Drop the documents found whose sums are lower; give how many are left."""
    kept: Int = 0
    for j in range(n):
        doc = space.found[j]
        space.found[kept] = doc
        kept += np.int64(np.int64(space.sums[doc]) >= least)
    return kept


@kernel
def _clear(search: Search, block: Block) -> None:
    """Set the sums of a block to zero."""
    sums, docs = search.space.sums, search.words.postings.docs
    if block.left[0] >= _SPARSE:
        sums[:] = 0
        return
    for i in block.here:
        for p in range(block.starts[i], block.stops[i]):
            sums[docs[p]] = 0
