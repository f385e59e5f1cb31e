"""Frames of pandas, polars and Arrow as sources: the same documents from each."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from likewise.errors import SourceError, UsageError, WrongType
from likewise.records import Document
from likewise.sources import Columns, open_source

pl = pytest.importorskip("polars", reason="polars is an extra of development")

ROWS = {
    "key": ["a", "b"],
    "head": ["One", None],
    "body": ["wing flutter", None],
    "year": [1960, None],
    "day": [dt.date(1960, 1, 2), None],
    "at": [dt.datetime(1960, 1, 2, 3, 4, 5), None],
    "tags": [["x", "y"], None],
    "open": [True, False],
}
NAMED = {"id": "key", "title": "head", "text": "body"}
MAKERS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "arrow": pa.table,
    "arrow batch": pa.RecordBatch.from_pydict,
}
in_every_library = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def read(source, **options):
    return list(open_source(source, **options))


@in_every_library
def test_a_frame_gives_the_same_documents_in_every_library(make):
    first, second = read(make(ROWS), **NAMED)
    assert first[:3] == ("a", "One", "wing flutter")
    fields = {key: first.fields[key] for key in ("year", "tags", "open")}
    assert fields == {"year": 1960, "tags": ["x", "y"], "open": True}
    # pandas has no dates of its own: these were objects.
    assert first.fields["day"] == "1960-01-02"
    assert first.fields["at"] == "1960-01-02T03:04:05"
    assert second == Document("b", "", "", {"open": False}, "frame:1")


@in_every_library
def test_the_columns_may_be_called_as_they_are_by_default(make):
    [document] = read(make({"id": [7], "title": ["t"], "text": ["x"], "n": [1]}))
    assert document == Document("7", "t", "x", {"n": 1}, "frame:0")


@in_every_library
def test_several_columns_are_joined(make):
    [document] = read(make({"a": ["one"], "b": ["two"]}), text=["a", "b"])
    assert document.text == "one\n\ntwo"
    assert read(make({"a": ["one"], "b": ["two"]}), columns=Columns(text=("a", "b"))) == [document]


@in_every_library
def test_rows_without_an_id_are_numbered_from_0(make):
    assert [d.id for d in read(make({"text": ["x", "y"]}))] == ["0", "1"]


@in_every_library
def test_the_only_column_of_text_is_the_text(make):
    [document] = read(make({"id": ["d"], "title": ["t"], "abstract": ["x"], "year": [1]}))
    assert document == Document("d", "t", "x", {"year": 1}, "frame:0")


@in_every_library
def test_of_several_columns_of_text_none_is_guessed(make):
    frame = make({"abstract": ["x"], "venue": ["y"], "year": [1]})
    told = (
        r"which column is the text\? The frame has 'abstract' \(String\), 'venue' \(String\), "
        r"'year' \(Int64\); name one, as in text='abstract'"
    )
    with pytest.raises(UsageError, match=told):
        open_source(frame)
    with pytest.raises(UsageError, match=r"which column is the text\?"):
        open_source(make({"year": [1]}))
    assert read(make({"title": ["t"], "year": [1]}))[0][:3] == ("0", "t", "")


@in_every_library
@pytest.mark.parametrize("which", ["id", "title", "text"])
def test_a_column_that_was_named_is_there(make, which):
    with pytest.raises(UsageError, match=r"unknown column 'Text': .*did you mean text\?"):
        open_source(make({"text": ["x"]}), **{which: "Text"})
    # Also where it has the name that it would have by default.
    with pytest.raises(UsageError, match=rf"unknown column {which!r}"):
        open_source(make({"body": ["x"]}), **{which: which})
    with pytest.raises(UsageError, match="unknown column 'Text'"):
        open_source(make({"text": ["x"]}), columns=Columns(**{which: "Text"}))


@in_every_library
def test_rows_without_an_id_in_its_column(make):
    frame = make({"id": ["a", None, ""], "text": ["x", "y", "z"]})
    with pytest.raises(SourceError, match=r"frame:1: the id in column 'id' is empty"):
        read(frame)
    bad = []
    assert [d.id for d in read(frame, on_bad=bad.append)] == ["a"]
    assert len(bad) == 2
    assert [d.id for d in read(frame, columns=Columns(auto_id=True))] == ["a", "frame:1", "frame:2"]


@in_every_library
def test_nested_records_are_reached_by_dots(make):
    frame = make({"id": ["a"], "meta": [{"body": "x", "year": 3}]})
    [document] = read(frame, text="meta.body")
    assert (document.text, document.fields) == ("x", {"meta.year": 3})
    assert read(frame, id="meta.year", text="meta.body")[0][:4] == ("3", "", "x", {"id": "a"})


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["x", None, "y"]),
        pd.Series(["x", None, "y"], name="id"),
        pd.Series(["x", pd.NA, "y"], dtype="category"),
        pl.Series(["x", None, "y"]),
        pl.Series("title", ["x", None, "y"]),
        pa.chunked_array([["x", None], ["y"]]),
        pa.array(["x", None, "y"]),
    ],
)
def test_a_column_alone_is_texts(column):
    found = read(column)
    assert [(d.id, d.title, d.text) for d in found] == [
        ("0", "", "x"),
        ("1", "", ""),
        ("2", "", "y"),
    ]
    assert [d.fields for d in found] == [{}, {}, {}]


@pytest.mark.parametrize("texts", [["x y", "z"], ("x y", "z"), np.array(["x y", "z"])])
def test_a_list_of_texts_is_numbered_from_0(texts):
    assert [d[:3] for d in read(texts)] == [("0", "", "x y"), ("1", "", "z")]


def test_a_column_of_numbers_is_no_text():
    with pytest.raises(UsageError, match=r"a column of texts was expected, .* holds Int64"):
        open_source(pd.Series([1, 2], name="n"))
    with pytest.raises(UsageError, match="there is no 'key' in a column alone"):
        open_source(pd.Series(["x"]), id="key")


def test_files_in_a_list_are_no_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "x"}')
    for files in (["a.jsonl", "b.jsonl"], [tmp_path / "a.jsonl"]):
        with pytest.raises(UsageError, match=r"a\.jsonl' is a file .* index\(\*files"):
            read(files)
    assert read(["b.jsonl"])[0].text == "b.jsonl"


# The index of pandas


def test_the_index_of_pandas_is_the_id():
    frame = pd.DataFrame({"text": ["x", "y"]}, index=["a", "b"])
    assert [d.id for d in read(frame)] == ["a", "b"]
    assert [d.id for d in read(frame["text"])] == ["a", "b"]
    # What is left of a frame keeps its labels.
    many = pd.DataFrame({"text": list("wxyz")})
    assert [d.id for d in read(many[2:])] == ["2", "3"]
    assert [d.id for d in read(many[many.text > "x"])] == ["2", "3"]
    days = pd.DataFrame({"text": ["x"]}, index=pd.to_datetime(["2020-02-01"]))
    assert [d.id for d in read(days)] == ["2020-02-01T00:00:00"]


def test_a_column_of_ids_comes_before_the_index():
    frame = pd.DataFrame({"id": ["a"], "text": ["x"]}, index=["z"])
    assert read(frame)[0].id == "a"
    assert read(frame.set_index("id"))[0][:4] == ("a", "", "x", {})
    assert read(frame.rename(columns={"id": "key"}).set_index("key"), id="key")[0].id == "a"


def test_an_index_that_cannot_be_ids():
    levels = pd.DataFrame(
        {"text": ["x"], "key": ["k"]}, index=pd.MultiIndex.from_tuples([("a", 1)])
    )
    with pytest.raises(UsageError, match=r"several levels.*id=.*reset_index"):
        open_source(levels, text="text")
    assert read(levels, id="key", text="text")[0].id == "k"
    with pytest.raises(SourceError, match=r"frame:0: the id 0\.5 is neither text nor an integer"):
        read(pd.DataFrame({"text": ["x"]}, index=[0.5]))


# Values


def test_values_of_pandas_become_plain():
    frame = pd.DataFrame(
        {
            "text": ["x"],
            "category": pd.Categorical(["c"]),
            "number": pd.Categorical([3]),
            "range": pd.cut([1.0], [0, 2]),
            "month": pd.PeriodIndex(["2020-02"], freq="M"),
            "zone": pd.to_datetime(["2020-02-01T00:00:00Z"]),
            "seconds": pd.to_timedelta([90], unit="s"),
            "array": [np.array([1, 2])],
            "scalar": pd.Series([np.float32(0.5)], dtype=object),
            0: [1],
        }
    )
    assert read(frame, text="text")[0].fields == {
        "category": "c",
        "number": 3,
        "range": "(0, 2]",
        "month": "2020-02",
        "zone": "2020-02-01T00:00:00+00:00",
        "seconds": 90.0,
        "array": [1, 2],
        "scalar": 0.5,
        "0": 1,
    }


def test_what_is_missing_in_pandas_is_absent():
    frame = pd.DataFrame(
        {
            "text": [np.nan],
            "float": [np.nan],
            "integer": pd.array([None], dtype="Int64"),
            "string": pd.array([None], dtype="string"),
            "time": [pd.NaT],
            "delta": pd.to_timedelta([None]),
            "category": pd.Categorical([None], categories=["c"]),
            "object": pd.Series([None], dtype=object),
            "boolean": pd.array([None], dtype="boolean"),
        }
    )
    assert read(frame) == [Document("0", "", "", {}, "frame:0")]


def test_values_of_polars_become_plain():
    frame = pl.DataFrame(
        {
            "text": ["x", None],
            "category": pl.Series(["c", None], dtype=pl.Categorical),
            "kind": pl.Series(["k", None], dtype=pl.Enum(["k"])),
            "number": [float("nan"), None],
            "decimal": pl.Series(["1.5", None]).cast(pl.Decimal(10, 2)),
            "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int64, 2)),
            "nothing": [None, None],
        }
    )
    first, second = read(frame, text="text")
    assert first.fields == {"category": "c", "kind": "k", "decimal": 1.5, "array": [1, 2]}
    assert second == Document("1", "", "", {}, "frame:1")


def test_values_of_arrow_become_plain():
    table = pa.table(
        {
            "text": pa.array(["x"], pa.string_view()),
            "category": pa.array(["c"]).dictionary_encode(),
            "at": pa.array([1_500_000_000_000_000_123], pa.timestamp("ns")),
            "zone": pa.array([0], pa.timestamp("ns", "UTC")),
        }
    )
    assert read(table, text="text")[0].fields == {
        "category": "c",
        "at": "2017-07-14T02:40:00",
        "zone": "1970-01-01T00:00:00+00:00",
    }


def test_a_list_of_strings_in_a_column_of_arrays_is_text():
    frame = pd.DataFrame({"id": ["a"], "lines": [np.array(["one", "two"], object)]})
    assert read(frame, text="lines")[0].text == "one\ntwo"


def test_what_cannot_be_stored_is_told_with_its_row():
    frame = pd.DataFrame({"text": ["x"], "what": [object()]})
    with pytest.raises(SourceError, match=r"frame:0: field 'what' cannot be stored"):
        read(frame)


@pytest.mark.parametrize("seconds", [2**40, 2**62])
def test_what_has_no_form_in_python_is_told_with_its_row(seconds):
    table = pa.table({"text": ["x"], "at": pa.array([seconds], pa.timestamp("s"))})
    with pytest.raises(SourceError, match="frame:0: rows cannot be read from here: "):
        read(table)


# Calls


@pytest.mark.parametrize("columns", [["a", "a"], ["1", 1]])
def test_two_columns_of_one_name(columns):
    with pytest.raises(UsageError, match="two columns of the frame have one name"):
        open_source(pd.DataFrame([["x", "y"]], columns=columns))


@pytest.mark.parametrize("named", [{"text": 5}, {"text": [5]}, {"id": 5}, {"title": 5}])
def test_names_of_columns_are_text(named):
    with pytest.raises(WrongType, match=r"not 5 \(int\)"):
        open_source(pd.DataFrame({"text": ["x"]}), **named)


def test_a_frame_has_no_format_and_its_length_is_known():
    with pytest.raises(UsageError, match="fits only files"):
        open_source(pd.DataFrame({"text": ["x"]}), format="csv")
    source = open_source(pd.DataFrame({"text": ["x", "y"]}))
    assert (source.total, source.name) == (2, "frame")
    assert [source.done for _ in source] == [1, 2]
    assert len(list(source)) == 2


def test_an_empty_frame_has_no_documents():
    assert read(pd.DataFrame({"text": []}, dtype=object)) == []
    with pytest.raises(UsageError, match="no columns at all"):
        open_source(pd.DataFrame())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import likewise; likewise.open_source", "narwhals pandas polars pyarrow"),
        ("from likewise.app.cli import whole_parser; whole_parser()", "narwhals polars pyarrow"),
        ("import likewise as lw; list(lw.open_source(['x']))", "narwhals pandas polars pyarrow"),
        (
            "import polars as pl, likewise as lw; list(lw.open_source(pl.Series(['x'])))",
            "pandas pyarrow",
        ),
    ],
)
def test_no_library_is_imported_that_nobody_uses(code, absent):
    shown = f"print([m for m in {absent.split()} if m in sys.modules])"
    check = f"import sys; {code}; {shown}"
    told = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
    assert (told.stdout, told.stderr) == ("[]\n", "")
