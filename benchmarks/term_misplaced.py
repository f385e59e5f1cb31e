"""How far from the truth are approximations of a kernel, and what do they cost? (See terms.py.)

The paper's Table 1: how many pairs are the wrong way round in the orders of 100 test terms by their
distances, for eigenvectors of a random part of the terms that are extended to all.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import likewise as lw
from likewise.records import Document
from likewise.terms.counting import count_pairs
from likewise.terms.graph import Graph
from likewise.terms.kernel import distances, make_kernel
from likewise.terms.laplacian import Laplacian
from likewise.terms.misplaced import misplacements
from likewise.terms.nodes import Filters, choose_nodes
from likewise.terms.sightings import sightings
from likewise.terms.spectrum import SpectralKernel, Spectrum, full_spectrum, one_thread
from likewise.terms.subsample import subsample
from likewise.terms.transforms import Diffusion, Resistance, Transform
from likewise.terms.weights import weigh

PUBLISHED = {20: 16.0, 40: 13.7, 60: 8.9, 80: 4.4}
TESTED = 100
# As published: counts, the combinatorial Laplacian. Its eigenvalues are of the size of degrees.
KERNELS = (Resistance(1.0), Diffusion(0.01))
# Routes with their tolerances.
ROUTES = {
    Resistance: [("solve", 1e-10), ("solve", 1e-4), ("solve", 1e-2)],
    Diffusion: [("chebyshev", 1e-6), ("chebyshev", 1e-5), ("chebyshev", 1e-4)],
}


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    terms: int = 5000
    repeats: int = 5
    abstracts: int = 0


QUICK = Size(terms=1000, repeats=2, abstracts=4000)


def misplaced(data: Path, cache: Path, *, size: Size, seed: int) -> None:
    """Print the table for each kernel."""
    graph = read_graph(data, cache / "all-abstracts.lw", size)
    n = len(graph)
    nodes = np.sort(np.random.default_rng(seed).choice(n, TESTED, replace=False))
    print(
        f"## Misplaced: {n:,} words of eLife abstracts, {graph.n_edges:,} edges, "
        f"{TESTED} test terms, {size.repeats} repeats\n"
    )
    warm_up()
    laplacian = Laplacian(graph, "combinatorial")
    spectrum, dense = timed(lambda: full_spectrum(laplacian))
    for transform in KERNELS:
        exact = SpectralKernel(laplacian, transform, spectrum=spectrum)
        truth, read = timed(lambda exact=exact: distances(exact, nodes))
        whole = dense + read
        print(f"### {transform}\n")
        print("| | misplaced | s | of the dense time | published |")
        print("|---|---|---|---|---|")
        print(f"| dense eigen-decomposition | 0 | {whole:.2f} | 1 | |")
        by_sampling(graph, transform, nodes, truth, whole, size.repeats)
        by_routes(graph, transform, nodes, truth, whole)
        print(flush=True)


def by_sampling(
    graph: Graph, transform: Transform, nodes: np.ndarray, truth: np.ndarray, whole: float, n: int
) -> None:
    """The paper's way: the eigenvectors of m of n terms, extended."""
    for percent, published in PUBLISHED.items():
        wrong, taken = [], []
        for seed in range(n):
            m = len(graph) * percent // 100
            found, seconds = timed(
                lambda m=m, seed=seed: of_spectrum(subsample(graph, m, seed=seed), transform, nodes)
            )
            wrong.append(100 * misplacements(truth, found))
            taken.append(seconds)
        spent = float(np.mean(taken))
        print(
            f"| m = {percent}% | {np.mean(wrong):.2f}% ± {np.std(wrong, ddof=1):.2f} "
            f"| {spent:.2f} | {spent / whole:.3f} | {published}% |"
        )


def by_routes(
    graph: Graph, transform: Transform, nodes: np.ndarray, truth: np.ndarray, whole: float
) -> None:
    """Ours: columns of the kernel without a decomposition, and a sketched diagonal."""
    for route, tol in ROUTES[type(transform)]:
        kernel, made = timed(
            lambda route=route, tol=tol: make_kernel(
                graph, transform, laplacian="combinatorial", route=route, tol=tol
            )
        )
        found, asked = timed(lambda kernel=kernel: distances(kernel, nodes))
        row(f"{route}, tol {tol:g}", truth, found, made + asked, whole)
        own, sketched = timed(kernel.diagonal)
        block = kernel.block(nodes)
        near = own[nodes][:, None] + own[nodes] - 2 * block
        np.fill_diagonal(near, 0.0)
        name = f"{route}, tol {tol:g}, diagonal of all sketched"
        row(name, truth, near, made + asked + sketched, whole)


def row(name: str, truth: np.ndarray, found: np.ndarray, spent: float, whole: float) -> None:
    wrong = 100 * misplacements(truth, found)
    print(f"| {name} | {wrong:.3f}% | {spent:.2f} | {spent / whole:.3f} | |")


def of_spectrum(spectrum: Spectrum, transform: Transform, nodes: np.ndarray) -> np.ndarray:
    """Distances by features that need not be orthonormal."""
    rows = spectrum.vectors[nodes]
    with one_thread():
        block = (rows * transform(spectrum.values)) @ rows.T
    own = np.diagonal(block)
    return own[:, None] + own - 2 * block


def read_graph(data: Path, folder: Path, size: Size) -> Graph:
    """The graph of the words of all abstracts, by counts."""
    documents = []
    for name in ("corpus", "more-abstracts"):
        with gzip.open(data / "elife" / f"{name}.jsonl.gz", "rt") as lines:
            records = map(json.loads, lines)
            documents += [Document(r["id"], r["title"], r["abstract"]) for r in records]
    kept = documents[: size.abstracts or None]
    snapshot = lw.index(kept, to=folder, model=None).snapshot
    nodes = choose_nodes(snapshot, Filters(min_df=5, max_df=0.3, size=size.terms))
    return weigh(count_pairs(sightings(snapshot, nodes, 0), len(nodes)), "counts")


def warm_up() -> None:
    """Compile what is timed."""
    ring = np.arange(600)
    columns = np.sort(np.stack([(ring - 1) % 600, (ring + 1) % 600], axis=1), axis=1)
    bounds = np.arange(0, 1201, 2)
    graph = Graph(bounds, columns.ravel().astype(np.int32), np.ones(1200, np.float32))
    for transform in KERNELS:
        for route, _ in ROUTES[type(transform)]:
            kernel = make_kernel(graph, transform, laplacian="combinatorial", route=route, tol=1e-2)
            distances(kernel, np.arange(40))
            kernel.diagonal()


def timed(call: Callable) -> tuple:
    start = time.process_time()
    value = call()
    return value, time.process_time() - start
