from __future__ import annotations

import random
import shutil

import pytest
from plain_model import expected, made, state

from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer, build
from likewise.errors import DamagedError, FormatError, NotACollection

RNG = random.Random(9)
DOCUMENTS = [made(RNG, f"d{i}") for i in range(12)]
ALIVE = [d for d in DOCUMENTS if d.id not in ("d2", "d9")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A collection of two segments with deleted documents in each."""
    folder = tmp_path_factory.mktemp("whole") / "collection"
    build(folder, DOCUMENTS[:7])
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[7:])
        writer.delete(["d2", "d9"])
    assert state(open_snapshot(folder)) == expected(ALIVE)
    return folder


def damages(data, rng):
    """Ways to damage a file: None removes it."""
    yield None
    yield b""
    yield data + b"\0"
    for size in {len(data) - 1, len(data) // 2, min(127, len(data) - 1)}:
        yield data[: max(size, 0)]
    bits = {0, 8 * len(data) - 1, *(rng.randrange(8 * len(data)) for _ in range(6))}
    for bit in bits:
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def test_every_damage_to_every_file_is_named_or_harmless(whole, folder):
    shutil.copytree(whole, folder)
    right = expected(ALIVE)
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "lock"]
    assert len(files) > 50
    rng = random.Random(3)
    for path in files:
        data = path.read_bytes()
        for damaged in damages(data, rng):
            # A new file each time: what is still mapped must not change under the reader.
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            try:
                found = state(open_snapshot(folder))
            except (DamagedError, FormatError, NotACollection) as error:
                message = str(error)
            else:
                message = path.name
                assert found == right
            assert path.name in message or str(folder) in message
        path.unlink(missing_ok=True)
        path.write_bytes(data)
    assert state(open_snapshot(folder)) == right


def test_a_check_finds_every_flipped_bit(whole, folder):
    shutil.copytree(whole, folder)
    snapshot = open_snapshot(folder)
    snapshot.check()
    rng = random.Random(4)
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name == "lock":
            continue
        data = path.read_bytes()
        for bit in {0, 8 * len(data) - 1, *(rng.randrange(8 * len(data)) for _ in range(8))}:
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            path.unlink()
            path.write_bytes(flipped)
            with pytest.raises((DamagedError, FormatError, NotACollection), match=str(folder)):
                snapshot.check()
        path.unlink()
        path.write_bytes(data)
    snapshot.check()


def test_a_damaged_collection_is_not_written_to(whole, folder):
    shutil.copytree(whole, folder)
    path = next(folder.glob("segments/*/forward.npy"))
    path.unlink()
    with Writer(folder) as writer:
        for change in (
            lambda: writer.add([DOCUMENTS[0]._replace(id="new")]),
            lambda: writer.delete(["d1"]),
            writer.merge,
        ):
            with pytest.raises(DamagedError, match=r"forward\.npy: missing"):
                change()
