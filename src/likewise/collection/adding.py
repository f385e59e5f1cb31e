"""Documents on their way into a collection: segments being built, and what they replace."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from likewise.collection.build import PreparedBatch, Resources, SegmentBuilder, prepare
from likewise.collection.deleted import mark_deleted
from likewise.collection.job import Job
from likewise.collection.manifest import SegmentEntry
from likewise.collection.schema import FieldNote, merge_types, read_types
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import EXACT, FIELDS
from likewise.compiled import Ints
from likewise.errors import DuplicateId
from likewise.records import Document
from likewise.text.analysis import encode
from likewise.text.lexicon import Lexicon
from likewise.text.table import Strings, StringTable

if TYPE_CHECKING:
    from likewise.collection.deciding import Deciding


@dataclass(frozen=True)
class Added:
    """What an addition did; `fields` is what there is to say of those of its documents.

    `new_fields` are those whose type was not known before, `languages` how the language of a new
    collection was decided, `skipped` counts by reason what its sources left out.
    """

    n_docs: int
    n_replaced: int
    fields: tuple[FieldNote, ...] = field(default=(), compare=False)
    new_fields: frozenset[str] = field(default=frozenset(), compare=False)
    languages: Deciding | None = field(default=None, compare=False)
    skipped: Mapping[str, int] = field(default_factory=dict, compare=False)


def mark_all_deleted(snapshot: Snapshot, docs: Ints, job: Job) -> list[SegmentEntry]:
    """Write which documents are deleted; give the segments' entries that name it."""
    owners = np.searchsorted(snapshot.bases, docs, "right") - 1
    entries = list(snapshot.manifest.segments)
    for owner in np.unique(owners).tolist():
        local = docs[owners == owner] - snapshot.bases[owner]
        entries[owner] = mark_deleted(snapshot.segments[owner], local, job)
    return entries


class Addition:
    """An addition under way: segments being built, and documents that they replace.

    What was built before is looked up where it is mapped, so that only the ids and the new words
    of one segment are held in memory.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        job: Job,
        *,
        replace: bool,
        resources: Resources,
        types: Mapping[str, str] | None = None,
    ) -> None:
        self.types = merge_types(snapshot.schema, read_types(types or {}), snapshot.folder)
        self.n_docs = 0
        self.n_replaced = 0
        self._snapshot = snapshot
        self._job = job
        self._replace = replace
        self._resources = resources
        self._notes: dict[str, FieldNote] = {}
        self._sealed: list[Segment] = []
        self._replaced: list[int] = []
        self._builder: SegmentBuilder | None = None
        self._fields = [field for field in FIELDS if snapshot.has_field(field)]
        self._lexicon = Lexicon(
            snapshot.analyzer,
            self._find_terms,
            snapshot.n_terms,
            cached=resources.for_chunks,
            exact=EXACT in self._fields,
        )

    @property
    def added(self) -> Added:
        """What it has done so far."""
        return Added(
            self.n_docs,
            self.n_replaced,
            tuple(self._notes.values()),
            frozenset(self._notes.keys() - self._snapshot.schema.keys()),
        )

    def run(self, documents: Iterable[Document]) -> tuple[SegmentEntry, ...]:
        """Add documents; give the segments of the collection with them."""
        try:
            for batch in prepare(documents, self._resources, self._snapshot.analyzer):
                self._take(batch)
            return tuple(self._finish())
        except BaseException:
            if self._builder is not None:
                self._builder.abandon()
            raise

    def _take(self, batch: PreparedBatch) -> None:
        """Append a batch; raise at an id that is already there, unless it is to be replaced."""
        if self._builder is not None and self._builder.is_full(self._lexicon.terms.strings):
            self._seal()
        if self._builder is None:
            self._builder = SegmentBuilder(
                self._job,
                first_term=self._lexicon.first,
                fields=self._fields,
                positions=self._snapshot.analysis.positions,
                types=self.types,
            )
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
        entries = mark_all_deleted(self._snapshot, replaced, self._job)
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
        self.types = dict(self._builder.types)
        for note in self._builder.notes:
            before = self._notes.get(note.name)
            self._notes[note.name] = before.joined(note) if before else note
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

    def _resolve_duplicates(self, batch: PreparedBatch, before: Ints, numbers: Ints) -> None:
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
