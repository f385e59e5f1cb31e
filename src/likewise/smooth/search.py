"""Which documents are like these, weighed? The largest inner products of rows, by scan or index."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.neighbours.coded import LARGEST, scan_points, score_points
from likewise.records import Ranking
from likewise.smooth.finder import RowFinder, open_finder
from likewise.smooth.store import StoredRows

# Where a filter leaves fewer than this share of documents, all of them are scanned.
_FEW = 0.05
# A scan adds up in single precision and any order: it errs by so much for each coordinate, times
# the lengths of point and row.
_ROUNDING = float(np.finfo(np.float32).eps)


class RowSearch:
    """Finds the documents with the largest `⟨point, u⟩`; safe to use from several threads."""

    def __init__(self, stored: StoredRows, *, indexed: bool = True) -> None:
        self.stored = stored
        self.collection = stored.collection
        self._indexed = indexed
        self._longest: dict[int, float] = {}

    def point(self, docs: Ints, weights: Doubles) -> Doubles:
        """Give the weighted sum of documents' rows."""
        rows = self.stored.of(docs).astype(np.float64)
        # Added up in one order, whatever BLAS has in mind.
        return np.asarray((rows * weights[:, None]).sum(axis=0))

    def scores(self, point: Doubles, docs: Ints) -> Doubles:
        """Give the inner products of documents' rows with a point."""
        bases, scores = self.collection.bases, np.empty(len(docs))
        owners = np.searchsorted(bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == i)
            part = np.empty(len(mine))
            codes, scales = self.stored.segments[i]
            score_points(docs[mine] - bases[i], codes, scales, point, part)
            scores[mine] = part
        return scores

    def nearest(self, point: Doubles, n: int, *, allowed: Sequence[Bools] | None = None) -> Ranking:
        """Rank the n documents with the largest inner products; n of 0 is all of them."""
        live = [segment.live for segment in self.collection.segments]
        if allowed is not None:
            live = [mine & open_ for mine, open_ in zip(live, allowed, strict=True)]
        docs = self._candidates(point.astype(np.float32), n, live)
        scores = self.scores(point, docs)
        order = np.lexsort((docs, -scores))[: n or None]
        return Ranking(docs[order], scores[order])

    def _candidates(self, point: Floats, n: int, live: list[Bools]) -> Ints:
        bases, found = self.collection.bases, [np.empty(0, np.int64)]
        listed: Sequence[int] = ()
        if n and self._indexed and self._finder is not None:
            share = sum(int(mask.sum()) for mask in live) / max(self.collection.n_slots, 1)
            if share >= _FEW:
                wanted = self._finder.propose(point, int(np.ceil(n / share)))
                proposed = np.unique(
                    np.concatenate([rows[live[i][rows]] + bases[i] for i, rows in wanted])
                )
                # Of the best of all, those that may be answers are the best of these, if there
                # are enough: a filter may leave few of what is like the first documents.
                if len(proposed) >= n:
                    listed, found = self._finder.segments, [proposed]
        for i, (codes, scales) in enumerate(self.stored.segments):
            if i in listed:
                continue
            scores = np.empty(len(scales), np.float32)
            scan_points(codes, scales, point, scores)
            scores[~live[i]] = -np.inf
            rows = np.flatnonzero(live[i])
            if 0 < n < len(rows):
                least = np.partition(scores, len(scores) - n)[len(scores) - n]
                rows = np.flatnonzero(scores >= least - self._error(i, point))
            found.append(rows + bases[i])
        return np.concatenate(found)

    def _error(self, segment: int, point: Floats) -> float:
        """Bound how far two scanned scores of a segment are from being compared rightly."""
        if segment not in self._longest:
            codes, scales = self.stored.segments[segment]
            # No code is larger than this; a row is no longer than if all were.
            whole = codes.dtype == np.int8
            largest = LARGEST if whole else float(np.abs(codes).max(initial=0))
            bound = largest * float(scales.max(initial=0.0)) * np.sqrt(codes.shape[1])
            self._longest[segment] = float(bound)
        # Of both scores, and of the point's own rounding to single precision.
        each = _ROUNDING * (len(point) + 2) * self._longest[segment]
        return 2 * each * float(np.linalg.norm(point.astype(np.float64)))

    @cached_property
    def _finder(self) -> RowFinder | None:
        return open_finder(self.stored)
