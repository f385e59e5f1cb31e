"""How near are two sets of terms? Term and term, set and term, text and text: one function.

A set is nodes with positive weights; a term is a set of one. There are three ways to give a set a
place among the terms:

- `mean`: the weighted mean of its terms' features, `K_st = Σ w_i K_it`.
- `collapse`: the set becomes one node of the graph (all its terms are short-circuited) and the
  kernel is that of the new graph. Nothing is recomputed: the new kernel is a closed form of the
  old one, exact for resistance on the combinatorial Laplacian. Any other positive definite kernel
  gives the same algebra a value, but not that of a collapsed graph. Members count alike: a
  short circuit has no weights.
- `nystrom`: the paper's approximation to it (its Eq. 3), an auxiliary node joined to each member
  by an edge of great weight, onto which the eigenvectors are extended. With growing weight it
  turns into `mean`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.terms.kernel import Kernel
from likewise.terms.spectrum import SpectralKernel, Spectrum, one_thread

HOW = ("mean", "collapse", "nystrom")
# The paper's "high association weight" over the largest eigenvalue.
_HEAVY = 100.0
# How many numbers the columns of some sets may take at once, and how many terms a block may have.
_CELLS = 1 << 24
_BLOCK = 1024


class TermSet(NamedTuple):
    """Nodes, ascending, and their weights, which are positive and sum to one."""

    nodes: Ints
    weights: Doubles


SetLike: TypeAlias = int | Iterable[int] | Mapping[int, float] | TermSet
Heights: TypeAlias = Callable[[Doubles], Doubles]


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
    """Similarities and distances of sets of terms by a kernel on terms.

    `nystrom` needs eigenvectors and the transform g of their eigenvalues, which a kernel that was
    made of its whole spectrum has; `weight` is that of an edge to a member (0: a hundred times
    the largest eigenvalue).
    """

    def __init__(
        self,
        kernel: Kernel,
        how: str = "mean",
        *,
        spectrum: Spectrum | None = None,
        transform: Heights | None = None,
        weight: float = 0.0,
    ) -> None:
        self.kernel, self.how = kernel, how
        if how == "mean":
            self._way: _Way = _Mean(kernel)
        elif how == "collapse":
            self._way = _Collapse(kernel)
        elif how == "nystrom":
            if isinstance(kernel, SpectralKernel) and kernel.constant:
                spectrum, transform = spectrum or kernel.spectrum, transform or kernel.transform
            if spectrum is None or transform is None:
                raise UsageError(
                    "sets by nystrom need a spectrum and its transform; mean and collapse do not"
                )
            self._way = _Nystrom(spectrum, transform, weight)
        else:
            raise UsageError(f"sets are taken by {', '.join(HOW)}, not by {how!r}")

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
            if len(one.nodes) == 1 or self.how == "collapse":
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

    def _read(self, sets: Sequence[SetLike]) -> list[TermSet]:
        return [term_set(one, len(self.kernel)) for one in sets]

    def _pair(self, a: SetLike, b: SetLike) -> tuple[TermSet, TermSet]:
        # In one order, so that both ways round are the same bits.
        first, second = sorted(self._read([a, b]), key=lambda s: (s.nodes.tolist(), [*s.weights]))
        return first, second


class _Way(Protocol):
    """What a way of giving sets a place has to say."""

    def similarities_of(self, sets: list[TermSet]) -> Doubles: ...

    def distances_of(self, sets: list[TermSet]) -> Doubles: ...

    def similarity(self, a: TermSet, b: TermSet) -> float: ...

    def distance(self, a: TermSet, b: TermSet) -> float: ...


class _Mean:
    """A set is the weighted mean of its terms' features."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        return self.kernel.columns(_placed(sets, len(self.kernel)))

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        found = self.similarities_of(sets)
        own = np.array([s.weights @ found[s.nodes, j] for j, s in enumerate(sets)])
        return own + self.kernel.diagonal()[:, None] - 2 * found

    def similarity(self, a: TermSet, b: TermSet) -> float:
        reached = self.similarities_of([a])[b.nodes, 0]
        return float((b.weights * reached).sum())

    def distance(self, a: TermSet, b: TermSet) -> float:
        # One column, whatever the sets' sizes. The parts that both have are gone before they are
        # multiplied: at a small ε they would drown the rest.
        nodes, (left, right) = _joined(a, b)
        apart = np.zeros((len(self.kernel), 1))
        apart[nodes, 0] = left - right
        return float((apart * self.kernel.columns(apart))[nodes].sum())


class _Collapse:
    """A set is one node of the graph in which its terms have become one.

    With M = K⁻¹ and P the membership of terms in the nodes that are left, the collapsed kernel is
    `(PᵀMP)⁻¹`, and its block of the new nodes is `(PᵀK_BB⁻¹P)⁻¹` with B their members. (With
    M = L + εI a new node of |S| terms has |S|ε where others have ε.)

    For one set S with x = K_SS⁻¹1, c = 1ᵀx, h = K_tS x it follows that K'_ss = 1/c, K'_st = h/c
    and `d(S, t) = (K_tt - K_tS K_SS⁻¹ K_St) + (1 - h)²/c`: both parts are small where K is large
    (small ε), so that nothing is lost by taking large numbers from one another.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        # K'_st is that of a mean, with the weights x/c.
        leaning = []
        for some, union in _batches(sets, _BLOCK):
            block = self.kernel.block(union)
            for one in some:
                at = np.searchsorted(union, one.nodes)
                x = _solve(block[np.ix_(at, at)], np.ones((len(at), 1)))[:, 0]
                leaning.append(TermSet(one.nodes, x / x.sum()))
        return self.kernel.columns(_placed(leaning, len(self.kernel)))

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        n = len(self.kernel)
        diagonal, found = self.kernel.diagonal(), []
        for some, union in _batches(sets, max(_CELLS // max(n, 1), 1)):
            each = [TermSet(node, np.ones(1)) for node in union[:, None]]
            columns = self.kernel.columns(_placed(each, n))
            for one in some:
                at = np.searchsorted(union, one.nodes)
                block = columns[np.ix_(one.nodes, at)]
                sides = np.column_stack([np.ones(len(at)), columns[:, at].T])
                solved = _solve((block + block.T) / 2, sides)
                c, h = solved[:, 0].sum(), solved[:, 1:].sum(axis=0)
                rest = diagonal - np.einsum("ti,it->t", columns[:, at], solved[:, 1:])
                found.append(np.maximum(rest, 0.0) + (1 - h) ** 2 / c)
        return np.column_stack(found) if found else np.empty((n, 0))

    def similarity(self, a: TermSet, b: TermSet) -> float:
        if np.intersect1d(a.nodes, b.nodes).size:
            merged = np.union1d(a.nodes, b.nodes)
            ones = np.ones((len(merged), 1))
            return float(1 / _solve(self.kernel.block(merged), ones).sum())
        first, second, between = self._conductances(a, b)
        # Added to 0, so that nothing between them is 0 and not -0.
        return 0.0 - between / (first * second - between * (first + second))

    def distance(self, a: TermSet, b: TermSet) -> float:
        if np.intersect1d(a.nodes, b.nodes).size:
            return 0.0
        first, second, between = self._conductances(a, b)
        both = first + second
        return float(1 / ((first * second / both if both > 0 else 0.0) - between))

    def _conductances(self, a: TermSet, b: TermSet) -> tuple[float, float, float]:
        # PᵀK_BB⁻¹P as [[first - between, between], [between, second - between]]: its rows sum to
        # what leaks from the nodes by ε, which may be too small to be seen beside the rest.
        nodes, (left, right) = _joined(a, b)
        sides = np.column_stack([left > 0, right > 0]).astype(np.float64)
        middle = sides.T @ _solve(self.kernel.block(nodes), sides)
        between = float(middle[0, 1] + middle[1, 0]) / 2
        return (
            max(float(middle[0, 0]) + between, 0.0),
            max(float(middle[1, 1]) + between, 0.0),
            between,
        )


class _Nystrom:
    """A set is an auxiliary node, onto which eigenvectors are extended.

    The paper's Eq. 3: `u_k(s) = Σ_j w_j u_k(j) / (Σ_j w_j - λ_k)`, with its single weight w spread
    by the members' weights (`w_j = |S| w · weight`). A set of one term is that term: it needs no
    auxiliary node.
    """

    def __init__(self, spectrum: Spectrum, transform: Heights, weight: float) -> None:
        values = np.asarray(spectrum.values, np.float64)
        top = float(values.max(initial=0.0))
        self.weight = weight or _HEAVY * max(top, 1.0)
        if not self.weight > top:
            raise UsageError(
                f"the weight of edges to a set's members must be above the largest eigenvalue "
                f"{top:.6g}, not {weight:g}; 0 is a hundred times that"
            )
        self.values, self.vectors = values, np.asarray(spectrum.vectors, np.float64)
        self.heights = transform(values)

    def places(self, sets: list[TermSet]) -> Doubles:
        """Give u_k(s) of each set, a row."""
        rows = [self._place(one) for one in sets]
        return np.array(rows).reshape(len(rows), len(self.values))

    def _place(self, one: TermSet) -> Doubles:
        if len(one.nodes) == 1:
            alone: Doubles = self.vectors[one.nodes[0]]
            return alone
        total = len(one.nodes) * self.weight
        place: Doubles = total * (one.weights @ self.vectors[one.nodes]) / (total - self.values)
        return place

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        with one_thread():
            found: Doubles = self.vectors @ (self.heights * self.places(sets)).T
        return found

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        places = self.places(sets)
        own = np.einsum("sk,sk,k->s", places, places, self.heights)
        found: Doubles = own + self._terms[:, None] - 2 * self.similarities_of(sets)
        return found

    @cached_property
    def _terms(self) -> Doubles:
        """K_tt of every term."""
        found: Doubles = np.einsum("tk,tk,k->t", self.vectors, self.vectors, self.heights)
        return found

    def similarity(self, a: TermSet, b: TermSet) -> float:
        left, right = self.places([a, b])
        return float((self.heights * left) @ right)

    def distance(self, a: TermSet, b: TermSet) -> float:
        left, right = self.places([a, b])
        return float(self.heights @ (left - right) ** 2)


def _placed(sets: list[TermSet], n: int) -> Doubles:
    """Give sets as columns of n weights."""
    out = np.zeros((n, len(sets)))
    for j, one in enumerate(sets):
        out[one.nodes, j] = one.weights
    return out


def _joined(a: TermSet, b: TermSet) -> tuple[Ints, tuple[Doubles, Doubles]]:
    """Give the nodes of two sets, and the weights of each set on them."""
    nodes = np.union1d(a.nodes, b.nodes)
    left, right = np.zeros(len(nodes)), np.zeros(len(nodes))
    left[np.searchsorted(nodes, a.nodes)] = a.weights
    right[np.searchsorted(nodes, b.nodes)] = b.weights
    return nodes, (left, right)


def _batches(sets: list[TermSet], most: int) -> Iterator[tuple[list[TermSet], Ints]]:
    """Cut sets into runs that have at most so many terms together (or are one set)."""
    some: list[TermSet] = []
    union = np.empty(0, np.int64)
    for one in sets:
        wider = np.union1d(union, one.nodes)
        if some and len(wider) > most:
            yield some, union
            some, wider = [], one.nodes
        some.append(one)
        union = wider
    if some:
        yield some, union


def _solve(block: Doubles, sides: Doubles) -> Doubles:
    from scipy.linalg import cho_factor, cho_solve  # slow to import, and sets by mean need none

    try:
        with one_thread():
            solved: Doubles = cho_solve(cho_factor(block, lower=True), sides)
    except np.linalg.LinAlgError:
        raise UsageError(
            f"the kernel of these {len(block)} terms is not positive definite, so that they cannot "
            "be collapsed: take sets by mean, or a kernel with more eigenvectors"
        ) from None
    return solved
