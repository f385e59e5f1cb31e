"""Which words move together as the query changes? Perturbation kernels.

Collins-Thompson, Robust Word Similarity Estimation Using Perturbation Kernels (ICTIR 2009): a
query is asked again with its terms weighed otherwise, and words whose probabilities answer alike
are alike in the context of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.expand.expansion import Feedback, WordSearch, check_counts, rank_weights
from likewise.expand.feedback import NO_ANSWER
from likewise.expand.perturb_kernels import gather, relevance_models, squared_distances
from likewise.expand.pool import Pool, read_pool
from likewise.records import EMPTY, Ranking
from likewise.retrieve.lookup import LARGEST_WEIGHT, LEAST_WEIGHT
from likewise.retrieve.models import BM25, bm25_idf
from likewise.retrieve.parts import rank_parts
from likewise.retrieve.search import Retriever

Strategy: TypeAlias = Callable[[int], ArrayLike]

NO_WORD = "none of its words is in the collection"
# So many terms are added, one at a time, to a query that has only one.
_ADDED = 4
# A word is compared with so many of the strongest.
_COMPARED = 50
# In collections of so many documents the best for so many parts of a query are sought among its
# own first documents: elsewhere searching for each takes no longer.
_MANY_DOCS, _MANY_PARTS = 1 << 16, 2
# Of these so many times as many as are wanted of a part are looked at.
_DEEPEST = 5


def loo(n: int) -> Doubles:
    """Leave one out: perturbation i drops term i (Section 2 of the paper)."""
    return 1.0 - np.eye(n)


def tat(n: int) -> Doubles:
    """Take a term at a time: perturbation i has term i only (Section 2 of the paper)."""
    return np.eye(n)


STRATEGIES: dict[str, Strategy] = {"loo": loo, "tat": tat}


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed:
    """Relevance models of a query and of its perturbations.

    `pool` has the documents of all rankings, those of the query first, in their order. `terms`
    are the columns of the terms that were perturbed, `weights` what the weight of each is
    multiplied by in each perturbation, `models` the probability of each term of the pool: in row
    0 given the query itself, in row i + 1 given perturbation i. `shares` are the weights of the
    documents behind these. `note` tells where a query was not perturbed as asked for.
    """

    pool: Pool
    terms: Ints
    weights: Doubles
    models: Doubles
    shares: Doubles
    note: str = ""

    def __repr__(self) -> str:
        names = ", ".join(self.pool.names(self.terms))
        n = len(self.weights)
        return f"<Perturbed {names!r}: {n} perturbations, {len(self.pool.terms):,} words>"

    def features(self, columns: Ints | None = None) -> Doubles:
        """Give `(√p⁽ⁱ⁾(w) - √p(w)) / (√m p(w))`, a row for each word (Eq. 4)."""
        models = self.models if columns is None else self.models[:, columns]
        moved = (np.sqrt(models[1:]) - np.sqrt(models[0])) / models[0]
        scaled: Doubles = np.ascontiguousarray(moved.T) / np.sqrt(max(len(self.weights), 1))
        return scaled

    def gram(self, columns: Ints | None = None) -> Doubles:
        """Give the inner products of words: G = ΦΦᵀ."""
        features = self.features(columns)
        # Not by BLAS, whose sums may depend on the number of threads.
        products: Doubles = np.einsum("ik,jk->ij", features, features)
        return products

    def distances(self, columns: Ints | None = None) -> Doubles:
        """Give `g_ii + g_jj - 2 g_ij` of words (Fig. 1)."""
        found: Doubles = squared_distances(self.features(columns))
        return found

    def strongest(self, n: int) -> Ints:
        """Give the columns of the n words with the largest `p idf`, without those asked for.

        Words of one document alone, which say what it is about, come after the others.
        """
        strength = self.models[0] * self.pool.idf
        strength[self.pool.query != 0] = 0
        own = self.shares[0] > 0
        has = np.bincount(self.pool.columns[own[self.pool.rows]], minlength=len(strength))
        several = self.pool.largest(np.where(has > 1, strength, 0), n)
        others = self.pool.largest(np.where(has == 1, strength, 0), n - len(several))
        return np.concatenate([several, others])

    def nearest(
        self, word: str, k: int = 10, *, among: Ints | None = None
    ) -> list[tuple[str, float]]:
        """Give the k terms nearest to a word, with their distances.

        They are sought `among` columns: the query's own and the strongest, where none are given.
        """
        column = self.find(word)
        if among is None:
            among = np.concatenate([self.pool.asked, self.strongest(_COMPARED)])
        others = among[among != column]
        steps = self.features(others) - self.features(np.array([column]))
        distances = np.square(steps).sum(axis=1).tolist()
        ordered = sorted(zip(distances, self.pool.names(others), strict=True))
        return [(term, distance) for distance, term in ordered[:k]]

    def find(self, word: str) -> int:
        """Give the column of a word, or of a term as the collection stores it."""
        collection = self.pool.collection
        for name in (word, *collection.analyzer.terms(word)[:1]):
            number = int(collection.find_terms([name])[0])
            column = int(np.searchsorted(self.pool.terms, number))
            if number >= 0 and number in self.pool.terms[column : column + 1]:
                return column
        raise UsageError(f"no document found for the query or its perturbations has {word!r}")


def perturb(
    batch: Sequence[Feedback],
    search: WordSearch,
    strategy: str | Strategy | ArrayLike = "loo",
    *,
    docs: int = 50,
    smoothing: float = 0.1,
    most: int = 8,
) -> list[Perturbed]:
    """Ask queries again with their terms weighed otherwise, all in one search.

    A strategy is `loo`, `tat`, a function that gives the weights for n terms, or these weights.
    A relevance model is that of the best `docs` documents of a ranking, weighed by rank;
    `smoothing` of it is the collection's. Of a long query only the `most` terms with the largest
    `weight idf` are perturbed: others keep their weight. A query of one term has no perturbation
    under loo and tat: it is asked together with each of its strongest feedback terms instead.
    """
    check_counts("a perturbation", docs=docs, most=most)
    if not 0 < smoothing < 1:
        raise UsageError(f"smoothing is a share above 0 and below 1, not {smoothing}")
    give_weights = _as_function(strategy)
    joins = give_weights in STRATEGIES.values()
    terms = {term for one in batch for term in one.terms}
    known = _look_up(search.retriever, sorted(terms))
    jobs = [_start(one, known, docs, most) for one in batch]
    rankings = _Rankings(search, docs)
    lone = [job for job in jobs if joins and job.n_words == 1]
    rankings.search(job.whole for job in lone if job.ranking is None)
    for job in lone:
        if job.ranking is None:
            job.ranking = rankings[job.whole]
        _join_feedback(job, search, docs)
    for job in jobs:
        if job.terms and not (joins and job.n_words == 1):
            job.weights = _check_weights(give_weights, len(job.terms))
    for job in jobs:
        rankings.take_parts(job)
    rankings.search(query for job in jobs for query in job.queries())
    return [_model(job, rankings, search, docs, smoothing) for job in jobs]


@dataclass
class _Job:
    """A query on its way: its terms that are perturbed, with their weights in it, and how.

    `whole` is the query without the words that the collection does not have, `n_words` how many
    of its weights are above 0; `ranking` is None where it is still to be searched for.
    """

    feedback: Feedback
    whole: Mapping[str, float]
    ranking: Ranking | None
    n_words: int
    terms: list[str]
    numbers: Ints
    given: Doubles
    weights: Doubles = field(default_factory=lambda: np.empty((0, 0)))
    note: str = ""

    @cached_property
    def perturbed(self) -> list[Mapping[str, float]]:
        """The perturbed queries, when it is known how."""
        stay = {term: weight for term, weight in self.whole.items() if term not in self.terms}
        # What is too large to search for is left out of the search.
        with np.errstate(over="ignore"):
            rows = self.weights * self.given if len(self.weights) else self.weights
        return [
            {term: weight for term, weight in zip(self.terms, row, strict=True) if weight} | stay
            for row in rows.tolist()
        ]

    def queries(self) -> list[Mapping[str, float]]:
        """Give what is to be searched for."""
        again = [query for query in self.perturbed if query != self.whole]
        return [self.whole, *again] if self.ranking is None else again

    def parts(self) -> list[Mapping[str, float]]:
        """Give the perturbed queries that have some of the query's terms, as these weigh in it."""
        if min(self.whole.values(), default=0) <= 0:
            return []
        items = self.whole.items()
        return [query for query in self.perturbed if query and query.items() < items]


class _Rankings:
    """Rankings by query: each is searched for once, those asked for together in one call."""

    def __init__(self, search: WordSearch, k: int) -> None:
        self._search = search
        self._k = k
        self._found: dict[frozenset[tuple[str, float]], Ranking] = {}

    def search(self, queries: Iterable[Mapping[str, float]]) -> None:
        """Search for queries; one that has no weight above 0 finds nothing."""
        wanted = {frozenset(query.items()): query for query in queries}
        new = {
            key: query
            for key, query in wanted.items()
            if key not in self._found and max(query.values(), default=0) > 0
        }
        if new:
            rankings = self._search.rank(list(new.values()), self._k)
            self._found.update(zip(new, rankings, strict=True))

    def take_parts(self, job: _Job) -> None:
        """Take what the first documents of a query, by its words, tell of its parts."""
        retriever = self._search.retriever
        # Of a deeper ranking too the first tell nearly all.
        first = job.feedback.words.cut(_DEEPEST * self._k)
        parts = job.parts() if len(first.docs) >= self._k else []
        many = retriever.collection.n_docs >= _MANY_DOCS and len(parts) >= _MANY_PARTS
        if many and isinstance(retriever.model, BM25):
            found = rank_parts(retriever, job.whole, parts, first, k=self._k)
            for query, ranking in zip(parts, found, strict=True):
                if ranking is not None:
                    self._found[frozenset(query.items())] = ranking

    def __getitem__(self, query: Mapping[str, float]) -> Ranking:
        return self._found.get(frozenset(query.items()), EMPTY)


class _Known(NamedTuple):
    """What the collection knows of a term that is searched for: its number, and idf (of BM25)."""

    number: int
    idf: float


def _look_up(retriever: Retriever, terms: Sequence[str]) -> dict[str, _Known]:
    numbers, doc_freqs, _ = retriever.known(terms)
    idf = bm25_idf(retriever.collection.n_docs, doc_freqs)
    triples = zip(terms, numbers.tolist(), idf.tolist(), strict=True)
    return {term: _Known(number, value) for term, number, value in triples if number >= 0}


def _start(feedback: Feedback, known: Mapping[str, _Known], docs: int, most: int) -> _Job:
    whole = {
        term: float(weight)
        for term, weight in feedback.terms.items()
        if term in known and LEAST_WEIGHT <= abs(weight) <= LARGEST_WEIGHT
    }
    words = chosen = [term for term, weight in whole.items() if weight > 0]
    note = ""
    if len(words) > most:
        order = sorted(words, key=lambda term: -whole[term] * known[term].idf)[:most]
        chosen = [term for term in words if term in order]
        note = f"only the {most} weightiest of its {len(words)} terms are perturbed"
    return _Job(
        feedback,
        whole,
        feedback.ranking if len(feedback.ranking.docs) >= docs else None,
        len(words),
        chosen,
        np.array([known[term].number for term in chosen], np.int64),
        np.array([whole[term] for term in chosen]),
        note=note,
    )


def _join_feedback(job: _Job, search: WordSearch, docs: int) -> None:
    """Perturb a query of one term by joining feedback terms to it, one at a time."""
    assert job.ranking is not None
    collection = search.retriever.collection
    pool = read_pool(collection, job.ranking.docs[:docs], job.whole)
    weights = rank_weights(len(pool.docs))
    strength = pool.weighted(weights / pool.lengths) * pool.idf
    strength[np.isin(pool.terms, collection.find_terms(list(job.whole)))] = 0
    columns = pool.largest(strength, _ADDED)
    [term], added = job.terms, pool.names(columns)
    job.terms = [term, *added]
    job.numbers = np.concatenate([job.numbers, pool.terms[columns]])
    job.given = np.full(len(job.terms), job.given[0])
    job.weights = np.hstack([np.ones((len(added), 1)), np.eye(len(added))])
    job.note = (
        f"one word alone cannot be perturbed: {len(added)} words of its first documents were "
        "joined with it, one at a time"
        if added
        else "one word alone cannot be perturbed, and its documents have no other"
    )


def _model(
    job: _Job, rankings: _Rankings, search: WordSearch, docs: int, smoothing: float
) -> Perturbed:
    """Read the documents of a query's rankings, and estimate relevance models."""
    collection = search.retriever.collection
    own = rankings[job.whole] if job.ranking is None else job.ranking
    if len(own.docs) == 0:
        pool = read_pool(collection, EMPTY.docs, job.feedback.terms)
        return Perturbed(
            pool,
            np.empty(0, np.int64),
            np.empty((0, 0)),
            pool.background[None, :],
            np.empty((1, 0)),
            NO_ANSWER if job.n_words else NO_WORD,
        )
    found_for = [own, *(own if q == job.whole else rankings[q] for q in job.perturbed)]
    listed = [ranking.docs[:docs] for ranking in found_for]
    weights = [rank_weights(len(found)) for found in listed]
    bounds = np.cumsum([0, *map(len, listed)], dtype=np.int64)
    found, shares = gather(np.concatenate(listed), bounds, np.concatenate(weights))
    pool = read_pool(collection, found, job.feedback.terms)
    counted = (pool.bounds, pool.columns, pool.counts)
    models = relevance_models(counted, pool.lengths, shares, pool.background, smoothing)
    terms = np.searchsorted(pool.terms, job.numbers)
    return Perturbed(pool, terms, job.weights, models, shares, job.note)


def _as_function(strategy: str | Strategy | ArrayLike) -> Strategy:
    if isinstance(strategy, str):
        if strategy not in STRATEGIES:
            raise UsageError(
                f"unknown strategy {strategy!r}: it is one of {', '.join(STRATEGIES)}, a function "
                "of the number of terms, or an array"
            )
        return STRATEGIES[strategy]
    if callable(strategy):
        return strategy
    return lambda _: strategy


def _check_weights(strategy: Strategy, n: int) -> Doubles:
    """Give a strategy's weights for n terms, or refuse them."""
    given = strategy(n)
    try:
        weights = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"a strategy must give an array of numbers, not {given!r}") from None
    if weights.ndim != 2 or weights.shape[1] != n or len(weights) == 0:
        shape = " × ".join(map(str, weights.shape)) or "a single number"
        raise UsageError(
            f"for {n} terms a strategy must give rows of {n} weights, one or more, not {shape}; a "
            "function of the number of terms suits queries of any length"
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise UsageError("a strategy's weights must be finite and 0 or more")
    return weights
