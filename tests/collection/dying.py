"""Changes of a collection that are broken off at every step, as by a loss of the process.

For each change a child is forked that ends, without a word, at its nth call that changes a file or
folder; then the collection must be as before or as after, and the next writer must leave nothing
over.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

from plain_model import expected, leftovers, made, state

from likewise.collection.build import Resources
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document

ONE = Resources(threads=1)
RNG = random.Random(17)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(12)]
BEFORE = [d for d in DOCUMENTS[:8] if d.id != "d2"]
CHANGING = ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync", "ftruncate", "open")
DEAD = 9


def start(folder):
    """Make the collection that is changed: two segments, one document deleted."""
    build(folder, DOCUMENTS[:5], resources=ONE)
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[5:8], resources=ONE)
        writer.delete(["d2"])


def add(folder):
    """Add documents."""
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[8:], resources=ONE)
    return [*BEFORE, *DOCUMENTS[8:]]


def replace(folder):
    """Replace documents of both segments."""
    new = [Document("d1", text="other"), Document("d6", text="other words")]
    with Writer(folder) as writer:
        writer.add(new, replace=True, resources=ONE)
    return [*(d for d in BEFORE if d.id not in ("d1", "d6")), *new]


def delete(folder):
    """Delete documents of both segments."""
    with Writer(folder) as writer:
        writer.delete(["d1", "d6"])
    return [d for d in BEFORE if d.id not in ("d1", "d6")]


def merge(folder):
    """Merge both segments."""
    with Writer(folder) as writer:
        writer.merge(resources=ONE)
    return BEFORE


def overwrite(folder):
    """Build the collection anew."""
    build(folder, DOCUMENTS[8:], overwrite=True, resources=ONE)
    return DOCUMENTS[8:]


def dying(change, folder, n):
    """Make a change in a child that ends at its nth step; tell whether it came to the end."""
    child = os.fork()
    if not child:
        steps = [0]
        for name in CHANGING:
            setattr(os, name, counted(getattr(os, name), name, steps, n))
        change(folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != DEAD


def counted(real, name, steps, n):
    """End the process at the nth call."""

    def call(*arguments, **options):
        if name != "open" or arguments[1] & os.O_CREAT:
            steps[0] += 1
            if steps[0] == n:
                os._exit(DEAD)
        return real(*arguments, **options)

    return call


def main(folder):
    """Try all steps of all changes; print how many there were."""
    # The disk does not lose anything here, so that nobody has to wait for it.
    os.fsync = lambda handle: None
    start(folder / "start")
    before = expected(BEFORE)
    for change in (add, replace, delete, merge, overwrite):
        shutil.copytree(folder / "start", folder / "c")
        after = expected(change(folder / "c"))
        states, n, done = set(), 1, False
        while not done:
            shutil.rmtree(folder / "c")
            shutil.copytree(folder / "start", folder / "c")
            done = dying(change, folder / "c", n)
            snapshot = open_snapshot(folder / "c")
            snapshot.check()
            found = state(snapshot)
            snapshot.close()
            assert found in (before, after), (change.__name__, n)
            states.add(found == after)
            with Writer(folder / "c"):
                assert not leftovers(folder / "c"), (change.__name__, n, leftovers(folder / "c"))
            assert state(open_snapshot(folder / "c")) == found
            n += 1
        assert change is merge or states == {True, False}, change.__name__
        shutil.rmtree(folder / "c")
        print(change.__name__, n, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
