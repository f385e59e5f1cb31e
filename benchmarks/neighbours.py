"""How much of the nearest is found, how fast? Recall against speed of indexes of vectors.

    python benchmarks/neighbours.py [--only real,200k,2m] [--queries 500] [--quick]

Peers are faiss, hnswlib, SciPy's cKDTree and a flat scan by one product of matrices (NumPy). All
get the same points (square roots of distributions over 250 topics, so that Euclidean distance is
Hellinger's) and queries in one run, on one core; times are CPU time, all queries in one call. "over
flat" is the flat scan's time over the index's: above 1 the index is faster. "over JS" is the same
for the exhaustive scan by Jensen-Shannon divergence, our compiled one. Real points are the topics
of 20 Newsgroups (where a folder of LIKEWISE_DATA has them, else of the docstrings); drawn ones are
Dirichlet(α), or `redrawn`: mixtures of two real documents whose words are drawn again.
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

import likewise as lw
from likewise.models.stored_vectors import vectors_of
from likewise.neighbours.index import build_neighbours
from likewise.neighbours.kernels import score_pairs
from likewise.neighbours.metrics import JENSEN_SHANNON
from likewise.notation import write
from likewise.text.analysis import Analysis
from likewise_papers.folders import find_collection

K = 10
TOPICS = 250

# Titles count once, as for the peers.
PLAIN = Analysis(title_weight=1)


def timed(function):
    start = time.process_time()
    value = function()
    return value, time.process_time() - start


def dirichlet(n, alpha, seed):
    generator = np.random.default_rng(seed)
    out = np.empty((n, TOPICS), np.float32)
    for start in range(0, n, 50_000):
        m = min(50_000, n - start)
        values = generator.gamma(alpha + 1, size=(m, TOPICS))
        values *= generator.random((m, TOPICS)) ** (1 / alpha)
        out[start : start + m] = values / values.sum(axis=1, keepdims=True)
    return out


def redrawn(n, theta, seed):
    """Draw documents: a mixture of two real ones, then words (about a hundred) of its topics."""
    generator = np.random.default_rng(seed)
    out = np.empty((n, theta.shape[1]), np.float32)
    for start in range(0, n, 20_000):
        m = min(20_000, n - start)
        pairs = generator.integers(0, len(theta), (2, m))
        share = generator.beta(4, 1, m)[:, None]
        mixed = share * theta[pairs[0]].astype(np.float64) + (1 - share) * theta[pairs[1]]
        n_words = np.maximum(20, np.exp(generator.normal(4.6, 0.8, m))).astype(np.int64)
        words = generator.multinomial(n_words, mixed / mixed.sum(axis=1, keepdims=True))
        out[start : start + m] = words / n_words[:, None]
    return out


def real_topics(folder):
    news = find_collection("20newsgroups")
    source = news / "corpus.jsonl.gz" if news else "docstrings:"
    c = lw.index(source, to=folder / "real.lw", analysis=PLAIN, model=None)
    c.models.fit(f"lda(topics={TOPICS},sweeps=150)")
    theta = vectors_of(c.snapshot).coordinates(c.snapshot.live_docs())
    theta /= np.maximum(theta.sum(axis=1, keepdims=True), 1e-30)
    return theta[theta.any(axis=1)]


def flat(points, queries):
    """The scan that everyone can write: products of matrices, the best of each block."""
    best = np.full((len(queries), K), -np.inf, np.float32)
    rows = np.zeros((len(queries), K), np.int64)
    for start in range(0, len(points), 16_384):
        block = queries @ points[start : start + 16_384].T
        top = np.argpartition(-block, K, axis=1)[:, :K] if block.shape[1] > K else None
        if top is None:
            top = np.tile(np.arange(block.shape[1]), (len(queries), 1))
        values = np.concatenate([best, np.take_along_axis(block, top, 1)], axis=1)
        places = np.concatenate([rows, top + start], axis=1)
        keep = np.argpartition(-values, K, axis=1)[:, :K]
        best = np.take_along_axis(values, keep, 1)
        rows = np.take_along_axis(places, keep, 1)
    return rows


def js_time(points, queries, n=4):
    out = np.empty((1, len(points)), np.float32)
    score_pairs(JENSEN_SHANNON, np.float32(1), queries[:1], points[:10], 0, out[:, :10])

    def scan():
        for i in range(n):
            score_pairs(JENSEN_SHANNON, np.float32(1), queries[i : i + 1], points, 0, out)
            np.argpartition(out[0], K)

    return timed(scan)[1] / n


def recall(found, truth):
    hits = [len(set(f) & set(t)) for f, t in zip(found.tolist(), truth.tolist(), strict=True)]
    return sum(hits) / truth.size


def ours(points, method):
    # Unit points are handed in as they are: cosine and Hellinger distance rank them alike.
    index = build_neighbours(points, metric="cosine", method=method)
    note = f" ({write(index.method)})" if method == "auto" else ""
    return [(note, lambda queries: index.nearest(queries, K).numbers)], index.n_bytes / len(points)


def faiss_flat(points, _):
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return [("", lambda queries: index.search(queries, K)[1])], 4 * points.shape[1]


def faiss_ivf(points, probes):
    import faiss

    faiss.omp_set_num_threads(1)
    n_lists = int(2 * len(points) ** 0.5)
    index = faiss.index_factory(points.shape[1], f"IVF{n_lists},Flat")
    generator = np.random.default_rng(0)
    index.train(points[generator.choice(len(points), min(len(points), 40 * n_lists), False)])
    index.add(points)

    def search(n):
        options = faiss.SearchParametersIVF(nprobe=n)
        return lambda queries: index.search(queries, K, params=options)[1]

    return [(f", {n} probes", search(n)) for n in probes], 4 * points.shape[1] + 8


def hnswlib_graph(points, widths):
    import hnswlib

    index = hnswlib.Index("l2", points.shape[1])
    index.init_index(len(points), M=16, ef_construction=100)
    index.add_items(points, num_threads=1)

    def search(width):
        def ask(queries):
            index.set_ef(width)
            return index.knn_query(queries, K, num_threads=1)[0].astype(int)

        return ask

    return [(f", ef {width}", search(width)) for width in widths], 4 * points.shape[1] + 4 * 33


def tree(points, epsilon):
    from scipy.spatial import cKDTree

    index = cKDTree(points)
    return [("", lambda queries: index.query(queries, K, eps=epsilon)[1])], 0


def compare(title, points, queries, rows):
    truth = flat(points, queries)
    _, flat_seconds = timed(lambda: flat(points, queries))
    flat_each = flat_seconds / len(queries)
    js_each = js_time(points, queries)
    nearest = np.einsum("ij,ij->i", points[truth[:, -1]] - queries, points[truth[:, -1]] - queries)
    print(
        f"\n{title}: {len(points):,} points, {len(queries)} queries; the tenth neighbour is at a "
        f"Hellinger distance of about {np.median(nearest):.2f}"
    )
    print(
        f"{'':34}{'recall@10':>10}{'ms':>9}{'over flat':>11}{'over JS':>10}"
        f"{'build s':>9}{'bytes':>8}"
    )
    print(
        f"{'flat scan (NumPy)':34}{1:10.4f}{flat_each * 1e3:9.3f}{1:10.1f}×"
        f"{js_each / flat_each:9.0f}×{0:9.1f}{4 * points.shape[1]:8}"
    )
    print(f"{'exhaustive JS':34}{'':>10}{js_each * 1e3:9.1f}", flush=True)
    for name, make, option, n_asked in rows:
        (searches, size), build = timed(lambda m=make, o=option: m(points, o))
        asked = queries[:n_asked] if n_asked else queries
        for suffix, search in searches:
            search(asked[:2])
            found, seconds = timed(lambda s=search, a=asked: s(a))
            each = seconds / len(asked)
            print(
                f"{name + suffix:34}{recall(found, truth[: len(asked)]):10.4f}{each * 1e3:9.3f}"
                f"{flat_each / each:10.1f}×{js_each / each:9.0f}×{build:9.1f}{size:8.0f}",
                flush=True,
            )
        del searches, search


OURS = [
    ("likewise auto", ours, "auto", 0),
    ("likewise scan", ours, "scan", 0),
    ("likewise lists", ours, "lists", 0),
    ("likewise lists, recall .95", ours, "lists(recall=0.95)", 0),
    ("likewise ivf", ours, "ivf", 0),
]
SMALL = [
    ("likewise hnsw", ours, "hnsw", 0),
    ("likewise lsh R = .6", ours, "lsh(radius=0.6)", 0),
    ("likewise lsh R = .8, 16 probes", ours, "lsh(radius=0.8,probes=16)", 0),
    ("likewise codes", ours, "codes", 0),
    ("likewise tree, ε = 1", ours, "tree(epsilon=1)", 50),
    ("hnswlib", hnswlib_graph, (100, 400), 0),
    ("SciPy cKDTree, ε = 1", tree, 1.0, 50),
]
FAISS = [
    ("faiss flat", faiss_flat, None, 100),
    ("faiss IVF flat", faiss_ivf, (16, 64, 256), 0),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="real,200k,2m")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="a tenth of the drawn points")
    options = parser.parse_args()
    only, n = options.only.split(","), options.queries
    part = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as name:
        theta = real_topics(Path(name))
    if "real" in only:
        order = np.random.default_rng(0).permutation(len(theta))
        points = np.sqrt(theta[order])
        compare("real topics", points[n:], points[:n], OURS + SMALL + FAISS)
    for key, size in (("200k", 200_000 // part), ("2m", 2_000_000 // part)):
        if key not in only:
            continue
        for alpha in (0.02, 0.05):
            # Graphs take minutes to build, and the better part of an hour at two million.
            rows = OURS + FAISS + (SMALL if key == "200k" and alpha == 0.02 else [])
            points, queries = (np.sqrt(dirichlet(m, alpha, s)) for m, s in ((size, 1), (n, 2)))
            compare(f"Dirichlet({alpha})", points, queries, rows)
            del points
        points, queries = (np.sqrt(redrawn(m, theta, s)) for m, s in ((size, 1), (n, 2)))
        compare("redrawn", points, queries, OURS + FAISS)
        del points


if __name__ == "__main__":
    main()
