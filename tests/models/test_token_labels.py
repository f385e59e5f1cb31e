import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shelf import BREAD, SPACE, make_collection, make_space, make_topics, make_vocabulary

import likewise as lw
from likewise.errors import UsageError
from likewise.models.subspace import Subspace
from likewise.models.token_labels import (
    Kind,
    Piece,
    Route,
    colour,
    decompose_text,
    to_ansi,
)
from likewise.show.text import harmless
from likewise.text.analysis import Analysis, Analyzer

ANALYZER = Analyzer(Analysis())
ROUTES = {
    "wing": Route(0.9, 0.05, 0.05, 3),
    "flutter": Route(0.1, 0.8, 0.1, 1),
    "paper": Route(0.1, 0.2, 0.7, 0),
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return make_collection(tmp_path_factory.mktemp("shelf"))


def kinds(pieces):
    return {piece.text: piece.kind for piece in pieces if piece.kind}


# Texts


@given(st.text(max_size=80))
def test_pieces_are_the_text(text):
    assert "".join(piece.text for piece in colour(text, ANALYZER, ROUTES)) == text


def test_words_have_the_kind_of_their_largest_route():
    pieces = list(colour("The wings FLUTTER, on paper.", ANALYZER, ROUTES))
    assert kinds(pieces) == {
        "The": Kind.STOP,
        "wings": Kind.TOPIC,
        "FLUTTER": Kind.OWN,
        "on": Kind.STOP,
        "paper": Kind.BACKGROUND,
    }
    assert pieces[2].route == ROUTES["wing"]
    assert [piece.text for piece in pieces if piece.kind is None] == [" ", " ", ", ", " ", "."]


def test_pairs_of_characters_are_coloured_one_by_one():
    routes = {"漢字": ROUTES["wing"], "字典": ROUTES["flutter"], "典籍": ROUTES["paper"]}
    assert kinds(colour("漢字典籍", ANALYZER, routes)) == {
        "漢": Kind.TOPIC,
        "字": Kind.OWN,
        "典籍": Kind.BACKGROUND,
    }


def test_a_word_of_several_terms_takes_their_mean():
    routes = {"fr": Route(1, 0, 0, 5), "12": Route(0, 0.4, 0.6, 1)}
    analyzer = Analyzer(Analysis(min_length=1))
    [piece] = colour("fr⑿", analyzer, routes)
    assert piece.route == Route(0.5, 0.2, 0.3, 5)


# Terminals


def test_terminal_colours():
    pieces = tuple(colour("The wings flutter on paper", ANALYZER, ROUTES))
    assert to_ansi(pieces) == (
        "\x1b[2mThe\x1b[0m \x1b[34mwings\x1b[0m \x1b[1;33mflutter\x1b[0m \x1b[2mon\x1b[0m paper"
    )


@given(st.text(max_size=80))
@example("\x1b[31mred\x1b]0;title\x07 \x9b1m\r\nover\rwritten \u202e")
def test_a_text_cannot_steer_the_terminal(text):
    shown = to_ansi(tuple(colour(text, ANALYZER, ROUTES)))
    assert re.sub(r"\x1b\[(0|2|34|1;33)m", "", shown) == harmless(text)
    controls = {char for char in harmless(text) if unicodedata.category(char) == "Cc"}
    assert controls <= {"\n", "\t"}
    assert not set(harmless(text)) & set("\x1b\x9b\x07\r\u202e\x00")


def test_plain_text_stays_as_it_is():
    text = "One line,\n\ta tab, a wide\u3000space, Ünïcödé, می\u200cخواهم 👩\u200d🚀"
    assert harmless(text) == text
    assert to_ansi([Piece(text)]) == text


# Decompositions


def test_words_go_where_they_come_from(shelf):
    found = decompose_text(make_topics(shelf), shelf, SPACE + " Zebras! Zebras, the zebra.")
    by_kind = kinds(found.pieces)
    assert by_kind["satellites"] == by_kind["orbit"] == Kind.TOPIC
    assert by_kind["Zebras"] == by_kind["zebra"] == Kind.OWN
    assert by_kind["the"] == Kind.STOP
    assert (found.own[0].term, found.own[0].word) == ("zebra", "zebras")
    assert (found.topics[0].number, found.routes["orbit"].number) == (0, 0)
    assert "satellite" in found.topics[0].words
    assert found.text == SPACE + " Zebras! Zebras, the zebra."


@pytest.mark.parametrize("text", [SPACE, BREAD, "bread in orbit", "zebra", "planet zebra zebra"])
def test_shares_add_up_to_one(shelf, text):
    found = decompose_text(make_topics(shelf), shelf, text)
    assert sum(found.shares) == pytest.approx(1, abs=1e-5)
    for route in found.routes.values():
        assert sum(route[:3]) == pytest.approx(1, abs=1e-5)
        assert min(route[:3]) >= 0
    # What the words say one by one is what is said of the whole.
    total = sum(found.counts.values())
    own = sum(found.routes[term].own * count for term, count in found.counts.items()) / total
    assert own == pytest.approx(found.shares[1], abs=1e-4)
    assert sum(topic.share for topic in found.topics) == pytest.approx(found.shares[0], abs=1e-5)


def test_routes_follow_the_equation(shelf):
    model = make_topics(shelf)
    found = decompose_text(model, shelf, SPACE)
    row = int(np.searchsorted(model.vocabulary.terms, shelf.find_terms(["orbit"])[0]))
    theta = {topic.number: topic.share for topic in found.topics}
    topical = sum(share * model.word_topics[row, k] for k, share in theta.items())
    behind = found.shares[2] * model.background[row]
    route = found.routes["orbit"]
    assert route.topic / route.background == pytest.approx(topical / behind, rel=1e-3)


def test_a_term_the_model_does_not_know_is_own(shelf):
    for switch in (True, False):
        model = make_topics(shelf, left_out=["orbit"], switch=switch)
        found = decompose_text(model, shelf, SPACE)
        assert found.routes["orbit"][:3] == (0, 1, 0)
        assert found.routes["satellit"].kind is Kind.TOPIC


def test_labels_and_number_of_words(shelf):
    found = decompose_text(make_topics(shelf, labels=("sky", "food")), shelf, BREAD, words=1)
    assert found.topics[0].label == "food"
    assert len(found.own) <= 1


def test_a_space_has_projections_and_residuals(shelf):
    found = decompose_text(make_space(shelf), shelf, BREAD + " Planet planet planet planet! Yak.")
    assert found.routes["yak"].kind is Kind.OWN
    assert found.routes["bread"].kind is Kind.TOPIC
    assert found.routes["planet"].kind is Kind.OWN
    assert all(word.weight > 0 for word in found.own)
    # The document stands on the negative side of the first axis.
    parts = {topic.number: topic for topic in found.topics}
    assert "bread" in parts[0].words
    assert sum(topic.share for topic in found.topics) == pytest.approx(found.shares[0], abs=1e-5)


def test_a_word_of_every_document_has_no_weight_in_a_space(tmp_path):
    notes = [{"id": str(i), "text": f"remark about wing{i} wing"} for i in range(3)]
    snapshot = lw.index(notes, to=tmp_path / "c").snapshot
    basis = np.zeros((snapshot.n_terms, 1), np.float32)
    basis[snapshot.find_terms(["wing0"])] = 1
    space = Subspace("line", make_vocabulary(snapshot), basis, np.ones(1))
    found = decompose_text(space, snapshot, "A remark about wing0, wing1")
    assert found.routes["remark"][:3] == (0, 0, 1)
    assert found.routes["wing0"][:3] == pytest.approx((1, 0, 0), abs=1e-5)
    assert found.routes["wing1"][:3] == pytest.approx((0, 1, 0), abs=1e-5)
    assert found.shares == pytest.approx((0.5, 0.5, 0))
    assert [(word.term, round(word.weight, 4)) for word in found.own] == [("wing1", 1.0)]


@pytest.mark.parametrize("text", ["", "the of and", "…!"])
def test_nothing_to_decompose(shelf, text):
    with pytest.raises(UsageError, match="no word to decompose"):
        decompose_text(make_topics(shelf), shelf, text)
