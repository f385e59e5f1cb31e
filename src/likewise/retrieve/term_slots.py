"""A hash table of terms: which of a document's are a query's?"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.compiled import Ids, Int, Ints, kernel

EMPTY = -1
_SPREAD = 0x9E3779B1


@kernel
def slots_of(terms: Ints) -> tuple[Ids, Ids]:
    """Give the slots of a table of distinct terms: the term of each or `EMPTY`, and its place."""
    size: Int = 16
    while size < 4 * len(terms):
        size *= 2
    keys, places = np.full(size, EMPTY, np.int32), np.zeros(size, np.int32)
    for i in range(len(terms)):
        slot = slot_of(np.int32(terms[i]), keys)
        keys[slot] = terms[i]
        places[slot] = i
    return keys, places


@kernel
def slot_of(term: Any, keys: Ids) -> Any:
    """Find the slot of a term, or where it would be put (Fibonacci hashing, linear probing)."""
    mask = len(keys) - 1
    place = ((np.uint64(term) * np.uint64(_SPREAD)) >> np.uint64(16)) & np.uint64(mask)
    at = np.int64(place)
    while keys[at] != term and keys[at] != EMPTY:
        at = (at + 1) & mask
    return at
