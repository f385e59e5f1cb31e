from __future__ import annotations

import numpy as np
from plain_model import expected, state

from likewise.collection.creating import build
from likewise.collection.deleted import mark_deleted
from likewise.collection.generations import DATA
from likewise.collection.job import Job
from likewise.collection.pack import Pack
from likewise.collection.records import Records
from likewise.collection.segment import Segment
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
        names = ["terms", "doc-freqs", "term-freqs"]
        assert pack.names == [
            "docs",
            *(f + name for f in ("", "title.", "exact.") for name in names),
        ]
        assert pack["docs"].tolist() == [3]
        assert pack["term-freqs"].tolist() == [300]
        assert pack["exact.terms"].tolist() == []
        places = {path.name: path for path in (*(folder / DATA).iterdir(), *job.path.iterdir())}
        segment = Segment(entry, places.__getitem__)
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


def test_documents_that_were_deleted_before_are_not_decoded_again(folder, monkeypatch):
    documents = [Document(f"d{i}", text=f"apple w{i % 7} {'pear ' * i}") for i in range(30)]
    build(folder, documents)
    monkeypatch.setattr("likewise.collection.words._DOCS_AT_ONCE", 4)
    decoded, real = [], Records.counts
    with Writer(folder) as writer:
        monkeypatch.setattr(
            Records, "counts", lambda self, docs: decoded.append(docs.tolist()) or real(self, docs)
        )
        writer.delete([f"d{i}" for i in range(10)])
        # Once for each field of words.
        assert decoded == 3 * [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        decoded.clear()
        writer.delete(["d12"])
        assert decoded == 3 * [[12]]
        monkeypatch.undo()
        left = [one for i, one in enumerate(documents) if i >= 10 and i != 12]
        assert state(open_snapshot(folder)) == expected(left)
