"""How much is read, held open and held in memory, where a user would notice."""

from __future__ import annotations

import gc
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from plain_model import expected, made, state

import likewise as lw
from likewise.collection import pack as packs
from likewise.collection.creating import build
from likewise.collection.pack import Pack
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.records import Document

N_DOCS = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A collection of many documents, all of them with words of their own."""
    folder = tmp_path_factory.mktemp("large") / "collection"
    generator = np.random.default_rng(1)
    drawn = (20_000 * generator.random((N_DOCS, 80)) ** 3).astype(int).tolist()
    build(
        folder,
        (
            Document(f"doc-{i}", f"title {i}", " ".join(f"w{w}" for w in row), {"n": i})
            for i, row in enumerate(drawn)
        ),
    )
    return folder


class Touched:
    """Counts the bytes of a folder's files that this process reads, of mapped ones by pages.

    The system maps pages around the one that is asked for: so each file is looked through when
    it is mapped, and then the marks by which the processor notes what is used are wiped.
    """

    def __init__(self, folder, monkeypatch):
        self._folder = str(folder)
        self._mapped = 0
        self._real = packs.mmap.mmap
        monkeypatch.setattr(packs.mmap, "mmap", self._map)
        self._read = -read_so_far()

    def _map(self, *arguments, **options):
        self.total()
        made = self._real(*arguments, **options)
        sum(made[::4096])
        Path("/proc/self/clear_refs").write_text("1")
        return made

    def total(self):
        """Give the bytes that were read since the beginning."""
        self._read += read_so_far()
        mine = False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
                mine = self._folder in line
            elif mine and line.startswith("Referenced:"):
                self._mapped += 1024 * int(line.split()[1])
        Path("/proc/self/clear_refs").write_text("1")
        found = self._mapped + self._read
        # What was read to find that out does not count.
        self._read -= read_so_far()
        return found


def read_so_far():
    """The bytes that this process has read by calls."""
    return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])


needs_proc = pytest.mark.skipif(
    not (os.access("/proc/self/clear_refs", os.W_OK) and os.path.exists("/proc/self/io")),
    reason="the system does not tell what is read",
)


@needs_proc
def test_the_measure_sees_what_is_read(large, monkeypatch):
    """Of an array that is looked at whole, all pages are counted; of one number, one page."""
    touched = Touched(large, monkeypatch)
    snapshot = open_snapshot(large)
    pack = snapshot.segments[0].packs[0]
    size, seen = pack.n_bytes("records"), []
    # The processor's marks may miss a page: the most of three looks is what was read.
    for _ in range(3):
        before = touched.total()
        pack.unchecked("records").sum()
        seen.append(touched.total() - before)
    assert size <= max(seen) <= size + 10_000
    before = touched.total()
    pack.unchecked("postings.docs")[1_000_000:1_000_001].sum()
    assert 4096 <= touched.total() - before < 6000
    path = next((large / "data").glob("documents-*"))
    before = touched.total()
    path.read_bytes()
    assert path.stat().st_size <= touched.total() - before < path.stat().st_size + 2000


@needs_proc
def test_an_addition_reads_little(large, monkeypatch):
    """Words and ids are looked up where they are mapped: neither loaded nor checked."""
    warm(large.with_name("warm"))
    size = sum(path.stat().st_size for path in (large / "data").iterdir())
    gc.collect()
    touched = Touched(large, monkeypatch)
    with Writer(large) as writer:
        writer.add([Document("new", "", "w5 w77 w123 w4567 novel")])
        found = touched.total()
    assert size > 10_000_000
    assert 20_000 < found < size / 100
    monkeypatch.undo()
    assert open_snapshot(large).find_doc("new") == N_DOCS


def warm(folder):
    """Load the code, which is read too."""
    build(folder, [Document("a", text="word")])
    with Writer(folder) as writer:
        writer.add([Document("new", "", "w5 novel")])


def test_an_addition_checks_no_array_of_what_is_there(large, monkeypatch):
    old = {path.name for path in (large / "data").iterdir()}
    checked = []
    real = Pack._check

    def check(self, name):
        checked.append((self.path.name, name))
        real(self, name)

    monkeypatch.setattr(Pack, "_check", check)
    with Writer(large) as writer:
        writer.add([Document("newer", "", "w5 w77 novel")])
        assert not [one for one in checked if one[0] in old]
        writer.delete(["newer"])
        # That asks for the lengths and records of the segment that it is in.
        assert not [one for one in checked if one[0] in old]


def opened(folder):
    """The files of a folder that this process holds open."""
    found = []
    for handle in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{handle}"))
        except FileNotFoundError:
            continue
    return [target for target in found if target.startswith(str(folder))]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
@pytest.mark.usefixtures("unsynced")
def test_descriptors_of_many_segments(folder):
    rng = random.Random(8)
    documents = [made(rng, f"d{i}") for i in range(60)]
    build(folder, documents[:3])
    with Writer(folder) as writer:
        writer._merge = lambda *_: None
        for first in range(3, 60, 3):
            writer.add(documents[first : first + 3])
        writer.delete([f"d{i}" for i in range(0, 60, 3)])
    del writer
    gc.collect()
    snapshot = open_snapshot(folder)
    assert len(snapshot.segments) == 20
    assert state(snapshot) == expected([d for i, d in enumerate(documents) if i % 3])
    snapshot.check()
    # Arrays, positions, deleted documents, some files of texts, and the lease.
    assert 60 < len(opened(folder)) <= 3 * 20 + 8 + 1 <= 4 * 20
    positions = [name for name in opened(folder) if "positions-" in name]
    assert len(positions) == 20
    del snapshot
    gc.collect()
    assert opened(folder) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
@pytest.mark.usefixtures("unsynced")
def test_descriptors_of_many_segments_with_models(folder):
    rng = random.Random(8)
    documents = [made(rng, f"d{i}") for i in range(90)]
    lw.index(documents[:30], to=folder, model="lsi(topics=3)", smooth="klsa(axes=3)")
    with Writer(folder, keep_up) as writer:
        writer._merge = lambda *_: None
        for first in range(30, 90, 3):
            writer.add(documents[first : first + 3])
        writer.delete([f"d{i}" for i in range(0, 90, 3)])
    del writer
    gc.collect()
    c = lw.open(folder)
    n = len(c.snapshot.segments)
    assert n == 21
    assert c.like("d1", k=60)
    assert c.search(documents[1].text, k=60, method="bm25", smooth="klsa")
    kinds = Counter(Path(name).name.partition("-")[0] for name in opened(folder))
    # Arrays, deleted documents, and vectors by each of the models.
    assert (kinds["index"], kinds["deleted"], kinds["vectors"]) == (n, n, 2 * n)
    # Beside these two models, some files of texts, and the lease.
    assert sum(kinds.values()) <= 4 * n + 2 + 8 + 1
    c.close()
    del c
    gc.collect()
    assert opened(folder) == []


MEASURED = """
import re, sys, threading, time
from pathlib import Path
from likewise.collection.build import LEAST_MEMORY, Resources
from likewise.collection.creating import build
from likewise.collection.writer import Writer
from likewise.records import Document
import numpy as np

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10

def documents(n, seed):
    generator = np.random.default_rng(seed)
    for i in range(n):
        words = (400_000 * generator.random(100) ** 4).astype(int).tolist()
        text = " ".join(f"word{w}" for w in words)
        yield Document(f"{seed}-document-{i}", f"title {i}", text, {"year": i, "name": f"n{i}"})

folder = Path(sys.argv[1])
build(folder / "warm", documents(50, 0), resources=Resources(memory=LEAST_MEMORY))
before, most, done = anonymous(), [0], threading.Event()

def watch():
    while not done.wait(.01):
        most[0] = max(most[0], anonymous())

watching = threading.Thread(target=watch)
watching.start()
resources = Resources(memory=LEAST_MEMORY, threads=2)
build(folder / "c", documents(int(sys.argv[2]), 1), resources=resources)
with Writer(folder / "c") as writer:
    writer.add(documents(1000, 2), resources=resources)
    writer.merge(resources=resources)
done.set()
watching.join()
print(LEAST_MEMORY, before, most[0])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_memory_that_a_build_holds(tmp_path):
    command = [sys.executable, "-c", MEASURED, str(tmp_path), "10000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    limit, before, most = map(int, done.stdout.split())
    assert before < most < limit
