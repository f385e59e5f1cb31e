"""Is one method above another? Differences with their p, and claims that go by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles
from likewise.evaluate.significance import ALPHA, randomisation_test
from likewise_papers.experiment import UNTESTABLE, Claim, verdict

# What a claim goes by: the values of two methods, one a query, by the name of the comparison.
Pairs = Mapping[str, tuple[Doubles, Doubles]]

# So many comparisons are told one by one.
_TOLD = 6
# Of fewer values no order of signs is as rare as ALPHA.
FEWEST = 6


class Compared(NamedTuple):
    """How much one method is above another, the p of that (paired randomisation), of n values."""

    difference: float
    p: float
    n: int = 0

    @property
    def above(self) -> bool:
        """Whether the first is above the other by more than chance."""
        return self.difference > 0 and self.p < ALPHA

    @property
    def below(self) -> bool:
        """Whether the first is below the other by more than chance."""
        return self.difference < 0 and self.p < ALPHA

    def __str__(self) -> str:
        return f"{self.difference:+.3f}, p {told_p(self.p)}"


def compare(one: Doubles, other: Doubles) -> Compared:
    """Compare two methods, value by value; where either has none (NaN) it is left out."""
    between = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    between = between[~np.isnan(between)]
    mean = float(between.mean()) if len(between) else float("nan")
    return Compared(mean, randomisation_test(between), len(between))


def claim_above(text: str, pairs: Pairs, *, ours: bool = False) -> Claim:
    """Claim that the first of each pair is above the other: the mean difference, p < .05."""
    return replace(_claim(text, pairs, lambda one: one.above), ours=ours)


def claim_close(text: str, pairs: Pairs, *, ours: bool = False) -> Claim:
    """Claim that the first of each pair is not below the other by more than chance."""
    return replace(_claim(text, pairs, lambda one: not one.below), ours=ours)


def claim_same(text: str, pairs: Pairs) -> Claim:
    """Claim that the two of each pair do not differ by more than chance."""
    return _claim(text, pairs, lambda one: not (one.above or one.below))


def with_enough(claim: Claim, counts: Mapping[str, int]) -> Claim:
    """Give a claim, or say that it goes by too few values; `counts` are by name."""
    fewest = min(counts, key=lambda name: counts[name])
    if counts[fewest] >= FEWEST:
        return claim
    told = f"too few to tell more than chance: {counts[fewest]} ({fewest})"
    return replace(claim, verdict=UNTESTABLE, reason=told)


def told_p(p: float) -> str:
    """Write a p."""
    return f"{p:.4f}" if p >= 1e-4 else "< .0001"


def _claim(text: str, pairs: Pairs, holds: Callable[[Compared], bool]) -> Claim:
    found = {name: compare(*pair) for name, pair in pairs.items()}
    if not found:
        return Claim(text, UNTESTABLE, "nothing was measured that it speaks of")
    against = {name: one for name, one in found.items() if not holds(one)}
    claim = Claim(text, verdict(not against), _reason(found, against))
    return with_enough(claim, {name: one.n for name, one in found.items()})


def _reason(found: Mapping[str, Compared], against: Mapping[str, Compared]) -> str:
    """Tell all comparisons where these are few, else what speaks against it or is the closest."""
    if len(found) <= _TOLD:
        return _listed(found)
    if against:
        worst = dict(sorted(against.items(), key=lambda item: item[1].difference)[:_TOLD])
        told = f"so it is in {len(found) - len(against)} of {len(found)} comparisons, not in "
        return told + _listed(worst) + ("; …" if len(worst) < len(against) else "")
    least = min(found, key=lambda name: abs(found[name].difference))
    return (
        f"so it is in all {len(found)} comparisons; the least difference, {least}: {found[least]}"
    )


def _listed(found: Mapping[str, Compared]) -> str:
    return "; ".join(f"{name}: {one}" for name, one in found.items())
