"""A whole copy of a collection, taken while others may write to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from likewise.collection.files import storage_errors, sync_folder
from likewise.collection.generations import DATA, WORK, commit
from likewise.collection.manifest import MANIFESTS, Manifest
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError


def copy_collection(folder: Path, to: Path) -> Manifest:
    """Copy the newest state of a collection into a new folder, checked, all or nothing."""
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise UsageError(f"{to} is there already: name a folder that is new or empty")
    snapshot = open_snapshot(folder)
    # A folder may be named as `.`, and has a name all the same.
    to = to.resolve()
    # Of a copy that was killed the next one takes the place.
    aside = to.with_name(f".{to.name}.part")
    try:
        with storage_errors(to):
            shutil.rmtree(aside, ignore_errors=True)
            for name in (DATA, MANIFESTS, WORK):
                (aside / name).mkdir(parents=True)
            for entry in snapshot.manifest.files():
                _copy(snapshot.path_of(entry.file), aside / DATA / entry.file)
            sync_folder(aside / DATA)
            commit(aside, snapshot.manifest)
            copied = open_snapshot(aside)
            copied.check()
            manifest = copied.manifest
            copied.close()
            aside.rename(to)
            sync_folder(to.parent)
    finally:
        snapshot.close()
        shutil.rmtree(aside, ignore_errors=True)
    return manifest


def _copy(source: Path, to: Path) -> None:
    with source.open("rb") as read, to.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 22)
        written.flush()
        os.fsync(written.fileno())
