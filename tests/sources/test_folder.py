from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_strategies import check_outcome, texts

from likewise.errors import SourceError
from likewise.records import Document
from likewise.sources import open_source

file_names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=15
).filter(lambda name: not name.startswith("."))


def test_files_in_sorted_order_with_relative_ids(tmp_path, write, read):
    for name in ("b.txt", "a/z.txt", "a/deep er/x", "a.txt"):
        write(name, f"content of {name}\n")
    found = read(tmp_path)
    assert [d.id for d in found] == ["a.txt", "a/deep er/x", "a/z.txt", "b.txt"]
    document = found[1]
    name = "a/deep er/x"
    assert document == Document(name, "", f"content of {name}\n", {}, str(tmp_path / name))


def test_hidden_files_and_folders_are_skipped(tmp_path, write, read):
    for name in (".hidden", ".git/config", "a/.b/c", "seen"):
        write(name, "x")
    assert [d.id for d in read(tmp_path)] == ["seen"]


@given(names=st.dictionaries(file_names, texts, max_size=5))
def test_round_trip(names):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in names.items():
            (Path(folder) / name).write_bytes(text.encode())
        found = {d.id: d.text for d in open_source(folder)}
    assert found == {name: text.removeprefix("\ufeff") for name, text in names.items()}


@given(data=st.binary())
def test_any_bytes_are_a_document_or_a_source_error(data):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x").write_bytes(data)
        check_outcome(folder)


def test_a_bad_file_is_passed_over(tmp_path, write, read):
    write("a", "fine")
    bad_file = write("b", b"\xff")
    cut = write("c.gz", gzip.compress(b"packed")[:-5])
    os.symlink("nowhere", tmp_path / "d")
    write("e.gz", gzip.compress(b"packed"))
    with pytest.raises(SourceError, match=r"b: not valid UTF-8: byte 0xff at 0"):
        read(tmp_path)
    bad = []
    assert [(d.id, d.text) for d in read(tmp_path, on_bad=bad.append)] == [
        ("a", "fine"),
        ("e.gz", "packed"),
    ]
    assert [error.place for error in bad] == [str(bad_file), str(cut), str(tmp_path / "d")]


def test_a_name_that_is_not_unicode_is_bad(tmp_path, read):
    with open(os.path.join(os.fsencode(tmp_path), b"\xff"), "wb"):
        pass
    with pytest.raises(SourceError, match=r"surrogate") as caught:
        read(tmp_path)
    caught.value.place.encode()


def test_pipes_are_not_waited_for(tmp_path, write, read):
    os.mkfifo(tmp_path / "pipe")
    write("file", "x")
    assert [d.id for d in read(tmp_path)] == ["file"]


def test_progress(tmp_path, write):
    write("a", "12345")
    write("b", gzip.compress(b"x" * 1000))
    source = open_source(tmp_path)
    assert source.total == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert [source.done for _ in source] == [5, source.total]


def test_a_format_holds_for_every_file(tmp_path, write, read):
    write("part/1", '{"id": 1, "text": "x"}\n')
    write("part/2", '{"text": "y"}\n')
    found = read(tmp_path, format="jsonl", auto_id=True)
    assert [(d.id, d.place) for d in found] == [
        ("1", f"{tmp_path}/part/1:1"),
        ("part/2:1", f"{tmp_path}/part/2:1"),
    ]


def test_a_single_text_file(write, read):
    assert read(write("note.txt", "words"))[0][:3] == ("note.txt", "", "words")
    assert read(write("note.txt.gz", gzip.compress(b"words")))[0].id == "note.txt.gz"


def test_an_empty_folder_and_an_empty_file(tmp_path, write, read):
    assert read(tmp_path) == []
    write("empty", "")
    assert [(d.id, d.text) for d in read(tmp_path)] == [("empty", "")]
