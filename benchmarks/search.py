"""How fast, how large, how exact? Ours beside bm25s and tantivy, in one run.

    python benchmarks/search.py [--corpora debian,arxiv,FILE.jsonl] [--queries N] [--parts search,…]
    python benchmarks/search.py --tune [--corpora arxiv]

Corpora are real text (Debian's descriptions; `arxiv`, looked for as `likewise reproduce` does) or
files of documents, such as the synthetic ones of recombined.py. All are given the same documents,
and for the searches the same terms, those of our analysis; each uses one thread. Every query is
asked once, one a call, in turns of 60 of each engine; we keep nothing of words that were asked for
but how they are analysed, which is forgotten before each query. "Answers" are titles by a text as
it is typed, which each engine analyses by itself. Times are processor time. A ratio is theirs over
ours: above 1 we are ahead, and "behind" says where not.

Parts: `search`, `budget` (where the time of our answers goes), `threads`, `memory` (resident after
200 queries, each engine in a process of its own), `build` (each reads, tokenises and stems raw text
by itself). `--tune` tries other costs.
"""

from __future__ import annotations

import os

os.environ["NUMBA_NUM_THREADS"] = "1"

import argparse
import gc
import hashlib
import importlib.metadata
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import corpora
import engines
from engines import Answer, Bm25s, Engine, Ours, Tantivy
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.records import Document
from likewise.retrieve import bm25_kernels, bm25_plan
from likewise.stages.word_forms import terms_asked

NAMES = ("likewise", "bm25s", "tantivy")
ENGINES: dict[str, Any] = {"likewise": Ours, "bm25s": Bm25s, "tantivy": Tantivy}
SETTINGS = (
    "bm25s: backend numba, lucene, in memory, one thread; tantivy: one segment, count off, "
    "mapped, one thread; all k1 1.2, b .75, k 10"
)
PARTS = ("search", "budget", "threads", "memory", "build")
# Queries of an engine before it is the next one's turn.
TURN = 60
SEED = 1
# What is tried in place of a constant of the kernel.
TUNED = {
    "_LOOK_COST": (2500, 10000),
    "_GLANCE_COST": (1000, 4000),
    "FIND_COST": (25, 100),
    "COLUMN_COST": (750, 3000),
    "CODE_COST": (5, 20),
    "_RECORD_COST": (500, 2000),
    "_EARLY_COST": (300, 3000),
    "_SHORT": (10, 40),
    "_SCORE_COST": (2, 6),
    "_FALLEN": (0.25, 0.85),
    "_SPARSE": (512, 8192),
    "_RARE": (16.0, 256.0),
    "_MANY": (16, 256),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", default="debian,arxiv")
    parser.add_argument("--queries", type=int, default=600)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/likewise-benchmarks"))
    parser.add_argument("--tune", action="store_true", help="try other costs in the kernel")
    parser.add_argument("--resident", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--tuned", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.resident:
        print(_resident(*args.resident))
        return
    if args.tuned:
        print(*_tuned(*args.tuned, args.queries))
        return
    packages = ("bm25s", "tantivy", "numba")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    print(f"{_processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, seed {SEED}")
    print(f"Python {platform.python_version()}, {', '.join(versions)}; {SETTINGS}")
    for name in args.corpora.split(","):
        comparison = Comparison(name, args.cache, args.queries)
        if args.tune:
            comparison.tune()
        else:
            comparison.run(args.parts.split(","))


class Comparison:
    """All rows for one corpus."""

    def __init__(self, name: str, cache: Path, n_queries: int) -> None:
        self.name, self.cache, self.n_queries = name, cache, n_queries
        self.folder = cache / Path(name).stem
        self.folder.mkdir(parents=True, exist_ok=True)

    def documents(self) -> Iterator[Document]:
        if self.name == "debian":
            return iter(corpora.debian(self.cache, 64_000)[1])
        return corpora.stored(self.name)

    def run(self, parts: Sequence[str]) -> None:
        self.index()
        snapshot = open_snapshot(self.terms("likewise"))
        sizes = f"{snapshot.n_docs:,} documents, {snapshot.n_terms:,} terms"
        print(f"\n{self.name}: {sizes}, {self.sha()}")
        print(f"{'':40}{''.join(f'{name:>12}' for name in NAMES)}   theirs / ours")
        if "build" in parts:
            self.build()
        if {"search", "budget", "threads"} & {*parts}:
            found = {name: ENGINES[name](self.terms(name)) for name in NAMES}
            titles, texts = self.queries(found["likewise"])
            if "search" in parts:
                self.compare(found, titles[:200], texts[:50])
                self.search("titles", found, titles)
                self.search("whole documents", found, texts)
                self.answers(found)
            if "budget" in parts:
                self.budget(found["likewise"])
            if "threads" in parts:
                self.threads(found["likewise"], titles)
        if "memory" in parts:
            self.resident()
        sys.stdout.flush()

    def terms(self, name: str) -> Path:
        return self.folder / f"{name}-terms"

    def index(self) -> None:
        """Index what is not there from another run."""
        if not (self.terms("likewise") / "manifest.json").exists():
            engines.build_ours(engines.fresh(self.terms("likewise")), self.documents(), threads=2)
        for name in NAMES[1:]:
            if not (self.terms(name) / "done").exists():
                snapshot = open_snapshot(self.terms("likewise"))
                ENGINES[name].index_terms(engines.fresh(self.terms(name)), snapshot)
                (self.terms(name) / "done").touch()

    def sha(self) -> str:
        """The checksum of ids and titles."""
        sha = hashlib.sha256()
        snapshot = open_snapshot(self.terms("likewise"))
        for first in range(0, snapshot.n_slots, 10_000):
            docs = np.arange(first, min(first + 10_000, snapshot.n_slots))
            for line in zip(snapshot.doc_ids(docs), snapshot.cards(docs), strict=True):
                sha.update(f"{line[0]}\t{line[1].title}\n".encode())
        return f"sha256 {sha.hexdigest()[:12]}"

    def queries(self, ours: Ours) -> tuple[list[list[str]], list[list[str]]]:
        """The distinct terms of titles, and of whole documents."""
        snapshot = ours.snapshot
        docs = np.random.default_rng(SEED).permutation(snapshot.n_slots)[: 3 * self.n_queries]
        titles = [snapshot.analyzer.terms(card.title) for card in snapshot.cards(docs)]
        counted = snapshot.term_counts(docs[self.n_queries :])
        texts = [snapshot.terms(piece) for piece in np.split(counted.terms, counted.bounds[1:-1])]
        short = [[*dict.fromkeys(terms)] for terms in titles if terms]
        return short[: self.n_queries], [text for text in texts if text][: self.n_queries // 2]

    def compare(self, found: dict[str, Engine], *sets: list[list[str]]) -> None:
        """Check before anything is timed that the answers are the same."""
        for what, queries in zip(("titles", "whole documents"), sets, strict=True):
            answers: dict[str, list[Answer]] = {
                name: [engine.search(one, 10) for one in engine.prepare(queries)]
                for name, engine in found.items()
            }
            ours = answers["likewise"]
            gap = max(
                float(np.abs(mine[1] - theirs[1][: len(mine[1])]).max(initial=0))
                for mine, theirs in zip(ours, answers["bm25s"], strict=True)
            )
            if gap > 1e-4 * max(float(mine[1].max(initial=1)) for mine in ours):
                raise SystemExit(f"scores differ from those of bm25s by {gap}")
            pairs = list(zip(ours, answers["tantivy"], strict=True))
            ten = np.mean([_overlap(mine[0], theirs[0]) for mine, theirs in pairs])
            print(
                f"  {what}: the best 10 score as by bm25s to {gap:.0e}; tantivy, which rounds "
                f"lengths, has {ten:.0%} of them"
            )

    def search(self, what: str, found: dict[str, Engine], queries: list[list[str]]) -> None:
        prepared = {name: engine.prepare(queries) for name, engine in found.items()}
        n_terms = np.mean([len(query) for query in queries])

        def ask(name: str, i: int) -> None:
            found[name].search(prepared[name][i], 10)

        for when in ("first time", "again"):
            self.row(f"{what} ({n_terms:.0f} terms), {when}, µs", self.in_turns(ask, len(queries)))

    def answers(self, found: dict[str, Engine]) -> None:
        snapshot = found["likewise"].snapshot  # type: ignore[attr-defined]
        docs = np.random.default_rng(SEED + 1).permutation(snapshot.n_slots)[: self.n_queries]
        typed = [card.title for card in snapshot.cards(docs) if snapshot.analyzer.terms(card.title)]

        def ask(name: str, i: int) -> None:
            found[name].answers(typed[i], 10)

        for name in NAMES:
            # With a phrase, as some titles have one: what reads it is loaded before.
            found[name].answers('a word of "no matter"', 10)
        self.row("answers to titles as typed, µs", self.in_turns(ask, len(typed)))

    def in_turns(self, ask: Callable[[str, int], None], n: int) -> dict[str, float]:
        """The mean of processor time, in µs; who begins changes."""
        spent = dict.fromkeys(NAMES, 0.0)
        gc.collect()
        for turn, first in enumerate(range(0, n, TURN)):
            for name in (*NAMES[turn % 3 :], *NAMES[: turn % 3]):
                for i in range(first, min(first + TURN, n)):
                    start = time.thread_time()
                    ask(name, i)
                    spent[name] += time.thread_time() - start
        return {name: seconds / n * 1e6 for name, seconds in spent.items()}

    def budget(self, ours: Ours) -> None:
        """Where the time of answers to titles as typed goes, each step with titles of its own."""
        snapshot, retriever = ours.snapshot, ours.retriever
        docs = np.random.default_rng(SEED + 2).permutation(snapshot.n_slots)[: self.n_queries]
        typed = [card.title for card in snapshot.cards(docs)]
        terms = [{**terms_asked(text, snapshot)} for text in typed]
        ranked = [found.docs for found in retriever.rank(terms, k=10)]
        steps: list[tuple[str, Callable[[Any], Any], Sequence[Any]]] = [
            ("answers, all of it", lambda text: ours.answers(text, 10), typed),
            ("the words of the text", lambda text: self._words(text, snapshot), typed),
            ("rank: look up, weigh, search", lambda one: retriever.rank([one], k=10), terms),
            ("of it, look up terms", lambda one: retriever.known([*one]), terms),
            ("ids", snapshot.doc_ids, ranked),
            ("titles and fields", snapshot.cards, ranked),
        ]
        print("  budget of an answer to a title, µs")
        for i, (name, step, given) in enumerate(steps):
            mine = given[i :: len(steps)]
            step(given[0])
            start = time.thread_time()
            for one in mine:
                step(one)
            print(f"    {name:30} {(time.thread_time() - start) / len(mine) * 1e6:8.1f}")

    @staticmethod
    def _words(text: str, snapshot: Snapshot) -> None:
        snapshot.analyzer._cache.clear()
        terms_asked(text, snapshot)

    def threads(self, ours: Ours, queries: list[list[str]]) -> None:
        """Queries a second of one process, by one thread and by two, of wall time."""
        prepared = ours.prepare(queries)
        texts = [" ".join(query) for query in queries]
        ways: dict[str, tuple[Callable[[Any], Any], Sequence[Any]]] = {
            "ranking": (lambda query: ours.search(query, 10), prepared),
            "answers": (lambda text: ours.answers(text, 10), texts),
        }
        for what, (ask, asked) in ways.items():
            one, two = engines.by_threads(ask, asked)
            print(f"  {what}: {one:,.0f} queries/s by one thread, by two {two / one:.2f} of that")

    def resident(self) -> None:
        """Measure the memory that loading and 200 queries take, in a process of its own."""
        titles, _ = self.queries(Ours(self.terms("likewise")))
        queries = self.folder / "queries.txt"
        queries.write_text("\n".join(" ".join(query) for query in titles[:200]))
        grown = {}
        for name in NAMES:
            command = [sys.executable, __file__, "--resident", name]
            command += [str(self.terms(name)), str(queries)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            grown[name] = float(done.stdout)
        self.row("MB resident after 200 titles", grown)

    def build(self) -> None:
        documents = list(self.documents())
        builders: dict[str, Callable[..., None]] = {
            "likewise": engines.build_ours,
            "bm25s": engines.build_bm25s,
            "tantivy": engines.build_tantivy,
        }
        spent, sizes = {}, {}
        for name, build in builders.items():
            folder = self.folder / f"{name}-raw"
            build(engines.fresh(folder), documents[:2000])  # so that nothing is compiled below
            engines.fresh(folder)
            gc.collect()
            start = time.process_time()
            build(folder, documents)
            spent[name] = (time.process_time() - start) / len(documents) * 1e6
            sizes[name] = engines.size_on_disk(folder) / len(documents)
        self.row("build, µs a document", spent)
        self.row("bytes a document on disk", sizes)
        for name, kind in ENGINES.items():
            print(f"    {name} keeps {kind.keeps}")

    def tune(self) -> None:
        """Try other costs, each in a process of its own, in turns with those that are set."""
        self.index()
        print(f"\n{self.name}: time with another cost over that with the one that is set")
        print(f"{'':28}{'titles':>10}{'documents':>10}{'k = 100':>10}")
        for name, values in TUNED.items():
            for value in values:
                ratios = []
                for _ in range(3):
                    before = self._tried(name, getattr(_with(name)[0], name))
                    ratios.append(self._tried(name, value) / before)
                shown = "".join(f"{ratio:10.2f}" for ratio in np.median(ratios, axis=0))
                print(f"{name:>16} = {value:<8}{shown}", flush=True)

    def _tried(self, name: str, value: float) -> np.ndarray:
        command = [sys.executable, __file__, "--queries", str(self.n_queries), "--tuned", name]
        command += [str(value), str(self.terms("likewise"))]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return np.array(done.stdout.split(), float)

    def row(self, what: str, values: dict[str, float]) -> None:
        ratios = [values[name] / values["likewise"] for name in NAMES[1:]]
        told = " ".join(f"{ratio:6.2f}{'' if ratio >= 1 else ' behind'}" for ratio in ratios)
        shown = "".join(f"{values[name]:12,.0f}" for name in NAMES)
        print(f"{what:40}{shown}   {told}", flush=True)


def _with(name: str) -> list[Any]:
    """The modules whose kernels go by a constant."""
    return [module for module in (bm25_plan, bm25_kernels) if hasattr(module, name)]


def _tuned(name: str, value: str, folder: str, n_queries: int) -> list[float]:
    """The time of queries with a constant of the kernel set otherwise."""
    for module in _with(name):
        setattr(module, name, type(getattr(module, name))(float(value)))
    ours = Ours(Path(folder))
    comparison = Comparison(folder, Path(folder).parent, n_queries)
    titles, texts = comparison.queries(ours)
    out = []
    for queries, k in ((titles, 10), (texts, 10), (titles, 100)):
        prepared = ours.prepare(queries)
        ours.search(prepared[0], k)
        start = time.thread_time()
        for query in prepared:
            ours.search(query, k)
        out.append((time.thread_time() - start) / len(queries) * 1e6)
    return out


def _overlap(mine: Sequence[int], theirs: Sequence[int]) -> float:
    return len({*map(int, mine)} & {*map(int, theirs)}) / len(mine) if len(mine) else 1.0


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _resident(name: str, folder: str, queries: str) -> float:
    import psutil

    asked = [line.split() for line in Path(queries).read_text().splitlines()]
    process = psutil.Process()
    # What the libraries and their compilers take is not counted: all are at work already.
    with tempfile.TemporaryDirectory() as aside:
        small = Path(aside)
        engines.build_ours(small / "likewise", corpora.drawn(100))
        if name != "likewise":
            ours = open_snapshot(small / "likewise")
            ENGINES[name].index_terms(small / name, ours)
        engine = ENGINES[name](small / name)
        for query in engine.prepare([["bada", "gola"]]):
            engine.search(query, 10)
    before = process.memory_info().rss
    engine = ENGINES[name](Path(folder))
    for query in engine.prepare(asked):
        engine.search(query, 10)
    return (process.memory_info().rss - before) / 1e6


if __name__ == "__main__":
    main()
