"""A whole copy of a collection, taken while others may write to it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from likewise.collection.files import storage_errors, sync_folder
from likewise.collection.generations import commit, new_id
from likewise.collection.layout import DATA, LOCK, MANIFESTS, WORK
from likewise.collection.locks import NoLocks, hold
from likewise.collection.manifest import Manifest
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.errors import DamagedError, StorageError, UsageError


def copy_collection(folder: Path, to: Path) -> Manifest:
    """Copy the newest state of a collection into a new folder, checked, all or nothing.

    Of several copies to one place the first to be complete succeeds.
    """
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} is there already: name a folder that is new or empty")
    snapshot = open_snapshot(folder)
    # A folder may be named as `.`, and has a name all the same.
    to = to.resolve()
    try:
        with storage_errors(to), _part(to) as aside:
            manifest = _fill(aside, snapshot)
            try:
                aside.rename(to)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                raise UsageError(
                    f"{to} was made by another process in the meantime: nothing was copied"
                ) from None
            sync_folder(to.parent)
    finally:
        snapshot.close()
    return manifest


@contextmanager
def _part(to: Path) -> Iterator[Path]:
    """Make a folder beside a place, which is removed at the end if it is still there.

    Its lock is held, so that the next copy to this place can tell what a killed one has left.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(to)
    aside, handle = _begin(to)
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _remove_left(to: Path) -> None:
    for left in to.parent.glob(f".{escape(to.name)}.*.part"):
        with suppress(NoLocks, OSError):
            handle = hold(left / LOCK, shared=False, create=True)
            if handle is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)


def _begin(to: Path) -> tuple[Path, int | None]:
    while True:
        aside = to.with_name(f".{to.name}.{new_id()}.part")
        aside.mkdir()
        try:
            handle = hold(aside / LOCK, shared=False, create=True)
        except NoLocks:
            return aside, None
        except FileNotFoundError:
            continue
        # Else another copy has taken it, before it was locked, for one that was left.
        if handle is not None:
            return aside, handle


def _fill(aside: Path, snapshot: Snapshot) -> Manifest:
    for name in (DATA, MANIFESTS, WORK):
        (aside / name).mkdir()
    for entry in snapshot.manifest.files():
        _copy(snapshot.path_of(entry.file), aside / DATA / entry.file)
    sync_folder(aside / DATA)
    commit(aside, snapshot.manifest)
    try:
        copied = open_snapshot(aside)
        copied.check()
        copied.close()
    except DamagedError:
        # Where the fault is not in what was copied, it came with the copying.
        snapshot.check()
        raise StorageError(
            f"{aside.parent}: what was written there is read back altered; nothing was copied"
        ) from None
    return copied.manifest


def _copy(source: Path, to: Path) -> None:
    with source.open("rb") as read, to.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 22)
        written.flush()
        os.fsync(written.fileno())
