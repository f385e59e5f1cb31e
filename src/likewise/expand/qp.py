"""Which terms, and how much of each? A convex quadratic programme (Collins-Thompson, NIPS 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.compiled import Doubles

_SOLVED = 1
# What the solver leaves of a term that it drops.
_NOTHING = 1e-7
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Limits:
    """What a choice of terms must meet; the values here limit nothing.

    `coverage`: each aspect of the query is near to new terms of at least this weight; `balance`:
    the new terms' mean nearness to each aspect is within this of the mean over aspects; `keep`:
    the query's terms have at least this weight; `budget`: new terms together have at most this
    (0: any).
    """

    coverage: float = 0.0
    balance: float = 1.0
    keep: float = 0.0
    budget: float = 0.0

    @property
    def of_aspects(self) -> bool:
        """Whether it matters how near terms are to the aspects of the query."""
        return self.coverage > 0 or self.balance < 1


def solve(
    gains: Doubles,
    risk: Doubles,
    nearness: Doubles,
    *,
    n_asked: int,
    kappa: float,
    gamma: float,
    limits: Limits = Limits(),
) -> Doubles | None:
    """Minimise `-cᵀx + κ/2 xᵀ(Σ + γ I)x` with 0 ≤ x ≤ 1 and the limits; None where none can be met.

    `risk` is Σ, positive semi-definite; it is divided by its Frobenius norm, so that κ and γ mean
    the same whatever it was made of. The first `n_asked` terms are the query's own; a row of
    `nearness` has how near, from 0 to 1, each term is to one aspect of the query.
    """
    import daqp

    n = len(gains)
    rows, lower, upper = _constraints(nearness, n_asked, limits)
    least = np.zeros(n)
    least[:n_asked] = limits.keep
    norm = float(np.sqrt(np.square(risk).sum()))
    x, _, flag, _ = daqp.solve(
        kappa * (risk / (norm or 1.0) + gamma * np.eye(n)),
        -gains,
        rows,
        np.concatenate([np.ones(n), upper]),
        np.concatenate([least, lower]),
        np.zeros(n + len(rows), np.int32),
    )
    # The constraints are looked at again: what a solver calls solved must also be it.
    found = rows @ x
    met = (found >= lower - _TOLERANCE).all() and (found <= upper + _TOLERANCE).all()
    if flag != _SOLVED or not met or not np.isfinite(x).all():
        return None
    chosen: Doubles = np.where(x > _NOTHING, np.minimum(x, 1), 0.0)
    return chosen


def _constraints(
    nearness: Doubles, n_asked: int, limits: Limits
) -> tuple[Doubles, Doubles, Doubles]:
    """Give the rows of the linear constraints, and what each lies between."""
    near = nearness.copy()
    near[:, :n_asked] = 0
    rows, lower, upper = [], [], []
    n = len(near)
    if limits.coverage > 0 and n:
        rows.append(near)
        lower.append(np.full(n, limits.coverage))
        upper.append(np.full(n, np.inf))
    if limits.balance < 1 and n > 1:
        apart = near - near.mean(axis=0)
        apart[:, n_asked:] -= limits.balance
        rows.append(apart)
        lower.append(np.full(n, -np.inf))
        upper.append(np.zeros(n))
        apart = apart.copy()
        apart[:, n_asked:] += 2 * limits.balance
        rows.append(apart)
        lower.append(np.zeros(n))
        upper.append(np.full(n, np.inf))
    if limits.budget > 0:
        new = np.ones((1, near.shape[1]))
        new[:, :n_asked] = 0
        rows.append(new)
        lower.append(np.full(1, -np.inf))
        upper.append(np.full(1, limits.budget))
    if not rows:
        return np.empty((0, near.shape[1])), np.empty(0), np.empty(0)
    return np.concatenate(rows), np.concatenate(lower), np.concatenate(upper)
