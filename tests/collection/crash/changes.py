"""The changes of a collection that are cut off, one a line of `CHANGES`.

`strays` is all that the harness knows of a collection's files.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import orjson
from crash.change import Change
from plain_model import made, state

import likewise
from likewise.collection.build import Resources
from likewise.collection.cleaning import clean
from likewise.collection.copying import copy_collection
from likewise.collection.creating import build
from likewise.collection.format1 import KEPT, Format1
from likewise.collection.layout import DATA, LOCK, MANIFESTS, PLAN, POINTER, WORK
from likewise.collection.manifest import manifest_path
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.engine.upgrading import upgrade
from likewise.errors import FormatError
from likewise.evaluate.trec import Qrels
from likewise.records import Document

OLD = Path(__file__).parents[1] / "format-1"
RESOURCES = Resources(threads=1)
DOCUMENTS = [made(random.Random(seed), f"d{seed}") for seed in range(20)]
AGAIN = [made(random.Random(seed), f"d{seed - 100}") for seed in (103, 109, 117)]
NEXT = Document("next", text="alpha and omega")
BROKEN_OFF, PLANNED = "0123456789ab", "ba9876543210"
# Folders and files that are not named as ours are somebody's.
FOREIGN = f"{WORK}/somebodys/{PLAN}"


def begin(folder: Path) -> None:
    """Make a collection of two segments, of which one has deleted documents."""
    build(folder, DOCUMENTS[:8], resources=RESOURCES)
    with Writer(folder) as writer:
        writer.add(DOCUMENTS[8:12], resources=RESOURCES)
        writer.delete(["d1", "d5"])


def look(folder: Path):
    """Tell what the collection holds and answers, from files that are all whole."""
    collection = likewise.open(folder)
    collection.snapshot.check()
    info = collection.info()
    artifacts = collection.snapshot.manifest.artifacts
    answers = collection.search("alpha running café", method="bm25")
    return state(collection.snapshot) | {
        "models": [info["models"], info["kernels"], info["graphs"]],
        # What is made of models may be missing: it is then worked out when it is asked for.
        "weights": [one.about.get("weights") for one in artifacts if one.kind == "model"],
        "answers": [(answer.doc_id, answer.score) for answer in answers],
    }


def go_on(folder: Path) -> None:
    """Add a document."""
    with Writer(folder) as writer:
        writer.add([NEXT], resources=RESOURCES)
    assert likewise.open(folder)[NEXT.id] == NEXT


def strays(folder: Path) -> list[str]:
    """List what lies in a collection's folder and is not named by its state."""
    snapshot = open_snapshot(folder)
    manifest = snapshot.manifest
    snapshot.close()
    named = {folder / name for name in (POINTER, LOCK, DATA, MANIFESTS, WORK)}
    named |= {folder / DATA / entry.file for entry in manifest.files()}
    named.add(manifest_path(folder, manifest.generation))
    return sorted(str(path.relative_to(folder)) for path in set(folder.rglob("*")) - named)


def changing(make, begin=begin) -> Change:
    """A change that a function makes to the collection in a folder."""
    return Change(begin, make, look, go_on, strays)


def writing(make, begin=begin) -> Change:
    """A change that a function makes by a writer."""

    def make_by_writer(folder: Path) -> None:
        with Writer(folder) as writer:
            make(writer)

    return changing(make_by_writer, begin)


def begin_fitted(folder: Path) -> None:
    """Make a collection with a model."""
    begin(folder)
    likewise.open(folder).models.fit("lsi(topics=2)", threads=1)


def tune(folder: Path) -> None:
    """Learn how much words of their own count."""
    collection = likewise.open(folder)
    halves = [[document.id for document in collection][part::2] for part in range(2)]
    alike = {one: {other: 1 for other in half if other != one} for half in halves for one in half}
    collection.tune(Qrels(alike))


def begin_untidy(folder: Path) -> None:
    """Make a collection with what processes that were killed have left."""
    begin(folder)
    manifest = manifest_path(folder, open_snapshot(folder).manifest.generation)
    for generation in (1, 99):
        shutil.copy(manifest, manifest_path(folder, generation))
    (folder / f"{POINTER}.new").write_bytes(b"{")
    (folder / DATA / "index-0123456789ab.npz").write_bytes(b"half of it")
    for job in (BROKEN_OFF, PLANNED):
        (folder / WORK / job).mkdir(parents=True)
        (folder / WORK / f"{job}.lock").touch()
        (folder / WORK / job / "part").write_bytes(b"some of it")
    (folder / WORK / PLANNED / PLAN).write_bytes(b"{}")
    (folder / FOREIGN).parent.mkdir()
    (folder / FOREIGN).write_bytes(b"mine")


def look_at_foreign(folder: Path):
    """Tell what the collection holds, and what somebody keeps in its folder."""
    return look(folder) | {"foreign": (folder / FOREIGN).read_bytes()}


def strays_of_ours(folder: Path) -> list[str]:
    """List what nothing names, but for what somebody keeps there."""
    return [stray for stray in strays(folder) if not FOREIGN.startswith(stray)]


def clean_and_go_on(folder: Path) -> None:
    """Clean up what was left, and add a document."""
    clean(folder)
    go_on(folder)


def begin_old(folder: Path) -> None:
    """Lay out a collection of format 1."""
    shutil.copytree(OLD, folder, dirs_exist_ok=True)


def look_at_either(folder: Path):
    """Tell what a collection holds; of one of format 1 only whether it is as it was."""
    try:
        return look(folder)
    except FormatError:
        whole = Format1(folder)
        return {"format": 1, "documents": [*whole.documents()], "terms": whole.terms().all()}


def upgrade_keeping_and_go_on(folder: Path) -> None:
    """Upgrade what is still of format 1, and add a document: the old ones are there."""
    old = Format1(OLD)
    if read_version(folder) == 1:
        upgrade(folder, resources=RESOURCES, keep=True)
    go_on(folder)
    assert [*Format1(folder / KEPT).documents()] == [*old.documents()]


def upgrade_and_go_on(folder: Path) -> None:
    """Upgrade what is still of format 1, and add a document."""
    if read_version(folder) == 1:
        upgrade(folder, resources=RESOURCES)
    go_on(folder)


def read_version(folder: Path) -> int:
    """Read the format of a collection."""
    version: int = orjson.loads((folder / POINTER).read_bytes())["version"]
    return version


def begin_copied(folder: Path) -> None:
    """Make a collection beside the place for its copy."""
    begin(folder / "one")


def look_at_both(folder: Path):
    """Tell what a collection and its copy hold."""
    there = (folder / "other").exists()
    return look(folder / "one"), look(folder / "other") if there else None


def copy_again(folder: Path) -> None:
    """Copy the collection unless it was."""
    if not (folder / "other").exists():
        copy_collection(folder / "one", folder / "other")


def strays_of_both(folder: Path) -> list[str]:
    """List what belongs to neither the collection nor its copy."""
    found = [path.name for path in folder.iterdir() if path.name not in ("one", "other")]
    return found + strays(folder / "one") + strays(folder / "other")


CHANGES = {
    "add": writing(lambda writer: writer.add(DOCUMENTS[12:], resources=RESOURCES)),
    "replace": writing(lambda writer: writer.add(AGAIN, replace=True, resources=RESOURCES)),
    "delete": writing(lambda writer: writer.delete(["d2", "d9", "d10"])),
    "merge": writing(lambda writer: writer.merge(resources=RESOURCES)),
    "fit": changing(lambda folder: likewise.open(folder).models.fit("lsi(topics=2)", threads=1)),
    "upgrade": Change(
        begin_old,
        lambda folder: upgrade(folder, resources=RESOURCES),
        look_at_either,
        upgrade_and_go_on,
        strays,
    ),
    "upgrade and keep": Change(
        begin_old,
        lambda folder: upgrade(folder, resources=RESOURCES, keep=True),
        look_at_either,
        upgrade_keeping_and_go_on,
        lambda folder: [stray for stray in strays(folder) if not stray.startswith(KEPT)],
    ),
    "overwrite": changing(
        lambda folder: build(folder, DOCUMENTS[5:], overwrite=True, resources=RESOURCES)
    ),
    "overwrite format 1": Change(
        begin_old,
        lambda folder: build(folder, DOCUMENTS[5:], overwrite=True, resources=RESOURCES),
        look_at_either,
        upgrade_and_go_on,
        strays,
    ),
    "drop": changing(lambda folder: likewise.open(folder).models.drop("lsi"), begin_fitted),
    "add with a model": changing(
        lambda folder: likewise.open(folder).add(DOCUMENTS[12:], resources=RESOURCES), begin_fitted
    ),
    "merge with a model": changing(
        lambda folder: likewise.open(folder).merge(resources=RESOURCES), begin_fitted
    ),
    "graph": changing(lambda folder: likewise.open(folder).terms.make_graph(threads=1)),
    "tune": changing(tune, begin_fitted),
    "clean": Change(begin_untidy, clean, look_at_foreign, clean_and_go_on, strays_of_ours),
    "copy": Change(
        begin_copied,
        lambda folder: copy_collection(folder / "one", folder / "other"),
        look_at_both,
        copy_again,
        strays_of_both,
    ),
}
# The others are tried at every call only, by make test-long.
SHORT = ("add", "replace", "delete", "merge", "fit", "upgrade", "clean")
