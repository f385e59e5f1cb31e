"""Approximate search in a k-d tree, as in the ANN library (Arya and Mount 1993, 1998).

Cells are visited from the nearest on; one whose distance, stretched by 1 + ε, is beyond the k-th
best is left out, so that the i-th answer is at most 1 + ε times as far as the i-th nearest point.

Written here although SciPy has `cKDTree`, because that can neither be memory-mapped nor stop after
a number of leaves. Cuts are in the middle of the points' stretch along the dimension of their
largest variance. On square roots of draws from a Dirichlet distribution (200,000 of 250 topics,
α = .02, the 10 nearest) this found .99 of them in 20 ms with ε = 1 and .60 in .5 ms with ε = 3;
cuts at the median .998 in 65 ms and .90 in 56 ms, and in 1000 leaves .10 rather than .87. Where
points fill all dimensions alike the two differ little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise import notation
from likewise.collection.arrays import Arrays, Output
from likewise.compiled import Floats
from likewise.errors import DamagedError, UsageError
from likewise.neighbours.finder import Finder, Proposals, checked_points, checked_queries
from likewise_papers.neighbours.kd_tree_kernels import Branches, grow, nearest, within

# Whoever scores candidates rounds in another way: a few more are proposed than asked for, and
# from a hair farther away.
_SPARE = 4
_HAIR = 1e-5


@dataclass(frozen=True)
class Tree:
    """A k-d tree with at most `leaf` points in a leaf, unless they are equal.

    Answers are within 1 + `epsilon` of the nearest; a search ends after so many `leaves` (0: when
    no other can have an answer).
    """

    leaf: int = 16
    epsilon: float = 0.0
    leaves: int = 0
    notation: ClassVar[str] = "tree"

    def __post_init__(self) -> None:
        if self.leaf < 1 or self.leaves < 0 or not 0 <= self.epsilon < math.inf:
            raise UsageError(
                f"{self}: leaf must be at least 1, epsilon at least 0, leaves 0 (all) or more"
            )

    def __str__(self) -> str:
        return notation.write(self)

    def build(self, points: Floats, *, seed: int = 0, origin: Finder | None = None) -> TreeFinder:
        """Grow a tree over points; nothing is drawn, and nothing taken over."""
        points = checked_points(points)
        return TreeFinder(self, points, grow(points, self.leaf))

    def load(self, arrays: Arrays, points: Floats) -> TreeFinder:
        """Take what `save` put, for the same points."""
        points = checked_points(points)
        tree = Branches(*(arrays[name] for name in Branches._fields))
        if not _fits(tree, points):
            raise DamagedError(
                f"what is stored is not a tree of {len(points)} points of {points.shape[1]} "
                "coordinates; restore it from a copy, or build it again"
            )
        return TreeFinder(self, points, tree)


@dataclass(frozen=True, eq=False)
class TreeFinder:
    """Points and the tree that was grown over them."""

    config: Tree
    points: Floats
    tree: Branches
    scans: ClassVar[bool] = False

    @property
    def exact(self) -> bool:
        """Whether nothing within a radius can be missed."""
        return self.config.epsilon == 0 and self.config.leaves == 0

    def propose(self, queries: Floats, k: int) -> Proposals:
        """Propose the k nearest points that are found, and a few more."""
        queries = checked_queries(queries, self.points.shape[1])
        wanted = min(max(k, 0) + _SPARE, len(self.points))
        if wanted == 0:
            return Proposals(np.zeros(len(queries) + 1, np.int64), np.empty(0, np.int64))
        stretch, most = 1 + self.config.epsilon, self.config.leaves
        found, sizes = nearest(self.points, self.tree, queries, wanted, stretch, most)
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Proposals(bounds, found[np.arange(wanted) < sizes[:, None]])

    def propose_within(self, queries: Floats, radius: float) -> Proposals:
        """Propose points within a radius; with ε, some beyond radius / (1 + ε) may be missed."""
        queries = checked_queries(queries, self.points.shape[1])
        if len(self.points) == 0 or not radius >= 0:
            return Proposals(np.zeros(len(queries) + 1, np.int64), np.empty(0, np.int64))
        limit = float(radius) * float(radius) * (1 + _HAIR)
        stretch, most = 1 + self.config.epsilon, self.config.leaves
        return Proposals(*within(self.points, self.tree, queries, limit, stretch, most))

    def save(self, out: Output) -> None:
        """Put the tree, without the points."""
        for name, array in self.tree._asdict().items():
            out.put(name, array)

    @property
    def n_bytes(self) -> int:
        """How large it is, without the points."""
        return sum(array.nbytes for array in self.tree)


def _fits(tree: Branches, points: Floats) -> bool:
    """Say whether a search of the tree will stay within it, and within the points."""
    n, d = points.shape
    n_branches, n_leaves = len(tree.dims), len(tree.leaves) - 1
    kinds = [np.int32, np.int64, np.int32, np.int32, np.float32, np.float32]
    sizes = [n, n_branches + 2, n_branches, 2 * n_branches, 6 * n_branches, 2 * d]
    if [array.dtype for array in tree] != kinds or [array.size for array in tree] != sizes:
        return False
    parents = np.repeat(np.arange(n_branches), 2)
    return bool(
        (tree.leaves[0], tree.leaves[-1]) == (0, n)
        and (np.diff(tree.leaves) >= 0).all()
        and ((tree.rows >= 0) & (tree.rows < n)).all()
        and ((tree.dims >= 0) & (tree.dims < d)).all()
        and (tree.children < n_branches).all()
        and np.where(tree.children < 0, ~tree.children < n_leaves, tree.children > parents).all()
    )
