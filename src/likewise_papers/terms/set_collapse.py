"""What if a set of terms were one node of the graph? The kernel of that graph, in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from likewise.compiled import Doubles, Ints, one_blas_thread
from likewise.errors import UsageError
from likewise.terms.kernel import Kernel
from likewise.terms.sets import TermSet, joined, placed

# How many numbers the columns of some sets may take at once, and how many terms a block may have.
_CELLS = 1 << 24
_BLOCK = 1024
# Each term of a set takes a column of the kernel.
_LARGEST = 2000


class Collapse:
    """A set is one node of the graph in which its terms have become one (short-circuited).

    Nothing is recomputed: the new kernel is a closed form of the old one, exact for resistance on
    the combinatorial Laplacian. Any other positive definite kernel gives the same algebra a value,
    but not that of a collapsed graph. Members count alike: a short circuit has no weights. A set
    has at most 2,000 terms.

    With M = K⁻¹ and P the membership of terms in the nodes that are left, the collapsed kernel is
    `(PᵀMP)⁻¹`, and its block of the new nodes is `(PᵀK_BB⁻¹P)⁻¹` with B their members. (With
    M = L + εI a new node of |S| terms has |S|ε where others have ε.)

    For one set S with x = K_SS⁻¹1, c = 1ᵀx, h = K_tS x it follows that K'_ss = 1/c, K'_st = h/c
    and `d(S, t) = (K_tt - K_tS K_SS⁻¹ K_St) + (1 - h)²/c`: both parts are small where K is large
    (small ε), so that nothing is lost by taking large numbers from one another.
    """

    merges: ClassVar[bool] = True
    spectral: ClassVar[bool] = False

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._kept = np.empty(0, np.int64), np.empty((0, 0))

    def similarities_of(self, sets: list[TermSet]) -> Doubles:
        """Give K'_st of each set (a column) and every term."""
        _check_sizes(sets)
        leaning = []
        for some, union in _batches(sets, _BLOCK):
            block = self._block(union)
            leaning += [_lean(block, np.searchsorted(union, one.nodes), one.nodes) for one in some]
        return self.kernel.columns(placed(leaning, len(self.kernel)))

    def leaning(self, one: TermSet) -> TermSet:
        """Give the weights x/c: K'_st is that of a mean by them."""
        _check_sizes([one])
        return _lean(self._block(one.nodes), np.arange(len(one.nodes)), one.nodes)

    def pairing(self, a: TermSet, b: TermSet) -> tuple[TermSet, TermSet]:
        """Give weights w, v of terms by which K'_ab is `Σ v_i K_ij w_j`."""
        nodes, (left, right) = joined(a, b)
        if (left * right).any():
            both = self._merged(a, b)
            return both, both
        # In the graph with both new nodes the column of a is K w, w = K_BB⁻¹ P (PᵀK_BB⁻¹P)⁻¹ e_a:
        # K'_ab stands there at every member of b. What w has on b sums to 0.
        joint = self._joint(a, b)
        weights = (joint.of_first * joint.second - joint.between * joint.of_all) / joint.det
        return TermSet(nodes, weights), TermSet(b.nodes, np.full(len(b.nodes), 1 / len(b.nodes)))

    def distances_of(self, sets: list[TermSet]) -> Doubles:
        """Give d(S, t) of each set (a column) and every term."""
        _check_sizes(sets)
        n = len(self.kernel)
        diagonal, found = self.kernel.diagonal(), []
        for some, union in _batches(sets, max(_CELLS // max(n, 1), 1)):
            each = [TermSet(node, np.ones(1)) for node in union[:, None]]
            columns = self.kernel.columns(placed(each, n))
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
        """Give K'_ab."""
        return self.gram(a, b)[2]

    def distance(self, a: TermSet, b: TermSet) -> float:
        """Give d of two sets, 0 where they share a term."""
        if np.intersect1d(a.nodes, b.nodes).size:
            return 0.0
        joint = self._joint(a, b)
        return (joint.first + joint.second) / joint.det

    def gram(self, a: TermSet, b: TermSet) -> tuple[float, float, float]:
        """Give K'_aa, K'_bb and K'_ab of the graph in which both have become nodes."""
        if np.intersect1d(a.nodes, b.nodes).size:
            merged = self._merged(a, b)
            found = float((self._block(merged.nodes)[0] * merged.weights).sum())
            return found, found, found
        joint = self._joint(a, b)
        own = (joint.second - joint.between) / joint.det, (joint.first - joint.between) / joint.det
        # Added to 0, so that nothing between them is 0 and not -0.
        return *own, 0.0 - joint.between / joint.det

    def _merged(self, a: TermSet, b: TermSet) -> TermSet:
        _check_sizes([a, b])
        nodes = np.union1d(a.nodes, b.nodes)
        return _lean(self._block(nodes), np.arange(len(nodes)), nodes)

    def _joint(self, a: TermSet, b: TermSet) -> _Joint:
        _check_sizes([a, b])
        nodes, (left, right) = joined(a, b)
        # The rows of PᵀK_BB⁻¹P sum to what leaks from the nodes by ε, which may be too small to be
        # seen beside the rest: so that is solved for as well.
        sides = np.column_stack([left > 0, right > 0, np.ones(len(nodes))]).astype(np.float64)
        solved = _solve(self._block(nodes), sides)
        with one_blas_thread():
            sums = sides[:, :2].T @ solved
        first, second = float(sums[0, 2]), float(sums[1, 2])
        between = float(sums[0, 1] + sums[1, 0]) / 2
        det = first * second - between * (first + second)
        if not det > 0:
            raise _not_definite(len(nodes))
        return _Joint(solved[:, 0], solved[:, 2], first, second, between, det)

    def _block(self, nodes: Ints) -> Doubles:
        """Give the kernel of some nodes; that of few is kept until others are asked for."""
        kept, block = self._kept
        if not np.array_equal(kept, nodes):
            block = self.kernel.block(nodes)
            if len(nodes) <= _BLOCK:
                self._kept = nodes, block
        return block


class _Joint(NamedTuple):
    """PᵀK_BB⁻¹P of two nodes as [[first - between, between], [between, second - between]].

    With its determinant, and K_BB⁻¹ by the members of the first and by all of them.
    """

    of_first: Doubles
    of_all: Doubles
    first: float
    second: float
    between: float
    det: float


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


def _check_sizes(sets: Iterable[TermSet]) -> None:
    largest = max((len(one.nodes) for one in sets), default=0)
    if largest > _LARGEST:
        raise UsageError(
            f"a set of {largest:,} terms is too large to be collapsed, at most "
            f"{_LARGEST:,}: use sets=mean"
        )


def _lean(block: Doubles, at: Ints, nodes: Ints) -> TermSet:
    """Give the weights x/c of a set, whose terms stand at these places of a block."""
    x = _solve(block[np.ix_(at, at)], np.ones((len(at), 1)))[:, 0]
    return TermSet(nodes, x / x.sum())


def _solve(block: Doubles, sides: Doubles) -> Doubles:
    from scipy.linalg import cho_factor, cho_solve  # slow to import, and sets by mean need none

    try:
        with one_blas_thread():
            solved: Doubles = cho_solve(cho_factor(block, lower=True), sides)
    except np.linalg.LinAlgError:
        raise _not_definite(len(block)) from None
    return solved


def _not_definite(n: int) -> UsageError:
    return UsageError(
        f"the kernel of these {n} terms is not positive definite, so that they cannot be "
        "collapsed: take sets by mean, or a kernel with more eigenvectors"
    )
