"""A collection that is open while another handle changes it, as users see it."""

from __future__ import annotations

import gc
import pickle
import shutil
import threading
from dataclasses import replace as changed

import pytest

import likewise as lw
from likewise.app.cli import main
from likewise.collection.generations import new_id
from likewise.collection.layout import MANIFESTS
from likewise.collection.writer import Writer
from likewise.errors import CollectionError, UsageError
from likewise.models.kinds import find_model

from .stressing import ONE, THEMES, ask, begin, made

CHANGES = {
    "add": lambda c: c.add([made("new", 99)], resources=ONE),
    "replace": lambda c: c.add([made("d1", 98)], replace=True, resources=ONE),
    "delete": lambda c: c.delete(["d0", "d5"]),
    "merge": lambda c: (c.delete("d2"), c.merge(resources=ONE)),
    "fit": lambda c: c.models.fit("lsi(topics=2)", threads=1),
    "fit another": lambda c: c.models.fit(vectors="vector", threads=1),
    "drop": lambda c: (c.models.drop("lsi"), c.models.drop("klsa")),
    "graph": lambda c: c.terms.make_graph(within="document", threads=1),
    "drop graph": lambda c: c.terms.drop_graph("graph"),
    "tune": lambda c: c.tune(c.judgements(same="theme"), model="lsi"),
    "overwrite": lambda c: lw.index([made("d1", 5)], to=c.folder, overwrite=True, model=None),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A collection with a graph, and all that it answers."""
    folder = tmp_path_factory.mktemp("beside") / "collection"
    begin(folder)
    with lw.open(folder) as c:
        c.terms.make_graph(threads=1)
        return folder, ask(c, 1)


@pytest.fixture
def folder(kept, tmp_path):
    shutil.copytree(kept[0], tmp_path / "collection")
    return tmp_path / "collection"


def generations(folder):
    return sorted(int(path.stem) for path in (folder / MANIFESTS).iterdir())


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("asked", [False, True], ids=["unasked", "asked"])
def test_an_open_collection_stays_as_it_was(kept, folder, change, asked):
    with lw.open(folder) as old, lw.open(folder) as other:
        if asked:
            assert ask(old, 1) == kept[1]
        CHANGES[change](other)
        assert ask(old, 1) == kept[1]
        copy = pickle.loads(pickle.dumps(old))
        assert copy.snapshot.manifest == old.snapshot.manifest
        assert ask(copy, 1) == kept[1]
        copy.close()


def test_a_collection_that_is_refreshed_lets_go_without_the_garbage_collector(folder):
    """Whatever was made of the generation before: models, rankers, graphs of terms."""
    gc.collect()
    gc.disable()
    try:
        with lw.open(folder) as old, lw.open(folder) as other:
            first = old.snapshot.manifest.generation
            ask(old, 1)
            other.delete(["d0"])
            assert first in generations(folder)
            old.refresh()
            with Writer(folder):
                pass
            assert generations(folder) == [first + 1]
            assert "d0" not in old
    finally:
        gc.enable()


def test_a_generation_that_is_gone_cannot_be_unpickled(folder):
    with lw.open(folder) as c:
        sent = pickle.dumps(c)
    lw.open(folder).delete(["d0"])
    with pytest.raises(CollectionError, match="is gone"):
        pickle.loads(sent)


def test_what_is_closed_is_let_go(folder):
    with lw.open(folder) as c:
        ask(c, 1)
        first = c.snapshot.manifest.generation
    with lw.open(folder) as other:
        other.delete(["d0"])
        assert generations(folder) == [first + 1]


def test_what_is_closed_says_so(folder):
    """Also where its files are gone, which is no damage."""
    with lw.open(folder) as closed:
        assert f"{len(closed)} documents" in repr(closed)
    with lw.open(folder) as other:
        other.delete(["d0"])
        other.merge()
    assert "closed" in repr(closed)
    closed.close()
    asked = [len, list, pickle.dumps, lambda c: c["d1"], lambda c: c.search("wing")]
    asked += [lambda c: c.like("d1"), lambda c: c.info(), lambda c: c.refresh()]
    for one in asked:
        with pytest.raises(UsageError, match="was closed: open it again"):
            one(closed)


def test_a_collection_that_is_sent_is_found_from_another_directory(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    with lw.open(folder.name) as c:
        monkeypatch.chdir("/")
        sent = pickle.dumps(c)
        with pickle.loads(sent) as found:
            assert "d1" in found


def test_a_dropped_model_is_missed_after_a_refresh(folder):
    with lw.open(folder) as old, lw.open(folder) as other:
        old.like("d1")
        other.models.drop("lsi")
        old.like("d1", method="hybrid(model=lsi)")
        old.refresh()
        with pytest.raises(UsageError, match="has no model"):
            old.like("d1", method="hybrid(model=lsi)")
        assert old.search(THEMES["heat"], k=3)


def test_an_index_leaves_one_generation(tmp_path):
    begin(tmp_path / "collection")
    assert len(generations(tmp_path / "collection")) == 1


def test_weights_of_a_model_that_was_fitted_again_meanwhile_are_not_stored(folder):
    with lw.open(folder) as c, lw.open(folder) as other:
        judged = c.judgements(same="theme")
        other.models.fit("lsi(topics=2)", threads=1)
        with pytest.raises(CollectionError, match="lsi was fitted again in the meantime"):
            c.tune(judged, model="lsi")
        other.refresh()
        assert "focus" not in find_model(other.snapshot, "lsi").about
        c.refresh()
        c.tune(judged, model="lsi")
        assert "focus" in find_model(c.snapshot, "lsi").about


def test_tuning_waits_for_another_writer(folder):
    with lw.open(folder) as c:
        judged, writer = c.judgements(same="theme"), Writer(folder)
        waiting = threading.Timer(0.5, writer.close)
        waiting.start()
        c.tune(judged, model="lsi")
        waiting.join()
        assert "focus" in find_model(c.snapshot, "lsi").about


def test_a_model_of_a_role_or_type_that_is_not_known_is_left_alone(folder):
    for about in ({"role": "rerank", "type": "cross"}, {"type": "cross"}):
        with Writer(folder) as writer:
            roots = {one.name: one for one in writer.manifest.artifacts if not one.inputs}
            model = roots["klsa"]
            later = changed(model, id=new_id(), name="later", about={**model.about, **about})
            writer.put(later)
        with lw.open(folder) as c:
            c.add([made(f"more-{len(about)}", 7)], resources=ONE)
            info = c.info()
            assert {one["model"] for one in info["drift"]} == {"lsi", "klsa"}
            assert any(one["name"] == "later" for one in info["derived"])


def said(capsys, folder):
    """What `likewise info` prints, by the names of its lines."""
    assert main(["info", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    return {
        name: [line[13:] for line in lines if line[2:12].strip() == name]
        for name in ("held", "keeps")
    }


def test_info_tells_a_generation_that_is_read_from_one_that_was_left(folder, capsys, monkeypatch):
    monkeypatch.setattr("likewise.collection.writer.sweep", lambda *a, **o: None)
    with lw.open(folder) as reader:
        with Writer(folder) as writer:
            writer.delete(["d1"])
        assert "still being read" in said(capsys, folder)["held"][0]
        generation = reader.snapshot.manifest.generation
    # As a writer leaves it that is killed after its commit.
    told = lw.open(folder).info()["older_generations"]
    assert told == [{"generation": generation, "in_use": False, "readers": []}]
    assert said(capsys, folder)["held"] == [
        f"generation {generation} is no longer needed and goes with the next change"
    ]
    monkeypatch.undo()
    lw.open(folder).delete("d2")
    assert said(capsys, folder)["held"] == []


def test_info_says_what_is_kept_of_deleted_documents(folder, capsys):
    with lw.open(folder) as c:
        c.delete("d1")
        c.merge(resources=ONE)
    lsi, klsa, graph = said(capsys, folder)["keeps"]
    assert "what it learnt of all documents that it was fitted on, deleted ones too" in lsi + klsa
    assert graph == (
        "graph: the words or names of all documents that it was made of, deleted ones too"
    )
