"""The subspace that topics span."""

import numpy as np
import pytest

from likewise.collection.records import TermCounts
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.priors import Priors
from likewise.models.topics import TopicModel
from likewise_papers.models.span import span_of


def topic_model(random, terms, n_topics=4, n_docs=50):
    vocabulary = Vocabulary(terms, random.integers(1, n_docs, len(terms)), n_docs)
    topics = np.zeros((len(terms), 16), np.float32)
    topics[:, :n_topics] = random.dirichlet(np.full(len(terms), 0.2), n_topics).T
    priors = Priors(np.ones(n_topics), np.ones(3), 0.01, 1e-4, 0.01)
    background = np.full(len(terms), 1 / len(terms), np.float32)
    return TopicModel("ddm", vocabulary, topics, background, priors, switch=True)


def test_the_span_of_topics_holds_every_topic():
    random = np.random.default_rng(0)
    topics = topic_model(random, np.arange(0, 60, 2))
    span = span_of(topics)
    assert span.basis.shape == (30, 4)
    np.testing.assert_allclose(span.basis.T @ span.basis, np.eye(4), atol=1e-6)
    roots = topics.vocabulary.idf[:, None] * np.sqrt(topics.word_topics[:, :4])
    np.testing.assert_allclose(span.basis @ (span.basis.T @ roots), roots, atol=1e-5)
    np.testing.assert_allclose(span.values, np.linalg.svd(roots, compute_uv=False), rtol=1e-5)
    assert (np.diff(span.values) <= 0).all()


def test_topics_that_coincide_span_fewer_axes():
    topics = topic_model(np.random.default_rng(0), np.arange(30))
    topics.word_topics[:, 3] = topics.word_topics[:, 0]
    assert span_of(topics).width == 3


def test_a_span_in_a_wider_vocabulary_weighs_its_other_words():
    random = np.random.default_rng(0)
    topics = topic_model(random, np.arange(0, 60, 2))
    doc_freqs = np.full(60, 50)
    doc_freqs[::2] = topics.vocabulary.doc_freqs
    wide = Vocabulary(np.arange(60), doc_freqs, 50)
    narrow, span = span_of(topics), span_of(topics, vocabulary=wide)
    assert not span.basis[1::2].any()
    np.testing.assert_array_equal(span.basis[::2], narrow.basis)
    everywhere = TermCounts(np.array([0, 3]), *np.array([[0, 1, 2], [1, 3, 2]], np.int32))
    assert 1 not in span.transform(everywhere).terms
    assert 1 in narrow.transform(everywhere).terms
    with pytest.raises(UsageError, match="lacks"):
        span_of(topics, vocabulary=Vocabulary(np.arange(5), np.ones(5, np.int64), 50))
