"""How many pairs does an approximation put the wrong way round?"""

from __future__ import annotations

import numpy as np

from likewise.compiled import Doubles, Ints, kernel
from likewise.errors import UsageError


def misplacements(exact: Doubles, approximate: Doubles) -> float:
    """Give the share of misplaced pairs in the orders of terms by distance, from 0 to 1.

    Both are distances between the same test terms. For each of them the others are put in order;
    a pair whose order is reversed counts one, a pair that is tied in one order only counts half:
    a random order has a half (the paper's Table 1; `(1 - τ) / 2` by Kendall's τ without ties).
    """
    exact, approximate = np.asarray(exact, np.float64), np.asarray(approximate, np.float64)
    k = len(exact)
    if exact.shape != (k, k) or approximate.shape != (k, k) or k < 3:
        raise UsageError(
            "misplacements are counted between two square tables of three or more terms, "
            f"not {exact.shape} and {approximate.shape}"
        )
    if not (np.isfinite(exact).all() and np.isfinite(approximate).all()):
        raise UsageError("misplacements are counted between finite distances only")
    others = ~np.eye(k, dtype=np.bool_)
    rows = exact[others].reshape(k, k - 1), approximate[others].reshape(k, k - 1)
    wrong = sum(misplaced(left, right) for left, right in zip(*rows, strict=True))
    return wrong / (k * (k - 1) * (k - 2) / 2)


def misplaced(left: Doubles, right: Doubles) -> float:
    """Count the pairs that two orders do not have the same way round (Knight 1966).

    Equals `(np.sign(left[:, None] - left) != np.sign(right[:, None] - right))` over pairs, a pair
    that is tied in one of them counting half.
    """
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    same_left, same_both = np.diff(left) == 0, (np.diff(left) == 0) & (np.diff(right) == 0)
    ranks = np.unique(right, return_inverse=True)[1].astype(np.int64)
    same_right = np.diff(np.sort(ranks)) == 0
    tied = _pairs(same_left) + _pairs(same_right) - 2 * _pairs(same_both)
    return float(inversions(ranks) + tied / 2)


def _pairs(same: np.typing.NDArray[np.bool_]) -> int:
    """Count pairs within runs of equals, given which neighbours are equal."""
    edges = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
    runs = np.diff(edges)
    return int((runs * (runs - 1) // 2).sum())


@kernel
def inversions(ranks: Ints) -> int:
    """Count the pairs of which the first is larger, by a tree of counts.

    Equals `np.triu(ranks[:, None] > ranks).sum()`.
    """
    size = 0
    for rank in ranks:
        size = max(size, rank + 1)
    tree = np.zeros(size + 1, np.int64)
    found = 0
    for seen in range(len(ranks)):
        place = ranks[seen] + 1
        smaller_or_same = 0
        i = place
        while i > 0:
            smaller_or_same += tree[i]
            i -= i & -i
        found += seen - smaller_or_same
        i = place
        while i <= size:
            tree[i] += 1
            i += i & -i
    return found
