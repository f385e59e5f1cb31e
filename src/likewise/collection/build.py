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
from numbers import Integral
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from likewise.arguments import check_counts, check_kind
from likewise.collection.cards import CardsWriter
from likewise.collection.documents import DocumentsWriter, Frame, compress
from likewise.collection.fields import FieldsWriter
from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.languages import LanguagesWriter
from likewise.collection.manifest import SegmentEntry
from likewise.collection.positions import PositionsWriter
from likewise.collection.schema import FieldNote, Types
from likewise.collection.words import EXACT, FIELDS, MAIN, TITLE, WordsWriter
from likewise.compiled import Bytes, Ints, Offsets
from likewise.errors import UsageError
from likewise.records import Document
from likewise.text.analysis import Analyzer, encode
from likewise.text.chunks import Chunks, cut
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
        check_kind(self.memory, Integral, "memory is a whole number")
        check_counts(threads=self.threads)
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


class CopiedWords(NamedTuple):
    """A field of words of documents, as it was written: lengths, records and where each ends."""

    lengths: Offsets
    records: Bytes
    ends: Ints


class PreparedBatch(NamedTuple):
    """A batch of documents, cut and compressed; with their languages, where these are several."""

    documents: list[Document]
    chunks: Chunks
    frames: list[Frame]
    languages: list[str] | None = None


def content(document: Document) -> str:
    """Give the text that is analysed: the title, then the text after a blank line."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def prepare(
    documents: Iterable[Document], resources: Resources, analyzer: Analyzer
) -> Iterator[PreparedBatch]:
    """Cut and compress documents in batches, on all cores; the batches come in order."""
    batches = _batches(documents)
    if resources.n_threads == 1:
        yield from (_prepare(batch, analyzer) for batch in batches)
        return
    with ThreadPoolExecutor(resources.n_threads) as pool:
        waiting: deque[Future[PreparedBatch]] = deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(_prepare, batch, analyzer))
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


def _prepare(documents: list[Document], analyzer: Analyzer) -> PreparedBatch:
    chunks, languages = cut_documents(documents, analyzer)
    return PreparedBatch(documents, chunks, compress(documents), languages)


def cut_documents(
    documents: Sequence[Document], analyzer: Analyzer
) -> tuple[Chunks, list[str] | None]:
    """Cut the texts of documents, whose titles are the heads; give their languages, if several."""
    texts = [encode(content(document)) for document in documents]
    heads = [len(encode(document.title)) for document in documents]
    chunks, languages = cut(texts, marks=True, heads=heads), analyzer.languages_of(texts)
    return (chunks if languages is None else analyzer.marked(chunks, languages)), languages


class SegmentBuilder:
    """Writes one segment: a file of documents, a pack of arrays, and one of positions if asked.

    `fields` are the fields of words beside the main one, `types` those of metadata.
    """

    def __init__(
        self,
        job: Job,
        *,
        first_term: int,
        fields: Sequence[str] = FIELDS,
        positions: bool = True,
        types: Types | None = None,
    ) -> None:
        self.id = new_id()
        self.n_docs = 0
        self.dead: list[int] = []
        self._first_term = first_term
        self._fields = FieldsWriter(types)
        self._languages = LanguagesWriter()
        self.notes: list[FieldNote] = []
        self._opened = ExitStack()
        try:
            path = job.path / f"documents-{self.id}.jsonl.zst"
            self._documents = self._begin(DocumentsWriter(path))
            self._out = self._begin(job.new_pack("index"))
            self._cards = self._begin(CardsWriter(self._out))
            self._words = {f: self._begin(WordsWriter(self._out, f)) for f in (MAIN, *fields)}
            self._positions: PositionsWriter | None = None
            if positions:
                self._positions = self._begin(PositionsWriter(job.new_pack("positions")))
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

    @property
    def word_fields(self) -> list[str]:
        """The fields of words, the main one among them."""
        return list(self._words)

    @property
    def has_positions(self) -> bool:
        """Whether positions are written."""
        return self._positions is not None

    def is_full(self, terms: Strings) -> bool:
        """Whether one more batch could pass a limit; `terms` are those that are new so far."""
        streams = [words.size for words in self._words.values()]
        streams += [self._ids.size, self._cards.size, self._fields.n_bytes]
        streams += [self._positions.size] if self._positions else []
        most = max(self._words[MAIN].n_tokens, len(terms.arena), *streams)
        return self.n_docs > MOST_DOCS - _BATCH_DOCS or most > MOST_BYTES

    def add(self, batch: PreparedBatch, ids: Strings, lexicon: Lexicon) -> None:
        """Append a batch."""
        counted = lexicon.count(batch.chunks)
        sentences = batch.chunks.sentences, batch.chunks.sentence_bounds
        self._words[MAIN].add(counted.terms, *sentences)
        for field, counts in ((TITLE, counted.head), (EXACT, counted.exact)):
            if field in self._words:
                self._words[field].add(counts)
        if self._positions is not None:
            self._positions.add(counted)
        self._append(batch.documents, ids, batch.frames, batch.languages)

    def copy(
        self,
        documents: Sequence[Document],
        ids: Strings,
        frames: list[Frame],
        *,
        words: Mapping[str, CopiedWords],
        positions: tuple[Bytes, Ints] | None = None,
        languages: Sequence[str] | None = None,
    ) -> None:
        """Append documents of another segment, with their words, positions and languages."""
        for field, copied in words.items():
            self._words[field].append(*copied)
        if self._positions is not None:
            assert positions is not None
            self._positions.append(*positions)
        self._append(documents, ids, frames, languages)

    def _append(
        self,
        documents: Sequence[Document],
        ids: Strings,
        frames: list[Frame],
        languages: Sequence[str] | None,
    ) -> None:
        if languages is not None:
            self._languages.add(languages)
        self._fields.add(self.n_docs, [document.fields for document in documents])
        self._cards.append(documents)
        self._documents.append(frames)
        self._id_offsets.append(self._ids.size + ids.offsets[1:].astype(np.int64))
        self._ids.append(ids.arena)
        self.n_docs += len(documents)

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
        self._languages.write(out, self.n_docs)
        out.note(words=[field for field in self._words if field != MAIN])
        for words in self._words.values():
            n_terms, memory = self._first_term + terms.size, resources.for_postings
            words.close(n_terms=n_terms, memory=memory)
        self._cards.close()
        self._ids.close()
        self._id_offsets.close()
        out.put("documents.blocks", self._documents.blocks)
        return SegmentEntry(
            id=self.id,
            n_docs=self.n_docs,
            n_tokens=self._words[MAIN].n_tokens,
            first_term=self._first_term,
            n_terms=terms.size,
            documents=self._documents.close(),
            packs=(out.close(), *([self._positions.close()] if self._positions else ())),
        )

    def abandon(self) -> None:
        """Close what is open; the files go with the job."""
        self._opened.close()
