"""A collection that is changed and asked by several processes at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import likewise as lw
from likewise.collection.layout import DATA, LOCK, MANIFESTS, POINTER, WORK
from likewise.collection.manifest import manifest_path
from likewise.collection.writer import Writer

from .stressing import CHANGES, begin, made

SCRIPT = Path(__file__).with_name("stressing.py")


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def strays(folder):
    """List what lies in a collection's folder and is not named by its state."""
    with lw.open(folder) as c:
        manifest = c.snapshot.manifest
    named = {folder / name for name in (POINTER, LOCK, DATA, MANIFESTS, WORK)}
    named |= {folder / DATA / entry.file for entry in manifest.files()}
    named.add(manifest_path(folder, manifest.generation))
    return sorted(str(path.relative_to(folder)) for path in {*folder.rglob("*")} - named)


@pytest.mark.parametrize(
    ("n_changes", "least"),
    [
        pytest.param(len(CHANGES), 6, id="short"),
        pytest.param(5 * len(CHANGES), 60, id="long", marks=pytest.mark.long),
    ],
)
def test_answers_are_those_of_their_generation_whatever_others_write(tmp_path, n_changes, least):
    folder, done = tmp_path / "collection", tmp_path / "done"
    begin(folder)
    before = lw.open(folder).snapshot.manifest.generation
    readers = [start(role, folder, done, least) for role in ("read", "share")]
    readers.append(start("beside", folder, done, 3 * least))
    # They have opened it before it changes.
    assert [reader.stdout.readline() for reader in readers] == ["open\n"] * 3
    writer = start("write", folder, n_changes)
    told, errors = writer.communicate()
    done.touch()
    ended = [reader.communicate() for reader in readers]
    assert (writer.returncode, errors) == (0, "")
    for reader, (_, error) in zip(readers, ended, strict=True):
        assert (reader.returncode, error) == (0, "")
    generations = [int(line) for line in told.split()]
    assert len(generations) == n_changes
    assert generations == sorted(generations)
    assert generations[-1] >= before + n_changes - 4
    with lw.open(folder) as c:
        assert c.snapshot.manifest.generation >= before + n_changes - 4 + 3 * least
        assert all(f"b{n}" in c for n in range(0, 3 * least, 2))
        assert "beside" in c.info()["models"]
    with Writer(folder):
        pass
    assert strays(folder) == []
    lw.open(folder).add([made("last", 0)])
    assert strays(folder) == []
