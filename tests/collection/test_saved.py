"""Collections that were saved answer as they did, whatever has changed since."""

from __future__ import annotations

import pytest
from saved import NAMES, ask, differences, read_expected, reordered, unpack

import likewise as lw
from likewise.app.cli import main
from likewise.collection import adding, creating, words
from likewise.collection import build as build_module
from likewise.collection.build import Resources
from likewise.collection.postings import write_postings
from likewise.collection.snapshot import open_snapshot
from likewise.engine import upgrading
from likewise.engine.upgrading import upgrade
from likewise.errors import FormatError
from likewise.text.lexicon import Lexicon


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_collection_answers_as_it_did(name, tmp_path):
    questions, expected = read_expected(name)
    folder = unpack(name, tmp_path)
    with pytest.raises(FormatError, match=r"likewise\.upgrade"):
        lw.open(folder)
    assert main(["upgrade", str(folder), "--quiet"]) == 0
    lw.open(folder).snapshot.check()
    assert differences(ask(folder, questions), expected) == []


def test_the_full_one_has_everything(tmp_path):
    """What a change of the format has to carry over."""
    _, expected = read_expected("full")
    folder = unpack("full", tmp_path)
    upgrade(folder)
    info = lw.open(folder).info()
    assert (info["documents"], info["deleted"], info["segments"]) == (94, 0, 1)
    kinds = {model["kind"] for model in expected["models"].values()}
    assert kinds == {"subspace", "topics", "vectors"}
    chosen = {model["weights"][2] for model in expected["models"].values()}
    assert chosen == {"learnt", "halving", "trust", "fixed"}
    assert [one["model"] for one in expected["statistics"]["ageing"]]
    fields = [type(value) for d in expected["documents"] for value in d["fields"].values()]
    assert {*fields} == {str, int, float, bool, list}


def test_differences_are_told():
    expected = {"a": [["x", 1.0], ["y", 1.0 - 1e-8], ["z", 0.5]], "n": 1, "b": True, "s": "t"}
    rounded = {"a": [["y", 1.0 + 1e-8], ["x", 1.0], ["z", 0.5]], "n": 1, "b": True, "s": "t"}
    assert differences(rounded, expected) == []
    assert differences({**expected, "n": 1.0}, expected) == ["answers ['n']: 1.0, expected 1"]
    assert differences({**expected, "b": 1}, expected) == ["answers ['b']: 1, expected True"]
    moved = {**expected, "a": [["x", 1.0], ["z", 1.0 - 1e-8], ["y", 0.5]]}
    assert len(differences(moved, expected)) == 2
    assert len(differences({**expected, "a": expected["a"][:2]}, expected)) == 1
    assert differences({}, {"a": 1}) == ["answers ['a']: missing"]
    assert differences({"a": 1}, {}) == ["answers ['a']: not expected"]


def test_only_what_is_equal_but_for_rounding_changes_places():
    expected = [["x", 1.0], ["y", 1.0], ["z", 1.0]]
    assert reordered([["z", 1.0], ["y", 1.0], ["x", 1.0]], expected) == expected
    apart = [["y", 1.0], ["x", 0.9]]
    assert reordered(apart, [["x", 1.0], ["y", 0.9]]) == apart


def test_an_upgrade_uses_memory_as_a_build_does(tmp_path, monkeypatch):
    used = []

    def watched(out, records, lengths, *, n_terms, memory):
        used.append(memory)
        write_postings(out, records, lengths, n_terms=n_terms, memory=memory)

    class Watched(Lexicon):
        def __init__(self, *args, cached, **options):
            used.append(cached)
            super().__init__(*args, cached=cached, **options)

    monkeypatch.setattr(words, "write_postings", watched)
    monkeypatch.setattr(upgrading, "Lexicon", Watched)
    monkeypatch.setattr(adding, "Lexicon", Watched)
    resources = Resources(memory=1 << 28, threads=1)
    folder = unpack("odd", tmp_path)
    upgrade(folder, resources=resources)
    upgraded = [*used]
    used.clear()
    documents = [document for _, document in open_snapshot(folder).documents()]
    creating.build(tmp_path / "built", documents, resources=resources)
    n_fields = len(used) - 1
    assert n_fields > 1
    assert upgraded == used == [resources.for_chunks, *[resources.for_postings] * n_fields]


def test_an_upgrade_that_is_broken_off_leaves_nothing_open(tmp_path, monkeypatch):
    folder = unpack("odd", tmp_path)
    broken_off = []

    def broken(self, *_):
        broken_off.append(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build_module.SegmentBuilder, "add", broken)
        with pytest.raises(KeyboardInterrupt):
            upgrade(folder)
    [builder] = broken_off
    assert builder._documents._file.closed
    assert builder._out._file.closed
    assert builder._positions._out._file.closed
    assert upgrade(folder) > 0
