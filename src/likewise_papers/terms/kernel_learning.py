"""Which parameter, or which transform, suits the pairs that are known to be related?

A kernel with one parameter is searched along it for the best score. A kernel without any has a
value θ for each eigenvalue, by the paper's linear programme.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.terms.spectrum import Spectrum

# How much of the interval is left by a step of the golden section.
_GOLDEN = (5**0.5 - 1) / 2
# Eigenvalues nearer to one another than this share of the largest are one.
_SAME = 1e-9
# The paper's bound on θ.
_HIGHEST = 2.0


@dataclass(frozen=True)
class Learnt:
    """A table of g: `heights`, non-increasing, at eigenvalues `knots`, ascending; lines between.

    Beyond the first and last knot it stays as it is there. Meant for the normalised Laplacian:
    its eigenvalues are between 0 and 2 on every graph, so that what one graph taught serves others.
    """

    knots: tuple[float, ...]
    heights: tuple[float, ...]
    notation: ClassVar[str] = "learnt"
    # A table has corners, which take long polynomials.
    tol: ClassVar[float] = 1e-3
    shift: ClassVar[None] = None

    def __post_init__(self) -> None:
        knots, heights = np.asarray(self.knots), np.asarray(self.heights)
        if len(knots) == 0 or knots.shape != heights.shape:
            raise UsageError(
                f"a learnt kernel has a height for each knot, not {len(heights)} for {len(knots)}"
            )
        if not (np.isfinite(knots).all() and np.isfinite(heights).all()):
            raise UsageError("a learnt kernel's knots and heights must be finite numbers")
        if (np.diff(knots) <= 0).any():
            raise UsageError("a learnt kernel's knots must ascend")
        if (np.diff(heights) > 0).any() or heights[-1] < 0:
            raise UsageError("a learnt kernel's heights must be 0 or more, and must not increase")

    def __str__(self) -> str:
        return f"learnt({len(self.knots)} knots)"

    def __call__(self, values: Doubles) -> Doubles:
        """Give g(λ)."""
        out: Doubles = np.interp(values, self.knots, self.heights)
        return out

    def difference(self, steps: Doubles, centre: float) -> Doubles:
        """Give h(μ); at μ = 0 the slope of g there, downwards."""
        steps = np.asarray(steps, np.float64)
        # Within so small a step g is a line, up to what its heights are known to.
        least = 1e-7 * max(abs(centre), 1.0)
        safe = np.where(np.abs(steps) < least, least, steps)
        at = float(self(np.asarray(centre)))
        out: Doubles = (self(centre - safe) - at) / safe
        return out

    def check(self, kind: str) -> None:
        """Refuse the combinatorial Laplacian, whose eigenvalues differ from graph to graph."""
        if kind != "normalised":
            raise UsageError(f"{self} is a table for the normalised Laplacian, not the {kind} one")


class Found(NamedTuple):
    """The best parameter, what it scored, and all that were tried (parameter, score)."""

    parameter: float
    score: float
    tried: Doubles


def line_search(
    score: Callable[[float], float],
    low: float,
    high: float,
    *,
    points: int = 13,
    steps: int = 8,
) -> Found:
    """Look for the parameter of the best score between two positive bounds.

    First at `points` of equal ratio, then by golden section (of the logarithm) between the
    neighbours of the best one. The best of all that were tried is taken, the smallest of equals:
    an AUC is a step function, and may have more than one peak.
    """
    if not (0 < low < high < np.inf) or points < 2 or steps < 0:
        raise UsageError(
            f"a line search needs bounds 0 < low < high, two or more points and no negative "
            f"steps, not {low}, {high}, {points}, {steps}"
        )
    tried: dict[float, float] = {}

    def value(at: float) -> float:
        parameter = float(min(max(np.exp(at), low), high))
        if parameter not in tried:
            tried[parameter] = float(score(parameter))
        return tried[parameter]

    grid = np.linspace(np.log(low), np.log(high), points)
    best = int(np.argmax([value(float(at)) for at in grid]))
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, points - 1)])
    for _ in range(steps):
        width = _GOLDEN * (right - left)
        if value(right - width) >= value(left + width):
            right = left + width
        else:
            left = right - width
    parameter = max(sorted(tried), key=tried.__getitem__)
    return Found(parameter, tried[parameter], np.array(sorted(tried.items())))


def learn_transform(spectrum: Spectrum, relevant: Ints, b: float = 0.0) -> Doubles:
    """Give the θ of each eigenvalue that solves the paper's linear programme.

    `max Σ_(i,j) relevant K_ij - b θᵀΛ` for `K = Σ_k θ_k u_k u_kᵀ`, `0 ≤ θ ≤ 2`, θ not increasing
    with the eigenvalue. Its solution is a step, 2 for the first eigenvalues and 0 for the rest
    (see below), so that no solver is needed: the time is that of adding up the coefficients.
    Equal eigenvalues have one θ, without which K would depend on the basis of their space. Of
    equally good steps the shortest is taken: no relevant pair may mean no kernel, θ = 0.
    """
    relevant = _checked(relevant, len(spectrum.vectors))
    if not (0 <= b < np.inf):
        raise UsageError(f"the penalty b must be 0 or more, not {b}")
    values = np.asarray(spectrum.values, np.float64)
    if (np.diff(values) < 0).any():
        raise UsageError("a transform is learnt on eigenvalues in ascending order")
    theta = np.zeros(len(values))
    if len(values) == 0:
        return theta
    # The objective is linear, Σ_k c_k θ_k. A θ that does not increase from at most 2 to at least
    # 0 is a sum of steps, θ = Σ_m β_m 1[k ≤ m] with β ≥ 0 and Σ_m β_m ≤ 2, so that the objective
    # is Σ_m β_m C_m with the prefix sums C_m = Σ_(k ≤ m) c_k: at most 2 max(0, max_m C_m), which
    # the one step of height 2 at the best m has. With equal eigenvalues only the prefixes that
    # end where an eigenvalue does are allowed.
    reached = np.cumsum(coefficients(spectrum, relevant) - b * values)
    ends = np.flatnonzero(np.append(np.diff(values) > _SAME * max(values[-1], 1e-300), True))
    best = ends[np.argmax(reached[ends])]
    if reached[best] > 0:
        theta[: best + 1] = _HIGHEST
    return theta


def learnt(spectrum: Spectrum, theta: Doubles) -> Learnt:
    """Give θ as a transform, by knots only where it changes: two for a step.

    It is θ at the spectrum's eigenvalues, and a line between those where θ changes.
    """
    # Eigenvalues that are equal have one θ, but for rounding: the first of them stands for all.
    values, firsts = np.unique(spectrum.values, return_index=True)
    heights = np.minimum.accumulate(theta[firsts])
    changes = np.flatnonzero(np.diff(heights) != 0)
    kept = np.unique(np.concatenate([[0], changes, changes + 1])).astype(np.int64)
    return Learnt(tuple(values[kept].tolist()), tuple(heights[kept].tolist()))


def coefficients(spectrum: Spectrum, pairs: Ints) -> Doubles:
    """Give what each eigenvector adds to the sum of K over pairs, `Σ u_k(i) u_k(j)`."""
    out = np.zeros(spectrum.vectors.shape[1])
    for first in range(0, len(pairs), 4096):
        some = pairs[first : first + 4096]
        left, right = spectrum.vectors[some[:, 0]], spectrum.vectors[some[:, 1]]
        out += np.einsum("pk,pk->k", left, right, dtype=np.float64)
    return out


def _checked(pairs: Ints, n: int) -> Ints:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise UsageError(f"relevant pairs are two nodes a row, not an array {pairs.shape}")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n):
        raise UsageError(f"relevant pairs name nodes outside 0 to {n - 1}")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise UsageError("a term cannot be a relevant pair with itself")
    return pairs.astype(np.int64)
