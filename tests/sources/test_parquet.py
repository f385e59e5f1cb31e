from __future__ import annotations

import datetime as dt
import gzip
import io
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import bare, check_outcome, ids, texts

from likewise.errors import MissingExtra, SourceError
from likewise.records import Document
from likewise.sources import Columns, open_source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def packed(columns, **options):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


rows = st.builds(
    Document,
    ids,
    texts,
    texts,
    st.fixed_dictionaries(
        {},
        optional={
            "n": st.integers(-(2**63), 2**63 - 1),
            "x": st.floats(allow_nan=False, allow_infinity=False),
            "tags": st.lists(texts, max_size=3),
            "yes": st.booleans(),
        },
    ),
    st.just(""),
)
TYPES = {"n": pa.int64(), "x": pa.float64(), "tags": pa.list_(pa.string()), "yes": pa.bool_()}


@given(found=st.lists(rows, max_size=6))
def test_round_trip(write, read, compressed, found):
    suffix, pack = compressed
    columns = {
        name: pa.array([getattr(d, name) for d in found], pa.string())
        for name in ("id", "title", "text")
    }
    columns |= {
        name: pa.array([d.fields.get(name) for d in found], kind) for name, kind in TYPES.items()
    }
    path = write(f"a.parquet{suffix}", pack(packed(columns, row_group_size=2)))
    back = read(path)
    assert bare(back) == found
    assert [d.place for d in back] == [f"{path}:{n + 1}" for n in range(len(found))]


@given(data=st.binary(), magic=st.booleans())
def test_any_bytes_are_documents_or_a_source_error(write, data, magic):
    check_outcome(write("a.parquet", b"PAR1" + data + b"PAR1" if magic else data))


@given(at=st.integers(4, 10_000), byte=st.integers(1, 255))
def test_an_altered_byte_never_ends_in_another_error(write, at, byte):
    data = bytearray(packed({"id": [1, 2], "text": ["a", "b"]}))
    data[at % len(data)] ^= byte
    check_outcome(write("a.parquet", bytes(data)))


def test_values_of_every_kind(write, read):
    columns = {
        "id": [7],
        "text": ["x"],
        "day": [dt.date(2020, 1, 2)],
        "at": [dt.datetime(2020, 1, 2, 3, 4, 5)],
        "nano": pa.array([1_577_934_245_000_000_001], pa.timestamp("ns")),
        "zoned": pa.array([0], pa.timestamp("s", "UTC")),
        "price": [Decimal("1.50")],
        "raw": [b"\xff"],
        "none": pa.array([None], pa.string()),
        "nan": [float("nan")],
        "list": [[1, None, 2]],
        "inner": [{"a": 1, "b": {"c": "d"}}],
        "records": [[{"a": 1}]],
        "word": pa.array(["w"]).dictionary_encode(),
    }
    (document,) = read(write("a.parquet", packed(columns)))
    assert document.id == "7"
    assert document.fields == {
        "day": "2020-01-02",
        "at": "2020-01-02T03:04:05",
        "nano": "2020-01-02T03:04:05",
        "zoned": "1970-01-01T00:00:00+00:00",
        "price": 1.5,
        "list": [1, 2],
        "inner.a": 1,
        "inner.b.c": "d",
        "records": '[{"a":1}]',
        "word": "w",
    }


def test_a_row_without_a_python_form_is_bad_alone(write, read):
    far = pa.array([0, 2**55, 1], pa.timestamp("ms"))
    path = write("a.parquet", packed({"id": [1, 2, 3], "text": ["a", "b", "c"], "at": far}))
    with pytest.raises(SourceError, match=r"a.parquet:2: the row cannot be read"):
        read(path)
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["1", "3"]
    assert [error.place for error in bad] == [f"{path}:2"]


def test_bad_rows_are_reported(write, read):
    path = write("a.parquet", packed({"id": ["a", None, "c"], "text": ["x", "y", "z"]}))
    with pytest.raises(SourceError, match=r"a.parquet:2: the id in column 'id' is empty"):
        read(path)
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["a", "c"]
    assert len(bad) == 1
    assert [d.id for d in read(path, auto_id=True)] == ["a", "a.parquet:2", "c"]


def test_two_columns_of_one_name(write, read):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["1"])] * 3, names=["id", "text", "text"]), out)
    with pytest.raises(SourceError, match=r"two columns are called 'text'"):
        read(write("a.parquet", out.getvalue()))


def test_progress_is_in_stored_bytes(write):
    columns = {"id": list(range(1000)), "text": ["x"] * 1000}
    path = write("a.parquet", packed(columns))
    source = open_source(path)
    assert source.total == path.stat().st_size
    seen = {source.done for _ in source}
    assert len(seen) > 2
    assert source.done == source.total


def test_standard_input_and_pipes_are_copied(monkeypatch):
    data = gzip.compress(packed({"id": [1], "text": ["x"]}))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    (document,) = open_source("-", format="parquet", columns=Columns())
    assert document.place == "<stdin>:1"


def test_an_empty_file_and_an_empty_table(write, read):
    assert read(write("a.parquet", b"")) == []
    assert read(write("b.parquet", packed({"id": pa.array([], pa.string())}))) == []


def test_without_pyarrow_the_message_is_the_install_command(write, read, monkeypatch):
    path = write("a.parquet", packed({"id": [1], "text": ["x"]}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'likewise\[parquet\]'"):
        read(path)


def test_a_text_that_is_named_has_to_be_there_also_nested(write, read):
    path = write("a.parquet", packed({"id": ["1"], "title": ["x"], "a": [{"body": "y"}]}))
    assert read(path, text="a.body")[0].text == "y"
    with pytest.raises(SourceError, match=r"there is no column 'body' among 'id', 'title', 'a'; "):
        read(path, text="body")
