from __future__ import annotations

import errno
import os
import random
import tempfile

import numpy as np
import pytest
from plain_model import contents, expected, made, state

from likewise.collection import build as module
from likewise.collection import merge, pack
from likewise.collection.build import LEAST_MEMORY, Resources, SegmentBuilder, content, prepare
from likewise.collection.creating import build, create
from likewise.collection.job import Job
from likewise.collection.positions import PositionsWriter
from likewise.collection.snapshot import open_snapshot
from likewise.collection.words import WordsWriter
from likewise.collection.writer import Writer
from likewise.errors import DuplicateId, StorageError, UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis, Analyzer
from likewise.text.table import Strings

RNG = random.Random(11)
ANALYZER = Analyzer(Analysis())
DOCUMENTS = [made(RNG, f"d{i}") for i in range(300)]


def cut_after(monkeypatch, *, n_docs=None, n_bytes=None):
    """Let segments be small."""
    for name, value in {"MOST_DOCS": n_docs, "MOST_BYTES": n_bytes}.items():
        if value is not None:
            monkeypatch.setattr(module, name, value)
            monkeypatch.setattr(merge, name, value)


@pytest.fixture
def tight(monkeypatch):
    """Let any memory do, so that postings are made in many passes."""
    monkeypatch.setattr(module, "LEAST_MEMORY", 0)


@pytest.mark.usefixtures("small_blocks", "tight", "unsynced")
@pytest.mark.parametrize("limits", [{}, {"n_docs": 40}, {"n_bytes": 900}])
def test_the_same_bytes_whatever_the_threads_and_the_memory(tmp_path, monkeypatch, limits):
    cut_after(monkeypatch, **limits)
    uses = [(1, 1 << 30), (2, 1 << 30), (5, 1 << 30), (1, 0), (2, 700)]
    for i, (threads, memory) in enumerate(uses):
        resources = Resources(memory=memory, threads=threads)
        build(tmp_path / str(i), DOCUMENTS[:150], resources=resources)
    first = contents(tmp_path / "0")
    assert (len(first) > 1) == bool(limits)
    for i in range(1, len(uses)):
        assert contents(tmp_path / str(i)) == first


@pytest.mark.usefixtures("small_blocks")
def test_segments_are_cut_by_their_documents(folder, monkeypatch):
    cut_after(monkeypatch, n_docs=20)
    build(folder, DOCUMENTS[:60], resources=Resources(threads=2))
    snapshot = open_snapshot(folder)
    # No batch of three crosses a cut.
    assert [segment.n_docs for segment in snapshot.segments] == [18, 18, 18, 6]
    assert state(snapshot) == expected(DOCUMENTS[:60])
    with Writer(folder) as writer:
        assert writer.merge() == 4
        assert [entry.n_docs for entry in writer.manifest.segments] == [18, 18, 18, 6]
        writer.delete([d.id for d in DOCUMENTS[:40]])
        writer.merge()
        assert [entry.n_docs for entry in writer.manifest.segments] == [20]
    assert state(open_snapshot(folder)) == expected(DOCUMENTS[40:60])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "document",
    [
        lambda i: Document(f"{i:050}"),
        lambda i: Document(str(i), text="alpha beta gamma " * 9),
        lambda i: Document(str(i), fields={"tag": f"{i:050}"}),
        lambda i: Document(str(i), title=random.Random(i).randbytes(30).hex()),
        lambda i: Document(str(i), text=f"x{i:040}"),
    ],
    ids=["ids", "tokens", "fields", "cards", "terms"],
)
def test_segments_are_cut_by_all_that_has_offsets(folder, monkeypatch, document):
    cut_after(monkeypatch, n_bytes=1500)
    documents = [document(i) for i in range(120)]
    build(folder, documents)
    snapshot = open_snapshot(folder)
    assert 2 < len(snapshot.segments) < 40
    assert state(snapshot) == expected(documents)


@pytest.mark.usefixtures("small_blocks")
def test_an_id_replaced_in_a_segment_already_sealed(folder, monkeypatch):
    cut_after(monkeypatch, n_docs=20)
    twice = [*DOCUMENTS[:60], *(d._replace(text="replaced") for d in DOCUMENTS[:60:7])]
    added = build(folder, twice, replace=True, resources=Resources(threads=1))
    assert (added.n_docs, added.n_replaced) == (69, 9)
    assert len(open_snapshot(folder).segments) > 1
    last = {d.id: d for d in twice}
    kept = [d for d in twice if last[d.id] is d]
    assert state(open_snapshot(folder)) == expected(kept)


@pytest.mark.usefixtures("small_blocks", "unsynced")
@pytest.mark.parametrize("seed", range(4))
def test_ids_repeated_anywhere_across_cuts(folder, monkeypatch, seed):
    """In what was there, in sealed segments, in the one being built, and in one batch."""
    cut_after(monkeypatch, n_docs=9)
    rng = random.Random(seed)
    build(folder, DOCUMENTS[:20])
    later = [made(rng, f"d{rng.randrange(30)}") for _ in range(70)]
    with Writer(folder) as writer:
        with pytest.raises(DuplicateId):
            writer.add(later)
        assert state(writer.snapshot) == expected(DOCUMENTS[:20])
        added = writer.add(later, replace=True)
    model = {d.id: d for d in DOCUMENTS[:20]}
    n_replaced = 0
    for document in later:
        n_replaced += model.pop(document.id, None) is not None
        model[document.id] = document
    assert (added.n_docs, added.n_replaced) == (70, n_replaced)
    assert state(open_snapshot(folder)) == expected(list(model.values()))


@pytest.mark.usefixtures("small_blocks")
def test_a_duplicate_in_a_sealed_segment_names_its_place(folder, monkeypatch):
    cut_after(monkeypatch, n_docs=9)
    documents = [Document(f"d{i}", place=f"f:{i}") for i in range(20)]
    with pytest.raises(DuplicateId, match="g:9: id 'd1' was already given by f:1;"):
        build(folder, [*documents, Document("d1", place="g:9")])
    assert not folder.exists()


def test_content_is_the_title_and_the_text():
    assert content(Document("x", "Title", "text")) == "Title\n\ntext"
    assert content(Document("x", "", "text")) == "text"
    assert content(Document("x", "Title", "")) == "Title\n\n"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_come_in_order(threads):
    batches = list(prepare(iter(DOCUMENTS[:20]), Resources(threads=threads), ANALYZER))
    assert [d for batch in batches for d in batch.documents] == DOCUMENTS[:20]
    assert [len(batch.documents) for batch in batches] == [3] * 6 + [2]


@pytest.mark.parametrize(
    "large",
    [
        Document("b", "1", "123456"),
        Document("b" * 9),
        Document("b", fields={"x": "123456789"}),
        Document("b", fields={"x": [1]}),
        Document("b", fields={"x": {"y": 1}}),
    ],
)
def test_batches_end_at_a_number_of_bytes(monkeypatch, large):
    monkeypatch.setattr(module, "_BATCH_BYTES", 10)
    documents = [Document("a", text="1"), large, Document("c"), Document("d")]
    assert [len(b.documents) for b in prepare(documents, Resources(threads=1), ANALYZER)] == [2, 2]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_source_that_fails_leaves_nothing(folder, threads):
    def failing():
        yield from DOCUMENTS[:20]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        build(folder, failing(), resources=Resources(threads=threads))
    assert not folder.exists()
    build(folder, DOCUMENTS[:5])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with Writer(folder) as writer, pytest.raises(ZeroDivisionError):
        writer.add(
            (d._replace(id="new" + d.id) for d in failing()), resources=Resources(threads=threads)
        )
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_document_that_is_too_large(folder, monkeypatch):
    build(folder, DOCUMENTS[:5])
    with Writer(folder) as writer:
        for kind, stream in ((WordsWriter, "_records"), (PositionsWriter, "_stream")):
            real = kind.append

            def large(self, *arguments, stream=stream, real=real):
                getattr(self, stream).size = (1 << 32) - 3
                real(self, *arguments)

            monkeypatch.setattr(kind, "append", large)
            with pytest.raises(StorageError, match=r"(records|positions) would pass 4 GB"):
                writer.add(DOCUMENTS[5:7])
            monkeypatch.undo()
    assert state(open_snapshot(folder)) == expected(DOCUMENTS[:5])


def test_a_builder_that_cannot_begin_leaves_nothing_open(folder, monkeypatch):
    create(folder)
    n_made, temporary = [], tempfile.TemporaryFile

    def refuse(**options):
        n_made.append(1)
        if len(n_made) == 2:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return temporary(**options)

    with Job(folder) as job:
        before = len(os.listdir("/dev/fd"))
        monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
        monkeypatch.setattr(pack, "MOST_BUFFERED", 3)
        with pytest.raises(OSError, match="Too many open files"):
            SegmentBuilder(job, first_term=0)
        assert len(os.listdir("/dev/fd")) == before


def test_a_builder_says_when_it_is_full(folder, monkeypatch):
    create(folder)
    with Job(folder) as job:
        builder = SegmentBuilder(job, first_term=0)
        assert not builder.is_full(Strings.of([]))
        cut_after(monkeypatch, n_bytes=5)
        assert builder.is_full(Strings.of([b"abc", b"def"]))
        assert not builder.is_full(Strings.of([b"abc"]))
        assert builder.n_bytes == 0
        builder.abandon()
        builder.abandon()


def test_threads():
    assert Resources(threads=3).n_threads == 3
    assert Resources().n_threads >= 1


@pytest.mark.parametrize("memory", [0, -1, 1 << 20, LEAST_MEMORY - 1])
def test_too_little_memory_is_refused(memory):
    with pytest.raises(UsageError, match=f"needs 256 MB of memory at least, not {memory >> 20} MB"):
        Resources(memory=memory)


def test_the_least_memory_is_enough(folder):
    build(folder, DOCUMENTS[:50], resources=Resources(memory=LEAST_MEMORY))
    assert state(open_snapshot(folder)) == expected(DOCUMENTS[:50])


def test_lengths_are_those_of_the_records(folder):
    build(folder, DOCUMENTS[:50])
    [segment] = open_snapshot(folder).segments
    bounds, _, counts = segment.records.counts(np.arange(50))
    assert np.add.reduceat(np.append(counts, 0), bounds[:-1])[np.diff(bounds) > 0].tolist() == (
        segment.lengths[np.diff(bounds) > 0].tolist()
    )
