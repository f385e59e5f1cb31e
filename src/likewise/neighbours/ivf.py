"""Inverted lists of short codes, by the faiss library (an extra).

Points are listed by the nearest of some centroids (k-means), and of each only 4 bits for every
two coordinates are kept (product quantisation, Jégou, Douze, Schmid 2011), which are read many at
a time (André, Kermarrec, Le Scouarnec 2015). A query reads the lists of the nearest centroids;
those codes that seem nearest are proposed, many more than asked for, because they will be scored by
their points.

faiss runs on one thread in every call, so that the same points give the same bits anywhere; what
can be done point by point is spread over threads here.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from likewise import notation
from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats, Ints
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.faiss_io import (
    load_faiss,
    one_thread,
    put_index,
    squared_limit,
    squares,
    take_index,
)
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries, gather
from likewise.neighbours.int8 import CodedPoints, Points
from likewise.neighbours.scan import nearest_rows

# Codes need this many points to be learnt from, and this many coordinates to be of use: with
# fewer, lists hold the points themselves.
_FEWEST_POINTS, _FEWEST_COORDINATES = 1000, 32
_PER_LIST = 39
_CODE_SAMPLE = 1 << 12
_ITERATIONS = 8
_AT_ONCE = 1 << 14
# A code is a rough guide: so many more are proposed, however few are asked for.
_SPARE = 100
# A query reads this many codes and lists, where it is not told how many lists. Of the 10 nearest
# of 200,000 unit vectors of 150 decaying coordinates this finds .999, of as many square roots of
# Dirichlet draws (250 topics, α = .02) .98. Twice as many lists took four times as long to learn,
# and found no more in the same time.
_CODES_READ, _LISTS_READ = 1 << 14, 64
_SAMPLE, _TUNED_K, _WORTH_IT = 100, 10, 0.002


@dataclass(frozen=True)
class IVF:
    """Inverted lists of codes: `refine` times as many points are proposed as are asked for.

    `lists` is about twice the root of the number of points where it is 0, and never more than one
    for 39 points. Of them `probes` are read, or where it is 0 as many as have some ten thousand
    points together, and more where sample points show that the share `recall` of their ten
    nearest is not found so, or if more are asked for.
    """

    lists: int = 0
    probes: int = 0
    refine: int = 16
    recall: float = 0.98
    notation: ClassVar[str] = "ivf"

    def __post_init__(self) -> None:
        if min(self.lists, self.probes) < 0 or self.refine < 1:
            raise UsageError(
                f"{self}: lists and probes must be 1 or more, or 0 to derive them; "
                "refine must be at least 1"
            )
        if not 0 < self.recall <= 1:
            raise UsageError(f"{self}: recall must be above 0 and at most 1")

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Points, *, seed: int = 0, origin: Finder | None = None) -> ListsFinder:
        """List points; the centroids and codes are those of `origin`."""
        points, faiss = _checked(points), load_faiss(self)
        with one_thread(faiss):
            if origin is None:
                lists = self._learn(faiss, points, seed)
                finder = ListsFinder(self, points, _filled(faiss, lists, points))
                finder.index.nprobe = self.probes or _probes_for(finder, self.recall, seed)
                return finder
            other = _checked_origin(self, origin, points.shape[1]).index
            finder = ListsFinder(self, points, _filled(faiss, _copy_empty(faiss, other), points))
            finder.index.nprobe = other.nprobe
            return finder

    def load(self, arrays: Arrays, points: Points) -> ListsFinder:
        """Take what `save` put, for the same points."""
        points, faiss = _checked(points), load_faiss(self)
        index = take_index(faiss, arrays, self, points)
        if not isinstance(index, faiss.IndexIVF) or index.d != _width(index, points):
            raise DamagedError("what is stored are no lists of these points; build it again")
        return ListsFinder(self, points, index)

    def _learn(self, faiss: Any, points: Points, seed: int) -> Any:
        """Learn centroids and codes from a sample; give lists that are empty yet."""
        n, d = points.shape
        plain = n < _FEWEST_POINTS or d < _FEWEST_COORDINATES
        wanted = self.lists or 1 << round(math.log2(2 * math.sqrt(max(n, 1))))
        n_lists = min(wanted, max(n // _PER_LIST, 1))
        index = _empty(faiss, d if plain else d + d % 2, n_lists, plain)
        size = min(n, max(n_lists * _PER_LIST, _CODE_SAMPLE))
        chosen = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
        sample = _widened(points[chosen], index.d)
        index.cp.seed = seed % (1 << 31)
        index.cp.niter = _ITERATIONS
        index.cp.min_points_per_centroid = 1
        index.cp.max_points_per_centroid = 2 * _PER_LIST
        if not plain:
            index.pq.cp.seed = seed % (1 << 31)
        if not np.isfinite(sample).all():
            raise UsageError(f"{self}: points must be finite numbers")
        index.train(sample if n else np.zeros((1, index.d), np.float32))
        return index


@dataclass(frozen=True, eq=False)
class ListsFinder:
    """Inverted lists over points."""

    exact: ClassVar[bool] = False
    scans: ClassVar[bool] = False
    config: IVF
    points: Points
    index: Any

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the points whose codes seem nearest."""
        queries = checked_queries(queries, self.points.shape[1])
        wanted = self.config.refine * max(k, 1) + _SPARE
        if wanted >= len(self.points):
            return gather([np.arange(len(self.points))] * len(queries))
        return gather([self._search(query, wanted) for query in queries])

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose points within a radius: ever more, until the farther half has none.

        Near the radius, and where a few points are scattered over many lists, some may be missed.
        """
        queries = checked_queries(queries, self.points.shape[1])
        return gather([self._within(query, radius) for query in queries])

    def save(self, out: Output) -> None:
        """Put the lists."""
        put_index(load_faiss(self.config), out, self.index, self.points)

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        return int(
            len(self.points) * (self.index.code_size + 8) + 4 * self.index.nlist * self.index.d
        )

    def _search(self, query: Floats, wanted: int) -> Ints:
        """Give rows by the distance of their codes.

        One query at a time: many at once are compared with centroids, and break ties among codes,
        in ways that depend on how many they are.
        """
        faiss, n_lists = load_faiss(self.config), self.index.nlist
        least = math.ceil(2 * wanted / len(self.points) * n_lists)
        probes = self.config.probes or max(self.index.nprobe, least)
        options = faiss.SearchParametersIVF(nprobe=min(probes, n_lists))
        with one_thread(faiss):
            _, found = self.index.search(
                _widened(query[None, :], self.index.d), wanted, params=options
            )
        rows: Ints = found[0]
        return rows[(rows >= 0) & (rows < len(self.points))]

    def _within(self, query: Floats, radius: float) -> Ints:
        wanted, limit = 2 * _SPARE, squared_limit(radius)
        while 4 * wanted < len(self.points):
            rows = self._search(query, wanted)
            near = squares(self.points[rows], query) <= limit
            exhausted = self.config.probes > 0 and len(rows) < wanted
            if exhausted or not near[len(rows) // 2 :].any():
                return rows[near]
            wanted *= 4
        return np.arange(len(self.points))


def _checked(points: Points) -> Points:
    return points if isinstance(points, CodedPoints) else checked_points(points)


def _empty(faiss: Any, width: int, n_lists: int, plain: bool) -> Any:
    quantiser = faiss.IndexFlatL2(width)
    if plain:
        index = faiss.IndexIVFFlat(quantiser, width, n_lists, faiss.METRIC_L2)
    else:
        index = faiss.IndexIVFPQ(quantiser, width, n_lists, width // 2, 4)
        index.by_residual = False
    quantiser.this.disown()
    index.own_fields = True
    return index


def _copy_empty(faiss: Any, index: Any) -> Any:
    """Make lists of the same centroids and codes, without points."""
    plain = isinstance(index, faiss.IndexIVFFlat)
    other = _empty(faiss, index.d, index.nlist, plain)
    other.quantizer.add(index.quantizer.reconstruct_n(0, index.nlist))
    if not plain:
        other.pq = index.pq
    other.is_trained = True
    return other


def _filled(faiss: Any, index: Any, points: Points) -> Any:
    """Put points into lists, in the order of rows; the same bits on any number of threads."""
    n = len(points)
    lists = np.empty(n, np.int64)
    codes = np.empty((n, index.code_size), np.uint8)

    def encode(first: int) -> None:
        part = slice(first, first + _AT_ONCE)
        rows = _widened(points[part], index.d)
        with one_thread(faiss):
            lists[part] = index.quantizer.search(rows, 1)[1][:, 0]
            own, out = lists[part], codes[part]
            index.encode_vectors(len(rows), *map(faiss.swig_ptr, (rows, own, out)))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(encode, range(0, n, _AT_ONCE)))
    order = np.argsort(lists, kind="stable")
    codes, bounds = codes[order], np.searchsorted(lists[order], np.arange(index.nlist + 1))
    for i in range(index.nlist):
        own, out = order[bounds[i] : bounds[i + 1]], codes[bounds[i] : bounds[i + 1]]
        if len(own):
            index.invlists.add_entries(i, len(own), faiss.swig_ptr(own), faiss.swig_ptr(out))
    index.ntotal = n
    if isinstance(index, faiss.IndexIVFFlat):
        return index
    packed = faiss.IndexIVFPQFastScan(index)
    index.own_fields, packed.own_fields = False, True
    return packed


def _probes_for(finder: ListsFinder, recall: float, seed: int) -> int:
    """Find how many lists have to be read for the share `recall` of the ten nearest of a sample.

    More are tried as long as that finds more: what is lost by codes is not found in other lists.
    """
    n, n_lists = len(finder.points), finder.index.nlist
    probes: int = min(max(_LISTS_READ, math.ceil(_CODES_READ / max(n, 1) * n_lists)), n_lists)
    sample = np.random.default_rng(seed).choice(n, min(_SAMPLE, n), replace=False)
    queries = finder.points[sample]
    truth = [
        set(rows) - {own}
        for own, rows in zip(
            sample.tolist(), nearest_rows(finder.points, queries, _TUNED_K + 1), strict=True
        )
    ]
    before = 0.0
    while True:
        finder.index.nprobe = probes
        bounds, rows = finder.propose(queries, _TUNED_K)
        found = [
            len(wanted.intersection(rows[bounds[i] : bounds[i + 1]].tolist()))
            for i, wanted in enumerate(truth)
        ]
        reached = sum(found) / max(sum(map(len, truth)), 1)
        if reached >= recall or probes == n_lists or reached < before + _WORTH_IT:
            return probes
        before, probes = reached, min(probes * 2, n_lists)


def _checked_origin(config: IVF, origin: Finder, dimension: int) -> ListsFinder:
    if not isinstance(origin, ListsFinder) or origin.config != config:
        theirs = getattr(origin, "config", type(origin).__name__)
        raise UsageError(f"{config} cannot take over from {theirs}: build without an origin")
    if origin.points.shape[1] != dimension:
        raise UsageError(
            f"points of {dimension} coordinates cannot take over from an index of "
            f"{origin.points.shape[1]}: build without an origin"
        )
    return origin


def _width(index: Any, points: Points) -> int:
    """Give how many coordinates an index has of points: one more where they are odd, for codes."""
    d: int = points.shape[1]
    return d + d % 2 if hasattr(index, "pq") else d


def _widened(rows: Floats, width: int) -> Floats:
    if rows.shape[1] == width:
        return np.ascontiguousarray(rows)
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
