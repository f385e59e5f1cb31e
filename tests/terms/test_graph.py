"""The association graph as flat arrays."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.terms.graph import Graph, Pairs, make_graph, mirror, row_sums


@st.composite
def triangles(draw):
    n = draw(st.integers(0, 12))
    matrix = np.zeros((n, n), np.float32)
    for i in range(n):
        for j in range(i + 1, n):
            matrix[i, j] = draw(st.sampled_from([0, 0, 1, 2.5, -1]))
    return matrix


def as_pairs(matrix):
    """The pairs of an upper triangle, those of weight 0 left out, and their weights."""
    rows, columns = np.nonzero(matrix)
    bounds = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)
    weights = matrix[rows, columns]
    pairs = Pairs(bounds, columns.astype(np.int32), np.ones(len(columns), np.int32))
    return pairs, weights.astype(np.float32)


def dense(graph):
    out = np.zeros((len(graph), len(graph)), np.float32)
    for i in range(len(graph)):
        row = slice(graph.bounds[i], graph.bounds[i + 1])
        assert graph.columns[row].tolist() == sorted(set(graph.columns[row].tolist()))
        out[i, graph.columns[row]] = graph.weights[row]
    return out


@given(triangles())
def test_both_triangles_without_what_is_not_positive(matrix):
    graph = make_graph(*as_pairs(matrix))
    positive = np.maximum(matrix, 0)
    assert np.array_equal(dense(graph), positive + positive.T)
    assert graph.n_edges == np.count_nonzero(positive)
    assert np.array_equal(graph.degrees, (positive + positive.T).sum(axis=1, dtype=np.float64))


@given(triangles())
def test_kernels_equal_what_they_say(matrix):
    pairs, weights = as_pairs(matrix)
    sums = [weights[a:b].sum(dtype=np.float64) for a, b in pairwise(pairs.bounds)]
    assert np.allclose(row_sums(pairs.bounds, weights), np.array(sums))
    mirrored = Graph(*mirror(pairs.bounds, pairs.columns, weights))
    upper = np.maximum(matrix, 0)
    assert np.array_equal(dense(mirrored), upper + upper.T)


def test_parts_are_numbered_by_their_size():
    matrix = np.zeros((7, 7), np.float32)
    matrix[0, 6] = matrix[1, 2] = matrix[2, 4] = 1
    graph = make_graph(*as_pairs(matrix))
    assert graph.components.tolist() == [1, 0, 0, 2, 0, 3, 1]


def test_a_graph_of_nothing():
    graph = make_graph(*as_pairs(np.zeros((0, 0), np.float32)))
    assert len(graph) == graph.n_edges == 0
    assert len(graph.degrees) == 0
    alone = make_graph(*as_pairs(np.zeros((3, 3), np.float32)))
    assert alone.degrees.tolist() == [0, 0, 0]
    assert alone.components.tolist() == [0, 1, 2]


def test_a_graph_does_not_change():
    graph = make_graph(*as_pairs(np.zeros((2, 2), np.float32)))
    with pytest.raises(AttributeError):
        graph.weights = graph.weights
