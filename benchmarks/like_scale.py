"""How does likeness grow? Recall, time, bytes and a budget of `like`, on real and synthetic text.

    python benchmarks/like_scale.py FOLDER … [--queries 500] [--timed 200] [--base COMMIT]

Each FOLDER is a collection, or a file of documents to index first (in a folder beside it): arxiv's
100,000 abstracts, and what recombined.py makes of them. Documents of the collection are queries:

- recall: the share of the ten that scoring every document finds (`hybrid(candidates=0)`) that
  `like` finds, or others that score as much, its mean and the worst query, at three places of the
  dial;
- ms: processor time of one call on one core, each query asked for once, titles of answers read;
  with reasons; and scoring every document;
- queries a second by one thread, and by two of one process, of wall time;
- bytes a document, by part;
- a budget: where the time of a query goes, step by step.

With --base a commit is checked out aside and asked the same, in turns with this tree, on a copy of
the collection that it has fitted its own model on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import likewise as lw
from engines import by_threads
from likewise.like import candidates as finding
from likewise.like.by_words import WordScores
from likewise.like.candidate_kernels import room_for_maxima
from likewise.like.components import Encoder
from likewise.like.effort import accurate
from likewise.like.hybrid import Hybrid, Likeness, weights_of
from likewise.like.rescoring import largest
from likewise.models.stored_vectors import vectors_of
from likewise.retrieve.question import of_doc

K, SEED = 10, 7
FOCI = ("subject", "balanced", "thing")
# About so many documents are scored for a query.
RESCORED = 160
PARTS = {
    "dense codes, scales": ("codes", "scales", "shares"),
    "specific words": ("words.sizes", "words.terms", "words.weights", "words.scales"),
}


def opened(path):
    """Open a collection, or index a file of documents."""
    if path.suffix != ".lw":
        folder = path.with_suffix(".lw")
        if not folder.exists():
            lw.index(path, to=folder, smooth=None)
        path = folder
    return lw.open(path)


def sampled(c, n, seed):
    live = c.snapshot.live_docs()
    return np.random.default_rng(seed).choice(live, min(n, len(live)), replace=False)


def recall(c, n):
    """Print recall against scoring every document, at each place of the dial.

    Documents of one text have one score but for rounding: one that is found is right if it scores
    no less than the tenth, but for a millionth (`Accurate.count_right`). In brackets is what is
    found of the very ten, which is less where there are such.
    """
    stored = vectors_of(c.snapshot)
    encoder, how = Encoder(stored), Hybrid()
    likenesses = [Likeness(encoder, weights_of(stored, focus)) for focus in FOCI]
    hits = []
    for doc in sampled(c, n, SEED).tolist():
        query = encoder.encode(*of_doc(c.snapshot, doc))
        truth = accurate(likenesses, query, doc, feedback=how.feedback)
        for likeness, best in zip(likenesses, truth, strict=True):
            found, _ = likeness.rank(
                query,
                k=K,
                candidates=how.candidates,
                feedback=how.feedback,
                omit=np.array([doc]),
            )
            same = np.isin(best.docs, found.docs).sum()
            n_best = max(len(best.docs), 1)
            hits.append((best.count_right(likeness, found.docs) / n_best, same / n_best))
    table = np.array(hits).reshape(-1, len(FOCI), 2).transpose(1, 2, 0)
    print(f"  recall of {table.shape[2]} queries, effort {stored.effort:g} (of the very ten)")
    for focus, (mine, same) in zip(FOCI, table, strict=True):
        cells = [f"{each.mean():.4f}, worst {each.min():.1f}" for each in (mine, same)]
        print(f"    {focus:12}{cells[0]} ({cells[1]})")


def timed(c, ids, **options):
    """Give the processor time of a call, each id asked for once."""
    start = time.process_time()
    for doc_id in ids:
        for answer in c.like(doc_id, **options):
            _ = answer.doc_id, answer.title
    return (time.process_time() - start) / len(ids) * 1e3


def times(c, n):
    ids = c.snapshot.doc_ids(sampled(c, 3 * n + 60, SEED + 1))
    first, warm, plain, explained = ids[:30], ids[30:60], ids[60 : 60 + n], ids[60 + n : 60 + 2 * n]
    timed(c, first)
    timed(c, warm, explain=True)
    every = ids[60 + 2 * n :][: max(n // 10, 1)]
    return {
        "like": timed(c, plain),
        "with reasons": timed(c, explained, explain=True),
        "every document scored": timed(c, every, method="hybrid(candidates=0)"),
    }


def stored_bytes(c):
    """Print bytes a document of what comparing documents needs."""
    s, stored = c.snapshot, vectors_of(c.snapshot)
    sizes = dict.fromkeys([*PARTS, "cells"], 0)
    for artifact in s.artifacts("vectors", of=stored.artifact.id):
        pack = s.pack(artifact.pack)
        for part, names in PARTS.items():
            sizes[part] += sum(pack.n_bytes(name) for name in names)
    sizes["cells"] = sum(one.pack.size for one in s.artifacts("finder", of=stored.artifact.id))
    every = {**sizes, "in all": sum(sizes.values())}
    told = ", ".join(f"{part} {size / max(len(c), 1):.0f}" for part, size in every.items())
    print(f"  bytes a document: {told}")


def threads(c, n):
    """Print how many calls a second two threads make, and one."""
    ids = c.snapshot.doc_ids(sampled(c, n, SEED + 2))
    one, two = by_threads(lambda doc_id: [answer.title for answer in c.like(doc_id)], ids)
    print(f"  {one:,.0f} queries/s by one thread, by two {two / one:.2f} of that")


def budget(c, n):
    """Print where the time of a query goes, the median of so many queries, each asked for once."""
    s, stored = c.snapshot, vectors_of(c.snapshot)
    encoder = Encoder(stored)
    likeness = Likeness(encoder, weights_of(stored))
    mine, spent = likeness.candidates, {}

    def step(name, function, *arguments):
        start = time.thread_time()
        value = function(*arguments)
        spent.setdefault(name, []).append((time.thread_time() - start) * 1e6)
        return value

    def choose(query):
        return finding._Words(mine._weighed(query, 1.0))

    def add(words):
        for segment in s.segments:
            with mine._space(segment.n_docs) as sums:
                words.add(segment, None, sums, room_for_maxima(sums))

    for doc_id, doc in zip(
        s.doc_ids(docs := sampled(c, n + 20, SEED + 2)), docs.tolist(), strict=True
    ):
        query = step("encode the document", lambda d: encoder.encode(*of_doc(s, d)), doc)
        words = step("choose words", choose, query)
        step("add up words over postings", add, words)
        masks = [None] * len(s.segments)
        listed = step("list documents, all of it", mine.find, query, Hybrid().candidates, masks)
        estimates = step("estimate scores, first", listed.estimates, query)
        step("estimate scores, once more", listed.estimates, query)
        found = listed.docs[largest(estimates, listed.limit())[:RESCORED]]
        scorer = WordScores(encoder, query, likeness.weights)
        step("make a table of words", lambda scorer: scorer._table, scorer)
        step(f"score {RESCORED} by words", scorer.score, found)
        step(f"score {RESCORED} by dense vectors", likeness.dense.score, query, found)
        rank = lambda q, d: likeness.rank(  # noqa: E731
            q, k=K, candidates=Hybrid().candidates, feedback=3, omit=np.array([d])
        )
        step("rank, all of it", rank, query, doc)
        step("like, answers with titles", lambda i: [a.title for a in c.like(i)], doc_id)
    print(f"  budget of a query, µs ({n} queries)")
    for name, values in spent.items():
        print(f"    {name:32}{np.median(values[20:]):8.0f}")


def asked_apart(commit, folder, n):
    """Ask a commit for its times, in a process of its own."""
    tree = Path(os.environ.get("TMPDIR", "/tmp"), f"like-scale-{commit}")
    if not tree.exists():
        tree.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit, "src"], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    copy = folder.with_name(f"{folder.stem}-{commit}.lw")
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    if not copy.exists():
        lw.open(folder).copy(copy)
        fit = "import sys, likewise; likewise.open(sys.argv[1]).models.fit('lsi')"
        subprocess.run([sys.executable, "-c", fit, copy], env=environment, check=True)
    # What is imported of this tree is not there in another: only the times are asked for.
    text = Path(__file__).read_text()
    body = text[text.index("def sampled") : text.index("def recall")]
    body += text[text.index("def timed") : text.index("def stored_bytes")]
    code = (
        "import json, sys, time\nimport numpy as np\nimport likewise as lw\n"
        f"SEED = {SEED}\n{body}\nprint(json.dumps(times(lw.open({str(copy)!r}), {n})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--queries", type=int, default=500, help="for recall (default 500)")
    parser.add_argument("--timed", type=int, default=200, help="for times (default 200)")
    parser.add_argument("--base", help="a commit that is asked the same")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    print(f"likewise {lw.__version__}, seed {SEED}")
    for path in options.paths:
        c = opened(path)
        print(f"{c.folder.name}: {len(c):,} documents in {len(c.snapshot.segments)} segments")
        recall(c, options.queries)
        told = {"now": [], "base": []}
        for _ in range(3):
            told["now"].append(times(c, options.timed))
            if options.base:
                told["base"].append(asked_apart(options.base, Path(c.folder), options.timed))
        for name, each in told.items():
            if each:
                cells = ", ".join(
                    f"{what} {np.median([one[what] for one in each]):.2f}" for what in each[0]
                )
                print(f"  ms a query, {name}: {cells}")
        threads(c, options.timed)
        stored_bytes(c)
        budget(c, options.timed)


if __name__ == "__main__":
    main()
