"""Exact BM25 scores of documents that may win: by records, by postings, or by all of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import LARGE, Postings, stored_impact
from likewise.collection.records import PART, get, read_terms
from likewise.compiled import Floats, Int, Ints, Shorts, kernel
from likewise.retrieve.best import key_of, push
from likewise.retrieve.bm25_state import Block, Search
from likewise.retrieve.impacts import large_count
from likewise.retrieve.order import order_of
from likewise.retrieve.sums import (
    MOST,
    TOGETHER,
    QuantisedQuery,
    Scale,
    SegmentWords,
    find_places,
)

# A count that is larger is looked up, as its impact is that of others as well.
_MOST_TOLD = 32


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
def score_by_block(search: Search, block: Block, docs: Shorts) -> None:
    """Score some documents by their postings, which are looked for in a block.

    Equals `score_found` of them. Of `TOGETHER` and fewer.
    """
    words, query, scale, best = search.words, search.query, search.scale, search.best
    postings, lengths, weights = words.postings, words.lengths, query.weights
    starts, stops = block.starts, block.stops
    places, impacts = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.uint8)
    norms, stored, scores = np.empty((3, TOGETHER), np.float32)
    bits = scores.view(np.int32)
    base = search.documents.base + block.first
    n = len(docs)
    for j in range(n):
        length = np.int64(lengths[block.first + np.int64(docs[j])])
        norms[j] = norm_of(length, scale)
        stored[j] = norm_by(length, scale.stored_average, scale.stored_k1, scale.stored_b)
        scores[j] = 0
    for i in range(len(weights)):
        a, b = starts[i], stops[i]
        if a == b:
            continue
        here, weight = postings.docs[a:b], weights[i]
        find_places(here, postings.impacts[a:b], docs, places, impacts)
        for j in range(n):
            if here[places[j]] == docs[j]:
                count = count_of(postings, a + places[j], impacts[j], stored[j])
                scores[j] += weight * (count / (count + norms[j]))
    for j in range(n):
        key = key_of(bits[j], base + np.int64(docs[j]))
        best.sizes[0] = push(best.keys, best.sizes[0], key)


@kernel
def score_by_records(search: Search, block: Block, docs: Shorts) -> None:
    """Score some documents by their records. Equals `score_by_block`."""
    query, best = search.query, search.best
    order = order_of(query.numbers.astype(np.float64))
    parts = np.empty(len(query.weights), np.float32)
    scores = np.empty(1, np.float32)
    bits = scores.view(np.int32)
    for within in docs:
        doc = block.first + np.int64(within)
        scores[0] = record_score(search.words, search.scale, query, order, doc, parts)
        key = key_of(bits[0], search.documents.base + doc)
        best.sizes[0] = push(best.keys, best.sizes[0], key)
