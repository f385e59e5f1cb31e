from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from likewise.errors import SourceError

sys.path.insert(0, str(Path(__file__).parent.parent / "formats"))

from made_files import inline, table, xlsx


def test_rows_are_documents(write, read):
    data = table(
        ("Grant No ", "title", " abstract", "year"),
        ("7", "Wings", "Flutter.", "1960"),
        ("8", "", "H<sub>2</sub>O", ""),
    )
    path = write("grants.xlsx", data)
    found = read(path, id="Grant No", text="abstract")
    assert [(d.id, d.title, d.text, d.fields) for d in found] == [
        ("7", "Wings", "Flutter.", {"year": "1960"}),
        ("8", "", "H2O", {}),
    ]
    assert [d.place for d in found] == [f"{path}:Sheet:2", f"{path}:Sheet:3"]
    assert read(write("grants.xlsx.gz", gzip.compress(data)), id="Grant No", text="abstract")


def test_numbers_are_ids_and_automatic_ids_name_the_sheet(write, read):
    rows = [inline("A1", "id") + inline("B1", "text"), '<c><v>7</v></c><c t="str"><v>x</v></c>']
    assert read(write("a.xlsx", xlsx({"S": rows})))[0].id == "7"
    rows = [inline("B1", "text"), inline("B2", "x")]
    assert read(write("a.xlsx", xlsx({"S": rows})), auto_id=True)[0].id == "a.xlsx:S:2"


def test_sheets_without_the_columns_are_left_out_and_named(write, read, caplog):
    rows = [inline("A1", "id") + inline("B1", "text"), inline("A2", "1") + inline("B2", "x")]
    path = write("a.xlsx", xlsx({"Notes": [inline("A1", "remark")], "Data": rows}))
    assert [d.id for d in read(path)] == ["1"]
    assert "without a column 'text' or 'title', left out: 'Notes'" in caplog.text
    with pytest.raises(SourceError, match=r"no sheet has a column 'body': 'Notes' has 'remark'; "):
        read(path, text="body")
    titles = [inline("A1", "id") + inline("B1", "title"), inline("A2", "1") + inline("B2", "x")]
    path = write("b.xlsx", xlsx({"Data": titles}))
    assert [d.title for d in read(path)] == ["x"]
    with pytest.raises(
        SourceError, match=r"no sheet has a column 'body': 'Data' has 'id', 'title'"
    ):
        read(path, text="body")


def test_bad_rows_and_bad_files(write, read):
    path = write("a.xlsx", table(("id", "text"), ("", "x"), ("2", "y")))
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["2"]
    assert [error.place for error in bad] == [f"{path}:Sheet:2"]
    with pytest.raises(SourceError, match=r"two columns are called 'id'"):
        read(write("a.xlsx", table(("id", "id ", "text"))))
    with pytest.raises(SourceError, match=r"a.xlsx: not a whole zip archive"):
        read(write("a.xlsx", b"nothing"))
    assert read(write("a.xlsx", b"")) == []
