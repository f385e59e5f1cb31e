"""What every index does: propose candidates near a query, in a Euclidean space."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats, Ints
from likewise.errors import UsageError


class Proposals(NamedTuple):
    """Candidates of query i: the distinct rows `rows[bounds[i]:bounds[i + 1]]`, in any order."""

    bounds: Ints
    rows: Ints


class Finder(Protocol):
    """A built index of points (rows of float32). It never changes: growth builds another.

    Proposals are scored exactly by whoever asks, so a finder need not know distances well; it
    must find the near ones. All methods may be called from several threads at once, and give the
    same bits however the queries are split into calls.
    """

    @property
    def exact(self) -> bool:
        """Whether it certainly proposes every point within a radius."""
        ...

    @property
    def scans(self) -> bool:
        """Whether it looks at every point, so that by any metric all may as well be scored."""
        ...

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose candidates for the k nearest points of each query."""
        ...

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose candidates for all points at most `radius` (Euclidean) from each query."""
        ...

    def save(self, out: Output) -> None:
        """Put the index, without the points."""
        ...

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        ...


class Method(Protocol):
    """The configuration of an index: a small frozen dataclass that can be built and loaded."""

    notation: ClassVar[str]

    def build(self, points: Floats, *, seed: int, origin: Finder | None = None) -> Finder:
        """Build an index of points; what was learnt for `origin` is taken over, not learnt again.

        `origin` is a finder of the same method over other points of the same space.
        """
        ...

    def load(self, arrays: Arrays, points: Floats) -> Finder:
        """Take what `save` put, for the same points."""
        ...


def gather(lists: list[Ints]) -> Proposals:
    """Put the candidates of each query together."""
    bounds = np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]).astype(np.int64)
    return Proposals(bounds, np.concatenate([*lists, np.empty(0, np.int64)]))


def checked_points(points: Floats) -> Floats:
    """Give points as rows of float32, or say why they are none."""
    rows = np.asarray(points)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError(f"points must be rows of one coordinate or more, not shaped {rows.shape}")
    if len(rows) >= 1 << 31:
        raise UsageError(f"{len(rows)} points are too many for one index: fewer than {1 << 31}")
    return np.ascontiguousarray(rows, np.float32)


def checked_queries(queries: Floats, dimension: int) -> Floats:
    """Give queries as rows of float32, or say why they do not fit the points."""
    rows = np.asarray(queries)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise UsageError(
            f"queries are shaped {rows.shape}, but the indexed points have {dimension} "
            "coordinates: give a row of as many for each query"
        )
    return np.ascontiguousarray(rows, np.float32)
