"""LSI: the axes that are fitted, and how well they find documents of the same kind."""

import gzip
import json

import numpy as np
import pytest
from plain_axes import collection_of, dense
from scipy import sparse

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.weighting import Scale
from likewise.records import Document
from likewise.text.analysis import Analysis


@pytest.mark.parametrize("weighting", ["tfidf", "bm25"])
def test_axes_are_those_of_a_dense_svd(topical, weighting):
    model = fit_lsi(topical, LSI(topics=12, weighting=weighting))
    counts = topical.term_counts(topical.live_docs())
    vectors = dense(model, counts)[:, : len(model.vocabulary)]
    _, values, axes = np.linalg.svd(vectors, full_matrices=False)
    np.testing.assert_allclose(model.values, values[:12], rtol=1e-4)
    cosines = np.linalg.svd(model.basis.T @ axes[:12].T, compute_uv=False)
    assert cosines.min() > 0.9999
    assert model.history[0]["captured"] == pytest.approx((values[:12] ** 2).sum() / 400, rel=1e-4)


def test_the_same_bits_on_any_number_of_threads_and_twice(topical):
    models = [fit_lsi(topical, LSI(topics=5, iterations=4), threads=n) for n in (1, 2, 1)]
    assert len({model.basis.tobytes() for model in models}) == 1
    assert len({model.values.tobytes() for model in models}) == 1


def test_documents_are_read_again_where_memory_cannot_hold_them(topical, monkeypatch):
    monkeypatch.setattr("likewise.models.sampling._READ_CHUNK", 50)
    reads = []
    read = type(topical).term_counts
    monkeypatch.setattr(
        type(topical), "term_counts", lambda self, docs: reads.append(len(docs)) or read(self, docs)
    )
    config = LSI(topics=2, iterations=2)
    held = fit_lsi(topical, config)
    assert reads == [50] * 16
    reads.clear()
    streamed = fit_lsi(topical, config, memory=4 * 8 * int(held.vocabulary.doc_freqs.sum()) - 1)
    assert reads == [50] * 8 * 4
    assert streamed.vocabulary.terms.tolist() == held.vocabulary.terms.tolist()
    assert streamed.basis.tobytes() == held.basis.tobytes()


def test_little_memory_keeps_the_most_frequent_terms(topical):
    config = LSI(topics=5)
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
        fit_lsi(topical, LSI(topics=12, docs=0)),
        fit_lsi(topical, LSI(topics=12, docs=200)),
    )
    assert every.vocabulary.n_docs == 400
    assert some.vocabulary.n_docs == 200
    counts = topical.term_counts(topical.live_docs())
    shares = [model.transform(counts).shares[:, 0].mean() for model in (every, some)]
    assert shares[1] == pytest.approx(shares[0], rel=0.2)
    again = fit_lsi(topical, LSI(topics=12, docs=200))
    assert again.basis.tobytes() == some.basis.tobytes()
    other = fit_lsi(topical, LSI(topics=12, docs=200, seed=1))
    assert other.vocabulary.doc_freqs.tolist() != some.vocabulary.doc_freqs.tolist()


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
    model = fit_lsi(collection, LSI(topics=2))
    triples = model.transform(collection.term_counts(collection.live_docs()))
    assert not {"the", "most"} & set(collection.terms(triples.terms))
    rows = np.searchsorted(model.vocabulary.terms, collection.find_terms(["the", "most"]))
    assert not model.basis[rows].any()


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
    model = fit_lsi(collection, LSI(topics=100))
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
