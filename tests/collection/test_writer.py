from __future__ import annotations

import gc
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from plain_model import expected, leftovers, made, state

from likewise.collection import generations
from likewise.collection.adding import Added
from likewise.collection.build import Resources
from likewise.collection.cleaning import clean
from likewise.collection.creating import build, create
from likewise.collection.format1 import note_replaced
from likewise.collection.generations import unfinished_jobs
from likewise.collection.manifest import Artifact, Manifest, manifest_path, read_pointer
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, valid_artifacts
from likewise.errors import (
    CollectionError,
    DamagedError,
    DuplicateId,
    LockedError,
    NotACollection,
    UsageError,
)
from likewise.records import Document
from likewise.text.analysis import Analysis

A, B, C, D = (Document(name, text=f"text of {name}", place=f"f:{name}") for name in "abcd")
IDS = st.lists(st.sampled_from([f"d{i}" for i in range(12)]), max_size=6)
SEEDS = st.integers(0, 2**32)


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

    @rule(seed=SEEDS, n=st.integers(1, 7), most=st.sampled_from([4, 1 << 20]))
    def add(self, seed, n, most):
        documents = self.draw([f"n{seed}-{i}" for i in range(n)], seed)
        documents = [d for d in documents if d.id not in self.model]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("likewise.collection.build.MOST_DOCS", most)
            added = self.writer.add(documents, resources=Resources(threads=1))
        assert added == Added(len(documents), 0)
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
        assert not leftovers(self.folder, job=self.writer._job)

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
    with pytest.raises(UsageError, match=r"already holds documents.*\.add\(.*overwrite=True"):
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

    def overtaken(folder, analysis, lineage):
        real(folder, analysis, lineage=lineage)
        with Writer(folder) as writer:
            writer.add([A])

    monkeypatch.setattr("likewise.collection.creating.create", overtaken)
    with pytest.raises(UsageError, match="already holds documents"):
        build(folder, [B])
    assert state(open_snapshot(folder)) == expected([A])


def test_a_build_removes_only_what_it_has_made(folder, monkeypatch):
    """The second, which has found nothing there, comes before the first has added anything."""
    real = create

    def overtaken(folder, analysis, lineage):
        real(folder, Analysis(language="english", stemmer="none"))
        real(folder, analysis, lineage=lineage)

    monkeypatch.setattr("likewise.collection.creating.create", overtaken)
    with pytest.raises(UsageError, match="is a collection already"):
        build(folder, [B])
    assert open_snapshot(folder).analysis == Analysis(language="english", stemmer="none")
    monkeypatch.undo()
    build(folder, [A])
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
            with pytest.raises(DuplicateId, match=f"g:2: id .* already given by {first};"):
                writer.add(documents)
    assert open_snapshot(folder).n_docs == 2


@pytest.mark.usefixtures("small_blocks")
def test_a_duplicate_of_an_earlier_batch_names_its_place(folder):
    documents = [Document(f"d{i}", place=f"f:{i}") for i in range(10)]
    with pytest.raises(DuplicateId, match="g:9: id 'd1' was already given by f:1;"):
        build(folder, [*documents, Document("d1", place="g:9")])


def test_deleting_what_is_not_there(folder):
    build(folder, [A, B])
    with Writer(folder) as writer:
        with pytest.raises(UsageError, match=r"'x'.*nothing was deleted; missing_ok=True"):
            writer.delete(["a", "x"])
        with pytest.raises(UsageError, match="'0', '1', '2', '3', '4', …"):
            writer.delete([str(i) for i in range(9)])
        assert open_snapshot(folder).n_docs == 2
        assert writer.delete(["a", "x", "a"], missing_ok=True) == 1
    assert state(open_snapshot(folder)) == expected([B])


MOMENTS = pytest.mark.parametrize("moment", ["data", "manifests", "pointer", "sweep", "work"])


def interrupt_at(moment, folder, monkeypatch):
    """Let an interrupt come around the next commit."""
    synced = {"data": folder / "data", "manifests": folder / "manifests", "pointer": folder}
    real = generations.sync_folder

    def interrupt(*arguments):
        monkeypatch.undo()
        raise KeyboardInterrupt

    if moment in synced:
        monkeypatch.setattr(
            generations,
            "sync_folder",
            lambda path: interrupt() if path == synced[moment] else real(path),
        )
    else:
        name = "_sweep_manifests" if moment == "sweep" else "_sweep_work"
        monkeypatch.setattr(generations, name, interrupt)


@MOMENTS
@pytest.mark.parametrize("change", ["add", "delete", "merge"])
def test_an_interrupt_around_the_commit(folder, monkeypatch, moment, change):
    """What the manifest on disk names must stay, whatever the interrupted process believes."""
    build(folder, [A, B])
    with Writer(folder) as writer:
        writer.delete(["a"])
        before = [B]
        changes, kept = {
            "add": (lambda: writer.add([C, B], replace=True), [C, B]),
            "delete": (lambda: writer.delete(["b"]), [C]),
            "merge": (writer.merge, [B, C]),
        }[change]
        if change in ("delete", "merge"):
            writer.add([C])
            # So that there is more to be swept.
            writer.add([D])
            writer.delete(["d"])
            before = [B, C]
        interrupt_at(moment, folder, monkeypatch)
        with pytest.raises(KeyboardInterrupt):
            changes()
        if moment in ("data", "manifests"):
            kept = before
        snapshot = open_snapshot(folder)
        snapshot.check()
        assert state(snapshot) == expected(kept)
        snapshot.close()
        writer.add([Document("after")])
    assert state(open_snapshot(folder)) == expected([*kept, Document("after")])
    assert not leftovers(folder)


@MOMENTS
def test_an_interrupt_around_the_commit_of_an_overwrite(folder, monkeypatch, moment):
    build(folder, [A, B])
    interrupt_at(moment, folder, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        build(folder, [C], overwrite=True)
    kept = [A, B] if moment in ("data", "manifests") else [C]
    assert state(open_snapshot(folder)) == expected(kept)
    open_snapshot(folder).check()
    assert not leftovers(folder)


def test_a_merge_that_finds_no_room_does_not_undo_the_addition(folder, monkeypatch, caplog):
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
    assert "segments are not merged: " in caplog.text
    assert "No space left" in caplog.text or "the disk is full" in caplog.text
    monkeypatch.undo()
    with Writer(folder) as writer:
        writer.add([Document("10")])
        assert len(writer.manifest.segments) == 1


def test_what_a_killed_process_left_is_swept(folder):
    build(folder, [A])
    left = [
        *("data/index-0123456789ab.npz", "manifest.json.new", "manifests/00000003.json"),
        *("manifests/00000003.json.new", "work/0123456789ab/x.npz", "work/0123456789ab.lock"),
    ]
    for name in left:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"{")
    assert leftovers(folder) == {*left, "work/0123456789ab"}
    assert state(open_snapshot(folder)) == expected([A])
    with Writer(folder):
        assert not leftovers(folder)


def test_a_build_killed_before_its_manifest_can_be_begun_again(folder):
    for name in ("manifest.json.new", "lock", "manifests/00000001.json", "data/x-0123456789ab.npz"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"{")
    (folder / "work" / "0123456789ab").mkdir(parents=True)
    build(folder, [A])
    assert state(open_snapshot(folder)) == expected([A])
    assert not leftovers(folder)


@pytest.mark.parametrize(
    "name",
    [
        *("data/corpus.jsonl", "work/thesis.tex", "models/net.bin", "segments/a/b", "derived/x"),
        *("manifests/cargo.json", "work/0123456789abc", "data/2024/x"),
        "segments/202401/x",
    ],
)
def test_folders_of_the_same_names_are_not_touched(tmp_path, name):
    """Data, work and models are what many call their folders."""
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    for make in (lambda: create(tmp_path), lambda: build(tmp_path, [A], overwrite=True)):
        with pytest.raises(NotACollection, match="holds other files"):
            make()
    assert sorted(tmp_path.rglob("*")) == before


def test_what_others_put_beside_our_files_stays(folder):
    build(folder, [A])
    others = ["data/notes.txt", "manifests/notes.json", "models/net.bin", "notes", "work/notes"]
    for name in [*others, "data/inside/x"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")
    with Writer(folder) as writer:
        writer.add([B])
        writer.merge()
    assert [(folder / name).read_text() for name in others] == ["precious"] * len(others)
    assert (folder / "data" / "inside" / "x").exists()


def test_folders_that_are_named_as_those_of_format_1_stay(folder):
    """Without an upgrade they are somebody's."""
    build(folder, [A])
    (folder / "segments" / "202401").mkdir(parents=True)
    (folder / "models").mkdir()
    before = {*folder.rglob("*")}
    with Writer(folder):
        assert {*folder.rglob("*")} >= before


def test_folders_of_format_1_go_after_an_upgrade(folder):
    build(folder, [A])
    for name in ("segments/000001", "models/000002", "derived/mine"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x.npy").write_bytes(b"x")
    note_replaced(folder, keep=False)
    with Writer(folder):
        assert {path.name for path in folder.iterdir()} & {"segments", "models", "derived"} == {
            "derived"
        }
    # What is put there later is somebody's again.
    (folder / "models" / "000001").mkdir(parents=True)
    with Writer(folder):
        assert (folder / "models" / "000001").exists()


def test_what_was_broken_off_is_cleaned_up_in_a_collection_only(tmp_path):
    plan = tmp_path / "work" / "0123456789ab" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_text("mine")
    for pointer in (None, b"[]", b'{"format": "other", "version": 1}'):
        if pointer:
            (tmp_path / "manifest.json").write_bytes(pointer)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(CollectionError):
            clean(tmp_path)
        assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "manifest.json").unlink()
    create(tmp_path)
    foreign = tmp_path / "work" / "thesis" / "plan.json"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    assert unfinished_jobs(tmp_path) == ["0123456789ab"]
    assert clean(tmp_path) > 0
    assert not plan.exists()
    assert foreign.read_text() == "mine"


def spoil_contents(folder):
    """Damage a table of contents, without which a segment cannot be opened."""
    snapshot = open_snapshot(folder)
    pack = snapshot.manifest.segments[0].packs[0]
    path = snapshot.path_of(pack.file)
    snapshot.close()
    data = bytearray(path.read_bytes())
    data[pack.toc[0] + 10] ^= 1
    path.write_bytes(data)


def spoil_manifest(folder):
    path = manifest_path(folder, read_pointer(folder).generation)
    path.write_bytes(path.read_bytes()[:-9])


def spoil_pointer(folder):
    (folder / "manifest.json").write_bytes(b"{")


@pytest.mark.parametrize("spoil", [spoil_contents, spoil_manifest, spoil_pointer])
def test_a_damaged_collection_is_indexed_again(folder, spoil):
    build(folder, [A, B])
    before = open_snapshot(folder).manifest.generation
    spoil(folder)
    with pytest.raises(DamagedError):
        Writer(folder)
    with pytest.raises(DuplicateId):
        build(folder, [C, C], overwrite=True)
    with pytest.raises(DamagedError):
        Writer(folder)
    build(folder, [C], overwrite=True)
    assert state(open_snapshot(folder)) == expected([C])
    assert open_snapshot(folder).manifest.generation > before
    assert not leftovers(folder)


def test_what_is_not_needed_is_cleaned_up_beside_damage(folder):
    build(folder, [A, B])
    spoil_contents(folder)
    (folder / "data" / "index-0123456789ab.npz").write_bytes(b"left")
    assert clean(folder) == 4


def test_another_file_of_the_name_of_a_manifest_is_not_overwritten(folder):
    build(folder, [A])
    (folder / "manifest.json").write_bytes(b'{"name": "an application"}')
    (folder / "page.html").touch()
    before = {*folder.rglob("*")}
    with pytest.raises(DamagedError, match="not a manifest"):
        build(folder, [B], overwrite=True)
    assert {*folder.rglob("*")} == before


def test_nothing_is_written_by_an_addition_of_nothing(folder):
    build(folder, [A])
    with Writer(folder) as writer:
        before = writer.manifest.generation
        assert writer.add([]) == Added(0, 0)
        assert writer.delete([]) == 0
        assert writer.merge() == 1
        assert writer.manifest.generation == before


def test_a_writer_that_is_forgotten_lets_others_write(folder):
    build(folder, [A])
    writer = Writer(folder)
    writer.add([B])
    del writer
    gc.collect()
    with Writer(folder) as writer:
        writer.add([C])
    assert not leftovers(folder)


# What was derived


def artifact(name, *inputs, kind="unheard", pack=None):
    return Artifact(name, kind, 7, "", inputs, {"x": [1]}, pack)


def packed(job, kind="unheard"):
    out = job.new_pack(kind)
    out.put("x", np.arange(3))
    return out.close()


def test_artifacts_of_kinds_that_nobody_knows_are_kept_while_valid(folder):
    build(folder, [A, B])
    with Writer(folder) as writer:
        writer.add([C])
        one, two = writer.manifest.segments
        root = artifact("root", pack=packed(writer.job))
        first = artifact("first", "root", one.id, pack=packed(writer.job))
        second = artifact("second", "root", two.id)
        whole = artifact("whole", "root", one.id, two.id)
        deeper = artifact("deeper", "second")
        writer.put(root, first, second, whole, deeper, defaults={"like": "root"})
        everything = [root, first, second, whole, deeper]
        assert list(writer.manifest.artifacts) == everything
        assert writer.snapshot.pack(root.pack)["x"].tolist() == [0, 1, 2]
        writer.snapshot.check()
    assert list(open_snapshot(folder).manifest.artifacts) == everything
    assert not leftovers(folder)
    with Writer(folder) as writer:
        writer.add([D])
        assert list(writer.manifest.artifacts) == everything
        # Documents are deleted from a segment that stays the same.
        writer.delete(["a"])
        assert list(writer.manifest.artifacts) == everything
        seeing = artifact("seeing", one.id, writer.manifest.segments[0].deleted.id)
        writer.put(seeing)
        writer.delete(["b"])
        assert list(writer.manifest.artifacts) == everything
        writer.merge()
        assert list(writer.manifest.artifacts) == [root]
        assert writer.manifest.defaults == {"like": "root"}
    assert not leftovers(folder)
    build(folder, [A], overwrite=True)
    assert not open_snapshot(folder).manifest.artifacts
    assert not leftovers(folder)


def test_artifacts_are_replaced_and_dropped(folder):
    build(folder, [A])
    with Writer(folder) as writer:
        first = artifact("one", pack=packed(writer.job))
        writer.put(first, artifact("two"), artifact("three", "one"))
        other = artifact("one", pack=packed(writer.job))
        writer.put(other)
        assert [one.id for one in writer.manifest.artifacts] == ["one", "two", "three"]
        assert writer.manifest.artifacts[0] == other
        assert writer.snapshot.artifacts("unheard", of="one") == [artifact("three", "one")]
        assert not leftovers(folder, job=writer._job)
        writer.put(drop=["one"])
        assert [one.id for one in writer.manifest.artifacts] == ["two"]
        assert not leftovers(folder, job=writer._job)


def test_artifacts_without_their_inputs_are_not_valid():
    kept = (artifact("a"), artifact("b", "a"), artifact("c", "b", "a"))
    lost = (artifact("d", "gone"), artifact("e", "d"), artifact("f", "a", "e"))
    manifest = Manifest(artifacts=(*lost, *kept))
    assert valid_artifacts(manifest) == kept


def test_what_is_derived_is_published_with_a_change(folder):
    build(folder, [A])
    seen = []

    def derive(change):
        before, after = change.before.manifest, change.after.manifest
        seen.append((len(before.segments), len(after.segments), dict(change.merged)))
        # The new segment is read where it is made.
        assert change.after.n_docs == sum(1 for _ in change.after.documents())
        new = [segment.id for segment in after.segments if segment.id not in before.ids()]
        made = [artifact(f"of {one}", one, pack=packed(change.job)) for one in new]
        return [*after.artifacts, *made, artifact("invalid", "gone")]

    with Writer(folder, derive) as writer:
        writer.add([B])
        writer.delete(["a"])
        ids = [segment.id for segment in writer.manifest.segments]
        assert [one.inputs for one in writer.manifest.artifacts] == [(ids[1],)]
        writer.merge()
        [merged] = writer.manifest.segments
        assert [one.inputs for one in writer.manifest.artifacts] == [(merged.id,)]
    assert seen == [(1, 2, {}), (2, 2, {}), (2, 1, {merged.id: ids})]
    assert not leftovers(folder)


def test_what_cannot_be_derived_undoes_the_change(folder):
    build(folder, [A, B])

    def derive(change):
        packed(change.job)
        raise ZeroDivisionError

    with Writer(folder, derive) as writer:
        for change in (lambda: writer.add([C]), lambda: writer.delete(["a"])):
            with pytest.raises(ZeroDivisionError):
                change()
            assert state(open_snapshot(folder)) == expected([A, B])
            assert not leftovers(folder)
