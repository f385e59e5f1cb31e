"""Exact BM25 scores of documents that may win: by their records, or by the postings of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import (
    BLOCK,
    BLOCK_BITS,
    LARGE,
    Postings,
    block_of,
    start_of,
    stored_impact,
)
from likewise.collection.records import PART, get, read_terms
from likewise.compiled import Floats, Int, Ints, kernel
from likewise.retrieve.best import key_of, push, score_of
from likewise.retrieve.bm25_state import Block, Search, low_of
from likewise.retrieve.impacts import large_count
from likewise.retrieve.order import order_of
from likewise.retrieve.sums import MOST, QuantisedQuery, Scale, SegmentWords

# A count that is larger is looked up, as its impact is that of others as well.
_MOST_TOLD = 32
# So many documents are scored by postings at once.
_TOGETHER = 16


@kernel
def norm_by(length: Int, average_length: Any, k1: Any, b: Any) -> Any:
    """Give the norm of a document. Equals `bm25_norms([length], average_length, k1, b)[0]`."""
    relative = np.float64(length) / average_length
    return np.float32(k1 * (1.0 - b + b * relative))


@kernel
def norm_of(length: Int, scale: Scale) -> Any:
    """Give the norm of a document by the parameters and the average length of now."""
    return norm_by(length, scale.average_length, scale.k1, scale.b)


@kernel
def count_of(postings: Postings, p: Int, stored: Any, norm: Any) -> Any:
    """Give the count of a posting by its impact, and the norm that impacts are stored by.

    Nearly every impact is that of one count alone, so that counts, which nothing else of a search
    reads, stay on the disk. Equals `counts[p]`, or the large count that stands for it.
    """
    count: Int = 1
    while count < _MOST_TOLD and stored_impact(count, norm) < stored:
        count += 1
    if stored_impact(count, norm) == stored and stored_impact(count + 1, norm) > stored:
        return np.float32(count)
    if postings.counts[p] == LARGE:
        return large_count(postings.large_at, postings.large_counts, p)
    return np.float32(postings.counts[p])


@kernel
def entry_of(postings: Postings, row: Int, block: Int) -> Int:
    """Find the entry of a block in a row; -1 where it has none."""
    low, high = np.int64(postings.heads[row, 0]), np.int64(postings.heads[row + 1, 0])
    # A frequent term has an entry for every block from its first on.
    entry = min(low + max(block - block_of(postings.entries, low), 0), high - 1)
    if block_of(postings.entries, entry) == block:
        return entry
    while high - low > 1:
        middle = (low + high) >> 1
        if block_of(postings.entries, middle) <= block:
            low = middle
        else:
            high = middle
    return low if block_of(postings.entries, low) == block else -1


@kernel
def find_postings(postings: Postings, rows: Ints, docs: Ints, places: Any, impacts: Any) -> None:
    """Find the postings of documents in rows (-1: none), and their impacts: by document and row.

    Documents stand about evenly, so that what is looked for is near where that would have it. All
    these places are read before the first posting is found, so that memory is waited for once.
    """
    n, m = places.shape
    spans = np.zeros((n, m, 2), np.int64)
    there = np.empty((n, m), np.uint16)
    for j in range(n):
        within = docs[j] & (BLOCK - 1)
        for i in range(m):
            entry: Int = -1
            if rows[i] >= 0:
                entry = entry_of(postings, rows[i], docs[j] >> BLOCK_BITS)
            if entry >= 0:
                start = start_of(postings.entries, entry)
                stop = start_of(postings.entries, entry + 1)
                spans[j, i, 0], spans[j, i, 1] = start, stop
                places[j, i] = start + ((stop - start) * within >> BLOCK_BITS)
                there[j, i] = postings.docs[places[j, i]]
    for j in range(n):
        within = docs[j] & (BLOCK - 1)
        for i in range(m):
            start, stop = spans[j, i]
            if start == stop:
                places[j, i] = -1
                continue
            step: Int = 16
            first: Int = places[j, i]
            last: Int = min(first + step, stop)
            if np.int64(there[j, i]) > within:
                while first > start and np.int64(postings.docs[first]) > within:
                    last = first
                    first = max(first - step, start)
                    step *= 2
            while last < stop and np.int64(postings.docs[last]) <= within:
                first = last
                last = min(last + step, stop)
                step *= 2
            size: Int = last - first
            # Without a branch: which half it is cannot be predicted.
            while size > 1:
                half = size >> 1
                first += half * np.int64(np.int64(postings.docs[first + half - 1]) < within)
                size -= half
            places[j, i] = first if np.int64(postings.docs[first]) == within else -1
            impacts[j, i] = postings.impacts[first]


@kernel
def postings_scores(
    words: SegmentWords, scale: Scale, query: QuantisedQuery, rows: Ints, docs: Ints, out: Floats
) -> None:
    """Score documents by their postings in the rows of the terms. Equals `record_score` of each."""
    places = np.empty((len(docs), len(rows)), np.int64)
    impacts = np.empty((len(docs), len(rows)), np.uint8)
    find_postings(words.postings, rows, docs, places, impacts)
    for j in range(len(docs)):
        length = np.int64(words.lengths[docs[j]])
        norm = norm_of(length, scale)
        stored = norm_by(length, scale.stored_average, scale.stored_k1, scale.stored_b)
        total = np.float32(0)
        for i in range(len(rows)):
            if places[j, i] >= 0:
                count = count_of(words.postings, places[j, i], impacts[j, i], stored)
                total += query.weights[i] * (count / (count + norm))
        out[j] = total


@kernel
def record_score(
    words: SegmentWords, scale: Scale, query: QuantisedQuery, order: Ints, doc: Int, parts: Floats
) -> Any:
    """Score a document by its record; `order` sorts the query's numbers, `parts` has room for all.

    Equals `score_counts` of it.
    """
    parts[:] = 0
    stream = words.stream
    start, stop = np.int64(words.offsets[doc]), np.int64(words.offsets[doc + 1])
    n, place = get(stream, start, stop)
    norm = norm_of(np.int64(words.lengths[doc]), scale)
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    term: Int = 0
    at, wanted = 0, query.numbers[order[0]]
    # No more than bytes, whatever a damaged record says.
    left: Int = min(n, stop - start)
    while left > 0 and at < len(order):
        m = min(left, PART)
        term, place = read_terms(stream, place, stop, term, terms[:m], counts[:m])
        for j in range(m):
            while wanted < terms[j]:
                at += 1
                if at == len(order):
                    break
                wanted = query.numbers[order[at]]
            if at == len(order):
                break
            if wanted == terms[j]:
                count = np.float32(counts[j])
                parts[order[at]] = query.weights[order[at]] * (count / (count + norm))
        left -= m
    total = np.float32(0)
    for i in range(len(parts)):
        total += parts[i]
    return total


@kernel
def score_found(search: Search, block: Block, n: Int) -> None:
    """Score the documents found by the postings of a block, in the order of the query's terms."""
    words, query, space, best = search.words, search.query, search.space, search.best
    postings = words.postings
    least: Any = MOST
    for j in range(n):
        doc = space.found[j]
        least = min(least, np.int64(space.sums[doc]))
        space.norms[doc] = norm_of(
            np.int64(words.lengths[block.first + np.int64(doc)]), search.scale
        )
    # Others that have such sums were barred: their scores are thrown away.
    enough = np.uint16(least)
    for i in range(len(query.weights)):
        weight = query.weights[i]
        for p in range(block.starts[i], block.stops[i]):
            doc = postings.docs[p]
            if space.sums[doc] >= enough:
                count = np.float32(postings.counts[p])
                if postings.counts[p] == LARGE:
                    count = large_count(postings.large_at, postings.large_counts, p)
                space.scores[doc] += weight * (count / (count + space.norms[doc]))
    bits = space.scores.view(np.int32)
    base = search.documents.base + block.first
    for j in range(n):
        doc = np.int64(space.found[j])
        best.sizes[0] = push(best.keys, best.sizes[0], key_of(bits[doc], base + doc))
    for i in block.here:
        for p in range(block.starts[i], block.stops[i]):
            space.scores[postings.docs[p]] = 0


@kernel
def thin(aside: Any, n: Int, threshold: Int) -> Int:
    """Drop those set aside, bounds and documents, that cannot win any more; give how many stay."""
    kept = 0
    for j in range(n):
        if aside[j, 0] >= threshold:
            aside[kept, 0], aside[kept, 1] = aside[j, 0], aside[j, 1]
            kept += 1
    return kept


@kernel
def score_aside(search: Search, rows: Ints, aside: Any, by_records: bool) -> None:
    """Score those set aside, the best bounds first, as long as they may win.

    That is by their records, or else by the postings in the rows of the terms.
    """
    query, best = search.query, search.best
    numbers = order_of(query.numbers.astype(np.float64))
    parts = np.empty(len(query.weights), np.float32)
    scores = np.empty(_TOGETHER, np.float32)
    bits = scores.view(np.int32)
    order = order_of(-aside[:, 0].astype(np.float64))
    docs = aside[order, 1]
    for first in range(0, len(docs), _TOGETHER):
        mine = docs[first : first + _TOGETHER]
        for j in range(len(mine)):
            if best.sizes[0] == len(best.keys) and aside[order[first + j], 0] < low_of(
                score_of(best.keys[0]), query
            ):
                return
            if by_records:
                scores[j] = record_score(search.words, search.scale, query, numbers, mine[j], parts)
            elif j == 0:
                postings_scores(search.words, search.scale, query, rows, mine, scores)
            key = key_of(bits[j], search.documents.base + mine[j])
            best.sizes[0] = push(best.keys, best.sizes[0], key)
