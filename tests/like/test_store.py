"""Do halves stay with their collection, whatever happens to it?"""

import numpy as np
import pytest

import likewise as lw
from likewise.collection.snapshot import DERIVED, open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError
from likewise.like import store
from likewise.like.store import HALVES, Weights, open_halves, store_weights

from .conftest import documents


@pytest.fixture
def c(tmp_path):
    some = list(documents())[:40]
    return lw.index(some, to=tmp_path / "c.lw", model="lsi(topics=4)", smooth=None)


def folders(c):
    return {path.name for path in (c.folder / DERIVED).iterdir()}


def test_every_segment_has_its_halves(c):
    assert c.halves().missing() == []
    c.add(list(documents())[40:50])
    assert c.halves().missing() == []
    assert len(c.halves().segments) == len(c.snapshot.segments)
    c.merge()
    assert c.halves().missing() == []
    assert [h.n_docs for h in c.halves().segments] == [50]


def test_added_documents_are_answers_at_once_and_deleted_ones_never(c):
    new = {"id": "new", "text": c["flow-0"].text}
    c.add([new])
    assert c.like("flow-0", k=1)[0].doc_id == "new"
    c.delete("new")
    assert "new" not in {answer.doc_id for answer in c.like("flow-0", k=40)}
    c.add([new | {"text": c["wing-2"].text}])
    assert c.like("wing-2", k=1)[0].doc_id == "new"


def test_what_was_not_stored_changes_no_answer(c):
    before = [(a.doc_id, a.score) for a in c.like("flow-0", k=20)]
    with Writer(c.folder) as writer:
        kept = [entry for entry in writer.manifest.derived if entry.kind != HALVES]
        writer.commit(derived=kept)
    c.refresh()
    assert c.halves().missing() == [0]
    assert folders(c) == {entry.folder for entry in kept}
    assert [(a.doc_id, a.score) for a in c.like("flow-0", k=20)] == before


def test_a_model_fitted_again_has_new_halves(c):
    before = folders(c)
    c.fit("lsi(topics=3)")
    assert not before & folders(c)
    assert c.halves().segments[0].points.codes.shape == (40, 3)


def test_a_dropped_model_takes_its_halves_along(c):
    with Writer(c.folder) as writer:
        writer.drop_model("lsi")
    assert folders(c) == set()


def test_a_full_disk_leaves_the_documents(c, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_halves", full)
    c.add(list(documents())[40:45])
    assert len(c) == 45
    assert len(c.halves().missing()) == 1
    assert c.like("flow-0", k=44)


def test_damage_is_found(c):
    [entry] = c.snapshot.derived(HALVES, model=c.snapshot.manifest.models[0].folder)
    path = c.folder / DERIVED / entry.folder / "codes.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    c.refresh()
    with pytest.raises(DamagedError, match="codes"):
        c.like("flow-0")
    with pytest.raises(DamagedError, match="codes"):
        c.snapshot.check()


def test_weights_are_stored_and_replaced(c):
    for beta in (2.0, 0.25):
        with Writer(c.folder) as writer:
            store_weights(writer, Weights(1.0, beta, "learnt"))
        assert open_halves(open_snapshot(c.folder)).weights == Weights(1.0, beta, "learnt")
    c.refresh()
    assert c.ranker("halves").likeness.weights.words == 0.25
    assert c.ranker("halves(beta=3)").likeness.weights.words == 3


def test_many_documents_are_found_by_an_index(c, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(store, "_FEWEST_FOUND", 30)
    c.fit("lsi(topics=4)")
    assert c.halves().finder is not None
    c.add(list(documents())[40:45])
    assert c.halves().finder[1] == [0]
    expected = c.like("flow-0", k=5, method="halves(depth=0)")
    assert [a.doc_id for a in c.like("flow-0", k=5)] == [a.doc_id for a in expected]
    c.add(list(documents())[45:60])
    names = [segment.entry.name for segment in c.snapshot.segments]
    assert len(c.halves().finder[1]) == len(names)
    found = c.like("flow-0", k=5, where="theme=wing")
    assert {answer.fields["theme"] for answer in found} == {"wing"}


def test_the_same_bits_on_any_number_of_threads(tmp_path):
    made = []
    for threads in (1, 2):
        c = lw.index(documents(), to=tmp_path / f"{threads}.lw", model=None)
        c.fit("lsi(topics=4)", threads=threads)
        made.append(c.halves().segments[0])
    for a, b in zip((*made[0].points, *made[0][1:]), (*made[1].points, *made[1][1:]), strict=True):
        assert np.array_equal(a, b)
