"""Which terms do a query's first documents have? Feedback models as users know them.

Each looks at the best documents of a ranking, chooses terms and weighs them. `share` is the part
of feedback in the expanded query (α in papers).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.expand.expansion import (
    NO_SHARE,
    Expander,
    ExpansionResult,
    Feedback,
    WordSearch,
    check_counts,
    check_share,
    doc_weights,
    mix,
    rank_weights,
)
from likewise.expand.pool import Pool, read_pool
from likewise.records import Ranking
from likewise.retrieve.models import idf as tfidf_idf

NO_ANSWER = "no document answers it"

_WHOLE_RANKING = 1000
# Only their proportions matter; larger ones would overflow.
_LARGEST_PART = 1e6


@dataclass(frozen=True)
class FeedbackExpander(Expander, ABC):
    """An expander that chooses `terms` of the first `docs` of a ranking and gives them a share."""

    docs: int
    terms: int
    share: float
    notation: ClassVar[str]

    def __post_init__(self) -> None:
        check_counts(self.notation, docs=self.docs, terms=self.terms)
        check_share(self.notation, self.share)

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs."""
        return self.docs

    def with_share(self, share: float) -> Self:
        """Give the same with another share of feedback."""
        return replace(self, share=share)

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries."""
        return [self._expand(feedback, search) for feedback in batch]

    def _expand(self, feedback: Feedback, search: WordSearch) -> ExpansionResult:
        docs = feedback.ranking.docs[: self.docs]
        if len(docs) == 0:
            return ExpansionResult({}, NO_ANSWER)
        pool = read_pool(search.retriever.collection, docs, feedback.terms)
        return self.join(pool, feedback.ranking, search)

    @abstractmethod
    def join(self, pool: Pool, ranking: Ranking, search: WordSearch) -> ExpansionResult:
        """Join the query with terms of its first documents."""


@dataclass(frozen=True)
class RM3(FeedbackExpander):
    """Relevance model (Lavrenko, Croft 2001), joined with the query (Abdul-Jaleel et al. 2004).

    `p(w|R) = Σ p(d) tf/length` over the first `docs`. p(d) goes by score as in Anserini, and where
    scores are logarithms by likelihood as in Indri. The `terms` with the largest p are taken, and
    then add up to 1 as the query does.
    """

    docs: int = 10
    terms: int = 20
    share: float = 0.5
    notation: ClassVar[str] = "rm3"

    def join(self, pool: Pool, ranking: Ranking, search: WordSearch) -> ExpansionResult:
        """Join the query with its relevance model."""
        weights = doc_weights(ranking, self.docs, is_log=search.retriever.model.log)
        p = relevance(pool, weights)
        chosen = pool.largest(p, self.terms)
        return mix(pool, chosen, p[chosen], self.share, norm="sum")


@dataclass(frozen=True)
class RM1(RM3):
    """The relevance model alone, in place of the query (Lavrenko, Croft 2001)."""

    share: float = 1.0
    notation: ClassVar[str] = "rm1"


@dataclass(frozen=True)
class RankedRM(FeedbackExpander):
    """A relevance model whose documents weigh by rank and whose terms by rarity.

    `p = Σ 1/rank · tf/(length + average)` over the first `docs`; without the average, a document
    of a title alone would outweigh all others. Terms are chosen by `p idf`, weighed by `p √idf`.
    """

    docs: int = 20
    terms: int = 50
    share: float = 0.5
    notation: ClassVar[str] = "rrm"

    def join(self, pool: Pool, ranking: Ranking, search: WordSearch) -> ExpansionResult:
        """Join the query with its relevance model."""
        chosen, weights = self.choose(pool)
        return mix(pool, chosen, weights, self.share, norm="sum")

    def choose(self, pool: Pool) -> tuple[Ints, Doubles]:
        """Choose terms of a pool whose first documents are the ranking's, and weigh them."""
        n = min(self.docs, len(pool.docs))
        by_rank = np.zeros(len(pool.docs))
        by_rank[:n] = rank_weights(n)
        p = relevance(pool, by_rank, damping=pool.collection.average_length)
        chosen = pool.largest(p * pool.idf, self.terms)
        return chosen, (p * np.sqrt(pool.idf))[chosen]


@dataclass(frozen=True)
class Bo1(FeedbackExpander):
    """Bose-Einstein statistics (Amati 2003), as in Terrier.

    A term with f occurrences in the first `docs` and F in the N documents of the collection
    weighs `f log2((1 + P)/P) + log2(1 + P)`, `P = F/N`. Chosen are terms of at least two of the
    documents, and those of the query; at least as many as the query has. The query is divided by
    its largest weight, and what is chosen by what the weightiest would weigh if it occurred in
    these documents only (Terrier calls this free of parameters: `share` is ½).
    """

    docs: int = 3
    terms: int = 10
    share: float = 0.5
    notation: ClassVar[str] = "bo1"

    def join(self, pool: Pool, ranking: Ranking, search: WordSearch) -> ExpansionResult:
        """Join the query with the terms that diverge most."""
        counts = pool.total(pool.counts)
        in_docs = np.bincount(pool.columns, minlength=len(pool.terms))
        # A term of one document says what the document is about, not what the query is.
        enough = np.where(pool.query > 0, 1, min(2, len(pool.docs)))
        weights = np.where(in_docs >= enough, self.weigh(pool, counts, pool.term_freqs), 0)
        chosen = pool.largest(weights, max(self.terms, int(np.count_nonzero(pool.query))))
        best = counts[chosen[:1]]
        limit = float(self.weigh(pool, best, best).sum())
        return mix(pool, chosen, weights[chosen], self.share, norm="max", limit=limit)

    def weigh(self, pool: Pool, counts: Doubles, freqs: Ints | Doubles) -> Doubles:
        """Weigh terms by their occurrences in the documents and in the collection."""
        p = freqs / max(pool.collection.n_docs, 1)
        return counts * np.log2((1 + p) / p) + np.log2(1 + p)


@dataclass(frozen=True)
class KL(Bo1):
    """Kullback-Leibler divergence of the first documents from the collection (Amati 2003).

    A term of share P in the first `docs` and C in the collection weighs `P log2(P/C)`, where P is
    above C; else as Bo1.
    """

    notation: ClassVar[str] = "kl"

    def weigh(self, pool: Pool, counts: Doubles, freqs: Ints | Doubles) -> Doubles:
        """Weigh terms by their shares of the documents and of the collection."""
        length = max(pool.n_tokens, 1)
        # Whole numbers up to the division: equal shares are equal to the last bit.
        ratio = counts * pool.collection.n_tokens / (freqs * length)
        return counts / length * np.log2(np.maximum(ratio, 1))


@dataclass(frozen=True)
class Rocchio(Expander):
    """Rocchio (1971), as in SMART: `alpha q + beta · mean of the first docs - gamma · of the last`.

    Vectors are TF-IDF, `(1 + ln tf) ln(1 + N/n)` (the query's `q ln(1 + N/n)`), of length one. The
    query's terms stay, and the `terms` others with the largest entries join them. A term is asked
    for with its entry over its idf, which the search brings again; what comes out negative is
    dropped. With `gamma` above 0 the last `docs` of a ranking of 1000 are taken as not relevant.
    """

    docs: int = 10
    terms: int = 20
    alpha: float = 1.0
    beta: float = 0.75
    gamma: float = 0.0
    notation: ClassVar[str] = "rocchio"

    def __post_init__(self) -> None:
        check_counts(self.notation, docs=self.docs, terms=self.terms)
        given = (self.alpha, self.beta, self.gamma)
        if not all(0 <= part <= _LARGEST_PART for part in given) or self.alpha + self.beta == 0:
            raise UsageError(
                "rocchio needs alpha, beta and gamma from 0 to 1e6, alpha or beta above 0, not "
                f"alpha={self.alpha}, beta={self.beta}, gamma={self.gamma}"
            )

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs."""
        return max(_WHOLE_RANKING, 2 * self.docs) if self.gamma else self.docs

    def with_share(self, share: float) -> Rocchio:
        """Give the same with beta over alpha + beta at a share, gamma in proportion to beta."""
        check_share(self.notation, share)
        gamma = self.gamma * share / (self.beta or 1)
        return replace(self, alpha=1 - share, beta=share, gamma=gamma)

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries."""
        return [self._expand(feedback, search) for feedback in batch]

    def _expand(self, feedback: Feedback, search: WordSearch) -> ExpansionResult:
        first = feedback.ranking.docs[: self.docs]
        if len(first) == 0:
            return ExpansionResult({}, NO_ANSWER)
        if self.beta == self.gamma == 0:
            return ExpansionResult({}, NO_SHARE)
        last = feedback.ranking.docs[len(first) :][-self.docs :] if self.gamma else first[:0]
        pool = read_pool(search.retriever.collection, np.concatenate([first, last]), feedback.terms)
        idf = tfidf_idf(pool.collection.n_docs, pool.doc_freqs)
        entries = (1 + np.log(pool.counts)) * idf[pool.columns]
        sizes = np.sqrt(np.bincount(pool.rows, np.square(entries), len(pool.docs)))
        parts = np.full(len(pool.docs), self.beta / len(first))
        parts[len(first) :] = -self.gamma / max(len(last), 1)
        vector = pool.total(entries * (parts / np.where(sizes > 0, sizes, 1))[pool.rows])
        query = pool.query * idf
        # Not by BLAS, whose sums may depend on the number of threads.
        query *= self.alpha / (math.sqrt(math.fsum(np.square(query).tolist())) or 1.0)
        others = pool.largest(np.where(pool.query > 0, 0, vector), self.terms)
        chosen = np.concatenate([others, np.flatnonzero(pool.query)])
        return mix(pool, chosen, ((query + vector) / idf)[chosen], 1.0, norm="sum")


def relevance(pool: Pool, weights: Doubles, *, damping: float = 0.0) -> Doubles:
    """Give `Σ p(d) tf/(length + damping)` of each term, the documents weighed (RM1)."""
    return pool.weighted(weights / (pool.lengths + damping))
