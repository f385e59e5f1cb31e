"""Expansion as people reach it: search, run, Python."""

import json
from collections import Counter

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.engine.answers import Expanded
from likewise.errors import UsageError
from likewise.expand.expansion import Expander, ExpansionResult
from likewise.expand.feedback import RM3


@pytest.fixture
def call(papers, capsys):
    def call(*arguments):
        code = main([arguments[0], str(papers.folder), *arguments[1:]])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


ALL = ["rm1", "rm3", "bo1", "kl", "rocchio", "rrm", "graph", "robust", "robust(similarity=jaccard)"]
ALL += ["robust(similarity=graph)"]


@pytest.mark.parametrize("how", ALL)
def test_every_expander_shows_its_terms(call, how):
    code, out, err = call("search", "wing flutter", "--expand", how, "--explain")
    assert code == 0
    assert bool(err) == ("graph" in how)  # which is made here for the first time, and says so
    name = how.partition("(")[0]
    first, added, empty, *_ = out.splitlines()
    assert first.startswith(f"{how}: ")
    assert "flutter" in first
    assert added.startswith("+ ")
    assert empty == ""
    code, out, _ = call("search", "wing flutter", "--expand", how, "--json")
    shown = json.loads(out)["expansion"]
    assert shown["method"].startswith(name)
    assert {"wing", "flutter"} >= set(shown["asked"])
    # Bo1 and KL want a term in two documents, and these few share none that is new.
    assert bool(shown["added"]) == (name not in {"bo1", "kl"})
    assert not {"wing", "flutter"} & set(shown["added"])
    assert shown["skipped_reason"] is None


@pytest.mark.parametrize("how", ALL)
def test_parts_still_add_up(papers, how):
    answers = papers.search("wing flutter", expand=how, explain=True)
    assert len(answers) > 0
    for answer in answers:
        parts = sum(part.score for part in answer.explanation.parts)
        assert parts == pytest.approx(answer.score, rel=1e-5)
    terms = Counter(part.name for answer in answers for part in answer.explanation.parts)
    assert set(terms) <= {*answers.expanded.asked, *answers.expanded.added}
    assert answers[:1].expanded == answers.expanded


def test_no_expansion_is_the_plain_search(papers, call):
    plain = papers.search("wing flutter", method="bm25")
    assert plain.expanded is None
    assert "expansion" not in plain.to_json()
    same = papers.search("wing flutter", expand="none")
    assert [(a.doc_id, a.score) for a in same] == [(a.doc_id, a.score) for a in plain]
    code, out, _ = call("search", "wing flutter", "--expand", "none", "--json")
    assert code == 0
    assert "expansion" not in json.loads(out)


def test_a_query_that_is_left_alone_says_so(call, papers):
    code, out, err = call("search", "zebra", "--expand", "rm3")
    assert code == 0
    assert "no document matches" in out
    assert "not expanded by rm3: no document answers it" in err
    how = "robust(coverage=100.0)"
    code, out, err = call("search", "wing flutter", "--expand", how)
    assert code == 0
    assert "no choice of terms meets coverage=100" in err
    assert out.splitlines() == str(papers.search("wing flutter", method="bm25")).splitlines()
    code, out, _ = call("search", "wing flutter", "--expand", how, "--json")
    assert "coverage=100" in json.loads(out)["expansion"]["skipped_reason"]


def test_one_word_says_how_it_was_perturbed(call):
    _, out, _ = call("search", "flutter", "--expand", "robust", "--explain")
    assert "(one word alone cannot be perturbed: " in out
    _, out, _ = call("search", "flutter", "--expand", "robust", "--json")
    assert "joined" in json.loads(out)["expansion"]["note"]


def test_runs_are_expanded(papers, call, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "a", "text": "flutter"}\n{"id": "b", "text": "heat wing"}\n')
    code, out, _ = call("run", "--queries", str(queries), "--expand", "rm3(docs=2)", "--quiet")
    assert code == 0
    assert out.splitlines()[0].split()[-1] == "bm25>>rm3(docs=2)>>bm25"
    run = papers.run(lw.read_queries(queries), expand=RM3(docs=2))
    assert [line.split()[2] for line in out.splitlines() if line.startswith("a ")] == [
        doc_id for doc_id, _ in run["a"]
    ]
    plain = papers.run(lw.read_queries(queries), method="bm25")
    assert len(run["a"]) > len(plain["a"])


def test_stages_compose_as_written(papers):
    bm25 = papers.pipeline("bm25")
    pipeline = bm25 >> "rm3" >> bm25
    assert repr(pipeline) == "bm25 >> rm3 >> bm25"
    [by_hand] = pipeline("wing flutter")
    [built] = papers.pipeline("bm25", expand="rm3")("wing flutter")
    assert by_hand.ranking.docs.tolist() == built.ranking.docs.tolist()
    assert by_hand.query == built.query


def test_the_filter_holds_for_every_search(papers):
    answers = papers.search("wing flutter", expand="robust", filter="year>=1962")
    assert {answer.doc_id for answer in answers} <= {"3", "4"}
    first = papers.search("flutter", expand="rm3", filter="year<1961")
    assert set(first.expanded.added) <= {"wing"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "wing", "--expand", "rm4"], "unknown expander 'rm4': it is one of bo1"),
        (["search", "wing", "--expand", "rm3(size=2)"], "rm3: 'size=2' is no option"),
        (["search", "wing", "--expand", "rm3(docs=0)"], "docs of at least 1"),
        (["search", "wing", "--expand", "rm3(docs=x)"], "docs must be a whole number"),
        (["search", "wing", "--expand", "robust(similarity=x)"], "unknown similarity 'x'"),
        (["search", "wing", "--expand", "rm3", "--method", "near"], "no terms to expand"),
        (["search", "wing", "--expand", "rm3", "--method", "hybrid"], "no terms to expand"),
        (["run", "--like", "ids.txt", "--expand", "rm3"], "not for --like"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_an_expander_searches_as_the_stage_before_it(papers):
    named = papers.pipeline("ql(mu=5.0)", expand="robust")
    follows = papers.pipeline("ql(mu=5.0) >> cut(3) >> robust >> ql(mu=5.0)")
    apart = papers.pipeline("bm25 >> robust >> ql(mu=5.0)")
    terms = [stage("wing flutter flow")[0].query.terms for stage in (named, follows, apart)]
    assert terms[0] == terms[1] != terms[2]


@pytest.mark.parametrize("method", ["near", "hybrid"])
def test_what_compares_texts_has_no_use_for_terms(papers, method):
    stage = papers.pipeline("bm25 >> rm3") >> method
    with pytest.raises(UsageError, match="no use for the terms of an expansion"):
        stage("wing flutter")


def test_no_expander_may_be_written_as_none(papers):
    plain = papers.search("wing flutter", method="bm25")
    same = papers.search("wing flutter", method="bm25", expand=None)
    assert [(a.doc_id, a.score) for a in same] == [(a.doc_id, a.score) for a in plain]


@pytest.mark.parametrize("how", [5, RM3, object()])
def test_what_is_no_expander_is_refused(papers, how):
    with pytest.raises(UsageError, match="is no expander"):
        papers.search("wing", expand=how)


def test_an_expander_is_a_stage(papers):
    pipeline = papers.pipeline("bm25") >> RM3() >> "bm25"
    assert str(pipeline) == "bm25 >> rm3 >> bm25" == str(papers.pipeline("bm25", expand="rm3"))


class Own(Expander):
    """An expander of the user's own, which gives back what it is told to."""

    feedback_docs = 1

    def __init__(self, found):
        self.found = found

    def __str__(self):
        return "own"

    def with_share(self, share):
        return self

    def expand(self, batch, search):
        return self.found


def test_an_expander_of_the_users_own_is_checked(papers):
    answers = papers.search("wing", expand=Own([ExpansionResult({"heat": 1.0})]))
    assert [answer.doc_id for answer in answers] == ["2"]
    for found in ([], [{"heat": 1.0}]):
        with pytest.raises(
            UsageError, match="own must give one ExpansionResult for each of 1 queries"
        ):
            papers.search("wing", expand=Own(found))
    with pytest.raises(UsageError, match="no number"):
        papers.search("wing", expand=Own([ExpansionResult({"heat": float("nan")})]))


def test_texts_are_read_for_words_that_are_shown_only(papers, monkeypatch):
    read = []
    document = type(papers.snapshot).document
    monkeypatch.setattr(
        type(papers.snapshot), "document", lambda self, doc: read.append(doc) or document(self, doc)
    )
    answers = papers.search("wing flutter", expand="rm3", explain=True)
    assert [answer.to_json() for answer in answers]
    assert not read
    assert str(answers)
    assert 0 < len(read) == len(set(read))


def test_answers_print_what_was_made_of_the_query(papers):
    shown = str(papers.search("wing flutter", expand="rm3", explain=True))
    assert shown.startswith("rm3: ")
    assert "\n+ " in shown
    assert str(papers.search("wing flutter", expand="rm3")).lstrip().startswith("score")
    left = papers.search("wing flutter", expand="robust(coverage=100.0)")
    assert str(left).startswith("not expanded by robust(coverage=100.0): no choice")
    assert max(map(len, left.expanded.shown(60).splitlines())) <= 60


def test_a_run_tells_of_queries_left_alone(papers, call, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "a", "text": "flutter"}\n{"id": "b", "text": "zebra"}\n')
    code, out, err = call("run", "--queries", str(queries), "--expand", "rm3", "--json")
    assert code == 0
    assert "1 of 2 queries were not expanded; b: no document answers it" in err
    expansions = json.loads(out)["expansions"]
    assert expansions["a"]["added"]
    assert expansions["b"]["skipped_reason"] == "no document answers it"
    plain = ("--method", "bm25", "--json", "--quiet")
    _, out, _ = call("run", "--queries", str(queries), *plain)
    assert "expansions" not in json.loads(out)


def test_names_may_be_written_in_any_case(call):
    assert call("search", "wing", "--expand", "RM3")[0] == 0
    code, _, err = call("search", "wing", "--expand", "rm3(docs=5,docs=6)")
    assert (code, "docs is given twice" in err) == (2, True)
    code, _, err = call("search", "wing", "--expand", "jaccard")
    assert (code, "write robust(similarity=jaccard)" in err) == (2, True)


def test_terms_are_shown_as_words(papers):
    answers = papers.search("Boundary layers", expand="rm3", explain=True)
    shown = str(answers)
    assert "boundary" in shown.lower()
    assert "boundari" not in shown
    assert "layers" in shown
    assert "boundari" in answers.expanded.asked


def test_json_has_words_and_beside_them_the_terms(papers, call, tmp_path):
    answers = papers.search("Boundary layers", expand="rm3")
    found = answers.to_json()["expansion"]
    assert found["terms"]["boundary"] == "boundari"
    assert {"boundary", "layers"} == set(found["asked"])
    assert found["added"]
    for kind in ("asked", "added"):
        by_term = {found["terms"].get(word, word): w for word, w in found[kind].items()}
        assert by_term == dict(getattr(answers.expanded, kind))
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "a", "text": "Boundary layers"}\n')
    _, out, _ = call("run", "--queries", str(queries), "--expand", "rm3", "--json")
    found = json.loads(out)["expansions"]["a"]
    assert found["terms"]["boundary"] == "boundari"
    assert "boundary" in found["asked"]


def test_two_terms_of_one_word_are_both_there():
    one = Expanded("rm3", {"wing": 0.5, "a": 0.1}, {"wings": 0.25, "b": 0.2})
    found = one.to_json({"wing": "wings", "a": "c", "b": "c"})
    assert found["asked"] == {"wing": 0.5, "c": 0.1}
    assert found["added"] == {"wings": 0.25, "b": 0.2}
    assert found["terms"] == {"c": "a"}
