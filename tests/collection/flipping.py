"""A process that asks damaged collections, some in each child; run as a script.

It loads and compiles everything once. Each line of its input is a request: a list of changed bytes,
each with its file, where and how. For each byte a line is given back: what every question came to,
or how the child ended. A child asks one damaged copy after another, each in a folder of
its own that it opens anew; those that it has left when it is killed are asked by the next.
"""

from __future__ import annotations

import gc
import io
import json
import os
import random
import shutil
import signal
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

import likewise as lw
from likewise.collection.build import Resources
from likewise.errors import LikewiseError
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

ONE = Resources(threads=1)
THEMES = ["wing flutter panel lift", "heat transfer film flame", "zebra okapi gnu herd"]
# No question takes a tenth of this; one that never ends must not stop the tests.
LONGEST_SECONDS = 60


def made(i):
    rng = random.Random(i)
    words = [*THEMES[i % 3].split(), "study", "flow", "café"]
    text = ". ".join(" ".join(rng.choices(words, k=6)) for _ in range(3))
    # Counts beyond a byte stand elsewhere.
    text += " gnu" * 300 if i == 2 else " and a herd of them"
    vector = [round(rng.gauss(i % 3 == j, 0.2), 2) for j in range(3)]
    fields = {"year": 1950 + i, "theme": words[0], "vector": vector}
    return {"id": f"d{i}", "title": " ".join(words[:2]) if i % 2 else "", "text": text, **fields}


def begin(folder):
    """Make a collection of two segments with models, a graph and deleted documents."""
    documents = [made(i) for i in range(40)]
    c = lw.index(
        documents[:30], to=folder, model="lsi(topics=3)", smooth="klsa(axes=3)", resources=ONE
    )
    c.add(documents[30:], resources=ONE)
    c.models.fit("lda(topics=2,sweeps=2,samples=1)", threads=1)
    c.models.fit(vectors="vector", threads=1)
    c.terms.make_graph(threads=1)
    c.delete(["d3", "d31"])
    c.close()


def searched(c):
    return [[one.doc_id, one.score, one.title] for one in c.search("wing flame okapi", k=4)]


def filtered(c):
    found = c.search("study flow", k=4, method="ql", filter=["year>=1960", "theme=wing"])
    return [[one.doc_id, one.score] for one in found]


def liked(name):
    def ask(c):
        found = c.like("d5", k=4, method=f"hybrid(model={name})", explain=True)
        return [[one.doc_id, one.score] for one in found]

    return ask


def smoothed(c):
    found = c.search("heat film", k=4, method="bm25", smooth="klsa")
    return [[one.doc_id, one.score] for one in found]


def related(c):
    return [str(one) for one in c.terms.near("wing heat", 3, graph="graph")]


def shown(c):
    return [[str(c[f"d{i}"]), c.snapshot.sentences(c.snapshot.find_doc(f"d{i}"))] for i in (0, 33)]


def near(c):
    return [[one.doc_id, one.score] for one in c.like("d8", k=3, method="near(model=lda)")]


def by_fields(c):
    """Words of titles, exact forms and positions."""
    snapshot = c.snapshot
    docs, numbers = snapshot.live_docs(), np.arange(snapshot.n_terms)
    found = [
        Retriever(snapshot, BM25(), field).rank([{"wing": 1.0, "gnu": 1.0, "café": 1.0, "a": 1.0}])
        for field in ("title.", "exact.")
    ]
    counts = [snapshot.term_counts(docs, field).counts.tolist() for field in ("title.", "exact.")]
    placed = snapshot.positions(docs, numbers)
    return [
        *([one.docs.tolist(), one.scores.tolist()] for [one] in found),
        *(snapshot.frequencies(numbers, field)[1].tolist() for field in ("title.", "exact.")),
        *counts,
        placed.values.tolist(),
    ]


def merged(c):
    c.merge(resources=ONE)
    return [*searched(c), *liked("lsi")(c), *related(c)]


def checked(c):
    c.snapshot.check()


ASKED = {
    "search": searched,
    "filter": filtered,
    "like lsi": liked("lsi"),
    "like lda": liked("lda"),
    "like vectors": liked("vectors"),
    "near": near,
    "smooth": smoothed,
    "related": related,
    "show": shown,
    "fields": by_fields,
    "check": checked,
    "merge": merged,
}


def told(make):
    """What came of it: an answer, an error of ours, or a fault."""
    try:
        return ["answer", json.loads(json.dumps(make()))]
    except LikewiseError as error:
        return ["error", str(error)]
    except BaseException:
        return ["fault", traceback.format_exc()]


def ask(folder, *, merge=True):
    """Ask everything of a collection."""
    opened = []
    out = {"open": told(lambda: opened.append(lw.open(folder)))}
    for name, question in ASKED.items() if opened else ():
        if merge or question is not merged:
            out[name] = told(lambda: question(opened[0]))  # noqa: B023
    if opened:
        opened[0].close()
    return out


def shown_plainly(folder):
    """What commands say that load no compiled code."""
    from likewise.app.cli import main

    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(said), redirect_stderr(said):
        codes = [
            main(["show", str(folder), "d0", how]) for how in ("--json", "--terms", "--sentences")
        ]
    said.flush()
    return [codes, said.buffer.getvalue().decode()]


def copy(whole, folder, request):
    """Link all files, but for the one that is damaged."""
    for path in whole.rglob("*"):
        to = folder / path.relative_to(whole)
        if path.is_dir():
            to.mkdir(parents=True, exist_ok=True)
        elif path.name != "lock":
            to.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, to)
    if request:
        damaged = folder / request["file"]
        data = bytearray(damaged.read_bytes())
        if "to" in request:
            data[request["at"] : request["at"] + 9] = bytes([request["to"]] * 9)
        else:
            data[request["at"]] ^= request["by"]
        damaged.unlink()
        damaged.write_bytes(data)


def ask_one_by_one(whole, folder, flips, to):
    """Ask damaged copies, and write what came of each before the next is made."""
    for n, flip in enumerate(flips):
        signal.alarm(LONGEST_SECONDS)
        # Nothing that is remembered by its path can be taken for another's.
        damaged = folder / str(n)
        copy(whole, damaged, flip)
        to.write(json.dumps(ask(damaged, merge=flip["merge"])) + "\n")
        to.flush()
        shutil.rmtree(damaged)


def ask_in_child(whole, folder, flips):
    """Ask damaged copies in a child; give what came of them until it ended."""
    mine, its = os.pipe()
    child = os.fork()
    if not child:
        try:
            with open(its, "w") as to:
                ask_one_by_one(whole, folder, flips, to)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(its)
    with open(mine) as come:
        outcomes = [json.loads(line) for line in come if line.endswith("\n")]
    _, status = os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    if status:
        outcomes.append({"ended": os.waitstatus_to_exitcode(status)})
    return outcomes


def ask_all(whole, folder, flips):
    """Ask damaged copies in as many children as it takes; give what came of each."""
    while flips:
        outcomes = ask_in_child(whole, folder, flips)
        yield from outcomes
        flips = flips[len(outcomes) :]


def show_all(whole, folder):
    """Show a document of damaged copies, in this process."""
    for n, flip in enumerate(json.loads(sys.stdin.readline())):
        damaged = folder / str(n)
        copy(whole, damaged, flip)
        print(json.dumps(told(lambda: shown_plainly(damaged))), flush=True)  # noqa: B023
        shutil.rmtree(damaged)
    print(json.dumps("numba" in sys.modules))


def main():
    whole, folder = map(Path, sys.argv[1:3])
    if sys.argv[3:] == ["plainly"]:
        show_all(whole, folder)
        return
    # Nothing here is about a loss of power.
    os.fsync = lambda handle: None
    copy(whole, folder, None)
    print(json.dumps(ask(folder)), flush=True)
    shutil.rmtree(folder)
    gc.collect()
    # Else every child copies the memory of all objects when it collects garbage.
    gc.freeze()
    for line in sys.stdin:
        for outcome in ask_all(whole, folder, json.loads(line)):
            print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
