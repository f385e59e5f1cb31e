from __future__ import annotations

import pytest
import stop_words as package

from likewise.errors import UsageError
from likewise.text.analysis import Analysis, Analyzer
from likewise.text.stops import stop_words


@pytest.mark.parametrize("language", package.AVAILABLE_LANGUAGES)
def test_every_list_loads_and_is_used(language):
    words = stop_words(language)
    assert len(words) > 10
    analyzer = Analyzer(Analysis(language="none", stop=language))
    assert analyzer.terms(" ".join(sorted(words))) == []


def test_the_english_list_keeps_content_words():
    words = stop_words("english")
    assert {"the", "of", "and", "don", "t"} <= words
    assert words.isdisjoint({"system", "computer", "interest", "fire"})


def test_marks_belong_to_their_words():
    # "में" (in) is a letter, a vowel sign and a nasal mark; "म" alone is no stop word.
    analyzer = Analyzer(Analysis(language="hindi", stemmer="none", min_length=1))
    assert analyzer.terms("पुस्तक में") == ["पुस्तक"]
    assert analyzer.terms("म") == ["म"]


def test_unknown_language():
    with pytest.raises(UsageError, match=r"no stop list for 'klingon'.*english.*or 'none'"):
        stop_words("klingon")
