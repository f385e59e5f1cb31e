import numpy as np
import pytest

from likewise_papers.comparing import claim_above, claim_close, claim_same, compare, told_p
from likewise_papers.experiment import FAILS, HOLDS, UNTESTABLE

LOW = np.linspace(0.1, 0.5, 40)
NOISE = np.where(np.arange(40) % 2, 0.01, -0.01)


def test_a_difference_has_a_sign_and_a_p():
    up, down, same = compare(LOW + 0.1, LOW), compare(LOW, LOW + 0.1), compare(LOW + NOISE, LOW)
    assert up.above
    assert not up.below
    assert up.difference == pytest.approx(0.1)
    assert down.below
    assert not down.above
    assert not same.above
    assert not same.below
    assert str(up) == "+0.100, p < .0001"


def test_what_has_no_value_is_left_out():
    holes = np.where(np.arange(40) < 5, np.nan, LOW + 0.1)
    assert compare(holes, LOW).difference == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("claim", "verdicts"),
    [
        (claim_above, (HOLDS, FAILS, FAILS)),
        (claim_close, (HOLDS, HOLDS, FAILS)),
        (claim_same, (FAILS, HOLDS, FAILS)),
    ],
)
def test_a_claim_goes_by_all_its_pairs(claim, verdicts):
    above, same, below = (LOW + 0.1, LOW), (LOW + NOISE, LOW), (LOW, LOW + 0.1)
    assert tuple(claim("", {"a": pair}).verdict for pair in (above, same, below)) == verdicts
    both = claim("", {"a": above, "b": below})
    assert both.verdict == FAILS
    assert "a: +0.100" in both.reason
    assert "b: -0.100" in both.reason
    assert claim("", {}).verdict == UNTESTABLE


def test_many_pairs_are_told_in_short():
    pairs = {f"p{i}": (LOW + 0.1 + i / 100, LOW) for i in range(9)}
    assert claim_above("", pairs).reason == (
        "so it is in all 9 comparisons; the least difference, p0: +0.100, p < .0001"
    )
    pairs["bad"] = LOW, LOW + 0.1
    told = claim_above("", pairs)
    assert told.verdict == FAILS
    assert told.reason == "so it is in 9 of 10 comparisons, not in bad: -0.100, p < .0001"


def test_p_is_written():
    assert told_p(0.0321) == "0.0321"
    assert told_p(0.00005) == "< .0001"


def test_a_few_values_tell_nothing():
    ones = np.ones(6)
    assert claim_above("t", {"a": (ones, 0 * ones)}).verdict == HOLDS
    for claim in (claim_above, claim_close, claim_same):
        found = claim("t", {"a": (ones, 0 * ones), "b": (ones[:5], 0 * ones[:5])})
        assert found.verdict == UNTESTABLE
        assert found.reason == "too few to tell more than chance: 5 (b)"
