"""Who may write? One process at a time; the system frees the lock of one that dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from likewise.errors import LockedError

NAME = "lock"


class WriteLock:
    """An exclusive lock on the collection, held until released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._handle)
            raise LockedError(
                f"{folder} is being written by another process (pid {holder}); wait for it to end"
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others write."""
        os.close(self._handle)
