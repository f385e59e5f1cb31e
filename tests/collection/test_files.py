from __future__ import annotations

import errno
import os
import zlib

import pytest

from likewise.collection import files as module
from likewise.collection.files import (
    Seal,
    check_content,
    check_size,
    reading_errors,
    seal,
    storage_errors,
    sync_folder,
    write_bytes,
    write_whole,
)
from likewise.errors import DamagedError, StorageError


def test_seals(tmp_path):
    write_bytes(tmp_path / "b", b"content")
    assert seal(tmp_path / "b") == Seal(7, zlib.crc32(b"content"))
    write_bytes(tmp_path / "a", b"")
    assert seal(tmp_path / "a") == Seal(0, 0)


def test_seals_of_files_that_are_read_in_several_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CRC_STEP", 3)
    write_bytes(tmp_path / "b", b"content")
    assert seal(tmp_path / "b") == Seal(7, zlib.crc32(b"content"))


def test_checks_name_the_file_and_the_remedy(tmp_path):
    path = tmp_path / "file"
    write_bytes(path, b"content")
    whole = seal(path)
    check_content(path, whole)
    write_bytes(path, b"contenT")
    check_size(path, whole)
    with pytest.raises(DamagedError, match=r"file: its content was altered.*restore"):
        check_content(path, whole)
    write_bytes(path, b"cont")
    with pytest.raises(DamagedError, match="file: 4 bytes where 7 were written"):
        check_size(path, whole)
    path.unlink()
    with pytest.raises(DamagedError, match="file: missing"):
        check_content(path, whole)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EFBIG, "too large"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_what_the_system_refuses_to_writers(tmp_path, number, message):
    with (
        pytest.raises(StorageError, match=f"cannot write to .*{message}"),
        storage_errors(tmp_path),
    ):
        raise OSError(number, "refused")


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_what_the_system_refuses_to_readers(tmp_path, number):
    reason = os.strerror(number)
    with (
        pytest.raises(StorageError, match=rf"{tmp_path}: cannot be read \({reason}\)"),
        reading_errors(tmp_path),
    ):
        raise OSError(number, "refused")
    with pytest.raises(StorageError, match=r"cannot be read \(odd\)"), reading_errors(tmp_path):
        raise OSError("odd")
    with pytest.raises(DamagedError, match=f"{tmp_path}: missing"), reading_errors(tmp_path):
        raise FileNotFoundError


def test_a_file_is_there_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "new" / "file"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"cannot write to .*file: the disk is full"):
        write_whole(path, b"three")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_folders_are_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sync_folder(tmp_path)
    assert synced == [tmp_path.stat().st_ino]
