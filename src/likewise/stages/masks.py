"""Which documents of a snapshot may be answers? Filters and matches as masks, evaluated once."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ints
from likewise.records import ALL, Filter, Match
from likewise.stages.conditions import matcher_of
from likewise.stages.recent import Recent

Asked = tuple[Filter, Match | None]
_KEPT = 8


class Mask(NamedTuple):
    """The documents that may be answers, by segment; None: all of a segment.

    Deleted documents are left out. `n` is how many there are. `notes` say what of a match
    was not looked at as it was typed.
    """

    segments: tuple[Bools | None, ...]
    n: int
    notes: tuple[str, ...] = ()

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
        return Mask(tuple(segments), n, self.notes)


def mask_of(snapshot: Snapshot, filter: Filter = ALL, match: Match | None = None) -> Mask:
    """Give the mask of a filter and of words that must occur; those asked for last are kept."""
    if match is None and filter is ALL:
        # Of nearly every query: without a lock.
        return snapshot.memo("live", lambda: _make(snapshot, (ALL, None)))
    made: Recent[Asked, Mask]
    made = snapshot.memo("masks", lambda: Recent(most=_KEPT))
    return made.of((filter, match), partial(_make, snapshot))


def _make(snapshot: Snapshot, asked: Asked) -> Mask:
    filter, match = asked
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
    notes: tuple[str, ...] = ()
    if match is not None:
        # Imported where somebody asks for it: plain queries do without its kernels.
        from likewise.stages.match import match_masks

        matched, notes = match_masks(snapshot, match, masks)
        pairs = zip(masks, matched, strict=True)
        masks = [its if mask is None else mask & its for mask, its in pairs]
    slots = zip(masks, snapshot.segments, strict=True)
    n = sum(s.n_docs if mask is None else int(np.count_nonzero(mask)) for mask, s in slots)
    return Mask(tuple(masks), n, notes)
