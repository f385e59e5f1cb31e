"""Graphs of terms on the command line: term-graph."""

import io
import json
import os
import re
import sys
from types import SimpleNamespace

import pytest

import likewise as lw
from likewise.app.cli import main

from ..notes import NAMES, make_notes, names_of, pair


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
def call(here, capsys):
    make_notes()

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


def test_term_graph_reports_what_it_made(call):
    code, out, err = call("term-graph", "--min-df", "2", "--max-df", "1")
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"notes\.lw: graph made, \d+ terms and \d+ pairs within a sentence of 10 documents, "
        r"\d+\.\d s\n",
        out,
    )
    code, out, _ = call("term-graph", "--within", "document", "--size", "5", "--json")
    values = json.loads(out)
    assert values.pop("seconds") >= 0
    assert values.pop("pairs") > 0
    assert values == {
        "folder": "notes.lw",
        "name": "graph",
        "kind": "terms",
        "within": "document",
        "terms": 5,
        "mentioned": 5,
        "documents": 10,
        "left_out": [],
        "merged": [],
    }
    assert len(lw.open("notes.lw").terms.graph()) == 5


@pytest.mark.parametrize("exact", [False, True])
def test_term_graph_of_names(call, here, exact):
    (here / "names.txt").write_bytes("\ufeff".encode() + "\r\n".join([*NAMES, "", "..."]).encode())
    options = ["--exact"] if exact else []
    code, out, err = call("term-graph", "--names", "names.txt", "--name", "n", *options)
    assert code == 0
    assert "n made, 8 names (" in out
    assert err == "likewise: names without a word that can be searched for: ...\n"
    graph = lw.open("notes.lw").terms.graph("n")
    assert names_of(graph) == NAMES
    assert graph.stored.nodes.kind == ("exact" if exact else "words")
    assert graph.stored.settings.names == "names.txt"
    # Letter for letter there is no Blunt Body.
    assert (graph.stored.counted.doc_freqs[1] == 0) == exact
    assert call("term-graph", "--names", "names.txt", "--quiet")[2] == ""


def test_names_from_standard_input(call, stdin):
    stdin(b"blunt body\nwake\n")
    code, out, _ = call("term-graph", "--names", "-", "--json")
    assert code == 0
    values = json.loads(out)
    assert (values["kind"], values["terms"], values["pairs"]) == ("words", 2, 1)


FINDERS = """\
import re

def good(text):
    return re.findall("blunt body|supersonic flow|wake", text)

def a_text(text):
    return text

def fails(text):
    raise KeyError("x")

def nothing(text):
    return []

number = 3
"""


@pytest.fixture
def finders(here, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, source in {
        "finders_f": FINDERS,
        "broken_f": "1 / 0",
        "misspelt_f": "def (",
        "leaving_f": "import sys; sys.exit(3)",
    }.items():
        (here / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_term_graph_of_what_a_function_finds(call, finders):
    code, out, err = call("term-graph", "--extract", "finders_f:good")
    assert (code, err) == (0, "")
    assert "names made, 3 names and 2 pairs" in out
    code, out, _ = call("terms", "wake")
    assert code == 0
    assert out.splitlines()[1].split()[1:3] == ["blunt", "body"]
    # What comes later is searched for the names.
    lw.open("notes.lw").add([{"id": "new", "text": "a wake in supersonic flow"}])
    assert pair(lw.open("notes.lw").terms.graph(), "wake", "supersonic flow") == 1
    # How many documents a name must stand in can be said.
    code, out, _ = call("term-graph", "--extract", "finders_f:good", "--min-df", "3")
    assert code == 0
    assert "names made, 2 names and 1 pairs" in out


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("finders_f", "write it as module:function"),
        ("finders_f:", "write it as module:function"),
        (":good", "write it as module:function"),
        ("finders_f:bad", "has no attribute 'bad'"),
        ("finders_f:number", "number is no function"),
        ("nowhere_f:good", "No module named 'nowhere_f'"),
        (".finders_f:good", "relative import"),
        ("broken_f:good", "ZeroDivisionError: division by zero"),
        ("misspelt_f:good", "invalid syntax"),
        ("leaving_f:good", "SystemExit: 3"),
        ("finders_f:a_text", "the extractor gave"),
        ("finders_f:fails", "the extractor failed on document '0': KeyError"),
        ("finders_f:nothing", "the extractor found no name in 10 documents"),
        ("\udcff:good", "No module named"),
    ],
)
def test_a_function_that_cannot_be_used(call, finders, named, message):
    code, out, err = call("term-graph", "--extract", named)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_graphs_are_dropped(call):
    call("term-graph", "--name", "one")
    call("term-graph", "--name", "two")
    assert call("term-graph", "--drop", "--name", "two") == (
        0,
        "notes.lw: the graph two was removed\n",
        "",
    )
    assert lw.open("notes.lw").terms.graph().stored.name == "one"
    assert json.loads(call("term-graph", "--drop", "--name", "one", "--json")[1]) == {
        "dropped": "one"
    }
    assert lw.open("notes.lw").snapshot.manifest.artifacts == ()


def test_graphs_and_models_have_names_of_their_own(call):
    assert call("fit", "--model", "lsi(topics=3)", "--name", "both")[0] == 0
    code, _, err = call("term-graph", "--name", "both")
    assert code == 2
    assert "'both' is the name of a model; give another name" in err
    code, _, err = call("term-graph", "--drop", "--name", "both")
    assert code == 2
    assert call("term-graph")[0] == 0
    code, _, err = call("term-graph", "--drop", "--name", "both")
    assert code == 2
    assert "no term graph 'both'" in err
    code, _, err = call("fit", "--model", "lsi(topics=2)", "--name", "graph")
    assert code == 2
    assert "'graph' is the name of a graph of terms" in err
    assert call("topics", "--model", "graph")[0] == 2
    assert call("decompose", "--id", "1", "--model", "graph")[0] == 2
    assert call("like", "--id", "1")[0] == 0
    assert call("info", "--check")[0] == 0
    assert "drift" not in call("info")[1]


def test_names_that_are_no_text(call, here):
    """Bytes of the command line that are not UTF-8."""
    assert call("term-graph", "--name", "x\udcff")[0] == 0
    assert call("terms", "wing", "--graph", "x\udcff")[0] == 0
    assert call("term-graph", "--drop", "--name", "x\udcff")[0] == 0
    file = here / "\udcff.txt"
    try:
        file.write_text("wing\nwake")
    except OSError:
        pytest.skip("the file system wants names that are text")
    assert call("term-graph", "--names", os.fspath(file))[0] == 0


# What becomes of names


def made_of(call, stdin, names, *options):
    stdin("\n".join(names).encode())
    code, out, err = call("term-graph", "--names", "-", "--json", *options)
    assert code == 0
    return json.loads(out), err


def test_names_that_are_left_out_or_merged_are_said(call, stdin):
    given = ["wing", "Wings", "--", "WINGS", "Wings", "blunt body", "Blunt-Bodies", "--", "?!"]
    values, err = made_of(call, stdin, given)
    assert values["left_out"] == ["--", "?!"]
    assert values["merged"] == [
        {"name": "Wings", "into": "wing"},
        {"name": "WINGS", "into": "wing"},
        {"name": "Blunt-Bodies", "into": "blunt body"},
    ]
    assert err.splitlines() == [
        "likewise: names without a word that can be searched for: --, ?!",
        "likewise: names of the same words were merged: Wings into wing, WINGS into wing, "
        "Blunt-Bodies into blunt body",
    ]
    assert made_of(call, stdin, given, "--quiet")[1] == ""


def test_letter_for_letter_punctuation_tells_no_names_apart(call, stdin):
    values, err = made_of(call, stdin, ["C", "C++", "c", "C#", "C"], "--exact")
    assert values["terms"] == 2
    assert values["merged"] == [{"name": "C++", "into": "C"}, {"name": "C#", "into": "C"}]
    assert "merged: C++ into C, C# into C\n" in err


def test_what_is_said_of_names_is_bounded(call, stdin):
    values, err = made_of(call, stdin, ["wing", *("wing" + "!" * n for n in range(1, 40))])
    assert len(values["merged"]) == 39
    assert err.endswith("wing!!!!!!!!!!!! into wing, … (39)\n")
    assert err.count(" into ") == 12


def test_a_graph_of_names_does_not_replace_that_of_words(call, here, finders):
    (here / "names.txt").write_text("\n".join(NAMES))
    call("term-graph")
    call("term-graph", "--names", "names.txt")
    assert lw.open("notes.lw").terms.graphs == ["graph", "names"]
    assert lw.open("notes.lw").terms.graph().stored.nodes.kind == "terms"
    assert len(lw.open("notes.lw").terms.graph("names")) == len(NAMES)
    call("term-graph", "--extract", "finders_f:good")
    assert len(lw.open("notes.lw").terms.graph("names")) == 3
    # Where no graph of words was made, that of names is asked.
    assert call("term-graph", "--drop")[0] == 0
    assert lw.open("notes.lw").terms.graph().stored.name == "names"
    code, _, err = call("term-graph", "--drop")
    assert code == 2
    assert "no term graph 'graph' in notes.lw; there is names" in err
