import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.collection.postings import BLOCK
from likewise.errors import UsageError
from likewise.retrieve.models import BM25, TFIDF, InnerProduct, JelinekMercer, QueryLikelihood
from likewise.retrieve.search import Retriever
from likewise.text.analysis import Analysis

MODELS = [
    *(BM25(), BM25(1.5, 0.65), BM25(0.0, 0.5), QueryLikelihood(50), JelinekMercer(), TFIDF()),
    InnerProduct(),
]


def zipf_texts(seed, n_docs, *, n_words=60, longest=30):
    """Documents over few words, the first of them in most documents."""
    generator = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_words + 1)
    words = np.array([f"w{i:02}" for i in range(n_words)])
    return [
        generator.choice(words, generator.integers(0, longest), p=shares / shares.sum()).tolist()
        for _ in range(n_docs)
    ]


def random_queries(generator, n, *, longest, signed=False, n_words=60):
    queries = []
    for _ in range(n):
        words = generator.choice(n_words, generator.integers(1, longest), replace=False)
        given = np.where(generator.random(len(words)) < 0.6, 1.0, generator.random(len(words)) * 3)
        if signed:
            given *= generator.choice([1, -1], len(words))
        queries.append({f"w{w:02}": float(q) for w, q in zip(words, given, strict=True)})
    return queries


def same(left, right):
    """Tell whether rankings have the same documents and the same bits."""
    return all(
        a.docs.tolist() == b.docs.tolist() and a.scores.tolist() == b.scores.tolist()
        for a, b in zip(left, right, strict=True)
    )


def by_id(collection, rankings):
    return [
        list(zip(collection.doc_ids(ranking.docs), ranking.scores.tolist(), strict=True))
        for ranking in rankings
    ]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(1, 500),
    k=st.sampled_from([1, 2, 5, 10, 1000]),
    model=st.sampled_from(MODELS),
    pieces=st.integers(1, 4),
    masked=st.booleans(),
)
def test_pruned_is_exhaustive(made_for_a_while, seed, n_docs, k, model, pieces, masked):
    generator = np.random.default_rng(seed)
    deleted = [i for i in range(n_docs) if generator.random() < 0.1 and masked]
    with made_for_a_while(zipf_texts(seed, n_docs), pieces=pieces, deleted=deleted) as collection:
        allowed = None
        if masked:
            allowed = [generator.random(segment.n_docs) < 0.5 for segment in collection.segments]
        queries = random_queries(generator, 12, longest=40)
        retriever = Retriever(collection, model)
        pruned = retriever.rank(queries, k=k, allowed=allowed)
        exhaustive = retriever.rank(queries, k=k, allowed=allowed, prune=False)
        assert same(pruned, exhaustive)
        assert same(pruned, [retriever.rank([q], k=k, allowed=allowed)[0] for q in queries])
        for ranking in pruned:
            check_order(ranking)
            if allowed is not None:
                mask = np.concatenate(allowed)
                assert mask[ranking.docs].all()
                assert not set(ranking.docs.tolist()) & set(deleted)


def check_order(ranking):
    answers = list(zip((-ranking.scores).tolist(), ranking.docs.tolist(), strict=True))
    assert answers == sorted(answers)


@pytest.fixture(scope="module")
def many_texts():
    """More documents than a block holds, tiny ones."""
    generator = np.random.default_rng(5)
    shares = 1 / np.arange(1, 301)
    drawn = generator.choice(300, (BLOCK + 9000, 6), p=shares / shares.sum())
    lengths = generator.integers(1, 7, len(drawn))
    return [
        [f"w{w:02}" for w in row[:n]]
        for row, n in zip(drawn.tolist(), lengths.tolist(), strict=True)
    ]


def test_pruned_is_exhaustive_beyond_a_block(make, many_texts):
    collection = make(many_texts)
    [segment] = collection.segments
    assert segment.n_docs > BLOCK
    generator = np.random.default_rng(0)
    queries = random_queries(generator, 40, longest=6, n_words=99)
    queries += random_queries(generator, 10, longest=60, n_words=99)
    allowed = [generator.random(segment.n_docs) < 0.3]
    for model in (BM25(), QueryLikelihood(5), JelinekMercer(), TFIDF()):
        retriever = Retriever(collection, model)
        for k, mask in ((1, None), (10, None), (10, allowed), (1000, None)):
            pruned = retriever.rank(queries, k=k, allowed=mask)
            assert same(pruned, retriever.rank(queries, k=k, allowed=mask, prune=False))
            assert any((ranking.docs >= BLOCK).any() for ranking in pruned)
            assert all(len(ranking.docs) == k for ranking in pruned if k <= 10)


def test_the_best_beyond_a_block_are_those_of_a_plain_sum(make, many_texts):
    collection = make(many_texts)
    [found] = Retriever(collection, BM25()).rank([{"w03": 1.0, "w40": 1.0}], k=50)
    lengths = np.array([len(terms) for terms in many_texts])
    norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    total = np.zeros(len(many_texts))
    for term in ("w03", "w40"):
        counts = np.array([terms.count(term) for terms in many_texts])
        n = np.count_nonzero(counts)
        total += np.log1p((len(total) - n + 0.5) / (n + 0.5)) * counts / (counts + norms)
    np.testing.assert_allclose(found.scores, np.sort(total)[::-1][:50], rtol=1e-5)
    np.testing.assert_allclose(found.scores, total[found.docs], rtol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_the_same_bits_however_it_is_cut_and_run(make, model, signed):
    texts = zipf_texts(1, 400)
    queries = random_queries(np.random.default_rng(2), 300, longest=12, signed=signed)
    whole = make(texts)
    expected = Retriever(whole, model).rank(queries, k=10)
    assert same(expected, Retriever(whole, model).rank(queries, k=10, threads=2))
    assert same(expected, Retriever(whole, model).rank(queries, k=10, threads=0))
    cut = make(texts, pieces=20)
    assert len(cut.segments) == 20
    assert same(expected, Retriever(cut, model).rank(queries, k=10))
    assert same(expected, Retriever(cut, model).rank(queries, k=10, prune=False, threads=2))


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("pieces", [1, 3])
def test_deleted_documents_were_never_there(make, model, pieces):
    texts = zipf_texts(7, 300)
    # The deleted ones come first, with words of their own and in another order.
    dead = [[*reversed(terms), "w59", "onlyhere"] for terms in zipf_texts(8, 60)]
    left = make([*dead, *texts], pieces=pieces, deleted=range(len(dead)))
    never = make(texts)
    queries = random_queries(np.random.default_rng(3), 60, longest=10)
    queries += random_queries(np.random.default_rng(4), 20, longest=10, signed=True)
    queries += [{"onlyhere": 1.0}]
    found = by_id(left, Retriever(left, model).rank(queries))
    expected = by_id(never, Retriever(never, model).rank(queries))
    renamed = [[(f"d{int(i[1:]) + len(dead)}", score) for i, score in r] for r in expected]
    assert found == renamed
    assert found[-1] == []


def test_ties_go_to_the_earlier_document(make):
    texts = [["b"], ["a", "c"], ["a", "c"], ["a", "b"], ["a", "c"]]
    for pieces in (1, 5):
        retriever = Retriever(make(texts, pieces=pieces), BM25())
        assert retriever.rank([{"a": 1.0}], k=3)[0].docs.tolist() == [1, 2, 3]
        [found] = retriever.rank([{"a": 1.0}], k=10)
        assert found.docs.tolist() == [1, 2, 3, 4]
        assert len(set(found.scores.tolist())) == 1


def test_many_ties_keep_the_earliest(make):
    texts = [["a", "b"]] * 3000
    retriever = Retriever(make(texts, pieces=2), BM25())
    for prune in (True, False):
        [found] = retriever.rank([{"a": 1.0, "b": 2.0}], k=7, prune=prune)
        assert found.docs.tolist() == list(range(7))


def test_cancelled_scores_still_rank(make):
    retriever = Retriever(make([["a", "b"], ["a"], ["b"], ["c"]]), BM25())
    [found] = retriever.rank([{"a": 1.0, "b": -1.0}], k=10)
    assert found.docs.tolist() == [1, 0, 2]
    assert found.scores[1] == 0
    assert found.scores[0] == -found.scores[2] > 0


def test_no_more_answers_than_documents_match(make):
    retriever = Retriever(make([["a"], ["b"], ["a", "b"]]), BM25())
    for k in (3, 4, 10**9):
        [found] = retriever.rank([{"a": 1.0}], k=k)
        assert found.docs.tolist() == [0, 2]
        assert found.docs.dtype == np.int64
        assert found.scores.dtype == np.float64


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("query", [{}, {"unheard": 1.0}, {"a": 0.0}])
def test_queries_of_nothing_find_nothing(make, model, query):
    found = Retriever(make([["a"], ["b"]]), model).rank([query, {"a": 1.0}, query])
    assert [len(ranking.docs) for ranking in found] == [0, 1, 0]


def test_no_queries_no_rankings(make):
    assert Retriever(make([["a"]]), BM25()).rank([]) == []
    assert Retriever(make([["a"]]), BM25()).rank([], threads=2) == []


def test_a_query_of_stop_words_finds_nothing(make):
    collection = make([["the", "wing", "of", "it"], ["wings"]], analysis=Analysis())
    counts = collection.analyzer.counts("of the and it")
    assert counts == {}
    [found] = Retriever(collection, BM25()).rank([counts])
    assert len(found.docs) == 0
    [found] = Retriever(collection, BM25()).rank([{"the": 1.0, "of": 1.0}])
    assert len(found.docs) == 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_empty_collections_and_documents(make, model):
    assert len(Retriever(make([]), model).rank([{"a": 1.0}])[0].docs) == 0
    assert len(Retriever(make([[], []]), model).rank([{"a": 1.0}])[0].docs) == 0
    [found] = Retriever(make([[], ["a"], []]), model).rank([{"a": 1.0}])
    assert found.docs.tolist() == [1]
    emptied = make([["a"], ["a"]], deleted=[0, 1])
    assert len(Retriever(emptied, model).rank([{"a": 1.0}])[0].docs) == 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_one_document(make, model):
    [found] = Retriever(make([["a", "b"]]), model).rank([{"a": 1.0}])
    assert found.docs.tolist() == [0]
    assert math.isfinite(found.scores[0])


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_weights_that_are_no_numbers_are_passed_over(make, model, weight):
    retriever = Retriever(make([["a", "b"], ["b", "c"], ["c"]]), model)
    [expected] = retriever.rank([{"b": 1.0}])
    [found] = retriever.rank([{"a": weight, "b": 1.0}])
    assert same([found], [expected])
    assert len(retriever.rank([{"a": weight}])[0].docs) == 0


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weight", [1e-300, 1e-45, 1e-30, 1e29])
def test_extreme_weights_give_finite_scores(make, model, weight):
    retriever = Retriever(make([["a", "b"], ["b", "c"], ["c"]]), model)
    for query in ({"a": weight}, {"a": weight, "b": 1.0}, {"a": weight, "b": weight}):
        [pruned], [plain] = (retriever.rank([query], prune=prune) for prune in (True, False))
        assert same([pruned], [plain])
        assert np.isfinite(pruned.scores).all()


@pytest.mark.parametrize(
    ("analysis", "left_out"),
    [
        ({"min_df": 2}, {"one"}),
        ({"max_df": 0.5}, {"all"}),
        ({"min_count": 3}, {"one", "two"}),
        ({"max_count": 3}, {"all", "often"}),
    ],
)
def test_terms_left_out_by_their_frequency(make, analysis, left_out):
    texts = [["all", "one"], ["all", "two"], ["all", "two"], ["all", "often", *["often"] * 5]]
    texts[1].append("often")
    options = Analysis(language="none", stemmer="none", stop="none", **analysis)
    retriever = Retriever(make(texts, analysis=options), BM25())
    terms = ["all", "one", "two", "often"]
    found = retriever.rank([{term: 1.0} for term in terms])
    assert {t for t, r in zip(terms, found, strict=True) if not len(r.docs)} == left_out


def test_the_limits_follow_what_is_there_now(make):
    texts = [["a", "b"], ["a"], ["b"]]
    options = Analysis(language="none", stemmer="none", stop="none", min_length=1, min_df=2)
    kept = Retriever(make(texts, analysis=options), BM25()).rank([{"a": 1.0}, {"b": 1.0}])
    assert [len(ranking.docs) for ranking in kept] == [2, 2]
    fewer = make(texts, analysis=options, deleted=[1])
    left = Retriever(fewer, BM25()).rank([{"a": 1.0}, {"b": 1.0}])
    assert [len(ranking.docs) for ranking in left] == [0, 2]


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(make, k):
    with pytest.raises(UsageError, match="at least 1"):
        Retriever(make([["a"]]), BM25()).rank([{"a": 1.0}], k=k)


def test_threads_must_not_be_negative(make):
    with pytest.raises(UsageError, match="threads"):
        Retriever(make([["a"]]), BM25()).rank([{"a": 1.0}], threads=-1)


def test_scores_are_summed_in_an_order_of_their_own(make):
    collection = make([["rare", "b", "a", "c"], ["b", "a", "c"], ["a", "b"], ["z"]])
    weigh = Retriever(collection, QueryLikelihood()).weigh
    bounds, terms, weights, _, shares = weigh(
        [{"a": 1.0, "b": 1.0, "rare": 1.0, "c": 2.0}, {}, {"unheard": 1.0, "a": 3.0}]
    )
    assert bounds.tolist() == [0, 4, 4, 5]
    assert collection.terms(terms) == ["c", "rare", "a", "b", "a"]
    assert weights.tolist() == [2, 1, 1, 1, 3]
    assert shares.tolist() == [5, 0, 3]


def test_one_retriever_from_several_threads(make):
    from concurrent.futures import ThreadPoolExecutor

    retriever = Retriever(make(zipf_texts(4, 300)), BM25())
    queries = random_queries(np.random.default_rng(1), 200, longest=8)
    expected = Retriever(retriever.collection, BM25()).rank(queries)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda query: retriever.rank([query])[0], queries))
    assert same(found, expected)
