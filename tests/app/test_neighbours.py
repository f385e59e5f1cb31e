import json

import pytest

from likewise.app.cli import main


def test_neighbours_of_documents(papers, capsys):
    assert main(["neighbours", str(papers.folder), "1", "-k", "2", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "Panel flutter" in shown or "Boundary layers" in shown
    assert "axis" in shown
    assert main(["neighbours", str(papers.folder), "1", "4", "-k", "2", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["query"] == "1"
    assert len(first["answers"]) == 2
    assert {answer["doc_id"] for answer in second["answers"]} <= {"1", "2", "3"}


def test_the_graph_of_all(papers, capsys, tmp_path):
    graph = tmp_path / "graph.jsonl"
    command = ["neighbours", str(papers.folder), "--all", "-k", "2", "--to", str(graph)]
    assert main([*command, "--quiet"]) == 0
    assert "8 neighbours of 5 documents" in capsys.readouterr().out
    assert len(graph.read_text().splitlines()) == 8
    assert main(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"] == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "by their ids, or all"),
        (["1", "--all", "--to", "x.jsonl"], "by their ids, or all"),
        (["--all"], "go together"),
        (["1", "--to", "x.jsonl"], "go together"),
        (["nonsense"], "no document 'nonsense'"),
        (["1", "--model", "nonsense"], "no model"),
        (["1", "--metric", "nonsense"], "unknown metric"),
        (["1", "--metric", "hellinger"], "not a distribution"),
        (["1", "--index", "lsh(radius=-1)"], "radius"),
        (["--all", "--to", "x.csv"], "written as"),
    ],
)
def test_what_is_wrong_is_said(papers, capsys, arguments, message):
    assert main(["neighbours", str(papers.folder), *arguments]) in (1, 2)
    assert message in capsys.readouterr().err


def test_search_and_run_by_nearness(papers, capsys, tmp_path):
    command = ["search", str(papers.folder), "wing", "flutter", "--method", "near", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["doc_id"] in ("1", "3", "4")
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\twing flutter\nq2\theat\n")
    run = ["run", str(papers.folder), "--queries", str(queries), "--method", "near(metric=cosine)"]
    assert main(run) == 0
    assert "near(metric=cosine)" in capsys.readouterr().out
