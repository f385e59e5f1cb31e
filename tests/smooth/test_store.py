"""Rows that stay with their collection, and what happens where they do not."""

import numpy as np
import pytest

from likewise.collection.snapshot import DERIVED, MODELS, open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import DamagedError, UsageError
from likewise.models.fitting import fit_model
from likewise.models.store import load_model, save_model
from likewise.models.subspace import LSI
from likewise.neighbours.coded import encode
from likewise.records import Document
from likewise.smooth.space import KLSA, fit_space
from likewise.smooth.store import (
    ROWS,
    StoredRows,
    find_kernel,
    keep_up_rows,
    open_rows,
    save_space,
    store_rows,
    stored_kernels,
)


def fitted(collection, *, rows=True, **options):
    """Fit a model and store it; give the collection as it is then."""
    space = fit_space(collection, KLSA(axes=8), threads=1, **options)
    with Writer(collection.folder) as writer:
        save_space(writer, space)
        if rows:
            store_rows(writer, space.name)
    return open_snapshot(collection.folder)


def add(collection, texts, name="n"):
    with Writer(collection.folder) as writer:
        writer._merge = lambda *_: None
        writer.add([Document(f"{name}{i}", "", " ".join(terms)) for i, terms in enumerate(texts)])
    return open_snapshot(collection.folder)


def test_a_model_is_loaded_as_it_was_saved(make, draw):
    collection = make(draw(40))
    space = fit_space(collection, KLSA(axes=8, kernel="ql(mu=10)"), name="mine", threads=1)
    with Writer(collection.folder) as writer:
        save_space(writer, space)
    now = open_snapshot(collection.folder)
    loaded = open_rows(now).space
    assert (loaded.name, loaded.kernel, loaded.n_axes) == ("mine", space.kernel, 8)
    assert dict(loaded.settings) == dict(space.settings)
    assert list(loaded.history) == list(space.history)
    assert loaded.average_length == space.average_length
    for name in ("basis", "values", "shares"):
        assert np.array_equal(getattr(loaded, name), getattr(space, name))
    docs = np.arange(40)
    assert np.array_equal(loaded.document_rows(now, docs), space.document_rows(now, docs))


def test_stored_rows_are_those_worked_out(make, draw):
    collection = fitted(make(draw(90), pieces=3, deleted=[2, 40]))
    stored = open_rows(collection)
    assert stored.missing() == []
    made = StoredRows(collection, stored.space)
    assert made.missing() == [0, 1, 2]
    for one, other in zip(stored.segments, made.segments, strict=True):
        assert np.array_equal(one.codes, other.codes)
        assert np.array_equal(one.scales, other.scales)
    docs = np.array([80, 3, 2, 41, 0])
    assert np.array_equal(stored.of(docs), made.of(docs))
    exact = StoredRows(collection, stored.space, stored.entry, exact=True)
    rows = stored.space.document_rows(collection, docs)
    assert np.array_equal(exact.of(docs), rows)
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(np.linalg.norm(stored.of(docs), axis=1), lengths, rtol=1e-6)
    assert (np.abs(stored.of(docs) - rows).max(axis=1) <= np.abs(rows).max(axis=1) / 127).all()


def test_documents_that_are_added_and_merged_are_kept_up_with(make, draw):
    texts = draw(120)
    collection = add(fitted(make(texts[:60])), texts[60:])
    stored = open_rows(collection)
    assert stored.missing() == [1]
    before = stored.of(np.arange(120))
    told = []
    with Writer(collection.folder) as writer:
        keep_up_rows(writer, watch=told.append)
    assert sum(told) == 60
    collection = open_snapshot(collection.folder)
    assert open_rows(collection).missing() == []
    assert np.array_equal(open_rows(collection).of(np.arange(120)), before)
    with Writer(collection.folder) as writer:
        writer.delete(["d5"])
        writer.merge()
        keep_up_rows(writer)
    collection = open_snapshot(collection.folder)
    merged = open_rows(collection)
    assert len(collection.segments) == 1
    assert merged.missing() == []
    assert np.array_equal(merged.of(np.arange(119)), np.delete(before, 5, axis=0))
    assert len(collection.derived(ROWS, model=merged.entry.folder)) == 1


def test_rows_that_find_no_room_are_worked_out_later(make, draw, monkeypatch):
    collection = make(draw(30))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "put_derived", full)
    collection = fitted(collection)
    stored = open_rows(collection)
    assert stored.missing() == [0]
    rows = stored.space.document_rows(collection, np.arange(30))
    assert np.array_equal(stored.segments[0].codes, encode(rows).codes)


@pytest.mark.parametrize("file", ["codes.npy", "scales.npy"])
@pytest.mark.parametrize("how", ["cut", "altered", "gone", "swapped"])
def test_damaged_rows_are_reported(make, draw, file, how):
    collection = fitted(make(draw(30)))
    [entry] = collection.derived(ROWS, model=find_kernel(collection).folder)
    damage(collection.folder / DERIVED / entry.folder / file, how)
    with pytest.raises(DamagedError):
        _ = open_rows(collection).segments


@pytest.mark.parametrize("how", ["cut", "altered", "gone", "swapped"])
def test_damaged_models_are_reported(make, draw, how):
    collection = fitted(make(draw(30)))
    entry = find_kernel(collection)
    assert set(entry.files) >= {"basis.npy", "values.npy", "kernel.json", "shares.npy"}
    folder = collection.folder / MODELS / entry.folder
    for file in entry.files:
        whole = (folder / file).read_bytes()
        damage(folder / file, how)
        with pytest.raises(DamagedError):
            open_rows(collection)
        (folder / file).write_bytes(whole)
    assert len(open_rows(collection).segments) == 1


def damage(path, how):
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        altered = data[:-1] + bytes([data[-1] ^ 1])
        path.write_bytes({"cut": data[:-3], "altered": altered, "swapped": b"x" * len(data)}[how])


def test_the_model_that_was_fitted_last_is_meant(make, draw):
    collection = make(draw(30))
    with pytest.raises(UsageError, match="likewise fit"):
        find_kernel(collection)
    collection = fitted(collection, name="one")
    collection = fitted(collection, name="two")
    assert [entry.name for entry in stored_kernels(collection.manifest)] == ["one", "two"]
    assert open_rows(collection).space.name == "two"
    assert open_rows(collection, "one").space.name == "one"
    with pytest.raises(UsageError, match="there is one, two"):
        open_rows(collection, "three")
    with Writer(collection.folder) as writer:
        writer.drop_model("two")
    now = open_snapshot(collection.folder)
    assert open_rows(now).space.name == "one"
    assert len(now.derived(ROWS, model=find_kernel(now).folder)) == 1


def test_a_model_that_is_fitted_again_has_its_own_rows(make, draw):
    collection = fitted(make(draw(30)))
    with Writer(collection.folder) as writer:
        save_space(writer, fit_space(collection, KLSA(axes=3), name="klsa", threads=1))
    now = open_snapshot(collection.folder)
    assert len(stored_kernels(now.manifest)) == 1
    assert open_rows(now).missing() == [0]
    assert open_rows(now).of(np.arange(30)).shape == (30, 3)


def test_names_of_other_models_are_not_taken(make, draw):
    collection = make(draw(60))
    with Writer(collection.folder) as writer:
        save_model(writer, fit_model(collection, LSI(topics=4)), name="mine")
        with pytest.raises(UsageError, match="another name"):
            save_space(writer, fit_space(collection, KLSA(axes=3), name="mine", threads=1))
        save_space(writer, fit_space(collection, KLSA(axes=3), threads=1))
    now = open_snapshot(collection.folder)
    assert load_model(now).name == "mine"
    with Writer(collection.folder) as writer, pytest.raises(UsageError, match="kernel model"):
        save_model(writer, load_model(now), name="klsa")
