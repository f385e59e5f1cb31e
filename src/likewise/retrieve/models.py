"""How much does a term say for a document?

Every model is a sum over the query's terms, `weight · impact(count, norm of the document)`, and
for query likelihood a part of the document's own. Scores have a stated meaning, and none
depends on how the collection is cut into segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from likewise import notation, registry
from likewise.collection.postings import bm25_norms
from likewise.collection.records import PART, get, read_terms
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import MAIN, Words
from likewise.compiled import Bools, Bytes, Doubles, Floats, Int, Ints, Offsets, kernel
from likewise.errors import UsageError
from likewise.stages.stage import Context, Result, Stage

_WORDS = ("bm25", "ql", "ql-jm", "tfidf", "inner")
BM25_IMPACT, TFIDF_IMPACT, DIRICHLET_IMPACT, JELINEK_MERCER_IMPACT, COUNT_IMPACT = range(5)


@dataclass(frozen=True)
class Statistics:
    """What models know of a collection: the statistics of one of its fields of words."""

    collection: Snapshot
    field: str = MAIN

    @property
    def n_docs(self) -> int:
        """How many documents there are, with words in the field or without."""
        return self.collection.n_docs

    @property
    def n_terms(self) -> int:
        """One more than the largest number of a term."""
        return self.collection.n_terms

    @cached_property
    def n_tokens(self) -> int:
        """How many words the field has."""
        return self.collection.n_tokens_of(self.field)

    @property
    def average_length(self) -> float:
        """The mean number of words of a document in the field."""
        return self.collection.average_length_of(self.field)

    def frequencies(self, terms: Ints) -> tuple[Ints, Ints]:
        """Count the documents and the occurrences of terms."""
        return self.collection.frequencies(terms, self.field)

    def admitted(self, doc_freqs: Ints, term_freqs: Ints) -> Bools:
        """Tell which terms are searched for: limits of the analysis are those of the main field."""
        if self.field == MAIN:
            return self.collection.admitted(doc_freqs, term_freqs)
        return doc_freqs > 0


class QueryTerms(NamedTuple):
    """The terms of one or more queries: whose each is, its weight there, and its frequencies."""

    owners: Ints
    weights: Doubles
    doc_freqs: Ints
    term_freqs: Ints


class TermWeights(NamedTuple):
    """What a model makes of a query's terms: weights, and a factor within the impact."""

    weights: Doubles
    factors: Doubles


class Model(Stage):
    """A search by words: small, frozen, written as `notation` writes it.

    `has_own_part`: a score has a part that no term gives.
    """

    impact: ClassVar[int]
    has_own_part: ClassVar[bool] = False
    log: ClassVar[bool] = False
    by_terms: ClassVar[bool] = True

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank documents by the words of each query; earlier rankings are replaced."""
        from likewise.retrieve.words import search_words

        return search_words(self, batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh the terms of queries."""
        raise UsageError(f"{self} does not say how it weighs terms")

    def norms(self, words: Words, collection: Statistics) -> Floats:
        """Give the norm of each document of a segment, by a field of words of it."""
        norms = self.norms_of(words.lengths, collection)
        assert norms is not None
        return norms

    def norms_of(self, lengths: Offsets, collection: Statistics) -> Floats | None:
        """Give the norms of documents of these lengths; None where length does not tell them."""
        return None


@dataclass(frozen=True)
class BM25(Model):
    """BM25 as in Lucene (Robertson et al.).

    A score is the sum over terms of `q · idf · f / (f + k1 (1 - b + b length/average))`, with
    `idf = ln(1 + (N - n + ½)/(n + ½))`.
    """

    k1: float = 1.2
    b: float = 0.75
    notation: ClassVar[str] = "bm25"
    impact: ClassVar[int] = BM25_IMPACT

    def __post_init__(self) -> None:
        if not (0 <= self.k1 < np.inf and 0 <= self.b <= 1):
            raise UsageError(f"bm25 needs k1 ≥ 0 and b from 0 to 1, not k1={self.k1}, b={self.b}")

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh by the inverse document frequency."""
        rarity = bm25_idf(n_docs, terms.doc_freqs)
        return TermWeights(terms.weights * rarity, np.ones(len(rarity)))

    def norms_of(self, lengths: Offsets, collection: Statistics) -> Floats:
        """Give `k1 (1 - b + b length/average)`."""
        return bm25_norms(lengths, max(collection.average_length, 1e-9), self.k1, self.b)


@dataclass(frozen=True)
class QueryLikelihood(Model):
    """Query likelihood (Ponte, Croft; Zhai, Lafferty), with Dirichlet smoothing.

    A score is the logarithm of the query's probability under the document's model over that
    under the collection's: `Σ q ln(1 + f / (mu p)) + |q| ln(mu / (mu + length))`, p the term's
    share of the collection.
    """

    mu: float = 1000.0
    notation: ClassVar[str] = "ql"
    impact: ClassVar[int] = DIRICHLET_IMPACT
    has_own_part: ClassVar[bool] = True
    log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.mu < np.inf:
            raise UsageError(f"ql needs mu > 0, not mu={self.mu}")

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh by the query, with `1 / (mu p)` within."""
        return TermWeights(terms.weights, np.divide(n_tokens / self.mu, terms.term_freqs))

    def norms_of(self, lengths: Offsets, collection: Statistics) -> Floats:
        """Give `ln(mu / (mu + length))`."""
        return np.asarray(np.log(self.mu / (self.mu + lengths)), np.float32)


@dataclass(frozen=True)
class JelinekMercer(Model):
    """Query likelihood with Jelinek-Mercer smoothing (Zhai, Lafferty).

    A score is the logarithm of the query's probability under the document's model over that
    under the collection's: `Σ q ln(1 + (1 - lam)/lam · f / (length p))`.
    """

    lam: float = 0.5
    notation: ClassVar[str] = "ql-jm"
    impact: ClassVar[int] = JELINEK_MERCER_IMPACT
    log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.lam < 1:
            raise UsageError(f"ql-jm needs lam between 0 and 1, not lam={self.lam}")

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh by the query, with `(1 - lam) / (lam p)` within."""
        odds = (1 - self.lam) / self.lam
        return TermWeights(terms.weights, np.divide(odds * n_tokens, terms.term_freqs))

    def norms_of(self, lengths: Offsets, collection: Statistics) -> Floats:
        """Give `1 / length`."""
        return (1 / np.maximum(lengths, 1)).astype(np.float32)


@dataclass(frozen=True)
class TFIDF(Model):
    """The cosine of the query's and the document's TF-IDF vectors.

    An entry is `(1 + ln f) ln(1 + N/n)`; a score is from 0 to 1.
    """

    notation: ClassVar[str] = "tfidf"
    impact: ClassVar[int] = TFIDF_IMPACT

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh by the normalised query vector, and once more by the document's idf."""
        term_idf = idf(n_docs, terms.doc_freqs)
        size = np.abs(terms.weights)
        damped = np.where(size >= 1, 1 + np.log(np.maximum(size, 1)), size)
        query = np.sign(terms.weights) * damped * term_idf
        lengths = np.sqrt(np.bincount(terms.owners, np.square(query)))
        return TermWeights(query / lengths[terms.owners] * term_idf, np.ones(len(query)))

    def norms(self, words: Words, collection: Statistics) -> Floats:
        """Give one over the length of the document's vector."""
        doc_freqs, _ = collection.frequencies(np.arange(collection.n_terms))
        stream, offsets = words.records[:2]
        return _one_over_length(stream, offsets, idf(collection.n_docs, doc_freqs))


@dataclass(frozen=True)
class InnerProduct(Model):
    """The inner product of counts, `Σ q f`: what plain LSI smooths."""

    notation: ClassVar[str] = "inner"
    impact: ClassVar[int] = COUNT_IMPACT

    def term_weights(self, terms: QueryTerms, n_docs: int, n_tokens: int) -> TermWeights:
        """Weigh by the query."""
        return TermWeights(terms.weights, np.ones(len(terms.weights)))

    def norms_of(self, lengths: Offsets, collection: Statistics) -> Floats:
        """Give ones: a document's length does not count."""
        return np.ones(len(lengths), np.float32)


def bm25_idf(n_docs: int, doc_freqs: Ints) -> Doubles:
    """Give `ln(1 + (N - n + ½)/(n + ½))`."""
    return np.log1p((n_docs - doc_freqs + 0.5) / (doc_freqs + 0.5))


def idf(n_docs: int, doc_freqs: Ints) -> Doubles:
    """Give `ln(1 + N/n)`; 0 for a term that no document has."""
    return np.where(doc_freqs > 0, np.log1p(n_docs / np.maximum(doc_freqs, 1)), 0.0)


@kernel
def _one_over_length(stream: Bytes, offsets: Offsets, term_idf: Doubles) -> Floats:
    """Give for each document `1 / sqrt(sum(((1 + ln f) idf)**2))`, 0 for an empty one."""
    out = np.zeros(len(offsets) - 1, np.float32)
    terms, counts = np.empty(PART, np.int32), np.empty(PART, np.int32)
    for doc in range(len(out)):
        start, stop = np.int64(offsets[doc]), np.int64(offsets[doc + 1])
        n, at = get(stream, start, stop)
        total = 0.0
        term: Int = 0
        # No more than bytes, and terms that there are: whatever a damaged record says.
        left: Int = min(n, stop - start)
        while left > 0:
            m = min(left, PART)
            term, at = read_terms(stream, at, stop, term, terms[:m], counts[:m])
            for j in range(m):
                if 0 <= terms[j] < len(term_idf):
                    total += ((1.0 + np.log(float(counts[j]))) * term_idf[terms[j]]) ** 2
            left -= m
        if total > 0:
            out[doc] = 1.0 / np.sqrt(total)
    return out


MODELS = registry.Table({name: registry.SEARCHES[name] for name in _WORDS})


def read_model(text: str) -> Model:
    """Read a model as it is written: `bm25`, `bm25(k1=2.0,b=0.5)`, `ql(mu=500)`."""
    model: Model = notation.read(text, MODELS, what="method")
    return model
