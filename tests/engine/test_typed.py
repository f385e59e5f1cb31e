"""Answers to what a person typed, in Python."""

import pytest

import likewise as lw
from likewise.engine.typed import ONLY_UNWANTED

DOCUMENTS = [
    {"id": "nile", "title": "Nile", "text": "The Nile is a river. It flows through Egypt."},
    {"id": "egypt", "title": "Egypt", "text": "Egypt lies on the Nile. Nile, Nile, Nile."},
    {"id": "lake", "title": "Lake Victoria", "text": "The white Nile leaves the lake."},
    {"id": "hole", "title": "Black hole", "text": "Black holes bend light. Stars become holes."},
    {"id": "tit", "title": "Coal tit", "text": "Black birds nest in holes. The tit is black."},
    {"id": "leaf", "title": "Photosynthesis", "text": "Photosynthesis in leaves; photosynthesis."},
]


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """Six short articles, with models: what is asked goes through expansion and smoothing."""
    folder = tmp_path_factory.mktemp("typed") / "c.lw"
    return lw.index(DOCUMENTS, to=folder, model="lsi(topics=3)", smooth="klsa(axes=3)")


def ids(answers):
    return [answer.doc_id for answer in answers]


@pytest.mark.parametrize(
    ("typed", "first", "never"),
    [
        ("+nile -egypt", "lake", {"nile", "egypt"}),
        ("title:nile", "nile", {"egypt", "lake", "hole", "tit", "leaf"}),
        ("black holes -tit", "hole", {"tit"}),
        ('"black holes"', "hole", {"tit", "nile", "egypt", "lake", "leaf"}),
        ("nile AND lake", "lake", {"nile", "egypt", "hole", "tit", "leaf"}),
        ("light OR birds", "tit", {"nile", "egypt", "lake", "leaf"}),
        ("+photo* nile", "leaf", {"nile", "egypt", "lake", "hole", "tit"}),
    ],
)
@pytest.mark.parametrize("method", ["", "bm25", "ql", "near", "hybrid", "bm25 >> klsa"])
def test_what_does_not_match_is_never_an_answer(c, typed, first, never, method):
    found = ids(c.search(typed, method=method))
    assert found
    assert never.isdisjoint(found)
    if not method:
        assert found[0] == first


def test_weights_move_answers(c):
    river, egypt = (ids(c.search(text, method="bm25")) for text in ("river^9 egypt", "river egypt"))
    assert (river[0], egypt[0]) == ("nile", "nile")
    assert c.search("nile^3", method="bm25")[0].score == pytest.approx(
        3 * c.search("nile", method="bm25")[0].score
    )


def test_plain_words_are_searched_for_as_before(c):
    for text in ("black holes", "the river of Egypt", "e-mail (of holes)"):
        plain, typed = (c.search(text, syntax=syntax) for syntax in (False, True))
        assert [(one.doc_id, one.score) for one in plain] == [
            (one.doc_id, one.score) for one in typed
        ]


def test_without_syntax_operators_are_plain_text(c):
    assert "egypt" in ids(c.search("+nile -egypt", syntax=False))
    assert c.search("+nile -egypt", syntax=False).query_notes is None


def test_runs_and_pipelines_read_operators_only_where_asked_to(c):
    queries = [lw.Query("q", "+nile -egypt")]
    assert "egypt" in dict(c.run(queries)["q"])
    assert "egypt" not in dict(c.run(queries, syntax=True)["q"])
    assert "egypt" in dict(c.pipeline().run(queries)["q"])


def test_what_was_typed_is_what_answers_show(c):
    answers = c.search("+nile -egypt")
    assert answers.query == "+nile -egypt"
    assert answers.to_json()["notes"] == []


def test_a_slip_is_corrected_where_nothing_is_found(c):
    answers = c.search("photosynthsis")
    assert ids(answers)[0] == "leaf"
    assert answers.to_json() | {"answers": [], "expansion": None} == {
        "query": "photosynthsis",
        "method": str(c.pipeline()),
        "notes": [],
        "unknown": ["photosynthsis"],
        "suggestion": "photosynthesis",
        "applied": True,
        "expansion": None,
        "answers": [],
    }
    assert str(answers).startswith("nothing for photosynthsis; showing photosynthesis\n")


def test_a_slip_beside_words_that_are_found_is_told(c):
    answers = c.search("photosynthsis nile")
    assert ids(answers)[0] == "nile"
    told = answers.query_notes
    assert (told.unknown, told.suggestion, told.applied) == (
        ("photosynthsis",),
        "photosynthesis nile",
        False,
    )
    assert "did you mean: photosynthesis nile" in str(answers)


def test_operators_stay_in_what_is_suggested(c):
    assert c.search('title:photosynthsis OR "blakc holes"').query_notes.suggestion == (
        'title:photosynthesis OR "black holes"'
    )


def test_words_without_any_near_are_named(c):
    answers = c.search("xyzzyx nile quux*")
    assert {*answers.query_notes.unknown} == {"xyzzyx", "quux*"}
    assert answers.query_notes.suggestion == ""
    assert "no document has:" in str(answers)


def test_what_is_malformed_is_said(c):
    answers = c.search('"black holes')
    assert ids(answers)[0] == "hole"
    assert answers.query_notes.notes == ("a quotation mark is not closed: searched as plain words",)
    assert answers.to_json()["notes"] == [*answers.query_notes.notes]


def test_words_to_leave_out_alone_find_nothing(c):
    answers = c.search("-tit")
    assert not len(answers)
    assert answers.query_notes.notes == (ONLY_UNWANTED,)


def test_explanations_name_the_phrase(c):
    parts = c.search('"black holes"', explain=True)[0].explanation.parts
    assert [part.score > 0 for part in parts if part.name == '"black holes"'] == [True]


def test_some_of_the_answers_keep_what_was_told(c):
    assert c.search("photosynthsis nile")[:1].query_notes.unknown == ("photosynthsis",)


@pytest.mark.parametrize("query", ["volcano", "beatles", "black holes"])
def test_an_article_is_found_by_its_title(real, tmp_path_factory, query):
    names = {"volcano": "Volcano", "beatles": "The_Beatles", "black holes": "Black_hole"}
    folder = tmp_path_factory.getbasetemp() / "schools.lw"
    if not folder.exists():
        lw.index(str(next(real("wikipedia-schools").glob("corpus.jsonl*"))), to=folder)
    answers = lw.open(folder).search(query)
    assert answers[0].doc_id == names[query]
    assert "Coal_Tit" not in ids(answers)


def test_a_phrase_of_which_too_many_texts_would_be_read_says_so(tmp_path, monkeypatch):
    texts = ["the king of Spain", "the king in Spain, of course", "the queen"]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none")
    assert not c.search('"king of spain"').query_notes.notes
    assert [one.doc_id for one in c.search('"king of spain"')] == ["0"]
    monkeypatch.setattr("likewise.stages.match.MOST_READ", 1)
    c = lw.open(tmp_path / "c.lw")
    answers = c.search('"king of spain"')
    assert {one.doc_id for one in answers} == {"0", "1"}
    [note] = answers.query_notes.notes
    assert 'may have "king of spain"' in note


@pytest.mark.parametrize(
    "query", ["U.S.A.", "USA", "u.s.a.", "U.S.A", "u.s.a", '"the U.S.A"', "+usa"]
)
def test_acronyms_are_found_with_and_without_their_dots(tmp_path, query):
    texts = ["Made in the USA today.", "Made in the U.S.A. today.", "Made in Spain, us and a few."]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none")
    assert {one.doc_id for one in c.search(query, expand="none")} == {"0", "1"}
