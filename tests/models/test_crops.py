"""Word vectors trained by views of documents: the loss, its gradient, and what is kept of it."""

from dataclasses import replace

import numpy as np
import pytest
from plain_axes import collection_of

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.models import crops
from likewise.models.crops import Training, train_vectors
from likewise.models.fitting import read_config
from likewise.models.ladder import ladder_of
from likewise.models.lanczos import slabs
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.pieces import read_pieces
from likewise.records import Document
from likewise.text.analysis import Analysis


@pytest.fixture(scope="module")
def axes(topical):
    return fit_lsi(topical, LSI(topics=16, iterations=6))


def training_of(collection, model, pool, **options):
    docs = collection.live_docs()
    pieces = read_pieces(collection, docs, model.scale, memory=1 << 24)
    return Training(pieces, model.basis, model.scale, pool, ladder=model.ladder, **options)


def train(collection, model, **options):
    docs = collection.live_docs()
    return train_vectors(collection, docs, model.basis, model.scale, ladder=model.ladder, **options)


def nested(a, b, ladder):
    """The nested cosine, by the plain formula."""
    cosines = [
        a[:n] @ b[:n] / max(np.linalg.norm(a[:n]) * np.linalg.norm(b[:n]), 1e-12) for n in ladder
    ]
    return np.mean(cosines)


def plain_loss(views, vectors, ladder):
    """The symmetric cross-entropy of a batch, by the plain formulas."""
    n = len(views.starts) // 2
    places = []
    for start, size in zip(views.starts, views.sizes, strict=True):
        span = slice(start, start + size)
        places.append(views.weights[span].astype(np.float64) @ vectors[views.rows[span]])
    scores = np.array([[nested(a, b, ladder) for b in places[n:]] for a in places[:n]])
    scores /= crops.TEMPERATURE
    own = np.diag(scores)
    both = [np.log(np.exp(scores).sum(axis=axis)) - own for axis in (0, 1)]
    return np.mean(both)


def test_the_loss_and_its_gradient_are_those_of_the_plain_formulas(topical, axes):
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        docs = np.arange(0, 90, 10)
        loss, views, slopes = training.gradient(docs, 1)
    vectors, ladder = training.vectors.astype(np.float64), axes.ladder
    assert loss == pytest.approx(plain_loss(views, vectors, ladder), rel=1e-5)
    used = np.concatenate(
        [np.arange(s, s + n) for s, n in zip(views.starts, views.sizes, strict=True)]
    )
    whole = np.zeros_like(vectors)
    np.add.at(whole, views.rows[used], views.weights[used, None] * slopes[views.owners[used]])
    random, step = np.random.default_rng(0), 1e-5
    for row in random.choice(np.unique(views.rows[used]), 6, replace=False):
        for column in (0, 3, 15):
            moved = []
            for sign in (1, -1):
                other = vectors.copy()
                other[row, column] += sign * step
                moved.append(plain_loss(views, other, ladder))
            slope = (moved[0] - moved[1]) / (2 * step)
            assert whole[row, column] == pytest.approx(slope, rel=1e-2, abs=1e-6)


def test_a_step_is_that_of_rowwise_adagrad(topical, axes):
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        vectors = training.vectors.copy()
        _, views, slopes = training.gradient(np.arange(20), 1)
        training._step(views, slopes)
    used = np.concatenate(
        [np.arange(s, s + n) for s, n in zip(views.starts, views.sizes, strict=True)]
    )
    whole = np.zeros_like(vectors)
    np.add.at(whole, views.rows[used], views.weights[used, None] * slopes[views.owners[used]])
    rows = np.unique(views.rows[used])
    lengths = np.sqrt(np.square(whole[rows]).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(
        training.vectors[rows], vectors[rows] - crops.RATE * whole[rows] / lengths, atol=1e-4
    )
    others = np.setdiff1d(np.arange(len(vectors)), rows)
    assert len(others)
    assert (training.vectors[others] == vectors[others]).all()


def test_the_loss_falls_on_documents_that_are_kept_out(topical, axes):
    seen = []
    trained = train(topical, axes, watch=seen.append)
    losses = [note["loss"] for note in trained.history]
    assert min(losses) < losses[0] - 0.05
    assert [note["pass"] for note in seen] == list(range(1, len(losses)))
    assert all(note["of"] == crops.EPOCHS for note in seen)
    assert [note["epoch"] for note in trained.history] == list(range(len(losses)))


def test_an_interrupt_ends_it(topical, axes):
    def interrupt(note):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(topical, axes, watch=interrupt)


def test_it_stops_when_the_loss_no_longer_falls(topical, axes, monkeypatch):
    falling = iter([3.0, 2.5, 2.4999, 2.4996, 1.0])
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        monkeypatch.setattr(training, "loss", lambda: next(falling))
        monkeypatch.setattr(training, "epoch", lambda number: training.vectors.fill(number) or 0.0)
        history = training.run()
    assert [note["loss"] for note in history] == [3.0, 2.5, 2.4999, 2.4996]
    assert (training.best == 3).all()


def test_five_epochs_are_the_most(topical, axes, monkeypatch):
    falling = iter(np.arange(10.0, 0, -1))
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        monkeypatch.setattr(training, "loss", lambda: next(falling))
        history = training.run()
    assert [note["epoch"] for note in history] == [0, 1, 2, 3, 4, 5]


def test_a_tenth_of_the_documents_is_never_trained_on(topical, axes, monkeypatch):
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        met = []
        gradient = training.gradient
        monkeypatch.setattr(
            training, "gradient", lambda docs, n: met.append(docs) or gradient(docs, n)
        )
        training.epoch(1)
    assert len(training.kept_out) == 40
    assert sorted(np.concatenate(met).tolist()) == training.trained.tolist()
    assert not set(training.kept_out.tolist()) & set(training.trained.tolist())


def test_the_same_bits_on_any_number_of_threads(topical, axes):
    found = [
        train(topical, axes, threads=threads, seed=seed)
        for threads, seed in ((1, 0), (2, 0), (3, 0), (1, 1))
    ]
    bits = [(one.vectors.tobytes(), str(one.history)) for one in found]
    assert bits[0] == bits[1] == bits[2]
    assert bits[0] != bits[3]


def test_the_vectors_are_the_mean_of_before_and_after(topical, axes):
    with slabs(1) as pool:
        training = training_of(topical, axes, pool)
        np.testing.assert_allclose(training.mean_of_both(axes.basis), axes.basis, atol=1e-6)
        training.best += 1
        size = np.sqrt(len(axes.basis) / axes.width)
        moved = training.mean_of_both(axes.basis)
    np.testing.assert_allclose(moved, axes.basis + 0.5 / size, atol=1e-5)


TINY = [["wing flutter wing"], ["wing flow", "heat flow", "heat wing"], ["ab cd", "", "ef"]]


@pytest.mark.parametrize("positions", [True, False])
@pytest.mark.parametrize("texts", TINY)
def test_tiny_collections_can_be_trained_on(texts, positions, tmp_path):
    analysis = Analysis(stemmer="none", stop="none", positions=positions)
    collection = collection_of(texts, tmp_path / "lw", analysis)
    model = fit_lsi(collection, LSI(train="crops"))
    assert np.isfinite(model.vectors).all()
    assert model.vectors.shape == model.basis.shape
    counts = collection.term_counts(collection.live_docs())
    shares = model.transform(counts).shares.sum(axis=1)
    assert (shares > 0.999).tolist() == [bool(text) for text in texts]


def test_no_documents_leave_the_axes_as_they_are(topical, axes):
    docs = np.empty(0, np.int64)
    trained = train_vectors(topical, docs, axes.basis, axes.scale, ladder=axes.ladder)
    np.testing.assert_allclose(trained.vectors, axes.basis, atol=1e-6)


def test_nothing_to_fit_is_said(tmp_path):
    collection = collection_of([], tmp_path / "lw")
    with pytest.raises(UsageError, match="no words"):
        fit_lsi(collection, LSI(train="crops"))


def test_a_collection_without_positions_is_trained_by_words(tmp_path):
    random = np.random.default_rng(0)
    kinds = [[f"k{kind}w{i}" for i in range(30)] for kind in range(5)]
    documents = [
        Document(str(i), "", " ".join(random.choice(kinds[i % 5], 12))) for i in range(300)
    ]
    analysis = Analysis(stemmer="none", stop="none", positions=False)
    build(tmp_path / "lw", documents, analysis=analysis)
    model = fit_lsi(open_snapshot(tmp_path / "lw"), LSI(topics=8, train="crops"))
    losses = [note["loss"] for note in model.history if "loss" in note]
    assert min(losses) < losses[0]


def test_it_is_asked_for_and_stored_with_the_model(topical):
    config = read_config("lsi(topics=8,train=crops)")
    assert config == LSI(topics=8, train="crops")
    assert str(config) == "lsi(topics=8,train=crops)"
    model = fit_lsi(topical, config)
    plain = fit_lsi(topical, replace(config, train=""))
    assert model.settings["train"] == "crops"
    assert plain.settings["train"] == ""
    assert len(plain.history) == 1
    assert len(model.history) > 2
    assert plain.vectors is None
    assert model.vectors.dtype == np.float32
    assert np.abs(model.vectors - model.basis).max() > 1e-3
    # The axes, and so what they leave over, are those of plain LSI.
    counts = topical.term_counts(topical.live_docs())
    assert model.basis.tobytes() == plain.basis.tobytes()
    assert model.values.tobytes() == plain.values.tobytes()
    for mine, theirs in zip(model.transform(counts), plain.transform(counts), strict=True):
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("rungs", [1, 3])
def test_it_is_trained_by_the_ladder_that_documents_are_compared_by(topical, rungs):
    model = fit_lsi(topical, LSI(topics=8, rungs=rungs, train="crops"))
    assert model.ladder == ladder_of(8, rungs)
    others = train_vectors(
        topical, topical.live_docs(), model.basis, model.scale, ladder=model.ladder
    )
    assert others.vectors.tobytes() == model.vectors.tobytes()


def test_another_training_is_refused():
    with pytest.raises(UsageError, match=r"train must be crops.*'halves'"):
        LSI(train="halves")
    with pytest.raises(UsageError, match="'halves'"):
        read_config("lsi(train=halves)")
