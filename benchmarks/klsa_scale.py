"""How does Kernel LSA grow? Fitting, bytes, and the speed of its index against a scan.

    python benchmarks/klsa_scale.py [--only debian,passages,spoken] [--docs 500000] [--queries 200]
        [--quick] [--data FOLDER] [--cache FOLDER]

`debian`: 60,000 descriptions of packages, asked by titles. `passages`: half a million passages of
50 words and more, cut from Wikipedia, eLife's papers and newsgroups at ends of sentences (a real
text each, and neighbours that go on with it). `spoken`: as many drawn documents. The last two are
asked by sentences of theirs.

Each step runs in a process of its own, so that peaks of memory are its own. Times of queries are
processor time on one core. A query is `bm25 >> klsa`, ten answers, by the default settings:
"reference" scores every document by both parts, "scan" takes the 200 nearest rows by multiplying
all, "index" by the finder that is stored with rows. "nearest" is that step alone. Recall is the
share of the reference's ten answers; of the nearest, the share of the scan's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

import likewise as lw
from corpora import debian, spoken
from likewise.collection.creating import build
from likewise.collection.job import Job
from likewise.collection.snapshot import Snapshot, open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import derive
from likewise.engine.pipeline import Pipeline
from likewise.like.smooth import DEPTH, Smoothing, SmoothWith
from likewise.models import kinds
from likewise.models.klsa import KLSA, fit_space
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.records import Document, Query
from likewise.text.analysis import Analysis
from likewise_papers.folders import find_collection, named_folders
from term_scale import Clock, peak

K = 10
CORPORA = ("debian", "passages", "spoken")
DEBIAN_DOCS = 60_000
# The reference takes seconds a query where documents are many: it answers a part of them.
MOST_REFERRED = 100
FILES = {
    "wikipedia-schools": ("corpus.jsonl.gz",),
    "elife": ("corpus.jsonl.gz", "more-abstracts.jsonl.gz"),
    "20newsgroups": ("corpus.jsonl.gz",),
}
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
WORDS = 50

# Corpora

VECTORS, FINDER = "vectors", "finder"


def passages(data: Sequence[str]) -> Iterator[Document]:
    """Cut texts at ends of sentences, as soon as a passage has 50 words."""
    for path in texts_in(data):
        origin = f"{path.parent.name}/{path.name}"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                texts = [record[key] for key in ("text", "abstract", "body") if key in record]
                for i, passage in enumerate(cut(texts)):
                    yield Document(f"{origin}/{record['id']}/{i}", "", passage)


def texts_in(data: Sequence[str]) -> list[Path]:
    """Find the files that passages are cut from, or none if one of them is not there."""
    folders = {name: find_collection(name, data) for name in FILES}
    found = [folder / file for name, folder in folders.items() if folder for file in FILES[name]]
    return found if all(folders.values()) else []


def cut(texts: Iterable[object]) -> Iterator[str]:
    part: list[str] = []
    words = 0
    for text in texts:
        for sentence in SENTENCE.split(text) if isinstance(text, str) else ():
            part.append(sentence)
            words += len(sentence.split())
            if words >= WORDS:
                yield " ".join(part)
                part, words = [], 0


def documents(corpus: str, docs: int, options: argparse.Namespace) -> Iterable[Document]:
    if corpus == "debian":
        return debian(options.cache, docs)[1]
    if corpus == "passages":
        return islice(passages(options.data), docs)
    return spoken(docs)


def draw_queries(snapshot: Snapshot, corpus: str, n: int) -> list[Query]:
    """Draw documents, and of each its title or one of its sentences."""
    random = np.random.default_rng(1)
    queries = []
    for doc in random.permutation(snapshot.live_docs()).tolist():
        text = snapshot.document(doc).title
        if corpus != "debian":
            sentences = snapshot.sentences(doc)
            text = sentences[random.integers(len(sentences))]
        if snapshot.analyzer.counts(text):
            queries.append(Query(str(doc), text))
        if len(queries) == n:
            break
    return queries


# Each in a process of its own


def run_index(folder: Path, corpus: str, options: argparse.Namespace) -> dict:
    clock = Clock()
    plain = Analysis(stop="none", stemmer="none") if corpus == "spoken" else Analysis()
    build(folder, documents(corpus, options.docs, options), analysis=plain)
    snapshot = open_snapshot(folder)
    told = {"docs": snapshot.n_docs, "terms": snapshot.n_terms, "bytes": snapshot.n_bytes}
    return clock.read() | told


def run_fit(folder: Path, corpus: str, options: argparse.Namespace) -> dict:
    clock = Clock()
    snapshot = open_snapshot(folder)
    space = fit_space(snapshot, KLSA())
    told = clock.read() | {"axes": space.width, "words": len(space.vocabulary)}
    kinds.store_model(snapshot, space)
    # What is derived from it is computed again, and measured, by itself.
    with Writer(folder) as writer:
        writer.put(drop=[one.id for one in writer.manifest.artifacts if one.inputs])
    return told


def run_rows(folder: Path, corpus: str, options: argparse.Namespace) -> dict:
    """Store rows and, however few they are, an index: what comes after the last row is its time."""
    clock, rows = Clock(), {}
    kinds.FEWEST_FOUND = 1
    snapshot = open_snapshot(folder)
    with Job(folder) as job:
        root = kinds.find_model(snapshot, role=kinds.SMOOTH)
        made = derive(snapshot, root, job, progress=lambda _: rows.update(clock.read()))
        with Writer(folder, job=job) as writer:
            writer.put(*made)
    told = clock.read()
    n_bytes = {
        kind: sum(one.pack.size for one in open_snapshot(folder).artifacts(kind))
        for kind in (VECTORS, FINDER)
    }
    finder = {name: told[name] - rows[name] for name in ("cpu", "wall")}
    return {"rows": rows, "finder": finder | {"peak": told["peak"]}, "bytes": n_bytes}


def run_ask(how: str) -> Callable[[Path, str, argparse.Namespace], dict]:
    """Ask by one way."""

    def run(folder: Path, corpus: str, options: argparse.Namespace) -> dict:
        start = peak()
        c = lw.open(folder)
        queries = draw_queries(c.snapshot, corpus, options.queries)
        if how == "reference":
            queries = queries[:MOST_REFERRED]
        first, bm25 = c.pipeline("bm25"), lw.stage("bm25")
        stored = vectors_of(c.snapshot, role=SMOOTH)
        search = StoredVectors(c.snapshot, stored.model, stored.artifact, indexed=how == "index")
        smoothed = c.pipeline(bm25 >> SmoothWith(search), k=K)
        every = SmoothWith(search, Smoothing(candidates=0))
        stages = {
            "bm25": c.pipeline("bm25", k=K),
            "bm25 of 1000": first,
            "reference": c.pipeline(bm25 >> every, k=K),
            "scan": smoothed,
            "index": smoothed,
        }
        ask = stages[how]
        # The first time, pages are mapped and the bounds of terms worked out.
        for query in queries if how != "reference" else queries[:3]:
            ask([query])
        spent, answers = timed(lambda query: ask([query])[0].ranking.docs[:K].tolist(), queries)
        told = {"ms": spent, "answers": answers}
        if how in ("scan", "index"):
            points = [point for query in queries if (point := asked(first, search, query))]
            told["nearest ms"], told["nearest"] = timed(
                lambda at: search.search.nearest(search.weighted_sum(*at), DEPTH).docs.tolist(),
                points,
            )
        return told | {"peak": peak() - start}

    return run


def asked(first: Pipeline, search: StoredVectors, query: Query) -> tuple | None:
    """Give the first documents of a query with their weights, as smoothing has them."""
    ranking = first([query])[0].ranking
    docs = ranking.docs[: Smoothing().docs]
    return (docs, ranking.scores[0] / np.arange(1, len(docs) + 1)) if len(docs) else None


def timed(function: Callable, asked: list) -> tuple[float, list]:
    start = time.process_time()
    found = [function(one) for one in asked]
    return (time.process_time() - start) / len(asked) * 1e3, found


WAYS = ("bm25", "bm25 of 1000", "reference", "scan", "index")
STEPS = {"index": run_index, "fit": run_fit, "rows": run_rows}
STEPS |= {f"ask {how}": run_ask(how) for how in WAYS}


def run_apart(step: str, folder: Path, corpus: str, docs: int, options: argparse.Namespace) -> dict:
    command = [sys.executable, __file__, "--step", step, "--folder", folder, "--only", corpus]
    command += ["--docs", str(docs), "--queries", str(options.queries), "--cache", options.cache]
    command += [part for folder in options.data for part in ("--data", folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


# Tables


def recall(found: list, truth: list) -> float:
    """The share of what is right that was found; the truth may be of the first questions only."""
    pairs = list(zip(found, truth, strict=False))
    return sum(len({*f} & {*t}) for f, t in pairs) / max(sum(len(t) for _, t in pairs), 1)


def line(name: str, cells: Iterable[str]) -> None:
    print(f"  {name:44}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def show(told: dict) -> None:
    """Print all figures, a column for each corpus."""
    all_steps = list(told.values())
    print(f"\n{'':46}" + "".join(f"{name:>16}" for name in told))
    line("documents", [f"{one['index']['docs']:,}" for one in all_steps])
    line("axes", [f"{one['fit']['axes']}" for one in all_steps])
    print("building, s of processor time (by the clock)")
    for name, of in (
        ("indexing, with reading or drawing", lambda one: one["index"]),
        ("fitting", lambda one: one["fit"]),
        ("rows", lambda one: one["rows"]["rows"]),
        ("index of rows", lambda one: one["rows"]["finder"]),
    ):
        line(name, [f"{of(one)['cpu']:.1f} ({of(one)['wall']:.1f})" for one in all_steps])
    line("peak MB, fitting", [f"{one['fit']['peak'] / 1e6:,.0f}" for one in all_steps])
    line(
        "peak MB, rows and their index",
        [f"{one['rows']['finder']['peak'] / 1e6:,.0f}" for one in all_steps],
    )
    print("bytes a document")
    line("search by words", [f"{one['index']['bytes'] / one['index']['docs']:,.0f}"
                             for one in all_steps])  # fmt: skip
    for kind, name in ((VECTORS, "rows"), (FINDER, "index of rows")):
        each = [one["rows"]["bytes"][kind] / one["index"]["docs"] for one in all_steps]
        line(name, [f"{value:,.0f}" for value in each])
    print("a query, ms of processor time")
    for how in WAYS:
        name = {"bm25": "bm25, 10 answers", "bm25 of 1000": "bm25, 1000 answers"}.get(
            how, f"bm25 >> klsa, {how}"
        )
        line(name, [f"{one[f'ask {how}']['ms']:,.2f}" for one in all_steps])
    for how in ("scan", "index"):
        line(
            f"the 200 nearest alone, {how}",
            [f"{one[f'ask {how}']['nearest ms']:,.2f}" for one in all_steps],
        )
    print("ratios")
    for name, above, below, key in (
        ("reference over index", "reference", "index", "ms"),
        ("scan over index", "scan", "index", "ms"),
        ("scan over index, the nearest alone", "scan", "index", "nearest ms"),
        ("index over bm25 with 1000 answers", "index", "bm25 of 1000", "ms"),
    ):
        ratios = [one[f"ask {above}"][key] / one[f"ask {below}"][key] for one in all_steps]
        line(name, [f"{ratio:,.1f}" for ratio in ratios])
    print("recall")
    for how in ("bm25", "scan", "index"):
        found = [
            recall(one[f"ask {how}"]["answers"], one["ask reference"]["answers"])
            for one in all_steps
        ]
        line(f"of the reference's ten, {how}", [f"{share:.4f}" for share in found])
    for n in (10, DEPTH):
        found = [
            recall(one["ask index"]["nearest"], [docs[:n] for docs in one["ask scan"]["nearest"]])
            for one in all_steps
        ]
        line(f"of the {n} nearest, index", [f"{share:.4f}" for share in found])
    print("peak MB while asking, beyond what is loaded before")
    for how in ("bm25", "reference", "scan", "index"):
        line(how, [f"{one[f'ask {how}']['peak'] / 1e6:,.0f}" for one in all_steps])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CORPORA))
    parser.add_argument("--docs", type=int, default=500_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="some thousands of documents")
    parser.add_argument("--data", action="append", help="folders (default: $LIKEWISE_DATA)")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/likewise-benchmarks"))
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.data = options.data or named_folders()
    if options.step:
        print(json.dumps(STEPS[options.step](options.folder, options.only, options)))
        return
    if options.quick:
        options.docs, options.queries = 20_000, 20
    told = {}
    for corpus in options.only.split(","):
        if corpus not in CORPORA:
            parser.error(f"--only is of {', '.join(CORPORA)}, not {corpus!r}")
        if corpus == "passages" and not texts_in(options.data):
            needed = ", ".join(FILES)
            print(f"passages need {needed} in --data or LIKEWISE_DATA: left out", file=sys.stderr)
            continue
        docs = min(DEBIAN_DOCS, options.docs) if corpus == "debian" else options.docs
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, f"{corpus}.lw")
            told[corpus] = {step: run_apart(step, folder, corpus, docs, options) for step in STEPS}
        print(f"{corpus}: done", file=sys.stderr)
    show(told)


if __name__ == "__main__":
    main()
