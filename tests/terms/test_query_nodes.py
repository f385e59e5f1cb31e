"""Is what a text says shown in its words, and what is missing with the true reason?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.terms.catalogue import Stored
from likewise.terms.kinds import GraphSettings
from likewise.terms.nodes import Filters, choose_nodes, read_names
from likewise.terms.query_nodes import Unknown, find_unknown, spellings, spoken_words
from likewise.terms.related import TermGraph

from .counts_in_python import made_of

# whale in 4, sea in 3, cetacean in 2, squid in 1; 1851 in 3.
TEXTS = [
    "The whale and the sea in 1851",
    "Whales, cetaceans of the sea, 1851",
    "A cetacean is a whale. 1851",
    "Whales hunt squid in the sea",
]
UP_TO_THREE = Filters(min_df=2, max_df=0.75)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    return made_of(tmp_path_factory.mktemp("mentioning") / "c", TEXTS)


def stored_of(snapshot, filters):
    return Stored(snapshot, None, choose_nodes(snapshot, filters), GraphSettings(filters=filters))


def unknown(stored, text):
    return find_unknown(stored, text, stored.nodes.find(stored.collection, text))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("yeti", "in no document"),
        ("Squid", "too rare"),
        ("whales", "too frequent"),
        ("1851", "a number"),
        ("1999", "in no document"),
        ("the", "a stop word or too short"),
        ("X", "a stop word or too short"),
        ("x" * 65, "too long"),
        ("Köln", "in no document"),
    ],
)
def test_why_a_word_is_no_term(snapshot, word, reason):
    assert unknown(stored_of(snapshot, UP_TO_THREE), word) == (Unknown(word, reason),)
    assert unknown(stored_of(snapshot, UP_TO_THREE), "cetacean sea") == ()


def test_the_size_of_a_graph_leaves_words_out(snapshot):
    one = stored_of(snapshot, Filters(min_df=1, max_df=1, size=2))
    assert unknown(one, "whale sea cetaceans yeti") == (
        ("cetaceans", "not among the most frequent 2"),
        ("yeti", "in no document"),
    )
    numbers = stored_of(snapshot, Filters(min_df=1, max_df=1, numbers=True))
    assert unknown(numbers, "1851") == ()


def test_the_analysis_leaves_terms_out_as_well(tmp_path):
    snapshot = made_of(tmp_path / "c", TEXTS, min_df=2, max_df=0.75, numbers=False)
    one = stored_of(snapshot, Filters(min_df=1, max_df=1))
    assert unknown(one, "squid whale 1851") == (
        ("squid", "too rare"),
        ("whale", "too frequent"),
        ("1851", "a number"),
    )


def test_a_collection_outgrows_its_graph(tmp_path):
    made_of(tmp_path / "c", TEXTS)
    nodes = choose_nodes(open_snapshot(tmp_path / "c"), UP_TO_THREE)
    with Writer(tmp_path / "c") as writer:
        writer.add([Document(f"new{i}", text="Squids of the deep") for i in range(2)])
    grown = Stored(open_snapshot(tmp_path / "c"), None, nodes, GraphSettings(filters=UP_TO_THREE))
    assert unknown(grown, "squid") == (("squid", "new since the graph was made"),)


@pytest.mark.parametrize("exact", [False, True])
def test_words_that_are_no_name(snapshot, exact):
    nodes = read_names(snapshot, ["the whale", "sea"], exact=exact)
    one = Stored(snapshot, None, nodes, GraphSettings(names="a list"))
    assert unknown(one, "of the whale and the sea") == ()
    assert unknown(one, "Yeti, the whale") == (("Yeti", "not a name of the graph"),)
    assert unknown(one, "the whale and Whales") == (
        (("Whales", "not a name of the graph"),) if exact else ()
    )


def test_a_word_is_told_once(snapshot):
    one = stored_of(snapshot, UP_TO_THREE)
    assert [u.word for u in unknown(one, "Yeti, yetis and yeti AND The the YETI yetis")] == [
        "yetis",
        "and",
        "The",
    ]


def test_words_are_counted_letter_for_letter():
    text = "DNA, dna; naïve—Café DNA　東京都 x"
    assert spoken_words(text) == {
        "DNA": 2,
        "dna": 1,
        "naïve": 1,
        "Café": 1,
        "東京": 1,
        "京都": 1,
        "x": 1,
    }
    assert spoken_words("") == spoken_words("!?\x00") == {}


@given(st.text(max_size=60))
def test_every_term_of_a_text_has_a_word_that_gives_it(snapshot, text):
    analyzer = snapshot.analyzer
    found = spellings(snapshot, text)
    assert {*found} == {*analyzer.terms(text)}
    assert all(analyzer.terms(word) == [term] for term, word in found.items())


def test_what_was_typed_is_shown_as_typed(snapshot):
    one = TermGraph(stored_of(snapshot, Filters(min_df=1, max_df=1)))
    nodes = one.mentioned("squids CETACEAN").members.nodes
    assert {*one.names(nodes)} == {"squid", "cetacean"}
    assert {*one.names(nodes, said="squids CETACEAN")} == {"squids", "CETACEAN"}
    for typed in ("cetacean", "cetaceans", "Cetaceans"):
        around = one.neighbourhood(typed, 3)
        assert around.names[0] == typed
        near = one.nearest(typed, 10)
        assert {related.path[0] for related in near} == {typed}
        links = [link for related in near for link in related.through]
        [node] = one.mentioned(typed).members.nodes.tolist()
        assert {link.name for link in links if link.node == node} == {typed}
        # Others are as they are without it.
        others = [link for link in links if link.node != node]
        assert [link.name for link in others] == one.names([link.node for link in others])
        between = one.between("the Seas", f"Whales, {typed}", parts=20)
        assert {"Seas", "Whales", typed} <= {link.name for link in between.through}
        assert all(isinstance(link.node, int) for link in between.through)


def test_names_are_shown_as_they_were_given(snapshot):
    nodes = read_names(snapshot, ["Sea", "whale"])
    one = TermGraph(Stored(snapshot, None, nodes, GraphSettings(names="a list")))
    assert one.names(np.array([0, 1]), said="seas WHALES") == ["Sea", "whale"]
