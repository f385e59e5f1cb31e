"""How do documents become a segment?

Documents come in batches of about a megabyte. Cutting texts into chunks and compressing
documents runs on all cores; numbering terms and appending, in order, on one. Records and
documents go straight to disk, so that memory holds ids, metadata and the vocabulary only; the
postings are made at the end, from the forward records, in passes that fit the memory.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.documents import DocumentsWriter, Frame, compress
from likewise.collection.fields import FieldsWriter
from likewise.collection.files import ArrayWriter, map_array, seal_folder, write_array
from likewise.collection.forward import encode as encode_records
from likewise.collection.manifest import SegmentEntry
from likewise.collection.postings import write_postings
from likewise.compiled import Bytes, Ints, Offsets
from likewise.errors import StorageError
from likewise.records import Document
from likewise.text.analysis import encode
from likewise.text.chunks import Chunks, cut, repeat_first
from likewise.text.lexicon import Lexicon
from likewise.text.table import Strings, make_slots

_BATCH_BYTES = 1 << 20
_BATCH_DOCS = 4096
_BYTES_PER_DOC = 64
OFFSET_LIMIT = (1 << 32) - (1 << 28)


@dataclass(frozen=True)
class Resources:
    """What a build may use: bytes of memory, and threads (0: one for each core).

    The memory counts ids, metadata, vocabulary, batches under way and postings being turned; it
    leaves out the interpreter and compiled code, about 200 MB.
    """

    memory: int = 1 << 30
    threads: int = 0

    @property
    def n_threads(self) -> int:
        """The number of threads in use."""
        return self.threads or os.cpu_count() or 1


class Prepared(NamedTuple):
    """A batch of documents, cut and compressed."""

    documents: list[Document]
    chunks: Chunks
    frames: list[Frame]


def content(document: Document) -> str:
    """Give the text that is analysed: the title, then the text after a blank line."""
    return f"{document.title}\n\n{document.text}" if document.title else document.text


def prepare(
    documents: Iterable[Document], resources: Resources, *, title_weight: int = 1
) -> Iterator[Prepared]:
    """Cut and compress documents in batches, on all cores; the batches come in order."""
    batches = _batches(documents)
    if resources.n_threads == 1:
        yield from (_prepare(batch, title_weight) for batch in batches)
        return
    with ThreadPoolExecutor(resources.n_threads) as pool:
        waiting: deque[Future[Prepared]] = deque()
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
        size += len(document.text) + len(document.title)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_DOCS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prepare(documents: list[Document], title_weight: int) -> Prepared:
    chunks = cut([encode(content(document)) for document in documents])
    if title_weight > 1:
        titles = cut([encode(document.title) for document in documents])
        chunks = repeat_first(chunks, np.diff(titles.token_bounds), title_weight)
    return Prepared(documents, chunks, compress(documents))


class SegmentBuilder:
    """Writes one segment into a folder of its own."""

    def __init__(self, root: Path, name: str, *, first_term: int) -> None:
        self.name = name
        self.folder = root / name
        self.folder.mkdir()
        self.n_docs = 0
        self.dead: list[int] = []
        self._first_term = first_term
        self._n_tokens = 0
        self._n_bytes = 0
        self._ids: list[Strings] = []
        self._fields = FieldsWriter()
        self._documents = DocumentsWriter(self.folder)
        self._lengths = ArrayWriter(self.folder / "lengths.npy", np.uint32)
        self._forward = ArrayWriter(self.folder / "forward.npy", np.uint8)
        self._offsets = ArrayWriter(self.folder / "forward-offsets.npy", np.uint32)
        self._offsets.append(np.zeros(1))

    @property
    def n_bytes(self) -> int:
        """About how much memory the segment holds."""
        return self._n_bytes + self.n_docs * _BYTES_PER_DOC + self._fields.n_bytes

    @property
    def is_full(self) -> bool:
        """Whether offsets come near the limit of their four bytes."""
        return max(self._forward.size, self._n_tokens, self._n_bytes) > OFFSET_LIMIT

    def add(self, batch: Prepared, ids: Strings, lexicon: Lexicon) -> None:
        """Append a batch."""
        counts = lexicon.count(batch.chunks)
        records, ends = encode_records(
            counts.bounds,
            counts.terms,
            counts.counts,
            batch.chunks.sentences,
            batch.chunks.sentence_bounds,
        )
        self._fields.add(self.n_docs, [document.fields for document in batch.documents])
        self._append(ids, batch.frames, counts.lengths, records, ends)

    def copy(
        self,
        fields: Sequence[Mapping[str, Any]],
        ids: Strings,
        frames: list[Frame],
        *,
        lengths: Offsets,
        records: tuple[Bytes, Ints],
    ) -> None:
        """Append documents of another segment, with their forward records."""
        self._fields.add(self.n_docs, fields)
        self._append(ids, frames, lengths, *records)

    def _append(
        self, ids: Strings, frames: list[Frame], lengths: Ints | Offsets, records: Bytes, ends: Ints
    ) -> None:
        if self._forward.size + len(records) >= 1 << 32:
            raise StorageError(f"{self.folder}: a segment's records would pass 4 GB")
        self._ids.append(ids)
        self._n_bytes += len(ids.arena)
        self._documents.append(frames)
        self._lengths.append(lengths)
        self._offsets.append(self._forward.size + ends)
        self._forward.append(records)
        self._n_tokens += int(np.sum(lengths, dtype=np.int64))
        self.n_docs += len(lengths)

    def place(self, doc: int) -> str:
        """Tell where a document was read."""
        return self._documents.read(doc).place

    def seal(self, terms: Strings, *, memory: int) -> SegmentEntry:
        """Finish the segment; `terms` are those that it is the first to use."""
        self._documents.close()
        for writer in (self._lengths, self._forward, self._offsets):
            writer.close()
        ids = _joined(self._ids)
        live = np.ones(self.n_docs, np.bool_)
        live[self.dead] = False
        _write_strings(self.folder, "ids", ids, live=live)
        _write_strings(self.folder, "terms", terms)
        self._fields.write(self.folder)
        write_postings(
            self.folder,
            map_array(self.folder / "forward.npy"),
            map_array(self.folder / "forward-offsets.npy"),
            n_terms=self._first_term + terms.size,
            memory=memory,
        )
        return SegmentEntry(
            name=self.name,
            n_docs=self.n_docs,
            n_tokens=self._n_tokens,
            first_term=self._first_term,
            n_terms=terms.size,
            files=seal_folder(self.folder),
        )

    def abandon(self) -> None:
        """Close what is open; the folder is removed by the writer."""
        self._documents.abandon()
        for writer in (self._lengths, self._forward, self._offsets):
            writer.abandon()


def _joined(pieces: list[Strings]) -> Strings:
    if not pieces:
        return Strings.of([])
    shift = np.cumsum([0, *(len(piece.arena) for piece in pieces)])
    offsets = [piece.offsets[1:] + at for piece, at in zip(pieces, shift, strict=False)]
    return Strings(
        np.concatenate([piece.arena for piece in pieces]),
        np.concatenate([np.zeros(1), *offsets]).astype(np.uint32),
    )


def _write_strings(
    folder: Path, name: str, strings: Strings, *, live: np.typing.NDArray[np.bool_] | None = None
) -> None:
    write_array(folder / f"{name}.npy", strings.arena)
    write_array(folder / f"{name}-offsets.npy", strings.offsets)
    write_array(folder / f"{name}-slots.npy", make_slots(strings, live=live))
