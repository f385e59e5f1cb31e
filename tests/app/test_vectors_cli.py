"""Vectors from elsewhere, from the command line."""

import json

import numpy as np
import pytest

from likewise.app.cli import main

N_DOCS, WIDTH = 90, 80
THEMES = ["wing flow lift drag shock", "ship hull wave keel tide", "road wheel brake gear tyre"]


def documents():
    random = np.random.default_rng(0)
    themes = np.random.default_rng(1).standard_normal((3, WIDTH))
    for i in range(N_DOCS):
        words = [*random.choice(THEMES[i % 3].split(), 12), f"name{i}"]
        vector = themes[i % 3] + 0.5 * random.standard_normal(WIDTH)
        yield {"id": str(i), "text": " ".join(words), "theme": i % 3, "v": vector.tolist()}


DOCUMENTS = [*documents()]
ROWS = np.array([document["v"] for document in DOCUMENTS], np.float32)
MORE = {"id": "more", "text": "zebra zebra", "theme": 1, "v": ROWS[1].tolist()}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text(lines(DOCUMENTS))
    (tmp_path / "more.jsonl").write_text(lines([MORE]))
    np.save("all.npy", ROWS)
    np.save("some.npy", ROWS[80::-1])
    (tmp_path / "some.ids").write_text("".join(f"{i}\n" for i in range(80, -1, -1)))
    (tmp_path / "names.txt").write_text("".join(f"{i}\n" for i in range(N_DOCS)))
    np.save("text.npy", ROWS[2])
    return tmp_path


@pytest.fixture
def call(here, capsys):
    def call(*arguments):
        code = main(arguments)
        done = capsys.readouterr()
        return code, done.out, done.err

    assert call("index", "d.jsonl", "--to", "d.lw", "--model", "none")[0] == 0
    return call


def themes(call, *arguments):
    code, out, err = call("like", "d.lw", *arguments, "--json", "-k", "5")
    assert (code, err) == (0, "")
    return [answer["fields"]["theme"] for answer in json.loads(out)["answers"]]


def test_vectors_of_a_file(call):
    code, out, err = call("fit", "d.lw", "--model", "vectors", "--vectors", "all.npy")
    assert (code, err) == (0, "")
    assert out.startswith("d.lw: vectors fitted, 80 dimensions over ")
    assert "trust 0." in out
    assert "without 0" in out
    assert "no vector" not in out
    assert json.loads(call("info", "d.lw", "--json")[1])["models"] == ["vectors"]
    for method in ("hybrid", "hybrid(only=dense)", "hybrid(focus=0.25)", "eq4"):
        assert themes(call, "--id", "4", "--method", method) == [1] * 5
    code, out, _ = call("like", "d.lw", "--id", "4", "--explain")
    assert code == 0
    assert "vectors" in out
    assert themes(call, "--text", "zebra", "--vector", "text.npy") == [2] * 5
    assert themes(call, "--vector", "text.npy") == [2] * 5
    assert call("like", "d.lw", "--id", "4", "--html", "page.html")[0] == 0
    code, out, _ = call("neighbours", "d.lw", "4", "-k", "3", "--explain")
    assert code == 0
    assert "dimension" in out
    assert call("neighbours", "d.lw", "--all", "--to", "graph.jsonl", "--quiet")[0] == 0
    assert "name4" in call("decompose", "d.lw", "--id", "4")[1]
    assert call("decompose", "d.lw", "--text", "wing zebra", "--html", "parts.html")[0] == 0


def test_some_documents_have_no_vector(call):
    for more in ((), ("--vector-ids", "some.ids")):
        code, out, _ = call("fit", "d.lw", "--vectors", "some.npy", *more, "--name", "mine")
        assert code == 0
        assert "9 documents have no vector: they are given what their words predict" in out
    values = json.loads(call("fit", "d.lw", "--vectors", "some.npy", "--json")[1])
    assert (values["name"], values["kind"], values["topics"]) == ("vectors", "vectors", WIDTH)
    assert values["history"][0]["without"] == 9
    assert themes(call, "--id", "88", "--method", "hybrid(model=vectors,only=dense)") == [1] * 5
    assert call("fit", "d.lw", "--vectors", "all.npy", "--vector-ids", "names.txt")[0] == 0


def test_vectors_in_a_field(call):
    code, out, _ = call("fit", "d.lw", "--vectors", "field:v", "--model", "vectors(weight=2)")
    assert code == 0
    assert "weight 2" in out
    assert call("add", "d.lw", "more.jsonl")[0] == 0
    assert themes(call, "--id", "more") == [1] * 5
    assert call("merge", "d.lw")[0] == 0
    assert themes(call, "--id", "more") == [1] * 5
    assert call("delete", "d.lw", "3")[0] == 0
    assert call("info", "d.lw", "--check")[0] == 0
    code, out, _ = call("index", "d.jsonl", "--to", "e.lw", "--model", "vectors(field=v)")
    assert code == 0
    assert json.loads(call("info", "e.lw", "--json")[1])["models"] == ["vectors"]


def test_a_vector_is_no_metadata_but_stays_with_its_document(call):
    code, out, _ = call("show", "d.lw", "5")
    assert code == 0
    assert "… (80 numbers)" in out
    assert json.loads(call("show", "d.lw", "5", "--json")[1])["fields"]["v"] == DOCUMENTS[5]["v"]
    assert "v" in json.loads(call("info", "d.lw", "--json")[1])["fields"]
    # A filter can ask whether there is one, and no more.
    assert call("search", "d.lw", "wing", "--filter", "v=*")[0] == 0
    assert call("search", "d.lw", "wing", "--filter", "v=1")[0] == 2


def test_runs_and_judgements(call, here):
    assert call("fit", "d.lw", "--vectors", "all.npy")[0] == 0
    (here / "qrels.txt").write_text(call("qrels", "d.lw", "--same", "theme", "--ids", "ids.txt")[1])
    for name, method in (("words", "hybrid(only=specific)"), ("hybrid", "hybrid")):
        code, out, _ = call("run", "d.lw", "--like", "ids.txt", "-k", "10", "--method", method)
        assert code == 0
        (here / f"{name}.run").write_text(out)
    code, out, _ = call(
        "eval", "--qrels", "qrels.txt", "words.run", "hybrid.run", "--measures", "P@10", "--json"
    )
    assert code == 0
    means = [run["measures"]["P@10"]["mean"] for run in json.loads(out)["runs"]]
    assert means[1] == pytest.approx(1, abs=0.02)
    assert means[0] <= means[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "d.lw", "--model", "vectors"], "whose vectors? name a field"),
        (["fit", "d.lw", "--vectors", "none.npy"], "none.npy is not a readable .npy file"),
        (["fit", "d.lw", "--vectors", "names.txt"], "names.txt is not a readable .npy file"),
        (["fit", "d.lw", "--vectors", "field:w"], "field 'w'; fields are: theme, v"),
        (["fit", "d.lw", "--vectors", "field:theme"], "field 'theme' of document '0'"),
        (["fit", "d.lw", "--vectors", "field:"], "field:NAME names a field"),
        (["fit", "d.lw", "--vectors", "field:v", "--vector-ids", "names.txt"], "need no ids"),
        (["fit", "d.lw", "--vector-ids", "names.txt"], "--vector-ids goes with --vectors"),
        (["fit", "d.lw", "--vectors", "all.npy", "--vector-ids", "some.ids"], "there are 81 ids"),
        (["fit", "d.lw", "--vectors", "all.npy", "--model", "lsi"], "lsi is not made of vectors"),
        (["fit", "d.lw", "--vectors", "all.npy", "--continue"], "vectors cannot be resumed"),
        (["fit", "d.lw", "--vectors", "all.npy", "--topics", "3"], "no number of topics"),
        (["fit", "d.lw", "--model", "vectors(weight=-1)"], "must be at least 0"),
        (["fit", "d.lw", "--vectors", "unknown.npy"], "1 ids of unknown.npy are of no document"),
        (["fit", "d.lw", "--vectors", "nan.npy"], "document '7' (row 8) has numbers that are not"),
        (["index", "d.jsonl", "--to", "x.lw", "--model", "vectors"], "whose vectors?"),
        (["topics", "d.lw", "--model", "mine"], "'mine' is of vectors from elsewhere"),
        (["fit", "d.lw", "--model", "span(of=mine)"], "no topics to span"),
        (["like", "d.lw", "--text", "wing", "--vector", "none.npy"], "none.npy is not a readable"),
        (["like", "d.lw", "--text", "wing", "--vector", "all.npy"], "shape (90, 80)"),
        (["like", "d.lw", "--text", "wing", "--vector", "short.npy"], "3 numbers, and those"),
        (["like", "d.lw", "--text", "a", "--text", "b", "--vector", "text.npy"], "there are 2"),
        (["like", "d.lw", "--id", "1", "--vector", "text.npy"], "one text, and there are 0"),
        (
            ["like", "d.lw", "--text", "wing", "--vector", "text.npy", "--method", "bm25"],
            "bm25 has no use for a vector",
        ),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(call, here, arguments, message):
    if "mine" in " ".join(arguments) or arguments[0] == "like":
        assert call("fit", "d.lw", "--vectors", "all.npy", "--name", "mine")[0] == 0
    np.save("short.npy", np.ones(3))
    np.save("unknown.npy", ROWS)
    (here / "unknown.ids").write_text("".join(f"{i}\n" for i in [*range(N_DOCS - 1), "x"]))
    np.save("nan.npy", np.where(np.arange(N_DOCS)[:, None] == 7, np.nan, ROWS))
    code, _, err = call(*arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") <= 2
