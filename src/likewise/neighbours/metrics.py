"""What is near? The table of divergences, each with the Euclidean space that it is searched in.

A metric says how a vector becomes a *point*; its distance is worked out from points alone:

| name | distance | point | against the squared Euclidean distance E of points |
|---|---|---|---|
| `hellinger` | Σ(√p - √q)² (at most 2, no root) | √p | equals E |
| `js` | ½ KL(p, m) + ½ KL(q, m), m = ½(p + q), nats | √p | at least (ln 2 / 2) E, at most ½ E |
| `kl` | KL(q, p) = Σ q ln(q/p), q the query; infinite where p = 0 < q | √p | at least E |
| `cosine` | 1 - cos(p, q) | p / ‖p‖ | equals ½ E |
| `inner` | -⟨p, q⟩ | p and √(M² - ‖p‖²) | grows with E |
| `euclidean` | ‖p - q‖², no root | p | equals E |

M is the largest norm among the vectors that are searched together. A vector of zeros has no
place on the simplex or the sphere: it is nobody's neighbour and has none. The bounds on `js` are
sharp; that on `kl`, -2 ln(1 - E/2), follows from Jensen's inequality. With them a search among the
points nearest in Euclidean distance can prove that it is exact (`certified.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.arguments import check_texts
from likewise.compiled import Bools, Doubles, Floats
from likewise.errors import UsageError

SQUARED, JENSEN_SHANNON, KULLBACK_LEIBLER, PRODUCT = range(4)

_SUM_TOLERANCE = 1e-3
# How much of its squared length a lifted point may be off.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Metric:
    """A divergence: how it is worked out from points, and how it is bounded.

    `form` names the kernel. Of a `SQUARED` form the distance is `scale` times E; of the
    others with a `floor` it is at least `floor` times E.
    """

    name: str
    form: int
    simplex: bool = False
    sphere: bool = False
    scale: float = 1.0
    floor: float = 0.0

    @property
    def euclidean(self) -> bool:
        """Whether the nearest points are the nearest by this distance."""
        return self.form in (SQUARED, PRODUCT)

    @property
    def rootless(self) -> bool:
        """Whether a vector of zeros has no place."""
        return self.simplex or self.sphere

    def reach(self, distance: float, query_norm: float = 0.0, largest: float = 0.0) -> float:
        """Give the Euclidean radius around a query's point that holds all within a distance."""
        if self.form == PRODUCT:
            squares = query_norm**2 + largest**2
            return math.sqrt(max(squares * (1 + _ROUNDING) + 2 * distance, 0.0))
        if self.form == KULLBACK_LEIBLER:
            return math.sqrt(2 * -math.expm1(-max(distance, 0.0) / 2))
        factor = self.scale if self.form == SQUARED else self.floor
        return math.sqrt(max(distance, 0.0) / factor)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("hellinger", SQUARED, simplex=True),
        Metric("js", JENSEN_SHANNON, simplex=True, floor=math.log(2) / 2),
        Metric("kl", KULLBACK_LEIBLER, simplex=True, floor=1.0),
        Metric("cosine", SQUARED, sphere=True, scale=0.5),
        Metric("inner", PRODUCT),
        Metric("euclidean", SQUARED),
    )
}


def read_metric(name: str | Metric) -> Metric:
    """Find a metric by name."""
    if isinstance(name, Metric):
        return name
    check_texts(metric=name)
    if name not in METRICS:
        raise UsageError(f"unknown metric {name!r}: it is one of {', '.join(METRICS)}")
    return METRICS[name]


def similarity(metric: Metric, distances: ArrayLike) -> Doubles:
    """Turn distances into scores, the larger the nearer, that are sums over coordinates.

    `hellinger` gives Σ√p√q and `js` 1 - JS / ln 2, both from 0 (nothing shared) to 1 (the same);
    `cosine` the cosine; the others the negative distance.
    """
    values = np.asarray(distances, np.float64)
    if metric.name == "hellinger":
        return np.asarray(1 - values / 2)
    if metric.name == "js":
        return np.asarray(1 - values / math.log(2))
    return np.asarray(1 - values) if metric.name == "cosine" else -values


def similarity_parts(metric: Metric, point: Floats, query: Floats) -> Doubles:
    """Give what each coordinate adds to the similarity of two points."""
    x, y = point.astype(np.float64), query.astype(np.float64)
    p, q = x * x, y * y
    if metric.name == "js":
        both = _entropy_term(p + q) - _entropy_term(p) - _entropy_term(q)
        return np.asarray(both / (2 * math.log(2)))
    if metric.name == "kl":
        with np.errstate(divide="ignore"):  # infinite where support is missing
            return np.asarray(q * np.log(np.where(q > 0, p, 1)) - _entropy_term(q))
    if metric.name == "euclidean":
        return np.asarray(-((x - y) ** 2))
    return np.asarray(x * y)


def _entropy_term(p: Doubles) -> Doubles:
    return np.asarray(p * np.log(np.where(p > 0, p, 1)))


def as_rows(vectors: ArrayLike, dimensions: int | None = None) -> Floats:
    """Take vectors as rows of float32; one vector is one row."""
    try:
        if np.iscomplexobj(vectors):
            raise TypeError("these are complex")
        with np.errstate(over="ignore"):  # too large is infinite, and refused as such
            rows = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(f"vectors must be rows of numbers: {error}") from None
    rows = rows[None, :] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise UsageError(f"vectors must be rows of numbers, not an array of shape {rows.shape}")
    if dimensions is not None and rows.shape[1] != dimensions:
        raise UsageError(
            f"vectors of {rows.shape[1]} numbers where the index has vectors of {dimensions}"
        )
    return rows


def embed(metric: Metric, rows: Floats, *, query: bool = False) -> Floats:
    """Turn vectors into points; raise for a row that the metric is not defined on."""
    bad = ~np.isfinite(rows).all(axis=1)
    if bad.any():
        raise UsageError(f"vector {int(bad.argmax())} holds a number that is not finite")
    if metric.simplex:
        return _roots(metric, rows)
    if metric.sphere:
        lengths = norms(rows)
        return np.ascontiguousarray(
            rows / np.where(lengths > 0, lengths, 1)[:, None].astype(np.float32)
        )
    if metric.form == PRODUCT:
        points = np.zeros((len(rows), rows.shape[1] + 1), np.float32)
        points[:, :-1] = rows
        return points if query else lifted(points)
    return np.ascontiguousarray(rows)


def lifted(points: Floats) -> Floats:
    """Make points of `inner` as long as the longest vector among them, by their last number."""
    squares = norms(points[:, :-1]) ** 2
    points[:, -1] = np.sqrt(squares.max(initial=0.0) - squares)
    return points


def absent(metric: Metric, rows: Floats) -> Bools:
    """Tell which vectors have no place: zeros, where the metric knows directions only."""
    if not metric.rootless:
        return np.zeros(len(rows), np.bool_)
    none: Bools = np.logical_not(rows.any(axis=1))
    return none


def norms(rows: Floats) -> NDArray[np.float64]:
    """Give the Euclidean length of each row."""
    lengths: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return lengths


def _roots(metric: Metric, rows: Floats) -> Floats:
    sums = rows.sum(axis=1, dtype=np.float64)
    wrong = (rows < 0).any(axis=1) | ((np.abs(sums - 1) > _SUM_TOLERANCE) & (sums != 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise UsageError(
            f"vector {row} is not a distribution (it adds up to {sums[row]:.4g}, its smallest "
            f"number is {rows[row].min():.4g}): {metric.name} needs numbers of at least 0 "
            "that add up to 1; for other vectors use cosine, inner or euclidean"
        )
    roots = np.sqrt(rows / np.where(sums > 0, sums, 1)[:, None])
    return np.ascontiguousarray(roots, np.float32)
