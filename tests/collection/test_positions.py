from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_model import positions_of

from likewise.collection.creating import build
from likewise.collection.placing import place_again
from likewise.collection.positions import (
    GAP,
    Placed,
    Positions,
    all_positions,
    encode,
    find_positions,
)
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.text.analysis import Analysis, Analyzer
from likewise.text.table import StringTable

WORDS = ["running", "runs", "the", "café", "cafe", "C++", "中文字", "x", "→", "a.b", "Straße"]
TEXT = st.lists(st.sampled_from([*WORDS, "word " * 70, "\n\n", ". "]), max_size=12).map(" ".join)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), st.integers(1, 3), st.booleans())
def test_positions_are_those_of_the_words(texts, weight, fold):
    """Whatever the title's weight: what is decoded equals a plain count of words."""
    analyzer = Analyzer(Analysis(title_weight=weight, fold=fold))
    documents = [Document(str(i), *text) for i, text in enumerate(texts)]
    expected = [positions_of(document, analyzer) for document in documents]
    names = sorted({name for one in expected for name in one})
    table = StringTable()

    def known(terms):
        return table.intern(terms)

    placed = place_again(documents, analyzer, known, 0)
    numbers = {term.decode(): i for i, term in enumerate(table.strings.all())}
    asked = np.array([numbers[name] for name in names], np.int64)
    found = find_positions(placed, np.arange(len(documents)), asked)
    assert found is not None
    spans = found.bounds.tolist()
    for i, one in enumerate(expected):
        for j, name in enumerate(names):
            a, b = spans[i * len(names) + j : i * len(names) + j + 2]
            assert found.values[a:b].tolist() == one.get(name, [])
    whole = all_positions(placed, np.arange(len(documents)))
    assert whole is not None
    ends = np.cumsum([0, *whole.uses]).tolist()
    for i, one in enumerate(expected):
        span = range(whole.bounds[i], whole.bounds[i + 1])
        by_number = {whole.terms[j]: whole.positions[ends[j] : ends[j + 1]] for j in span}
        assert {k: v.tolist() for k, v in by_number.items()} == {
            numbers[name]: places for name, places in one.items()
        }


def test_no_phrase_crosses_the_title(folder):
    build(folder, [Document("a", "wing", "flutter wing"), Document("b", "", "wing flutter")])
    snapshot = open_snapshot(folder)
    found = snapshot.positions(np.arange(2), snapshot.find_terms(["wing", "flutter"]))
    assert found.values.tolist() == [0, GAP + 2, GAP + 1, 0, 1]
    assert found.bounds.tolist() == [0, 2, 3, 4, 5]


def test_no_documents_and_no_terms(folder):
    build(folder, [Document("a", text="wing")])
    snapshot = open_snapshot(folder)
    none = np.empty(0, np.int64)
    assert snapshot.positions(none, np.arange(1)).bounds.tolist() == [0]
    assert snapshot.positions(np.arange(1), none).bounds.tolist() == [0]
    assert snapshot.positions(np.arange(1), np.array([-1, 5])).bounds.tolist() == [0, 0, 0]


def test_stored_and_analysed_again_are_the_same(folder, tmp_path):
    """Also in one collection whose segments are of both kinds, in any order of documents."""
    documents = [
        Document(str(i), "the title" * (i % 2), f"alpha w{i} beta the alpha {i}") for i in range(9)
    ]
    build(folder, documents)
    build(tmp_path / "plain", documents, analysis=Analysis(positions=False))
    stored, again = open_snapshot(folder), open_snapshot(tmp_path / "plain")
    assert stored.segments[0].pack_of("positions") is not None
    assert again.segments[0].pack_of("positions") is None
    assert len(again.manifest.segments[0].packs) == 1
    docs, terms = np.array([8, 0, 3, 3, 5]), np.arange(stored.n_terms)[::-1]
    for left, right in zip(
        stored.positions(docs, terms), again.positions(docs, terms), strict=True
    ):
        assert left.tolist() == right.tolist()
    with Writer(tmp_path / "plain") as writer:
        writer.add([Document("more", "", "alpha beta")])
        assert all(len(entry.packs) == 1 for entry in writer.manifest.segments)
        writer.merge()
        assert [len(entry.packs) for entry in writer.manifest.segments] == [1]


def test_a_merge_joins_positions_and_does_not_analyse(folder, monkeypatch):
    build(folder, [Document("a", "wing", "flutter of wings"), Document("b", "", "heat")])
    with Writer(folder) as writer:
        writer.add([Document("c", "", "heat of a wing")])
        writer.delete(["b"])
        monkeypatch.setattr(Analyzer, "resolve_all", lambda *_: pytest.fail("analysed"))
        writer.merge()
        snapshot = writer.snapshot
        found = snapshot.positions(np.arange(2), snapshot.find_terms(["wing", "heat"]))
    assert found.values.tolist() == [0, GAP + 3, 3, 0]


def damaged(**changes):
    """Two documents of the terms 0 and 1, the second with a title; some arrays changed."""
    offsets = np.array([0, 4, 8], np.uint32)
    records = np.array([2, 1, 3, 0, 2, 2, 0, 3], np.uint8)
    titles = np.array([0, 0, 1, 1, 0], np.uint8), np.array([0, 2, 5], np.uint32)
    stream, ends = encode(
        np.array([0, 2, 4]),
        np.array([1, 1, 1, 1], np.int32),
        np.arange(4, dtype=np.int32),
        np.array([0, 1]),
    )
    places = np.concatenate([[0], ends]).astype(np.uint32)
    values = {"records": (records, offsets), "titles": titles, "positions": (stream, places)}
    return Placed(**values | changes, weight=2)


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": (np.full(6, 200, np.uint8), np.array([0, 3, 6], np.uint32))},
        {"positions": (np.zeros(6, np.uint8), np.array([0, 1, 2], np.uint32))},
        {"titles": (np.array([1, 0, 9, 0, 0], np.uint8), np.array([0, 3, 5], np.uint32))},
    ],
)
def test_streams_that_do_not_fit_are_refused(changes):
    docs, terms = np.arange(2), np.arange(2)
    assert find_positions(damaged(**changes), docs, terms) is None
    assert all_positions(damaged(**changes), docs) is None


def test_all_positions_of_a_damaged_segment_are_refused(folder):
    build(folder, [Document("a", "wing", "flutter")])
    snapshot = open_snapshot(folder)
    assert [one.positions.tolist() for one in snapshot.occurrences(np.arange(1))] == [
        sorted([0, GAP + 1])
    ]
    pack = snapshot.segments[0].pack_of("positions")
    pack["positions"][:] = 255
    with pytest.raises(DamagedError, match="its terms are not those of"):
        list(snapshot.occurrences(np.arange(1)))


def test_offsets_beyond_the_stream_are_refused(folder):
    build(folder, [Document("a", "wing", "flutter")])
    snapshot = open_snapshot(folder)
    pack = snapshot.segments[0].pack_of("positions")
    pack["positions.offsets"][-1] += 5
    with pytest.raises(DamagedError, match=r"positions-\w+\.npz: positions end before"):
        snapshot.positions(np.arange(1), np.arange(1))


def test_positions_of_several_segments_in_one():
    left = Positions(np.array([0, 2, 3]), np.array([1, 2, 3]))
    right = Positions(np.array([0, 0, 1]), np.array([9]))
    found = Positions.joined(2, 2, [(np.array([1]), left), (np.array([0]), right)])
    assert found.bounds.tolist() == [0, 0, 1, 3, 4]
    assert found.values.tolist() == [9, 1, 2, 3]
