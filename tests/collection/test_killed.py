from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from changing import change, changed
from plain_model import expected, state

from likewise.collection.manifest import read_manifest
from likewise.collection.snapshot import SEGMENTS, open_snapshot
from likewise.collection.writer import Writer, build

N_KILLS = 25


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
        process.wait(60)


def kill_after(server, folder, number, *, done, delay):
    """Kill a child some time after some changes are done; give the number of the next change."""
    server.stdin.write(f"{folder} {number}\n")
    word, pid = server.stdout.readline().split()
    assert word == "pid"
    for _ in range(done):
        assert server.stdout.readline().split() == ["done", str(number)]
        number += 1
    time.sleep(delay)
    os.kill(int(pid), signal.SIGKILL)
    while (line := server.stdout.readline().split())[0] != "dead":
        assert line == ["done", str(number)]
        number += 1
    return number


def test_a_killed_process_leaves_what_it_acknowledged(folder, server):
    rng = random.Random(2024)
    build(folder, [])
    model, number, in_flight = {}, 0, Counter()
    for _ in range(N_KILLS):
        reached = kill_after(
            server, folder, number, done=rng.randrange(3), delay=rng.uniform(0, 0.12)
        )
        for n in range(number, reached):
            model = changed(model, n)
        number = reached
        kind = change(number, list(model))[0]
        in_flight[kind] += 1
        snapshot = open_snapshot(folder)
        snapshot.check()
        found = {document.id: document for _, document in snapshot.documents()}
        if list(found.items()) != list(model.items()):
            model = changed(model, number)
            number += 1
            assert list(found.items()) == list(model.items()), f"killed during {kind}"
    assert number > N_KILLS // 2
    assert len(in_flight) >= 4
    assert state(open_snapshot(folder)) == expected(list(model.values()))
    with Writer(folder) as writer:
        writer.merge()
    named = {entry.name for entry in read_manifest(folder).segments}
    assert {path.name for path in (folder / SEGMENTS).iterdir()} == named
    assert state(open_snapshot(folder)) == expected(list(model.values()))
