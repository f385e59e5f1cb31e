"""Tables 1 and 4: how near a search by Hellinger distance comes to an exhaustive one by
Jensen-Shannon divergence, and how much faster it is. Times are ratios within a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints, one_blas_thread
from likewise.errors import MissingExtra, UsageError
from likewise.neighbours.index import Neighbours, build_neighbours
from likewise.neighbours.kernels import score_pairs
from likewise.neighbours.metrics import JENSEN_SHANNON
from likewise_papers.bench import Bench
from likewise_papers.comparing import claim_above, claim_same
from likewise_papers.experiment import Claim, Result, Row, Table, Value, estimate, verdict
from likewise_papers.papers.simplex.topics import distributions, fitted

JS, TREE = "JS, exhaustive", "He k-d tree"
CERTIFIED = "JS, certified"
LSH = {radius: f"He LSH R = {radius}" for radius in (0.4, 0.6, 0.8)}
# MAP, P@5, R@5 and speed-up, by row.
PUBLISHED = {
    LSH[0.4]: (0.14, 0.26, 0.13, 983.88),
    LSH[0.6]: (0.53, 0.70, 0.35, 654.22),
    LSH[0.8]: (0.92, 0.99, 0.49, 336.27),
    TREE: (0.92, 0.99, 0.49, 1425.23),
}
TOPICS = (50, 100, 200, 500)
# Of patents, by T: over an exhaustive search with 500 topics.
SPEED = {
    JS: (6.4, 4.0, 2.3, 1.0),
    LSH[0.4]: (85.6, 75.3, 57.8, 35.6),
    LSH[0.6]: (59.2, 53.4, 38.1, 27.9),
    LSH[0.8]: (46.1, 33.0, 29.0, 16.7),
    TREE: (793.6, 410.4, 224.6, 98.4),
}
K = 10
_CERTIFIED_LIMIT = 2000
# A quarter of the documents may ask the others for ten.
_LEAST = 2 * K
_QUALITY, _SPEED_UP = ("MAP", "P@5", "R@5"), "speed-up"

Made = TypeVar("Made")


class Found(NamedTuple):
    """What a method found: AP and hits among the first five of each query, seconds a query."""

    precisions: Doubles
    hits: Doubles
    seconds: float
    closed: float = 1.0


class Measured(NamedTuple):
    """The exhaustive search's seconds a query, what others found, and what could not be tried."""

    exhaustive: float
    found: dict[str, Found]
    missing: list[str]
    n_docs: int


def table_1(bench: Bench) -> Result:
    """Search for documents like some that are not among them."""
    theta = _theta(bench, bench["topics"])
    bench.say(f"{len(theta):,} documents, {theta.shape[1]} topics")
    measured = measure(theta, bench["methods"], n_queries=bench["queries"], seed=bench.seed)
    return Result(
        claims=tuple(make_claims(measured)),
        tables=_tables(measured, theta.shape[1]),
    )


def table_4(bench: Bench) -> Result:
    """Take the time of a search by the number of topics."""
    measured = {
        topics: measure(
            _theta(bench, topics), bench["methods"], n_queries=bench["queries"], seed=bench.seed
        )
        for topics in bench["topics"]
    }
    last = measured[max(measured)].exhaustive
    speed: dict[str, dict[int, float]] = {
        JS: {topics: last / one.exhaustive for topics, one in measured.items()}
    }
    for name in bench["methods"]:
        speed[name] = {topics: last / one.found[name].seconds for topics, one in measured.items()}
    published = _published(max(measured))
    rows = tuple(
        Row(
            name,
            {f"T = {topics}": Value(value) for topics, value in row.items()},
            {
                f"T = {topics}": value
                for topics, value in published.get(name, {}).items()
                if topics in row
            },
            ours=name not in SPEED,
        )
        for name, row in speed.items()
    )
    columns = tuple(f"T = {topics}" for topics in measured)
    note = f"Over an exhaustive search with {max(measured)} topics."
    return Result(
        claims=tuple(speed_claims(speed)),
        tables=(Table("Speed-up", columns, rows, digits=1, unit="×", note=note),),
    )


def _published(most: int) -> dict[str, dict[int, float]]:
    """Give the published speeds, over that of an exhaustive search with so many topics."""
    if most not in TOPICS:
        return {}
    one = SPEED[JS][TOPICS.index(most)]
    return {
        name: {topics: value / one for topics, value in zip(TOPICS, row, strict=True)}
        for name, row in SPEED.items()
    }


def make_claims(measured: Measured) -> list[Claim]:
    """Give the claims of Table 1."""
    found = measured.found
    speed = {name: measured.exhaustive / one.seconds for name, one in found.items()}
    five = {name: float(found[name].hits.mean()) / 5 for name in (LSH[0.8], TREE)}
    told = ", ".join(f"{speed[name]:.0f}× ({name})" for name in PUBLISHED)
    claims = [
        claim_above(
            "LSH finds more the larger its radius is (MAP).",
            {
                f"R = {wide} over {narrow}": (
                    found[LSH[wide]].precisions,
                    found[LSH[narrow]].precisions,
                )
                for narrow, wide in ((0.4, 0.6), (0.6, 0.8))
            },
        ),
        claim_same(
            "LSH with R = .8 and the k-d tree find the same (MAP).",
            {"k-d tree over LSH": (found[TREE].precisions, found[LSH[0.8]].precisions)},
        ),
        Claim(
            "With R = .8 and with the k-d tree P@5 is almost perfect, .99.",
            verdict(min(five.values()) >= 0.985),
            ", ".join(f"{value:.3f} ({name})" for name, value in five.items()),
        ),
        Claim(
            "The k-d tree is faster than LSH at any radius.",
            verdict(all(speed[TREE] > speed[name] for name in LSH.values())),
            told,
        ),
        Claim(
            "Search is 336 to 1,425 times as fast as the exhaustive one.",
            verdict(all(speed[name] >= row[-1] for name, row in PUBLISHED.items())),
            f"{told}, of {measured.n_docs:,} documents where the paper has 343,000",
        ),
    ]
    if CERTIFIED in found:
        one = found[CERTIFIED]
        claims.append(
            Claim(
                "Certified search gives the answers of the exhaustive one, and is faster.",
                verdict(bool(one.precisions.min() > 1 - 1e-9) and speed[CERTIFIED] > 1),
                f"MAP {one.precisions.mean():.3f}, proved for {one.closed:.1%} of the queries, "
                f"{speed[CERTIFIED]:.0f}×",
                ours=True,
            )
        )
    return claims


def speed_claims(speed: Mapping[str, Mapping[int, float]]) -> list[Claim]:
    """Give the claims of Table 4: speed-ups by row and number of topics."""
    hashed = [name for name in LSH.values() if name in speed]
    falling = {
        name: bool(np.all(np.diff([row[topics] for topics in sorted(row)]) < 0))
        for name, row in speed.items()
        if name in SPEED
    }
    ahead = {
        topics: speed[TREE][topics] / max(speed[name][topics] for name in hashed)
        for topics in speed[TREE]
    }
    wide = [speed[name] for name in hashed]
    return [
        Claim(
            "The k-d tree is faster than LSH with every number of topics.",
            verdict(all(ratio > 1 for ratio in ahead.values())),
            "the tree's speed over that of the fastest LSH: "
            + ", ".join(f"{ratio:.2f} (T = {topics})" for topics, ratio in ahead.items()),
        ),
        Claim(
            "LSH is the faster the smaller its radius is.",
            verdict(all(a[topics] > b[topics] for a, b in pairwise(wide) for topics in a)),
            "; ".join(
                f"{name}: " + ", ".join(f"{value:.1f}" for value in speed[name].values())
                for name in hashed
            ),
        ),
        Claim(
            "Every search is slower with more topics.",
            verdict(all(falling.values())),
            "so it is of " + (", ".join(n for n, held in falling.items() if held) or "none"),
        ),
    ]


def measure(
    theta: Floats, methods: Mapping[str, list[str]], *, n_queries: int, seed: int = 0
) -> Measured:
    """Hold methods against the exhaustive search, some documents asking the others."""
    with one_blas_thread():
        return _measure(theta, methods, n_queries, seed)


def _measure(
    theta: Floats, methods: Mapping[str, list[str]], n_queries: int, seed: int
) -> Measured:
    order = np.random.default_rng(seed + 1).permutation(len(theta))
    n = min(n_queries, len(theta) // 4)
    queries, base = theta[order[:n]], np.ascontiguousarray(theta[order[n:]])
    exhaustive(base[:100], queries[:2], K)
    truth, seconds = _timed(partial(exhaustive, base, queries, K))
    found, missing = {}, []
    for name, (metric, method) in methods.items():
        try:
            index = build_neighbours(
                base, metric=metric, method="scan" if method == "certified" else method
            )
        except MissingExtra:
            missing.append(name)
            continue
        search = _certified if method == "certified" else _nearest
        search(index, queries[:2])
        (numbers, closed), taken = _timed(partial(search, index, queries))
        hits = (numbers[:, :, None] == truth[:, None, :]).any(axis=2)
        found[name] = Found(
            average_precisions(hits),
            hits[:, :5].sum(axis=1).astype(np.float64),
            max(taken, 1e-9) / n,
            float(closed.mean()),
        )
    return Measured(seconds / n, found, missing, len(base))


def exhaustive(theta: Floats, queries: Floats, k: int) -> Ints:
    """Rank by Jensen-Shannon divergence, every pair worked out."""
    roots, asked = np.sqrt(theta), np.sqrt(queries)
    out = np.empty((1, len(theta)), np.float32)
    best = np.empty((len(queries), k), np.int64)
    for i in range(len(queries)):
        score_pairs(JENSEN_SHANNON, np.float32(1), asked[i : i + 1], roots, 0, out)
        best[i] = np.lexsort((np.arange(len(theta)), out[0]))[:k]
    return best


def average_precisions(hits: Bools) -> Doubles:
    """Give the AP of each row of hits, of which there are as many relevant as columns."""
    ranks = np.arange(1, hits.shape[1] + 1)
    found: Doubles = (hits * np.cumsum(hits, axis=1) / ranks).sum(axis=1) / hits.shape[1]
    return found


def _nearest(index: Neighbours, queries: Floats) -> tuple[Ints, Bools]:
    return index.nearest(queries, K).numbers, np.ones(len(queries), np.bool_)


def _certified(index: Neighbours, queries: Floats) -> tuple[Ints, Bools]:
    found = index.nearest(queries, K, certified=True, limit=_CERTIFIED_LIMIT)
    return found.numbers, found.closed


def _theta(bench: Bench, topics: int) -> Floats:
    [name] = bench.sets
    _, shares = distributions(fitted(bench, bench.open(name), topics))
    if len(shares) < _LEAST:
        raise UsageError(
            f"{name} has {len(shares)} documents with topics, and it takes {_LEAST} at least"
        )
    return shares


def _tables(measured: Measured, topics: int) -> tuple[Table, Table]:
    quality, speed = [], []
    for name, one in measured.found.items():
        published = PUBLISHED.get(name, ())
        quality.append(
            Row(
                name,
                {
                    "MAP": estimate(one.precisions),
                    "P@5": estimate(one.hits / 5),
                    "R@5": estimate(one.hits / K),
                },
                dict(zip(_QUALITY, published, strict=False)),
                ours=not published,
            )
        )
        speed.append(
            Row(
                name,
                {_SPEED_UP: Value(measured.exhaustive / one.seconds)},
                {_SPEED_UP: published[-1]} if published else {},
                ours=not published,
            )
        )
    left = f" Left out, not installed: {', '.join(measured.missing)}." if measured.missing else ""
    note = f"{measured.n_docs:,} documents, {topics} topics.{left}"
    return (
        Table("The ten nearest by Jensen-Shannon divergence", _QUALITY, tuple(quality), note=note),
        Table(
            "Over the exhaustive search, processor time",
            (_SPEED_UP,),
            tuple(speed),
            digits=1,
            unit="×",
            note=f"The exhaustive search takes {measured.exhaustive * 1e3:.2f} ms a query.",
        ),
    )


def _timed(call: Callable[[], Made]) -> tuple[Made, float]:
    start = time.process_time()
    value = call()
    return value, time.process_time() - start
