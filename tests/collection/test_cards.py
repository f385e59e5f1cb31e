from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.arrays import Memory
from likewise.collection.cards import LEAD, Card, Cards, CardsWriter
from likewise.collection.creating import build
from likewise.collection.documents import plain
from likewise.collection.snapshot import open_snapshot
from likewise.collection.symbols import CodedTexts
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
    return opened(written(documents, step))


def opened(out):
    names = ("cards", "cards.offsets", "cards.runs", "cards.symbols", "cards.sizes")
    return Cards(CodedTexts(*(out[name] for name in names)), "the file")


def written(documents, step=7):
    out = Memory()
    writer = CardsWriter(out)
    for first in range(0, len(documents), step):
        writer.append(documents[first : first + step])
        # What waits to be coded is counted as if it took the most that it may.
        most = writer.size
    writer.close()
    assert writer.size == len(out["cards"]) == out["cards.offsets"][-1]
    assert not documents or writer.size <= most
    return out


def many(n):
    """Documents that are worth a table of symbols."""
    return [
        Document(str(i), f"The title of document {i}", fields={"category": f"kind {i % 7}", "n": i})
        for i in range(n)
    ]


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


def test_cards_of_several_documents():
    cards = stored([Document(str(i), f"title {i}") for i in range(40)])
    docs = [39, 0, 17, 0, 16, 39, 15]
    assert [card.title for card in cards.take(docs)] == [f"title {doc}" for doc in docs]
    assert cards.take([]) == []


@pytest.mark.parametrize("documents", [many(8), many(500)], ids=["as they are", "by symbols"])
def test_every_flipped_bit_is_found(documents):
    out = written(documents)
    right = opened(out).take(range(8))
    offsets, data = out["cards.offsets"], out["cards"]
    assert (max(out["cards.sizes"]) > 1) == (len(documents) > 8)
    for bit in range(8 * int(offsets[8])):
        data[bit // 8] ^= 1 << bit % 8
        mine = int(np.searchsorted(offsets, bit // 8, "right")) - 1
        for doc in {mine, 0, 7}:
            if doc == mine:
                with pytest.raises(DamagedError, match="the file: cards: a card was altered"):
                    read(opened(out), doc)
            else:
                assert read(opened(out), doc) == right[doc]
        data[bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 20])
def test_cards_in_runs(n, monkeypatch):
    monkeypatch.setattr("likewise.collection.cards._RUN", 8)
    monkeypatch.setattr("likewise.collection.symbols._FEW_BYTES", 100)
    documents = many(n)
    for step in (1, 5, 100):
        out = written(documents, step)
        assert out["cards.runs"].tolist() == [*range(0, n, 8)]
        assert [card.title for card in opened(out).take(range(n))] == [d.title for d in documents]


def test_long_cards_end_a_run(monkeypatch):
    monkeypatch.setattr("likewise.collection.cards._RUN_BYTES", 1000)
    documents = [Document("a", "x" * 1000), Document("b"), Document("c", "y" * 1000)]
    out = written([*documents, Document("d")])
    assert out["cards.runs"].tolist() == [0, 1, 3]
    assert [card.title for card in opened(out).take(range(4))] == [
        *(d.title for d in documents),
        "",
    ]


def test_titles_that_have_a_part(monkeypatch):
    monkeypatch.setattr("likewise.collection.cards._AT_ONCE", 16)
    documents = [Document(str(i), f'a "title" of {i}' if i % 20 else "é\\ n") for i in range(50)]
    cards = stored(documents)
    whole = [(i, d.title.encode()) for i, d in enumerate(documents)]
    assert [*cards.titles()] == [*cards.titles('"')] == [*cards.titles("É")] == whole
    assert [*cards.titles("Title")] == whole
    assert [*cards.titles("nothing has it")] == []
    assert [doc for doc, _ in cards.titles("of 48")] == [48, 49]


def test_altered_arrays_lead_nowhere():
    out = written(many(500))
    for name, value in [
        ("cards.offsets", 0),
        ("cards.offsets", 2**32 - 1),
        ("cards.runs", 3),
        ("cards.sizes", 0),
        ("cards.sizes", 255),
        ("cards.symbols", 34),
    ]:
        kept = out[name].copy()
        out[name][:] = value
        with pytest.raises(DamagedError, match="the file: cards: "):
            opened(out).take(range(3))
        out[name][:] = kept
    for name in ("cards", "cards.runs", "cards.symbols", "cards.sizes"):
        for n in (0, len(out[name]) - 1):
            cut_off = {**out._arrays, name: out[name][:n]}
            with pytest.raises(DamagedError, match="the file: cards: "):
                opened(cut_off).take(range(500))
    for doc in (-1, 500):
        with pytest.raises(DamagedError, match="the file: cards: "):
            opened(out).take([doc])
    assert opened(out).take([499])[0].title == "The title of document 499"


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
