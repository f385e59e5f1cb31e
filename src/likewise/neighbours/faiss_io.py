"""What the faiss library (an extra) needs: one thread, points and indexes not copied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Doubles, Floats
from likewise.errors import DamagedError, MissingExtra, UsageError
from likewise.neighbours.int8 import Points

_ROUNDING = 1e-5


def load_faiss(config: object) -> Any:
    """Import the library, or say how it is installed."""
    try:
        import faiss
    except ImportError:
        raise MissingExtra(f"the index {config}", extra="vectors") from None
    return faiss


@contextmanager
def one_thread(faiss: Any) -> Iterator[None]:
    """Keep faiss, and what it multiplies matrices with, on the thread that calls it.

    OpenMP keeps the number for each calling thread, so that threads do not get in each other's way.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def squared_limit(radius: float) -> float:
    """Give the square of a radius and a hair: whoever scores candidates rounds in another way."""
    return radius * radius * (1 + _ROUNDING) if radius >= 0 else -1.0


def squares(points: Floats, query: Floats) -> Doubles:
    """Give squared Euclidean distances, in double precision."""
    differences = points.astype(np.float64) - query
    return np.asarray(np.einsum("ij,ij->i", differences, differences))


def lend(faiss: Any, storage: Any, points: Floats) -> None:
    """Let a flat index read points where they are; whoever asks keeps them alive."""
    flat = points.reshape(-1).view(np.uint8)
    vector = faiss.MaybeOwnedVectorUInt8
    storage.codes = vector.create_view(faiss.swig_ptr(flat), flat.nbytes, vector().owner)
    storage.ntotal = len(points)


def put_index(faiss: Any, out: Output, index: Any, points: Points) -> None:
    """Put an index without the points, and the shape of those that it is of."""
    out.put("faiss", faiss.serialize_index(index, faiss.IO_FLAG_SKIP_STORAGE))
    out.note(points=list(points.shape))


def take_index(faiss: Any, arrays: Arrays, config: object, points: Points) -> Any:
    """Read an index where it is, after it was checked to be whole and of these points."""
    try:
        shape = tuple(arrays.meta["points"])
        # faiss believes what it reads: the pack has looked at the checksum of this array.
        data = arrays["faiss"]
        reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(data), data.nbytes)
        index = faiss.read_index(reader, faiss.IO_FLAG_MMAP_IFC)
    except (ValueError, TypeError, LookupError, RuntimeError, MemoryError):
        raise DamagedError(
            f"{config}: what is stored is not a readable index; "
            "restore it from a copy, or build it again"
        ) from None
    if shape != points.shape or index.ntotal != len(points):
        raise UsageError(
            f"the stored index is {config} of points shaped {shape}, not {points.shape}: "
            "build it again"
        )
    index.referenced_objects = [data]
    return index
