"""Which documents of a snapshot may be answers? Filters as masks, each evaluated once."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ints
from likewise.forking import Lock
from likewise.records import ALL, Filter
from likewise.stages.conditions import matcher_of

_KEPT = 8
# The field that every document has: detected, unless it has one of this name.


class Mask(NamedTuple):
    """The documents that may be answers, by segment; None: all of a segment.

    Deleted documents are left out. `n` is how many there are.
    """

    segments: tuple[Bools | None, ...]
    n: int

    @property
    def bars(self) -> bool:
        """Whether it leaves out any document."""
        return any(mask is not None for mask in self.segments)

    def holds(self, docs: Ints, snapshot: Snapshot) -> Bools:
        """Tell which documents pass."""
        inside = np.ones(len(docs), np.bool_)
        for i, places, rows in snapshot.by_segment(docs):
            mask = self.segments[i]
            if mask is not None:
                inside[places] = mask[rows]
        return inside

    def without(self, docs: Ints, snapshot: Snapshot) -> Mask:
        """Give the mask that some more documents do not pass."""
        segments, n = [*self.segments], self.n - int(self.holds(docs, snapshot).sum())
        for i, _, rows in snapshot.by_segment(docs):
            mask = segments[i]
            fewer = np.ones(snapshot.segments[i].n_docs, np.bool_) if mask is None else mask.copy()
            fewer[rows] = False
            segments[i] = fewer
        return Mask(tuple(segments), n)


def mask_of(snapshot: Snapshot, filter: Filter = ALL) -> Mask:
    """Give the mask of a filter; those asked for last are kept."""
    return snapshot.memo("masks", lambda: _Masks(snapshot)).of(filter)


class _Masks:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lock = Lock()
        self._kept: OrderedDict[Filter, Mask] = OrderedDict()

    def of(self, filter: Filter) -> Mask:
        with self._lock:
            if filter not in self._kept:
                self._kept[filter] = _make(self._snapshot, filter)
            self._kept.move_to_end(filter)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return self._kept[filter]


def _make(snapshot: Snapshot, filter: Filter) -> Mask:
    matchers = [[matcher_of(one, snapshot) for one in conditions] for conditions in filter.any_of]
    masks: list[Bools | None] = []
    n = 0
    for segment in snapshot.segments:
        mask = None if segment.entry.deleted is None else segment.live
        if filter != ALL:
            either = [
                np.logical_and.reduce([one(segment) for one in all_of]) for all_of in matchers
            ]
            met = np.asarray(np.logical_or.reduce(either), np.bool_)
            mask = met if mask is None else mask & met
        masks.append(mask)
        n += segment.n_docs if mask is None else int(np.count_nonzero(mask))
    return Mask(tuple(masks), n)
