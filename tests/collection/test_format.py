"""Collections written by every version of the format so far are read, or told how to be.

The folder `format-N` holds a collection as `write` made it when N was the newest format. It
stays as it is; a new format adds a folder. Of format 2 there is one of before there were fields of
words and positions, and one with them.
"""

from __future__ import annotations

import shutil
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest
from plain_model import expected, leftovers, state

from likewise.collection.cleaning import clean
from likewise.collection.creating import build
from likewise.collection.format1 import Format1
from likewise.collection.locks import WriteLock
from likewise.collection.manifest import (
    VERSION,
    Artifact,
    manifest_path,
    read_pointer,
    write_pointer,
)
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.engine.upgrading import upgrade
from likewise.errors import DamagedError, FormatError, LockedError
from likewise.records import Document
from likewise.text.analysis import Analysis

HERE = Path(__file__).parent
PLAIN, SAVED = HERE / f"format-{VERSION}", HERE / f"format-{VERSION}-words"
ANALYSIS = Analysis(language="german", stop_list=("und",), title_weight=2)
OLD_ANALYSIS = replace(ANALYSIS, title_weight=1, fold=False, positions=False)
DOCUMENTS = [
    Document("d1", "Häuser", "Die Häuser und die Straßen.", {"year": 1984, "tag": ["red", "blue"]}),
    Document("d/2", "", "Ein Haus. Noch eins!", {"year": 2.5}, "source.jsonl:2"),
    Document("d 3", "", "中文字 " + "wieder " * 300, {"odd": "é"}),
    Document("d4"),
]
GONE = Document("gone", "", "Wird gelöscht")


def write(folder):
    """Write what `format-N` holds."""
    build(folder, [DOCUMENTS[0], GONE, DOCUMENTS[1]], analysis=ANALYSIS)
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[2:])
        writer.delete([GONE.id])
    (folder / "lock").unlink()
    (folder / "work").rmdir()


of_saved = pytest.mark.parametrize(
    ("saved", "analysis"), [(PLAIN, OLD_ANALYSIS), (SAVED, ANALYSIS)], ids=["plain", "words"]
)


@of_saved
def test_saved_collections_are_read(saved, analysis):
    snapshot = open_snapshot(saved)
    assert snapshot.analysis == analysis
    assert len(snapshot.segments) == 2
    snapshot.check()
    assert state(snapshot) == expected(DOCUMENTS, analysis, fields=saved == SAVED)
    assert snapshot.terms(snapshot.find_terms(["haus"])) == ["haus"]


@of_saved
def test_saved_collections_are_written_to(folder, saved, analysis):
    shutil.copytree(saved, folder)
    more = Document("more", "Ein Haus", "Noch ein Haus und über 'c++'")
    with Writer(folder) as writer:
        writer.add([more])
        whole = expected([*DOCUMENTS, more], analysis, fields=saved == SAVED)
        assert state(open_snapshot(folder)) == whole
        writer.merge()
    assert state(open_snapshot(folder)) == whole


@pytest.mark.parametrize("version", range(1, VERSION))
@pytest.mark.parametrize("use", [open_snapshot, Writer, lambda f: build(f, [])])
def test_older_collections_name_the_upgrade(folder, version, use):
    shutil.copytree(HERE / f"format-{version}", folder)
    before = sorted(folder.rglob("*"))
    with pytest.raises(FormatError, match=rf"has format {version}.*likewise.upgrade\('{folder}'\)"):
        use(folder)
    assert sorted(folder.rglob("*")) == before


def test_an_upgrade_adds_fields_of_words_and_positions(folder):
    shutil.copytree(HERE / "format-1", folder)
    old = Format1(folder)
    documents, analysis = [*old.documents()], replace(old.analysis, positions=True)
    terms = [term.decode() for term in old.terms().all()]
    assert not old.analysis.fold
    upgrade(folder)
    snapshot = open_snapshot(folder)
    assert snapshot.analysis == analysis
    assert all(segment.pack_of("positions") for segment in snapshot.segments)
    assert state(snapshot) == expected(documents, analysis)
    # Terms keep the numbers that models and graphs go by.
    assert snapshot.terms(np.arange(len(terms))) == terms


def test_an_older_collection_is_overwritten_whole(folder):
    shutil.copytree(HERE / "format-1", folder)
    old, before = Format1(folder), sorted(folder.rglob("*"))
    kept = [*old.documents()]
    assert kept

    def documents():
        yield DOCUMENTS[0]
        # Until the last moment it is as it was.
        assert [*Format1(folder).documents()] == kept
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(folder, documents(), overwrite=True)
    assert [*Format1(folder).documents()] == kept
    left = set(folder.rglob("*")) - set(before)
    assert {path.name for path in left} <= {"data", "manifests", "work", "lock"}
    # An upgrade that was broken off has nothing to upgrade any more.
    (folder / "work" / "upgrade").mkdir()
    (folder / "work" / "upgrade" / "plan.json").write_bytes(b"{}")
    assert build(folder, DOCUMENTS, analysis=ANALYSIS, overwrite=True).n_docs == len(DOCUMENTS)
    snapshot = open_snapshot(folder)
    assert state(snapshot) == expected(DOCUMENTS, ANALYSIS)
    assert snapshot.manifest.generation == old.generation + 1
    assert not leftovers(folder)


def test_an_older_collection_is_not_overwritten_beside_another_writer(folder):
    shutil.copytree(HERE / "format-1", folder)
    lock = WriteLock(folder)
    with pytest.raises(LockedError):
        build(folder, DOCUMENTS, overwrite=True)
    lock.release()
    assert Format1(folder).n_docs


def test_an_upgrade_that_was_broken_off_is_told_and_cleaned_up(folder, monkeypatch):
    shutil.copytree(HERE / "format-1", folder)
    before, kept = {*folder.rglob("*")}, [*Format1(folder).documents()]

    def cut_off():
        with monkeypatch.context() as patch:
            patch.setattr("likewise.collection.generations._replace", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                upgrade(folder)

    cut_off()
    told = rf"likewise.upgrade\('{folder}'\), which was broken off.*likewise clean {folder}"
    with pytest.raises(FormatError, match=told):
        open_snapshot(folder)
    assert clean(folder) > 0
    left = {path.name for path in {*folder.rglob("*")} - before}
    assert left == {"data", "manifests", "work", "lock"}
    with pytest.raises(FormatError, match=rf"likewise.upgrade\('{folder}'\)$"):
        open_snapshot(folder)
    assert [*Format1(folder).documents()] == kept
    cut_off()
    assert upgrade(folder) == len(kept)
    assert not leftovers(folder)


def test_the_old_files_are_kept_whole(folder):
    shutil.copytree(HERE / "format-1", folder)
    old = [*Format1(folder).documents()]
    upgrade(folder, keep=True)
    assert [*Format1(folder / "format-1").documents()] == old
    with Writer(folder) as writer:
        writer.delete([old[0].id])
    assert [*Format1(folder / "format-1").documents()] == old
    shutil.rmtree(folder / "format-1")
    assert not leftovers(folder)


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"crc": 0, "collection": {}},
        {"crc": 1, "collection": None},
        {"crc": zlib.crc32(b"{}"), "collection": {}},
        {"crc": zlib.crc32(b"null"), "collection": None},
    ],
)
def test_a_damaged_manifest_of_format_1(folder, manifest):
    folder.mkdir()
    outer = {"format": "likewise collection", "version": 1} | manifest
    (folder / "manifest.json").write_bytes(orjson.dumps(outer))
    with pytest.raises(DamagedError, match=r"manifest\.json: .*restore it from a copy"):
        upgrade(folder)
    build(folder, DOCUMENTS, overwrite=True)
    assert state(open_snapshot(folder)) == expected(DOCUMENTS)


def arrays_of(folder):
    """The arrays of all packs, but for those that depend on how well zstd compresses."""
    for segment in open_snapshot(folder).segments:
        for pack in segment.all_packs:
            # Added within the format: earlier versions leave them alone, but for the codes and
            # frames of cards, which they take for damaged ones.
            added = ("fields.dates", "fields.unseen", "cards.at_once")
            coded = ("cards.runs", "cards.symbols", "cards.sizes")
            yield "meta", "", {n: value for n, value in pack.meta.items() if n not in added}
            for name in pack.names:
                if name in coded:
                    continue
                kept = name not in ("cards", "cards.offsets", "documents.blocks")
                yield name, pack[name].dtype.str, pack[name].tolist() if kept else None


def test_the_format_has_not_changed_unnoticed(folder):
    """Where this fails, and the saved bytes are still read right, the change is harmless."""
    write(folder)
    assert list(arrays_of(folder)) == list(arrays_of(SAVED))


# What a later version may add


def of_a_later_version(folder):
    """Add arrays, packs, keys and artifacts that nobody knows yet."""
    with Writer(folder) as writer:
        segments = []
        for segment in writer.snapshot.segments:
            pack = segment.packs[0]
            longer = writer.job.new_pack("index")
            for name in pack.names:
                longer.put(name, pack.unchecked(name))
            longer.put("novel.values", np.arange(7))
            longer.put("novel.pairs", np.ones((3, 2), np.float32))
            longer.note(**pack.meta, novel={"version": 3})
            novel = writer.job.new_pack("novel")
            novel.put("novel", np.arange(9), np.uint8)
            packs = (longer.close(), novel.close())
            segments.append(replace(segment.entry, packs=packs))
        root = writer.job.new_pack("novelty")
        root.put("x", np.arange(5))
        artifacts = (
            Artifact("root", "novelty", 9, "name", (), {"deep": {"x": [1]}}, root.close()),
            Artifact("part", "novelty", 9, "name", ("root", segments[0].id)),
            Artifact("other", "vectors", 99, "name", ("root", segments[1].id)),
        )
        manifest = replace(writer.manifest, segments=tuple(segments), artifacts=artifacts)
        writer.publish(manifest, derive=False)
    rewrite(folder)


def rewrite(folder):
    """Give everything in the newest manifest, and the pointer, keys that nobody knows."""
    pointer = read_pointer(folder)
    path = manifest_path(folder, pointer.generation)
    body = orjson.loads(path.read_bytes())["collection"]
    body["novelty"] = {"x": 1}
    for entry in [*body["segments"], *body["artifacts"]]:
        entry["novelty"] = [1]
        for part in (entry.get("documents"), entry.get("pack"), *entry.get("packs", ())):
            if part:
                part["novelty"] = "x"
    crc = zlib.crc32(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    path.write_bytes(orjson.dumps({"crc": crc, "collection": body, "novelty": 0}))
    outer = orjson.loads(write_pointer(pointer._replace(crc=crc)))
    (folder / "manifest.json").write_bytes(orjson.dumps(outer | {"novelty": 5}))


def test_what_a_later_version_added_is_passed_over_and_kept(folder):
    shutil.copytree(PLAIN, folder)
    of_a_later_version(folder)
    snapshot = open_snapshot(folder)
    assert state(snapshot) == expected(DOCUMENTS, OLD_ANALYSIS, fields=False)
    snapshot.check()
    assert [artifact.id for artifact in snapshot.manifest.artifacts] == ["root", "part", "other"]
    snapshot.close()
    more = Document("more", "", "Noch ein Haus")
    with Writer(folder) as writer:
        writer.add([more])
        writer.delete(["d4"])
        kept = [*DOCUMENTS[:3], more]
        assert state(writer.snapshot) == expected(kept, OLD_ANALYSIS, fields=False)
        # Files of kinds that nobody knows stay, as long as what they were derived from does.
        artifacts = writer.manifest.artifacts
        assert [one.id for one in artifacts] == ["root", "part", "other"]
        assert artifacts[0].about == {"deep": {"x": [1]}}
        assert writer.snapshot.pack(artifacts[0].pack)["x"].tolist() == [0, 1, 2, 3, 4]
        assert all(len(entry.packs) == 2 for entry in writer.manifest.segments[:2])
        writer.snapshot.check()
    assert not leftovers(folder)
    with Writer(folder) as writer:
        writer.merge()
        assert state(writer.snapshot) == expected(kept, OLD_ANALYSIS, fields=False)
        assert [one.id for one in writer.manifest.artifacts] == ["root"]
    assert not leftovers(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
