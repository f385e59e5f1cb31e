"""Which terms are said together? The association graph, as flat arrays.

Nodes are the terms (or names) of a lexicon. A pair is counted once for each document in which
some sentence, or the document itself, holds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles, Floats, Ids, Ints, kernel


class Pairs(NamedTuple):
    """Counts of pairs: node i was counted with `columns[bounds[i]:bounds[i + 1]]`.

    Columns are above i and ascending, so that every pair stands once.
    """

    bounds: Ints
    columns: Ids
    counts: Ids


@dataclass(frozen=True)
class Graph:
    """A weighted graph without loops; each edge stands in the rows of both its ends.

    Row i is `columns[bounds[i]:bounds[i + 1]]`, ascending, with positive `weights`; `parts` are
    its components, where they are known.
    """

    bounds: Ints
    columns: Ids
    weights: Floats
    parts: Ints | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return len(self.columns) // 2

    @cached_property
    def sizes(self) -> Ints:
        """How many neighbours each node has."""
        return np.diff(self.bounds)

    @cached_property
    def degrees(self) -> Doubles:
        """The sum of the weights at each node."""
        return row_sums(self.bounds, self.weights)

    @cached_property
    def components(self) -> Ints:
        """The number of the part that each node is connected in; the largest part is 0."""
        return label_parts(self.bounds, self.columns) if self.parts is None else self.parts


def make_graph(pairs: Pairs, weights: Floats) -> Graph:
    """Make a graph of pairs by their weights; pairs of no positive weight are no edges."""
    return Graph(*mirror(pairs.bounds, pairs.columns, weights))


@kernel
def mirror(bounds: Ints, columns: Ids, weights: Floats) -> tuple[Ints, Ids, Floats]:
    """Give both triangles of a matrix of which the upper one is given, without zeros.

    Equals `(U + U.T).tocsr()` of its positive entries.
    """
    n = len(bounds) - 1
    sizes = np.zeros(n + 1, np.int64)
    for i in range(n):
        for j in range(bounds[i], bounds[i + 1]):
            if weights[j] > 0:
                sizes[i + 1] += 1
                sizes[columns[j] + 1] += 1
    out = np.cumsum(sizes)
    places = out[:-1].copy()
    to = np.empty(out[-1], np.int32)
    values = np.empty(out[-1], np.float32)
    # Rows ascend, so that what the rows before sent to row i stands before its own columns.
    for i in range(n):
        for j in range(bounds[i], bounds[i + 1]):
            if weights[j] > 0:
                other = columns[j]
                to[places[i]] = other
                values[places[i]] = weights[j]
                places[i] += 1
                to[places[other]] = i
                values[places[other]] = weights[j]
                places[other] += 1
    return out, to, values


@kernel
def row_sums(bounds: Ints, weights: Floats) -> Doubles:
    """Add up the weights of each row. Equals `matrix.sum(axis=1)`."""
    out = np.zeros(len(bounds) - 1, np.float64)
    for i in range(len(out)):
        for j in range(bounds[i], bounds[i + 1]):
            out[i] += weights[j]
    return out


@kernel
def label_parts(bounds: Ints, columns: Ids) -> Ints:
    """Number the connected parts of a graph: the largest is 0, of equals that of the first node.

    Equals `scipy.sparse.csgraph.connected_components` up to the numbers.
    """
    n = len(bounds) - 1
    labels = np.full(n, -1, np.int64)
    sizes = np.empty(n, np.int64)
    queue = np.empty(n, np.int64)
    n_parts = 0
    for start in range(n):
        if labels[start] >= 0:
            continue
        labels[start] = n_parts
        queue[0] = start
        done, found = 0, 1
        while done < found:
            node = queue[done]
            done += 1
            for j in range(bounds[node], bounds[node + 1]):
                other = np.int64(columns[j])
                if labels[other] < 0:
                    labels[other] = n_parts
                    queue[found] = other
                    found += 1
        sizes[n_parts] = found
        n_parts += 1
    order = np.argsort(-sizes[:n_parts], kind="mergesort")
    ranks = np.empty(n_parts, np.int64)
    for rank in range(n_parts):
        ranks[order[rank]] = rank
    for node in range(n):
        labels[node] = ranks[labels[node]]
    return labels
