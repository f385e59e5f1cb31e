import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from likewise.errors import UsageError
from likewise.evaluate.significance import (
    _flipped,
    bootstrap_interval,
    changes,
    holm,
    randomisation_test,
    t_test,
)


@pytest.mark.parametrize("n", [2, 3, 15, 225])
def test_the_t_test_equals_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    assert t_test(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)


def test_the_t_test_by_hand():
    # Mean 2, standard deviation 1, t = 2 / (1 / sqrt 3) with 2 degrees of freedom:
    # p = 1 - t / sqrt(t² + 2).
    t = 2 * math.sqrt(3)
    assert t_test([1.0, 2.0, 3.0]) == pytest.approx(1 - t / math.sqrt(t * t + 2))


def test_the_randomisation_test_by_hand():
    # Of the 8 sums ±1 ±2 ±3 only +6 and -6 lie as far out as 6; 4 do as 4 = -1 + 2 + 3.
    assert randomisation_test([1.0, 2.0, 3.0]) == 2 / 8
    assert randomisation_test([-1.0, 2.0, 3.0]) == 4 / 8
    # Queries without a difference change nothing.
    assert randomisation_test([0.0, 1.0, 0.0, 2.0, 3.0]) == 2 / 8
    # 0.1 + 0.2 - 0.3 is not 0 in floating point, yet all sums lie as far out as 0.
    assert randomisation_test([0.1, 0.2, -0.3]) == 1.0


def test_enumeration_equals_scipy():
    differences = np.random.default_rng(5).normal(0.3, 1, size=10)
    expected = stats.permutation_test(
        (differences, np.zeros(10)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert randomisation_test(differences) == pytest.approx(expected.pvalue)


def test_random_flips_come_near_enumeration():
    differences = np.random.default_rng(6).normal(0.45, 1, size=14)
    exact = randomisation_test(differences)
    # A fifteenth difference next to nothing leads to random flips with nearly the same answer.
    sampled = randomisation_test(np.append(differences, 1e-7), flips=40_000)
    assert 0.02 < exact < 0.5
    assert sampled == pytest.approx(exact, abs=0.015)


def test_random_flips_repeat_with_their_seed_and_never_reach_zero():
    differences = np.random.default_rng(7).normal(0.1, 1, size=60)
    assert randomisation_test(differences, seed=4) == randomisation_test(differences, seed=4)
    assert randomisation_test(differences, seed=4) != randomisation_test(differences, seed=5)
    assert randomisation_test(np.ones(60), flips=99) == 1 / 100


def test_p_values_are_uniform_where_labels_are_shuffled():
    rng = np.random.default_rng(8)
    p_values = []
    for _ in range(400):
        pair = rng.gamma(0.5, size=(2, 30))
        p_values.append(
            randomisation_test(pair[0] - pair[1], flips=1000, seed=int(rng.integers(99)))
        )
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p_values) <= level) == pytest.approx(level, abs=0.08)


@pytest.mark.parametrize("test", [t_test, randomisation_test])
def test_degenerate_differences(test):
    assert test(np.zeros(5)) == 1.0
    assert test(np.full(20, 1e-12)) == 1.0
    assert math.isnan(test([0.3]))
    assert math.isnan(test([0.0]))
    assert math.isnan(test([]))
    with pytest.raises(UsageError, match="one value a query"):
        test(np.zeros((2, 2)))


def test_equal_differences_leave_the_t_test_no_doubt():
    assert t_test([0.5, 0.5, 0.5]) == 0.0


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20))
def test_p_values_are_probabilities_and_symmetric(differences):
    values = np.array(differences)
    for test in (t_test, lambda d: randomisation_test(d, flips=200)):
        p = test(values)
        assert 0 <= p <= 1
        assert test(-values) == pytest.approx(p)


def test_flipped_sums_equal_the_plain_ones():
    rng = np.random.default_rng(9)
    subsets = rng.integers(0, 2, size=(50, 7))
    sizes = rng.random(7)
    expected = np.where(subsets, sizes, -sizes).sum(axis=1)
    assert _flipped(subsets, sizes) == pytest.approx(expected)


def test_holm_by_hand():
    # In order .01 × 4, .03 × 3, .04 × 2 (raised to the one before), .05 × 1 (raised too).
    assert holm([0.04, 0.01, 0.05, 0.03]) == pytest.approx([0.09, 0.04, 0.09, 0.09])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_does_not_count_what_was_not_tested():
    corrected = holm([math.nan, 0.02, 0.03])
    assert math.isnan(corrected[0])
    assert corrected[1:] == pytest.approx([0.04, 0.04])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    pairs = sorted(zip(p_values, corrected, strict=True))
    assert [c for _, c in pairs] == sorted(c for _, c in pairs)


def test_the_interval_is_near_that_of_the_normal_distribution():
    values = np.random.default_rng(10).random(400)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.003)
    assert bootstrap_interval(values) == (low, high)
    assert bootstrap_interval(values, seed=1) != (low, high)
    narrow = bootstrap_interval(values, level=0.5)
    assert low < narrow.low < narrow.high < high


def test_intervals_of_little():
    assert bootstrap_interval([0.5] * 9) == (0.5, 0.5)
    assert all(map(math.isnan, bootstrap_interval([0.5])))
    with pytest.raises(UsageError, match="level"):
        bootstrap_interval([0.1, 0.2], level=95)
    with pytest.raises(UsageError, match="flip"):
        randomisation_test([0.1, 0.2], flips=0)


def test_changes_are_counted_with_a_tolerance():
    counted = changes([0.1, -0.2, 0.3, 0.0, 1e-12, -1e-12])
    assert counted == (2, 1, 3)
    assert (counted.helped, counted.hurt, counted.equal) == (2, 1, 3)
