from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import notation
from likewise.errors import UsageError


@dataclass(frozen=True)
class Knobs:
    notation: ClassVar[str] = "knobs"
    weight: float = 1.5
    depth: int = 10
    exact: bool = False
    name: str = "plain"


@dataclass(frozen=True)
class Nothing:
    notation: ClassVar[str] = "no-thing"


TABLE = {"knobs": Knobs, "no-thing": Nothing}


def read(text):
    return notation.read(text, TABLE, what="model")


@given(
    st.floats(allow_nan=False),
    st.integers(-(10**30), 10**30),
    st.booleans(),
    st.text("abcxyz-_ é", min_size=1).map(str.strip),
)
def test_what_is_written_is_read(weight, depth, exact, name):
    knobs = Knobs(weight, depth, exact, name)
    assert read(notation.write(knobs)) == knobs


balanced = st.recursive(
    st.text("abz=.1 ", max_size=4),
    lambda inner: st.lists(inner, max_size=3).map(lambda its: f"f({','.join(its)})"),
    max_leaves=8,
)


@given(st.lists(balanced, max_size=3).map("".join).map(str.strip), st.integers(0, 20))
def test_a_value_may_be_written_the_same_way(name, depth):
    knobs = Knobs(depth=depth, name=name)
    assert read(notation.write(knobs)) == knobs


def test_commas_within_parentheses():
    found = read("knobs( name = walk(alpha=2,steps=f(1,2)) , depth=3 )")
    assert found == Knobs(name="walk(alpha=2,steps=f(1,2))", depth=3)


@pytest.mark.parametrize(
    "text",
    [
        "knobs(name=walk(alpha=2)",
        "knobs(name=walk(alpha=2,depth=3)",
        "knobs(name=a)b(c)",
        "knobs(depth=3))",
        "knobs(()",
        "knobs(depth=3)(name=a)",
    ],
)
def test_parentheses_that_do_not_match(text):
    with pytest.raises(UsageError, match="has parentheses that do not match: each"):
        read(text)


def test_defaults_are_left_out():
    assert notation.write(Knobs()) == "knobs"
    assert notation.write(Nothing()) == "no-thing"
    assert notation.write(Knobs(weight=2.0, exact=True)) == "knobs(weight=2.0,exact=True)"


@pytest.mark.parametrize(
    "text", ["knobs", " knobs ", "knobs()", "knobs( )", "knobs(weight=1.5)", "knobs(depth = 10,)"]
)
def test_ways_to_write_the_default(text):
    assert read(text) == Knobs()


def test_truth_in_any_case():
    assert read("knobs(exact=TRUE)") == Knobs(exact=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "model '' is not written as name"),
        ("knobs(weight=1", "is not written as name"),
        ("9knobs", "is not written as name"),
        ("bobs", "unknown model 'bobs': it is one of knobs, no-thing"),
        ("knobs(size=1)", "'size=1' is no option; it has weight=1.5, depth=10"),
        ("knobs(weight)", "'weight' is no option"),
        ("no-thing(x=1)", "it has none"),
        ("knobs(weight=much)", "weight must be a number, not 'much'"),
        ("knobs(depth=1.5)", "depth must be a whole number, not '1.5'"),
        ("knobs(exact=maybe)", "exact must be true or false, not 'maybe'"),
        ("knobs(depth=)", "depth must be a whole number, not ''"),
        ("knobs(depth=" + "9" * 5000 + ")", "depth must be a whole number"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(UsageError, match=message):
        read(text)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text):
    for candidate in (text, f"knobs({text})", f"knobs(depth={text})"):
        with suppress(UsageError):
            assert isinstance(read(candidate), Knobs | Nothing)
