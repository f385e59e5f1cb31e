"""How hot loops are compiled: once, cached beside the source, with the GIL released."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Int: TypeAlias = int | np.integer[Any]
Bytes: TypeAlias = NDArray[np.uint8]
Bools: TypeAlias = NDArray[np.bool_]
Shorts: TypeAlias = NDArray[np.uint16]
Offsets: TypeAlias = NDArray[np.uint32]
Ids: TypeAlias = NDArray[np.int32]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function over flat arrays; division follows NumPy, so that loops vectorise.

    Offsets are uint32 on disk: a kernel turns them into int64 before it calculates, because
    mixing unsigned and signed integers gives floats.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def fast_kernel(function: Function) -> Function:
    """Compile a kernel whose sums may be taken in another order, so that they vectorise.

    The order is fixed when it is compiled: the same machine gives the same bits.
    """
    compiled = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )(function)
    return cast(Function, compiled)
