"""Smoothing as people reach it: the default search, `--smooth`, fitting, changes."""

import json
import subprocess
import sys

import numpy as np
import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.errors import UsageError
from likewise.like.smooth import Smoothing
from likewise.models.klsa import KLSA
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.stages import Cut

AIR = ["wing flutter", "panel vibration", "aircraft loads", "airfoil lift", "tail oscillation"]
SEA = ["ship hull", "wave loads", "rudder turning", "propeller noise", "harbour tide"]
COMMON = {"air": "supersonic flow over an elastic surface", "sea": "water of the open ocean"}

SHORT = "bm25 >> proximity >> robust(adapt=10.0) >> bm25 >> klsa(adapt=0.5) >> proximity >> keep"
DEFAULT = f"by-length({SHORT}, hybrid, least=20, most=60)"


def document(i):
    theme, titles = ("air", AIR) if i % 2 == 0 else ("sea", SEA)
    title = titles[i // 2 % len(titles)]
    text = f"{title} in {COMMON[theme]}. Case{i} of {title}."
    return {"id": str(i), "title": title, "text": text, "theme": theme, "year": 1950 + i}


DOCUMENTS = [document(i) for i in range(40)]
NEW = document(40) | {"id": "new", "title": "wing flutter", "theme": "air"}
ALL = [
    {},
    {"method": "bm25"},
    {"method": "bm25", "smooth": "klsa"},
    {"method": "bm25", "expand": "rm3", "smooth": "klsa"},
    {"expand": "robust(coverage=100.0)", "smooth": "klsa"},
    {"method": "ql", "smooth": "klsa"},
    {"method": "ql", "expand": "rm3", "smooth": "klsa(share=0.9)"},
    {"method": "ql-jm", "smooth": "klsa(by=score)"},
    {"method": "tfidf", "smooth": "klsa(docs=0)"},
    {"method": "inner", "smooth": "klsa(docs=3,scale=raw)"},
    {"smooth": "klsa(docs=1,share=0.9,by=score,scale=raw)"},
    {"smooth": "klsa(share=1)"},
    {"smooth": "klsa(share=0)"},
]


@pytest.fixture
def seas(tmp_path):
    return lw.index(DOCUMENTS, to=tmp_path / "seas.lw")


@pytest.fixture
def bare(tmp_path):
    return lw.index(DOCUMENTS, to=tmp_path / "bare.lw", model=None)


@pytest.fixture
def call(seas, capsys):
    def call(name, *arguments):
        code = main([name, str(seas.folder), *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call


def ranked(answers):
    return [(answer.doc_id, answer.score) for answer in answers]


def ids(answers):
    return [answer.doc_id for answer in answers]


# What is done where nothing is named


def test_the_default_is_expanded_and_smoothed(seas, call):
    answers = seas.search("wing flutter")
    assert answers.method == DEFAULT
    assert answers.expanded.method == "robust(adapt=10.0)"
    named = seas.search("wing flutter", method=answers.method)
    assert ranked(answers) == ranked(named)
    shown = json.loads(call("search", "wing flutter", "--json")[1])
    assert shown["method"] == answers.method
    assert [(a["doc_id"], a["score"]) for a in shown["answers"]] == ranked(answers)
    assert 0 < min(a.score for a in answers) <= max(a.score for a in answers) <= 1.5
    # Of another theme, and without a word of the query, is nothing like it.
    assert {int(doc_id) % 2 for doc_id in ids(answers)} == {0}
    assert not set(ids(answers)) <= set(ids(seas.search("wing flutter", method="bm25", k=40)))


def test_whoever_names_one_of_three_has_just_that(seas, call):
    plain = seas.search("wing flutter", method="bm25")
    assert (plain.method, plain.expanded) == ("bm25", None)
    for how in ({"expand": "none"}, {"smooth": "none"}, {"expand": "none", "smooth": " None "}):
        assert ranked(seas.search("wing flutter", **how)) == ranked(plain)
    assert seas.search("wing", expand="rm3").method == "bm25 >> rm3 >> bm25"
    assert seas.search("wing", smooth="klsa").method == "bm25 >> klsa"
    assert seas.search("wing", method="ql", smooth="klsa(docs=5)").method == "ql >> klsa(docs=5)"
    assert ranked(seas.search("wing", smooth=Smoothing())) == ranked(
        seas.search("wing", smooth="KLSA")
    )
    for how in (["--method", "bm25"], ["--smooth", "none"], ["--expand", "none"]):
        shown = json.loads(call("search", "wing flutter", "--json", *how)[1])
        assert shown["method"] == "bm25"
        assert [(a["doc_id"], a["score"]) for a in shown["answers"]] == ranked(plain)
    assert repr(seas.pipeline("bm25")) == "bm25"


def test_without_a_kernel_model_the_default_only_expands(bare, capsys):
    answers = bare.search("wing flutter")
    assert answers.method == SHORT.replace(" >> klsa(adapt=0.5)", "")
    assert ranked(answers) == ranked(bare.search("wing flutter", method=answers.method))
    with pytest.raises(UsageError, match=r"no kernel model; fit one with models\.fit\(.klsa"):
        bare.search("wing", smooth="klsa")
    assert main(["search", str(bare.folder), "wing", "--smooth", "klsa"]) == 2
    assert "has no kernel model; fit one with" in capsys.readouterr().err
    bare.models.fit("klsa")
    assert bare.search("wing flutter").method == SHORT


@pytest.mark.parametrize("query", ["", "?!", "zebra", "\ud800", "a" * 10_000])
def test_what_matches_nothing_is_answered_with_nothing(seas, query):
    assert len(seas.search(query)) == 0
    assert str(seas.search(query, explain=True).without_notes()) == "no document matches"


def test_a_query_left_alone_is_smoothed_and_says_so(call, seas):
    how = ("--expand", "robust(coverage=100.0)", "--smooth", "klsa")
    code, out, err = call("search", "wing flutter", *how)
    assert code == 0
    assert "not expanded by robust(coverage=100.0): no choice of terms" in err
    smoothed = seas.search("wing flutter", smooth="klsa")
    assert out.splitlines() == str(smoothed).splitlines()
    code, out, err = call("search", "zebra")
    assert (code, out) == (0, "no document matches\n")
    assert err == "likewise: no document has: zebra\n"


# Pipelines


def test_stages_compose_as_written(seas):
    deep = seas.pipeline("bm25", k=200) >> seas.pipeline("klsa", k=7)
    built = seas.pipeline("bm25", smooth="klsa", k=7)
    assert repr(deep) == repr(built) == "bm25 >> klsa"
    [by_hand], [as_built] = deep("wing flutter"), built("wing flutter")
    assert by_hand.ranking.docs.tolist() == as_built.ranking.docs.tolist()
    assert by_hand.ranking.scores.tolist() == as_built.ranking.scores.tolist()
    assert len(as_built.ranking.docs) == 7
    grown = seas.pipeline("bm25", expand="rm3") >> "klsa"
    assert repr(grown) == "bm25 >> rm3 >> bm25 >> klsa"
    both = seas.pipeline(lw.fuse(deep.stage, "ql >> klsa") >> Cut(3))
    assert len(both("wing flutter")[0].ranking.docs) == 3


def test_few_answers_are_the_first_of_many(seas):
    many = seas.search("wing flutter", k=40)
    for k in (1, 3, 10):
        assert ranked(seas.search("wing flutter", k=k)) == ranked(many)[:k]
    with pytest.raises(UsageError, match="k must be at least 1, not 0"):
        seas.pipeline("klsa", k=0)


@pytest.mark.parametrize("how", ALL)
def test_filters_hold_for_both_parts(seas, how):
    answers = seas.search("wing flutter loads", k=40, filter="year>=1970", **how)
    assert len(answers) > 0
    assert all(answer.fields["year"] >= 1970 for answer in answers)
    assert len(seas.search("wing", filter=["theme=sea", "year<1960"], **how)) <= 5


def test_rows_are_shared_until_the_collection_changes(seas):
    rows = vectors_of(seas.snapshot, role=SMOOTH)
    assert vectors_of(seas.snapshot, "klsa", SMOOTH) is rows
    seas.refresh()
    assert vectors_of(seas.snapshot, role=SMOOTH) is not rows


def test_runs_are_as_searches(seas, call, tmp_path):
    queries = [lw.Query("a", "wing flutter"), lw.Query("b", "ship hull"), lw.Query("c", "zebra")]
    run = seas.run(queries, k=12)
    assert run.name == DEFAULT
    for query in queries:
        assert run[query.qid] == ranked(seas.search(query, k=12))
    alone = seas.run(queries, k=12, threads=1)
    assert {qid: alone[qid] for qid in alone} == {qid: run[qid] for qid in run}
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(json.dumps({"id": q.qid, "text": q.text}) for q in queries))
    ask = ("run", "--queries", str(file), "-k", "12")
    code, out, err = call(*ask)
    assert code == 0
    assert "1 of 3 queries were not expanded; c: no document answers it" in err
    assert out.splitlines()[0].split()[-1] == DEFAULT.replace(" ", "")
    lines = [line.split() for line in out.splitlines()]
    assert [line[2] for line in lines if line[0] == "a"] == [doc_id for doc_id, _ in run["a"]]
    values = json.loads(call(*ask, "--json", "--quiet")[1])
    assert [one["doc_id"] for one in values["queries"]["b"]] == [d for d, _ in run["b"]]
    assert values["expansions"]["a"]["method"] == "robust(adapt=10.0)"
    code, out, err = call(*ask, "--smooth", "klsa(share=0.9)", "--quiet")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[-1] == "bm25>>klsa(share=0.9)"
    assert run["a"] != seas.run(queries, k=12, smooth="klsa(share=0.9)")["a"]


# Reasons


@pytest.mark.parametrize("where", [(), "year>=1960"])
@pytest.mark.parametrize("how", ALL)
def test_parts_add_up(seas, how, where):
    seas.add([NEW])
    seas.delete(["0", "3", "new"])
    for query in ("wing flutter", "loads", "oscillation of a hull in unheard seas"):
        answers = seas.search(query, k=30, filter=where, explain=True, **how)
        assert len(answers) > 0
        for answer in answers:
            parts = sum(part.score for part in answer.explanation.parts)
            assert parts == pytest.approx(answer.score, rel=1e-5, abs=1e-6)
            like = {p.name for p in answer.explanation.parts if p.kind == "document"}
            assert not like & {"0", "3", "new"}
            assert all(doc_id in seas for doc_id in like)
            if where:
                assert all(seas[doc_id].fields["year"] >= 1960 for doc_id in like)


def test_reasons_are_shown_by_words_and_by_documents(call, seas):
    code, out, err = call("search", "flutter", "-k", "6", "--explain")
    assert (code, err) == (0, "")
    assert out.startswith("robust(adapt=10.0): flutter")
    lines = [line.split() for line in out.splitlines()]
    words = [line for line in lines if line[:1] == ["words"]]
    like = [line for line in lines if line[:1] == ["like"]]
    assert len(like) == 6
    assert words[0][2:4] == ["=", "flutter"]
    first = seas.search("flutter", k=6, explain=True)[0]
    assert float(words[0][1]) + float(like[0][1]) == pytest.approx(first.score, abs=2e-4)
    assert like[0][2] == "="
    assert like[0][3] in seas
    # JSON has them as they come, the largest first.
    shown = json.loads(call("search", "flutter", "-k", "1", "--explain", "--json")[1])
    [answer] = shown["answers"]
    assert [part["name"] for part in answer["explanation"]] == [
        p.name for p in first.explanation.parts
    ]
    sizes = [abs(part["score"]) for part in answer["explanation"]]
    assert sizes == sorted(sizes, reverse=True)
    # Without smoothing it is one sum, as it was.
    _, out, _ = call("search", "flutter", "-k", "1", "--explain", "--method", "bm25")
    assert "= flutter" in out
    assert "words" not in out


def test_what_comes_in_by_likeness_alone_says_so(seas):
    answers = seas.search("flutter", k=20, smooth="klsa", explain=True)
    matching = set(ids(seas.search("flutter", k=20, method="bm25")))
    others = [answer for answer in answers if answer.doc_id not in matching]
    assert others
    for answer in others:
        assert all(part.kind == "document" for part in answer.explanation.parts)


# What cannot be meant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "wing", "--smooth", "lsa"], "unknown smoothing 'lsa': it is one of klsa"),
        (["search", "wing", "--smooth", "klsa(size=2)"], "klsa: 'size=2' is no option"),
        (["search", "wing", "--smooth", "klsa(docs=-1)"], "docs of 0 (all) or more, not -1"),
        (["search", "wing", "--smooth", "klsa(docs=x)"], "docs must be a whole number"),
        (["search", "wing", "--smooth", "klsa(share=2)"], "share from 0 (as it was) to 1"),
        (["search", "wing", "--smooth", "klsa(by=x)"], "by is one of rank, score"),
        (["search", "wing", "--smooth", "klsa(scale=x)"], "scale is one of max, raw"),
        (["search", "wing", "--smooth", "klsa(model=x)"], "no kernel model 'x'"),
        (["search", "wing", "--smooth", ""], "is not written as name"),
        (["run", "--like", "ids.txt", "--smooth", "klsa"], "--smooth is for queries of words"),
        (["fit", "--model", "klsa(kernel=x)"], "unknown kernel 'x'"),
        (["fit", "--model", "klsa(axes=-1)"], "axes, docs and seed at least 0"),
        (["fit", "--model", "klsa", "--continue"], "cannot be resumed"),
        (["fit", "--model", "klsa", "--name", "lsi"], "'lsi' is the name of a model"),
        (["fit", "--model", "lsi", "--name", "klsa"], "'klsa' is the name of a kernel model"),
        (["fit", "--drop"], "which model is to be removed?"),
        (["fit", "--drop", "--name", "x"], "no model 'x' in"),
        (["decompose", "--id", "1", "--model", "klsa"], "no model 'klsa'"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, arguments, message):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("likewise: ")
    assert message in err


@pytest.mark.parametrize("how", [5, Smoothing, object()])
def test_what_is_no_smoothing_is_refused(seas, how):
    with pytest.raises(UsageError, match="is no smoothing: write"):
        seas.search("wing", smooth=how)


# Fitting


def test_fit_reports_and_takes_a_name(call, seas):
    code, out, _ = call("fit", "--model", "klsa(kernel=cosine)", "--topics", "5", "--name", "five")
    assert code == 0
    assert f"{seas.folder}: five fitted, 5 axes over " in out
    assert "terms of 40 documents, 9 bytes a document" in out
    seas.refresh()
    assert seas.info()["kernels"] == ["klsa", "five"]
    # Where no model is named it stays the one called klsa.
    assert vectors_of(seas.snapshot, "five", SMOOTH).model.width == 5
    assert vectors_of(seas.snapshot, role=SMOOTH).model.width > 5
    for model in ("klsa", "five"):
        code, out, _ = call("search", "wing", "--smooth", f"klsa(model={model})", "--json")
        assert json.loads(out)["method"] == f"bm25 >> klsa(model={model})"
    values = json.loads(call("fit", "--model", "klsa", "--json")[1])
    assert (values["name"], values["kind"], values["documents"]) == ("klsa", "klsa", 40)
    assert values["bytes_each"] == values["axes"] + 4
    assert values["terms"] > 40
    assert "klsa (default)" in call("info")[1]
    assert call("fit", "--model", "klsa", "--drop")[1].endswith("the model klsa was removed\n")
    assert json.loads(call("fit", "--name", "five", "--drop", "--json")[1]) == {"dropped": "five"}
    info = json.loads(call("info", "--json")[1])
    assert (info["kernels"], info["models"]) == ([], ["lsi"])
    assert call("info", "--check")[0] == 0


def test_kernels_in_python(seas):
    space = seas.models.fit("klsa(kernel=ql(mu=100),axes=7)", name="ql")
    assert (space.width, space.name, str(space.kernel)) == (7, "ql", "ql(mu=100.0)")
    assert seas.search("wing", smooth="klsa(model=ql)").method == "bm25 >> klsa(model=ql)"
    again = seas.models.fit(KLSA("ql(mu=100)", axes=7), name="ql")
    assert np.array_equal(again.values, space.values)
    seas.models.drop("ql")
    assert seas.info()["kernels"] == ["klsa"]
    with pytest.raises(UsageError, match=r"no model 'ql' in .*; there is lsi, klsa"):
        seas.models.drop("ql")


def test_the_users_own_features(seas):
    rows = np.array([[1.0, 0.0] if i % 2 == 0 else [0.0, 1.0] for i in range(40)])
    space = seas.models.fit("klsa", vectors=rows, name="own")
    assert space.width == 2
    found = seas.search("wing flutter", k=40, smooth="klsa(model=own)")
    assert {int(answer.doc_id) % 2 for answer in found} == {0}
    assert len(found) == 20
    named = seas.models.fit(
        "klsa", vectors=rows[::-1], ids=[str(i) for i in range(39, -1, -1)], name="named"
    )
    assert named.values == pytest.approx(space.values)
    assert ranked(seas.search("wing", smooth="klsa(model=named)")) == ranked(
        seas.search("wing", smooth="klsa(model=own)")
    )


def test_the_users_own_function(seas):
    def same_length(texts, others):
        return [[1.0 if len(a) % 2 == len(b) % 2 else 0.0 for b in others] for a in texts]

    space = seas.models.fit("klsa", gram=same_length, name="gram")
    assert space.width == 2
    answers = seas.search("wing", smooth="klsa(model=gram)", explain=True)
    for answer in answers:
        assert sum(p.score for p in answer.explanation.parts) == pytest.approx(
            answer.score, rel=1e-5
        )
    with pytest.raises(UsageError, match="vectors or by a function"):
        seas.models.fit("klsa", vectors=np.ones((40, 2)), gram=same_length)
    with pytest.raises(UsageError, match="ids name the documents of vectors"):
        seas.models.fit("klsa", gram=same_length, ids=["1"])
    with pytest.raises(UsageError, match="its kernel is of words; vectors and functions"):
        seas.models.fit("klsa(kernel=ql)", gram=same_length)


def test_features_in_a_field_and_in_a_file(tmp_path, capsys):
    documents = [d | {"v": [1.0, float(i % 3)]} for i, d in enumerate(DOCUMENTS)]
    c = lw.index(documents, to=tmp_path / "v.lw", model=None)
    fit = ["fit", str(c.folder), "--model", "klsa", "--vectors"]
    assert main([*fit, "field:v"]) == 0
    assert "klsa fitted, 2 axes of 40 documents, 6 bytes a document" in capsys.readouterr().out
    c.add([NEW | {"v": [1.0, 2.0]}])
    assert np.any(vectors_of(c.snapshot, role=SMOOTH).rows(c.snapshot.find_docs(["new"])))
    np.save(tmp_path / "x.npy", np.ones((41, 3)))
    assert main([*fit, str(tmp_path / "x.npy"), "--name", "file"]) == 0
    c.refresh()
    assert c.info()["kernels"] == ["klsa", "file"]
    with pytest.raises(UsageError, match="ids name the documents"):
        c.models.fit("klsa", vectors="v", ids=["1"])


# Indexing, and what stays up to date


def test_index_fits_a_kernel_model_beside_another(tmp_path, capsys):
    def made(*arguments, **options):
        if options:
            c = lw.index(DOCUMENTS, to=tmp_path / "p.lw", overwrite=True, **options)
            return c.info()["models"], c.info()["kernels"]
        assert main(["index", str(source), "--to", str(to), "--overwrite", *arguments]) == 0
        capsys.readouterr()
        info = lw.open(to).info()
        return info["models"], info["kernels"]

    source, to = tmp_path / "d.jsonl", tmp_path / "c.lw"
    source.write_text("\n".join(map(json.dumps, DOCUMENTS)))
    for arguments, options, expected in (
        ([], {"smooth": "auto"}, (["lsi"], ["klsa"])),
        (["--smooth", "none"], {"smooth": None}, (["lsi"], [])),
        (["--smooth", "none"], {"smooth": "none"}, (["lsi"], [])),
        (["--model", "none"], {"model": None}, ([], [])),
        (
            ["--model", "none", "--smooth", "klsa"],
            {"model": None, "smooth": "klsa"},
            ([], ["klsa"]),
        ),
        (["--smooth", "klsa(axes=3)"], {"smooth": KLSA(axes=3)}, (["lsi"], ["klsa"])),
    ):
        assert made(*arguments) == expected
        assert made(**options) == expected
    assert vectors_of(lw.open(to).snapshot, role=SMOOTH).model.width == 3
    for wrong, message in (
        (["--smooth", "lsi"], "lsi smooths no ranking"),
        (["--model", "klsa"], "goes beside a model of documents"),
        (["--smooth", "x"], "unknown model 'x'"),
    ):
        fresh = tmp_path / "fresh.lw"
        assert main(["index", str(source), "--to", str(fresh), *wrong]) == 2
        assert message in capsys.readouterr().err
        assert not fresh.exists()


@pytest.mark.parametrize(
    "options", [{}, {"analysis": lw.Analysis(min_df=5)}, {"smooth": "klsa(kernel=inner)"}]
)
@pytest.mark.parametrize("texts", [[], [""], ["one"], ["one", "two words"], ["of the"]])
def test_small_collections_are_indexed_and_asked(tmp_path, texts, options):
    documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
    c = lw.index(documents, to=tmp_path / "few.lw", **options)
    for query in ("one", "of", "words two"):
        assert len(c.search(query, explain=True)) <= len(texts)
    c.add([{"id": "more", "text": "one more word"}])
    c.search("one word")


def check_rows(c):
    """What is stored is what would be worked out, of every segment."""
    stored = vectors_of(c.snapshot, role=SMOOTH)
    names = [segment.entry.id for segment in c.snapshot.segments]
    kept = c.snapshot.artifacts("vectors", of=stored.artifact.id)
    assert sorted(artifact.inputs[1] for artifact in kept) == sorted(names)
    computed = StoredVectors(c.snapshot, stored.model)
    for one, other in zip(stored.segments, computed.segments, strict=True):
        assert np.array_equal(one.dense.codes, other.dense.codes)


def test_answers_follow_every_change(seas):
    before = ids(seas.search("wing flutter", k=20))
    assert "new" not in before
    check_rows(seas)
    seas.add([NEW])
    check_rows(seas)
    assert "new" in ids(seas.search("wing flutter", k=20))
    seas.delete("new")
    assert ids(seas.search("wing flutter", k=20)) == before
    seas.add([NEW | {"title": "harbour tide", "text": "Only the tide."}], replace=True)
    assert "new" not in ids(seas.search("wing flutter", k=20))
    seas.merge()
    check_rows(seas)
    assert "new" not in ids(seas.search("wing flutter", k=20))
    other = lw.open(seas.folder)
    other.delete(before[0])
    assert before[0] in ids(seas.search("wing flutter", k=20))
    seas.refresh()
    assert before[0] not in ids(seas.search("wing flutter", k=40))


def test_the_command_line_keeps_rows_up(call, seas, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps(NEW))
    assert call("add", str(more))[0] == 0
    assert call("delete", "2")[0] == 0
    seas.refresh()
    check_rows(seas)
    assert call("merge")[0] == 0
    seas.refresh()
    check_rows(seas)
    found = ids(seas.search("wing flutter", k=40))
    assert "new" in found
    assert "2" not in found
    assert call("info", "--check")[0] == 0


def test_a_merge_changes_no_answer(seas):
    seas.add([NEW])
    seas.delete(["4", "7"])
    before = seas.search("wing flutter loads", k=40)
    seas.merge()
    after = seas.search("wing flutter loads", k=40)
    assert ranked(after) == ranked(before)


def test_help_needs_no_arrays():
    code = (
        "import sys\nfrom likewise.app.cli import main\n"
        "try:\n    main(['search', '--help'])\nexcept SystemExit:\n    pass\n"
        "assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    usual = Smoothing()
    for part in (
        *("--smooth", "klsa", "--method bm25 is plain BM25"),
        *(f" {name}={getattr(usual, name)} " for name in ("docs", "share", "by", "scale", "model")),
        "stay the first, as far",
    ):
        assert part in done.stdout


# What other processes do, and what is asked for in vain


def test_a_model_that_another_process_replaced_answers_as_it_did(seas):
    before = [(one.doc_id, one.score) for one in seas.search("wing")]
    other = lw.open(seas.folder)
    seas.models.fit("klsa(axes=3)")
    assert [(one.doc_id, one.score) for one in other.search("wing")] == before
    other.refresh()
    now = [(one.doc_id, one.score) for one in other.search("wing")]
    assert now == [(one.doc_id, one.score) for one in seas.search("wing")] != before


def test_rows_that_another_process_removed_are_worked_out(seas):
    before = [(one.doc_id, one.score) for one in seas.search("wing", smooth="klsa", k=40)]
    other = lw.open(seas.folder)
    assert other.search("wing", method="bm25")
    seas.add([{"id": "late", "text": "nothing of the kind"}])
    seas.merge()
    found = other.search("wing", smooth="klsa", k=40)
    assert [one.doc_id for one in found] == [doc_id for doc_id, _ in before]
    assert [one.score for one in found] == pytest.approx([score for _, score in before])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--min-df", "5"], "choose terms for topics"),
        (["--max-df", "0.5"], "choose terms for topics"),
        (["--name", "a,b"], "no commas, parentheses"),
        (["--name", "a)"], "no commas, parentheses"),
    ],
)
def test_options_that_a_kernel_model_has_no_use_for(call, options, told):
    code, out, err = call("fit", "--model", "klsa", *options)
    assert (code, out) == (2, "")
    assert told in err


def test_all_documents_can_be_fitted_on(call):
    code, out, _ = call("fit", "--model", "klsa", "--docs", "0", "--json")
    assert code == 0
    assert json.loads(out)["settings"]["docs"] == 0


@pytest.mark.parametrize("bad", [{"kernel": 3}, {"kernel": None}, {"axes": 1.5}, {"docs": True}])
def test_a_configuration_of_the_wrong_kind_is_refused(bad):
    with pytest.raises(UsageError, match="klsa"):
        KLSA(**bad)


def test_own_kernels_are_functions_or_features_alone(call, seas, tmp_path):
    with pytest.raises(UsageError, match="gram is a function"):
        seas.models.fit("klsa", gram="x")
    np.save(tmp_path / "rows.npy", np.eye(40))
    vectors = ["--vectors", str(tmp_path / "rows.npy")]
    code, _, err = call("fit", "--model", "klsa(kernel=cosine)", *vectors)
    assert code == 2
    assert "vectors and functions are their own" in err
    assert call("fit", "--model", "klsa", *vectors)[0] == 0


def test_one_document_is_indexed_without_a_kernel_model(tmp_path):
    alone = [{"id": "1", "text": "wing flutter"}]
    c = lw.index(alone, to=tmp_path / "one.lw", smooth="klsa(kernel=cosine)")
    assert c.info()["kernels"] == []
    assert [one.doc_id for one in c.search("wing")] == ["1"]
