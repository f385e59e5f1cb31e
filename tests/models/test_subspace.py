"""LSI: projections, residual words, and how well they find documents of the same kind."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from likewise.collection.creating import build
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.subspace import LSI, Scale, Subspace, fit_lsi
from likewise.records import Document
from likewise.text.analysis import Analysis

PLAIN = Analysis(stemmer="none", stop="none")


def collection_of(texts, folder, analysis=PLAIN):
    build(folder, [Document(str(i), "", text) for i, text in enumerate(texts)], analysis=analysis)
    return open_snapshot(folder)


@pytest.fixture(scope="module")
def topical(tmp_path_factory):
    """Four hundred documents, each of two of twelve topics, and a word of its own."""
    random = np.random.default_rng(0)
    texts = []
    for i in range(400):
        words = [f"topic{t}word{w}" for t in random.integers(0, 12, 2) for w in range(25)]
        usual = [f"usual{w}" for w in random.geometric(0.2, 12)]
        texts.append(" ".join([*random.choice(words, 25), *usual, f"own{i}", f"own{i}"]))
    return collection_of(texts, tmp_path_factory.mktemp("topical") / "lw")


def counts_of(*documents):
    """Term counts of documents given as dictionaries."""
    terms = [sorted(document) for document in documents]
    bounds = np.cumsum([0, *map(len, terms)]).astype(np.int64)
    flat = [(t, document[t]) for document, its in zip(documents, terms, strict=True) for t in its]
    pairs = np.array(flat, np.int32).reshape(-1, 2)
    return TermCounts(bounds, pairs[:, 0].copy(), pairs[:, 1].copy())


def dense(model, counts):
    """Documents as dense vectors, by the plain formulas; unknown terms behind the known ones."""
    vocabulary = model.vocabulary
    n_docs, n_rows = len(counts.bounds) - 1, len(vocabulary)
    out = np.zeros((n_docs, n_rows + int(counts.terms.max(initial=0)) + 1))
    for doc in range(n_docs):
        span = slice(counts.bounds[doc], counts.bounds[doc + 1])
        length = counts.counts[span].sum()
        for term, count in zip(counts.terms[span], counts.counts[span], strict=True):
            found = np.flatnonzero(vocabulary.terms == term)
            doc_freq = vocabulary.doc_freqs[found[0]] if len(found) else 1
            n = vocabulary.n_docs
            if model.weighting == "tfidf":
                weight = (1 + np.log(count)) * np.log(n / doc_freq)
            else:
                norm = 1.2 * (0.25 + 0.75 * length / model.average_length)
                weight = 2.2 * count / (count + norm)
                weight *= np.log(1 + (n - doc_freq + 0.5) / (doc_freq + 0.5))
            out[doc, found[0] if len(found) else n_rows + term] = weight
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)


def residuals(model, counts):
    """Projection and residual of documents, by the plain formulas."""
    vectors = dense(model, counts)
    basis = np.zeros((vectors.shape[1], model.width))
    basis[: len(model.vocabulary)] = model.basis
    topics = vectors @ basis
    return vectors, topics, vectors - topics @ basis.T


def own_words(triples, doc):
    span = slice(triples.bounds[doc], triples.bounds[doc + 1])
    return dict(zip(triples.terms[span].tolist(), triples.weights[span].tolist(), strict=True))


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_axes_are_those_of_a_dense_svd(topical, weighting):
    model = fit_lsi(topical, LSI(power=1.0, topics=12, weighting=weighting))
    counts = topical.term_counts(topical.live_docs())
    vectors = dense(model, counts)[:, : len(model.vocabulary)]
    _, values, axes = np.linalg.svd(vectors, full_matrices=False)
    np.testing.assert_allclose(model.values, values[:12], rtol=1e-4)
    cosines = np.linalg.svd(model.basis.T @ axes[:12].T, compute_uv=False)
    assert cosines.min() > 0.9999
    assert model.history[0]["captured"] == pytest.approx((values[:12] ** 2).sum() / 400, rel=1e-4)


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
    with pytest.raises(UsageError, match="own words"):
        model.transform(counts, words=-1)


def same(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


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


def test_the_same_bits_on_any_number_of_threads_and_twice(topical):
    models = [
        fit_lsi(topical, LSI(power=1.0, topics=5, iterations=4), threads=n) for n in (1, 2, 1)
    ]
    assert len({model.basis.tobytes() for model in models}) == 1
    assert len({model.values.tobytes() for model in models}) == 1


def test_documents_are_read_again_where_memory_cannot_hold_them(topical, monkeypatch):
    monkeypatch.setattr("likewise.models.subspace._READ_CHUNK", 50)
    reads = []
    read = type(topical).term_counts
    monkeypatch.setattr(
        type(topical), "term_counts", lambda self, docs: reads.append(len(docs)) or read(self, docs)
    )
    config = LSI(power=1.0, topics=2, iterations=2)
    held = fit_lsi(topical, config)
    assert reads == [50] * 16
    reads.clear()
    streamed = fit_lsi(topical, config, memory=4 * 8 * int(held.vocabulary.doc_freqs.sum()) - 1)
    assert reads == [50] * 8 * 4
    assert streamed.vocabulary.terms.tolist() == held.vocabulary.terms.tolist()
    assert streamed.basis.tobytes() == held.basis.tobytes()


def test_little_memory_keeps_the_most_frequent_terms(topical):
    config = LSI(power=1.0, topics=5)
    full = fit_lsi(topical, config)
    tight = fit_lsi(topical, config, memory=200_000)
    assert 0 < len(tight.vocabulary) < len(full.vocabulary)
    left_out = ~np.isin(full.vocabulary.terms, tight.vocabulary.terms)
    assert full.vocabulary.doc_freqs[left_out].max() <= tight.vocabulary.doc_freqs.min()
    assert (np.diff(tight.vocabulary.terms) > 0).all()
    assert tight.transform(topical.term_counts(np.array([0]))).shares[0].sum() == pytest.approx(1)
    assert len(fit_lsi(topical, config, memory=1).vocabulary) == 1


def test_a_sample_finds_nearly_the_same_axes(topical):
    every, some = (
        fit_lsi(topical, LSI(power=1.0, topics=12, docs=0)),
        fit_lsi(topical, LSI(power=1.0, topics=12, docs=200)),
    )
    assert every.vocabulary.n_docs == 400
    assert some.vocabulary.n_docs == 200
    counts = topical.term_counts(topical.live_docs())
    shares = [model.transform(counts).shares[:, 0].mean() for model in (every, some)]
    assert shares[1] == pytest.approx(shares[0], rel=0.2)
    again = fit_lsi(topical, LSI(power=1.0, topics=12, docs=200))
    assert again.basis.tobytes() == some.basis.tobytes()
    other = fit_lsi(topical, LSI(power=1.0, topics=12, docs=200, seed=1))
    assert other.vocabulary.doc_freqs.tolist() != some.vocabulary.doc_freqs.tolist()


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


@pytest.mark.parametrize(
    "texts", [["wing flutter wing"], ["heat flow"] * 3, ["a wing", "", "heat"]]
)
def test_the_smallest_collections_can_be_fitted(texts, tmp_path):
    """Even where no term tells documents apart."""
    collection = collection_of(texts, tmp_path / "lw")
    model = fit_lsi(collection, LSI(power=1.0))
    assert 1 <= model.width <= len(texts)
    triples = model.transform(collection.term_counts(collection.live_docs()))
    filled = [bool(text) for text in texts]
    assert (triples.shares.sum(axis=1) > 0.999).tolist() == filled
    assert np.isfinite(triples.weights).all()


@pytest.mark.parametrize("texts", [[], ["", "?"]])
def test_nothing_to_fit_is_said(texts, tmp_path):
    collection = collection_of(texts, tmp_path / "lw")
    with pytest.raises(UsageError, match="no words"):
        fit_lsi(collection, LSI(power=1.0))


def test_words_that_the_analysis_leaves_out_say_nothing(tmp_path):
    texts = [f"the {'wing flutter' if i % 2 else 'heat flow'}" for i in range(20)]
    texts = [f"{text} {'most' if i else ''}" for i, text in enumerate(texts)]
    analysis = Analysis(stemmer="none", stop="none", max_df=0.9)
    collection = collection_of(texts, tmp_path / "lw", analysis)
    model = fit_lsi(collection, LSI(power=1.0, topics=2))
    triples = model.transform(collection.term_counts(collection.live_docs()))
    assert not {"the", "most"} & set(collection.terms(triples.terms))
    rows = np.searchsorted(model.vocabulary.terms, collection.find_terms(["the", "most"]))
    assert not model.basis[rows].any()


def test_a_mapped_basis_gives_the_same(topical, tmp_path):
    model = fit_lsi(topical, LSI(power=1.0, topics=12))
    np.save(tmp_path / "basis.npy", model.basis)
    mapped = np.load(tmp_path / "basis.npy", mmap_mode="r")
    again = Subspace(model.name, model.vocabulary, mapped, model.values)
    counts = topical.term_counts(topical.live_docs())
    assert same(model.transform(counts), again.transform(counts))
    assert same(model.weigh(counts), again.weigh(counts))


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


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_weights_equal_the_formulas(weighting):
    vocabulary = Vocabulary(np.array([2, 5]), np.array([1, 4]), 8)
    model = Subspace("lsi", vocabulary, np.zeros((2, 0), np.float32), np.ones(0), weighting, 3.0)
    counts = counts_of({2: 3, 5: 1, 9: 2}, {5: 4}, {7: 1})
    weighted = model.weigh(counts)
    expected = dense(model, counts)
    assert weighted.bounds.tolist() == [0, 2, 3, 3]
    assert weighted.rows.tolist() == [0, 1, 1]
    np.testing.assert_allclose(
        weighted.weights, [expected[0, 0], expected[0, 1], expected[1, 1]], rtol=1e-6
    )


def test_what_cannot_be_meant_is_refused():
    assert str(LSI()) == "lsi"
    assert str(LSI(topics=150, weighting="bm25")) == "lsi(topics=150,weighting=bm25)"
    for wrong in ({"topics": 0}, {"iterations": 0}, {"docs": -1}, {"seed": -1}, {"power": -1}):
        with pytest.raises(UsageError, match="at least"):
            LSI(**wrong)
    with pytest.raises(UsageError, match="tfidf, bm25"):
        LSI(weighting="counts")
    with pytest.raises(UsageError, match="tfidf, bm25"):
        Scale(Vocabulary(np.arange(1), np.ones(1, np.int64), 1), "counts", 1.0)


def newsgroups(real):
    path = real("20newsgroups") / "corpus.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            kind = {"category": record["category"], "split": record["split"]}
            yield Document(record["id"], record["title"], record["text"], kind)


def test_documents_of_the_same_group_are_found(real, tmp_path):
    """P@10 of a thousand test documents of any length, each against all others."""
    kinds = [document.fields for document in newsgroups(real)]
    build(tmp_path / "lw", newsgroups(real))
    collection = open_snapshot(tmp_path / "lw")
    counts = collection.term_counts(collection.live_docs())
    model = fit_lsi(collection, LSI(power=1.0, topics=100))
    triples = model.transform(counts)
    lengths = np.linalg.norm(triples.topics, axis=1, keepdims=True)
    topics = triples.topics / np.maximum(lengths, 1e-9)
    shape = len(kinds), collection.n_terms
    own = sparse.csr_matrix((triples.weights, triples.terms, triples.bounds), shape)
    weighted = model.weigh(counts)
    vectors = sparse.csr_matrix(
        (weighted.weights, weighted.rows, weighted.bounds), (len(kinds), len(model.vocabulary))
    )
    groups = np.array([kind["category"] for kind in kinds])
    test = np.array([kind["split"] == "test" for kind in kinds])
    able = np.flatnonzero(test & (np.diff(counts.bounds) > 0))
    queries = np.random.default_rng(0).choice(able, 1000, replace=False)

    def precision(scores):
        scores[np.arange(len(queries)), queries] = -np.inf
        best = np.argpartition(-scores, 10, axis=1)[:, :10]
        return float((groups[best] == groups[queries][:, None]).mean())

    by_topics = topics[queries] @ topics.T
    by_words = (own[queries] @ own.T).toarray()
    both = precision(by_topics + 1.5 * by_words)
    lsi, tfidf = precision(by_topics), precision((vectors[queries] @ vectors.T).toarray())
    told = f"P@10: LSI 100 and 15 words {both:.3f}, LSI alone {lsi:.3f}, TF-IDF {tfidf:.3f}"
    print(told)
    assert both >= 0.74, told
    assert both >= max(lsi, tfidf) + 0.02, told
