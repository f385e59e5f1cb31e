"""How do many small segments become one?

Only neighbours are merged, so that documents keep their order. Forward records are copied as
they are, because term numbers are the collection's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from likewise.collection.build import OFFSET_LIMIT, SegmentBuilder
from likewise.collection.documents import compress
from likewise.collection.manifest import SegmentEntry
from likewise.collection.segment import Segment
from likewise.compiled import Bytes, Ints, Offsets, kernel

Watch = Callable[[int], None]

_WIDTH = 8


def next_run(segments: Sequence[SegmentEntry]) -> tuple[int, int] | None:
    """Choose the neighbours to merge after an addition, if any.

    Eight at the end, none of which is larger than all that follow it together, become one: so
    that there are never more than about 8·log₂(documents) segments, and a document is copied a
    logarithmic number of times.
    """
    if len(segments) < _WIDTH:
        return None
    first = len(segments) - _WIDTH
    total = sum(max(entry.n_live, 1) for entry in segments[first:])
    if max(entry.n_live for entry in segments[first:]) > total / 2:
        return None
    while first > 0 and segments[first - 1].n_live <= total:
        first -= 1
        total += segments[first].n_live
    fits = len(all_runs(segments[first:])) == 1
    return (first, len(segments)) if fits else None


def all_runs(segments: Sequence[SegmentEntry]) -> list[tuple[int, int]]:
    """Choose the neighbours to merge into as few segments as the limit of their offsets allows."""
    runs: list[tuple[int, int]] = []
    first, size = 0, 0
    for i, entry in enumerate(segments):
        more = max(entry.files["forward.npy"].size, entry.n_tokens)
        if i > first and size + more > OFFSET_LIMIT:
            runs.append((first, i))
            first, size = i, 0
        size += more
    return [*runs, (first, len(segments))] if segments else []


def copy_segment(segment: Segment, builder: SegmentBuilder, watch: Watch | None = None) -> None:
    """Append a segment's live documents; damage must not be copied under a new checksum."""
    segment.check()
    for block in range(segment.documents.n_blocks):
        first, documents = segment.documents.block(block)
        rows = first + np.flatnonzero(segment.live[first : first + len(documents)])
        if len(rows) == 0:
            continue
        whole = len(rows) == len(documents)
        kept = documents if whole else [documents[row - first] for row in rows.tolist()]
        builder.copy(
            [document.fields for document in kept],
            segment.ids.take(rows),
            [segment.documents.frame(block)] if whole else compress(kept),
            lengths=segment.lengths[rows],
            records=_copy(segment.forward, segment.forward_offsets, rows),
        )
        if watch is not None:
            watch(len(kept))


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
