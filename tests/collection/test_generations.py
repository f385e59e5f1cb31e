from __future__ import annotations

import errno
import gc
import logging
import os
import pickle
import random
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from plain_model import expected, leftovers, made, state

from likewise.collection import generations as module
from likewise.collection import locks
from likewise.collection.creating import build
from likewise.collection.generations import older_generations, sweep, take_lease
from likewise.collection.layout import POINTER
from likewise.collection.locks import hold
from likewise.collection.manifest import manifest_path, read_pointer
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import CollectionError, DamagedError, StorageError
from likewise.records import Document

RNG = random.Random(31)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(40)]
FIRST = DOCUMENTS[:10]


@pytest.fixture
def grown(folder):
    """A collection of two segments, one document deleted."""
    build(folder, DOCUMENTS[:6])
    with Writer(folder) as writer:
        writer.add([*DOCUMENTS[6:10], Document("gone", text="gone words")])
        writer.delete(["gone"])
    assert not leftovers(folder)
    return folder


def change_everything(folder):
    """Pass through many generations, after which no file of the first is named."""
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[10:20])
        writer.delete(["d0", "d15"])
        writer.merge()
        writer.add([DOCUMENTS[20]._replace(id="d1")], replace=True)
        writer.merge()
    build(folder, DOCUMENTS[30:], overwrite=True)


def test_an_older_reader_opens_its_files_late(grown):
    snapshot = open_snapshot(grown)
    generation = snapshot.manifest.generation
    files = {entry.file for entry in snapshot.manifest.files()}
    change_everything(grown)
    there = {path.name for path in (grown / "data").iterdir()}
    assert files < there
    assert [number for number, _ in older_generations(grown)] == [generation]
    assert state(snapshot) == expected(FIRST)
    snapshot.check()
    snapshot.close()
    with Writer(grown):
        assert not leftovers(grown)
    assert state(open_snapshot(grown)) == expected(DOCUMENTS[30:])


def test_a_reader_that_is_dropped_lets_go_at_once(grown):
    """Nothing that a snapshot itself keeps refers back to it: no garbage collection is needed."""
    gc.collect()
    gc.disable()
    try:
        snapshot = open_snapshot(grown)
        state(snapshot)
        snapshot.analyzer.terms("some words")
        snapshot.check()
        del snapshot
        change_everything(grown)
        assert not leftovers(grown)
    finally:
        gc.enable()


def test_a_reader_in_a_cycle_lets_go_when_garbage_is_collected(grown):
    def remember(snapshot):
        snapshot.memo("derived", lambda: [snapshot])

    remember(open_snapshot(grown))
    gc.collect()
    change_everything(grown)
    assert not leftovers(grown)


def test_two_readers_of_one_generation(grown):
    one, two = open_snapshot(grown), open_snapshot(grown)
    change_everything(grown)
    one.close()
    one.close()
    with Writer(grown):
        assert leftovers(grown)
    assert state(two) == expected(FIRST)
    two.close()
    with Writer(grown):
        assert not leftovers(grown)


def test_readers_of_several_generations(grown):
    readers, right = [open_snapshot(grown)], [expected(FIRST)]
    documents = FIRST
    with Writer(grown) as writer:
        for document in DOCUMENTS[10:14]:
            writer.add([document])
            writer.merge()
            documents = [*documents, document]
            readers.append(open_snapshot(grown))
            right.append(expected(documents))
        numbers = [reader.manifest.generation for reader in readers]
        assert [number for number, _ in older_generations(grown)] == numbers[:-1]
        readers.pop(2).close()
        right.pop(2)
        writer.add([DOCUMENTS[14]])
        assert [state(reader) for reader in readers] == right
        readers.clear()
    with Writer(grown):
        assert not leftovers(grown)


def test_a_newer_snapshot_takes_over_what_is_open(grown):
    before = open_snapshot(grown)
    state(before)
    with Writer(grown) as writer:
        writer.add(DOCUMENTS[10:12])
        writer.delete(["d0"])
    after = open_snapshot(grown, before)
    assert after.segments[0].packs is before.segments[0].packs
    assert after.segments[1] is before.segments[1]
    before.close()
    with Writer(grown):
        assert not leftovers(grown)
    assert state(after) == expected(DOCUMENTS[1:12])


# Other processes

READER = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from plain_model import expected, state
from test_generations import FIRST
from likewise.collection.snapshot import open_snapshot
snapshot = open_snapshot(Path(sys.argv[1]))
{fork}
print(os.getpid(), flush=True)
if sys.stdin.readline() == "read\\n":
    assert state(snapshot) == expected(FIRST)
    snapshot.check()
    print("right", flush=True)
"""
# The parent is gone when the child reads; the lease is the child's as well.
FORK = "import os\nif os.fork(): snapshot.close(); os._exit(0)"


@contextmanager
def reader(folder, *, fork=False):
    """A process that has opened a collection and reads when it is told to."""
    code = READER.format(here=str(Path(__file__).parent), fork=FORK if fork else "import os")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        process.reader = int(process.stdout.readline())
        yield process
        process.stdin.close()
        # Until whoever holds the other end is gone.
        process.stdout.read()


@pytest.mark.parametrize("fork", [False, True])
def test_a_reader_in_another_process(grown, fork):
    with reader(grown, fork=fork) as process:
        change_everything(grown)
        [(_, held)] = older_generations(grown)
        if not fork and Path("/proc/locks").exists():
            assert held == [process.reader]
        process.stdin.write("read\n")
        assert process.stdout.readline() == "right\n"
    with Writer(grown):
        assert not leftovers(grown)


@pytest.mark.parametrize("fork", [False, True])
def test_a_killed_reader_leaves_nothing(grown, fork):
    with reader(grown, fork=fork) as process:
        change_everything(grown)
        assert leftovers(grown)
        os.kill(process.reader, signal.SIGKILL)
    with Writer(grown):
        assert not leftovers(grown)


# Pickling


def test_a_pickled_snapshot_opens_its_generation(grown):
    snapshot = open_snapshot(grown)
    sent = pickle.dumps(snapshot)
    change_everything(grown)
    received = pickle.loads(sent)
    assert received.manifest == snapshot.manifest
    snapshot.close()
    # The one that was received has a lease of its own.
    with Writer(grown) as writer:
        writer.add(DOCUMENTS[20:22])
    assert state(received) == expected(FIRST)
    received.close()
    with Writer(grown):
        assert not leftovers(grown)


def test_a_pickled_snapshot_whose_generation_is_gone(grown):
    snapshot = open_snapshot(grown)
    generation = snapshot.manifest.generation
    sent = pickle.dumps(snapshot)
    del snapshot
    change_everything(grown)
    newest = read_pointer(grown).generation
    message = rf"generation {generation} of .* is gone, {newest} is the newest: open\('{grown}'\)"
    with pytest.raises(CollectionError, match=message):
        pickle.loads(sent)


# Leases


def test_a_sweep_that_looks_at_a_manifest_is_waited_for(grown, monkeypatch):
    handles = [hold(manifest_path(grown, read_pointer(grown).generation), shared=False)]
    paused = []

    def pause(seconds):
        paused.append(seconds)
        if len(paused) == 3:
            os.close(handles.pop())

    monkeypatch.setattr(module.time, "sleep", pause)
    assert state(open_snapshot(grown)) == expected(FIRST)
    assert len(paused) == 3


def test_a_manifest_that_is_never_free(grown, monkeypatch):
    handle = hold(manifest_path(grown, read_pointer(grown).generation), shared=False)
    monkeypatch.setattr(module, "_PAUSE", 0)
    with pytest.raises(CollectionError, match="changes faster than it can be opened; try again"):
        open_snapshot(grown)
    os.close(handle)


def test_a_manifest_that_is_missing(grown):
    path = manifest_path(grown, read_pointer(grown).generation)
    path.unlink()
    with pytest.raises(DamagedError, match=rf"{path.name}: missing"):
        open_snapshot(grown)


def test_what_cannot_be_opened_is_not_leased(grown):
    """Also while the error is kept, with all that its traceback refers to."""
    gc.collect()
    before = os.listdir("/dev/fd")
    next((grown / "data").glob("deleted-*")).unlink()
    with pytest.raises(DamagedError, match="missing") as kept:
        open_snapshot(grown)
    handle = hold(manifest_path(grown, read_pointer(grown).generation), shared=False)
    assert handle is not None
    os.close(handle)
    path = manifest_path(grown, read_pointer(grown).generation)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DamagedError, match="not a manifest") as also_kept:
        open_snapshot(grown)
    handle = hold(path, shared=False)
    assert handle is not None
    os.close(handle)
    assert kept.value is not also_kept.value
    del kept, also_kept
    gc.collect()
    assert os.listdir("/dev/fd") == before


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_that_cannot_lock(grown, monkeypatch, caplog, number):
    def refuse(handle, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with caplog.at_level(logging.INFO, "likewise"):
        snapshot = open_snapshot(grown)
    assert not snapshot.lease.held
    assert "read without a lease" in caplog.text
    assert state(snapshot) == expected(FIRST)
    with pytest.raises(StorageError, match=rf"cannot lock files \({os.strerror(number)}\)"):
        Writer(grown)
    with pytest.raises(StorageError, match="cannot lock files"):
        build(grown.with_name("other"), FIRST)
    monkeypatch.undo()
    assert open_snapshot(grown).lease.held


# Sweeping


def test_where_leases_cannot_be_told_nothing_is_swept(grown, monkeypatch):
    monkeypatch.setattr(locks, "_file_system", lambda folder: "nfs4")
    snapshot = open_snapshot(grown)
    files = set((grown / "data").iterdir())
    (grown / "work" / "0123456789ab").mkdir()
    change_everything(grown)
    assert files < set((grown / "data").iterdir())
    assert len(older_generations(grown)) > 5
    assert (grown / "work" / "0123456789ab").exists()
    # It is left to whoever knows that nobody reads, on any machine.
    with Writer(grown) as writer:
        sweep(grown, writer.manifest, forced=True)
        assert state(snapshot) == expected(FIRST)
        snapshot.close()
        sweep(grown, writer.manifest, forced=True)
        assert not leftovers(grown)


def test_a_manifest_in_use_that_cannot_be_read_keeps_everything(grown, caplog):
    path = manifest_path(grown, read_pointer(grown).generation)
    handle = hold(path, shared=True)
    before = set((grown / "data").iterdir())
    with Writer(grown) as writer:
        writer.add(DOCUMENTS[10:12])
        path.write_bytes(b"{")
        (grown / "data" / "index-0123456789ab.npz").write_bytes(b"x")
        writer.merge()
        assert before < set((grown / "data").iterdir())
        assert (grown / "data" / "index-0123456789ab.npz").exists()
        assert "so nothing is removed" in caplog.text
    os.close(handle)
    with Writer(grown):
        assert not leftovers(grown)


def test_a_manifest_of_a_later_format_in_use_keeps_everything(grown):
    path = manifest_path(grown, read_pointer(grown).generation)
    handle = hold(path, shared=True)
    before = set((grown / "data").iterdir())
    with Writer(grown) as writer:
        writer.merge()
        outer = orjson.loads(path.read_bytes())
        outer["collection"]["segments"] = {"in": "another way"}
        outer["crc"] = crc_of(outer["collection"])
        path.write_bytes(orjson.dumps(outer))
        writer.merge()
        writer.add(DOCUMENTS[10:12])
        assert before < set((grown / "data").iterdir())
    os.close(handle)
    with Writer(grown):
        assert not leftovers(grown)


def crc_of(body):
    from likewise.collection.manifest import _crc

    return _crc(body)


def test_manifests_above_the_pointer_are_swept_before_they_are_written(grown):
    """A process was killed between the two renames of a commit."""
    newest = read_pointer(grown).generation
    manifest_path(grown, newest + 1).write_bytes(b"{}")
    manifest_path(grown, newest + 7).write_bytes(b"{}")
    assert state(open_snapshot(grown)) == expected(FIRST)
    with Writer(grown) as writer:
        assert not leftovers(grown)
        writer.add(DOCUMENTS[10:12])
        assert read_pointer(grown).generation == newest + 1
    assert state(open_snapshot(grown)) == expected(DOCUMENTS[:12])


def test_manifests_go_before_files(grown, monkeypatch):
    """After a loss of power no manifest may name what is not there."""
    events = []
    real_unlink, real_sync = Path.unlink, module.sync_folder

    def unlink(path, missing_ok=False):
        events.append(path.parent.name)
        real_unlink(path, missing_ok=missing_ok)

    def sync(path):
        events.append(f"sync {path.name}")
        real_sync(path)

    with Writer(grown) as writer:
        snapshot = open_snapshot(grown)
        writer.add(DOCUMENTS[10:12])
        snapshot.close()
        monkeypatch.setattr(Path, "unlink", unlink)
        monkeypatch.setattr(module, "sync_folder", sync)
        writer.merge()
    monkeypatch.undo()
    swept = events[events.index(f"sync {grown.name}") :]
    assert swept.index("manifests") < swept.index("sync manifests") < swept.index("data")
    # Before that: files, then the manifest, then the pointer.
    done = [event for event in events if event.startswith("sync")]
    assert done[:3] == ["sync data", "sync manifests", f"sync {grown.name}"]


@pytest.mark.parametrize("part", ["manifests", "data", "work"])
def test_a_sweep_never_raises(grown, monkeypatch, caplog, part):
    """And holds no manifest that it could not remove, which would keep readers out."""
    real = Path.unlink

    def refuse(path, missing_ok=False):
        if path.parent.name == part and path.exists():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        real(path, missing_ok=missing_ok)

    (grown / "data" / "index-0123456789ab.npz").touch()
    (grown / "work" / "0123456789ab.lock").touch()
    monkeypatch.setattr(Path, "unlink", refuse)
    with Writer(grown) as writer:
        snapshot = open_snapshot(grown)
        writer.add(DOCUMENTS[10:12])
        snapshot.close()
        writer.add(DOCUMENTS[12:14])
        assert "could not be removed" in caplog.text
        monkeypatch.undo()
        for path in [*(grown / "manifests").iterdir(), *(grown / "work").glob("0123456789ab.lock")]:
            handle = hold(path, shared=True)
            assert handle is not None
            os.close(handle)
        assert state(open_snapshot(grown)) == expected(DOCUMENTS[:14])
    with Writer(grown):
        assert not leftovers(grown)


@pytest.mark.parametrize("name", ["²", "x", "00000001", "1", "00000001.json.bak"])
def test_odd_files_among_the_manifests(grown, name):
    path = grown / "manifests" / (name if "." in name else f"{name}.json")
    path.write_bytes(b"{")
    with Writer(grown) as writer:
        writer.add(DOCUMENTS[10:12])
    assert path.exists() == (name != "00000001")
    assert state(open_snapshot(grown)) == expected(DOCUMENTS[:12])


def test_a_commit_needs_no_empty_folders(folder):
    """They get lost where collections are kept in archives."""
    build(folder, [])
    for name in ("data", "work"):
        for path in (folder / name).iterdir():
            path.unlink()
        (folder / name).rmdir()
    build(folder, FIRST, overwrite=True)
    assert state(open_snapshot(folder)) == expected(FIRST)


def test_a_lease_of_the_newest(grown):
    manifest, lease = take_lease(grown)
    assert manifest.generation == read_pointer(grown).generation
    assert lease.held
    lease.release()
    lease.release()
    assert not lease.held


def mounted(*arguments):
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def test_a_folder_that_may_only_be_read(grown, tmp_path):
    place = tmp_path / "mounted"
    place.mkdir()
    if not mounted("--bind", str(grown), str(place)):
        pytest.skip("file systems cannot be mounted here")
    try:
        assert mounted("-o", "remount,bind,ro", str(place))
        snapshot = open_snapshot(place)
        assert snapshot.lease.held
        with pytest.raises(StorageError, match="read-only"):
            Writer(place)
        # A writer by another way sees the lease.
        change_everything(grown)
        assert state(snapshot) == expected(FIRST)
        assert [number for number, _ in older_generations(place)] == [snapshot.manifest.generation]
        snapshot.close()
        del snapshot
        gc.collect()
        with Writer(grown):
            assert not leftovers(grown)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_the_pointer_is_replaced_last(grown, monkeypatch):
    pointer = (grown / POINTER).read_bytes()
    seen = []
    real = module._replace

    def replacing(path, content):
        seen.append((path.name, (grown / POINTER).read_bytes() == pointer))
        real(path, content)

    monkeypatch.setattr(module, "_replace", replacing)
    with Writer(grown) as writer:
        writer.delete(["d1"])
        number = writer.manifest.generation
    assert seen == [(f"{number:08d}.json", True), (POINTER, True)]
