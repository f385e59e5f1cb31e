import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.like.passages import TextWords, _pieces
from likewise.like.term_numbers import TermNumbers
from likewise.models.attribution import merge_shares
from likewise.records import WordShares
from likewise.text.analysis import Analysis, Analyzer

ANALYZER = Analyzer(Analysis())
TERMS = ["wing", "flutter", "heat", "other"]
SHARES = WordShares(
    np.array([0, 1, 2]), np.array([0.5, 0.0, -0.2]), np.array([0.1, 0.3, 0.0]), np.array([3, 1, -1])
)
SPECIFIC = dict(zip(TERMS, SHARES.specific.tolist(), strict=False))
SCORES = dict(zip(TERMS, (SHARES.specific + SHARES.dense).tolist(), strict=False))


def find_terms(terms):
    return np.array([TERMS.index(term) if term in TERMS else -1 for term in terms], np.int64)


def words(*texts):
    return TextWords(texts, ANALYZER, TermNumbers(ANALYZER, find_terms))


def passages(text, *, skip=0, **options):
    [found] = words(text).passages([0], [SHARES], skips=[skip], **options)
    return found


def test_a_passage_has_what_its_distinct_terms_carry():
    [first] = passages("No such word. Wings flutter, wings! In heat a wing. Heat.")
    assert first.text == "Wings flutter, wings!"
    assert first.start == 14
    assert first.score == pytest.approx(0.9)
    assert [first.text[m.start : m.stop] for m in first.marks] == ["Wings", "flutter", "wings"]
    assert first.marks[0][2:] == (0.5, 0.1, 3)
    assert first.marks[0].score == pytest.approx(0.6)


def test_a_passage_is_chosen_for_what_those_before_it_lack():
    found = passages("A wing flutters. The wing flutters too. Wings. Flutter of heat.")
    assert [passage.text for passage in found] == ["A wing flutters."]
    found = passages("A wing. The wings. All flutter.", n=2)
    assert [passage.text for passage in found] == ["A wing.", "All flutter."]


def test_a_title_is_left_out_if_there_is_more():
    title = "Wing flutter"
    assert [p.text for p in passages(f"{title}\n\nA wing.", skip=len(title))] == ["A wing."]
    assert [p.text for p in passages(f"{title}\n\nNothing.", skip=len(title))] == [title]


def test_nothing_carried_is_no_passage():
    assert passages("") == passages("Heat.") == passages("Other words.") == ()
    assert passages("A wing.", n=0) == ()


def test_long_sentences_are_cut_where_a_word_begins():
    text = "  " + "wing " * 300 + "end;" + "x" * 900 + "\nflutter"
    pieces = [*_pieces(text, [len(text)])]
    assert all(stop - start <= 320 for start, stop in pieces)
    kept = "".join(text[start:stop] for start, stop in pieces)
    assert "".join(kept.split()) == "".join(text.split())
    assert [p.text[-7:] for p in passages(text)] == ["ng wing", "flutter"]
    for passage in passages(text):
        assert text[passage.start : passage.start + len(passage.text)] == passage.text
        assert next(passage.text[m.start : m.stop] for m in passage.marks) in ("wing", "flutter")


@given(st.text(max_size=200), st.integers(0, 4))
@example("<b>wing</b> flutter\x00 ﬂutter heat \ud800. 漢字 wing-heat\r\nWING? ＷＩＮＧ", 3)
def test_marks_and_places_are_those_of_the_text(text, n):
    joined = text.encode("utf-8", "replace").decode()
    for passage in passages(text, n=n):
        assert joined[passage.start :].startswith(passage.text)
        terms = set()
        for mark in passage.marks:
            mine = ANALYZER.terms(passage.text[mark.start : mark.stop])
            terms |= set(mine) & set(SCORES)
            assert mark.specific == sum(SPECIFIC[t] for t in mine if t in SPECIFIC)
        assert abs(passage.score - sum(SCORES[t] for t in terms)) < 1e-12
    for mark in words(text).marks(0, SHARES):
        assert set(ANALYZER.terms(text[mark.start : mark.stop])) & set(SCORES)


def test_plain_values():
    [passage] = passages("A wing.")
    values = passage.to_json()
    assert values["marks"] == [{"start": 2, "stop": 6, "specific": 0.5, "dense": 0.1, "topic": 3}]
    assert (values["start"], values["text"]) == (0, "A wing.")


SOME = st.dictionaries(st.integers(0, 9), st.sampled_from([-1.0, 0.0, 0.25]), max_size=6)


@given(SOME, SOME)
def test_what_words_give_is_merged_by_term(dense, specific):
    def columns(scores):
        terms = np.array(sorted(scores), np.int64)
        return terms, np.array([scores[term] for term in terms.tolist()], np.float64)

    terms, carried = columns(dense)
    found = merge_shares((terms, carried, terms + 100), columns(specific))
    expected = [
        (term, specific.get(term, 0.0), dense.get(term, 0.0), term + 100 if term in dense else -1)
        for term in sorted({*dense, *specific})
        if specific.get(term) or dense.get(term)
    ]
    assert [*zip(*(each.tolist() for each in found), strict=True)] == expected
