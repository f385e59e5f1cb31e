"""Indexes of the faiss library (an extra): inverted lists of short codes, and a graph.

`IVF`: points are listed by the nearest of some centroids (k-means), and of each only 4 bits for
every two coordinates are kept (product quantisation, Jégou, Douze, Schmid 2011), which are read
many at a time (André, Kermarrec, Le Scouarnec 2015). A query reads the lists of the nearest
centroids; those codes that seem nearest are proposed, many more than asked for, because they will
be scored by their points. `HNSW`: a graph of near points in layers (Malkov, Yashunin 2018), walked
towards the query; it reads the points themselves, and keeps no copy of them.

faiss runs on one thread in every call, so that the same points give the same bits anywhere; what
can be done point by point is spread over threads here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
from numpy.typing import NDArray

from likewise import notation
from likewise.collection.files import Seal, check_content, check_size, seal, sync, write_bytes
from likewise.compiled import Doubles, Floats, Ints
from likewise.errors import DamagedError, MissingExtra, UsageError
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries, gather

_INDEX, _ABOUT = "index.faiss", "faiss.json"
_ALWAYS_CHECKED = 1 << 26
_ROUNDING = 1e-5

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

# The graph knows distances but rounds in another way than whoever asks.
_SPARE_WALKED = 4
_LEAST_WIDTH = 128


@dataclass(frozen=True)
class IVF:
    """Inverted lists of codes: `refine` times as many points are proposed as are asked for.

    `lists` is about twice the root of the number of points where it is 0, and never more than one
    for 39 points. Of them `probes` are read, or where it is 0 as many as have some ten thousand
    points together, and more if more are asked for.
    """

    lists: int = 0
    probes: int = 0
    refine: int = 16
    notation: ClassVar[str] = "ivf"

    def __post_init__(self) -> None:
        if min(self.lists, self.probes) < 0 or self.refine < 1:
            raise UsageError(
                f"{self}: lists and probes must be 1 or more, or 0 to derive them; "
                "refine must be at least 1"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> ListsFinder:
        """List points; the centroids and codes are those of `origin`."""
        points, faiss = checked_points(points), _faiss(self)
        with _one_thread(faiss):
            if origin is None:
                lists = self._learn(faiss, points, seed)
            else:
                lists = _copy_empty(faiss, _checked_origin(self, origin, points.shape[1]).index)
            return ListsFinder(self, points, _filled(faiss, lists, points))

    def load(self, folder: Path, points: Floats) -> ListsFinder:
        """Map what `save` wrote, for the same points."""
        points, faiss = checked_points(points), _faiss(self)
        index = _read(faiss, folder, self, points)
        if not isinstance(index, faiss.IndexIVF) or index.d != _width(index, points):
            raise DamagedError(f"{folder}: holds no lists of these points; build it again")
        return ListsFinder(self, points, index)

    def _learn(self, faiss: Any, points: Floats, seed: int) -> Any:
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
    config: IVF
    points: Floats
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

    def save(self, folder: Path) -> None:
        """Write the lists."""
        _write(_faiss(self.config), folder, self.index, self.points)

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
        faiss, n_lists = _faiss(self.config), self.index.nlist
        share = max(_CODES_READ, 2 * wanted) / len(self.points)
        probes = self.config.probes or max(_LISTS_READ, math.ceil(share * n_lists))
        options = faiss.SearchParametersIVF(nprobe=min(probes, n_lists))
        with _one_thread(faiss):
            _, found = self.index.search(
                _widened(query[None, :], self.index.d), wanted, params=options
            )
        rows: Ints = found[0]
        return rows[(rows >= 0) & (rows < len(self.points))]

    def _within(self, query: Floats, radius: float) -> Ints:
        wanted, limit = 2 * _SPARE, _limit(radius)
        while 4 * wanted < len(self.points):
            rows = self._search(query, wanted)
            near = _squares(self.points[rows], query) <= limit
            exhausted = self.config.probes > 0 and len(rows) < wanted
            if exhausted or not near[len(rows) // 2 :].any():
                return rows[near]
            wanted *= 4
        return np.arange(len(self.points))


@dataclass(frozen=True)
class HNSW:
    """A graph in layers: each point is linked to `links` near ones, twice as many at the bottom.

    `construction` is how many of the nearest so far are kept when a point is linked in, `search`
    when a query is answered (0: 128, or twice as many as are asked for).
    """

    links: int = 16
    construction: int = 100
    search: int = 0
    notation: ClassVar[str] = "hnsw"

    def __post_init__(self) -> None:
        if self.links < 2 or self.construction < 1 or self.search < 0:
            raise UsageError(
                f"{self}: links must be at least 2, construction at least 1, "
                "search 1 or more, or 0 to derive it"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> GraphFinder:
        """Link points one after the other; nothing is learnt that could be taken over."""
        points, faiss = checked_points(points), _faiss(self)
        index = faiss.IndexHNSWFlat(points.shape[1], self.links)
        index.hnsw.efConstruction = self.construction
        index.hnsw.rng = faiss.RandomGenerator(seed % (1 << 31))
        if len(points):
            with _one_thread(faiss):
                index.add(points)
            _lend(faiss, faiss.downcast_index(index.storage), points)
        return GraphFinder(self, points, index)

    def load(self, folder: Path, points: Floats) -> GraphFinder:
        """Map what `save` wrote, for the same points."""
        points, faiss = checked_points(points), _faiss(self)
        index = _read(faiss, folder, self, points)
        if not isinstance(index, faiss.IndexHNSW) or index.d != points.shape[1]:
            raise DamagedError(f"{folder}: holds no graph of these points; build it again")
        storage = faiss.IndexFlatL2(points.shape[1])
        _lend(faiss, storage, points)
        storage.this.disown()
        index.storage, index.own_fields = storage, True
        return GraphFinder(self, points, index)


@dataclass(frozen=True, eq=False)
class GraphFinder:
    """A graph over points, which it reads where they are."""

    exact: ClassVar[bool] = False
    config: HNSW
    points: Floats
    index: Any

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the k nearest points that were come across, and a few more."""
        queries = checked_queries(queries, self.points.shape[1])
        wanted = min(max(k, 1) + _SPARE_WALKED, len(self.points))
        # Many equal points can cut a graph into pieces: then what was come across is too few.
        return gather(
            [
                rows if len(rows) == wanted else np.arange(len(self.points))
                for rows, _ in self._walk(queries, wanted)
            ]
        )

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose points within a radius: ever more, until one beyond it was come across."""
        queries = checked_queries(queries, self.points.shape[1])
        return gather([self._within(query, radius) for query in queries])

    def save(self, folder: Path) -> None:
        """Write the graph, without the points."""
        _write(_faiss(self.config), folder, self.index, self.points)

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        graph = self.index.hnsw
        return int(4 * graph.neighbors.size() + 12 * len(self.points))

    def _walk(self, queries: Floats, wanted: int) -> list[tuple[Ints, Floats]]:
        if wanted == 0:
            return [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(queries)
        faiss = _faiss(self.config)
        width = self.config.search or max(_LEAST_WIDTH, 2 * wanted)
        options = faiss.SearchParametersHNSW(efSearch=max(width, wanted))
        with _one_thread(faiss):
            distances, found = self.index.search(queries, wanted, params=options)
        good = (found >= 0) & (found < len(self.points))
        return [(found[i, good[i]], distances[i, good[i]]) for i in range(len(queries))]

    def _within(self, query: Floats, radius: float) -> Ints:
        wanted, limit = _LEAST_WIDTH // 2, _limit(radius)
        while 4 * wanted < len(self.points):
            ((rows, distances),) = self._walk(query[None, :], wanted)
            if len(rows) < wanted:
                break
            if distances[-1] > limit:
                return rows[distances <= limit]
            wanted *= 4
        return np.arange(len(self.points))


def _faiss(config: object) -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtra(f"the index {config}", extra="vectors") from None
    return faiss


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Keep faiss, and what it multiplies matrices with, on the thread that calls it.

    OpenMP keeps the number for each calling thread, so that threads do not get in each other's way.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


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


def _filled(faiss: Any, index: Any, points: Floats) -> Any:
    """Put points into lists, in the order of rows; the same bits on any number of threads."""
    n = len(points)
    lists = np.empty(n, np.int64)
    codes = np.empty((n, index.code_size), np.uint8)

    def encode(first: int) -> None:
        part = slice(first, first + _AT_ONCE)
        rows = _widened(points[part], index.d)
        with _one_thread(faiss):
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


def _width(index: Any, points: Floats) -> int:
    """Give how many coordinates an index has of points: one more where they are odd, for codes."""
    d: int = points.shape[1]
    return d + d % 2 if hasattr(index, "pq") else d


def _widened(rows: Floats, width: int) -> Floats:
    if rows.shape[1] == width:
        return np.ascontiguousarray(rows)
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def _limit(radius: float) -> float:
    """Give the square of a radius and a hair: whoever scores candidates rounds in another way."""
    return radius * radius * (1 + _ROUNDING) if radius >= 0 else -1.0


def _squares(points: Floats, query: Floats) -> Doubles:
    differences = points.astype(np.float64) - query
    return np.asarray(np.einsum("ij,ij->i", differences, differences))


def _lend(faiss: Any, storage: Any, points: Floats) -> None:
    """Let a flat index read points where they are; whoever asks keeps them alive."""
    flat = points.reshape(-1).view(np.uint8)
    vector = faiss.MaybeOwnedVectorUInt8
    storage.codes = vector.create_view(faiss.swig_ptr(flat), flat.nbytes, vector().owner)
    storage.ntotal = len(points)


def _write(faiss: Any, folder: Path, index: Any, points: Floats) -> None:
    data: NDArray[np.uint8] = faiss.serialize_index(index, faiss.IO_FLAG_SKIP_STORAGE)
    with (folder / _INDEX).open("wb") as file:
        file.write(data.data)
        sync(file)
    about = {"points": points.shape, "seal": [*seal(folder / _INDEX)]}
    write_bytes(folder / _ABOUT, orjson.dumps(about))


def _read(faiss: Any, folder: Path, config: object, points: Floats) -> Any:
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
