"""How does the collection change, and stay whole?

Every change writes new files beside the old ones and then replaces the manifest; nothing that
the old manifest names is touched before that. What a killed process left behind is removed by
the next writer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace as changed
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from likewise.collection.build import Prepared, Resources, SegmentBuilder, prepare
from likewise.collection.files import Seal, seal_folder, storage_errors
from likewise.collection.lock import NAME as LOCK
from likewise.collection.lock import WriteLock
from likewise.collection.manifest import NAME as MANIFEST
from likewise.collection.manifest import (
    DerivedEntry,
    Manifest,
    ModelEntry,
    SegmentEntry,
    read_manifest,
    write_manifest,
)
from likewise.collection.merge import Watch, all_runs, copy_segment, next_run
from likewise.collection.segment import Segment
from likewise.collection.snapshot import DERIVED, MODELS, SEGMENTS, Snapshot, open_snapshot
from likewise.collection.tombstones import bury
from likewise.compiled import Ints
from likewise.errors import (
    DuplicateId,
    LikewiseError,
    NotACollection,
    StorageError,
    UsageError,
)
from likewise.records import Document
from likewise.text.analysis import Analysis, encode
from likewise.text.lexicon import Lexicon
from likewise.text.table import Strings, StringTable


class Added(NamedTuple):
    """What an addition did."""

    n_docs: int
    n_replaced: int


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
    place when it is complete.
    """
    existed = folder.exists()
    is_new = not (folder / MANIFEST).exists()
    try:
        if is_new:
            create(folder, analysis)
        with Writer(folder) as writer:
            if not overwrite and any(entry.n_live for entry in writer.manifest.segments):
                raise UsageError(
                    f"{folder} already holds documents; add to it with: likewise add {folder} "
                    "SOURCE, or start anew with --overwrite"
                )
            return writer.add(documents, replace=replace, resources=resources, afresh=analysis)
    except BaseException:
        if is_new and (folder / MANIFEST).exists():
            _undo(folder, existed=existed)
        raise


def _undo(folder: Path, *, existed: bool) -> None:
    """Remove a collection that was just made, unless another process has begun to write there."""
    with suppress(LikewiseError, OSError):
        lock = WriteLock(folder)
        try:
            if read_manifest(folder).generation == 0:
                shutil.rmtree(folder, ignore_errors=True)
                if existed:
                    folder.mkdir()
        finally:
            lock.release()


def create(folder: Path, analysis: Analysis = Analysis()) -> None:
    """Make an empty collection in a folder that is new or empty."""
    with storage_errors(folder):
        if folder.exists() and not folder.is_dir():
            raise NotACollection(f"{folder} is a file; a collection is a folder")
        if (folder / MANIFEST).exists():
            raise UsageError(f"{folder} is a collection already")
        _check_unused(folder)
        (folder / SEGMENTS).mkdir(parents=True, exist_ok=True)
        lock = WriteLock(folder)
        try:
            if (folder / MANIFEST).exists():
                raise UsageError(f"{folder} is a collection already")
            write_manifest(folder, Manifest(analysis))
        finally:
            lock.release()


def _check_unused(folder: Path) -> None:
    ours = {LOCK, SEGMENTS, MODELS, DERIVED, MANIFEST + ".new"}
    if folder.exists() and any(path.name not in ours for path in folder.iterdir()):
        raise NotACollection(f"{folder} holds other files; name a folder that is new or empty")


class Writer:
    """Changes a collection; while it is open no other process can."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        read_manifest(folder)
        with storage_errors(folder):
            self._lock = WriteLock(folder)
            try:
                self.manifest = read_manifest(folder)
                _sweep(folder, self.manifest)
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
        """Let others write."""
        self._lock.release()

    def add(
        self,
        documents: Iterable[Document],
        *,
        replace: bool = False,
        resources: Resources = Resources(),
        afresh: Analysis | None = None,
    ) -> Added:
        """Add documents, all or none; `afresh`, in place of all that is there, analysed so."""
        if afresh is not None:
            self.manifest = changed(self.manifest, analysis=afresh, segments=(), models=())
        with storage_errors(self.folder):
            addition = _Addition(self, replace=replace, resources=resources)
            try:
                weight = self.manifest.analysis.title_weight
                for batch in prepare(documents, resources, title_weight=weight):
                    addition.take(batch)
                addition.commit()
            except BaseException:
                addition.abandon()
                self._recover()
                raise
            run = next_run(self.manifest.segments)
            if run is not None:
                # The documents are in; a merge that finds no room is tried again after the next.
                with suppress(OSError, StorageError):
                    self._merge(*run, resources)
        return Added(addition.n_docs, addition.n_replaced)

    def delete(self, doc_ids: Sequence[str], *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; tell how many."""
        with storage_errors(self.folder):
            snapshot = open_snapshot(self.folder)
            docs = snapshot.find_docs(doc_ids)
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
                    self.commit(self.bury(snapshot, docs))
                except BaseException:
                    self._recover()
                    raise
            return len(docs)

    def merge(self, *, resources: Resources = Resources(), watch: Watch | None = None) -> int:
        """Merge all segments into one without deleted documents; tell how many there were.

        Beyond about four billion tokens one becomes several. `watch` is told of documents copied.
        """
        segments = self.manifest.segments
        with storage_errors(self.folder):
            for first, last in reversed(all_runs(segments)):
                if last - first > 1 or segments[first].deleted:
                    self._merge(first, last, resources, watch)
        return len(segments)

    def put_model(self, name: str, *, kind: str, write: Callable[[Path], None]) -> None:
        """Store a model, in place of one of the same name; `write` fills its folder."""
        if not name.isprintable() or not name:
            raise UsageError(f"{name!r} cannot be the name of a model: give plain text")
        with storage_errors(self.folder):
            folder, files = self._fill(MODELS, write)
            others = [model for model in self.manifest.models if model.name != name]
            self.commit(models=[*others, ModelEntry(name, kind, folder, files)])

    def drop_model(self, name: str) -> None:
        """Remove a model."""
        kept = [model for model in self.manifest.models if model.name != name]
        if len(kept) == len(self.manifest.models):
            raise UsageError(f"no model {name!r} in {self.folder}")
        with storage_errors(self.folder):
            self.commit(models=kept)

    def put_derived(
        self, kind: str, *, model: str, segments: Sequence[str], write: Callable[[Path], None]
    ) -> None:
        """Store what was worked out of segments by the model in a folder; `write` fills a folder.

        It takes the place of what is of the same kind and model, and of any of these segments.
        """
        with storage_errors(self.folder):
            folder, files = self._fill(DERIVED, write)
            others = [
                entry
                for entry in self.manifest.derived
                if (entry.kind, entry.model) != (kind, model)
                or (segments and not set(entry.segments) & set(segments))
            ]
            entry = DerivedEntry(kind, model, tuple(segments), folder, files)
            self.commit(derived=[*others, entry])

    def _fill(self, under: str, write: Callable[[Path], None]) -> tuple[str, dict[str, Seal]]:
        root = self.folder / under
        root.mkdir(exist_ok=True)
        folder = root / self.next_name()
        try:
            folder.mkdir()
            write(folder)
            return folder.name, seal_folder(folder)
        except BaseException:
            _sweep(self.folder, self.manifest)
            raise

    def commit(
        self,
        segments: Sequence[SegmentEntry] | None = None,
        models: Sequence[ModelEntry] | None = None,
        derived: Sequence[DerivedEntry] | None = None,
    ) -> None:
        """Make these the segments, models or derived data of the collection.

        What was derived from segments or models that are no longer there is dropped.
        """
        old = self.manifest
        segments = old.segments if segments is None else tuple(segments)
        models = old.models if models is None else tuple(models)
        sources = {entry.name for entry in segments}
        makers = {"", *(entry.folder for entry in models)}
        manifest = changed(
            old,
            segments=segments,
            models=models,
            derived=tuple(
                entry
                for entry in (old.derived if derived is None else derived)
                if entry.model in makers and sources.issuperset(entry.segments)
            ),
            generation=old.generation + 1,
        )
        try:
            write_manifest(self.folder, manifest)
        finally:
            self.manifest = read_manifest(self.folder)
        _sweep(self.folder, self.manifest)

    def bury(self, snapshot: Snapshot, docs: Ints) -> list[SegmentEntry]:
        """Write tombstones for documents; give the segments' entries that name them."""
        owners = np.searchsorted(snapshot.bases, docs, "right") - 1
        root = self.folder / SEGMENTS
        entries = list(self.manifest.segments)
        for owner in np.unique(owners).tolist():
            locals_ = docs[owners == owner] - snapshot.bases[owner]
            entries[owner] = bury(snapshot.segments[owner], locals_, root, self.next_name())
        return entries

    def _merge(
        self, first: int, last: int, resources: Resources, watch: Watch | None = None
    ) -> None:
        snapshot = open_snapshot(self.folder)
        chosen = snapshot.segments[first:last]
        builder = SegmentBuilder(
            self.folder / SEGMENTS, self.next_name(), first_term=chosen[0].entry.first_term
        )
        try:
            terms = StringTable()
            for segment in chosen:
                copy_segment(segment, builder, watch)
                terms.intern(segment.terms)
            merged = builder.seal(terms.strings, memory=resources.memory)
            segments = self.manifest.segments
            self.commit([*segments[:first], merged, *segments[last:]])
        except BaseException:
            builder.abandon()
            self._recover()
            raise

    def _recover(self) -> None:
        """Go back to what is on disk: an interrupt may have come before or after the commit."""
        self.manifest = read_manifest(self.folder)
        _sweep(self.folder, self.manifest)

    def next_name(self) -> str:
        """Give a folder name that was never used."""
        self.manifest = changed(self.manifest, last_name=self.manifest.last_name + 1)
        return f"{self.manifest.last_name:06d}"


class _Addition:
    """An addition under way: segments being built, and documents that they replace."""

    def __init__(self, writer: Writer, *, replace: bool, resources: Resources) -> None:
        self.n_docs = 0
        self.n_replaced = 0
        self._writer = writer
        self._replace = replace
        self._resources = resources
        self._snapshot = Snapshot(writer.folder, writer.manifest)
        self._lexicon = Lexicon(self._snapshot.analyzer)
        for segment in self._snapshot.segments:
            self._lexicon.terms.intern(segment.terms)
        self._n_old_terms = len(self._lexicon.terms)
        self._ids = StringTable()
        self._doc_of_id: list[int] = []
        self._buried: list[int] = []
        self._builders: list[SegmentBuilder] = []
        self._bases: list[int] = []
        self._sealed: list[SegmentEntry] = []

    def take(self, batch: Prepared) -> None:
        """Append a batch; raise at an id that is already there, unless it is to be replaced."""
        ids = Strings.of([encode(document.id) for document in batch.documents])
        builder = self._builder()
        old = self._snapshot.find_docs([document.id for document in batch.documents])
        n_known = len(self._ids)
        numbers = self._ids.intern(ids)
        if (old >= 0).any() or len(self._ids) - n_known < ids.size:
            self._resolve_duplicates(batch, old, numbers)
        else:
            self._doc_of_id.extend(range(self.n_docs, self.n_docs + ids.size))
        builder.add(batch, ids, self._lexicon)
        self.n_docs += ids.size

    def commit(self) -> None:
        """Seal what was built and make it part of the collection."""
        if self._builders:
            self._seal()
        root = self._writer.folder / SEGMENTS
        entries = self._writer.bury(self._snapshot, np.array(self._buried, np.int64))
        for entry, builder in zip(self._sealed, self._builders, strict=True):
            if builder.dead:
                dead = np.array(builder.dead, np.int64)
                entry = bury(Segment(root, entry), dead, root, self._writer.next_name())
            entries.append(entry)
        self._writer.commit(entries)

    def abandon(self) -> None:
        """Close what is open."""
        for builder in self._builders[len(self._sealed) :]:
            builder.abandon()

    def _builder(self) -> SegmentBuilder:
        if self._builders and len(self._sealed) < len(self._builders):
            builder = self._builders[-1]
            if not builder.is_full and builder.n_bytes < self._resources.memory // 2:
                return builder
            self._seal()
        first_term = self._n_old_terms + sum(entry.n_terms for entry in self._sealed)
        builder = SegmentBuilder(
            self._writer.folder / SEGMENTS, self._writer.next_name(), first_term=first_term
        )
        self._builders.append(builder)
        self._bases.append(self.n_docs)
        return builder

    def _seal(self) -> None:
        first_term = self._n_old_terms + sum(entry.n_terms for entry in self._sealed)
        terms = self._lexicon.terms.strings.take(np.arange(first_term, len(self._lexicon.terms)))
        self._sealed.append(self._builders[-1].seal(terms, memory=self._resources.memory // 2))

    def _resolve_duplicates(self, batch: Prepared, old: Ints, numbers: Ints) -> None:
        for i, number in enumerate(numbers.tolist()):
            doc = self.n_docs + i
            document = batch.documents[i]
            if number < len(self._doc_of_id):
                self._replace_new(self._doc_of_id[number], document, batch)
                self._doc_of_id[number] = doc
            else:
                self._doc_of_id.append(doc)
                if old[i] >= 0:
                    if not self._replace:
                        first = self._snapshot.document(int(old[i])).place
                        raise DuplicateId(document.place, document.id, first or "the collection")
                    self._buried.append(int(old[i]))
                    self.n_replaced += 1

    def _replace_new(self, earlier: int, document: Document, batch: Prepared) -> None:
        if not self._replace:
            in_batch = earlier >= self.n_docs
            first = (
                batch.documents[earlier - self.n_docs].place if in_batch else self._place(earlier)
            )
            raise DuplicateId(document.place, document.id, first or "an earlier document")
        owner = int(np.searchsorted(self._bases, earlier, "right")) - 1
        self._builders[owner].dead.append(earlier - self._bases[owner])
        self.n_replaced += 1

    def _place(self, doc: int) -> str:
        owner = int(np.searchsorted(self._bases, doc, "right")) - 1
        return self._builders[owner].place(doc - self._bases[owner])


def _sweep(folder: Path, manifest: Manifest) -> None:
    """Remove what the manifest does not name."""
    named = {entry.name for entry in manifest.segments}
    named |= {entry.deleted.name for entry in manifest.segments if entry.deleted}
    (folder / (MANIFEST + ".new")).unlink(missing_ok=True)
    named |= {model.folder for model in manifest.models}
    named |= {entry.folder for entry in manifest.derived}
    for root in (folder / SEGMENTS, folder / MODELS, folder / DERIVED):
        for path in root.iterdir() if root.exists() else ():
            if path.name not in named:
                shutil.rmtree(path, ignore_errors=True)
