"""What a search by BM25 holds: the query in a segment, a block of it, and the best so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from likewise.collection.postings import BLOCK
from likewise.compiled import Bools, Floats, Int, Ints, Shorts, kernel
from likewise.retrieve.best import score_of
from likewise.retrieve.sums import GROUP, QuantisedQuery, Scale, SegmentWords


class Best(NamedTuple):
    """The best so far: a heap of keys as in `best`, and one number, how full it is."""

    keys: Ints
    sizes: Ints


class Workspace(NamedTuple):
    """Arrays as large as a block, used again and again: sums and scores are zeros between uses."""

    sums: Shorts
    scores: Floats
    norms: Floats
    maxima: Shorts
    found: Shorts


class Documents(NamedTuple):
    """Which documents may be answers: if `barred`, those that are `open`, else all.

    `base` is added to their numbers.
    """

    open: Bools
    barred: bool
    base: int
    n_docs: int


class Search(NamedTuple):
    """One query in one segment."""

    words: SegmentWords
    scale: Scale
    query: QuantisedQuery
    documents: Documents
    best: Best
    space: Workspace


class Block(NamedTuple):
    """One block of documents: its terms in the order in which they are added.

    `first` is its first document, `n_groups` how many groups of documents it has, `n_postings` how
    many postings of the terms; `starts` and `stops` are by the term, and so are `columns`, where
    the terms from the `n_lists`-th on have theirs.
    `rest[j]` is what the terms from the j-th on can add to a sum, `left[j]` what adding them costs
    in postings, `asking[j]` what looking them up for one document does, `errors[j]` how much the
    sums of those before it may be off.
    """

    first: Int
    n_groups: Int
    here: Ints
    starts: Ints
    stops: Ints
    columns: Ints
    n_lists: Int
    n_postings: Int
    rest: Ints
    left: Ints
    asking: Ints
    errors: Ints


def make_workspace() -> Workspace:
    """Make the arrays that one thread needs."""
    return Workspace(
        np.zeros(BLOCK, np.uint16),
        np.zeros(BLOCK, np.float32),
        np.empty(BLOCK, np.float32),
        np.empty(BLOCK // GROUP, np.uint16),
        np.empty(BLOCK, np.uint16),
    )


@kernel
def threshold_of(best: Best, query: QuantisedQuery) -> Int:
    """Give the sum of bounds that an answer must have, by what was scored."""
    if best.sizes[0] < len(best.keys):
        return np.int64(1)
    return max(low_of(score_of(best.keys[0]), query), np.int64(1))


@kernel
def low_of(score: Any, query: QuantisedQuery) -> Int:
    """Give the sum of bounds that a document of at least this score has."""
    return np.int64(np.float64(score) * query.scale) - query.slack


@kernel
def is_open(documents: Documents, doc: Int) -> Any:
    """Tell whether a document may be an answer; that of a damaged posting may be none."""
    return doc < documents.n_docs and (not documents.barred or documents.open[doc])
