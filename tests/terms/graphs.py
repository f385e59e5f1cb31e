"""Graphs to test on, from dense matrices."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from likewise.terms.graph import Graph


def graph_of(weights):
    """A graph of a dense or sparse symmetric matrix."""
    rows = sparse.csr_matrix(weights, dtype=np.float32)
    rows.eliminate_zeros()
    rows.sort_indices()
    return Graph(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


def dense(graph):
    """The weights of a graph, in double precision."""
    n = len(graph)
    arrays = (graph.weights.astype(np.float64), graph.columns, graph.bounds)
    return sparse.csr_matrix(arrays, shape=(n, n)).toarray()


def random_graph(n, *, seed=0, density=0.3, parts=1, isolated=0):
    """Random weights; no edges between parts, nor at the last nodes."""
    random = np.random.default_rng(seed)
    weights = np.triu(random.integers(1, 9, (n, n)) * (random.random((n, n)) < density), 1)
    label = np.arange(n) % parts
    weights = weights * (label[:, None] == label)
    weights[:, n - isolated :] = 0
    return graph_of(weights + weights.T)


def zipf_graph(n, *, degree=60, topics=8, seed=0):
    """A heavy-tailed graph with topics: popularity by rank, half of the edges within a topic."""
    random = np.random.default_rng(seed)
    popularity = 1 / (np.arange(n) + 10) ** 0.9
    popularity /= popularity.sum()
    a = random.choice(n, n * degree, p=popularity)
    b = random.choice(n, n * degree, p=popularity)
    keep = ((a % topics == b % topics) | (random.random(len(a)) < 0.15)) & (a != b)
    ones = np.ones(keep.sum(), np.float32)
    weights = sparse.coo_matrix((ones, (a[keep], b[keep])), shape=(n, n)).tocsr()
    return graph_of(weights + weights.T)


def star(n):
    weights = np.zeros((n, n))
    weights[0, 1:] = weights[1:, 0] = np.arange(1, n)
    return graph_of(weights)


NAMED = {
    "single node": graph_of(np.zeros((1, 1))),
    "no edges": graph_of(np.zeros((4, 4))),
    "single edge": graph_of(np.array([[0, 2.5], [2.5, 0]])),
    "edge and a node": graph_of(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])),
    "two edges": graph_of(np.kron(np.eye(2), np.array([[0, 3], [3, 0]]))),
    "star": star(9),
    "path": graph_of(np.eye(6, k=1) + np.eye(6, k=-1)),
    "complete": graph_of(np.ones((30, 30)) - np.eye(30)),
}

graphs = st.one_of(
    st.sampled_from(sorted(NAMED)).map(NAMED.__getitem__),
    st.builds(
        lambda n, seed, density, parts, isolated: random_graph(
            n, seed=seed, density=density, parts=parts, isolated=min(isolated, n)
        ),
        st.integers(1, 24),
        st.integers(0, 99),
        st.sampled_from([0.1, 0.3, 0.9]),
        st.integers(1, 3),
        st.integers(0, 3),
    ),
)
