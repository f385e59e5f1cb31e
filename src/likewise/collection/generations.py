"""How a collection passes from one state to the next: leases, commits, and sweeping.

A commit writes an immutable manifest and then renames the pointer to it. A reader holds a shared
lock on its generation's manifest for as long as it reads; nothing that a leased manifest names is
removed. What a killed process left behind is named by no manifest, and goes with the next sweep.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace as changed
from pathlib import Path

from likewise.collection.files import REMEDY, reading_errors, sync_folder, write_bytes
from likewise.collection.format1 import remove_replaced
from likewise.collection.layout import (
    DATA,
    DATA_FILE,
    JOB,
    MANIFEST_FILE,
    MANIFESTS,
    NEW,
    PLAN,
    POINTER,
    UPGRADE,
    WORK,
)
from likewise.collection.locks import NoLocks, hold, holders, is_local
from likewise.collection.manifest import (
    Manifest,
    Pointer,
    format_manifest,
    manifest_path,
    parse_manifest,
    read_pointer,
    write_pointer,
)
from likewise.errors import CollectionError, DamagedError

_TRIES, _PAUSE = 1000, 0.01

log = logging.getLogger("likewise.collection")


def new_id() -> str:
    """Give an identity that was never used."""
    return secrets.token_hex(6)


class Lease:
    """A generation that is held: what its manifest names stays. Without locks it holds nothing."""

    def __init__(self, handle: int | None = None) -> None:
        self.held = handle is not None
        self._let_go = weakref.finalize(self, os.close, handle) if handle is not None else None

    def release(self) -> None:
        """Let go of the generation."""
        self.held = False
        if self._let_go is not None:
            self._let_go()


def take_lease(folder: Path, generation: int | None = None) -> tuple[Manifest, Lease]:
    """Take a lease of a generation, without a number of the newest."""
    for _ in range(_TRIES):
        pointer = read_pointer(folder)
        number = pointer.generation if generation is None else generation
        path = manifest_path(folder, number)
        crc = pointer.crc if number == pointer.generation else None
        with reading_errors(path):
            try:
                leased = _take(path, crc)
            except FileNotFoundError:
                if generation is not None:
                    raise CollectionError(
                        f"generation {number} of {folder} is gone, {pointer.generation} is the "
                        f"newest: open({str(folder)!r})"
                    ) from None
                # A writer may have replaced this generation after the pointer was read.
                if read_pointer(folder) == pointer:
                    raise DamagedError(f"{path}: missing; {REMEDY}") from None
                continue
        if leased is not None:
            return leased
        # A sweep looks whether it is in use.
        time.sleep(_PAUSE)
    raise CollectionError(f"{folder} changes faster than it can be opened; try again")


def _take(path: Path, crc: int | None) -> tuple[Manifest, Lease] | None:
    try:
        handle = hold(path, shared=True)
    except NoLocks as error:
        log.info("%s; it is read without a lease", error)
        return parse_manifest(path.read_bytes(), path, crc=crc), Lease()
    if handle is None:
        return None
    lease = Lease(handle)
    try:
        content = os.pread(handle, os.fstat(handle).st_size, 0)
        return parse_manifest(content, path, crc=crc), lease
    except BaseException:
        lease.release()
        raise


def commit(folder: Path, manifest: Manifest, work: Path | None = None) -> Manifest:
    """Make a state the newest, all at once, under the write lock; give it as it was written.

    Files that it names and that are still in a work folder, complete and synced, are moved to
    the data first.
    """
    data, manifests = folder / DATA, folder / MANIFESTS
    manifest = changed(manifest, generation=manifest.generation + 1)
    moved = [work / entry.file for entry in manifest.files()] if work else []
    moved = [path for path in moved if path.exists()]
    data.mkdir(exist_ok=True)
    for path in moved:
        path.rename(data / path.name)
    if moved:
        sync_folder(data)
    content, crc = format_manifest(manifest)
    _replace(manifest_path(folder, manifest.generation), content)
    _replace(folder / POINTER, write_pointer(Pointer(manifest.generation, crc)))
    log.info("%s: generation %d, %d files moved", folder, manifest.generation, len(moved))
    return parse_manifest(content, manifests)


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(path.name + NEW)
    write_bytes(aside, content)
    aside.replace(path)
    sync_folder(path.parent)


def sweep(folder: Path, manifest: Manifest, *, forced: bool = False) -> None:
    """Remove what neither the newest manifest nor a leased one names, under the write lock.

    Where leases cannot be told, nothing is removed unless `forced`. A fault is logged and left to
    the next sweep.
    """
    with _faults_logged(folder):
        # Format 1 has no leases.
        remove_replaced(folder)
    if not forced and not is_local(folder):
        return
    with _faults_logged(folder):
        named = _sweep_manifests(folder, manifest)
        if named is not None:
            for path in _inside(folder / DATA):
                if path.name not in named and DATA_FILE.fullmatch(path.name):
                    log.debug("sweep: %s", path)
                    path.unlink(missing_ok=True)
        _sweep_work(folder / WORK)


@contextmanager
def _faults_logged(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        log.warning("%s: what is no longer needed could not be removed (%s)", folder, error)


def _sweep_manifests(folder: Path, manifest: Manifest) -> set[str] | None:
    """Remove manifests that nobody holds; give the files that the others name.

    None where one of them cannot be read: then it is not known what it names.
    """
    named = {entry.file for entry in manifest.files()}
    (folder / (POINTER + NEW)).unlink(missing_ok=True)
    known, removed = True, False
    for path in _inside(folder / MANIFESTS):
        number = _generation_of(path)
        if number == manifest.generation or (number is None and path.suffix != NEW):
            continue
        handle: int | None = -1
        if number is not None and number < manifest.generation:
            handle = _try_hold(path)
        if handle is None:
            try:
                leased = parse_manifest(path.read_bytes(), path)
                named |= {entry.file for entry in leased.files()}
            except CollectionError as error:
                log.warning("%s: it is in use, so nothing is removed", error)
                known = False
            continue
        try:
            path.unlink()
        finally:
            _close(handle)
        removed = True
    if removed:
        # Before any file goes: after a loss of power no manifest may name what is not there.
        sync_folder(folder / MANIFESTS)
    return named if known else None


def _sweep_work(work: Path) -> None:
    names = {path.name.removesuffix(".lock") for path in _inside(work)}
    for name in sorted(filter(JOB.fullmatch, names)):
        inside, lock = work / name, work / f"{name}.lock"
        # The lock of a folder that has none is made, so that nobody begins a job there meanwhile.
        handle = _try_hold(lock, create=True)
        if handle is None:
            continue
        try:
            # An upgrade is of no use in this format.
            if name == UPGRADE or not (inside / PLAN).exists():
                log.debug("sweep: %s", inside)
                shutil.rmtree(inside, ignore_errors=True)
                lock.unlink(missing_ok=True)
        finally:
            os.close(handle)


def _try_hold(path: Path, *, create: bool = False) -> int | None:
    """Lock a file that nobody uses; None where somebody does, or that cannot be told."""
    try:
        return hold(path, shared=False, create=create)
    except (NoLocks, OSError) as error:
        log.debug("%s is left alone (%s)", path, error)
        return None


def _close(handle: int) -> None:
    if handle >= 0:
        os.close(handle)


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def _generation_of(path: Path) -> int | None:
    match = MANIFEST_FILE.fullmatch(path.name)
    return int(match[1]) if match else None


def newest_manifest(folder: Path) -> int:
    """Give the number of the newest manifest, whatever the pointer says; 0 where there is none."""
    return max((_generation_of(path) or 0 for path in _inside(folder / MANIFESTS)), default=0)


def older_generations(folder: Path) -> list[tuple[int, list[int] | None]]:
    """List the generations before the newest that are still there, and who reads them.

    None for one that nobody reads: a writer was killed before its sweep.
    """
    newest = read_pointer(folder).generation
    found: list[tuple[int, list[int] | None]] = []
    for path in _inside(folder / MANIFESTS):
        number = _generation_of(path)
        if number is not None and number < newest:
            found.append((number, holders(path) if _is_held(path) else None))
    return found


def unfinished_jobs(folder: Path) -> list[str]:
    """List the jobs that were broken off and can be resumed."""
    jobs = [path for path in _inside(folder / WORK) if JOB.fullmatch(path.name)]
    return [job.name for job in jobs if (job / PLAN).exists() and not _is_live(job)]


def _is_held(path: Path) -> bool:
    """Tell whether somebody holds a file, or that cannot be told."""
    try:
        handle = hold(path, shared=False)
    except FileNotFoundError:
        return False
    except (NoLocks, OSError):
        return True
    if handle is not None:
        os.close(handle)
    return handle is None


def _is_live(inside: Path) -> bool:
    try:
        handle = hold(inside.with_name(f"{inside.name}.lock"), shared=True)
    except (NoLocks, OSError):
        return False
    if handle is not None:
        os.close(handle)
    return handle is None
