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
from likewise.compiled import Floats, Ints
from likewise.derived.kind import Progress as Watch
from likewise.errors import LikewiseError, MissingExtra, UsageError
from likewise.like.near import Near
from likewise.like.space import Space, build_space
from likewise.like.store import StoredHalves
from likewise.models.stored import find_model
from likewise.neighbours.store import open_neighbours

_BLOCK = 8192
_ABOUT = "about.json"
FORMATS = (".parquet", ".jsonl")


class _Table(Protocol):
    def write(self, ids: list[str], near: list[str], ranks: Ints, distances: Floats) -> None: ...


def write_graph(
    halves: StoredHalves,
    to: str | os.PathLike[str],
    *,
    k: int = 10,
    near: Near = Near(),
    threads: int = 1,
    seed: int = 0,
    overwrite: bool = False,
    on_doc: Watch | None = None,
) -> int:
    """Write the k nearest neighbours of every document; tell how many lines that is.

    A line is doc_id, neighbour_id, rank and distance. What `on_doc` is told is how many more
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
        space = _space(halves, work, near, k, seed)
        blocks = [
            _block(space, work, start, k, threads, on_doc)
            for start in range(0, len(space.docs), _BLOCK)
        ]
        n = _assemble(space, blocks, work / path.name)
        os.replace(work / path.name, path)
        shutil.rmtree(work)
    return n


def _space(halves: StoredHalves, work: Path, near: Near, k: int, seed: int) -> Space:
    """Open the space that an earlier attempt built, if it was of the same work, or build it."""
    collection, model = halves.collection, halves.model
    about = orjson.dumps(
        {
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
        try:
            docs = open_pack(work / "docs.npz")["docs"]
            return Space(collection, model, docs, open_neighbours(work / "index"))
        except (LikewiseError, OSError):
            pass  # half an attempt: begin again
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    write_bytes(work / _ABOUT, about)
    space = build_space(halves, metric=near.metric, method=near.index, seed=seed)
    space.neighbours.save(work / "index")
    _write_pack(work / "docs.npz", docs=space.docs)
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


def _block(space: Space, work: Path, start: int, k: int, threads: int, watch: Watch | None) -> Path:
    """Find the neighbours of a block of documents, unless an earlier attempt did."""
    rows = np.arange(start, min(start + _BLOCK, len(space.docs)))
    path = work / f"block-{start}.npz"
    if not path.exists():
        found = space.neighbours.nearest_to(rows, k, threads=threads)
        _write_pack(path, numbers=found.numbers, distances=found.distances)
    if watch:
        watch(len(rows))
    return path


def _assemble(space: Space, blocks: list[Path], path: Path) -> int:
    """Put the blocks together as one file."""
    n = first = 0
    opened = _parquet if path.suffix == ".parquet" else _jsonl
    with opened(path) as table:
        for block in blocks:
            found = open_pack(block)
            near, far = found["numbers"], found["distances"]
            n_docs = len(near)
            there = (near >= 0) & np.isfinite(far)
            rows, ranks = np.nonzero(there)
            ids = np.array(space.collection.doc_ids(space.docs[first : first + n_docs]), object)
            others = space.collection.doc_ids(space.docs[near[there]])
            table.write(ids[rows].tolist(), others, ranks + 1, far[there])
            n += len(rows)
            first += n_docs
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
