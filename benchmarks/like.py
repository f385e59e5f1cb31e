"""Which documents are like this one: how fast, how large?

    python benchmarks/like.py [--only speed,depths] [--collections news,schools,docs]
        [--models lsi,ddm,lda,span] [--topics 250] [--sweeps 100] [--queries 1000] [--seed 0]

A query is a document of the collection. 20 Newsgroups and Wikipedia for Schools are read from the
folders that LIKEWISE_DATA lists; docstrings are there on every machine.

`speed` has processor time on one core for the best ten, from term counts to ranking, and the cells
that are stored of a document (a coordinate is one, a word with its weight two). `depths` is how
deep candidates have to be looked for: the share of the accurate ten that two levels find. How it
grows is measured by like_scale.py.

How good the methods are is measured by `likewise reproduce decomposition`.
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
from likewise.like.hybrid import weights_of
from likewise.models.stored_vectors import vectors_of
from likewise_papers.folders import find_collection
from likewise_papers.like.simhash_tfidf import Hashed

K = 10
DEPTHS = (25, 50, 100, 200, 500)
BASELINES = ("tfidf", "bm25", "topn", "lsh-tfidf", "topn-lda(model=lda)")
BY_HALVES = (
    "hybrid(model={},only=dense)",
    "hybrid(model={},only=specific)",
    "eq4(model={})",
    "eq4(model={},candidates=0)",
    "hybrid(model={},feedback=0)",
    "hybrid(model={})",
    "hybrid(model={},candidates=0)",
)
BY_VECTORS = ("eq4", "hybrid")
COLLECTIONS = {
    "news": "20newsgroups",
    "schools": "wikipedia-schools",
    "docs": "docstrings:",
}


def source_of(key):
    """Find the documents of a collection; None where no folder has them."""
    name = COLLECTIONS[key]
    if name.endswith(":"):
        return name
    folder = find_collection(name)
    return folder and folder / "corpus.jsonl.gz"


def drawn(c, n, seed):
    """Draw documents of a collection as queries."""
    docs = c.snapshot.live_docs()
    docs = docs[np.sort(np.random.default_rng(seed).permutation(len(docs))[:n])]
    ids = c.snapshot.doc_ids(docs)
    return [lw.Query(doc_id, like=(lw.QueryDocument(doc_id),)) for doc_id in ids]


def ask(c, method, queries):
    """Answer all queries; give the documents of each and the processor time of one."""
    pipeline = c.pipeline(method, k=K)
    pipeline(queries[:3])
    start = time.process_time()
    results = pipeline(queries)
    each = (time.process_time() - start) / len(queries)
    return [{*result.ranking.docs.tolist()} for result in results], each


def fitted(c, models, options):
    """Fit what is not there; say how each model was fitted and how its vectors are weighed."""
    settings = f"(topics={options.topics},sweeps={options.sweeps})"
    configs = {"ddm": f"ddm{settings}", "lda": f"lda{settings}", "span": "span(of=ddm)"}
    for name in models:
        seconds = 0.0
        if name in configs:
            start = time.process_time()
            c.models.fit(configs[name])
            seconds = time.process_time() - start
        model, weights = c.models[name], weights_of(vectors_of(c.snapshot, name))
        power = f", power of idf {model.power:g}" if hasattr(model, "power") else ""
        spent = f", {seconds:.0f} s to fit" if seconds else ""
        print(
            f"  {configs.get(name, name)}: {model.width} axes{power}, parts count "
            f"{weights.dense:.2f}, {weights.specific:.2f}, {weights.words:.2f} and "
            f"{weights.titles:.2f}{spent}",
            flush=True,
        )


def cells(c, method):
    """Count the cells that are stored of a document on average."""
    name, _, inside = method.partition("(")
    model = inside.partition("model=")[2].rstrip(")").partition(",")[0]
    if name in BY_VECTORS:
        stored = vectors_of(c.snapshot, model)
        n_words = sum(len(segment.terms) for segment in stored.segments) / c.snapshot.n_slots
        axes = 0 if "only=specific" in inside else stored.model.width
        return axes + (0 if "only=dense" in inside else 2 * n_words)
    sample = c.snapshot.live_docs()[:: max(1, len(c) // 2000)]
    whole = 2 * len(c.snapshot.term_counts(sample).terms) / len(sample)
    more = {"lsh-tfidf": Hashed().tables, "topn-lda": c.models[model].width if model else 0}
    return whole + more.get(name, 0)


def speed(c, questions, models):
    """Print a row for each method."""
    methods = [method for method in BASELINES if "lda" not in method or "lda" in models]
    methods += [method.format(model) for model in models for method in BY_HALVES]
    base = 0.0
    print(f"{'':32}{'ms/query':>10}{'over tfidf':>12}{'cells':>8}")
    for method in methods:
        _, each = ask(c, method, questions)
        base = base or each
        print(
            f"{method:32}{each * 1e3:10.2f}{each / base:11.2f}×{cells(c, method):8.0f}", flush=True
        )


def depths(c, questions):
    """Print how deep candidates have to be looked for."""
    exact, slow = ask(c, "hybrid(model=lsi,candidates=0)", questions)
    print(f"candidates by each half, lsi\n{'':10}{'of the ten':>12}{'ms':>8}{'over accurate':>15}")
    for depth in DEPTHS:
        found, each = ask(c, f"hybrid(model=lsi,candidates={depth})", questions)
        shared = sum(len(a & b) for a, b in zip(exact, found, strict=True))
        of_ten = shared / max(sum(map(len, exact)), 1)
        print(f"{depth:10}{of_ten:12.3f}{each * 1e3:8.2f}{slow / each:14.1f}×", flush=True)
    print(f"{'accurate':10}{1:12.3f}{slow * 1e3:8.2f}{1:14.1f}×")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="speed,depths")
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--models", default="lsi,ddm,lda,span")
    parser.add_argument("--topics", type=int, default=250, help="of ddm and lda")
    parser.add_argument("--sweeps", type=int, default=100, help="of ddm and lda")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the sample of queries")
    options = parser.parse_args()
    only, models = options.only.split(","), options.models.split(",")
    for key in options.collections.split(","):
        source = source_of(key)
        if source is None:
            print(f"\n{key}: left out, no folder of LIKEWISE_DATA has {COLLECTIONS[key]}")
            continue
        with tempfile.TemporaryDirectory() as name:
            c = lw.index(source, to=Path(name) / f"{key}.lw")
            questions = drawn(c, options.queries, options.seed)
            print(f"\n{key}: {len(c):,} documents, {len(questions):,} queries")
            if "speed" in only:
                fitted(c, models, options)
                speed(c, questions, models)
            if "depths" in only:
                depths(c, questions)


if __name__ == "__main__":
    main()
