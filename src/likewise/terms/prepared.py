"""What does a large graph keep ready? Its weighted edges, and of the largest eigenvectors, mapped.

They serve the usual edges and Laplacian only, and only while the documents are those that they
were made of. Anything else is worked out when it is asked for, to the same bits: what is kept
saves time and changes no answer.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from likewise.collection.files import map_array, write_array, write_bytes
from likewise.collection.snapshot import DERIVED, open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError, StorageError
from likewise.terms import kernel
from likewise.terms.graph import Graph
from likewise.terms.laplacian import Laplacian
from likewise.terms.leading import Leading
from likewise.terms.store import Stored, are_rows, are_within, open_counts, stored_graphs
from likewise.terms.weights import weigh

PREPARED = "prepared"
# Graphs of fewer pairs are made ready in a fraction of a second.
FEWEST_PAIRS = 1_000_000
_ABOUT = "prepared.json"


class Prepared(NamedTuple):
    """A graph by the usual weights, and the leading eigenvectors where a kernel goes by them."""

    graph: Graph
    leading: Leading | None


def open_prepared(stored: Stored) -> Prepared | None:
    """Map what is kept ready of a graph; None where nothing is, or the documents have changed."""
    if stored.entry is None:
        return None
    for entry in stored.collection.derived(PREPARED, model=stored.entry.folder):
        segments = stored.collection.segments
        if list(entry.segments) != [segment.entry.name for segment in segments]:
            continue
        # A writer may have removed it after the collection was opened.
        if not (stored.collection.folder / DERIVED / entry.folder).exists():
            continue
        folder = stored.collection.derived_folder(entry)
        about = orjson.loads((folder / _ABOUT).read_bytes())
        if about["deleted"] != _deleted(stored):
            continue
        graph = Graph(
            map_array(folder / "bounds.npy"),
            map_array(folder / "columns.npy"),
            map_array(folder / "weights.npy"),
            map_array(folder / "parts.npy"),
        )
        n, size = len(stored.nodes), len(graph.columns)
        whole = (len(graph), len(graph.weights), len(graph.components)) == (n, size, n)
        fit = are_rows(graph.bounds, size) and are_within(graph.columns, n)
        if not (whole and fit):
            raise DamagedError(f"{folder}: arrays that do not fit together; make the graph again")
        return Prepared(graph, _read_leading(folder, about, n) if "rest" in about else None)
    return None


def store_prepared(writer: Writer, *, threads: int = 1) -> None:
    """Keep every large graph of a collection ready; what finds no room is left out."""
    for name in stored_graphs(writer.manifest):
        with suppress(OSError, StorageError):
            stored = open_counts(open_snapshot(writer.folder), name, threads=threads)
            if stored.entry is None or len(stored.counted.pairs.columns) < FEWEST_PAIRS:
                continue
            if open_prepared(stored) is not None:
                continue

            def write(folder: Path, stored: Stored = stored) -> None:
                _write(folder, stored, threads)

            segments = [segment.entry.name for segment in stored.collection.segments]
            writer.put_derived(PREPARED, model=stored.entry.folder, segments=segments, write=write)


def _write(folder: Path, stored: Stored, threads: int) -> None:
    graph = weigh(stored.counted)
    write_array(folder / "bounds.npy", graph.bounds)
    write_array(folder / "columns.npy", graph.columns)
    write_array(folder / "weights.npy", graph.weights)
    write_array(folder / "parts.npy", graph.components)
    about: dict[str, Any] = {"deleted": _deleted(stored)}
    if graph.n_edges >= kernel.LARGE:
        found = kernel.few_leading(Laplacian(graph, threads=threads))
        write_array(folder / "values.npy", found.values, np.float64)
        write_array(folder / "vectors.npy", found.vectors.ravel(), np.float64)
        about["rest"] = list(found.rest)
    write_bytes(folder / _ABOUT, orjson.dumps(about))


def _read_leading(folder: Path, about: dict[str, Any], n: int) -> Leading:
    values, vectors = map_array(folder / "values.npy"), map_array(folder / "vectors.npy")
    if len(vectors) != n * len(values):
        raise DamagedError(f"{folder}: arrays that do not fit together; make the graph again")
    low, high = about["rest"]
    return Leading(values, vectors.reshape(n, -1), (low, high))


def _deleted(stored: Stored) -> list[int]:
    return [len(segment.deleted) for segment in stored.collection.segments]
