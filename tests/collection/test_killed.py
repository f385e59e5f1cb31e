from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from changing import change, changed
from plain_model import expected, leftovers, state

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer

N_KILLS = 40
# A change takes about 60.
MOST_STEPS = 200


@pytest.fixture
def server():
    """The process that makes changes, by children that can be killed."""
    script = Path(__file__).with_name("changing.py")
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        yield process
        process.stdin.close()
        process.wait()


def kill_after(server, folder, number, steps):
    """Have a child killed after so many steps; give the number of the next change."""
    server.stdin.write(f"{folder} {number} {steps}\n")
    while (line := server.stdout.readline().split())[0] != "dead":
        assert line == ["done", str(number)]
        number += 1
    return number


def test_a_killed_process_leaves_what_it_acknowledged(folder, server):
    rng = random.Random(2024)
    build(folder, [])
    model, number, in_flight = {}, 0, Counter()
    for _ in range(N_KILLS):
        reached = kill_after(server, folder, number, rng.randrange(MOST_STEPS))
        for n in range(number, reached):
            model = changed(model, n)
        number = reached
        kind = change(number, list(model))[0]
        in_flight[kind] += 1
        snapshot = open_snapshot(folder)
        snapshot.check()
        found = {document.id: document for _, document in snapshot.documents()}
        snapshot.close()
        if list(found.items()) != list(model.items()):
            model = changed(model, number)
            number += 1
            assert list(found.items()) == list(model.items()), f"killed during {kind}"
    assert number > N_KILLS // 2
    assert len(in_flight) >= 4
    assert state(open_snapshot(folder)) == expected(list(model.values()))
    with Writer(folder) as writer:
        writer.merge()
    assert not leftovers(folder)
    assert state(open_snapshot(folder)) == expected(list(model.values()))


def test_a_process_that_ends_at_any_step(tmp_path):
    script = Path(__file__).with_name("dying.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = dict(line.split() for line in done.stdout.splitlines())
    assert list(steps) == ["add", "replace", "delete", "merge", "overwrite"]
    assert min(map(int, steps.values())) > 15
