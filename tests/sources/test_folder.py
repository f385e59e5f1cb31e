from __future__ import annotations

import gzip
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from source_strategies import check_outcome

import likewise as lw
from likewise.errors import SourceError, UsageError
from likewise.records import Document
from likewise.sources import Columns, open_source

# No extension, so that every file is plain text; a title would be cut off the text.
file_names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\0."), min_size=1, max_size=15
)
plain_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


def skipped(folder, **options):
    """What is counted as skipped once a folder was read."""
    source = open_source(folder, **options)
    return [document.id for document in source], dict(source.skipped.counts)


def test_files_in_sorted_order_with_relative_ids(tmp_path, write, read):
    for name in ("b.txt", "a/z.txt", "a/deep er/x", "a.txt"):
        write(name, f"content of {name}\n")
    found = read(tmp_path)
    assert [d.id for d in found] == ["a.txt", "a/deep er/x", "a/z.txt", "b.txt"]
    document = found[1]
    name = "a/deep er/x"
    assert document == Document(name, "", f"content of {name}\n", {}, str(tmp_path / name))


def test_hidden_files_and_folders_are_skipped_and_counted(tmp_path, write):
    for name in (".hidden", ".git/config", "a/.b/c", "seen"):
        write(name, "x")
    assert skipped(tmp_path) == (["seen"], {"hidden": 3})


@given(names=st.dictionaries(file_names, plain_texts, min_size=1, max_size=5))
def test_round_trip(names):
    texts = {name: text.removeprefix("\ufeff") for name, text in names.items()}
    expected = {name: text for name, text in texts.items() if text.strip()}
    assume(expected)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in names.items():
            (Path(folder) / name).write_bytes(text.encode())
        found = {d.id: d.text for d in open_source(folder)}
    assert found == expected


@given(data=st.binary())
def test_any_bytes_are_a_document_or_a_source_error(data):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.txt").write_bytes(data)
        check_outcome(folder)


def test_a_bad_file_is_passed_over(tmp_path, write, read):
    write("a", "fine")
    bad_file = write("b.txt", b"\xff")
    cut = write("c.gz", gzip.compress(b"packed")[:-5])
    os.symlink("nowhere", tmp_path / "d")
    write("e.gz", gzip.compress(b"packed"))
    with pytest.raises(
        SourceError, match=r"b.txt: not valid UTF-8: byte 0xff at 0; name its encoding"
    ):
        read(tmp_path)
    bad = []
    assert [(d.id, d.text) for d in read(tmp_path, on_bad=bad.append)] == [
        ("a", "fine"),
        ("e.gz", "packed"),
    ]
    assert [error.place for error in bad] == [str(bad_file), str(cut), str(tmp_path / "d")]
    assert [error.kind for error in bad] == ["of unknown encoding", "not readable", "not readable"]


def test_a_name_that_is_not_unicode_is_bad(tmp_path, read):
    with open(os.path.join(os.fsencode(tmp_path), b"\xff"), "wb"):
        pass
    with pytest.raises(SourceError, match=r"surrogate") as caught:
        read(tmp_path)
    caught.value.place.encode()


def test_pipes_are_not_waited_for(tmp_path, write):
    os.mkfifo(tmp_path / "pipe")
    write("file", "x")
    assert skipped(tmp_path) == (["file"], {"pipes or devices": 1})


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path, write):
    secret = write("secret.txt", "not to be indexed")
    write("elsewhere/one.txt", "neither")
    write("folder/in.txt", "inside")
    folder = tmp_path / "folder"
    os.symlink(secret, folder / "out.txt")
    os.symlink("../secret.txt", folder / "relative.txt")
    os.symlink(tmp_path / "elsewhere", folder / "away")
    os.symlink("in.txt", folder / "within.txt")
    found, counts = skipped(folder)
    assert found == ["in.txt", "within.txt"]
    assert counts == {"links that lead out of the folder": 3}


def test_tables_images_and_collections_are_skipped_and_counted(tmp_path, write):
    write("note.txt", "words")
    write("a.csv", "id,text\n1,x\n")
    write("sub/b.jsonl.gz", gzip.compress(b"{}"))
    write("c.json", "[]")
    write("d.xlsx", b"PK")
    write("e.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
    write("f.bin", os.urandom(5000))
    lw.index([{"id": "1", "text": "wing"}], to=tmp_path / "old.lw", model=None)
    source = open_source(tmp_path)
    assert [d.id for d in source] == ["note.txt"]
    assert dict(source.skipped.counts) == {
        "likewise collections": 1,
        "tables": 4,
        "neither text nor a known format": 2,
    }
    assert "4 tables (a.csv, c.json, d.xlsx, …; index them by name)" in str(source.skipped)
    assert "1 likewise collection (old.lw)" in str(source.skipped)
    assert len(source.skipped) == 7
    # Counted anew each time.
    assert [d.id for d in source] == ["note.txt"]
    assert len(source.skipped) == 7


def test_a_collection_is_no_folder_of_documents(tmp_path):
    lw.index([{"id": "1", "text": "wing"}], to=tmp_path / "old.lw", model=None)
    with pytest.raises(UsageError, match=r"old.lw' is a likewise collection"):
        open_source(tmp_path / "old.lw")


def test_progress(tmp_path, write):
    write("a", "12345")
    write("b", gzip.compress(b"x" * 1000))
    source = open_source(tmp_path)
    assert source.total == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert [source.done for _ in source] == [5, source.total]


def test_a_format_holds_for_every_file(tmp_path, write, read):
    write("part/1", '{"id": 1, "text": "x"}\n')
    write("part/2.csv", '{"text": "y"}\n')
    found = read(tmp_path, format="jsonl", auto_id=True)
    assert [(d.id, d.place) for d in found] == [
        ("1", f"{tmp_path}/part/1:1"),
        ("part/2.csv:1", f"{tmp_path}/part/2.csv:1"),
    ]


def test_a_single_text_file(write, read):
    assert read(write("note.txt", "words"))[0][:3] == ("note.txt", "", "words")
    assert read(write("note.txt.gz", gzip.compress(b"words")))[0].id == "note.txt.gz"


@pytest.mark.parametrize("files", [{}, {".hidden": "x"}, {"a.csv": "id,text\n1,x"}])
def test_a_folder_with_nothing_to_read_is_an_error(tmp_path, write, read, files):
    for name, content in files.items():
        write(f"folder/{name}", content)
    (tmp_path / "folder").mkdir(exist_ok=True)
    for on_bad in (None, [].append):
        with pytest.raises(SourceError, match=r"the folder holds nothing that can be read: "):
            read(tmp_path / "folder", on_bad=on_bad)


def test_nothing_is_made_of_a_folder_in_which_all_is_bad(tmp_path, write):
    write("folder/a.pdf", b"%PDF-1.4 cut")
    reason = r"nothing that can be read: skipped 1 damaged \(.*a.pdf\)"
    with pytest.raises(SourceError, match=reason):
        lw.index(tmp_path / "folder", to=tmp_path / "c.lw", on_bad=lambda error: None)
    assert not (tmp_path / "c.lw").exists()


def test_empty_files_are_skipped_and_counted(tmp_path, write):
    for name in ("empty", "a.pdf", "a.mbox"):
        write(name, "")
    write("b.txt", "On a wing.")
    source = open_source(tmp_path)
    assert [d.id for d in source] == ["b.txt"]
    assert source.skipped.counts == {"empty": 3}


def test_formats_are_mixed_and_come_in_order(tmp_path, write, read):
    write("1.html", "<title>Wings</title><p>Flutter.")
    write("2.md", "# Heat\n\nTo *blunt* bodies.")
    write("3.trec", "<DOC><DOCNO>T-1</DOCNO><TEXT>one</TEXT></DOC>")
    write("4.eml", "Subject: Panels\nFrom: a@example.org\n\nIn supersonic flow.\n")
    write("5.txt", "Layers\n\nOn a wing.")
    write("6.mbox", "From a\nSubject: M\n\nfirst\n\nFrom b\nSubject: N\n\nsecond\n")
    found = read(tmp_path)
    assert [(d.id, d.title, d.text) for d in found] == [
        ("1.html", "Wings", "Flutter."),
        ("2.md", "Heat", "To blunt bodies."),
        ("T-1", "", "one"),
        ("4.eml", "Panels", "In supersonic flow."),
        ("5.txt", "Layers", "On a wing."),
        ("6.mbox:1", "M", "first"),
        ("6.mbox:6", "N", "second"),
    ]


def test_a_file_of_many_that_cannot_be_read_at_all_is_skipped(tmp_path, write, read):
    write("folder/1.mbox", "no message")
    write("folder/2.trec", "no document")
    write("folder/3.txt", "words")
    bad = []
    assert [d.id for d in read(tmp_path / "folder", on_bad=bad.append)] == ["3.txt"]
    assert [Path(error.place).name for error in bad] == ["1.mbox:1", "2.trec"]
    with pytest.raises(SourceError, match=r"1\.mbox:1: not an mbox"):
        read(tmp_path / "folder")


def test_added_says_what_was_skipped(tmp_path, write, caplog):
    collection = lw.index([{"id": "1", "text": "wing"}], to=tmp_path / "c.lw", model=None)
    write("folder/a.txt", "words")
    write("folder/b.csv", "id,text\n1,x")
    write("folder/c.txt", b"\xff\xfa")
    added = collection.add(tmp_path / "folder", on_bad=lambda error: None)
    assert (added.n_docs, added.skipped) == (1, {"of unknown encoding": 1, "tables": 1})
    assert "skipped 1 table (b.csv; index them by name)" in caplog.text


def test_the_options_of_reading_are_checked(write):
    path = write("a.csv", "id,text\n1,x")
    with pytest.raises(UsageError, match=r"unknown encoding 'klingon'"):
        open_source(path, encoding="klingon")
    with pytest.raises(UsageError, match=r"a delimiter is one character, or tab; received '::'"):
        open_source(path, delimiter="::")
    with pytest.raises(UsageError, match=r"markup is auto, strip, keep, received 'drop'"):
        Columns(markup="drop")


def test_a_manifest_of_something_else_is_a_table(tmp_path, write):
    write("extension/manifest.json", json.dumps({"name": "an extension"}))
    write("extension/readme.txt", "words")
    assert skipped(tmp_path) == (["extension/readme.txt"], {"tables": 1})
