"""How does the collection change, and stay whole?

Every change is a job: it writes new files into a folder of its own and is published by one rename.
Nothing that the old state names is touched before that, or while somebody reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Self

import numpy as np

from likewise.collection.adding import Added, Addition, mark_all_deleted
from likewise.collection.build import Resources
from likewise.collection.files import check_room, storage_errors
from likewise.collection.generations import commit, sweep
from likewise.collection.job import Job
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import Artifact, Manifest, SegmentEntry, read_pointer
from likewise.collection.merge import (
    Progress,
    all_runs,
    begin_merge,
    copy_segment,
    join_terms,
    merged_bytes,
    next_run,
)
from likewise.collection.schema import Types, check_known, read_types
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.words import FIELDS, MAIN
from likewise.compiled import Ints
from likewise.errors import CollectionError, Remedy, UnknownDocument
from likewise.records import Document

log = logging.getLogger("likewise.collection")


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

    def __exit__(self, *_: object) -> None:
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
        types: Mapping[str, str] | None = None,
    ) -> Added:
        """Add documents, all or none; `types` says what type new fields have."""
        with storage_errors(self.folder):
            addition = Addition(
                self.snapshot, self.job, replace=replace, resources=resources, types=types
            )
            try:
                segments = addition.run(documents)
                if segments != self.manifest.segments:
                    manifest = changed(self.manifest, segments=segments, fields=addition.types)
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
                except KeyboardInterrupt as error:
                    said = "interrupted: the documents are in, their segments are not merged yet"
                    raise KeyboardInterrupt(said) from error
        return addition.added

    def delete(self, doc_ids: Sequence[str], *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; tell how many."""
        with storage_errors(self.folder):
            docs = self.snapshot.find_docs(doc_ids)
            if (docs < 0).any() and not missing_ok:
                missing = [doc_id for doc_id, doc in zip(doc_ids, docs, strict=True) if doc < 0]
                shown = ", ".join(map(repr, missing[:5])) + (", …" if len(missing) > 5 else "")
                raise UnknownDocument(
                    f"no such document in {self.folder}: {shown}; nothing was deleted",
                    remedy=Remedy(
                        "missing_ok=True passes over them", "--missing-ok passes over them"
                    ),
                )
            docs = np.unique(docs[docs >= 0])
            if len(docs):
                try:
                    segments = mark_all_deleted(self.snapshot, docs, self.job)
                    self.publish(changed(self.manifest, segments=tuple(segments)))
                except BaseException:
                    self._recover()
                    raise
            return len(docs)

    def merge(
        self,
        *,
        resources: Resources = Resources(),
        progress: Progress | None = None,
        types: Mapping[str, str] | None = None,
    ) -> int:
        """Merge all segments into one without deleted documents; tell how many there were.

        Beyond the limits of a segment one becomes several. `progress` is told of documents. Fields
        get the `types` that are named.
        """
        schema = self.snapshot.schema
        said = read_types(types or {})
        check_known(said, self.snapshot.field_names())
        retyped = any(schema.get(name) != type for name, type in said.items())
        segments = self.snapshot.segments
        with storage_errors(self.folder):
            runs = [
                (first, last)
                for first, last in all_runs(segments)
                if retyped
                or last - first > 1
                or segments[first].entry.deleted
                or self._has_unused(first)
            ]
            if runs:
                self._merge(runs, resources, progress, schema | said)
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
            self.publish(manifest, derive=False)

    def publish(
        self,
        manifest: Manifest,
        *,
        merged: Mapping[str, Sequence[str]] | None = None,
        derive: bool = True,
        threads: int = 1,
    ) -> None:
        """Make a state the newest, with what is derived from it unless that is all it changes.

        Artifacts whose inputs are no longer named are left out.
        """
        manifest = changed(manifest, artifacts=valid_artifacts(manifest))
        if self._derive is not None and derive:
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
        unused = self._uses(chosen.first_terms()) <= 0
        return bool((np.diff(chosen.terms.offsets)[unused] > 0).any())

    def _uses(self, terms: Ints) -> Ints:
        """Count the documents of terms, in all fields of words."""
        return sum((self.snapshot.frequencies(terms, f)[0] for f in (MAIN, *FIELDS)), 0 * terms)

    def _merge(
        self,
        runs: Sequence[tuple[int, int]],
        resources: Resources,
        progress: Progress | None = None,
        types: Types | None = None,
    ) -> None:
        snapshot = self.snapshot
        types = snapshot.schema if types is None else types
        entries: list[SegmentEntry] = list(self.manifest.segments)
        merged = {}
        builder = None
        among = [segment for first, last in runs for segment in snapshot.segments[first:last]]
        check_room(self.folder, merged_bytes(self.manifest, among), "a merge")
        # Names of fields that deleted documents alone had go with these.
        gone = {name for segment in among for name in segment.fields.names}
        for segment in snapshot.segments:
            gone -= set() if segment in among else set(segment.fields.names)
        try:
            for first, last in reversed(runs):
                chosen = snapshot.segments[first:last]
                builder = begin_merge(self.job, chosen, types=types)
                for segment in chosen:
                    copy_segment(segment, builder, progress)
                numbers = np.concatenate([segment.first_terms() for segment in chosen])
                terms = join_terms(chosen, self._uses(numbers))
                made = builder.seal(terms, resources)
                types = builder.types
                gone -= builder.field_names
                merged[made.id] = [segment.entry.id for segment in chosen]
                entries[first:last] = [made]
            kept = {name: type for name, type in types.items() if name not in gone}
            manifest = changed(self.manifest, segments=tuple(entries), fields=kept)
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
