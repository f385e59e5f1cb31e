"""Which documents of a segment are deleted, and what did they count for?"""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from likewise.collection.arrays import PrefixedOutput
from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.manifest import Deleted, SegmentEntry
from likewise.collection.segment import Segment
from likewise.collection.words import sum_terms
from likewise.compiled import Ints


def mark_deleted(segment: Segment, docs: Ints, job: Job) -> SegmentEntry:
    """Add documents to a segment's deleted ones: a new pack, and the entry that names it.

    What they counted for is written beside them, for each field of words, so that statistics stay
    those of the live documents. It is added to what was written before: documents that were deleted
    then are not decoded again.
    """
    new = np.setdiff1d(docs, segment.deleted).astype(np.int64)
    docs = np.union1d(segment.deleted, new)
    before = segment.entry.deleted.n_tokens if segment.entry.deleted else 0
    out = job.new_pack("deleted")
    try:
        out.put("docs", docs, np.uint32)
        for field in segment.word_fields:
            words = segment.words(field)
            terms, doc_freqs, term_freqs = sum_terms(words.records, new, words.deleted)
            mine = PrefixedOutput(out, field)
            mine.put("terms", terms, np.uint32)
            mine.put("doc-freqs", doc_freqs, np.int64)
            mine.put("term-freqs", term_freqs, np.int64)
        pack = out.close()
    finally:
        out.abandon()
    deleted = Deleted(
        id=new_id(),
        n_docs=len(docs),
        n_tokens=before + int(np.sum(segment.lengths[new], dtype=np.int64)),
        pack=pack,
    )
    return changed(segment.entry, deleted=deleted)
