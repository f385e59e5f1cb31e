"""In which order are terms added to the sums of a block, and what does each way to do it cost?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.byte_lanes import can_look_up
from likewise.collection.impact_columns import COLUMN_FROM
from likewise.collection.postings import BLOCK, Postings, block_of, start_of
from likewise.compiled import Int, Ints, kernel
from likewise.retrieve.bm25_state import Block, Search
from likewise.retrieve.columns import COLUMNS_TOGETHER, column_error
from likewise.retrieve.order import order_of
from likewise.retrieve.sums import GROUP, bound_of

# In postings added: finding one posting, adding a column, finding one code.
FIND_COST, COLUMN_COST, CODE_COST = 50, 1500, 10
# A term counts as if it were in so many documents more: among rare ones the heavier comes first.
_RARE = 64.0


class Plan(NamedTuple):
    """What is known of the terms of a query in a segment, block after block.

    By the term: its next entry and that after its last, where its next column stands, by how much
    bounds of its postings may be off, and what `Block` has of it. `order` is that in which terms
    are added; the others have room for a block.
    """

    at: Ints
    end: Ints
    places: Ints
    error: Ints
    order: Ints
    starts: Ints
    stops: Ints
    columns: Ints
    tops: Ints
    here: Ints
    by_column: Ints
    rest: Ints
    left: Ints
    asking: Ints
    errors: Ints


@kernel
def count_postings(search: Search, rows: Ints) -> Int:
    """Count the postings of terms."""
    n: Int = 0
    for row in rows:
        if row >= 0:
            n += np.int64(search.words.postings.heads[row, 1])
    return n


@kernel
def plan_search(search: Search, rows: Ints, by_columns: Any) -> Plan:
    """Put terms in order: those first that say much in few postings."""
    words, scale, query = search.words, search.scale, search.query
    postings, coded = words.postings, words.columns.entries
    n = len(rows)
    at, end, starts, stops = np.zeros((4, n), np.int64)
    columns, here, by_column = np.full((3, n), -1, np.int64)
    tops, error = np.zeros((2, n), np.int64)
    places = np.full(n, len(coded), np.int64)
    rate = np.zeros(n)
    for i in range(n):
        if rows[i] < 0:
            continue
        head = postings.heads[rows[i]]
        at[i], end[i] = np.int64(head[0]), np.int64(postings.heads[rows[i] + 1, 0])
        weight = np.float64(query.integers[i])
        largest = np.float64(words.table[min(head[3], 255)])
        rate[i] = -largest * weight / (np.float64(head[1]) + _RARE)
        off = scale.error
        if len(postings.large_at) and _has_large(postings, at[i], end[i]):
            off = max(off, scale.large_error)
        error[i] = np.int64(weight * off / 256.0) + 3
        if can_look_up() and by_columns and np.int64(head[1]) >= COLUMN_FROM:
            places[i] = np.searchsorted(coded, np.uint32(at[i]))
    rest, left, asking, errors = np.zeros((4, n + 1), np.int64)
    order = order_of(rate)
    terms = (at, end, places, error, order, starts, stops, columns, tops)
    return Plan(*terms, here, by_column, rest, left, asking, errors)


@kernel
def _has_large(postings: Postings, first_entry: Int, last_entry: Int) -> Any:
    """Tell whether a term has counts of 255 or more, whose bounds are off by more."""
    start, stop = start_of(postings.entries, first_entry), start_of(postings.entries, last_entry)
    i = np.searchsorted(postings.large_at, np.uint32(start))
    return i < len(postings.large_at) and np.int64(postings.large_at[i]) < stop


@kernel
def plan_block(search: Search, plan: Plan, number: Int) -> Block:
    """Give what the next block has of the terms: those by postings come before those by columns."""
    words, query, documents = search.words, search.query, search.documents
    entries, coded = words.postings.entries, words.columns.entries
    here, columns = plan.here, plan.columns
    n_lists, n_columns, n_postings = 0, 0, 0
    for i in plan.order:
        plan.starts[i] = plan.stops[i] = 0
        e = plan.at[i]
        if e == plan.end[i] or block_of(entries, e) != number:
            continue
        plan.at[i] += 1
        plan.starts[i], plan.stops[i] = start_of(entries, e), start_of(entries, e + 1)
        n_postings += plan.stops[i] - plan.starts[i]
        largest = words.table[np.int64(entries[e]) & 255]
        plan.tops[i] = bound_of(largest, query.integers[i])
        place = plan.places[i]
        has_column = place < len(coded) and np.int64(coded[place]) == e
        plan.places[i] += np.int64(has_column)
        if has_column:
            columns[i] = place
            plan.by_column[n_columns] = i
            n_columns += 1
        else:
            columns[i] = -1
            here[n_lists] = i
            n_lists += 1
    n_here = n_lists + n_columns
    for j in range(n_columns):
        here[n_lists + j] = plan.by_column[j]
    rest, left, asking, errors = plan.rest, plan.left, plan.asking, plan.errors
    rest[n_here] = left[n_here] = asking[n_here] = 0
    for j in range(n_here - 1, -1, -1):
        i = here[j]
        rest[j] = rest[j + 1] + plan.tops[i]
        left[j] = left[j + 1] + (COLUMN_COST if j >= n_lists else plan.stops[i] - plan.starts[i])
        asking[j] = asking[j + 1] + (CODE_COST if j >= n_lists else FIND_COST)
    errors[0] = query.slack
    together: Int = 0
    for j in range(n_here):
        errors[j + 1] = errors[j] + plan.error[here[j]]
        if j >= n_lists:
            if (j - n_lists) % COLUMNS_TOGETHER == 0:
                together = 0
                for m in range(j, min(j + COLUMNS_TOGETHER, n_here)):
                    together += query.integers[here[m]]
            errors[j + 1] += column_error(search, query.integers[here[j]], together)
    first = number * BLOCK
    n_groups = (min(BLOCK, documents.n_docs - first) + GROUP - 1) // GROUP
    runs = (here[:n_here], plan.starts, plan.stops, columns)
    return Block(first, n_groups, *runs, n_lists, n_postings, rest, left, asking, errors)
