"""A process that changes a collection by children that are killed on the way.

It reads lines of "folder number steps" and for each forks a child that makes the changes from that
number on, telling after each that it is done, until it is killed where it would change a file for
the so many-th time; forking saves loading everything anew.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
from pathlib import Path

from likewise.collection.build import Resources
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document

RESOURCES = Resources(threads=1)
KINDS = ["add", "add", "replace", "delete", "merge", "build"]
# What Python tells of changes in a folder, beside files that are opened.
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def change(number, ids):
    """Give change `number` to a collection with these ids: its kind, documents, ids to delete."""
    rng = random.Random(number)
    kind = rng.choice(KINDS)
    documents = [
        Document(f"{number}-{i}", text=f"text {number} word{rng.randrange(50)} " * 20)
        for i in range(rng.randrange(1, 20))
    ]
    some = [doc_id for doc_id in ids if rng.random() < 0.3]
    if kind == "replace":
        documents += [Document(doc_id, text=f"again {number}") for doc_id in some]
    return kind, documents, some


def changed(model, number):
    """Make a change to a plain dictionary of documents."""
    kind, documents, some = change(number, list(model))
    if kind == "build":
        return {d.id: d for d in documents}
    if kind == "merge":
        return model
    gone = set(some) if kind in ("replace", "delete") else set()
    kept = {doc_id: d for doc_id, d in model.items() if doc_id not in gone}
    return kept if kind == "delete" else kept | {d.id: d for d in documents}


def make(folder, number):
    """Make a change to a collection."""
    snapshot = open_snapshot(folder)
    kind, documents, some = change(number, snapshot.doc_ids(snapshot.live_docs()))
    snapshot.close()
    if kind == "build":
        build(folder, documents, overwrite=True, resources=RESOURCES)
        return
    with Writer(folder) as writer:
        if kind == "merge":
            writer.merge(resources=RESOURCES)
        elif kind == "delete":
            writer.delete(some)
        else:
            writer.add(documents, replace=kind == "replace", resources=RESOURCES)


def die_after(steps):
    """Have this process killed before it changes a file, or waits for the disk, once more."""
    left = [steps]

    def step(*_):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event, arguments):
        if event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            step()

    sys.addaudithook(audit)
    os.fsync = step


def main():
    """Serve until the input ends."""
    # Load the kernels once, not in every child.
    with tempfile.TemporaryDirectory() as name:
        build(Path(name), [])
        for number in range(30):
            make(Path(name), number)
    for line in sys.stdin:
        folder, number, steps = line.rsplit(" ", 2)
        child = os.fork()
        if not child:
            die_after(int(steps))
            for n in range(int(number), 10**9):
                make(Path(folder), n)
                print("done", n, flush=True)
        os.waitpid(child, 0)
        print("dead", 0, flush=True)


if __name__ == "__main__":
    main()
