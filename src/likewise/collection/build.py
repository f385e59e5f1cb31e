"""How do documents become a segment?

Documents come in batches of about a megabyte. Cutting texts into chunks and compressing
documents runs on all cores; numbering terms and appending, in order, on one. Records, ids, cards
and documents go straight to disk, so that memory holds metadata and new words only; the postings
are made at the end, from the records, in passes that fit the memory.

Segments are cut by content: by the number of their documents and the size of what is addressed by
four bytes. So neither memory nor threads change the result.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from likewise.collection.cards import CardsWriter
from likewise.collection.documents import DocumentsWriter, Frame, compress
from likewise.collection.fields import FieldsWriter
from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.manifest import SegmentEntry
from likewise.collection.postings import write_postings
from likewise.collection.records import encode as encode_records
from likewise.collection.schema import FieldNote, Types
from likewise.compiled import Bytes, Ints, Offsets
from likewise.errors import StorageError, UsageError
from likewise.records import Document
from likewise.text.analysis import encode
from likewise.text.chunks import Chunks, cut, repeat_first
from likewise.text.lexicon import CACHED, Lexicon
from likewise.text.table import Strings, make_slots

_BATCH_BYTES = 1 << 20
_BATCH_DOCS = 4096
_BYTES_PER_MEMBER = 16
# A segment is cut before it has more documents, or more bytes of anything addressed by 32 bits.
MOST_DOCS = 1 << 20
MOST_BYTES = (1 << 31) - (1 << 28)
LEAST_MEMORY = 256 << 20


@dataclass(frozen=True)
class Resources:
    """What a build may use: bytes of memory, and threads (0: one for each core).

    The memory is what the process holds beyond what it maps from files. Ids, new words and metadata
    of one segment are held whatever it is: segments must not depend on it.
    """

    memory: int = 1 << 30
    threads: int = 0

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise UsageError(
                f"a build needs {LEAST_MEMORY >> 20} MB of memory at least, not "
                f"{self.memory >> 20} MB"
            )

    @property
    def for_postings(self) -> int:
        """The bytes for postings that are made in one pass."""
        return self.memory // 8

    @property
    def for_chunks(self) -> int:
        """The bytes for chunks of text whose terms are known."""
        return min(self.memory // 8, CACHED)

    @property
    def n_threads(self) -> int:
        """The number of threads in use."""
        return self.threads or os.cpu_count() or 1


class Abandoned(Protocol):
    """What is open while a segment is built, and may have to be given up."""

    def abandon(self) -> None:
        """Close without finishing."""
        ...


Part = TypeVar("Part", bound=Abandoned)


class PreparedBatch(NamedTuple):
    """A batch of documents, cut and compressed."""

    documents: list[Document]
    chunks: Chunks
    frames: list[Frame]


def content(document: Document) -> str:
    """Give the text that is analysed: the title, then the text after a blank line."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def prepare(
    documents: Iterable[Document], resources: Resources, *, title_weight: int = 1
) -> Iterator[PreparedBatch]:
    """Cut and compress documents in batches, on all cores; the batches come in order."""
    batches = _batches(documents)
    if resources.n_threads == 1:
        yield from (_prepare(batch, title_weight) for batch in batches)
        return
    with ThreadPoolExecutor(resources.n_threads) as pool:
        waiting: deque[Future[PreparedBatch]] = deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(_prepare, batch, title_weight))
                if len(waiting) > resources.n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += _size(document)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_DOCS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _size(document: Document) -> int:
    """Give about how many bytes a document has: what a batch is cut by."""
    size = len(document.id) + len(document.title) + len(document.text)
    for value in document.fields.values():
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, list | tuple | Mapping):
            size += _BYTES_PER_MEMBER * len(value)
    return size


def _prepare(documents: list[Document], title_weight: int) -> PreparedBatch:
    chunks = cut([encode(content(document)) for document in documents])
    if title_weight > 1:
        titles = cut([encode(document.title) for document in documents])
        chunks = repeat_first(chunks, np.diff(titles.token_bounds), title_weight)
    return PreparedBatch(documents, chunks, compress(documents))


class SegmentBuilder:
    """Writes one segment: a file of documents, and a pack of arrays."""

    def __init__(self, job: Job, *, first_term: int, types: Types | None = None) -> None:
        self.id = new_id()
        self.n_docs = 0
        self.dead: list[int] = []
        self._first_term = first_term
        self._n_tokens = 0
        self._fields = FieldsWriter(types)
        self.notes: list[FieldNote] = []
        self._opened = ExitStack()
        try:
            path = job.path / f"documents-{self.id}.jsonl.zst"
            self._documents = self._begin(DocumentsWriter(path))
            self._out = self._begin(job.new_pack("index"))
            self._cards = self._begin(CardsWriter(self._out))
            self._lengths = self._begin(self._out.stream("lengths", np.uint32))
            self._records = self._begin(self._out.stream("records", np.uint8))
            self._offsets = self._begin(self._out.stream("records.offsets", np.uint32))
            self._offsets.append(np.zeros(1))
            self._ids = self._begin(self._out.stream("ids", np.uint8))
            self._id_offsets = self._begin(self._out.stream("ids.offsets", np.uint32))
            self._id_offsets.append(np.zeros(1))
        except BaseException:
            self.abandon()
            raise

    def _begin(self, part: Part) -> Part:
        self._opened.callback(part.abandon)
        return part

    @property
    def types(self) -> Types:
        """The types of fields that are known, once it is sealed those of all."""
        return self._fields.types

    @property
    def field_names(self) -> set[str]:
        """The fields that any document has."""
        return self._fields.names

    @property
    def n_bytes(self) -> int:
        """About how much memory the segment holds."""
        return self._fields.n_bytes

    def is_full(self, terms: Strings) -> bool:
        """Whether one more batch could pass a limit; `terms` are those that are new so far."""
        streams = self._records.size, self._ids.size, self._cards.size, self._fields.n_bytes
        most = max(self._n_tokens, len(terms.arena), *streams)
        return self.n_docs > MOST_DOCS - _BATCH_DOCS or most > MOST_BYTES

    def add(self, batch: PreparedBatch, ids: Strings, lexicon: Lexicon) -> None:
        """Append a batch."""
        counts = lexicon.count(batch.chunks)
        records, ends = encode_records(
            counts.bounds,
            counts.terms,
            counts.counts,
            batch.chunks.sentences,
            batch.chunks.sentence_bounds,
        )
        self._append(batch.documents, ids, batch.frames, counts.lengths, records, ends)

    def copy(
        self,
        documents: Sequence[Document],
        ids: Strings,
        frames: list[Frame],
        *,
        lengths: Offsets,
        records: tuple[Bytes, Ints],
    ) -> None:
        """Append documents of another segment, with their records."""
        self._append(documents, ids, frames, lengths, *records)

    def _append(
        self,
        documents: Sequence[Document],
        ids: Strings,
        frames: list[Frame],
        lengths: Ints | Offsets,
        records: Bytes,
        ends: Ints,
    ) -> None:
        if self._records.size + len(records) >= 1 << 32:
            raise StorageError("a segment's records would pass 4 GB: a document is too large")
        self._fields.add(self.n_docs, [document.fields for document in documents])
        self._cards.append(documents)
        self._documents.append(frames)
        self._id_offsets.append(self._ids.size + ids.offsets[1:].astype(np.int64))
        self._ids.append(ids.arena)
        self._lengths.append(lengths)
        self._offsets.append(self._records.size + ends)
        self._records.append(records)
        self._n_tokens += int(np.sum(lengths, dtype=np.int64))
        self.n_docs += len(lengths)

    def place(self, doc: int) -> str:
        """Tell where a document was read."""
        return self._documents.read(doc).place

    def seal(self, terms: Strings, resources: Resources) -> SegmentEntry:
        """Finish the segment; `terms` are those that it is the first to use."""
        out = self._out
        ids = Strings(self._ids.values(), self._id_offsets.values())
        live = np.ones(self.n_docs, np.bool_)
        live[self.dead] = False
        out.put("ids.slots", make_slots(ids, live=live))
        out.put("terms", terms.arena)
        out.put("terms.offsets", terms.offsets)
        out.put("terms.slots", make_slots(terms, live=np.diff(terms.offsets) > 0))
        self.notes = self._fields.write(out)
        write_postings(
            out,
            (self._records.values(), self._offsets.values()),
            self._lengths.values(),
            n_terms=self._first_term + terms.size,
            memory=resources.for_postings,
        )
        self._cards.close()
        for stream in (self._lengths, self._records, self._offsets, self._ids, self._id_offsets):
            stream.close()
        out.put("documents.blocks", self._documents.blocks)
        return SegmentEntry(
            id=self.id,
            n_docs=self.n_docs,
            n_tokens=self._n_tokens,
            first_term=self._first_term,
            n_terms=terms.size,
            documents=self._documents.close(),
            packs=(out.close(),),
        )

    def abandon(self) -> None:
        """Close what is open; the files go with the job."""
        self._opened.close()
