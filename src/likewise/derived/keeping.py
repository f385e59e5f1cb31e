"""How derived data is stored, keeps up with the documents, and is published."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Output
from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.manifest import Artifact
from likewise.collection.pack import Pack
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.collection.writer import Change, Writer, valid_artifacts
from likewise.compiled import Ints
from likewise.derived.kind import Inputs, Kind, Progress, Scope
from likewise.derived.store import Derived, Key, derived_of, kind_of, kinds_of
from likewise.errors import CollectionError, StorageError
from likewise.records import Document

log = logging.getLogger("likewise.derived")


def keep_up(change: Change) -> list[Artifact]:
    """Give the artifacts of a changed state, with what it lacks of kinds that are stored.

    Segments that were merged have theirs joined, where that can be done. What is derived never
    keeps documents from changing: a root that is damaged, or of a type that is not known,
    stays as it is, and nothing is computed from it.
    """
    after = Derived(change.after)
    before = derived_of(change.before)
    artifacts = list(change.after.manifest.artifacts)
    roots = [one for one in artifacts if _is_root(one)]
    gone = _gone(change)
    for root in roots:
        if not _is_whole(root, after, checked=bool(gone)):
            continue
        forgotten = _forget(root, gone, after, change.job)
        if forgotten is not root:
            artifacts[artifacts.index(root)] = forgotten
            after.replace(forgotten)
        artifacts += _missing(after, root, change.job, change.threads, before, change)
    return _current(artifacts, after)


def _current(artifacts: Sequence[Artifact], derived: Derived) -> list[Artifact]:
    """Leave out what another takes the place of, and wholes of what is no longer the whole."""
    last = {(one.kind, one.name, one.inputs): one for one in artifacts}
    kept = []
    for key, one in last.items():
        kind = kind_of(one.kind)
        whole = kind is not None and kind.scope is Scope.WHOLE
        if not whole or derived.key(one.kind, one.name) == key:
            kept.append(one)
    return kept


def derive(
    snapshot: Snapshot,
    root: Artifact,
    job: Job,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> list[Artifact]:
    """Compute what belongs to a new root, from a snapshot that has it."""
    return list(_missing(Derived(snapshot), root, job, threads, progress=progress))


def put_root(
    job: Job, kind: str, name: str, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]
) -> Artifact:
    """Write a root; it is not published by that."""

    def fill(out: Output) -> bool:
        for array, values in arrays.items():
            out.put(array, values)
        return True

    known = kind_of(kind)
    assert known is not None
    made = _write(known, (kind, name, ()), job, fill)
    assert made is not None
    return changed(made, about=dict(about))


def with_artifacts(snapshot: Snapshot, artifacts: Sequence[Artifact], job: Job) -> Snapshot:
    """Give a snapshot in which artifacts that are not published yet take the place of others."""
    names = {(one.kind, one.name) for one in artifacts}
    kept = [one for one in snapshot.manifest.artifacts if (one.kind, one.name) not in names]
    manifest = changed(snapshot.manifest, artifacts=(*kept, *artifacts))
    manifest = changed(manifest, artifacts=valid_artifacts(manifest))
    return Snapshot(snapshot.folder, manifest, snapshot.lease, work=job.path, before=snapshot)


def publish(
    snapshot: Snapshot,
    artifacts: Sequence[Artifact],
    job: Job,
    check: Callable[[Writer], Mapping[str, str]],
    *,
    wait: bool = True,
) -> None:
    """Publish roots, which replace those of their names, and what was computed from them.

    They were made from a snapshot while others may have written: what the newest state no longer
    has is left out. `check` raises where the roots cannot be published, and gives the defaults.
    Who does not `wait` for another writer gets an error.
    """
    with Writer(snapshot.folder, job=job, wait=wait) as writer:
        manifest = writer.manifest
        if manifest.lineage != snapshot.manifest.lineage:
            raise CollectionError(
                f"{snapshot.folder} was replaced as a whole in the meantime; start again"
            )
        defaults = check(writer)
        roots = [one for one in artifacts if _is_root(one)]
        names = {(one.kind, one.name) for one in roots}
        drop = [one.id for one in manifest.artifacts if (one.kind, one.name) in names]
        gone = _gone_between(snapshot, writer.snapshot)
        if gone:
            private = Derived(with_artifacts(writer.snapshot, artifacts, job))
            roots = [_forget(root, gone, private, job) for root in roots]
        rest = [one for one in artifacts if not _is_root(one)]
        writer.put(*roots, *rest, drop=drop, defaults=defaults)


def _is_root(artifact: Artifact) -> bool:
    kind = kind_of(artifact.kind)
    return kind is not None and kind.scope is Scope.ROOT and artifact.version == kind.version


def _is_whole(root: Artifact, derived: Derived, *, checked: bool) -> bool:
    """Tell whether a root can be loaded; one that is about to be written again is read whole."""
    try:
        stored = derived.arrays(root)
        if checked and isinstance(stored, Pack):
            stored.check()
        derived.root(root.kind, root.name)
    except CollectionError as error:
        log.warning("%s %s: nothing is computed from it: %s", root.kind, root.name, error)
        return False
    return True


def _missing(
    derived: Derived,
    root: Artifact,
    job: Job,
    threads: int,
    before: Derived | None = None,
    change: Change | None = None,
    progress: Progress | None = None,
) -> Iterator[Artifact]:
    """Make what is due and not there, each when those that it needs are there."""
    # Of a fit, damage is an error; a change of documents does not fail by what is derived.
    passed_over = StorageError if change is None else CollectionError
    adding = change is not None and not change.merged
    deleting = change is not None and _segments(change.before) == _segments(change.after)
    for kind in kinds_of(root.kind):
        if deleting and kind.sees_deletions:
            continue
        n_segments = len(derived.snapshot.segments)
        whole = kind.scope is Scope.WHOLE
        for i in [-1] if whole else range(n_segments):
            key = derived.key(kind.name, root.name, i)
            inputs = Inputs(derived, root.name, i, threads, progress)
            try:
                if key in derived.artifacts or not kind.due(inputs, adding=adding):
                    continue
                made = None
                if before is not None and change is not None and not whole:
                    made = _joined(kind, key, inputs, before, change, job)
                made = made or _write(kind, key, job, _computing(kind, inputs))
            except (OSError, passed_over) as error:
                # It is computed when asked for, and tried again with the next change.
                log.warning("%s of %s is not stored: %s", kind.name, root.name, error)
                continue
            if made is not None:
                derived.add(made)
                yield made


def _computing(kind: Kind, inputs: Inputs) -> Callable[[Output], bool]:
    def fill(out: Output) -> bool:
        return kind.compute(inputs, out) is not False

    return fill


def _joined(
    kind: Kind, key: Key, inputs: Inputs, before: Derived, change: Change, job: Job
) -> Artifact | None:
    """Join what a merged segment was made from; None where it has to be computed."""
    parents = change.merged.get(inputs.snapshot.segments[inputs.segment].entry.id, ())
    places = {segment.entry.id: i for i, segment in enumerate(change.before.segments)}
    keys = [before.key(kind.name, inputs.name, places[parent]) for parent in parents]
    if not keys or not all(one in before.artifacts for one in keys):
        return None
    try:
        parts = [before.arrays(before.artifacts[one]) for one in keys]
        for part in parts:
            # Else damage would be copied, with a checksum that says it was always so.
            if isinstance(part, Pack):
                part.check()
        rows = [np.flatnonzero(change.before.segments[places[parent]].live) for parent in parents]
        return _write(kind, key, job, lambda out: kind.join(parts, rows, inputs, out))
    except CollectionError as error:
        log.warning("%s of %s is computed again: %s", kind.name, inputs.name, error)
        return None


def _write(kind: Kind, key: Key, job: Job, fill: Callable[[Output], bool]) -> Artifact | None:
    """Write an artifact's pack; None where nothing came of it."""
    out = job.new_pack(kind.name)
    try:
        if not fill(out):
            out.abandon()
            out.path.unlink()
            return None
        pack = out.close()
    except BaseException:
        out.abandon()
        out.path.unlink(missing_ok=True)
        raise
    return Artifact(new_id(), kind.name, kind.version, key[1], key[2], {}, pack)


def _segments(snapshot: Snapshot) -> list[str]:
    return [entry.id for entry in snapshot.manifest.segments]


@dataclass(frozen=True)
class _Gone:
    """Documents that are no longer there, by segment; their texts are read one after the other."""

    parts: list[tuple[Segment, Ints]]

    def __bool__(self) -> bool:
        return any(len(docs) for _, docs in self.parts)

    def __iter__(self) -> Iterator[Document]:
        for segment, docs in self.parts:
            for doc in docs.tolist():
                yield segment.documents[doc]

    def unless_replaced(self, snapshot: Snapshot) -> _Gone:
        """Give those whose ids a snapshot does not have."""
        left = []
        for segment, docs in self.parts:
            ids = [doc_id.decode() for doc_id in segment.ids.take(docs).all()]
            left.append((segment, docs[snapshot.find_docs(ids) < 0]))
        return _Gone(left)


def _forget(root: Artifact, gone: _Gone, derived: Derived, job: Job) -> Artifact:
    """Give a root without what it keeps of documents that are gone; its identity stays."""
    kind = kind_of(root.kind)
    assert kind is not None
    if not kind.keeps_texts:
        gone = gone.unless_replaced(derived.snapshot)
    if not gone:
        return root
    inputs = Inputs(derived, root.name)
    left = kind.forget(derived.root(root.kind, root.name), gone, inputs)
    if left is None:
        return root
    made = put_root(job, root.kind, root.name, left.arrays(), root.about)
    return changed(root, pack=made.pack)


def _gone(change: Change) -> _Gone:
    """Give the deleted documents that a merge leaves behind."""
    merged = {parent for parents in change.merged.values() for parent in parents}
    chosen = (segment for segment in change.before.segments if segment.entry.id in merged)
    return _Gone([(segment, np.sort(segment.deleted)) for segment in chosen])


def _gone_between(before: Snapshot, after: Snapshot) -> _Gone:
    """Give the documents of one snapshot that another may not have any more.

    Those of segments that were merged meanwhile are among them: whoever keeps something of texts or
    of ids looks whether these are still there.
    """
    now = {segment.entry.id: segment for segment in after.segments}
    found = []
    for segment in before.segments:
        later = now.get(segment.entry.id)
        docs = np.flatnonzero(segment.live & ~later.live if later else segment.live)
        found.append((segment, docs))
    return _Gone(found)
