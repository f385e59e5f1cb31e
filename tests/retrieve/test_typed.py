"""What was typed, as a query with terms and what must match."""

import numpy as np
import pytest

import likewise as lw
from likewise.records import Match, Query, QueryDocument
from likewise.retrieve import typed as module
from likewise.retrieve.models import bm25_idf
from likewise.retrieve.typed import read_typed


def test_plain_words_stay_a_text(papers):
    query = Query("1", "wing flutter")
    assert read_typed(query, papers.snapshot)[0] == query


def test_what_must_match_leaves_the_text_to_be_analysed(papers):
    query, typed = read_typed(Query("q", "+wing -heat"), papers.snapshot)
    assert (query.qid, query.text, query.terms) == ("q", "wing", None)
    assert query.match == typed.match


def test_weights_count(papers):
    query, _ = read_typed(Query("1", "wings^3 flutter wing"), papers.snapshot)
    assert query.terms == {"wing": 4.0, "flutter": 1.0}


def test_terms_of_a_prefix_count_as_rare_as_all_of_them(tmp_path):
    texts = ["neuron axon", "neuron", "neural axon", "axon"]
    c = lw.index([{"id": f"{i}", "text": t} for i, t in enumerate(texts)], to=tmp_path / "c.lw")
    query, _ = read_typed(Query("1", "neur*^2"), c.snapshot)
    together, neuron, neural = bm25_idf(4, np.array([3, 2, 1])).tolist()
    expected = {"neuron": 2 * together / neuron, "neural": 2 * together / neural}
    assert query.terms == pytest.approx(expected)


def test_of_a_prefix_the_terms_of_most_documents_are_scored_by(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PREFIX_TERMS", 1)
    texts = ["neuron", "neuron", "neural", "axon"]
    c = lw.index([{"id": f"{i}", "text": t} for i, t in enumerate(texts)], to=tmp_path / "c.lw")
    query, _ = read_typed(Query("1", "+neur*"), c.snapshot)
    assert [*query.terms] == ["neuron"]
    answers = c.search("+neur* axon", method="bm25")
    assert {answer.doc_id for answer in answers} <= {"0", "1", "2"}


@pytest.mark.parametrize(
    "query",
    [
        Query("1", "-wing", terms={"heat": 1.0}),
        Query("1", "-wing", like=(QueryDocument("1"),)),
        Query("1", "-wing", match=Match("words", "heat")),
    ],
)
def test_queries_that_are_more_than_a_text_stay_as_they_are(papers, query):
    assert read_typed(query, papers.snapshot)[0] is query
