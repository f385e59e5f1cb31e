from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from likewise.errors import SourceError, UsageError
from likewise.sources import Columns


def one(read, record, **columns):
    (document,) = read([record], **columns)
    return document


def test_what_prints_is_what_compares():
    assert Columns(text=["a", "b"]) == Columns(text=("a", "b"))
    shown = "Columns(id='id', title='title', text=('text',), auto_id=False, markup='auto')"
    assert repr(Columns()) == shown
    assert Columns(text="body").text == ("body",)
    with pytest.raises(FrozenInstanceError):
        Columns().id = "x"


def test_column_names_are_text():
    with pytest.raises(UsageError, match=r"column names are text"):
        Columns(id=3)


def test_columns_in_use_are_not_fields(read):
    record = {"key": "a", "head": "t", "one": "x", "two": "y", "year": 1999}
    document = one(read, record, id="key", title="head", text=("one", "two"))
    assert document[:4] == ("a", "t", "x\n\ny", {"year": 1999})


def test_empty_text_columns_leave_no_blank_lines(read):
    assert one(read, {"id": "1", "a": None, "c": "x"}, text=("a", "b", "c")).text == "x"


def test_a_column_named_as_title_and_text_counts_once(read):
    document = one(read, {"id": "1", "title": "t", "body": "b"}, text=("title", "body"))
    assert (document.title, document.text) == ("t", "b")
    document = one(read, {"id": "1", "title": "t"}, text=("title",))
    assert (document.title, document.text) == ("t", "")


def test_dotted_names_reach_into_nested_records(read):
    record = {"meta": {"key": 7, "year": 1}, "body": {"en": "hello", "fr": "bonjour"}}
    document = one(read, record, id="meta.key", text=("body.en",))
    assert document[:4] == ("7", "", "hello", {"meta.year": 1, "body.fr": "bonjour"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (3, "3"),
        (2.5, "2.5"),
        (float("nan"), ""),
        (["a", "b"], "a\nb"),
        (["a", None, 1], "a\n1"),
        ([], ""),
        ("nul\0kept", "nul\0kept"),
    ],
)
def test_text_from_other_values(read, value, text):
    assert one(read, {"id": "1", "text": value}).text == text
    assert one(read, {"id": "1", "title": value, "text": "x"}).title == text


@pytest.mark.parametrize("value", [{}, [{"a": 1}], [["a"]], b"bytes", object()])
def test_what_is_not_text_is_refused(read, value):
    with pytest.raises(SourceError, match=r"column 'text' holds .* with text="):
        read([{"id": "1", "text": value}])


def test_a_nested_text_names_its_parts(read):
    with pytest.raises(SourceError, match=r"name what is in it: text\.en, text\.fr"):
        read([{"id": "1", "text": {"en": "a", "fr": "b"}}])


@pytest.mark.parametrize(
    ("value", "doc_id"), [("a b/c\nd", "a b/c\nd"), (0, "0"), (-12, "-12"), (" ", " ")]
)
def test_ids(read, value, doc_id):
    assert one(read, {"id": value, "text": ""}).id == doc_id


@pytest.mark.parametrize("value", [1.0, True, False, ["a"], {"a": 1}, float("inf")])
def test_what_is_no_id_is_refused_even_with_auto_id(read, value):
    auto = isinstance(value, bool | list | dict) or value == 1.0
    with pytest.raises(SourceError, match=r"id="):
        read([{"id": value, "text": "x"}], auto_id=auto)


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_id_is_refused(read, value):
    with pytest.raises(SourceError, match=r"the id in column 'id' is empty; .*id=, .*auto_id=True"):
        read([{"id": value, "text": "x"}])


def test_a_missing_id_says_what_to_do(read):
    with pytest.raises(SourceError, match=r"no column 'id' among 'key', 'text'; .*auto_id=True"):
        read([{"key": 1, "text": "x"}])


def test_auto_id_fills_only_what_is_missing(read):
    records = [{"text": "x"}, {"id": "mine", "text": "x"}, {"id": "", "text": "x"}]
    found = read(records, auto_id=True)
    assert [d.id for d in found] == ["documents:1", "mine", "documents:3"]


def test_a_missing_text_lists_the_columns(read):
    with pytest.raises(SourceError, match=r"'text' or 'title' among 'id', 'abstract'; .* text="):
        read([{"id": "1", "abstract": "x"}])
    assert one(read, {"id": "1", "title": "alone"}).text == ""
    assert one(read, {"id": "1", "text": ""}).text == ""


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("auto", "Flutter of a wing &amp; more"),
        ("strip", "Flutter of a wing & more"),
        ("keep", "Flutter of a wing &amp; more"),
    ],
)
def test_entities_alone_are_no_markup(read, markup, text):
    record = {"id": "1", "text": "Flutter of a wing &amp; more"}
    assert read([record], markup=markup)[0].text == text


def test_markup_is_stripped_from_titles_and_texts_where_it_is(read):
    record = {
        "id": "1",
        "title": "H<sub>2</sub>O",
        "text": "<p>Wet &amp; cold</p>",
        "x": "<p>a</p>",
    }
    [document] = read([record])
    assert (document.title, document.text) == ("H2O", "Wet & cold")
    assert document.fields == {"x": "<p>a</p>"}
    [document] = read([record], markup="keep")
    assert document.text == "<p>Wet &amp; cold</p>"
    assert read([{"id": "1", "text": "a<b>c"}])[0].text == "a<b>c"


def as_jsonl(records, write):
    return write("a.jsonl", "\n".join(map(json.dumps, records)))


def as_json(records, write):
    return write("a.json", json.dumps(records))


def as_list(records, write):
    return records


@pytest.mark.parametrize("kept", [as_jsonl, as_json, as_list])
def test_a_record_without_the_text_that_was_named_is_bad(write, read, kept):
    records = [
        {"id": "1", "title": "Wings", "text": "Flutter."},
        {"id": "2", "title": "Panels", "body": "Heat."},
        {"id": "3", "title": "Layers", "body": None},
    ]
    source = kept(records, write)
    with pytest.raises(SourceError) as caught:
        read(source, text="body")
    assert caught.value.reason == "no text: there is no column 'body' among 'id', 'title', 'text'"
    assert caught.value.in_shell.endswith("; name another column with --text")
    bad = []
    found = read(source, text="body", on_bad=bad.append)
    assert [(one.id, one.text) for one in found] == [("2", "Heat."), ("3", "")]
    assert [error.kind for error in bad] == ["without text"]
    # Where the text was not named, a title is enough.
    assert [one.id for one in read(source)] == ["1", "2", "3"]


@pytest.mark.parametrize("kept", [as_jsonl, as_json, as_list])
def test_a_named_column_that_no_record_has_is_said(write, read, kept, caplog):
    source = kept([{"id": "1", "text": "x"}, {"id": "2", "text": "y", "a": "z"}], write)
    assert [one.text for one in read(source, text=("text", "a"))] == ["x", "y\n\nz"]
    assert caplog.messages == []
    assert len(read(source, text=("text", "b"), title="headline")) == 2
    place = "documents" if kept is as_list else str(source)
    assert caplog.messages == [
        f"{place}: no record has 'headline' among 'id', 'text', 'a'",
        f"{place}: no record has 'b' among 'id', 'text', 'a'",
    ]
