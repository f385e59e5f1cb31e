"""Does the default search hold on every collection? And which constants would others choose?

    LIKEWISE_DATA=FOLDER[:FOLDER…] python benchmarks/defaults.py [--choose] [--cache FOLDER]

Every set of queries at hand (judged.py: of collections, and names of categories, marked @) is
answered by BM25, by the default search and by its parts. Gains are relative changes of MAP against
BM25 on each set; queries are hurt or helped where their average precision changes; `below` and
`above` are the sets that a method is significantly below or above BM25 on (paired t-test, Holm over
sets, .05).

With `--choose` the constants of the default are chosen anew: for each collection on all others, by
the mean gain of those settings that hurt fewer than two thirds of the queries that RM3 hurts, less
twenty times what the worst of them loses beyond .05%. Both are printed: what each set gains by what
the others chose, and the choice by all. All sets of queries of a collection are left out together.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from judged import CACHE, NAMES, Judged, sets_of
from likewise.compiled import Bools, Doubles
from likewise.engine.pipeline import DEFAULT

BEFORE = "bm25 >> robust >> bm25 >> klsa >> proximity"
_, _, ROBUST, _, KLSA, *_ = DEFAULT
METHODS = {
    "default": "",
    "default, long as short": " >> ".join(DEFAULT),
    "the default before": BEFORE,
    "robust": "bm25 >> robust >> bm25",
    "rm3": "bm25 >> rm3 >> bm25",
    "klsa": "bm25 >> klsa",
    "proximity": "bm25 >> proximity",
    "default without keep": f"bm25 >> proximity >> {ROBUST} >> bm25 >> {KLSA} >> proximity",
    "default without klsa": f"bm25 >> proximity >> {ROBUST} >> bm25 >> proximity >> keep",
    "default without robust": f"bm25 >> {KLSA} >> proximity",
    "default, plain words first": f"bm25 >> {ROBUST} >> bm25 >> {KLSA} >> proximity >> keep",
}
# What is chosen among: adapt of robust and of klsa, docs and gap of keep, and where queries go over
# to likeness.
ADAPT, STRENGTH, KEEP = (5, 10), (0.5, 0.8), ((2, 0.05), (3, 0.05))
LENGTHS = ((10, 30), (20, 40), (20, 60), (30, 60))
TOLERANCE, PENALTY, LEVEL, MOST_HURT = 0.0005, 20.0, 0.05, 2 / 3
DEPTH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--queries", type=int, default=400, help="at most, of each set")
    parser.add_argument("--only", default=NAMES)
    parser.add_argument("--choose", action="store_true", help="choose constants anew")
    options = parser.parse_args()
    sets = sets_of(options.only, cache=options.cache, most=options.queries)
    if options.choose:
        choose_constants(sets)
    else:
        compare(sets)


def precisions(one: Judged, method: str) -> Doubles:
    """Give the average precision of each query."""
    pipeline = one.collection.pipeline(method, k=DEPTH)
    out = np.zeros(len(one.queries))
    results = pipeline.results(one.queries)
    for i, (result, relevant, own) in enumerate(zip(results, one.relevant, one.own, strict=True)):
        ids = one.collection.snapshot.doc_ids(result.ranking.docs)
        hits = np.array([doc in relevant for doc in ids if doc != own])
        ranks = np.flatnonzero(hits) + 1
        out[i] = (np.arange(1, len(ranks) + 1) / ranks).sum() / len(relevant)
    return out


def compare(sets: dict[str, Judged]) -> None:
    """Print how methods do against BM25."""
    base = {name: precisions(one, "bm25") for name, one in sets.items()}
    print(f"{'MAP, and changes in %':24}" + "".join(f"{name[:8]:>9}" for name in sets), end="")
    print(f"{'mean':>8}{'worst':>8}{'below':>7}{'above':>7}  hurt/helped")
    print(f"{'bm25':24}" + "".join(f"{base[name].mean():9.3f}" for name in sets))
    for label, method in METHODS.items():
        found = {name: precisions(one, method) for name, one in sets.items()}
        gains = np.array([found[name].mean() / base[name].mean() - 1 for name in sets])
        hurt, helped = n_hurt(base, found), n_hurt(found, base)
        print(
            f"{label:24}"
            + "".join(f"{100 * gain:+9.1f}" for gain in gains)
            + f"{100 * gains.mean():+8.2f}{100 * gains.min():+8.2f}"
            + f"{n_below(base, found):7d}{n_below(found, base):7d}  {hurt}/{helped}",
            flush=True,
        )


def n_hurt(base: dict[str, Doubles], found: dict[str, Doubles]) -> int:
    """Count the queries that a method answers worse than another."""
    return sum(int((found[name] < base[name] - 1e-4).sum()) for name in base)


def n_below(base: Mapping[Any, Doubles], found: Mapping[Any, Doubles]) -> int:
    """Count the sets on which a method is significantly below another (Holm)."""
    return n_passed(np.array([chance_below(base[name], found[name]) for name in base]))


def chance_below(base: Doubles, found: Doubles) -> float:
    """Give the chance of a method being so far below another (paired t-test, one side)."""
    return float(np.nan_to_num(ttest_rel(found, base, alternative="less").pvalue, nan=1.0))


def n_passed(chances: Doubles) -> int:
    """Count what is significant (Holm)."""
    passed = np.sort(chances) <= LEVEL / np.arange(len(chances), 0, -1)
    return int(np.argmin(np.append(passed, False)))


def choose_constants(sets: dict[str, Judged]) -> None:
    """Choose the constants of the default, leaving one collection out."""
    base = {name: precisions(one, "bm25") for name, one in sets.items()}
    rm3 = {name: precisions(one, METHODS["rm3"]) for name, one in sets.items()}
    grid, gains = {}, {}
    for adapt, strength, (docs, gap), (least, most) in product(ADAPT, STRENGTH, KEEP, LENGTHS):
        method = (
            f"by-length(bm25 >> proximity >> robust(adapt={adapt}) >> bm25 >> "
            f"klsa(adapt={strength}) >> proximity >> keep(docs={docs},gap={gap}), hybrid, "
            f"least={least}, most={most})"
        )
        grid[method] = found = {name: precisions(one, method) for name, one in sets.items()}
        gains[method] = np.array([found[name].mean() / base[name].mean() - 1 for name in sets])
        print(f"{method}: {shown(gains[method])}, {n_hurt(base, found)} hurt", flush=True)

    def best_of(places: Bools) -> str:
        def worth(method: str) -> float:
            some = gains[method][places]
            asked = [name for name, inside in zip(sets, places, strict=True) if inside]
            mine = {name: base[name] for name in asked}
            hurt = n_hurt(mine, grid[method]) / max(n_hurt(mine, rm3), 1)
            if hurt > MOST_HURT:
                return -hurt
            return float(some.mean() + PENALTY * min(0.0, some.min() + TOLERANCE))

        return max(grid, key=worth)

    owners = np.array([name.removeprefix("@") for name in sets])
    held = {}
    for i, name in enumerate(sets):
        best = best_of(owners != owners[i])
        held[name] = grid[best][name]
        print(f"left out {name}: {best}: {100 * gains[best][i]:+.2f}")
    changes = np.array([held[name].mean() / base[name].mean() - 1 for name in sets])
    print(f"held out: {shown(changes)}, {n_hurt(base, held)} hurt, ", end="")
    print(f"{n_below(base, held)} significantly below BM25, {n_below(held, base)} above")
    best = best_of(np.full(len(sets), True))
    print(f"by all: {best}: {shown(gains[best])}")


def shown(gains: Doubles) -> str:
    """Write the mean and the worst of gains, in %."""
    return f"{100 * gains.mean():+.2f}, worst {100 * gains.min():+.2f}"


if __name__ == "__main__":
    main()
