import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.like import term_numbers
from likewise.like.term_numbers import TermNumbers
from likewise.text.analysis import Analysis, Analyzer
from likewise.text.table import Strings

ANALYZER = Analyzer(Analysis())
TERMS = ["wing", "flutter", "heat", "\u6f22\u5b57"]


def find_terms(terms):
    return np.array([TERMS.index(term) if term in TERMS else -1 for term in terms], np.int64)


def terms_of(numbers, words):
    found, known = numbers(Strings.of(words))
    assert [known.words.at(word) for word in found.tolist()] == words
    return terms_at(found, known)


def terms_at(found, known):
    firsts, sizes = known.firsts[found].tolist(), known.sizes[found].tolist()
    return [known.terms[i : i + n].tolist() for i, n in zip(firsts, sizes, strict=True)]


def expected(word):
    [terms] = ANALYZER.terms_of([word])
    return [TERMS.index(term) for term in terms if term in TERMS]


WORDS = st.sampled_from(["wings", "wing", "the", "fluttering", "heat", "\u6f22\u5b57", "x"])


@given(
    st.lists(
        st.lists((WORDS | st.text(min_size=1, max_size=4)).map(str.encode), max_size=6), max_size=4
    )
)
def test_words_have_the_terms_that_the_collection_has(batches):
    numbers = TermNumbers(ANALYZER, find_terms)
    for words in batches:
        assert terms_of(numbers, words) == [expected(word) for word in words]


def test_what_was_given_stays_as_more_words_come(monkeypatch):
    monkeypatch.setattr(term_numbers, "_MOST_KNOWN", 3000)
    numbers = TermNumbers(ANALYZER, find_terms)
    found, known = numbers(Strings.of([b"wings", b"heat"]))
    for i in range(0, 5000, 500):
        assert terms_of(numbers, [b"w%d" % j for j in range(i, i + 500)]) == [[]] * 500
        assert terms_at(found, known) == [[0], [2]]
        assert [known.words.at(word) for word in found.tolist()] == [b"wings", b"heat"]
    assert len(numbers(Strings.of([b"flutter"]))[1].sizes) < 3600


def test_a_word_is_looked_up_once():
    asked = []

    def counted(terms):
        asked.extend(terms)
        return find_terms(terms)

    numbers = TermNumbers(ANALYZER, counted)
    for _ in range(2):
        assert terms_of(numbers, [b"wings", b"heat", b"wings"]) == [[0], [2], [0]]
    assert asked == ["wing", "heat"]
