import numpy as np
import pytest
from generative import draw, term_counts
from hypothesis import given
from hypothesis import strategies as st

from likewise.collection.records import TermCounts
from likewise.models.triple import largest


def rows_of(triples):
    for i in range(len(triples.topics)):
        at = slice(triples.bounds[i], triples.bounds[i + 1])
        yield triples.topics[i], triples.terms[at], triples.weights[at], triples.shares[i]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_document_is_the_same_alone_in_a_batch_and_on_threads(drawn, fitted):
    docs = np.arange(600)
    batch = list(rows_of(fitted.transform(term_counts(drawn, docs))))
    threads = list(rows_of(fitted.transform(term_counts(drawn, docs), threads=2)))
    assert all(same(a, b) for a, b in zip(batch, threads, strict=True))
    for doc in (0, 255, 256, 599):
        [alone] = rows_of(fitted.transform(term_counts(drawn, [doc])))
        assert same(alone, batch[doc])


def test_shares_add_up_and_topics_are_distributions(drawn, fitted):
    triples = fitted.transform(term_counts(drawn, np.arange(100)))
    assert triples.shares.sum(axis=1) == pytest.approx(np.ones(100), abs=1e-4)
    assert triples.topics.sum(axis=1) == pytest.approx(np.ones(100), abs=1e-4)
    assert np.diff(triples.bounds).max() <= 15
    for _, _, weights, _ in rows_of(triples):
        assert np.all(np.diff(weights) <= 0)


def test_a_word_does_not_count_itself_as_own(drawn, fitted):
    """Documents drawn from the topics alone keep to them; with self-counting all would be own."""
    plain = draw(switch=False, seed=0)
    assert np.allclose(plain.topics, drawn.topics)
    triples = fitted.transform(term_counts(plain, np.arange(200)))
    assert triples.shares[:, 1].mean() < 0.1
    assert triples.shares[:, 0].mean() > 0.75


def test_words_unknown_to_the_model_are_own_words(drawn, fitted):
    known = term_counts(drawn, [0])
    terms = np.concatenate([known.terms, [10_000, 10_001]]).astype(np.int32)
    counts = np.concatenate([known.counts, [9, 1]]).astype(np.int32)
    bounds = np.array([0, len(terms)], np.int64)
    triples = fitted.transform(TermCounts(bounds, terms, counts))
    assert {10_000, 10_001} <= set(triples.terms.tolist())
    assert triples.shares[0, 1] > fitted.transform(known).shares[0, 1]
    only = TermCounts(np.array([0, 1]), np.array([10_000], np.int32), np.array([3], np.int32))
    triples = fitted.transform(only)
    assert triples.shares[0].tolist() == [0, 1, 0]
    assert triples.terms.tolist() == [10_000]


def test_an_empty_document_is_nothing(fitted):
    nothing = np.empty(0, np.int32)
    triples = fitted.transform(TermCounts(np.zeros(2, np.int64), nothing, nothing))
    assert triples.shares.tolist() == [[0, 0, 0]]
    assert len(triples.terms) == 0
    none = fitted.transform(TermCounts(np.zeros(1, np.int64), nothing, nothing))
    assert none.topics.shape == (0, 12)


def test_the_answer_is_near_the_converged_one(drawn, fitted):
    counts = term_counts(drawn, np.arange(300))
    quick = fitted.transform(counts).topics
    exact = fitted.transform(counts, tolerance=1e-7).topics
    hellinger = ((np.sqrt(quick) - np.sqrt(exact)) ** 2).sum(axis=1)
    assert hellinger.mean() < 0.02


@given(
    st.lists(st.lists(st.floats(-1, 1, width=32), max_size=12), max_size=6),
    st.integers(0, 5),
)
def test_largest_equals_a_stable_sort(lists, limit):
    values = np.array([v for one in lists for v in one], np.float32)
    bounds = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    out, places = largest(bounds, values, limit)
    for i in range(len(lists)):
        a, b = bounds[i], bounds[i + 1]
        order = a + np.argsort(-values[a:b], kind="stable")
        expected = [j for j in order if values[j] > 0][:limit]
        assert places[out[i] : out[i + 1]].tolist() == expected
