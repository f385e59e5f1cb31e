"""Where does the time of the default search go? By stage, before and after, with equal answers.

    python benchmarks/default_scale.py FOLDER … [--queries 200] [--base COMMIT] [--seed N]

Each FOLDER is a collection. Titles of its documents, cut to nine words, are the queries, one a call
and each asked for once; ten answers with their titles are read. The commit is checked out aside,
and both trees answer each title in turns, on one thread: processor time in ms, the mean by stage,
as it is and with explanations. Ends with 1 where an answer differs, in its id or in a bit of its
score.

With --deep each title is asked of this tree only, and once more with all that was ranked by words
read at once and all vectors scanned: how often more than the first of it is needed, and whether
that changes an answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise as lw

K, WORDS, FEWEST, WARM = 10, 9, 5, 20
BASE = "773298a"


class Asked:
    """A collection whose default search is timed stage by stage."""

    def __init__(self, folder):
        self.collection = lw.open(folder)
        stage = self.collection.pipeline().stage
        self.stages = getattr(stage, "short", stage).steps
        self.times, self.names = [], [str(one) for one in self.stages]
        for kind in {type(one) for one in self.stages}:
            self._time(kind)

    def _time(self, kind):
        plain = kind.run

        def run(stage, batch, context):
            # Stages that search themselves, such as the feedback's, are within their own time.
            start = time.thread_time_ns()
            found = plain(stage, batch, context)
            self.times.append((time.thread_time_ns() - start) / 1e6)
            return found

        kind.run = run

    def ask(self, text, explain):
        self.times.clear()
        start = time.thread_time_ns()
        found = self.collection.search(text, k=K, explain=explain)
        pairs = [(one.doc_id, one.score.hex()) for one in found]
        whole = (time.thread_time_ns() - start) / 1e6
        return {"ms": whole, "stages": self.times[:], "pairs": pairs}


def titles(folder, n, seed):
    """Draw titles, cut to nine words."""
    snapshot = lw.open(folder).snapshot
    found = {}
    for doc in np.random.default_rng(seed).permutation(snapshot.n_docs).tolist():
        words = snapshot.document(doc).title.split()[:WORDS]
        if len(words) >= FEWEST:
            found[" ".join(words)] = None
        if len(found) == n:
            break
    return list(found)


def answer_tasks():
    """Answer the tasks of a `Side`."""
    asked = None
    for line in sys.stdin:
        name, *task = json.loads(line)
        if name == "open":
            asked = Asked(*task)
            print(json.dumps(asked.names), flush=True)
        else:
            print(json.dumps(asked.ask(*task)), flush=True)


def compare(sides, folder, texts):
    """Print a table of both sides, and tell how many questions differ."""
    [names, _] = [side.ask("open", str(folder)) for side in sides]
    differ = 0
    for explain in (False, True):
        # Half of the titles as they are and half explained: each is asked once.
        mine = texts[: len(texts) // 2] if explain else texts[len(texts) // 2 :]
        found = [[], []]
        for i, text in enumerate(mine):
            for j in (0, 1) if i % 2 else (1, 0):
                found[j].append(sides[j].ask("ask", text, explain))
        differ += sum(a["pairs"] != b["pairs"] for a, b in zip(*found, strict=True))
        print(
            f"\n| {folder.stem}{', explained' if explain else ''} | before | after |\n|---|---|---|"
        )
        kept = [[one for one in its[WARM:] if len(one["stages"]) >= len(names)] for its in found]
        rows = [[one["stages"][: len(names)] for one in its] for its in kept]
        means = [np.mean(its, axis=0) for its in rows]
        for name, *pair in zip(names, *means, strict=True):
            print(f"| {name} | {pair[0]:.2f} | {pair[1]:.2f} |")
        whole = [np.array([one["ms"] for one in its]) for its in kept]
        rest = [w.mean() - m.sum() for w, m in zip(whole, means, strict=True)]
        print(f"| the rest, answers | {rest[0]:.2f} | {rest[1]:.2f} |")
        print(f"| **all** | {whole[0].mean():.2f} | {whole[1].mean():.2f} |")
        print(f"| median | {np.median(whole[0]):.2f} | {np.median(whole[1]):.2f} |")
    print(f"\n{folder.stem}: {differ} of {len(texts)} titles have other answers")
    return differ


def read_deep(folder, texts):
    """Tell how often the first of a search by words is not enough, and what that leaves out."""
    from likewise.like.smooth import Smoothing
    from likewise.neighbours.vectors import VectorSearch
    from likewise.retrieve.words import WordScorer

    collection = lw.open(folder)
    find_left, n_read = WordScorer.find_left, []
    WordScorer.find_left = lambda scorer, n=0: n_read.append(1) or find_left(scorer, n)
    first = [collection.search(text, k=K) for text in texts]
    Smoothing.enough = lambda *_: 0
    VectorSearch._proposed = lambda *_: None
    whole = [collection.search(text, k=K) for text in texts]
    differ = sum(
        [(a.doc_id, a.score) for a in one] != [(a.doc_id, a.score) for a in other]
        for one, other in zip(first, whole, strict=True)
    )
    print(f"{folder.stem}: {len(n_read)} of {len(texts)} searches by words were read on, ", end="")
    print(f"{differ} have other answers")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--base", default=BASE, metavar="COMMIT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deep", action="store_true")
    options = parser.parse_args()
    if options.deep:
        n, seed = options.queries, options.seed
        return sum(read_deep(one, titles(one, n, seed)) for one in options.folders) > 0
    from golden import ROOT, checked_out, git
    from sides import Side

    commit, differ = git("rev-parse", "--verify", f"{options.base}^{{commit}}"), 0
    with checked_out(commit) as tree, tempfile.TemporaryDirectory() as work:
        for folder in options.folders:
            trees = (("before", tree), ("after", ROOT))
            sides = [Side(*one, Path(work) / one[0], Path(__file__).resolve()) for one in trees]
            try:
                texts = titles(folder, options.queries, options.seed)
                differ += compare(sides, folder.resolve(), texts)
            finally:
                for side in sides:
                    side.close()
    return differ > 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        answer_tasks()
    else:
        sys.exit(main())
