from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import SourceError
from likewise.sources.fields import as_number, clean


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("", None),
        ("0", 0),
        ("-12", -12),
        ("3.50", 3.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ("007", "007"),
        ("-01.5", "-01.5"),
        ("+1", "+1"),
        ("1_000", "1_000"),
        ("٣", "٣"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e999", "1e999"),
        ("12345678901234567890", "12345678901234567890"),
        ("1.2.3", "1.2.3"),
        ("-", "-"),
        (" 1", " 1"),
        ("1\n", "1\n"),
    ],
)
def test_cells_that_look_like_numbers(cell, value):
    assert as_number(cell) == value
    assert type(as_number(cell)) is type(value)


@given(st.integers(-(10**18) + 1, 10**18 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_written_numbers_come_back(number):
    assert as_number(str(number)) == number


@given(st.text())
def test_any_cell_has_a_value(cell):
    value = as_number(cell)
    assert value is None or value == cell or (type(value) in (int, float) and math.isfinite(value))


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("x", "x"),
        (True, True),
        (2**63, 2**63),
        (2**64, float(2**64)),
        (Decimal("1.5"), 1.5),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (dt.datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04:00"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1), 60.0),
        (pd.Timestamp("2020-01-02 03:04:05.000006007"), "2020-01-02T03:04:05.000006007"),
        (pd.Timestamp("2020-01-02", tz="Europe/Berlin"), "2020-01-02T00:00:00+01:00"),
        (np.datetime64("2020-01-02T03:04:05.5", "ns"), "2020-01-02T03:04:05.500000"),
        (np.datetime64("2020-01-02"), "2020-01-02T00:00:00"),
        (np.array(["2020-01-02"], "datetime64[ns]"), ["2020-01-02T00:00:00"]),
        (np.int64(5), 5),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([1, 2]), [1, 2]),
        (("a", "b"), ["a", "b"]),
        ({"b", "a"}, ["a", "b"]),
        (["a", None, 1, 2.5, False, math.nan], ["a", 1, 2.5, False]),
        ([], []),
        ([{"a": 1}, {"b": [2]}], '[{"a":1},{"b":[2]}]'),
        ([[1, 2], [3]], "[[1,2],[3]]"),
        ([[Decimal("0.5"), b"x"]], "[[0.5,null]]"),
    ],
)
def test_stored_values(value, stored):
    found = clean({"f": value}, "p")["f"]
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize(
    "value",
    [
        None,
        math.nan,
        math.inf,
        b"bytes",
        pd.NaT,
        pd.NA,
        np.datetime64("NaT"),
        Decimal("NaN"),
        Decimal("sNaN"),
    ],
)
def test_values_left_out(value):
    assert clean({"f": value, "g": 1}, "p") == {"g": 1}


def test_nested_records_get_dotted_keys_in_order():
    record = {"z": 1, "a": {"c": 2, "b": {"d": [3]}}, "e": {}}
    assert list(clean(record, "p").items()) == [("z", 1), ("a.c", 2), ("a.b.d", [3])]


@pytest.mark.parametrize("value", [object(), 1j, [object()], [[object()]]])
def test_what_cannot_be_stored_is_refused(value):
    with pytest.raises(SourceError, match=r"p: field 'f' cannot be stored"):
        clean({"f": value}, "p")


def test_two_fields_of_one_name_are_refused():
    with pytest.raises(SourceError, match=r"two fields are both called 'a\.b'"):
        clean({"a": {"b": 1}, "a.b": 2}, "p")


def test_endless_nesting_is_refused():
    record = {}
    record["self"] = record
    with pytest.raises(SourceError, match=r"nested deeper than 64"):
        clean(record, "p")
    loop = []
    loop.append(loop)
    with pytest.raises(SourceError, match=r"cannot be stored"):
        clean({"f": loop}, "p")


@pytest.mark.parametrize("record", [{"f": "\ud800"}, {"\udfff": "x"}, {"f": ["ok", "\ud800"]}])
def test_lone_surrogates_are_refused(record):
    with pytest.raises(SourceError, match=r"surrogate"):
        clean(record, "p")


def test_lists_are_not_shared_with_the_record():
    record = {"f": ["a"]}
    found = clean(record, "p")
    record["f"].append("b")
    assert found == {"f": ["a"]}
