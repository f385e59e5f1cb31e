"""In how many documents is each pair of nodes mentioned together?

Mentions are gathered in blocks that fit the memory, and each block is counted row by row. One
block is the result; the results of several go to disk and are added up at the end. The counts
are whole numbers, so that they do not depend on memory or threads.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from likewise.collection.arrays import Arrays, Memory, Output
from likewise.compiled import Ids, Ints
from likewise.derived.kind import Progress
from likewise.errors import UsageError
from likewise.terms.graph import Pairs
from likewise.terms.occurrences import Occurrences, in_order
from likewise.terms.pair_kernels import (
    by_node,
    combine_rows,
    count_rows,
    group,
    lay_out,
    merge_rows,
)

MEMORY = 512 << 20
# A sentence of more mentions is a table or a list: it is counted in runs of so many, in order.
LONGEST_SENTENCE = 200

_BYTES_PER_MENTION = 20
# Places of mentions take four bytes.
_MOST_MENTIONS = 1 << 30
_BYTES_PER_PAIR = 8

# Rows from first to last: how many columns each has, and columns and counts.
Rows = tuple[Ints, Ids, Ids]
CountRows = Callable[[tuple[int, int]], Rows]


class Counted(NamedTuple):
    """Counts of documents: of each pair of nodes, of each node, and of all."""

    pairs: Pairs
    doc_freqs: Ints
    n_docs: int


def write_pairs(
    batches: Iterable[Occurrences],
    n_nodes: int,
    out: Output,
    *,
    memory: int = MEMORY,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Count in how many documents each pair of nodes stands in one sentence, or one document.

    `memory` is what mentions and counts may take in bytes, about; what is larger goes to files
    beside the pack that is written, else where temporary files go. `progress` is told of documents.
    """
    doc_freqs = np.zeros(n_nodes, np.int64)
    n_docs = 0
    block = _Block(n_nodes, doc_freqs)
    fitting = min(memory // 2 // _BYTES_PER_MENTION, _MOST_MENTIONS)
    with _Scratch(out.folder) as scratch:
        runs = _Runs(scratch, n_nodes)
        for batch in batches:
            block.add(batch)
            n_docs += len(batch.docs)
            if block.n_mentions > fitting:
                runs.append(_rows(*block.count(), memory, threads))
            if progress:
                progress(len(batch.docs))
        if runs.n_runs and block.n_mentions:
            runs.append(_rows(*block.count(), memory, threads))
        last = runs.merge() if runs.n_runs else block.count()
        _put(_rows(*last, memory, threads), doc_freqs, n_docs, out)


def count_pairs(
    batches: Iterable[Occurrences], n_nodes: int, *, memory: int = MEMORY, threads: int = 1
) -> Counted:
    """Count as `write_pairs` does, for oneself."""
    held = Memory()
    write_pairs(batches, n_nodes, held, memory=memory, threads=threads)
    return read_counted(held)


def read_counted(arrays: Arrays) -> Counted:
    """Give what was written."""
    pairs = Pairs(arrays["bounds"], arrays["columns"], arrays["counts"])
    return Counted(pairs, arrays["doc-freqs"], arrays.meta["n_docs"])


def add(a: Counted, b: Counted, *, threads: int = 1) -> Counted:
    """Give the counts of documents of both."""
    held = Memory()
    _combine(a, b, 1, held, threads)
    return read_counted(held)


def subtract(a: Counted, b: Counted, *, threads: int = 1) -> Counted:
    """Give the counts of the documents of a without those of b, which are among them."""
    held = Memory()
    _combine(a, b, -1, held, threads)
    return read_counted(held)


def add_all(parts: Sequence[Counted], *, threads: int = 1) -> Counted:
    """Give the counts of documents of all; one part is given as it is."""
    total, *others = _smallest_first(parts)
    for part in others:
        total = add(total, part, threads=threads)
    return total


def write_sum(parts: Sequence[Counted], out: Output, *, threads: int = 1) -> None:
    """Add up the counts of documents of several."""
    *others, largest = _smallest_first(parts)
    total = add_all(others, threads=threads) if others else no_counts(len(largest.doc_freqs))
    _combine(total, largest, 1, out, threads)


def _smallest_first(parts: Sequence[Counted]) -> list[Counted]:
    """Put parts into the order in which the largest is copied once."""
    return sorted(parts, key=lambda part: len(part.pairs.columns))


def no_counts(n_nodes: int) -> Counted:
    """Give the counts of no documents."""
    nothing = np.empty(0, np.int32)
    return Counted(
        Pairs(np.zeros(n_nodes + 1, np.int64), nothing, nothing), np.zeros(n_nodes, np.int64), 0
    )


def _combine(a: Counted, b: Counted, sign: int, out: Output, threads: int) -> None:
    if len(a.doc_freqs) != len(b.doc_freqs):
        raise UsageError(f"counts of {len(a.doc_freqs)} and of {len(b.doc_freqs)} nodes")

    def combine(rows: tuple[int, int]) -> Rows:
        (first, last), (bounds, columns, counts) = rows, b.pairs
        return combine_rows(first, last, sign, *a.pairs, bounds, columns, counts)

    work = np.diff(a.pairs.bounds) + np.diff(b.pairs.bounds)
    doc_freqs, n_docs = a.doc_freqs + sign * b.doc_freqs, a.n_docs + sign * b.n_docs
    _put(_rows(combine, work, MEMORY, threads), doc_freqs, n_docs, out)


def _put(rows: Iterable[Rows], doc_freqs: Ints, n_docs: int, out: Output) -> None:
    """Write rows one after the other, and the counts of nodes and documents."""
    sizes = [np.zeros(1, np.int64)]
    with out.stream("columns", np.int32) as columns, out.stream("counts", np.int32) as counts:
        for its_sizes, its_columns, its_counts in rows:
            sizes.append(its_sizes)
            columns.append(its_columns)
            counts.append(its_counts)
        out.note(n_docs=n_docs, n_pairs=columns.size)
    out.put("bounds", np.cumsum(np.concatenate(sizes)))
    out.put("doc-freqs", doc_freqs)


def _rows(count: CountRows, work: Ints, memory: int, threads: int) -> Iterator[Rows]:
    """Count all rows, so many at a time that what is under way fits the memory."""
    most = max(1 << 12, memory // (16 * _BYTES_PER_PAIR * max(threads, 1)))
    ends = np.cumsum(work)
    n_pieces = int(ends[-1]) // most + 1 if len(ends) else 1
    cuts = np.searchsorted(ends, most * np.arange(1, n_pieces), "right")
    edges = np.unique(np.concatenate([[0], cuts, [len(work)]])).tolist()
    return in_order(count, pairwise(edges), threads)


class _Block:
    """Mentions that are counted at once."""

    def __init__(self, n_nodes: int, doc_freqs: Ints) -> None:
        self._n_nodes = n_nodes
        self._doc_freqs = doc_freqs
        self._forget()

    def add(self, batch: Occurrences) -> None:
        """Take the mentions of some documents."""
        longest = 0 if batch.whole else LONGEST_SENTENCE
        groups, docs = group(batch.bounds, batch.sentences, longest)
        self._nodes.append(batch.nodes)
        self._groups.append(groups + np.int32(self._n_groups))
        self._docs.append(docs + np.int32(self._n_docs))
        self.n_mentions += len(groups)
        self._n_groups += len(docs)
        self._n_docs += len(batch.docs)

    def count(self) -> tuple[CountRows, Ints]:
        """Give what counts rows of the pairs, and how much work each is; the block is empty then.

        Documents that mention each node are counted on the way.
        """
        nodes, groups, docs = map(_joined_ids, (self._nodes, self._groups, self._docs))
        self._forget()
        bounds, owners = by_node(nodes, groups, self._n_nodes)
        del nodes, groups
        laid, places, work = lay_out(bounds, owners, docs, self._doc_freqs)

        def count(rows: tuple[int, int]) -> Rows:
            return count_rows(*rows, bounds, owners, places, laid)

        return count, work + np.diff(bounds)

    def _forget(self) -> None:
        self._nodes: list[Ids] = []
        self._groups: list[Ids] = []
        self._docs: list[Ids] = []
        self.n_mentions = self._n_groups = self._n_docs = 0


class _Runs:
    """The counts of several blocks, on disk, one after the other; nobody waits for the disk."""

    def __init__(self, scratch: _Scratch, n_nodes: int) -> None:
        self.n_runs = 0
        self._scratch = scratch
        self._n_nodes = n_nodes
        self._n_pairs = 0

    def append(self, rows: Iterable[Rows]) -> None:
        """Add the counts of a block."""
        folder = self._scratch.path
        with (
            (folder / "starts").open("ab") as starts,
            (folder / "columns").open("ab") as columns,
            (folder / "counts").open("ab") as counts,
        ):
            starts.write(np.array([self._n_pairs]).tobytes())
            for sizes, its_columns, its_counts in rows:
                starts.write((self._n_pairs + np.cumsum(sizes)).tobytes())
                columns.write(its_columns.data)
                counts.write(its_counts.data)
                self._n_pairs += len(its_columns)
        self.n_runs += 1

    def merge(self) -> tuple[CountRows, Ints]:
        """Give what adds up rows of all, and how much work each is."""
        starts: Ints = self._map("starts", np.int64)
        columns: Ids = self._map("columns", np.int32)
        counts: Ids = self._map("counts", np.int32)
        work = np.zeros(self._n_nodes, np.int64)
        for run in starts.reshape(self.n_runs, -1):
            work += np.diff(run)

        def merge(rows: tuple[int, int]) -> Rows:
            return merge_rows(*rows, self._n_nodes, starts, columns, counts)

        return merge, work

    def _map(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        path = self._scratch.path / name
        # An empty file cannot be mapped.
        size = path.stat().st_size
        return np.asarray(np.memmap(path, dtype, "c")) if size else np.empty(0, dtype)


class _Scratch:
    """A folder for what does not fit memory, made when it is first asked for."""

    def __init__(self, parent: Path | None) -> None:
        self._parent = parent
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """The folder."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="likewise-", dir=self._parent))
        return self._path

    def __enter__(self) -> _Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            with suppress(OSError):
                shutil.rmtree(self._path)


def _joined_ids(pieces: list[Ids]) -> Ids:
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, np.int32), *pieces])
