"""Inverted lists over pairs of topics, for distributions that few topics dominate.

A document that is near to another shares its main topics. So each is listed under every pair of
its few largest topics (and under its largest alone, where that is nearly all of it), and a query
reads the lists of pairs of its own largest topics, the most promising first. A list's entry
carries a sketch of the document, its seven largest topics, so that reading a list touches no
other memory; the best by sketch are looked up in a table of records, each the 32 largest topics of
a document in one cache line; the best of those are proposed. How much is read is found out
when the index is built: the least that finds the share `recall` of the ten nearest of sample
documents.

A topic and its share √θ are packed into 16 bits: a topic takes as many bits as it needs, the
share has the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from likewise.collection.arrays import Arrays, Output, PrefixedArrays, PrefixedOutput, require
from likewise.compiled import Floats, Ids, Ints, Shorts
from likewise.errors import UsageError
from likewise.neighbours.finder import Finder, Proposals
from likewise.neighbours.list_kernels import (
    RECORDED,
    SKETCHED,
    list_pairs,
    propose_above,
    propose_best,
    sketch_rows,
)
from likewise.neighbours.scan import nearest_rows

MOST_TOPICS = 2048
_PAIRED = (4, 6)
# A query asks for the pairs of so many times as many topics as are paired of a document.
_ASKED = 4
# Arrays are put under this, so that none has the name of one whose checksum is not looked at.
_PREFIX = "lists."

_SAMPLE = 200
# Products below this are of documents that share too little to be found by their main topics.
_WIDE = 0.35
_TUNED_K = 10
_FEWEST_READS, _MOST_READS = 1250, 640_000
# Of the entries read for ten neighbours, one in so many is looked up, and of those one in so many
# is proposed.
_LOOKED_UP, _PROPOSED = 20, 8


class Entries(NamedTuple):
    """The lists: entries `starts[c]:starts[c + 1]` are of cell c, a pair of topics."""

    records: Shorts
    starts: Ints
    rows: Ids
    sketches: Shorts
    first: Floats
    second: Floats


@dataclass(frozen=True)
class Lists:
    """Lists of pairs of topics.

    `reads` is how many entries are read for ten neighbours; 0 is the least that finds the share
    `recall` of them. `paired` is how many topics of a document are paired; 0 is four, or six
    where four do not reach that recall.
    """

    reads: int = 0
    recall: float = 0.99
    paired: int = 0
    notation: ClassVar[str] = "lists"

    def __post_init__(self) -> None:
        if self.reads < 0:
            raise UsageError(f"lists: reads must be 0 or more, not {self.reads}")
        if not 0 < self.recall <= 1:
            raise UsageError(f"lists: recall must be above 0 and at most 1, not {self.recall}")
        if self.paired != 0 and not 2 <= self.paired <= SKETCHED:
            raise UsageError(f"lists: paired must be from 2 to {SKETCHED}, or 0, not {self.paired}")

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> PairLists:
        """List the points under their pairs, and find out how much has to be read."""
        if not suits(points):
            raise UsageError(
                "lists need numbers of at least 0 in rows of length 1, and at most "
                f"{MOST_TOPICS} of them: use ivf or scan for other vectors"
            )
        if isinstance(origin, PairLists):
            return PairLists(_listed(points, origin.paired), origin.tuned)
        for paired in (self.paired,) if self.paired else _PAIRED:
            lists = PairLists(_listed(points, paired), Tuned(paired, self.reads, 0.0))
            if self.reads == 0:
                lists = lists.tune(points, self.recall, seed)
            if lists.tuned.reached >= self.recall or self.reads:
                break
        return lists

    def load(self, arrays: Arrays, points: Floats) -> PairLists:
        """Take what `save` put, for the same points."""
        mine = PrefixedArrays(arrays, _PREFIX)
        n_cells = points.shape[1] * (points.shape[1] + 1) // 2
        require(
            mine,
            "lists",
            records=(len(points), RECORDED),
            starts=(n_cells + 1,),
            rows=(-1,),
            sketches=(-1, SKETCHED),
            first=(n_cells,),
            second=(n_cells,),
        )
        entries = Entries(*(mine[name] for name in Entries._fields))
        return PairLists(entries, Tuned(*(mine.meta[name] for name in Tuned._fields)))


class Tuned(NamedTuple):
    """How lists are read: `reached` is the recall that it gave on sample documents."""

    paired: int
    reads: int
    reached: float


class PairLists:
    """Built lists."""

    exact = False
    scans = False

    def __init__(self, arrays: Entries, tuned: Tuned) -> None:
        self._arrays = arrays
        self.tuned = tuned

    @property
    def paired(self) -> int:
        """How many topics of a document are paired."""
        return self.tuned.paired

    @property
    def n_bytes(self) -> int:
        """How large the lists and records are."""
        return sum(array.nbytes for array in self._arrays)

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Read lists, look up the best by sketch, propose the best by record."""
        reads = int(self.tuned.reads * max(1.0, k / _TUNED_K))
        looked_up = max(reads // _LOOKED_UP, 8 * k)
        proposed = max(looked_up // _PROPOSED, 3 * k)
        asked = _ASKED * self.paired
        return Proposals(*propose_best(queries, *self._arrays, asked, reads, looked_up, proposed))

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Read all lists of the queries' pairs; propose what may be within, by sketch and record.

        Where the radius is so wide that most pairs could matter, all points are proposed.
        """
        least = 1 - radius**2 / 2
        if least < _WIDE:
            n = len(self._arrays.records)
            bounds = np.arange(len(queries) + 1, dtype=np.int64) * n
            return Proposals(bounds, np.tile(np.arange(n), len(queries)))
        asked = 2 * _ASKED * self.paired
        return Proposals(*propose_above(queries, *self._arrays, asked, np.float32(least)))

    def save(self, out: Output) -> None:
        """Put the arrays, and how they are read."""
        mine = PrefixedOutput(out, _PREFIX)
        for name, array in self._arrays._asdict().items():
            mine.put(name, array)
        mine.note(**self.tuned._asdict())

    def tune(self, points: Floats, recall: float, seed: int) -> PairLists:
        """Find the least reads that find the share `recall` of the ten nearest of a sample."""
        present = np.flatnonzero(points.any(axis=1))
        n = min(_SAMPLE, len(present))
        sample = np.sort(np.random.default_rng(seed).choice(present, n, replace=False))
        queries = points[sample]
        # The first neighbour of a point is itself, which is no achievement.
        truth = [
            set(nearest) - {own}
            for own, nearest in zip(
                sample.tolist(), nearest_rows(points, queries, _TUNED_K + 1), strict=True
            )
        ]
        n_wanted = max(sum(map(len, truth)), 1)
        reads = float(_FEWEST_READS)
        while True:
            tuned = PairLists(self._arrays, Tuned(self.paired, int(reads), 0.0))
            bounds, rows = tuned.propose(queries, _TUNED_K)
            hits = sum(
                len(wanted.intersection(rows[bounds[i] : bounds[i + 1]].tolist()))
                for i, wanted in enumerate(truth)
            )
            tuned.tuned = tuned.tuned._replace(reached=hits / n_wanted if n else 1.0)
            if tuned.tuned.reached >= recall or reads >= min(_MOST_READS, 8 * len(points)):
                return tuned
            reads *= 2**0.5


def suits(points: Floats) -> bool:
    """Tell whether points can be listed: rows of length 1 of numbers of at least 0, or zeros."""
    if points.shape[1] > MOST_TOPICS:
        return False
    for start in range(0, len(points), 1 << 16):
        block = points[start : start + (1 << 16)]
        lengths = np.einsum("ij,ij->i", block, block)
        if block.min(initial=0) < 0 or (np.abs(lengths - 1) > 1e-3)[lengths > 0].any():
            return False
    return True


def value_bits(n_topics: int) -> int:
    """Give how many of 16 bits a topic leaves for its share."""
    return 16 - max(int(n_topics - 1).bit_length(), 1)


def _listed(points: Floats, paired: int) -> Entries:
    n_topics = points.shape[1]
    records = sketch_rows(points, RECORDED, value_bits(n_topics))
    return Entries(records, *list_pairs(records, n_topics, value_bits(n_topics), paired))
