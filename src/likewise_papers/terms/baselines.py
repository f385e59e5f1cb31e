"""What must a kernel beat? Rankings that know no kernel: the paper's three, and popularity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from likewise import notation
from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel, one_blas_thread
from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise.terms.sets import SetLike, term_set


def popularity(doc_freqs: Ints) -> Doubles:
    """Give the scores of all terms by how many documents have them, whatever is asked."""
    return np.asarray(doc_freqs, np.float64)


def tfidf_ranking(doc_freqs: Ints, term_freqs: Ints, n_docs: int) -> Doubles:
    """Give the scores of all terms by TF-IDF in the training documents, whatever is asked.

    That is `tf ln(N/df)`, tf over all documents (Salton and McGill 1983); a term of no document
    has zero.
    """
    doc_freqs = np.asarray(doc_freqs, np.float64)
    if n_docs < doc_freqs.max(initial=0):
        raise UsageError(
            f"a term is in {doc_freqs.max():g} documents, of which there are {n_docs}: "
            "count both on the same documents"
        )
    idf = np.log(max(n_docs, 1) / np.maximum(doc_freqs, 1))
    scores: Doubles = np.where(doc_freqs > 0, np.asarray(term_freqs, np.float64) * idf, 0.0)
    return scores


def shortest_paths(graph: Graph, given: SetLike) -> Doubles:
    """Give the length of the shortest path from any member of a set to every term.

    An edge is as long as the reciprocal of its weight; what cannot be reached is infinitely far.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n = len(graph)
    lengths = csr_array(
        (1.0 / graph.weights.astype(np.float64), graph.columns, graph.bounds), shape=(n, n)
    )
    found: Doubles = dijkstra(lengths, indices=term_set(given, n).nodes, min_only=True)
    return found


@dataclass(frozen=True)
class PHITS:
    """The aspect model of links (Cohn and Chang 2000): `P(t'|t) = Σ_z P(t'|z) P(z|t)`, by EM."""

    topics: int = 50
    iterations: int = 50
    seed: int = 0
    notation: ClassVar[str] = "phits"

    def __post_init__(self) -> None:
        if min(self.topics, self.iterations) < 1 or self.seed < 0:
            raise UsageError(
                f"{self}: topics and iterations must be at least 1, the seed at least 0"
            )

    def __str__(self) -> str:
        return notation.write(self)


@dataclass(frozen=True, eq=False)
class Aspects:
    """A fitted aspect model: P(t|z) and P(z|t), a row for each term.

    `history` is the log-likelihood of the counts before each iteration and after the last.
    """

    of_topics: Doubles
    of_terms: Doubles
    history: tuple[float, ...] = field(default=())

    def scores(self, given: SetLike) -> Doubles:
        """Give `Σ_z P(z|S) P(t|z)` of every term; P(z|S) is the mean of the members' P(z|t)."""
        chosen = term_set(given, len(self.of_terms))
        with one_blas_thread():
            found: Doubles = self.of_topics @ (chosen.weights @ self.of_terms[chosen.nodes])
        return found


def fit_phits(graph: Graph, config: PHITS = PHITS()) -> Aspects:
    """Fit an aspect model to the weights of a graph, as counts of links.

    A term without links has no topics of its own: all are as likely.
    """
    n = len(graph)
    random = np.random.default_rng(config.seed)
    of_topics = random.uniform(0.5, 1.5, (n, config.topics))
    of_topics /= np.maximum(of_topics.sum(axis=0), 1e-300)
    of_terms = random.uniform(0.5, 1.5, (n, config.topics))
    of_terms /= of_terms.sum(axis=1, keepdims=True)
    history = []
    for _ in range(config.iterations):
        of_topics, of_terms, likelihood = em_step(
            graph.bounds, graph.columns, graph.weights, of_topics, of_terms
        )
        history.append(likelihood)
    history.append(em_step(graph.bounds, graph.columns, graph.weights, of_topics, of_terms)[2])
    return Aspects(of_topics, of_terms, tuple(history))


@fast_kernel
def em_step(
    bounds: Ints, columns: Ids, counts: Floats, of_topics: Doubles, of_terms: Doubles
) -> tuple[Doubles, Doubles, float]:
    """Take one step of EM; give the new P(t|z) and P(z|t), and the old ones' log-likelihood.

    Equals, with N the dense counts and `Q = N / (of_terms @ of_topics.T)` where N is not zero,
    `of_topics * (Q.T @ of_terms)` with columns that sum to one, `of_terms * (Q @ of_topics)` with
    rows that sum to one, and `(N * np.log(of_terms @ of_topics.T)).sum()`.
    """
    n, width = of_topics.shape
    topics = np.zeros((n, width))
    terms = np.zeros((n, width))
    totals = np.zeros(width)
    likelihood = 0.0
    for i in range(n):
        for e in range(bounds[i], bounds[i + 1]):
            j: Int = columns[e]
            chance = 0.0
            for z in range(width):
                chance += of_terms[i, z] * of_topics[j, z]
            if chance <= 0:
                continue
            likelihood += counts[e] * np.log(chance)
            share = counts[e] / chance
            for z in range(width):
                topics[j, z] += share * of_terms[i, z]
                terms[i, z] += share * of_topics[j, z]
    for i in range(n):
        total = 0.0
        for z in range(width):
            topics[i, z] *= of_topics[i, z]
            totals[z] += topics[i, z]
            terms[i, z] *= of_terms[i, z]
        for z in range(width):
            total += terms[i, z]
        for z in range(width):
            terms[i, z] = terms[i, z] / total if total > 0 else 1.0 / width
    for i in range(n):
        for z in range(width):
            if totals[z] > 0:
                topics[i, z] /= totals[z]
    return topics, terms, likelihood
