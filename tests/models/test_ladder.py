"""Are nested axes the mean of cosines that they stand for, and can they be taken back?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.models.ladder import factors, ladder_of, nest, unnest


def random_rows(n=40, width=200, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, width)) * np.linspace(1, 0.1, width)
    return rows.astype(np.float32)


@pytest.mark.parametrize(
    ("width", "rungs", "ladder"),
    [
        (200, 4, (25, 50, 100, 200)),
        (200, 1, (200,)),
        (3, 4, (1, 3)),
        (1, 4, (1,)),
        (0, 4, ()),
    ],
)
def test_ladders_halve(width, rungs, ladder):
    assert ladder_of(width, rungs) == ladder


def test_products_are_nearly_the_mean_of_cosines():
    rows, ladder = random_rows(), (25, 50, 100, 200)
    found = nest(rows, ladder).astype(np.float64)
    expected = np.zeros((40, 40))
    for width in ladder:
        first = rows[:, :width].astype(np.float64)
        first /= np.linalg.norm(first, axis=1, keepdims=True)
        expected += first @ first.T / len(ladder)
    assert found @ found.T == pytest.approx(expected, abs=0.01)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(40), abs=1e-5)


def test_one_rung_is_the_direction():
    rows = random_rows(width=7)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert nest(rows, (7,)) == pytest.approx(rows / lengths, abs=1e-6)
    assert nest(rows, ()) is rows
    assert unnest(rows, ()) is rows


@given(
    arrays(np.float32, (3, 6), elements=st.floats(-1, 1, width=16)),
    st.integers(1, 4),
)
def test_directions_come_back(rows, rungs):
    rows = np.concatenate([rows, random_rows(2, 6)])
    ladder = ladder_of(6, rungs)
    # What has nothing in its first axes has lost nothing by them.
    there = (np.abs(rows[:, : ladder[0]]).max(axis=1) > 0.05) & (np.abs(rows).max(axis=1) > 0)
    nested = nest(rows, ladder)
    assert np.isfinite(nested).all()
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    expected = rows / np.where(lengths > 0, lengths, 1)
    assert unnest(nested, ladder)[there] == pytest.approx(expected[there], abs=1e-3)
    assert not unnest(nested, ladder)[~rows.any(axis=1)].any()
    assert not factors(np.zeros((1, 6), np.float32), ladder).any()
