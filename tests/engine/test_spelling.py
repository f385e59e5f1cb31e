"""Which word was meant?"""

import pytest

import likewise as lw
from likewise.engine.spelling import FAR_COMMONER, Spelling, check_spelling
from likewise.text.query_syntax import parse_query


@pytest.fixture(scope="module")
def s(tmp_path_factory):
    """Common words, some like each other, and a slip in a document."""
    common = [{"id": f"{i}", "text": "boundary layers, printing"} for i in range(2 * FAR_COMMONER)]
    some = ["layers of paint", "a palace", "a place", "a place", "boundarry", "printings boundaryx"]
    rare = [{"id": f"x{i}", "text": text} for i, text in enumerate(some)]
    folder = tmp_path_factory.mktemp("spelling") / "c.lw"
    return lw.index(common + rare, to=folder, model="none", smooth="none").snapshot


def checked(s, text):
    return check_spelling(parse_query(text), s)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("bondary", "boundary"),
        ("boudnary", "boundary"),
        ("Layesr", "layers"),
        ("plcae", "place"),
        ("boundarry", "boundary"),  # a word of one document, beside one of hundreds
    ],
)
def test_near_and_common_words_are_suggested(s, typed, meant):
    assert checked(s, typed).meant == {typed.casefold(): meant}


@pytest.mark.parametrize("typed", ["palace", "boundary", "xyz", "pri", "b0undary", "boundaryx"])
def test_known_short_and_numbered_words_are_left_alone(s, typed):
    assert checked(s, typed).meant == {}


def test_what_no_document_has_is_named(s):
    found = checked(s, "qqqqqqq boundary qq* the")
    assert found == Spelling(("qq*", "qqqqqqq"), {})


def test_a_text_is_corrected_in_place(s):
    found = checked(s, "bondary layers")
    assert found.corrected("Bondary layers, bondary!", s) == "boundary layers, boundary!"
    assert found.corrected("layers", s) == ""


def test_a_word_that_documents_have_otherwise_is_not_named(tmp_path):
    german = "Der Ausschuss wird neue Quellen der Energien in seiner Sitzung am Dienstag beraten."
    english = "The committee will discuss new sources of energy at its meeting on Tuesday."
    documents = [{"id": "de", "text": german}, {"id": "en", "text": english}]
    c = lw.index(documents, to=tmp_path / "mixed.lw", model="none")
    # A stop word of one language is a word of the other.
    assert checked(c.snapshot, "der energy qqqq").unknown == ("qqqq",)
    zh = lw.Analysis(language="zh")
    c = lw.index([{"id": "1", "text": "今天的水很冷"}], to=tmp_path / "zh.lw", analysis=zh)
    assert checked(c.snapshot, "水").unknown == ()
    assert checked(c.snapshot, "火").unknown == ("火",)


def test_what_is_a_part_of_longer_terms_is_not_unknown(tmp_path):
    texts = ["所得税的计算方法", "税务局", "天气很好"]
    c = lw.index(texts, to=tmp_path / "c.lw", analysis=lw.Analysis(language="chinese"))
    answers = c.search("税", explain=True)
    assert {answer.doc_id for answer in answers} == {"0", "1"}
    assert answers.query_notes.unknown == ()
    assert "税 (in " in str(answers)
    assert str(answers).count("longer word") == 1
    assert c.search("狗").query_notes.unknown == ("狗",)
