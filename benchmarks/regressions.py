"""Is anything slower than at a pinned commit? What other benchmarks measure, in small, in turns.

    python benchmarks/regressions.py [--base COMMIT] [--docs 20000] [--rounds 11] [--only PATTERNS]

The commit is checked out aside. Both trees index the same abstracts (`arxiv` of the folders that
LIKEWISE_DATA lists) and do the tasks of `regression_tasks.py`, each in a process of its own, on one
thread, taking turns; times are processor time, medians of the rounds. A ratio is ours over the
commit's: above 1.05 a row is marked. Ends with 1 where one is.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from golden import ROOT, checked_out, git
from likewise_papers.folders import find_collection
from sides import Side, in_turns

BASE = "a38b43c"
TASKS = Path(__file__).with_name("regression_tasks.py")
# A task that takes seconds has fewer rounds.
SLOW, SLOW_ROUNDS = 2.0, 5
LIMIT = 1.05

BM25 = {"method": "bm25"}
ROWS: dict[str, list[object]] = {
    "search/bm25, k 10, one a call": ["search", BM25, 10, "titles"],
    "search/bm25, k 10": ["run", BM25, 10, "titles"],
    "search/bm25, k 1000": ["run", BM25, 1000, "titles"],
    "search/bm25, whole documents": ["run", BM25, 10, "texts"],
    "search/ql": ["run", {"method": "ql"}, 10, "titles"],
    "search/tfidf": ["run", {"method": "tfidf"}, 10, "titles"],
    "search/default, one a call": ["search", {}, 10, "titles"],
    "search/default, k 1000": ["run", {}, 1000, "titles"],
    "expand/rm3": ["run", {"expand": "rm3"}, 10, "titles"],
    "expand/robust": ["run", {"expand": "robust"}, 10, "titles"],
    "expand/graph": ["run", {"expand": "graph"}, 10, "titles"],
    "klsa/smoothing": ["run", {"method": "bm25", "smooth": "klsa"}, 10, "titles"],
    "like/default": ["like", "", False],
    "like/default, explained": ["like", "", True],
    "like/bm25": ["like", "bm25", False],
    "like/lsh-tfidf": ["like", "lsh-tfidf", False],
    "topics/decompose": ["decompose"],
    "terms/near": ["terms"],
    "neighbours/scan": ["neighbours", "scan"],
    "neighbours/lists": ["neighbours", "lists"],
    "neighbours/ivf": ["neighbours", "ivf"],
    "neighbours/lsh": ["neighbours", "lsh"],
    "neighbours/codes": ["neighbours", "codes"],
    "neighbours/tree": ["neighbours", "tree"],
    "index": ["index"],
    "merge": ["merge"],
    "terms/graph": ["graph"],
    "lsi/fit": ["fit", "lsi"],
    "klsa/fit": ["fit", "klsa"],
    "topics/lda 50": ["fit", "lda(topics=50,sweeps=10)"],
    "topics/ddm 50": ["fit", "ddm(topics=50,sweeps=10)"],
    "topics/lda 250": ["fit", "lda(topics=250,sweeps=10)"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=BASE, metavar="COMMIT")
    parser.add_argument("--tree", type=Path, metavar="DIR", help="the commit, checked out before")
    parser.add_argument("--data", metavar="FOLDER", help="that has arxiv; else LIKEWISE_DATA")
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="*", metavar="PATTERNS", help="rows, as in a shell")
    options = parser.parse_args()
    data = find_collection("arxiv", [options.data] if options.data else None)
    if data is None:
        parser.error("no arxiv: name its folder by --data or LIKEWISE_DATA")
    commit = git("rev-parse", "--verify", f"{options.base}^{{commit}}")
    slower = []
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source = work / "documents.jsonl"
        with gzip.open(data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            source.write_text("".join(islice(lines, options.docs)), encoding="utf-8")
        tree = options.tree or stack.enter_context(checked_out(commit))
        trees = ((options.base, tree), ("here", ROOT))
        sides = [Side(name, each, work / name, TASKS) for name, each in trees]
        for side in sides:
            stack.callback(side.close)
            if wrong := side.ask("prepare", source, options.docs):
                sys.exit(f"{side.name}: {wrong}")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
        print(
            f"| {options.docs:,} abstracts, ms | {options.base} | here | ratio |\n|---|---|---|---|"
        )
        for row, task in ROWS.items():
            if not any(fnmatchcase(row, one) for one in options.only.split(",")):
                continue
            first = [side.ask(*task) for side in sides]
            if refused := [one for one in first if isinstance(one, str)]:
                print(f"| {row} | {refused[0]} | | |", flush=True)
                continue
            rounds = SLOW_ROUNDS if max(first) > SLOW else options.rounds
            times = in_turns(sides, lambda side: side.ask(*task), rounds)  # noqa: B023
            base, here = (statistics.median(one) * 1e3 for one in times)
            ratio = here / base
            slower += [row] if ratio > LIMIT else []
            mark = "**" if ratio > LIMIT else ""
            print(f"| {row} | {base:,.1f} | {here:,.1f} | {mark}{ratio:.2f}{mark} |", flush=True)
    print(f"\nslower than {LIMIT}: {', '.join(slower) or 'nothing'}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
