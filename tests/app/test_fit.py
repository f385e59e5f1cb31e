import json

import pytest

from likewise.app.cli import main

DOCUMENTS = [
    {
        "id": str(i),
        "text": " ".join([["wing flow lift", "ship hull wave"][i % 2]] * 5 + [f"name{i}"] * 3),
    }
    for i in range(20)
]


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(d) for d in DOCUMENTS))

    def call(*arguments):
        code = main(arguments)
        done = capsys.readouterr()
        return code, done.out, done.err

    assert call("index", "d.jsonl", "--to", "d.lw")[0] == 0
    return call


def test_index_fits_a_model_unless_told_not_to(call):
    assert json.loads(call("info", "d.lw", "--json")[1])["models"] == ["lsi"]
    call("index", "d.jsonl", "--to", "e.lw", "--model", "none")
    assert json.loads(call("info", "e.lw", "--json")[1])["models"] == []


def test_a_model_that_cannot_be_fitted_is_said_though_the_documents_are_in(call):
    code, _, err = call("index", "d.jsonl", "--to", "g.lw", "--model", "categories(field=colour)")
    assert code == 2
    assert "no document has a field 'colour'" in err
    info = json.loads(call("info", "g.lw", "--json")[1])
    assert (info["documents"], info["models"]) == (20, [])


def test_fit_then_topics_then_decompose(call):
    code, out, err = call("fit", "d.lw", "--model", "ddm(sweeps=30,check=10)", "--topics", "2")
    assert (code, err) == (0, "")
    assert out.startswith("d.lw: ddm fitted, 2 topics over ")
    assert out.count("perplexity") == 2
    code, out, _ = call("topics", "d.lw", "--json")
    assert code == 0
    assert "wing" in out
    code, out, _ = call("decompose", "d.lw", "--id", "3")
    assert code == 0
    assert "name3" in out
    code, out, _ = call("decompose", "d.lw", "--text", "ship unheard unheard", "--model", "lsi")
    assert "unheard" in out


def test_trained_word_vectors_answer_and_explain(call):
    code, out, err = call("fit", "d.lw", "--model", "lsi(train=crops)", "--default")
    assert (code, err) == (0, "")
    assert "loss" in out
    code, out, err = call("like", "d.lw", "--id", "3", "-k", "2", "--explain")
    assert (code, err) == (0, "")
    assert "hull" in out
    [first, *_] = json.loads(call("like", "d.lw", "--id", "3", "-k", "2", "--json")[1])["answers"]
    assert int(first["doc_id"]) % 2
    code, _, err = call("fit", "d.lw", "--model", "lsi(train=halves)")
    assert code == 2
    assert "train must be crops" in err


def test_fit_reports_json_and_goes_on(call):
    values = json.loads(call("fit", "d.lw", "--model", "lda(topics=2,sweeps=3)", "--json")[1])
    assert (values["name"], values["kind"], values["topics"]) == ("lda", "topics", 2)
    assert values["settings"]["sweeps"] == 3
    assert call("fit", "d.lw", "--model", "lda(topics=2,sweeps=3)", "--continue")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "d.lw", "--model", "nonsense"], "unknown model 'nonsense'"),
        (["fit", "d.lw", "--model", "span", "--topics", "3"], "no number of topics"),
        (["fit", "d.lw", "--model", "ddm", "--max-df", "3"], "--max-df is a share"),
        (["fit", "d.lw", "--max-df", "0.5"], "--max-df of which model"),
        (["fit", "d.lw", "--use", "ddm"], "no model 'ddm'"),
        (["fit", "d.lw", "--model", "ddm", "--continue"], "no model 'ddm'"),
        (["fit", "nowhere.lw"], "does not exist"),
        (["topics", "d.lw", "--model", "x"], "no model 'x'"),
        (["index", "d.jsonl", "--to", "f.lw", "--model", "x"], "unknown model 'x'"),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(call, arguments, message):
    code, out, err = call(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert err.startswith("likewise: ")
    assert message in err
