"""The paper's sub-sampling, and how misplaced pairs are counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import kendalltau

from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise_papers.terms.inversions import inversions, misplaced, misplacements
from likewise_papers.terms.subsampling import subsample

KINDS = ("combinatorial", "normalised")


def graph_of(weights):
    matrix = sparse.csr_array(weights)
    matrix.sort_indices()
    return Graph(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


def blocks(n, *, seed=0, groups=4):
    """A graph of groups of terms that are often said together."""
    random = np.random.default_rng(seed)
    group = np.arange(n) % groups
    weights = random.poisson(np.where(group[:, None] == group, 6.0, 0.5), (n, n)).astype(float)
    weights = np.triu(weights, 1)
    return weights + weights.T


def laplacian(weights, kind, damping=1.0):
    degrees = weights.sum(axis=1)
    if kind == "combinatorial":
        return np.diag(degrees) - weights
    damped = degrees + damping * degrees.mean()
    return np.eye(len(weights)) - weights / np.sqrt(damped[:, None] * damped)


def distances(vectors, heights):
    block = (vectors * heights) @ vectors.T
    own = np.diagonal(block)
    return own[:, None] + own - 2 * block


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_all_terms_is_the_spectrum(kind):
    weights = blocks(30)
    values, vectors = subsample(graph_of(weights), 30, laplacian=kind)
    rebuilt = (vectors * values) @ vectors.T
    np.testing.assert_allclose(rebuilt, laplacian(weights, kind), atol=1e-9)
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_each_vector_is_extended_by_the_papers_sum(kind):
    n, m = 24, 15
    weights = blocks(n, seed=3)
    values, vectors = subsample(graph_of(weights), m, seed=7, laplacian=kind)
    drawn = np.sort(np.random.default_rng(7).choice(n, m, replace=False))
    inner = laplacian(weights[np.ix_(drawn, drawn)], kind)
    np.testing.assert_allclose(
        inner @ vectors[drawn], vectors[drawn] * values, atol=1e-9 * values.max()
    )
    degrees = weights[:, drawn].sum(axis=1)
    damped = degrees + degrees[drawn].mean()
    checked = 0
    for t in np.setdiff1d(np.arange(n), drawn):
        to = weights[t, drawn]
        own = degrees[t] if kind == "combinatorial" else 1.0
        if kind == "normalised":
            to = to / np.sqrt(damped[t] * damped[drawn])
        for k in range(m):
            below = values[k] - own
            if below > -0.02 * own and (kind == "combinatorial" or below < 0.02 * own):
                continue
            expected = sum(-to[j] * vectors[drawn[j], k] for j in range(m)) / below
            assert vectors[t, k] == pytest.approx(expected, abs=1e-9)
            checked += 1
    assert checked > m


def test_the_constant_vector_stays_constant():
    values, vectors = subsample(graph_of(blocks(40, seed=1)), 20, seed=2)
    assert values[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(vectors[:, 0], vectors[0, 0], rtol=1e-9)


def test_small_denominators_are_kept_from_zero():
    weights = blocks(60, seed=5)
    # A term whose degree is far below the others', so that most eigenvalues are above it.
    weights[3] = weights[:, 3] = 0
    weights[3, [4, 5]] = weights[[4, 5], 3] = 1
    for seed in range(6):
        _, vectors = subsample(graph_of(weights), 30, seed=seed)
        # At most fifty times a mean of entries that are below one.
        assert np.abs(vectors).max() <= 50


@pytest.mark.parametrize("kind", KINDS)
def test_terms_without_neighbours_in_the_sample_are_at_zero(kind):
    weights = blocks(12)
    weights[5] = weights[:, 5] = 0
    graph = graph_of(weights)
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(12, 6, replace=False)
        values, vectors = subsample(graph, 6, seed=seed, laplacian=kind)
        assert np.isfinite(vectors).all()
        assert 5 in drawn or not vectors[5].any()
    assert values.shape == (6,)


def test_more_terms_misplace_less_and_a_seed_repeats():
    weights = blocks(300, groups=6)
    values, vectors = np.linalg.eigh(laplacian(weights, "normalised"))
    test = np.arange(0, 300, 5)
    exact = distances(vectors[test], 1 / (values + 0.1))
    found = []
    for m in (60, 270):
        shares = []
        for seed in range(3):
            got = subsample(graph_of(weights), m, seed=seed, laplacian="normalised")
            again = subsample(graph_of(weights), m, seed=seed, laplacian="normalised")
            assert np.array_equal(got.vectors, again.vectors)
            shares.append(misplacements(exact, distances(got.vectors[test], 1 / (got[0] + 0.1))))
        found.append(np.mean(shares))
    assert found[1] < 0.75 * found[0] < 0.4


@pytest.mark.parametrize(
    "wrong",
    [
        {"m": 0},
        {"m": 13},
        {"m": 3, "laplacian": "random"},
        {"m": 3, "damping": -1.0},
        {"m": 3, "seed": -1},
    ],
)
def test_what_cannot_be_sampled_is_said(wrong):
    with pytest.raises(UsageError):
        subsample(graph_of(blocks(12)), **wrong)


def by_hand(left, right):
    """Misplaced pairs, one by one."""
    found = 0.0
    for i in range(len(left)):
        for j in range(i):
            one, other = np.sign(left[i] - left[j]), np.sign(right[i] - right[j])
            if one != other:
                found += 0.5 if one == 0 or other == 0 else 1.0
    return found


orders = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, n // 2 + 1), min_size=n, max_size=n),
        st.lists(st.integers(0, n), min_size=n, max_size=n),
    )
)


@given(orders)
def test_misplaced_pairs_are_those_counted_by_hand(drawn):
    left, right = (np.array(values, float) for values in drawn)
    assert misplaced(left, right) == by_hand(left, right) == misplaced(right, left)


@given(st.lists(st.integers(0, 9), max_size=40))
def test_inversions_are_those_counted_by_hand(ranks):
    ranks = np.array(ranks, np.int64)
    assert inversions(ranks) == np.triu(ranks[:, None] > ranks).sum()


def test_misplacements_leave_each_term_itself_out():
    random = np.random.default_rng(0)
    exact, other = random.random((20, 20)), random.random((20, 20))
    rows = [(np.delete(exact[i], i), np.delete(other[i], i)) for i in range(20)]
    expected = np.mean([(1 - kendalltau(*row).statistic) / 2 for row in rows])
    assert misplacements(exact, other) == pytest.approx(expected)
    assert misplacements(exact, exact**3) == 0
    assert misplacements(exact, -exact) == 1
    assert misplacements(exact, np.zeros((20, 20))) == 0.5


def test_what_cannot_be_compared_is_said():
    square = np.ones((4, 4))
    for left, right in ((square, square[:3]), (square[:, :3], square[:, :3]), (np.eye(2),) * 2):
        with pytest.raises(UsageError, match="square"):
            misplacements(left, right)
    with pytest.raises(UsageError, match="finite"):
        misplacements(square, np.full((4, 4), np.inf))
