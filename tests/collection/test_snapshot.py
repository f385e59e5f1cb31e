from __future__ import annotations

import gc
import io
import os
import random
import resource
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from plain_model import expected, made, state

from likewise.collection import generations
from likewise.collection.creating import build
from likewise.collection.manifest import read_pointer
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import (
    CollectionError,
    DamagedError,
    NotACollection,
    StorageError,
    UsageError,
)
from likewise.records import Document
from likewise.text.analysis import Analysis

RNG = random.Random(5)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(30)]


@pytest.fixture
def grown(folder):
    """A collection of three segments, two documents deleted."""
    build(folder, DOCUMENTS[:10])
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[10:20])
        writer.add(DOCUMENTS[20:])
        writer.delete(["d3", "d15"])
    return folder


ALIVE = [d for d in DOCUMENTS if d.id not in ("d3", "d15")]


def test_all_that_it_says(grown):
    snapshot = open_snapshot(grown)
    assert state(snapshot) == expected(ALIVE)
    assert snapshot.average_length == pytest.approx(snapshot.n_tokens / 28)
    assert snapshot.n_slots == 30
    assert snapshot.field_names() == ["odd", "tag", "year"]
    files = list(grown.glob("data/*"))
    assert snapshot.n_bytes == sum(p.stat().st_size for p in files)
    snapshot.check()


def test_term_counts_in_any_order_and_of_deleted_documents(grown):
    snapshot = open_snapshot(grown)
    docs = np.array([29, 0, 15, 0, 12, 3])
    bounds, terms, counts = snapshot.term_counts(docs)
    every = expected(DOCUMENTS)["counts"]
    for i, doc in enumerate(docs.tolist()):
        span = slice(bounds[i], bounds[i + 1])
        names = snapshot.terms(terms[span])
        assert dict(zip(names, counts[span].tolist(), strict=True)) == every[doc]
    assert snapshot.term_counts(np.empty(0, np.int64)).bounds.tolist() == [0]


def test_unknown_ids_and_terms(grown):
    snapshot = open_snapshot(grown)
    assert snapshot.find_docs(["d3", "nothing", "d4"]).tolist() == [-1, -1, 4]
    assert snapshot.find_terms(["nothing", "\ud800"]).tolist() == [-1, -1]
    with pytest.raises(UsageError, match="no document 'nothing' in"):
        snapshot.find_doc("nothing")
    assert snapshot.find_doc("d4") == 4
    doc_freqs, _ = snapshot.frequencies(np.array([-1]))
    assert doc_freqs.tolist() == [0]


def test_terms_left_out_by_frequency(folder):
    rule = Analysis(min_df=2, max_df=0.6, min_count=3, max_count=4)
    build(folder, [Document(str(i), text="x") for i in range(10)], analysis=rule)
    snapshot = open_snapshot(folder)
    doc_freqs, term_freqs = np.array([0, 1, 2, 2, 6, 7]), np.array([0, 3, 2, 3, 4, 4])
    admitted = snapshot.admitted(doc_freqs, term_freqs)
    assert admitted.tolist() == [False, False, False, True, True, False]


def test_an_older_reader_answers_as_before(grown):
    snapshot = open_snapshot(grown)
    before = expected(ALIVE)
    with Writer(grown) as writer:
        writer.delete(["d0", "d29"])
        writer.add([Document("d1", text="replaced")], replace=True)
        writer.merge()
        writer.add([Document("new", text="novel words")])
    assert state(snapshot) == before
    newer = [d for d in ALIVE if d.id not in ("d0", "d1", "d29")]
    newer += [Document("d1", text="replaced"), Document("new", text="novel words")]
    assert state(open_snapshot(grown)) == expected(newer)


def test_an_older_reader_outlives_a_new_build(grown):
    snapshot = open_snapshot(grown)
    build(grown, [Document("x", text="other")], overwrite=True)
    assert state(snapshot) == expected(ALIVE)
    assert state(open_snapshot(grown)) == expected([Document("x", text="other")])


def test_opening_while_a_merge_removes_segments(grown, monkeypatch):
    stale = [read_pointer(grown)]

    def reading(folder):
        if stale:
            seen = stale.pop()
            with Writer(folder) as writer:
                writer.merge()
            return seen
        return read_pointer(folder)

    monkeypatch.setattr(generations, "read_pointer", reading)
    assert state(open_snapshot(grown)) == expected(ALIVE)
    assert stale == []


def test_a_collection_that_never_rests(grown, monkeypatch):
    generation = iter(range(100, 10_000))

    def reading(folder):
        return read_pointer(folder)._replace(generation=next(generation))

    monkeypatch.setattr(generations, "read_pointer", reading)
    with pytest.raises(CollectionError, match="changes faster than it can be opened"):
        open_snapshot(grown)


@pytest.mark.parametrize("name", ["manifests", "data/index", "data/deleted", "data/documents"])
def test_files_that_may_not_be_read(grown, monkeypatch, name):
    def refusing(real):
        def refuse(path, *arguments, **options):
            if f"/{name}" in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **options)

        return refuse

    monkeypatch.setattr("os.open", refusing(os.open))
    monkeypatch.setattr("io.open", refusing(io.open))
    with pytest.raises(StorageError, match=rf"{name}.*: cannot be read \(Permission denied\)"):
        next(open_snapshot(grown).documents())


def test_descriptors_run_out(grown):
    """Not a traceback, and nothing stays open or leased."""
    state(open_snapshot(grown))
    gc.collect()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers, so that gaps between them are filled first.
    taken = [os.dup(0)]
    while taken[-1] < max(map(int, os.listdir("/dev/fd"))) - 1:
        taken.append(os.dup(0))
    used = os.listdir("/dev/fd")
    try:
        for more in range(6):
            resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1 + more, hard))
            try:
                with pytest.raises(CollectionError, match="Too many open files"):
                    open_snapshot(grown)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            gc.collect()
            assert os.listdir("/dev/fd") == used
    finally:
        for handle in taken:
            os.close(handle)


def test_nothing_there(tmp_path):
    with pytest.raises(NotACollection):
        open_snapshot(tmp_path)


def test_cards_are_what_documents_have(grown):
    snapshot = open_snapshot(grown)
    docs = np.array([29, 3, 0, 15, 16, 29])
    for doc, card in zip(docs.tolist(), snapshot.cards(docs), strict=True):
        document = snapshot.document(doc)
        assert (card.title, card.fields) == (document.title, document.fields)


def test_sentences_of_a_damaged_record(folder):
    build(folder, [Document("a", text="Ein é. Noch ein é."), Document("b")])
    snapshot = open_snapshot(folder)
    records = snapshot.segments[0].records
    assert snapshot.sentences(0) == ["Ein é. ", "Noch ein é."]
    assert snapshot.sentences(1) == []
    # The lengths of the sentences, 8 and 12 bytes, end the record: one too short, and within é.
    for lengths in ([8, 11], [8, 13], [5, 15], [20, 0], [127, 127]):
        records.stream[records.offsets[1] - 2 : records.offsets[1]] = lengths
        if lengths == [20, 0]:
            assert "".join(snapshot.sentences(0)) == "Ein é. Noch ein é."
        else:
            with pytest.raises(DamagedError, match=r"index-\w+\.npz: sentences that are not"):
                snapshot.sentences(0)


def test_terms_beyond_the_last(grown):
    snapshot = open_snapshot(grown)
    for number in (-1, snapshot.n_terms):
        with pytest.raises(IndexError, match="terms are numbered from 0 to"):
            snapshot.terms(np.array([number]))
    assert snapshot.terms(np.empty(0, np.int64)) == []


def test_what_was_made_of_a_snapshot_is_made_once(grown):
    snapshot = open_snapshot(grown)
    made = []

    def make():
        made.append(1)
        return object()

    with ThreadPoolExecutor(4) as pool:
        values = set(pool.map(lambda _: snapshot.memo("x", make), range(50)))
    assert len(values) == len(made) == 1
    assert snapshot.made("x") in values
    assert snapshot.made("y") is None
    with pytest.raises(ZeroDivisionError):
        snapshot.memo("y", lambda: 1 // 0)
    assert snapshot.memo("y", lambda: snapshot.memo("z", lambda: 5)) == 5
    snapshot.forget()
    assert snapshot.made("x") is None


@pytest.mark.usefixtures("unsynced")
def test_readers_during_changes_see_whole_states(folder):
    """Every document is replaced at once: a reader sees one version of all of them."""

    def version(n):
        return [Document(f"d{i}", text=f"version{n} " * (n + 1)) for i in range(12)]

    build(folder, version(0))
    done, problems, n_seen = threading.Event(), [], []

    def read():
        while not done.is_set():
            try:
                snapshot = open_snapshot(folder)
                texts = {document.text for _, document in snapshot.documents()}
                n = int(next(iter(texts)).split()[0].removeprefix("version"))
                assert state(snapshot) == expected(version(n))
                n_seen.append(n)
            except DamagedError as error:
                # All that a reader may be told, where it is too slow for the writer.
                if "changes faster" not in str(error):
                    problems.append(error)
                    return
            except BaseException as error:
                problems.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        with Writer(folder) as writer:
            for n in range(1, 17):
                writer.add(version(n), replace=True)
                if n % 4 == 0:
                    writer.merge()
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert problems == []
    assert n_seen == [] or max(n_seen) <= 16
    assert isinstance(open_snapshot(folder), Snapshot)
