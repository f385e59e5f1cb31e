"""How does a graph of terms grow with its terms? (A section of terms.py.)

Each step runs in a process of its own, so that peaks of memory are its own. Times are processor
time on one core; a query is the similarity of a set to all terms, by the default nearness. Peers
solve the same equations on the same graph, for as long and with as much memory as they are given:
at the first size where that is not enough they stop, and nothing is extrapolated.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from corpora import spoken
from likewise.collection.creating import build
from likewise.collection.job import Job
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import derive
from likewise.terms import kinds
from likewise.terms.catalogue import find_graph, open_counts, store_graph
from likewise.terms.counting import count_pairs
from likewise.terms.kernel import make_kernel
from likewise.terms.kinds import PAIRS, PREPARED, GraphSettings
from likewise.terms.laplacian import Laplacian
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import Filters, choose_nodes
from likewise.terms.occurrences import occurrences
from likewise.terms.related import TermGraph
from likewise.terms.solving import SolvedKernel
from likewise.terms.weights import weigh
from likewise.text.analysis import Analysis

TARGETS = {100_000: 50, 1_000_000: 500}
SETS = (1, 3, 10)
BEST = 100
# Solved as precisely by all.
TOL = 1e-6


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    docs: int = 500_000
    terms: tuple[int, ...] = (10_000, 30_000, 100_000, 1_000_000)
    queries: int = 20
    # What a peer may take for one size: seconds, and bytes of memory.
    seconds: int = 600
    memory: int = 16 << 30


QUICK = Size(docs=8_000, terms=(1_000, 4_000), queries=5, seconds=10, memory=4 << 30)

# Each in a process of its own


class Clock:
    """Processor time, time by the clock, and the peak of memory."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> dict:
        return {
            "cpu": time.process_time() - self.cpu,
            "wall": time.perf_counter() - self.wall,
            "peak": peak(),
        }


def peak() -> int:
    """The most that was resident; getrusage would also count the process that started this one."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


def run_index(folder: Path, size: Size, n: int) -> dict:
    clock = Clock()
    build(folder, spoken(n), analysis=Analysis(stop="none", stemmer="none"))
    snapshot = open_snapshot(folder)
    return clock.read() | {
        "bytes": snapshot.n_bytes,
        "terms": snapshot.n_terms,
        "tokens": snapshot.n_tokens,
    }


def run_count(folder: Path, size: Size, n: int) -> dict:
    """Choose terms and store the counts of their pairs."""
    filters = Filters(min_df=2, size=n)
    snapshot = open_snapshot(folder)
    warm_up(snapshot)
    clock = Clock()
    nodes = choose_nodes(snapshot, filters)
    choosing = clock.read()["cpu"]
    # First the pairs alone.
    large, kinds.FEWEST_PAIRS = kinds.FEWEST_PAIRS, sys.maxsize
    clock = Clock()
    store_graph(snapshot, nodes, GraphSettings(filters=filters), name=f"terms-{n}", threads=1)
    told = clock.read()
    kinds.FEWEST_PAIRS = large
    snapshot = open_snapshot(folder)
    clock = Clock()
    with Job(folder) as job:
        made = derive(snapshot, find_graph(snapshot, f"terms-{n}"), job)
        with Writer(folder, job=job) as writer:
            writer.put(*made)
    ready = clock.read()
    snapshot = open_snapshot(folder)
    counted = open_counts(snapshot, f"terms-{n}").counted
    graph = find_graph(snapshot, f"terms-{n}")
    files = [graph, *snapshot.artifacts(PAIRS.name, of=graph.id)]
    kept = snapshot.artifacts(PREPARED.name, of=graph.id)
    return told | {
        "ready": ready["cpu"],
        "ready_peak": ready["peak"],
        "ready_bytes": sum(artifact.pack.size for artifact in kept),
        "choosing": choosing,
        "terms": len(nodes),
        "pairs": len(counted.pairs.columns),
        "together": int(np.sum(counted.pairs.counts, dtype=np.int64)),
        "least_df": int(counted.doc_freqs.min()),
        "docs": counted.n_docs,
        "bytes": sum(artifact.pack.size for artifact in files),
    }


def warm_up(snapshot: Snapshot) -> None:
    """Load what is compiled, on a few documents."""
    nodes = choose_nodes(snapshot, Filters(min_df=2, size=1000))
    counted = count_pairs(occurrences(snapshot, nodes, 0, np.arange(200)), len(nodes))
    kernel = make_kernel(weigh(counted), Nearness().transform)
    kernel.columns(np.eye(len(nodes), 8))
    kernel.diagonal()


def run_ask(folder: Path, size: Size, n: int) -> dict:
    """Open a graph as it is kept, and ask it."""
    graph, told = opened(folder, n), {}
    warm_up(graph.collection)
    told["open"] = timed(lambda: graph.graph) + timed(lambda: graph.kernel)
    sets = {k: draw_sets(graph, k, size.queries) for k in SETS}
    graph.metric.similarities(sets[1][0])
    found = {}
    for k, some in sets.items():
        start = time.process_time()
        found[k] = [graph.metric.similarities(one) for one in some]
        told[f"query {k}"] = (time.process_time() - start) / len(some)
    told["passes"] = getattr(graph.kernel, "degree", 0)
    leading = getattr(graph.kernel, "leading", None)
    told["leading"] = 0 if leading is None else len(leading.values)
    told["whole"] = whole_products(graph, sets[3])
    told["peak"] = peak()
    told["on all cores"] = on_all_cores(folder, n, sets[3])
    told["isolated"] = int((graph.graph.degrees == 0).sum())
    told["edges"] = graph.graph.n_edges
    told["nearest"] = ask_whole(graph, size.queries)
    exact = SolvedKernel(graph.laplacian, graph.nearness.transform, tol=1e-12)
    told["recall"] = float(
        np.mean([recall(exact, one, f) for one, f in zip(sets[3], found[3], strict=True)])
    )
    return told


def whole_products(graph: TermGraph, sets: list[np.ndarray]) -> float:
    """The time of a query where products may lose nothing, and so read the whole graph."""
    kernel = graph.kernel
    error, kernel._error = getattr(kernel, "_error", 0.0), 0.0
    start = time.process_time()
    for one in sets:
        graph.metric.similarities(one)
    kernel._error = error
    return (time.process_time() - start) / len(sets)


def on_all_cores(folder: Path, n: int, sets: list[np.ndarray]) -> float:
    """The time of a query by the clock."""
    graph = opened(folder, n, threads=os.cpu_count() or 1)
    graph.metric.similarities(sets[0])
    start = time.perf_counter()
    for one in sets:
        graph.metric.similarities(one)
    return (time.perf_counter() - start) / len(sets)


def run_solve(folder: Path, size: Size, n: int) -> dict:
    """The same without anything kept ready: weighing, and solving to a millionth."""
    graph = opened(folder, n)
    warm_up(graph.collection)
    sets = draw_sets(graph, 3, size.queries)
    told = {"weigh": timed(lambda: weigh(graph.stored.counted))}
    kernel = SolvedKernel(graph.laplacian, graph.nearness.transform, tol=TOL)
    sides = [placed(n, one)[:, None] for one in sets]
    kernel.columns(sides[0])
    told["query"] = timed(lambda: [kernel.columns(side) for side in sides]) / len(sets)
    told["diagonal"] = timed(kernel.diagonal)
    return told | {"peak": peak()}


def recall(exact: SolvedKernel, one: np.ndarray, found: np.ndarray) -> float:
    """How many of the nearest are found."""
    truth = exact.columns(placed(len(found), one)[:, None])[:, 0]
    k = min(BEST, len(found))
    return len({*best(truth, k)} & {*best(found, k)}) / k


def best(scores: np.ndarray, k: int) -> list[int]:
    return np.argpartition(-scores, k - 1)[:k].tolist()


def ask_whole(graph: TermGraph, n: int) -> float:
    """The time of 20 terms with distances and what brings them near, for three words."""
    texts = [" ".join(graph.names(one)) for one in draw_sets(graph, 3, n)]
    graph.nearest(texts[0])
    start = time.process_time()
    for text in texts:
        graph.nearest(text)
    return (time.process_time() - start) / n


def run_eigh(folder: Path, size: Size, n: int) -> dict:
    from scipy.linalg import eigh

    dense = equations(folder, n)[0].toarray()
    spent = timed(lambda: eigh(dense, driver="evd", overwrite_a=True, check_finite=False))
    return {"cpu": spent, "peak": peak()}


def run_spsolve(folder: Path, size: Size, n: int) -> dict:
    from scipy.sparse.linalg import spsolve

    matrix, side = equations(folder, n)
    spent = timed(lambda: spsolve(matrix.tocsc(), side))
    return {"cpu": spent, "peak": peak()}


def run_cg(folder: Path, size: Size, n: int) -> dict:
    from scipy.sparse.linalg import cg

    matrix, side = equations(folder, n)
    cg(matrix, side, maxiter=1)
    return {"cpu": timed(lambda: cg(matrix, side, rtol=TOL)), "peak": peak()}


def equations(folder: Path, n: int) -> tuple:
    """The matrix L + εI of the default nearness, and a set of three terms."""
    from scipy.sparse import csr_array, diags_array

    graph = opened(folder, n)
    laplacian: Laplacian = graph.laplacian
    scale, edges = diags_array(laplacian.scale), graph.graph
    weights = csr_array((edges.weights, edges.columns, edges.bounds), shape=(len(graph),) * 2)
    eps = graph.nearness.transform.eps
    matrix = csr_array(diags_array(laplacian.own + eps) - scale @ weights @ scale)
    return matrix, placed(len(graph), draw_sets(graph, 3, 1)[0])


def opened(folder: Path, n: int, *, threads: int = 1) -> TermGraph:
    return TermGraph(open_counts(open_snapshot(folder), f"terms-{n}"), threads=threads)


def placed(n: int, nodes: np.ndarray) -> np.ndarray:
    side = np.zeros(n)
    side[nodes] = 1 / len(nodes)
    return side


def draw_sets(graph: TermGraph, k: int, n: int) -> list[np.ndarray]:
    """Terms that stand in one document each."""
    snapshot: Snapshot = graph.collection
    generator, sets = np.random.default_rng(k), []
    while len(sets) < n:
        document = snapshot.document(int(generator.integers(snapshot.n_docs)))
        nodes = graph.stored.nodes.find(snapshot, f"{document.title}. {document.text}")
        if len(nodes) >= k:
            sets.append(generator.choice(nodes, k, replace=False))
    return sets


def timed(call: Callable) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


STEPS = {
    "index": run_index,
    "count": run_count,
    "ask": run_ask,
    "solve": run_solve,
    "eigh": run_eigh,
    "spsolve": run_spsolve,
    "cg": run_cg,
}
PEERS = {
    "eigh": "dense eigen-decomposition (once)",
    "spsolve": "scipy spsolve, one set",
    "cg": f"scipy cg to {TOL:g}, one set",
}


def run_apart(step: str, folder: Path, size: Size, n: int) -> dict | str:
    """What a step told, or for a peer why it could not."""
    command = [sys.executable, __file__, step, str(folder), str(n), str(size.queries)]
    is_peer = step in PEERS
    command.append(str(size.memory if is_peer else 0))
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if is_peer else None,
            text=True,
            check=not is_peer,
            timeout=size.seconds if is_peer else None,
        )
    except subprocess.TimeoutExpired:
        return f"over {size.seconds} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        last = lines[-1] if lines else f"ended by signal {-done.returncode}"
        short = "MemoryError" in done.stderr or "bad_alloc" in done.stderr
        return f"over {size.memory >> 30} GB" if short else last[:60]
    return json.loads(done.stdout.splitlines()[-1])


# Tables


def scale(cache: Path, *, size: Size) -> None:
    """Print counting, preparation, queries, bytes, memory and peers for each size."""
    folder = cache / f"spoken-{size.docs}.lw"
    print(f"## Scale: {size.docs:,} drawn documents\n")
    if not folder.exists():
        told = run_apart("index", folder, size, size.docs)
        print(
            f"indexed in {told['wall']:.0f} s by the clock with drawing, "
            f"{told['terms']:,} terms, {told['tokens']:,} tokens, {told['bytes'] / 1e6:,.0f} MB\n",
            flush=True,
        )
    told, stopped = {}, set()
    for n in size.terms:
        one = {step: run_apart(step, folder, size, n) for step in ("count", "ask", "solve")}
        for peer in PEERS:
            one[peer] = run_apart(peer, folder, size, n) if peer not in stopped else "-"
            if isinstance(one[peer], str):
                stopped.add(peer)
        told[n] = one
        print(f"{n:,} terms: done", file=sys.stderr, flush=True)
    table(told)


def table(told: dict[int, dict]) -> None:
    counts = [one["count"] for one in told.values()]
    asks = [one["ask"] for one in told.values()]
    line("", [f"{count['terms']:,} terms" for count in counts])
    line("---", ["---"] * len(counts))
    line("in how many documents at least", [count["least_df"] for count in counts])
    line("pairs", [f"{count['pairs']:,}" for count in counts])
    line("terms without any", [f"{ask['isolated']:,}" for ask in asks])
    line("choosing terms, s", [f"{count['choosing']:.1f}" for count in counts])
    line("counting, s", [f"{count['cpu']:.1f}" for count in counts])
    line("distinct pairs/s", [f"{c['pairs'] / c['cpu']:,.0f}" for c in counts])
    line("documents with a pair, summed, /s", [f"{c['together'] / c['cpu']:,.0f}" for c in counts])
    line("documents/s", [f"{c['docs'] / c['cpu']:,.0f}" for c in counts])
    line("bytes on disk, MB", [f"{count['bytes'] / 1e6:,.1f}" for count in counts])
    line("bytes a pair", [f"{c['bytes'] / max(c['pairs'], 1):.2f}" for c in counts])
    line("peak of counting, MB", [f"{count['peak'] / 1e6:,.0f}" for count in counts])
    line("made ready, s", [f"{count['ready']:.1f}" for count in counts])
    line("its bytes on disk, MB", [f"{count['ready_bytes'] / 1e6:,.1f}" for count in counts])
    line("its peak, MB", [f"{count['ready_peak'] / 1e6:,.0f}" for count in counts])
    line("opening, s", [f"{ask['open']:.2f}" for ask in asks])
    line("leading vectors, passes a query", [f"{a['leading']}, {a['passes']}" for a in asks])
    for k in SETS:
        line(f"set of {k} to all, ms", [f"{1e3 * ask[f'query {k}']:.1f}" for ask in asks])
    line("set of 3, the whole graph read, ms", [f"{1e3 * ask['whole']:.1f}" for ask in asks])
    line("set of 3, all cores, ms by the clock", [f"{1e3 * a['on all cores']:.1f}" for a in asks])
    line("20 nearest to 3, with reasons, ms", [f"{1e3 * ask['nearest']:.1f}" for ask in asks])
    line(f"recall of the {BEST} nearest to 3", [f"{ask['recall']:.4f}" for ask in asks])
    line("peak of asking, MB", [f"{ask['peak'] / 1e6:,.0f}" for ask in asks])
    pairs = [*pairwise(asks)]
    line("growth: edges", ["", *(f"{b['edges'] / a['edges']:.1f}×" for a, b in pairs)])
    line("growth: query", ["", *(f"{b['query 3'] / a['query 3']:.1f}×" for a, b in pairs)])
    others = [one["solve"] for one in told.values()]
    line("nothing kept ready: weighing, s", [f"{o['weigh']:.2f}" for o in others])
    line(f"solving for a set of 3 to {TOL:g}, ms", [f"{1e3 * o['query']:.1f}" for o in others])
    slower = [o["query"] / a["query 3"] for a, o in zip(asks, others, strict=True)]
    line("**over ready**", [f"**{ratio:.2f}×**" for ratio in slower])
    line("diagonal of all, sketched, s", [f"{o['diagonal']:.2f}" for o in others])
    line("its peak, MB", [f"{o['peak'] / 1e6:,.0f}" for o in others])
    for peer, name in PEERS.items():
        line(f"{name}, s", [_told(one[peer]) for one in told.values()])
        ratios = [
            _ratio(one[peer], one["count"]["ready"] if peer == "eigh" else one["ask"]["query 3"])
            for one in told.values()
        ]
        line("its peak, MB", [_peak(one[peer]) for one in told.values()])
        line("**over ours**" + (" made ready" if peer == "eigh" else ", a query"), ratios)
    for n, target in TARGETS.items():
        if n in told:
            taken = max(1e3 * told[n]["ask"][f"query {k}"] for k in SETS)
            verdict = "met" if taken <= target else "missed"
            print(f"\ntarget of {target} ms at {n:,} terms: {taken:.0f} ms, {verdict}")
    print()


def _told(found: dict | str) -> str:
    return found if isinstance(found, str) else f"{found['cpu']:.2f}"


def _peak(found: dict | str) -> str:
    return "" if isinstance(found, str) else f"{found['peak'] / 1e6:,.0f}"


def _ratio(found: dict | str, ours: float) -> str:
    if isinstance(found, str):
        return ""
    return f"**{found['cpu'] / ours:,.1f}×**"


def line(name: str, cells: Sequence[object]) -> None:
    print(f"| {name} | " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    """One step, for the process that prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("n", type=int)
    parser.add_argument("queries", type=int)
    parser.add_argument("memory", type=int)
    asked = parser.parse_args()
    if asked.memory:
        resource.setrlimit(resource.RLIMIT_AS, (asked.memory, asked.memory))
    size = Size(queries=asked.queries)
    print(json.dumps(STEPS[asked.step](asked.folder, size, asked.n)))


if __name__ == "__main__":
    main()
