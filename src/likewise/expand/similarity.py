"""Which words stand and fall together? What a robust expansion takes for its risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.expand.expansion import Feedback, WordSearch
from likewise.expand.perturb import Perturbed, perturb
from likewise.expand.pool import Pool, read_pool

if TYPE_CHECKING:
    from likewise.terms.related import TermGraph


class Context(NamedTuple):
    """Documents around a query, those of its own ranking first, and how their words go together.

    For columns of the pool, `similarity` gives a matrix from 0 to 1 with ones on the diagonal,
    and `risk` one that may have any scale; both are positive semi-definite. `note` tells what was
    done otherwise than asked for.
    """

    pool: Pool
    similarity: Callable[[Ints], Doubles]
    risk: Callable[[Ints], Doubles]
    note: str = ""


class Similarity(NamedTuple):
    """A way to find contexts: of queries, by a search, with so many first documents each.

    One that `searches` asks the queries itself and needs no ranking of them.
    """

    contexts: Callable[[Sequence[Feedback], WordSearch, int], list[Context]]
    searches: bool = False


def by_perturbation(strategy: str, *, near: bool = False) -> Similarity:
    """Words are alike if their probabilities move together as the query is perturbed.

    The risk is the covariance of √p over the perturbations: the perturbation kernel (Eq. 4) with
    each word weighed by its probability. A word is a risk if much of its weight hangs on one term
    of the query, and two are a greater one if theirs hang on the same. With `near` it is the
    similarity, `exp(-d / median d)`, d the distances of Eq. 4.
    """

    def contexts(batch: Sequence[Feedback], search: WordSearch, docs: int) -> list[Context]:
        found = perturb(batch, search, strategy, docs=docs)
        risk = _nearness if near else _covariance
        return [Context(one.pool, _nearness(one), risk(one), one.note) for one in found]

    return Similarity(contexts, searches=True)


def by_jaccard(batch: Sequence[Feedback], search: WordSearch, docs: int) -> list[Context]:
    """Words are alike if the same of the first documents have them: `|both| / |either|`."""
    collection = search.retriever.collection
    pools = [read_pool(collection, asked.ranking.docs[:docs], asked.terms) for asked in batch]
    return [Context(pool, _jaccard(pool), _jaccard(pool)) for pool in pools]


def by_graph(batch: Sequence[Feedback], search: WordSearch, docs: int) -> list[Context]:
    """Words are alike if the graph of terms has them near: K over √(K_ii K_jj).

    Only walks among the candidates count, with the degrees of the whole graph, so that no search
    of it is needed. Words that are no terms of the graph are like none.
    """
    from likewise.terms.graph_cache import open_graph

    collection = search.retriever.collection
    opened = open_graph(collection, threads=search.threads)
    nodes = np.full(collection.n_terms, -1, np.int64)
    numbers = opened.stored.term_numbers
    nodes[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
    pools = [read_pool(collection, asked.ranking.docs[:docs], asked.terms) for asked in batch]
    near = [_on_graph(opened, nodes, pool) for pool in pools]
    return [Context(pool, one, one) for pool, one in zip(pools, near, strict=True)]


# By name; what is added here is known to `robust(similarity=name)`.
SIMILARITIES: dict[str, Similarity] = {
    "loo": by_perturbation("loo"),
    "tat": by_perturbation("tat"),
    "loo-near": by_perturbation("loo", near=True),
    "tat-near": by_perturbation("tat", near=True),
    "jaccard": Similarity(by_jaccard),
    "graph": Similarity(by_graph),
}


def _covariance(perturbed: Perturbed) -> Callable[[Ints], Doubles]:
    def risk(columns: Ints) -> Doubles:
        roots = np.sqrt(perturbed.models[:, columns])
        moved = roots[1:] - roots[0]
        # Not by BLAS, whose sums may depend on the number of threads.
        together: Doubles = np.einsum("ki,kj->ij", moved, moved)
        return together

    return risk


def _nearness(perturbed: Perturbed) -> Callable[[Ints], Doubles]:
    def similarity(columns: Ints) -> Doubles:
        distances = perturbed.distances(columns)
        apart = distances[np.triu_indices(len(distances), 1)]
        apart = apart[apart > 0]
        if len(apart) == 0:
            return np.ones_like(distances)
        alike: Doubles = np.exp(distances / -np.median(apart))
        return alike

    return similarity


def _jaccard(pool: Pool) -> Callable[[Ints], Doubles]:
    def similarity(columns: Ints) -> Doubles:
        has = pool.occurs(columns).astype(np.float64)
        both = np.einsum("ki,kj->ij", has, has)
        counts = has.sum(axis=0)
        alike: Doubles = both / np.maximum(counts[:, None] + counts - both, 1)
        np.fill_diagonal(alike, 1)
        return alike

    return similarity


def _on_graph(opened: TermGraph, nodes: Ints, pool: Pool) -> Callable[[Ints], Doubles]:
    def similarity(columns: Ints) -> Doubles:
        found = nodes[pool.terms[columns]]
        places = np.flatnonzero(found >= 0)
        alike = np.eye(len(columns))
        entries = opened.among(found[places])
        scale = 1 / np.sqrt(np.diag(entries))
        # Where no walk leads, rounding is left. The scales first: the same bits both ways round.
        alike[np.ix_(places, places)] = np.maximum(entries, 0.0) * (scale[:, None] * scale)
        np.fill_diagonal(alike, 1.0)
        return alike

    return similarity
