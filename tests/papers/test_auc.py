"""AUC for each document, held against all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.evaluate.significance import Changes, randomisation_test
from likewise_papers.auc import area, auc, difference, predicted, summarise

# Few distinct values, so that many are tied, and infinite ones among them.
SCORES = st.sampled_from([-math.inf, -1.5, 0.0, 0.25, 1.0, math.inf]) | st.floats(allow_nan=False)
RANKED = st.lists(st.tuples(SCORES, st.booleans()), max_size=40)


def by_pairs(scores, labels):
    """Count the pairs of which the labelled one has the higher score."""
    above = [s for s, label in zip(scores, labels, strict=True) if label]
    below = [s for s, label in zip(scores, labels, strict=True) if not label]
    if not above or not below:
        return math.nan
    wins = sum((p > q) + (p == q) / 2 for p in above for q in below)
    return wins / (len(above) * len(below))


@given(RANKED)
def test_auc_is_the_share_of_pairs(ranked):
    scores, labels = [s for s, _ in ranked], [label for _, label in ranked]
    found = auc(scores, labels)
    assert found == pytest.approx(by_pairs(scores, labels), nan_ok=True)
    assert math.isnan(found) or 0 <= found <= 1


@given(RANKED)
def test_the_reverse_has_the_rest(ranked):
    scores = np.array([s for s, _ in ranked])
    labels = np.array([label for _, label in ranked], bool)
    assert auc(-scores, labels) == pytest.approx(1 - auc(scores, labels), nan_ok=True)
    assert auc(scores, ~labels) == pytest.approx(1 - auc(scores, labels), nan_ok=True)


@given(RANKED, st.randoms(use_true_random=False))
def test_neither_order_nor_scale_matters(ranked, random):
    mixed = random.sample(ranked, len(ranked))
    before = auc([s for s, _ in ranked], [label for _, label in ranked])
    assert auc([s for s, _ in mixed], [label for _, label in mixed]) == pytest.approx(
        before, nan_ok=True
    )
    # Ranks instead of scores: any scale that keeps the order.
    _, ranks = np.unique([s for s, _ in ranked], return_inverse=True)
    assert auc(ranks, [label for _, label in ranked]) == pytest.approx(before, nan_ok=True)


def test_the_kernel_equals_numpy():
    random = np.random.default_rng(1)
    scores = np.sort(random.integers(0, 50, 500)).astype(np.float64)
    labels = random.random(500) < 0.1
    p, q = scores[labels], scores[~labels]
    plain = ((p[:, None] > q).mean() + (p[:, None] >= q).mean()) / 2
    assert area(scores, labels) == pytest.approx(plain, rel=1e-12)


def test_by_hand():
    # Of the four pairs 3 > 2, 3 > 0, 1 < 2 and 1 > 0 three are the right way round.
    assert auc([3, 1, 2, 0], [1, 1, 0, 0]) == 0.75
    assert auc([5, 5, 5], [0, 1, 0]) == 0.5
    assert math.isnan(auc([1, 2], [1, 1]))
    assert math.isnan(auc([], []))


@given(st.lists(RANKED, max_size=5))
def test_documents_are_each_alone(documents):
    scores = [[s for s, _ in ranked] for ranked in documents]
    labels = [[label for _, label in ranked] for ranked in documents]
    expected = [auc(s, y) for s, y in zip(scores, labels, strict=True)]
    np.testing.assert_array_equal(predicted(scores, labels), expected)
    # One at a time is the same as all at once.
    np.testing.assert_array_equal(predicted(iter(scores), iter(labels)), expected)


def test_masks_leave_candidates_out():
    random = np.random.default_rng(2)
    scores, labels = random.random((6, 30)), random.random((6, 30)) < 0.3
    among = random.random((6, 30)) < 0.5
    rows = zip(scores, labels, among, strict=True)
    expected = [by_pairs(s[kept], y[kept]) for s, y, kept in rows]
    np.testing.assert_allclose(predicted(scores, labels, among=among), expected)


def test_the_summary_leaves_out_documents_without_an_auc():
    found = summarise([0.5, math.nan, 0.7, 0.9])
    assert found.mean == pytest.approx(0.7)
    assert found.n_docs == 3
    assert 0.5 <= found.interval.low <= 0.7 <= found.interval.high <= 0.9
    assert summarise([0.5, 0.7, 0.9]) == found
    nothing = summarise([math.nan])
    assert math.isnan(nothing.mean)
    assert nothing.n_docs == 0


def test_differences_are_paired():
    a = np.array([0.9, 0.8, math.nan, 0.6, 0.7])
    b = np.array([0.8, 0.9, 0.5, 0.5, math.nan])
    found = difference(a, b)
    assert found.mean == pytest.approx(0.1 / 3)
    assert found.changes == Changes(helped=2, hurt=1, equal=0)
    assert found.p == randomisation_test([0.1, -0.1, 0.1])
    assert difference(b, a).mean == pytest.approx(-found.mean)
    assert difference(a, a).p == 1.0


@pytest.mark.parametrize(
    ("scores", "labels", "told"),
    [
        ([1.0, 2.0], [1], "label is needed for each score"),
        ([[1.0, 2.0]], [[1, 0]], "label is needed for each score"),
        ([1.0, math.nan], [1, 0], "NaN"),
        ([1.0, 2.0], [1, 2], "labels are 0 or 1"),
    ],
)
def test_what_has_no_auc_is_told(scores, labels, told):
    with pytest.raises(UsageError, match=told):
        auc(scores, labels)


def test_what_does_not_fit_is_told():
    with pytest.raises(UsageError, match="not of as many documents: 1 have all"):
        predicted([[1.0, 2.0], [1.0, 2.0]], [[0, 1]])
    with pytest.raises(UsageError, match="not of as many documents: 0 have all"):
        predicted([[1.0, 2.0]], [[0, 1]], among=[])
    with pytest.raises(UsageError, match="not of as many documents: 1 have all"):
        predicted([[1.0, 2.0]], [[0, 1]], among=[[True, True], [True, True]])
    with pytest.raises(UsageError, match="a mask of"):
        predicted([[1.0, 2.0]], [[0, 1]], among=[[True]])
    with pytest.raises(UsageError, match="a row for each document"):
        predicted(np.ones(3), np.ones((3, 1)))
    with pytest.raises(UsageError, match="same documents"):
        difference([0.5], [0.5, 0.6])
