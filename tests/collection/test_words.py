from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from plain_model import expected, made, state

from likewise.collection.creating import build
from likewise.collection.pack import Packer
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.words import EXACT, FIELDS, MAIN, TITLE, WordsWriter
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.text.analysis import Analysis

DOCUMENTS = [
    Document("a", "The wing of Velázquez", "A wing is a wing, in C++."),
    Document("b", "", "Velazquez and the heat"),
    Document("c", "Heat", "Heat, heat and flow"),
]


def named(snapshot, field, *words):
    """Document frequencies and occurrences of words in a field."""
    docs, occurrences = snapshot.frequencies(snapshot.find_terms(words), field)
    return list(zip(docs.tolist(), occurrences.tolist(), strict=True))


def test_a_word_may_be_in_several_fields(folder):
    build(folder, DOCUMENTS)
    snapshot = open_snapshot(folder)
    words = ("wing", "velazquez", "velázquez", "the", "a", "c++", "heat")
    assert named(snapshot, MAIN, *words)[:3] == [(1, 5), (2, 4), (0, 0)]
    assert named(snapshot, TITLE, *words) == [
        *((1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1))
    ]
    assert named(snapshot, EXACT, *words) == [
        *((0, 0), (0, 0), (1, 1), (2, 2), (1, 2), (1, 1), (0, 0))
    ]
    docs = np.arange(3)
    assert snapshot.lengths(docs, TITLE).tolist() == [2, 0, 1]
    assert snapshot.average_length_of(TITLE) == 1
    assert snapshot.average_length_of(MAIN) == snapshot.average_length
    assert all(snapshot.has_field(field) for field in (MAIN, *FIELDS))
    assert not snapshot.has_field("other.")


def test_a_field_that_no_document_has_words_in_has_no_arrays(folder):
    build(folder, [Document("a", "", "alpha beta"), Document("b")])
    snapshot = open_snapshot(folder)
    [pack] = snapshot.segments[0].packs
    assert not [name for name in pack.names if name.startswith(FIELDS)]
    for field in FIELDS:
        assert snapshot.has_field(field)
        assert named(snapshot, field, "alpha", "nothing") == [(0, 0)] * 2
        assert snapshot.lengths(np.arange(2), field).tolist() == [0, 0]
        assert snapshot.average_length_of(field) == 0
        assert snapshot.term_counts(np.arange(2), field).bounds.tolist() == [0, 0, 0]
    more = Document("c", "The title", "text")
    with Writer(folder) as writer:
        writer.add([more])
        whole = [Document("a", "", "alpha beta"), Document("b"), more]
        assert state(writer.snapshot) == expected(whole)
        writer.merge()
        assert state(writer.snapshot) == expected(whole)
        assert writer.snapshot.segments[0].words(TITLE).lengths.tolist() == [0, 0, 1]
        writer.delete(["c"])
        writer.merge()
        assert not [n for n in writer.snapshot.segments[0].packs[0].names if n.startswith(FIELDS)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("analysis", [Analysis(), Analysis(fold=False, positions=False)])
def test_fields_and_positions_through_any_changes(folder, seed, analysis):
    rng = random.Random(seed)
    alive = [made(rng, f"d{i}") for i in range(8)]
    build(folder, alive, analysis=analysis)
    with Writer(folder) as writer:
        for step in range(8):
            if rng.random() < 0.4 and alive:
                gone = rng.sample(alive, rng.randrange(1, 3) if len(alive) > 2 else 1)
                writer.delete([one.id for one in gone])
                alive = [one for one in alive if one not in gone]
            else:
                new = [made(rng, f"s{step}-{i}") for i in range(rng.randrange(1, 5))]
                writer.add(new)
                alive += new
            if rng.random() < 0.2:
                writer.merge()
            assert state(writer.snapshot) == expected(alive, analysis)
        writer.merge()
    snapshot = open_snapshot(folder)
    assert state(snapshot) == expected(alive, analysis)
    snapshot.check()


def test_deletions_of_a_likewise_that_did_not_know_the_fields(folder):
    """Its pack of deleted documents says nothing of them: it is worked out again."""
    build(folder, DOCUMENTS)
    with Writer(folder) as writer:
        writer.delete(["a"])
        entry = writer.manifest.segments[0]
        gone = writer.snapshot.segments[0].all_packs[-1]
        plain = writer.job.new_pack("deleted")
        for name in ("docs", "terms", "doc-freqs", "term-freqs"):
            plain.put(name, gone[name])
        deleted = replace(entry.deleted, pack=plain.close())
        segments = (replace(entry, deleted=deleted),)
        writer.publish(replace(writer.manifest, segments=segments))
        assert state(writer.snapshot) == expected(DOCUMENTS[1:])
        writer.delete(["b"])
        assert state(writer.snapshot) == expected(DOCUMENTS[2:])


def test_counts_of_deleted_documents_that_do_not_fit(folder):
    build(folder, DOCUMENTS)
    with Writer(folder) as writer:
        writer.delete(["a"])
        entry = writer.manifest.segments[0]
        gone = writer.snapshot.segments[0].all_packs[-1]
        short = writer.job.new_pack("deleted")
        for name in gone.names:
            short.put(name, gone[name][1:] if name == "exact.doc-freqs" else gone[name])
        deleted = replace(entry.deleted, pack=short.close())
        segments = (replace(entry, deleted=deleted),)
        writer.publish(replace(writer.manifest, segments=segments))
        with pytest.raises(DamagedError, match=r"deleted-\w+\.npz: exact\.terms without counts"):
            writer.snapshot.frequencies(np.arange(3), EXACT)


def test_what_is_open_of_a_field_is_taken_over(folder):
    build(folder, DOCUMENTS)
    before = open_snapshot(folder)
    words = before.segments[0].words(TITLE)
    postings = words.postings
    with Writer(folder) as writer:
        writer.delete(["a"])
    after = open_snapshot(folder, before)
    assert isinstance(after, Snapshot)
    assert after.segments[0].words(TITLE).postings is postings
    assert named(before, TITLE, "wing") == [(1, 1)]
    assert named(after, TITLE, "wing") == [(0, 0)]


def test_a_writer_that_is_given_up_leaves_no_arrays(tmp_path):
    packer = Packer(tmp_path / "x.npz")
    writer = WordsWriter(packer, TITLE)
    writer.append(np.zeros(1, np.uint32), np.zeros(2, np.uint8), np.array([2]))
    assert writer.size == 2
    writer.close(n_terms=3, memory=1 << 20)
    assert "title.lengths" not in packer._arrays
    packer.abandon()
