"""Terms on the command line: terms, distance, predict-terms."""

import io
import json
import re
import sys
from dataclasses import asdict
from types import SimpleNamespace

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.collection.writer import Writer
from likewise.terms.nearness import Nearness

from ..notes import NAMES, NOTES, make_notes


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out waiting for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def notes(here):
    return make_notes()


@pytest.fixture
def call(notes, capsys):
    def call(command, *arguments, folder="notes.lw"):
        code = main([command, folder, *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


@pytest.fixture
def stdin(monkeypatch):
    def given(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return given


# terms


def test_terms_prints_a_table(call):
    call("term-graph")
    code, out, err = call("terms", "Hinges", "panel", "yeti", "-k", "4")
    assert (code, err) == (0, "likewise: not in the graph: yeti (in no document)\n")
    heading, *lines = out.splitlines()
    assert heading.split() == ["term", "similarity", "through"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "4"]
    expected = lw.open("notes.lw").terms.near("Hinges panel yeti", 4)
    for line, one in zip(lines, expected, strict=True):
        assert line.split()[1] == one.name
        assert float(line.split()[2]) == pytest.approx(one.similarity, rel=1e-3)
        shares = [int(share) for share in re.findall(r"(\d+)%", line)]
        assert shares == [round(100 * link.part / one.similarity) for link in one.through]
        assert sum(shares) <= 101
    assert call("terms", "yeti", "panel", "--quiet")[2] == ""


def test_terms_as_json(call):
    call("term-graph", "--name", "n")
    options = ["--kernel", "diffusion(variance=2)", "--laplacian", "combinatorial"]
    options += ["--weights", "counts", "--sets", "collapse", "--least", "1", "--json"]
    code, out, _ = call("terms", "wings yeti", "-k", "3", *options)
    assert code == 0
    values = json.loads(out)
    assert [*values] == ["text", "graph", "nearness", "asked", "unknown", "terms"]
    nearness = Nearness(
        kernel="diffusion(variance=2)", laplacian="combinatorial", weights="counts", sets="collapse"
    )
    assert values["text"] == "wings yeti"
    assert values["graph"] == "n"
    assert values["nearness"] == asdict(nearness)
    assert values["nearness"]["kernel"] == "diffusion(variance=2)"
    assert values["asked"] == ["wings"]
    assert values["unknown"] == [{"word": "yeti", "reason": "in no document"}]
    expected = lw.open("notes.lw").terms.graph("n", **asdict(nearness)).nearest("wings yeti", 3)
    assert len(expected) == 3
    for one, found in zip(expected, values["terms"], strict=True):
        assert [*found] == ["node", "name", "similarity", "distance", "through", "path"]
        assert found["name"] == one.name
        assert found["distance"] == pytest.approx(one.distance)
        assert found["through"] == [link._asdict() for link in one.through]
        assert {*found["through"][0]} == {"node", "name", "part"}
        assert found["path"] == [*one.path]


def test_a_path_is_shown_where_it_says_something(call):
    call("term-graph", "--min-df", "1", "--max-df", "1")
    out = call("terms", "boundary", "-k", "100")[1]
    assert "(boundary → " in out
    assert "(boundary → layer)" not in out


def test_the_graph_is_made_and_told_of(call, monkeypatch):
    code, _, err = call("terms", "wing")
    assert code == 0
    assert err == (
        "likewise: a graph of terms was made and kept with the collection "
        "(`likewise term-graph` makes others)\n"
    )
    assert call("terms", "wing")[2] == ""
    call("term-graph", "--drop")
    with Writer(lw.open("notes.lw").folder):
        code, out, err = call("distance", "wing", "wake")
    assert code == 0
    assert "similarity" in out
    assert "a graph of terms was made but not kept" in err
    code, _, err = call("predict-terms", "--text", "wing", "--quiet")
    assert (code, err) == (0, "")
    assert lw.open("notes.lw").terms.graph().stored.entry is not None


def test_a_term_that_nothing_is_connected_with(call):
    call("term-graph")
    assert call("terms", "okapi") == (
        0,
        "",
        "likewise: nothing in the graph is connected with it\n",
    )
    assert json.loads(call("terms", "okapi", "--json")[1])["terms"] == []
    assert call("terms", "wing", "--least", "9")[0] == 0


def test_more_terms_than_there_are(call):
    call("term-graph")
    code, out, _ = call("terms", "gnu wing", "-k", "100000")
    assert code == 0
    assert 1 < len(out.splitlines()) < len(lw.open("notes.lw").terms.graph())


def test_terms_are_drawn(call, here):
    pytest.importorskip("matplotlib")
    call("term-graph")
    code, out, err = call("terms", "supersonic", "flow", "--plot", "near", "-k", "8")
    assert code == 0
    assert len(out.splitlines()) == 9
    assert err == "likewise: the figure is in near.svg and near.png\n"
    drawn = (here / "near.svg").read_text("utf-8")
    for line in out.splitlines()[1:]:
        assert line.split()[1] in drawn
    assert (here / "near.png").read_bytes().startswith(b"\x89PNG")
    # One that nothing is connected with is drawn alone.
    code, _, err = call("terms", "okapi", "--plot", "alone")
    assert code == 0
    assert "okapi" in (here / "alone.svg").read_text("utf-8")


# distance


def test_distance_prints_both_texts(call):
    call("term-graph")
    code, out, err = call("distance", "Heat transfer, yeti", "a wing")
    assert (code, err) == (0, "")
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert [name for name, _ in lines] == ["a", "b", "similarity", "distance", "cosine", "through"]
    assert {*lines[0][1].partition("   ")[0].split(", ")} == {"Heat", "transfer"}
    assert lines[0][1].endswith("not in the graph: yeti (in no document)")
    assert lines[1][1] == "wing   not in the graph: a (a stop word or too short)"
    found = lw.open("notes.lw").terms.distance("Heat transfer, yeti", "a wing")
    assert float(lines[2][1]) == pytest.approx(found.similarity, rel=1e-3)
    assert float(lines[3][1]) == pytest.approx(found.distance, rel=1e-3)
    assert float(lines[4][1]) == pytest.approx(found.cosine, rel=1e-3)
    assert lines[5][1].startswith(f"{found.through[0].name} ")


def test_distance_as_json(call):
    call("term-graph")
    code, out, _ = call("distance", "heat yeti", "gnu", "--json")
    assert code == 0
    values = json.loads(out)
    assert [*values] == [
        "graph",
        "nearness",
        "similarity",
        "distance",
        "cosine",
        "a",
        "b",
        "unknown_a",
        "unknown_b",
        "through",
    ]
    assert (values["a"], values["b"]) == (["heat"], ["gnu"])
    assert values["unknown_a"] == [{"word": "yeti", "reason": "in no document"}]
    assert values["unknown_b"] == []
    assert values["nearness"] == asdict(Nearness())
    assert (values["similarity"], values["cosine"], values["through"]) == (0, 0, [])
    assert values["distance"] > 0


def test_distance_of_files(call, here, stdin):
    call("term-graph")
    (here / "a.txt").write_text(NOTES[0])
    (here / "b.txt").write_text(NOTES[4])
    expected = json.loads(call("distance", NOTES[0], NOTES[4], "--json")[1])
    ways = (
        ["--doc-a", "a.txt", "--doc-b", "b.txt"],
        [NOTES[4], "--doc-a", "a.txt"],
        [NOTES[0], "--doc-b", "b.txt"],
        ["--doc-a", "-", "--doc-b", "b.txt"],
    )
    stdin(NOTES[0].encode())
    for way in ways:
        assert json.loads(call("distance", *way, "--json")[1]) == expected
    code, out, _ = call("distance", "--doc-a", "a.txt", "--doc-b", "a.txt")
    assert code == 0
    assert "  distance  0\n    cosine  1\n" in out


# predict-terms


def test_predict_terms_prints_a_table(call, here, stdin):
    call("term-graph")
    code, out, err = call("predict-terms", "--id", "1", "-k", "6", "--by", "likely")
    assert (code, err) == (0, "")
    heading, *lines = out.splitlines()
    assert heading.split() == ["term", "share", "found"]
    expected = lw.open("notes.lw").terms.predict(id="1", k=6, by="likely")
    assert len(lines) == 6
    for line, one in zip(lines, expected, strict=True):
        assert line.split()[1] == one.name
        assert float(line.split()[2].rstrip("%")) == pytest.approx(100 * one.score, abs=1e-3)
        by = ", ".join(doc for doc, _ in one.documents)
        assert line.endswith(f"  in {by}" if by else "  along the graph alone")
    (here / "draft.txt").write_text(NOTES[1])
    drafted = call("predict-terms", "--doc", "draft.txt")[1]
    assert drafted == call("predict-terms", "--text", NOTES[1])[1] != ""
    stdin(NOTES[1].encode())
    assert call("predict-terms", "--doc", "-")[1] == drafted
    assert "tail" not in drafted
    assert "tail" in call("predict-terms", "--doc", "draft.txt", "--known")[1]


def test_what_came_along_the_graph_alone(call):
    call("term-graph", "--min-df", "1", "--max-df", "1")
    out = call("predict-terms", "--text", "zebra and okapi layers", "-k", "1000", "--by", "likely")[
        1
    ]
    assert "along the graph alone" in out


def test_distinctive_terms_are_those_of_words(call, here):
    call("term-graph")
    (here / "names.txt").write_text("\n".join(NAMES))
    call("term-graph", "--names", "names.txt")
    code, out, _ = call("predict-terms", "--id", "1")
    assert (code, out) == (0, call("predict-terms", "--id", "1", "--by", "distinctive")[1])
    heading, *lines = out.splitlines()
    assert heading.split() == ["term", "distinctive", "share", "found"]
    expected = lw.open("notes.lw").terms.predict(id="1")
    for line, one in zip(lines, expected, strict=True):
        _, name, score, share, *_ = line.split()
        assert name == one.name
        assert float(score) == pytest.approx(one.score, rel=1e-3)
        assert float(share.rstrip("%")) == pytest.approx(100 * one.share, abs=1e-3)
    of_names = ["predict-terms", "--id", "1", "--graph", "names"]
    assert call(*of_names)[1] == call(*of_names, "--by", "likely")[1]
    assert call(*of_names)[1].split()[:3] == ["term", "share", "found"]


def test_predict_terms_as_json(call):
    call("term-graph", "--name", "n")
    code, out, _ = call("predict-terms", "--id", "1", "-k", "3", "--json", "--graph", "n")
    assert code == 0
    expected = lw.open("notes.lw").terms.predict(id="1", k=3)
    for found, one in zip(json.loads(out), expected, strict=True):
        assert [*found] == ["name", "score", "share", "documents", "stepped"]
        assert (found["name"], found["score"]) == (one.name, pytest.approx(one.score))
        assert found["share"] == pytest.approx(one.share)
        assert found["documents"] == [{"id": doc, "part": part} for doc, part in one.documents]


def test_nothing_to_predict_is_said(call):
    call("term-graph")
    assert call("predict-terms", "--text", "yeti") == (
        0,
        "",
        "likewise: no document like it mentions a term of the graph\n",
    )
    assert call("predict-terms", "--text", "yeti", "--json")[1] == "[]\n"


# what is wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["term-graph", "--exact"], "--exact goes with --names"),
        (["term-graph", "--max-df", "nan"], "max_df is a share of the documents"),
        (["term-graph", "--max-df", "7"], "max_df is a share of the documents"),
        (["term-graph", "--min-df", "11"], "lower min_df or raise max_df"),
        (["term-graph", "--names", "empty.txt"], "no names were given"),
        (["term-graph", "--drop", "--name", "x"], "no term graph 'x'"),
        (["terms", ""], "has no term of ''"),
        (["terms", "the", "of"], "has no term of 'the of'"),
        (["terms", "yeti"], "has no term of 'yeti'"),
        (["terms", "\udcff\udcfe"], "has no term of"),
        (["terms", "wing", "--graph", "x"], "no term graph 'x' in notes.lw; there is graph"),
        (["terms", "wing", "--kernel", "x"], "unknown kernel 'x'"),
        (["terms", "wing", "--kernel", "walk(steps=0)"], "steps from 1 to 40"),
        (["terms", "wing", "--kernel", "diffusion(variance=nan)"], "variance must be a number"),
        (["terms", "wing", "--kernel", "walk", "--laplacian", "combinatorial"], "normalised"),
        (["terms", "wing", "--laplacian", "x"], "laplacian is one of"),
        (["terms", "wing", "--weights", "x"], "weights is one of"),
        (["terms", "wing", "--sets", "x"], "sets is one of"),
        (["terms", "wing", "--damping", "-1"], "damping is a number from 0 to 1e+06"),
        (["terms", "wing", "--damping", "nan"], "damping is a number from 0 to 1e+06"),
        (["terms", "wing", "--plot", "nowhere/x"], "there is no folder nowhere"),
        (["terms", "wing", "--plot", "x.pdf"], "not as .pdf"),
        (["distance", "wing"], "distance needs two texts"),
        (["distance"], "distance needs two texts"),
        (["distance", "wing", "wake", "tail"], "distance needs two texts"),
        (["distance", "wing", "wake", "--doc-a", "empty.txt"], "distance needs two texts"),
        (["distance", "wing", "--doc-a", "empty.txt"], "is empty: it holds no document"),
        (["distance", "wing", "yeti"], "has no term of 'yeti'"),
        (["predict-terms", "--text", ""], "the text holds no word to compare"),
        (["predict-terms", "--text", "the of"], "the text holds no word to compare"),
        (["predict-terms", "--text", "\udcff"], "the text holds no word to compare"),
        (["predict-terms", "--doc", "empty.txt"], "is empty: it holds no document"),
        (["predict-terms", "--id", "77"], "no document '77'"),
        (["predict-terms", "--id", "\udcff"], "no document"),
        (["predict-terms", "--id", "1", "--graph", "x"], "no term graph 'x'"),
        (["search", "wing", "--expand", "graph(graph=x)"], "no term graph 'x'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(call, here, arguments, message):
    (here / "empty.txt").write_text("")
    call("term-graph")
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("likewise: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["term-graph", "--names", "noise.txt"], "is not UTF-8"),
        (["distance", "wing", "--doc-a", "noise.txt"], "neither text in a known encoding"),
        (["predict-terms", "--doc", "noise.txt"], "neither text in a known encoding"),
        (["predict-terms", "--doc", "nowhere.txt"], "cannot be read"),
        (["distance", "wing", "--doc-b", "nowhere.txt"], "cannot be read"),
        (["term-graph", "--names", "notes.lw"], "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(call, here, arguments, reason):
    (here / "noise.txt").write_bytes(b"wing \xff\xfe\xfa")
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    assert reason in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["term-graph", "--min-df", "0"],
        ["term-graph", "--min-df", "x"],
        ["term-graph", "--max-df", "x"],
        ["term-graph", "--within", "page"],
        ["term-graph", "--names", "a", "--extract", "b:c"],
        ["terms"],
        ["terms", "wing", "-k", "0"],
        ["terms", "wing", "--least", "0"],
        ["terms", "wing", "--damping", "x"],
        ["predict-terms"],
        ["predict-terms", "--id", "1", "--text", "wing"],
        ["predict-terms", "--id", "1", "--by", "share"],
    ],
)
def test_options_that_are_none(call, arguments):
    with pytest.raises(SystemExit, match="2"):
        call(*arguments)


@pytest.mark.parametrize(
    "arguments", [["terms", "wing"], ["distance", "a", "b"], ["predict-terms", "--text", "wing"]]
)
def test_collections_without_words_or_of_two_documents(call, here, arguments):
    lw.index([{"id": "1", "text": ""}], to="empty.lw", model=None)
    for command in (["term-graph"], arguments):
        code, out, err = call(*command, folder="empty.lw")
        assert (code, out) == (2, "")
        assert "no term of empty.lw stands in 1 or more" in err
    assert call(*arguments, folder="nowhere.lw")[0] == 1
    documents = [{"id": str(i), "text": text} for i, text in enumerate(NOTES[:2])]
    lw.index(documents, to="two.lw", model=None)
    code, out, _ = call("terms", "flutter", folder="two.lw")
    assert code == 0
    assert {"wing", "tail"} < {*out.split()}
    code, _, err = call("term-graph", "--min-df", "3", folder="two.lw")
    assert code == 2
    assert "no term of two.lw stands in 3 or more" in err


def test_a_collection_that_lost_all_its_documents(call):
    call("term-graph")
    lw.open("notes.lw").delete([str(i) for i in range(len(NOTES))])
    assert call("terms", "wing")[:2] == (0, "")
    assert call("predict-terms", "--text", "wing")[:2] == (0, "")
    assert call("distance", "wing", "wake")[0] == 0
    code, out, _ = call("search", "wing", "--expand", "graph")
    assert code == 0
    assert "no document matches" in out
