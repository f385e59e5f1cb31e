"""Which nodes does each sentence of each document mention?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from likewise.collection.build import content
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Ids, Ints, kernel
from likewise.errors import UsageError
from likewise.records import Document
from likewise.terms.extracting import key_of
from likewise.terms.matching import Known, Matcher, Mentions
from likewise.terms.nodes import DOCUMENT, SENTENCE, TERMS, Heard, Nodes
from likewise.text.analysis import encode

# Blocks of documents hold 16 KB.
_BLOCKS_AT_ONCE = 32
_DOCS_AT_ONCE = 512
_RECORDS_AT_ONCE = 4096

Item = TypeVar("Item")
Made = TypeVar("Made")


class Occurrences(NamedTuple):
    """What some documents of a segment mention.

    Document `docs[i]` (numbered in its segment) mentions `nodes[bounds[i]:bounds[i + 1]]`, of
    which `sentences` are those that `Snapshot.sentences` gives. Where `whole`, documents are not
    told into sentences, and every mention is of sentence 0.
    """

    docs: Ints
    bounds: Ints
    nodes: Ids
    sentences: Ids
    whole: bool


def occurrences(
    snapshot: Snapshot,
    nodes: Nodes,
    segment: int,
    docs: Ints | None = None,
    *,
    within: str = SENTENCE,
    threads: int = 1,
) -> Iterator[Occurrences]:
    """Go through documents of a segment, by their numbers there, in order.

    Without `docs` through all, deleted ones too. Terms within documents are read from the
    records; all else from the stored texts.
    """
    check_within(nodes, within)
    held = snapshot.segments[segment]
    whole = within == DOCUMENT
    if nodes.kind == TERMS and whole:
        node_of = np.full(snapshot.n_terms, -1, np.int32)
        node_of[nodes.numbers] = np.arange(len(nodes))
        every = np.arange(held.n_docs) if docs is None else docs
        lots = [every[i : i + _RECORDS_AT_ONCE] for i in range(0, len(every), _RECORDS_AT_ONCE)]
        yield from in_order(lambda lot: _from_records(held, node_of, lot), lots, threads)
        return
    matcher = nodes.matcher(snapshot)
    known = Known(matcher)

    def see(lot: Ints | range) -> Occurrences:
        numbers, documents = _read(held, lot)
        found = _mentions(matcher, known, nodes.heard, documents)
        if whole:
            found = found._replace(sentences=np.zeros_like(found.sentences))
        return Occurrences(numbers, *found, whole)

    yield from in_order(see, _lots(held, docs), threads)


def check_within(nodes: Nodes, within: str) -> None:
    """Raise unless nodes can be seen within that."""
    if within not in (SENTENCE, DOCUMENT):
        raise UsageError(f"pairs are counted within a sentence or document, not {within!r}")
    if nodes.heard is not None and nodes.heard.within == DOCUMENT != within:
        raise UsageError(
            "the extractor was given whole documents, so that it is not known in which sentence "
            "a name stands; give it sentences, or count within documents"
        )


def in_order(
    function: Callable[[Item], Made], items: Iterable[Item], threads: int
) -> Iterator[Made]:
    """Apply a function to items in several threads; what it gives comes in order."""
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _lots(segment: Segment, docs: Ints | None) -> Iterator[Ints | range]:
    """Give ranges of blocks, or some documents at a time."""
    if docs is None:
        for start in range(0, segment.documents.n_blocks, _BLOCKS_AT_ONCE):
            yield range(start, min(start + _BLOCKS_AT_ONCE, segment.documents.n_blocks))
    else:
        for start in range(0, len(docs), _DOCS_AT_ONCE):
            yield docs[start : start + _DOCS_AT_ONCE]


def _read(segment: Segment, lot: Ints | range) -> tuple[Ints, list[Document]]:
    if not isinstance(lot, range):
        return lot, [segment.documents[doc] for doc in lot.tolist()]
    blocks = [segment.documents.block(block) for block in lot]
    documents = [document for _, its in blocks for document in its]
    return np.arange(blocks[0][0], blocks[0][0] + len(documents)), documents


def _mentions(
    matcher: Matcher, known: Known, heard: Heard | None, documents: list[Document]
) -> Mentions:
    texts = [encode(content(document)) for document in documents]
    if heard is None or len(heard.keys) == 0:
        return matcher.match(texts, known)
    keys = np.array([key_of(text) for text in texts], np.uint64)
    rows = np.minimum(np.searchsorted(heard.keys, keys), len(heard.keys) - 1)
    rows = np.where(heard.keys[rows] == keys, rows, -1)
    unheard = [b"" if row >= 0 else text for row, text in zip(rows.tolist(), texts, strict=True)]
    return Mentions(*_splice(*matcher.match(unheard, known), rows, *heard[1:4]))


def _from_records(segment: Segment, node_of: Ids, docs: Ints) -> Occurrences:
    bounds, terms, _ = segment.records.counts(docs)
    bounds, nodes = _translate(bounds, terms, node_of)
    return Occurrences(docs, bounds, nodes, np.zeros(len(nodes), np.int32), whole=True)


@kernel
def _translate(bounds: Ints, terms: Ids, node_of: Ids) -> tuple[Ints, Ids]:
    """Give the nodes of each document's terms.

    Equals `nodes = node_of[terms[a:b]]; nodes[nodes >= 0]` for each document.
    """
    out = np.zeros(len(bounds), np.int64)
    nodes = np.empty(len(terms), np.int32)
    n = 0
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            node = node_of[terms[j]]
            if node >= 0:
                nodes[n] = node
                n += 1
        out[i + 1] = n
    return out, nodes[:n].copy()


@kernel
def _splice(
    bounds: Ints,
    nodes: Ids,
    sentences: Ids,
    rows: Ints,
    heard_bounds: Ints,
    heard_nodes: Ids,
    heard_sentences: Ids,
) -> tuple[Ints, Ids, Ids]:
    """Replace the mentions of text i by those of row `rows[i]`, where that is not -1.

    Equals `np.concatenate` of the mentions of each text, from either.
    """
    out = np.zeros(len(bounds), np.int64)
    for i in range(len(rows)):
        row = rows[i]
        if row >= 0:
            out[i + 1] = out[i] + heard_bounds[row + 1] - heard_bounds[row]
        else:
            out[i + 1] = out[i] + bounds[i + 1] - bounds[i]
    to_nodes = np.empty(out[-1], np.int32)
    to_sentences = np.empty(out[-1], np.int32)
    for i in range(len(rows)):
        row = rows[i]
        start = heard_bounds[row] if row >= 0 else bounds[i]
        for j in range(out[i + 1] - out[i]):
            if row >= 0:
                to_nodes[out[i] + j] = heard_nodes[start + j]
                to_sentences[out[i] + j] = heard_sentences[start + j]
            else:
                to_nodes[out[i] + j] = nodes[start + j]
                to_sentences[out[i] + j] = sentences[start + j]
    return out, to_nodes, to_sentences
