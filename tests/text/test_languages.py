import pytest
import Stemmer
import stop_words as package

from likewise.errors import UsageError
from likewise.text.analysis import Analysis, Analyzer
from likewise.text.languages import LANGUAGES, code_of, known_language, read_language


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("zh", "chinese"),
        ("chinese", "chinese"),
        ("ja", "japanese"),
        ("de", "german"),
        ("DEU", "german"),
        ("ger", "german"),
        ("German", "german"),
        (" Deutsch ", "german"),
        ("pt-BR", "portuguese"),
        ("zh_TW.UTF-8", "chinese"),
        ("sr-Latn-RS", "serbian"),
        ("nb", "norwegian"),
        ("français", "french"),
        ("中文", "chinese"),
        ("none", "none"),
        ("auto", "auto"),
        ("mixed", "mixed"),
    ],
)
def test_names_and_codes(name, language):
    assert read_language(name) == language
    assert Analysis(language=name).language == language


def test_no_name_stands_for_two_languages():
    names = [name for one in LANGUAGES for name in {one.name, one.code, *one.names}]
    assert len(names) == len({*names})


@pytest.mark.parametrize("name", [*Stemmer.algorithms(), *package.AVAILABLE_LANGUAGES])
def test_every_language_with_a_stemmer_or_a_stop_list_is_known(name):
    assert known_language(name.removesuffix("_porter").replace("porter", "english"))


@pytest.mark.parametrize(
    ("name", "near"), [("germn", "did you mean german"), ("Francais", "french"), ("klingon", "de")]
)
def test_unknown_names_are_refused_with_near_ones(name, near):
    with pytest.raises(UsageError, match=f"unknown language '{name}'.*{near}"):
        read_language(name)
    with pytest.raises(UsageError, match="unknown language"):
        Analysis(language=name)


def test_codes():
    assert code_of("german") == "de"
    assert code_of("none") == "none"


@pytest.mark.parametrize("language", [one.name for one in LANGUAGES])
def test_every_language_analyses(language):
    analyzer = Analyzer(Analysis(language=language))
    assert analyzer.terms("quantum 量子力学") != []
    assert analyzer.terms("量子力学") == ["量子", "子力", "力学"]


def test_without_a_stemmer_words_stay():
    assert Analyzer(Analysis(language="ukrainian")).terms("мови") == ["мови"]
    assert Analysis(language="thai").stemmer_name == "none"
    # The stop list is used where there is one.
    assert Analyzer(Analysis(language="ukrainian")).terms("але") == []


def test_scripts_without_spaces_go_by_pairs_of_characters_with_their_marks():
    thai = Analyzer(Analysis(language="th"))
    assert thai.terms("ภาษี") == ["ภา", "าษี"]
    assert {*thai.terms("ภาษี")} <= {*thai.terms("กรมสรรพากรเก็บภาษีเงินได้")}
