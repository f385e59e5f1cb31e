"""The lexicon of a graph: chosen terms, names, and what an extractor finds."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.records import Document
from likewise.terms.extracting import extract_nodes, key_of
from likewise.terms.matching import exact_words, match_names, resolve_exactly, split_exactly
from likewise.terms.nodes import EXACT, TERMS, WORDS, Filters, Nodes, choose_nodes, read_names

from .counts_in_python import made_of, matches, sentences

PAPERS = [
    Document("a", "The CAT gene", "A cat has the gene TP53. Gene CAT and tp53 differ."),
    Document("b", "", "Wing flutter of wings 1960. Supersonic flow 1960 over a wing"),
    Document("c", "", "Wings in supersonic flow! Heat transfer 1960"),
    Document("d", "", ""),
]


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    return made_of(tmp_path_factory.mktemp("nodes") / "papers", PAPERS)


def every(nodes, snapshot):
    return nodes.names(snapshot, np.arange(len(nodes)))


# Terms


def test_terms_are_chosen_by_frequency_the_most_frequent_first(papers):
    nodes = choose_nodes(papers, Filters(min_df=2, max_df=1))
    assert nodes.kind == TERMS
    assert every(nodes, papers) == ["wing", "superson", "flow"]
    assert nodes.numbers.tolist() == papers.find_terms(["wing", "superson", "flow"]).tolist()
    with_numbers = choose_nodes(papers, Filters(min_df=2, max_df=1, numbers=True))
    assert every(with_numbers, papers) == ["wing", "1960", "superson", "flow"]
    assert every(choose_nodes(papers, Filters(min_df=2, max_df=1, size=2)), papers) == [
        "wing",
        "superson",
    ]
    rare = choose_nodes(papers, Filters(min_df=1, max_df=0.25))
    assert "wing" not in every(rare, papers)
    assert "cat" in every(rare, papers)


def test_terms_that_the_analysis_leaves_out_are_no_nodes(tmp_path):
    c = made_of(tmp_path / "c", ["one two", "one two", "one three"], max_df=0.7)
    assert every(choose_nodes(c, Filters(min_df=1, max_df=1)), c) == ["two", "three"]


def test_frequencies_are_those_of_live_documents_in_any_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("likewise.terms.nodes._TERMS_AT_ONCE", 2)
    made_of(tmp_path / "c", ["one two three four", "four three", "one one two", "four"])
    with Writer(tmp_path / "c") as writer:
        writer.delete(["0"])
    c = open_snapshot(tmp_path / "c")
    assert every(choose_nodes(c, Filters(min_df=1, max_df=1)), c) == ["four", "on", "two", "three"]


def test_a_text_mentions_each_node_once_in_its_order(papers):
    nodes = choose_nodes(papers, Filters(min_df=1, max_df=1))
    found = nodes.find(papers, "Flow over wings, wing FLOW, and unheard of gene")
    assert nodes.names(papers, found) == ["flow", "wing", "gene"]
    assert nodes.find(papers, "").tolist() == nodes.find(papers, "the unheard").tolist() == []
    assert nodes.term_numbers(papers).tolist() == nodes.numbers.tolist()


def test_terms_are_found_again_by_their_numbers():
    nodes = Nodes(TERMS, np.array([7, 3, 9]))
    assert nodes.nodes_of(np.array([3, 9, 0, 7, 100, -1])).tolist() == [1, 2, -1, 0, -1, -1]
    assert Nodes(TERMS).nodes_of(np.array([3])).tolist() == [-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_df": 0},
        {"min_df": 1.5},
        {"max_df": 0},
        {"max_df": 1.5},
        {"max_df": "all"},
        {"size": -1},
        {"size": 2.5},
        {"size": True},
    ],
)
def test_filters_that_make_no_sense(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Filters(**wrong)


def test_filters_are_written_as_they_are_read():
    assert str(Filters()) == "terms"
    assert str(Filters(min_df=5, numbers=True)) == "terms(min_df=5,numbers=True)"


def test_no_term_at_all(papers, tmp_path):
    with pytest.raises(UsageError, match=r"stands in 9 or more.*its 4 documents; lower min_df"):
        choose_nodes(papers, Filters(min_df=9))
    create(tmp_path / "empty")
    with pytest.raises(UsageError, match="0 documents"):
        choose_nodes(open_snapshot(tmp_path / "empty"))


# Names


def test_names_by_their_words(papers):
    given_names = ["Supersonic Flows", "the", "wing", "flow", "WINGS", "", " Heat of Transfer "]
    nodes = read_names(papers, given_names)
    assert nodes.kind == WORDS
    assert nodes.texts == ("Supersonic Flows", "the", "wing", "flow", "Heat of Transfer")
    assert (nodes.left_out, nodes.merged) == ((), (("WINGS", "wing"),))
    found = nodes.find(papers, "A wing in supersonic flow; flow over wings. Heat OF transfers.")
    assert nodes.names(papers, found) == ["wing", "Supersonic Flows", "flow", "Heat of Transfer"]
    # A stop word is a word of a name as good as any.
    assert nodes.find(papers, "Heat to transfer.").tolist() == []
    assert nodes.find(papers, "Supersonic! Flow.").tolist() == [3]
    # A stop word has a number, as an exact form.
    numbers = papers.find_terms(["the", "wing", "flow"]).tolist()
    assert nodes.term_numbers(papers).tolist() == [-1, *numbers, -1]


CELLS = [
    Document("a", "", "The T cell binds IL-2. The b cell binds IL 4! A cell"),
    Document("b", "", "T cells bind IL-4."),
    Document("c", "", "A vitamin of IL. The cell of T."),
]


@pytest.mark.parametrize("exact", [False, True])
def test_short_words_and_numbers_tell_names_apart(tmp_path, exact):
    c = made_of(tmp_path / "c", CELLS)
    names = ["T cell", "B cell", "IL-2", "IL-4", "cell"]
    nodes = read_names(c, names, exact=exact)
    assert nodes.texts == tuple(names)
    assert (nodes.left_out, nodes.merged) == ((), ())
    seen = [
        [nodes.names(c, nodes.find(c, sentence)) for sentence in sentences(document.text)]
        for document in CELLS
    ]
    if exact:
        first = [["T cell", "IL-2"], ["cell", "IL-4"], ["cell"]]
        assert seen == [first, [["IL-4"]], [[], ["cell"]]]
    else:
        first = [["T cell", "IL-2"], ["B cell", "IL-4"], ["cell"]]
        assert seen == [first, [["T cell", "IL-4"]], [[], ["cell"]]]
    assert nodes.term_numbers(c).tolist() == [-1] * 4 + c.find_terms(["cell"]).tolist()


def test_names_that_come_to_the_same_words_are_said_once(papers):
    given_names = ["C", "C++", "C#", "c", "C++", " C++ ", "C", "...", "...", "Wing", "wings"]
    nodes = read_names(papers, given_names, exact=True)
    assert nodes.texts == ("C", "c", "Wing", "wings")
    assert nodes.merged == (("C++", "C"), ("C#", "C"))
    assert nodes.left_out == ("...",)
    nodes = read_names(papers, given_names)
    assert nodes.texts == ("C", "Wing")
    assert nodes.merged == (("C++", "C"), ("C#", "C"), ("c", "C"), ("wings", "Wing"))


def test_names_letter_for_letter(papers):
    nodes = read_names(
        papers, ["CAT", "TP53", "TNF-alpha", "TNF alpha", "...", "β-Catenin"], exact=True
    )
    assert nodes.kind == EXACT
    assert nodes.texts == ("CAT", "TP53", "TNF-alpha", "β-Catenin")
    assert nodes.left_out == ("...",)
    assert nodes.merged == (("TNF alpha", "TNF-alpha"),)
    assert nodes.find(papers, "a cat, tp53").tolist() == []
    assert nodes.find(papers, "(TP53/CAT), TNF–alpha").tolist() == [1, 0, 2]
    assert nodes.find(papers, "→β‑Catenin, β-catenin").tolist() == [3]
    assert nodes.term_numbers(papers).tolist() == [*papers.find_terms(["cat", "tp53"]), -1, -1]


def test_the_longest_name_wins_and_names_do_not_overlap(papers):
    names = ["new york", "york", "new york times", "times square", "square"]
    nodes = read_names(papers, names)
    assert nodes.find(papers, "New York Times Square").tolist() == [2, 4]
    assert nodes.find(papers, "in York, times square. New, York").tolist() == [1, 3, 0]
    assert nodes.find(papers, "new new york").tolist() == [0]


def test_names_in_scripts_without_spaces(papers):
    words = read_names(papers, ["东京", "京都府"])
    assert words.find(papers, "我在东京工作。京都府").tolist() == [0, 1]
    exact = read_names(papers, ["东京", "都", "ﬁn"], exact=True)
    assert exact.find(papers, "我在东京工作。京都府 fin").tolist() == [0, 1, 2]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.sampled_from(["a", "b", "c", "x", ". "]), max_size=30),
)
def test_matches_are_those_of_plain_python(names, words):
    # Letters by themselves before a dot are initials, which end no sentence.
    names = {tuple(name): i for i, name in enumerate(dict.fromkeys(map(tuple, names)))}
    text = " ".join({"a": "aa", "b": "bb", "c": "cc", "x": "xx"}.get(w, w) for w in words)
    names = {tuple(unit * 2 for unit in name): i for name, i in names.items()}
    matcher = match_names([*names], resolve_exactly, exact=True)
    found = matcher.match([text.encode()])
    expected = [
        (node, i)
        for i, s in enumerate(sentences(text))
        for node in matches(s.replace(".", "").split(), names)
    ]
    assert [*zip(found.nodes.tolist(), found.sentences.tolist(), strict=True)] == expected


@given(st.text(st.sampled_from("aB1-_. é\u0301\u00ad東京ﬁ→Ⅳ\u200b\u00a0。"), max_size=20))
def test_names_are_split_as_texts_are(text):
    words = split_exactly(text)
    assert [word for piece in text.split() for word in split_exactly(piece)] == words
    if words:
        matcher = match_names([words], resolve_exactly, exact=True)
        one_sentence = text.replace(".", " ").replace("。", " ")
        assert 0 in matcher.match([one_sentence.encode()]).nodes


def test_exact_words_keep_case_and_lose_what_cannot_be_seen():
    assert exact_words("Caf\u00ade\u0301→IV東京Ⅳ") == ["Café", "IV", "東", "京", "IV"]


def test_names_of_terms_that_come_later_are_found(tmp_path):
    c = made_of(tmp_path / "c", ["one two"])
    nodes = read_names(c, ["three", "two"])
    assert nodes.term_numbers(c).tolist() == [-1, 1]
    with Writer(tmp_path / "c") as writer:
        writer.add([Document("new", text="three two one")])
    c = open_snapshot(tmp_path / "c")
    assert nodes.find(c, "three one two").tolist() == [0, 1]
    assert nodes.term_numbers(c).tolist() == [2, 1]


def test_no_names(papers):
    for names in ([], ["", "  "]):
        with pytest.raises(UsageError, match="no names"):
            read_names(papers, names)
    with pytest.raises(UsageError, match="2 names, and words"):
        read_names(papers, ["--", "..."])
    with pytest.raises(UsageError, match="not the text 'wing'"):
        read_names(papers, "wing")
    with pytest.raises(UsageError, match="not 7"):
        read_names(papers, ["wing", 7])
    with pytest.raises(UsageError, match="a list of texts, not 7"):
        read_names(papers, 7)


# Extractors


def capitals(text):
    return re.findall(r"\b[A-Z][A-Z0-9]+\b", text)


def test_an_extractor_gives_names_the_most_frequent_first(papers):
    nodes = extract_nodes(
        papers, lambda text: [*capitals(text), "", " ", "--"] + ["wing"] * ("wing" in text)
    )
    assert nodes.texts == ("CAT", "TP53", "wing")
    assert (nodes.left_out, nodes.merged) == (("--",), ())
    assert nodes.kind == EXACT
    keys, bounds, found, where, within = nodes.heard
    assert keys.tolist() == sorted(key_of(text.encode()) for text in contents())
    row = keys.tolist().index(key_of(contents()[0].encode()))
    assert found[bounds[row] : bounds[row + 1]].tolist() == [0, 1, 0]
    assert where[bounds[row] : bounds[row + 1]].tolist() == [0, 1, 2]
    assert within == "sentence"


def contents():
    return ["The CAT gene\n\n" + PAPERS[0].text, *(d.text for d in PAPERS[1:])]


def test_what_an_extractor_finds_twice_is_said_once(papers):
    found = ["TNF-a", " TNF-a", "TNF a", "TNF-a ", "TNF a", "TNF/a", "?", "? "]

    def extract(text):
        return found + ["rare one", "rare-one"] * ("CAT" in text)

    nodes = extract_nodes(papers, extract, within="document")
    assert nodes.texts == ("TNF-a", "rare one")
    assert nodes.merged == (("TNF a", "TNF-a"), ("TNF/a", "TNF-a"), ("rare-one", "rare one"))
    assert nodes.left_out == ("?",)
    # Of what is no node nothing is said.
    nodes = extract_nodes(papers, extract, within="document", min_df=2)
    assert nodes.texts == ("TNF-a",)
    assert nodes.merged == (("TNF a", "TNF-a"), ("TNF/a", "TNF-a"))


def test_an_extractor_of_documents_gets_whole_texts(papers):
    given_texts = []
    nodes = extract_nodes(papers, lambda text: given_texts.append(text) or ["x"], within="document")
    assert given_texts == contents()
    assert nodes.heard.sentences.tolist() == [0] * 4


def test_names_in_too_few_documents_are_no_nodes(papers):
    def extract(text):
        return [word for word in ("gene", "wing", "flow", "heat") if word in text.lower()]

    nodes = extract_nodes(papers, extract, min_df=2)
    assert nodes.texts == ("wing", "flow")
    rows = nodes.heard.bounds
    assert sorted(np.diff(rows).tolist()) == [0, 0, 2, 3]
    with pytest.raises(UsageError, match="lower min_df"):
        extract_nodes(papers, extract, min_df=3)


@pytest.mark.parametrize(
    ("extract", "said"),
    [
        (lambda text: text, "gave 'The CAT gene"),
        (lambda text: [1], r"gave \[1\]"),
        (lambda text: None, "failed.*TypeError"),
        (lambda text: 1 / 0, "failed.*ZeroDivisionError"),
        (lambda text: (int(word) for word in text.split()), "failed.*ValueError"),
    ],
)
def test_a_broken_extractor_is_named_with_the_document(papers, extract, said):
    with pytest.raises(UsageError, match=said) as error:
        extract_nodes(papers, extract)
    assert "'a'" in str(error.value)


def test_an_extractor_that_finds_nothing(papers, tmp_path):
    with pytest.raises(UsageError, match="no name in 4 documents"):
        extract_nodes(papers, lambda text: [])
    create(tmp_path / "empty")
    with pytest.raises(UsageError, match="no documents"):
        extract_nodes(open_snapshot(tmp_path / "empty"), capitals)
    with pytest.raises(UsageError, match="'page'"):
        extract_nodes(papers, capitals, within="page")
