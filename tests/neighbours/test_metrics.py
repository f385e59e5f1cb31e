"""What is near? Every divergence against a computation in double precision, and its bounds."""

import math

import numpy as np
import pytest
from drawn import NAMES, reference, simplex
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from likewise.errors import UsageError
from likewise.neighbours.kernels import score_pairs
from likewise.neighbours.metrics import (
    METRICS,
    PRODUCT,
    SQUARED,
    absent,
    as_rows,
    embed,
    lifted,
    norms,
    read_metric,
    similarity,
    similarity_parts,
)

SIMPLEX = ("hellinger", "js", "kl")


def distances(name, rows, queries):
    metric = METRICS[name]
    points = embed(metric, as_rows(rows))
    asked = embed(metric, as_rows(queries), query=True)
    out = np.empty((len(asked), len(points)), np.float32)
    score_pairs(metric.form, np.float32(metric.scale), asked, points, 0, out)
    return out


def euclidean(name, rows, queries):
    """Squared Euclidean distances of points, in double precision."""
    metric = METRICS[name]
    points = embed(metric, rows).astype(np.float64)
    asked = embed(metric, queries, query=True).astype(np.float64)
    return ((asked[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)


@st.composite
def distributions(draw):
    """Two distributions, dense or sparse, or with nothing in common, of any dimension."""
    dimension = draw(st.integers(2, 500))
    alpha = draw(st.sampled_from([0.001, 0.01, 0.05, 0.3, 1.0, 10.0, 100.0]))
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    both = random.dirichlet(np.full(dimension, alpha), 2)
    # Topics that a document has not at all.
    kept = random.random((2, dimension)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    kept[:, random.integers(dimension)] = draw(st.booleans())
    kept[[0, 1], both.argmax(axis=1)] = True
    both = np.where(kept, both, 0)
    mixed = draw(st.sampled_from([0.0, 1e-4, 0.5]))
    both[1] = (1 - mixed) * both[0] + mixed * both[1] if mixed else both[1]
    both /= both.sum(axis=1, keepdims=True)
    return both.astype(np.float32)


@pytest.mark.parametrize("alpha", [0.001, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("name", NAMES)
def test_distances_are_those_of_double_precision(name, alpha):
    rows, queries = simplex(40, 70, alpha), simplex(15, 70, alpha, seed=1)
    wanted = reference(name, rows, queries)
    np.testing.assert_allclose(distances(name, rows, queries), wanted, rtol=2e-5, atol=1e-6)


def test_jensen_shannon_is_that_of_scipy():
    rows, queries = simplex(30, 70, 0.1), simplex(9, 70, 0.1, seed=1)
    wanted = jensenshannon(queries[:, None, :], rows[None, :, :], axis=2) ** 2
    np.testing.assert_allclose(distances("js", rows, queries), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["cosine", "inner", "euclidean"])
def test_distances_of_vectors_of_any_length_and_sign(name):
    random = np.random.default_rng(0)
    rows = (random.standard_normal((40, 33)) * random.uniform(0.01, 30, (40, 1))).astype("f4")
    wanted = reference(name, rows, rows)
    np.testing.assert_allclose(distances(name, rows, rows), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["hellinger", "js", "cosine", "euclidean"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_distances_are_symmetric(name, alpha):
    rows = simplex(50, 40, alpha)
    found = distances(name, rows, rows)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("name", ["hellinger", "js", "kl", "cosine", "euclidean"])
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_nothing_is_nearer_than_oneself(name, alpha):
    rows = simplex(50, 40, alpha)
    found = distances(name, rows, rows)
    assert (np.diag(found) == 0).all()
    assert (found >= 0).all()


def test_kullback_leibler_is_infinite_where_support_is_missing():
    rows = np.array([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [1, 0, 0]], np.float32)
    found = distances("kl", rows, rows)
    assert np.isinf(found).tolist() == [
        [False, False, True],
        [True, False, True],
        [False, False, False],
    ]
    assert found[0, 1] == pytest.approx(0.5 * math.log(0.5 / 0.2) + 0.5 * math.log(0.5 / 0.3))
    assert found[2, 0] == pytest.approx(math.log(2))


def test_kullback_leibler_of_nearly_missing_support_is_large_and_right():
    rows = np.array([[1, 1e-33]], np.float32)
    queries = np.array([[0.5, 0.5]], np.float32)
    assert distances("kl", rows, queries)[0, 0] == pytest.approx(
        reference("kl", rows, queries)[0, 0], rel=1e-5
    )


def test_hellinger_is_at_most_two_and_jensen_shannon_at_most_ln_two():
    apart = np.eye(4, dtype=np.float32)
    assert distances("hellinger", apart, apart)[0, 1] == 2
    assert distances("js", apart, apart)[0, 1] == pytest.approx(math.log(2), rel=1e-6)


@given(distributions())
def test_hellinger_bounds_the_divergences(both):
    hellinger, js, kl = (
        float(distances(name, both[:1], both[1:])[0, 0]) for name in ("hellinger", "js", "kl")
    )
    rounding = 1e-6
    assert 0 <= hellinger <= 2 + rounding
    assert math.log(2) / 2 * hellinger <= js * (1 + rounding) + rounding
    assert js <= hellinger / 2 * (1 + rounding) + rounding
    assert kl >= hellinger * (1 - rounding) - rounding


@given(distributions())
def test_floors_hold_for_points(both):
    """What `certified` relies on: a divergence is at least its floor times E."""
    for name in ("js", "kl"):
        apart = euclidean(name, both[:1], both[1:])[0, 0]
        assert distances(name, both[:1], both[1:])[0, 0] >= METRICS[name].floor * apart - 1e-6


def test_the_bounds_are_sharp():
    near = np.array([[0.5, 0.5], [0.501, 0.499]])
    assert reference("js", near, near)[0, 1] / reference("hellinger", near, near)[
        0, 1
    ] == pytest.approx(0.5, abs=1e-5)
    far = np.eye(2)
    assert reference("js", far, far)[0, 1] / 2 == pytest.approx(math.log(2) / 2)
    assert reference("kl", near, near)[0, 1] > reference("hellinger", near, near)[0, 1]


@pytest.mark.parametrize("name", [m.name for m in METRICS.values() if m.form == SQUARED])
def test_squared_metrics_are_scaled_distances_of_points(name):
    rows, queries = simplex(40), simplex(9, seed=1)
    wanted = METRICS[name].scale * euclidean(name, rows, queries)
    np.testing.assert_allclose(distances(name, rows, queries), wanted, rtol=1e-5, atol=1e-7)


def test_inner_products_fall_as_distances_of_points_grow():
    random = np.random.default_rng(3)
    rows = (random.standard_normal((50, 8)) * random.uniform(0, 5, (50, 1))).astype("f4")
    queries = random.standard_normal((7, 8)).astype("f4")
    largest = norms(rows).max()
    apart = euclidean("inner", rows, queries)
    wanted = norms(queries)[:, None] ** 2 + largest**2 + 2 * reference("inner", rows, queries)
    np.testing.assert_allclose(apart, wanted, rtol=1e-5)
    assert np.array_equal(
        apart.argsort(axis=1, kind="stable"),
        reference("inner", rows, queries).argsort(axis=1, kind="stable"),
    )


def test_points_are_lifted_to_the_longest_among_them():
    rows = simplex(9, 5) * np.arange(9, dtype=np.float32)[:, None]
    points = embed(METRICS["inner"], rows)
    np.testing.assert_allclose(norms(points), norms(rows).max(), rtol=1e-6)
    few = lifted(points[:4].copy())
    np.testing.assert_allclose(norms(few), norms(rows[:4]).max(), rtol=1e-6)
    assert np.array_equal(few[:, :5], rows[:4])
    assert lifted(np.empty((0, 6), np.float32)).shape == (0, 6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [0, 3, 20])
def test_reach_holds_all_within_a_distance(name, rank):
    rows, queries = simplex(60, 30, 0.5), simplex(5, 30, 0.5, seed=1)
    metric = METRICS[name]
    largest = float(norms(rows).max())
    found = reference(name, rows, queries)
    apart = np.sqrt(euclidean(name, rows, queries))
    for i in range(len(queries)):
        radius = float(np.sort(found[i])[rank])
        reach = metric.reach(radius, float(norms(queries)[i]), largest)
        assert (apart[i][found[i] <= radius] <= reach + 1e-5).all()
        if metric.form in (SQUARED, PRODUCT):
            assert (apart[i][found[i] > radius] >= reach - 1e-5).all()


def test_reach_of_a_negative_or_impossible_distance_is_none():
    assert METRICS["hellinger"].reach(-1.0) == 0
    assert METRICS["inner"].reach(-100.0, 1.0, 2.0) == 0
    assert METRICS["inner"].reach(-2.5, 1.0, 2.0) == pytest.approx(0, abs=0.003)
    assert METRICS["js"].reach(math.inf) == math.inf


@pytest.mark.parametrize("name", NAMES)
def test_points_are_contiguous_rows_of_single_precision(name):
    for rows in (np.asfortranarray(simplex(6, 5)), simplex(6, 5)[::2], simplex(1, 5)):
        for points in (embed(METRICS[name], rows), embed(METRICS[name], rows, query=True)):
            assert points.dtype == np.float32
            assert points.flags.c_contiguous
            assert points.shape == (len(rows), 5 + (name == "inner"))


@pytest.mark.parametrize("name", SIMPLEX)
@pytest.mark.parametrize(
    "row",
    [[0.5, 0.6, -0.1], [0.5, 0.6, 0.1], [0.2, 0.2, 0.2], [-0.0001, 0.5, 0.5001], [3, 0, 0]],
)
def test_what_is_no_distribution_is_refused(name, row):
    with pytest.raises(UsageError, match=r"vector 1 is not a distribution.*use cosine, inner or"):
        embed(METRICS[name], as_rows([[1, 0, 0], row]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(name, number):
    rows = simplex(4, 5)
    rows[2, 3] = number
    with pytest.raises(UsageError, match="vector 2 holds a number that is not finite"):
        embed(METRICS[name], rows)


def test_numbers_too_large_for_single_precision_are_refused():
    with pytest.raises(UsageError, match="vector 0 holds a number that is not finite"):
        embed(METRICS["euclidean"], as_rows(np.array([[1.0, 1e200]])))


@pytest.mark.parametrize(
    "vectors",
    [
        "a text",
        ["a", "b"],
        [["a", "b"], ["c", "d"]],
        [[1, 2], [3]],
        3.0,
        None,
        [],
        np.zeros((2, 3, 4)),
        np.zeros((5, 0)),
        object(),
        np.array([[1 + 2j, 0]]),
        {"a": 1},
    ],
    ids=lambda vectors: type(vectors).__name__,
)
def test_what_are_no_rows_of_numbers_is_refused(vectors):
    with pytest.raises(UsageError, match="vectors must be rows of numbers"):
        as_rows(vectors)


def test_vectors_of_another_dimension_are_refused():
    with pytest.raises(UsageError, match="vectors of 4 numbers where the index has vectors of 5"):
        as_rows(np.ones((2, 4)), 5)
    assert as_rows([1, 2, 3]).shape == (1, 3)
    assert as_rows(np.ones((2, 5), np.int8), 5).dtype == np.float32


def test_an_unknown_metric_is_refused():
    with pytest.raises(UsageError, match="unknown metric 'manhattan': it is one of hellinger, js"):
        read_metric("manhattan")
    assert read_metric(METRICS["js"]) is read_metric("js")


@pytest.mark.parametrize("name", NAMES)
def test_zeros_have_no_place_where_only_directions_count(name):
    rows = simplex(3, 5)
    rows[1] = 0
    none = name in (*SIMPLEX, "cosine")
    assert absent(METRICS[name], rows).tolist() == [False, none, False]
    assert (embed(METRICS[name], rows)[1, :5] == 0).all()


def test_distributions_are_normalised():
    rows = np.array([[0.4002, 0.6001]], np.float32)
    points = embed(METRICS["hellinger"], rows)
    assert float((points.astype(np.float64) ** 2).sum()) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_similarities_are_sums_over_coordinates(name, alpha):
    rows, queries = simplex(20, 30, alpha), simplex(5, 30, alpha, seed=1)
    metric = METRICS[name]
    wanted = similarity(metric, reference(name, rows, queries))
    points = embed(metric, rows)
    asked = embed(metric, queries, query=True)
    found = [[similarity_parts(metric, x, y).sum() for x in points] for y in asked]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.array_equal(
        wanted.argsort(axis=1)[:, ::-1], reference(name, rows, queries).argsort(axis=1)
    )


@pytest.mark.parametrize("name", ["hellinger", "js", "cosine"])
def test_similarities_run_from_nothing_shared_to_the_same(name):
    rows = np.array([[0.5, 0.5, 0], [0, 0, 1]], np.float32)
    scores = similarity(METRICS[name], distances(name, rows, rows[:1]))
    assert scores.ravel() == pytest.approx([1, 0], abs=1e-6)
    point = embed(METRICS[name], rows)[0]
    assert (similarity_parts(METRICS[name], point, point) >= 0).all()


def test_similarity_without_support_is_infinitely_bad():
    rows = np.array([[1, 0], [0.5, 0.5]], np.float32)
    points = embed(METRICS["kl"], rows)
    assert similarity_parts(METRICS["kl"], points[0], points[1]).tolist()[1] == -math.inf
    assert similarity(METRICS["kl"], np.inf) == -math.inf
