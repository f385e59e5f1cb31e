from __future__ import annotations

import errno
import os
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.collection.files import (
    ArrayWriter,
    Seal,
    check_content,
    check_size,
    map_array,
    map_bytes,
    seal,
    seal_folder,
    storage_errors,
    write_array,
    write_bytes,
)
from likewise.errors import DamagedError, StorageError

DTYPES = [np.uint8, np.uint16, np.uint32, np.int64, np.uint64, np.float64]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(DTYPES), st.lists(st.lists(st.integers(0, 255), max_size=9), max_size=5))
def test_arrays_written_in_pieces_are_read_whole(tmp_path, dtype, pieces):
    path = tmp_path / "array.npy"
    with ArrayWriter(path, dtype) as writer:
        for piece in pieces:
            writer.append(np.array(piece, np.int64))
    expected = [value for piece in pieces for value in piece]
    mapped = map_array(path)
    assert mapped.dtype == dtype
    assert mapped.tolist() == np.load(path).tolist() == expected
    assert writer.size == len(expected)


def test_mapped_arrays_may_be_changed_and_the_file_is_not(tmp_path):
    path = tmp_path / "array.npy"
    write_array(path, np.arange(5))
    mapped = map_array(path)
    mapped[0] = 9
    assert map_array(path).tolist() == [0, 1, 2, 3, 4]


def test_the_data_of_an_array_is_aligned(tmp_path):
    path = tmp_path / "array.npy"
    write_array(path, np.arange(3), np.uint64)
    assert path.stat().st_size == 128 + 24


@pytest.mark.parametrize(
    "data", [b"", b"\x93NUMPY", b"text", b"\x93NUMPY\x01\x00\x76\x00{" + b" " * 200]
)
def test_what_is_no_array(tmp_path, data):
    path = tmp_path / "array.npy"
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"array\.npy: not a readable array"):
        map_array(path)


def test_arrays_are_mapped_in_several_threads(tmp_path):
    path = tmp_path / "array.npy"
    write_array(path, np.arange(10))
    with ThreadPoolExecutor(6) as pool:
        assert {tuple(a.tolist()) for a in pool.map(map_array, [path] * 3000)} == {tuple(range(10))}


def test_headers_that_say_something_else(tmp_path):
    path = tmp_path / "array.npy"
    write_array(path, np.arange(10))
    data = path.read_bytes()
    for old, new in (
        (b"(10,)", b"(11,)"),
        (b"(10,)", b"(99,)"),
        (b"<i8", b"<i4"),
        (b"<i8", b"|O8"),
    ):
        path.write_bytes(data.replace(old, new))
        with pytest.raises(DamagedError, match="not a readable array"):
            map_array(path)


def test_bytes(tmp_path):
    path = tmp_path / "file"
    write_bytes(path, b"")
    assert map_bytes(path) == b""
    write_bytes(path, b"content")
    assert map_bytes(path)[:] == b"content"


def test_seals(tmp_path):
    write_bytes(tmp_path / "b", b"content")
    write_bytes(tmp_path / "a", b"")
    assert seal(tmp_path / "b") == Seal(7, zlib.crc32(b"content"))
    assert list(seal_folder(tmp_path)) == ["a", "b"]


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
def test_what_the_system_refuses(tmp_path, number, message):
    with (
        pytest.raises(StorageError, match=f"cannot write to .*{message}"),
        storage_errors(tmp_path),
    ):
        raise OSError(number, "refused")


def test_an_abandoned_array_is_closed_even_on_a_full_disk(tmp_path):
    with pytest.raises(ZeroDivisionError), ArrayWriter(tmp_path / "a.npy", np.uint8) as writer:
        raise ZeroDivisionError
    assert writer._file.closed
    if os.path.exists("/dev/full"):
        writer = ArrayWriter(tmp_path / "b.npy", np.uint8)
        writer._file.close()
        writer._file = open("/dev/full", "wb")  # noqa: SIM115
        writer.append(np.zeros(10))
        with pytest.raises(OSError, match="No space left"):
            writer.close()
        assert writer._file.closed
        writer.abandon()
