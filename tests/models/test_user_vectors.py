"""Vectors from elsewhere: the map from words, and what it is worth."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from likewise import notation
from likewise.collection.creating import build
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.models import ridge, user_vectors, word_map
from likewise.models.bags import Vocabulary
from likewise.models.lanczos import Weighted
from likewise.models.ridge import add_words, predict
from likewise.models.subspace import Subspace
from likewise.models.user_vectors import (
    UserVectors,
    UserVectorsConfig,
    fit_user_vectors,
    predict_vectors,
)
from likewise.models.vector_sources import unit
from likewise.models.weighting import Scale
from likewise.records import Document
from likewise.text.analysis import Analysis

PLAIN = Analysis(stemmer="none", stop="none")
N_DOCS, N_KINDS = 640, 8


def collection_of(documents, folder):
    build(folder, documents, analysis=PLAIN)
    return open_snapshot(folder)


@pytest.fixture(scope="module")
def kinds():
    return np.random.default_rng(3).integers(0, N_KINDS, N_DOCS)


@pytest.fixture(scope="module")
def topical(kinds, tmp_path_factory):
    """Documents of eight kinds, with usual words, and now and then a rare one of their pair's."""
    random = np.random.default_rng(0)
    documents = []
    for i, kind in enumerate(kinds):
        words = [f"kind{kind}word{w}" for w in random.integers(0, 40, 6)]
        words += [f"usual{w}" for w in random.geometric(0.03, 20)]
        documents.append(Document(f"d{i}", "", " ".join([*words, f"pair{i // 2}"])))
    return collection_of(documents, tmp_path_factory.mktemp("topical") / "lw")


@pytest.fixture(scope="module")
def words(topical):
    """The documents as rows of TF-IDF weights."""
    counts = topical.term_counts(topical.live_docs())
    doc_freqs = np.bincount(counts.terms, minlength=topical.n_terms)
    vocabulary = Vocabulary(np.arange(topical.n_terms), doc_freqs, N_DOCS)
    weighted = Scale(vocabulary, "tfidf", 1.0).weigh(counts)
    return matrix(weighted, topical.n_terms)


@pytest.fixture(scope="module")
def linear(words):
    """Vectors that are a linear map of the words."""
    return words @ np.random.default_rng(1).standard_normal((words.shape[1], 48))


@pytest.fixture(scope="module")
def by_kind(kinds):
    """Vectors that know of a document's kind, and of nothing else."""
    random = np.random.default_rng(2)
    return random.standard_normal((N_KINDS, 40))[kinds] + random.standard_normal((N_DOCS, 40))


def matrix(weighted, n_rows):
    shape = (len(weighted.bounds) - 1, n_rows)
    return sparse.csr_matrix((weighted.weights, weighted.rows, weighted.bounds), shape).toarray()


def random_vectors(width, seed=0):
    return np.random.default_rng(seed).standard_normal((N_DOCS, width))


def decompose(model, collection, **options):
    return model.transform(collection.term_counts(collection.live_docs()), **options)


def dense(triples, n_terms):
    shape = (len(triples.topics), n_terms)
    return sparse.csr_matrix((triples.weights, triples.terms, triples.bounds), shape).toarray()


# The map


def test_what_words_predict_is_trusted(topical, linear):
    model = fit_user_vectors(topical, topical.live_docs(), linear)
    assert model.trust > 0.4
    noise = np.linalg.norm(linear) / np.sqrt(linear.size) * random_vectors(48)
    trusts = [
        fit_user_vectors(topical, topical.live_docs(), linear + share * noise).trust
        for share in (0, 0.5, 1, 2, 8)
    ]
    assert trusts == sorted(trusts, reverse=True)
    assert trusts[-1] < 0.1


@pytest.mark.parametrize("width", [1, 2, 8, 40, 100])
def test_random_vectors_are_not_trusted(topical, width):
    for seed in range(3):
        vectors = random_vectors(width, seed)
        model = fit_user_vectors(
            topical, topical.live_docs(), vectors, UserVectorsConfig(seed=seed)
        )
        assert model.trust < 0.02 + 0.1 / width
        assert model.axes.width <= 1 + width // 20
        assert model.history[0]["trust"] == model.trust


def test_neither_are_true_vectors_of_other_documents(topical, by_kind):
    docs = topical.live_docs()
    assert fit_user_vectors(topical, docs, by_kind).trust > 0.5
    assert fit_user_vectors(topical, docs, np.roll(by_kind, 7, axis=0)).trust < 0.03


def test_ridge_regression_equals_the_closed_form(topical, linear, monkeypatch):
    monkeypatch.setattr(ridge, "_TOLERANCE", 1e-4)
    random = np.random.default_rng(0)
    rows = sparse.random(90, 50, 0.2, "csr", np.float32, random)
    target = random.standard_normal((90, 7)).astype(np.float32)
    chunks = [piece(rows[:40]), piece(rows[40:])]
    for strength in (0.3, 1.0, 30.0):
        found = ridge._solve(ridge.Pairs(chunks.__iter__, target), 50, strength)
        gram = rows.T.toarray() @ rows.toarray() + strength * np.eye(50)
        expected = np.linalg.solve(gram, rows.T @ target)
        np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())


def piece(rows):
    return Weighted(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


def test_the_map_predicts_what_a_dense_regression_does(topical, words, linear, monkeypatch):
    monkeypatch.setattr(ridge, "_TOLERANCE", 1e-4)
    model = fit_user_vectors(topical, topical.live_docs(), linear, UserVectorsConfig(ridge=1.0))
    picked = np.random.default_rng(0).permutation(N_DOCS)
    rest = np.sort(picked[model.history[0]["held_out"] :])
    t = words[:, model.vocabulary.terms]
    y = unit(linear)
    np.testing.assert_allclose(model.centre, y[rest].mean(axis=0), atol=1e-6)
    gram = t[rest].T @ t[rest] + np.eye(t.shape[1])
    mapped = np.linalg.solve(gram, t[rest].T @ (y[rest] - model.centre))
    basis = model.axes.basis
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-5)
    inside = mapped @ unit(model.turn).T @ unit(model.turn)
    np.testing.assert_allclose(basis @ model.turn, inside, atol=2e-3 * np.abs(mapped).max())


def test_trust_is_the_cosine_of_held_out_documents(topical, linear):
    """Of every other one: the rest chose the axes."""
    vectors = linear + 1.5 * random_vectors(48)
    model = fit_user_vectors(topical, topical.live_docs(), vectors)
    held = np.sort(np.random.default_rng(0).permutation(N_DOCS)[: model.history[0]["held_out"]])
    predicted = unit(decompose(model, topical).topics[held[1::2]])
    there = model.place(vectors)[held[1::2]]
    cosines = (predicted * there).sum(axis=1)
    error = cosines.std(ddof=1) / np.sqrt(len(cosines))
    assert 0 < model.axes.width < 48
    assert model.trust == pytest.approx(cosines.mean() - 2 * error, abs=1e-3)


def test_vectors_of_zeros_are_none(topical, linear):
    docs = topical.live_docs()
    some = linear.copy()
    some[100:300] = 0
    there = np.r_[0:100, 300:N_DOCS]
    model, same = (
        fit_user_vectors(topical, docs, some),
        fit_user_vectors(topical, docs[there], linear[there]),
    )
    assert model.turn.tobytes() == same.turn.tobytes()
    assert model.vocabulary.n_docs == N_DOCS - 200


def test_the_ridge_is_the_one_that_predicts_best(topical, linear):
    docs = topical.live_docs()
    chosen = fit_user_vectors(topical, docs, linear).history[0]["ridge"]
    noisy = fit_user_vectors(topical, docs, linear + 0.5 * random_vectors(48)).history[0]["ridge"]
    assert chosen in ridge.RIDGES
    assert noisy >= chosen
    by_hand = fit_user_vectors(topical, docs, linear, UserVectorsConfig(ridge=0.7))
    assert by_hand.history[0]["ridge"] == 0.7


def test_lengths_and_a_common_shift_of_vectors_do_not_matter(topical, by_kind):
    """Embeddings often share a large mean, which says nothing of a document."""
    docs = topical.live_docs()
    plain = fit_user_vectors(topical, docs, by_kind)
    lengths = 2.0 ** np.random.default_rng(0).integers(-9, 9, N_DOCS)
    scaled = fit_user_vectors(topical, docs, by_kind * lengths[:, None])
    assert scaled.turn.tobytes() == plain.turn.tobytes()
    assert scaled.trust == plain.trust
    y = unit(by_kind)
    shift = 3 * unit(random_vectors(40)[:1])
    shifted = fit_user_vectors(topical, docs, y + shift)
    assert shifted.trust == pytest.approx(plain.trust, abs=0.03)


# Documents in halves


def test_halves_are_those_of_the_formulas(topical, words, by_kind):
    model = fit_user_vectors(topical, topical.live_docs(), by_kind)
    triples = decompose(model, topical, words=1000)
    t = words[:, model.vocabulary.terms]
    z = t @ model.axes.basis
    share = (z**2).sum(axis=1)
    np.testing.assert_allclose(triples.shares[:, 0], share, atol=1e-5)
    np.testing.assert_allclose(triples.shares.sum(axis=1), 1, atol=1e-5)
    predicted = z @ model.turn
    predicted *= (np.sqrt(share) / np.linalg.norm(predicted, axis=1))[:, None]
    np.testing.assert_allclose(triples.topics, predicted, atol=1e-4)
    left = words.copy()
    left[:, model.vocabulary.terms] -= z @ model.axes.basis.T
    left *= words > 0
    left /= np.sqrt(1 - share)[:, None]
    np.testing.assert_allclose(dense(triples, topical.n_terms), left, atol=1e-4)


def test_a_document_without_a_vector_is_what_its_words_predict(topical, by_kind):
    docs = topical.live_docs()
    model = fit_user_vectors(topical, docs, by_kind, UserVectorsConfig(blend=0.0))
    triples = decompose(model, topical)
    given_to = by_kind.copy()
    given_to[::2] = 0
    halves = model.with_vectors(given_to, triples)
    counts = topical.term_counts(docs)
    np.testing.assert_allclose(unit(model.compact(counts, triples))[::2], halves[::2], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(halves, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(halves[::2], unit(triples.topics[::2]), atol=1e-6)
    expected = unit(unit(by_kind[1::2]) - model.centre)
    np.testing.assert_allclose(halves[1::2], expected, atol=1e-6)
    blended = dataclasses.replace(model, blend=0.5).with_vectors(given_to, triples)
    np.testing.assert_allclose(blended[::2], halves[::2], atol=1e-6)
    mixture = unit(expected + 0.5 * unit(triples.topics[1::2]))
    np.testing.assert_allclose(blended[1::2], mixture, atol=1e-6)
    with pytest.raises(UsageError, match=r"\(640, 39\)"):
        model.with_vectors(by_kind[:, :39], triples)


def precision(scores, kinds, k=10):
    np.fill_diagonal(scores, -np.inf)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return (kinds[best] == kinds[:, None]).mean()


def scores_of(model, topical, vectors):
    triples = decompose(model, topical)
    halves, own = model.with_vectors(vectors, triples), dense(triples, topical.n_terms)
    return halves @ halves.T, own @ own.T


def test_true_vectors_help_and_random_ones_do_no_harm(topical, kinds, by_kind):
    docs = topical.live_docs()
    model = fit_user_vectors(topical, docs, by_kind)
    near, own = scores_of(model, topical, by_kind)
    together = precision(model.dense_weight * near + own, kinds)
    assert together > precision(near, kinds) - 0.01
    assert together > precision(own, kinds) + 0.1
    for width in (2, 40):
        vectors = random_vectors(width)
        model = fit_user_vectors(topical, docs, vectors)
        near, own = scores_of(model, topical, vectors)
        alone = precision(own.copy(), kinds)
        assert precision(model.dense_weight * near + own, kinds) > alone - 0.01
        assert precision(near + own, kinds) < alone - 0.05, "the weight is what saves it"


def test_a_batch_gives_each_document_what_it_gets_alone(topical, by_kind, monkeypatch):
    monkeypatch.setattr(user_vectors, "_CHUNK", 7)
    model = fit_user_vectors(topical, topical.live_docs(), by_kind)
    docs = topical.live_docs()[:30]
    together = model.transform(topical.term_counts(docs))
    threaded = model.transform(topical.term_counts(docs), threads=2)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(together, threaded, strict=True))
    for i, doc in enumerate(docs.tolist()):
        alone = model.transform(topical.term_counts(np.array([doc])))
        assert alone.topics.tobytes() == together.topics[i].tobytes()
        assert (
            alone.weights.tobytes() == together.weights[slice(*together.bounds[i:][:2])].tobytes()
        )


def test_the_same_bits_on_any_number_of_threads_and_in_any_memory(topical, linear, monkeypatch):
    monkeypatch.setattr(ridge, "STRIP", 8)
    docs, config = topical.live_docs(), UserVectorsConfig(docs=500)
    notes = []
    fitted = [fit_user_vectors(topical, docs, linear, config, threads=n) for n in (1, 3, 1)]
    n_cells = int(fitted[0].vocabulary.doc_freqs.sum())
    monkeypatch.setattr(
        word_map, "choose_terms", lambda *_, **__: fitted[0].vocabulary, raising=True
    )
    fitted.append(
        fit_user_vectors(
            topical, docs, linear, config, memory=4 * 8 * n_cells - 1, watch=notes.append
        )
    )
    assert notes == [{"pass": i, "of": 6} for i in range(1, 7)]
    for part in ("turn", "centre"):
        assert len({getattr(model, part).tobytes() for model in fitted}) == 1
    assert len({model.axes.basis.tobytes() for model in fitted}) == 1
    assert len({model.trust for model in fitted}) == 1
    other = fit_user_vectors(topical, docs, linear, UserVectorsConfig(docs=500, seed=1))
    assert other.centre.tobytes() != fitted[0].centre.tobytes()


def test_words_and_texts_that_the_map_does_not_know(topical, by_kind):
    model = fit_user_vectors(topical, topical.live_docs(), by_kind)
    counts = TermCounts(np.array([0, 0, 1]), np.array([10**6], np.int32), np.ones(1, np.int32))
    triples = model.transform(counts)
    assert triples.topics.shape == (2, 40)
    assert not triples.topics.any()
    assert triples.shares.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert not model.compact(counts, triples).any()
    assert not model.with_vectors(np.zeros((2, 40)), triples).any()


@pytest.mark.parametrize(
    "texts", [["wing flow", "heat"], ["same same"] * 5, ["wing", "heat", "", "flow"]]
)
def test_the_smallest_collections_can_be_fitted(texts, tmp_path):
    documents = [Document(str(i), "", text) for i, text in enumerate(texts)]
    collection = collection_of(documents, tmp_path / "lw")
    vectors = np.eye(len(texts), 3, dtype=np.float32)
    model = fit_user_vectors(collection, collection.live_docs(), vectors)
    triples = decompose(model, collection)
    assert 0 <= model.trust <= 1
    assert np.isfinite(model.with_vectors(vectors, triples)).all()


def test_nothing_to_fit_is_said(tmp_path):
    collection = collection_of([Document("1", "", "wing"), Document("2")], tmp_path / "lw")
    with pytest.raises(UsageError, match="1 documents have both words and a vector"):
        fit_user_vectors(collection, collection.live_docs(), np.ones((2, 3)))
    with pytest.raises(UsageError, match="not a row for 2 documents"):
        fit_user_vectors(collection, collection.live_docs(), np.ones((3, 3)))


def test_the_configuration_reads_as_it_is_written():
    for config in (UserVectorsConfig(), UserVectorsConfig("v", 100, 0.5, 0.0, 2.0, 4)):
        assert notation.read(str(config), {"vectors": UserVectorsConfig}, what="model") == config
    for wrong in (
        {"docs": -1},
        {"ridge": -0.1},
        {"ridge": np.nan},
        {"blend": np.inf},
        {"weight": -1.0},
    ):
        with pytest.raises(UsageError, match="at least 0"):
            UserVectorsConfig(**wrong)


# Kernels

numbers = st.floats(-2, 2, width=32)


@given(st.data(), st.integers(0, 4), st.integers(1, 5), st.integers(0, 99))
def test_kernels_equal_numpy(data, n_docs, width, seed):
    random = np.random.default_rng(seed)
    rows = sparse.random(n_docs, 6, 0.5, "csr", np.float32, random)
    values = data.draw(arrays.arrays(np.float32, (n_docs, width), elements=numbers))
    mapped = data.draw(arrays.arrays(np.float32, (6, width), elements=numbers))
    out = np.ones((6, width), np.float32)
    add_words(*piece(rows), values, out)
    np.testing.assert_allclose(out, 1 + rows.T @ values, atol=1e-4)
    out = np.ones((n_docs, width), np.float32)
    predict(*piece(rows), mapped, out)
    np.testing.assert_allclose(out, 1 + rows @ mapped, atol=1e-4)
    topics = random.standard_normal((n_docs, 6)).astype(np.float32)
    out = np.zeros((n_docs, width), np.float32)
    predict_vectors(topics, mapped, out)
    x = topics @ mapped
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    clear = lengths[:, 0] > 1e-3
    expected = x * np.linalg.norm(topics, axis=1, keepdims=True) / np.maximum(lengths, 1e-9)
    np.testing.assert_allclose(out[clear], expected[clear], rtol=1e-2, atol=1e-2)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("size", [1e-12, 2.85e-21, 1e-40])
def test_the_smallest_axes_give_vectors_of_the_same_length(size):
    turn = np.full((6, 1), size, np.float32)
    out = np.zeros((1, 1), np.float32)
    predict_vectors(np.full((1, 6), 0.5, np.float32), turn, out)
    assert out[0, 0] == pytest.approx(0.5 * np.sqrt(6), rel=1e-3)


def test_a_model_can_be_made_of_its_parts(topical, by_kind):
    """What storage keeps is enough."""
    model = fit_user_vectors(topical, topical.live_docs(), by_kind)
    axes = Subspace(model.name, model.vocabulary, model.axes.basis, model.axes.values)
    again = UserVectors(model.name, axes, model.turn, model.centre, model.trust)
    first, second = decompose(model, topical), decompose(again, topical)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    assert again.dense_weight == model.dense_weight
    assert again.width == 40
