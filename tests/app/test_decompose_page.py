import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.app.decompose_page import decompose_page as page
from likewise.models.token_labels import (
    Decomposition,
    Kind,
    Piece,
    Route,
    TopicPart,
    colour,
)
from likewise.models.topic_summary import Word
from likewise.show.text import harmless
from likewise.text.analysis import Analysis, Analyzer

from .browser import Reader

ANALYZER = Analyzer(Analysis())
ROUTES = {
    "wing": Route(0.9, 0.05, 0.05, 3),
    "flutter": Route(0.1, 0.8, 0.1, 1),
    "paper": Route(0.1, 0.2, 0.7, 0),
    "heat": Route(0.9, 0.1, 0.0, 8),
}


def article(source):
    return re.search(r"<article[^>]*>(.*)</article>", source, re.DOTALL)[1]


def decomposition(text, label="flight"):
    return Decomposition(
        model="ddm",
        shares=(0.6, 0.3, 0.1),
        topics=(TopicPart(3, label, 0.4, ("wing", "lift")), TopicPart(8, "", 0.1, ("heat",))),
        own=(Word("flutter", "flutters", 0.75),),
        routes=ROUTES,
        counts=dict.fromkeys(ROUTES, 1),
        pieces=tuple(colour(text, ANALYZER, ROUTES)),
    )


@given(st.text(max_size=120))
@example("<script>alert('wing')</script> & &amp; \"flutter\" </article> \x00\x1b \r\n")
def test_without_its_tags_the_text_is_the_text(text):
    source = article(page(decomposition(text)))
    assert Reader(source).text == harmless(text)
    assert {tag for tag, _ in Reader(source).tags} <= {"span"}


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
@example("wing", '</title><script src="//x">', '"><img src=x onerror=y>')
def test_nothing_that_was_given_becomes_a_tag(text, title, label):
    read = Reader(page(decomposition(text, label), title=title))
    plain = Reader(page(decomposition(""), title=""))
    spans = [tag for tag, _ in read.tags if tag != "span"]
    assert spans == [tag for tag, _ in plain.tags if tag != "span"]
    assert read.open == []


def test_a_page_stands_alone():
    source = page(decomposition("wings flutter"), title="Wing flutter")
    read = Reader(source)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in read.tags}
    assert not re.search(r"https?:|//|url\(|@import", source)
    assert source.startswith("<!doctype html>")
    for part in ("prefers-color-scheme: dark", "@media print", "print-color-adjust: exact"):
        assert part in source
    assert ("meta", {"charset": "utf-8"}) in read.tags


def test_words_are_marked_by_kind_with_tooltips():
    source = page(decomposition("The wings flutter on paper, heat"), title="T")
    marks = {
        text: (style, hint)
        for style, hint, text in re.findall(
            r'<span class="([^"]*)"(?: title="([^"]*)")?>([^<]*)</span>', article(source)
        )
    }
    assert marks["The"] == ("stop", "")
    assert marks["wings"][0] == "w t0"
    assert marks["wings"][1].startswith("topic 3, flight: wing, lift\ntopic 90%, own 5%")
    assert marks["heat"][0] == "w t1"
    assert marks["flutter"][0] == "w own"
    assert marks["paper"] == ("back", "background\ntopic 10%, own 20%, background 70%")


def test_a_topic_without_a_colour_of_its_own_has_the_common_one():
    pieces = (Piece("wings", Kind.TOPIC, ROUTES["wing"]),)
    others = decomposition("").topics[1:]
    source = article(page(replace(decomposition(""), topics=others, pieces=pieces)))
    assert 'class="w t" title="topic 3\n' in source


def test_the_figures_are_there():
    text = Reader(page(decomposition("wings"), title="A <title>")).text
    for part in (
        "A <title>",
        "60%",
        "30%",
        "10%",
        "40.0%",
        "topic 3 · flight",
        "flutters",
        "75.0%",
    ):
        assert part in text
    assert "10.0%all other topics" in text


@pytest.mark.parametrize("title", ["", "  \n "])
def test_a_page_always_has_a_title(title):
    assert "<title>Decomposition of a text</title>" in page(decomposition("wing"), title=title)
