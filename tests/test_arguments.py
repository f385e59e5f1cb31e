"""What is passed to calls in Python: errors of Python's kinds that say what was expected."""

import inspect
import io

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.errors import LikewiseError

TEXTS = ["wing flutter in a flow", "heat of a boundary layer", "heat on a wing"]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    with lw.index(TEXTS, to=tmp_path_factory.mktemp("arguments") / "c.lw") as found:
        yield found


@pytest.mark.parametrize(
    ("ask", "kind", "told"),
    [
        (lambda c: c["nope"], KeyError, "no document 'nope' in "),
        (lambda c: c.like("nope"), KeyError, "no document 'nope'"),
        (lambda c: c.like(["0", "nope"]), KeyError, "no document 'nope'"),
        (lambda c: c.like("0", unlike="nope"), KeyError, "no document 'nope'"),
        (lambda c: c.like("nope", method="near"), KeyError, "no document 'nope'"),
        (lambda c: c.delete("nope"), KeyError, "'nope'; nothing was deleted; missing_ok=True"),
        (lambda c: c.models.decompose("nope"), KeyError, "no document 'nope'"),
        (lambda c: c.models["nope"], KeyError, "no model 'nope'"),
        (lambda c: c[5], TypeError, r"an id is a text, not 5 \(int\)"),
        (lambda c: c[None], TypeError, "an id is a text, not None"),
        (lambda c: c.delete(5), TypeError, r"an id is a text, or a list of texts, not 5 \(int\)"),
        (lambda c: c.delete(["0", 5]), TypeError, r"an id is a text, not 5 \(int\)"),
        (lambda c: c.like(5), TypeError, r"an id is a text, or a list of texts, not 5 \(int\)"),
        (lambda c: c.like([5]), TypeError, r"an id is a text, not 5 \(int\)"),
        (lambda c: c.like({"0": 1}), TypeError, "an id is a text, or a list of texts, not"),
        (lambda c: c.like(None), TypeError, "an id is a text, or a list of texts, not None"),
        (lambda c: c.like(text=5), TypeError, "text is a text, or a list of texts, not 5"),
        (lambda c: c.like(text=["wing", None]), TypeError, "text is a text, not None"),
        (lambda c: c.search(None), TypeError, "a query is a text or a Query .*, not None"),
        (lambda c: c.search(5), TypeError, r"a query is a text or a Query .*, not 5 \(int\)"),
        (lambda c: c.search(["wing"]), TypeError, r"a query is a text .*, not \['wing'\] \(list\)"),
        (lambda c: c.search("wing", k="ten"), TypeError, "k is a whole number, not 'ten'"),
        (lambda c: c.search("wing", k=2.5), TypeError, "k is a whole number, not 2.5"),
        (lambda c: c.search("wing", k=True), TypeError, "k is a whole number, not True"),
        (lambda c: c.search("wing", k=None), TypeError, "k is a whole number, not None"),
        (lambda c: c.search("wing", k=0), ValueError, "k must be at least 1, not 0"),
        (lambda c: c.like("0", k=-3), ValueError, "k must be at least 1, not -3"),
        (lambda c: c.run(["wing"], threads="x"), TypeError, "threads is a whole number, not 'x'"),
        (lambda c: c.run(["wing"], threads=-1), ValueError, "threads must be 0 or more, not -1"),
        (lambda c: c.search("wing", filter=5), TypeError, "a filter is a text such as .*, not 5"),
        (lambda c: c.search("wing", filter=0), TypeError, "a filter is a text such as .*, not 0"),
        (lambda c: c.search("wing", filter=["a=1", 5]), TypeError, "a filter is a text .*, not 5"),
        (lambda c: c.search("wing", filter={"a": 1}), TypeError, "a filter is a text .* not {'a'"),
        (lambda c: c.search("wing", filter="a"), ValueError, "not written as field=value"),
        (lambda c: c.search("wing", method=5), TypeError, "a stage is a text such as .*, not 5"),
        (lambda c: c.search("wing", method="bm26"), ValueError, "bm26"),
        (lambda c: c.search("wing", expand=5), TypeError, "5 is no expander"),
        (lambda c: c.search("wing", smooth=5), TypeError, "5 is no smoothing"),
        (lambda c: c.terms.near(5), TypeError, r"text is a text, not 5 \(int\)"),
        (lambda c: c.terms.near("wing", k="ten"), TypeError, "k is a whole number, not 'ten'"),
        (lambda c: c.add(5), TypeError, "received a single int; a source is"),
        (lambda c: lw.open(5), TypeError, "a collection is a folder, .*, not 5"),
        (lambda c: lw.index(TEXTS, to=5), TypeError, "a collection is a folder, .*, not 5"),
        (lambda c: c.copy(5), TypeError, "a collection is a folder, .*, not 5"),
        (lambda c: c.like(""), ValueError, "an id is a text that is not empty"),
        (lambda c: c[""], KeyError, "no document ''"),
        (lambda c: c.models.fit(5), TypeError, "a model is a text such as .*, not 5"),
        (lambda c: lw.index(TEXTS, to="x", model=5), TypeError, "a model is a text such as"),
        (lambda c: lw.index(TEXTS, to="x", smooth=5), TypeError, "a model is a text such as"),
        (lambda c: c.models.transform(5), TypeError, "an id is a text, or a list of texts, not 5"),
        (lambda c: c.models.transform(["nope"]), KeyError, "no document 'nope'"),
        (lambda c: lw.stage(5), TypeError, "a method is a text such as .*, not 5"),
        (lambda c: c.tune(5), TypeError, "judgements are Qrels, .*, not 5"),
        (lambda c: c.risk(5, lw.Qrels()), TypeError, "queries are a text, .*, not 5"),
        (lambda c: c.judgements(links=5), TypeError, "links is a text, not 5"),
        (lambda c: c.write_neighbours("x", k="a"), TypeError, "k is a whole number, not 'a'"),
        (lambda c: lw.index(TEXTS, to="x", text=5), TypeError, "text= takes the name of a column"),
    ],
)
def test_errors_speak_python(c, ask, kind, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=told) as raised:
        ask(c)
    assert isinstance(raised.value, LikewiseError)
    assert "--" not in str(raised.value)
    assert not [*tmp_path.iterdir()]
    assert len(c) == len(TEXTS)


def test_what_is_of_another_type_but_meant_is_taken(c):
    assert len(c.search("wing", k=np.int64(1))) == 1
    asked = [(a.doc_id, a.score) for a in c.like(["0", "2"])]
    for ids in (("0", "2"), np.array(["0", "2"]), pd.Series(["0", "2"])):
        assert [(a.doc_id, a.score) for a in c.like(ids)] == asked
    for filter in ("", None, [], ()):
        assert len(c.search("wing", method="bm25", filter=filter)) == 2
    assert 5 not in c


def test_a_collection_is_closed_at_the_end_of_with(c):
    with lw.open(c.folder) as found:
        assert found["0"].text == TEXTS[0]
    assert repr(found).endswith("closed>")
    with pytest.raises(ValueError, match="was closed: open it again") as raised:
        found["0"]
    assert isinstance(raised.value, LikewiseError)
    found.close()


@pytest.mark.parametrize(
    ("ask", "kind", "told"),
    [
        (lambda: lw.index(TEXTS), TypeError, r"where is .* stored\? .* index\(source, to='papers"),
        (lambda: lw.index(to="x.lw"), TypeError, "nothing to index: name at least one source"),
        (lambda: lw.index(5, to="x.lw"), TypeError, "received a single int; a source is a file"),
        (lambda: lw.compare(5, 5), TypeError, r"runs are a list of Run, .*, not 5 \(int\)"),
        (lambda: lw.compare(lw.Run("a"), 5), TypeError, r"as in compare\(\[run, other\], qrels\)"),
        (lambda: lw.read_queries(5), TypeError, r"a file is named by a text or a path, not 5"),
        (lambda: lw.write_run(lw.Run("a"), "a.run"), TypeError, r"open\('run.txt', 'w'\)"),
        (lambda: lw.Qrels(5), TypeError, "judgements are a dict of query ids"),
        (lambda: lw.Analysis(min_df="x"), TypeError, "min_df is a whole number, not 'x'"),
        (lambda: lw.Resources("1G"), TypeError, "memory is a whole number, not '1G'"),
    ],
)
def test_functions_say_what_they_expected(ask, kind, told):
    with pytest.raises(kind, match=told) as caught:
        ask()
    assert isinstance(caught.value, LikewiseError)


def test_adding_nothing_is_a_slip(c):
    with pytest.raises(TypeError, match=r"nothing to add: name at least one source, as in add"):
        c.add()
    with pytest.raises(TypeError, match="words is a whole number, not 'x'"):
        c.models.topics(words="x")


WRONG = (None, 5, "", [], object(), b"x", -1, 1.5, {}, [None], [5])
# Values of any kind are meant, or the error is Python's own for a sequence.
LEFT_OUT = {"LikewiseError", "Document", "Query", "Result", "Explanation", "Filter", "Ranking"}
LEFT_OUT |= {"QueryDocument", "Answer", "Run", "Sample", "Stage", "index", "count"}


def calls_of(function, good):
    """Every call with one wrong argument, the others as they should be, that Python lets pass."""
    signature = inspect.signature(function)
    by_place = [one for one in signature.parameters.values() if one.kind is not one.KEYWORD_ONLY]
    for wrong in WRONG:
        for i in range(max(len(good), min(len(by_place), 1))):
            yield [*good[:i], wrong, *good[i + 1 :]], {}
        for name, one in signature.parameters.items():
            if one.kind is one.KEYWORD_ONLY and name != "progress":
                yield [*good], {name: wrong}


def test_nothing_that_is_passed_ends_in_an_error_of_ours_that_is_not_meant(
    c, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run, qrels = c.run(["wing", "heat"], k=2), lw.Qrels({"1": {"0": 1}, "2": {"1": 1}})
    asked = {"1": "wing", "2": "heat"}
    good = {
        "compare": ([run], qrels),
        "fuse_runs": ([run, run],),
        "measure_risk": (run, run, qrels),
        "fuse": ("bm25", "bm25"),
        "build_neighbours": (np.eye(3, dtype=np.float32),),
        "write_run": (run, io.StringIO()),
        "write_qrels": (qrels, io.StringIO()),
        "open_source": (TEXTS,),
        "search": ("wing",),
        "run": (["wing"],),
        "like": (["0"],),
        "risk": (asked, qrels),
        "tune": (qrels,),
        "decompose": ("0",),
        "transform": (["0"],),
        "perturb": ("wing",),
    }
    pipeline, answers = c.pipeline("bm25"), c.search("wing")
    # Changes are made to a copy, which some of the calls empty.
    changed = c.copy(tmp_path / "copy.lw")
    owners = [lw, changed, changed.models, changed.terms, pipeline, answers]
    raw = []
    for owner in owners:
        names = lw.__all__ if owner is lw else [name for name in dir(owner) if name[0] != "_"]
        for name in names:
            function = getattr(owner, name)
            if name in LEFT_OUT or not callable(function) or name in ("close", "fit"):
                continue
            for arguments, options in calls_of(function, good.get(name, ())):
                try:
                    inspect.signature(function).bind(*arguments, **options)
                except TypeError:
                    continue
                try:
                    function(*arguments, **options)
                except LikewiseError:
                    pass
                except Exception as error:
                    raw.append((name, arguments, options, error))
    assert raw == []
