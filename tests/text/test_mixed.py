import numpy as np

from likewise.text.analysis import Analysis, Analyzer, encode, make_analyzer
from likewise.text.chunks import cut
from likewise.text.detection import names
from likewise.text.mixed import MixedAnalyzer, mark_languages

GERMAN = "Der Ausschuss wird die Häuser und die Energien in seiner Sitzung am Dienstag beraten."
FRENCH = "Le comité examinera les énergies nouvelles lors de sa réunion de mardi prochain."
MIXED = Analysis(language="german", languages=("german", "french", "english"))


def alone(language):
    return Analyzer(Analysis(language=language))


def test_one_language_needs_no_mixed_analyzer():
    assert type(make_analyzer(Analysis(language="german"))) is Analyzer
    assert type(make_analyzer(MIXED)) is MixedAnalyzer


def test_a_text_is_analysed_in_its_own_language():
    analyzer = make_analyzer(MIXED)
    for language, text in (("german", GERMAN), ("french", FRENCH)):
        own = alone(language)
        assert analyzer.terms(text) == own.terms(text)
        assert analyzer.counts(text) == own.counts(text)
        assert analyzer.placed(text) == own.placed(text)
        assert analyzer.exact(text) == own.exact(text)


def test_too_short_to_tell_is_analysed_in_each_of_the_main_languages():
    analyzer = make_analyzer(MIXED)
    for word in ("energien", "énergies", "running", "häuser"):
        each = {term for one in MIXED.languages for term in alone(one).terms(word)}
        assert {*analyzer.terms(word)} == each
        assert len(analyzer.terms(word)) == len(each)
        assert {place for _, place in analyzer.placed(word)} == {0}


def test_chunks_carry_the_language_of_their_text():
    analyzer = make_analyzer(MIXED)
    texts = [encode(text) for text in (GERMAN, FRENCH, "123", GERMAN)]
    assert analyzer.languages_of(texts) == ["german", "french", "german", "german"]
    chunks = cut(texts)
    marked = analyzer.marked(chunks, analyzer.languages_of(texts))
    found = analyzer.terms_of(marked.distinct.all())
    bounds = marked.token_bounds.tolist()
    for i, language in enumerate(["german", "french", "german", "german"]):
        tokens = marked.tokens[bounds[i] : bounds[i + 1]].tolist()
        expected = alone(language).terms(texts[i].decode())
        assert [term for token in tokens for term in found[token]] == expected


def test_a_main_language_that_is_never_detected():
    analysis = Analysis(language="galician", languages=("galician",))
    assert "galician" not in names()
    analyzer = make_analyzer(analysis)
    marked = analyzer.marked(cut([b"x1 y2"]), ["galician"])
    assert analyzer.terms_of(marked.distinct.all()) == [["x1"], ["y2"]]


def test_marking_nothing():
    marked = mark_languages(cut([b"", b""]), np.zeros(2, np.int64))
    assert marked.distinct.size == 0
    assert len(marked.tokens) == 0


def test_stop_words_and_stemmer_that_are_named_hold_for_all():
    analysis = Analysis(
        language="german", languages=("german", "french"), stemmer="none", stop="none"
    )
    assert "énergies" not in make_analyzer(analysis).terms(FRENCH)
    assert "energies" in make_analyzer(analysis).terms(FRENCH)
    assert "les" in make_analyzer(analysis).terms(FRENCH)


def test_a_text_is_read_in_its_language_or_in_each_of_the_main_ones():
    analyzer = make_analyzer(MIXED)
    assert analyzer.readings(FRENCH) == [alone("french").placed(FRENCH)]
    assert analyzer.of_text(FRENCH).placed(FRENCH) == alone("french").placed(FRENCH)
    assert analyzer.of_text("running") is analyzer
    each = [alone(one).placed("running") for one in MIXED.languages]
    assert analyzer.readings("running") == [each[0], each[2]]
    assert each[0] == each[1] != each[2]
    assert alone("german").readings("running") == each[:1]


def test_the_likeliest_language_counts_beside_the_main_ones():
    some = ("english", "german", "french", "spanish", "italian", "russian")
    analyzer = make_analyzer(Analysis(language="english", languages=some))
    text = "источники энергии"
    assert {*alone("russian").terms(text)} <= {*analyzer.terms(text)}
    assert alone("russian").placed(text) in analyzer.readings(text)
    assert len(analyzer.readings(text)) == 2
    assert len(analyzer.of_text(text).placed(text)) == len(analyzer.placed(text)) == 4
    # One that the collection does not have is not asked.
    few = make_analyzer(Analysis(language="english", languages=some[:-1]))
    assert few.readings(text) == [alone("english").placed(text)]
    assert few.of_text("123") is few
