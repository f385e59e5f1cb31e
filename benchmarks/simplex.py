"""What the indexes of the paper on the probability simplex cost, on our topics.

    python benchmarks/simplex.py [--topics 250] [--sweeps 150] [--queries 1000] [--quick]

Speed against an exhaustive search by Jensen-Shannon divergence, seconds to build, bytes a vector
and how much of the ten nearest is found, on LDA topics of 20 Newsgroups from the folders that
LIKEWISE_DATA lists; else of the docstrings. Times are CPU time on one core, of one run. What
Krstovski, Smith, Wallach, McGregor (2013) measured otherwise is in `likewise reproduce simplex`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from likewise.neighbours.index import build_neighbours
from likewise_papers.bench import Bench
from likewise_papers.data import Data
from likewise_papers.folders import named_folders
from likewise_papers.papers.simplex import PAPER
from likewise_papers.papers.simplex.searching import measure
from likewise_papers.papers.simplex.topics import distributions, fitted


def table(theta: np.ndarray, methods: dict[str, list[str]], n_queries: int) -> None:
    """Print MAP, P@5 and speed against the exhaustive search, and what an index takes."""
    measured = measure(theta, methods, n_queries=n_queries)
    print(
        f"against exhaustive Jensen-Shannon search (top 10): {measured.n_docs:,} documents, "
        f"{theta.shape[1]} topics; exhaustive {measured.exhaustive * 1e3:.2f} ms a query"
    )
    print(f"{'':34}{'MAP':>7}{'P@5':>7}{'speed-up':>10}{'build s':>9}{'bytes':>8}")
    base = theta[: measured.n_docs]
    for name, found in measured.found.items():
        metric, method = methods[name]
        start = time.process_time()
        index = build_neighbours(
            base, metric=metric, method="scan" if method == "certified" else method
        )
        build = time.process_time() - start
        print(
            f"{name:34}{found.precisions.mean():7.3f}{found.hits.mean() / 5:7.3f}"
            f"{measured.exhaustive / found.seconds:9.0f}×{build:9.2f}"
            f"{index.n_bytes / len(base):8.0f}",
            flush=True,
        )
    for name in measured.missing:
        print(f"{name:34} left out: its package is not installed")


def main() -> None:
    [experiment] = [one for one in PAPER.experiments if one.name == "table-1"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int)
    parser.add_argument("--sweeps", type=int)
    parser.add_argument("--queries", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    given = {name: value for name, value in vars(options).items() if value and name != "quick"}
    setting = {**experiment.setting, **(experiment.quick if options.quick else {}), **given}
    with tempfile.TemporaryDirectory() as work:
        data = Data(named_folders(), Path(work))
        bench = Bench(data, setting)
        [name] = data.of(experiment.on)[:1]
        _, theta = distributions(fitted(bench, bench.open(name), bench["topics"]))
        table(theta, bench["methods"], bench["queries"])


if __name__ == "__main__":
    main()
