from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import bare, check_outcome, documents

from likewise.errors import SourceError


def records_of(found):
    return [{"id": d.id, "title": d.title, "text": d.text, **d.fields} for d in found]


@pytest.mark.parametrize("indent", [None, 1])
@given(found=documents)
def test_round_trip_of_an_array(write, read, compressed, indent, found):
    suffix, pack = compressed
    data = json.dumps(records_of(found), indent=indent, ensure_ascii=False).encode()
    path = write(f"a.json{suffix}", pack(data))
    back = read(path, markup="keep")
    assert bare(back) == found
    assert [d.place for d in back] == [f"{path}:{n + 1}" for n in range(len(found))]


@given(
    data=st.binary()
    | st.lists(st.sampled_from([b'{"id":1', b"}", b"\n", b'"', b"[", b"]", b":", b",", b"1"])).map(
        b"".join
    )
)
def test_any_bytes_are_documents_or_a_source_error(write, data):
    check_outcome(write("a.json", data))


RECORD = {"id": 1, "text": "x"}


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (json.dumps([RECORD]), ["1"]),
        (json.dumps({"count": 1, "records": [RECORD]}), ["1"]),
        (json.dumps({"records": [RECORD], "tags": ["a", 1], "none": []}, indent=1), ["1"]),
        # Records themselves, one or several, on a line or on many.
        (json.dumps(RECORD), ["1"]),
        (json.dumps(RECORD, indent=1), ["1"]),
        (json.dumps(RECORD) + "\n" + json.dumps(RECORD | {"id": 2}), ["1", "2"]),
        (json.dumps(RECORD, indent=1) + json.dumps(RECORD | {"id": 2}, indent=1), ["1", "2"]),
        (json.dumps(RECORD | {"authors": [{"name": "a"}]}), ["1"]),
        ("[]", []),
        ("", []),
        (" \n", []),
    ],
)
def test_shapes_of_files(write, read, content, ids):
    assert [d.id for d in read(write("a.json", content))] == ids


def test_fields_of_a_record_with_arrays_of_objects(write, read):
    [document] = read(write("a.json", json.dumps(RECORD | {"tags": ["a"], "b": [{"c": 1}]})))
    assert document.fields == {"tags": ["a"], "b": '[{"c":1}]'}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('[{"id": 1, "text": "x"}', r"a.json:1: not valid JSON: expected ',', found the end"),
        ('[\n{"id": 1,, "text": "x"}]', r"a.json:2: not valid JSON"),
        ('[{"id": 1, "text": "x"},]', "a comma and no item after it"),
        ("[1]", "a.json:1: a record is a JSON object, received int"),
        ("3", "expected an array or an object"),
        (
            '{"a": [{"id": 1, "text": ""}], "b": [{"id": 2, "text": ""}]}',
            "two arrays .* 'a' and 'b'",
        ),
        ('{"a": [{"id": 1, "text": ""}], "text": "x"}', "is a record and has records in 'a'"),
        ("[" * 100_000, "nested too deeply"),
        (b'["\xff"]', "not valid UTF-8"),
        ("[{", "not valid JSON"),
    ],
)
def test_bad_files(write, read, content, reason):
    with pytest.raises(SourceError, match=reason):
        read(write("a.json", content))


def test_a_bad_record_is_passed_over(write, read):
    bad = []
    path = write("a.json", '[{"text": "x"}, {"id": 2, "text": "y"}, 3]')
    assert [d.id for d in read(path, on_bad=bad.append)] == ["2"]
    assert [error.place for error in bad] == [f"{path}:1", f"{path}:3"]


def test_records_are_read_as_they_come(write, read):
    # More than is read at once, with values of all lengths across the ends of pieces.
    records = [{"id": i, "text": "é" * (i * 37 % 5000), "n": i * 1000} for i in range(1000)]
    found = read(write("a.json", json.dumps(records, ensure_ascii=False)))
    assert [(int(d.id), d.text, d.fields["n"]) for d in found] == [
        (r["id"], r["text"], r["n"]) for r in records
    ]
    [document] = read(write("b.json", json.dumps([{"id": 1, "text": "long " * 1_000_000}])))
    assert len(document.text) == 5_000_000
