from __future__ import annotations

import gzip
import io
import os
import sys
import threading

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import SourceError
from likewise.sources.streams import STDIN, open_bytes


def content(path, count=lambda n: None):
    with open_bytes(str(path), count) as stream:
        return stream.read()


def stdin_of(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


@settings(max_examples=30)
@given(data=st.binary(max_size=5000), times=st.integers(1, 60))
def test_what_is_packed_is_unpacked(tmp_path_factory, data, times):
    folder = tmp_path_factory.mktemp("packed")
    whole = b"<" + data * times
    for name, pack in (("a", bytes), ("b", gzip.compress), ("c", zstd)):
        (folder / name).write_bytes(pack(whole))
        counts = []
        assert content(folder / name, counts.append) == whole
        assert sum(counts) == (folder / name).stat().st_size


def test_a_name_alone_means_nothing(write):
    assert content(write("plain.gz", b"plain")) == b"plain"
    assert content(write("packed.jsonl", gzip.compress(b"packed"))) == b"packed"


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_parts_laid_end_to_end(write, pack):
    assert content(write("x", pack(b"one ") + pack(b"") + pack(b"two"))) == b"one two"


def test_zeros_after_gzip_and_skippable_zstd_frames(write):
    assert content(write("x", gzip.compress(b"x") + bytes(1000))) == b"x"
    assert content(write("y", b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(b"y"))) == b"y"


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("data", [b"short", os.urandom(100_000)])
def test_every_cut_is_noticed(write, pack, data):
    packed = pack(data)
    for keep in {4, 10, len(packed) // 2, len(packed) - 1}:
        if keep < len(packed):
            with pytest.raises(SourceError, match=r"x: the (gzip|zstd) data is (cut|damaged)"):
                content(write("x", packed[:keep]))


@pytest.mark.parametrize("pack", [gzip.compress, lambda d: zstd(d, write_checksum=True)])
def test_an_altered_byte_is_noticed(write, pack):
    packed = bytearray(pack(b"some words to pack " * 50))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(SourceError, match=r"x: the (gzip|zstd) data is"):
        content(write("x", bytes(packed)))


def test_garbage_after_the_data_is_noticed(write):
    with pytest.raises(SourceError, match=r"damaged"):
        content(write("x", gzip.compress(b"x") + b"garbage"))


def test_much_from_little_stays_in_pieces(write):
    for pack in (gzip.compress, zstd):
        with open_bytes(str(write("x", pack(bytes(50_000_000)))), lambda n: None) as stream:
            assert (
                sum(len(piece) for piece in iter(lambda: stream.read(1 << 20), b"")) == 50_000_000
            )


def test_a_byte_order_mark_is_dropped(write):
    assert content(write("x", b"\xef\xbb\xbfx")) == b"x"
    assert content(write("x", gzip.compress(b"\xef\xbb\xbfx"))) == b"x"
    assert content(write("x", b"\xef\xbb")) == b"\xef\xbb"


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(SourceError, match=r"No such file"):
        content(tmp_path / "none")
    with pytest.raises(SourceError, match=r"directory"):
        content(tmp_path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_standard_input(monkeypatch, pack):
    stdin_of(monkeypatch, pack(b"from a pipe"))
    assert content(STDIN) == b"from a pipe"
    assert not sys.stdin.closed


def test_no_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match=r"standard input is closed"):
        content(STDIN)


def test_a_pipe_that_gives_a_byte_at_a_time(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def drip():
        with open(path, "wb", buffering=0) as pipe:
            for byte in gzip.compress(b"drop by drop"):
                pipe.write(bytes([byte]))

    writer = threading.Thread(target=drip)
    writer.start()
    try:
        assert content(path) == b"drop by drop"
    finally:
        writer.join()
