"""How does the collection change, and stay whole?

Every change is a job: it writes new files into a folder of its own and is published by one rename.
Nothing that the old state names is touched before that, or while somebody reads it.
"""

from __future__ import annotations

import logging
import re
import shutil
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from likewise.collection.build import Prepared, Resources, SegmentBuilder, prepare
from likewise.collection.deleted import mark_deleted
from likewise.collection.files import check_room, storage_errors, sync_folder
from likewise.collection.format1 import Format1, is_old
from likewise.collection.generations import (
    DATA,
    DATA_FILE,
    FORMAT_1,
    PLAN,
    WORK,
    commit,
    is_format_1,
    new_id,
    sweep,
    unfinished_jobs,
)
from likewise.collection.job import Job
from likewise.collection.locks import NAME as LOCK
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import (
    MANIFESTS,
    POINTER,
    Artifact,
    Manifest,
    SegmentEntry,
    read_pointer,
)
from likewise.collection.merge import (
    Progress,
    all_runs,
    copy_segment,
    join_terms,
    merged_bytes,
    next_run,
)
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.compiled import Ints
from likewise.errors import (
    CollectionError,
    DuplicateId,
    LikewiseError,
    NotACollection,
    UsageError,
)
from likewise.records import Document
from likewise.text.analysis import Analysis, encode
from likewise.text.lexicon import Lexicon
from likewise.text.table import Strings, StringTable

_FOLDERS = (DATA, MANIFESTS, WORK)
# What a build can have put into them before its first commit.
_OURS = re.compile(rf"{DATA_FILE.pattern}|[0-9]{{8}}\.json(\.new)?|[0-9a-f]{{12}}(\.lock)?")

log = logging.getLogger("likewise.collection")


class Added(NamedTuple):
    """What an addition did."""

    n_docs: int
    n_replaced: int


@dataclass(frozen=True)
class Change:
    """A state that is about to be published, and the one before.

    `after` looks for files in the job's folder first. `merged` has, for each segment that was
    made of others, their ids.
    """

    before: Snapshot
    after: Snapshot
    job: Job
    merged: Mapping[str, Sequence[str]] = field(default_factory=dict)
    threads: int = 1


# Gives the artifacts of a changed state: what is derived from it is published with it.
Derive = Callable[[Change], Sequence[Artifact]]


def build(
    folder: Path,
    documents: Iterable[Document],
    *,
    analysis: Analysis = Analysis(),
    overwrite: bool = False,
    replace: bool = False,
    resources: Resources = Resources(),
) -> Added:
    """Make a collection of documents, all or none.

    A collection that already holds documents is an error; with `overwrite` the new one takes its
    place when it is complete, also that of a collection of format 1.
    """
    if overwrite and is_old(folder):
        return _replace_old(folder, documents, analysis, replace=replace, resources=resources)
    existed = folder.exists()
    is_new = not (folder / POINTER).exists()
    try:
        if is_new:
            create(folder, analysis)
        with Writer(folder) as writer:
            if not overwrite and any(entry.n_live for entry in writer.manifest.segments):
                raise UsageError(
                    f"{folder} already holds documents; add to it with: likewise add {folder} "
                    "SOURCE, or start anew with --overwrite"
                )
            return writer.add(documents, replace=replace, resources=resources, replace_all=analysis)
    except BaseException:
        if is_new and (folder / POINTER).exists():
            _undo(folder, existed=existed)
        raise


def _replace_old(
    folder: Path,
    documents: Iterable[Document],
    analysis: Analysis,
    *,
    replace: bool,
    resources: Resources,
) -> Added:
    """Make a collection in the place of one of format 1, which stays whole until the commit."""
    with storage_errors(folder):
        lock = WriteLock(folder)
        try:
            generation = Format1(folder).generation
            for name in _FOLDERS:
                (folder / name).mkdir(exist_ok=True)
            with Job(folder) as job:
                base = Snapshot(folder, Manifest(analysis, generation, new_id()))
                addition = _Addition(base, job, replace=replace, resources=resources)
                segments = addition.run(documents)
                manifest = commit(folder, changed(base.manifest, segments=segments), job.path)
            sweep(folder, manifest)
        finally:
            lock.release()
    return Added(addition.n_docs, addition.n_replaced)


def _undo(folder: Path, *, existed: bool) -> None:
    """Remove a collection that was just made, unless another process has begun to write there."""
    with suppress(LikewiseError, OSError):
        lock = WriteLock(folder)
        try:
            if read_pointer(folder).generation == 1:
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


def create(folder: Path, analysis: Analysis = Analysis()) -> None:
    """Make an empty collection in a folder that is new or empty."""
    with storage_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise NotACollection(f"{folder} is a file; a collection is a folder")
        if (folder / POINTER).exists():
            raise UsageError(f"{folder} is a collection already")
        _check_unused(folder)
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        lock = WriteLock(folder)
        try:
            if (folder / POINTER).exists():
                raise UsageError(f"{folder} is a collection already")
            commit(folder, Manifest(analysis, lineage=new_id()))
            with suppress(PermissionError):
                sync_folder(folder.resolve().parent)
        finally:
            lock.release()


def _check_unused(folder: Path) -> None:
    if folder.exists() and not all(map(_is_left_over, folder.iterdir())):
        raise NotACollection(f"{folder} holds other files; name a folder that is new or empty")


def tidy(folder: Path) -> None:
    """Remove what nobody reads any more, unless another process is writing: then it does."""
    with suppress(CollectionError):
        Writer(folder).close()


def clean(folder: Path) -> int:
    """Remove what nobody needs, also where leases cannot be told; give how many bytes that was."""
    with storage_errors(folder):
        lock = WriteLock(folder)
        try:
            before = _n_bytes(folder)
            snapshot = open_snapshot(folder)
            for job in unfinished_jobs(folder):
                (folder / WORK / job / PLAN).unlink(missing_ok=True)
            sweep(folder, snapshot.manifest, forced=True)
            snapshot.close()
            return before - _n_bytes(folder)
        finally:
            lock.release()


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _is_left_over(path: Path) -> bool:
    """Tell whether a build that was killed before its first commit left this behind.

    Folders of ours have plain names: what somebody keeps in one called data must stay.
    """
    if path.name in FORMAT_1:
        return is_format_1(path)
    if path.name in _FOLDERS:
        return path.is_dir() and all(_OURS.fullmatch(inside.name) for inside in path.iterdir())
    return path.name in (LOCK, POINTER + ".new")


class Writer:
    """Changes a collection; while it is open no other process can.

    `derive` gives what is to be published together with a change of segments.
    """

    def __init__(
        self,
        folder: Path,
        derive: Derive | None = None,
        *,
        job: Job | None = None,
        wait: bool = False,
    ) -> None:
        self.folder = folder
        self._derive = derive
        self._job = job
        read_pointer(folder)
        with storage_errors(folder):
            self._lock = WriteLock(folder, wait=wait)
            try:
                self.snapshot = open_snapshot(folder)
                sweep(folder, self.manifest)
            except BaseException:
                self._lock.release()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others write; what the one who asked for a change has let go of is removed."""
        try:
            manifest = self.manifest
            self.snapshot.close()
            if self._job is not None:
                self._job.close()
                sweep(self.folder, manifest)
        finally:
            self._lock.release()

    @property
    def manifest(self) -> Manifest:
        """The newest state."""
        return self.snapshot.manifest

    @property
    def job(self) -> Job:
        """Where files are made before they are published."""
        if self._job is None:
            self._job = Job(self.folder)
        return self._job

    def add(
        self,
        documents: Iterable[Document],
        *,
        replace: bool = False,
        resources: Resources = Resources(),
        replace_all: Analysis | None = None,
    ) -> Added:
        """Add documents, all or none; in place of all that is there, where an analysis is given."""
        with storage_errors(self.folder):
            base = self.snapshot
            if replace_all is not None:
                generation = self.manifest.generation
                base = Snapshot(self.folder, Manifest(replace_all, generation, new_id()))
            addition = _Addition(base, self.job, replace=replace, resources=resources)
            try:
                segments = addition.run(documents)
                if replace_all is not None or segments != self.manifest.segments:
                    manifest = changed(base.manifest, segments=segments)
                    self.publish(manifest, threads=resources.n_threads)
            except BaseException:
                self._recover()
                raise
            run = next_run(self.snapshot.segments)
            if run is not None:
                try:
                    self._merge([run], resources)
                except (OSError, CollectionError) as error:
                    # The documents are in; it is tried again after the next.
                    log.warning("%s: segments are not merged: %s", self.folder, error)
        return Added(addition.n_docs, addition.n_replaced)

    def delete(self, doc_ids: Sequence[str], *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; tell how many."""
        with storage_errors(self.folder):
            docs = self.snapshot.find_docs(doc_ids)
            if (docs < 0).any() and not missing_ok:
                missing = [doc_id for doc_id, doc in zip(doc_ids, docs, strict=True) if doc < 0]
                shown = ", ".join(map(repr, missing[:5])) + (", …" if len(missing) > 5 else "")
                raise UsageError(
                    f"no such document in {self.folder}: {shown}; nothing was deleted "
                    "(--missing-ok passes over them)"
                )
            docs = np.unique(docs[docs >= 0])
            if len(docs):
                try:
                    segments = _mark_deleted(self.snapshot, docs, self.job)
                    self.publish(changed(self.manifest, segments=tuple(segments)))
                except BaseException:
                    self._recover()
                    raise
            return len(docs)

    def merge(self, *, resources: Resources = Resources(), progress: Progress | None = None) -> int:
        """Merge all segments into one without deleted documents; tell how many there were.

        Beyond the limits of a segment one becomes several. `progress` is told of documents.
        """
        segments = self.snapshot.segments
        with storage_errors(self.folder):
            runs = [
                (first, last)
                for first, last in all_runs(segments)
                if last - first > 1 or segments[first].entry.deleted or self._has_unused(first)
            ]
            if runs:
                self._merge(runs, resources, progress)
        return len(segments)

    def put(
        self,
        *artifacts: Artifact,
        drop: Iterable[str] = (),
        defaults: Mapping[str, str] | None = None,
    ) -> None:
        """Publish artifacts whose packs are in the job's folder, and drop others by id.

        One that is there already is replaced where it stands.
        """
        gone, new = set(drop), {one.id: one for one in artifacts}
        with storage_errors(self.folder):
            there = [new.pop(one.id, one) for one in self.manifest.artifacts if one.id not in gone]
            manifest = changed(self.manifest, artifacts=(*there, *new.values()))
            if defaults is not None:
                manifest = changed(manifest, defaults=defaults)
            self.publish(manifest, derived=True)

    def publish(
        self,
        manifest: Manifest,
        *,
        merged: Mapping[str, Sequence[str]] | None = None,
        derived: bool = False,
        threads: int = 1,
    ) -> None:
        """Make a state the newest, with what is derived from it unless that is all it changes.

        Artifacts whose inputs are no longer named are left out.
        """
        manifest = changed(manifest, artifacts=valid_artifacts(manifest))
        if self._derive is not None and not derived:
            work = self.job.path
            after = Snapshot(self.folder, manifest, work=work, before=self.snapshot)
            change = Change(self.snapshot, after, self.job, merged or {}, threads)
            manifest = changed(manifest, artifacts=tuple(self._derive(change)))
            manifest = changed(manifest, artifacts=valid_artifacts(manifest))
            after.close()
        try:
            commit(self.folder, manifest, self._job.path if self._job else None)
        finally:
            self._reopen()
        sweep(self.folder, self.manifest)

    def _has_unused(self, segment: int) -> bool:
        """Tell whether a segment names words that no document of the collection has any more."""
        chosen = self.snapshot.segments[segment]
        doc_freqs, _ = self.snapshot.frequencies(chosen.first_terms())
        return bool((np.diff(chosen.terms.offsets)[doc_freqs <= 0] > 0).any())

    def _merge(
        self,
        runs: Sequence[tuple[int, int]],
        resources: Resources,
        progress: Progress | None = None,
    ) -> None:
        snapshot = self.snapshot
        entries: list[SegmentEntry] = list(self.manifest.segments)
        merged = {}
        builder = None
        among = [segment for first, last in runs for segment in snapshot.segments[first:last]]
        check_room(self.folder, merged_bytes(self.manifest, among), "a merge")
        try:
            for first, last in reversed(runs):
                chosen = snapshot.segments[first:last]
                builder = SegmentBuilder(self.job, first_term=chosen[0].entry.first_term)
                for segment in chosen:
                    copy_segment(segment, builder, progress)
                numbers = np.concatenate([segment.first_terms() for segment in chosen])
                doc_freqs, _ = snapshot.frequencies(numbers)
                terms = join_terms(chosen, doc_freqs)
                made = builder.seal(terms, resources)
                merged[made.id] = [segment.entry.id for segment in chosen]
                entries[first:last] = [made]
            manifest = changed(self.manifest, segments=tuple(entries))
            self.publish(manifest, merged=merged, threads=resources.n_threads)
        except BaseException:
            if builder is not None:
                builder.abandon()
            self._recover()
            raise

    def _reopen(self) -> None:
        before = self.snapshot
        self.snapshot = open_snapshot(self.folder, before)
        before.close()

    def _recover(self) -> None:
        """Go back to what is on disk: an interrupt may have come before or after the commit."""
        self._reopen()
        if self._job is not None:
            self._job.close()
            self._job = None
        sweep(self.folder, self.manifest)


def valid_artifacts(manifest: Manifest) -> tuple[Artifact, ...]:
    """Give the artifacts whose inputs are all named."""
    artifacts = manifest.artifacts
    while True:
        ids = changed(manifest, artifacts=artifacts).ids()
        kept = tuple(one for one in artifacts if ids.issuperset(one.inputs))
        if len(kept) == len(artifacts):
            return kept
        artifacts = kept


def _mark_deleted(snapshot: Snapshot, docs: Ints, job: Job) -> list[SegmentEntry]:
    """Write which documents are deleted; give the segments' entries that name it."""
    owners = np.searchsorted(snapshot.bases, docs, "right") - 1
    entries = list(snapshot.manifest.segments)
    for owner in np.unique(owners).tolist():
        local = docs[owners == owner] - snapshot.bases[owner]
        entries[owner] = mark_deleted(snapshot.segments[owner], local, job)
    return entries


class _Addition:
    """An addition under way: segments being built, and documents that they replace.

    What was built before is looked up where it is mapped, so that only the ids and the new words
    of one segment are held in memory.
    """

    def __init__(
        self, snapshot: Snapshot, job: Job, *, replace: bool, resources: Resources
    ) -> None:
        self.n_docs = 0
        self.n_replaced = 0
        self._snapshot = snapshot
        self._job = job
        self._replace = replace
        self._resources = resources
        self._sealed: list[Segment] = []
        self._replaced: list[int] = []
        self._builder: SegmentBuilder | None = None
        self._lexicon = Lexicon(
            snapshot.analyzer, self._find_terms, snapshot.n_terms, cached=resources.for_chunks
        )

    def run(self, documents: Iterable[Document]) -> tuple[SegmentEntry, ...]:
        """Add documents; give the segments of the collection with them."""
        weight = self._snapshot.analysis.title_weight
        try:
            for batch in prepare(documents, self._resources, title_weight=weight):
                self._take(batch)
            return tuple(self._finish())
        except BaseException:
            if self._builder is not None:
                self._builder.abandon()
            raise

    def _take(self, batch: Prepared) -> None:
        """Append a batch; raise at an id that is already there, unless it is to be replaced."""
        if self._builder is not None and self._builder.is_full(self._lexicon.terms.strings):
            self._seal()
        if self._builder is None:
            self._builder = SegmentBuilder(self._job, first_term=self._lexicon.first)
            self._ids = StringTable()
            self._doc_of_id = array("I")
        ids = Strings.of([encode(document.id) for document in batch.documents])
        before = self._find_docs(ids)
        n_known, n_here = len(self._ids), self._builder.n_docs
        numbers = self._ids.intern(ids)
        if (before >= 0).any() or len(self._ids) - n_known < ids.size:
            self._resolve_duplicates(batch, before, numbers)
        else:
            self._doc_of_id.extend(range(n_here, n_here + ids.size))
        self._builder.add(batch, ids, self._lexicon)
        self.n_docs += ids.size

    def _finish(self) -> list[SegmentEntry]:
        if self._builder is not None:
            self._seal()
        replaced = np.array(self._replaced, np.int64)
        entries = _mark_deleted(self._snapshot, replaced, self._job)
        for segment in self._sealed:
            dead = np.flatnonzero(~segment.live)
            entries.append(mark_deleted(segment, dead, self._job) if len(dead) else segment.entry)
        return entries

    def _seal(self) -> None:
        assert self._builder is not None
        entry = self._builder.seal(self._lexicon.take_new(), self._resources)
        segment = Segment(entry, self._job.path.joinpath)
        segment.live[self._builder.dead] = False
        self._sealed.append(segment)
        self._builder = None

    def _find_terms(self, terms: Strings) -> Ints:
        out = np.full(terms.size, -1, np.int64)
        for segment in (*self._snapshot.segments, *self._sealed):
            segment.find_terms(terms, out)
        return out

    def _find_docs(self, ids: Strings) -> Ints:
        """Look up ids in segments that are finished: numbers over all of them, else -1."""
        out = np.full(ids.size, -1, np.int64)
        base = 0
        for segment in (*self._snapshot.segments, *self._sealed):
            found = segment.find_docs(ids)
            out = np.where(found >= 0, found + base, out)
            base += segment.n_docs
        return out

    def _resolve_duplicates(self, batch: Prepared, before: Ints, numbers: Ints) -> None:
        assert self._builder is not None
        n_here = self._builder.n_docs
        for i, number in enumerate(numbers.tolist()):
            document = batch.documents[i]
            if number < len(self._doc_of_id):
                earlier = self._doc_of_id[number]
                if not self._replace:
                    first = (
                        batch.documents[earlier - n_here].place
                        if earlier >= n_here
                        else self._builder.place(earlier)
                    )
                    raise DuplicateId(document.place, document.id, first or "an earlier document")
                self._builder.dead.append(earlier)
                self._doc_of_id[number] = n_here + i
                self.n_replaced += 1
                continue
            self._doc_of_id.append(n_here + i)
            if before[i] >= 0:
                self._replace_finished(int(before[i]), document)

    def _replace_finished(self, doc: int, document: Document) -> None:
        n_old = self._snapshot.n_slots
        if doc < n_old:
            if not self._replace:
                first = self._snapshot.document(doc).place
                raise DuplicateId(document.place, document.id, first or "the collection")
            self._replaced.append(doc)
        else:
            local = doc - n_old
            for segment in self._sealed:
                if local < segment.n_docs:
                    break
                local -= segment.n_docs
            if not self._replace:
                first = segment.documents[local].place
                raise DuplicateId(document.place, document.id, first or "an earlier document")
            segment.live[local] = False
        self.n_replaced += 1
