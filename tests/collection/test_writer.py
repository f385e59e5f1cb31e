from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from plain_model import expected, made, state

from likewise.collection.build import Resources
from likewise.collection.manifest import NAME as MANIFEST
from likewise.collection.manifest import read_manifest
from likewise.collection.snapshot import SEGMENTS, open_snapshot
from likewise.collection.writer import Added, Writer, build, create
from likewise.errors import DuplicateId, LockedError, NotACollection, UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis

A, B, C, D = (Document(name, text=f"text of {name}", place=f"f:{name}") for name in "abcd")
IDS = st.lists(st.sampled_from([f"d{i}" for i in range(12)]), max_size=6)
SEEDS = st.integers(0, 2**32)


def leftovers(folder):
    """What lies in the folder and does not belong to the collection."""
    manifest = read_manifest(folder)
    named = {entry.name for entry in manifest.segments}
    named |= {entry.deleted.name for entry in manifest.segments if entry.deleted}
    inside = {path.name for path in (folder / SEGMENTS).iterdir()}
    beside = {path.name for path in folder.iterdir()}
    return (inside ^ named) | (beside - {MANIFEST, SEGMENTS, "lock"})


class Collections(RuleBasedStateMachine):
    """A collection that changes at random equals one made of its live documents only."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "collection"
        self.model = {}
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("os.fsync", lambda handle: None)
        self.patch.setattr("likewise.collection.build._BATCH_DOCS", 3)
        self.patch.setattr("likewise.collection.documents._BLOCK_BYTES", 300)

    @initialize(ids=IDS, seed=SEEDS)
    def first(self, ids, seed):
        documents = self.draw(dict.fromkeys(ids), seed)
        build(self.folder, documents, resources=Resources(threads=1))
        self.model = {d.id: d for d in documents}
        self.writer = Writer(self.folder)

    def draw(self, ids, seed):
        rng = random.Random(seed)
        return [made(rng, doc_id) for doc_id in ids]

    @rule(seed=SEEDS, n=st.integers(1, 7), memory=st.sampled_from([1500, 1 << 30]))
    def add(self, seed, n, memory):
        documents = self.draw([f"n{seed}-{i}" for i in range(n)], seed)
        documents = [d for d in documents if d.id not in self.model]
        resources = Resources(memory=memory, threads=1)
        assert self.writer.add(documents, resources=resources) == Added(len(documents), 0)
        self.model |= {d.id: d for d in documents}

    @rule(ids=IDS, seed=SEEDS)
    def replace(self, ids, seed):
        documents = self.draw(ids, seed)
        added = self.writer.add(documents, replace=True, resources=Resources(threads=1))
        n_replaced = 0
        for document in documents:
            n_replaced += self.model.pop(document.id, None) is not None
            self.model[document.id] = document
        assert added == Added(len(documents), n_replaced)

    @precondition(lambda self: self.model)
    @rule(seed=SEEDS)
    def add_known(self, seed):
        known = random.Random(seed).choice(list(self.model))
        with pytest.raises(DuplicateId, match="was already given by"):
            self.writer.add(self.draw([f"n{seed}", known], seed))

    @rule(ids=IDS)
    def delete(self, ids):
        there = {doc_id for doc_id in ids if doc_id in self.model}
        assert self.writer.delete(ids, missing_ok=True) == len(there)
        for doc_id in there:
            del self.model[doc_id]

    @rule(seed=SEEDS)
    def delete_many(self, seed):
        rng = random.Random(seed)
        gone = [doc_id for doc_id in self.model if rng.random() < 0.5]
        assert self.writer.delete(gone) == len(gone)
        for doc_id in gone:
            del self.model[doc_id]

    @rule()
    def merge(self):
        self.writer.merge()
        assert len(self.writer.manifest.segments) <= 1
        assert open_snapshot(self.folder).n_slots == len(self.model)

    @rule()
    def reopen(self):
        self.writer.close()
        self.writer = Writer(self.folder)

    @invariant()
    def equals_a_fresh_collection(self):
        if not hasattr(self, "writer"):
            return
        found = state(open_snapshot(self.folder))
        assert found == expected(list(self.model.values()))
        assert not leftovers(self.folder)

    def teardown(self):
        if hasattr(self, "writer"):
            self.writer.close()
            again = self.folder.parent / "again"
            build(again, list(self.model.values()), resources=Resources(threads=1))
            assert state(open_snapshot(again)) == state(open_snapshot(self.folder))
        self.patch.undo()
        shutil.rmtree(self.folder.parent)


Collections.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=15,
    deadline=None,
    # Shrinking would take minutes, and a failing sequence is short enough to read.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
TestCollections = Collections.TestCase


def test_a_collection_is_made_of_nothing(folder):
    create(folder)
    assert state(open_snapshot(folder)) == expected([])
    with pytest.raises(UsageError, match="is a collection already"):
        create(folder)
    with Writer(folder) as writer:
        assert writer.add([]) == Added(0, 0)
        assert writer.merge() <= 1
        assert writer.delete([]) == 0
        writer.add([A])
    assert state(open_snapshot(folder)) == expected([A])


def test_create_does_not_touch_other_folders(tmp_path):
    (tmp_path / "precious").write_text("x")
    for make in (lambda: create(tmp_path), lambda: build(tmp_path, [A], overwrite=True)):
        with pytest.raises(NotACollection, match="holds other files"):
            make()
    with pytest.raises(NotACollection, match="is a file"):
        create(tmp_path / "precious")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_build_refuses_to_replace_documents(folder):
    build(folder, [A, B])
    with pytest.raises(UsageError, match=r"already holds documents.*likewise add.*--overwrite"):
        build(folder, [C])
    assert state(open_snapshot(folder)) == expected([A, B])
    build(folder, [C], overwrite=True, analysis=Analysis(stemmer="none"))
    assert state(open_snapshot(folder)) == expected([C], Analysis(stemmer="none"))
    assert not leftovers(folder)


def test_a_failed_build_leaves_what_was_there(folder, tmp_path):
    build(folder, [A, B])
    with pytest.raises(DuplicateId):
        build(folder, [C, C], overwrite=True, analysis=Analysis(stemmer="none"))
    assert state(open_snapshot(folder)) == expected([A, B])
    with pytest.raises(DuplicateId):
        build(tmp_path / "new", [C, C])
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    with pytest.raises(DuplicateId):
        build(tmp_path / "empty", [C, C])
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_build_beside_a_writer_changes_nothing(folder):
    create(folder)
    with Writer(folder) as writer:
        with pytest.raises(LockedError):
            build(folder, [B])
        with pytest.raises(LockedError):
            Writer(folder)
        writer.add([A])
    assert state(open_snapshot(folder)) == expected([A])


def test_two_builds_of_one_new_folder(folder, monkeypatch):
    """The second, which has also found nothing there, must not remove the first."""
    real = create

    def overtaken(folder, analysis):
        real(folder, analysis)
        with Writer(folder) as writer:
            writer.add([A])

    monkeypatch.setattr("likewise.collection.writer.create", overtaken)
    with pytest.raises(UsageError, match="already holds documents"):
        build(folder, [B])
    assert state(open_snapshot(folder)) == expected([A])


def test_duplicates_name_both_places(folder):
    build(folder, [A])
    cases = {
        "f:a": [C, Document("a", place="g:2")],
        "g:1": [Document("x", place="g:1"), B, Document("x", place="g:2")],
        "the collection": [Document("y", place="g:2")],
        "an earlier document": [Document("z"), Document("z", place="g:2")],
    }
    with Writer(folder) as writer:
        writer.add([Document("y")])
        for first, documents in cases.items():
            with pytest.raises(DuplicateId, match=f"g:2: id .* already given by {first} "):
                writer.add(documents)
    assert open_snapshot(folder).n_docs == 2


@pytest.mark.usefixtures("small_blocks")
def test_a_duplicate_of_an_earlier_batch_names_its_place(folder):
    documents = [Document(f"d{i}", place=f"f:{i}") for i in range(10)]
    with pytest.raises(DuplicateId, match="g:9: id 'd1' was already given by f:1 "):
        build(folder, [*documents, Document("d1", place="g:9")])


def test_deleting_what_is_not_there(folder):
    build(folder, [A, B])
    with Writer(folder) as writer:
        with pytest.raises(UsageError, match=r"'x'.*nothing was deleted \(--missing-ok"):
            writer.delete(["a", "x"])
        with pytest.raises(UsageError, match="'0', '1', '2', '3', '4', …"):
            writer.delete([str(i) for i in range(9)])
        assert open_snapshot(folder).n_docs == 2
        assert writer.delete(["a", "x", "a"], missing_ok=True) == 1
    assert state(open_snapshot(folder)) == expected([B])


@pytest.mark.parametrize("moment", ["sync_folder", "sweep"])
@pytest.mark.parametrize("change", ["add", "afresh", "delete", "merge"])
def test_an_interrupt_after_the_commit(folder, monkeypatch, moment, change):
    """What the manifest on disk names must stay, whatever the interrupted process believes."""
    build(folder, [A, B])

    def interrupt(*arguments, **options):
        monkeypatch.undo()
        raise KeyboardInterrupt

    def arm():
        if moment == "sync_folder":
            monkeypatch.setattr("likewise.collection.manifest.sync_folder", interrupt)
        else:
            monkeypatch.setattr("likewise.collection.writer.shutil.rmtree", interrupt)

    with Writer(folder) as writer:
        writer.delete(["a"])
        changes, kept = {
            "add": (lambda: writer.add([C, B], replace=True), [C, B]),
            "afresh": (lambda: writer.add([C], afresh=Analysis()), [C]),
            "delete": (lambda: writer.delete(["b"]), [C]),
            "merge": (writer.merge, [B, C]),
        }[change]
        if change in ("delete", "merge"):
            writer.add([C])
            # So that there are older tombstones to be swept.
            writer.add([D])
            writer.delete(["d"])
        arm()
        with pytest.raises(KeyboardInterrupt):
            changes()
        snapshot = open_snapshot(folder)
        snapshot.check()
        assert state(snapshot) == expected(kept)
        writer.add([Document("after")])
    assert state(open_snapshot(folder)) == expected([*kept, Document("after")])
    with Writer(folder):
        assert not leftovers(folder)


def test_a_merge_that_finds_no_room_does_not_undo_the_addition(folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("likewise.collection.writer.copy_segment", full)
    build(folder, [])
    documents = [Document(str(i), text=f"text {i}") for i in range(10)]
    with Writer(folder) as writer:
        for document in documents:
            assert writer.add([document]) == Added(1, 0)
        assert len(writer.manifest.segments) == 10
    assert state(open_snapshot(folder)) == expected(documents)
    assert not leftovers(folder)
    monkeypatch.undo()
    with Writer(folder) as writer:
        writer.add([Document("10")])
        assert len(writer.manifest.segments) == 1


def test_what_a_killed_process_left_is_swept(folder):
    build(folder, [A])
    (folder / SEGMENTS / "000099").mkdir()
    (folder / SEGMENTS / "000099" / "part.npy").write_bytes(b"x")
    (folder / (MANIFEST + ".new")).write_bytes(b"{")
    assert state(open_snapshot(folder)) == expected([A])
    with Writer(folder):
        assert not leftovers(folder)


def test_a_build_killed_before_its_manifest_can_be_begun_again(folder):
    (folder / SEGMENTS / "000001").mkdir(parents=True)
    (folder / "lock").write_bytes(b"1")
    (folder / (MANIFEST + ".new")).write_bytes(b"{")
    build(folder, [A])
    assert state(open_snapshot(folder)) == expected([A])
