"""Do columns of impacts say what postings say?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.impact_columns import (
    COLUMN_BYTES,
    COLUMN_FROM,
    N_CODES,
    choose_levels,
    code_in,
    codes_of,
    read_columns,
    write_columns,
)
from likewise.collection.postings import BLOCK
from likewise.compiled import kernel
from likewise.errors import DamagedError


@kernel
def all_codes(codes, column):
    out = np.empty(BLOCK, np.uint8)
    for doc in range(BLOCK):
        out[doc] = code_in(codes, column, doc)
    return out


def written(sizes, seed=0):
    """Runs of postings of some sizes, and the columns that are made of them."""
    rng = np.random.default_rng(seed)
    docs = [np.sort(rng.choice(BLOCK, n, replace=False)).astype(np.uint16) for n in sizes]
    impacts = [np.clip(rng.normal(115, 40, n), 1, 255).astype(np.uint8) for n in sizes]
    out = Memory()
    write_columns(out, np.cumsum([0, *sizes]), np.concatenate(docs), np.concatenate(impacts))
    return docs, impacts, out


def test_a_column_has_the_code_of_every_document_of_a_long_run():
    sizes = [5, COLUMN_FROM, COLUMN_FROM - 1, BLOCK, 20_000]
    docs, impacts, out = written(sizes)
    columns = read_columns(out, "some")
    assert columns.entries.tolist() == [1, 3, 4]
    for column, entry in enumerate(columns.entries):
        codes = all_codes(columns.codes, column)
        expected = np.zeros(BLOCK, np.uint8)
        expected[docs[entry]] = np.searchsorted(columns.levels, impacts[entry])
        assert codes.tolist() == expected.tolist()
        raised = columns.levels[codes[docs[entry]]].astype(int) - impacts[entry]
        assert raised.min() >= 0
        assert raised.mean() < 8


def test_a_segment_of_short_runs_has_no_columns():
    _, _, out = written([5, 300])
    assert "columns.entries" not in out
    columns = read_columns(out, "some")
    assert len(columns.entries) == len(columns.codes) == 0


@settings(max_examples=50, deadline=None)
@given(frequencies=st.dictionaries(st.integers(1, 255), st.integers(1, 1000), max_size=60))
def test_no_other_levels_raise_impacts_by_less(frequencies):
    counts = np.zeros(256, np.int64)
    counts[list(frequencies)] = list(frequencies.values())
    levels = choose_levels(counts)
    assert levels[0] == 0
    assert levels[-1] == 255
    assert (np.diff(levels.astype(int)) > 0).all()
    assert codes_of(levels).tolist() == np.searchsorted(levels, np.arange(256)).tolist()

    def raised(some):
        return (counts * (some[np.searchsorted(some, np.arange(256))] - np.arange(256))).sum()

    cost = raised(levels.astype(int))
    if len(frequencies) < N_CODES - 1:
        assert cost == 0
    # Moving any one level makes it no better.
    for i in range(1, N_CODES - 1):
        for level in range(levels[i - 1] + 1, levels[i + 1]):
            other = levels.astype(int)
            other[i] = level
            assert raised(other) >= cost


def altered(name, values):
    _, _, out = written([COLUMN_FROM, COLUMN_FROM])
    other = Memory()
    for each in ("columns.entries", "columns.codes", "columns.levels"):
        other.put(each, values if each == name else out[each])
    return other


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("columns.entries", np.array([0], np.uint32)),
        ("columns.entries", np.array([1, 0], np.uint32)),
        ("columns.codes", np.zeros(COLUMN_BYTES, np.uint8)),
        ("columns.levels", np.zeros(3, np.uint8)),
        ("columns.levels", np.arange(N_CODES, dtype=np.uint8)[::-1].copy()),
    ],
)
def test_columns_that_do_not_fit_together_are_told(name, values):
    with pytest.raises(DamagedError, match=r"some: columns of impacts do not fit"):
        read_columns(altered(name, values), "some")
