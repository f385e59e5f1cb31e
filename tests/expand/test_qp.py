"""The programme against a general optimiser, its limits, and what cannot be met."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from likewise.expand.qp import Limits, solve

ALL = {"kappa": 0.3, "gamma": 2.0}


def drawn(seed, n, n_asked):
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(n, 2))
    apart = np.square(points[:, None] - points).sum(axis=2)
    gains = generator.random(n)
    similarity = np.exp(-apart)
    return gains, similarity, {"nearness": similarity[:n_asked], "n_asked": n_asked}


def objective(x, gains, similarity, *, kappa, gamma):
    risk = similarity / np.linalg.norm(similarity) + gamma * np.eye(len(gains))
    return -gains @ x + kappa / 2 * x @ risk @ x


def slow(gains, similarity, n_asked, limits):
    """Solve by a general method, with the limits written out term by term."""
    n = len(gains)
    rows, low, high = [], [], []
    mean = similarity[:n_asked].mean(axis=0)
    for i in range(n_asked):
        cover, over, under = np.zeros(n), np.zeros(n), np.zeros(n)
        for w in range(n_asked, n):
            cover[w] = similarity[i, w]
            over[w] = similarity[i, w] - mean[w] - limits.balance
            under[w] = similarity[i, w] - mean[w] + limits.balance
        rows += [cover, over, under]
        low += [limits.coverage, -np.inf, 0]
        high += [np.inf, 0, np.inf]
    rows.append(np.r_[np.zeros(n_asked), np.ones(n - n_asked)])
    low.append(-np.inf)
    high.append(limits.budget or n)
    bounds = [(limits.keep if w < n_asked else 0, 1) for w in range(n)]
    found = minimize(
        lambda x: objective(x, gains, similarity, **ALL),
        np.full(n, 0.5),
        bounds=bounds,
        constraints=LinearConstraint(np.array(rows), low, high),
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return found


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 9),
    n_asked=st.integers(1, 3),
    coverage=st.sampled_from([0.0, 0.1, 0.4]),
    balance=st.sampled_from([1.0, 0.3]),
    keep=st.sampled_from([0.0, 0.6]),
    budget=st.sampled_from([0.0, 1.0]),
)
def test_it_finds_what_a_general_optimiser_finds(seed, n, n_asked, coverage, balance, keep, budget):
    gains, similarity, asked = drawn(seed, n, n_asked)
    limits = Limits(coverage, balance, keep, budget)
    x = solve(gains, similarity, **asked, **ALL, limits=limits)
    reference = slow(gains, similarity, n_asked, limits)
    if x is None:
        assert not reference.success
        return
    assert (x >= 0).all()
    assert (x <= 1).all()
    assert (x[:n_asked] >= keep - 1e-6).all()
    if reference.success:
        best = objective(reference.x, gains, similarity, **ALL)
        assert objective(x, gains, similarity, **ALL) == pytest.approx(best, abs=2e-5)


def test_without_risk_between_terms_each_has_its_gain_over_kappa_gamma():
    """With Σ = 0 the terms come apart: x = c / (κ γ), at most 1."""
    gains = np.array([0.9, 0.3, 0.12, 0.0])
    nothing = np.zeros((4, 4))
    x = solve(gains, nothing, nothing[:1], n_asked=1, kappa=0.03, gamma=20.0)
    assert x.tolist() == pytest.approx([1, 0.5, 0.2, 0])


def test_two_like_terms_share_what_one_would_have():
    """x1 = x2 = x solves c = κ(½x + ½x + γ x): with c = ½, κ = γ = 1 that is ¼."""
    similarity = np.array([[0.0, 0, 0], [0, 7, 7], [0, 7, 7]])
    gains = np.array([0, 0.5, 0.5])
    x = solve(gains, similarity, similarity[:1], n_asked=1, kappa=1.0, gamma=1.0)
    assert x.tolist() == pytest.approx([0, 1 / 4, 1 / 4])


def test_what_cannot_be_met_is_nothing():
    gains, similarity, asked = drawn(1, 6, 2)
    assert solve(gains, similarity, **asked, **ALL, limits=Limits(coverage=50)) is None
    tight = Limits(coverage=0.5, budget=0.01)
    assert solve(gains, similarity, **asked, **ALL, limits=tight) is None


def test_a_query_without_known_terms_has_no_aspects():
    gains, similarity, _ = drawn(1, 5, 1)
    x = solve(
        gains,
        similarity,
        similarity[:0],
        n_asked=0,
        **ALL,
        limits=Limits(coverage=0.5, balance=0.1),
    )
    assert x is not None
    assert x.sum() > 0
