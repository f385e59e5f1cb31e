"""Which documents of a snapshot may be answers? Filters and matches as masks, evaluated once."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ints
from likewise.forking import Lock
from likewise.records import ALL, Filter, Match
from likewise.stages.conditions import matcher_of

_KEPT = 8


class Mask(NamedTuple):
    """The documents that may be answers, by segment; None: all of a segment.

    Deleted documents are left out. `n` is how many there are. Of the phrases in `loose` too many
    documents would have to be read: words of it that the analysis drops may stand anywhere.
    """

    segments: tuple[Bools | None, ...]
    n: int
    loose: tuple[str, ...] = ()

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
        return Mask(tuple(segments), n, self.loose)


def mask_of(snapshot: Snapshot, filter: Filter = ALL, match: Match | None = None) -> Mask:
    """Give the mask of a filter and of words that must occur; those asked for last are kept."""
    return snapshot.memo("masks", lambda: _Masks(snapshot)).of(filter, match)


class _Masks:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lock = Lock()
        self._kept: OrderedDict[tuple[Filter, Match | None], Mask] = OrderedDict()

    def of(self, filter: Filter, match: Match | None) -> Mask:
        key = filter, match
        with self._lock:
            if key not in self._kept:
                self._kept[key] = _make(self._snapshot, filter, match)
            self._kept.move_to_end(key)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


def _make(snapshot: Snapshot, filter: Filter, match: Match | None) -> Mask:
    matchers = [[matcher_of(one, snapshot) for one in conditions] for conditions in filter.any_of]
    masks: list[Bools | None] = []
    for segment in snapshot.segments:
        mask = None if segment.entry.deleted is None else segment.live
        if filter != ALL:
            either = [
                np.logical_and.reduce([one(segment) for one in all_of]) for all_of in matchers
            ]
            met = np.asarray(np.logical_or.reduce(either), np.bool_)
            mask = met if mask is None else mask & met
        masks.append(mask)
    loose: tuple[str, ...] = ()
    if match is not None:
        # Imported where somebody asks for it: plain queries do without its kernels.
        from likewise.stages.match import match_masks

        matched, loose = match_masks(snapshot, match, masks)
        pairs = zip(masks, matched, strict=True)
        masks = [its if mask is None else mask & its for mask, its in pairs]
    slots = zip(masks, snapshot.segments, strict=True)
    n = sum(s.n_docs if mask is None else int(np.count_nonzero(mask)) for mask, s in slots)
    return Mask(tuple(masks), n, loose)
