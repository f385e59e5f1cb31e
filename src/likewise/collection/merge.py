"""How do many small segments become one?

Only neighbours are merged, so that documents keep their order. Records are copied as they are,
because term numbers are the collection's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np

from likewise.collection.build import MOST_BYTES, MOST_DOCS, CopiedWords, SegmentBuilder
from likewise.collection.documents import Frame, compress
from likewise.collection.job import Job
from likewise.collection.manifest import Manifest
from likewise.collection.positions import Placed
from likewise.collection.schema import Types
from likewise.collection.segment import Segment
from likewise.collection.words import EXACT, FIELDS, MAIN, TITLE, Words
from likewise.compiled import Bytes, Ints, Offsets, kernel
from likewise.records import Document
from likewise.text.table import Strings

Progress = Callable[[int], None]

_log = logging.getLogger("likewise.collection")
_WIDTH = 8
# Frames of documents that are copied together.
_BLOCKS_AT_ONCE = 4
# What is addressed by four bytes, and grows by a merge.
_LIMITED = (
    *(f"{field}records" for field in (MAIN, *FIELDS)),
    *("positions", "ids", "terms", "cards", "fields.texts"),
)


def next_run(segments: Sequence[Segment]) -> tuple[int, int] | None:
    """Choose the neighbours to merge after an addition, if any.

    Eight at the end, none of which is larger than all that follow it together, become one: so
    that there are never more than about 8·log₂(documents) segments, and a document is copied a
    logarithmic number of times.
    """
    sizes = [segment.entry.n_live for segment in segments]
    if len(sizes) < _WIDTH:
        return None
    first = len(sizes) - _WIDTH
    total = sum(max(size, 1) for size in sizes[first:])
    if max(sizes[first:]) > total / 2:
        return None
    if not _fit(segments[first:]):
        return None
    while first > 0 and sizes[first - 1] <= total and _fit(segments[first - 1 :]):
        first -= 1
        total += sizes[first]
    return first, len(segments)


def _fit(segments: Sequence[Segment]) -> bool:
    return len(all_runs(segments)) == 1


def all_runs(segments: Sequence[Segment]) -> list[tuple[int, int]]:
    """Choose the neighbours to merge into as few segments as the limits of one allow."""
    runs: list[tuple[int, int]] = []
    first, n_bytes, n_docs = 0, 0, 0
    for i, segment in enumerate(segments):
        more = max(segment.entry.n_tokens, *(_size(segment, name) for name in _LIMITED))
        docs = segment.entry.n_live
        if i > first and (n_bytes + more > MOST_BYTES or n_docs + docs > MOST_DOCS):
            runs.append((first, i))
            first, n_bytes, n_docs = i, 0, 0
        n_bytes += more
        n_docs += docs
    return [*runs, (first, len(segments))] if segments else []


def _size(segment: Segment, array: str) -> int:
    pack = segment.pack_of(array)
    return pack.n_bytes(array) if pack else 0


def merged_bytes(manifest: Manifest, chosen: Sequence[Segment]) -> int:
    """Estimate how much a merge of segments writes: their files and artifacts, joined.

    What belongs to deleted documents is left out.
    """
    shares = {one.entry.id: one.entry.n_live / max(one.n_docs, 1) for one in chosen}
    total = 0.0
    for segment in chosen:
        entry = segment.entry
        size = entry.documents.size + sum(pack.size for pack in entry.packs)
        total += shares[entry.id] * size
    for artifact in manifest.artifacts:
        inputs = shares.keys() & artifact.inputs
        if inputs and artifact.pack:
            total += min(shares[one] for one in inputs) * artifact.pack.size
    return int(total)


def begin_merge(
    job: Job, segments: Sequence[Segment], *, types: Types | None = None
) -> SegmentBuilder:
    """Begin the segment that several become, with the fields and positions that all have.

    What only some have is dropped, and said: no question could use it.
    """
    with_positions = [one for one in segments if one.pack_of("positions.offsets")]
    with_field = {field: [one for one in segments if field in one.word_fields] for field in FIELDS}
    kinds = {
        "positions of words": with_positions,
        "words of titles": with_field[TITLE],
        "exact forms of words": with_field[EXACT],
    }
    for kind, having in kinds.items():
        if 0 < len(having) < len(segments):
            _log.warning(
                "%s are dropped, which only %d of %d merged segments had: index the documents "
                "again to have them",
                kind,
                len(having),
                len(segments),
            )
    return SegmentBuilder(
        job,
        first_term=segments[0].entry.first_term,
        fields=[field for field, having in with_field.items() if len(having) == len(segments)],
        positions=len(with_positions) == len(segments),
        types=types,
    )


def copy_segment(
    segment: Segment, builder: SegmentBuilder, progress: Progress | None = None
) -> None:
    """Append a segment's live documents; damage must not be copied under a new checksum."""
    segment.check()
    placed = segment.placed(1) if builder.has_positions else None
    for start in range(0, segment.documents.n_blocks, _BLOCKS_AT_ONCE):
        kept: list[Document] = []
        frames: list[Frame] = []
        rows = list[Ints]()
        for block in range(segment.documents.n_blocks)[start : start + _BLOCKS_AT_ONCE]:
            frame = segment.documents.frame(block)
            first, documents = segment.documents.block(block, frame)
            live = np.flatnonzero(segment.live[first : first + len(documents)])
            whole = len(live) == len(documents)
            mine = documents if whole else [documents[row] for row in live.tolist()]
            frames += [frame] if whole else compress(mine)
            kept += mine
            rows.append(first + live)
        if kept:
            _append(segment, builder, kept, frames, np.concatenate(rows), placed)
        if progress is not None:
            progress(len(kept))


def _append(
    segment: Segment,
    builder: SegmentBuilder,
    documents: Sequence[Document],
    frames: list[Frame],
    rows: Ints,
    placed: Placed | None,
) -> None:
    builder.copy(
        documents,
        segment.ids.take(rows),
        frames,
        words={field: _copy_words(segment.words(field), rows) for field in builder.word_fields},
        positions=_copy(*placed.positions, rows) if placed else None,
        languages=segment.languages_of(rows),
    )


def _copy_words(words: Words, rows: Ints) -> CopiedWords:
    records = words.records
    return CopiedWords(words.lengths[rows], *_copy(records.stream, records.offsets, rows))


def join_terms(segments: Sequence[Segment], doc_freqs: Ints) -> Strings:
    """Give the terms of segments; those that no document has any more keep a number alone."""
    terms = Strings.joined([segment.terms for segment in segments])
    used = doc_freqs > 0
    if used.all():
        return terms
    sizes = np.diff(terms.offsets.astype(np.int64))
    offsets = np.concatenate([[0], np.cumsum(np.where(used, sizes, 0))]).astype(np.uint32)
    return Strings(terms.arena[np.repeat(used, sizes.tolist())], offsets)


@kernel
def _copy(stream: Bytes, offsets: Offsets, docs: Ints) -> tuple[Bytes, Ints]:
    """Copy records end to end, with where each ends."""
    ends = np.empty(len(docs), np.int64)
    size = np.int64(0)
    for i in range(len(docs)):
        size += np.int64(offsets[docs[i] + 1]) - np.int64(offsets[docs[i]])
        ends[i] = size
    out = np.empty(size, np.uint8)
    at = 0
    for i in range(len(docs)):
        for j in range(np.int64(offsets[docs[i]]), np.int64(offsets[docs[i] + 1])):
            out[at] = stream[j]
            at += 1
    return out, ends
