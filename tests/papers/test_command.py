import json
import os
from dataclasses import replace

import pytest

from likewise.app.cli import main
from likewise_papers import papers
from likewise_papers.experiment import HOLDS, Claim, Experiment, Paper, Result

from .made_up import PAPER, everything, write_collection

# Figures take their time, and are looked at where the page is.
PLAIN = replace(
    PAPER,
    experiments=tuple(
        replace(one, run=lambda bench: replace(everything(), drawings=()))
        if one.name == "figure-1"
        else one
        for one in PAPER.experiments
    ),
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.delenv("LIKEWISE_PROGRESS")
    monkeypatch.setattr(papers, "all_papers", lambda: [PLAIN])
    write_collection(tmp_path / "data" / "notes")
    return tmp_path


@pytest.fixture
def call(here, capsys):
    def call(*arguments):
        code = main(["reproduce", *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


def test_it_runs_and_says_which_claims_hold(call, here):
    code, out, err = call("--data", "data", "--quick")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["paper", "where", "verdict", "claim"]
    assert " ".join(lines[1].split()) == "made-up Table 1 ✓ holds Search finds it."
    assert " ".join(lines[2].split()) == (
        "made-up Table 2 ○ not testable here of what is not there"
    )
    assert lines[-3:] == [
        "published claims: 2 hold, 1 do not hold, 3 not testable here",
        "claims of ours: 1 hold, 0 do not hold, 0 not testable here",
        "reproduction/index.html",
    ]
    assert "4 of 4 left · made-up: Table 1, search for notes\n" in err
    assert "0 of 4 left · done: made-up: Figure 2" in err
    page = (here / "reproduction" / "index.html").read_text("utf-8")
    assert "a quick run" in page
    told = json.loads((here / "reproduction" / "summary.json").read_bytes())
    assert told["quick"] is True
    assert set(told["data"]) == {"notes"}
    assert {path.name for path in (here / "reproduction").iterdir()} == {
        "index.html",
        "summary.json",
        "kept",
        "collections",
    }


def test_no_progress_where_the_environment_asks_for_none(call, monkeypatch):
    monkeypatch.setenv("LIKEWISE_PROGRESS", "none")
    assert call("--data", "data", "--quick")[2] == ""


def test_json_is_the_summary_and_a_second_run_gives_the_same(call, here):
    code, out, err = call("made-up", "--data", "data", "--out", "x/y", "--json", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads((here / "x" / "y" / "summary.json").read_bytes())
    page = (here / "x" / "y" / "index.html").read_bytes()
    code, again, err = call("all", "--data", "data", "--out", "x/y", "--json")
    assert again == out
    assert "Table 1, search for notes (kept from an earlier run)" in err
    assert (here / "x" / "y" / "index.html").read_bytes() == page


def test_the_data_may_be_named_by_the_environment_or_not_at_all(call, here, monkeypatch):
    call("--quiet")
    told = json.loads((here / "reproduction" / "summary.json").read_bytes())
    assert set(told["data"]) == {"docstrings"}
    monkeypatch.setenv("LIKEWISE_DATA", str(here / "data"))
    assert "✓ holds" in call("--quiet")[1].splitlines()[1]
    monkeypatch.setenv("LIKEWISE_DATA", str(here / "away"))
    code, _, err = call()
    assert (code, err.count("\n")) == (2, 1)
    assert "LIKEWISE_DATA" in err


def test_the_environment_may_name_several_folders(call, here, monkeypatch):
    write_collection(here / "more" / "others")
    both = os.pathsep.join([str(here / "data"), str(here / "more")])
    monkeypatch.setenv("LIKEWISE_DATA", both)
    assert call("--quiet")[0] == 0
    from_environment = json.loads((here / "reproduction" / "summary.json").read_bytes())
    assert set(from_environment["data"]) == {"notes", "others"}
    call("--quiet", "--data", "data", "--data", "more", "--out", "named")
    named = json.loads((here / "named" / "summary.json").read_bytes())
    for told in ("data", "claims", "tables"):
        assert named[told] == from_environment[told]
    monkeypatch.setenv("LIKEWISE_DATA", os.pathsep.join([both, "away"]))
    code, out, err = call()
    assert (code, out) == (2, "")
    assert err.startswith("likewise: LIKEWISE_DATA names away, and there is no such folder")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "unknown paper 'nonsense': it is all or one of made-up"),
        (["--data", "away"], "away: there is no such folder of collections"),
        (["--data", "reproduction"], "neither it nor any of its folders has a corpus.jsonl"),
        (["--out", "data/notes/qrels.txt"], "a file; name a folder"),
        (["--out", "data/notes/qrels.txt/x"], "cannot be made"),
    ],
)
def test_bad_input_is_told_in_a_line(call, here, arguments, message):
    (here / "reproduction").mkdir()
    code, out, err = call(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("likewise: ")
    assert err.count("\n") == 1
    assert message in err


def test_bad_documents_are_told_and_are_no_traceback(call, here):
    (here / "data" / "notes" / "corpus.jsonl").write_text("rubbish\n")
    code, out, _ = call("--data", "data")
    assert code == 0
    assert "○ not testable here  search for notes" in out
    assert "corpus.jsonl:1" in (here / "reproduction" / "summary.json").read_text("utf-8")


def test_what_is_left_out_is_said_and_shown(call, here):
    write_collection(here / "data" / "bare", judged=False)
    code, _, err = call("--data", "data", "--quiet")
    assert code == 0
    assert err.startswith("likewise: bare was left out: there is nothing to ask it")
    assert err.count("\n") == 1
    told = json.loads((here / "reproduction" / "summary.json").read_bytes())
    assert [*told["left_out"]] == ["bare"]
    assert "bare was left out" in (here / "reproduction" / "index.html").read_text("utf-8")


def test_an_interruption_says_what_is_kept(call, here, monkeypatch):
    stopped = [True]

    def second(bench):
        if stopped:
            raise KeyboardInterrupt
        return Result((Claim("It is.", HOLDS, "seen"),))

    def first(bench):
        return Result((Claim("It was.", HOLDS, "seen"),))

    experiments = tuple(
        Experiment(name, name, name, run) for name, run in (("one", first), ("two", second))
    )
    monkeypatch.setattr(papers, "all_papers", lambda: [Paper("p", "P", "", experiments)])
    code, out, err = call("--quiet")
    assert (code, out) == (130, "")
    assert err == (
        "likewise: interrupted; 1 of 2 experiments are done and kept in reproduction: the same "
        "command goes on from there\n"
    )
    stopped.clear()
    code, out, err = call()
    assert code == 0
    assert "p: one, one (kept from an earlier run)" in err
    assert "It is." in out


def test_long_claims_are_wrapped_beneath_each_other(call, monkeypatch):
    long = Result((Claim("word " * 40, HOLDS, ""),))
    paper = Paper("p", "P", "", (Experiment("one", "Table 1", "t", lambda bench: long),))
    monkeypatch.setattr(papers, "all_papers", lambda: [paper])
    monkeypatch.setenv("COLUMNS", "60")
    lines = call("--quiet")[1].splitlines()
    assert max(map(len, lines)) <= 60
    first = lines[1].index("word")
    assert all(line.index("word") == first for line in lines[1:6])
