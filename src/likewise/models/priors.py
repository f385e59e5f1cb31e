"""Which priors make the counts likely? Minka's fixed-point steps (2000)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.compiled import Doubles, kernel

if TYPE_CHECKING:
    from likewise.models.gibbs import State

_LEAST_PRIOR = 1e-6


class Priors(NamedTuple):
    """The parameters of the Dirichlet priors; `gamma` is that of the three routes."""

    alpha: Doubles
    gamma: Doubles
    beta_topic: float
    beta_own: float
    beta_background: float


@kernel
def log_slope(counts: Doubles, prior: Any) -> Any:
    """Sum what counts say about a prior's parameter.

    Equals `sum(digamma(counts + prior) - digamma(prior))`; for whole counts, here by the
    recurrence of the digamma function, in time linear in their sum, or by its expansion.
    """
    total = 0.0
    for count in counts:
        if count < 64:
            for j in range(np.int64(count)):
                total += 1.0 / (j + prior)
        else:
            total += _digamma(count + prior) - _digamma(prior)
    return total


@kernel
def _digamma(x: Any) -> Any:
    shift = 0.0
    while x < 8:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return shift + np.log(x) - 0.5 / x - series


def learn_priors(state: State, priors: Priors, *, switch: bool) -> Priors:
    """Move the priors to where the counts are likelier: one of Minka's fixed-point steps each."""
    n_topics, n_rows = len(priors.alpha), len(state.background)
    shares = state.shares.astype(np.float64)
    alpha = _step_vector(state.doc_topics[:, :n_topics], shares[:, 0], priors.alpha)
    by_topic = _step_scalar(
        state.word_topics.ravel(), state.topic_totals[:n_topics], priors.beta_topic, n_rows
    )
    if not switch:
        return priors._replace(alpha=alpha, beta_topic=by_topic)
    return Priors(
        alpha,
        _step_vector(shares, shares.sum(axis=1), priors.gamma),
        by_topic,
        _step_scalar(state.own, shares[:, 1], priors.beta_own, n_rows),
        _step_scalar(
            state.background, state.background.sum(keepdims=True), priors.beta_background, n_rows
        ),
    )


def _step_vector(counts: NDArray[Any], totals: Doubles, prior: Doubles) -> Doubles:
    below = log_slope(totals.astype(np.float64), float(prior.sum()))
    columns = np.ascontiguousarray(counts.T, np.float64)
    above = np.array(
        [log_slope(column, value) for column, value in zip(columns, prior, strict=True)]
    )
    return np.maximum(prior * above / below, _LEAST_PRIOR) if below > 0 else prior


def _step_scalar(counts: NDArray[Any], totals: NDArray[Any], prior: float, size: int) -> float:
    above = log_slope(counts[counts > 0].astype(np.float64), prior)
    below = size * log_slope(totals.astype(np.float64), size * prior)
    return max(float(prior * above / below), _LEAST_PRIOR) if above > 0 and below > 0 else prior
