"""Which documents of a snapshot may be answers? Filters as masks, each evaluated once."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from likewise.collection.fields import Fields, as_number
from likewise.collection.segment import Segment
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Ints
from likewise.errors import UsageError
from likewise.forking import Lock
from likewise.records import ALL, Condition, Filter
from likewise.text.languages import read_language

_KEPT = 8
# The field that every document has: detected, unless it has one of this name.
LANGUAGE = "language"


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
    if filter != ALL:
        _check_fields(snapshot, filter)
    masks: list[Bools | None] = []
    n = 0
    for segment in snapshot.segments:
        mask = None if segment.entry.deleted is None else segment.live
        if filter != ALL:
            met = _matching(filter, segment, snapshot)
            mask = met if mask is None else mask & met
        masks.append(mask)
        n += segment.n_docs if mask is None else int(np.count_nonzero(mask))
    return Mask(tuple(masks), n)


def _check_fields(snapshot: Snapshot, filter: Filter) -> None:
    known = set(snapshot.field_names())
    for condition in (one for conditions in filter.any_of for one in conditions):
        if condition.field not in known and condition.field != LANGUAGE:
            shown = ", ".join(sorted(known)[:20]) or "none"
            raise UsageError(
                f"no document has a field {condition.field!r}; the fields are {shown}"
                + (", …" if len(known) > 20 else "")
            )


def _matching(filter: Filter, segment: Segment, snapshot: Snapshot) -> Bools:
    """Mark the documents of a segment that a filter lets through."""
    # Documents that say themselves which language they are in are taken at their word.
    detected = LANGUAGE not in snapshot.field_names()

    def meets(condition: Condition) -> Bools:
        if detected and condition.field == LANGUAGE:
            return _in_language(condition, segment, snapshot.analysis.language)
        return matching(condition, segment.fields)

    either = [
        np.logical_and.reduce([meets(condition) for condition in conditions])
        for conditions in filter.any_of
    ]
    return np.asarray(np.logical_or.reduce(either), np.bool_)


def _in_language(condition: Condition, segment: Segment, main: str) -> Bools:
    """Mark the documents of a segment that are in a language, given by name or code."""
    if condition.operator not in ("=", "!="):
        raise UsageError(f"filter {condition}: a language is compared by = and !=")
    wanted = {read_language(value) for value in condition.values if value != "*"}
    names, codes = segment.languages or ((main,), np.zeros(segment.n_docs, np.uint8))
    equal = np.array([name in wanted or "*" in condition.values for name in names])[codes]
    return np.asarray(~equal if condition.operator == "!=" else equal, np.bool_)


def matching(condition: Condition, fields: Fields) -> Bools:
    """Mark the documents of a segment that meet a condition."""
    if condition.operator in ("=", "!="):
        equal = np.any([_equal(condition.field, fields, v) for v in condition.values], axis=0)
        return np.asarray(~equal if condition.operator == "!=" else equal, np.bool_)
    value = condition.values[0]
    number = as_number(value)
    if number is None:
        return fields.texts_from(condition.field, condition.operator, value)
    closed = "=" in condition.operator
    if condition.operator.startswith(">"):
        return fields.between(condition.field, number, np.inf, closed=(closed, True))
    return fields.between(condition.field, -np.inf, number, closed=(True, closed))


def _equal(field: str, fields: Fields, value: str) -> Bools:
    return fields.present(field) if value == "*" else fields.equal(field, value)
