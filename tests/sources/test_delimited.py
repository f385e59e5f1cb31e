from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import bare, chars, check_outcome, ids, names, numbers, texts

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources import Columns, open_source

DELIMITERS = {"csv": ",", "tsv": "\t"}


@st.composite
def tables(draw):
    trimmed = names.map(str.strip).filter(lambda name: name not in ("", "id", "title", "text"))
    columns = draw(st.lists(trimmed, max_size=3, unique=True))
    spelled = st.text(chars, min_size=1).map(lambda text: "w" + text)
    exact = numbers.filter(lambda n: abs(n) < 10**18 or isinstance(n, float))
    cells = st.dictionaries(st.sampled_from(columns), spelled | exact) if columns else st.just({})
    rows = st.builds(Document, ids, texts, texts, cells, st.just(""))
    return columns, draw(st.lists(rows, max_size=5))


def written(columns, found, delimiter):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["id", "title", "text", *columns])
    for d in found:
        writer.writerow([d.id, d.title, d.text, *(d.fields.get(name, "") for name in columns)])
    return out.getvalue().encode()


@pytest.mark.parametrize("format", DELIMITERS)
@given(table=tables())
def test_round_trip(write, read, compressed, format, table):
    suffix, pack = compressed
    columns, found = table
    path = write(f"a.{format}{suffix}", pack(written(columns, found, DELIMITERS[format])))
    assert bare(read(path)) == found


@pytest.mark.parametrize("format", DELIMITERS)
@given(
    data=st.binary()
    | st.lists(st.sampled_from([b"id,text\n", b'"', b",", b"\n", b"\r", b"\xff"])).map(b"".join)
)
def test_any_bytes_are_documents_or_a_source_error(write, format, data):
    check_outcome(write(f"a.{format}", data))


def test_the_place_is_the_line_where_the_row_starts(write, read):
    path = write("a.csv", '\nid,text\r\n1,"two\nlines"\n\n2,x\n3,"a\r\nb"')
    found = read(path)
    assert [d.place for d in found] == [f"{path}:{n}" for n in (3, 6, 7)]
    assert [d.text for d in found] == ["two\nlines", "x", "a\r\nb"]


def test_numbers_become_numbers_only_in_fields(write, read):
    (document,) = read(
        write("a.csv", "id,title,text,year,zip,score,none\n01,2,3.0,1999,00123,1.5,\n")
    )
    assert document[:4] == ("01", "2", "3.0", {"year": 1999, "zip": "00123", "score": 1.5})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"1", "the row has 1 cells and the header 2"),
        (b"1,2,3", "the row has 3 cells and the header 2"),
        (b'1,"a"b', "not a valid row"),
        (b"1,\xff", "not valid UTF-8"),
        (b'1,"a\n\xff\nb"', "not valid UTF-8"),
        (b",x", "the id in column 'id' is empty"),
    ],
)
def test_bad_rows(write, read, row, reason):
    path = write("a.csv", b"id,text\n0,x\n" + row + b"\n2,y\n")
    with pytest.raises(SourceError, match=reason) as caught:
        read(path)
    assert caught.value.place == f"{path}:3"
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["0", "2"]
    assert [error.place for error in bad] == [f"{path}:3"]


def test_an_open_quote_at_the_end(write, read):
    path = write("a.csv", 'id,text\n0,x\n1,"never closed\n2,y\n')
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["0"]
    assert [(e.place, "unexpected end" in e.reason) for e in bad] == [(f"{path}:3", True)]


def test_a_bad_header_ends_the_reading(write, read):
    bad = []
    assert read(write("a.csv", "id,text,text\n1,2,3"), on_bad=bad.append) == []
    assert read(write("a.csv", b"id,\xff\n1,2"), on_bad=bad.append) == []
    assert [error.reason for error in bad] == [
        "two columns are called 'text'; rename one",
        "not valid UTF-8",
    ]


def test_columns_without_a_name(write, read):
    assert read(write("a.csv", ",id,text,\n0,1,x,y"))[0].fields == {"column_1": 0, "column_4": "y"}


def test_a_missing_column_lists_the_others(write, read):
    with pytest.raises(SourceError, match=r"no column 'id' among 'key', 'text', 'empty'"):
        read(write("a.csv", "key,text,empty\n1,x,\n"))


def test_byte_order_mark_empty_file_and_header_alone(write, read):
    assert read(write("a.csv", "\ufeffid,text\n1,x"))[0].id == "1"
    assert read(write("b.csv", "")) == []
    assert read(write("c.csv", "id,text\n")) == []


def test_a_cell_longer_than_the_usual_limit_and_nul(write, read):
    text = "x\0" * 200_000
    assert read(write("a.tsv", f"id\ttext\n1\t{text}\n"))[0].text == text


def test_ten_thousand_fields(write, read):
    header = ",".join(f"f{i}" for i in range(10_000))
    cells = ",".join(str(i) for i in range(10_000))
    (document,) = read(write("a.csv", f"id,text,{header}\n1,x,{cells}\n"))
    assert document.fields["f9999"] == 9999


def test_auto_ids(write, read):
    assert [d.id for d in read(write("a.csv", "text\nx\ny\n"), auto_id=True)] == [
        "a.csv:2",
        "a.csv:3",
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_delimiters_are_sniffed(write, read, name, delimiter):
    rows = [["id", "text", "n"], ["1", "one, two; three | four", "5"], ["2", "plain", "6"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    found = read(write(name, out.getvalue()))
    assert [(d.id, d.text, d.fields) for d in found] == [
        ("1", "one, two; three | four", {"n": 5}),
        ("2", "plain", {"n": 6}),
    ]


def test_a_header_that_has_the_columns_decides(write, read):
    # By rows alone a comma fits as well.
    path = write("a.csv", "key;body\n1,5;x,y\n2,5;z,w\n")
    assert read(path, id="key", text="body")[0].id == "1,5"


def test_a_delimiter_that_is_named(write):
    path = write("a.csv", "id:text\n1:x\n")
    [document] = open_source(path, delimiter=":")
    assert document[:3] == ("1", "", "x")
    tabbed = write("b.csv", "id\ttext,more\n1\tx\n")
    assert [d.id for d in open_source(tabbed, delimiter="tab", columns=Columns(text="text,more"))]


def test_headers_are_trimmed(write, read):
    path = write("a.csv", "Publication Number , text\nUS1,x\n")
    assert read(path, id="Publication Number")[0].id == "US1"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings_are_sniffed(write, read, compressed, encoding):
    suffix, pack = compressed
    rows = "id;text\n1;Flügel\n2;café à Noël\n"
    found = read(write(f"a.csv{suffix}", pack(rows.encode(encoding))))
    assert [d.text for d in found] == ["Flügel", "café à Noël"]


def test_what_is_not_ascii_may_come_late(write, read):
    plain = "id,text\n" + "".join(f"{i},plain words\n" for i in range(100_000))
    for encoding in ("utf-8", "cp1252"):
        found = read(write("a.csv", (plain + "x,déjà vu\n").encode(encoding)))
        assert found[-1].text == "déjà vu"


def test_an_encoding_that_is_named(write):
    path = write("a.csv", "id,text\n1,Крыло\n".encode("cp1251"))
    [document] = open_source(path, encoding="cp1251")
    assert document.text == "Крыло"
    with pytest.raises(SourceError, match=r"a.csv: not valid utf-16"):
        list(open_source(path, encoding="utf-16"))


@pytest.mark.parametrize("named", [{"text": "body"}, {"text": ("text", "body")}, {"title": "body"}])
def test_a_title_or_text_that_is_named_has_to_be_there(write, named):
    path = write("a.csv", "id,title,text\n1,x,y\n")
    with pytest.raises(
        SourceError, match=r"a.csv:1: there is no column 'body' among 'id', 'title'"
    ):
        list(open_source(path, columns=Columns().choose(**named)))
    with pytest.raises(SourceError, match=r"there is no column 'title' among 'id', 'text'"):
        list(open_source(write("b.csv", "id,text\n1,x"), columns=Columns().choose(title="title")))
    assert list(open_source(write("c.csv", ""), columns=Columns().choose(**named))) == []
