"""Queries as a notebook holds them, frames among them."""

import pandas as pd
import pyarrow as pa
import pytest

import likewise as lw
from likewise.errors import UsageError, WrongType

pl = pytest.importorskip("polars", reason="polars is an extra of development")

TEXTS = ["wing flutter in a flow", "heat of a boundary layer", "heat on a wing", "qid and query"]
ASKED = {"qid": [17, 3], "query": ["wing", "heat layer"]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
in_every_library = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    with lw.index(TEXTS, to=tmp_path_factory.mktemp("queries") / "c.lw", model=None) as found:
        yield found


def rows(frame):
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist()


@in_every_library
def test_a_frame_of_queries_gives_a_frame_of_the_same_library(c, make):
    found = c.pipeline("bm25", k=2)(make(ASKED))
    assert isinstance(found, type(make(ASKED)))
    run = c.run({"17": "wing", "3": "heat layer"}, method="bm25", k=2)
    assert rows(found) == [
        {"qid": qid, "docno": doc_id, "score": score, "rank": rank}
        for qid in ("17", "3")
        for rank, (doc_id, score) in enumerate(run[qid], 1)
    ]
    assert [row["docno"] for row in rows(found)] == ["2", "0", "1", "2"]


@in_every_library
def test_a_run_takes_a_frame_of_queries(c, make):
    run = c.run(make(ASKED), method="bm25")
    assert dict(run) == dict(
        c.run([lw.Query("17", "wing"), lw.Query("3", "heat layer")], method="bm25")
    )
    assert [result.query.text for result in c.pipeline().results(make(ASKED))] == ASKED["query"]


@in_every_library
def test_a_frame_without_answers_has_its_columns(c, make):
    found = c.pipeline("bm25")(make({"qid": ["1"], "query": ["nowhere"]}))
    names = found.column_names if isinstance(found, pa.Table) else [*found.columns]
    assert names == ["qid", "docno", "score", "rank"]
    assert rows(found) == []


def test_other_columns_of_a_frame_are_left_alone(c):
    frame = pd.DataFrame({"year": [1], "query": ["wing"], "qid": ["q"]}, index=["i"])
    assert {*c.pipeline("bm25")(frame)["qid"]} == {"q"}
    assert [*c.pipeline("bm25")(pl.LazyFrame(ASKED))["rank"]] == [1, 2, 1, 2]


def test_many_queries_are_answered_batch_by_batch(c):
    frame = pd.DataFrame({"qid": range(1500), "query": "wing"})
    found = c.pipeline("bm25", k=1)(frame)
    assert found["qid"].tolist() == [str(i) for i in range(1500)]
    assert {*found["docno"]} == {"2"}


@pytest.mark.parametrize(
    ("given", "qids", "texts"),
    [
        ("wing", ["1"], ["wing"]),
        (lw.Query("q", "wing"), ["q"], ["wing"]),
        (["wing", "heat"], ["1", "2"], ["wing", "heat"]),
        (("wing", lw.Query("q", "heat")), ["1", "q"], ["wing", "heat"]),
        ({"a": "wing", 7: "heat"}, ["a", "7"], ["wing", "heat"]),
        (pd.Series(["wing", "heat"], index=["x", "y"]), ["1", "2"], ["wing", "heat"]),
        (pl.Series(["wing"]), ["1"], ["wing"]),
        (pa.array(["wing"]), ["1"], ["wing"]),
        ((text for text in ["wing"]), ["1"], ["wing"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_queries_may_be_given_in_many_ways(c, given, qids, texts):
    results = c.pipeline("bm25")(given)
    assert [(one.query.qid, one.query.text) for one in results] == [*zip(qids, texts, strict=True)]
    assert all(len(one.ranking.docs) for one in results)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, r"queries are a text, a Query, .* a frame with the columns qid and query, not None"),
        (5, r"queries are .*, not 5 \(int\)"),
        (b"wing", r"queries are .*, not b'wing' \(bytes\)"),
        ([5], r"a query is a text, or a Query whose text is one, not 5 \(int\)"),
        ([None], "a query is a text, .* not None"),
        ([["wing"]], r"a query is a text, .* not \['wing'\] \(list\)"),
        ([lw.Query("1", None)], "a query is a text, or a Query whose text is one"),
        ({"q": 5}, r"query 'q' is a text, not 5 \(int\)"),
        ({None: "wing"}, "the id of a query is a text that is not empty, or a number, not None"),
        ({"": "wing"}, "the id of a query is a text that is not empty"),
        (pd.DataFrame({"qid": [1], "query": [None]}), "query '1' is a text, not None"),
        (pd.DataFrame({"qid": [1.5], "query": ["wing"]}), "the id of a query .* not 1.5"),
        (pl.Series(["wing", None]), "a query is a text, not None"),
        (pd.Series([1]), "a query is a text, not 1"),
    ],
    ids=str,
)
def test_what_is_no_query_is_refused_by_its_type(c, given, told):
    for ask in (c.pipeline("bm25"), c.run):
        with pytest.raises(WrongType, match=told) as raised:
            ask(given)
        assert isinstance(raised.value, TypeError)


def test_frames_that_hold_no_queries(c):
    told = r"this one has no qid, but 'id' \(Int64\), 'query' \(String\): rename its columns"
    with pytest.raises(UsageError, match=told):
        c.pipeline("bm25")(pd.DataFrame({"id": [1], "query": ["wing"]}))
    with pytest.raises(UsageError, match="no qid and no query, but no columns at all"):
        c.run(pd.DataFrame())
    with pytest.raises(UsageError, match="two queries have the id '1'"):
        c.run(pd.DataFrame({"qid": [1, "1"], "query": ["wing", "heat"]}))
