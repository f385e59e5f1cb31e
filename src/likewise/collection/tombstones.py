"""Which documents of a segment are deleted, and what did they count for?"""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path

import numpy as np

from likewise.collection.files import seal_folder, write_array
from likewise.collection.forward import decode
from likewise.collection.manifest import SegmentEntry, Tombstones
from likewise.collection.segment import Segment
from likewise.compiled import Ints


def bury(segment: Segment, docs: Ints, root: Path, name: str) -> SegmentEntry:
    """Add documents to a segment's deleted ones: new files, and the entry that names them.

    What they counted for is written beside them, so that statistics stay those of the live
    documents.
    """
    docs = np.union1d(segment.deleted, docs).astype(np.int64)
    _, terms, counts = decode(segment.forward, segment.forward_offsets, docs)
    distinct, inverse = np.unique(terms, return_inverse=True)
    folder = root / name
    folder.mkdir()
    write_array(folder / "docs.npy", docs)
    write_array(folder / "terms.npy", distinct, np.int64)
    write_array(folder / "doc-freqs.npy", np.bincount(inverse, minlength=len(distinct)), np.int64)
    occurrences = np.bincount(inverse, weights=counts, minlength=len(distinct))
    write_array(folder / "term-freqs.npy", np.rint(occurrences), np.int64)
    tombstones = Tombstones(
        name=name,
        n_docs=len(docs),
        n_tokens=int(np.sum(segment.lengths[docs], dtype=np.int64)),
        files=seal_folder(folder),
    )
    return changed(segment.entry, deleted=tombstones)
