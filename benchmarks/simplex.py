"""What the paper on the probability simplex measured, measured on our topics.

    python benchmarks/simplex.py [--only bounds,draws,table,fusion] [--topics 250] [--queries 1000]

Krstovski, Smith, Wallach, McGregor (2013): how Hellinger distance bounds Jensen-Shannon
divergence (their figure 1), how much of the nearest neighbours of Dirichlet draws is found
(figure 2), how near a search by Hellinger distance comes to an exhaustive one by Jensen-Shannon
divergence and how much faster it is (tables 1 and 4), and what fusing a topic run with a run by
words gives (table 5). Topics are LDA's of 20 Newsgroups and, for fusion, of the four collections
with judged queries, from the folder that LIKEWISE_DATA names; else of the docstrings. Times are CPU
time on one core, of one run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise as lw
from likewise.neighbours.certified import nearest_certified
from likewise.neighbours.index import build_neighbours
from likewise.neighbours.kernels import score_pairs
from likewise.neighbours.metrics import JENSEN_SHANNON
from likewise.text.analysis import Analysis

DIMENSIONS = (50, 100, 200, 500)
ALPHAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)

# Titles count once, as for the peers.
PLAIN = Analysis(title_weight=1)


def timed(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def draws(n, d, alpha, seed=0):
    """Draw from a symmetric Dirichlet distribution, in logarithms so that small α do not vanish."""
    generator = np.random.default_rng(seed)
    logs = np.log(generator.gamma(alpha + 1, size=(n, d)))
    logs += np.log(generator.random((n, d))) / alpha
    values = np.exp(logs - logs.max(axis=1, keepdims=True))
    return (values / values.sum(axis=1, keepdims=True)).astype(np.float32)


def all_pairs(theta, metric):
    index = build_neighbours(theta, metric=metric, method="scan")
    found = index.nearest(theta, len(theta))
    out = np.empty((len(theta), len(theta)))
    np.put_along_axis(out, found.numbers, found.distances.astype(np.float64), axis=1)
    return out


def bounds():
    """Print JS over He of all pairs of 100 draws: it must be between ln 2 / 2 and 1 / 2."""
    print(
        "\nJS / He of the pairs of 100 Dirichlet draws, least … most "
        f"(bounds {math.log(2) / 2:.4f} … 0.5000)"
    )
    print(f"{'α':>8}" + "".join(f"{f'D = {d}':>20}" for d in DIMENSIONS))
    outside = 0
    for alpha in ALPHAS:
        cells = []
        for d in DIMENSIONS:
            theta = draws(100, d, alpha)
            pairs = np.triu_indices(100, 1)
            he, js = (all_pairs(theta, metric)[pairs] for metric in ("hellinger", "js"))
            apart = he > 1e-4
            ratio = js[apart] / he[apart]
            outside += int(((ratio < math.log(2) / 2 - 1e-3) | (ratio > 0.5 + 1e-3)).sum())
            cells.append(f"{ratio.min():.4f} … {ratio.max():.4f}")
        print(f"{alpha:8g}" + "".join(f"{cell:>20}" for cell in cells))
    print(f"pairs outside the bounds: {outside}")


def recall_by_rank(found, truth):
    """Give, for each rank, the share of queries whose neighbour of that rank was found."""
    return (found.numbers[:, :, None] == truth.numbers[:, None, :]).any(axis=1).mean(axis=0)


def dirichlet_draws():
    """Print recall at ranks 1 to 10 of draws, each of them a query."""
    print("\nrecall at ranks 1, 2, 5, 10 of Dirichlet draws (rank 1 is the point itself)")
    print(f"{'':>16}" + "".join(f"{f'D = {d}':>26}" for d in DIMENSIONS))
    for method in ("lsh(radius=0.6)", "tree", "tree(epsilon=3)", "lists"):
        for alpha in ALPHAS:
            cells = []
            for d in DIMENSIONS:
                theta = draws(1000, d, alpha)
                truth = build_neighbours(theta, method="scan").nearest(theta[:200], 10)
                found = build_neighbours(theta, method=method).nearest(theta[:200], 10)
                shares = recall_by_rank(found, truth)
                cells.append(" ".join(f"{shares[rank - 1]:.2f}" for rank in (1, 2, 5, 10)))
            print(f"{method:>16} {alpha:6g}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


def average_precision(found, relevant):
    hits = np.array([number in relevant for number in found])
    return float((hits * np.cumsum(hits) / np.arange(1, len(hits) + 1)).sum() / len(relevant))


def exhaustive(theta, queries, k):
    """Rank by Jensen-Shannon divergence, every pair worked out."""
    roots, asked = np.sqrt(theta), np.sqrt(queries)
    out = np.empty((1, len(theta)), np.float32)
    best = np.empty((len(queries), k), np.int64)
    for i in range(len(queries)):
        score_pairs(JENSEN_SHANNON, np.float32(1), asked[i : i + 1], roots, 0, out)
        best[i] = np.lexsort((np.arange(len(theta)), out[0]))[:k]
    return best


def table(theta, n_queries):
    """Print MAP, P@5, R@5 and speed against the exhaustive search."""
    order = np.random.default_rng(1).permutation(len(theta))
    queries, base = theta[order[:n_queries]], np.ascontiguousarray(theta[order[n_queries:]])
    exhaustive(base[:100], queries[:2], 10)
    truth, js_time = timed(lambda: exhaustive(base, queries, 10))
    print(
        f"\nagainst exhaustive Jensen-Shannon search (top 10): {len(base):,} documents, "
        f"{theta.shape[1]} topics, {n_queries} queries; exhaustive "
        f"{js_time / n_queries * 1e3:.2f} ms a query"
    )
    print(f"{'':34}{'MAP':>7}{'P@5':>7}{'R@5':>7}{'speed-up':>10}{'build s':>9}{'bytes':>8}")

    def row(name, metric, method, search):
        index, build = timed(lambda: build_neighbours(base, metric=metric, method=method))
        search(index, queries[:2])
        (numbers, note), seconds = timed(lambda: search(index, queries))
        relevant = [set(t.tolist()) for t in truth]
        scores = [average_precision(f, r) for f, r in zip(numbers.tolist(), relevant, strict=True)]
        hits = [
            sum(number in r for number in f[:5])
            for f, r in zip(numbers.tolist(), relevant, strict=True)
        ]
        print(
            f"{name:34}{np.mean(scores):7.3f}{np.mean(hits) / 5:7.3f}{np.mean(hits) / 10:7.3f}"
            f"{js_time / seconds:9.0f}×{build:9.2f}{index.n_bytes / len(base):8.0f}{note}",
            flush=True,
        )

    def nearest(index, asked):
        return index.nearest(asked, 10).numbers, ""

    def certified(index, asked):
        found = nearest_certified(index, asked, 10, limit=2000)
        note = f"  closed {found.closed.mean():.1%}, {found.examined.mean():.0f} divergences"
        return found.nearest.numbers, note

    row("Hellinger, scan", "hellinger", "scan", nearest)
    for radius in (0.4, 0.6, 0.8):
        row(f"Hellinger, LSH R = {radius}", "hellinger", f"lsh(radius={radius})", nearest)
        row(
            f"Hellinger, LSH R = {radius}, 16 probes",
            "hellinger",
            f"lsh(radius={radius},probes=16)",
            nearest,
        )
    row("Hellinger, LSH 30 × 6 codes", "hellinger", "codes", nearest)
    for epsilon in (0, 1, 3):
        row(f"Hellinger, k-d tree ε = {epsilon}", "hellinger", f"tree(epsilon={epsilon})", nearest)
    row("Hellinger, lists", "hellinger", "lists", nearest)
    row("Hellinger, IVF", "hellinger", "ivf", nearest)
    row("Hellinger, HNSW", "hellinger", "hnsw", nearest)
    row("JS among 40 by lists", "js", "lists", nearest)
    row("JS among 40 by IVF", "js", "ivf", nearest)
    row("certified JS (limit 2,000)", "js", "scan", certified)


def fusion(data, folder, n_topics):
    """Print AP and P@10 of a run by words, a topic run, and all their fusions."""
    methods = ("min", "max", "sum", "anz", "mnz")
    print(f"\nfusion of BM25 and a topic run (LDA, {n_topics} topics, Jensen-Shannon): AP, P@10")
    names = ("cran", "cisi", "cacm", "med")
    rows: dict[str, list[str]] = {}
    for name in names:
        c = lw.index(
            data / name / "corpus.jsonl", to=folder / f"{name}.lw", analysis=PLAIN, model=None
        )
        c.fit(f"lda(topics={n_topics},sweeps=200)")
        queries = lw.read_queries(data / name / "queries.jsonl")
        qrels = lw.read_qrels(data / name / "qrels.txt")
        bm25 = c.run(queries, method="bm25", k=1000, name="bm25")
        topics = c.run(queries, method="near(metric=js,index=scan)", k=1000, name="topics")
        runs = [bm25, topics]
        for normalise in ("score", "rank"):
            for method in methods:
                runs.append(
                    lw.fuse_runs(
                        [bm25, topics],
                        method=method,
                        normalise=normalise,
                        name=f"{method} by {normalise}",
                    )
                )
        runs.append(lw.fuse_runs([bm25, topics], method="rrf", name="rrf"))
        runs.append(
            lw.fuse_runs(
                [bm25, topics], method="sum", weights=[1, 0.3], name="sum, weights 1 and .3"
            )
        )
        compared = lw.compare(runs, qrels, measures="AP P@10", baseline="bm25").to_json()
        for run in compared["runs"]:
            cells = rows.setdefault(run["name"], [])
            values = run["measures"]
            mark = "*" if (values["AP"]["p_randomisation_holm"] or 1) < 0.05 else " "
            cells.append(f"{values['AP']['mean']:.3f}{mark} {values['P@10']['mean']:.3f}")
    print(f"{'':24}" + "".join(f"{name:>16}" for name in names))
    for name, cells in rows.items():
        print(f"{name:24}" + "".join(f"{cell:>16}" for cell in cells))
    print("* differs from bm25 (p < .05, Holm)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="bounds,draws,table,fusion")
    parser.add_argument("--topics", type=int, default=250)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--fusion-topics", type=int, default=100)
    options = parser.parse_args()
    only = options.only.split(",")
    data = os.environ.get("LIKEWISE_DATA")
    if "bounds" in only:
        bounds()
    if "draws" in only:
        dirichlet_draws()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "table" in only:
            source = Path(data) / "20newsgroups" / "corpus.jsonl.gz" if data else "docstrings:"
            c = lw.index(source, to=folder / "docs.lw", analysis=PLAIN, model=None)
            c.fit(f"lda(topics={options.topics},sweeps=150)")
            space = c.space("near(index=scan)")
            theta = space.neighbours.points(np.arange(len(space.docs))) ** 2
            theta = theta[theta.any(axis=1)]
            theta /= theta.sum(axis=1, keepdims=True)
            table(theta, min(options.queries, len(theta) // 4))
        if "fusion" in only:
            if data:
                fusion(Path(data), folder, options.fusion_topics)
            else:
                print("\nfusion: left out, LIKEWISE_DATA names no judged collections")


if __name__ == "__main__":
    main()
