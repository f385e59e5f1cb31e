from __future__ import annotations

import numpy as np
from plain_model import expected, state

from likewise.collection.snapshot import SEGMENTS, open_snapshot
from likewise.collection.tombstones import bury
from likewise.collection.writer import Writer, build
from likewise.records import Document

DOCUMENTS = [
    Document("a", text="apple apple banana"),
    Document("b", text="banana cherry"),
    Document("c"),
    Document("d", text="cherry " * 300),
]


def test_the_dead_are_added_to_the_dead(folder):
    build(folder, DOCUMENTS)
    segment = open_snapshot(folder).segments[0]
    entry = bury(segment, np.array([3]), folder / SEGMENTS, "000100")
    assert (entry.deleted.n_docs, entry.deleted.n_tokens, entry.n_live) == (1, 300, 3)
    assert sorted(entry.deleted.files) == [
        "doc-freqs.npy",
        "docs.npy",
        "term-freqs.npy",
        "terms.npy",
    ]
    segment.deleted = np.array([3])
    entry = bury(segment, np.array([0, 3]), folder / SEGMENTS, "000101")
    assert (entry.deleted.n_docs, entry.deleted.n_tokens) == (2, 303)


def test_statistics_are_those_of_the_living(folder):
    build(folder, DOCUMENTS)
    with Writer(folder) as writer:
        for gone in range(len(DOCUMENTS)):
            writer.delete([DOCUMENTS[gone].id])
            snapshot = open_snapshot(folder)
            assert state(snapshot) == expected(DOCUMENTS[gone + 1 :])
            assert snapshot.segments[0].deleted.tolist() == list(range(gone + 1))
