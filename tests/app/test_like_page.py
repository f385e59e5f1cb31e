import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.app.like_page import LikeAnswer, like_page
from likewise.like.explain import RELATED, SPECIFIC, TOPICS, WORDS
from likewise.like.passages import TextWords
from likewise.like.term_numbers import TermNumbers
from likewise.records import Explanation, Part, Topic, WordShares
from likewise.show.text import harmless
from likewise.text.analysis import Analysis, Analyzer

from .browser import Reader

ANALYZER = Analyzer(Analysis())
TERMS = ["wing", "heat", "flutter", "panel", "drag"]
SHARES = WordShares(
    np.arange(5),
    np.array([0.0, 0.0, 0.5, 0.0, -0.1]),
    np.array([0.30, 0.10, 0.01, 0.001, 0.0]),
    np.array([3, 8, 3, 3, 3]),
)
HOSTILE = '</title><script src="//x">"><img src=x onerror=y> & \x00\x1b\u202e'


def find_terms(terms):
    return np.array([TERMS.index(term) if term in TERMS else -1 for term in terms], np.int64)


def read(texts):
    return TextWords(texts, ANALYZER, TermNumbers(ANALYZER, find_terms))


def evidence(text, question, shares=SHARES, topics=()):
    return SimpleNamespace(
        answer_words=shares,
        query_words=shares,
        passages=read([text]).passages([0], [shares], skips=[0])[0],
        query_passages=read([question]).passages([0], [shares], skips=[0])[0],
        topics=topics,
    )


def group(name, *parts):
    return Part("group", name, sum(part.score for part in parts), parts)


def topical(text="", question="", shares=SHARES, label="flight", word="flutters"):
    topics = (Topic(3, label, ("wing", word)), Topic(8, "", ("heat",)))
    parts = (
        group(TOPICS, Part("topic", str(topics[0]), 0.31), Part("topic", str(topics[1]), 0.1)),
        group(SPECIFIC, Part("word", word, 0.5), Part("word", "drag", -0.1)),
    )
    return Explanation(0.81, parts, evidence(text, question, shares, topics))


def related(word="flutters"):
    behind = (Part("word", word, 0.2), Part("word", "jets", 0.1), Part("rest", "other words", 0.2))
    parts = [Part("word", "wings", 0.5, behind)]
    parts += [Part("word", f"x{i}", 0.01) for i in range(7)]
    parts.append(Part("rest", "other words", 0.13))
    parts.append(Part("rest", "rounding", -1e-9))
    shares = WordShares(np.array([0]), np.zeros(1), np.array([0.4]), np.array([-1]))
    return Explanation(0.7 - 1e-9, (group(RELATED, *parts),), evidence("", "", shares))


def page(text="Wings flutter.", title="A wing", question="Heat of a wing.", **options):
    answers = [LikeAnswer("doc-1", title, text, topical(text, question, **options))]
    answers.append(LikeAnswer("doc-2", "", text, related()))
    return like_page(title, question, answers, read=read)


def marks(source):
    return re.findall(r'<span class="w ([^"]*)" title="([^"]*)">([^<]*)</span>', source)


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=60), st.text(max_size=20))
@example("wing" + HOSTILE, HOSTILE, HOSTILE + "wing", HOSTILE)
def test_nothing_that_was_given_becomes_a_tag(text, title, question, word):
    read = Reader(page(text, title, question, label=word, word=word))
    assert read.open == []
    allowed = "html head meta title style body main h1 h2 h3 h4 p ul li div aside section article"
    allowed += " span small b i blockquote details summary"
    assert {tag for tag, _ in read.tags} <= set(allowed.split())
    names = {name for _, attributes in read.tags for name in attributes}
    assert names <= {"lang", "charset", "name", "content", "class", "title", "style"}
    styles = [a["style"] for _, a in read.tags if "style" in a]
    assert all(re.fullmatch(r"(flex|width):[0-9.]+%?", style) for style in styles)


@given(st.text(max_size=120))
@example("<b>wing</b> &amp; flutter \r\n \x00 漢字")
def test_without_its_tags_the_text_is_the_text(text):
    source = page(text)
    answer = re.search(r"<h4>This answer</h4><div class=\"text\">(.*?)</div>", source, re.DOTALL)
    if text.strip():
        assert Reader(answer[1]).text == harmless(text)
    else:
        assert answer is None


def test_a_page_stands_alone():
    source = page()
    read = Reader(source)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in read.tags}
    assert not re.search(r"https?:|//|url\(|@import", source)
    assert source.startswith("<!doctype html>")
    for part in ("prefers-color-scheme: dark", "@media print", "max-width: 36rem"):
        assert part in source


def test_words_are_coloured_by_what_they_carry():
    text = "The wings flutter on panels, heat, drag."
    source = page(text)
    answer = source[source.index("This answer") :]
    found = {word: (style, hint) for style, hint, word in reversed(marks(answer))}
    assert found["wings"] == ("t0 s3", "0.3000, most by flight")
    assert found["heat"][0] == "t1 s1"
    assert found["flutter"] == ("own s3", "0.5100 as a word that both have")
    assert found["drag"][0] == "against s1"
    assert not {"The", "panels", "on"} & set(found)


def test_the_figures_are_there():
    text = Reader(page(title="A <wing>")).text
    for part in (
        "Like “A <wing>”",
        "2 answers",
        "0.810 = topics 0.410 + specific words 0.400",
        "38%flight wing, flutters",
        "12%topic 8 heat",
        "flutters 62%",
        "drag −12%",
        "0.700 = related words 0.700",
        "71%wings with flutters, jets",
        "19%other words",
        "doc-2",
    ):
        assert part in " ".join(text.split()).replace("% ", "%") or part in text, part


def test_bars_are_as_long_as_scores_and_split_by_parts():
    source = page()
    widths = re.findall(r'<div class="bar" style="width:([0-9.]+)%">', source)
    assert [float(width) for width in widths] == pytest.approx([100, 86.4])
    bars = re.findall(r'<i class="([a-z0-9]+)" style="flex:([0-9.]+)" title="([^"]*)">', source)
    assert [bar[0] for bar in bars] == ["t0", "t1", "own", "t0", "t"]
    assert sum(float(bar[1]) for bar in bars[:3]) == pytest.approx(100, abs=0.1)
    assert bars[0][2] == "0.310 flight"


BAR = re.compile(r'<i class="([a-z0-9]+)" style="flex:([0-9.]+)" title="([^"]*)">')
ALL_WORDS = group(WORDS, Part("word", "panels", 0.15), Part("rest", "other words", 0.04))


def shown(*parts, text="wings flutter"):
    told = Explanation(sum(p.score for p in parts), parts, evidence(text, "wing"))
    return like_page("", "wing", [LikeAnswer("1", "", text, told)], read=read)


def test_a_score_of_three_parts_is_shown_whole():
    """0.76 = 0.50 by related words, 0.07 by specific words, 0.19 by all words."""
    specific = group(SPECIFIC, Part("word", "flutters", 0.07))
    source = shown(ALL_WORDS, specific, group(RELATED, Part("word", "wings", 0.5)))
    bars = BAR.findall(source)
    assert [(style, name) for style, _, name in bars] == [
        ("t0", "0.500 related words"),
        ("own", "0.070 specific words"),
        ("all", "0.190 all words"),
    ]
    sizes = [float(size) for _, size, _ in bars]
    assert sizes == pytest.approx(
        [100 * 0.5 / 0.76, 100 * 0.07 / 0.76, 100 * 0.19 / 0.76], abs=0.01
    )
    assert '<span class="w all">all words that both have</span>' in source
    assert '<span class="w all">panels</span> <small>20%</small>' in source
    text = " ".join(Reader(source).text.split())
    assert "0.760 = related words 0.500 + specific words 0.070 + all words 0.190" in text
    assert "All words that both have" in text
    assert "other words 5%" in text


def test_without_specific_words_all_words_stand_alone():
    source = shown(ALL_WORDS)
    assert [bar[0] for bar in BAR.findall(source)] == ["all"]
    assert "Specific words" not in source
    assert "none</p>" not in source
    found = {word: (style, hint) for style, hint, word in marks(source)}
    assert found["flutter"] == ("all s3", "0.5100 as a word that both have")


def test_what_a_fused_list_has_is_shown_with_the_other_lists():
    likeness = Part("list", "hybrid", ALL_WORDS.score, (ALL_WORDS,))
    source = shown(Part("list", "bm25 …", 0.4, (Part("word", "wing", 0.4),)), likeness)
    assert [(style, name) for style, _, name in BAR.findall(source)] == [
        ("all", "0.190 all words"),
        ("back", "0.400 bm25 …"),
    ]
    assert '<span class="w all">panels</span>' in source
    assert "0.590 = all words 0.190 + bm25 … 0.400" in " ".join(Reader(source).text.split())


def test_a_long_text_is_folded_and_a_longer_one_cut():
    question = "Wings flutter in heat. " * 100
    source = page(question=question)
    aside = source[source.index("<aside>") : source.index("</aside>")]
    assert "<summary>the rest</summary>" in aside
    read = Reader(aside.replace("<summary>the rest</summary>", "").replace("</h2>", "</h2>|"))
    assert read.text.partition("|")[2].strip() == question.strip()
    assert "<summary>the rest</summary>" not in page(question="Wings. " * 20)
    source = page(text="wing " * 10_000)
    assert "10,000 characters more" in source


def test_without_a_text_in_hand_the_answers_stand_alone():
    source = page(question="")
    assert "<aside>" not in source
    assert "both texts" not in source
    assert "This answer" in source


@pytest.mark.parametrize(("title", "question"), [("", ""), (" \n", "wing")])
def test_a_page_without_answers(title, question):
    source = like_page(title, question, [], read=read, about="by <ddm>")
    assert "<title>Documents like a text</title>" in source
    assert "No document is like it." in source
    assert "0 answers, by &lt;ddm&gt;" in source
    assert Reader(source).open == []


def test_scores_below_zero_are_shown_as_they_are():
    told = Explanation(-0.3, (group(SPECIFIC, Part("word", "drag", -0.3)),))
    source = like_page("", "x", [LikeAnswer("1", "", "", told)], read=read)
    assert "−0.300" in source or "-0.300" in source
    assert 'style="width:0.0%"' in source
