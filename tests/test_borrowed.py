import sys

import numpy as np

from likewise.borrowed import borrowed
from likewise.compiled import kernel


@kernel
def added_up(rows, columns):
    """Sums of what is borrowed, through a tuple within a tuple, and of rows of it."""
    (one, many), name = borrowed(((rows, columns), 2))
    total = 0.0
    for row in many:
        total += row.sum() * name
    return total + borrowed(one)[1:].sum()


def test_what_is_borrowed_is_the_same_and_stays_its_owners():
    rows, columns = np.arange(5.0), np.arange(12.0).reshape(4, 3)
    held = sys.getrefcount(rows), sys.getrefcount(columns)
    for _ in range(100):
        assert added_up(rows, columns) == 2 * 66 + 10
    assert (sys.getrefcount(rows), sys.getrefcount(columns)) == held
    assert rows.tolist() == [0, 1, 2, 3, 4]
