from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.cards import (
    AT_ONCE,
    AT_ONCE_BEFORE,
    LEAD,
    NOTED,
    Card,
    Cards,
    CardsWriter,
)
from likewise.collection.creating import build
from likewise.collection.documents import decompress, plain
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.records import Document

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**63, 2**70)
    | st.floats()
    | st.text(max_size=300)
    | st.text(st.characters(categories=["Cs", "Lu"]), max_size=3)
    | st.sampled_from([datetime.date(2024, 5, 6), np.float32(0.5), 10**999, b"bytes"]),
    lambda inner: (
        st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
TEXT = (
    st.text(st.characters(), max_size=20)
    | st.text(max_size=200)
    | st.text('tru[]{}",\\', max_size=8)
)
DOCUMENTS = st.lists(
    st.builds(Document, TEXT, TEXT, TEXT, st.dictionaries(TEXT, VALUES, max_size=3)), max_size=20
)


def stored(documents, step=7):
    out = written(documents, step)
    return Cards(out["cards"], out["cards.offsets"], len(documents), "the file")


def written(documents, step=7):
    out = Memory()
    writer = CardsWriter(out)
    for first in range(0, len(documents), step):
        writer.append(documents[first : first + step])
    writer.close()
    assert writer.size == len(out["cards"]) == out["cards.offsets"][-1]
    return out


def read(cards, doc):
    [card] = cards.take([doc])
    return card


@settings(max_examples=50)
@given(DOCUMENTS)
def test_cards_are_what_documents_have(documents):
    cards = stored(documents)
    for doc, document in enumerate(documents):
        as_read = Document(**plain(document._asdict()))
        card = read(cards, doc)
        assert card.title == as_read.title
        assert card.lead == ("" if document.title else plain(document.text[:LEAD]))
        if card.complete:
            assert card.fields == as_read.fields
        else:
            assert card.fields.items() <= as_read.fields.items()


def test_what_is_long_is_read_from_the_document():
    shown = {"short": "x" * 256, "list": list(range(16)), "none": None, "number": 2.5}
    assert read(stored([Document("a", fields=shown)]), 0) == Card("", "", shown, True)
    for value in ("x" * 257, list(range(17)), ["x" * 257], {}, [[]], [{"a": 1}], np.arange(3)):
        card = read(stored([Document("a", "title", fields=shown | {"more": value})]), 0)
        assert card == Card("title", "", shown, False)


def test_leads_stand_for_titles():
    documents = [
        Document("a", "title", "text"),
        Document("b", "", "text"),
        Document("c", "", "é" * 200),
        Document("d", "", "\ud800" + "x" * LEAD),
        Document("e"),
    ]
    cards = stored(documents)
    found = [read(cards, doc)[:2] for doc in range(5)]
    assert found[:3] == [("title", ""), ("", "text"), ("", "é" * LEAD)]
    assert found[3:] == [("", "?" + "x" * (LEAD - 1)), ("", "")]


@pytest.mark.parametrize("like", ["],[", 'true],["', "]", '"],["', '\\"],[', "]]"])
def test_texts_that_look_like_the_end_of_a_card(like):
    documents = [
        *(Document("a", like), Document("b", "", like), Document("c", like, fields={"x": like})),
        Document("d", "", like, {"x": [like, like], like: 1}),
        *(Document(str(i), f"title {i}") for i in range(30)),
    ]
    cards = stored(documents)
    found = cards.take(list(range(34)))
    assert [card.title or card.lead for card in found] == [d.title or d.text for d in documents]
    assert [card.fields for card in found] == [d.fields for d in documents]


def test_each_frame_is_read_once_a_call(monkeypatch):
    cards, read = stored([Document(str(i), f"title {i}") for i in range(100)]), []
    monkeypatch.setattr(
        "likewise.collection.cards.decompress",
        lambda frame: read.append(bytes(frame)) or decompress(frame),
    )
    docs = [0, 99, 50, 1, 98, 51] * 2
    assert [card.title for card in cards.take(docs)] == [f"title {doc}" for doc in docs]
    assert len(read) == len({*read}) == 3


def test_frames_of_as_many_as_a_segment_says(monkeypatch):
    documents = [Document(str(i), f"title {i}") for i in range(50)]
    monkeypatch.setattr("likewise.collection.cards.AT_ONCE", AT_ONCE_BEFORE)
    out = written(documents)
    assert out.meta == {NOTED: AT_ONCE_BEFORE}
    cards = Cards(out["cards"], out["cards.offsets"], 50, "the file", AT_ONCE_BEFORE)
    assert [card.title for card in cards.take(range(50))] == [d.title for d in documents]
    assert [*cards.titles()] == [(i, d.title.encode()) for i, d in enumerate(documents)]
    with pytest.raises(DamagedError, match="the file: cards: 16 in a frame of 4"):
        Cards(out["cards"], out["cards.offsets"], 50, "the file").take([0])


def test_cards_of_several_documents():
    cards = stored([Document(str(i), f"title {i}") for i in range(40)])
    docs = [39, 0, 17, 0, 16, 39, 15]
    assert [card.title for card in cards.take(docs)] == [f"title {doc}" for doc in docs]
    assert cards.take([]) == []


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 16, 33])
def test_frames_of_four(n):
    documents = [Document(str(i), f"title {i}") for i in range(n)]
    for step in (1, 5, 100):
        cards = stored(documents, step)
        assert len(written(documents, step)["cards.offsets"]) == -(-n // AT_ONCE) + 1
        assert [read(cards, doc).title for doc in range(n)] == [d.title for d in documents]


def test_every_flipped_bit_is_found_or_harmless():
    documents = [Document(str(i), f"title {i}", fields={"n": i}) for i in range(8)]
    out, right = written(documents), stored(documents).take(range(8))
    data, offsets = out["cards"], out["cards.offsets"]
    n_found = 0
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        for doc in (0, 3, 4, 7):
            try:
                assert read(Cards(data, offsets, 8, "the file"), doc) == right[doc]
            except DamagedError as error:
                n_found += "the file: cards: " in str(error)
        data[bit // 8] ^= 1 << bit % 8
    # Each bit is in one of the two frames, of which two documents were asked for.
    assert n_found > 2 * 7 * len(data)


def test_a_frame_of_fewer_cards():
    out = written([Document(str(i)) for i in range(6)])
    last = out["cards"][int(out["cards.offsets"][1]) :]
    offsets = np.array([0, len(last)], np.uint32)
    assert len(Cards(last, offsets, 2, "the file").take(range(2))) == 2
    for n_docs in (1, 3, 4):
        with pytest.raises(DamagedError, match=f"the file: cards: 2 in a frame of {n_docs}"):
            Cards(last, offsets, n_docs, "the file").take([0])


ODD = [
    Document("a", "Title", "text", {"long": "x" * 300, "n": 1}),
    Document("b", "", "text " * 100, {"list": [1, "x", None], "deep": {"a": {"b": [1]}}}),
    Document("c", "\ud800", "", {"\ud800": 2**70, "inf": float("inf"), "tuple": (1, 2)}),
    Document("d", "T" * 5000, "", {"date": datetime.date(2024, 5, 6), 5: np.int64(3)}),
    Document("e"),
]


@pytest.mark.parametrize("merged", [False, True])
def test_cards_of_a_collection_are_those_of_its_documents(folder, merged):
    build(folder, ODD[:2])
    with Writer(folder) as writer:
        writer.add([*ODD[2:], Document("gone", "gone")])
        writer.delete(["gone"])
        if merged:
            writer.merge()
    snapshot = open_snapshot(folder)
    docs = snapshot.find_docs(["e", "a", "c", "d", "b", "a"])
    for doc, card in zip(docs.tolist(), snapshot.cards(docs), strict=True):
        document = snapshot.document(doc)
        assert (card.title, card.fields) == (document.title, document.fields)
        assert card.lead == ("" if document.title else document.text[:LEAD])
    assert snapshot.cards(np.empty(0, np.int64)) == []


def test_nesting_without_end(folder):
    value = []
    for _ in range(900):
        value = [value]
    build(folder, [Document("a", fields={"deep": value, "list": [value]})])
    snapshot = open_snapshot(folder)
    [card] = snapshot.cards(np.array([0]))
    assert card.fields == snapshot.document(0).fields
