"""BM25's best k: exact, and most documents are never scored.

A block of 65,536 documents at a time, terms are added to sums of bounds, those first that say much
in few postings and frequent ones by their columns, until what is left cannot bring a document among
the best that has none of them; it is looked up for those that may still win (as MaxScore does:
Turtle, Flood 1995). What an answer must score is known early: those that lead when half of what can
be added was added, or all of it, are scored at once. Those of a block that may win at the end are
scored by their postings and columns in it, which were just read.

Costs were chosen on abstracts of arXiv: benchmarks/README.md, `benchmarks/search.py --tune`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import BLOCK
from likewise.compiled import Bytes, Int, Ints, Shorts, kernel
from likewise.neighbours.largest import kth_largest, kth_of_few, strided_maxima
from likewise.retrieve.bm25_plan import FIND_COST, count_postings, plan_block, plan_search
from likewise.retrieve.bm25_scores import score_by_block, score_by_records, score_found
from likewise.retrieve.bm25_state import (
    Block,
    Documents,
    Search,
    Workspace,
    is_open,
    threshold_of,
)
from likewise.retrieve.columns import add_columns, find_in_column
from likewise.retrieve.order import order_of
from likewise.retrieve.sums import (
    GROUP,
    MOST,
    TOGETHER,
    add_bounds,
    add_bounds_by,
    bar,
    bound_of,
    find_places,
    group_maxima,
)

# In postings added: a look at the sums of a block, one at smaller groups, one at a sample of them,
# scoring by one posting of all in a block, by one record.
_LOOK_COST = 5000
_FINE_LOOK_COST = 10000
_GLANCE_COST = 2000
_SCORE_COST = 3
_RECORD_COST = 1000
_EARLY_COST = 1000
# Queries of up to so many terms are scored by postings.
_SHORT = 20
# So many more than are asked for are scored early.
_MORE = 2
# One in so many groups of documents is in a sample.
_SAMPLED = 8
# From so many documents asked for on, several stand in one group: smaller groups tell them apart.
_MANY = 64
_FINE = 16
# Of fewer groups than so many for each answer, too, several answers stand in one.
_GROUPS_EACH = 4
# The next look is due when the terms to come can add this share of what they could at the last.
_FALLEN = 0.5
# A block of fewer postings is gone through by them, not by its sums.
_SPARSE = 2048


@kernel
def search_bm25(search: Search, rows: Ints) -> None:
    """Find the best documents of a segment, block by block; `rows` are the terms' (-1: none).

    Equals scoring every document by `search_segment` without pruning.
    """
    best, query, documents = search.best, search.query, search.documents
    # Columns tell less of documents than postings: for many answers too many are to be scored.
    n_postings = count_postings(search, rows)
    by_columns = _pays(search, len(rows) * FIND_COST, len(best.keys), n_postings)
    plan = plan_search(search, rows, by_columns)
    for number in range((documents.n_docs + BLOCK - 1) // BLOCK):
        block = plan_block(search, plan, number)
        if block.n_postings == 0 or block.rest[0] < threshold_of(best, query):
            continue
        if block.n_postings < _SPARSE:
            n_found = _list_few(search, block)
        else:
            n_found = _list_many(search, block, n_postings)
        _score(search, block, n_found)
        n_postings -= block.n_postings
        _clear(search, block)


@kernel
def _raised(sums: Shorts, k: Int, error: Int, threshold: Int) -> Int:
    """Give what k documents have at least by their sums so far, if it is more."""
    least = threshold + error
    if k < _MANY:
        least = kth_of_few(sums, k, least)
        return max(least - error, threshold)
    values = np.empty(len(sums), np.int64)
    n: Int = 0
    for j in range(len(sums)):
        values[n] = np.int64(sums[j])
        n += np.int64(values[n] > least)
    return threshold if n < k else kth_largest(values[:n], k) - error


@kernel
def _look(search: Search, block: Block, error: Int, threshold: Int) -> Int:
    """Find the maxima of groups; give what k documents have at least, if sums are off by `error`.

    Sums of barred documents are taken away before: they must not count.
    """
    space, documents, k = search.space, search.documents, len(search.best.keys)
    maxima = space.maxima[: block.n_groups]
    if documents.barred:
        n = min(BLOCK, documents.n_docs - block.first)
        bar(space.sums[:n], documents.open[block.first : block.first + n])
    group_maxima(space.sums, maxima)
    if search.best.sizes[0] == k:
        return threshold
    if k < _MANY and k * _GROUPS_EACH <= len(maxima):
        return _raised(maxima, k, error, threshold)
    # No more of the sums than the block has documents, but whole rows of these.
    fine = np.empty(BLOCK // _FINE, np.uint16)
    n_rows = (len(maxima) * GROUP + len(fine) - 1) // len(fine)
    strided_maxima(space.sums[: n_rows * len(fine)], fine)
    return _raised(fine, k, error, threshold)


# Documents of a block that may win


@kernel
def _list_few(search: Search, block: Block) -> Int:
    """List the documents of a block of few postings that may win; give how many."""
    words, documents, space = search.words, search.documents, search.space
    sums, scores, found = space.sums, space.scores, space.found
    docs, impacts = words.postings.docs, words.postings.impacts
    by = (words.table, search.scale.same)
    starts, stops, integers = block.starts, block.stops, search.query.integers
    for i in block.here:
        a, b = starts[i], stops[i]
        _add(docs[a:b], impacts[a:b], by, integers[i], sums)
    threshold = threshold_of(search.best, search.query)
    n: Int = 0
    for i in block.here:
        for p in range(starts[i], stops[i]):
            doc = np.int64(docs[p])
            # Those listed before are marked by a score that none has.
            is_new = np.int64(sums[doc]) >= threshold and scores[doc] == 0
            if is_new and is_open(documents, block.first + doc):
                scores[doc] = -1
                found[n] = doc
                n += 1
    for j in range(n):
        scores[found[j]] = 0
    threshold = _raised_by_found(search, block, n, len(block.here), threshold)
    return _keep_above(found, sums, n, threshold)


@kernel
def _list_many(search: Search, block: Block, n_postings: Int) -> Int:
    """List the documents of a block of many postings that may win, ascending; give how many."""
    words, documents, space, best = search.words, search.documents, search.space, search.best
    sums, found = space.sums, space.found
    docs, impacts = words.postings.docs, words.postings.impacts
    by = (words.table, search.scale.same)
    here, starts, stops, integers = block.here, block.starts, block.stops, search.query.integers
    rest, left, asking = block.rest, block.left, block.asking
    n_here, n_lists, k = len(here), block.n_lists, len(best.keys)
    look_cost = _LOOK_COST if k < _MANY else _FINE_LOOK_COST
    threshold = threshold_of(best, search.query)
    since, rest_at_look, done = 0, rest[0], 0
    scored = _by_sums(space, 0)
    while done < n_here:
        # So many documents can be looked up for what adding the rest would cost.
        most = left[done] // asking[done]
        if rest[done] < threshold and left[0] - left[done] < most:
            break
        if best.sizes[0] < k:
            # Due when the rest has fallen, and when it first could bring no other document.
            is_due = rest[done] < max(_FALLEN * rest_at_look, min(threshold, rest_at_look))
            is_due = is_due and not len(scored) and left[done] - left[n_lists] > look_cost
            if is_due and since >= look_cost:
                since, rest_at_look = 0, rest[done]
                threshold = _look(search, block, block.errors[done], threshold)
                if threshold > 1 and k * _EARLY_COST * n_here < n_postings:
                    # Those with the best sums so far are scored at once.
                    scored = _score_leading(search, block, threshold + block.errors[done])
                    threshold = max(threshold, threshold_of(best, search.query))
                    since = _GLANCE_COST
        if rest[done] < threshold and since >= _GLANCE_COST and left[done] > _GLANCE_COST:
            since = 0
            if _are_few(sums, documents, block.first, threshold - rest[done], most):
                break
        if done == n_lists:
            add_columns(search, block, done, threshold)
            done = n_here
            break
        i = here[done]
        a, b = starts[i], stops[i]
        _add(docs[a:b], impacts[a:b], by, integers[i], sums)
        since += b - a
        done += 1
    scores_first = best.sizes[0] < k and not len(scored)
    if scores_first and _pays(search, asking[0], k, block.n_postings):
        # Those with the best sums are scored first, by which is known what others must have.
        least = _look(search, block, 0, threshold)
        if least > threshold:
            scored = _score_leading(search, block, least)
            threshold = max(threshold, threshold_of(best, search.query))
    else:
        threshold = _look(search, block, block.errors[done], threshold)
    for doc in scored:
        sums[doc] = 0
    n = _take_above(search, block, max(threshold - rest[done], 1))
    for j in range(done, n_here):
        i = here[j]
        a, b = starts[i], stops[i]
        if j >= n_lists:
            find_in_column(search, block, i, found[:n])
        elif n * FIND_COST < b - a:
            _find(docs[a:b], impacts[a:b], by[0], integers[i], found[:n], sums)
        else:
            _add(docs[a:b], impacts[a:b], by, integers[i], sums)
        if best.sizes[0] < k:
            threshold = _raised_by_found(search, block, n, j + 1, threshold)
        n = _keep_above(found, sums, n, threshold - rest[j + 1])
    threshold = _raised_by_found(search, block, n, n_here, threshold)
    return _keep_above(found, sums, n, threshold)


@kernel
def _score_leading(search: Search, block: Block, least: Int) -> Shorts:
    """Score the few documents with the best sums, if these are `least` or more; give which."""
    n = _take_above(search, block, least)
    leading = _by_sums(search.space, n)[: len(search.best.keys) + _MORE]
    for first in range(0, len(leading), TOGETHER):
        _score_some(search, block, leading[first : first + TOGETHER])
    return leading


@kernel
def _by_sums(space: Workspace, n: Int) -> Shorts:
    """Give the documents found, those with the best sums first."""
    sums = np.empty(n)
    for j in range(n):
        sums[j] = -np.float64(space.sums[space.found[j]])
    return space.found[:n][order_of(sums)]


@kernel
def _score(search: Search, block: Block, n: Int) -> None:
    """Score the documents found that may win, the way that takes less."""
    space, best = search.space, search.best
    if not _pays(search, block.asking[0], n, block.n_postings):
        score_found(search, block, n)
        return
    docs = _by_sums(space, n)
    # The best bounds first, as long as they may win.
    for first in range(0, n, TOGETHER):
        threshold = threshold_of(best, search.query)
        last = min(first + TOGETHER, n)
        while last > first and np.int64(space.sums[docs[last - 1]]) < threshold:
            last -= 1
        if last == first:
            break
        _score_some(search, block, docs[first:last])


@kernel
def _pays(search: Search, asking: Int, n: Int, n_postings: Int) -> Any:
    """Tell whether scoring n documents one by one takes less than by all postings.

    `asking` is what looking all terms up for one costs.
    """
    one = _RECORD_COST if len(search.query.weights) > _SHORT else asking
    return n * one <= _SCORE_COST * n_postings


@kernel
def _score_some(search: Search, block: Block, docs: Shorts) -> None:
    """Score a few documents: by their postings where the query is short, else by records."""
    if len(search.query.weights) > _SHORT:
        score_by_records(search, block, docs)
    else:
        score_by_block(search, block, docs)


@kernel
def _add(docs: Shorts, impacts: Bytes, by: tuple[Bytes, bool], weight: Int, sums: Shorts) -> None:
    """Add the bounds of postings to sums, by a table unless it changes nothing: `by` has both."""
    table, same = by
    if same:
        add_bounds(docs, impacts, weight, sums)
    else:
        add_bounds_by(docs, impacts, table, weight, sums)


@kernel
def _raised_by_found(search: Search, block: Block, n: Int, done: Int, threshold: Int) -> Int:
    """Give what k of the documents found have at least, if it is more and they are many."""
    space, k = search.space, len(search.best.keys)
    if n <= 2 * k:
        return threshold
    sums = np.empty(n, np.uint16)
    for j in range(n):
        sums[j] = space.sums[space.found[j]]
    return _raised(sums, k, block.errors[done], threshold)


@kernel
def _find(
    docs: Shorts, impacts: Bytes, table: Bytes, weight: Int, found: Shorts, sums: Shorts
) -> None:
    """Add the bounds of a run of postings to the sums of the documents found."""
    places, there = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.uint8)
    for first in range(0, len(found), TOGETHER):
        mine = found[first : min(first + TOGETHER, len(found))]
        find_places(docs, impacts, mine, places, there)
        for j in range(len(mine)):
            bound = bound_of(table[there[j]], weight)
            sums[mine[j]] += np.uint16(bound * np.int64(docs[places[j]] == mine[j]))


@kernel
def _are_few(sums: Shorts, documents: Documents, first_doc: Int, least: Int, most: Int) -> Any:
    """Tell by a sample whether about `most` documents or fewer have sums of `least` or more."""
    n: Int = 0
    for first in range(0, BLOCK, _SAMPLED * GROUP):
        here: Int = 0
        for i in range(GROUP):
            here += np.int64(np.int64(sums[first + i]) >= least)
        if here and documents.barred:
            here = 0
            for i in range(GROUP):
                if np.int64(sums[first + i]) >= least:
                    here += np.int64(is_open(documents, first_doc + first + i))
        n += here
        if n * _SAMPLED > most:
            return False
    return True


@kernel
def _take_above(search: Search, block: Block, least: Int) -> Int:
    """List the documents with sums of `least` or more that may be answers; give how many."""
    documents, maxima = search.documents, search.space.maxima[: block.n_groups]
    sums, found = search.space.sums, search.space.found
    enough = np.uint16(min(least, MOST))
    # Unsigned, so that it is not looked at as a place from the end.
    n = np.uint64(0)
    for g in range(len(maxima)):
        if maxima[g] < enough:
            continue
        first = g * GROUP
        for i in range(GROUP):
            found[n] = first + i
            n += np.uint64(sums[first + i] >= enough)
    kept: Int = 0
    for j in range(np.int64(n)):
        doc = found[j]
        found[kept] = doc
        kept += np.int64(is_open(documents, block.first + np.int64(doc)))
    return kept


@kernel
def _keep_above(found: Shorts, sums: Shorts, n: Int, least: Int) -> Int:
    """Drop the documents found whose sums are lower; give how many are left."""
    kept: Int = 0
    for j in range(n):
        doc = found[j]
        found[kept] = doc
        kept += np.int64(np.int64(sums[doc]) >= least)
    return kept


@kernel
def _clear(search: Search, block: Block) -> None:
    """Set the sums of a block to zero."""
    sums, docs = search.space.sums, search.words.postings.docs
    if block.n_postings >= _SPARSE:
        sums[:] = 0
        return
    for i in block.here:
        for p in range(block.starts[i], block.stops[i]):
            sums[docs[p]] = 0
