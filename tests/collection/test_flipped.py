"""One byte changed anywhere in a collection: an error that names the file, or nothing worse.

What leads kernels from one array to another is checked when it is first used. Bulk values are not:
of these an answer may be another, but nothing is read outside, and a check finds them.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import flipping
import pytest
from plain_model import newest

from likewise.collection.pack import BULK, Pack

STEP, PARTS = 199, 8
# How many bytes are changed, one after the other, in a child.
BATCH = 40
# How many bytes of each of the kinds that are sampled.
SAMPLED = 600
# Read as they are, so that looking up an id or a word reads a few pages only.
LOOKED_UP = {f"{table}{part}" for table in ("ids", "terms") for part in ("", ".offsets", ".slots")}


class Place(NamedTuple):
    """A byte of a file, and what it belongs to."""

    file: str
    at: int
    array: str


@pytest.fixture(scope="module")
def whole(room):
    folder = room / "whole"
    flipping.begin(folder)
    return folder


@pytest.fixture(scope="module")
def asking(whole):
    """Ask the collection with a byte changed; the first answer is that of the whole one."""
    script = Path(__file__).with_name("flipping.py")
    with subprocess.Popen(
        [sys.executable, script, whole, whole.with_name("damaged")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        right = json.loads(process.stdout.readline())

        def ask(places):
            for some in batched(places, BATCH):
                process.stdin.write(json.dumps([flip_of(place) for place in some]) + "\n")
                for place in some:
                    yield place, json.loads(process.stdout.readline())

        yield right, ask
        process.stdin.close()


def flip_of(place):
    """Which bit is changed, and whether a merge is asked for as well."""
    # Of what is checked at first use a merge has nothing to find that a check has not.
    merge = place.array in BULK | LOOKED_UP | {"documents", "padding"}
    return {"file": place.file, "at": place.at, "by": 1 << (place.at * 5 + 3) % 8, "merge": merge}


def batched(places, n):
    return [places[i : i + n] for i in range(0, len(places), n)]


def places_of(whole):
    """All bytes of a collection that is as it should be, by what they belong to."""
    manifest = newest(whole)
    plain = ["manifest.json", f"manifests/{manifest.generation:08d}.json"]
    plain += [f"data/{segment.documents.file}" for segment in manifest.segments]
    for file in plain:
        kind = "documents" if file.startswith("data") else "manifest"
        for at in range((whole / file).stat().st_size):
            yield Place(file, at, kind)
    for entry in manifest.files():
        if not hasattr(entry, "toc"):
            continue
        pack = Pack(whole / "data" / entry.file, entry)
        spans = {name: (pack._arrays[name][2], pack.n_bytes(name)) for name in pack.names}
        spans["toc"] = entry.toc[:2]
        named = dict.fromkeys(range(entry.size), "padding")
        for name, (start, size) in spans.items():
            named |= dict.fromkeys(range(start, start + size), name)
        for at, name in named.items():
            yield Place(f"data/{entry.file}", at, name)


def chosen(whole):
    """Every byte of what is checked at open or first use, and some of the rest."""
    kinds = [BULK, LOOKED_UP, {"documents"}, {"padding"}]
    places, rng, out = list(places_of(whole)), random.Random(7), []
    for kind in kinds:
        some = [place for place in places if place.array in kind]
        out += sorted(rng.sample(some, min(SAMPLED, len(some))))
    return [place for place in places if not any(place.array in kind for kind in kinds)] + out


def faults_of(place, right, found):
    """What is not as promised."""
    if "ended" in found:
        return [f"the process ended with {found['ended']}"]
    file = Path(place.file).name
    file = file if place.file.startswith("data/") else ""
    out = [f"{name}: {value}" for name, (kind, value) in found.items() if kind == "fault"]
    errors = {name: value for name, (kind, value) in found.items() if kind == "error"}
    loose = place.array in BULK | LOOKED_UP
    # A word or an id that is not found is what the user is told.
    named = {name: "no document" in e or "no term of" in e for name, e in errors.items()}
    for name, error in errors.items():
        if file not in error and not (loose and named[name]):
            out.append(f"{name}: names no file: {error}")
    if not loose:
        differing = {
            name
            for name, (kind, value) in found.items()
            if kind == "answer" and value != right[name][1]
        }
        out += [f"{name}: another answer" for name in differing]
    if place.array == "padding":
        # Headers, which only other programs read: nothing but a check is refused.
        out += [f"{name}: refused: {e}" for name, e in errors.items() if name != "check"]
        out += ["check: not found"] if missed("check", found) else []
    elif place.file.startswith("data/"):
        out += [f"{name}: not found" for name in finding(place) if missed(name, found)]
    return out


def finding(place):
    """What finds a byte that was changed.

    A merge leaves models as they are, and computes again what is derived by them.
    """
    copied = Path(place.file).name.startswith(("documents-", "index-", "deleted-", "positions-"))
    return ["check", "merge"] if copied else ["check"]


def missed(name, found):
    return name in found and found[name][0] == "answer"


def check(asking, places):
    right, ask = asking
    assert {kind for kind, _ in right.values()} == {"answer"}, right
    wrong = {place: faults_of(place, right, found) for place, found in ask(places)}
    assert len(wrong) == len(places)
    wrong = {place: faults for place, faults in wrong.items() if faults}
    assert not wrong, "\n".join(f"{place}: {faults}" for place, faults in wrong.items())


def test_a_crash_is_that_of_its_byte(tmp_path, monkeypatch):
    def ask(folder, *, merge):
        if merge:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"asked": merge}

    monkeypatch.setattr(flipping, "ask", ask)
    monkeypatch.setattr(flipping, "copy", lambda whole, folder, flip: folder.mkdir(parents=True))
    kills = [False, True, False, False, True, True, False]
    found = flipping.ask_all(tmp_path, tmp_path / "damaged", [{"merge": kill} for kill in kills])
    ended = {"ended": -signal.SIGKILL}
    assert list(found) == [ended if kill else {"asked": False} for kill in kills]


def test_some_bytes_where_no_compiled_code_is_loaded(whole):
    rng = random.Random(5)
    first = newest(whole).segments[0].packs[0].file
    places = [one for one in places_of(whole) if one.file == f"data/{first}"]
    records = [one for one in places if one.array == "records"]
    looked_up = [one for one in places if one.array in LOOKED_UP]
    # The document that is shown is the first.
    flips = [flip_of(place) for place in records[:60] + rng.sample(looked_up, 60)]
    flips += [flip | {"to": to} for flip in flips[:60] for to in (0, 127, 128, 255)]
    script = Path(__file__).with_name("flipping.py")
    done = subprocess.run(
        [sys.executable, script, whole, whole.with_name("shown"), "plainly"],
        input=json.dumps(flips),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    *outcomes, compiled = map(json.loads, done.stdout.splitlines())
    assert len(outcomes) == len(flips)
    assert not compiled
    assert [outcome for outcome in outcomes if outcome[0] != "answer"] == []
    assert any("beyond" in value[1] for _, value in outcomes)


def test_some_bytes(whole, asking):
    check(asking, chosen(whole)[::STEP])


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_every_byte(whole, asking, part):
    check(asking, chosen(whole)[part::PARTS])
