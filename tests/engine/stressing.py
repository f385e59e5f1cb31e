"""Processes that change a collection and ask it at the same time; run as a script, one for each.

The roles are `write`, `beside` (another writer), `read`, `share` (two threads) and `answer`, which
asks a generation again for another process. Readers, and the writer beside, go on until the writer
has made all of its changes.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

import likewise as lw
from likewise.collection.build import Resources
from likewise.collection.locks import WriteLock
from likewise.errors import LockedError
from likewise.terms.nodes import Filters

ONE = Resources(threads=1)
THEMES = {
    "flight": "wing flutter panel lift drag tail stall airfoil hinge glide",
    "heat": "heat transfer cooling film radiation furnace flame boiler steam vapour",
    "animals": "zebra okapi gnu herd grass lion hunt savanna river rain",
    "music": "violin sonata chord tempo choir melody rhythm organ fugue pitch",
}
COMMON = ["the", "study", "of", "a", "new", "method", "large", "small", "body", "slow", "flow"]
N_DOCS = 36
# How long a collection that was opened is left before it is asked, in rounds.
LEFT = 4


def made(doc_id, seed):
    """A document of one theme, with fields and a vector."""
    rng = random.Random(seed)
    theme = rng.choice(sorted(THEMES))
    words = THEMES[theme].split()
    said = [" ".join(rng.choices(words, k=4) + rng.choices(COMMON, k=3)) for _ in range(4)]
    vector = [round(rng.gauss(sorted(THEMES).index(theme) == i, 0.2), 3) for i in range(4)]
    return {
        "id": doc_id,
        "title": " ".join(rng.choices(words, k=2)),
        "text": ". ".join(said) + ".",
        "theme": theme,
        "year": 1950 + rng.randrange(30),
        "vector": vector,
    }


def begin(folder):
    """Make the collection that is then changed."""
    documents = [made(f"d{i}", i) for i in range(N_DOCS)]
    lw.index(documents, to=folder, model="lsi(topics=4)", smooth="klsa(axes=4)", resources=ONE)


def alive(c):
    """The ids of a collection, in order."""
    return c.snapshot.doc_ids(c.snapshot.live_docs())


def add(c, n):
    c.add([made(f"n{n}-{i}", 1000 * n + i) for i in range(1 + n % 4)], resources=ONE)


def replace(c, n):
    ids = random.Random(n).sample(alive(c), 3)
    c.add([made(doc_id, f"{n}{doc_id}") for doc_id in ids], replace=True, resources=ONE)


def delete(c, n):
    # What the writer beside added stays: that it is there in the end is looked at.
    its = [doc_id for doc_id in alive(c) if not doc_id.startswith("b")]
    c.delete(random.Random(n).sample(its, 2))


def drop(c, name):
    if name in c.info()["models"] + c.info()["kernels"]:
        c.models.drop(name)


CHANGES = [
    add,
    lambda c, n: c.terms.make_graph(threads=1),
    lambda c, n: c.models.fit("lda(topics=3,sweeps=3,samples=1)", threads=1),
    delete,
    lambda c, n: c.models.fit(vectors="vector", threads=1),
    replace,
    lambda c, n: c.merge(resources=ONE),
    lambda c, n: c.tune(c.judgements(same="theme"), model="lsi"),
    add,
    lambda c, n: drop(c, "lda"),
    lambda c, n: c.models.fit("lsi(topics=5)", threads=1),
    lambda c, n: c.terms.make_graph(names=["heat transfer", "wing", "okapi"], threads=1),
    delete,
    lambda c, n: c.models.fit("klsa(axes=3)", threads=1),
    lambda c, n: c.terms.make_graph(filters=Filters(2, 0.5), within="document", threads=1),
    add,
    lambda c, n: c.terms.drop_graph("names"),
    lambda c, n: c.merge(resources=ONE),
    lambda c, n: drop(c, "klsa"),
    replace,
    lambda c, n: drop(c, "vectors"),
    lambda c, n: c.models.fit("klsa(axes=2)", vectors="vector", name="klsa", threads=1),
    lambda c, n: c.models.use("lsi"),
    lambda c, n: c.terms.drop_graph("graph"),
]


def write(folder, n_changes):
    """Make so many changes, one generation or more each."""
    c = lw.open(folder)
    for n in range(n_changes):
        in_turn(c, CHANGES[n % len(CHANGES)], n)
        print(c.snapshot.manifest.generation, flush=True)


def in_turn(c, change, n):
    """Make a change, when no other process is writing."""
    while True:
        try:
            c.refresh()
            return change(c, n)
        except LockedError:
            WriteLock(c.folder, wait=True).release()


def write_beside(folder, done, least):
    """Fit and add by turns, until another writer has made all of its changes."""
    c = lw.open(folder)
    print("open", flush=True)
    n = 0
    while not done.exists() or n < least:
        fitted = n % 2 and f"lsi(topics={2 + n % 4 // 2})"
        if fitted:
            in_turn(c, lambda c, n: c.models.fit(fitted, name="beside", threads=1), n)  # noqa: B023
        else:
            in_turn(c, lambda c, n: c.add([made(f"b{n}", f"b{n}")], resources=ONE), n)
        n += 1


def ask(c, seed):
    """Ask everything by every method; the answers, by what was asked."""
    rng = random.Random(seed)
    theme = rng.choice(sorted(THEMES))
    query = " ".join(rng.sample(THEMES[theme].split(), 3))
    doc_id = rng.choice(alive(c))
    info = c.info()
    out = {"n": [len(c), info["segments"], info["terms"], info["documents"]]}

    def put(name, answers):
        out[name] = [[one.doc_id, one.score, one.title, one.fields] for one in answers]

    put("default", c.search(query, k=5))
    put("explained", c.search(query, k=3, method="bm25", explain=True))
    put("filtered", c.search(query, k=5, method="bm25", filter=["year>=1960", f"theme={theme}"]))
    for method in ("bm25", "ql", "tfidf"):
        put(method, c.search(query, k=5, method=method))
        put(f"like {method}", c.like(doc_id, k=4, method=method))
    put("rm3", c.search(query, k=5, method="bm25", expand="rm3"))
    for name in info["models"]:
        put(f"like {name}", c.like(doc_id, k=5, method=f"hybrid(model={name})"))
        put(f"like text {name}", c.like(text=query, k=5, method=f"hybrid(model={name})"))
        put(f"neighbours {name}", c.like(doc_id, k=4, method=f"near(model={name})"))
    if info["models"]:
        put("reasons", c.like(doc_id, k=2, explain=True))
    if "lda" in info["models"]:
        out["decompose"] = str(c.models.transform(doc_id, model="lda").topics.tolist())
    for name in info["kernels"]:
        put(f"smooth {name}", c.search(query, k=5, method="bm25", smooth=f"klsa(model={name})"))
    for name in info["graphs"]:
        near = c.terms.near(f"{query} wing heat", 4, graph=name)
        out[f"related {name}"] = [str(one) for one in near]
        predicted = c.terms.predict(id=doc_id, k=3, graph=name)
        out[f"predict {name}"] = [[one.name, one.score] for one in predicted]
    document = c[doc_id]
    out["show"] = [document.id, document.title, document.text, document.fields]
    out["sentences"] = c.snapshot.sentences(c.snapshot.find_doc(doc_id))
    return json.loads(json.dumps(out))


def generation_of(c):
    return c.snapshot.manifest.generation


class Answerer:
    """Another process, which opens a generation afresh and asks it."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            [sys.executable, __file__, "answer", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, c, seed):
        self._process.stdin.write(f"{pickle.dumps(c).hex()} {seed}\n")
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        assert self._process.wait() == 0


def answer(folder):
    """Ask the collections that come in, until the input ends."""
    for line in sys.stdin:
        sent, seed = line.split()
        with pickle.loads(bytes.fromhex(sent)) as c:
            print(json.dumps({"generation": generation_of(c), "answers": ask(c, int(seed))}))
            sys.stdout.flush()


def check(c, seed, answers, again):
    """Compare answers with what their generation says when it is opened afresh."""
    told = again(c, seed)
    assert told["generation"] == generation_of(c)
    differing = {name for name in answers if answers[name] != told["answers"].get(name)}
    assert told["answers"].keys() == answers.keys()
    assert not differing, (generation_of(c), seed, differing)


def ask_copy(c, seed):
    with pickle.loads(pickle.dumps(c)) as copy:
        return {"generation": generation_of(copy), "answers": ask(copy, seed)}


def ask_and_die(folder, seed):
    """Have a child killed while it asks."""
    mine, its = os.pipe()
    child = os.fork()
    if not child:
        try:
            with lw.open(folder) as c:
                os.write(its, b".")
                while True:
                    ask(c, seed)
        finally:
            os.write(its, b"failed")
            os._exit(1)
    os.close(its)
    with open(mine, "rb", buffering=0) as told:
        first = told.read(1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert first + told.read() == b"."


def read(folder, done, least):
    """Ask what is newest, and what was opened some rounds ago, with another process beside."""
    other = Answerer(folder)
    c, left = lw.open(folder), deque()
    print("open", flush=True)
    n, last = 0, False
    while not last or n < least:
        last = done.exists()
        c.refresh()
        check(c, n, ask(c, n), other.ask)
        left.append(lw.open(folder))
        if len(left) > LEFT:
            with left.popleft() as late:
                check(late, n, ask(late, n), other.ask)
        if n % 3 == 0:
            ask_and_die(folder, n)
        n += 1
    other.close()


def share(folder, done, least):
    """Ask from two threads, by a collection that both have and by one for each."""
    failed = []

    def go_on(mine, first):
        try:
            n, last = first, False
            while not failed and (not last or n < 2 * least):
                last = done.exists()
                mine.refresh()
                check(mine, n, ask(mine, n), ask_copy)
                n += 2
        except BaseException as error:
            failed.append(error)
            raise

    def ask_both(c, seed):
        answers = [None, None]

        def put(i):
            answers[i] = ask(c, seed)

        both = [threading.Thread(target=put, args=(i,)) for i in range(2)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        return answers

    ours = lw.open(folder)
    print("open", flush=True)
    threads = [threading.Thread(target=go_on, args=(lw.open(folder), i)) for i in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    # Nothing of it was opened before the collection had changed many times.
    first, second = ask_both(ours, 1)
    assert first == second
    check(ours, 1, first, ask_copy)
    assert not failed, failed


def main():
    role, folder, *rest = sys.argv[1:]
    if role == "write":
        write(Path(folder), int(rest[0]))
    elif role == "answer":
        answer(folder)
    else:
        roles = {"read": read, "share": share, "beside": write_beside}
        roles[role](Path(folder), Path(rest[0]), int(rest[1]))


if __name__ == "__main__":
    main()
