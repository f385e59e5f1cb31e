"""Learning a kernel: the line search, and the linear programme."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from likewise.errors import UsageError
from likewise.terms.spectrum import Spectrum
from likewise_papers.terms.kernel_learning import (
    coefficients,
    learn_transform,
    learnt,
    line_search,
)


def spectrum_of(seed, n, *, groups=3):
    """The spectrum of a graph of groups, and the pairs within them."""
    random = np.random.default_rng(seed)
    group = np.arange(n) % groups
    weights = random.poisson(np.where(group[:, None] == group, 3.0, 0.5), (n, n)).astype(float)
    weights = np.triu(weights, 1)
    weights += weights.T
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    first, second = np.triu_indices(n, 1)
    same = group[first] == group[second]
    return Spectrum(np.maximum(values, 0), vectors), np.column_stack([first[same], second[same]])


def programme(spectrum, pairs, b):
    """The paper's linear programme as it stands, by HiGHS: the objective's best value and θ."""
    r = len(spectrum.values)
    kernel_sums = np.zeros(r)
    for i, j in pairs:
        kernel_sums += spectrum.vectors[i] * spectrum.vectors[j]
    gains = kernel_sums - b * spectrum.values
    falls = np.diff(np.eye(r), axis=0)
    # Equal eigenvalues (of a part of the graph that repeats, or not connected) have equal θ.
    same = falls[np.diff(spectrum.values) < 1e-9 * spectrum.values.max()]
    # HiGHS stops within its tolerance of zero, whatever the scale.
    scale = max(np.abs(gains).max(), 1e-12)
    solved = linprog(
        -gains / scale,
        A_ub=np.vstack([falls, -same]),
        b_ub=np.zeros(r - 1 + len(same)),
        bounds=(0, 2),
        method="highs",
    )
    assert solved.status == 0
    return -solved.fun * scale, solved.x, gains


@given(st.integers(0, 10**6), st.integers(3, 14), st.floats(0, 3), st.data())
def test_the_step_solves_the_papers_programme(seed, n, b, data):
    spectrum, _ = spectrum_of(seed, n)
    pair = st.tuples(st.integers(0, n - 1), st.integers(1, n - 1))
    drawn = data.draw(st.lists(pair, min_size=1, max_size=12))
    pairs = np.array([(i, (i + step) % n) for i, step in drawn])
    best, _, gains = programme(spectrum, pairs, b)
    theta = learn_transform(spectrum, pairs, b)
    assert ((theta == 0) | (theta == 2)).all()
    assert (np.diff(theta) <= 0).all()
    assert gains @ theta == pytest.approx(best, abs=1e-6)


def test_highs_finds_the_same_step_on_a_graph_of_groups():
    spectrum, pairs = spectrum_of(1, 30)
    _, expected, _ = programme(spectrum, pairs, 0.1)
    theta = learn_transform(spectrum, pairs, 0.1)
    np.testing.assert_allclose(theta, expected, atol=1e-6)
    # The pairs are those within three groups: three eigenvectors tell them apart.
    assert theta.tolist() == [2.0] * 3 + [0.0] * 27


def test_a_penalty_makes_the_step_no_longer():
    spectrum, pairs = spectrum_of(2, 40)
    lengths = [int((learn_transform(spectrum, pairs, b) > 0).sum()) for b in (0, 0.1, 1, 10, 1e3)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[-1] >= 1


@given(st.integers(0, 10**6))
def test_equal_eigenvalues_have_one_height_whatever_their_basis(seed):
    # A complete graph: zero once, then n five times over.
    n = 6
    values, vectors = np.linalg.eigh(n * np.eye(n) - np.ones((n, n)))
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n - 1, n - 1)))
    turned = vectors.copy()
    turned[:, 1:] = vectors[:, 1:] @ turn
    pairs = np.array([[0, 1], [2, 3]])
    for basis in (vectors, turned):
        theta = learn_transform(Spectrum(np.maximum(values, 0), basis), pairs)
        assert theta.tolist() == [2.0] + [0.0] * 5


def test_no_pairs_are_no_kernel():
    spectrum, _ = spectrum_of(0, 5)
    none = np.empty((0, 2), np.int64)
    assert not learn_transform(spectrum, none, 1.0).any()
    assert not learn_transform(Spectrum(np.empty(0), np.empty((5, 0))), none).any()


def test_a_learnt_transform_is_theta_at_the_eigenvalues():
    spectrum, pairs = spectrum_of(4, 20)
    theta = learn_transform(spectrum, pairs, 0.05)
    transform = learnt(spectrum, theta)
    assert transform(spectrum.values).tolist() == theta.tolist()
    assert len(transform.knots) == 3
    for same in (np.full(20, 2.0), np.zeros(20), np.linspace(2, 0, 20)):
        assert learnt(spectrum, same)(spectrum.values) == pytest.approx(same)


def test_coefficients_are_sums_over_pairs():
    spectrum, pairs = spectrum_of(5, 12)
    many = np.tile(pairs, (400, 1))
    expected = 400 * sum(spectrum.vectors[i] * spectrum.vectors[j] for i, j in pairs)
    np.testing.assert_allclose(coefficients(spectrum, many), expected, atol=1e-9)


@pytest.mark.parametrize("best", [0.02, 1.0, 37.0, 1000.0])
def test_line_search_finds_a_peak(best):
    found = line_search(lambda x: -abs(np.log(x / best)), 1e-3, 1e3, steps=20)
    assert found.parameter == pytest.approx(best, rel=1e-3)
    assert len(found.tried) < 13 + 2 * 20
    assert found.score == found.tried[:, 1].max()
    assert (np.diff(found.tried[:, 0]) > 0).all()


def test_line_search_stays_within_its_bounds_and_takes_the_smallest_of_equals():
    asked = []
    found = line_search(lambda x: asked.append(x) or 0.5, 0.3, 0.7)
    assert min(asked) == 0.3 == found.parameter
    assert max(asked) <= 0.7
    assert len(asked) == len(set(asked))
    for low, high in ((0, 1), (2, 1), (1, np.inf)):
        with pytest.raises(UsageError, match="line search"):
            line_search(float, low, high)


def test_what_cannot_be_learnt_from_is_said():
    spectrum, pairs = spectrum_of(0, 6)
    for wrong in (np.array([[0, 6]]), np.array([0, 1]), np.array([[1, 1]]), pairs / 2):
        with pytest.raises(UsageError, match="pair"):
            learn_transform(spectrum, wrong)
    with pytest.raises(UsageError, match="penalty"):
        learn_transform(spectrum, pairs, -1.0)
    with pytest.raises(UsageError, match="ascending"):
        learn_transform(Spectrum(spectrum.values[::-1], spectrum.vectors), pairs)
