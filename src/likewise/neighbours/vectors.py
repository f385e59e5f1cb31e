"""One search over stored vectors: largest inner products, by scan or by a finder of a segment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.neighbours.int8 import LARGEST, Coded, decode, scan_points, scan_rows, score_points
from likewise.neighbours.scan import keep_largest
from likewise.neighbours.vector_finders import VectorFinder
from likewise.records import Ranking

# Where a mask leaves fewer than this share of a segment, its documents are scanned.
_FEW = 0.05
# Where it leaves fewer than this share, only these are read; more are not asked of a finder.
_MOST = 0.5
# So many standard deviations more are asked of a finder than a mask lets through on average.
_SPARE = 2
# So many points or more are multiplied with so many rows at a time, as matrices; so many more than
# are asked for are kept, because products are rounded.
_MANY = 4
_ROWS_AT_ONCE = 1 << 12
_KEPT = 32
_SINGLE = np.finfo(np.float32)


class VectorSearch:
    """Finds the documents with the largest `scale · ⟨code, point⟩`; safe to use from threads.

    `bases` is the number of each segment's first document. With no finders the answers are those of
    the formula in double precision, however documents are cut into segments. With `rough` finders
    read less, and miss more.
    """

    def __init__(
        self,
        segments: Sequence[Coded],
        bases: Ints,
        finders: Sequence[VectorFinder | None] = (),
        *,
        rough: bool = False,
    ) -> None:
        self._segments = list(segments)
        self._bases = np.asarray(bases, np.int64)[: len(self._segments)]
        self._finders = list(finders) or [None] * len(self._segments)
        self._rough = rough
        self._longest: dict[int, float] = {}

    def nearest(
        self,
        point: Doubles,
        n: int,
        masks: Sequence[Bools | None] | None = None,
        *,
        least: float = -math.inf,
    ) -> Ranking:
        """Rank the n documents with the largest inner products among those of the masks; 0: all.

        Fewer where no others have one of `least` or more, as far as finders know.
        """
        [docs] = self.candidates_of_each(point[None, :], n, masks, least=least)
        scores = self.scores(point, docs)
        order = np.lexsort((docs, -scores))[: n or None]
        return Ranking(docs[order], scores[order])

    def scores(self, point: Doubles, docs: Ints) -> Doubles:
        """Give the inner products of documents' vectors with a point."""
        scores = np.empty(len(docs))
        for places, rows, (codes, scales) in self._by_segment(docs):
            part = np.empty(len(rows))
            score_points(rows, codes, scales, point, part)
            scores[places] = part
        return scores

    def rows(self, docs: Ints) -> Floats:
        """Give the vectors of documents, decoded."""
        width = self._segments[0].codes.shape[1] if self._segments else 0
        out = np.empty((len(docs), width), np.float32)
        for places, rows, (codes, scales) in self._by_segment(docs):
            out[places] = decode(Coded(codes[rows], scales[rows]))
        return out

    def candidates(
        self, point: Doubles, n: int, masks: Sequence[Bools | None] | None = None
    ) -> Ints:
        """Give documents, ascending, among which are the n nearest, as far as finders know."""
        [docs] = self.candidates_of_each(point[None, :], n, masks)
        return docs

    def candidates_of_each(
        self,
        points: Doubles,
        n: int,
        masks: Sequence[Bools | None] | None = None,
        *,
        least: float = -math.inf,
    ) -> list[Ints]:
        """Give the candidates of several points, each as if it were asked for alone.

        Finders need not propose what has less than `least`.
        """
        opened = [None] * len(self._segments) if masks is None else masks
        if not 0 < n < sum(map(_n_open, self._segments, opened)):
            rows = map(_open_rows, self._segments, opened)
            every = _joined(mine + base for mine, base in zip(rows, self._bases, strict=True))
            return [every] * len(points)
        # The order does not depend on a point's length, but single precision has its limits.
        largest = np.abs(points).max(axis=1, initial=0.0)[:, None]
        lengths = np.where(largest > 0, largest, 1)
        directions, limits = (points / lengths).astype(np.float32), (least / lengths[:, 0]).tolist()
        if len(self._segments) == len(directions) == 1:
            proposed = self._proposed(0, directions[0], n, opened[0], limits[0])
            # No more than are asked for: which of them are nearest need not be told.
            if proposed is not None and len(proposed) <= n:
                return [proposed + self._bases[0]]
            found = [[self._scan_rows(0, directions[0], proposed, opened[0])]]
        else:
            found = [
                self._scan_each(i, directions, n, mask, limits) for i, mask in enumerate(opened)
            ]
        return [
            self._near(direction, n, [mine[j] for mine in found])
            for j, direction in enumerate(directions)
        ]

    def _near(self, point: Floats, n: int, found: Sequence[tuple[Ints | None, Floats]]) -> Ints:
        """Give the documents that may be among the n nearest, of what was found in segments."""
        scores = np.concatenate([mine for _, mine in found])
        n = min(n, len(scores))
        least = float(np.partition(scores, len(scores) - n)[len(scores) - n]) if n else 0.0
        limit = least - max(self._error(i, point) for i in range(len(found)))
        # Numbers that are damaged, or beyond single precision, have no limit.
        limit = max(limit, float(_SINGLE.min)) if math.isfinite(limit) else -math.inf
        near = (np.flatnonzero(mine >= limit) for _, mine in found)
        return _joined(
            (places if rows is None else rows[places]) + base
            for places, (rows, _), base in zip(near, found, self._bases, strict=True)
        )

    def _scan_each(
        self, i: int, points: Floats, n: int, mask: Bools | None, limits: Sequence[float]
    ) -> list[tuple[Ints | None, Floats]]:
        """Give what `_scan` does of each point; with no finder rows are decoded once for many."""
        if self._finders[i] is not None or len(points) < _MANY:
            pairs = zip(points, limits, strict=True)
            return [self._scan(i, point, n, mask, least) for point, least in pairs]
        codes, scales = self._segments[i]
        n = min(n, _n_open(self._segments[i], mask))
        scores = np.full((len(points), n + _KEPT), -np.inf, np.float32)
        rows = np.full(scores.shape, -1, np.int64)
        for start in range(0, len(scales), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            products = points @ decode(Coded(codes[block], scales[block])).T
            if mask is not None:
                products[:, ~mask[block]] = -np.inf
            keep_largest(products, start, scores, rows)
        return [
            self._scan(i, point, n, mask)
            if self._too_many(i, point, n, scores[j])
            else _ascending(rows[j], scores[j])
            for j, point in enumerate(points)
        ]

    def _too_many(self, i: int, point: Floats, n: int, scores: Floats) -> bool:
        """Tell whether more may be as near as the n-th than were kept, or numbers are damaged."""
        if not np.isfinite(scores[:n]).all():
            return True
        return bool(scores[-1] >= scores[n - 1] - self._error(i, point))

    def _scan(
        self, i: int, point: Floats, n: int, mask: Bools | None, least: float = -math.inf
    ) -> tuple[Ints | None, Floats]:
        """Give rows of a segment that may be near (None: all), and scores in single precision."""
        return self._scan_rows(i, point, self._proposed(i, point, n, mask, least), mask)

    def _scan_rows(
        self, i: int, point: Floats, rows: Ints | None, mask: Bools | None
    ) -> tuple[Ints | None, Floats]:
        """Score the rows that were proposed, or else those of a mask."""
        codes, scales = self._segments[i]
        if rows is None and mask is not None and np.count_nonzero(mask) < _MOST * len(mask):
            rows = np.flatnonzero(mask)
        scores = np.empty(len(scales) if rows is None else len(rows), np.float32)
        if rows is not None:
            scan_rows(rows, codes, scales, point, scores)
            return rows, scores
        scan_points(codes, scales, point, scores)
        if mask is None:
            return None, scores
        rows = np.flatnonzero(mask)
        return rows, scores[rows]

    def _proposed(
        self, i: int, point: Floats, n: int, mask: Bools | None, least: float
    ) -> Ints | None:
        """Give what a segment's finder proposes; None where a scan is better."""
        finder, n_rows = self._finders[i], len(self._segments[i].scales)
        n_open = _n_open(self._segments[i], mask)
        if finder is None or n >= n_open or n_open < _FEW * n_rows or not point.any():
            return None
        share = n_open / n_rows
        spare = _SPARE * math.sqrt(n * (1 - share)) + _SPARE**2 * (1 - share)
        wanted = math.ceil((n + spare) / share)
        if wanted > _MOST * n_rows:
            return None
        rows = np.unique(finder.propose(point, wanted, rough=self._rough, least=least))
        is_all = least > -math.inf and len(rows) < wanted
        rows = rows if mask is None else rows[mask[rows]]
        # Of the nearest of all, those of the mask are its nearest if they are enough: it may leave
        # few of what is near.
        return rows if is_all or len(rows) >= n else None

    def _error(self, i: int, point: Floats) -> float:
        """Bound how far two scanned scores of a segment are from being in the right order.

        A sum of d products errs, in any order, by at most d times the unit roundoff (half of eps)
        times both lengths (Higham 2002, 3.1), and twice more for the point's own rounding and the
        scale. The other half of eps is for double precision, which has the last word.
        """
        codes, scales = self._segments[i]
        if i not in self._longest:
            # No code is larger than this; a row is no longer than if all were.
            largest = float(LARGEST)
            if codes.dtype != np.int8:
                largest = max(float(codes.max(initial=0)), -float(codes.min(initial=0)))
            length = largest * math.sqrt(codes.shape[1])
            self._longest[i] = length * float(np.abs(scales).max(initial=0))
        terms = len(point) + 2
        length = self._longest[i] * float(np.linalg.norm(point.astype(np.float64)))
        return 2 * terms * (float(_SINGLE.eps) * length + float(_SINGLE.tiny))

    def _by_segment(self, docs: Ints) -> Iterator[tuple[Ints | slice, Ints, Coded]]:
        """Give the places, rows and vectors of the documents of each segment."""
        if len(self._segments) == 1:
            yield slice(None), docs - self._bases[0], self._segments[0]
            return
        owners = np.searchsorted(self._bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            places = np.flatnonzero(owners == i)
            yield places, docs[places] - self._bases[i], self._segments[i]


def _n_open(segment: Coded, mask: Bools | None) -> int:
    return len(segment.scales) if mask is None else int(np.count_nonzero(mask))


def _open_rows(segment: Coded, mask: Bools | None) -> Ints:
    return np.arange(len(segment.scales)) if mask is None else np.flatnonzero(mask)


def _ascending(rows: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Give what was kept, by row."""
    kept = np.flatnonzero(rows >= 0)
    order = kept[np.argsort(rows[kept])]
    return rows[order], scores[order]


def _joined(found: Iterable[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *found])
