from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import bare, chars, check_outcome

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources import sgml

stripped = st.text(chars, max_size=40).map(str.strip)
one_line = stripped.map(lambda text: " ".join(text.split()))
tags = st.text("abcdefgh", min_size=4, max_size=8).filter(lambda t: t not in ("head",))
values = one_line.map(lambda text: "w" + text)
documents = st.lists(
    st.builds(
        Document,
        stripped.filter(bool),
        one_line,
        stripped,
        st.dictionaries(
            tags, values | st.integers(-99, 99) | st.lists(values, min_size=2), max_size=3
        ),
        st.just(""),
    ),
    max_size=5,
)

PIECES = [
    *("<DOC>", "</DOC>", "<DOC", "<DOCNO>1</DOCNO>", "<TEXT>", "</TEXT>", "<TITLE>", "</TITLE>"),
    *("<!--", "-->", "&#0;", "&#xD800;", "<", ">", "/", "\n"),
]
AP = """<DOC>
<DOCNO> AP880212-0001 </DOCNO>
<FILEID>AP-NR-02-12-88 2344EST</FILEID>
<HEAD>Reports Former Saigon
Officials</HEAD>
<HEAD>Released &amp; Freed</HEAD>
<LENGTH>120</LENGTH>
<TEXT>
   More than <b>150</b> former officers of AT&T &lt;here&gt;.
</TEXT>
<TEXT>A second part.</TEXT>
</DOC>
"""


def element(tag, value):
    return f"<{tag}>{html.escape(str(value), quote=False)}</{tag}>\n"


def written(found):
    parts = []
    for d in found:
        fields = (
            (k, v) for k, vs in d.fields.items() for v in (vs if isinstance(vs, list) else [vs])
        )
        inner = "".join(element(tag.upper(), value) for tag, value in fields)
        parts.append(
            f"<DOC>\n{element('DOCNO', d.id)}{inner}{element('TITLE', d.title)}"
            f"{element('TEXT', d.text)}</DOC>\n"
        )
    return "".join(parts)


@given(found=documents)
def test_round_trip(write, read, compressed, found):
    suffix, pack = compressed
    data = written(found).encode()
    path = write(f"a.sgml{suffix}", pack(data))
    back = read(path)
    assert bare(back) == found
    starts = [n + 1 for n, line in enumerate(data.split(b"\n")) if line == b"<DOC>"]
    assert [d.place for d in back] == [f"{path}:{n}" for n in starts]


@given(
    data=st.binary() | st.lists(st.sampled_from(PIECES)).map(lambda parts: "".join(parts).encode())
)
def test_any_bytes_are_documents_or_a_source_error(write, data):
    check_outcome(write("a.trec", data))


def test_a_newswire_document(write, read):
    path = write("ap.sgml", AP)
    (document,) = read(path)
    assert document == Document(
        "AP880212-0001",
        "Reports Former Saigon Officials Released & Freed",
        "More than  150  former officers of AT&T <here>.\n\nA second part.",
        {"fileid": "AP-NR-02-12-88 2344EST", "length": 120},
        f"{path}:1",
    )


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 50])
def test_where_a_chunk_ends_makes_no_difference(write, read, monkeypatch, chunk):
    path = write("a.sgml", f'\n\n<?xml?>\n{AP}\n<doc\n id="x">\n<docno>2</docno>b</doc >{AP}')
    whole = read(path)
    assert [(d.id, d.place) for d in whole] == [
        ("AP880212-0001", f"{path}:4"),
        ("2", f"{path}:17"),
        ("AP880212-0001", f"{path}:19"),
    ]
    monkeypatch.setattr(sgml, "_CHUNK", chunk)
    assert read(path) == whole


def test_without_text_elements_all_the_rest_is_the_text(write, read):
    page = "<html><head><title>T</title></head><p>one<p>two<!-- no --></html>"
    (document,) = read(write("a.sgml", f"<DOC><DOCNO>1</DOCNO>{page}</DOC>"))
    assert (document.id, document.title, document.text.split(), document.fields) == (
        "1",
        "T",
        ["one", "two"],
        {},
    )


def test_a_title_inside_the_text_stays_there(write, read):
    (document,) = read(
        write("a.sgml", "<DOC><DOCNO>1</DOCNO><TEXT><TITLE>T</TITLE> x</TEXT></DOC>")
    )
    assert (document.title, document.text.split()) == ("", ["T", "x"])


def test_the_number_within_a_header(write, read):
    page = "<DOC><HEADER><DOCNO>1</DOCNO><X>y</X></HEADER><TEXT>x</TEXT></DOC>"
    assert read(write("a.sgml", page))[0][:4] == ("1", "", "x", {})


def test_an_id_attribute_serves_where_there_is_no_number(write, read):
    assert (
        read(write("a.sgml", '<DOC id="AFP_1" type="story"><TEXT>x</TEXT></DOC>'))[0].id == "AFP_1"
    )


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<DOC><TEXT>x</TEXT></DOC>", "no <DOCNO>.*auto_id=True"),
        (b"<DOC><DOCNO> </DOCNO></DOC>", "no <DOCNO>.*auto_id=True"),
        (b"<DOC><DOCNO>1</DOCNO>\xff</DOC>", "not valid UTF-8: byte 0xff"),
        (b"<DOC><DOCNO>1</DOCNO>", "<DOC> without </DOC> before the next"),
    ],
)
def test_bad_documents(write, read, page, reason):
    good = b"<DOC>\n<DOCNO>%d</DOCNO>\n</DOC>\n"
    path = write("a.sgml", good % 1 + page + b"\n" + good % 2)
    with pytest.raises(SourceError, match=reason) as caught:
        read(path)
    assert caught.value.place == f"{path}:4"
    bad = []
    assert [d.id for d in read(path, on_bad=bad.append)] == ["1", "2"]
    assert [error.place for error in bad] == [f"{path}:4"]


def test_the_end_before_the_closing_tag(write, read):
    with pytest.raises(SourceError, match=r":1: <DOC> without </DOC>: the file ends"):
        read(write("a.sgml", "<DOC><DOCNO>1</DOCNO>"))


def test_auto_id(write, read):
    assert read(write("a.sgml", "\n<DOC>x</DOC>"), auto_id=True)[0].id == "a.sgml:2"


def test_an_empty_file_and_something_else(write, read):
    assert read(write("a.sgml", "")) == []
    assert read(write("a.sgml", " \n")) == []
    with pytest.raises(SourceError, match=r"no <DOC> in it"):
        read(write("a.sgml", '{"id": 1}\n' * 100_000))


def test_crowds_of_tags_take_no_quadratic_time(write, read):
    crowd = "<!--" * 50_000 + "<a " * 50_000 + "".join(f"<t{i}>" for i in range(20_000))
    crowd += "<TEXT>x</TEXT><TITLE>y</TITLE>" * 20_000
    (document,) = read(write("a.sgml", f"<DOC><DOCNO>1</DOCNO>{crowd}</DOC>"))
    assert document.text.count("x") == 20_000


def test_a_large_document(write, read):
    text = "word " * 1_000_000
    (document,) = read(write("a.sgml", f"<DOC><DOCNO>1</DOCNO><TEXT>{text}</TEXT></DOC>"))
    assert document.text == text.strip()
