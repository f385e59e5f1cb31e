"""Cards as earlier versions wrote them are read."""

from __future__ import annotations

import numpy as np
import pytest
from framed_writer import FramedWriter, SixteenWriter
from plain_model import expected, state

from likewise.collection.arrays import Memory
from likewise.collection.creating import build
from likewise.collection.documents import decompress
from likewise.collection.framed_cards import AT_ONCE_BEFORE, FramedCards
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.records import Document

MORE = [
    Document("a", "Title", "text", {"long": "x" * 300, "year": 1}),
    Document("b", "", "text " * 100, {"list": ["x", "y"]}),
    Document("c", "é" * 50),
    Document("e"),
]


def written(documents, writer=FramedWriter):
    out = Memory()
    frames = writer(out)
    frames.append(documents)
    frames.close()
    return out["cards"], out["cards.offsets"]


def stored(documents):
    return FramedCards(*written(documents), len(documents), "the file", 4)


def titled(n):
    return [Document(str(i), f"title {i}", fields={"n": i}) for i in range(n)]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("writer", [FramedWriter, SixteenWriter])
def test_collections_with_frames_are_read_and_added_to(folder, monkeypatch, writer, merged):
    with monkeypatch.context() as patch:
        patch.setattr("likewise.collection.build.CardsWriter", writer)
        build(folder, [*titled(40), *MORE[:2]])
        [segment] = open_snapshot(folder).segments
        assert isinstance(segment.cards, FramedCards)
    assert state(open_snapshot(folder)) == expected([*titled(40), *MORE[:2]])
    with Writer(folder) as writing:
        writing.add(MORE[2:])
        if merged:
            writing.merge()
    snapshot = open_snapshot(folder)
    assert any(isinstance(one.cards, FramedCards) for one in snapshot.segments) != merged
    assert state(snapshot) == expected([*titled(40), *MORE])


@pytest.mark.parametrize("noted", [0, -1, "4", 2.0])
def test_no_number_of_cards_to_a_frame(folder, monkeypatch, noted):
    monkeypatch.setattr("likewise.collection.build.CardsWriter", FramedWriter)
    build(folder, titled(3))
    [segment] = open_snapshot(folder).segments
    segment.packs[0].meta["cards.at_once"] = noted
    with pytest.raises(DamagedError, match=rf"cards are {noted!r} to a frame"):
        _ = segment.cards


def test_each_frame_is_read_once_a_call(monkeypatch):
    cards, read = stored(titled(100)), []
    monkeypatch.setattr(
        "likewise.collection.framed_cards.decompress",
        lambda frame: read.append(bytes(frame)) or decompress(frame),
    )
    docs = [0, 99, 50, 1, 98, 51] * 2
    assert [card.title for card in cards.take(docs)] == [f"title {doc}" for doc in docs]
    assert len(read) == len({*read}) == 3


def test_frames_of_as_many_as_a_segment_says():
    documents = titled(50)
    out = written(documents, SixteenWriter)
    cards = FramedCards(*out, 50, "the file", AT_ONCE_BEFORE)
    assert [card.title for card in cards.take(range(50))] == [d.title for d in documents]
    assert [*cards.titles()] == [(i, d.title.encode()) for i, d in enumerate(documents)]
    with pytest.raises(DamagedError, match="the file: cards: 16 in a frame of 4"):
        FramedCards(*out, 50, "the file", 4).take([0])


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 16, 33])
def test_frames_of_four(n):
    documents = titled(n)
    cards = stored(documents)
    assert [cards.take([doc])[0].title for doc in range(n)] == [d.title for d in documents]
    assert cards.take([]) == []


@pytest.mark.parametrize("like", ["],[", 'true],["', "]", '"],["', '\\"],[', "]]"])
def test_texts_that_look_like_the_end_of_a_card(like):
    documents = [
        *(Document("a", like), Document("b", "", like), Document("c", like, fields={"x": like})),
        Document("d", "", like, {"x": [like, like], like: 1}),
        *titled(30),
    ]
    found = stored(documents).take(list(range(34)))
    assert [card.title or card.lead for card in found] == [d.title or d.text for d in documents]
    assert [card.fields for card in found] == [d.fields for d in documents]


def test_every_flipped_bit_is_found_or_harmless():
    documents = titled(8)
    (data, offsets), right = written(documents), stored(documents).take(range(8))
    n_found = 0
    for bit in range(8 * len(data)):
        data[bit // 8] ^= 1 << bit % 8
        for doc in (0, 3, 4, 7):
            try:
                assert FramedCards(data, offsets, 8, "the file", 4).take([doc]) == [right[doc]]
            except DamagedError as error:
                n_found += "the file: cards: " in str(error)
        data[bit // 8] ^= 1 << bit % 8
    # Each bit is in one of the two frames, of which two documents were asked for.
    assert n_found > 2 * 7 * len(data)


def test_a_frame_of_fewer_cards():
    data, ends = written([Document(str(i)) for i in range(6)])
    last = data[int(ends[1]) :]
    offsets = np.array([0, len(last)], np.uint32)
    assert len(FramedCards(last, offsets, 2, "the file", 4).take(range(2))) == 2
    for n_docs in (1, 3, 4):
        with pytest.raises(DamagedError, match=f"the file: cards: 2 in a frame of {n_docs}"):
            FramedCards(last, offsets, n_docs, "the file", 4).take([0])
