import textwrap

from hypothesis import given
from hypothesis import strategies as st

from likewise.engine.answers import Answer, Answers, _wrapped
from likewise.records import Explanation, Part
from likewise.show.text import display_width


def test_columns_line_up_with_wide_and_hostile_ids():
    answers = Answers(
        [
            Answer("日本", 10.5, "波"),
            Answer("with\nnewline and spaces", 1.25, "a\ttitle\x1b[31m in red", explanation=None),
        ]
    )
    lines = answers.table(80).splitlines()
    assert len(lines) == 3
    assert "\x1b" not in answers.table(80)
    starts = [
        display_width(line[: line.index(text)])
        for line, text in zip(lines, ["title", "波", "a title"], strict=True)
    ]
    assert len(set(starts)) == 1


def test_long_explanations_are_summed_up_and_signs_read_well():
    scores = {"a": 2.0, "b": -1.0} | {f"t{i}": 0.25 for i in range(8)}
    parts = tuple(Part("word", name, score) for name, score in scores.items())
    text = str(Answers([Answer("1", 3.0, "t", explanation=Explanation(3.0, parts))]))
    assert "= a 2.0000 - b 1.0000 + t0 0.2500" in text
    assert "2 more 0.5000" in text


def test_what_no_word_stands_for_is_shown_after_the_first_words():
    words = [Part("word", f"t{i}", 0.1) for i in range(9)]
    rest = [Part("rest", "feedback documents", 0.5), Part("rest", "rounding", 1e-9)]
    group = Part("group", "related words", 1.4, (*words, *rest))
    text = str(Answers([Answer("1", 1.4, "t", explanation=Explanation(1.4, (group,)))]))
    joined = " ".join(text.split())
    assert "related words 1.4000 = t0 0.1000 + t1 0.1000" in joined
    assert joined.endswith("+ t7 0.1000 + feedback documents 0.5000 + 2 more 0.1000")


def test_titles_are_cut_to_the_width_below_explained_answers_too():
    told = Explanation(1.0, (Part("word", "wing", 1.0),))
    answers = Answers([Answer(f"{i}", 1.0, "wing " * 40, explanation=told) for i in range(3)])
    assert max(map(len, answers.table(80).splitlines())) == 80


TIED = st.lists(st.text("ab-", min_size=1, max_size=30), min_size=1, max_size=3).map("\u00a0".join)


@given(
    st.lists(TIED, min_size=1, max_size=30).map(" ".join),
    st.integers(1, 100),
    st.integers(0, 30),
)
def test_lines_are_wrapped_as_textwrap_does_it(line, width, indent):
    wrapped = textwrap.wrap(
        line, max(width, 60), subsequent_indent=" " * indent, break_on_hyphens=False
    )
    expected = [part.replace("\u00a0", " ") for part in wrapped]
    assert _wrapped(line, width, indent=indent) == expected
