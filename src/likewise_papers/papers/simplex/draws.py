"""Figures 1 and 2: draws from Dirichlet distributions.

How Hellinger distance bounds Jensen-Shannon divergence, and how much of the nearest is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from likewise.compiled import Doubles, Floats
from likewise.neighbours.index import Nearest, build_neighbours
from likewise_papers.bench import Bench
from likewise_papers.comparing import claim_above
from likewise_papers.experiment import Claim, Drawing, Result, Row, Table, Value, verdict

# In nats and with the ½ of Eq. 3; sharp.
BOUNDS = math.log(2) / 2, 0.5
# Eq. 7, which is of the divergence without the ½.
PUBLISHED = 0.5, 2 * math.log(2)
LSH, TREE = "LSH, R = .6", "k-d tree"
METHODS = {LSH: "lsh(radius=0.6)", TREE: "tree"}
_OURS = {"k-d tree, ε = 3": "tree(epsilon=3)"}
_RANKS = 10
# Float32 is off by so much of a quotient; of what is nearer than this nothing can be told.
_ROUNDING, _NEAREST = 1e-3, 1e-4
_BINS = 12
# Draws that share no topic are all as far: which of them is found makes no difference.
_TIED = 1e-6
_MANY = 0.9

Spread = Mapping[tuple[float, int], tuple[Doubles, Doubles]]
Hits = Mapping[str, Mapping[tuple[float, int], Doubles]]


def draw(n: int, dimensions: int, alpha: float, *, seed: int = 0) -> Floats:
    """Draw from a symmetric Dirichlet distribution, in logarithms so that small α do not vanish."""
    random = np.random.default_rng(seed)
    logs = np.log(random.gamma(alpha + 1, size=(n, dimensions)))
    logs += np.log(random.random((n, dimensions))) / alpha
    values = np.exp(logs - logs.max(axis=1, keepdims=True))
    drawn: Floats = (values / values.sum(axis=1, keepdims=True)).astype(np.float32)
    return drawn


def figure_1(bench: Bench) -> Result:
    """Work out both divergences of all pairs."""
    spread = {}
    for alpha in bench["alphas"]:
        for d in bench["dimensions"]:
            theta = draw(bench["draws"], d, alpha, seed=bench.seed)
            pairs = np.triu_indices(len(theta), 1)
            spread[alpha, d] = (
                _all_pairs(theta, "hellinger")[pairs],
                _all_pairs(theta, "js")[pairs],
            )
    return Result(
        claims=tuple(bound_claims(spread)),
        tables=(_ratios(spread),),
        drawings=(_scatter(spread),),
    )


def bound_claims(spread: Spread) -> list[Claim]:
    """Give the claims: Hellinger distances and divergences of all pairs, by α and dimension."""
    outside = {which: _outside(spread, *which) for which in ((2.0, PUBLISHED), (1.0, BOUNDS))}
    n = sum(len(he) for he, _ in spread.values())
    alphas, dimensions = _axes(spread)
    middle = {key: float(np.median(he)) for key, (he, _) in spread.items()}
    means = {key: float(he.mean()) for key, (he, _) in spread.items()}
    sparse = [alpha for alpha in alphas if alpha < 1]
    top = max(alphas)
    far = all(middle[alpha, d] > 1 for alpha in sparse for d in dimensions)
    close = all(middle[top, d] < 0.1 for d in dimensions)
    ends = min(dimensions), max(dimensions)
    rising = all(means[alpha, ends[1]] > means[alpha, ends[0]] for alpha in sparse)
    told = ", ".join(f"{middle[alpha, max(dimensions)]:.3f} (α = {alpha:g})" for alpha in alphas)
    return [
        Claim(
            "½ He ≤ JS ≤ 2 ln 2 He, JS without its ½, in every dimension.",
            verdict(not any(outside[2.0, PUBLISHED].values())),
            _counted(outside[2.0, PUBLISHED], n),
        ),
        Claim(
            "With large α divergences are small; with α below 1 most are near the upper bound, 2.",
            verdict(far and close),
            f"the median of He in {max(dimensions)} dimensions: {told}",
        ),
        Claim(
            "With more dimensions the mass moves to the upper bound (α below 1).",
            verdict(rising),
            "the mean of He by dimension: "
            + "; ".join(
                f"α = {alpha:g}: " + ", ".join(f"{means[alpha, d]:.3f}" for d in dimensions)
                for alpha in sparse
            ),
        ),
        Claim(
            "With the ½ and in nats, ln 2 / 2 · He ≤ JS ≤ ½ He.",
            verdict(not any(outside[1.0, BOUNDS].values())),
            _counted(outside[1.0, BOUNDS], n),
            ours=True,
        ),
    ]


def _axes(values: Iterable[tuple[float, int]]) -> tuple[list[float], list[int]]:
    """Give the α and the dimensions that there are values of."""
    keys = [*values]
    return sorted({alpha for alpha, _ in keys}), sorted({d for _, d in keys})


def _outside(spread: Spread, factor: float, bounds: tuple[float, float]) -> dict[int, int]:
    out: dict[int, int] = {}
    for (_, d), (he, js) in spread.items():
        ratio = factor * js[he > _NEAREST] / he[he > _NEAREST]
        wrong = (ratio < bounds[0] - _ROUNDING) | (ratio > bounds[1] + _ROUNDING)
        out[d] = out.get(d, 0) + int(wrong.sum())
    return out


def _counted(outside: Mapping[int, int], n: int) -> str:
    told = ", ".join(f"{wrong} in {d} dimensions" for d, wrong in outside.items())
    return f"pairs outside, of {n:,} in all: {told}"


def _all_pairs(theta: Floats, metric: str) -> Doubles:
    found = build_neighbours(theta, metric=metric, method="scan").nearest(theta, len(theta))
    out = np.empty((len(theta), len(theta)))
    np.put_along_axis(out, found.numbers, found.distances.astype(np.float64), axis=1)
    return out


def _ratios(spread: Spread) -> Table:
    alphas, dimensions = _axes(spread)
    rows = []
    for alpha in alphas:
        for name, of in (("least", np.min), ("most", np.max)):
            values = {}
            for d in dimensions:
                he, js = spread[alpha, d]
                values[f"D = {d}"] = Value(float(of(js[he > _NEAREST] / he[he > _NEAREST])))
            rows.append(Row(f"α = {alpha:g}, {name}", values))
    return Table(
        "JS / He",
        tuple(f"D = {d}" for d in dimensions),
        tuple(rows),
        digits=4,
        note=f"Sharp bounds: {BOUNDS[0]:.4f} and {BOUNDS[1]:.4f}.",
    )


def _scatter(spread: Spread) -> Drawing:
    """The pairs of each α as a line through the means of bins."""
    alphas, dimensions = _axes(spread)
    panels: list[dict[str, Any]] = []
    for d in dimensions:
        lines = {}
        for alpha in alphas:
            he, js = (values[spread[alpha, d][0] > _NEAREST] for values in spread[alpha, d])
            bins = [b for b in np.array_split(np.argsort(he, kind="stable"), _BINS) if len(b)]
            lines[f"α = {alpha:g}"] = [
                (float(he[b].mean()), float((js[b] / he[b]).mean())) for b in bins
            ]
        levels = {"½": BOUNDS[1], "ln 2 / 2": BOUNDS[0]}
        panels.append({"name": f"D = {d}", "lines": lines, "levels": levels})
    return Drawing(
        "panels",
        "Jensen-Shannon divergence over Hellinger distance, and its bounds",
        x_label="He",
        y_label="JS / He",
        panels=tuple(panels),
        note=f"Each line is the pairs of one α, the means of {_BINS} bins of as many pairs.",
    )


def figure_2(bench: Bench) -> Result:
    """Find the ten nearest of draws, each of them a query, which is its own nearest."""
    hits: dict[str, dict[tuple[float, int], Doubles]] = {name: {} for name in METHODS | _OURS}
    for alpha in bench["alphas"]:
        bench.say(f"α = {alpha:g}")
        for d in bench["dimensions"]:
            theta = draw(bench["draws"], d, alpha, seed=bench.seed)
            asked = theta[: bench["queries"]]
            k = min(_RANKS, len(theta))
            truth = build_neighbours(theta, method="scan").nearest(asked, k)
            for name, method in (METHODS | _OURS).items():
                found = build_neighbours(theta, method=method).nearest(asked, k)
                hits[name][alpha, d] = found_at(found, truth)
    return Result(
        claims=tuple(recall_claims(hits)),
        tables=(_recalls(hits),),
        drawings=tuple(_by_rank(hits, name) for name in METHODS),
    )


def found_at(found: Nearest, truth: Nearest) -> Doubles:
    """Tell of each query (row) whether its neighbour of each rank was found, or one as near."""
    same = (found.numbers[:, :, None] == truth.numbers[:, None, :]).any(axis=1)
    hit: Doubles = (same | (found.distances <= truth.distances + _TIED)).astype(np.float64)
    return hit


def recall_claims(hits: Hits) -> list[Claim]:
    """Give the claims: whether neighbours were found, by method, α and dimension."""
    alphas, dimensions = _axes(hits[LSH])
    sparse = [alpha for alpha in alphas if alpha < 1]
    even = [alpha for alpha in alphas if alpha > 1]
    least = {
        name: min((hits[name][alpha, d].mean() for alpha in even for d in dimensions), default=0.0)
        for name in METHODS
    }
    lsh = [float(_together(hits, LSH, sparse, d).mean()) for d in dimensions]
    return [
        Claim(
            "With large α both methods find the ten nearest.",
            verdict(min(least.values()) >= _MANY),
            "of the ten nearest, with α above 1, at least "
            + ", ".join(f"{value:.2f} ({name})" for name, value in least.items()),
        ),
        claim_above(
            "With small α the k-d tree is much more robust than LSH (found of ranks 2 to 10).",
            {
                f"D = {d}": tuple(
                    _together(hits, name, sparse, d)[:, 1:].mean(axis=1) for name in (TREE, LSH)
                )
                for d in dimensions
            },
        ),
        claim_above(
            "LSH finds the nearest neighbour (rank 2) more often than what is farther (rank 10).",
            {
                f"D = {d}": (
                    _together(hits, LSH, sparse, d)[:, 1],
                    _together(hits, LSH, sparse, d)[:, -1],
                )
                for d in dimensions
            },
        ),
        Claim(
            "Neighbours are easier to find in fewer dimensions (LSH, α below 1).",
            verdict(bool(np.all(np.diff(lsh) < 0))),
            "found of the ten nearest: "
            + ", ".join(f"{v:.3f} (D = {d})" for d, v in zip(dimensions, lsh, strict=True)),
        ),
    ]


def _together(hits: Hits, name: str, alphas: Iterable[float], d: int) -> Doubles:
    return np.concatenate([hits[name][alpha, d] for alpha in alphas])


def _recalls(hits: Hits) -> Table:
    alphas, dimensions = _axes(hits[LSH])
    rows = [
        Row(
            f"{name}, α = {alpha:g}",
            {f"D = {d}": Value(float(hits[name][alpha, d][:, 1:].mean())) for d in dimensions},
            ours=name not in METHODS,
        )
        for name in hits
        for alpha in alphas
    ]
    return Table(
        "Found of ranks 2 to 10", tuple(f"D = {d}" for d in dimensions), tuple(rows), digits=2
    )


def _by_rank(hits: Hits, name: str) -> Drawing:
    alphas, dimensions = _axes(hits[LSH])
    panels = []
    for alpha in alphas:
        lines = {}
        for d in dimensions:
            shares = hits[name][alpha, d].mean(axis=0).tolist()
            lines[f"D = {d}"] = [(rank, share) for rank, share in enumerate(shares, 1)]
        # Levels keep all panels to one range.
        levels = {"all": 1.0, "none": 0.0}
        panels.append({"name": f"α = {alpha:g}", "lines": lines, "levels": levels})
    return Drawing(
        "panels",
        f"Found at each rank: {name}",
        x_label="rank (1 is the point itself)",
        y_label="share found",
        panels=tuple(panels),
    )
