"""LSI against scikit-learn's TruncatedSVD and gensim's LsiModel: speed, memory, exactness.

    python benchmarks/lsi.py [--quick] [--docs N] [--peer-docs N]

Documents are drawn (see corpora.py), indexed as any others, and every engine gets the same
weights. Each runs in a process of its own on one core. Times are processor time; memory is the
peak of the process less what it held before the fit, the peers' matrix being held already.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from corpora import drawn
from likewise.collection.creating import build
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.subspace import Subspace
from likewise.text.analysis import Analysis

AXES = 150
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
SMALL = "small.lw"
LARGE = "large.lw"
PEERS = "peers.lw"


def matrix_of(collection: Snapshot) -> sparse.csr_matrix:
    """The weights of all documents, as LSI of all of them has them."""
    model = fit_lsi(collection, LSI(topics=2, docs=0, iterations=1, power=1.0), memory=1 << 34)
    weighted = model.weigh(collection.term_counts(collection.live_docs()))
    shape = len(weighted.bounds) - 1, len(model.vocabulary)
    return sparse.csr_matrix((weighted.weights, weighted.rows, weighted.bounds), shape)


class Clock:
    """Processor time and the growth of the peak memory since it began."""

    def __init__(self) -> None:
        self.memory = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        self.start = time.process_time()

    def read(self) -> dict[str, float]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        seconds = time.process_time() - self.start
        return {"seconds": seconds, "mb": max(peak - self.memory, 0) / 1e6}


def run_ours(folder: Path, *, docs: int) -> tuple[dict[str, float], np.ndarray]:
    collection = open_snapshot(folder)
    warm = fit_lsi(collection, LSI(topics=2, docs=100, iterations=2, power=1.0), threads=1)
    warm.transform(collection.term_counts(collection.live_docs()[:10]))
    clock = Clock()
    model = fit_lsi(collection, LSI(topics=AXES, docs=docs, power=1.0), threads=1)
    told = clock.read()
    return told | fold_ours(collection, model), model.basis


def fold_ours(collection: Snapshot, model: Subspace) -> dict[str, float]:
    """Time for topics, specific words and shares, 20,000 documents at most."""
    counts = collection.term_counts(collection.live_docs()[:20_000])
    start = time.process_time()
    model.transform(counts)
    n_docs = len(counts.bounds) - 1
    return {
        "fold": (time.process_time() - start) / n_docs,
        "terms": len(counts.terms) / n_docs,
        "kept": len(model.vocabulary),
    }


def run_sklearn(folder: Path, *, passes: int) -> tuple[dict[str, float], np.ndarray]:
    from sklearn.decomposition import TruncatedSVD

    matrix = matrix_of(open_snapshot(folder))
    clock = Clock()
    model = TruncatedSVD(AXES, algorithm="randomized", n_iter=passes, random_state=0)
    model.fit(matrix)
    told = clock.read()
    some = matrix[:20_000]
    start = time.process_time()
    model.transform(some)
    fold = (time.process_time() - start) / some.shape[0]
    return told | {"fold": fold}, model.components_.T


def run_gensim(folder: Path) -> tuple[dict[str, float], np.ndarray]:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel

    matrix = matrix_of(open_snapshot(folder))
    names = {row: str(row) for row in range(matrix.shape[1])}
    corpus = Sparse2Corpus(matrix, documents_columns=False)
    clock = Clock()
    model = LsiModel(corpus, num_topics=AXES, id2word=names, dtype=np.float32, random_seed=0)
    told = clock.read()
    some = Sparse2Corpus(matrix[:5000], documents_columns=False)
    start = time.process_time()
    for _ in model[some]:
        pass
    fold = (time.process_time() - start) / len(some)
    return told | {"fold": fold}, model.projection.u


ENGINES = {
    "likewise, 50,000 sampled": lambda folder: run_ours(folder, docs=50_000),
    "likewise, all": lambda folder: run_ours(folder, docs=0),
    "scikit-learn, 5 iterations": lambda folder: run_sklearn(folder, passes=5),
    "scikit-learn, 9 iterations": lambda folder: run_sklearn(folder, passes=9),
    "gensim": run_gensim,
}


def run_apart(engine: str, folder: Path, out: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--engine", engine, "--folder", folder, "--out", out]
    env = os.environ | ONE_CORE
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def exactness(folder: Path) -> None:
    """What share of the variance that any axes can hold is lost, and how far the axes are off."""
    from scipy.sparse.linalg import svds

    matrix = matrix_of(open_snapshot(folder)).astype(np.float64)
    start = time.process_time()
    _, values, axes = svds(matrix, k=AXES)
    seconds = time.process_time() - start
    most = (values**2).sum()
    print(f"\nagainst svds ({seconds:.1f} s) on {matrix.shape[0]:,} x {matrix.shape[1]:,}")
    print(f"{'':28}{'seconds':>10}{'lost':>10}{'cosines: least':>16}{'10th':>8}{'50th':>8}")
    for engine in list(ENGINES)[1:]:
        out = folder.parent / "basis.npy"
        told = run_apart(engine, folder, out)
        basis = np.linalg.qr(np.load(out).astype(np.float64))[0]
        lost = 1 - ((matrix @ basis) ** 2).sum() / most
        cosines = np.sort(np.linalg.svd(axes @ basis, compute_uv=False))
        print(
            f"{engine:28}{told['seconds']:10.2f}{lost:10.4%}"
            f"{cosines[0]:16.3f}{cosines[9]:8.3f}{cosines[49]:8.3f}",
            flush=True,
        )


def speed(folder: Path, engines: list[str]) -> None:
    n_docs = open_snapshot(folder).n_docs
    print(f"\n{n_docs:,} documents, {AXES} axes, one core")
    head = f"{'documents/s':>13}{'ratio':>8}{'fold-in µs':>12}{'ratio':>8}{'MB':>8}"
    print(f"{'':28}{'seconds':>10}{head}")
    reference = None
    for engine in engines:
        told = run_apart(engine, folder, folder.parent / "basis.npy")
        reference = reference or told
        print(
            f"{engine:28}{told['seconds']:10.2f}{n_docs / told['seconds']:13,.0f}"
            f"{told['seconds'] / reference['seconds']:8.1f}{told['fold'] * 1e6:12.1f}"
            f"{told['fold'] / reference['fold']:8.1f}{told['mb']:8.0f}",
            flush=True,
        )
    print(
        f"likewise folds in with specific words ({reference['terms']:.0f} terms a document), from "
        f"counts; the others give topics alone, from weights. Ratio: over the first row."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=500_000)
    parser.add_argument("--peer-docs", type=int, default=0, help="compare on so many (0: on all)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.engine:
        told, basis = ENGINES[args.engine](args.folder)
        np.save(args.out, basis)
        print(json.dumps(told))
        return
    if args.quick:
        args.docs, args.peer_docs = 20_000, 0
    with tempfile.TemporaryDirectory() as scratch:
        sizes = {SMALL: min(10_000, args.docs), LARGE: args.docs, PEERS: args.peer_docs}
        for name, size in sizes.items():
            if size:
                build(
                    Path(scratch, name), drawn(size), analysis=Analysis(stop="none", title_weight=1)
                )
        exactness(Path(scratch, SMALL))
        ours, peers = list(ENGINES)[:2], list(ENGINES)[2:]
        if args.peer_docs:
            speed(Path(scratch, LARGE), ours)
            speed(Path(scratch, PEERS), [ours[1], *peers])
        else:
            speed(Path(scratch, LARGE), ours + peers)


if __name__ == "__main__":
    main()
