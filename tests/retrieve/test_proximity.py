"""Words that stand together, and titles: parts that are added to the first documents' scores."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likewise as lw
from likewise.errors import UsageError
from likewise.records import Query
from likewise.retrieve import proximity
from likewise.retrieve.proximity import (
    EXACT_NAME,
    SPELLING_NAME,
    TITLE_NAME,
    Proximity,
    count_pairs,
)

DOCUMENTS = [
    {"id": "apart", "title": "Birds", "text": "black tits nest in holes of trees"},
    {"id": "together", "title": "Stars", "text": "some black holes are dense and old"},
    {"id": "title", "title": "Black hole", "text": "light cannot leave it ever again"},
    {"id": "gap", "title": "Night", "text": "black deep holes were seen by them"},
    {"id": "none", "title": "Fish", "text": "they swim in rivers of the plain"},
]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Five short documents with titles."""
    folder = tmp_path_factory.mktemp("proximity") / "c.lw"
    return lw.index(DOCUMENTS, to=folder, model="none", smooth="none")


def parts(c, method, query="black holes"):
    answers = c.search(query, method=method, explain=True)
    return {
        answer.doc_id: {
            part.name: part.score for part in answer.explanation.parts if part.kind != "word"
        }
        for answer in answers
    }


def test_pairs_in_order_count_within_the_window(c):
    near = parts(c, "bm25 >> proximity(near=1,title=0,exact=0,window=1)")
    assert {name for name, found in near.items() if found} == {"together", "title"}
    assert [*near["together"]] == ['"black holes"']
    wider = parts(c, "bm25 >> proximity(near=1,title=0,exact=0,window=2)")
    assert {name for name, found in wider.items() if found} == {"together", "title", "gap"}


def test_titles_count_and_the_exact_one_more(c):
    found = parts(c, "bm25 >> proximity(near=0)")
    assert {*found["title"]} == {TITLE_NAME, EXACT_NAME}
    assert not found["together"]
    assert {*parts(c, "bm25 >> proximity", "hole")["title"]} == {TITLE_NAME}
    assert EXACT_NAME in parts(c, "bm25 >> proximity", "the Black Holes")["title"]
    assert EXACT_NAME not in parts(c, "bm25 >> proximity", "hole black")["title"]


def test_the_share_of_the_exact_title_is_one_of_the_best_score(c):
    best = c.search("black holes", method="bm25")[0].score
    found = parts(c, "bm25 >> proximity(near=0,title=0,exact=0.5)")
    assert found["title"] == {EXACT_NAME: pytest.approx(0.5 * best)}


def test_words_as_they_are_spelt_add_a_part(tmp_path):
    plain = [{"id": f"x{i}", "text": "something else"} for i in range(30)]
    spelled = [{"id": "a", "text": "a café in it"}, {"id": "b", "text": "a cafe in it"}]
    c = lw.index(spelled[::-1] + plain, to=tmp_path / "c.lw", model="none", smooth="none")
    for query, first in (("café", "a"), ("cafe", "b")):
        answers = c.search(query, method="bm25 >> proximity", explain=True)
        assert answers[0].doc_id == first
    found = parts(c, "bm25 >> proximity", "café")
    assert (SPELLING_NAME in found["a"], SPELLING_NAME in found["b"]) == (True, False)


@pytest.mark.parametrize("method", ["bm25", "ql", "tfidf"])
def test_scores_fall_and_the_first_of_few_are_the_first_of_many(c, method):
    few = c.pipeline(f"{method} >> proximity(candidates=2)", k=1)("black holes plain")[0].ranking
    many = c.pipeline(f"{method} >> proximity(candidates=2)", k=9)("black holes plain")[0].ranking
    assert len(many.docs) == 5
    assert (np.diff(many.scores) <= 0).all()
    assert few.docs.tolist() == many.docs[:1].tolist()
    assert few.scores.tolist() == many.scores[:1].tolist()


def test_a_long_text_and_weighted_terms_stay_as_they_were(c):
    long = "black holes " * 15
    for query in (Query("1", long), Query("1", "", {"black": 1.0, "hole": 1.0})):
        before, after = (c.pipeline(how)(query)[0] for how in ("bm25", "bm25 >> proximity"))
        assert before.ranking.docs.tolist() == after.ranking.docs.tolist()
        assert before.ranking.scores.tolist() == after.ranking.scores.tolist()


def test_it_is_part_of_the_default_search_where_positions_are_stored(c, tmp_path):
    assert str(c.pipeline()).endswith(" >> proximity >> keep")
    analysis = lw.Analysis(positions=False)
    without = lw.index(
        DOCUMENTS, to=tmp_path / "c.lw", analysis=analysis, model="none", smooth="none"
    )
    assert "proximity" not in str(without.pipeline())
    assert without.search('"black holes"')[0].doc_id in ("together", "title")


@pytest.mark.parametrize(
    "text", ["near=-1", "title=11", "exact=x", "window=0", "candidates=0", "spelling=nan"]
)
def test_what_cannot_be_meant_is_refused(text):
    with pytest.raises(UsageError, match=text.partition("=")[0]):
        lw.stage(f"bm25 >> proximity({text})")


def test_whole_numbers_are_whole():
    with pytest.raises(UsageError, match="window"):
        Proximity(window=True)


places = st.sets(st.integers(0, 12), max_size=6).map(sorted)


@given(
    st.lists(st.tuples(places, places), max_size=4),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(1, 4)), max_size=3),
)
def test_pairs_are_counted(documents, pairs):
    flat = [one for both in documents for one in both]
    bounds = np.cumsum([0, *map(len, flat)])
    values = np.array([*itertools.chain(*flat)], np.int64)
    columns = tuple(np.array([pair[i] for pair in pairs], np.int64) for i in range(3))
    assert count_pairs(bounds, values, columns, 2).tolist() == [
        [sum(any(p < q <= p + reach for q in both[b]) for p in both[a]) for a, b, reach in pairs]
        for both in documents
    ]


def test_in_several_languages_pairs_and_titles_count_as_in_one(tmp_path):
    english = "Some people say that running machines are louder than they were in the years before."
    german = "Der Ausschuss wird neue Quellen der Energien in seiner Sitzung am Dienstag beraten."
    french = "Le comité examinera les énergies nouvelles lors de sa réunion de mardi prochain."
    documents = [
        {"id": "en", "title": "Running machines", "text": english},
        {"id": "de", "title": "Sitzungen", "text": german},
        {"id": "fr", "title": "Énergies", "text": french},
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model="none", smooth="none")
    assert len(c.snapshot.languages) == 3
    found = parts(c, "bm25 >> proximity", "running machines")["en"]
    assert {*found} >= {'"running machines"', EXACT_NAME}
    assert '"running running"' not in found
    # Long enough to be certainly French: named by its own words.
    typed = "le comité examinera les énergies nouvelles lors de sa réunion prochaine"
    named = parts(c, "bm25 >> proximity", typed)["fr"]
    assert {'"comité examinera"', '"énergies nouvelles"'} <= {*named}


def test_two_stages_take_the_words_of_a_query_once(c, monkeypatch):
    taken = []
    words_of = proximity._words_of
    monkeypatch.setattr(
        proximity, "_words_of", lambda *given: taken.append(given[1]) or words_of(*given)
    )
    for query in ("old black holes", "deep black holes"):
        once = c.search(query, method="bm25 >> proximity")
        twice = c.search(query, method="bm25 >> proximity >> bm25 >> proximity")
        assert [(one.doc_id, one.score) for one in once] == [
            (one.doc_id, one.score) for one in twice
        ]
    assert taken == ["old black holes", "deep black holes"]


def test_only_the_titles_that_are_the_query_are_exact(tmp_path):
    words = ("black", "hole", "star")
    titles = [" ".join(chosen) for n in (1, 2, 3) for chosen in itertools.product(words, repeat=n)]
    documents = [{"id": title, "title": title, "text": "light"} for title in titles]
    c = lw.index(documents, to=tmp_path / "c.lw", model="none", smooth="none")
    for query in (*titles, "black light", "black nothing"):
        found = parts(c, "bm25 >> proximity(candidates=100)", query)
        exact = {title for title, mine in found.items() if mine.get(EXACT_NAME)}
        assert exact == {query} & {*titles}


def test_what_was_found_of_a_document_is_not_looked_for_again(c, monkeypatch):
    looked = []
    find = proximity.Proximate._find_shares
    monkeypatch.setattr(
        proximity.Proximate,
        "_find_shares",
        lambda self, docs: looked.append(docs.tolist()) or find(self, docs),
    )
    found = c.search("dense", method="bm25 >> proximity >> rm3 >> bm25 >> proximity")
    every = [doc for docs in looked for doc in docs]
    assert len(looked) == 2
    assert len(every) == len({*every}) == len(found)


def test_documents_that_were_not_among_the_first_gain_nothing(c):
    [result] = c.pipeline("bm25 >> proximity(candidates=1)")("black holes")
    first, other = result.ranking.docs[:1], result.ranking.docs[1:]
    gain = result.scorer.gain
    assert gain.of(first) > 0
    assert gain.of(other).tolist() == [0.0] * len(other)
    assert len(gain.parts(other)) == len(other) > 0
