from __future__ import annotations

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.collection.files import Seal
from likewise.collection.manifest import (
    NAME,
    Manifest,
    SegmentEntry,
    Tombstones,
    read_manifest,
    write_manifest,
)
from likewise.errors import DamagedError, FormatError, NotACollection
from likewise.text.analysis import Analysis

FILES = {"a.npy": Seal(5, 7), "b.npy": Seal(2**40, 2**32 - 1)}
FULL = Manifest(
    Analysis(language="german", stop_list=("ä", "b"), max_df=0.5),
    generation=12,
    last_name=7,
    segments=(
        SegmentEntry("000001", 10, 100, 0, 5, FILES),
        SegmentEntry("000003", 4, 40, 5, 2, {}, Tombstones("000007", 3, 20, FILES)),
    ),
)


def test_round_trip(tmp_path):
    for manifest in (Manifest(), FULL):
        write_manifest(tmp_path, manifest)
        assert read_manifest(tmp_path) == manifest
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_sums():
    assert FULL.n_terms == 7
    assert [entry.n_live for entry in FULL.segments] == [10, 1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_every_flipped_bit_is_found(tmp_path, data):
    write_manifest(tmp_path, FULL)
    content = bytearray((tmp_path / NAME).read_bytes())
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises((DamagedError, FormatError, NotACollection), match=str(tmp_path)):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"1", b'"x"', b"null", b"\xff", b"{" * 5000]
)
def test_other_files_of_the_same_name(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(DamagedError, match=r"manifest\.json: not a manifest"):
        read_manifest(tmp_path)


def test_truncated_at_every_length(tmp_path):
    write_manifest(tmp_path, FULL)
    content = (tmp_path / NAME).read_bytes()
    for size in range(len(content)):
        (tmp_path / NAME).write_bytes(content[:size])
        with pytest.raises(DamagedError, match=r"manifest\.json"):
            read_manifest(tmp_path)


def altered(folder, **changes):
    outer = orjson.loads((folder / NAME).read_bytes())
    (folder / NAME).write_bytes(orjson.dumps(outer | changes))


def test_another_version(tmp_path):
    write_manifest(tmp_path, FULL)
    altered(tmp_path, version=2)
    with pytest.raises(FormatError, match=r"has format 2; this likewise reads format 1.*index"):
        read_manifest(tmp_path)


def test_another_format(tmp_path):
    write_manifest(tmp_path, FULL)
    altered(tmp_path, format="something else")
    with pytest.raises(NotACollection, match="not a manifest of likewise"):
        read_manifest(tmp_path)


def test_altered_content(tmp_path):
    write_manifest(tmp_path, FULL)
    outer = orjson.loads((tmp_path / NAME).read_bytes())
    altered(tmp_path, collection=outer["collection"] | {"generation": 13})
    with pytest.raises(DamagedError, match="checksum"):
        read_manifest(tmp_path)


def test_no_collection(tmp_path):
    with pytest.raises(NotACollection, match=r"nowhere does not exist.*likewise index"):
        read_manifest(tmp_path / "nowhere")
    with pytest.raises(NotACollection, match="is not a collection"):
        read_manifest(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotACollection, match="is not a collection"):
        read_manifest(tmp_path / "file")
    (tmp_path / NAME).mkdir()
    with pytest.raises(NotACollection, match="cannot be read"):
        read_manifest(tmp_path)
