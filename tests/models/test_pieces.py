"""Pieces of documents: what is cut, what is dealt out, and what is left out."""

import numpy as np
import pytest
from plain_axes import PLAIN, collection_of

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.models.bags import Vocabulary
from likewise.models.pieces import deal, read_pieces, room_for
from likewise.models.weighting import Scale
from likewise.records import Document
from likewise.text.analysis import Analysis

ROOM = 1 << 20


def scale_of(collection, weighting="tfidf"):
    terms = np.arange(collection.n_terms)
    doc_freqs, _ = collection.frequencies(terms)
    return Scale(Vocabulary(terms, doc_freqs, collection.n_docs), weighting)


def words_of(collection, pieces, doc):
    """The words of each piece of a document, by their terms."""
    found = [[] for _ in range(pieces.sizes[doc])]
    for j in range(pieces.bounds[doc], pieces.bounds[doc + 1]):
        [word] = collection.terms(pieces.rows[j : j + 1])
        for piece in pieces.pieces[pieces.first[j] : pieces.first[j + 1]]:
            found[piece].append(word)
    return found


@pytest.fixture
def plain(tmp_path):
    texts = [" ".join(f"w{i}" for i in range(11)), "w1 w2 aa aa aa", "w3 w4 bb w3 w4 cc", "one", ""]
    return collection_of(texts, tmp_path / "lw")


def test_pieces_are_runs_of_positions(plain):
    pieces = read_pieces(plain, plain.live_docs(), scale_of(plain), memory=ROOM, run=4)
    assert pieces.n_docs == 3
    runs = [set(piece) for piece in words_of(plain, pieces, 0)]
    assert runs == [{f"w{i}" for i in part} for part in (range(4), range(4, 8), range(8, 11))]


def test_a_document_of_few_pieces_is_cut_into_words(plain):
    pieces = read_pieces(plain, plain.live_docs(), scale_of(plain), memory=ROOM, run=4)
    assert sorted(words_of(plain, pieces, 1)) == [["aa"], ["aa"], ["aa"], ["w1"], ["w2"]]


def test_a_title_is_a_piece_and_its_weight_adds_no_words(tmp_path):
    documents = [Document("a", "wing tip", "flow heat flow heat"), Document("b", "", "xx yy")]
    analysis = Analysis(stemmer="none", stop="none", title_weight=3)
    build(tmp_path / "lw", documents, analysis=analysis)
    collection = open_snapshot(tmp_path / "lw")
    pieces = read_pieces(collection, np.arange(1), scale_of(collection), memory=ROOM, run=2)
    assert [sorted(piece) for piece in words_of(collection, pieces, 0)] == [
        ["tip", "wing"],
        *[["flow", "heat"]] * 2,
    ]


def test_without_positions_words_are_pieces(tmp_path):
    documents = [Document(str(i), "", f"aa bb cc d{i}") for i in range(3)]
    analysis = Analysis(stemmer="none", stop="none", positions=False)
    build(tmp_path / "lw", documents, analysis=analysis)
    collection = open_snapshot(tmp_path / "lw")
    assert not collection.has_positions
    scale = scale_of(collection)
    scale.factors[:] = 1
    pieces = read_pieces(collection, np.arange(3), scale, memory=ROOM, run=1)
    assert sorted(words_of(collection, pieces, 2)) == [["aa"], ["bb"], ["cc"], ["d2"]]


def test_words_without_weight_are_left_out(tmp_path):
    collection = collection_of(["the aa bb", "the cc dd", "the"], tmp_path / "lw")
    pieces = read_pieces(collection, np.arange(3), scale_of(collection), memory=ROOM)
    assert sorted(collection.terms(pieces.rows)) == ["aa", "bb", "cc", "dd"]
    assert pieces.n_docs == 2


def test_documents_are_drawn_where_not_all_have_room(topical):
    scale = scale_of(topical)
    every, some, none = (
        read_pieces(topical, topical.live_docs(), scale, memory=memory, seed=3)
        for memory in (ROOM, ROOM // 8, 0)
    )
    assert every.n_docs == 400
    assert 0 < some.n_docs < 400
    assert none.n_docs == 0
    assert 16 * len(some.pieces) <= ROOM // 8


def test_segments_are_read_as_one(tmp_path):
    documents = [Document(str(i), "", f"w{i % 3} w{i % 5} w{i % 7} uu") for i in range(30)]
    build(tmp_path / "one", documents, analysis=PLAIN)
    build(tmp_path / "two", documents[:10], analysis=PLAIN)
    with Writer(tmp_path / "two") as writer:
        writer.add(documents[10:])
    one, two = open_snapshot(tmp_path / "one"), open_snapshot(tmp_path / "two")
    assert len(two.segments) == 2
    scale = scale_of(one)
    for a, b in zip(
        *(read_pieces(c, c.live_docs(), scale, memory=ROOM, run=1) for c in (one, two)),
        strict=True,
    ):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_views_are_the_document_dealt_out(topical, weighting):
    scale = scale_of(topical, weighting)
    pieces = read_pieces(topical, topical.live_docs(), scale, memory=ROOM, run=8)
    docs = np.array([7, 3, 250])
    views = room_for(pieces, docs)
    deal(pieces, docs, (0, 3), (1, 2), (scale.factors, scale.norm), views)
    taken = []
    for i, doc in enumerate(docs):
        words = words_of(topical, pieces, doc)
        parts = []
        for view in (i, 3 + i):
            span = slice(views.starts[view], views.starts[view] + views.sizes[view])
            assert (views.owners[span] == view).all()
            assert np.square(views.weights[span]).sum() == pytest.approx(1, rel=1e-5)
            names = topical.terms(views.rows[span])
            parts.append(dict(zip(names, views.weights[span].tolist(), strict=True)))
        # Each piece is whole in one of the views, and the views have as many of them.
        owners = [[set(piece) <= set(part) for part in parts] for piece in words]
        assert all(any(one) for one in owners)
        assert set(parts[0]) | set(parts[1]) == {word for piece in words for word in piece}
        taken.append(parts)
        if weighting == "tfidf":
            check_weights(topical, scale, words, parts)
    assert taken[0] != taken[1]


def check_weights(collection, scale, words, parts):
    """Some dealing of the pieces, half of them to each view, gives these weights."""
    from itertools import combinations

    n = len(words)
    expected = []
    for size in {n // 2, n - n // 2}:
        for chosen in combinations(range(n), size):
            bag = [word for p in chosen for word in words[p]]
            names = sorted(set(bag))
            rows = collection.find_terms(names)
            weights = np.array([1 + np.log(bag.count(name)) for name in names])
            weights = weights * scale.factors[rows]
            expected.append(dict(zip(names, weights / np.linalg.norm(weights), strict=True)))
    for part in parts:
        assert any(
            part.keys() == one.keys() and all(abs(part[w] - one[w]) < 1e-5 for w in one)
            for one in expected
        )


def test_draws_depend_on_seed_epoch_and_document_alone(topical):
    scale = scale_of(topical)
    pieces = read_pieces(topical, topical.live_docs(), scale, memory=ROOM)

    def first_half(docs, i, draw):
        views = room_for(pieces, docs)
        for part in ((0, 2), (2, len(docs))):
            deal(pieces, docs, part, draw, (scale.factors, scale.norm), views)
        return views.rows[views.starts[i] : views.starts[i] + views.sizes[i]].tolist()

    drawn = first_half(np.array([5, 9, 2]), 0, (0, 1))
    assert drawn == first_half(np.array([8, 7, 5, 1]), 2, (0, 1))
    assert drawn != first_half(np.array([5, 9, 2]), 0, (0, 2))
    assert drawn != first_half(np.array([5, 9, 2]), 0, (1, 1))
