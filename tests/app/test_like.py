"""likewise like, run --like, qrels and tune, as they are typed."""

import json
import re
import shutil

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.evaluate import links
from likewise.evaluate.learn import GRID
from likewise.models.kinds import find_model
from likewise.models.stored_vectors import vectors_of

METHODS = [
    "hybrid",
    "hybrid(candidates=0,feedback=0,focus=0.3)",
    "hybrid(focus=thing)",
    "eq4",
    "hybrid(only=dense)",
    "hybrid(only=specific)",
]
OTHERS = ["bm25", "tfidf", "ql", "topn(words=5)", "topn-lda", "lsh-tfidf"]


@pytest.fixture(scope="module")
def fields(tmp_path_factory):
    """Thirty documents on three subjects, with labels and links."""
    subjects = {
        "flow": "boundary layer flow laminar viscous plate turbulent",
        "wing": "wing flutter aileron span lift tail fuselage",
        "heat": "heat transfer temperature conduction thermal radiation furnace",
    }
    documents = []
    for i in range(30):
        subject = [*subjects][i % 3]
        words = subjects[subject].split()
        text = (
            " ".join(words[(i + j) % 7] for j in range(12))
            + f". Series {subject}{i // 6} of tests."
        )
        documents.append(
            {
                "id": f"{subject}{i}",
                "title": f"On {subject}",
                "text": text,
                "subject": subject,
                "cites": [f"{subject}{(i + 3) % 30}"],
            }
        )
    folder = tmp_path_factory.mktemp("like") / "fields.lw"
    return lw.index(documents, to=folder, model="lsi(topics=5)")


def call(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("method", [*METHODS, *OTHERS])
def test_every_method_finds_the_same_subject_and_explains_itself(fields, capsys, method):
    code, out, _ = call(
        capsys, "like", fields.folder, "--id", "wing1", "-k", 4, "--method", method, "--explain",
        "--json",
    )  # fmt: skip
    assert code == 0
    answers = json.loads(out)["answers"]
    assert answers
    assert answers[0]["fields"]["subject"] == "wing"
    assert "wing1" not in {answer["doc_id"] for answer in answers}
    for answer in answers:
        total = sum(part["score"] for part in answer["explanation"])
        assert total == pytest.approx(answer["score"], abs=1e-6, rel=1e-5)


def test_a_text_a_file_and_standard_input(fields, capsys, tmp_path, monkeypatch):
    (tmp_path / "draft.txt").write_text("thermal conduction and radiation in a furnace")
    code, out, _ = call(capsys, "like", fields.folder, "--doc", tmp_path / "draft.txt", "-k", 3)
    assert code == 0
    assert len(re.findall(r"heat\d+", out)) == 3
    code, by_text, _ = call(
        capsys, "like", fields.folder, "--text",
        "thermal conduction and radiation in a furnace", "-k", 3,
    )  # fmt: skip
    assert by_text == out


def test_several_documents_and_what_to_keep_away_from(fields, capsys):
    both = ["like", fields.folder, "--id", "wing1", "--id", "heat2", "--json"]
    found = json.loads(call(capsys, *both, "-k", 18)[1])["answers"]
    assert {answer["fields"]["subject"] for answer in found} == {"wing", "heat"}
    away = json.loads(call(capsys, *both, "-k", 6, "--unlike", "heat5")[1])["answers"]
    assert {answer["fields"]["subject"] for answer in away} == {"wing"}
    assert "heat5" not in {answer["doc_id"] for answer in away}
    one, other, mixed = (
        {a.doc_id: a.score for a in fields.like(ids, k=29, method="hybrid(feedback=0)")}
        for ids in ("wing1", "heat2", ["wing1", "heat2"])
    )
    assert mixed["wing4"] == pytest.approx((one["wing4"] + other["wing4"]) / 2)


def test_filters(fields, capsys):
    out = call(
        capsys, "like", fields.folder, "--id", "wing1", "--filter", "subject=flow", "--json"
    )[1]
    assert {answer["fields"]["subject"] for answer in json.loads(out)["answers"]} == {"flow"}


def test_what_a_person_sees(fields, capsys, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = call(
        capsys, "like", fields.folder, "--id", "wing1", "-k", 2, "--explain", "--html", page
    )
    assert code == 0
    assert re.search(r"related words +\d\.\d+ = ", out)
    assert re.search(r"specific words +-?\d\.\d+ = ", out)
    assert "the page is in" in err
    assert "<html" in page.read_text()
    assert "script" not in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "like what?"),
        (["--id", "nothing"], "no document 'nothing'"),
        (["--id", "wing1", "--unlike", "nothing"], "no document 'nothing'"),
        (["--id", "wing1", "--method", "nonsense"], "unknown method"),
        (
            ["--id", "wing1", "--method", "hybrid(focus=odd)"],
            "subject, balanced, thing",
        ),
        (["--id", "wing1", "--method", "hybrid(candidates=-1)"], "candidates"),
        (["--id", "wing1", "--method", "hybrid(feedback=-1)"], "feedback"),
        (["--id", "wing1", "--method", "hybrid(model=odd)"], "no model 'odd'"),
        (["--id", "wing1", "--filter", "odd=1"], "no document has a field"),
        (["--doc", "/nowhere/x.txt"], "cannot be read"),
        (["--id", "wing1", "--html", "/nowhere/x.html"], "cannot be written"),
        (["--id", "wing1", "--method", "bm25", "--html", "x.html"], "does not compare"),
    ],
)
def test_what_is_wrong_is_said(fields, capsys, arguments, message):
    code, _, err = call(capsys, "like", fields.folder, *arguments)
    assert code in (1, 2)
    assert message in err


def test_a_text_without_words_is_like_nothing(fields, capsys):
    code, out, err = call(capsys, "like", fields.folder, "--text", "the of and")
    assert (code, out) == (0, "no document matches\n")
    assert "no word to compare" in err


def test_documents_as_queries_are_measured(fields, capsys, tmp_path):
    ids = tmp_path / "ids.txt"
    code, qrels, _ = call(capsys, "qrels", fields.folder, "--same", "subject", "--ids", ids)
    assert code == 0
    assert len(ids.read_text().splitlines()) == 30
    (tmp_path / "qrels.txt").write_text(qrels)
    assert (
        call(capsys, "qrels", fields.folder, "--links", "cites", "--sample", 5)[1].count("\n") == 5
    )
    for name, method in (("like", []), ("words", ["--method", "tfidf"])):
        code, run, _ = call(
            capsys, "run", fields.folder, "--like", ids, "-k", 9, "--quiet", *method
        )
        assert code == 0
        (tmp_path / f"{name}.run").write_text(run)
        lines = [line.split() for line in run.splitlines()]
        assert all(qid != doc_id for qid, _, doc_id, *_ in lines)
    code, out, _ = call(
        capsys, "eval", "--qrels", tmp_path / "qrels.txt", tmp_path / "like.run",
        tmp_path / "words.run", "--measures", "P@5", "--json",
    )  # fmt: skip
    assert code == 0
    means = re.findall(r'"mean": ?([0-9.]+)', out)
    assert len(means) >= 2
    assert min(map(float, means)) >= 0.9


def test_documents_from_outside_as_queries(fields, capsys, tmp_path):
    file = tmp_path / "new.jsonl"
    file.write_text(
        '{"id": "new", "title": "Wing", "text": "flutter of the aileron"}\n'
        '{"id": "wing1", "text": "flutter of the aileron"}\n'
    )
    code, run, _ = call(capsys, "run", fields.folder, "--like", file, "-k", 3, "--quiet")
    assert code == 0
    assert {line.split()[0] for line in run.splitlines()} == {"new", "wing1"}
    assert "wing1 Q0 wing1 " not in run


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ids.txt", "", "names no document"),
        ("ids.txt", "wing1\nwing1\n", "more than once"),
        ("ids.txt", "nobody\n", "no document 'nobody'"),
        ("new.jsonl", "", "names no document"),
        ("new.jsonl", '{"id": "a", "text": "b"}\n{"id": "a", "text": "c"}\n', "more than once"),
    ],
)
def test_lists_that_are_no_questions(fields, capsys, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    code, _, err = call(capsys, "run", fields.folder, "--like", tmp_path / name)
    assert code == 2
    assert message in err


def test_weights_are_learnt(fields, capsys, tmp_path):
    before = vectors_of(fields.snapshot).focus
    code, out, _ = call(capsys, "tune", fields.folder, "--same", "subject", "--dry-run", "--json")
    assert code == 0
    learnt = json.loads(out)
    assert learnt["n_queries"] == 30
    assert str(learnt["chosen"]) in learnt["means"]
    assert vectors_of(lw.open(fields.folder).snapshot).focus == before == 0.5
    code, out, _ = call(capsys, "tune", fields.folder, "--links", "cites")
    assert code == 0
    assert "cross-validated" in out
    assert "is now the focus of likeness" in out
    assert find_model(lw.open(fields.folder).snapshot).about["focus"] in GRID
    assert call(capsys, "tune", fields.folder)[0] == 2
    assert call(capsys, "tune", fields.folder, "--same", "odd")[0] == 2
    (tmp_path / "few.txt").write_text("wing1 0 wing4 1\n")
    code, _, err = call(capsys, "tune", fields.folder, "--qrels", tmp_path / "few.txt")
    assert code == 2
    assert "10 or more" in err


def test_likeness_is_a_method_of_search_and_a_stage(fields, capsys):
    code, out, _ = call(
        capsys, "search", fields.folder, "wing", "flutter", "--method", "hybrid", "--json"
    )
    assert code == 0
    assert json.loads(out)["answers"][0]["fields"]["subject"] == "wing"
    both = lw.fuse("hybrid", "bm25", method="rrf", depth=20)
    [(_, ranking, *_)] = fields.pipeline(both)("aileron flutter")
    assert len(ranking.docs)


@pytest.mark.parametrize("k", [2, 29])
@pytest.mark.parametrize("where", [(), "subject=flow"])
def test_explanations_are_of_the_ranking_that_was_asked_for(fields, k, where):
    # A second round depends on the first answers, and so on filters and on how many are wanted.
    found = [
        fields.like("wing1", k=k, filter=where, explain=True),
        fields.search("laminar wing heat", k=k, filter=where, method="hybrid", explain=True),
    ]
    for answers in found:
        assert len(answers)
        for answer in answers:
            total = sum(part.score for part in answer.explanation.parts)
            assert total == pytest.approx(answer.score, abs=1e-6)


def test_a_collection_of_nothing_is_like_nothing(fields, tmp_path):
    shutil.copytree(fields.folder, tmp_path / "gone.lw")
    c = lw.open(tmp_path / "gone.lw")
    c.delete([document.id for document in c])
    assert not len(c.like(text="wing flutter"))
    c.merge()
    assert not len(c.like(text="wing flutter"))
    with Writer(c.folder) as writer:
        writer.put(drop=[one.id for one in writer.manifest.artifacts if one.inputs])
    c.refresh()
    assert not len(c.like(text="wing flutter"))


def test_too_many_judgements_are_refused(monkeypatch):
    monkeypatch.setattr(links, "_MOST_JUDGEMENTS", 5)
    with pytest.raises(UsageError, match="sample=1000 takes so many"):
        links.qrels_from_labels({str(i): "same" for i in range(3)})
