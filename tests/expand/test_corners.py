"""Corners: options that must tell, sums that threads must not change, extremes of options."""

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.errors import UsageError
from likewise.expand.expansion import Feedback
from likewise.expand.feedback import KL, RankedRM, Rocchio
from likewise.expand.pool import read_pool
from likewise.expand.qp import Limits, solve
from likewise.expand.robust import Robust, _weightiest
from likewise.expand.similarity import SIMILARITIES
from likewise.stages import Cut

PLAIN = lw.Analysis(language="none", stemmer="none", stop="none", min_length=1)


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    generator = np.random.default_rng(0)
    documents = [
        {"id": str(i), "text": " ".join(generator.choice([*"abcdefghijklmnop"], 12)), "odd": i % 2}
        for i in range(300)
    ]
    folder = tmp_path_factory.mktemp("letters") / "c"
    return lw.index(documents, to=folder, analysis=PLAIN, model=None)


# Found wanting


@pytest.mark.parametrize("similarity", ["loo", "jaccard"])
def test_a_context_smaller_than_the_documents_is_refused_not_passed_over(similarity):
    with pytest.raises(UsageError, match="context"):
        Robust(similarity=similarity, docs=20, context=5)
    assert Robust(docs=50).feedback_docs == 0
    assert Robust(similarity="jaccard", docs=50).feedback_docs == 50
    assert Robust(similarity="jaccard", docs=5, context=30).feedback_docs == 30


def test_rocchio_has_the_same_bits_on_any_number_of_threads(shelve, rank):
    """OpenBLAS parts the sums of more than 10,000 terms among its threads."""
    texts = [" ".join(f"w{i}" for i in range(first, first + 7000)) for first in (0, 7000, 14000)]
    shelf = shelve(texts)
    generator = np.random.default_rng(0)
    ranking = rank((0, 3.0), (1, 2.0), (2, 1.0))
    for _ in range(20):
        words = generator.choice(21_000, 40, replace=False).tolist()
        query = {f"w{word}": float(generator.random()) for word in words}
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, "blas"):
                found.append(shelf.expand(Rocchio(), Feedback(query, ranking)).terms)
        assert found[0] == found[1]


def test_all_of_a_collection_diverges_from_nothing_whatever_its_size(shelve):
    # 7/25 · 25 is 7.000000000000001: rounding alone must not make a term stand out.
    texts = ["q x x x x", "q x x x", " ".join(["q", *(f"f{i}" for i in range(15))])]
    shelf = shelve(texts)
    assert shelf.n_tokens == 25
    grown = shelf.expand(KL(), shelf.ask({"q": 1.0}))
    assert grown.skipped_reason == "no term stands out in its first documents"


def test_an_expander_searches_with_the_filter_of_the_search_before(letters):
    search = letters.pipeline("bm25", filter="odd=1")
    [built] = letters.pipeline("bm25", expand="robust", filter="odd=1")("a b c")
    [by_hand] = (search >> "robust" >> "bm25")("a b c")
    assert by_hand.query == built.query
    [every] = letters.pipeline("bm25", expand="robust")("a b c")
    assert every.query.terms != built.query.terms


def test_a_cut_does_not_hide_the_search_before(letters):
    search = letters.pipeline("ql", k=10)
    [whole] = (search >> "rm3")("a b c")
    [cut] = (search >> Cut(10) >> "rm3")("a b c")
    assert cut.query == whole.query


@pytest.mark.parametrize("name", ["HYBRID", "Near"])
def test_names_of_methods_may_be_written_large(letters, name):
    with pytest.raises(UsageError) as raised:
        letters.search("a b", method=name)
    # There is no model to compare by; but the method is known.
    assert "unknown method" not in str(raised.value)


@pytest.mark.parametrize("name", ["NONE", " none "])
def test_no_expander_may_be_written_as_others_may(letters, name):
    assert letters.search("a b", expand=name).expanded is None


@pytest.mark.parametrize(
    "how",
    [
        "rocchio(alpha=1e308,beta=1e308)",
        "rocchio(alpha=1.7e308,beta=0.1)",
        "robust(kappa=1e300,gamma=1e300)",
        "robust(kappa=1e300)",
        "robust(kappa=1e-300)",
        "robust(kappa=1e9)",
    ],
)
def test_numbers_that_cannot_be_calculated_with_are_refused(letters, how):
    with pytest.raises(UsageError, match="needs"):
        letters.search("a b c d e f g h", expand=how)


# What no other test would notice


@pytest.mark.parametrize("method", ["bm25", "ql", "ql-jm", "tfidf"])
@pytest.mark.parametrize("how", ["rm3", "bo1", "rocchio(gamma=0.2)", "robust"])
def test_parts_add_up_in_every_model(letters, method, how):
    query = lw.Query("1", terms={"a": 2.0, "b": 0.5, "c": -0.7})
    answers = letters.search(query, method=method, expand=how, explain=True)
    assert len(answers) == 10
    assert not answers.expanded.skipped_reason
    for answer in answers:
        total = math.fsum(part.score for part in answer.explanation.parts)
        assert total == pytest.approx(answer.score, abs=1e-5)


@pytest.mark.parametrize("how", ["rm3", "rocchio", "rrm", "robust(similarity=jaccard)", "robust"])
def test_expansion_does_not_depend_on_how_many_answers_are_wanted(letters, how):
    few, many = (letters.search("a b c", expand=how, k=k) for k in (1, 100))
    assert few.expanded == many.expanded
    assert few[0].doc_id == many[0].doc_id


def test_a_perturbation_searches_by_the_method_named(letters):
    found = letters.terms.perturb("a b c", docs=10, method="tfidf")
    terms = dict.fromkeys("abc", 1.0)
    by_words, by_angle = (
        letters.pipeline(method, k=10)([lw.Query("1", terms=terms)])[0].ranking.docs.tolist()
        for method in ("bm25", "tfidf")
    )
    assert found.pool.docs[:10].tolist() == by_angle != by_words


def test_ranked_relevance_damps_short_documents(shelve, rank):
    shelf = shelve(["q x", "q y y y z z z z", "u v w q"])
    ranking = rank((1, 2.0), (0, 1.0), (2, 0.5))
    asked = Feedback({"q": 1.0}, ranking)
    average = 14 / 3
    p = {
        "x": 1 / 3 / (2 + average),
        "y": 2 / 3 * 3 / (8 + average),
        "z": 2 / 3 * 4 / (8 + average),
        "q": 1 / 3 / (2 + average) + 2 / 3 / (8 + average),
    }
    rare, common = np.log(1 + 2.5 / 1.5), np.log(1 + 0.5 / 3.5)
    weights = {word: p[word] * np.sqrt(common if word == "q" else rare) for word in p}
    total = sum(weights.values())
    expected = {word: weight / total for word, weight in weights.items()}
    how = RankedRM(docs=2, share=1.0)
    assert shelf.expand(how, asked).terms == pytest.approx(expected)
    # Robust expansion reads more documents than it takes candidates from.
    pool = read_pool(shelf.snapshot, ranking.docs, asked.terms)
    chosen, _ = how.choose(pool)
    assert set(pool.names(chosen)) == set(p)


def test_a_query_word_that_no_document_of_the_context_has_is_like_itself(shelve, rank):
    shelf = shelve(["a b", "a c", "d"])
    asked = Feedback({"a": 1.0, "d": 1.0}, rank((0, 2.0), (1, 1.0)))
    [context] = SIMILARITIES["jaccard"].contexts([asked], shelf.search(), 2)
    similarity = context.similarity(context.pool.asked)
    assert similarity.tolist() == [[1, 0], [0, 1]]


def test_balance_binds_from_below():
    """Of three aspects new terms are near to two: the third may fall short by the limit only."""
    near = np.zeros((3, 5))
    near[:, :3] = np.eye(3)
    near[:2, 3] = 0.6
    near[2, 4] = 0.6
    gains = np.array([0, 0, 0, 1.0, 0])
    # Σ near x is .6 x3, .6 x3, .6 x4: the third is (.4 x4 - .4 x3), at least -balance (x3 + x4).
    options = {"n_asked": 3, "kappa": 1.0, "gamma": 1.0, "limits": Limits(balance=0.3)}
    x = solve(gains, np.zeros((5, 5)), near, **options)
    assert x[3] > 0
    third = 0.4 * x[4] - 0.4 * x[3]
    assert third == pytest.approx(-0.3 * (x[3] + x[4]), abs=1e-6)


def test_of_many_aspects_the_weightiest_are_covered():
    weights = np.array([1.0, 9, 2, 8, 3, 7, 4, 6, 5, 5])
    assert _weightiest(weights).tolist() == [1, 3, 4, 5, 6, 7, 8, 9]
    assert _weightiest(weights[:2]).tolist() == [0, 1]
