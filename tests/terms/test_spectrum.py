"""Whole and leading spectra, and the functions of eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import notation
from likewise.errors import UsageError
from likewise.terms.eigenvectors import leading
from likewise.terms.laplacian import Laplacian
from likewise.terms.spectrum import full_spectrum
from likewise.terms.transforms import (
    TRANSFORMS,
    Diffusion,
    Resistance,
    Walk,
    parse_transform,
)
from likewise_papers.terms.kernel_learning import Learnt

from .graphs import NAMED, graph_of, graphs, star, zipf_graph

KINDS = [("normalised", 1.0), ("normalised", 0.0), ("combinatorial", 1.0)]
TABLE = Learnt((0.2, 0.9, 1.4), (2.0, 1.0, 0.25))


@given(graphs, st.sampled_from(KINDS))
def test_the_whole_spectrum_gives_back_the_laplacian(graph, kind):
    laplacian = Laplacian(graph, *kind)
    values, vectors = full_spectrum(laplacian)
    n = len(graph)
    scale = max(laplacian.radius, 1.0)
    assert (np.diff(values) >= 0).all()
    assert (values >= 0).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-10)
    matrix = laplacian.centre * np.eye(n) - laplacian.apply(np.eye(n))
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-10 * scale)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("n", [200, 500])
def test_leading_ones_are_those_of_the_whole_spectrum(kind, n):
    laplacian = Laplacian(zipf_graph(n), *kind)
    exact = laplacian.centre - full_spectrum(laplacian).values[int(laplacian.is_singular) :]
    exact = exact[np.argsort(-np.abs(exact))]
    values, vectors, (low, high) = leading(laplacian, 6, products=5000)
    np.testing.assert_allclose(values, exact[:6], atol=1e-9 * laplacian.radius)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(
        laplacian.apply(vectors), vectors * values, atol=1e-7 * laplacian.radius
    )
    assert low <= exact[6:].min()
    assert exact[6:].max() <= high
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(6)] > 0).all()


def test_too_few_products_give_fewer():
    laplacian = Laplacian(zipf_graph(500))
    found = leading(laplacian, 40, tol=1e-12, products=80)
    assert len(found.values) < 40
    assert len(leading(laplacian, 40, tol=1e-12).values) == 40


@given(graphs, st.sampled_from(KINDS), st.integers(0, 5))
def test_what_is_left_lies_in_its_interval(graph, kind, count):
    laplacian = Laplacian(graph, *kind)
    found = leading(laplacian, count)
    low, high = found.rest
    left = laplacian.centre - full_spectrum(laplacian).values
    slack = 1e-7 * max(laplacian.radius, 1.0)
    if laplacian.is_singular:
        left = left[np.abs(left - laplacian.centre) > slack]
    for value in found.values:
        left = np.delete(left, np.argmin(np.abs(left - value)))
    assert len(found.values) <= count
    assert ((low - slack <= left) & (left <= high + slack)).all()
    inside = graph.components == 0
    assert not found.vectors[~inside].any()


def test_many_equal_eigenvalues_are_not_overlooked():
    # A complete graph has two: those of the second have one less than all dimensions.
    found = leading(Laplacian(graph_of(np.ones((400, 400)) - np.eye(400)), damping=0.0), 20)
    assert found.rest[0] <= -1 / 399 <= found.rest[1]


def test_a_search_that_ends_early_gives_the_same_bits():
    # Of a star vectors of a few products are all that there is: ARPACK draws others.
    laplacian = Laplacian(star(400), damping=0.0)
    first, again = leading(laplacian, 5), leading(laplacian, 5)
    np.testing.assert_allclose(first.values, [-1], atol=1e-12)
    assert first.vectors.tobytes() == again.vectors.tobytes()
    assert first.rest == again.rest


def test_leading_ones_are_the_same_twice_and_on_two_threads():
    graph = zipf_graph(2000, degree=80)
    first = leading(Laplacian(graph), 8)
    for threads in (1, 2):
        again = leading(Laplacian(graph, threads=threads), 8)
        assert first.vectors.tobytes() == again.vectors.tobytes()
        assert first.values.tobytes() == again.values.tobytes()


def test_too_many_nodes_for_a_whole_spectrum():
    graph = graph_of(NAMED["single node"].weights.reshape(0, 0))
    assert full_spectrum(Laplacian(graph)).values.shape == (0,)
    big = zipf_graph(20_001, degree=1)
    # Sets by nystrom ask for it whatever the route.
    with pytest.raises(UsageError, match="at most 20000 nodes") as raised:
        full_spectrum(Laplacian(big))
    assert "auto" not in str(raised.value)
    assert "sets by mean or collapse" in str(raised.value)


# Functions of eigenvalues


@pytest.mark.parametrize(
    "transform", [Resistance(), Resistance(1e-3), Diffusion(), Diffusion(0.2), Walk(2.5, 3), TABLE]
)
@pytest.mark.parametrize("centre", [1.0, 40.0])
def test_divided_differences(transform, centre):
    if centre > 2 and isinstance(transform, Walk):
        return
    steps = np.concatenate([[0.3, -0.3, 1e-2, -1e-2], np.linspace(-1, 1, 7) * centre * 0.99])
    steps = steps[steps != 0]
    at = transform(np.array([centre]))[0]
    expected = (transform(centre - steps) - at) / steps
    size = np.abs(expected).max()
    np.testing.assert_allclose(
        transform.difference(steps, centre), expected, rtol=1e-6, atol=1e-9 * size
    )
    # Near 0 it is the slope; a table is a line there.
    near = transform.difference(np.array([0.0, 1e-13, -1e-13]), centre)
    slope = (transform(np.array([centre - 1e-5])) - transform(np.array([centre + 1e-5]))) / 2e-5
    np.testing.assert_allclose(near, slope[0], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("transform", [Resistance(), Diffusion(), Walk(), Walk(3.0, 4), TABLE])
def test_transforms_fall_and_are_not_negative(transform):
    heights = transform(np.linspace(0, 2, 101))
    assert (np.diff(heights) <= 0).all()
    assert (heights >= 0).all()


def test_transforms_by_hand():
    np.testing.assert_allclose(Resistance(0.5)(np.array([0.0, 1.5])), [2.0, 0.5])
    np.testing.assert_allclose(Diffusion(2.0)(np.array([0.0, 1.0])), [1.0, np.exp(-1)])
    np.testing.assert_allclose(Walk(2.0, 2)(np.array([0.5, 2.0])), [2.25, 0.0])
    np.testing.assert_allclose(TABLE(np.array([0.0, 0.2, 0.55, 2.0])), [2.0, 2.0, 1.5, 0.25])


def test_a_transform_is_what_it_prints():
    for text in ("resistance", "diffusion(variance=0.5)", "walk(alpha=3.0,steps=2)"):
        transform = parse_transform(text)
        assert notation.write(transform) == str(transform) == text
        assert type(transform) is TRANSFORMS[transform.notation]
    with pytest.raises(UsageError, match="unknown kernel"):
        parse_transform("gravity")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Resistance(0.0),
        lambda: Resistance(float("nan")),
        lambda: Diffusion(-1.0),
        lambda: Walk(1.9),
        lambda: Walk(2.0, 0),
        lambda: Learnt((), ()),
        lambda: Learnt((0.0, 1.0), (1.0,)),
        lambda: Learnt((1.0, 0.0), (1.0, 0.5)),
        lambda: Learnt((0.0, 1.0), (0.5, 1.0)),
        lambda: Learnt((0.0, 1.0), (0.5, -0.1)),
        lambda: Learnt((0.0, float("inf")), (0.5, 0.1)),
    ],
)
def test_what_is_no_transform(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_a_table_is_for_the_normalised_laplacian():
    with pytest.raises(UsageError, match="normalised"):
        TABLE.check("combinatorial")
