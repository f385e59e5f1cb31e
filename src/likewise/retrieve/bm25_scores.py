"""Exact BM25 scores of documents that may win: by records, by postings, or by all of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.impact_columns import code_in, codes_of
from likewise.collection.postings import LARGE, Postings, stored_impact
from likewise.collection.records import PART, get, read_terms
from likewise.compiled import Bytes, Floats, Ids, Int, Shorts, inlined_kernel, kernel
from likewise.lanes import prefetch
from likewise.retrieve.best import key_of, push
from likewise.retrieve.bm25_state import Block, Search
from likewise.retrieve.impacts import large_count
from likewise.retrieve.sums import (
    MOST,
    TOGETHER,
    Scale,
    find_places,
)
from likewise.retrieve.term_slots import slot_of

# A count that is larger is looked up, as its impact is that of others as well.
_MOST_TOLD = 32
# What so many counts would have is worked out once for a document.
_FEW_TOLD = 5
# Records are read ahead by so many lines of memory.
_LINE, _LINES = 64, 3
# A query's weights, and the slots of its terms; parts of a score, terms and counts of a record.
HashedQuery = tuple[Floats, Ids, Ids]
Room = tuple[Floats, Ids, Ids]


@kernel
def norm_by(length: Int, average_length: Any, k1: Any, b: Any) -> Any:
    """Give the norm of a document. Equals `bm25_norms([length], average_length, k1, b)[0]`."""
    relative = np.float64(length) / average_length
    return np.float32(k1 * (1.0 - b + b * relative))


@kernel
def norm_of(length: Int, scale: Scale) -> Any:
    """Give the norm of a document by the parameters and the average length of now."""
    return norm_by(length, scale.average_length, scale.k1, scale.b)


@inlined_kernel
def only_count(found: Any, told: Bytes, row: Int) -> Int:
    """Give the count that an impact, or its code, tells of; 0 if it may be of several or of more.

    A row of `told` has what the first few counts of a document would have, ascending.
    """
    count: Int = 0
    for c in range(_FEW_TOLD - 1):
        count += (c + 1) * np.int64(told[row, c] == found and told[row, c + 1] > found)
    if count > 1 and told[row, count - 2] == found:
        return 0
    return count


@kernel
def count_of(postings: Postings, p: Int, stored: Any, norm: Any) -> Int:
    """Give the count of a posting by its impact, and the norm that impacts are stored by.

    Nearly every impact is that of one count alone, so that counts, which nothing else of a search
    reads, stay on the disk. Equals `counts[p]`, or the large count that stands for it.
    """
    count: Int = 1
    while count < _MOST_TOLD and stored_impact(count, norm) < stored:
        count += 1
    if stored_impact(count, norm) == stored and stored_impact(count + 1, norm) > stored:
        return count
    if postings.counts[p] == LARGE:
        return np.int64(large_count(postings.large_at, postings.large_counts, p))
    return np.int64(postings.counts[p])


@inlined_kernel
def record_score(
    stream: Bytes, span: tuple[Int, Int], norm: Any, query: HashedQuery, room: Room
) -> Any:
    """Score a document by its record, which stands from where to where `span` says.

    Equals `score_counts` of it.
    """
    weights, keys, places = query
    parts, terms, counts = room
    for i in range(len(parts)):
        parts[i] = 0
    start, stop = span
    n, place = get(stream, start, stop)
    term: Int = 0
    # No more than bytes, whatever a damaged record says.
    left: Int = min(n, stop - start)
    while left > 0:
        m = min(left, PART)
        term, place = read_terms(stream, place, stop, term, terms[:m], counts[:m])
        for j in range(m):
            slot = slot_of(terms[j], keys)
            if keys[slot] == terms[j]:
                count = np.float32(counts[j])
                parts[places[slot]] = weights[places[slot]] * (count / (count + norm))
        left -= m
    total = np.float32(0)
    for i in range(len(parts)):
        total += parts[i]
    return total


@kernel
def make_room(n: Int) -> Room:
    """Make what scoring records by n terms needs: parts of a score, terms and counts."""
    return np.empty(n, np.float32), np.empty(PART, np.int32), np.empty(PART, np.int32)


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
    """Score some documents by their columns and postings, which are looked for in a block.

    Equals `score_found` of them. Of `TOGETHER` and fewer.
    """
    words, weights, best = search.words, search.query.weights, search.best
    postings, codes = words.postings, words.columns.codes
    places, impacts = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.uint8)
    norms, stored_norms, scores = np.zeros((3, TOGETHER), np.float32)
    told, coded = np.empty((2, TOGETHER, _FEW_TOLD), np.uint8)
    _tell(search, block, docs, (norms, stored_norms), (told, coded))
    for i in range(len(weights)):
        a, b = block.starts[i], block.stops[i]
        if a == b:
            continue
        here, column = postings.docs[a:b], block.columns[i]
        if column < 0:
            find_places(here, postings.impacts[a:b], docs, places, impacts)
        for j in range(len(docs)):
            found: Int = 0
            if column >= 0:
                code = code_in(codes, column, np.int64(docs[j]))
                if code == 0:
                    continue
                found = only_count(code, coded, j)
                if found == 0:
                    mine = docs[j : j + 1]
                    find_places(here, postings.impacts[a:b], mine, places[j:], impacts[j:])
            elif here[places[j]] != docs[j]:
                continue
            if found == 0:
                found = only_count(impacts[j], told, j)
            if found == 0:
                found = count_of(postings, a + places[j], impacts[j], stored_norms[j])
            count = np.float32(found)
            scores[j] += weights[i] * (count / (count + norms[j]))
    bits = scores.view(np.int32)
    base = search.documents.base + block.first
    for j in range(len(docs)):
        key = key_of(bits[j], base + np.int64(docs[j]))
        best.sizes[0] = push(best.keys, best.sizes[0], key)


@kernel
def _tell(
    search: Search,
    block: Block,
    docs: Shorts,
    norms: tuple[Floats, Floats],
    told: tuple[Any, Any],
) -> None:
    """Give of each document the norm of now and the stored one, and what the first counts have.

    That is the stored impact and, where there are columns, its code.
    """
    lengths, levels, scale = search.words.lengths, search.words.columns.levels, search.scale
    has_columns = block.n_lists < len(block.here)
    code_of = codes_of(levels) if has_columns else levels
    for j in range(len(docs)):
        length = np.int64(lengths[block.first + np.int64(docs[j])])
        norms[0][j] = norm_of(length, scale)
        norm = norm_by(length, scale.stored_average, scale.stored_k1, scale.stored_b)
        norms[1][j] = norm
        for count in range(_FEW_TOLD):
            told[0][j, count] = stored_impact(count + 1, norm)
        if has_columns:
            for count in range(_FEW_TOLD):
                told[1][j, count] = code_of[told[0][j, count]]


@kernel
def score_by_records(search: Search, block: Block, docs: Shorts) -> None:
    """Score some documents by their records. Equals `score_by_block`."""
    query, best = search.query, search.best
    lengths, offsets, stream = search.words.lengths, search.words.offsets, search.words.stream
    scale, first = search.scale, block.first
    hashed = (query.weights, query.keys, query.places)
    room = make_room(len(query.weights))
    keys, sizes = best.keys, best.sizes
    scores = np.empty(1, np.float32)
    bits = scores.view(np.int32)
    # Memory is waited for once.
    for within in docs:
        prefetch(offsets, np.uintp(first) + np.uintp(within))
        prefetch(lengths, np.uintp(first) + np.uintp(within))
    for within in docs:
        start = np.uintp(offsets[first + np.int64(within)])
        for line in range(_LINES):
            prefetch(stream, start + np.uintp(line * _LINE))
    for within in docs:
        doc = first + np.int64(within)
        span = (np.int64(offsets[doc]), np.int64(offsets[doc + 1]))
        norm = norm_of(np.int64(lengths[doc]), scale)
        scores[0] = record_score(stream, span, norm, hashed, room)
        key = key_of(bits[0], search.documents.base + doc)
        sizes[0] = push(keys, sizes[0], key)
