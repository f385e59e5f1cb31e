"""Polynomials, conjugate gradients, and what L takes to zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import LikewiseError, UsageError
from likewise.terms.laplacian import Laplacian
from likewise.terms.null_space import Null, project
from likewise.terms.polynomial import approximate
from likewise.terms.solving import ChebyshevKernel, SolvedKernel
from likewise.terms.spectrum import SpectralKernel
from likewise.terms.transforms import Diffusion, Resistance
from likewise_papers.terms.kernel_learning import Learnt

from .graphs import NAMED, graphs, random_graph, zipf_graph

FUNCTIONS = [np.exp, lambda x: 1 / (3.5 - x), lambda x: x**3 - x, np.abs]


@given(st.sampled_from(FUNCTIONS), st.floats(-3, 0), st.floats(0, 3), st.sampled_from([1e-2, 1e-6]))
def test_a_polynomial_is_as_near_as_it_says(function, low, high, tol):
    if function is np.abs:
        tol = 1e-2
    found = approximate(function, (low, high), tol)
    at = np.linspace(low, high, 501)
    assert np.abs(found(at) - function(at)).max() <= tol
    assert found.error <= tol


def test_a_polynomial_is_as_short_as_its_tail_allows():
    assert len(approximate(lambda x: x**3, (-1.0, 1.0), 1e-9).coefficients) == 4
    degrees = [len(approximate(np.exp, (-1.0, 1.0), tol).coefficients) for tol in (1e-2, 1e-4)]
    assert degrees == [4, 6]
    with pytest.raises(UsageError, match="more than 4096 degrees"):
        approximate(np.abs, (-1.0, 1.0), 1e-9)


def test_a_divided_difference_of_a_polynomial():
    whole = approximate(np.exp, (-0.4, 1.0), 1e-10)
    at = np.linspace(-0.4, 1, 17)
    at = at[np.abs(at) > 1e-3]
    expected = (whole(at) - whole(np.zeros(1))) / at
    np.testing.assert_allclose(whole.difference()(at), expected, atol=1e-12)
    assert len(whole.difference().coefficients) == len(whole.coefficients) - 1


def test_a_polynomial_of_a_graph():
    laplacian = Laplacian(random_graph(25))
    found = approximate(np.exp, (-1.0, 1.0), 1e-9)
    matrix = laplacian.apply(np.eye(25))
    values, vectors = np.linalg.eigh(matrix)
    expected = (vectors * np.exp(values)) @ vectors.T
    np.testing.assert_allclose(
        found.apply(lambda x, _: laplacian.apply(x), np.eye(25)), expected, atol=1e-8
    )


@given(graphs, st.sampled_from([("combinatorial", 1.0), ("normalised", 0.0), ("normalised", 1.0)]))
def test_what_is_taken_to_zero_is_projected_on(graph, kind):
    laplacian = Laplacian(graph, *kind)
    null = Null(laplacian)
    x = np.random.default_rng(0).standard_normal((len(graph), 3))
    same = graph.components[:, None] == graph.components
    square = same * np.outer(null.vector, null.vector)
    np.testing.assert_allclose(null.within(x), square @ x, atol=1e-12)
    np.testing.assert_allclose(null.within(x) + null.without(x), x, atol=1e-12)
    assert null.is_there == (laplacian.is_singular and bool(square.any()))


def test_projection_equals_numpy():
    labels = np.array([0, 1, 0, 2, 1])
    vector = np.array([0.5, 1.0, -2.0, 3.0, 0.25])
    x = np.random.default_rng(0).standard_normal((5, 2))
    out = np.empty((5, 2))
    project(labels, vector, x, np.zeros((3, 2)), out)
    for label in range(3):
        at = labels == label
        np.testing.assert_allclose(out[at], np.outer(vector[at], vector[at]) @ x[at])


@pytest.mark.parametrize("kind", ["normalised", "combinatorial"])
@pytest.mark.parametrize("eps", [1.0, 1e-3, 1e-9])
def test_few_steps_solve_a_heavy_tailed_graph_at_any_eps(kind, eps):
    graph = zipf_graph(1500, degree=100)
    kernel = SolvedKernel(Laplacian(graph, kind, 0.0), Resistance(eps))
    sides = np.random.default_rng(0).standard_normal((1500, 2))
    found = kernel.solve(sides)
    left = kernel.null.without(sides)
    laplacian = kernel.laplacian
    image = (laplacian.own + eps)[:, None] * found - laplacian.spread(found)
    assert np.linalg.norm(image - left) <= 1e-9 * np.linalg.norm(left)
    assert kernel.last_steps < 60


def test_columns_end_when_they_are_solved():
    laplacian = Laplacian(zipf_graph(300), "combinatorial")
    kernel = SolvedKernel(laplacian, Resistance(0.1))
    sides = np.zeros((300, 3))
    sides[0, 0], sides[7, 2] = 1.0, 1e-200
    found = kernel.columns(sides)
    assert not found[:, 1].any()
    alone = kernel.columns(sides[:, :1])
    np.testing.assert_allclose(found[:, :1], alone, rtol=1e-8, atol=1e-12)


def test_too_few_steps_are_an_error():
    kernel = SolvedKernel(Laplacian(zipf_graph(300), "combinatorial"), Resistance(), steps=2)
    with pytest.raises(LikewiseError, match="not solved to 1e-10 in 2 steps"):
        kernel.columns(np.eye(300)[:, :1])


def test_a_long_polynomial_is_guarded():
    laplacian = Laplacian(zipf_graph(400), damping=0.0)
    table = Learnt((0.1, 0.8, 1.0, 1.5), (2.0, 1.5, 0.4, 0.1))
    plain = ChebyshevKernel(laplacian, Diffusion(), count=8, tol=1e-8)
    guarded = ChebyshevKernel(laplacian, table, count=8, tol=1e-3)
    assert guarded.is_guarded
    assert not plain.is_guarded
    sides = np.random.default_rng(0).standard_normal((400, 2))
    for kernel in (plain, guarded):
        for here in (kernel, kernel.centred()):
            exact = SpectralKernel(laplacian, kernel.transform, constant=here.constant)
            off = np.linalg.norm(here.columns(sides) - exact.columns(sides), axis=0)
            assert (off <= 2 * kernel.tol * np.linalg.norm(sides, axis=0)).all()


@pytest.mark.parametrize("name", sorted(NAMED))
def test_blocks_and_diagonals_of_no_nodes_and_all(name):
    graph = NAMED[name]
    for kernel in (
        ChebyshevKernel(Laplacian(graph), Diffusion()),
        SolvedKernel(Laplacian(graph), Resistance()),
    ):
        nothing = np.empty(0, np.int64)
        assert kernel.block(nothing).shape == (0, 0)
        assert kernel.diagonal_of(nothing).shape == (0,)
        everything = np.arange(len(graph))[::-1].copy()
        block = kernel.block(everything)
        np.testing.assert_allclose(np.diag(block), kernel.diagonal_of(everything), atol=1e-12)
        assert kernel.columns(np.zeros((len(graph), 0))).shape == (len(graph), 0)
