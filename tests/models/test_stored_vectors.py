"""Rows that stay with their collection, and what happens where they do not."""

import numpy as np
import pytest

from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.derived.store import derived_of
from likewise.errors import DamagedError, UsageError
from likewise.models.fitting import fit_model
from likewise.models.kinds import (
    SMOOTH,
    VECTORS,
    drop_model,
    find_model,
    load_model,
    models_for,
    store_model,
)
from likewise.models.klsa import KLSA, fit_space
from likewise.models.lsi import LSI
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.neighbours.int8 import encode
from likewise.records import Document


def fitted(collection, **options):
    """Fit a model and store it; give the collection as it is then."""
    space = fit_space(collection, KLSA(axes=8), threads=1, **options)
    store_model(collection, space)
    return open_snapshot(collection.folder)


def missing(collection, name="klsa"):
    derived = derived_of(collection)
    segments = range(len(collection.segments))
    return [i for i in segments if not derived.is_stored("vectors", name, i)]


def find_kernel(collection):
    return find_model(collection, role=SMOOTH)


def add(collection, texts, name="n", derive=None):
    with Writer(collection.folder, derive) as writer:
        writer._merge = lambda *_: None
        writer.add([Document(f"{name}{i}", "", " ".join(terms)) for i, terms in enumerate(texts)])
    return open_snapshot(collection.folder)


def test_a_model_is_loaded_as_it_was_saved(make, draw):
    collection = make(draw(40))
    space = fit_space(collection, KLSA(axes=8, kernel="ql(mu=10)"), name="mine", threads=1)
    store_model(collection, space)
    now = open_snapshot(collection.folder)
    loaded = vectors_of(now, role=SMOOTH).model
    assert (loaded.name, loaded.kernel, loaded.width) == ("mine", space.kernel, 8)
    assert dict(loaded.settings) == dict(space.settings)
    assert list(loaded.history) == list(space.history)
    assert loaded.average_length == space.average_length
    for name in ("basis", "values", "shares"):
        assert np.array_equal(getattr(loaded, name), getattr(space, name))
    docs = np.arange(40)
    assert np.array_equal(loaded.document_rows(now, docs), space.document_rows(now, docs))


def test_stored_rows_are_those_worked_out(make, draw):
    collection = fitted(make(draw(90), pieces=3, deleted=[2, 40]))
    stored = vectors_of(collection, role=SMOOTH)
    assert missing(collection) == []
    made = StoredVectors(collection, stored.model)
    for one, other in zip(stored.segments, made.segments, strict=True):
        assert np.array_equal(one.dense.codes, other.dense.codes)
        assert np.array_equal(one.dense.scales, other.dense.scales)
    docs = np.array([80, 3, 2, 41, 0])
    assert np.array_equal(stored.rows(docs), made.rows(docs))
    exact = StoredVectors(collection, stored.model, stored.artifact, exact=True)
    rows = stored.model.document_rows(collection, docs)
    assert np.array_equal(exact.rows(docs), rows)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(np.linalg.norm(stored.rows(docs), axis=1), lengths, rtol=1e-6)
    assert (np.abs(stored.rows(docs) - rows).max(axis=1) <= np.abs(rows).max(axis=1) / 127).all()


def test_documents_that_are_added_and_merged_are_kept_up_with(make, draw):
    texts = draw(120)
    collection = add(fitted(make(texts[:60])), texts[60:])
    stored = vectors_of(collection, role=SMOOTH)
    assert missing(collection) == [1]
    before = stored.rows(np.arange(120))
    with Writer(collection.folder, keep_up) as writer:
        writer.delete(["d5"])
        assert len(writer.snapshot.artifacts("vectors")) == 2
        writer.merge()
    collection = open_snapshot(collection.folder)
    merged = vectors_of(collection, role=SMOOTH)
    assert len(collection.segments) == 1
    assert missing(collection) == []
    assert np.array_equal(merged.rows(np.arange(119)), np.delete(before, 5, axis=0))
    assert len(collection.artifacts("vectors")) == 1


def test_rows_that_find_no_room_are_worked_out_later(make, draw, monkeypatch):
    collection = make(draw(30))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(VECTORS), "compute", full)
        collection = fitted(collection)
    stored = vectors_of(collection, role=SMOOTH)
    assert missing(collection) == [0]
    rows = stored.model.document_rows(collection, np.arange(30))
    assert np.array_equal(stored.segments[0].dense.codes, encode(rows).codes)


@pytest.mark.parametrize("kind", ["model", "vectors"])
@pytest.mark.parametrize("how", ["cut", "gone", "swapped"])
def test_damaged_files_are_reported(make, draw, kind, how):
    collection = fitted(make(draw(30)))
    [artifact] = collection.artifacts(kind)
    path = collection.path_of(artifact.pack.file)
    data = path.read_bytes()
    path.unlink()
    if how != "gone":
        path.write_bytes(data[:-3] if how == "cut" else b"x" * len(data))
    with pytest.raises(DamagedError, match=path.name):
        _ = vectors_of(open_snapshot(collection.folder), role=SMOOTH).segments


def test_altered_arrays_of_a_model_are_reported(make, draw):
    collection = fitted(make(draw(30)))
    artifact = find_kernel(collection)
    pack = collection.pack(artifact.pack)
    assert {"basis", "values", "shares", "vocabulary", "vocabulary.doc-freqs"} == {*pack.names}
    path = collection.path_of(artifact.pack.file)
    whole = path.read_bytes()
    for name in pack.names:
        at = pack._arrays[name][2]
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DamagedError, match=f"{name} was altered"):
            open_snapshot(collection.folder).check()
        if name != "basis":
            with pytest.raises(DamagedError, match=f"{name} was altered"):
                vectors_of(open_snapshot(collection.folder), role=SMOOTH)


def test_the_default_is_meant_where_none_is_named(make, draw):
    collection = make(draw(30))
    with pytest.raises(UsageError, match=r"models\.fit\("):
        find_kernel(collection)
    collection = fitted(collection, name="one")
    collection = fitted(collection, name="two")
    assert [one.name for one in models_for(collection.manifest, SMOOTH)] == ["one", "two"]
    assert vectors_of(collection, role=SMOOTH).model.name == "one"
    assert vectors_of(collection, "two", SMOOTH).model.name == "two"
    with pytest.raises(UsageError, match="there is one, two"):
        vectors_of(collection, "three", SMOOTH)
    drop_model(collection.folder, "one")
    now = open_snapshot(collection.folder)
    assert vectors_of(now, role=SMOOTH).model.name == "two"
    assert len(now.artifacts("vectors")) == 1


def test_a_model_that_is_fitted_again_has_its_own_rows(make, draw):
    collection = fitted(make(draw(30)))
    store_model(collection, fit_space(collection, KLSA(axes=3), name="klsa", threads=1))
    now = open_snapshot(collection.folder)
    assert len(models_for(now.manifest, SMOOTH)) == 1
    assert missing(now) == []
    assert vectors_of(now, role=SMOOTH).rows(np.arange(30)).shape == (30, 3)


def test_names_of_other_models_are_not_taken(make, draw):
    collection = make(draw(60))
    store_model(collection, fit_model(collection, LSI(topics=4)), name="mine")
    with pytest.raises(UsageError, match="another name"):
        store_model(collection, fit_space(collection, KLSA(axes=3), name="mine", threads=1))
    store_model(collection, fit_space(collection, KLSA(axes=3), threads=1))
    now = open_snapshot(collection.folder)
    assert load_model(now).name == "mine"
    with pytest.raises(UsageError, match="kernel model"):
        store_model(collection, load_model(now), name="klsa")
