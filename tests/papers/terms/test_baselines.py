"""What a kernel must beat: popularity, TF-IDF, PHITS and shortest paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from likewise.errors import UsageError
from likewise.terms.graph import Graph
from likewise_papers.terms.baselines import (
    PHITS,
    em_step,
    fit_phits,
    popularity,
    shortest_paths,
    tfidf_ranking,
)


def graph_of(weights):
    matrix = sparse.csr_array(weights)
    matrix.sort_indices()
    return Graph(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )


def random_weights(seed, n, density=0.3):
    random = np.random.default_rng(seed)
    weights = random.integers(1, 9, (n, n)) * (random.random((n, n)) < density)
    weights = np.triu(weights, 1).astype(float)
    return weights + weights.T


def test_popularity_and_tfidf():
    doc_freqs, term_freqs = np.array([10, 5, 1, 0]), np.array([30, 6, 4, 0])
    assert popularity(doc_freqs).tolist() == [10, 5, 1, 0]
    scores = tfidf_ranking(doc_freqs, term_freqs, 10)
    assert scores == pytest.approx([0, 6 * np.log(2), 4 * np.log(10), 0])
    with pytest.raises(UsageError, match="10 documents"):
        tfidf_ranking(doc_freqs, term_freqs, 9)


@given(st.integers(0, 10**6), st.integers(2, 9), st.data())
def test_shortest_paths_are_those_of_floyd_and_warshall(seed, n, data):
    weights = random_weights(seed, n)
    lengths = np.full((n, n), np.inf)
    lengths[weights > 0] = 1 / weights[weights > 0]
    np.fill_diagonal(lengths, 0)
    for k, i, j in itertools.product(range(n), repeat=3):
        lengths[i, j] = min(lengths[i, j], lengths[i, k] + lengths[k, j])
    chosen = data.draw(st.lists(st.integers(0, n - 1), min_size=1))
    expected = lengths[chosen].min(axis=0)
    np.testing.assert_allclose(shortest_paths(graph_of(weights), chosen), expected, rtol=1e-12)


def test_what_cannot_be_reached_is_infinitely_far():
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = 4
    assert shortest_paths(graph_of(weights), 0).tolist() == [0, 0.25, np.inf]
    with pytest.raises(UsageError, match="without terms"):
        shortest_paths(graph_of(weights), [])


@given(st.integers(0, 10**6), st.integers(2, 10), st.integers(1, 4))
def test_a_step_of_em_is_that_of_dense_matrices(seed, n, width):
    weights = random_weights(seed, n)
    random = np.random.default_rng(seed)
    of_topics = random.random((n, width)) + 0.1
    of_topics /= of_topics.sum(axis=0)
    of_terms = random.random((n, width)) + 0.1
    of_terms /= of_terms.sum(axis=1, keepdims=True)
    graph = graph_of(weights)
    got = em_step(graph.bounds, graph.columns, graph.weights, of_topics, of_terms)

    chances = of_terms @ of_topics.T
    shares = weights / chances
    topics = of_topics * (shares.T @ of_terms)
    if weights.any():
        topics /= topics.sum(axis=0)
    terms = of_terms * (shares @ of_topics)
    linked = weights.any(axis=1)
    terms[linked] /= terms[linked].sum(axis=1, keepdims=True)
    terms[~linked] = 1 / width
    np.testing.assert_allclose(got[0], topics, rtol=1e-9)
    np.testing.assert_allclose(got[1], terms, rtol=1e-9)
    assert got[2] == pytest.approx((weights * np.log(chances)).sum())


@given(st.integers(0, 10**6), st.integers(2, 15), st.integers(1, 5))
def test_the_likelihood_never_falls(seed, n, topics):
    graph = graph_of(random_weights(seed, n))
    model = fit_phits(graph, PHITS(topics=topics, iterations=15, seed=seed))
    assert len(model.history) == 16
    assert (np.diff(model.history) >= -1e-9 * np.abs(model.history[0])).all()


def groups(n, count):
    """A graph of groups with no edge between them."""
    group = np.arange(n) % count
    weights = 3.0 * (group[:, None] == group)
    np.fill_diagonal(weights, 0)
    return weights, group


def test_phits_finds_groups_and_a_seed_repeats():
    weights, group = groups(30, 3)
    config = PHITS(topics=3, iterations=60, seed=1)
    model = fit_phits(graph_of(weights), config)
    again = fit_phits(graph_of(weights), config)
    assert np.array_equal(model.of_topics, again.of_topics)
    assert not np.array_equal(
        model.of_topics, fit_phits(graph_of(weights), PHITS(topics=3, iterations=60)).of_topics
    )
    for t in range(30):
        scores = model.scores([t, (t + 3) % 30])
        same = group == group[t]
        assert scores[same].min() > 100 * scores[~same].max()
    assert model.scores({0: 1.0, 1: 3.0}).sum() == pytest.approx(1)
    np.testing.assert_allclose(
        model.scores({0: 1.0, 1: 3.0}), 0.25 * model.scores(0) + 0.75 * model.scores(1)
    )


def test_phits_with_one_topic_is_the_share_of_links():
    weights = random_weights(4, 12)
    model = fit_phits(graph_of(weights), PHITS(topics=1, iterations=2))
    degrees = weights.sum(axis=1)
    np.testing.assert_allclose(model.scores(3), degrees / degrees.sum(), rtol=1e-9)


def test_terms_without_links_have_no_topics_of_their_own():
    weights = random_weights(4, 12)
    weights[5] = weights[:, 5] = 0
    model = fit_phits(graph_of(weights), PHITS(topics=4, iterations=5))
    assert model.of_terms[5].tolist() == [0.25] * 4
    assert not model.of_topics[5].any()
    empty = fit_phits(graph_of(np.zeros((3, 3))), PHITS(topics=2, iterations=3))
    assert np.isfinite(empty.of_terms).all()
    assert not empty.scores(1).any()


def test_a_configuration_is_what_it_prints():
    assert str(PHITS(topics=20)) == "phits(topics=20)"
    for wrong in ({"topics": 0}, {"iterations": 0}, {"seed": -1}):
        with pytest.raises(UsageError, match="phits"):
            PHITS(**wrong)
