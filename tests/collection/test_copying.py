from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from plain_model import expected, state

from likewise.collection import copying
from likewise.collection.copying import copy_collection
from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.errors import DamagedError, StorageError, UsageError
from likewise.records import Document

DOCUMENTS = [Document("a", text="apple"), Document("b", text="banana")]


@pytest.mark.parametrize("to", [".", "../here", "new/folder"])
def test_a_copy_is_whole_wherever_it_is_named(folder, tmp_path, to, monkeypatch):
    build(folder, DOCUMENTS)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    copy_collection(folder, Path(to))
    copied = (tmp_path / "here").joinpath(to).resolve()
    assert state(open_snapshot(copied)) == expected(DOCUMENTS)
    assert not [*copied.parent.glob(".*.part")]


def test_nothing_is_copied_over(folder, tmp_path):
    build(folder, DOCUMENTS)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").touch()
    for to in (tmp_path / "there", tmp_path / "there" / "notes.txt", folder):
        with pytest.raises(UsageError, match="is there already"):
            copy_collection(folder, to)


def test_damage_is_not_copied(folder, tmp_path):
    build(folder, DOCUMENTS)
    path = next((folder / "data").glob("documents-*"))
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=re.escape(str(path))):
        copy_collection(folder, tmp_path / "copy")
    assert [*tmp_path.iterdir()] == [folder]


def test_a_copy_that_was_not_written_as_it_was_read(folder, tmp_path, monkeypatch):
    build(folder, DOCUMENTS)

    def spoilt(source, to):
        data = bytearray(source.read_bytes())
        data[len(data) // 2] ^= 1
        to.write_bytes(data)

    monkeypatch.setattr(copying, "_copy", spoilt)
    with pytest.raises(StorageError, match="read back altered; nothing was copied"):
        copy_collection(folder, tmp_path / "copy")
    assert [*tmp_path.iterdir()] == [folder]


@pytest.mark.parametrize("there", [False, True])
def test_of_copies_to_one_place_one_succeeds(folder, tmp_path, there):
    build(folder, DOCUMENTS)
    to = tmp_path / "copy"
    if there:
        to.mkdir()
    n = 6
    together = threading.Barrier(n)

    def copy(_):
        together.wait()
        try:
            copy_collection(folder, to)
        except UsageError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(n) as pool:
        said = sorted(pool.map(copy, range(n)))
    assert said[0] == ""
    assert all(str(to) in each and ("already" in each or "another" in each) for each in said[1:])
    assert state(open_snapshot(to)) == expected(DOCUMENTS)
    assert sorted(tmp_path.iterdir()) == sorted([folder, to])


def test_a_copy_that_another_overtakes_says_so(folder, tmp_path, monkeypatch):
    build(folder, DOCUMENTS)
    to = tmp_path / "copy"
    fill = copying._fill

    def overtaken(aside, snapshot):
        monkeypatch.setattr(copying, "_fill", fill)
        copy_collection(folder, to)
        return fill(aside, snapshot)

    monkeypatch.setattr(copying, "_fill", overtaken)
    with pytest.raises(UsageError, match=r"made by another process.*nothing was copied"):
        copy_collection(folder, to)
    assert state(open_snapshot(to)) == expected(DOCUMENTS)
    assert sorted(tmp_path.iterdir()) == sorted([folder, to])


def test_what_a_killed_copy_left_goes_with_the_next(folder, tmp_path):
    build(folder, DOCUMENTS)
    left = tmp_path / ".copy[1].0123456789ab.part"
    (left / "data").mkdir(parents=True)
    (left / "data" / "half").touch()
    other = tmp_path / ".copy1.0123456789ab.part"
    other.mkdir()
    copy_collection(folder, tmp_path / "copy[1]")
    assert sorted(tmp_path.iterdir()) == sorted([folder, other, tmp_path / "copy[1]"])
