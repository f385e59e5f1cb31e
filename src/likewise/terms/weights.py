"""How much does it say that two terms are said together? Weights of edges from counts."""

from __future__ import annotations

import numpy as np

from likewise.compiled import Doubles, Floats, Ids, Ints, kernel
from likewise.errors import UsageError
from likewise.terms.counting import Counted
from likewise.terms.graph import Graph, make_graph

COUNTS, IDF, COSINE, PPMI, NPMI = "counts", "idf", "cosine", "ppmi", "npmi"
WEIGHTINGS = (IDF, COUNTS, COSINE, PPMI, NPMI)

_PRODUCT, _LOG, _LOG_SHARE = 0, 1, 2


def weigh(counted: Counted, by: str = IDF, *, least: int = 1) -> Graph:
    """Make a graph of counts; pairs that fewer than `least` documents have are no edges.

    With c documents that have both of a pair, a and b that have each, of n in all, an edge weighs
    by `counts` c, as in the paper; by `idf` c·idf(a)·idf(b), so that what many documents say says
    little; by `cosine` c/√(ab); by `ppmi` log(cn/(ab)), and nothing below 0; by `npmi` that over
    -log(c/n), which is 1 for terms that are never apart, but for those in all documents.
    """
    if by not in WEIGHTINGS:
        raise UsageError(f"edges are weighed by {', '.join(WEIGHTINGS)}, not by {by!r}")
    if least < 1:
        raise UsageError(f"an edge needs at least 1 document, not {least}")
    n_docs = max(counted.n_docs, 1)
    doc_freqs = np.maximum(counted.doc_freqs, 1).astype(np.float64)
    factors = {
        COUNTS: np.ones(len(doc_freqs)),
        IDF: rarity(counted),
        COSINE: 1 / np.sqrt(doc_freqs),
        PPMI: doc_freqs,
        NPMI: doc_freqs,
    }[by]
    form = {PPMI: _LOG, NPMI: _LOG_SHARE}.get(by, _PRODUCT)
    return make_graph(counted.pairs, _weigh(*counted.pairs, factors, form, n_docs, least))


def rarity(counted: Counted) -> Doubles:
    """Give the idf of each node, as BM25 has it: never below 0."""
    n, df = counted.n_docs, counted.doc_freqs
    idf: Doubles = np.log1p((n - df + 0.5) / (df + 0.5))
    return idf


@kernel
def _weigh(
    bounds: Ints, columns: Ids, counts: Ids, factors: Doubles, form: int, n_docs: int, least: int
) -> Floats:
    """Weigh each pair by its count and the factors of its ends.

    Equals c·f_i·f_j of each pair, or max(log(c·n/(f_i·f_j)), 0), or that over -log(c/n).
    """
    out = np.zeros(len(columns), np.float32)
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            if counts[j] < least:
                continue
            both = factors[i] * factors[columns[j]]
            if form == 0:
                out[j] = counts[j] * both
                continue
            # Whole numbers: terms that have nothing to do with each other come to 1 exactly.
            weight = np.log(max(float(counts[j]) * n_docs / both, 1.0))
            if form == 2 and weight > 0:
                weight /= np.log(n_docs / counts[j])
            out[j] = weight
    return out
