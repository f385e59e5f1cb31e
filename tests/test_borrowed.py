import sys

import numpy as np
from numba import types
from numba.core import cgutils
from numba.np import arrayobj

from likewise.borrowed import borrowed
from likewise.compiled import instruction, kernel


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


@instruction
def is_counted(context, values):
    def build(context, builder, signature, given):
        array = arrayobj.make_array(signature.args[0])(context, builder, given[0])
        return cgutils.is_not_null(builder, array.meminfo)

    return types.boolean(values), build


@kernel
def counted(rows):
    one, (other, number) = borrowed((rows, (rows, 3)))
    return is_counted(rows), is_counted(one), is_counted(other[1:]), is_counted(rows[1:]), number


def test_what_is_borrowed_is_not_counted():
    assert counted(np.zeros(4)) == (True, False, False, True, 3)
