"""The Laplacian's products against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.terms.laplacian import (
    Laplacian,
    add_squares,
    multiply,
    multiply_lanes,
    scatter,
)

from .graphs import dense, graphs, random_graph, zipf_graph


def written_out(graph, kind, damping):
    """M = cI - L, by its definition."""
    weights = dense(graph)
    degrees = weights.sum(axis=1)
    if kind == "combinatorial":
        return degrees.max() * np.eye(len(graph)) - np.diag(degrees) + weights
    damped = degrees + damping * degrees.mean()
    scale = np.array([d**-0.5 if d > 0 else 0.0 for d in damped])
    return scale[:, None] * weights * scale


kinds = st.sampled_from([("normalised", 1.0), ("normalised", 0.0), ("combinatorial", 1.0)])


@given(graphs, kinds, st.integers(0, 17))
def test_products_are_those_of_the_matrix(graph, kind, width):
    laplacian = Laplacian(graph, *kind)
    matrix = written_out(graph, *kind)
    scale = max(laplacian.radius, 1.0)
    x = np.random.default_rng(0).standard_normal((len(graph), width))
    np.testing.assert_allclose(laplacian.apply(x), matrix @ x, atol=1e-12 * scale)
    vector = np.arange(len(graph), dtype=np.float64)
    np.testing.assert_allclose(laplacian.apply(vector), matrix @ vector, atol=1e-11 * scale)
    off = matrix - np.diag(np.diag(matrix))
    squares = laplacian.spread_squares(vector)
    np.testing.assert_allclose(squares, off**2 @ vector, atol=1e-10 * scale**2)
    for node in range(len(graph)):
        to, entries = laplacian.row(node)
        np.testing.assert_allclose(off[node, to], entries, atol=1e-12 * scale)
        assert np.count_nonzero(off[node]) == len(to)


@given(graphs, kinds)
def test_eigenvalues_lie_where_they_are_said_to(graph, kind):
    laplacian = Laplacian(graph, *kind)
    values = np.linalg.eigvalsh(written_out(graph, *kind))
    low, high = laplacian.interval
    slack = 1e-9 * max(laplacian.radius, 1.0)
    assert low - slack <= values[0]
    assert values[-1] <= high + slack


@given(graphs, kinds)
def test_what_is_taken_to_zero(graph, kind):
    laplacian = Laplacian(graph, *kind)
    known = laplacian.kernels_of_components
    image = laplacian.centre * known - written_out(graph, *kind) @ known
    np.testing.assert_allclose(image, 0, atol=1e-10 * max(laplacian.radius, 1.0))
    lengths = np.sqrt(np.bincount(graph.components, known**2))
    assert np.all((np.abs(lengths - 1) < 1e-12) | (lengths == 0))
    assert laplacian.is_singular or not known.any()


def test_kernels_equal_numpy():
    graph = random_graph(50, isolated=2)
    weights = dense(graph)
    arrays = graph.bounds, graph.columns, graph.weights
    x = np.random.default_rng(0).standard_normal((50, 8))
    lanes = np.full((50, 8), 7.0)
    multiply_lanes(*arrays, x.ravel(), lanes, 10, 40)
    np.testing.assert_allclose(lanes[10:40], weights[10:40] @ x, atol=1e-12)
    vector = np.full(50, 7.0)
    multiply(*arrays, x[:, 0].copy(), vector, 10, 40)
    np.testing.assert_allclose(vector[10:40], weights[10:40] @ x[:, 0], atol=1e-12)
    for out in (lanes, vector):
        assert (out[:10] == 7).all()
        assert (out[40:] == 7).all()
    rows = np.array([3, 20, 49])
    added = np.ones(50)
    scatter(*arrays, rows, x[rows, 0], added)
    np.testing.assert_allclose(added, 1 + weights[:, rows] @ x[rows, 0], atol=1e-12)
    squares = np.empty(50)
    add_squares(*arrays, x[:, 0].copy(), squares)
    np.testing.assert_allclose(squares, weights**2 @ x[:, 0], atol=1e-11)


@given(graphs, kinds)
def test_some_rows_have_the_bits_of_all(graph, kind):
    laplacian = Laplacian(graph, *kind)
    x = np.random.default_rng(0).standard_normal((len(graph), 2))
    nodes = np.arange(len(graph))[::-2]
    # One column at a time: eight at once are added up in another order.
    whole = np.column_stack([laplacian.apply(x[:, j]) for j in range(2)])
    assert laplacian.apply_at(nodes, x).tobytes() == whole[nodes].tobytes()


@pytest.mark.parametrize("width", [1, 5, 8, 18])
def test_the_same_bits_on_any_number_of_threads(width):
    graph = zipf_graph(3000, degree=400)
    assert len(graph.columns) > 1 << 18
    x = np.random.default_rng(0).standard_normal((3000, width))
    found = [Laplacian(graph, threads=threads).apply(x).tobytes() for threads in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


def test_few_rows_are_not_the_whole_product():
    graph = zipf_graph(500)
    laplacian = Laplacian(graph)
    laplacian._product = None  # A full product would fail.
    x = np.zeros(500)
    x[[480, 490]] = 1.0
    np.testing.assert_allclose(
        laplacian.apply(x), written_out(graph, "normalised", 1.0) @ x, atol=1e-12
    )
