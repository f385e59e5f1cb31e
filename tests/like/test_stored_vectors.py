"""Do vectors and own words stay with their collection, whatever happens to it?"""

from dataclasses import replace

import numpy as np
import pytest

import likewise as lw
from likewise.collection.writer import Writer
from likewise.derived.store import derived_of
from likewise.errors import DamagedError
from likewise.like.focus import weights_at
from likewise.models import kinds
from likewise.models.kinds import VECTORS
from likewise.models.model import Typical, Weights
from likewise.models.stored_vectors import vectors_of

from .conftest import documents, likeness_by


@pytest.fixture
def c(tmp_path):
    some = list(documents())[:40]
    return lw.index(some, to=tmp_path / "c.lw", model="lsi(topics=4)", smooth=None)


def missing(c, name="lsi"):
    derived = derived_of(c.snapshot)
    segments = range(len(c.snapshot.segments))
    return [i for i in segments if not derived.is_stored("vectors", name, i)]


def vectors(c):
    return [one for one in c.snapshot.manifest.artifacts if one.kind == "vectors"]


def drop_vectors(c):
    with Writer(c.folder) as writer:
        writer.put(drop=[one.id for one in vectors(c)])
    c.refresh()


def answers(c, **how):
    return [(a.doc_id, a.score) for a in c.like("flow-0", k=20, **how)]


def test_every_segment_has_its_vectors(c):
    assert missing(c) == []
    c.add(list(documents())[40:50])
    assert missing(c) == []
    assert len(vectors_of(c.snapshot).segments) == len(c.snapshot.segments)
    c.merge()
    assert missing(c) == []
    assert [h.n_docs for h in vectors_of(c.snapshot).segments] == [50]
    assert len(vectors(c)) == 1


def test_added_documents_are_answers_at_once_and_deleted_ones_never(c):
    new = {"id": "new", "text": c["flow-0"].text}
    c.add([new])
    assert c.like("flow-0", k=1)[0].doc_id == "new"
    c.delete("new")
    assert "new" not in {answer.doc_id for answer in c.like("flow-0", k=40)}
    c.add([new | {"text": c["wing-2"].text}])
    assert c.like("wing-2", k=1)[0].doc_id == "new"


def test_what_was_not_stored_changes_no_answer(c):
    before = answers(c)
    drop_vectors(c)
    assert missing(c) == [0]
    assert answers(c) == before
    c.add(list(documents())[40:41])
    assert missing(c) == []


def test_a_model_fitted_again_has_new_vectors(c):
    before = vectors(c)
    c.models.fit("lsi(topics=3)")
    assert len(vectors(c)) == 1
    assert vectors(c)[0].pack.file != before[0].pack.file
    assert not c.snapshot.path_of(before[0].pack.file).exists()
    assert vectors_of(c.snapshot).segments[0].dense.codes.shape == (40, 3)


def test_a_dropped_model_takes_its_vectors_along(c):
    c.models.drop("lsi")
    assert c.snapshot.manifest.artifacts == ()


def test_a_full_disk_leaves_the_documents(c, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(VECTORS), "compute", full)
    c.add(list(documents())[40:45])
    assert len(c) == 45
    assert missing(c) == [1]
    monkeypatch.undo()
    assert c.like("flow-0", k=44)


def test_damage_is_found(c):
    [artifact] = vectors(c)
    path = c.snapshot.path_of(artifact.pack.file)
    pack = c.snapshot.pack(artifact.pack)
    for name in pack.names:
        offset = pack._arrays[name][2]
        data = bytearray(path.read_bytes())
        data[offset] ^= 1
        path.write_bytes(bytes(data))
        fresh = lw.open(c.folder)
        with pytest.raises(DamagedError, match=rf"{name} was altered"):
            fresh.snapshot.check()
        if name in ("scales", "shares", "words.sizes", "words.scales"):
            with pytest.raises(DamagedError, match=rf"{name} was altered"):
                fresh.like("flow-0", method="hybrid" if name != "shares" else "eq4")
        else:
            fresh.like("flow-0")
        data[offset] ^= 1
        path.write_bytes(bytes(data))


def about_model(c, **changes):
    """Change what is noted of the model; None takes a note away."""
    [root] = [one for one in c.snapshot.manifest.artifacts if one.kind == "model"]
    about = {name: value for name, value in {**root.about, **changes}.items() if value is not None}
    with Writer(c.folder) as writer:
        writer.put(replace(root, about=about))
    c.refresh()
    assert missing(c) == []


def test_a_learnt_focus_is_kept_with_the_model(c):
    stored = vectors_of(c.snapshot)
    assert likeness_by(c, "hybrid").weights == weights_at(0.5, stored.typical)
    about_model(c, focus=0.25)
    assert likeness_by(c, "hybrid").weights == weights_at(0.25, stored.typical)
    assert likeness_by(c, "hybrid(focus=1)").weights == weights_at(1.0, stored.typical)


def test_weights_from_before_there_was_a_dial_hold_until_it_is_set(c):
    learnt = {"points": 1.0, "words": 0.25, "chosen": "learnt"}
    about_model(c, typical=None, weights=learnt)
    assert likeness_by(c, "hybrid").weights == Weights(1.0, 0.25, 0.0)
    assert likeness_by(c, "hybrid(focus=thing)").weights == weights_at(1.0, Typical())
    about_model(c, focus=0.75)
    assert likeness_by(c, "hybrid").weights == weights_at(0.75, Typical())


def test_large_segments_are_found_by_an_index(c, monkeypatch):
    monkeypatch.setattr(kinds, "FEWEST_FOUND", 30)
    c.models.fit("lsi(topics=4)")
    [finder] = vectors_of(c.snapshot).finders
    assert finder is not None
    c.add(list(documents())[40:45])
    assert [one is None for one in vectors_of(c.snapshot).finders] == [False, True]
    expected = c.like("flow-0", k=5, method="hybrid(candidates=0)")
    assert [a.doc_id for a in c.like("flow-0", k=5)] == [a.doc_id for a in expected]
    c.add(list(documents())[45:60])
    found = c.like("flow-0", k=5, filter="theme=wing")
    assert {answer.fields["theme"] for answer in found} == {"wing"}
    c.merge()
    assert [one is None for one in vectors_of(c.snapshot).finders] == [False]


def test_the_same_bits_on_any_number_of_threads(tmp_path):
    made = []
    for threads in (1, 2):
        c = lw.index(documents(), to=tmp_path / f"{threads}.lw", model=None)
        c.models.fit("lsi(topics=4)", threads=threads)
        made.append(vectors_of(c.snapshot).segments[0])
    for a, b in zip((*made[0].dense, *made[0][1:]), (*made[1].dense, *made[1][1:]), strict=True):
        assert np.array_equal(a, b)
