"""The graph of nearest neighbours of a whole collection, for maps and clusters.

Work that takes hours is done in blocks that are kept beside the result until it is whole: a
killed process goes on where it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.files import storage_errors, write_bytes
from likewise.collection.pack import Packer, open_pack
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Floats, Ints
from likewise.derived.kind import Progress as Watch
from likewise.errors import LikewiseError, MissingExtra, UsageError
from likewise.like.near import Near
from likewise.like.nearest import BuiltIndex
from likewise.like.space import Space, open_space
from likewise.models.kinds import find_model
from likewise.models.stored_vectors import StoredVectors
from likewise.neighbours.choose import Auto
from likewise.neighbours.index import read_method
from likewise.neighbours.store import open_neighbours

_BLOCK = 8192
# How blocks are written: those of another version are not read.
_FORMAT = 2
_ABOUT, _INDEX = "about.json", "index"
FORMATS = (".parquet", ".jsonl")


class _Table(Protocol):
    def write(self, ids: list[str], near: list[str], ranks: Ints, distances: Floats) -> None: ...


def write_graph(
    stored: StoredVectors,
    to: str | os.PathLike[str],
    *,
    k: int = 10,
    near: Near = Near(),
    threads: int = 1,
    seed: int = 0,
    overwrite: bool = False,
    progress: Watch | None = None,
) -> int:
    """Write the k nearest neighbours of every document; tell how many lines that is.

    A line is doc_id, neighbour_id, rank and distance. What `progress` is told is how many more
    documents have been given neighbours.
    """
    path = Path(to)
    if path.suffix not in FORMATS:
        raise UsageError(f"{path}: a graph is written as {' or '.join(FORMATS)}")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} is there already: name another file, or allow it to be replaced")
    if k < 1:
        raise UsageError(f"the number of neighbours must be at least 1, not {k}")
    if path.suffix == ".parquet":
        _pyarrow()
    work = path.with_name(path.name + ".work")
    with storage_errors(path):
        space = _space(stored, work, near, k, seed)
        docs = stored.collection.live_docs()
        blocks = [
            _block(space, docs[start : start + _BLOCK], work, k, threads, progress)
            for start in range(0, len(docs), _BLOCK)
        ]
        n = _assemble(stored.collection, docs, blocks, work / path.name)
        os.replace(work / path.name, path)
        shutil.rmtree(work)
    return n


def _space(stored: StoredVectors, work: Path, near: Near, k: int, seed: int) -> Space:
    """Open the space, with the index that an earlier attempt at the same work built, if it did."""
    collection, model = stored.collection, stored.model
    about = orjson.dumps(
        {
            "format": _FORMAT,
            "collection": [collection.manifest.lineage, collection.manifest.generation],
            "model": find_model(collection, model.name).id,
            "near": notation.write(near),
            "k": k,
            "seed": seed,
        }
    )
    if work.exists() and any(work.iterdir()) and not (work / _ABOUT).exists():
        raise UsageError(f"{work} is in the way, and is not of an earlier attempt: move it")
    if (work / _ABOUT).exists() and (work / _ABOUT).read_bytes() == about:
        if read_method(near.index) == Auto():
            return open_space(stored, metric=near.metric)
        try:
            neighbours = open_neighbours(work / _INDEX)
            index = BuiltIndex(neighbours, collection.live_docs(), collection.bases)
            return Space(stored, neighbours.metric, index)
        except (LikewiseError, OSError):
            pass  # half an attempt: begin again
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    write_bytes(work / _ABOUT, about)
    space = open_space(stored, metric=near.metric, method=near.index, seed=seed)
    if isinstance(space.finder, BuiltIndex):
        space.finder.neighbours.save(work / _INDEX)
    return space


def _write_pack(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays that are there whole or not at all."""
    out = Packer(path.with_suffix(".new"))
    try:
        for name, values in arrays.items():
            out.put(name, values)
        out.close()
    finally:
        out.abandon()
    out.path.rename(path)


def _block(space: Space, docs: Ints, work: Path, k: int, threads: int, watch: Watch | None) -> Path:
    """Find the neighbours of a block of documents, unless an earlier attempt did."""
    path = work / f"block-{docs[0]}.npz"
    if not path.exists():
        found = space.nearest_to(docs, k, threads=threads)
        _write_pack(path, docs=found.numbers, distances=found.distances)
    if watch:
        watch(len(docs))
    return path


def _assemble(collection: Snapshot, docs: Ints, blocks: list[Path], path: Path) -> int:
    """Put the blocks together as one file."""
    n = first = 0
    opened = _parquet if path.suffix == ".parquet" else _jsonl
    with opened(path) as table:
        for block in blocks:
            found = open_pack(block)
            near, far = found["docs"], found["distances"]
            there = (near >= 0) & np.isfinite(far)
            rows, ranks = np.nonzero(there)
            ids = np.array(collection.doc_ids(docs[first : first + len(near)]), object)
            others = collection.doc_ids(near[there])
            table.write(ids[rows].tolist(), others, ranks + 1, far[there])
            n += len(rows)
            first += len(near)
    return n


class _Parquet:
    def __init__(self, writer: Any, schema: Any) -> None:
        self._writer = writer
        self._schema = schema

    def write(self, ids: list[str], near: list[str], ranks: Ints, distances: Floats) -> None:
        import pyarrow as pa

        columns = [pa.array(ids), pa.array(near), pa.array(ranks.astype(np.int32)), distances]
        self._writer.write_table(pa.table(columns, schema=self._schema))


@contextmanager
def _parquet(path: Path) -> Iterator[_Table]:
    pa, pq = _pyarrow()
    schema = pa.schema(
        [
            ("doc_id", pa.string()),
            ("neighbour_id", pa.string()),
            ("rank", pa.int32()),
            ("distance", pa.float32()),
        ]
    )
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield _Parquet(writer, schema)


class _Lines:
    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._write = write

    def write(self, ids: list[str], near: list[str], ranks: Ints, distances: Floats) -> None:
        for line in zip(ids, near, ranks.tolist(), distances.tolist(), strict=True):
            named = dict(zip(("doc_id", "neighbour_id", "rank", "distance"), line, strict=True))
            self._write(orjson.dumps(named) + b"\n")


@contextmanager
def _jsonl(path: Path) -> Iterator[_Table]:
    with path.open("wb") as file:
        yield _Lines(file.write)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("writing Parquet", extra="parquet") from None
    return pyarrow, pyarrow.parquet
