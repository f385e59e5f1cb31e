"""What the faiss library (an extra) needs: one thread, its files, points that are not copied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise.collection.files import Seal, check_content, check_size, seal, sync, write_bytes
from likewise.compiled import Doubles, Floats
from likewise.errors import DamagedError, MissingExtra, UsageError
from likewise.neighbours.coded import Points

_INDEX, _ABOUT = "index.faiss", "faiss.json"
_ALWAYS_CHECKED = 1 << 26
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


def write_index(faiss: Any, folder: Path, index: Any, points: Points) -> None:
    """Write an index without the points, and what it must fit."""
    data: NDArray[np.uint8] = faiss.serialize_index(index, faiss.IO_FLAG_SKIP_STORAGE)
    with (folder / _INDEX).open("wb") as file:
        file.write(data.data)
        sync(file)
    about = {"points": points.shape, "seal": [*seal(folder / _INDEX)]}
    write_bytes(folder / _ABOUT, orjson.dumps(about))


def read_index(faiss: Any, folder: Path, config: object, points: Points) -> Any:
    """Map an index, after it was checked to be whole and of these points."""
    try:
        about = orjson.loads((folder / _ABOUT).read_bytes())
        shape, expected = tuple(about["points"]), Seal(*about["seal"])
        # faiss believes what it reads: what could lead it astray is found before.
        check = check_content if expected.size <= _ALWAYS_CHECKED else check_size
        check(folder / _INDEX, expected)
        index = faiss.read_index(str(folder / _INDEX), faiss.IO_FLAG_MMAP_IFC)
    except (OSError, ValueError, TypeError, LookupError, RuntimeError, MemoryError):
        raise DamagedError(
            f"{folder}: not a readable index; restore it from a copy, or build it again"
        ) from None
    if shape != points.shape or index.ntotal != len(points):
        raise UsageError(
            f"{folder} is {config} of points shaped {shape}, not {points.shape}: build it again"
        )
    return index
