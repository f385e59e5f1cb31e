from __future__ import annotations

import math
import random

import numpy as np
import pytest
from plain_model import expected, made, state

from likewise.collection.files import Seal
from likewise.collection.manifest import SegmentEntry
from likewise.collection.merge import _copy, all_runs, next_run
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.errors import DamagedError
from likewise.records import Document

FILES = {"forward.npy": Seal(100, 0)}


def entries(*sizes):
    return [SegmentEntry(str(i), n, n, 0, 0, FILES) for i, n in enumerate(sizes)]


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
    assert next_run(entries(*sizes)) == run


def test_segments_that_together_would_be_too_large():
    huge = [SegmentEntry(str(i), 5, 10**9, 0, 0, FILES) for i in range(9)]
    assert next_run(huge) is None
    assert all_runs(huge) == [(0, 4), (4, 8), (8, 9)]
    larger = [SegmentEntry("9", 500, 10**9, 0, 0, FILES)] * 9
    assert next_run(larger + entries(*[1] * 8)) == (9, 17)
    assert all_runs([]) == []


@pytest.mark.parametrize("seed", range(4))
def test_segments_stay_few_and_copies_logarithmic(seed):
    rng = random.Random(seed)
    sizes, copied, total = [], 0, 0
    for _ in range(3000):
        size = 1 if seed == 0 else rng.choice([1, 1, 1, 5, 30, 500 if seed == 3 else 1])
        sizes.append(size)
        total += size
        run = next_run(entries(*sizes))
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


def test_damage_is_not_copied(folder, monkeypatch):
    build(folder, [Document("a", text="apple"), Document("b", text="banana")])
    # As for a file that is too large to be checked whenever it is opened.
    monkeypatch.setattr("likewise.collection.segment._CHECKED_AT_OPEN", 0)
    with Writer(folder) as writer:
        writer.delete(["a"])
        path = folder / "segments" / writer.manifest.segments[0].name / "forward.npy"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(DamagedError, match=r"forward\.npy: its content was altered"):
            writer.merge()


def test_copy_equals_slices():
    stream = np.arange(50, dtype=np.uint8)
    offsets = np.array([0, 5, 5, 20, 50], np.uint32)
    docs = np.array([3, 0, 1, 3])
    copied, ends = _copy(stream, offsets, docs)
    slices = [stream[offsets[d] : offsets[d + 1]] for d in docs]
    assert copied.tolist() == np.concatenate(slices).tolist()
    assert ends.tolist() == np.cumsum([len(s) for s in slices]).tolist()
