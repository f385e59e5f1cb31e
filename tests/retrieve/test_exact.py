"""Queries of which the analysis leaves nothing, searched as they are spelled."""

import numpy as np
import pytest

import likewise as lw
from likewise.records import Query
from likewise.retrieve.exact import CANDIDATES

DOCUMENTS = [
    {"id": "health", "title": "Health", "text": "Those who are ill ask the nurse who is there."},
    {"id": "band", "title": "The Who", "text": "The band was loud."},
    {"id": "song", "title": "Songs", "kind": "list", "text": "Songs of the Who, and of others."},
    {"id": "code", "title": "C++", "text": "C++ is a language."},
    {"id": "play", "title": "Hamlet", "text": "To be, or not to be, that is asked."},
    {"id": "maths", "title": "Logic", "text": "To have or not, to be it: not so. Be to or."},
]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """A few documents about stop words."""
    return lw.index(DOCUMENTS, to=tmp_path_factory.mktemp("exact") / "c.lw", smooth="none")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("the who", ["band", "song"]),
        ("The Who", ["band", "song"]),
        ("c++", ["code"]),
        ("to be or not to be", ["play", "maths"]),
    ],
)
def test_the_order_of_words_and_the_title_decide(c, query, first):
    answers = c.search(query)
    assert [answer.doc_id for answer in answers][: len(first)] == first
    assert answers.method == "exact"
    assert "as it is spelled" in answers.query_notes.notes[0]


def test_scores_split_into_words_order_and_title(c):
    [result] = c.pipeline("exact", k=4)("the who")
    docs, scores = result.ranking
    assert np.array_equal(result.scorer.score(docs), scores)
    for told, score in zip(result.scorer.explain(docs), scores.tolist(), strict=True):
        assert sum(part.score for part in told.parts) == pytest.approx(score, abs=1e-6)
    names = [part.name for part in result.scorer.explain(docs)[0].parts]
    assert {"the", "who", '"the who"', "(exact title)"} == {*names}


def test_filters_and_what_must_match_hold(c):
    assert [one.doc_id for one in c.search('"the who"')] == ["band", "song"]
    assert [one.doc_id for one in c.search("who -title:who")] == ["health", "song"]
    assert [one.doc_id for one in c.search("the who", filter="kind=list")] == ["song"]


def test_few_are_the_first_of_many(c):
    few, many = (c.pipeline("exact", k=k)("the who")[0].ranking for k in (1, CANDIDATES))
    assert few.docs.tolist() == many.docs[:1].tolist()
    assert len(many.docs) > 1


def test_words_that_are_terms_find_nothing_by_it(c):
    [result] = c.pipeline("exact")(Query("1", "songs"))
    assert not len(result.ranking.docs)


def test_words_are_explained_as_they_are_spelt(c):
    for query, words in (("the who", {"the", "who"}), ("c++", {"c", "c++"})):
        answers = c.search(query, k=1, explain=True)
        parts = answers[0].explanation.parts
        assert {part.name for part in parts if part.kind == "spelling"} == words
        assert sum(part.score for part in parts) == pytest.approx(answers[0].score)
        shown = str(answers).split("= ")[1]
        assert all(f"{word} 0." in shown or f"{word} 1." in shown for word in words)


COMMON = [
    {"id": f"{i}", "title": f"Paper {i}", "text": f"The theory of number {i} and of the rest."}
    for i in range(20)
] + [
    {"id": "phrase", "title": "A paper", "text": "It is about the and of: the of, a slip."},
    {"id": "title", "title": "The", "text": "A band of the island."},
]


@pytest.mark.parametrize(
    ("query", "found"), [("the of", ["phrase"]), ("the", ["title"]), ("of", []), ("of and the", [])]
)
def test_words_of_nearly_every_document_find_them_by_order_or_title(tmp_path, query, found):
    c = lw.index(COMMON, to=tmp_path / "c.lw", smooth="none")
    answers = c.search(query, k=3)
    assert [answer.doc_id for answer in answers] == found
    assert "nearly every document has these words" in answers.query_notes.notes[0]


def test_long_documents_are_read_as_far_as_words_allow(tmp_path, monkeypatch):
    texts = [f"{'to be ' * 5}the who, said {one}" for one in "abcdef"]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none")
    assert len(c.search("the who")) == 6
    monkeypatch.setattr("likewise.retrieve.exact.MOST_WORDS", 3 * 14)
    assert len(c.search("the who")) == 3
    # However long the first one is, it is read.
    monkeypatch.setattr("likewise.retrieve.exact.MOST_WORDS", 1)
    assert len(c.search("the who")) == 1
