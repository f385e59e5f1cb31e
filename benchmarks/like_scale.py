"""How does likeness grow? Drawn documents: building, bytes, and the two-level index's speed.

    python benchmarks/like_scale.py [--docs 20000,200000,2000000] [--queries 200] [--profile]

Documents are drawn (see corpora.py), indexed, LSI fitted with its defaults, vectors stored, and
from 100,000 documents on a finder. Each step runs in a process of its own, so that peaks of memory
are its own; queries run on one core. Times are processor time; building uses all cores, and has the
time by the clock beside it, which for the index includes drawing the documents. "accurate" scores
every document by both components; recall is the share of its ten that the two-level ranking has. A
second round (`again`) scans all documents once more where ranking is accurate, and candidates only
where it is two-level: the ratio of one round is the one to compare with what was published.
Queries are documents of the collection; tfidf and bm25 get them whole. `--profile` says where a
query's time goes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise as lw
from corpora import drawn
from likewise.collection.creating import build
from likewise.collection.job import Job
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import derive
from likewise.like.hybrid import Hybrid
from likewise.models.fitting import fit_model, read_config
from likewise.models.kinds import find_model, store_model
from likewise.models.stored_vectors import vectors_of
from likewise.neighbours.int8 import scan_points
from likewise.retrieve.documents import Whole
from likewise.retrieve.models import read_model
from likewise.retrieve.question import Question, of_doc
from likewise.retrieve.words import retriever_of
from likewise.text.analysis import Analysis

K, DEPTH = 10, 100
MODEL = "lsi"
PUBLISHED_DOCS = 5_000_000
PUBLISHED = "3.5 GB, 13 ms a query, scan 25 s"
# What is stored by vectors, by what it serves.
PARTS = {
    "codes": ("codes", "scales", "shares"),
    "words": ("words.sizes", "words.terms", "words.weights", "words.scales"),
}

# Each in a process of its own


class Clock:
    """Processor time, time by the clock, and the peak of memory."""

    def __init__(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self):
        return {
            "cpu": time.process_time() - self.cpu,
            "wall": time.perf_counter() - self.wall,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }


def run_index(folder, *, docs, **_):
    spent = 0.0

    def documents():
        nonlocal spent
        source = iter(drawn(docs))
        while True:
            start = time.thread_time()
            document = next(source, None)
            spent += time.thread_time() - start
            if document is None:
                return
            yield document

    clock = Clock()
    build(folder, documents(), analysis=Analysis(stop="none"))
    told = clock.read()
    return told | {"cpu": told["cpu"] - spent, "drawing": spent}


def run_fit(folder, **_):
    clock = Clock()
    snapshot = open_snapshot(folder)
    model = fit_model(snapshot, read_config(MODEL))
    told = clock.read()
    store_model(snapshot, model, name=MODEL)
    # What is derived from it is computed again, and measured, by itself.
    with Writer(folder) as writer:
        writer.put(drop=[one.id for one in writer.manifest.artifacts if one.inputs])
    return told


def run_vectors(folder, **_):
    """Store vectors and the finder: what comes after the last document is the finder's time."""
    clock = Clock()
    halved = {}

    def watch(_):
        halved.update(clock.read())

    snapshot = open_snapshot(folder)
    with Job(folder) as job:
        root, threads = find_model(snapshot, MODEL), os.cpu_count() or 1
        made = derive(snapshot, root, job, threads=threads, progress=watch)
        with Writer(folder, job=job) as writer:
            writer.put(*made)
    told = clock.read()
    finder = {name: told[name] - halved[name] for name in ("cpu", "wall")}
    return {"vectors": halved, "finder": finder | {"peak": told["peak"]}}


def run_ask(folder, *, queries, profile, **_):
    resident = [memory()]
    start = time.perf_counter()
    c = lw.open(folder)
    stored = vectors_of(c.snapshot, MODEL)
    two_level, accurate = (Hybrid(MODEL, candidates=n).ranker(stored) for n in (DEPTH, 0))
    chosen = np.random.default_rng(1).choice(c.snapshot.live_docs(), queries, replace=False)
    questions = [Question(str(doc), (of_doc(c.snapshot, doc),)) for doc in chosen.tolist()]
    two_level.rank(questions[0], k=K)
    told = {"first": time.perf_counter() - start}

    def timed(name, function):
        function(2)
        begin = time.process_time()
        value = function(queries)
        told[name] = (time.process_time() - begin) / queries
        return value

    omit = [question.docs for question in questions]
    asked = timed("ask", lambda n: [two_level.ask(question) for question in questions[:n]])

    def rank(ranker, again):
        options = {"k": K, "depth": ranker.candidates, "again": again}
        return lambda n: [
            ranker.likeness.rank(one, **options, omit=own)[0]
            for one, own in zip(asked[:n], omit[:n], strict=True)
        ]

    found = timed("two-level cold", rank(two_level, two_level.again))
    resident.append(memory())
    told["resident"] = {name: resident[1][name] - resident[0][name] for name in resident[0]}
    told["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if profile:
        show_profile(lambda: [two_level.rank(one, k=K) for one in questions], queries)
    timed("two-level", rank(two_level, two_level.again))
    timed("two-level once", rank(two_level, 0))
    timed("accurate once", rank(accurate, 0))
    truth = timed("accurate", rank(accurate, accurate.again))
    hits = [len({*f.docs.tolist()} & {*t.docs.tolist()}) for f, t in zip(found, truth, strict=True)]
    told["recall"] = sum(hits) / sum(len(t.docs) for t in truth)
    timed("scan", lambda n: [scan(two_level.likeness.encoder.segments, one) for one in asked[:n]])
    for name in ("tfidf", "bm25"):
        ranker = Whole(retriever_of(c.snapshot, read_model(name)))
        timed(name, lambda n, r=ranker: [r.rank(one, k=K) for one in questions[:n]])
    return told | sizes(c)


def scan(segments, asked):
    """Multiply all dense vectors with what is asked: what a finder must be faster than."""
    point = asked.point.astype(np.float32)
    for segment in segments:
        out = np.empty(len(segment.scales), np.float32)
        scan_points(segment.codes, segment.scales, point, out)
        np.partition(out, len(out) - DEPTH)


def memory():
    """Give resident bytes: of the process's own (anonymous), and of files that are mapped."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    own, mapped = (int(lines[name].split()[0]) * 1024 for name in ("RssAnon", "RssFile"))
    return {"own": own, "mapped": mapped}


def sizes(c):
    """Count the stored bytes of what two-level ranking needs."""
    s = c.snapshot
    model = find_model(s, MODEL)
    out = dict.fromkeys([*PARTS, "finder", "index", "model"], 0)
    out["finder"] = sum(one.pack.size for one in s.artifacts("finder", of=model.id))
    for artifact in s.artifacts("vectors", of=model.id):
        pack = s.pack(artifact.pack)
        for part, names in PARTS.items():
            out[part] += sum(pack.n_bytes(name) for name in names)
    for segment in s.manifest.segments:
        out["index"] += segment.documents.size + sum(pack.size for pack in segment.packs)
    out["model"] = model.pack.size
    found = next((one for one in vectors_of(c.snapshot, MODEL).finders if one is not None), None)
    read = (found.finder.index.nprobe, found.finder.index.nlist) if found else None
    return {"n_docs": len(c), "bytes": out, "lists": read}


def show_profile(function, queries):
    """Print the functions that take the most time of their own."""
    profile = cProfile.Profile()
    profile.runcall(function)
    rows = pstats.Stats(profile).stats
    total = sum(row[2] for row in rows.values())
    best = sorted(rows.items(), key=lambda item: -item[1][2])[:18]
    print(f"{total / queries * 1e3:.3f} ms a query under the profiler", file=sys.stderr)
    print(f"{'own ms':>9}{'total ms':>10}{'calls':>8}", file=sys.stderr)
    for (file, line, name), (_, calls, own, cumulative, _) in best:
        place = f"{Path(file).name}:{line} " if line else ""
        print(
            f"{own / queries * 1e3:9.4f}{cumulative / queries * 1e3:10.4f}{calls / queries:8.1f}"
            f"  {place}{name[:50]}",
            file=sys.stderr,
        )


STEPS = {"index": run_index, "fit": run_fit, "vectors": run_vectors, "ask": run_ask}


def run_apart(step, folder, *, docs, queries, profile):
    command = [sys.executable, __file__, "--step", step, "--folder", folder, "--docs", str(docs)]
    command += ["--queries", str(queries), *(["--profile"] if profile else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# Tables


def scale(all_docs, *, queries=200, profile=False):
    """Print building, bytes, memory and speed for each size."""
    told = {}
    for docs in sorted(all_docs):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "drawn.lw")
            one = {
                step: run_apart(step, folder, docs=docs, queries=queries, profile=profile)
                for step in STEPS
            }
            told[docs] = one | one["vectors"]
        print(f"{docs:,} documents: drawn in {told[docs]['index']['drawing']:.0f} s, done")
    building(told)
    storage(told)
    speed(told)
    print(f"\npublished, {PUBLISHED_DOCS:,} pages, 250 topics, 15 words: {PUBLISHED}")


def heading(title, told):
    print(f"\n{title:44}" + "".join(f"{docs:>18,}" for docs in told))


def line(name, cells):
    print(f"  {name:42}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def building(told):
    heading("building: s of processor time (by the clock)", told)
    for step in ("index", "fit", "vectors", "finder"):
        spent = [(one[step], one["ask"]["lists"] or step != "finder") for one in told.values()]
        line(step, [f"{t['cpu']:.1f} ({t['wall']:.1f})" if there else "-" for t, there in spent])
    for step in ("index", "fit", "finder"):
        name = "vectors and finder" if step == "finder" else step
        line(f"peak MB, {name}", [f"{one[step]['peak'] / 1e6:,.0f}" for one in told.values()])


def storage(told):
    """Print bytes a document, and what five million documents would take by how they grow."""
    heading("stored, bytes a document", told)
    asks = [one["ask"] for one in told.values()]
    for part in ("codes", "words", "finder", "index", "model"):
        line(part, [f"{ask['bytes'][part] / ask['n_docs']:,.1f}" for ask in asks])
    needed = ("codes", "words", "finder")
    stored = [sum(ask["bytes"][part] for part in needed) / ask["n_docs"] for ask in asks]
    line("codes, words and finder", [f"{each:,.1f}" for each in stored])
    heading("resident after the queries, MB", told)
    for name in ("own", "mapped"):
        line(name, [f"{ask['resident'][name] / 1e6:,.1f}" for ask in asks])
    line("peak of the process", [f"{ask['peak'] / 1e6:,.0f}" for ask in asks])
    heading(f"GB at {PUBLISHED_DOCS:,} by the growth law", told)
    line(
        "codes, words and finder",
        [
            f"{each * PUBLISHED_DOCS / 1e9:.2f}" if ask["lists"] else "-"
            for each, ask in zip(stored, asks, strict=True)
        ],
    )
    line("resident", [extrapolated(asks[: i + 1]) for i in range(len(asks))])


def extrapolated(asks):
    """Go on with what is resident in a straight line through the last two sizes.

    A finder is there from some size on: a line through that step is no law, and none is given.
    """
    if len(asks) < 2 or bool(asks[-2]["lists"]) != bool(asks[-1]["lists"]):
        return "-"
    (before, base), (n, value) = (
        (ask["n_docs"], sum(ask["resident"].values())) for ask in asks[-2:]
    )
    return f"{(value + (value - base) / (n - before) * (PUBLISHED_DOCS - n)) / 1e9:.2f}"


def speed(told):
    heading("a query, ms", told)
    asks = [one["ask"] for one in told.values()]
    rows = (
        ("taking the document apart", "ask"),
        ("two-level ranking", "two-level"),
        ("  one round", "two-level once"),
        ("  the first time, before pages are mapped", "two-level cold"),
        ("accurate ranking", "accurate"),
        ("  one round", "accurate once"),
        ("  a scan of dense vectors", "scan"),
    )
    for name, key in rows:
        line(name, [f"{ask[key] * 1e3:,.3f}" for ask in asks])
    for suffix in ("", " once"):
        over = [f"{a['accurate' + suffix] / a['two-level' + suffix]:,.1f}×" for a in asks]
        line("accurate over two-level" + (", one round" if suffix else ""), over)
    read = ["{:,} of {:,}".format(*ask["lists"]) if ask["lists"] else "-" for ask in asks]
    line("lists that the finder reads", read)
    line("recall@10 against accurate", [f"{ask['recall']:.3f}" for ask in asks])
    line("answers/s on one core", [f"{1 / (a['ask'] + a['two-level']):,.0f}" for a in asks])
    line("open and first answer, s by the clock", [f"{ask['first']:.2f}" for ask in asks])
    for name in ("tfidf", "bm25"):
        line(f"{name}, the whole document", [f"{ask[name] * 1e3:,.3f}" for ask in asks])
        over = [f"{ask[name] / (ask['ask'] + ask['two-level']):,.1f}×" for ask in asks]
        line(f"{name} over taking apart and two-level", over)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", default="20000,200000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes_asked = [int(size) for size in options.docs.split(",")]
    shared = {"queries": options.queries, "profile": options.profile}
    if options.step:
        print(json.dumps(STEPS[options.step](options.folder, docs=sizes_asked[0], **shared)))
        return
    scale(sizes_asked, **shared)


if __name__ == "__main__":
    main()
