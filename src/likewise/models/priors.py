"""Which priors make the counts likely? Minka's fixed-point steps (2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from likewise.compiled import Doubles

if TYPE_CHECKING:
    from likewise.models.gibbs import State

# What is calculated with in single precision: sums of weights are neither 0 nor infinite, and one
# token more counts.
LEAST_PRIOR, MOST_PRIOR = 1e-6, 1e6


class Priors(NamedTuple):
    """The parameters of the Dirichlet priors; `gamma` is that of the three routes."""

    alpha: Doubles
    gamma: Doubles
    beta_topic: float
    beta_own: float
    beta_background: float

    def bounded(self) -> Priors:
        """Give the nearest priors that can be sampled with."""
        alpha, gamma, *betas = (np.clip(each, LEAST_PRIOR, MOST_PRIOR) for each in self)
        return Priors(alpha, gamma, *map(float, betas))


def log_slope(counts: NDArray[Any], prior: float) -> float:
    """Sum what whole counts say about a prior's parameter: Σ ψ(count + prior) - ψ(prior).

    Counts of one size are taken together, unless there are more sizes than counts.
    """
    sizes: NDArray[Any] = counts
    times: NDArray[Any] = np.ones(len(counts))
    if counts.max(initial=0) <= len(counts):
        every = np.bincount(counts.astype(np.int64))
        sizes = np.flatnonzero(every)
        times = every[sizes]
    return float((times * (psi(sizes + prior) - psi(prior))).sum())


def learn_priors(state: State, priors: Priors, *, switch: bool) -> Priors:
    """Move the priors to where the counts are likelier: one of Minka's fixed-point steps each."""
    n_topics, n_rows = len(priors.alpha), len(state.background)
    shares = state.shares.astype(np.float64)
    alpha = _step_vector(state.doc_topics[:, :n_topics], shares[:, 0], priors.alpha)
    by_topic = _step_scalar(
        state.word_topics[:, :n_topics].ravel(),
        state.topic_totals[:n_topics],
        priors.beta_topic,
        n_rows,
    )
    if not switch:
        return priors._replace(alpha=alpha, beta_topic=by_topic).bounded()
    return Priors(
        alpha,
        _step_vector(shares, shares.sum(axis=1), priors.gamma),
        by_topic,
        _step_scalar(state.own, shares[:, 1], priors.beta_own, n_rows),
        _step_scalar(
            state.background, state.background.sum(keepdims=True), priors.beta_background, n_rows
        ),
    ).bounded()


def _step_vector(counts: NDArray[Any], totals: Doubles, prior: Doubles) -> Doubles:
    below = log_slope(totals, float(prior.sum()))
    above = np.array([log_slope(*pair) for pair in zip(counts.T, prior, strict=True)])
    return prior * above / below if below > 0 else prior


def _step_scalar(counts: NDArray[Any], totals: NDArray[Any], prior: float, size: int) -> float:
    above = log_slope(counts, prior)
    below = size * log_slope(totals, size * prior)
    return prior * above / below if above > 0 and below > 0 else prior
