"""Making a collection, or a new one in the place of another."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.collection.adding import Added, Addition
from likewise.collection.build import Resources
from likewise.collection.cleaning import tidy
from likewise.collection.files import storage_errors, sync_folder
from likewise.collection.format1 import Format1, is_old, note_replaced
from likewise.collection.generations import commit, new_id, newest_manifest, sweep, take_lease
from likewise.collection.job import Job
from likewise.collection.layout import (
    DATA,
    DATA_FILE,
    JOB,
    LOCK,
    MANIFEST_FILE,
    MANIFESTS,
    NEW,
    POINTER,
    WORK,
)
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import Manifest, read_pointer
from likewise.collection.snapshot import Snapshot
from likewise.errors import DamagedError, LikewiseError, NotACollection, Remedy, UsageError
from likewise.records import Document
from likewise.text.analysis import Analysis
from likewise.text.languages import AUTO, MIXED

if TYPE_CHECKING:
    from likewise.collection.deciding import Deciding

ENGLISH = Analysis(language="english")
_FOLDERS = (DATA, MANIFESTS, WORK)
# What a build can have put into them before its first commit.
_OURS = re.compile(
    rf"{DATA_FILE.pattern}|{MANIFEST_FILE.pattern}({re.escape(NEW)})?|({JOB.pattern})(\.lock)?",
    re.DOTALL,
)


def build(
    folder: Path,
    documents: Iterable[Document],
    *,
    analysis: Analysis = ENGLISH,
    overwrite: bool = False,
    replace: bool = False,
    resources: Resources = Resources(),
    types: Mapping[str, str] | None = None,
) -> Added:
    """Make a collection of documents, all or none; `types` says what type some fields have.

    A collection that already holds documents is an error; with `overwrite` the new one takes its
    place when it is complete, whether the old one is damaged or of format 1.
    """
    existed, lineage = folder.exists(), ""
    try:
        if not (folder / POINTER).exists():
            lineage = new_id()
            create(folder, analysis, lineage=lineage)
        _generation_before(folder, overwrite=overwrite)
        with storage_errors(folder):
            lock = WriteLock(folder)
            try:
                generation = _generation_before(folder, overwrite=overwrite)
                deciding = _decide(documents) if analysis.language in (AUTO, MIXED) else None
                if deciding is not None:
                    documents, analysis = deciding.documents, deciding.analysis(analysis)
                base = Snapshot(folder, Manifest(analysis, generation, new_id()))
                added = _fill(base, documents, replace=replace, resources=resources, types=types)
                return changed(added, languages=deciding)
            finally:
                lock.release()
    except BaseException:
        if lineage and (folder / POINTER).exists():
            _undo(folder, lineage, existed=existed)
        else:
            tidy(folder)
        raise


def _decide(documents: Iterable[Document]) -> Deciding:
    from likewise.collection.deciding import Deciding

    return Deciding(documents)


def create(folder: Path, analysis: Analysis = ENGLISH, *, lineage: str = "") -> None:
    """Make an empty collection in a folder that is new or empty.

    Without documents no language can be detected: it is English where none is named.
    """
    if analysis.language in (AUTO, MIXED):
        analysis = changed(analysis, language="english")
    with storage_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise NotACollection(f"{folder} is a file; a collection is a folder")
        if (folder / POINTER).exists():
            raise UsageError(f"{folder} is a collection already")
        if folder.exists() and not all(map(_is_ours, folder.iterdir())):
            raise NotACollection(f"{folder} holds other files; name a folder that is new or empty")
        _make_folders(folder)
        lock = WriteLock(folder)
        try:
            if (folder / POINTER).exists():
                raise UsageError(f"{folder} is a collection already")
            commit(folder, Manifest(analysis, lineage=lineage or new_id()))
            with suppress(PermissionError):
                sync_folder(folder.resolve().parent)
        finally:
            lock.release()


def _make_folders(folder: Path) -> None:
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)


def _generation_before(folder: Path, *, overwrite: bool) -> int:
    """Give the generation whose place is to be taken; raise where it may not be.

    No more is read of it than that takes: it may be damaged, and replaced for that.
    """
    if not overwrite:
        manifest, lease = take_lease(folder)
        lease.release()
        if any(entry.n_live for entry in manifest.segments):
            raise UsageError(
                f"{folder} already holds documents",
                remedy=Remedy(
                    f"add to it with likewise.open({str(folder)!r}).add(source), or start anew "
                    "with overwrite=True",
                    f"add to it with: likewise add {folder} SOURCE, or start anew with --overwrite",
                ),
            )
        return manifest.generation
    try:
        return Format1(folder).generation if is_old(folder) else read_pointer(folder).generation
    except DamagedError:
        # Others have a file of this name too: the rest has to be ours.
        newest = newest_manifest(folder)
        rest = [path for path in folder.iterdir() if path.name != POINTER]
        if is_old(folder) or (newest and all(map(_is_ours, rest))):
            return newest
        raise


def _fill(
    base: Snapshot,
    documents: Iterable[Document],
    *,
    replace: bool,
    resources: Resources,
    types: Mapping[str, str] | None,
) -> Added:
    """Put documents in the place of what a folder holds, which stays whole until the commit."""
    folder = base.folder
    _make_folders(folder)
    with Job(folder) as job:
        addition = Addition(base, job, replace=replace, resources=resources, types=types)
        segments = addition.run(documents)
        if is_old(folder):
            note_replaced(folder, keep=False)
        manifest = changed(base.manifest, segments=segments, fields=addition.types)
        manifest = commit(folder, manifest, job.path)
    sweep(folder, manifest)
    return addition.added


def _undo(folder: Path, lineage: str, *, existed: bool) -> None:
    """Remove a collection that was just made, unless it is another's or was written to since."""
    with suppress(LikewiseError, OSError):
        lock = WriteLock(folder)
        try:
            manifest, lease = take_lease(folder)
            lease.release()
            if (manifest.lineage, manifest.generation) == (lineage, 1):
                for name in (POINTER, *_FOLDERS, LOCK):
                    _remove(folder / name)
                if not existed:
                    folder.rmdir()
        finally:
            lock.release()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Tell whether a collection, or a build that was killed before its first commit, has put it.

    Folders of ours have plain names: what somebody keeps in one called data must stay.
    """
    if path.name in _FOLDERS:
        return path.is_dir() and all(_OURS.fullmatch(inside.name) for inside in path.iterdir())
    return path.name in (LOCK, POINTER + NEW)
