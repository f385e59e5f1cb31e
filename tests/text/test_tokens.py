import itertools
import re
import unicodedata

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.text.analysis import Analysis, Analyzer, encode
from likewise.text.chunks import ACRONYM, cut
from likewise.text.table import Strings
from likewise.text.tokens import find_places, find_tokens, tokens_of

ANALYZER = Analyzer(Analysis())
TEXTS = st.text(max_size=80) | st.text("aB1 .\u00b7\u00e9\u6f22\u5b57\u3002\u2014-\n", max_size=80)


@given(TEXTS)
@example("漢字漢字 and カ゚タカナ, ｶﾀｶﾅ")
@example("½ a⑴b straße ﬁsh don't E\u0301clair zero\u200bwidth x\u00a0y «z» \ud800")
def test_tokens_cover_the_terms_of_a_text(text):
    found = list(tokens_of(text, ANALYZER))
    assert [term for token in found for term in token.terms] == ANALYZER.terms(text)
    assert all(a.stop <= b.start for a, b in itertools.pairwise(found))
    assert all(token.start < token.stop for token in found)


def by_characters(text):
    """Find words one character after the other, whatever the bytes are."""
    spans, start = [], -1
    for i, char in enumerate([*text, " "]):
        if is_inside(char):
            start = i if start < 0 else start
        elif start >= 0:
            spans.append((start, i))
            start = -1
    return spans


def is_inside(char):
    if char.isascii():
        return char.isalnum()
    if unicodedata.category(char) == "Cf":
        return not "\u2000" <= char <= "\u203f" or char in "\u200c\u200d"
    folded = unicodedata.normalize("NFKC", char).casefold()
    return any(c.isalnum() or unicodedata.category(c)[0] == "M" for c in folded)


@given(TEXTS)
@example("na\u00efve\u00b7bayes \u6f22\u5b57\u6f22 x\u2014y\u00adz \u3002\uff21")
def test_words_stand_where_a_walk_over_characters_finds_them(text):
    # The walk knows no acronyms; test_places_of_an_ascii_text has them.
    text = re.sub(r"(?<=[A-Za-z])\.(?=[A-Za-z])", " ", text)
    found = find_tokens([text], ANALYZER)
    joined, last = [], -1
    for start, stop in zip(found.starts.tolist(), found.stops.tolist(), strict=True):
        # Pairs of characters stand side by side: together they are one run.
        if start == last:
            start = joined.pop()[0]
        joined.append((start, stop))
        last = stop
    assert joined == by_characters(text)


@given(st.lists(TEXTS, max_size=5))
def test_texts_of_a_batch_are_found_as_each_alone(texts):
    found = find_tokens(texts, ANALYZER)
    for i, text in enumerate(texts):
        alone = find_tokens([text], ANALYZER)
        mine = slice(*found.bounds[i : i + 2])
        assert found.starts[mine].tolist() == alone.starts.tolist()
        assert found.stops[mine].tolist() == alone.stops.tolist()
        spelled = [found.spelled.at(word) for word in found.words[mine].tolist()]
        assert spelled == [alone.spelled.at(word) for word in alone.words.tolist()]
        ends = found.ends[slice(*found.sentence_bounds[i : i + 2])]
        assert ends.tolist() == alone.ends.tolist()
        assert (ends[-1] if len(ends) else 0) == len(text)


@given(TEXTS)
def test_sentences_end_where_those_of_bytes_end(text):
    data = encode(text)
    ends = np.cumsum(cut([data]).sentences).tolist()
    expected = [len(data[:end].decode()) for end in ends]
    assert find_tokens([text], ANALYZER).ends.tolist() == expected


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_places_of_an_ascii_text(text):
    starts, stops = find_places(*Strings.of([text.encode()]))
    spans = [match.span() for match in re.finditer(f"{ACRONYM.pattern}|[A-Za-z0-9]+", text)]
    assert [*zip(starts.tolist(), stops.tolist(), strict=True)] == spans


def test_an_acronym_with_dots_is_one_token():
    text = "In the U.S.A. and N.A.C.A., now."
    found = [text[one.start : one.stop] for one in tokens_of(text, Analyzer(Analysis()))]
    assert found == ["In", "the", "U.S.A", "and", "N.A.C.A", "now"]


@given(st.text("aB1 .-the", max_size=40))
def test_a_short_text_has_the_tokens_that_kernels_find(text):
    found = find_tokens([text], ANALYZER)
    terms = ANALYZER.terms_of(found.spelled.all())
    spans = zip(found.starts.tolist(), found.stops.tolist(), found.words.tolist(), strict=True)
    expected = [(start, stop, tuple(terms[word])) for start, stop, word in spans]
    assert [*tokens_of(text, ANALYZER)] == expected
