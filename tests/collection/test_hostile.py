from __future__ import annotations

import numpy as np
import pytest
from plain_model import expected, state

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document, Filter
from likewise.stages.masks import mask_of


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [Document("only", text="one document")],
        [Document("empty")],
        [Document(str(i)) for i in range(5)],
        [Document("")],
        [Document(i, text=f"text {i}") for i in (" ", "a b", "a/b", "../x", "a\nb", "\r", "\x00")],
        [Document("nul", "a\x00b", "c\x00d\x00\x00")],
        [Document("dots", text="." * 5000), Document("marks", text="\u0301" * 5000)],
        [Document("x", text="é" * 1000), Document("y", "。" * 100, "！？" * 100)],
        [Document("one word", text="a" * 100_000)],
        [Document("i" * 100_000, text="long id")],
    ],
)
def test_odd_collections(folder, documents):
    build(folder, documents)
    assert state(open_snapshot(folder)) == expected(documents)
    with Writer(folder) as writer:
        writer.add([Document("more", text="something else")])
        writer.delete([d.id for d in documents[:1]])
        writer.merge()
    later = [*documents[1:], Document("more", text="something else")]
    assert state(open_snapshot(folder)) == expected(later)


def test_lone_surrogates(folder):
    build(folder, [Document("a\ud800", "\udfff", "word\ud800word", {"\ud800": "\udc00"})])
    snapshot = open_snapshot(folder)
    stored = [Document("a?", "?", "word?word", {"?": "?"})]
    assert state(snapshot) == expected(stored)
    assert snapshot.find_doc("a\ud800") == snapshot.find_doc("a?") == 0


def test_a_document_of_fifty_megabytes_in_one_line(folder):
    text = "lorem ipsum dolor sit amet " * 2_000_000
    build(folder, [Document("big", text=text[: 50 << 20]), Document("small", text="lorem")])
    snapshot = open_snapshot(folder)
    assert len(snapshot.document(0).text) == 50 << 20
    doc_freqs, term_freqs = snapshot.frequencies(snapshot.find_terms(["lorem", "ipsum"]))
    assert doc_freqs.tolist() == [2, 1]
    assert term_freqs[0] == text[: 50 << 20].count("lorem") + 1
    counts = snapshot.term_counts(np.array([0])).counts
    assert counts.min() > 1_900_000


def test_ten_thousand_metadata_fields(folder):
    fields = {f"field {i}": i for i in range(10_000)}
    build(folder, [Document("a", text="x", fields=fields), Document("b", text="x")])
    snapshot = open_snapshot(folder)
    assert len(snapshot.field_names()) == 10_000
    assert snapshot.document(0).fields == fields
    found = snapshot.segments[0].fields.with_number("field 9999", 9999, 9999)
    assert found.tolist() == [True, False]


def test_metadata_is_the_same_before_and_after_a_merge(folder):
    odd = [1, 2**70, float("inf"), float("nan"), np.float64(2.5), "é", (1, "x"), None, {"a": 1}]
    build(folder, [Document(f"d{i}", fields={"f": value}) for i, value in enumerate(odd)])
    asked = ["1", str(2**70), "inf", "2.5", "é", "x"]

    def answers():
        snapshot = open_snapshot(folder)
        masks = [mask_of(snapshot, Filter.read(f"f={value}")) for value in (*asked, "*")]
        return [mask.segments[0].tolist()[:9] for mask in masks]

    before = answers()
    assert [np.flatnonzero(mask).tolist() for mask in before[:4]] == [[0, 6], [1], [], [4]]
    with Writer(folder) as writer:
        writer.add([Document("last")])
        writer.merge()
    assert answers() == before


def test_thousands_of_tiny_documents(folder):
    documents = [Document(str(i), text=f"w{i % 100}") for i in range(70_000)]
    build(folder, documents)
    snapshot = open_snapshot(folder)
    doc_freqs, _ = snapshot.frequencies(snapshot.find_terms([f"w{i}" for i in range(100)]))
    assert doc_freqs.tolist() == [700] * 100
    docs = snapshot.find_docs(["0", "65535", "65536", "69999", "70000"])
    assert docs.tolist() == [0, 65535, 65536, 69999, -1]
    assert snapshot.document(65536) == documents[65536]
    assert len(snapshot.segments[0].postings.entries) == 201
