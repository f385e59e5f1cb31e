from __future__ import annotations

from pathlib import Path

import pytest
from plain_model import expected, state

from likewise.collection.copying import copy_collection
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import build
from likewise.errors import DamagedError, UsageError
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
    with pytest.raises(DamagedError, match=path.name):
        copy_collection(folder, tmp_path / "copy")
    assert [*tmp_path.iterdir()] == [folder]
