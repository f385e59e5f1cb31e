import io
import json
import os
import sys

import pytest

from likewise.app.cli import main

BM25 = "1 Q0 x 1 4.0 bm25\n1 Q0 y 2 2.0 bm25\n1 Q0 z 3 0.0 bm25\n2 Q0 x 1 1.0 bm25\n"
QL = "1 Q0 y 1 -3.0 ql\n1 Q0 w 2 -9.0 ql\n2 Q0 y 1 -1.0 ql\n"
QRELS = "1 0 y 1\n2 0 x 1\n"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25.run").write_text(BM25)
    (tmp_path / "ql.run").write_text(QL)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "folder").mkdir()

    def call(*arguments):
        code = main(["fuse", *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


def test_the_fused_run_goes_to_standard_output(call):
    assert call("bm25.run", "ql.run") == (
        0,
        "1 Q0 y 1 1.5 sum(bm25,ql)\n"
        "1 Q0 x 2 1.0 sum(bm25,ql)\n"
        "1 Q0 w 3 0.0 sum(bm25,ql)\n"
        "1 Q0 z 4 0.0 sum(bm25,ql)\n"
        "2 Q0 x 1 1.0 sum(bm25,ql)\n"
        "2 Q0 y 2 1.0 sum(bm25,ql)\n",
        "",
    )


def test_method_normalisation_weights_depth_and_name(call):
    options = ["--method", "mnz", "--normalise", "rank", "--weights", "1,0.5", "-k", "1"]
    code, out, err = call("bm25.run", "ql.run", *options, "--name", "my run")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    *columns, score, tag = first.split()
    assert columns == ["1", "Q0", "y", "1"]
    assert float(score) == pytest.approx(2 * (2 / 3 + 1 / 2))
    assert tag == "my%20run"
    assert second == "2 Q0 x 1 1.0 my%20run"


def test_a_file_gets_what_standard_output_would(call, tmp_path):
    printed = call("bm25.run", "ql.run")[1]
    assert call("bm25.run", "ql.run", "--to", "fused.run") == (
        0,
        "fused.run: sum(bm25,ql), 2 queries, 6 answers from 2 runs\n",
        "",
    )
    assert (tmp_path / "fused.run").read_text() == printed
    out = call("bm25.run", "ql.run", "--to", "fused.run", "-k", "1", "--json")[1]
    assert json.loads(out) == {
        "file": "fused.run",
        "name": "sum(bm25,ql)",
        "runs": 2,
        "queries": 2,
        "answers": 2,
    }
    assert (tmp_path / "fused.run").read_text().count("\n") == 2


def test_json_holds_the_run(call):
    values = json.loads(call("bm25.run", "ql.run", "-k", "1", "--method", "max", "--json")[1])
    assert values == {
        "name": "max(bm25,ql)",
        "queries": {
            "1": [{"doc_id": "x", "score": 1.0}],
            "2": [{"doc_id": "x", "score": 1.0}],
        },
    }


def test_what_is_fused_can_be_measured(call, capsys):
    call("bm25.run", "ql.run", "--to", "fused.run")
    assert main(["eval", "--qrels", "qrels.txt", "bm25.run", "fused.run", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert first["measures"]["AP"]["mean"] == pytest.approx(0.75)
    assert (second["name"], second["measures"]["AP"]["mean"]) == ("sum(bm25,ql)", 1.0)


def test_one_run_is_enough(call):
    code, out, err = call("ql.run")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "1 Q0 y 1 1.0 sum(ql)"


def test_a_run_from_standard_input(call, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QL.encode())))
    assert call("bm25.run", "-")[1].splitlines()[0] == "1 Q0 y 1 1.5 sum(bm25,ql)"


def test_runs_that_miss_queries_and_share_a_name_are_told(call, tmp_path):
    (tmp_path / "other.run").write_text("2 Q0 w 1 1.0 ql\n3 Q0 w 1 1.0 ql\n")
    (tmp_path / "empty.run").write_text("")
    code, out, err = call("ql.run", "other.run", "empty.run")
    assert code == 0
    assert out.splitlines()[-1] == "3 Q0 w 1 1.0 sum(ql,ql,empty)"
    assert err.splitlines() == [
        "likewise: ql.run, other.run have one name, ql; all are counted",
        "likewise: ql.run answers 2 of the 3 queries",
        "likewise: other.run answers 2 of the 3 queries",
        "likewise: empty.run answers 0 of the 3 queries",
    ]


def test_runs_without_a_line(call, tmp_path):
    (tmp_path / "empty.run").write_text("")
    assert call("empty.run") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["bm25.run", "nowhere.run"], 1, "nowhere.run: cannot be read: No such file"),
        (["bm25.run", "folder"], 1, "folder: cannot be read"),
        (["bm25.run", "qrels.txt"], 1, "qrels.txt:1: 4 columns found, 6 expected"),
        (["bm25.run", "ql.run", "--method", "avg"], 2,
         "unknown fusion 'avg': it is one of min, max, sum, anz, mnz, rrf"),
        (["bm25.run", "ql.run", "--normalise", "z"], 2, "unknown normalisation 'z'"),
        (["bm25.run", "ql.run", "--weights", "1"], 2,
         "1 weight (1) for 2 to be fused: give one for each"),
        (["bm25.run", "ql.run", "--weights", "1,2,3"], 2, "3 weights (1, 2, 3) for 2"),
        (["bm25.run", "ql.run", "--weights", "1,-2"], 2, "numbers from 0 up, not 1, -2"),
        (["bm25.run", "ql.run", "--weights", "0,0"], 2, "every weight is 0"),
        (["bm25.run", "ql.run", "--weights", "1,nan"], 2, "numbers from 0 up, not 1, nan"),
        (["bm25.run", "bm25.run"], 2, "bm25.run is given 2 times; to let a run count more"),
        (["-", "-"], 2, "- is given 2 times"),
        (["bm25.run", "--name", " "], 2, "a run needs a name"),
        (["bm25.run", "ql.run", "--to", "ql.run"], 2, "--to ql.run is one of the runs"),
        (["bm25.run", "--to", "folder"], 1, "folder: cannot be written (Is a directory)"),
        (["bm25.run", "--to", "nowhere/x.run"], 1, "x.run: cannot be written (No such file"),
        (["bm25.run", "--to", "nul\0byte"], 1, "cannot be written"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_said_in_a_line(call, tmp_path, arguments, code, message):
    got, out, err = call(*arguments)
    assert (got, out) == (code, "")
    assert err.startswith("likewise: ")
    assert err.count("\n") == 1
    assert message in err
    assert (tmp_path / "ql.run").read_text() == QL


def test_a_run_is_not_overwritten_under_another_name(call, tmp_path):
    os.link(tmp_path / "ql.run", tmp_path / "same.run")
    assert call("bm25.run", "ql.run", "--to", "same.run")[0] == 2
    assert (tmp_path / "ql.run").read_text() == QL


def test_ids_that_cannot_be_told_apart_leave_no_file(call, tmp_path):
    (tmp_path / "odd.run").write_text("1 Q0 a\u00a0b 1 2.0 t\n1 Q0 a%C2%A0b 2 1.0 t\n")
    code, out, err = call("odd.run", "--to", "fused.run")
    assert (code, out) == (2, "")
    assert "would both be written as 'a%C2%A0b'" in err
    assert not (tmp_path / "fused.run").exists()


@pytest.mark.parametrize("arguments", [[], ["x", "-k", "0"], ["x", "--weights", "1;2"]])
def test_usage_errors_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fuse", *arguments])
    assert stopped.value.code == 2
    assert "usage: likewise fuse" in capsys.readouterr().err


def test_it_has_a_manual(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fuse", "--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: likewise fuse")
    for method in ("min", "max", "sum", "anz", "mnz", "rrf"):
        assert f"  {method}   " in out
