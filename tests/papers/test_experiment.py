import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise_papers.experiment import (
    VERDICTS,
    Claim,
    Drawing,
    Result,
    Row,
    Table,
    Value,
    estimate,
    read_result,
    untestable,
    verdict,
)

from .made_up import everything

TEXTS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.builds(Value, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
ROWS = st.builds(
    Row,
    TEXTS,
    st.dictionaries(TEXTS, VALUES, max_size=2),
    st.dictionaries(TEXTS, NUMBERS, max_size=2),
    st.booleans(),
)
TABLES = st.builds(
    Table,
    TEXTS,
    st.lists(TEXTS, max_size=2).map(tuple),
    st.lists(ROWS, max_size=2).map(tuple),
    st.integers(0, 6),
    TEXTS,
    TEXTS,
)
PANELS = st.fixed_dictionaries(
    {"name": TEXTS, "lines": st.dictionaries(TEXTS, st.lists(st.lists(NUMBERS)), max_size=2)}
)
DRAWINGS = st.builds(
    Drawing, TEXTS, TEXTS, TEXTS, TEXTS, st.lists(PANELS, max_size=2).map(tuple), TEXTS
)
CLAIMS = st.builds(Claim, TEXTS, st.sampled_from(VERDICTS), TEXTS, st.booleans())
RESULTS = st.builds(
    Result,
    st.lists(CLAIMS, max_size=2).map(tuple),
    st.lists(TABLES, max_size=2).map(tuple),
    st.lists(DRAWINGS, max_size=2).map(tuple),
)


def through_json(result):
    return read_result(orjson.loads(orjson.dumps(result.to_json())))


@given(RESULTS)
def test_a_result_comes_back_from_json_as_it_went(result):
    assert through_json(result) == result


def test_what_is_not_a_number_stays_so():
    (row,) = (
        through_json(Result((), (Table("t", ("a",), (Row("r", {"a": Value(math.nan)}),)),)))
        .tables[0]
        .rows
    )
    assert math.isnan(row.values["a"].mean)
    assert row.values["a"].low is None


def test_a_result_with_everything_comes_back_the_same_from_then_on():
    once = through_json(everything())
    assert once.claims == everything().claims
    assert orjson.dumps(through_json(once).to_json()) == orjson.dumps(once.to_json())


def test_a_verdict_is_one_of_three():
    assert {verdict(True), verdict(False), untestable("a", "b").claims[0].verdict} == set(VERDICTS)
    with pytest.raises(UsageError, match=r"holds, does not hold, not testable here, not 'maybe'"):
        Claim("a", "maybe", "b")


def test_an_estimate_has_an_interval_where_there_is_something_to_draw_from():
    value = estimate([0.1, 0.2, 0.6])
    assert value.mean == pytest.approx(0.3)
    assert value.low is not None
    assert value.high is not None
    assert 0.1 <= value.low < value.mean < value.high <= 0.6
    assert estimate([0.1, 0.2, 0.6]) == value
    assert estimate([0.4]) == Value(0.4)
    assert math.isnan(estimate([]).mean)
