"""Projections and residuals of documents by the plain formulas, with dense vectors."""

import numpy as np

from likewise.collection.creating import build
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import open_snapshot
from likewise.records import Document
from likewise.text.analysis import Analysis

PLAIN = Analysis(stemmer="none", stop="none")


def collection_of(texts, folder, analysis=PLAIN):
    build(folder, [Document(str(i), "", text) for i, text in enumerate(texts)], analysis=analysis)
    return open_snapshot(folder)


def counts_of(*documents):
    """Term counts of documents given as dictionaries."""
    terms = [sorted(document) for document in documents]
    bounds = np.cumsum([0, *map(len, terms)]).astype(np.int64)
    flat = [(t, document[t]) for document, its in zip(documents, terms, strict=True) for t in its]
    pairs = np.array(flat, np.int32).reshape(-1, 2)
    return TermCounts(bounds, pairs[:, 0].copy(), pairs[:, 1].copy())


def dense(model, counts):
    """Documents as dense vectors, by the plain formulas; unknown terms behind the known ones."""
    vocabulary = model.vocabulary
    n_docs, n_rows = len(counts.bounds) - 1, len(vocabulary)
    out = np.zeros((n_docs, n_rows + int(counts.terms.max(initial=0)) + 1))
    for doc in range(n_docs):
        span = slice(counts.bounds[doc], counts.bounds[doc + 1])
        length = counts.counts[span].sum()
        for term, count in zip(counts.terms[span], counts.counts[span], strict=True):
            found = np.flatnonzero(vocabulary.terms == term)
            doc_freq = vocabulary.doc_freqs[found[0]] if len(found) else 1
            n = vocabulary.n_docs
            if model.weighting == "tfidf":
                weight = (1 + np.log(count)) * np.log(n / doc_freq)
            else:
                norm = 1.2 * (0.25 + 0.75 * length / model.average_length)
                weight = 2.2 * count / (count + norm)
                weight *= np.log(1 + (n - doc_freq + 0.5) / (doc_freq + 0.5))
            out[doc, found[0] if len(found) else n_rows + term] = weight
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)


def residuals(model, counts):
    """Projection and residual of documents, by the plain formulas."""
    vectors = dense(model, counts)
    basis = np.zeros((vectors.shape[1], model.width))
    basis[: len(model.vocabulary)] = model.basis
    topics = vectors @ basis
    return vectors, topics, vectors - topics @ basis.T
