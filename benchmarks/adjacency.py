"""Do words that stand together, and titles, say more? Weights chosen leaving one collection out.

    LIKEWISE_DATA=FOLDER[:FOLDER…] python benchmarks/adjacency.py [--cache FOLDER] [--queries N]

For every set of queries (judged.py) the default search answers, without `proximity`, and without
`keep`, which would undo some of what is measured. Then the first documents are ranked anew by every
weight of pairs, titles and exact titles on a grid. The weights of a row are chosen on all other
sets: the best mean of the changes in MAP and P@10, where neither falls by more than TOLERANCE on
any of those.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import likewise as lw
from judged import CACHE, NAMES, Judged, sets_of
from likewise.retrieve.proximity import Proximate, Proximity, words_asked

SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
WINDOWS = (1, 2, 4)
TOLERANCE = 0.002
DEPTH = 1000


class Ranked(NamedTuple):
    """What is known of one query: scores of its ranking, which are relevant, unit parts."""

    scores: Any
    relevant: Any
    n_relevant: int
    scale: float
    parts: Any  # windows + 2 columns: pairs by window, title, exact title


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--queries", type=int, default=400, help="at most, of each set")
    parser.add_argument("--only", default=NAMES)
    parser.add_argument("--method", default="", help="the search before (default: the default)")
    options = parser.parse_args()
    ranked: dict[str, list[Ranked]] = {}
    for name, one in sets_of(options.only, cache=options.cache, most=options.queries).items():
        ranked[name] = gather(one, options.method)
        print(f"{name}: {len(ranked[name])} queries", flush=True)
    grid = [(*one, w) for one in product(SHARES, SHARES, SHARES) for w in range(len(WINDOWS))]
    grid = [one for one in grid if one[0] or one[3] == 0]
    table = {
        name: np.array([measure(queries, one) for one in grid]) for name, queries in ranked.items()
    }
    report(grid, table)


def gather(one: Judged, method: str) -> list[Ranked]:
    """Answer the queries of a set, and work out what each part gives to the first documents."""
    snapshot = one.collection.snapshot
    pipeline = one.collection.pipeline(method or default_without_proximity(one.collection), k=DEPTH)
    hows = [Proximity(near=1.0, title=1.0, exact=1.0, window=w) for w in WINDOWS]
    found = []
    results = pipeline.results(one.queries)
    for result, relevant, own in zip(results, one.relevant, one.own, strict=True):
        ranking = result.ranking
        if not len(ranking.docs):
            continue
        first = ranking.cut(hows[0].candidates)
        parts = np.zeros((len(first.docs), len(WINDOWS) + 2))
        asked = words_asked(result.query, snapshot)
        scale = 1.0
        if asked is not None:
            gains = [Proximate(how, asked, first, snapshot) for how in hows]
            scale = gains[0].scale
            every = [gain.parts(first.docs) / scale for gain in gains]
            kinds = np.array([kind for kind, _ in gains[0].names])
            pairs = [some[:, kinds == "phrase"].sum(axis=1) for some in every]
            parts[:, : len(WINDOWS)] = np.stack(pairs, 1)
            parts[:, -2:] = every[0][:, kinds == "title"]
        ids = snapshot.doc_ids(ranking.docs)
        kept = np.array([doc != own for doc in ids])
        hits = np.array([doc in relevant for doc in ids])
        n = len(first.docs)
        found.append(
            Ranked(ranking.scores[kept], hits[kept], len(relevant), scale, parts[kept[:n]])
        )
    return found


def default_without_proximity(collection: lw.Collection) -> str:
    steps = str(collection.pipeline()).split(" >> ")
    return " >> ".join(step for step in steps if not step.startswith(("proximity", "keep")))


def measure(queries: list[Ranked], weights: tuple[float, float, float, int]) -> tuple[float, float]:
    """Give the means of average precision and of precision at 10."""
    near, title, exact, window = weights
    aps, tens = [], []
    for one in queries:
        n = len(one.parts)
        gain = near * one.parts[:, window] + title * one.parts[:, -2] + exact * one.parts[:, -1]
        order = np.argsort(-(one.scores[:n] + one.scale * gain), kind="stable")
        relevant = np.concatenate([one.relevant[:n][order], one.relevant[n:]])
        ranks = np.flatnonzero(relevant) + 1
        aps.append(float((np.arange(1, len(ranks) + 1) / ranks).sum()) / one.n_relevant)
        tens.append(float(relevant[:10].sum()) / 10)
    return float(np.mean(aps)), float(np.mean(tens))


def choose(grid: list[Any], table: dict[str, Any]) -> int:
    """Choose weights on collections: the best mean change, where none falls."""
    changes = np.stack([rows - rows[0] for rows in table.values()])
    gains = changes.mean(axis=(0, 2))
    gains[(changes < -TOLERANCE).any(axis=(0, 2))] = -np.inf
    return int(np.argmax(gains))


def report(grid: list[Any], table: dict[str, Any]) -> None:
    """Print what each collection gains by weights that were chosen on the others."""
    print("\nleft out         near title exact window     MAP before  after   P@10 before  after")
    for name, rows in table.items():
        best = choose(grid, {other: table[other] for other in table if other != name})
        print(line(name, grid[best], rows[0], rows[best]))
    best = choose(grid, table)
    print("\nchosen on all")
    for name, rows in table.items():
        print(line(name, grid[best], rows[0], rows[best]))
    print("\none part alone, chosen on all (mean change of MAP, P@10; worst)")
    parts = {"near": (0,), "title": (1,), "exact": (2,), "near, title": (0, 1), "all": (0, 1, 2)}
    for name, used in parts.items():
        places = [i for i, one in enumerate(grid) if not any(one[j] for j in {0, 1, 2} - {*used})]
        some = {key: rows[places] for key, rows in table.items()}
        at = places[choose([grid[i] for i in places], some)]
        changes = np.stack([rows[at] - rows[0] for rows in table.values()])
        means, worst = changes.mean(axis=0), changes.min(axis=0)
        print(
            f"{name:12} {shown(grid[at])}  {means[0]:+.4f} {means[1]:+.4f}"
            f"  {worst[0]:+.4f} {worst[1]:+.4f}"
        )


def shown(weights: tuple[float, float, float, int]) -> str:
    near, title, exact, window = weights
    return f"{near:5.2f} {title:5.2f} {exact:5.2f} {WINDOWS[window]:4d}"


def line(name: str, weights: Any, before: Any, after: Any) -> str:
    return (
        f"{name:15} {shown(weights)}         "
        f"{before[0]:.4f} {after[0]:.4f} {after[0] - before[0]:+.4f}"
        f"   {before[1]:.4f} {after[1]:.4f} {after[1] - before[1]:+.4f}"
    )


if __name__ == "__main__":
    main()
