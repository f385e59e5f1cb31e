"""Positions of documents that were stored without: their texts are analysed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from likewise.collection.build import cut_documents
from likewise.collection.positions import Encoded, Placed, encode
from likewise.collection.records import encode as encode_records
from likewise.compiled import Ints, Offsets
from likewise.records import Document
from likewise.text.analysis import Analyzer
from likewise.text.lexicon import Counts, Lexicon
from likewise.text.table import Strings


def place_again(
    documents: Sequence[Document],
    analyzer: Analyzer,
    known: Callable[[Strings], Ints],
    n_terms: int,
) -> Placed:
    """Give what positions are decoded from, of these documents alone.

    `known` numbers the terms of the collection, below `n_terms`.
    """
    lexicon = Lexicon(analyzer, known, n_terms, exact=False)
    counted = lexicon.count(cut_documents(documents, analyzer)[0])
    uses, positions, widths = counted.occurrences, counted.positions, counted.widths
    stream, ends = encode(counted.terms.bounds, uses, positions, widths)
    weight = analyzer.analysis.title_weight
    return Placed(_records(counted.terms), _records(counted.head), (stream, _offsets(ends)), weight)


def _records(counts: Counts) -> Encoded:
    none = np.empty(0, np.uint32), np.zeros_like(counts.bounds)
    stream, ends = encode_records(counts.bounds, counts.terms, counts.counts, *none)
    return stream, _offsets(ends)


def _offsets(ends: Ints) -> Offsets:
    return np.concatenate([[0], ends]).astype(np.uint32)
