import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from likewise_papers.data import Data
from likewise_papers.experiment import Claim, Drawing, Experiment, Paper, Result
from likewise_papers.page import inline, number, page, span, written
from likewise_papers.running import Done, run_papers

from .made_up import PAPER, everything, write_collection

HOSTILE = '</title><script src="//x">"><img src=x onerror=y> & \x00\x1b\u202e'
# In HTML these have no end; within an SVG a tag may end where it starts.
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """The tags, attributes and text of a page; fails where tags are not balanced."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def done(result, *, paper=None, **fields):
    one = Experiment(**{"name": "one", "where": "Table 1", "title": "a title"} | fields, run=None)
    paper = paper or Paper("p", "A paper", "Someone 2000", (one,))
    return Done(paper, one, dict(one.setting), one.beside, result, 12.34)


def made(*results):
    return page([done(result) for result in results], quick=False, data={"notes": "ab12"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_collection(folder / "data" / "notes")
    return folder


@pytest.fixture(scope="module")
def all_done(folder):
    data = Data([folder / "data"], folder / "work")
    return list(run_papers([PAPER], data, kept=folder / "kept"))


@pytest.fixture(scope="module")
def source(all_done):
    return page(all_done, quick=True, data={"notes": "ab12"})


def test_it_holds_all_that_was_found(all_done, source):
    read = Reader(source)
    told = " ".join(read.text.split())
    assert "quick run" in told
    assert "notes ab12" in told
    figures = 0
    for one in all_done:
        experiment, result = one.experiment, one.result
        for text in (
            experiment.where,
            experiment.title,
            experiment.in_place_of,
            *experiment.tried.split("\n"),
        ):
            assert text in told
        for claim in result.claims:
            # In the table of all claims, and in its own section.
            assert told.count(claim.text) >= 2
            assert claim.reason in told
        for table in result.tables:
            assert table.title in told
            assert table.note in told
            for row in table.rows:
                assert row.name in told
            for column in table.columns:
                assert column in told
        figures += len(result.drawings)
    assert [tag for tag, _ in read.tags].count("svg") == figures == 3
    for text in (PAPER.title, PAPER.source, PAPER.about, "methods bm25, ql", "share 0.5", "seed 3"):
        assert text in told
    assert "2 hold 1 do not hold 3 not testable here" in re.sub("[✓✗○] ", "", told)


def test_values_have_their_interval_and_what_was_published():
    told = " ".join(Reader(made(replace(everything(), drawings=()))).text.split())
    assert ".3123.2800–.3410paper .5000" in told
    assert "−1,234.5" in told
    assert "paper: as published · ours: the paper does not have it" in told
    assert told.count("ours plain new") == 1


def test_every_link_leads_to_a_section(source):
    read = Reader(source)
    targets = [attributes["href"] for tag, attributes in read.tags if tag == "a"]
    ids = [a["id"] for tag, a in read.tags if tag in ("section", "article") and "id" in a]
    assert len(ids) == len(set(ids)) == 1 + len(PAPER.experiments)
    assert {target.removeprefix("#") for target in targets} == set(ids)


def test_nothing_comes_from_outside(source):
    read = Reader(source)
    assert not {"script", "link", "img", "iframe", "object", "image"} & {t for t, _ in read.tags}
    for _, attributes in read.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "xlink:href", "src"):
                assert value.startswith("#")
            elif not name.startswith("xmlns"):
                assert "//" not in (value or "")
    assert not re.search(r"@import|url\((?!#)", source)


def test_the_same_results_give_the_same_bytes(folder, all_done, source):
    data = Data([folder / "data"], folder / "work")
    later = list(run_papers([PAPER], data, kept=folder / "kept"))
    assert any(one.kept for one in later)
    assert page(later, quick=True, data={"notes": "ab12"}) == source


@settings(max_examples=8)
@given(st.text(max_size=30))
@example(HOSTILE)
@example("a $x$ \\frac {} & <b>")
def test_nothing_that_was_given_becomes_a_tag(text):
    result = replace(everything(text=text), drawings=())
    paper = Paper("p", text, text, (), about=text)
    plain = [done(replace(everything(), drawings=()), paper=Paper("p", "t", "s", (), about="a"))]
    hostile = done(result, paper=paper, where=text, title=text, setting={text or "x": text})
    read = Reader(page([hostile], quick=False, data={text: text}))
    expected = Reader(page(plain, quick=False, data={"d": "d"}))
    kinds = {tag for tag, _ in expected.tags}
    assert {tag for tag, _ in read.tags} <= kinds | {"p"}
    names = {name for _, attributes in expected.tags for name in attributes}
    assert {name for _, attributes in read.tags for name in attributes} <= names


def test_names_in_figures_are_escaped():
    source = made(Result((), drawings=everything(text='<b> & "x"').drawings))
    assert "<b> &" not in source
    assert "&lt;b&gt; &amp;" in source
    Reader(source)


@pytest.mark.parametrize(
    ("drawing", "reason"),
    [
        (replace(everything(lines=9).drawings[0], title="too many"), "lines"),
        (Drawing("pie", "a pie"), "panels, risk, words, not"),
        (Drawing("risk", "none"), "one panel of curves"),
        (Drawing("panels", "empty"), "1 to 12 panels"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_its_place(drawing, reason):
    read = Reader(made(Result((), drawings=(drawing,))))
    assert drawing.title in read.text
    assert reason in read.text
    assert "svg" not in {tag for tag, _ in read.tags}


def test_without_matplotlib_the_page_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    read = Reader(made(Result((), drawings=everything().drawings)))
    assert read.text.count("pip install 'likewise[plots]'") == 3


@pytest.mark.parametrize("at", range(3))
def test_every_kind_of_drawing_is_an_svg(at):
    text = inline(everything().drawings[at])
    assert text.startswith("<svg ")
    assert text.rstrip().endswith("</svg>")


def test_numbers():
    assert number(0.1234, 3) == "0.123"
    assert number(0.1234, 3, bare=True) == ".123"
    assert number(-0.5, 1, bare=True) == "−.5"
    assert number(-0.0001, 2) == "0.00"
    assert number(1.0, 2, bare=True) == "1.00"
    assert number(12345.6, 0) == "12,346"
    assert number(float("nan"), 2) == "–"


def test_spans():
    assert [span(s) for s in (0.04, 9.94, 59.4, 90, 3599, 7500)] == [
        "0.0 s",
        "9.9 s",
        "59 s",
        "2 min",
        "1 h 00 min",
        "2 h 05 min",
    ]


def test_settings_are_written_in_a_line():
    assert written({"a": [1, 2.50], "b": True, "c": {}}) == "a: 1, 2.5; b: yes; c: none"
    assert written([[1, 2], "x", []]) == "(1, 2), x, (none)"


def test_every_colour_is_one_of_the_style_sheet_of_all_pages(source):
    style = source.partition("<style>")[2].partition("</style>")[0]
    used = set(re.findall(r"var\((--\w+)\)", style))
    assert used - set(re.findall(r"(--\w+):", style)) == set()


def test_a_page_of_nothing_is_a_page():
    read = Reader(page([], quick=True, data={}))
    assert "0 hold" in " ".join(read.text.split())


def test_claims_are_marked_by_words_and_signs():
    claims = tuple(Claim(v, v, "") for v in ("holds", "does not hold", "not testable here"))
    text = " ".join(Reader(made(Result(claims))).text.split())
    for shown in ("✓ holds", "✗ does not hold", "○ not testable here"):
        assert text.count(shown) == 2
