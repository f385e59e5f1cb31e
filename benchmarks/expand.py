"""What does expansion cost?

    python benchmarks/expand.py [--limit 64000] [--queries 300] [--seed 0] [--cache DIR]

One query a call on descriptions of Debian packages: times over that of the unexpanded query, where
the time goes, and queries perturbed one at a time against all at once.

What expansion gains and what it risks is measured by `likewise reproduce perturbation`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

import likewise as lw
from corpora import debian
from likewise.expand.expansion import Feedback, WordSearch, rank_weights
from likewise.expand.feedback import RM3, RankedRM, relevance
from likewise.expand.perturb import perturb
from likewise.expand.pool import read_pool
from likewise.expand.qp import solve
from likewise.expand.robust import Robust
from likewise.expand.similarity import SIMILARITIES
from likewise.records import EMPTY
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever
from likewise.retrieve.words import retriever_of, terms_of

DEPTH = Robust().docs


def speed(cache: Path, *, limit: int, n_queries: int, seed: int) -> None:
    title, documents = debian(cache, limit)
    if not documents:
        print(f"{title}: left out")
        return
    folder = cache / "packages.lw"
    if not folder.exists():
        lw.index(documents, to=folder, model=None)
    collection = lw.open(folder)
    queries = draw_queries(collection, n_queries, seed)
    print(f"## Speed: {title}, one query of 2-6 terms a call, k = 10\n")
    ways = {
        "none": "none",
        "rm3": RM3(),
        "rrm": RankedRM(),
        "robust jaccard": Robust(similarity="jaccard"),
        "robust loo": Robust(),
        "robust tat": Robust(similarity="tat"),
    }
    stages = {name: collection.pipeline("bm25", k=10, expand=how) for name, how in ways.items()}
    calls = {name: lambda q, s=stage: s([q]) for name, stage in stages.items()}
    times = timed(calls, queries)
    print("| | ms | times the unexpanded |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {1e3 * taken:.2f} | {taken / times['none']:.1f} |")
    print()
    breakdown(collection, queries, times["none"])


def breakdown(collection: lw.Collection, queries: list[lw.Query], plain: float) -> None:
    """Where the time of robust expansion goes, part by part, and what the batch saves."""
    retriever = retriever_of(collection.snapshot, BM25())
    how = Robust()
    search = WordSearch(retriever)
    bare = [Feedback(terms_of(query, collection.snapshot), EMPTY) for query in queries]
    look = SIMILARITIES[how.similarity].contexts
    contexts = [look([one], search, DEPTH)[0] for one in bare]
    chosen = [how.candidates(context) for context in contexts]
    risks = [c.risk(columns) for c, (columns, _) in zip(contexts, chosen, strict=True)]
    grown = [how.expand([one], search)[0] for one in bare]
    perturbed = [
        [{t: w for t, w in one.terms.items() if t != left} or dict(one.terms) for left in one.terms]
        for one in bare
    ]

    def choose(i: int) -> None:
        columns, gains = chosen[i]
        n_asked = len(contexts[i].pool.asked)
        nothing = np.empty((0, len(columns)))
        solve(gains, risks[i], nothing, n_asked=n_asked, kappa=1.0, gamma=1.0)

    numbers = list(range(len(queries)))
    last = [dict(g.terms) or dict(a.terms) for g, a in zip(grown, bare, strict=True)]
    parts = {
        "n + 1 searches, in one batch": lambda i: retriever.rank(
            [bare[i].terms, *perturbed[i]], k=DEPTH
        ),
        "these, documents read and relevance models": lambda i: perturb(
            [bare[i]], search, docs=DEPTH
        ),
        "candidates and covariance": lambda i: contexts[i].risk(how.candidates(contexts[i])[0]),
        "solver": choose,
        "last search": lambda i: retriever.rank([last[i]], k=10),
    }
    print("| part of robust loo | ms | times the unexpanded |\n|---|---|---|")
    alone = "n + 1 times: search, documents read, relevance model"
    parts[alone] = lambda i: unbatched(retriever, [bare[i].terms, *perturbed[i]])
    times = timed(parts, numbers)
    for name, taken in times.items():
        print(f"| {name} | {1e3 * taken:.2f} | {taken / plain:.1f} |")
    batch = times["these, documents read and relevance models"]
    print(f"\nqueries perturbed one at a time over one batch: {times[alone] / batch:.2f}×\n")


def unbatched(retriever: Retriever, queries: list[Mapping[str, float]]) -> list[np.ndarray]:
    """Relevance models of queries, each searched for and its documents read alone."""
    models = []
    for query in queries:
        [ranking] = retriever.rank([query], k=DEPTH)
        pool = read_pool(retriever.collection, ranking.docs, query)
        models.append(relevance(pool, rank_weights(len(pool.docs))))
    return models


def draw_queries(collection: lw.Collection, n: int, seed: int) -> list[lw.Query]:
    """Two to six words each that are searched for, of one document."""
    generator = np.random.default_rng(seed)
    ids = [document.id for document in collection]
    queries = []
    while len(queries) < n:
        document = collection[ids[int(generator.integers(len(ids)))]]
        words = {word for word in f"{document.title} {document.text}".split() if word.isalpha()}
        kept = sorted(word for word in words if collection.snapshot.analyzer.terms(word))
        size = int(generator.integers(2, 7))
        if len(kept) >= 10:
            chosen = generator.choice(kept, size, replace=False)
            queries.append(lw.Query(str(len(queries)), " ".join(chosen.tolist())))
    return queries


def timed(calls: Mapping[str, Callable], items: Sequence, rounds: int = 5) -> dict[str, float]:
    """Seconds of processor time for one item, the best of some rounds in which all take turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            for item in items:
                call(item)
            best[name] = min(best[name], (time.process_time() - start) / len(items))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=int, default=64_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cache = options.cache or Path(temporary)
        cache.mkdir(parents=True, exist_ok=True)
        speed(cache, limit=options.limit, n_queries=options.queries, seed=options.seed)


if __name__ == "__main__":
    main()
