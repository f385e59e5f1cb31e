import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.creating import build
from likewise.collection.snapshot import open_snapshot
from likewise.errors import UsageError
from likewise.evaluate import Run, evaluate, read_qrels, read_queries
from likewise.retrieve.models import (
    BM25,
    MODELS,
    TFIDF,
    InnerProduct,
    JelinekMercer,
    QueryLikelihood,
    idf,
    read_model,
)
from likewise.retrieve.search import Retriever
from likewise.sources import open_source
from likewise.text.analysis import Analysis

LETTERS = list("abcdefgh")
texts = st.lists(st.lists(st.sampled_from(LETTERS), max_size=12), min_size=1, max_size=12)
weights = st.one_of(
    st.integers(1, 4).map(float),
    st.floats(0.01, 5, allow_subnormal=False),
    st.floats(-5, -0.01, allow_subnormal=False),
)
queries = st.dictionaries(st.sampled_from([*LETTERS, "unheard"]), weights, max_size=6)
models = st.one_of(
    st.builds(BM25, k1=st.floats(0, 3), b=st.floats(0, 1)),
    st.builds(QueryLikelihood, mu=st.floats(1, 3000)),
    st.builds(JelinekMercer, lam=st.floats(0.05, 0.95)),
    st.just(TFIDF()),
    st.just(InnerProduct()),
)


def plain_score(model, corpus, query, doc):
    """Score a document straight from the definitions."""
    counts, length = corpus.counts[doc], corpus.lengths[doc]
    known = {term: q for term, q in query.items() if term in corpus.doc_freqs}
    if isinstance(model, TFIDF):
        return cosine(corpus, known, counts)
    score = 0.0
    for term, q in known.items():
        n, f = corpus.doc_freqs[term], counts[term]
        share = corpus.term_freqs[term] / corpus.n_tokens
        if isinstance(model, InnerProduct):
            score += q * f
        elif isinstance(model, BM25):
            relative = length / (corpus.n_tokens / corpus.n_docs)
            saturated = f / (f + model.k1 * (1 - model.b + model.b * relative)) if f else 0.0
            score += q * math.log(1 + (corpus.n_docs - n + 0.5) / (n + 0.5)) * saturated
        elif isinstance(model, QueryLikelihood):
            smoothed = (f + model.mu * share) / (length + model.mu)
            score += q * math.log(smoothed / share)
        else:
            smoothed = (1 - model.lam) * f / length + model.lam * share
            score += q * math.log(smoothed / (model.lam * share))
    return score


def cosine(corpus, query, counts):
    def size(q):
        return math.copysign(1 + math.log(abs(q)) if abs(q) >= 1 else abs(q), q)

    def rarity(term):
        return math.log(1 + corpus.n_docs / corpus.doc_freqs[term])

    left = {term: size(q) * rarity(term) for term, q in query.items()}
    right = {term: (1 + math.log(f)) * rarity(term) for term, f in counts.items()}
    dot = sum(value * right.get(term, 0.0) for term, value in left.items())
    return dot / math.hypot(*left.values()) / math.hypot(*right.values())


@settings(max_examples=150)
@given(texts=texts, query=queries, model=models)
def test_scores_are_those_of_the_definition(made_for_a_while, count, texts, query, model):
    corpus = count(texts)
    with made_for_a_while(texts) as collection:
        [found] = Retriever(collection, model).rank([query], k=100)
        matching = [doc for doc in range(len(texts)) if set(texts[doc]) & set(query)]
        assert sorted(found.docs.tolist()) == matching
        expected = [plain_score(model, corpus, query, doc) for doc in found.docs.tolist()]
        np.testing.assert_allclose(found.scores, expected, rtol=2e-5, atol=2e-5)


def test_golden_values_by_hand(make):
    collection = make([["wing", "flutter", "wing"], ["wing"], ["heat", "heat", "flow", "flutter"]])
    query = {"wing": 1.0, "flutter": 2.0}

    def scores(model):
        [found] = Retriever(collection, model).rank([query])
        return dict(zip(found.docs.tolist(), found.scores.tolist(), strict=True))

    # Both terms are in 2 of 3 documents: idf = ln(1 + 1.5/2.5) = ln 1.6; the average length is
    # 8/3, so that the norms are 1.2 (¼ + ¾·9/8), 1.2 (¼ + ¾·3/8) and 1.2 (¼ + ¾·12/8).
    rarity = math.log(1.6)
    assert scores(BM25()) == pytest.approx(
        {
            0: rarity * (2 / 3.3125 + 2 * 1 / 2.3125),
            1: rarity * 1 / 1.6375,
            2: rarity * 2 * 1 / 2.65,
        },
        rel=1e-6,
    )
    # "wing" is 3 and "flutter" 2 of 8 terms; lengths are 3, 1 and 4.
    assert scores(QueryLikelihood(mu=8)) == pytest.approx(
        {
            0: math.log(1 + 2 / 3) + 2 * math.log(1 + 1 / 2) + 3 * math.log(8 / 11),
            1: math.log(1 + 1 / 3) + 3 * math.log(8 / 9),
            2: 2 * math.log(1 + 1 / 2) + 3 * math.log(8 / 12),
        },
        rel=1e-5,
    )
    assert scores(JelinekMercer(lam=0.2)) == pytest.approx(
        {
            0: math.log(1 + 4 * 2 / 3 * 8 / 3) + 2 * math.log(1 + 4 * 1 / 3 * 8 / 2),
            1: math.log(1 + 4 * 1 * 8 / 3),
            2: 2 * math.log(1 + 4 * 1 / 4 * 8 / 2),
        },
        rel=1e-5,
    )
    # idf is ln 2.5 for both terms of the query, and ln 4 for "heat" and "flow".
    two, four, tf2, q2 = math.log(2.5), math.log(4), 1 + math.log(2), 1 + math.log(2)
    length = math.hypot(1, q2)
    assert scores(TFIDF()) == pytest.approx(
        {
            0: (tf2 + q2) / length / math.hypot(tf2, 1),
            1: 1 / length,
            2: q2 * two / length / math.hypot(tf2 * four, four, two),
        },
        rel=1e-5,
    )


def test_a_document_is_like_itself_with_cosine_one(make):
    texts = [["a", "a", "b"], ["b", "c"], ["c", "d", "d", "d"]]
    collection = make(texts)
    found = Retriever(collection, TFIDF()).rank([{"a": 2.0, "b": 1.0}, {"c": 1.0, "d": 3.0}], k=1)
    assert [ranking.docs.tolist() for ranking in found] == [[0], [2]]
    assert [ranking.scores[0] for ranking in found] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_large_counts_are_exact(make, count):
    texts = [["a"] * n + ["b"] * (1000 - n) for n in (254, 255, 256, 700)]
    collection = make(texts)
    corpus = count(texts)
    for model in (BM25(), QueryLikelihood(), JelinekMercer(), TFIDF()):
        [found] = Retriever(collection, model).rank([{"a": 1.0}])
        assert found.docs.tolist() == [3, 2, 1, 0]
        expected = [plain_score(model, corpus, {"a": 1.0}, doc) for doc in (3, 2, 1, 0)]
        np.testing.assert_allclose(found.scores, expected, rtol=1e-5)


def test_bm25_is_that_of_bm25s_on_made_documents(make):
    generator = np.random.default_rng(3)
    words = [f"w{i}" for i in range(60)]
    texts = [
        generator.choice(words, generator.integers(1, 40), p=np.arange(60, 0, -1) / 1830).tolist()
        for _ in range(200)
    ]
    queries = [generator.choice(words, 4, replace=False).tolist() for _ in range(30)]
    collection = make(texts)
    check_against_bm25s(collection, texts, queries, k1=0.9, b=0.4)


def test_bm25_is_that_of_bm25s_on_a_real_collection(real, tmp_path):
    plain = Analysis(title_weight=1)
    build(tmp_path / "cran.lw", open_source(real("cran") / "corpus.jsonl"), analysis=plain)
    collection = open_snapshot(tmp_path / "cran.lw")
    texts = []
    for doc in range(collection.n_docs):
        document = collection.document(doc)
        texts.append(collection.analyzer.terms(f"{document.title}\n\n{document.text}"))
    queries = [
        sorted(set(collection.analyzer.terms(query.text)))
        for query in read_queries(real("cran") / "queries.jsonl")[:80]
    ]
    check_against_bm25s(collection, texts, queries, k1=1.5, b=0.65)


def check_against_bm25s(collection, texts, queries, *, k1, b):
    bm25s = pytest.importorskip("bm25s")
    other = bm25s.BM25(method="lucene", k1=k1, b=b)
    other.index(texts, show_progress=False)
    found = Retriever(collection, BM25(k1, b)).rank([dict.fromkeys(q, 1.0) for q in queries], k=10)
    for query, ranking in zip(queries, found, strict=True):
        theirs = other.get_scores([term for term in query if term in other.vocab_dict])
        np.testing.assert_allclose(ranking.scores, theirs[ranking.docs], atol=1e-4)
        best = np.sort(theirs[theirs > 0])[::-1][:10]
        np.testing.assert_allclose(ranking.scores, best, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "floor"), [("cran", 0.307), ("cisi", 0.219), ("cacm", 0.352), ("med", 0.528)]
)
def test_mean_average_precision_on_real_collections(real, tmp_path, name, floor):
    build(tmp_path / "c.lw", open_source(real(name) / "corpus.jsonl"))
    collection = open_snapshot(tmp_path / "c.lw")
    queries = read_queries(real(name) / "queries.jsonl")
    counted = [collection.analyzer.counts(query.text) for query in queries]
    run = Run("bm25")
    found = Retriever(collection, BM25(1.5, 0.65)).rank(counted, k=1000)
    for query, ranking in zip(queries, found, strict=True):
        ids = collection.doc_ids(ranking.docs)
        run.add(query.qid, list(zip(ids, ranking.scores.tolist(), strict=True)))
    scores = evaluate(run, read_qrels(real(name) / "qrels.txt"), measures="AP")
    assert round(scores.means["AP"], 3) >= floor


@pytest.mark.parametrize(
    "text", ["bm25", "bm25(k1=2.0,b=0.5)", "ql(mu=500.0)", "ql-jm", "tfidf", "inner"]
)
def test_models_print_as_they_are_read(text):
    model = read_model(text)
    assert str(model) == text
    assert read_model(str(model)) == model


def test_names_of_models_are_their_notation():
    assert {name: model.notation for name, model in MODELS.items()} == {n: n for n in MODELS}


@pytest.mark.parametrize(
    "text",
    [
        *("bm25(k1=-1)", "bm25(k1=nan)", "bm25(k1=inf)", "bm25(b=2)", "bm25(b=nan)", "bm25(k1=)"),
        *("ql(mu=0)", "ql(mu=nan)", "ql(mu=inf)", "ql-jm(lam=0)", "ql-jm(lam=1)", "ql-jm(lam=nan)"),
        *("tfidf(x=1)", "bm26", "bm25(", ""),
    ],
)
def test_models_that_make_no_sense_are_refused(text):
    with pytest.raises(UsageError):
        read_model(text)


def test_idf_of_a_term_that_nobody_has_is_zero():
    assert idf(10, np.array([0, 10, 5])).tolist() == pytest.approx([0, math.log(2), math.log(3)])
