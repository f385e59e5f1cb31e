"""Locks on files, which the system frees when a process dies: who writes, and who still reads.

`flock` belongs to the open file, so that threads and repeated opens are safe, and a child that was
forked shares its parent's. A lock that is granted on a network file system may be seen by nobody
else: what is not known to be a local file system counts as one without locks.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import time
import weakref
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from likewise.collection.layout import LOCK
from likewise.errors import LikewiseError, LockedError, StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover
    raise LikewiseError(
        "likewise keeps collections whole by POSIX file locks, which this system does not have: "
        "run it on Linux or macOS, on Windows inside WSL"
    ) from None

_SAID_AFTER, _LOOKED_AFTER = 5.0, 0.05
# How blanks and the like are written in a list of mounts.
_ESCAPED = re.compile(r"\\([0-7]{3})")
log = logging.getLogger("likewise.collection")
_LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "zfs", "f2fs", "jfs", "reiserfs"}
_LOCAL |= {"tmpfs", "ramfs", "overlay", "squashfs", "erofs", "iso9660", "vfat", "exfat", "ntfs3"}
_LOCAL |= {"apfs", "hfs", "ufs"}


class NoLocks(StorageError):
    """The file system does not support locks."""


def hold(path: Path, *, shared: bool, create: bool = False) -> int | None:
    """Lock the file that stands at a path; None where another process holds it.

    Gives the descriptor, which holds the lock until it is closed. An exclusive lock asks for a
    descriptor that can be written to, which is what network file systems want.
    """
    flags = (os.O_RDONLY if shared else os.O_RDWR) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
    while True:
        handle = os.open(path, flags, 0o644)
        held = False
        try:
            if not _lock(handle, path, shared=shared):
                return None
            held = os.path.samestat(os.fstat(handle), os.stat(path))
        except FileNotFoundError:
            # It was removed after it was opened.
            if not create:
                raise
        finally:
            if not held:
                os.close(handle)
        if held:
            return handle


def _lock(handle: int, path: Path, *, shared: bool) -> bool:
    """Lock an open file; False where another process holds it."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocks(
            f"{path}: the file system cannot lock files "
            f"({os.strerror(error.errno or errno.ENOLCK)}): copy the collection to a local disk"
        ) from error
    return True


def unlock(handle: int, owner: int) -> None:
    """Let go of an exclusive lock, in the process that took it for its children as well.

    A child that was forked has the same open file: closing it here alone would leave it locked.
    """
    if os.getpid() == owner:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


class WriteLock:
    """The right to change a collection, held until released, collected, or the process ends."""

    def __init__(self, folder: Path, *, wait: bool = False) -> None:
        path = folder / LOCK
        held = hold(path, shared=False, create=True)
        if held is None and wait:
            held = _wait(path)
        if held is None:
            holder = path.read_bytes()[:20].decode("ascii", "replace").strip() or "unknown"
            raise LockedError(
                f"{folder} is being written by another process (pid {holder}); wait for it to end"
            )
        self._let_go = weakref.finalize(self, unlock, held, os.getpid())
        # For the message to others only: a full disk must not keep anybody from deleting.
        with suppress(OSError):
            os.ftruncate(held, 0)
            os.pwrite(held, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others write."""
        self._let_go()


def _wait(path: Path) -> int:
    """Wait for a lock as long as it takes."""
    waited = 0.0
    while True:
        held = hold(path, shared=False, create=True)
        if held is not None:
            return held
        if waited < _SAID_AFTER <= waited + _LOOKED_AFTER:
            log.warning("%s: another process is writing; waiting for it to end", path.parent)
        time.sleep(_LOOKED_AFTER)
        waited += _LOOKED_AFTER


def is_local(folder: Path) -> bool:
    """Tell whether locks in a folder are seen by everybody who can reach it."""
    return _file_system(os.fspath(folder.resolve())) in _LOCAL


def holders(path: Path) -> list[int]:
    """List the processes that hold a lock on a file, where the system tells."""
    try:
        inode = path.stat().st_ino
        lines = Path("/proc/locks").read_text("ascii")
    except OSError:
        return []
    # The device is left out: some file systems show another one there than to `stat`.
    found = re.findall(rf"FLOCK\s+\S+\s+\S+\s+(\d+)\s+\S+:{inode}\s", lines)
    return sorted({int(pid) for pid in found if int(pid) > 0})


@lru_cache(maxsize=64)
def _file_system(folder: str) -> str:
    """Give the type of the file system that a folder is on; "" where it is not known."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
    except OSError:
        return "apfs" if os.uname().sysname == "Darwin" else ""
    best, found = -1, ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), before.split(" ")[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        # Of two mounts at one place the later one is seen.
        if inside and len(point) >= best:
            best, found = len(point), after.split(" ")[0]
    return found
