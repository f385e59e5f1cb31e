"""Which documents of a segment are deleted, and what did they count for?"""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np

from likewise.collection.generations import new_id
from likewise.collection.job import Job
from likewise.collection.manifest import Deleted, SegmentEntry
from likewise.collection.segment import Segment
from likewise.compiled import Ids, Ints

_DOCS_AT_ONCE = 4096
# Terms, and how many documents and occurrences of each there are.
_Sums = tuple[Ints, Ints, Ints | Ids]


def mark_deleted(segment: Segment, docs: Ints, job: Job) -> SegmentEntry:
    """Add documents to a segment's deleted ones: a new pack, and the entry that names it.

    What they counted for is written beside them, so that statistics stay those of the live
    documents. It is added to what was written before: documents that were deleted then are not
    decoded again.
    """
    new = np.setdiff1d(docs, segment.deleted).astype(np.int64)
    sums: _Sums = segment.deleted_terms.astype(np.int64), *segment.deleted_counts
    for first in range(0, len(new), _DOCS_AT_ONCE):
        _, terms, counts = segment.records.counts(new[first : first + _DOCS_AT_ONCE])
        sums = _add(sums, (terms.astype(np.int64), np.ones(len(terms), np.int64), counts))
    docs = np.union1d(segment.deleted, new)
    before = segment.entry.deleted.n_tokens if segment.entry.deleted else 0
    out = job.new_pack("deleted")
    try:
        out.put("docs", docs, np.uint32)
        for name, values in zip(("terms", "doc-freqs", "term-freqs"), sums, strict=True):
            out.put(name, values, np.uint32 if name == "terms" else np.int64)
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


def _add(sums: _Sums, more: _Sums) -> _Sums:
    """Add documents and occurrences of terms to those of other documents."""
    terms = np.concatenate([sums[0], more[0]])
    order = np.argsort(terms, kind="stable")
    distinct, starts = np.unique(terms[order], return_index=True)
    if not len(distinct):
        return sums
    doc_freqs, term_freqs = (
        np.add.reduceat(np.concatenate([a, b])[order], starts, dtype=np.int64)
        for a, b in zip(sums[1:], more[1:], strict=True)
    )
    return distinct, doc_freqs, term_freqs
