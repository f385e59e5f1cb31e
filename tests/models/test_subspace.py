"""Subspaces: projections, and the words that they leave over."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_axes import counts_of, residuals

from likewise.errors import DamagedError, UsageError
from likewise.models.bags import Vocabulary
from likewise.models.ladder import nest
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.subspace import Subspace


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def own_words(triples, doc):
    span = slice(triples.bounds[doc], triples.bounds[doc + 1])
    return dict(zip(triples.terms[span].tolist(), triples.weights[span].tolist(), strict=True))


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_decompose_equals_the_plain_formulas(topical, weighting):
    model = fit_lsi(topical, LSI(power=1.0, topics=12, weighting=weighting))
    counts = topical.term_counts(topical.live_docs()[:60])
    _, topics, rest = residuals(model, counts)
    triples = model.transform(counts, words=1000)
    np.testing.assert_allclose(triples.topics, topics, atol=2e-6)
    np.testing.assert_allclose(triples.shares.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(triples.shares[:, 0], (topics**2).sum(axis=1), atol=2e-6)
    np.testing.assert_allclose(triples.shares[:, 1], (rest**2).sum(axis=1), atol=2e-6)
    assert not triples.shares[:, 2].any()
    rows = {term: row for row, term in enumerate(model.vocabulary.terms.tolist())}
    for doc in range(60):
        for term, weight in own_words(triples, doc).items():
            at = rows.get(term, len(rows) + term)
            expected = rest[doc, at] / np.linalg.norm(rest[doc])
            assert weight == pytest.approx(expected, abs=1e-5)


def test_a_document_is_the_sum_of_its_parts(topical):
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    counts = topical.term_counts(topical.live_docs()[:5])
    vectors, _, _ = residuals(model, counts)
    triples = model.transform(counts, words=1000)
    rows = {term: row for row, term in enumerate(model.vocabulary.terms.tolist())}
    for doc in range(5):
        again = np.zeros(vectors.shape[1])
        again[: len(rows)] = model.basis @ triples.topics[doc]
        length = np.sqrt(triples.shares[doc, 1])
        for term, weight in own_words(triples, doc).items():
            at = rows.get(term, len(rows) + term)
            assert again[at] + length * weight == pytest.approx(vectors[doc, at], abs=1e-5)


def test_own_words_are_the_largest_first_and_the_truly_own_lead(topical):
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    docs = topical.live_docs()[:50]
    counts = topical.term_counts(docs)
    few, all_of_them = model.transform(counts, words=3), model.transform(counts, words=1000)
    assert np.diff(few.bounds).tolist() == [3] * 50
    for doc in range(50):
        ordered = list(own_words(all_of_them, doc).items())
        assert list(own_words(few, doc).items()) == ordered[:3]
        magnitudes = [abs(weight) for _, weight in ordered]
        assert magnitudes == sorted(magnitudes, reverse=True)
        assert topical.terms(few.terms[few.bounds[doc] :][:1]) == [f"own{docs[doc]}"]
    assert len(model.transform(counts, words=0).terms) == 0
    with pytest.raises(UsageError, match="specific words"):
        model.transform(counts, words=-1)


def test_a_batch_gives_each_document_what_it_gets_alone(topical, monkeypatch):
    monkeypatch.setattr("likewise.models.subspace._CHUNK", 7)
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    docs = topical.live_docs()[:40]
    together = model.transform(topical.term_counts(docs))
    assert same(together, model.transform(topical.term_counts(docs), threads=2))
    for i, doc in enumerate(docs.tolist()):
        alone = model.transform(topical.term_counts(np.array([doc])))
        assert alone.topics.tobytes() == together.topics[i].tobytes()
        assert own_words(alone, 0) == own_words(together, i)
        assert alone.shares.tobytes() == together.shares[i].tobytes()


def test_unknown_words_are_the_documents_own(topical):
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    triples = model.transform(counts_of({10**6: 1, 10**6 + 1: 2}, {}))
    assert not triples.topics.any()
    assert triples.shares.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert triples.bounds.tolist() == [0, 2, 2]
    heavy, light = 1 + np.log(2), 1.0
    length = np.hypot(heavy, light)
    assert own_words(triples, 0) == pytest.approx(
        {10**6 + 1: heavy / length, 10**6: light / length}, rel=1e-6
    )
    known = int(model.vocabulary.terms[0])
    mixed = model.transform(counts_of({known: 1, 10**6: 1}))
    idf = model.vocabulary.idf[0]
    share = np.log(400) / np.hypot(idf, np.log(400))
    left = np.sqrt(mixed.shares[0, 1])
    assert own_words(mixed, 0)[10**6] * left == pytest.approx(share, rel=1e-5)


def test_no_documents_give_no_triples(topical):
    triples = fit_lsi(topical, LSI(power=1.0, topics=12)).transform(counts_of())
    assert triples.topics.shape == (0, 12)
    assert triples.bounds.tolist() == [0]


def test_a_mapped_basis_gives_the_same(topical, tmp_path):
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    np.save(tmp_path / "basis.npy", model.basis)
    mapped = np.load(tmp_path / "basis.npy", mmap_mode="r")
    again = Subspace(model.name, model.vocabulary, mapped, model.values)
    counts = topical.term_counts(topical.live_docs())
    assert same(model.transform(counts), again.transform(counts))
    assert same(model.weigh(counts), again.weigh(counts))


@pytest.fixture(scope="module", params=[1, 3])
def with_vectors(topical, request):
    model = fit_lsi(topical, LSI(topics=12, rungs=request.param))
    random = np.random.default_rng(0)
    moved = model.basis + 0.05 * random.standard_normal(model.basis.shape)
    return replace(model, vectors=moved.astype(np.float32))


def test_the_dense_part_is_the_sum_of_word_vectors(topical, with_vectors, monkeypatch):
    monkeypatch.setattr("likewise.models.subspace._CHUNK", 7)
    model, docs = with_vectors, topical.live_docs()[:40]
    counts = topical.term_counts(docs)
    triples = model.transform(counts)
    dense = model.compact(counts, triples)
    bounds, rows, weights = model.weigh(counts)
    sums = np.stack(
        [
            weights[span].astype(np.float64) @ model.vectors[rows[span]]
            for span in map(slice, bounds[:-1], bounds[1:])
        ]
    )
    np.testing.assert_allclose(dense, nest(sums, model.ladder), atol=1e-5)
    assert np.abs(dense - replace(model, vectors=None).compact(counts, triples)).max() > 0.1
    assert dense.tobytes() == model.compact(counts, triples, threads=3).tobytes()
    for i, doc in enumerate(docs.tolist()):
        alone = topical.term_counts(np.array([doc]))
        mine = model.transform(alone)
        assert model.compact(alone, mine).tobytes() == dense[i].tobytes()
        assert model.query_vector(alone, mine, None).tobytes() == dense[i].tobytes()


def test_dense_vectors_are_split_by_the_words_that_they_are_sums_of(topical, with_vectors):
    counts = topical.term_counts(topical.live_docs()[:40])
    dense = with_vectors.compact(counts, with_vectors.transform(counts))
    lengths = np.linalg.norm(dense, axis=1)
    sums = with_vectors.as_sums(counts, lengths.astype(np.float64))
    np.testing.assert_allclose(sums.totals, dense, atol=1e-5)


def test_word_vectors_leave_axes_and_specific_words_alone(topical, with_vectors):
    plain = replace(with_vectors, vectors=None)
    counts = topical.term_counts(topical.live_docs())
    assert same(with_vectors.transform(counts), plain.transform(counts))
    assert with_vectors.word_weights is plain.word_weights
    assert with_vectors.dimension_names(topical) == plain.dimension_names(topical)
    assert "vectors" not in plain.arrays()


def test_word_vectors_are_stored_and_checked(topical, with_vectors):
    arrays, about = with_vectors.arrays(), with_vectors.about()
    loaded = Subspace.load("lsi", arrays, about)
    docs = topical.live_docs()
    one, other = (model.encode(topical, docs, words=5) for model in (loaded, with_vectors))
    assert same(one.values(), other.values())
    for bad in (arrays["vectors"][:-1], arrays["vectors"][:, :-1], arrays["vectors"][0]):
        with pytest.raises(DamagedError, match="vectors is shaped"):
            Subspace.load("lsi", arrays | {"vectors": bad}, about)


documents = st.dictionaries(st.integers(0, 25), st.integers(1, 9), max_size=12)


@given(
    st.lists(documents, max_size=5),
    st.integers(0, 6),
    st.sampled_from(["tfidf", "bm25"]),
    st.integers(0, 99),
)
def test_any_documents_decompose_as_the_formulas_say(batch, n_axes, weighting, seed):
    random = np.random.default_rng(seed)
    terms = np.sort(random.choice(20, 12, replace=False)).astype(np.int64)
    vocabulary = Vocabulary(terms, random.integers(1, 40, 12), 40)
    basis = np.linalg.qr(random.standard_normal((12, 12)))[0][:, :n_axes].astype(np.float32)
    basis = np.ascontiguousarray(basis)
    model = Subspace("lsi", vocabulary, basis, np.ones(n_axes), weighting, 7.0)
    counts = counts_of(*batch)
    triples = model.transform(counts, words=4)
    _, topics, rest = residuals(model, counts)
    np.testing.assert_allclose(triples.topics, topics, atol=1e-5)
    for doc, document in enumerate(batch):
        left = (rest[doc] ** 2).sum()
        assert triples.shares[doc].sum() == pytest.approx(1.0 if document else 0.0, abs=1e-6)
        assert triples.shares[doc, 1] == pytest.approx(left, abs=1e-5)
        own = own_words(triples, doc)
        assert set(own) <= set(document)
        rows = {int(term): row for row, term in enumerate(terms)}
        if left > 1e-3:
            for term, weight in own.items():
                expected = rest[doc, rows.get(term, 12 + term)] / np.sqrt(left)
                assert weight == pytest.approx(expected, abs=1e-3)
            chosen = min((abs(weight) for weight in own.values()), default=0)
            others = [abs(rest[doc, rows.get(t, 12 + t)]) for t in document if t not in own]
            assert max(others, default=0) / np.sqrt(left) <= chosen + 1e-3
