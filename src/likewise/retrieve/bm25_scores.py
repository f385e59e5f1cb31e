"""Exact BM25 scores of documents that may win: by their records, or by the postings of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.postings import LARGE
from likewise.collection.records import get, next_term
from likewise.compiled import Floats, Int, Ints, kernel
from likewise.retrieve.best import key_of, push, score_of
from likewise.retrieve.bm25_state import Block, Search, low_of
from likewise.retrieve.impacts import large_count
from likewise.retrieve.sums import MOST, QuantisedQuery, Scale, SegmentWords


@kernel
def norm_of(length: Int, scale: Scale) -> Any:
    """Give the norm of a document. Equals `bm25_norms([length], average, k1, b)[0]`."""
    relative = np.float64(length) / scale.average_length
    return np.float32(scale.k1 * (1.0 - scale.b + scale.b * relative))


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
    term: Int = 0
    number: Int
    at, wanted = 0, query.numbers[order[0]]
    # No more than bytes, whatever a damaged record says.
    for _ in range(min(n, stop - start)):
        term, number, place = next_term(stream, place, stop, term)
        while wanted < term:
            at += 1
            if at == len(order):
                break
            wanted = query.numbers[order[at]]
        if at == len(order):
            break
        if wanted == term:
            count = np.float32(number)
            parts[order[at]] = query.weights[order[at]] * (count / (count + norm))
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
def score_aside(search: Search, aside: Any) -> None:
    """Score those set aside by their records, the best bounds first, as long as they may win."""
    query, best = search.query, search.best
    numbers = np.argsort(query.numbers.astype(np.float64), kind="mergesort")
    parts = np.empty(len(query.weights), np.float32)
    score = np.empty(1, np.float32)
    bits = score.view(np.int32)
    for j in np.argsort(-aside[:, 0].astype(np.float64), kind="mergesort"):
        bound, doc = aside[j]
        if best.sizes[0] == len(best.keys) and bound < low_of(score_of(best.keys[0]), query):
            break
        score[0] = record_score(search.words, search.scale, query, numbers, doc, parts)
        key = key_of(bits[0], search.documents.base + doc)
        best.sizes[0] = push(best.keys, best.sizes[0], key)
