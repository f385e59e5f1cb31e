from __future__ import annotations

import random

import pytest
from plain_model import expected, made, state

from likewise.collection import build as module
from likewise.collection.build import Resources, content, prepare
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.errors import StorageError
from likewise.records import Document

RNG = random.Random(11)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(300)]


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


@pytest.mark.usefixtures("small_blocks")
def test_the_same_bytes_whatever_the_threads(tmp_path):
    for name, threads in {"one": 1, "two": 2, "again": 2, "five": 5}.items():
        build(tmp_path / name, DOCUMENTS, resources=Resources(threads=threads))
    first = files(tmp_path / "one")
    assert len(first) > 20
    assert first == files(tmp_path / "two") == files(tmp_path / "again") == files(tmp_path / "five")


@pytest.mark.usefixtures("small_blocks")
def test_little_memory_makes_several_segments(folder):
    build(folder, DOCUMENTS[:60], resources=Resources(memory=8000, threads=2))
    snapshot = open_snapshot(folder)
    assert len(snapshot.segments) > 1
    assert state(snapshot) == expected(DOCUMENTS[:60])


@pytest.mark.usefixtures("small_blocks")
def test_an_id_replaced_in_a_segment_already_sealed(folder):
    twice = [*DOCUMENTS[:60], *(d._replace(text="replaced") for d in DOCUMENTS[:60:7])]
    added = build(folder, twice, replace=True, resources=Resources(memory=8000, threads=1))
    assert (added.n_docs, added.n_replaced) == (69, 9)
    assert len(open_snapshot(folder).segments) > 1
    last = {d.id: d for d in twice}
    kept = [d for d in twice if last[d.id] is d]
    assert state(open_snapshot(folder)) == expected(kept)


def test_content_is_the_title_and_the_text():
    assert content(Document("x", "Title", "text")) == "Title\n\ntext"
    assert content(Document("x", "", "text")) == "text"
    assert content(Document("x", "Title", "")) == "Title\n\n"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_come_in_order(threads):
    batches = list(prepare(iter(DOCUMENTS[:20]), Resources(threads=threads)))
    assert [d for batch in batches for d in batch.documents] == DOCUMENTS[:20]
    assert [len(batch.documents) for batch in batches] == [3] * 6 + [2]


def test_batches_end_at_a_number_of_bytes(monkeypatch):
    monkeypatch.setattr(module, "_BATCH_BYTES", 10)
    documents = [Document("a", text="123456"), Document("b", "1", "123456"), Document("c")]
    assert [len(b.documents) for b in prepare(documents, Resources(threads=1))] == [2, 1]


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
    before = files(folder)
    with Writer(folder) as writer, pytest.raises(ZeroDivisionError):
        writer.add(
            (d._replace(id="new" + d.id) for d in failing()), resources=Resources(threads=threads)
        )
    assert files(folder) == before


def test_a_segment_that_would_be_too_large(folder, monkeypatch):
    build(folder, DOCUMENTS[:5])
    with Writer(folder) as writer:
        monkeypatch.setattr("likewise.collection.files.ArrayWriter.size", 1 << 32, raising=False)
        monkeypatch.setattr(
            "likewise.collection.files.ArrayWriter.__setattr__",
            lambda self, name, value: name == "size" or object.__setattr__(self, name, value),
        )
        with pytest.raises(StorageError, match="records would pass 4 GB"):
            writer.add(DOCUMENTS[5:7])
    monkeypatch.undo()
    assert state(open_snapshot(folder)) == expected(DOCUMENTS[:5])


def test_full_segments_are_followed_by_new_ones(folder, monkeypatch):
    monkeypatch.setattr(module, "OFFSET_LIMIT", 200)
    monkeypatch.setattr(module, "_BATCH_DOCS", 4)
    build(folder, DOCUMENTS[:30])
    snapshot = open_snapshot(folder)
    assert len(snapshot.segments) > 1
    assert state(snapshot) == expected(DOCUMENTS[:30])


def test_threads():
    assert Resources(threads=3).n_threads == 3
    assert Resources().n_threads >= 1
