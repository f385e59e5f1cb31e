"""What is passed to calls in Python: errors of Python's kinds that say what was expected."""

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
