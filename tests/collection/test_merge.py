from __future__ import annotations

import math
import random

import numpy as np
import pytest
import zstandard
from plain_model import expected, leftovers, made, state

from likewise.collection.creating import build
from likewise.collection.job import Job
from likewise.collection.manifest import FileEntry, SegmentEntry
from likewise.collection.merge import _copy, all_runs, begin_merge, join_terms, next_run
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.records import Document
from likewise.text.analysis import Analysis


class Sized:
    """A segment of which only the size is known."""

    def __init__(self, n_docs, *, n_tokens=0, n_bytes=0):
        self.entry = SegmentEntry("", n_docs, n_tokens, 0, 0, FileEntry("", 0, 0), ())
        self.pack_of = lambda name: self
        self.n_bytes = lambda name: n_bytes if name == "cards" else 0


def sized(*sizes):
    return [Sized(n) for n in sizes]


@pytest.mark.parametrize(
    ("sizes", "run"),
    [
        ([], None),
        ([1] * 7, None),
        ([1] * 8, (0, 8)),
        ([100] + [1] * 7, None),
        ([100] + [1] * 8, (1, 9)),
        ([8] + [1] * 8, (0, 9)),
        ([128, 64, 32, 16, 8, 4, 2, 1], None),
        ([0] * 8, (0, 8)),
        ([1000, 0, 0, 0, 0, 0, 0, 0], None),
    ],
)
def test_which_neighbours_are_merged(sizes, run):
    assert next_run(sized(*sizes)) == run


def test_segments_that_together_would_be_too_large():
    for huge in (
        [Sized(5, n_tokens=9 * 10**8)] * 9,
        [Sized(5, n_bytes=9 * 10**8)] * 9,
        [Sized(1 << 19)] * 9,
    ):
        assert next_run(huge) is None
        assert all_runs(huge) == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
    larger = [Sized(500, n_tokens=10**9)] * 9
    assert next_run(larger + sized(*[1] * 8)) == (9, 17)
    assert all_runs([]) == []


def test_a_neighbour_that_does_not_fit_keeps_nobody_from_merging():
    large = Sized(600_000)
    assert next_run([large, *sized(*[75_000] * 8)]) == (1, 9)
    assert next_run([large, *sized(*[75_000] * 9)]) == (1, 10)


@pytest.mark.parametrize("seed", range(4))
def test_segments_stay_few_and_copies_logarithmic(seed):
    rng = random.Random(seed)
    sizes, copied, total = [], 0, 0
    for _ in range(3000):
        size = 1 if seed == 0 else rng.choice([1, 1, 1, 5, 30, 500 if seed == 3 else 1])
        sizes.append(size)
        total += size
        run = next_run(sized(*sizes))
        if run:
            merged = sum(sizes[run[0] : run[1]])
            copied += merged
            sizes[run[0] : run[1]] = [merged]
        assert len(sizes) <= 8 * math.log2(total + 2)
    assert sum(sizes) == total
    assert copied <= total * 2 * math.log2(total)


@pytest.mark.usefixtures("unsynced")
def test_many_small_additions(folder):
    build(folder, [])
    rng = random.Random(1)
    documents = [made(rng, f"d{i}") for i in range(60)]
    with Writer(folder) as writer:
        for document in documents:
            writer.add([document])
            assert len(writer.manifest.segments) <= 16
    assert state(open_snapshot(folder)) == expected(documents)


@pytest.mark.usefixtures("small_blocks")
def test_whole_and_partial_blocks(folder):
    rng = random.Random(2)
    documents = [made(rng, f"d{i}") for i in range(40)]
    build(folder, documents[:20])
    gone = {"d0", "d3", "d4", "d5", "d19", "d25"}
    with Writer(folder) as writer:
        writer.add(documents[20:])
        writer.delete(sorted(gone))
        assert writer.merge() == 2
        assert writer.merge() == 1
    snapshot = open_snapshot(folder)
    assert len(snapshot.segments) == 1
    assert snapshot.n_slots == 34
    assert state(snapshot) == expected([d for d in documents if d.id not in gone])


def test_merging_nothing_but_the_dead(folder):
    build(folder, [Document("a", text="apple"), Document("b", text="banana")])
    with Writer(folder) as writer:
        writer.delete(["a", "b"])
        writer.merge()
        assert state(open_snapshot(folder)) == expected([])
        again = [Document("a", text="apple cherry")]
        writer.add(again)
    assert state(open_snapshot(folder)) == expected(again)


@pytest.mark.parametrize("array", ["records", "postings.docs", "cards", "lengths", "documents"])
def test_damage_is_not_copied(folder, array):
    build(folder, [Document("a", text="apple"), Document("b", text="banana")])
    with Writer(folder) as writer:
        writer.delete(["a"])
        if array == "documents":
            path = next((folder / "data").glob("documents-*"))
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        else:
            pack = writer.snapshot.segments[0].packs[0]
            pack.unchecked(array).view(np.uint8)[-1] ^= 1
        with pytest.raises(DamagedError, match=r"(index|documents)-\w+\..*altered"):
            writer.merge()
        assert writer.manifest.generation == 3
    assert not leftovers(folder)


def test_damage_that_stops_a_merge_does_not_undo_the_addition(folder, caplog):
    build(folder, [Document("0", text="apple")])
    with Writer(folder) as writer:
        for i in range(1, 7):
            writer.add([Document(str(i), text=f"text {i}")])
        writer.snapshot.segments[0].packs[0].unchecked("records")[-1] ^= 1
        assert writer.add([Document("7", text="last")]).n_docs == 1
        assert "segments are not merged" in caplog.text
        assert "records was altered" in caplog.text
        assert writer.snapshot.n_docs == len(writer.manifest.segments) == 8
    assert not leftovers(folder)


def test_segments_without_new_words(folder):
    """Every list of words but the first may be empty."""
    documents = [Document(str(i), text="apple banana") for i in range(5)]
    build(folder, documents[:1])
    with Writer(folder) as writer:
        for document in documents[1:]:
            writer.add([document])
        assert [entry.n_terms for entry in writer.manifest.segments] == [2, 0, 0, 0, 0]
        writer.merge()
    assert state(open_snapshot(folder)) == expected(documents)


def test_words_that_no_document_has_keep_a_number(folder):
    build(folder, [Document("a", text="apple banana"), Document("b", text="banana cherry")])
    with Writer(folder) as writer:
        writer.add([Document("c", text="durian elder"), Document("d", text="elder")])
        writer.delete(["a", "c"])
        assert writer.snapshot.n_terms == 5
        every = np.arange(5)
        assert join_terms(writer.snapshot.segments, every).all()[0] == b""
        writer.merge()
        assert writer.snapshot.n_terms == 5
        assert writer.snapshot.terms(every) == ["", "banana", "cherri", "", "elder"]
        assert writer.snapshot.find_terms(["appl", "", "elder"]).tolist() == [-1, -1, 4]
        writer.add([Document("e", text="apple elder")])
        assert writer.snapshot.find_terms(["appl", "elder"]).tolist() == [5, 4]
        writer.merge()
        kept = ["", "banana", "cherri", "", "elder", "appl"]
        assert writer.snapshot.terms(np.arange(6)) == kept
    documents = [Document("b", text="banana cherry"), Document("d", text="elder")]
    documents.append(Document("e", text="apple elder"))
    assert state(open_snapshot(folder)) == expected(documents)


ZSTD = b"\x28\xb5\x2f\xfd"
SECRETS = ["secretid", "secrettitle", "secretword", "Secretname", "secretvalue", "secretfield"]


def bytes_of(folder):
    """All that the files of a folder hold, compressed or not."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found.append(data)
            # Frames of documents. Cards of so few are as they are: see `symbols`.
            at = data.find(ZSTD)
            while at >= 0:
                reader = zstandard.ZstdDecompressor().decompressobj()
                found.append(reader.decompress(data[at:]))
                at = data.find(ZSTD, at + 1)
    return b"\n".join(found).lower()


@pytest.mark.usefixtures("small_blocks")
def test_no_byte_of_a_deleted_document_is_left(folder):
    secret = Document(
        "secretid",
        "Secrettitle for all",
        "Secretword of Secretname. Common words.",
        {"secretfield": "secretvalue", "tags": ["common", "secretvalue"]},
        "secretplace:5",
    )
    others = [
        Document(f"d{i}", "Common title", "Common words of all.", {"tags": ["common"]})
        for i in range(8)
    ]

    def found():
        everything = bytes_of(folder)
        return {word for word in [*SECRETS, "secretplace"] if word.lower().encode() in everything}

    build(folder, [*others[:3], secret, *others[3:5]])
    with Writer(folder) as writer:
        writer.add(others[5:])
        assert found() == {*SECRETS, "secretplace"}
        writer.delete(["secretid"])
        assert found()
        writer.merge()
        assert found() == set()
    assert state(open_snapshot(folder)) == expected(others)


@pytest.mark.usefixtures("small_blocks")
def test_words_of_a_segment_that_others_used_last(folder, monkeypatch):
    """A word may stand in a segment that has lost nothing itself since."""
    for module in ("build", "merge"):
        monkeypatch.setattr(f"likewise.collection.{module}.MOST_DOCS", 6)
    full = [Document(f"d{i}", text=f"word{i}") for i in range(4)]
    build(folder, [*full[:3], Document("x", text="secretword"), *full[3:]])
    with Writer(folder) as writer:
        writer.add([Document("y", text="secretword"), *(Document(str(i)) for i in range(5))])
        writer.delete(["x"])
        writer.merge()
        assert len(writer.manifest.segments) == 2
        assert b"secretword" in bytes_of(folder)
        writer.delete(["y"])
        writer.merge()
        assert b"secretword" not in bytes_of(folder)
        assert writer.snapshot.n_docs == 9
        before = writer.manifest.generation
        writer.merge()
        assert writer.manifest.generation == before


def test_copy_equals_slices():
    stream = np.arange(50, dtype=np.uint8)
    offsets = np.array([0, 5, 5, 20, 50], np.uint32)
    docs = np.array([3, 0, 1, 3])
    copied, ends = _copy(stream, offsets, docs)
    slices = [stream[offsets[d] : offsets[d + 1]] for d in docs]
    assert copied.tolist() == np.concatenate(slices).tolist()
    assert ends.tolist() == np.cumsum([len(s) for s in slices]).tolist()


def test_what_only_some_segments_have_is_dropped_and_said(tmp_path, caplog):
    documents = [Document("a", "Wings", "flutter")]
    build(tmp_path / "with", documents)
    build(tmp_path / "without", documents, analysis=Analysis(language="english", positions=False))
    chosen = [
        segment
        for name in ("with", "without")
        for segment in open_snapshot(tmp_path / name).segments
    ]
    with Job(tmp_path / "with") as job:
        for segments, kept in ((chosen[:1], True), (chosen[1:], False), (chosen, False)):
            builder = begin_merge(job, segments)
            assert builder.has_positions == kept
            builder.abandon()
    assert caplog.messages == [
        "positions of words are dropped, which only 1 of 2 merged segments had: index the "
        "documents again to have them"
    ]
