"""Kernels of the user's own, against their matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.derived.keeping import keep_up
from likewise.engine.pipeline import Pipeline
from likewise.errors import DamagedError, UsageError
from likewise.like.smooth import Smoothing, SmoothWith
from likewise.models import gram as gram_kernels
from likewise.models import user_kernels as given_kernels
from likewise.models.gram import fit_gram
from likewise.models.kinds import find_model, store_model
from likewise.models.klsa import KLSA
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.models.user_kernels import fit_features
from likewise.models.vector_sources import read_vectors
from likewise.records import Document
from likewise.retrieve.models import BM25

N = 60


@pytest.fixture(scope="module")
def features():
    random = np.random.default_rng(2)
    rows = random.standard_normal((N, 12)) * np.linspace(4, 0.5, 12)
    rows[7] = 0
    rows[9] = rows[8]
    return rows.astype(np.float32)


def words_of(text):
    """A number for each text, which is what a function of texts has to go by."""
    return int(text.split()[-1].removeprefix("n"))


def texts_of(draw, n=N):
    """Texts that a function knows by their last word."""
    return [[*terms, f"n{i}"] for i, terms in enumerate(draw(n))]


def leading(square, n):
    values, vectors = np.linalg.eigh(square)
    return values[::-1][:n], vectors[:, ::-1][:, :n]


def check_rows(rows, u, coded):
    """Inner products are those of U, up to what a byte a coordinate keeps."""
    off = np.sqrt(u.shape[1]) * np.abs(u).max(axis=1) / 127 if coded else np.full(len(u), 1e-5)
    lengths = np.linalg.norm(u, axis=1)
    error = np.outer(off, lengths) + np.outer(lengths, off) + np.outer(off, off) + 1e-4
    assert (np.abs(rows @ rows.T - u @ u.T) <= error).all()


@pytest.mark.parametrize("axes", [1, 5, 40])
def test_features_give_the_rows_of_their_matrix(make, draw, dense, features, axes):
    texts = texts_of(draw)
    collection = make(texts, fields=[{"v": row.tolist()} for row in features], pieces=2)
    values, u = leading(features @ features.T.astype(np.float64), min(axes, 12))
    for source in ("v", features, lambda asked: features[[words_of(text) for text in asked]]):
        field = source if isinstance(source, str) else ""
        vectors = read_vectors(collection, source)
        space = fit_features(collection, vectors, KLSA(axes=axes), field=field, threads=2)
        assert space.values == pytest.approx(np.sqrt(values), rel=1e-5)
        rows = space.document_rows(collection, np.arange(N))
        check_rows(rows, u, coded=not field)
        assert not rows[7].any()
        assert np.array_equal(rows[8], rows[9])
        how = Smoothing(docs=5, by="score", scale="raw", candidates=0)
        stored = StoredVectors(collection, space, exact=True)
        [[_, ranking, *_]] = Pipeline(collection, BM25())("w3 w5")
        expected, *_ = dense.smoothed(ranking, u, how)
        stage = BM25() >> SmoothWith(stored, how)
        [[_, found, *_]] = Pipeline(collection, stage)("w3 w5")
        off = 1e-4 if field else 0.05
        np.testing.assert_allclose(
            found.scores, expected[found.docs], atol=off * np.abs(expected).max()
        )


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(1, 10),
    axes=st.sampled_from([2, 5, 50]),
    is_sparse=st.booleans(),
    block=st.sampled_from([3, 7, 256]),
)
def test_a_function_gives_the_rows_of_its_matrix(
    made_for_a_while, seed, rank, axes, is_sparse, block
):
    random = np.random.default_rng(seed)
    roots = random.standard_normal((20, rank)) * np.geomspace(1, 0.2, rank)
    gram = roots @ roots.T
    if is_sparse:
        gram = gram * (np.arange(20)[:, None] % 3 == np.arange(20) % 3)
    asked = []

    def function(a, b):
        asked.append((len(a), len(b)))
        part = gram[np.ix_([words_of(t) for t in a], [words_of(t) for t in b])]
        return sparse.csr_matrix(part) if is_sparse else part.astype(np.float32)

    texts = [[f"n{i}"] for i in range(20)]
    values, u = leading(gram, 20)
    n_real = min(int((values > 1e-6 * values[0]).sum()), axes)
    with made_for_a_while([*texts, []], pieces=2) as collection:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gram_kernels, "_BLOCK", block)
            space = fit_gram(collection, function, KLSA(axes=axes))
        assert max(max(pair) for pair in asked) <= block
        rows = space.document_rows(collection, np.arange(21))
    assert space.width == n_real
    assert space.values**2 == pytest.approx(values[:n_real], rel=1e-3, abs=1e-5 * values[0])
    assert not rows[20].any()
    if n_real == 20 or values[n_real - 1] - values[n_real] > 0.02 * values[0]:
        check_rows(rows[:20], u[:, :n_real], coded=True)


def bag_kernel(a, b):
    """Words in common, and more where they are many."""
    sets = [[set(text.split()[:-1]) for text in texts] for texts in (a, b)]
    both = np.array([[len(x & y) for y in sets[1]] for x in sets[0]], np.float64)
    return both + 0.01 * both**2


def test_a_large_matrix_is_sparse_and_solved_for(make, draw, monkeypatch):
    texts = texts_of(draw, 150)
    collection = make(texts)
    whole = fit_gram(collection, bag_kernel, KLSA(axes=6))
    monkeypatch.setattr(gram_kernels, "_WHOLE", 100)
    monkeypatch.setattr(gram_kernels, "_BLOCK", 32)
    found = []
    for blas in (1, 2):
        with threadpool_limits(blas, user_api="blas"):
            found.append(fit_gram(collection, bag_kernel, KLSA(axes=6)))
    assert found[0].values == pytest.approx(whole.values, rel=1e-6)
    docs = np.arange(150)
    rows, expected = (space.document_rows(collection, docs) for space in (found[0], whole))
    np.testing.assert_allclose(rows, expected, atol=np.abs(expected).max() / 100)
    assert np.array_equal(rows, found[1].document_rows(collection, docs))
    monkeypatch.setattr(gram_kernels, "_MEMORY", 10_000)
    with pytest.raises(UsageError, match=r"klsa\(docs=100\)"):
        fit_gram(collection, bag_kernel, KLSA(axes=6))
    monkeypatch.setattr(gram_kernels, "_MEMORY", 1 << 30)
    with pytest.raises(UsageError, match="eigenvalue is -"):
        fit_gram(collection, lambda a, b: bag_kernel(a, b) - 30 * same(a, b), KLSA(axes=6))


def same(a, b):
    return np.array([[float(x == y) for y in b] for x in a])


def test_documents_beyond_the_sample_are_projected(make, draw):
    texts = texts_of(draw, 80)
    collection = make(texts)
    space = fit_gram(collection, bag_kernel, KLSA(axes=5, docs=20, seed=3))
    drawn = np.sort(np.random.default_rng(3).choice(80, 20, replace=False))
    plain = [" ".join(terms) for terms in texts]
    gram = bag_kernel(plain, plain)
    values, u = leading(gram[np.ix_(drawn, drawn)], 5)
    assert space.values**2 == pytest.approx(values * 4, rel=1e-6)
    projected = gram[:, drawn] @ u / values / 2
    np.testing.assert_allclose(projected[drawn], u / 2, atol=1e-8)
    check_rows(space.document_rows(collection, np.arange(80)), projected, coded=True)


def test_a_sample_of_features_stands_for_all(make, draw, features):
    collection = make(texts_of(draw), fields=[{"v": row.tolist()} for row in features])
    vectors = read_vectors(collection, "v")
    space = fit_features(collection, vectors, KLSA(axes=4, docs=15, seed=1), field="v")
    drawn = np.sort(np.random.default_rng(1).choice(N, 15, replace=False))
    _, values, right = np.linalg.svd(features[drawn].astype(np.float64), full_matrices=False)
    assert space.values == pytest.approx(values[:4] * 2, rel=1e-5)
    check_rows(
        space.document_rows(collection, np.arange(N)),
        features @ right[:4].T / values[:4] / 2,
        coded=False,
    )


def test_features_have_the_same_bits_on_any_number_of_threads(make, draw, features, monkeypatch):
    monkeypatch.setattr(given_kernels, "_CHUNK", 16)
    collection = make(texts_of(draw))
    vectors = read_vectors(collection, features)
    found = []
    for threads, blas in ((1, 1), (2, 2), (4, 4), (0, 1)):
        with threadpool_limits(blas, user_api="blas"):
            found.append(fit_features(collection, vectors, KLSA(axes=5), threads=threads))
    for space in found[1:]:
        assert np.array_equal(space.basis, found[0].basis)
        assert np.array_equal(space.kept.points.codes, found[0].kept.points.codes)
        assert np.array_equal(space.kept.points.scales, found[0].kept.points.scales)


def stored(collection, space):
    store_model(collection, space)
    return open_snapshot(collection.folder)


def grown(collection, texts, fields, deleted):
    with Writer(collection.folder, keep_up) as writer:
        writer.add(
            [
                Document(f"n{i}", "", " ".join(terms), field)
                for i, (terms, field) in enumerate(zip(texts, fields, strict=True))
            ]
        )
        writer.delete(deleted)
        writer.merge()
    return open_snapshot(collection.folder)


@pytest.mark.parametrize("field", ["v", ""])
def test_given_rows_outlive_merges_and_later_documents_have_them_from_a_field(
    make, draw, features, field
):
    texts = texts_of(draw)
    fields = [{"v": row.tolist()} for row in features]
    collection = make(texts[:50], fields=fields[:50], pieces=2)
    vectors = read_vectors(collection, "v" if field else features[:50])
    space = fit_features(collection, vectors, KLSA(axes=4), "own", field=field)
    collection = stored(collection, space)
    before = vectors_of(collection, role=SMOOTH).rows(np.arange(50))
    now = grown(collection, texts[50:], fields[50:], ["d3"])
    rows = vectors_of(now, role=SMOOTH)
    assert (rows.model.name, rows.model.field) == ("own", field)
    assert len(now.artifacts("vectors")) == 1
    # What was kept of a document that is gone went with it.
    assert len(rows.model.kept.keys) == (0 if field else len(space.kept.keys) - 1)
    docs = now.find_docs([f"d{i}" for i in range(50) if i != 3])
    np.testing.assert_allclose(rows.rows(docs), np.delete(before, 3, axis=0), rtol=1e-6)
    new = rows.rows(now.find_docs([f"n{i}" for i in range(10)]))
    if field:
        expected = features[50:] @ space.basis / space.values
        np.testing.assert_allclose(new, expected, atol=np.abs(expected).max() / 100)
    else:
        assert not new.any()
    # Without a row, the score of a document is what it was.
    first = Pipeline(now, BM25())
    how = Smoothing(docs=1, share=0.4, scale="raw", by="score")
    stage = first >> SmoothWith(rows, how)
    [[_, ranked, *_]] = first("n55 n5")
    [[_, found, *_]] = stage("n55 n5")
    doc = now.find_doc("n5")
    assert ranked.docs[0] in (now.find_doc("d5"), doc)
    assert doc in found.docs
    if not field:
        was = 0.6 * ranked.scores[ranked.docs == doc]
        assert found.scores[found.docs == doc] == pytest.approx(was)


def test_a_given_model_is_loaded_as_it_was_saved(make, draw):
    texts = texts_of(draw)
    collection = make(texts)
    space = fit_gram(collection, bag_kernel, KLSA(axes=4, seed=2), "own")
    collection = stored(collection, space)
    loaded = vectors_of(collection, role=SMOOTH).model
    assert dict(loaded.settings) == dict(space.settings)
    assert loaded.settings["model"] == "klsa(kernel=gram,axes=4,seed=2)"
    assert loaded.settings["kernel"] == "gram"
    assert (loaded.name, loaded.field, loaded.width) == ("own", "", 4)
    assert list(loaded.history) == list(space.history)
    docs = np.arange(N)
    rows = space.document_rows(collection, docs)
    assert np.array_equal(loaded.document_rows(collection, docs), rows)
    np.testing.assert_allclose(vectors_of(collection, role=SMOOTH).rows(docs), rows, rtol=1e-6)
    path = collection.path_of(find_model(collection, role=SMOOTH).pack.file)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DamagedError):
        vectors_of(open_snapshot(collection.folder), role=SMOOTH)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda a, b: np.outer(np.arange(len(a)), np.arange(len(b)) + 1), "not symmetric"),
        (lambda a, b: bag_kernel(a, b) - 30 * same(a, b), "eigenvalue is -"),
        (lambda a, b: -same(a, b), "eigenvalue is -1"),
        (lambda a, b: np.zeros((len(a), len(b))), "zeros only"),
        (lambda a, b: np.zeros((len(a), len(b) + 1)), "a row for each"),
        (lambda a, b: np.zeros(len(a)), "a row for each"),
        (lambda a, b: None, "a row for each"),
        (lambda a, b: "much", "a row for each"),
        (lambda a, b: [[1.0], [1.0, 2.0]], "of one length"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "not finite"),
        (lambda a, b: same(a, b) * 1j, "a row for each"),
        (lambda a, b: sparse.csr_array(same(a, b) * 1j), "a row for each"),
    ],
)
def test_functions_that_are_no_kernels_are_refused(make, draw, function, match):
    collection = make(texts_of(draw, 12))
    with pytest.raises(UsageError, match=match):
        fit_gram(collection, function)


def test_rounding_does_not_make_a_kernel_negative(make, draw):
    collection = make(texts_of(draw, 40))
    roots = np.random.default_rng(0).standard_normal((40, 3))

    def function(a, b):
        numbers = [[words_of(text) for text in texts] for texts in (a, b)]
        return (roots[numbers[0]] @ roots[numbers[1]].T).astype(np.float16)

    assert fit_gram(collection, function, KLSA(axes=3)).width == 3


def test_what_cannot_be_fitted_is_said(make, draw, features, monkeypatch):
    collection = make(texts_of(draw))
    with pytest.raises(UsageError, match="all zero"):
        fit_features(collection, read_vectors(collection, np.zeros((N, 3))))
    monkeypatch.setattr(given_kernels, "_WIDEST", 11)
    with pytest.raises(UsageError, match="12 numbers, and at most 11"):
        fit_features(collection, read_vectors(collection, features))
    with pytest.raises(UsageError, match="no texts"):
        fit_gram(make([[], []]), bag_kernel)


def test_documents_without_a_vector_have_no_row(make, draw, features):
    collection = make(texts_of(draw))
    rows = {f"d{i}": features[i] for i in range(0, N, 2)}
    space = fit_features(collection, read_vectors(collection, rows), KLSA(axes=4))
    found = space.document_rows(collection, np.arange(N))
    assert not found[1::2].any()
    _, u = leading((features[::2] @ features[::2].T).astype(np.float64), 4)
    check_rows(found[::2], u, coded=True)


def test_another_text_under_the_same_id_has_no_row(tmp_path):
    documents = [
        {"id": str(i), "text": text} for i, text in enumerate(["wing flutter", "wing lift", "heat"])
    ]
    c = lw.index(documents, to=tmp_path / "c.lw", model=None)
    c.models.fit("klsa(axes=2)", gram=bag_kernel_of_words)
    before = vectors_of(c.snapshot, "klsa", SMOOTH).rows(np.arange(3))
    assert before.any(axis=1).all()
    c.add([{"id": "1", "text": "chocolate cake"}], replace=True)
    now = vectors_of(c.snapshot, "klsa", SMOOTH)
    [doc] = c.snapshot.find_docs(["1"])
    assert not now.rows(np.array([doc])).any()


def bag_kernel_of_words(a, b):
    return [[float(len({*x.split()} & {*y.split()})) for y in b] for x in a]
