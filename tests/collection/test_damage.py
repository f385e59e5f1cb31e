from __future__ import annotations

import random
import shutil
from functools import partial

import numpy as np
import pytest
from plain_model import expected, made, newest, state

from likewise.collection.creating import build
from likewise.collection.pack import BULK, Pack
from likewise.collection.snapshot import open_snapshot
from likewise.collection.words import FIELDS
from likewise.collection.writer import Writer
from likewise.errors import DamagedError, FormatError, LikewiseError, NotACollection
from likewise.records import Document

RNG = random.Random(9)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(12)]
ALIVE = [d for d in DOCUMENTS if d.id not in ("d2", "d9")]
DAMAGE = (DamagedError, FormatError, NotACollection)
# Read as they are, so that looking up an id or a word reads a few pages only.
LOOKED_UP = {"ids.slots", "terms.slots"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A collection of two segments with deleted documents in each."""
    folder = tmp_path_factory.mktemp("whole") / "collection"
    build(folder, DOCUMENTS[:7])
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[7:])
        writer.delete(["d2", "d9"])
    assert state(open_snapshot(folder)) == expected(ALIVE)
    return folder


def packs_of(folder):
    """The packs that a collection names, by path."""
    manifest = newest(folder)
    entries = [pack for segment in manifest.segments for pack in segment.packs]
    entries += [segment.deleted.pack for segment in manifest.segments if segment.deleted]
    return {folder / "data" / entry.file: entry for entry in entries}


def spans_of(path, entry):
    """Where the arrays of a pack stand, by name."""
    pack = Pack(path, entry)
    starts = {name: pack._arrays[name][2] for name in pack.names}
    spans = {name: range(at, at + pack.n_bytes(name)) for name, at in starts.items()}
    return spans | {"toc": range(entry.toc[0], entry.toc[0] + entry.toc[1])}


def files_of(folder):
    return [p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "lock"]


def replaced(path, data):
    """Put other content there, as a new file: what is still mapped must not change."""
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def damages(data):
    """Ways to damage a file as a whole: None removes it."""
    yield None
    yield b""
    yield data + b"\0"
    for size in {len(data) - 1, len(data) // 2, min(127, len(data) - 1)}:
        yield data[: max(size, 0)]


def test_files_that_are_missing_or_of_another_size_are_named(whole, folder):
    shutil.copytree(whole, folder)
    right = expected(ALIVE)
    for path in files_of(folder):
        data = path.read_bytes()
        for damaged in damages(data):
            replaced(path, damaged)
            try:
                found = state(open_snapshot(folder))
                message = path.name
            except DAMAGE as error:
                found, message = right, str(error)
            assert found == right
            assert path.name in message or (path.parent == folder and str(folder) in message)
        replaced(path, data)
    assert state(open_snapshot(folder)) == right


def test_every_flipped_bit_is_named_or_harmless(whole, folder):
    """Of arrays that are not checked when they are read, nothing worse comes than other counts."""
    shutil.copytree(whole, folder)
    right = expected(ALIVE)
    packs = packs_of(folder)
    rng = random.Random(3)
    for path in files_of(folder):
        data = path.read_bytes()
        spans = spans_of(path, packs[path]) if path in packs else {"all": range(len(data))}
        for name, span in [*spans.items(), ("anywhere", range(len(data)))]:
            for at in rng.sample(span, min(8, len(span))):
                replaced(path, flipped(data, 8 * at + rng.randrange(8)))
                inside = {n for n, s in spans.items() if at in s}
                if inside & (BULK | LOOKED_UP):
                    read_everything(folder)
                    continue
                try:
                    found = state(open_snapshot(folder))
                    message = path.name
                except DAMAGE as error:
                    found, message = right, str(error)
                assert found == right, (name, at)
                assert path.name in message or path.parent != folder / "data"
        replaced(path, data)
    assert state(open_snapshot(folder)) == right


def read_everything(folder):
    """Read all there is: errors are those that we raise on purpose, and texts stay right."""
    snapshot = open_snapshot(folder)
    docs = snapshot.live_docs()
    assert [document for _, document in snapshot.documents()] == ALIVE
    assert snapshot.doc_ids(docs) == [d.id for d in ALIVE]
    names = snapshot.terms(np.arange(snapshot.n_terms))
    reads = [
        lambda: snapshot.find_terms(names),
        lambda: snapshot.find_docs([d.id for d in DOCUMENTS]),
        lambda: snapshot.term_counts(docs),
        lambda: [snapshot.sentences(doc) for doc in docs.tolist()],
        lambda: snapshot.cards(docs),
        lambda: snapshot.frequencies(np.arange(snapshot.n_terms)),
        lambda: snapshot.positions(docs, np.arange(snapshot.n_terms)),
        *(partial(snapshot.term_counts, docs, field) for field in FIELDS),
        *(partial(snapshot.frequencies, np.arange(snapshot.n_terms), field) for field in FIELDS),
    ]
    for read in reads:
        try:
            read()
        except LikewiseError as error:
            assert str(folder / "data") in str(error)  # noqa: PT017
    with pytest.raises(DamagedError, match=str(folder / "data")):
        snapshot.check()


def test_a_check_finds_every_flipped_bit(whole, folder):
    """Headers and padding of a pack, which only other programs read, are left out."""
    shutil.copytree(whole, folder)
    open_snapshot(folder).check()
    packs = packs_of(folder)
    rng = random.Random(4)
    for path in files_of(folder):
        data = path.read_bytes()
        spans = spans_of(path, packs[path]) if path in packs else {"all": range(len(data))}
        for span in spans.values():
            for at in rng.sample(span, min(4, len(span))):
                replaced(path, flipped(data, 8 * at + rng.randrange(8)))
                try:
                    open_snapshot(folder).check()
                    # A space of the indented JSON.
                    harmless = path.suffix == ".json"
                except DAMAGE as error:
                    harmless = str(folder) in str(error)
                assert harmless
        replaced(path, data)
    open_snapshot(folder).check()


@pytest.mark.parametrize("pattern", ["index-*", "documents-*", "deleted-*"])
def test_a_damaged_collection_is_not_written_to(whole, folder, pattern):
    shutil.copytree(whole, folder)
    path = next((folder / "data").glob(pattern))
    path.unlink()
    before = sorted(folder.rglob("*"))
    with pytest.raises(DamagedError, match=rf"{path.name}: missing"):
        Writer(folder)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("number", [1 << 20, 7, -2])
def test_damage_that_no_look_up_may_spread(whole, folder, number):
    """Numbers in hash slots beyond all terms must not get into the records of new documents."""
    shutil.copytree(whole, folder)
    path, entry = next((p, e) for p, e in packs_of(folder).items() if "index" in p.name)
    data = path.read_bytes()
    for table in ("ids", "terms"):
        size = len(spans_of(path, entry)[f"{table}.offsets"]) // 4 - 1
        span = spans_of(path, entry)[f"{table}.slots"]
        wrong = np.full(len(span) // 4, number if number < 0 else size + number, np.int32)
        replaced(path, data[: span.start] + wrong.tobytes() + data[span.stop :])
        with pytest.raises(DamagedError, match=rf"{path.name}: {table}\.slots was altered"):
            add(folder, Document("new", text="alpha beta"))
        replaced(path, data)


def add(folder, document):
    with Writer(folder) as writer:
        writer.add([document])
