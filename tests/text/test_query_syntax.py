"""What a person types, and what it is read as."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.records import Match, match_all, match_any, match_none
from likewise.text import query_syntax
from likewise.text.query_syntax import MOST_WORDS, TypedWord, parse_query

FIELDS = ("title",)


def word(text, field=""):
    return Match("words", text, field)


@pytest.mark.parametrize(
    ("typed", "text", "match"),
    [
        ("black holes -tit", "black holes", match_none(word("tit"))),
        ('"black holes" star', "black holes star", word("black holes")),
        ("“black holes”", "black holes", word("black holes")),
        ("+nile -egypt", "nile", match_all([word("nile"), match_none(word("egypt"))])),
        ('-"coal tit" black', "black", match_none(word("coal tit"))),
        ("title:nile river", "nile river", word("nile", "title")),
        ('title:"black hole"', "black hole", word("black hole", "title")),
        ("-title:nile egypt", "egypt", match_none(word("nile", "title"))),
        ("+neuro* x", "neuro x", Match("prefix", "neuro")),
        ("a AND b c", "a b c", match_all([word("a"), word("b")])),
        ("a OR b c", "a b c", match_any([word("a"), word("b")])),
        ("a b NOT c", "a b", match_none(word("c"))),
        (
            "(a OR b) AND NOT c",
            "a b",
            match_all([match_any([word("a"), word("b")]), match_none(word("c"))]),
        ),
        (
            "a AND b OR c",
            "a b c",
            match_any([match_all([word("a"), word("b")]), word("c")]),
        ),
        ("+(a b) c", "a b c", match_any([word("a"), word("b")])),
        (
            "(a -b) OR c",
            "a c",
            match_any([match_all([word("a"), match_none(word("b"))]), word("c")]),
        ),
        ("-(a b) c", "c", match_none(match_any([word("a"), word("b")]))),
        ("NOT -a", "a", word("a")),
        ("-tit", "", match_none(word("tit"))),
    ],
)
def test_operators_say_what_must_match(typed, text, match):
    found = parse_query(typed, FIELDS)
    assert (found.text, found.match, found.note) == (text, match, "")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("nile^3 river", [("nile", 3, False), ("river", 1, False)]),
        ("neuro* disease", [("neuro", 1, True), ("disease", 1, False)]),
        ('"a b"^2.5 c', [("a b", 2.5, False), ("c", 1, False)]),
        ("(a b)^2 c", [("a", 2, False), ("b", 2, False), ("c", 1, False)]),
        ("nile^9999", [("nile", 100, False)]),
    ],
)
def test_words_have_weights_and_prefixes(typed, words):
    assert parse_query(typed).words == tuple(TypedWord(*one) for one in words)


@pytest.mark.parametrize(
    "typed",
    [
        "black holes",
        "e-mail - x",
        "c++",
        "U.S.A.",
        "f(x) = y",
        "(black holes)",
        "year:1990 nile",
        "http://example.org/a",
        "nile^x",
        "a*b x*",
        "what is -- this",
        "x +",
        "android ANDROID ORB",
        '"" nile',
    ],
)
def test_what_has_no_operators_is_searched_for_as_it_stands(typed):
    found = parse_query(typed, FIELDS)
    assert (found.words, found.match, found.note) == ((TypedWord(typed),), None, "")


@pytest.mark.parametrize(
    ("typed", "text", "why"),
    [
        ('"black holes', '"black holes', "a quotation mark is not closed"),
        ('5" disk', '5" disk', "a quotation mark stands within a word"),
        ('"a"b c', '"a"b c', "a quotation mark stands within a word"),
        ("(black holes", "(black holes", "a parenthesis is not closed"),
        ("black holes)", "black holes)", "a parenthesis was not opened"),
        ("nile AND", "nile", "AND stands without what it joins"),
        ("OR nile", "nile", "OR stands without what it joins"),
        ("nile AND OR egypt", "nile egypt", "AND stands without what it joins"),
        ("nile (OR egypt)", "nile (OR egypt)", "OR stands without what it joins"),
        ("nile NOT", "nile", "NOT stands without what it joins"),
        (
            "(" * 21 + "nile" + ")" * 21,
            "(" * 21 + "nile" + ")" * 21,
            "more than 20 parentheses stand within one another",
        ),
        ("nile ()", "nile ()", "nothing stands within parentheses"),
        ("nile (egypt AND) x", "nile (egypt AND) x", "AND stands without what it joins"),
    ],
)
def test_what_is_malformed_is_plain_and_said(typed, text, why):
    found = parse_query(typed, FIELDS)
    assert (found.text, found.match) == (text, None)
    assert found.note == f"{why}: searched as plain words"


def test_a_long_text_is_plain():
    inside = " ".join(["a", "-b", *["word"] * (MOST_WORDS - 2)])
    assert parse_query(inside).match is not None
    assert parse_query(f"{inside} word").words == (TypedWord(f"{inside} word"),)


def test_without_a_field_its_name_is_a_word():
    assert parse_query("title:nile").match is None
    assert parse_query('title:"black hole"').text == "title black hole"


typed_words = st.sampled_from(["a", "nile", "+b", "-c", "title:d", '"e f"', "g*", "h^2"])
trees = st.recursive(
    typed_words,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} AND {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} OR {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} {two[1]})"),
        inner.map(lambda one: f"NOT {one}"),
    ),
    max_leaves=8,
)


@given(trees)
def test_a_match_prints_as_it_is_typed(typed):
    found = parse_query(typed, FIELDS)
    assert not found.note
    if found.match is not None:
        assert parse_query(str(found.match), FIELDS).match == found.match
        assert Match.from_json(found.match.to_json()) == found.match


@given(st.text('ab "+-:^*()ANDOR', max_size=40))
def test_whatever_is_typed_is_read(typed):
    found = parse_query(typed, FIELDS)
    assert found.match is None or str(found.match)


def test_a_weight_after_several_parentheses_is_that_of_the_last():
    found = parse_query("((nile) OR (egypt))^2 sudan")
    assert not found.note
    assert found.words == (TypedWord("nile", 2.0), TypedWord("egypt", 2.0), TypedWord("sudan"))
    assert parse_query("(a (b c))^3").words == tuple(TypedWord(word, 3.0) for word in "abc")


def test_parentheses_by_the_thousand_end_at_once():
    deep = "(" * 20 + "+nile" + ")" * 20
    assert parse_query(deep).match == Match("words", "nile")
    for typed in ("(" * 5000 + "nile" + ")" * 5000, "-(" * 5000 + "nile", "nile" + ")" * 200_000):
        assert parse_query(typed).note


@given(
    st.lists(st.sampled_from(["ab", "-", "+", ":", "(", ")", "*", "^2", '"', " ", "OR", "title"]))
)
def test_what_is_not_read_has_no_operators(pieces):
    typed = "".join(pieces)
    found = parse_query(typed, ["title"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_syntax, "_MARKED", re.compile(""))
        assert parse_query(typed, ["title"]) == found


@given(st.text('ab "“*^()+-:ANDORT', max_size=30) | st.text(max_size=30))
def test_what_has_no_operator_is_told_sooner(text):
    assert query_syntax._is_marked(text) == (query_syntax._MARKED.search(text) is not None)
