"""What a word finds beside its own term: other accents, and compounds."""

import pytest

import likewise as lw
from likewise.stages.word_forms import WEIGHT, accented_terms, terms_asked

FRENCH = {
    "accented": "La base de données de la ville.",
    "plain": "Une base de donnees en ASCII.",
    "other": "Le résumé des élèves, écrit en été.",
    "verb": "Il faut donner.",
}


@pytest.fixture(scope="module")
def french(tmp_path_factory):
    documents = [{"id": name, "text": text} for name, text in FRENCH.items()]
    documents += [{"id": f"{i}", "text": f"Texte numéro {i} du fleuve."} for i in range(20)]
    folder = tmp_path_factory.mktemp("forms") / "c.lw"
    return lw.index(documents, to=folder, model="none", analysis=lw.Analysis(language="fr"))


def found(c, query):
    return [answer.doc_id for answer in c.search(query, expand="none")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("donnees", ["plain", "accented", "verb"]),
        ("données", ["accented", "verb", "plain"]),
        ("+donnees", ["plain", "accented", "verb"]),
        ('"base de donnees"', ["plain", "accented"]),
        ('"base de données"', ["accented", "plain"]),
        ('"base en donnees"', []),
        ("resume", ["other"]),
        ("eleves", ["other"]),
    ],
)
def test_accents_may_be_left_out_where_stems_differ(french, query, expected):
    assert {*found(french, query)} == {*expected}
    answers = french.search(query)
    assert [one.doc_id for one in answers][:1] == expected[:1]
    told = answers.query_notes
    assert (told.unknown, told.suggestion) == ((), "")


def test_other_accents_weigh_no_more_than_the_word(french):
    snapshot = french.snapshot
    assert accented_terms("donnees", snapshot) == {"don": WEIGHT}
    [(term, weight)] = accented_terms("données", snapshot).items()
    assert (term, weight < WEIGHT) == ("donne", True)
    assert accented_terms("le", snapshot) == {}
    assert terms_asked("donnees", snapshot) == {"donne": 1, "don": WEIGHT}


def test_a_rare_spelling_does_not_outweigh_the_one_that_was_typed(tmp_path):
    texts = ["La base de données", "Voici vos données", "Une base de donnees", "Le fleuve est long"]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none", analysis=lw.Analysis(language="fr"))
    assert found(c, "données")[2:] == ["2"]
    assert found(c, "donnees")[0] == "2"


def test_a_long_text_is_taken_as_it_is(french):
    text = "donnees " * 30
    assert terms_asked(text, french.snapshot) == {"donne": 30}


def test_in_english_accents_go_before_the_ending(tmp_path):
    texts = ["Send your résumé.", "We resume work.", "Naïve Bayes"]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none", analysis=lw.Analysis(language="en"))
    assert {*found(c, "resume")} == {*found(c, "résumé")} == {"0", "1"}
    assert lw.open(tmp_path / "c.lw").search("résumé")[0].doc_id == "0"
    assert found(c, "naive") == ["2"]
    assert accented_terms("resume", c.snapshot) == {}


def test_a_word_that_must_occur_may_be_part_of_a_compound(tmp_path):
    texts = ["Die Krankenversicherungsbeiträge", "Eine Versicherung", "Das Wetter"]
    c = lw.index(texts, to=tmp_path / "c.lw", model="none", analysis=lw.Analysis(language="de"))
    assert found(c, "Versicherung") == found(c, "+Versicherung") == ["1", "0"]
    assert found(c, "wetter -versicherung") == ["2"]


def test_accents_that_are_kept_apart_are_found_by_spelling_alone(tmp_path):
    """Without folding they are other words: what is found for them is told to be a correction."""
    texts = ["Un tableau de Velázquez.", "Un autre tableau"]
    analysis = lw.Analysis(language="fr", fold=False)
    c = lw.index(texts, to=tmp_path / "c.lw", model="none", analysis=analysis)
    answers = c.search("velazquez", expand="none")
    assert (answers.query_notes.applied, answers.query_notes.suggestion) == (True, "velázquez")
    assert [one.doc_id for one in answers] == ["0"]
    assert len(c.search("velazquez", syntax=False)) == 0
    beside = c.search("tableau velazquez")
    assert (beside.query_notes.applied, beside.query_notes.unknown) == (False, ("velazquez",))
    assert len(c.search("+velazquez", syntax=True).query_notes.lines("")) == 1
