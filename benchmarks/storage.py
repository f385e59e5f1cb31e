"""Is the store faster and smaller than that of format 1? Both in one run, in turns.

    python benchmarks/storage.py [--base COMMIT] [--data FOLDER] [--rounds 11] [--docs N]
        [--only opening,adding,answering,merging,indexing,bytes] [--keep DIR] [--tree DIR]

The commit is checked out aside, and each side indexes the same abstracts (`arxiv` of the folders
that LIKEWISE_DATA lists) with lsi and klsa: in one segment, and in twenty. Tasks are those of
`storage_tasks.py`, in processes of their own on one thread, and times are processor time, medians
of rounds in which the two sides take turns; what waits for the disk is told as time that passed. A
ratio is format 1's over ours: above 1 we are ahead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from golden import ROOT, checked_out, git
from likewise_papers.folders import find_collection
from sides import WRITING, Side, in_turns

BASE = "a38b43c"
TASKS = Path(__file__).with_name("storage_tasks.py")
SEGMENTS = 20
BUDGETS = (256 << 20, 512 << 20, 1 << 30)
# What takes a process, or seconds, has fewer rounds.
FEW_ROUNDS, SLOW_ROUNDS = 5, 3
SIDES = ("format 1", "here")
PARTS = {
    "documents": "texts",
    "index/lengths": "lengths",
    "index/ids": "ids",
    "index/terms": "vocabulary",
    "index/records": "records",
    "index/postings.docs": "postings: documents",
    "index/postings.counts": "postings: counts",
    "index/postings.impacts": "postings: impacts",
    "index/postings.entries": "postings: entries",
    "index/columns": "columns of frequent terms",
    "index/postings": "postings: heads, terms, large counts",
    "index/bounds": "bounds",
    "index/cards": "cards",
    "index/fields": "fields",
    "index/documents": "places of texts",
    "finder": "finders",
    "model": "models",
}


class StoreSide(Side):
    """A side, with its collections of one segment and of many."""

    def __init__(self, name: str, tree: Path, work: Path) -> None:
        super().__init__(name, tree, work, TASKS)
        self.one, self.many = work / "one", work / "many"

    def copied(self, which: Path) -> Path:
        """A copy whose files are links: both formats never write into a file that is there."""
        to = self.work / "copy"
        shutil.rmtree(to, ignore_errors=True)
        subprocess.run(["cp", "-al", str(which), str(to)], check=True)
        # But for the lock, files are replaced by renaming; the lock is opened for writing.
        for lock in to.glob("lock"):
            lock.unlink()
            lock.touch()
        return to


class Bench:
    """All rows."""

    def __init__(
        self, sides: Sequence[StoreSide], documents: list[dict], source: Path, rounds: int
    ):
        self.sides, self.documents, self.source, self.rounds = sides, documents, source, rounds
        generator = np.random.default_rng(0)
        self.drawn = [documents[i] for i in generator.permutation(len(documents))[:400]]
        self.lots = generator.integers(0, len(documents), (100, 10)).tolist()

    def in_turns(self, task: Callable[[StoreSide], Any], rounds: int = 0) -> list[list[Any]]:
        return in_turns(self.sides, task, rounds or self.rounds)

    def row(self, what: str, values: Sequence[float], form: str = "{:,.2f}") -> None:
        ratio = f"{values[0] / values[1]:.2f}" if values[1] else ""
        print(f"| {what} | " + " | ".join(map(form.format, values)) + f" | {ratio} |", flush=True)

    def note(self, what: str, *values: str) -> None:
        print(f"| {what} | " + " | ".join(values) + " | |", flush=True)

    def prepare(self) -> None:
        """Index on both sides, unless it is kept from an earlier run."""
        size = -(-len(self.documents) // SEGMENTS)
        parts = []
        for i in range(SEGMENTS):
            parts.append(self.source.parent / f"part-{i}.jsonl")
            lines = map(json.dumps, self.documents[i * size : (i + 1) * size])
            parts[-1].write_text("\n".join(lines) + "\n")
        for side in self.sides:
            for folder, files in ((side.one, [self.source]), (side.many, parts)):
                if not folder.exists():
                    aside = side.work / "aside"
                    shutil.rmtree(aside, ignore_errors=True)
                    side.run("build", aside, files, BUDGETS[-1], 2, True)
                    aside.rename(folder)
            for how, what in (("search", "quantum field"), ("like", self.documents[0]["id"])):
                side.run("first", side.many, how, what)

    def run(self) -> None:
        self.prepare()
        print(f"\n| {len(self.documents):,} abstracts | {' | '.join(SIDES)} | ratio |")
        print("|---|---|---|---|")
        self.opening()
        self.adding()
        self.answering()
        self.merging()
        self.indexing()
        self.bytes()

    def opening(self) -> None:
        text = self.drawn[0]["title"]
        for name, which in (("20 segments", "many"), ("1 segment", "one")):

            def folder(side: StoreSide, which: str = which) -> Path:
                return getattr(side, which)

            for side in self.sides:
                side.ask("open_it", folder(side))
            found = self.in_turns(lambda side: side.ask("open_it", folder(side)))
            self.row(f"open {name}, ms", [_median(one, "cpu") * 1e3 for one in found])
            evicted = self.in_turns(
                lambda side: side.run("open_evicted", folder(side)),
                FEW_ROUNDS,
            )
            self.row(
                "the same evicted from the page cache, ms that passed",
                [_median(one, "wall") * 1e3 for one in evicted],
            )
            disk = [_median(one, "disk") / 1e6 for one in evicted]
            self.row("the same, MB read from disk", disk)
            self.row(
                "bytes by read calls at open", [_median(one, "read") for one in found], "{:,.0f}"
            )
            everything = [side.run("open_all", folder(side), text)["files"] for side in self.sides]
            self.row(f"descriptors, {name}, all opened", everything, "{:,}")

    def adding(self) -> None:
        document = {"id": "new", "title": self.drawn[1]["title"], "text": self.drawn[2]["text"]}
        whole = [_size(side.one) for side in self.sides]

        def add(side: StoreSide) -> Any:
            return side.ask("add", side.copied(side.one), document, False)

        self.in_turns(add, 1)
        found = self.in_turns(add)
        self.row("add a document, ms", [_median(one, "cpu") * 1e3 for one in found])
        passed = [_median(one, "wall") * 1e3 for one in found]
        self.row("the same, ms that passed", passed)
        evicted = self.in_turns(
            lambda side: side.run("add", side.copied(side.one), document, True), FEW_ROUNDS
        )
        read = [_median(one, "disk") for one in evicted]
        shares = [100 * n / all for n, all in zip(read, whole, strict=True)]
        self.row("the same evicted: read from disk, % of the collection", shares)
        if shutil.which("strace") is None:
            return
        fsyncs, calls, writes = [], [], []
        for side in self.sides:
            trace, folder = side.work / "trace", side.copied(side.one)
            side.run("add", folder, document, False, trace=trace)
            counted = _calls(trace, folder)
            fsyncs.append(counted["fsync"])
            calls.append(counted["calls"])
            writes.append(counted["writes"])
        self.row("fsyncs of it", fsyncs, "{:,}")
        self.row("calls that make, rename, remove or sync", calls, "{:,}")
        self.row("calls that write", writes, "{:,}")

    def answering(self) -> None:
        found = self.in_turns(lambda side: side.ask("ten", side.one, self.lots))
        self.row("ten answers with title and fields, µs", [_median(one) * 1e6 for one in found])
        titles = [one["title"] for one in self.drawn]
        texts = [one["text"] for one in self.drawn]
        for what, queries in (("titles", titles), ("whole abstracts", texts)):
            for name, which in (("", "one"), (", 20 segments", "many")):
                for side in self.sides:
                    side.ask("fresh_words", getattr(side, which), queries[:2])
                times: list[list[float]] = [[], []]
                for i in range(self.rounds):
                    lot = queries[3 * i : 3 * i + 3]
                    for j, side in enumerate(self.sides):
                        times[j].append(side.ask("fresh_words", getattr(side, which), lot))
                values = [_median(one) * 1e3 for one in times]
                self.row(f"bm25, no word asked before: {what}{name}, ms", values)
        ids = [one["id"] for one in self.drawn]
        for which, name in (("one", ""), ("many", ", 20 segments")):
            for how, what in (("bm25", titles), ("search", titles), ("like", ids)):
                says = {"bm25": "search, bm25", "search": "default search", "like": "like"}[how]
                if which == "one":
                    begun = self.in_turns(
                        lambda side: side.run("first", side.one, how, what[0]),  # noqa: B023
                        min(self.rounds, FEW_ROUNDS),
                    )
                    values = [_median(one) * 1e3 for one in begun]
                    self.row(f"first {says} of a process, ms", values)
                n = 40
                for side in self.sides:
                    side.ask("warm", getattr(side, which), how, what[:n])
                    side.ask("warm", getattr(side, which), how, what[:n])
                found = self.in_turns(
                    lambda side: side.ask("warm", getattr(side, which), how, what[:n])  # noqa: B023
                )
                self.row(f"warm {says}{name}, ms", [_median(one) * 1e3 for one in found])

    def merging(self) -> None:
        for task, name in (
            ("merge", "merge 20 segments with derived data, s"),
            ("merge_bare", "the same without derived data, s"),
        ):
            found = self.in_turns(
                lambda side: side.run(task, side.copied(side.many)),  # noqa: B023
                SLOW_ROUNDS,
            )
            self.row(name, [_median(one, "cpu") for one in found])
            if task == "merge":
                self.row("the same, s that passed", [_median(one, "wall") for one in found])

    def indexing(self) -> None:
        def build(side: StoreSide, memory: int, fitted: bool) -> Any:
            aside = side.work / "aside"
            shutil.rmtree(aside, ignore_errors=True)
            return side.run("build", aside, [self.source], memory, 2, fitted)

        found = self.in_turns(lambda side: build(side, BUDGETS[-1], True), SLOW_ROUNDS)
        built = [statistics.median(one["built"][0] for one in mine) for mine in found]
        fitted = [statistics.median(one["fitted"][0] for one in mine) for mine in found]
        self.row("index, s", built)
        self.row("fit lsi and klsa, and encode by them, s", fitted)
        for memory in BUDGETS:
            peaks = [build(side, memory, False) for side in self.sides]
            told = [
                f"{one['peak'] / 2**20:,.0f} = {one['peak'] / memory:.2f} of it "
                f"({one['before'] / 2**20:,.0f} before it began)"
                for one in peaks
            ]
            self.note(f"peak anonymous memory, MB, of {memory >> 20} MB", *told)
        for side in self.sides:
            shutil.rmtree(side.work / "aside", ignore_errors=True)

    def bytes(self) -> None:
        n = len(self.documents)
        self.row("bytes a document", [_size(side.one) / n for side in self.sides], "{:,.0f}")
        parts: dict[str, float] = {}
        here = self.sides[-1]
        for name, size in here.run("sizes", here.one).items():
            found = name.removeprefix("data/")
            part = next((say for start, say in PARTS.items() if found.startswith(start)), found)
            parts[part] = parts.get(part, 0) + size / n
        print("\n| of these, here | bytes a document |\n|---|---|")
        for part, size in sorted(parts.items(), key=lambda item: -item[1]):
            if size >= 0.05:
                print(f"| {part} | {size:,.1f} |")


def _median(found: Sequence[Any], name: str = "") -> float:
    return statistics.median(one[name] if name else one for one in found)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _calls(trace: Path, folder: Path) -> dict[str, int]:
    """Count the calls that change a collection."""
    counted = {"fsync": 0, "calls": 0, "writes": 0}
    for line in trace.read_text(errors="replace").splitlines():
        name = line.split(maxsplit=1)[1].partition("(")[0]
        if str(folder) not in line or " = -1 " in line:
            continue
        if name in ("fsync", "fdatasync"):
            counted["fsync"] += 1
        elif name == "openat" and "O_CREAT" not in line and "O_TMPFILE" not in line:
            continue
        elif name in WRITING.split(",") and name not in ("openat", "link", "linkat"):
            counted["writes"] += 1
            continue
        counted["calls"] += 1
    return counted


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=BASE, metavar="COMMIT", help="that has format 1")
    parser.add_argument("--data", metavar="FOLDER", help="that has arxiv; else LIKEWISE_DATA")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--docs", type=int, default=0, help="only so many; 0 is all")
    parser.add_argument("--only", default="", help="opening, adding, … separated by commas")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where collections stay")
    parser.add_argument("--tree", type=Path, metavar="DIR", help="the commit, checked out before")
    options = parser.parse_args()
    data = find_collection("arxiv", [options.data] if options.data else None)
    if data is None:
        parser.error("no arxiv: name its folder by --data or LIKEWISE_DATA")
    with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in islice(file, options.docs or None)]
    commit = git("rev-parse", "--verify", f"{options.base}^{{commit}}")
    with ExitStack() as stack:
        work = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        source = work / "all.jsonl"
        source.write_text("\n".join(map(json.dumps, documents)) + "\n")
        tree = options.tree or stack.enter_context(checked_out(commit))
        sides = [StoreSide(SIDES[0], tree, work / "base"), StoreSide(SIDES[1], ROOT, work / "head")]
        for side in sides:
            stack.callback(side.close)
        bench = Bench(sides, documents, source, options.rounds)
        print(f"load {_load()} on {os.cpu_count()} cores before it begins")
        if options.only:
            bench.prepare()
            for part in options.only.split(","):
                getattr(bench, part)()
        else:
            bench.run()
        print(f"\nload {_load()} after it, of which this is 1 to 2")


if __name__ == "__main__":
    main()
