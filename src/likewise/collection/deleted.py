"""Which documents of a segment are deleted, and what did they count for?"""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.manifest import Deleted, SegmentEntry
from likewise.collection.segment import Segment
from likewise.compiled import Ints


def mark_deleted(segment: Segment, docs: Ints, job: Job) -> SegmentEntry:
    """Add documents to a segment's deleted ones: a new pack, and the entry that names it.

    What they counted for is written beside them, so that statistics stay those of the live
    documents.
    """
    docs = np.union1d(segment.deleted, docs).astype(np.int64)
    _, terms, counts = segment.records.counts(docs)
    distinct, inverse = np.unique(terms, return_inverse=True)
    occurrences = np.bincount(inverse, weights=counts, minlength=len(distinct))
    out = job.new_pack("deleted")
    try:
        out.put("docs", docs, np.uint32)
        out.put("terms", distinct, np.uint32)
        out.put("doc-freqs", np.bincount(inverse, minlength=len(distinct)), np.int64)
        out.put("term-freqs", np.rint(occurrences), np.int64)
        pack = out.close()
    finally:
        out.abandon()
    deleted = Deleted(
        id=new_id(),
        n_docs=len(docs),
        n_tokens=int(np.sum(segment.lengths[docs], dtype=np.int64)),
        pack=pack,
    )
    return changed(segment.entry, deleted=deleted)
