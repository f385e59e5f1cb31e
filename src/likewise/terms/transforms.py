"""How far does association carry? A kernel as a function of the Laplacian's eigenvalues.

K = g(L), g non-negative and non-increasing. With M = cI - L the same kernel is
K = g(c) I + M h(M), h(μ) = (g(c - μ) - g(c)) / μ, so that an entry is a sum over the nodes on the
way: K_ts = g(c) [t = s] + Σ_v M_tv h(M)_vs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from likewise import notation
from likewise.compiled import Doubles
from likewise.errors import UsageError

# Beyond these a kernel is all alike, or its numbers overflow.
_LARGEST, _MOST_STEPS = 1e6, 40
TOL = 1e-6
# 1/ε is in all entries of a component: below this it leaves no digits to what tells them apart.
_LEAST_EPS = 1e-12


class Transform(Protocol):
    """A function of eigenvalues, and its divided difference."""

    @property
    def tol(self) -> float:
        """The error that a polynomial in its place may have."""
        ...

    @property
    def shift(self) -> float | None:
        """The ε where K is (L + εI)⁻¹, which can be solved for; None where it is not."""
        ...

    def __call__(self, values: Doubles) -> Doubles:
        """Give g(λ)."""
        ...

    def difference(self, steps: Doubles, centre: float) -> Doubles:
        """Give h(μ) = (g(c - μ) - g(c)) / μ, without loss where μ is near 0."""
        ...

    def check(self, kind: str) -> None:
        """Raise a UsageError where it is not meant for this kind of Laplacian."""
        ...


@dataclass(frozen=True)
class Resistance:
    """The regularised Laplacian: g(λ) = 1 / (λ + ε); at small ε, electrical resistance."""

    eps: float = 1.0
    notation: ClassVar[str] = "resistance"
    tol: ClassVar[float] = TOL

    def __post_init__(self) -> None:
        if not _LEAST_EPS <= self.eps <= _LARGEST:
            raise UsageError(f"{self}: eps must be a number from {_LEAST_EPS:g} to {_LARGEST:g}")

    def __str__(self) -> str:
        return notation.write(self)

    @property
    def shift(self) -> float:
        """The ε of L + εI."""
        return self.eps

    def __call__(self, values: Doubles) -> Doubles:
        """Give g(λ)."""
        return 1.0 / (np.maximum(values, 0.0) + self.eps)

    def difference(self, steps: Doubles, centre: float) -> Doubles:
        """Give h(μ) = 1 / ((c + ε)(c - μ + ε))."""
        return self(centre - steps) / (centre + self.eps)

    def check(self, kind: str) -> None:
        """Accept either Laplacian."""


@dataclass(frozen=True)
class Diffusion:
    """Heat spreading (Kondor, Lafferty 2002): g(λ) = exp(-λ σ² / 2), σ² the variance."""

    variance: float = 3.0
    notation: ClassVar[str] = "diffusion"
    tol: ClassVar[float] = TOL
    shift: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not 0 < self.variance <= _LARGEST:
            raise UsageError(f"{self}: variance must be a number above 0, up to {_LARGEST:g}")

    def __str__(self) -> str:
        return notation.write(self)

    def __call__(self, values: Doubles) -> Doubles:
        """Give g(λ)."""
        out: Doubles = np.exp(-values * self.variance / 2)
        return out

    def difference(self, steps: Doubles, centre: float) -> Doubles:
        """Give h(μ) = exp(-c σ²/2) expm1(μ σ²/2) / μ."""
        half = self.variance / 2
        near = np.abs(steps * half) < 1e-8
        safe = np.where(near, 1.0, steps)
        # Written with the smaller exponent first, so that neither overflows.
        rise = np.where(
            safe > 0,
            -np.exp(-half * (centre - safe)) * np.expm1(-half * np.maximum(safe, 0.0)),
            np.exp(-half * centre) * np.expm1(half * np.minimum(safe, 0.0)),
        )
        out: Doubles = np.where(near, half * np.exp(-half * centre), rise / safe)
        return out

    def check(self, kind: str) -> None:
        """Accept either Laplacian."""


@dataclass(frozen=True)
class Walk:
    """Random walks of a few steps: g(λ) = (α - λ)^steps, on the normalised Laplacian only.

    The paper has one step. Above 2, α makes the walk lazier; below, g would not be positive.
    """

    alpha: float = 2.0
    steps: int = 1
    notation: ClassVar[str] = "walk"
    tol: ClassVar[float] = TOL
    shift: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not 2 <= self.alpha <= _LARGEST or not 1 <= self.steps <= _MOST_STEPS:
            raise UsageError(
                f"{self}: alpha must be from 2 to {_LARGEST:g}, and steps from 1 to {_MOST_STEPS}"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def __call__(self, values: Doubles) -> Doubles:
        """Give g(λ)."""
        out: Doubles = np.maximum(self.alpha - values, 0.0) ** self.steps
        return out

    def difference(self, steps: Doubles, centre: float) -> Doubles:
        """Give h(μ) = Σ_j a^(s-1-j) b^j, with a = α - c + μ and b = α - c."""
        b = self.alpha - centre
        a = b + np.asarray(steps, np.float64)
        out = np.zeros_like(a)
        for j in range(self.steps):
            out += a ** (self.steps - 1 - j) * b**j
        return out

    def check(self, kind: str) -> None:
        """Refuse the combinatorial Laplacian, whose eigenvalues go beyond α."""
        if kind != "normalised":
            raise UsageError(
                f"{self}: walks are defined on the normalised Laplacian, whose eigenvalues end at "
                f"2, not on the {kind} one"
            )


TRANSFORMS: Mapping[str, type[Resistance] | type[Diffusion] | type[Walk]] = {
    kind.notation: kind for kind in (Resistance, Diffusion, Walk)
}


def parse_transform(text: str) -> Resistance | Diffusion | Walk:
    """Read a transform as it is written: `resistance`, `diffusion(variance=2)`."""
    return notation.read(text, TRANSFORMS, what="kernel")
