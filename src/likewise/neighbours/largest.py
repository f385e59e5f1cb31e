"""The largest of many whole numbers with their rows: a heap of keys, the least first.

A key is `value << 32 | (2^32 - 1 - row)`: of equal values the earlier row is the larger key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.compiled import Int, Ints, kernel

# Values are whole multiples of one over this, within 31 bits.
KEY_UNIT = 1 << 24
_ROWS = (1 << 32) - 1


def rows_of(keys: Ints) -> Ints:
    """Give the rows of keys, ascending."""
    rows: Ints = np.sort(_ROWS - (keys & _ROWS))
    return rows


@kernel
def offer(heap: Ints, size: Int, value: Any, row: Int) -> Int:
    """Offer a row to a heap as large as its array; give its size.

    Of all that were offered it has the `len(heap)` largest keys.
    """
    key = value << 32 | (_ROWS - row)
    if size < len(heap):
        at = size
        while at > 0 and heap[(at - 1) // 2] > key:
            heap[at] = heap[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at] = key
        return size + 1
    if size == 0 or key <= heap[0]:
        return size
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key
    return size
