from __future__ import annotations

import json

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import UsageError
from likewise.text import analysis as module
from likewise.text.analysis import Analysis, Analyzer, encode, languages, split_words
from likewise.text.chunks import ACRONYM
from likewise.text.folding import fold

BARE = Analysis(language="none", min_length=1, fold=False)


def terms(text, **options):
    return Analyzer(Analysis(**options)).terms(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ﬁne ﬂow", ["fine", "flow"]),
        ("ＦＵＬＬ ｗｉｄｔｈ １２", ["full", "width", "12"]),
        ("café cafe\u0301", ["café", "café"]),
        ("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("中文字", ["中文", "文字"]),
        ("中", ["中"]),
        ("ab中文cd", ["ab", "中文", "cd"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("x\ud800y", ["x", "y"]),
        ("don't it's", ["don", "t", "it", "s"]),
        ("don’t", ["don", "t"]),
        ("a_b-c/d", ["a", "b", "c", "d"]),
        ("x² ½", ["x2", "1", "2"]),
        ("nul\x00byte", ["nul", "byte"]),
        ("Привет, мир", ["привет", "мир"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("😀 ok 😀", ["ok"]),
    ],
)
def test_terms_by_unicode(text, expected):
    assert Analyzer(BARE).terms(text) == expected


@given(st.text(max_size=60))
def test_any_text_has_terms_that_can_be_stored(text):
    for term in Analyzer(Analysis()).terms(text):
        assert term
        term.encode()


@given(st.text(max_size=60))
def test_counts_are_those_of_the_terms(text):
    analyzer = Analyzer(BARE)
    found = analyzer.terms(text)
    assert analyzer.counts(text) == {term: found.count(term) for term in found}


@given(st.text(max_size=40))
def test_words_are_letters_digits_and_marks(text):
    for word in split_words(text):
        assert word
        assert not any(char.isspace() for char in word)


def test_english_is_porter_with_the_english_list():
    assert terms("The running dogs were connected") == ["run", "dog", "connect"]
    assert Analysis().stemmer_name == "porter"


@pytest.mark.parametrize(
    ("language", "word", "stem"),
    [
        ("english", "generalizations", "gener"),
        ("german", "häuser", "haus"),
        ("french", "continuellement", "continuel"),
        ("spanish", "cheques", "chequ"),
        ("italian", "abbandonata", "abbandon"),
        ("portuguese", "quilométricas", "quilométr"),
        ("russian", "важнейшие", "важн"),
        ("swedish", "jaktkarlarne", "jaktkarl"),
        ("finnish", "taloissa", "talo"),
        ("turkish", "kitaplar", "kitap"),
    ],
)
def test_known_stems(language, word, stem):
    assert terms(word, language=language, fold=False) == [stem]


@pytest.mark.parametrize("language", languages())
def test_every_language_stems_as_its_algorithm(language):
    words = ["running", "nationalities", "häuser", "книгами", "कार्यों", "kitapların", "βιβλία"]
    stemmer = Stemmer.Stemmer("porter" if language == "english" else language)
    expected = [stemmer.stemWord(w) or w for word in words for w in split_words(word)]
    assert terms(" ".join(words), language=language, stop="none", fold=False) == expected
    folded = terms(" ".join(words), language=language, stop="none")
    assert folded == [fold(word) for word in expected]


def test_there_are_at_least_fifteen_languages():
    assert len(languages()) >= 15
    assert "porter" not in languages()


def test_stemmer_named_apart_from_the_language():
    assert terms("running häuser", language="none", stemmer="english") == ["run", "hauser"]
    assert terms("running", stemmer="none") == ["running"]
    assert terms("running", language="klingon", stemmer="porter") == ["run"]


def test_stop_lists():
    assert terms("the cat", stop="none") == ["the", "cat"]
    assert terms("der cat the", stop="german") == ["cat", "the"]
    assert terms("the cat don't", stop_list=("CAT", "don't")) == ["the"]
    assert terms("wir sind häuser", language="german") == ["haus"]


def test_numbers_and_lengths():
    assert terms("1984 was 3d", numbers=False) == ["3d"]
    assert terms("1984 was 3d") == ["1984", "3d"]
    assert terms("x yy zzz", min_length=3, stemmer="none") == ["zzz"]
    assert terms("xx yyyyyyyyyy", max_length=5, stemmer="none") == ["xx"]
    assert terms("中 x", min_length=2) == ["中"]
    assert terms("a" * 64 + " " + "b" * 65, stemmer="none") == ["a" * 64]


def test_a_full_cache_is_emptied(monkeypatch):
    monkeypatch.setattr(module, "_CACHE_LIMIT", 3)
    analyzer = Analyzer(BARE)
    text = "one two three four five one two"
    assert analyzer.terms(text) == text.split()
    assert len(analyzer._cache) <= 3


def test_resolve_tells_how_many_terms_each_chunk_has():
    sizes, found = Analyzer(Analysis()).resolve(
        [b"the", b"running", "中文字".encode(), b"\xff\xfe"]
    )
    assert sizes == [0, 1, 2, 0]
    assert found == ["run", "中文", "文字"]


def test_lone_surrogates_become_question_marks():
    assert encode("a\ud800b") == b"a?b"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "klingon"}, "unknown language 'klingon'.*english"),
        ({"stemmer": "snow"}, "unknown stemmer 'snow'.*porter"),
        ({"stop": "klingon"}, "no stop list for 'klingon'"),
        ({"min_length": 0}, "token lengths 0 to 64"),
        ({"min_length": 9, "max_length": 3}, "token lengths 9 to 3"),
        ({"min_df": -1}, "must not be negative"),
        ({"min_count": -1}, "must not be negative"),
        ({"max_count": -1}, "must not be negative"),
        ({"max_df": 0.0}, "max_df is a share"),
        ({"max_df": 1.5}, "max_df is a share"),
        ({"max_df": float("nan")}, "max_df is a share"),
    ],
)
def test_bad_configuration(options, message):
    with pytest.raises(UsageError, match=message):
        Analysis(**options)


def test_json_round_trip():
    analysis = Analysis(language="german", stop_list=("x", "y"), numbers=False, max_df=0.5)
    text = json.dumps(analysis.to_json())
    assert Analysis.from_json(json.loads(text)) == analysis
    # Titles counted once, accents stayed and positions were not kept before they were told of.
    old = Analysis(language="french", title_weight=1, fold=False, positions=False)
    assert Analysis.from_json({"language": "french", "later": 1}) == old


def test_filters_terms():
    assert not Analysis().filters_terms
    assert Analysis(min_df=2).filters_terms
    assert Analysis(max_count=5).filters_terms


# Accents, exact forms, positions


def test_words_are_found_with_and_without_accents():
    analyzer = Analyzer(Analysis())
    assert analyzer.terms("Velázquez") == analyzer.terms("velazquez") == ["velazquez"]
    assert terms("Velázquez", fold=False) == ["velázquez"]
    # By the rules of a language first, which know its accents.
    assert terms("häuser", language="german") == terms("haus", language="german") == ["haus"]
    assert terms("Ёлка", language="russian") == terms("елка", language="russian")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("plain words", []),
        ("The art of a café", ["the", "of", "a", "café"]),
        ("C++ and c# or F#.", ["c", "c++", "and", "c", "c#", "or", "f", "f#"]),
        ("the .NET (.Net) of www.net.", ["the", ".net", ".net", "of"]),
        ("a+b x+++ y## #z g++: C#sharp", ["a", "b", "x", "y", "z", "g", "g++", "c"]),
        ("é++ 9# x" + "y" * 20 + "++", ["é", "9"]),
        ("東京 を", []),
        ("w" * 65, []),
    ],
)
def test_exact_forms(text, expected):
    assert Analyzer(Analysis()).exact(text) == expected


def test_exact_forms_follow_what_is_dropped():
    assert Analyzer(Analysis(fold=False)).exact("the café") == ["the"]
    assert Analyzer(Analysis(stop="none", min_length=1)).exact("the café a") == ["café"]
    assert Analyzer(Analysis(numbers=False)).exact("in 1984") == ["in", "1984"]


@given(st.text(max_size=60))
def test_each_word_is_a_term_or_an_exact_form(text):
    analyzer = Analyzer(Analysis(stemmer="none"))
    found = set(analyzer.exact(text)) | set(analyzer.terms(text))
    # An acronym is one word without its dots.
    plain = ACRONYM.sub(lambda found: found[0].replace(".", ""), text)
    words = set(split_words(plain.encode("utf-8", "replace").decode()))
    assert {fold(word) for word in words if len(word) <= 64} <= {fold(word) for word in found}
    # Marks are beside the terms: these are as they were.
    assert analyzer.terms(text) == [term for term, _ in analyzer.placed(text)]


def test_words_that_are_dropped_take_a_position():
    analyzer = Analyzer(Analysis())
    assert analyzer.placed("State of the art in C++") == [("state", 0), ("art", 3)]
    assert analyzer.placed("ab中文字 das") == [("ab", 0), ("中文", 1), ("文字", 2), ("da", 3)]
    assert analyzer.placed("… →") == []


@given(st.text(st.characters(max_codepoint=127), max_size=40))
def test_short_texts_are_cut_as_long_ones(text):
    after = f"{text} {'x ' * 300}"
    for analyzer in (Analyzer(Analysis()), Analyzer(Analysis(stop="none", min_length=1))):
        terms, placed = analyzer.terms(text), analyzer.placed(text)
        assert analyzer.terms(after)[: len(terms)] == terms
        assert analyzer.placed(after)[: len(placed)] == placed


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Versicherung fur Kinder", ["versicher", "kind"]),
        ("de", "Versicherung für Kinder", ["versicher", "kind"]),
        ("sv", "pa svenska", ["svensk"]),
    ],
)
def test_stop_words_may_be_typed_without_accents(language, text, expected):
    assert terms(text, language=language) == expected


def test_accents_kept_apart_are_kept_apart_in_stop_words():
    assert terms("fur Kinder", language="de", fold=False) == ["fur", "kind"]


def test_terms_are_whoever_asked_s_own():
    analyzer = Analyzer(Analysis("en"))
    analyzer.terms("wing flutter").clear()
    assert analyzer.terms("wing flutter") == ["wing", "flutter"]
    assert analyzer.terms("") == []
    assert analyzer.terms("wings") == ["wing"]


@given(st.lists(st.sampled_from(["the", "a", "12", "x1", "Wings", "relational", "s"]) | st.text()))
def test_words_are_worked_out_alike_alone_and_with_others(words):
    chunks = [*dict.fromkeys(encode(word) for word in words)]
    for analysis in (
        Analysis(),
        Analysis("german", numbers=False),
        Analysis("arabic", min_length=1),
        Analysis("english", stemmer="none", stop="none", fold=False, max_length=5),
    ):
        analyzer = Analyzer(analysis)
        expected = analyzer._resolved_terms(chunks)
        assert analyzer._terms_of_new(chunks) == expected
        assert {chunk: analyzer.terms_of([chunk])[0] for chunk in chunks} == expected
