"""What a graph must count, worked out from documents in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from likewise.collection.build import Resources, content
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.records import Document
from likewise.terms.counting import LONGEST_SENTENCE, Counted
from likewise.text.analysis import Analysis, Analyzer, encode
from likewise.text.chunks import cut


def sentences(text):
    """The sentences of a text."""
    data = encode(text)
    ends = np.cumsum(cut([data]).sentences).tolist()
    return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


def matches(units, names):
    """The longest names in a list of units, from left to right."""
    found = []
    i = 0
    while i < len(units):
        sizes = range(len(units) - i, 0, -1)
        size = next((n for n in sizes if tuple(units[i : i + n]) in names), 0)
        if size:
            found.append(names[tuple(units[i : i + size])])
        i += size or 1
    return found


def count(documents, see, n_nodes, *, within="sentence"):
    """Count pairs, nodes and documents; `see` gives the nodes of a text in order."""
    pairs, nodes = Counter(), Counter()
    for document in documents:
        each = [see(sentence) for sentence in sentences(content(document))]
        if within == "document":
            groups = [[node for its in each for node in its]]
        else:
            groups = [
                its[i : i + LONGEST_SENTENCE]
                for its in each
                for i in range(0, len(its), LONGEST_SENTENCE)
            ]
        pairs.update({pair for its in groups for pair in combinations(sorted({*its}), 2)})
        nodes.update({node for its in groups for node in its})
    return dict(pairs), [nodes[i] for i in range(n_nodes)], len(documents)


def by_terms(analysis, terms):
    """What sees terms."""
    analyzer = Analyzer(analysis)
    names = {term: i for i, term in enumerate(terms)}
    return lambda text: [names[term] for term in analyzer.terms(text) if term in names]


def as_plain(counted: Counted):
    """The same of what was counted."""
    bounds, columns, counts = counted.pairs
    assert bounds[0] == 0
    assert len(columns) == len(counts) == bounds[-1]
    pairs = {}
    for i in range(len(bounds) - 1):
        row = columns[bounds[i] : bounds[i + 1]].tolist()
        assert row == sorted(set(row))
        assert all(j > i for j in row)
        for j, n in zip(row, counts[bounds[i] : bounds[i + 1]].tolist(), strict=True):
            pairs[i, j] = n
    return pairs, counted.doc_freqs.tolist(), counted.n_docs


def same_bits(a: Counted, b: Counted):
    """Whether two counts are the same arrays."""
    arrays = zip((*a.pairs, a.doc_freqs), (*b.pairs, b.doc_freqs), strict=True)
    return a.n_docs == b.n_docs and all(
        x.dtype == y.dtype and np.array_equal(x, y) for x, y in arrays
    )


def made_of(folder, documents, **options):
    """A collection of documents, given as texts or in full."""
    full = [
        d if isinstance(d, Document) else Document(str(i), text=d) for i, d in enumerate(documents)
    ]
    analysis = Analysis(**{"language": "english"} | options)
    build(folder, full, analysis=analysis, resources=Resources(threads=1))
    return open_snapshot(folder)
