from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.segment import count_terms, find_rows
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.text.table import Strings


@given(st.sets(st.integers(0, 50)), st.lists(st.integers(-1, 60), max_size=20))
def test_rows_equal_a_dictionary(ascending, values):
    ascending = sorted(ascending)
    rows = {value: row for row, value in enumerate(ascending)}
    for dtype in (np.uint32, np.int64):
        found = find_rows(np.array(ascending, dtype), np.array(values, np.int64))
        assert found.tolist() == [rows.get(value, -1) for value in values]


@pytest.fixture
def segments(folder):
    build(folder, [Document("a", text="apple apple"), Document("b", text="apple banana. Banana")])
    with Writer(folder) as writer:
        writer.add([Document("c", text="banana cherry")])
        writer.delete(["b"])
    return open_snapshot(folder).segments


def test_terms_belong_to_the_first_that_used_them(segments):
    keys = Strings.of([b"appl", b"banana", b"cherri", b"durian"])
    assert segments[0].find_terms(keys).tolist() == [0, 1, -1, -1]
    assert segments[1].find_terms(keys).tolist() == [-1, -1, 2, -1]


def test_deleted_documents_are_not_found(segments):
    keys = Strings.of([b"a", b"b", b"c", b""])
    assert segments[0].find_docs(keys).tolist() == [0, -1, -1, -1]
    assert segments[1].find_docs(keys).tolist() == [-1, -1, 0, -1]


@pytest.mark.parametrize("n", [1, 100])
def test_frequencies_leave_out_the_deleted(segments, n):
    terms = np.array([0, 1, 2, 5, -1] * n)
    doc_freqs, term_freqs = segments[0].frequencies(terms)
    assert doc_freqs.tolist() == [1, 0, 0, 0, 0] * n
    assert term_freqs.tolist() == [2, 0, 0, 0, 0] * n
    doc_freqs, term_freqs = segments[1].frequencies(terms)
    assert doc_freqs.tolist() == term_freqs.tolist() == [0, 1, 1, 0, 0] * n


def test_sentences(segments):
    assert segments[0].sentences(1).tolist() == [len("apple banana. "), len("Banana")]


@pytest.mark.parametrize(("name", "bulky"), [("postings-docs", True), ("lengths", False)])
def test_only_bulky_files_wait_for_a_check(folder, monkeypatch, name, bulky):
    build(folder, [Document("a", text="apple")])
    monkeypatch.setattr("likewise.collection.segment._CHECKED_AT_OPEN", 0)
    path = next(folder.glob(f"segments/*/{name}.npy"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    if bulky:
        segment = open_snapshot(folder).segments[0]
        with pytest.raises(DamagedError, match=name):
            segment.check()
    else:
        with pytest.raises(DamagedError, match=name):
            open_snapshot(folder)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_frequencies_are_those_of_the_rows(share):
    generator = np.random.default_rng(7)
    held = np.flatnonzero(generator.random(200) < share).astype(np.uint32)
    entry_bounds = np.cumsum([0, *generator.integers(1, 3, len(held))]).astype(np.uint32)
    starts = np.cumsum([0, *generator.integers(1, 9, entry_bounds[-1])]).astype(np.uint32)
    freqs = generator.integers(1, 99, len(held)).astype(np.uint32)
    terms = np.array([-1, 500, *generator.permutation(220)])
    rows = np.minimum(np.searchsorted(held, terms), len(held) - 1)
    known = held[rows] == terms
    sizes = starts[entry_bounds[rows + 1]].astype(np.int64) - starts[entry_bounds[rows]]
    doc_freqs, term_freqs = count_terms(terms, held, freqs, entry_bounds, starts)
    assert doc_freqs.tolist() == np.where(known, sizes, 0).tolist()
    assert term_freqs.tolist() == np.where(known, freqs[rows], 0).tolist()
    nothing = np.empty(0, np.uint32)
    empty = count_terms(terms, nothing, nothing, np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    assert not empty[0].any()
    assert not empty[1].any()
