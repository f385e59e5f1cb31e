"""Rows of documents: a truncated SVD, folding in, samples, and the same bits every time."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from likewise import notation
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.errors import UsageError
from likewise.models import klsa as spaces
from likewise.models.klsa import KLSA, fit_space, n_axes, without_noise
from likewise.records import Document
from likewise.text.analysis import Analysis

KERNELS = ["bm25", "bm25(k1=2,power=0.5,idf=rsj)", "inner", "inner(power=1)", "cosine", "ql"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("axes", [4, 200])
def test_rows_span_the_leading_axes(make, dense, draw, kernel, axes):
    texts = [*draw(80), [], draw(1, seed=3)[0]]
    values, vectors = dense(texts).spectrum(kernel)
    collection = make(texts, pieces=2)
    space = fit_space(collection, KLSA(kernel=kernel, axes=axes), threads=1)
    n_real = min(axes, int((values > 1e-6 * values[0]).sum()))
    assert space.width == len(space.values) == n_real
    assert space.values == pytest.approx(np.sqrt(values[:n_real]), rel=1e-3)
    rows = space.document_rows(collection, np.arange(len(texts)))
    assert not rows[80].any()
    leading = vectors[:, :n_real]
    if axes == 4:
        assert values[3] - values[4] > 0.01 * values[0]
    np.testing.assert_allclose(rows @ rows.T, leading @ leading.T, atol=2e-3)


def test_a_document_that_is_added_is_folded_in(make, dense, draw):
    texts = draw(50)
    plain = dense(texts)
    collection = make(texts[:40])
    space = fit_space(collection, KLSA(kernel="inner", axes=5), threads=1)
    with Writer(collection.folder) as writer:
        new = [*texts[40:], ["unheard", "of"], []]
        writer.add([Document(f"n{i}", "", " ".join(terms)) for i, terms in enumerate(new)])
    now = open_snapshot(collection.folder)
    rows = space.document_rows(now, np.arange(52))
    phi = plain.features("inner")
    known = phi[:40].any(axis=0)
    _, values, right = np.linalg.svd(phi[:40], full_matrices=False)
    projected = phi * known @ right[:5].T / values[:5]
    signs = np.sign((projected * rows[:50]).sum(axis=0))
    np.testing.assert_allclose(rows[:50], projected * signs, atol=1e-4)
    assert not rows[50:].any()


def test_few_documents_take_few_rows_of_the_basis_and_have_the_same_bits(make, draw, monkeypatch):
    collection = make(draw(80), pieces=2)
    space = fit_space(collection, KLSA(axes=9), threads=1)
    docs = np.arange(80)
    monkeypatch.setattr(spaces, "_FEW_ROWS", 1)
    alone = [space.document_rows(collection, docs[i : i + 1]) for i in range(80)]
    assert "_scaled" not in vars(space)
    together = space.document_rows(collection, docs)
    assert "_scaled" in vars(space)
    assert np.concatenate(alone).tobytes() == together.tobytes()
    assert space.document_rows(collection, docs[:1]).tobytes() == together[:1].tobytes()


def test_documents_of_the_same_words_have_the_same_row(make, draw):
    texts = draw(40)
    collection = make([*texts, *reversed(texts)], pieces=3)
    space = fit_space(collection, KLSA(axes=8), threads=1)
    rows = space.document_rows(collection, np.arange(80))
    assert np.array_equal(rows[:40], rows[40:][::-1])


def test_a_sample_stands_for_all(make, draw):
    texts = draw(120)
    collection = make(texts)
    part = fit_space(collection, KLSA(axes=6, docs=30, seed=4), threads=1)
    drawn = np.sort(np.random.default_rng(4).choice(120, 30, replace=False))
    alone = make([texts[i] for i in drawn])
    space = fit_space(alone, KLSA(axes=6), threads=1)
    # Each document that was drawn stands for four: singular values are those of all, rows shrink.
    assert part.values == pytest.approx(space.values * 2, rel=1e-5)
    rows = part.document_rows(collection, drawn)
    expected = space.document_rows(alone, np.arange(30))
    np.testing.assert_allclose(rows, expected / 2, atol=1e-5)
    assert part.vocabulary.n_docs == 30
    other = fit_space(collection, KLSA(axes=6, docs=30, seed=5), threads=1)
    assert not np.array_equal(part.values, other.values)


@pytest.mark.parametrize("axes", [10, 60])
def test_the_same_bits_on_any_number_of_threads(make, draw, axes):
    collection = make(draw(300, n_words=900), pieces=2)
    config = KLSA(axes=axes, iterations=5)
    found = []
    for threads, blas in ((1, 1), (2, 1), (4, 2), (0, 4)):
        with threadpool_limits(blas, user_api="blas"):
            space = fit_space(collection, config, threads=threads)
            found.append((space, space.document_rows(collection, np.arange(300))))
    for space, rows in found[1:]:
        assert np.array_equal(space.basis, found[0][0].basis)
        assert np.array_equal(space.values, found[0][0].values)
        assert np.array_equal(rows, found[0][1])


def test_rows_do_not_depend_on_what_they_are_worked_out_with(make, draw):
    collection = make(draw(50), pieces=3)
    space = fit_space(collection, KLSA(axes=8), threads=1)
    together = space.document_rows(collection, np.arange(50))
    for doc in range(50):
        assert np.array_equal(space.document_rows(collection, np.array([doc]))[0], together[doc])


def test_little_memory_keeps_the_terms_of_most_documents(make, draw):
    collection = make(draw(200))
    config = KLSA(axes=5)
    per_term = spaces.Plan(1, 5, config.iterations).row_bytes
    space = fit_space(collection, config, threads=1, memory=100 * per_term * 4 // 3)
    doc_freqs, _ = collection.frequencies(np.arange(collection.n_terms))
    assert len(space.vocabulary) == 100
    left = np.delete(doc_freqs, space.vocabulary.terms)
    assert space.vocabulary.doc_freqs.min() >= left.max()


def test_terms_that_are_not_searched_for_do_not_count(make, draw):
    filtered = Analysis(language="none", stemmer="none", stop="none", min_length=1, min_df=3)
    collection = make(draw(60), analysis=filtered)
    space = fit_space(collection, KLSA(axes=5), threads=1)
    assert space.vocabulary.doc_freqs.min() >= 3
    strict = Analysis(language="none", stemmer="none", stop="none", min_length=1, min_df=3)
    nothing = make([["a", "b"], ["c"]], analysis=strict)
    with pytest.raises(UsageError, match="no words"):
        fit_space(nothing, KLSA(), threads=1)


def test_nothing_to_fit_on_is_said(make):
    with pytest.raises(UsageError, match="no documents"):
        fit_space(make([]), KLSA())
    with pytest.raises(UsageError, match="no words"):
        fit_space(make([[], []]), KLSA())
    with pytest.raises(UsageError, match="cosine"):
        fit_space(make([["a"], ["a"]]), KLSA(kernel="cosine"))


def test_one_document_of_one_word_is_a_corpus(make):
    collection = make([["a"]])
    space = fit_space(collection, KLSA(kernel="inner"), threads=1)
    assert space.values.tolist() == pytest.approx([1.0])
    assert space.document_rows(collection, np.array([0])).tolist() == [[pytest.approx(1.0)]]


def test_the_number_of_axes_follows_the_number_of_documents():
    assert [n_axes(KLSA(), n) for n in (1, 30, 700, 2100, 10**6)] == [1, 30, 50, 150, 300]
    assert [n_axes(KLSA(axes=7), n) for n in (3, 30)] == [3, 7]


def test_what_rounding_left_of_a_document_is_no_row():
    rows = np.array([[1e-7, 0], [1e-3, 0], [0.0, 0.5]], np.float32)
    found = without_noise(rows, np.array([2.0, 1.0]), np.array([1.0, 1.0, 1.0]))
    assert found.any(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "text", ["klsa", "klsa(axes=7,docs=0)", "klsa(kernel=bm25(k1=2,power=0.5,idf=rsj),axes=300)"]
)
def test_configurations_print_as_they_are_read(text):
    config = notation.read(text, {"klsa": KLSA}, what="model")
    assert str(config) == text


@pytest.mark.parametrize("options", [{"axes": -1}, {"docs": -1}, {"iterations": 0}, {"seed": -1}])
def test_configurations_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError, match="at least"):
        KLSA(**options)
