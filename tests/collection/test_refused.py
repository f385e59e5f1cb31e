"""What happens when the disk refuses: it is said, and the collection stays as it was."""

from __future__ import annotations

import errno
import os
import random
import re
import resource
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from plain_model import expected, leftovers, made, state

import likewise
from likewise.collection import files
from likewise.collection.creating import build
from likewise.collection.format1 import Format1
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.engine.upgrading import upgrade
from likewise.errors import StorageError

RNG = random.Random(21)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(400)]
FIRST, MORE = DOCUMENTS[:10], DOCUMENTS[10:]


@contextmanager
def largest_file(size):
    """Let no file become larger than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def assert_as_before(folder, documents=FIRST):
    assert state(open_snapshot(folder)) == expected(documents)
    # The writer's own job may not be over.
    assert not {path for path in leftovers(folder) if not path.startswith("work/")}


CHANGES = {
    "add": lambda writer: writer.add(MORE),
    "replace": lambda writer: writer.add([FIRST[0]], replace=True),
    "delete": lambda writer: writer.delete(["d1"]),
}


@pytest.mark.parametrize("size", [64, 140, 200, 1000])
@pytest.mark.parametrize("change", CHANGES)
def test_files_that_may_not_grow(folder, size, change):
    build(folder, FIRST)
    with Writer(folder) as writer:
        with largest_file(size), pytest.raises(StorageError, match=r"too large.*as it was before"):
            CHANGES[change](writer)
        assert_as_before(folder)
        writer.add(MORE[:3])
    assert_as_before(folder, DOCUMENTS[:13])


@pytest.mark.parametrize("size", [64, 200, 1000])
def test_a_merge_or_a_new_build_that_may_not_grow(folder, size):
    build(folder, FIRST)
    with Writer(folder) as writer:
        writer.add(MORE[:3])
        with largest_file(size), pytest.raises(StorageError, match="too large"):
            writer.merge()
        assert_as_before(folder, DOCUMENTS[:13])
        writer.merge()
    with largest_file(size), pytest.raises(StorageError, match="too large"):
        build(folder, MORE, overwrite=True)
    assert_as_before(folder, DOCUMENTS[:13])


@pytest.mark.parametrize("size", [64, 200])
def test_a_first_build_that_may_not_grow(folder, size):
    with largest_file(size), pytest.raises(StorageError, match="too large"):
        build(folder, FIRST)
    build(folder, FIRST)
    assert_as_before(folder)


@pytest.fixture
def room(monkeypatch):
    """Say how many bytes are free, to any change."""
    return lambda n: monkeypatch.setattr(files, "free_bytes", lambda folder: n)


def test_a_merge_asks_for_room_first(folder, room, monkeypatch):
    build(folder, FIRST)
    likewise.open(folder).models.fit("lsi(topics=2)")
    with Writer(folder, keep_up) as writer:
        writer.add(MORE[:3])
        whole = sum(entry.size for entry in writer.manifest.files())
        writer.delete([document.id for document in FIRST[:5]])
    before = {*folder.rglob("*")}

    def forbidden(*_):
        raise AssertionError("a work folder was made")

    with Writer(folder, keep_up) as writer:
        room(1000)
        with monkeypatch.context() as patch:
            patch.setattr("likewise.collection.writer.Job", forbidden)
            with pytest.raises(
                StorageError, match=r"a merge needs about [\d,]+ bytes, and 1,000 "
            ) as e:
                writer.merge()
        assert {*folder.rglob("*")} == before
        needed = int(re.search(r"about ([\d,]+)", str(e.value))[1].replace(",", ""))
        # The model itself stays, and what belongs to deleted documents is not written.
        assert 0.3 * whole < needed < whole
        room(needed - 1)
        with pytest.raises(StorageError, match=f"{needed - 1:,} are available: free some space"):
            writer.merge()
        assert_as_before(folder, DOCUMENTS[5:13])
        room(needed)
        writer.merge()
    assert_as_before(folder, DOCUMENTS[5:13])
    assert len(open_snapshot(folder).segments) == 1


def test_documents_are_added_where_there_is_no_room_to_merge(folder, room, caplog):
    build(folder, FIRST[:1])
    room(1000)
    for document in FIRST[1:]:
        with Writer(folder) as writer:
            writer.add([document])
    assert_as_before(folder)
    assert "segments are not merged" in caplog.text
    assert len(open_snapshot(folder).segments) == len(FIRST)


def test_an_upgrade_asks_for_room_first(tmp_path, room, monkeypatch):
    folder = shutil.copytree(Path(__file__).parent / "format-1", tmp_path / "old")
    before = {*folder.rglob("*")}
    needed = int(1.5 * Format1(folder).n_bytes)
    room(needed - 1)
    message = f"an upgrade needs about {needed:,} bytes, and {needed - 1:,} are available"
    with pytest.raises(StorageError, match=message):
        upgrade(folder)
    assert {*folder.rglob("*")} == before
    room(needed)
    with monkeypatch.context() as patch:
        patch.setattr("likewise.engine.upgrading.commit", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            upgrade(folder)
    # What is written already is not asked for again.
    room(needed - 1000)
    assert upgrade(folder) > 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("change", CHANGES)
def test_a_disk_that_fails_at_any_sync(folder, monkeypatch, number, change):
    build(folder, FIRST)
    real, left = os.fsync, [0]

    def failing(handle):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(number, os.strerror(number))
        real(handle)

    with Writer(folder) as writer:
        documents = FIRST
        for n in range(16):
            left[0] = n
            monkeypatch.setattr("os.fsync", failing)
            try:
                CHANGES[change](writer)
                break
            except StorageError:
                # The last one comes after the rename: then the change has been made.
                documents = [d for _, d in open_snapshot(folder).documents()]
                if len(documents) != len(FIRST) or documents != FIRST:
                    break
            finally:
                monkeypatch.setattr("os.fsync", real)
            assert state(open_snapshot(folder)) == expected(FIRST)
        assert n > 3
        open_snapshot(folder).check()
        writer.add([DOCUMENTS[0]._replace(id="after")])
    assert not leftovers(folder)
    assert open_snapshot(folder).find_doc("after") > 0


def mounted(*arguments):
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte, its folder."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)):
        pytest.skip("file systems cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(small_disk):
    folder = small_disk / "collection"
    build(folder, FIRST)
    with Writer(folder) as writer:
        with pytest.raises(StorageError, match="the disk is full: free some space"):
            writer.add(d._replace(id=f"{d.id}-{i}") for i in range(200) for d in MORE)
        assert_as_before(folder)
        writer.add(MORE[:3])
    assert_as_before(folder, DOCUMENTS[:13])


def test_a_read_only_disk(small_disk):
    folder = small_disk / "collection"
    build(folder, FIRST)
    assert mounted("-o", "remount,ro", str(small_disk))
    assert state(open_snapshot(folder)) == expected(FIRST)
    with pytest.raises(StorageError, match="read-only"):
        Writer(folder)
    with pytest.raises(StorageError, match="read-only"):
        build(small_disk / "other", FIRST)
    with pytest.raises(StorageError, match="read-only"):
        build(folder, FIRST, overwrite=True)


@pytest.mark.parametrize(
    ("number", "message"), [(errno.EROFS, "read-only"), (errno.EACCES, "permission denied")]
)
def test_a_folder_that_may_not_be_written(folder, monkeypatch, number, message):
    build(folder, FIRST)
    real = os.open

    def refusing(path, flags, *arguments, **options):
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *arguments, **options)

    monkeypatch.setattr("os.open", refusing)
    with pytest.raises(StorageError, match=f"cannot write to .*{message}"):
        Writer(folder)
    assert state(open_snapshot(folder)) == expected(FIRST)
