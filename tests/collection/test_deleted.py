from __future__ import annotations

import numpy as np
from plain_model import expected, state

from likewise.collection.creating import build
from likewise.collection.deleted import mark_deleted
from likewise.collection.job import Job
from likewise.collection.pack import Pack
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document

DOCUMENTS = [
    Document("a", text="apple apple banana"),
    Document("b", text="banana cherry"),
    Document("c"),
    Document("d", text="cherry " * 300),
]


def test_deleted_documents_are_added_to_those_deleted_before(folder):
    build(folder, DOCUMENTS)
    segment = open_snapshot(folder).segments[0]
    with Job(folder) as job:
        entry = mark_deleted(segment, np.array([3]), job)
        assert (entry.deleted.n_docs, entry.deleted.n_tokens, entry.n_live) == (1, 300, 3)
        pack = Pack(job.path / entry.deleted.pack.file, entry.deleted.pack)
        assert pack.names == ["docs", "terms", "doc-freqs", "term-freqs"]
        assert pack["docs"].tolist() == [3]
        assert pack["term-freqs"].tolist() == [300]
        segment.deleted = np.array([3])
        later = mark_deleted(segment, np.array([0, 3]), job)
        assert (later.deleted.n_docs, later.deleted.n_tokens) == (2, 303)
        assert later.deleted.id != entry.deleted.id
        assert later.id == entry.id


def test_statistics_are_those_of_the_live_documents(folder):
    build(folder, DOCUMENTS)
    with Writer(folder) as writer:
        for gone in range(len(DOCUMENTS)):
            writer.delete([DOCUMENTS[gone].id])
            snapshot = open_snapshot(folder)
            assert state(snapshot) == expected(DOCUMENTS[gone + 1 :])
            assert snapshot.segments[0].deleted.tolist() == list(range(gone + 1))
