"""What does a word weigh in a document? TF-IDF or BM25, and each document brought to length one."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.collection.records import TermCounts
from likewise.compiled import Floats, Ids, Int, Ints, fast_kernel
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.lanczos import Weighted

WEIGHTINGS = ("tfidf", "bm25")
K1, B = 1.2, 0.75


class Scale:
    """How words are weighed: the row and the factor of each term, and the norm of a length.

    `rows` goes by term number; the last of `factors` is for terms that are unknown, as if in one
    document. Where no term tells documents apart all of them have the factor one.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        weighting: str,
        average_length: float = 1.0,
        power: float = 1.0,
    ) -> None:
        check_weighting(weighting)
        n_docs = vocabulary.n_docs
        doc_freqs = np.append(np.maximum(vocabulary.doc_freqs, 1), 1).astype(np.float64)
        self.norm = (np.float32(0), np.float32(0), np.float32(0))
        if weighting == "bm25":
            factors = np.log1p((n_docs - doc_freqs + 0.5) / (doc_freqs + 0.5))
            by_length = K1 * B / max(average_length, 1e-9)
            self.norm = (np.float32(K1 + 1), np.float32(K1 * (1 - B)), np.float32(by_length))
        else:
            factors = np.log(n_docs / doc_freqs)
        factors = factors**power
        if not factors[:-1].any():
            factors[:] = 1.0
        self.factors: Floats = factors.astype(np.float32)
        size = int(vocabulary.terms[-1]) + 1 if len(vocabulary) else 0
        self.rows: Ids = np.full(size, -1, np.int32)
        self.rows[vocabulary.terms] = np.arange(len(vocabulary), dtype=np.int32)

    def weigh(self, counts: TermCounts) -> Weighted:
        """Give documents as weights of rows, without the words that are unknown."""
        bounds = counts.bounds - counts.bounds[0]
        terms = counts.terms[counts.bounds[0] : counts.bounds[-1]]
        inside = (terms, counts.counts[counts.bounds[0] : counts.bounds[-1]])
        rows = np.empty(len(terms), np.int32)
        weights = np.empty(len(terms), np.float32)
        weigh(bounds, inside, (self.rows, self.factors), self.norm, (rows, weights))
        known = rows >= 0
        kept = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        return Weighted(kept[bounds], rows[known], weights[known])


def check_weighting(weighting: str) -> None:
    """Refuse the name of a weighting that there is not."""
    if weighting not in WEIGHTINGS:
        raise UsageError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {weighting!r}")


@fast_kernel
def weight_of(count: Any, length: Any, factor: Any, norm: tuple[Any, Any, Any]) -> Any:
    """Give a word's weight before documents are brought to length one.

    Equals `(1 + np.log(count)) * factor`, or with `norm[0] > 0`
    `norm[0] * count / (count + norm[1] + norm[2] * length) * factor`.
    """
    if norm[0] > 0:
        return norm[0] * count / (count + norm[1] + norm[2] * length) * factor
    return factor if count == 1 else (np.float32(1) + np.log(count)) * factor


@fast_kernel
def weigh(
    bounds: Ints,
    words: tuple[Ids, Ids],
    scale: tuple[Ids, Floats],
    norm: tuple[Any, Any, Any],
    out: tuple[Ids, Floats],
) -> None:
    """Weigh the words of documents, and give their rows, -1 for those that are unknown.

    Equals `weight_of` of each word, over the root of the sum of their squares in the document.
    """
    terms, counts = words
    row_of, factors = scale
    rows, weights = out
    n_terms, unknown = len(row_of), len(factors) - 1
    for doc in range(len(bounds) - 1):
        start, stop = bounds[doc], bounds[doc + 1]
        length = np.float32(0)
        for j in range(start, stop):
            length += np.float32(counts[j])
        squares = np.float32(0)
        for j in range(start, stop):
            row = row_of[terms[j]] if 0 <= terms[j] < n_terms else -1
            factor = factors[row if row >= 0 else unknown]
            weight = weight_of(np.float32(counts[j]), length, factor, norm)
            squares += weight * weight
            rows[j] = row
            weights[j] = weight
        inverse = np.float32(1) / np.sqrt(squares) if squares > 0 else np.float32(0)
        for j in range(start, stop):
            weights[j] *= inverse


@fast_kernel
def fold(bounds: Ints, rows: Ids, weights: Floats, basis: Floats, out: Floats) -> None:
    """Add up the rows of a basis that documents have, by their weights.

    Equals `out += A @ basis`, A the documents by rows.
    """
    width: Int = basis.shape[1]
    for doc in range(len(bounds) - 1):
        for j in range(bounds[doc], bounds[doc + 1]):
            row, weight = rows[j], weights[j]
            for k in range(width):
                out[doc, k] += weight * basis[row, k]
