from __future__ import annotations

import gzip
import io
import os
import sys
import types

import pytest
import zstandard

import likewise.sources
from likewise.errors import SourceError, UsageError
from likewise.formats.kinds import KINDS
from likewise.records import Document
from likewise.sources import Columns, documents_of, open_source

LINE = '{"id": 1, "text": "x"}\n'


def test_exported_names():
    assert likewise.sources.__all__ == [
        "Columns",
        "OnBad",
        "Place",
        "Skipped",
        "Source",
        "at_least_one",
        "chosen_columns",
        "documents_of",
        "open_source",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINE),
        ("a.NDJSON", LINE),
        ("a.json", LINE),
        ("a.csv", "id,text\n1,x"),
        ("a.tsv", "id\ttext\n1\tx"),
        ("a.sgml", "<DOC><DOCNO>1</DOCNO>x</DOC>"),
        ("a.trec", "<DOC><DOCNO>1</DOCNO>x</DOC>"),
        ("a.b.jsonl.gz", LINE),
    ],
)
def test_the_extension_tells_the_format(write, read, name, content):
    (document,) = read(write(name, content))
    assert document[:3] == ("1", "", "x")
    assert read(str(write(name, content))) == [document]


@pytest.mark.parametrize("format", ["jsonl", "ndjson", "json"])
def test_a_format_overrides_the_extension(write, read, format):
    assert read(write("a.csv", LINE), format=format)[0].id == "1"
    assert read(write("bare", LINE), format=format)[0].id == "1"


def test_an_unknown_extension_or_format(write):
    with pytest.raises(UsageError, match=r"cannot tell the format .* format=: jsonl, json, csv"):
        open_source(write("a.doc", LINE))
    with pytest.raises(UsageError, match=r"unknown format 'xml'; it is one of jsonl, json"):
        open_source(write("a.doc", LINE), format="xml")


@pytest.mark.parametrize("name", ["none.jsonl", "", "a\0b", "x" * 5000, "no/where/"])
def test_a_missing_file_lists_what_is_accepted(name):
    with pytest.raises(UsageError, match=r"no file or folder .*\.jsonl .* standard input"):
        open_source(name)


def test_a_format_where_it_does_not_fit():
    for source in ("ir:cranfield", "docstrings:", [Document("a")]):
        with pytest.raises(UsageError, match=r"fits only files and standard input"):
            open_source(source, format="csv")


def test_progress_counts_stored_bytes(write):
    lines = "".join(f'{{"id": {i}, "text": "{os.urandom(500).hex()}"}}\n' for i in range(5000))
    path = write("a.jsonl.gz", gzip.compress(lines.encode()))
    source = open_source(path)
    assert (source.done, source.total) == (0, path.stat().st_size)
    seen = [source.done for _ in source]
    assert 0 < seen[0] < seen[-1] <= source.total
    assert seen == sorted(seen)
    assert source.done == source.total


def test_iterating_again_begins_again(write):
    source = open_source(write("a.jsonl", LINE))
    assert list(source) == list(source)
    assert source.done == source.total
    assert source.name.endswith("a.jsonl")


def test_a_broken_off_iteration_closes_the_file(write):
    source = iter(open_source(write("a.jsonl", LINE * 3)))
    next(source)
    source.close()
    assert list(source) == []


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_damage_is_one_bad_thing_and_ends_the_file(write, read, pack):
    path = write("a.jsonl", pack(LINE.encode() * 100)[:-3])
    with pytest.raises(SourceError, match=r"a\.jsonl"):
        read(path)
    bad = []
    read(path, on_bad=bad.append)
    assert [error.place for error in bad] == [str(path)]


def test_who_hears_of_bad_documents_may_stop_and_hears_once(write, read):
    heard = []

    def stop(error):
        heard.append(error)
        raise error

    with pytest.raises(SourceError, match="not valid JSON"):
        read(write("a.jsonl", "{x\n" * 3), on_bad=stop)
    assert len(heard) == 1


# Of every format a file that holds no document.
EMPTY = {f"{kind}{named[0]}": b"" for kind, (_, named, *_) in KINDS.items()} | {
    "blank.txt": b" \r\n\n",
    "marked.txt": b"\xef\xbb\xbf",
    "wide.txt": "\ufeff \n".encode("utf-16-le"),
    "header.csv": b"id,title,text\n",
    "array.json": b"[]",
    "lines.jsonl": b"\n\n",
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_file_that_holds_no_document_is_skipped_as_empty(write, name):
    path = write(name, EMPTY[name])
    source = open_source(path)
    assert list(source) == []
    assert source.skipped.counts == {"empty": 1}
    assert list(source) == []
    assert str(source.skipped) == f"1 empty ({path})"
    documents = documents_of([path], Columns(), None, None)
    with pytest.raises(
        SourceError, match=rf"there is nothing to index: skipped 1 empty \(.*{name}"
    ):
        list(documents.required())


def test_one_document_is_enough_and_an_empty_list_is_meant(write):
    places = [write("a.csv", ""), write("b.jsonl", LINE)]
    documents = documents_of(places, Columns(), None, None)
    assert len(list(documents.required())) == 1
    assert documents.skipped.counts == {"empty": 1}
    assert list(documents_of([[]], Columns(), None, None).required()) == []


def test_a_table_that_cannot_be_read_at_all_is_one_bad_thing(write):
    places = [write("a.parquet", b"abc"), write("a.csv", "id,id\n1,2\n"), write("b.jsonl", LINE)]
    bad = []
    documents = documents_of(places, Columns(), None, bad.append)
    assert len(list(documents.required())) == 1
    assert [error.place for error in bad] == [str(places[0]), f"{places[1]}:1"]
    assert documents.skipped.counts == {"not readable": 2}
    with pytest.raises(SourceError, match="nothing to index: skipped 2 not readable"):
        list(documents_of(places[:2], Columns(), None, bad.append).required())


@pytest.mark.parametrize(
    ("format", "content"),
    [
        (None, LINE),
        ("csv", "id,text\n1,x"),
        ("tsv", "id\ttext\n1\tx"),
        ("trec", "<DOC><DOCNO>1</DOCNO>x</DOC>"),
    ],
)
def test_standard_input(monkeypatch, compressed, format, content):
    _, pack = compressed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(content.encode()))))
    source = open_source("-", format=format)
    (document,) = source
    assert document[:3] == ("1", "", "x")
    assert document.place.startswith("<stdin>:")
    assert (source.name, source.total) == ("-", None)
    assert source.done > 0


def test_special_names_are_only_special_as_text(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    write("-", LINE)
    write("ir:x.jsonl", LINE)
    assert next(iter(open_source("./ir:x.jsonl"))).id == "1"
    assert next(iter(open_source("./-", format="jsonl"))).id == "1"


def test_docstrings_are_read_by_their_own_reader(monkeypatch):
    asked = []

    def read_docstrings(packages):
        asked.append(packages)
        yield Document("numpy.sum", text="Sum.")

    module = types.ModuleType("likewise.sources.docstrings")
    module.read_docstrings = read_docstrings
    monkeypatch.setitem(sys.modules, "likewise.sources.docstrings", module)
    source = open_source("docstrings:numpy,scipy", columns=Columns())
    assert [d.id for d in source] == ["numpy.sum"]
    assert (source.name, source.done, source.total) == ("docstrings:numpy,scipy", 1, None)
    list(open_source("docstrings:"))
    assert asked == ["numpy,scipy", ""]


@pytest.mark.parametrize(
    ("name", "file", "n_docs"),
    [("cran", "corpus.jsonl", 1400), ("20newsgroups", "corpus.jsonl.gz", None)],
)
def test_real_collections(real, name, file, n_docs):
    source = open_source(real(name) / file)
    found = list(source)
    assert len({d.id for d in found}) == len(found)
    assert n_docs is None or len(found) == n_docs
    assert source.done == source.total
