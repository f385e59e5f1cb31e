"""How near are two sets of terms? Term and term, set and term, text and text: one function.

A set is nodes with positive weights; a term is a set of one. A *placement* gives a set a place
among the terms. That of the product is `mean`, the weighted mean of its terms' features,
`K_st = Σ w_i K_it`; others are found by their names in the registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from likewise import registry
from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.terms.kernel import Kernel

# Placements by name: classes that take a kernel, and options of their own.
PLACEMENTS = registry.Table(registry.PLACEMENTS, groups=("likewise.placements",))


class TermSet(NamedTuple):
    """Nodes, ascending, and their weights, which are positive and sum to one."""

    nodes: Ints
    weights: Doubles


SetLike: TypeAlias = int | Iterable[int] | Mapping[int, float] | TermSet


def term_set(given: SetLike, n: int) -> TermSet:
    """Give a set of some of n nodes: a node, nodes (one that is given twice weighs double), or
    nodes with weights.
    """
    if isinstance(given, TermSet):
        nodes, weights = np.asarray(given.nodes), np.asarray(given.weights, np.float64)
    elif isinstance(given, Mapping):
        nodes = np.array(list(given), np.int64)
        weights = np.array(list(given.values()), np.float64)
    else:
        listed = [given] if isinstance(given, int | np.integer) else given
        nodes = np.asarray(listed if isinstance(listed, np.ndarray) else list(listed))
        weights = np.ones(len(nodes))
    if len(nodes) == 0:
        raise UsageError("a set without terms is near nothing: give at least one that is known")
    if nodes.dtype.kind not in "iu" or nodes.min() < 0 or nodes.max() >= n:
        wrong = nodes[(nodes < 0) | (nodes >= n) | (nodes != np.floor(nodes))].tolist() or nodes
        raise UsageError(f"no such nodes: {wrong}; they are the whole numbers from 0 to {n - 1}")
    if weights.shape != nodes.shape or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise UsageError(f"weights of terms must be positive numbers, not {weights.tolist()}")
    found, places = np.unique(nodes.astype(np.int64), return_inverse=True)
    added = np.bincount(places, weights)
    return TermSet(found, added / added.sum())


class SetMetric:
    """Similarities and distances of sets of terms by a kernel on terms; `options` are of `how`."""

    def __init__(self, kernel: Kernel, how: str = "mean", **options: Any) -> None:
        if how not in PLACEMENTS:
            raise UsageError(f"sets are taken by {', '.join(PLACEMENTS)}, not by {how!r}")
        self.kernel, self.how = kernel, how
        self._way: Placement = PLACEMENTS[how](kernel, **options)

    def similarities(self, given: SetLike) -> Doubles:
        """Give K_st of a set and every term."""
        return self.similarities_of([given])[:, 0]

    def distances(self, given: SetLike) -> Doubles:
        """Give d(S, t) of a set and every term."""
        return self.distances_of([given])[:, 0]

    def similarities_of(self, sets: Sequence[SetLike]) -> Doubles:
        """Give K_st of each set (a column) and every term."""
        return self._way.similarities_of(self._read(sets))

    def distances_of(self, sets: Sequence[SetLike]) -> Doubles:
        """Give d(S, t) of each set (a column) and every term.

        They are as good as the kernel's diagonal, which may be an estimate on large graphs.
        """
        read = self._read(sets)
        found = np.maximum(self._way.distances_of(read), 0.0)
        for j, one in enumerate(read):
            # A term and the set of it alone are one, and so is a node with what went into it.
            if len(one.nodes) == 1 or self._way.merges:
                found[one.nodes, j] = 0.0
        return found

    def similarity(self, a: SetLike, b: SetLike) -> float:
        """Give K of two sets."""
        return self._way.similarity(*self._pair(a, b))

    def distance(self, a: SetLike, b: SetLike) -> float:
        """Give d of two sets: symmetric, never below zero, and zero from a set to itself.

        Sets that share a term are one node when they are collapsed: their distance is zero.
        """
        return max(self._way.distance(*self._pair(a, b)), 0.0)

    def cosine(self, a: SetLike, b: SetLike) -> float:
        """Give K_ab / √(K_aa K_bb) of two sets, from -1 to 1; 0 where a set is near to nothing.

        It does not depend on how many terms the sets have, as K does.
        """
        first, second, between = self._way.gram(*self._pair(a, b))
        if not min(first, second) > 0:
            return 0.0
        return float(np.clip(between / np.sqrt(first) / np.sqrt(second), -1.0, 1.0))

    def leaning(self, given: SetLike) -> TermSet:
        """Give the weights w of a set's terms by which `K_st = Σ w_i K_it` (nearly, by nystrom)."""
        [read] = self._read([given])
        return self._way.leaning(read)

    def pairing(self, a: SetLike, b: SetLike) -> tuple[TermSet, TermSet]:
        """Give weights w, v of terms by which K of two sets is `Σ v_i K_ij w_j`.

        Of sets that share no term Σ v_i w_i is 0: none is near by itself. By nystrom it is nearly.
        """
        first, second = self._read([a, b])
        return self._way.pairing(first, second)

    def _read(self, sets: Sequence[SetLike]) -> list[TermSet]:
        return [term_set(one, len(self.kernel)) for one in sets]

    def _pair(self, a: SetLike, b: SetLike) -> tuple[TermSet, TermSet]:
        # In one order, so that both ways round are the same bits.
        first, second = sorted(self._read([a, b]), key=lambda s: (s.nodes.tolist(), [*s.weights]))
        return first, second


class Placement(Protocol):
    """What a way of giving sets a place has to say.

    Where it `merges`, a set and its terms are one, at a distance of 0. One that is `spectral` is
    made of all eigenvectors, and its `leaning` is only nearly what it says.
    """

    merges: ClassVar[bool]
    spectral: ClassVar[bool]

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        """Give K_st of each set (a column) and every term."""
        ...

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        """Give d(S, t) of each set (a column) and every term."""
        ...

    def similarity(self, a: TermSet, b: TermSet) -> float:
        """Give K_ab."""
        ...

    def distance(self, a: TermSet, b: TermSet) -> float:
        """Give d of two sets."""
        ...

    def gram(self, a: TermSet, b: TermSet) -> tuple[float, float, float]:
        """Give K_aa, K_bb and K_ab."""
        ...

    def leaning(self, one: TermSet) -> TermSet:
        """Give weights w of a set's terms by which `K_st = Σ w_i K_it`."""
        ...

    def pairing(self, a: TermSet, b: TermSet) -> tuple[TermSet, TermSet]:
        """Give weights w, v of terms by which K_ab is `Σ v_i K_ij w_j`."""
        ...


class AsGiven:
    """Sets lean on their terms as their weights say."""

    merges: ClassVar[bool] = False
    spectral: ClassVar[bool] = False

    def leaning(self, one: TermSet) -> TermSet:
        """Give its own weights."""
        return one

    def pairing(self, a: TermSet, b: TermSet) -> tuple[TermSet, TermSet]:
        """Give their own weights."""
        return a, b


class Mean(AsGiven):
    """A set is the weighted mean of its terms' features."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        """Give K_st of each set (a column) and every term."""
        return self.kernel.columns(placed(sets, len(self.kernel)))

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        """Give d(S, t) of each set (a column) and every term."""
        found = self.similarities_of(sets)
        own = np.array([(s.weights * found[s.nodes, j]).sum() for j, s in enumerate(sets)])
        return own + self.kernel.diagonal()[:, None] - 2 * found

    def similarity(self, a: TermSet, b: TermSet) -> float:
        """Give K_ab."""
        reached = self.kernel.at(b.nodes, placed([a], len(self.kernel)))[:, 0]
        return float((b.weights * reached).sum())

    def distance(self, a: TermSet, b: TermSet) -> float:
        """Give d of two sets."""
        # One column, whatever the sets' sizes. The parts that both have are gone before they are
        # multiplied: at a small ε they would drown the rest.
        nodes, (left, right) = joined(a, b)
        apart = np.zeros((len(self.kernel), 1))
        apart[nodes, 0] = left - right
        return float((apart[nodes] * self.kernel.at(nodes, apart)).sum())

    def gram(self, a: TermSet, b: TermSet) -> tuple[float, float, float]:
        """Give K_aa, K_bb and K_ab."""
        # All of the same columns, so that a set and itself are 1 whatever their error.
        found = self.kernel.at(np.concatenate([a.nodes, b.nodes]), placed([a, b], len(self.kernel)))
        here = (a.weights[:, None] * found[: len(a.nodes)]).sum(axis=0)
        there = (b.weights[:, None] * found[len(a.nodes) :]).sum(axis=0)
        return float(here[0]), float(there[1]), float(here[1] + there[0]) / 2


def placed(sets: list[TermSet], n: int) -> Doubles:
    """Give sets as columns of n weights."""
    out = np.zeros((n, len(sets)))
    for j, one in enumerate(sets):
        out[one.nodes, j] = one.weights
    return out


def joined(a: TermSet, b: TermSet) -> tuple[Ints, tuple[Doubles, Doubles]]:
    """Give the nodes of two sets, and the weights of each set on them."""
    nodes = np.union1d(a.nodes, b.nodes)
    left, right = np.zeros(len(nodes)), np.zeros(len(nodes))
    left[np.searchsorted(nodes, a.nodes)] = a.weights
    right[np.searchsorted(nodes, b.nodes)] = b.weights
    return nodes, (left, right)
