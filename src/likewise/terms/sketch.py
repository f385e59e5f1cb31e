"""How near is each node to itself? The diagonal of a kernel that is too large to write out.

Most of the diagonal is known: the leading eigenvectors, and the first terms of a series whose
diagonals are sums over a node's edges. Random signs z estimate only what is left, R, by
z ∘ (R z), whose expectation is R's diagonal (Bekas, Kokiopoulou, Saad 2007).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.compiled import Doubles, one_blas_thread
from likewise.terms.laplacian import Laplacian

if TYPE_CHECKING:
    from likewise.terms.solving import ChebyshevKernel, SolvedKernel

PROBES = 16
# Of fewer nodes every entry is worked out.
EXACT = 256


class Sketch(NamedTuple):
    """A diagonal, and the standard errors of its entries; zeros where it is exact."""

    values: Doubles
    errors: Doubles


def sketch_by_polynomial(kernel: ChebyshevKernel, probes: int = PROBES) -> Sketch:
    """Sketch the diagonal of g(L).

    With P the projection on the known eigenvectors and q a polynomial of degree two near g,
    K = KP + q(M)(I - P) + R; only R is estimated.
    """
    laplacian, n = kernel.laplacian, len(kernel)
    if n <= EXACT:
        return Sketch(kernel.diagonal_of(np.arange(n)), np.zeros(n))
    first, second = _line(kernel)

    def near(steps: Doubles) -> Doubles:
        return kernel.at_centre + steps * (first + second * steps)

    left = laplacian.centre - laplacian.own
    values = kernel.at_centre + first * left
    values += second * (left**2 + laplacian.spread_squares(np.ones(n)))
    found = kernel.leading
    known = kernel.transform(laplacian.centre - found.values) - near(found.values)
    with one_blas_thread():
        values += found.vectors**2 @ known
    if kernel.null.is_there:
        of_zero = kernel.transform(np.zeros(1)) if kernel.constant else np.zeros(1)
        values += (of_zero - near(np.array([laplacian.centre]))) * kernel.null.vector**2
    signs = _signs(n, probes, kernel.seed)
    inner = kernel.unknown(signs)
    image = laplacian.apply(inner)
    rest = kernel.columns(inner) - kernel.at_centre * inner
    rest -= first * image + second * laplacian.apply(image)
    estimate = _mean(signs * rest)
    return Sketch(values + estimate.values, estimate.errors)


def _line(kernel: ChebyshevKernel) -> tuple[float, float]:
    """Give a + bμ near h(μ) on what the known eigenvectors leave."""
    low, high = kernel.leading.rest
    series = kernel.polynomial.coefficients
    half = (high - low) / 2
    second = float(series[1]) / half if len(series) > 1 else 0.0
    return float(series[0]) - second * (low + high) / 2, second


def sketch_by_solving(kernel: SolvedKernel, probes: int = PROBES) -> Sketch:
    """Sketch the diagonal of (L + εI)⁻¹, with L = D - W (or I - S).

    With A = (D + εI)⁻¹, K = A + AWA + AWAWA + AWAW K WA. The diagonals of the first three are A,
    zero and A_t² Σ w_tv² A_v. In the last, what L takes to zero is known: with u that vector,
    W u = D u, so that its part is (AWAWu)(AWu)/ε, which is written without the difference of
    large numbers; the rest is estimated.
    """
    laplacian, n, eps = kernel.laplacian, len(kernel), kernel.shift
    if n <= EXACT:
        return Sketch(kernel.diagonal_of(np.arange(n)), np.zeros(n))
    a = kernel.inverse
    values = a + a**2 * laplacian.spread_squares(a)
    if kernel.null.is_there:
        u = kernel.null.vector
        ua = u * a
        passed = _passed(laplacian, a, ua[:, None])[:, 0]
        values += (ua + passed) * (eps * ua) - u * (2 * ua + passed)
        if kernel.constant:
            values += u * u / eps
    signs = _signs(n, probes, kernel.seed)
    solved = kernel.solve(laplacian.spread(a[:, None] * signs))
    rest = _passed(laplacian, a, _passed(laplacian, a, solved))
    estimate = _mean(signs * rest)
    values += estimate.values
    # A diagonal of an inverse is at least the inverse of the diagonal.
    if kernel.constant:
        values = np.maximum(values, a)
    return Sketch(values, estimate.errors)


def _passed(laplacian: Laplacian, a: Doubles, x: Doubles) -> Doubles:
    return a[:, None] * laplacian.spread(x)


def _signs(n: int, probes: int, seed: int) -> Doubles:
    random = np.random.default_rng(seed)
    return random.integers(0, 2, (n, probes), np.int8) * 2.0 - 1.0


def _mean(samples: Doubles) -> Sketch:
    n_probes = samples.shape[1]
    errors = samples.std(axis=1, ddof=1) / np.sqrt(n_probes) if n_probes > 1 else samples[:, 0]
    return Sketch(samples.mean(axis=1), np.abs(errors))
