"""Arrays that compiled code reads without counting who refers to them.

Each function that is handed a counted array counts up and down, in steps that other processors
would have to see; where a dozen arrays go through a dozen functions that is much of the time of a
search.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from likewise.compiled import instruction


@instruction
def borrowed(context: Any, values: Any) -> Any:
    """Give an array, or a tuple with arrays, that is not counted.

    Only what a kernel was handed: whoever called it holds that meanwhile. What is made in a kernel
    would be freed after its last use by its own name. Nothing of it may be given back to Python.
    """

    def build(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return _borrow(context, builder, signature.return_type, given[0])

    return values(values), build


def _borrow(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    types: Any = import_module("numba").types
    arrays: Any = import_module("numba.np.arrayobj")
    if isinstance(kind, types.Array):
        array = arrays.make_array(kind)(context, builder, value)
        array.meminfo = array.meminfo.type(None)
        array.parent = array.parent.type(None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, each in enumerate(kind):
            inner = builder.extract_value(value, i)
            value = builder.insert_value(value, _borrow(context, builder, each, inner), i)
    return value
