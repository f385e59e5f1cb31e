"""How is a function of a graph worked out by products alone? Chebyshev polynomials of M."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles
from likewise.errors import UsageError

_LARGEST_DEGREE = 4096
_FEWEST, _MOST = 1 << 10, 1 << 14


class Polynomial(NamedTuple):
    """Chebyshev coefficients of a function of M's eigenvalues between two of them.

    `error` is how far it may be off between them: the sum of the coefficients left out.
    """

    coefficients: Doubles
    low: float
    high: float
    error: float

    def __call__(self, steps: Doubles) -> Doubles:
        """Give its values."""
        half = (self.high - self.low) / 2
        at = (steps - (self.low + self.high) / 2) / half if half > 0 else np.zeros_like(steps)
        return np.asarray(np.polynomial.chebyshev.chebval(at, self.coefficients), np.float64)

    def difference(self) -> Polynomial:
        """Give (p(μ) - p(0)) / μ, of one degree less."""
        half = (self.high - self.low) / 2
        if half == 0:
            return self._replace(coefficients=np.zeros(1))
        line = np.array([(self.low + self.high) / 2, half])
        quotient, _ = np.polynomial.chebyshev.chebdiv(self.coefficients, line)
        return self._replace(coefficients=np.asarray(quotient, np.float64))

    def growth(self, step: float) -> float:
        """Give how large its terms are at a place beyond its ends, in all."""
        half = (self.high - self.low) / 2
        if half == 0:
            return float(abs(self.coefficients[0]))
        at = max(abs(step - (self.low + self.high) / 2) / half, 1.0)
        with np.errstate(over="ignore"):
            terms = np.cosh(np.arange(len(self.coefficients)) * np.arccosh(at))
            return float((np.abs(self.coefficients) * terms).sum())

    def influence(self, degree: int) -> float:
        """Give at most how much an error in the product with M for a degree is in the result."""
        half = (self.high - self.low) / 2
        # Later terms have it as often as the recurrence takes it over.
        later = np.abs(self.coefficients[degree:])
        return float((later * np.arange(1, len(later) + 1)).sum()) * (1 + (degree > 1)) / half

    def apply(
        self,
        product: Callable[[Doubles, int], Doubles],
        x: Doubles,
        clean: Callable[[Doubles], Doubles] | None = None,
    ) -> Doubles:
        """Give p(M) @ x, by the recurrence of Chebyshev polynomials; each is cleaned if need be.

        `product` gives M @ x, as well as the degree that it is for needs it (see `influence`).
        """
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        out: Doubles = self.coefficients[0] * x
        before, now = x, x
        for degree in range(1, len(self.coefficients)):
            image = product(now, degree)
            image -= middle * now
            image *= (1.0 if degree == 1 else 2.0) / half
            if degree > 1:
                image -= before
            if clean is not None:
                image = clean(image)
            before, now = now, image
            out += self.coefficients[degree] * now
        return out


def approximate(
    function: Callable[[Doubles], Doubles], ends: tuple[float, float], tol: float
) -> Polynomial:
    """Approximate a function to an absolute error by the shortest series that its tail allows."""
    from scipy.fft import dct  # not for kernels that are solved for: it is slow to import

    low, high = ends
    if high <= low:
        return Polynomial(function(np.array([low])), low, high, 0.0)
    samples = _FEWEST
    while True:
        angles = np.pi * (np.arange(samples) + 0.5) / samples
        values = function((low + high) / 2 + (high - low) / 2 * np.cos(angles))
        # The upper half is mixed up with what the samples are too few for.
        series = dct(values, type=2)[: samples // 2] / samples
        series[0] /= 2
        tails = np.append(np.cumsum(np.abs(series[::-1]))[::-1], 0.0)
        # What comes after is no more than the last half of what is seen, if coefficients fall like
        # those of a function with corners, or faster; a third of it was mixed with the others.
        unseen = 1.5 * float(tails[samples // 4])
        if unseen <= tol / 4 or samples >= _MOST:
            break
        samples *= 2
    degree = int(np.argmax(tails[1:] + unseen <= tol))
    if unseen > tol / 4 or degree > _LARGEST_DEGREE:
        allowed = float(tails[_LARGEST_DEGREE] + 4 * unseen) / tol
        raise UsageError(
            f"this kernel takes a polynomial of more than {_LARGEST_DEGREE} degrees: allow about "
            f"{max(allowed, 2):.0f} times the error by tol, or use another route"
        )
    return Polynomial(series[: degree + 1], low, high, float(tails[degree + 1]) + unseen)
