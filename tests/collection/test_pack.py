from __future__ import annotations

import errno
import gc
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection import pack as module
from likewise.collection.arrays import Memory
from likewise.collection.pack import BULK, Pack, Packer
from likewise.errors import DamagedError, StorageError

DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
SHAPES = st.one_of(st.tuples(st.integers(0, 20)), st.tuples(st.integers(0, 5), st.integers(0, 4)))
ARRAYS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), min_size=1, max_size=7),
    st.tuples(st.sampled_from(DTYPES), SHAPES),
    max_size=6,
)

pytestmark = pytest.mark.usefixtures("unsynced")


def made(dtype, shape, seed=0):
    generator = np.random.default_rng(seed)
    size = int(np.prod(shape, dtype=np.int64))
    values = generator.integers(0, 256, size * np.dtype(dtype).itemsize, np.uint8)
    if np.dtype(dtype).kind in "b":
        values &= 1
    elif np.dtype(dtype).kind == "f":
        return generator.random(size).astype(dtype).reshape(shape)
    return values.view(dtype).reshape(shape)


def packed(path, arrays, **notes):
    out = Packer(path)
    for name, values in arrays.items():
        out.put(name, values)
    out.note(**notes)
    return out.close()


def same(left, right):
    return left.dtype == right.dtype and left.shape == right.shape and (left == right).all()


@given(ARRAYS)
def test_arrays_are_read_as_written_by_us_and_by_others(tmp_path, described):
    path = tmp_path / "a.npz"
    arrays = {n: made(d, s, seed) for seed, (n, (d, s)) in enumerate(described.items())}
    entry = packed(path, arrays, number=5, words=["é"])
    assert (entry.file, entry.size) == ("a.npz", path.stat().st_size)
    pack = Pack(path, entry)
    assert pack.names == list(arrays)
    assert pack.meta == {"number": 5, "words": ["é"]}
    for name, values in arrays.items():
        assert name in pack
        assert same(pack[name], values)
        assert pack.n_bytes(name) == values.nbytes
        assert pack._arrays[name][2] % 64 == 0
        assert pack[name].flags.writeable
        assert pack[name].flags.aligned
    pack.check()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*(f"{name}.npy" for name in arrays), "toc.json"]
        toc = archive.read("toc.json")
    offset, length, crc = entry.toc
    assert path.read_bytes()[offset : offset + length] == toc
    assert zlib.crc32(toc) == crc
    with np.load(path) as loaded:
        for name, values in arrays.items():
            assert same(loaded[name], values)


@given(
    st.lists(st.tuples(st.sampled_from(DTYPES), st.sampled_from([0, 0, 1, 3])), max_size=6),
    st.integers(0, 99),
)
def test_many_streams_at_once(tmp_path, described, seed):
    """Pieces come in any order; the arrays are those that would have been put whole."""
    generator = np.random.default_rng(seed)
    out, memory = Packer(tmp_path / "a.npz"), Memory()
    parts = [[] for _ in described]
    with ExitStack() as stack:
        streams = [
            [stack.enter_context(to.stream(f"s{i}", dtype, width)) for to in (out, memory)]
            for i, (dtype, width) in enumerate(described)
        ]
        for turn in range(30 if described else 0):
            i = int(generator.integers(len(described)))
            dtype, width = described[i]
            rows = int(generator.integers(0, 4))
            piece = made(dtype, (rows, width) if width else (rows,), turn)
            parts[i].append(piece)
            for stream in streams[i]:
                stream.append(piece)
                assert stream.size == sum(part.size for part in parts[i])
                assert same(
                    stream.values(),
                    np.concatenate([np.empty(0, dtype), *(p.reshape(-1) for p in parts[i])]),
                )
    pack = Pack(tmp_path / "a.npz", out.close())
    for i, (dtype, width) in enumerate(described):
        empty = np.empty((0, width) if width else 0, dtype)
        whole = np.concatenate([empty, *parts[i]])
        assert same(pack[f"s{i}"], whole)
        assert same(memory[f"s{i}"], whole)
    pack.check()
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("n", [0, 1, 60, 10_000])
def test_what_is_put_streamed_or_spooled_has_the_same_bytes(tmp_path, monkeypatch, n):
    """A member whose size is known at once is as `zipfile` writes one that is not."""
    x, y = np.arange(n), np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    packed(tmp_path / "put", {"x": x, "é": y})
    for path, most in ((tmp_path / "held", 1 << 30), (tmp_path / "spooled", -1)):
        out = Packer(path)
        monkeypatch.setattr(module, "MOST_BUFFERED", most)
        for name, values, width in (("x", x, 0), ("é", y, 3)):
            with out.stream(name, values.dtype, width) as stream:
                stream.append(values[: n // 3])
                stream.append(values[n // 3 :])
                assert (stream._file is None) == (path.name == "held")
        out.close()
        assert path.read_bytes() == (tmp_path / "put").read_bytes()


def test_what_is_held_may_be_changed_by_its_owner(tmp_path):
    out = Packer(tmp_path / "a.npz")
    values = np.arange(5)
    with out.stream("x", values.dtype) as stream:
        stream.append(values)
        values[:] = 9
        stream.append(values)
    pack = Pack(tmp_path / "a.npz", out.close())
    assert pack["x"].tolist() == [0, 1, 2, 3, 4, 9, 9, 9, 9, 9]


def test_values_are_converted_to_the_type_of_the_array(tmp_path):
    out = Packer(tmp_path / "a.npz")
    out.put("x", np.arange(3), np.uint16)
    out.put("turned", np.arange(6).reshape(2, 3).T)
    with out.stream("y", np.uint8) as stream:
        stream.append(np.array([1.0, 2.0]))
    pack = Pack(tmp_path / "a.npz", out.close())
    assert same(pack["x"], np.arange(3, dtype=np.uint16))
    assert pack["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert same(pack["y"], np.array([1, 2], np.uint8))


@pytest.mark.parametrize("values", [np.array([None]), np.array(["a"]), np.arange(3, dtype=">i4")])
def test_types_that_could_not_be_read_are_not_written(tmp_path, values):
    out = Packer(tmp_path / "a.npz")
    with pytest.raises(AssertionError):
        out.put("x", values)
    out.abandon()


def test_a_name_is_given_once(tmp_path):
    out = Packer(tmp_path / "a.npz")
    out.put("x", np.arange(3))
    with pytest.raises(AssertionError):
        out.put("x", np.arange(3))
    out.abandon()
    out.abandon()


def test_the_same_content_gives_the_same_bytes(tmp_path):
    arrays = {"a": made("<u4", (7,)), "b": made("<f4", (3, 2)), "c": made("u1", (0,))}
    one = packed(tmp_path / "one.npz", arrays, x=1)
    two = packed(tmp_path / "two.npz", arrays, x=1)
    out = Packer(tmp_path / "three.npz")
    with out.stream("a", "<u4") as stream:
        for value in arrays["a"]:
            stream.append(np.array([value]))
    with out.stream("b", "<f4", 2) as stream:
        stream.append(arrays["b"])
    out.stream("c", "u1").close()
    out.note(x=1)
    three = out.close()
    assert one.size == two.size == three.size
    assert one.toc == two.toc == three.toc
    written = {path.read_bytes() for path in tmp_path.iterdir()}
    assert len(written) == 1


def test_every_flipped_byte_is_found_or_harmless(tmp_path):
    arrays = {
        "offsets": made("<u4", (9,)),
        "records": made("u1", (33,)),
        "grid": made("<f8", (2, 3)),
        "none": made("u1", (0,)),
    }
    entry = packed(tmp_path / "whole.npz", arrays, note="text")
    whole = (tmp_path / "whole.npz").read_bytes()
    places = Pack(tmp_path / "whole.npz", entry)._arrays
    spans = {
        name: range(places[name][2], places[name][2] + values.nbytes)
        for name, values in arrays.items()
    }
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        path = tmp_path / f"{at}.npz"
        path.write_bytes(data)
        if entry.toc[0] <= at < entry.toc[0] + entry.toc[1]:
            with pytest.raises(DamagedError, match=f"{path.name}: its table of contents"):
                Pack(path, entry)
            continue
        pack = Pack(path, entry)
        for name, values in arrays.items():
            if name in BULK or at not in spans[name]:
                assert pack[name].shape == values.shape
            else:
                with pytest.raises(DamagedError, match=f"{path.name}: {name} was altered"):
                    pack[name]
        if any(at in span for span in spans.values()):
            with pytest.raises(DamagedError, match=path.name):
                pack.check()
        else:
            # Headers and padding, which only other programs read.
            pack.check()
            with pytest.raises(DamagedError, match=f"{path.name}: what lies around its arrays"):
                pack.check_frame()
            assert all(same(pack[name], values) for name, values in arrays.items())
        path.unlink()


def test_files_of_another_size_or_missing(tmp_path):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": made("<i8", (9,))})
    data = path.read_bytes()
    for damaged in (b"", data[:-1], data + b"\0", data[:100]):
        path.write_bytes(damaged)
        with pytest.raises(DamagedError, match=rf"a\.npz: {len(damaged)} bytes where {len(data)}"):
            Pack(path, entry)
    path.unlink()
    with pytest.raises(DamagedError, match=r"a\.npz: missing"):
        Pack(path, entry)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.EIO, errno.ENOMEM])
def test_what_the_system_refuses_is_told(tmp_path, monkeypatch, number):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": made("<i8", (9,))})

    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number))

    name = "mmap.mmap" if number == errno.ENOMEM else "os.pread"
    monkeypatch.setattr(name, refuse)
    with pytest.raises(StorageError, match=rf"a\.npz: cannot be read \({os.strerror(number)}\)"):
        Pack(path, entry)


def rewritten(path, entry, change):
    """Change a table of contents, as a later version could have written it."""
    offset, length, _ = entry.toc
    data = path.read_bytes()
    toc = orjson.dumps(change(orjson.loads(data[offset : offset + length])))
    path.write_bytes(data + toc)
    return entry._replace(size=len(data) + len(toc), toc=(len(data), len(toc), zlib.crc32(toc)))


def test_what_a_later_version_adds_is_passed_over(tmp_path):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": np.arange(9), "novel": np.arange(4)}, later={"deep": [1]})

    def extend(toc):
        arrays = {name: [*values, 2, "more"] for name, values in toc["arrays"].items()}
        return {**toc, "arrays": arrays, "unheard": 7}

    pack = Pack(path, rewritten(path, entry, extend))
    assert pack["x"].tolist() == list(range(9))
    pack.check()


@pytest.mark.parametrize(
    ("place", "value"), [(0, "|O8"), (0, "<U4"), (0, ">i8"), (1, [10**9]), (2, -64), (2, 10**12)]
)
def test_places_that_a_pack_does_not_have(tmp_path, place, value):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": np.arange(9)})

    def misplace(toc):
        toc["arrays"]["x"][place] = value
        return toc

    pack = Pack(path, rewritten(path, entry, misplace))
    with pytest.raises(DamagedError, match=r"a\.npz: x has no place in it"):
        pack["x"]


def test_an_array_that_is_not_there(tmp_path):
    pack = Pack(tmp_path / "a.npz", packed(tmp_path / "a.npz", {}))
    assert "x" not in pack
    with pytest.raises(DamagedError, match=r"a\.npz: there is no array x"):
        pack["x"]


def test_views_may_be_changed_and_the_file_is_not(tmp_path):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": np.arange(5)})
    before = path.read_bytes()
    pack = Pack(path, entry)
    pack["x"][0] = 9
    assert pack["x"].tolist() == [9, 1, 2, 3, 4]
    assert Pack(path, entry)["x"].tolist() == [0, 1, 2, 3, 4]
    assert path.read_bytes() == before


def test_a_checksum_is_looked_at_once_and_in_several_threads(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    pack = Pack(path, packed(path, {"x": np.arange(1000), "cards": made("u1", (9,))}))
    checked = []
    real = zlib.crc32
    monkeypatch.setattr(module.zlib, "crc32", lambda *data: checked.append(1) or real(*data))
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(pack.__getitem__, ["x"] * 500))
        list(pool.map(pack.__getitem__, ["cards"] * 500))
    assert all(view is found[0] for view in found)
    assert len(checked) == 1


def read_ahead(view):
    """Whether the system reads what is around a place in the middle of a mapped array."""
    at = view.ctypes.data + view.nbytes // 2
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= at < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "rr" not in line.split()
    raise AssertionError("not mapped")


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs /proc")
def test_only_what_is_looked_at_in_one_go_is_read_ahead(tmp_path):
    path = tmp_path / "a.npz"
    names = ("terms.slots", "records", "basis", "heads", "points")
    arrays = {name: np.arange(1 << 16) for name in names}
    arrays |= {"large": np.arange(1 << 20), "none": np.empty(0)}
    pack = Pack(path, packed(path, arrays))
    assert not read_ahead(pack.probed("terms.slots"))
    assert pack.probed("terms.slots") is pack.probed("terms.slots")
    assert read_ahead(pack["records"])
    assert read_ahead(pack.unchecked("points"))
    assert not read_ahead(pack["basis"])
    assert not read_ahead(pack["heads"])
    assert read_ahead(pack["large"])
    assert not read_ahead(pack.probed("terms.slots"))
    for name, values in arrays.items():
        np.testing.assert_array_equal(pack[name], values)
        np.testing.assert_array_equal(pack.probed(name), values)
    pack.check()


def test_an_array_that_is_not_there_cannot_be_probed(tmp_path):
    path = tmp_path / "a.npz"
    pack = Pack(path, packed(path, {"x": np.arange(5)}))
    with pytest.raises(DamagedError, match="there is no array y"):
        pack.probed("y")


def test_one_descriptor_as_long_as_a_view_is_used(tmp_path):
    path = tmp_path / "a.npz"
    entry = packed(path, {"x": np.arange(5), "y": np.arange(3)})

    def opened():
        return sum(
            os.readlink(f"/proc/self/fd/{n}") == str(path)
            for n in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{n}")
        )

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc")
    pack = Pack(path, entry)
    x, y = pack["x"], pack["y"]
    assert opened() == 1
    del pack, y
    assert x.tolist() == [0, 1, 2, 3, 4]
    del x
    gc.collect()
    assert opened() == 0


def test_beyond_four_gigabytes(tmp_path, monkeypatch):
    """Offsets above 2**32, in a file that is mostly a hole."""
    free = shutil.disk_usage(tmp_path).free
    if free < 1 << 30 or not hasattr(os, "SEEK_HOLE"):
        pytest.skip("needs a file system with holes")
    path = tmp_path / "large.npz"
    size = (1 << 32) + (1 << 20)
    out = Packer(path)
    out.put("before", np.arange(5))
    # As if so much had been written: the reader looks at the table of contents only.
    end = out._file.tell()
    out._file.seek(end + size)
    out._zip.start_dir = end + size
    out.put("after", np.arange(7))
    with out.stream("streamed", np.uint16) as stream:
        stream.append(np.arange(9))
    entry = out.close()
    assert entry.size > 1 << 32
    if path.stat().st_blocks * 512 > 1 << 28:
        pytest.skip("the file system fills holes")
    pack = Pack(path, entry)
    assert pack._arrays["after"][2] > 1 << 32
    assert pack["before"].tolist() == list(range(5))
    assert pack["after"].tolist() == list(range(7))
    assert pack["streamed"].tolist() == list(range(9))
    pack.check()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        with archive.open("after.npy") as member:
            assert np.load(member).tolist() == list(range(7))


class FullFile:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, file, room):
        self._file, self.room = file, room

    def write(self, data):
        self.room -= memoryview(data).nbytes
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.mark.parametrize("room", [0, 10, 100])
def test_a_disk_that_fills_while_streams_are_spooled(tmp_path, monkeypatch, room):
    monkeypatch.setattr(module, "MOST_BUFFERED", 2)
    real = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **options: FullFile(real(**options), room)
    )
    out = Packer(tmp_path / "a.npz")
    streams = []

    def fill():
        with out.stream("x", np.uint8) as x, out.stream("y", np.uint8) as y:
            streams.extend([x, y])
            for _ in range(20):
                x.append(np.arange(9))
                y.append(np.arange(3))

    with pytest.raises(OSError, match="No space left"):
        fill()
    assert all(stream._file is None or stream._file.closed for stream in streams)
    out.abandon()
    assert out._file.closed


def test_a_disk_that_fills_while_spools_are_copied(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    out = Packer(tmp_path / "a.npz")
    stream = out.stream("x", np.uint8)
    stream.append(np.zeros(1 << 17))
    out._file.close()
    out._file = open("/dev/full", "r+b")  # noqa: SIM115
    out._zip.fp = out._file
    with pytest.raises(OSError, match="No space left"):
        stream.close()
    assert stream._file.closed
    with pytest.raises(OSError, match="No space left"):
        out.close()
    assert out._file.closed
