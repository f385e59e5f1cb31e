import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.like.passages import (
    Share,
    find_marks,
    find_passages,
    find_sentences,
    find_stretches,
)
from likewise.text.analysis import Analysis, Analyzer

ANALYZER = Analyzer(Analysis())
SHARES = {
    "wing": Share(0.5, 0.1, 3),
    "flutter": Share(0.0, 0.3, 1),
    "heat": Share(-0.2, 0.0, -1),
}


def passages(text, **options):
    return find_passages(find_stretches(find_sentences(text), ANALYZER), SHARES, **options)


def test_a_passage_has_what_its_distinct_terms_carry():
    [first] = passages("No such word. Wings flutter, wings! In heat a wing. Heat.")
    assert first.text == "Wings flutter, wings!"
    assert first.start == 14
    assert first.score == pytest.approx(0.9)
    assert [first.text[m.start : m.stop] for m in first.marks] == ["Wings", "flutter", "wings"]
    assert first.marks[0].share == SHARES["wing"]


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
    stretches = find_stretches([text], ANALYZER)
    assert all(len(stretch.text) <= 320 for stretch in stretches)
    for stretch in stretches:
        assert text[stretch.start : stretch.start + len(stretch.text)] == stretch.text
    kept = "".join(stretch.text for stretch in stretches)
    assert "".join(kept.split()) == "".join(text.split())
    assert [p.text[-7:] for p in find_passages(stretches, SHARES)] == ["ng wing", "flutter"]


@given(st.text(max_size=200), st.integers(0, 4))
@example("<b>wing</b> flutter\x00 ﬂutter heat \ud800. 漢字 wing-heat\r\nWING? ＷＩＮＧ", 3)
def test_marks_and_places_are_those_of_the_text(text, n):
    sentences = find_sentences(text)
    joined = "".join(sentences)
    assert joined == text.encode("utf-8", "replace").decode()
    for passage in passages(text, n=n):
        assert joined[passage.start :].startswith(passage.text)
        terms = set()
        for mark in passage.marks:
            mine = ANALYZER.terms(passage.text[mark.start : mark.stop])
            terms |= set(mine) & set(SHARES)
            assert mark.share.own == sum(SHARES[t].own for t in mine if t in SHARES)
        assert abs(passage.score - sum(SHARES[t].score for t in terms)) < 1e-12
    for mark in find_marks(text, ANALYZER, SHARES):
        assert set(ANALYZER.terms(text[mark.start : mark.stop])) & set(SHARES)


def test_plain_values():
    [passage] = passages("A wing.")
    values = passage.to_json()
    assert values["marks"] == [{"start": 2, "stop": 6, "own": 0.5, "compact": 0.1, "topic": 3}]
    assert (values["start"], values["text"]) == (0, "A wing.")
