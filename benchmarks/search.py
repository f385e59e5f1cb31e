"""How fast, how large, how exact? Ours beside bm25s and tantivy, in one run.

    python benchmarks/search.py [--docs N] [--quick] [--only debian,drawn] [--cache FOLDER]

All are given the same documents. For the searches all index the same terms, those of our
analysis, and each uses one thread; in the rows on building each reads, tokenises and stems the
raw text by itself. Times are CPU time, the best of several rounds in which the engines take
turns. A ratio is theirs over ours: above 1 we are ahead, and "behind" says where we are not.
"""

from __future__ import annotations

import os

os.environ["NUMBA_NUM_THREADS"] = "1"

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import corpora
import engines
from engines import Answer, Bm25s, Engine, Ours, Tantivy

NAMES = ("likewise", "bm25s", "tantivy")
ENGINES = {"likewise": Ours, "bm25s": Bm25s, "tantivy": Tantivy}
PARTS = {
    "documents": "text and metadata",
    "document-": "text and metadata",
    "forward": "counts by document, sentences",
    "postings": "postings",
    "ids": "ids",
    "terms": "vocabulary",
    "lengths": "lengths",
    "fields": "fields",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=int, default=500_000, help="how many documents are drawn")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--only", default="debian,drawn", help="corpora, separated by commas")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/likewise-benchmarks"))
    parser.add_argument("--resident", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.resident:
        print(_resident(*args.resident))
        return
    scale = 10 if args.quick else 1
    for name in args.only.split(","):
        if name == "debian":
            title, documents = corpora.debian(args.cache, 64_000 // scale)
        else:
            documents = list(corpora.drawn(args.docs // scale))
            title = f"{len(documents):,} documents drawn from topics"
        if documents:
            Comparison(title, args.cache / name, documents, scale).run()
        else:
            print(f"{title}: left out")


class Comparison:
    """All rows for one corpus."""

    def __init__(self, title: str, folder: Path, documents: list, scale: int) -> None:
        self.title, self.folder, self.documents, self.scale = title, folder, documents, scale
        folder.mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        print(f"\n{self.title}")
        print(f"{'':36}{''.join(f'{name:>12}' for name in NAMES)}   theirs / ours")
        self.build()
        self.index_terms()
        found = {name: kind(self.terms(name)) for name, kind in ENGINES.items()}
        short, long = self.queries(found["likewise"])
        self.compare(found, short[:200], long[:50])
        self.searches("queries/s: 2-6 terms, k = 10", found, short, 10)
        self.searches("queries/s: the same, one a call", found, short[:300], 10, batch=1)
        self.searches("queries/s: 2-6 terms, k = 1000", found, short[:300], 1000)
        self.searches("queries/s: whole documents, k = 10", found, long, 10)
        del found
        self.sizes()
        self.resident(short[:200])
        sys.stdout.flush()

    def built(self, name: str) -> Path:
        return self.folder / f"{name}-raw"

    def terms(self, name: str) -> Path:
        return self.built(name) if name == "likewise" else self.folder / f"{name}-terms"

    def build(self) -> None:
        builders: dict[str, Callable[..., None]] = {
            "likewise": engines.build_ours,
            "bm25s": engines.build_bm25s,
            "tantivy": engines.build_tantivy,
        }
        few = self.documents[:2000]
        cpu, wall = {}, {}
        for name, build in builders.items():
            build(engines.fresh(self.built(name)), few)  # so that nothing is compiled below
            for _ in range(2 if len(self.documents) < 100_000 else 1):
                seconds = _timed(build, engines.fresh(self.built(name)), self.documents)
                cpu[name] = min(cpu.get(name, np.inf), seconds[0])
                wall[name] = min(wall.get(name, np.inf), seconds[1])
        folder = engines.fresh(self.folder / "likewise-cores")
        cores = engines.all_cores()
        seconds = _timed(engines.build_ours, folder, self.documents, threads=cores)
        engines.fresh(folder)
        n = len(self.documents)
        self.row("build, documents/s of CPU time", {k: n / v for k, v in cpu.items()})
        self.row("build, documents/s, one thread", {k: n / v for k, v in wall.items()})
        self.row(f"  ours with {cores} threads", {"likewise": n / seconds[1]})

    def index_terms(self) -> None:
        snapshot = engines.open_snapshot(self.built("likewise"))
        for kind in (Bm25s, Tantivy):
            kind.index_terms(engines.fresh(self.terms(kind.name)), snapshot)

    def queries(self, ours: Ours) -> tuple[list[list[str]], list[list[str]]]:
        """Two to six terms of titles, and all distinct terms of documents."""
        generator = np.random.default_rng(1)
        snapshot = ours.snapshot
        short: list[list[str]] = []
        while len(short) < 2000 // self.scale:
            document = snapshot.document(int(generator.integers(snapshot.n_slots)))
            terms = list(dict.fromkeys(snapshot.analyzer.terms(document.title)))
            if len(terms) >= 2:
                short.append(terms[: int(generator.integers(2, 7))])
        docs = generator.integers(0, snapshot.n_slots, 300 // self.scale)
        counted = snapshot.term_counts(docs)
        long = [snapshot.terms(piece) for piece in np.split(counted.terms, counted.bounds[1:-1])]
        return short, [query for query in long if query]

    def compare(self, found: dict[str, Engine], *sets: list[list[str]]) -> None:
        """Check before anything is timed that the answers are the same."""
        for what, queries in zip(("short queries", "whole documents"), sets, strict=True):
            answers: dict[str, list[Answer]] = {
                name: engine.search(engine.prepare(queries), 10) for name, engine in found.items()
            }
            ours = answers["likewise"]
            gap = max(
                float(np.abs(mine[1] - theirs[1][: len(mine[1])]).max(initial=0))
                for mine, theirs in zip(ours, answers["bm25s"], strict=True)
            )
            if gap > 1e-4 * max(float(mine[1].max(initial=1)) for mine in ours):
                raise SystemExit(f"scores differ from those of bm25s by {gap}")
            pairs = list(zip(ours, answers["tantivy"], strict=True))
            first = np.mean([_overlap(mine[0][:1], theirs[0][:1]) for mine, theirs in pairs])
            ten = np.mean([_overlap(mine[0], theirs[0]) for mine, theirs in pairs])
            print(
                f"  {what}: the best 10 score as by bm25s to {gap:.0e}; tantivy, which rounds "
                f"lengths, has {ten:.0%} of them and {first:.0%} of the best"
            )

    def searches(
        self,
        what: str,
        found: dict[str, Engine],
        queries: list[list[str]],
        k: int,
        *,
        batch: int = 0,
    ) -> None:
        size = batch or len(queries)
        prepared = {name: engine.prepare(queries) for name, engine in found.items()}
        best = dict.fromkeys(found, np.inf)
        for _ in range(3 if self.scale > 1 else 7):
            for name, engine in found.items():
                pieces = [prepared[name][i : i + size] for i in range(0, len(queries), size)]
                seconds = _timed(_search, engine, pieces, k)
                best[name] = min(best[name], seconds[0])
        self.row(f"{what}", {k: len(queries) / v for k, v in best.items()})

    def sizes(self) -> None:
        n = len(self.documents)
        sizes = {name: engines.size_on_disk(self.built(name)) / n for name in NAMES}
        self.row("bytes a document on disk", sizes, less_is_better=True)
        parts: dict[str, float] = {}
        for path in self.built("likewise").rglob("*"):
            if path.is_file():
                part = next((v for k, v in PARTS.items() if path.name.startswith(k)), "manifest")
                parts[part] = parts.get(part, 0) + path.stat().st_size / n
        for name, kind in ENGINES.items():
            print(f"    {name} keeps {kind.keeps}")
        print("    ours: " + ", ".join(f"{part} {size:.0f}" for part, size in parts.items()))

    def resident(self, queries: list[list[str]]) -> None:
        """Measure the memory that loading and 200 queries take, in a process of its own."""
        text = "\n".join(" ".join(query) for query in queries)
        (self.folder / "queries.txt").write_text(text)
        grown = {}
        for name in NAMES:
            command = [sys.executable, __file__, "--resident", name, str(self.terms(name))]
            command.append(str(self.folder / "queries.txt"))
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            grown[name] = float(done.stdout)
        self.row("MB resident after 200 queries", grown, less_is_better=True)

    def row(self, what: str, values: dict[str, float], *, less_is_better: bool = False) -> None:
        ours = values["likewise"]
        ratios = []
        for name in NAMES[1:]:
            if name in values:
                theirs = values[name]
                ratio = theirs / ours if less_is_better else ours / theirs
                ratios.append(f"{ratio:6.2f}{' ' if ratio >= 1 else ' behind'}")
        shown = "".join(f"{values[name]:12,.0f}" for name in NAMES if name in values)
        print(f"{what:36}{shown}   {' '.join(ratios)}", flush=True)


def _overlap(mine: Sequence[int], theirs: Sequence[int]) -> float:
    return len({*map(int, mine)} & {*map(int, theirs)}) / len(mine) if len(mine) else 1.0


def _search(engine: Engine, pieces: list, k: int) -> None:
    for piece in pieces:
        engine.search(piece, k)


def _timed(work: Callable[..., None], *args: object, **options: object) -> tuple[float, float]:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work(*args, **options)
    return time.process_time() - cpu, time.perf_counter() - wall


def _resident(name: str, folder: str, queries: str) -> float:
    import psutil

    asked = [line.split() for line in Path(queries).read_text().splitlines()]
    process = psutil.Process()
    # What the libraries and their compilers take is not counted: all are at work already.
    with tempfile.TemporaryDirectory() as aside:
        small = Path(aside)
        engines.build_ours(small / "likewise", list(corpora.drawn(100)))
        if name != "likewise":
            ours = engines.open_snapshot(small / "likewise")
            ENGINES[name].index_terms(small / name, ours)
        engine = ENGINES[name](small / name)
        engine.search(engine.prepare([["bada", "gola"]]), 10)
    before = process.memory_info().rss
    engine = ENGINES[name](Path(folder))
    for query in asked:
        engine.search(engine.prepare([query]), 10)
    return (process.memory_info().rss - before) / 1e6


if __name__ == "__main__":
    main()
