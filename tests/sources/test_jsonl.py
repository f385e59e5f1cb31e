from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import bare, check_outcome, documents

from likewise.errors import SourceError
from likewise.sources import open_source


def lines_of(found):
    records = ({"id": d.id, "title": d.title, "text": d.text, **d.fields} for d in found)
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


@given(found=documents)
def test_round_trip(write, read, compressed, found):
    suffix, pack = compressed
    path = write(f"a.jsonl{suffix}", pack(lines_of(found)))
    back = read(path)
    assert bare(back) == found
    assert [d.place for d in back] == [f"{path}:{n + 1}" for n in range(len(found))]


@given(
    data=st.binary()
    | st.lists(st.sampled_from([b'{"id":1', b"}", b"\n", b'"', b"[", b":"])).map(b"".join)
)
def test_any_bytes_are_documents_or_a_source_error(write, data):
    check_outcome(write("a.jsonl", data))


def test_blank_lines_are_counted_but_ignored(write, read):
    path = write("a.jsonl", '\n{"id": 1, "text": "x"}\r\n  \n\t{"id": 2, "text": "y"}')
    assert [(d.id, d.place) for d in read(path)] == [("1", f"{path}:2"), ("2", f"{path}:4")]
    assert read(write("b.jsonl", "")) == []
    assert read(write("c.jsonl", "\n\n")) == []


def test_a_byte_order_mark_is_fine(write, read):
    assert read(write("a.jsonl", b'\xef\xbb\xbf{"id": 1, "text": "x"}'))[0].id == "1"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": 1, "text": "\xff"}', "not valid UTF-8: byte 0xff at column 20"),
        (b'{"id": 1, "text": "\\ud800"}', "not valid JSON"),
        (b'{"id": 1,', "not valid JSON: .* at column 10"),
        (b'[{"id": 1}]', r"not JSON Lines: .* found an array; the format json"),
        (b"[", r"not JSON Lines: a JSON array begins here; the format json"),
        (b"{", r"an object begins here and goes on .* the format json"),
        (b"3", "expected one object a line, found a number"),
        (b"true", "found a boolean"),
        (b"null", "found null"),
        (b'{"id": 1, "text": 1e999}', "not valid JSON"),
        (b"[" * 100_000, "not JSON Lines"),
        (b'{"a":' * 100_000, "not valid JSON"),
    ],
)
def test_bad_lines(write, read, line, reason):
    path = write("a.jsonl", b'{"id": 0, "text": ""}\n' + line + b'\n{"id": 2, "text": ""}\n')
    with pytest.raises(SourceError, match=reason) as caught:
        read(path)
    assert caught.value.place == f"{path}:2"
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["0", "2"]
    assert [error.place for error in bad] == [f"{path}:2"]


def test_a_pretty_printed_array_is_refused_by_name_of_the_format_that_reads_it(write, read):
    path = write("a.jsonl", json.dumps([{"id": 1, "text": "x"}], indent=1))
    with pytest.raises(SourceError, match=r"a.jsonl:1: this is not JSON Lines: .*the format json"):
        read(path)
    assert read(path, format="json")[0].text == "x"


def test_documents_before_a_bad_line_are_given(write):
    source = iter(open_source(write("a.jsonl", '{"id": 1, "text": "x"}\nbad\n')))
    assert next(source).id == "1"
    with pytest.raises(SourceError, match=r":2: not valid JSON"):
        next(source)


def test_ten_thousand_fields(write, read):
    record = {"id": 1, "text": "x", **{f"f{i}": i for i in range(10_000)}}
    (document,) = read(write("a.jsonl", json.dumps(record)))
    assert len(document.fields) == 10_000
    assert document.fields["f9999"] == 9999


def test_nested_fields(write, read):
    line = '{"id": 1, "text": "", "a": {"b": [1, null, "x"]}, "c": [{"d": 1}], "e": null}'
    assert read(write("a.jsonl", line))[0].fields == {"a.b": [1, "x"], "c": '[{"d":1}]'}


def test_one_long_line_and_nul_bytes(write, read, compressed):
    suffix, pack = compressed
    text = "long \\u0000" * 500_000
    (document,) = read(write(f"a.jsonl{suffix}", pack(f'{{"id": 1, "text": "{text}"}}'.encode())))
    assert document.text == "long \0" * 500_000


def test_auto_ids_are_file_name_and_line(write, read):
    path = write("deep/a.jsonl", '{"text": "x"}\n\n{"text": "y"}')
    assert [d.id for d in read(path, auto_id=True)] == ["a.jsonl:1", "a.jsonl:3"]
