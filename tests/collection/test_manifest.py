from __future__ import annotations

import zlib
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.generations import commit, take_lease
from likewise.collection.layout import POINTER
from likewise.collection.manifest import (
    VERSION,
    Artifact,
    Deleted,
    FileEntry,
    Manifest,
    Pointer,
    SegmentEntry,
    format_manifest,
    manifest_path,
    parse_manifest,
    read_pointer,
    write_pointer,
)
from likewise.collection.pack import PackEntry
from likewise.errors import DamagedError, FormatError, NotACollection
from likewise.text.analysis import REVISION, Analysis


def pack(name):
    return PackEntry(name, 2**40, (2**39, 512, 2**32 - 1))


FULL = Manifest(
    Analysis(language="german", stop_list=("ä", "b"), max_df=0.5),
    generation=12,
    lineage="0123456789ab",
    fields={"created": "date"},
    defaults={"like": "lsi"},
    segments=(
        SegmentEntry("a1", 10, 100, 0, 5, FileEntry("documents-a1", 5, 7), (pack("i1"),)),
        SegmentEntry(
            *("a2", 4, 40, 5, 2, FileEntry("documents-a2", 0, 0), (pack("i2"), pack("p2"))),
            Deleted("d2", 3, 20, pack("deleted-d2")),
        ),
    ),
    artifacts=(
        Artifact("m1", "model", 1, "lsi", (), {"k": 3, "deep": [1.5, None]}, pack("model-m1")),
        Artifact("v1", "vectors", 2, "lsi", ("m1", "a1"), {}, None),
    ),
)


def written(manifest):
    return format_manifest(manifest)[0]


def test_round_trip(tmp_path):
    for manifest in (Manifest(), FULL):
        content, crc = format_manifest(manifest)
        assert parse_manifest(content, tmp_path, crc=crc) == manifest
        assert parse_manifest(content, tmp_path) == manifest


def test_pointer_round_trip(tmp_path):
    (tmp_path / POINTER).write_bytes(write_pointer(Pointer(18, 2**32 - 1)))
    assert read_pointer(tmp_path) == Pointer(18, 2**32 - 1)


def test_code_of_format_1_says_format_2(tmp_path):
    """It looks for the format, the version, and an object of this name."""
    outer = orjson.loads(write_pointer(Pointer(1, 2)))
    assert (outer["format"], outer["version"]) == ("likewise collection", 2)
    assert outer["collection"] == {}


def test_sums():
    assert FULL.n_terms == 7
    assert [entry.n_live for entry in FULL.segments] == [10, 1]


def test_files_and_ids():
    assert [entry.file for entry in FULL.files()] == [
        *("documents-a1", "i1", "documents-a2", "i2", "p2", "deleted-d2", "model-m1")
    ]
    assert FULL.ids() == {"a1", "a2", "d2", "m1", "v1"}


def test_generations_are_numbered_in_file_names(tmp_path):
    assert manifest_path(tmp_path, 18) == tmp_path / "manifests" / "00000018.json"
    assert manifest_path(tmp_path, 123456789).name == "123456789.json"


@pytest.fixture
def committed(tmp_path):
    (tmp_path / "manifests").mkdir()
    commit(tmp_path, FULL)
    return tmp_path


@given(st.data())
@pytest.mark.parametrize("which", ["pointer", "manifest"])
def test_every_flipped_bit_is_found_or_harmless(committed, which, data):
    path = committed / POINTER if which == "pointer" else manifest_path(committed, 13)
    content = path.read_bytes()
    flipped = bytearray(content)
    bit = data.draw(st.integers(0, 8 * len(flipped) - 1))
    flipped[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flipped)
    try:
        manifest, lease = take_lease(committed)
        # White space, and what only code of format 1 reads.
        assert manifest.segments == FULL.segments
        assert manifest.generation == 13
        lease.release()
        message = str(committed)
    except (DamagedError, FormatError, NotACollection) as error:
        message = str(error)
    finally:
        path.write_bytes(content)
    assert str(committed) in message


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"1", b'"x"', b"null", b"\xff", b"{" * 5000]
)
def test_other_files_of_the_same_name(committed, content):
    pointer = (committed / POINTER).read_bytes()
    (committed / POINTER).write_bytes(content)
    with pytest.raises(DamagedError, match=r"manifest\.json: not a manifest"):
        read_pointer(committed)
    (committed / POINTER).write_bytes(pointer)
    manifest_path(committed, 13).write_bytes(content)
    with pytest.raises(DamagedError, match=r"00000013\.json: not a manifest"):
        take_lease(committed)


def test_truncated_at_every_length(committed):
    content = (committed / POINTER).read_bytes()
    # It ends with a newline, which nobody misses.
    for size in range(len(content) - 1):
        (committed / POINTER).write_bytes(content[:size])
        with pytest.raises(DamagedError, match=POINTER):
            read_pointer(committed)
    path = manifest_path(committed, 13)
    content = path.read_bytes()
    for size in range(len(content)):
        with pytest.raises(DamagedError, match=path.name):
            parse_manifest(content[:size], path)


def altered(folder, **changes):
    outer = orjson.loads((folder / POINTER).read_bytes())
    (folder / POINTER).write_bytes(orjson.dumps(outer | changes))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (1, r"has format 1; this likewise reads format 2.*likewise\.upgrade\(.*\w"),
        (3, "has format 3; this likewise reads format 2.*index the sources again"),
        ("x", "has format x"),
    ],
)
def test_another_version(committed, version, message):
    assert VERSION == 2
    altered(committed, version=version)
    with pytest.raises(FormatError, match=message):
        read_pointer(committed)


def test_another_format(committed):
    altered(committed, format="something else")
    with pytest.raises(NotACollection, match="not a manifest of likewise"):
        read_pointer(committed)


@pytest.mark.parametrize("value", [None, "x", [], {}, 1e308 * 10])
def test_a_pointer_to_nothing(committed, value):
    for name in ("generation", "crc"):
        altered(committed, **{name: value})
        with pytest.raises(DamagedError, match=r"manifest\.json: not a manifest"):
            read_pointer(committed)


def test_altered_content(committed):
    path = manifest_path(committed, 13)
    outer = orjson.loads(path.read_bytes())
    content = orjson.dumps(outer | {"collection": outer["collection"] | {"generation": 14}})
    with pytest.raises(DamagedError, match=r"00000013.json: its content was altered \(checksum\)"):
        parse_manifest(content, path)


def test_the_manifest_of_another_collection(committed):
    """It is whole by itself, but the pointer knows another checksum."""
    manifest_path(committed, 13).write_bytes(written(Manifest(generation=13)))
    with pytest.raises(DamagedError, match="checksum"):
        take_lease(committed)


def rewritten(change):
    """Change what a manifest says, and its checksum with it."""
    from likewise.collection.manifest import _crc

    body = orjson.loads(written(FULL))["collection"]
    change(body)
    return orjson.dumps({"crc": _crc(body), "collection": body, "more": 1})


def test_keys_that_a_later_version_adds_are_passed_over(tmp_path):
    def extend(body):
        body["grace"] = 3600
        for entry in (*body["segments"], *body["artifacts"]):
            entry["later"] = {"x": 1}
            for pack in (*entry.get("packs", ()), entry.get("documents"), entry.get("pack")):
                if pack:
                    pack["later"] = 2
        body["segments"][1]["deleted"]["later"] = 3
        body["segments"][1]["deleted"]["pack"]["later"] = 4
        body["analysis"]["later"] = 5

    assert parse_manifest(rewritten(extend), tmp_path) == FULL


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.pop("segments"),
        lambda body: body.update(segments=5),
        lambda body: body["segments"][0].pop("documents"),
        lambda body: body["segments"][0].update(packs=[{"file": "x"}]),
        lambda body: body["analysis"].update(stemmer="of a later version"),
    ],
)
def test_what_this_version_cannot_do_without(tmp_path, change):
    with pytest.raises(FormatError, match="written by another version of likewise"):
        parse_manifest(rewritten(change), tmp_path)


def test_no_collection(tmp_path):
    with pytest.raises(NotACollection, match=r"nowhere does not exist.*likewise\.index\("):
        read_pointer(tmp_path / "nowhere")
    with pytest.raises(NotACollection, match="is not a collection"):
        read_pointer(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotACollection, match="is not a collection"):
        read_pointer(tmp_path / "file")
    (tmp_path / POINTER).mkdir()
    with pytest.raises(NotACollection, match="cannot be read"):
        read_pointer(tmp_path)


def test_a_manifest_without_a_revision_was_analysed_before_there_was_one(tmp_path):
    assert (Manifest().analysis_revision, FULL.outdated) == (REVISION, False)
    body = orjson.loads(written(FULL))["collection"]
    del body["analysis_revision"]
    crc = zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    old = parse_manifest(orjson.dumps({"crc": crc, "collection": body}), tmp_path)
    assert (old.analysis_revision, old.outdated) == (0, True)
    # Nothing has to be indexed again where nothing is.
    assert not replace(old, segments=()).outdated
    # One of a later likewise has all that is known here.
    assert not replace(old, analysis_revision=REVISION + 1).outdated
