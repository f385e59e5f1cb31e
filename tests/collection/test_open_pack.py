"""Packs that no manifest names, written whole and found by their own end."""

import os
import zipfile

import numpy as np
import pytest

from likewise.collection.pack import open_pack, write_pack
from likewise.errors import DamagedError, StorageError


@pytest.fixture
def path(tmp_path):
    with write_pack(tmp_path / "deep" / "pack.npz") as pack:
        pack.put("some", np.arange(6, dtype=np.int32).reshape(2, 3))
        with pack.stream("more", np.float32) as more:
            more.append(np.ones(4))
        pack.put("none", np.empty(0, np.uint8))
        pack.note(name="ä", number=3)
    return tmp_path / "deep" / "pack.npz"


def test_what_was_written_is_found(path):
    pack = open_pack(path)
    assert pack.names == ["some", "more", "none"]
    assert pack["some"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert pack["more"].tolist() == [1, 1, 1, 1]
    assert pack["none"].size == 0
    assert pack.meta == {"name": "ä", "number": 3}
    pack.check()
    with np.load(path) as arrays:
        assert arrays["some"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [file.name for file in path.parent.iterdir()] == ["pack.npz"]


def test_a_pack_that_is_open_is_not_changed_by_another_in_its_place(path):
    before = open_pack(path)
    with write_pack(path) as pack:
        pack.put("some", np.zeros(5))
    assert before["some"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert open_pack(path)["some"].tolist() == [0] * 5


def test_what_fails_leaves_what_was_there(path):
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), write_pack(path) as pack:
        pack.put("some", np.zeros(1 // 0))
    with pytest.raises(StorageError, match="the disk is full"), write_pack(path):
        raise OSError(28, "No space left on device")
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["pack.npz"]
    with pytest.raises(StorageError), write_pack(path / "below"):
        pass


def test_a_pack_that_was_cut_off_or_is_none(path, tmp_path):
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(DamagedError, match=r"pack\.npz: cut off, or its end was altered"):
            open_pack(path)
    path.write_bytes(os.urandom(1000))
    with pytest.raises(DamagedError):
        open_pack(path)
    for names in ([], ["notes.txt"], ["toc.json", "notes.txt"]):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "{}")
        with pytest.raises(DamagedError):
            open_pack(path)
    with pytest.raises(FileNotFoundError):
        open_pack(tmp_path / "nothing")
