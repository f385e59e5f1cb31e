"""Is a difference between two runs more than chance?

Everything here takes one value a query: the differences to a baseline, or a run's own values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import UsageError

# Corrected p values below this are marked.
ALPHA = 0.05

# Differences this small come from rounding, not from the ranking.
TOLERANCE = 1e-9

_ENUMERATED = 14
_NUMBERS_AT_ONCE = 1 << 20


class Changes(NamedTuple):
    """For how many queries the baseline's value rose, fell, or stayed (within 1e-9)."""

    helped: int
    hurt: int
    equal: int


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def changes(differences: ArrayLike) -> Changes:
    """Count the queries helped, hurt and left equal."""
    values = _values(differences)
    helped = int(np.count_nonzero(values > TOLERANCE))
    hurt = int(np.count_nonzero(values < -TOLERANCE))
    return Changes(helped, hurt, values.size - helped - hurt)


def t_test(differences: ArrayLike) -> float:
    """The two-sided p of Student's paired t-test.

    1 where nothing differs; NaN for fewer than two queries, which leave nothing to test.
    """
    from scipy.special import stdtr

    values = _values(differences)
    if values.size < 2:
        return math.nan
    if not np.any(np.abs(values) > TOLERANCE):
        return 1.0
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    if error == 0:
        return 0.0
    return float(2 * stdtr(values.size - 1, -abs(float(values.mean())) / error))


def randomisation_test(differences: ArrayLike, *, flips: int = 20_000, seed: int = 0) -> float:
    """The two-sided p of Fisher's paired randomisation test on the mean (Smucker et al. 2007).

    Under the null hypothesis each difference could as well have the other sign. With up to 14
    queries that differ, all signs are enumerated and p is exact; with more, p = (b + 1) / (m + 1)
    for the b of m random sign flips whose mean lies as far from 0. 1 where nothing differs; NaN
    for fewer than two queries.
    """
    if flips < 1:
        raise UsageError(f"the test needs at least one flip, not {flips}")
    values = _values(differences)
    if values.size < 2:
        return math.nan
    # A query without a difference has no sign to flip and adds nothing to the sum.
    sizes = np.abs(values[np.abs(values) > TOLERANCE])
    if not sizes.size:
        return 1.0
    # Sums of the same numbers in another order may differ in their last digits.
    bound = abs(float(values.sum())) - TOLERANCE * float(sizes.sum())
    if sizes.size <= _ENUMERATED:
        subsets = np.arange(1 << sizes.size)[:, np.newaxis] >> np.arange(sizes.size) & 1
        return float(np.mean(np.abs(_flipped(subsets, sizes)) >= bound))
    random = np.random.default_rng(seed)
    beyond = 0
    for rows in _blocks(flips, width=sizes.size):
        subsets = random.integers(0, 2, size=(rows, sizes.size), dtype=np.int8)
        beyond += int(np.count_nonzero(np.abs(_flipped(subsets, sizes)) >= bound))
    return (beyond + 1) / (flips + 1)


def holm(p_values: Sequence[float] | NDArray[np.float64]) -> list[float]:
    """Correct p values for being many (Holm 1979); NaN stays NaN and is not counted."""
    given = _values(p_values)
    corrected = np.full(given.size, math.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return [float(p) for p in corrected]


def bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, samples: int = 10_000, seed: int = 0
) -> Interval:
    """The bootstrap percentile interval of the mean over queries (Efron 1979).

    NaN for fewer than two queries.
    """
    if not 0 < level < 1 or samples < 1:
        raise UsageError(
            f"a level between 0 and 1 and at least one sample are needed, not {level} and {samples}"
        )
    given = _values(values)
    if given.size < 2:
        return Interval(math.nan, math.nan)
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [
            given[random.integers(0, given.size, size=(rows, given.size))].mean(axis=1)
            for rows in _blocks(samples, width=given.size)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _flipped(subsets: NDArray[np.integer], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums with the signs of each row's subset positive.

    Equals `np.where(subsets, sizes, -sizes).sum(axis=1)`.
    """
    sums: NDArray[np.float64] = 2 * (subsets.astype(np.float64) @ sizes) - sizes.sum()
    return sums


def _blocks(n_rows: int, *, width: int) -> Iterable[int]:
    """Numbers of rows that add up to `n_rows`, each block small enough to hold in memory."""
    block = max(1, _NUMBERS_AT_ONCE // width)
    for start in range(0, n_rows, block):
        yield min(block, n_rows - start)


def _values(given: ArrayLike) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.asarray(given, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"one value a query is needed, not an array of shape {values.shape}")
    return values
