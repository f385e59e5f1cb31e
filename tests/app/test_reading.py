"""Reading of files and folders, as it is typed."""

import json
import sys
from pathlib import Path

import pytest

from likewise.app.cli import main

sys.path.insert(0, str(Path(__file__).parent.parent / "formats"))

from made_files import docx, paragraph, pdf, table


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; no model is fitted, nothing is smoothed."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def folder(tmp_path):
    """A folder with two documents, and seven files that are none or cannot be read."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.docx").write_bytes(docx(paragraph("On panels."), title="Panels"))
    (folder / "b.html").write_text("<title>Wings</title><p>Flutter.")
    for number in range(5):
        (folder / f"cut{number}.docx").write_bytes(b"PK\3\4")
    (folder / "t.csv").write_text("id,text\n1,x\n")
    (folder / ".hidden").write_text("x")
    return folder


def test_every_file_that_is_skipped_is_named_or_counted(call, folder):
    new = ["index", "papers", "--to", "c.lw", "--model", "none"]
    code, out, err = call(*new)
    assert (code, out) == (1, "")
    assert "papers/cut0.docx: not a whole zip archive" in err
    assert "--skip-bad leaves such files out" in err
    assert not (folder.parent / "c.lw").exists()
    code, out, err = call(*new, "--skip-bad")
    assert code == 0
    assert "2 documents added, 7 skipped" in out
    assert err.count("skipped: papers/cut") == 3
    assert "5 damaged (papers/cut0.docx, papers/cut1.docx, papers/cut2.docx, …)" in err
    assert "1 table (t.csv; index them by name), " in err or "1 table (t.csv; index them" in err
    assert "1 hidden" in err
    code, out, _ = call(*new, "--skip-bad", "--overwrite", "--json")
    values = json.loads(out)
    assert values["skipped"] == 7
    assert values["skipped_by_reason"] == {"damaged": 5, "hidden": 1, "tables": 1}


def test_a_folder_of_scans_is_a_failure_and_makes_no_collection(call, tmp_path):
    pytest.importorskip("pypdfium2")
    (tmp_path / "scans").mkdir()
    for number in range(3):
        (tmp_path / "scans" / f"{number}.pdf").write_bytes(pdf(""))
    code, out, err = call("index", "scans", "--to", "c.lw", "--skip-bad")
    assert (code, out) == (1, "")
    assert "holds nothing that can be read: skipped 3 without text (scans/0.pdf, " in err
    assert not (tmp_path / "c.lw").exists()


def test_options_of_reading(call, tmp_path):
    (tmp_path / "a.csv").write_bytes("key:text\n1:<p>Крыло</p>\n".encode("cp1251"))
    new = ["index", "a.csv", "--to", "c.lw", "--model", "none", "--id", "key"]
    told = ["--delimiter", ":", "--encoding", "cp1251"]
    assert call(*new, *told, "--markup", "keep")[0] == 0
    assert json.loads(call("show", "c.lw", "1", "--json")[1])["text"] == "<p>Крыло</p>"
    assert call(*new, *told, "--overwrite")[0] == 0
    assert json.loads(call("show", "c.lw", "1", "--json")[1])["text"] == "Крыло"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--auto-id", "--id", "key"], "--auto-id and --id key are at odds"),
        (["--auto-id", "--id", "id"], "--auto-id and --id id are at odds"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--delimiter", "::"], "a delimiter is one character"),
        (["--format", "doc"], "unknown format 'doc'"),
    ],
)
def test_options_that_do_not_fit(call, tmp_path, options, message):
    (tmp_path / "a.csv").write_text("id,text\n1,x\n")
    code, out, err = call("index", "a.csv", "--to", "c.lw", *options)
    assert (code, out) == (2, "")
    assert err.startswith("likewise: ")
    assert message in err


def test_documents_in_hand_may_be_of_any_format(call, tmp_path):
    lines = [
        {"id": "1", "title": "Wing flutter", "text": "Flutter of a wing."},
        {"id": "2", "title": "Heat transfer", "text": "Heat transfer to a blunt body."},
    ]
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "heat.docx").write_bytes(docx(paragraph("Heat to a body."), title="On heat"))
    (tmp_path / "bare").write_text("<!DOCTYPE html><p>Heat to a <b>body</b>")
    (tmp_path / "heat.json").write_text('[{"text": "Heat to a body."}]')
    (tmp_path / "two.xlsx").write_bytes(table(("id", "text"), ("7", "heat"), ("8", "wing")))
    call("index", "papers.jsonl", "--to", "c.lw", "--model", "none")
    ask = ["like", "c.lw", "--method", "bm25", "-k", "1", "--json", "--doc"]
    for name in ("heat.docx", "bare", "heat.json"):
        code, out, _ = call(*ask, name)
        assert code == 0
        assert json.loads(out)["answers"][0]["doc_id"] == "2"
    code, _, err = call(*ask, "two.xlsx")
    assert code == 2
    assert "two.xlsx holds several documents; `likewise run --like` asks with each" in err
    code, out, _ = call("run", "c.lw", "--like", "two.xlsx", "--method", "bm25", "-k", "1")
    assert [line.split()[:3:2] for line in out.splitlines()] == [["7", "2"], ["8", "1"]]
    (tmp_path / "empty.json").write_text("[]")
    assert "empty.json is empty: it holds no document" in call(*ask, "empty.json")[2]


def test_empty_files_are_said_and_nothing_else_is_a_failure(call, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,wings\n")
    (tmp_path / "b.csv").write_text("id,text\n")
    (tmp_path / "c.txt").write_text("")
    new = ["index", "--to", "c.lw", "--model", "none"]
    code, out, err = call(*new, "b.csv", "c.txt")
    assert (code, out) == (1, "")
    assert "b.csv, c.txt: there is nothing to index: skipped 2 empty (b.csv, c.txt)" in err
    assert not (tmp_path / "c.lw").exists()
    code, out, err = call(*new, "a.csv", "b.csv", "c.txt", "--json")
    assert code == 0
    assert json.loads(out)["skipped_by_reason"] == {"empty": 2}
    # What is there stays where nothing takes its place.
    assert call(*new, "b.csv", "--overwrite")[0] == 1
    assert json.loads(call("info", "c.lw", "--json")[1])["documents"] == 1
    # A feed without news is no failure.
    code, out, err = call("add", "c.lw", "b.csv")
    assert (code, "0 documents added, 1 skipped" in out) == (0, True)
    assert "skipped 1 empty (b.csv)" in err


def test_a_whole_table_is_skipped_and_named(call, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,wings\n")
    (tmp_path / "b.csv").write_text("id,headline\n1,wings\n")
    new = ["index", "--to", "c.lw", "--model", "none", "--text", "text"]
    (tmp_path / "c.parquet").write_bytes(b"abc")
    code, _, err = call(*new, "c.parquet", "a.csv")
    assert code == 1
    code, out, err = call(*new, "c.parquet", "a.csv", "--skip-bad")
    assert (code, "1 document added, 1 skipped" in out) == (0, True)
    assert "skipped: c.parquet: not a readable Parquet file" in err
    code, _, err = call(*new[:-1], "body", "b.csv", "--skip-bad", "--overwrite")
    assert code == 1
    # Said in the language of who typed it.
    assert "name another with --title or --text" in err
    assert "text=" not in err
