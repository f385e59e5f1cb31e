"""Which terms would a document mention? Documents like it vote, and votes spread on the graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ids, Ints, kernel
from likewise.terms.laplacian import multiply
from likewise.terms.nodes import DOCUMENT
from likewise.terms.occurrences import occurrences
from likewise.terms.related import TermGraph

# What terms are ranked by: their shares of the votes, or how much these are above their usual ones.
LIKELY, DISTINCTIVE = "likely", "distinctive"
BY = (LIKELY, DISTINCTIVE)

# How many documents vote, each by the square of its score: of 13,000 abstracts more add little.
VOTERS = 2000
# How much of the prediction are votes that have taken a step.
STEPPED = 0.25


class Ballot(NamedTuple):
    """What documents mention: document i has `nodes[bounds[i]:bounds[i + 1]]`, and its weight."""

    docs: Ints
    weights: Doubles
    bounds: Ints
    nodes: Ids


class Prediction(NamedTuple):
    """How likely each term is: shares, which add up to 1, of votes and of those that stepped."""

    scores: Doubles
    voted: Doubles
    ballot: Ballot

    def distinctive(self, doc_freqs: Ints) -> Doubles:
        """Tell how much more a term is voted for than documents mention it: p log(p / q).

        p is its score, and q its share of all document frequencies. These are the parts of a
        divergence (Kullback-Leibler), below 0 where a term is mentioned less than is usual.
        """
        p, q = self.scores, _shares(doc_freqs.astype(np.float64))
        ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0))
        found: Doubles = p * np.log(ratio)
        return found

    def voters(self, node: int, n: int = 3) -> list[tuple[int, float]]:
        """Give the documents that count the most for a term, and their parts of its score."""
        ballot = self.ballot
        has = np.flatnonzero(ballot.nodes == node)
        rows = np.unique(np.searchsorted(ballot.bounds, has, "right") - 1)
        rows = rows[ballot.weights[rows] > 0]
        total = float(ballot.weights[rows].sum())
        order = np.argsort(-ballot.weights[rows], kind="stable")[:n]
        return [
            (int(ballot.docs[row]), float(self.voted[node] * ballot.weights[row] / total))
            for row in rows[order]
        ]


def predict(
    graph: TermGraph, docs: Ints, scores: Doubles, *, stepped: float = STEPPED
) -> Prediction:
    """Predict the terms of a document from documents of the collection that are like it.

    A document votes for every term that it mentions by the square of its score (of likeness, at
    least 0). Votes then take one step along the graph, from a term to what is said with it, by
    the weights of its edges: so terms are found that no document like it mentions.
    """
    ballot = read_ballot(graph, docs, np.maximum(scores, 0.0) ** 2)
    votes = add_votes(ballot.weights, ballot.bounds, ballot.nodes, len(graph))
    degrees = graph.graph.degrees
    spread = np.zeros(len(graph))
    given = np.divide(votes, degrees, out=np.zeros(len(graph)), where=degrees > 0)
    multiply(
        graph.graph.bounds, graph.graph.columns, graph.graph.weights, given, spread, 0, len(graph)
    )
    shares, spread = _shares(votes), _shares(spread)
    if not spread.any():
        stepped = 0.0
    return Prediction((1 - stepped) * shares + stepped * spread, (1 - stepped) * shares, ballot)


def read_ballot(graph: TermGraph, docs: Ints, weights: Doubles) -> Ballot:
    """Read which nodes documents mention."""
    collection, nodes = graph.collection, graph.stored.nodes
    order = np.argsort(docs, kind="stable")
    docs, weights = docs[order], weights[order]
    sizes, mentioned = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for i, _, rows in collection.by_segment(docs):
        for seen in occurrences(collection, nodes, i, rows, within=DOCUMENT):
            sizes.append(np.diff(seen.bounds))
            mentioned.append(seen.nodes)
    return Ballot(docs, weights, np.cumsum(np.concatenate(sizes)), np.concatenate(mentioned))


def _shares(values: Doubles) -> Doubles:
    total = values.sum()
    shares: Doubles = values / total if total > 0 else np.zeros_like(values)
    return shares


@kernel
def add_votes(weights: Doubles, bounds: Ints, nodes: Ids, n: int) -> Doubles:
    """Add up the weights of the documents that mention each node, however often.

    Equals the sum of `weights[i]` over the documents with `node in nodes[bounds[i]:bounds[i + 1]]`.
    """
    out = np.zeros(n, np.float64)
    last = np.full(n, -1, np.int64)
    for i in range(len(bounds) - 1):
        for j in range(bounds[i], bounds[i + 1]):
            if last[nodes[j]] != i:
                last[nodes[j]] = i
                out[nodes[j]] += weights[i]
    return out
