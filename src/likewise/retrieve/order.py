"""In which order do numbers stand? A stable sort that is quick to compile.

numba's own takes a second to compile, for what is a few terms of a query each time.
"""

from __future__ import annotations

import numpy as np

from likewise.compiled import Doubles, Ints, kernel

# So many are sorted by insertion, before runs are merged.
_RUN = 8


@kernel
def order_of(values: Doubles) -> Ints:
    """Give the places of numbers in ascending order, none of which is NaN.

    Equals np.argsort(values, kind="stable").
    """
    n = len(values)
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        j = i
        while j % _RUN != 0 and values[order[j - 1]] > values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    width = _RUN
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for at in range(first, last):
                if j == last or (i < middle and values[order[i]] <= values[order[j]]):
                    other[at] = order[i]
                    i += 1
                else:
                    other[at] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order
