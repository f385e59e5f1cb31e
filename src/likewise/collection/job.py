"""A change under way: a folder of its own, where files are complete before they are published."""

from __future__ import annotations

import os
import shutil
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Self

from likewise.collection.generations import new_id
from likewise.collection.layout import WORK
from likewise.collection.locks import NoLocks, hold, unlock
from likewise.collection.pack import Packer
from likewise.errors import LockedError

_TRIES, _PAUSE = 100, 0.01


class Job:
    """A work folder; it goes when the job ends, or with the next sweep after a killed one."""

    def __init__(self, folder: Path, name: str = "") -> None:
        self.name = name or new_id()
        self.path = folder / WORK / self.name
        self._lock = self.path.with_name(f"{self.name}.lock")
        self._let_go = weakref.finalize(self, _close, _hold(self._lock, self.name), os.getpid())
        try:
            self.path.mkdir(exist_ok=bool(name))
        except BaseException:
            self.close()
            raise

    def new_file(self, kind: str, ending: str) -> Path:
        """Name a file that was never there."""
        return self.path / f"{kind}-{new_id()}.{ending}"

    def new_pack(self, kind: str) -> Packer:
        """Begin a pack."""
        return Packer(self.new_file(kind, "npz"))

    def close(self) -> None:
        """Remove what was not published."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self._lock.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """End the job and leave its folder there."""
        self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _hold(lock: Path, name: str) -> int | None:
    """Lock a job; None where the file system cannot."""
    lock.parent.mkdir(exist_ok=True)
    for _ in range(_TRIES):
        try:
            handle = hold(lock, shared=False, create=True)
        except NoLocks:
            return None
        if handle is not None:
            return handle
        # A sweep may hold the file that was just made.
        time.sleep(_PAUSE)
    raise LockedError(f"{lock.parent}: job {name} is being run by another process")


def _close(handle: int | None, owner: int) -> None:
    if handle is not None:
        unlock(handle, owner)
