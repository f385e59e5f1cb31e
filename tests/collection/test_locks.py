from __future__ import annotations

import errno
import fcntl
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from likewise.collection import locks as module
from likewise.collection.layout import LOCK
from likewise.collection.locks import NoLocks, WriteLock, hold, holders, is_local
from likewise.errors import LockedError, StorageError

HOLD = """
import sys, time
from pathlib import Path
from likewise.collection.locks import WriteLock
lock = WriteLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_one_writer_at_a_time(tmp_path):
    lock = WriteLock(tmp_path)
    with pytest.raises(LockedError, match=f"another process \\(pid {os.getpid()}\\); wait"):
        WriteLock(tmp_path)
    lock.release()
    lock.release()
    WriteLock(tmp_path).release()
    assert (tmp_path / LOCK).exists()


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"pid {holder.pid}"):
            WriteLock(tmp_path)
        if Path("/proc/locks").exists():
            assert holders(tmp_path / LOCK) == [holder.pid]
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    WriteLock(tmp_path).release()
    assert holders(tmp_path / LOCK) == []


def test_a_lock_goes_with_its_owner(tmp_path):
    lock = WriteLock(tmp_path)
    del lock
    gc.collect()
    WriteLock(tmp_path).release()


def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path):
    lock = WriteLock(tmp_path)
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        os.close(its)
        # What the child lets go of is not what its parent holds.
        lock.release()
        os.read(ours, 1)
        os._exit(0)
    os.close(ours)
    try:
        with pytest.raises(LockedError):
            WriteLock(tmp_path)
        lock.release()
        WriteLock(tmp_path).release()
    finally:
        os.close(its)
        os.waitpid(child, 0)


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path):
    lock = WriteLock(tmp_path)
    ours, its = os.pipe()
    child = os.fork()
    if not child:
        os.close(its)
        os.read(ours, 1)
        os._exit(0)
    os.close(ours)
    try:
        lock.release()
        WriteLock(tmp_path).release()
    finally:
        os.close(its)
        os.waitpid(child, 0)


def test_a_full_disk_does_not_keep_the_lock(tmp_path, monkeypatch):
    """Deleting is what one does on a full disk: the number of the process can wait."""

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.pwrite", full)
    WriteLock(tmp_path).release()
    WriteLock(tmp_path).release()


def test_waiting_for_the_lock(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "_SAID_AFTER", 0.02)
    monkeypatch.setattr(module, "_LOOKED_AFTER", 0.01)
    lock = WriteLock(tmp_path)
    looked = threading.Event()
    real = module.hold

    def looking(*arguments, **options):
        held = real(*arguments, **options)
        if "waiting for it to end" in caplog.text:
            looked.set()
        return held

    monkeypatch.setattr(module, "hold", looking)
    with caplog.at_level(logging.WARNING, "likewise.collection"):
        waiting = threading.Thread(target=lambda: WriteLock(tmp_path, wait=True).release())
        waiting.start()
        assert looked.wait(30)
        lock.release()
        waiting.join(30)
    assert not waiting.is_alive()
    assert caplog.text.count("waiting for it to end") == 1


def test_shared_and_exclusive(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        hold(path, shared=True)
    path.touch()
    one, two = hold(path, shared=True), hold(path, shared=True)
    assert hold(path, shared=False) is None
    os.close(one)
    assert hold(path, shared=False) is None
    os.close(two)
    only = hold(path, shared=False)
    assert hold(path, shared=True) is None
    os.close(only)


def test_a_file_that_was_replaced_meanwhile_is_locked_anew(tmp_path, monkeypatch):
    """A lock on a file that no longer stands at its path keeps nobody out."""
    path = tmp_path / "file"
    path.write_text("old")
    real, swept = fcntl.flock, []

    def overtaken(handle, how):
        if not swept:
            swept.append(1)
            path.unlink()
            path.write_text("new")
        real(handle, how)

    monkeypatch.setattr(module.fcntl, "flock", overtaken)
    handle = hold(path, shared=True)
    assert os.pread(handle, 9, 0) == b"new"
    os.close(handle)


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_was_removed_meanwhile(tmp_path, monkeypatch, create):
    path = tmp_path / "file"
    path.touch()
    real, swept = fcntl.flock, []

    def overtaken(handle, how):
        if not swept:
            swept.append(1)
            path.unlink()
        real(handle, how)

    monkeypatch.setattr(module.fcntl, "flock", overtaken)
    before = len(os.listdir("/dev/fd"))
    if create:
        os.close(hold(path, shared=False, create=True))
        assert path.exists()
    else:
        with pytest.raises(FileNotFoundError):
            hold(path, shared=False)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_that_cannot_lock(tmp_path, monkeypatch, number):
    def refuse(handle, how):
        raise OSError(number, os.strerror(number))

    (tmp_path / LOCK).touch()
    monkeypatch.setattr(module.fcntl, "flock", refuse)
    before = len(os.listdir("/dev/fd"))
    reason = os.strerror(number)
    with pytest.raises(NoLocks, match=rf"cannot lock files \({reason}\): copy .* local disk"):
        hold(tmp_path / LOCK, shared=True)
    with pytest.raises(StorageError, match="cannot lock files"):
        WriteLock(tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_other_faults_are_not_taken_for_missing_locks(tmp_path, monkeypatch):
    (tmp_path / LOCK).touch()

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(module.os, "stat", refuse)
    with pytest.raises(PermissionError):
        hold(tmp_path / LOCK, shared=True)


MOUNTS = r"""
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:5 / /data rw - nfs4 server:/x rw
31 22 0:6 / /data/local rw shared:5 - xfs /dev/sdb rw
32 22 0:7 / /a\040b rw - fuse.sshfs x rw
33 22 0:8 / /odd\134name rw - 9p x rw
34 22 0:9 / /data/local rw - tmpfs x rw
""".strip()


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/home/x", "ext4"),
        ("/data", "nfs4"),
        ("/database", "ext4"),
        ("/data/y", "nfs4"),
        ("/data/local/z", "tmpfs"),
        ("/a b/c", "fuse.sshfs"),
        (r"/odd\name/c", "9p"),
    ],
)
def test_the_file_system_of_a_folder(monkeypatch, folder, kind):
    monkeypatch.setattr(module.Path, "read_text", lambda *_: MOUNTS)
    assert module._file_system.__wrapped__(folder) == kind


def test_what_is_not_known_is_not_local(tmp_path, monkeypatch):
    for kind, local in (("ext4", True), ("nfs4", False), ("fuse.x", False), ("", False)):
        monkeypatch.setattr(module, "_file_system", lambda folder, kind=kind: kind)
        assert is_local(tmp_path) == local


def test_a_system_without_a_list_of_mounts(monkeypatch):
    def missing(*arguments):
        raise FileNotFoundError

    monkeypatch.setattr(module.Path, "read_text", missing)
    assert module._file_system.__wrapped__("/x") in ("", "apfs")
    assert holders(Path("/")) == []


WITHOUT_LOCKS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "fcntl":
            raise ImportError(name)

sys.modules.pop("fcntl", None)
sys.meta_path.insert(0, Missing())
from likewise.errors import LikewiseError
try:
    import likewise.collection.{module}
except LikewiseError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["locks", "snapshot", "writer"])
def test_a_system_without_file_locks_is_told_in_a_sentence(name):
    code = WITHOUT_LOCKS.replace("{module}", name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "POSIX file locks, which this system does not have" in done.stdout
    assert done.stderr == ""
