"""Removing what nobody needs any more, when no change does."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from likewise.collection.files import storage_errors
from likewise.collection.format1 import is_old
from likewise.collection.generations import sweep, take_lease, unfinished_jobs
from likewise.collection.layout import PLAN, WORK
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import Manifest
from likewise.collection.writer import Writer
from likewise.errors import CollectionError


def tidy(folder: Path) -> None:
    """Remove what nobody reads any more, unless another process is writing: then it does."""
    with suppress(CollectionError):
        Writer(folder).close()


def clean(folder: Path) -> int:
    """Remove what nobody needs, also where leases cannot be told; give how many bytes that was.

    Of an upgrade that was broken off that is all it has done: the old collection stays.
    """
    _newest(folder)
    with storage_errors(folder):
        lock = WriteLock(folder)
        try:
            manifest = _newest(folder)
            before = _n_bytes(folder)
            for job in unfinished_jobs(folder):
                (folder / WORK / job / PLAN).unlink(missing_ok=True)
            sweep(folder, manifest, forced=True)
            return before - _n_bytes(folder)
        finally:
            lock.release()


def _newest(folder: Path) -> Manifest:
    """Give the state whose files stay; one of format 1 names none of those that this format has."""
    if is_old(folder):
        return Manifest()
    manifest, lease = take_lease(folder)
    lease.release()
    return manifest


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
