import argparse
import io
import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

import likewise as lw
from likewise.app.commands import decompose
from likewise.collection.snapshot import open_snapshot
from likewise.errors import LikewiseError, SourceError, StorageError, UsageError
from likewise.models.bags import Sample, gather
from likewise.models.ddm import DDM, fit

SPACE = "The satellites orbit the planet. A satellite launch puts rockets into orbit."
BREAD = "Baking bread needs flour and an oven. Bakers bake bread in ovens."


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A collection with two subjects, and a model of it."""
    folder = tmp_path_factory.mktemp("shelf") / "shelf.lw"
    documents = [
        {"id": f"{name}{i}", "title": f"{name} {i}", "text": text * 3}
        for i in range(8)
        for name, text in (("space", SPACE), ("bread", BREAD))
    ]
    lw.index([*documents, {"id": "empty", "text": ""}], to=folder)
    snapshot = open_snapshot(folder)
    model = fit(*gather(snapshot, Sample()), DDM(topics=2, sweeps=60, alpha=0.2), threads=1)
    return SimpleNamespace(folder=folder, model=model)


@pytest.fixture
def call(shelf, capsys, monkeypatch, tmp_path):
    def load_model(snapshot, name=None):
        if name not in (None, "", "ddm"):
            raise UsageError(f"no model {name!r}")
        return shelf.model

    store = ModuleType("likewise.models.kinds")
    store.load_model = load_model
    monkeypatch.setitem(sys.modules, "likewise.models.kinds", store)
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    parser = argparse.ArgumentParser()
    decompose.register(parser.add_subparsers(required=True))

    def call(command, *arguments):
        options = parser.parse_args([command, str(shelf.folder), *arguments])
        options.run(options)
        done = capsys.readouterr()
        return done.out, done.err

    return call


def test_topics_table(call):
    out, err = call("topics")
    head, _, titles, *rows = out.splitlines()
    assert err == ""
    assert head.startswith("ddm: 2 topics; documents are ")
    assert titles.split() == ["share", "coherence", "words"]
    assert [row.split()[0] for row in rows] == ["0", "1"]
    start = titles.index("words")
    assert all(row[start - 1] == " " and row[start] != " " for row in rows)
    assert any("satellite" in row and "orbit" in row for row in rows)
    assert any("bread" in row for row in rows)
    assert "satellit," not in out


def test_topics_json_and_order(call):
    out = json.loads(call("topics", "--json", "--sort", "share", "--words", "3")[0])
    assert sum(out["shares"].values()) == pytest.approx(1)
    first, second = out["topics"]
    assert first["share"] >= second["share"]
    assert first["share"] + second["share"] == pytest.approx(out["shares"]["topic"], rel=1e-4)
    assert len(first["words"]) == len(first["distinctive"]) == 3
    assert set(first["words"][0]) == {"term", "word", "weight"}
    by_coherence = json.loads(call("topics", "--json", "--sort", "coherence")[0])["topics"]
    assert by_coherence[0]["coherence"] >= by_coherence[1]["coherence"]


def test_topics_in_detail(call):
    out, _ = call("topics", "--topic", "1", "0", "1")
    first, second = out.split("\n\n")
    assert first.startswith("topic 1: ")
    assert second.startswith("topic 0: ")
    for part in ("likeliest", "distinctive", "nearest", "documents"):
        assert f"\n  {part}" in first
    assert "topic 0: " in first
    assert "space0  space 0" in out
    assert "bread0  bread 0" in out


def test_topics_that_are_not_there(call):
    with pytest.raises(UsageError, match="no topic 2 in the model ddm: its topics are 0 to 1"):
        call("topics", "--topic", "2")
    with pytest.raises(UsageError, match="other"):
        call("topics", "--model", "other")


def test_poles_and_labels_in_the_table():
    from likewise.models.topic_summary import TopicDescription, Word

    words = (Word("orbit", "orbits", 0.5),)
    labelled = TopicDescription(7, "the\x1bsky", 0.25, 0.5, words)
    ovens = (Word("oven", "ovens", -0.1),)
    axis = TopicDescription(10, "", 0.5, -0.25, words, opposite=ovens, pole_coherence=(0, -0.5))
    assert decompose._table([labelled, axis]).splitlines() == [
        "     share  coherence  label    words",
        " 7  25.00%      0.500  the�sky  orbits",
        "10  50.00%     -0.250           + orbits",
        "                                - ovens",
    ]
    shown = decompose._details(axis, [axis])
    assert shown.startswith("axis 10: 50.00% of the squared singular values, coherence -0.250")
    assert "negative    ovens -0.100" in shown


def test_decompose_a_stored_document(call):
    out, err = call("decompose", "--id", "space0")
    assert err == ""
    assert out.startswith("space 0\nby the model ddm\n\ntopics ")
    assert "satellite" in out
    assert "\nwords of its own " in out
    assert out.rstrip().splitlines()[-1].startswith("background ")


def test_decompose_text_as_json(call):
    text = SPACE + " The zebra."
    out = json.loads(call("decompose", "--text", text, "--json", "--words", "2")[0])
    assert sum(out["shares"].values()) == pytest.approx(1, abs=1e-5)
    terms = {entry["term"]: entry for entry in out["terms"]}
    assert terms["zebra"]["kind"] == "own"
    assert terms["orbit"]["kind"] == "topic"
    assert terms["orbit"]["count"] == 2
    assert len(out["own"]) <= 2
    assert out["own"][0]["word"] == "zebra"
    assert "orbit" in out["topics"][0]["words"]


def test_decompose_files(call, monkeypatch, tmp_path):
    (tmp_path / "draft.txt").write_bytes(b"\xef\xbb\xbf" + SPACE.encode())
    from_file = call("decompose", "--doc", "draft.txt", "--json")[0]
    assert json.loads(from_file)["title"] == "draft.txt"
    stdin = SimpleNamespace(buffer=io.BytesIO(SPACE.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    piped = json.loads(call("decompose", "--doc", "-", "--json")[0])
    assert piped | {"title": "draft.txt"} == json.loads(from_file)


def test_files_that_cannot_be_read(call, tmp_path):
    (tmp_path / "noise.txt").write_bytes(b"orbit \xff\xfe\xfa")
    with pytest.raises(SourceError, match=r"noise.txt: neither text in a known encoding nor one"):
        call("decompose", "--doc", "noise.txt")
    for name in ("nowhere.txt", ".", "a\0b"):
        with pytest.raises(SourceError, match="cannot be read"):
            call("decompose", "--doc", name)


@pytest.mark.parametrize(
    "what",
    [
        ("--id", "nobody"),
        ("--id", "empty"),
        ("--text", ""),
        ("--text", "the"),
        ("--text", "orbit", "--model", "x"),
    ],
)
def test_what_cannot_be_decomposed(call, what):
    with pytest.raises(LikewiseError):
        call("decompose", *what)


@pytest.mark.parametrize(
    "what", [(), ("--id", "a", "--text", "b"), ("--text", "a", "--words", "0")]
)
def test_one_document_is_asked_for(call, what):
    with pytest.raises(SystemExit):
        call("decompose", *what)


def test_colours_only_where_they_are_seen(call, monkeypatch):
    arguments = ("decompose", "--text", "Satellites in \x1b[31morbit \udcff", "--colour")
    out, err = call(*arguments)
    assert out.endswith("\n\nSatellites in �[31morbit �\n")
    assert "FORCE_COLOR" in err
    monkeypatch.setenv("FORCE_COLOR", "1")
    out, err = call(*arguments)
    assert "\x1b[34mSatellites\x1b[0m \x1b[2min\x1b[0m �[" in out
    assert err == ""


def test_the_page_is_written(call, tmp_path):
    out, err = call("decompose", "--id", "space0", "--html", "space.html")
    assert "topics" in out
    assert "the page is in space.html" in err
    source = (tmp_path / "space.html").read_text("utf-8")
    assert "<title>space 0</title>" in source
    assert "satellites</span>" in source
    call("decompose", "--text", "orbit \udcff", "--html", "odd.html")
    assert "orbit" in (tmp_path / "odd.html").read_text("utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        call("decompose", "--id", "space0", "--html", "nowhere/space.html")
