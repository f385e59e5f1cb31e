from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.pack import BULK, Pack
from likewise.collection.postings import BLOCK
from likewise.collection.segment import Segment
from likewise.collection.snapshot import open_snapshot
from likewise.collection.words import count_terms, find_rows, term_rows
from likewise.collection.writer import Writer
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
def grown(folder):
    build(folder, [Document("a", text="apple apple"), Document("b", text="apple banana. Banana")])
    with Writer(folder) as writer:
        writer.add([Document("c", text="banana cherry")])
        writer.delete(["b"])
    return folder


@pytest.fixture
def segments(grown):
    return open_snapshot(grown).segments


def test_terms_belong_to_the_first_that_used_them(segments):
    keys = Strings.of([b"appl", b"banana", b"cherri", b"durian"])
    assert segments[0].find_terms(keys).tolist() == [0, 1, -1, -1]
    assert segments[1].find_terms(keys).tolist() == [-1, -1, 2, -1]
    assert segments[0].first_terms().tolist() == [0, 1]
    assert segments[1].first_terms().tolist() == [2]


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
    lengths = segments[0].records.sentences(1).tolist()
    assert lengths == [len("apple banana. "), len("Banana")]


def test_masks_go_to_the_end_of_the_block(segments):
    assert len(segments[0].mask) == BLOCK
    assert segments[0].mask[:3].tolist() == [True, False, False]
    assert segments[0].live.tolist() == [True, False]
    assert not segments[0].mask[2:].any()


def alter(segment, array):
    """Change what is mapped, as if the file had been damaged."""
    values = segment.pack_of(array).unchecked(array)
    values.reshape(-1).view(np.uint8)[-1] ^= 1


OF_WORDS = [
    *("lengths", "records", "records.offsets"),
    *("postings.terms", "postings.heads", "postings.entries", "postings.docs"),
    *("postings.counts", "postings.impacts", "postings.large-at", "postings.large-counts"),
    *("bounds.entries", "bounds.starts", "bounds.counts", "bounds.lengths"),
]
ARRAYS = [
    *(field + name for field in ("", "title.", "exact.") for name in OF_WORDS),
    *("ids", "ids.offsets", "ids.slots", "terms", "terms.offsets", "terms.slots"),
    *("cards", "cards.offsets", "cards.runs", "cards.symbols", "cards.sizes", "documents.blocks"),
    *("fields.numbers", "fields.number-docs", "fields.texts", "fields.text-offsets"),
    *("fields.text-starts", "fields.text-docs", "fields.dates", "fields.date-docs"),
    "fields.unseen-docs",
]


@pytest.fixture
def full(folder):
    """A segment in which every array holds something."""
    fields = {"d": "2015-03-04", "u": "long " * 60}
    documents = [
        Document(
            f"{i}",
            "title " * 300,
            "word " * 300 + "the " * 300,
            {"n": i, "t": f"x{i}", **fields},
        )
        for i in range(70)
    ]
    build(folder, documents)
    [segment] = open_snapshot(folder).segments
    return segment


def test_these_are_the_arrays_of_a_segment(full):
    assert sorted(full.packs[0].names) == sorted(ARRAYS)
    assert all(full.packs[0].n_bytes(name) for name in ARRAYS)


@pytest.mark.parametrize("array", ARRAYS)
def test_only_bulk_arrays_wait_for_a_check(full, array):
    alter(full, array)
    uses = {
        "ids": lambda: full.ids,
        "terms": lambda: full.terms,
        "cards": lambda: full.cards,
        "documents": lambda: full.documents,
        "fields": lambda: [full.fields.present(name) for name in "ntdu"],
    }
    for field in ("exact.", "title.", ""):
        if array.startswith(field) and array.removeprefix(field) in OF_WORDS:
            part = array.removeprefix(field).split(".")[0]
            uses[array.split(".")[0]] = partial(getattr, full.words(field), part)
            break
    use = uses[array.split(".")[0]]
    if array in BULK or array.endswith(".slots"):
        use()
    else:
        with pytest.raises(DamagedError, match=rf"index-\w+\.npz: {array} was altered"):
            use()
    with pytest.raises(DamagedError, match=rf"index-\w+\.npz: {array} was altered"):
        full.check()


def test_looking_up_checks_nothing(full, monkeypatch):
    """An addition looks ids and words up: that must not read whole arrays."""
    checked = []
    monkeypatch.setattr(Pack, "_check", lambda _, name: checked.append(name))
    assert full.find_docs(Strings.of([b"3", b"x"])).tolist() == [3, -1]
    assert full.find_terms(Strings.of([b"word", b"x"])).tolist() == [1, -1]
    assert checked == []
    assert full.lengths[0] == 1200
    assert checked == ["lengths"]


def test_arrays_of_other_lengths_are_told(full):
    full.n_docs += 1
    for use in (lambda: full.lengths, lambda: full.ids, lambda: full.records):
        with pytest.raises(DamagedError, match=r"index-\w+\.npz: .* of 71 documents"):
            use()


def test_what_is_open_is_taken_over(grown):
    first = open_snapshot(grown).segments[0]
    assert first.documents[0].id == "a"
    assert len(first.letter_sets[0]) == first.entry.n_terms
    with Writer(grown) as writer:
        writer.add([Document("d", text="more")])
        assert writer.delete(["a"]) == 1
    newest = open_snapshot(grown).manifest.segments[0]
    later = Segment(newest, lambda file: grown / "data" / file, first)
    assert later.packs is first.packs
    assert later.documents is first.documents
    assert later.letter_sets is first.letter_sets
    assert later.live.tolist() == [False, False]
    assert first.live.tolist() == [True, False]


def test_packs_that_a_later_version_adds(grown):
    segment = open_snapshot(grown).segments[0]
    assert segment.pack_of("novel") is None
    assert segment.pack_of("lengths") is segment.packs[0]
    assert segment.pack_of("positions") is segment.more_packs[0]
    with pytest.raises(DamagedError, match="there is no array novel"):
        segment["novel"]


def test_deleted_documents_that_were_never_there(grown):
    snapshot = open_snapshot(grown)
    entry = snapshot.segments[0].entry
    entry = type(entry)(**{**vars(entry), "n_docs": 1})
    with pytest.raises(DamagedError, match=r"deleted-\w+\.npz: deleted documents never there"):
        Segment(entry, snapshot.path_of)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_frequencies_are_those_of_the_rows(share):
    generator = np.random.default_rng(7)
    held = np.flatnonzero(generator.random(200) < share).astype(np.uint32)
    heads = generator.integers(1, 99, (len(held) + 1, 4)).astype(np.uint32)
    terms = np.array([-1, 500, *generator.permutation(220)])
    rows = np.minimum(np.searchsorted(held, terms), len(held) - 1)
    known = held[rows] == terms
    doc_freqs, term_freqs = count_terms(terms, held, heads)
    assert doc_freqs.tolist() == np.where(known, heads[rows, 1], 0).tolist()
    assert term_freqs.tolist() == np.where(known, heads[rows, 2], 0).tolist()
    assert term_rows(terms, held).tolist() == find_rows(held, terms).tolist()
    nothing = count_terms(terms, np.empty(0, np.uint32), np.zeros((1, 4), np.uint32))
    assert not nothing[0].any()
    assert not nothing[1].any()
