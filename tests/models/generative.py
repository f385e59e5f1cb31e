"""Corpora drawn from the generative process of the document decomposition model."""

from typing import NamedTuple

import numpy as np

from likewise.collection.records import TermCounts
from likewise.models.bags import Bags, Vocabulary


class Drawn(NamedTuple):
    vocabulary: Vocabulary
    bags: Bags
    topics: np.ndarray
    background: np.ndarray
    shares: np.ndarray
    thetas: np.ndarray
    own: list


def draw(*, n_docs=600, n_words=500, n_topics=8, length=120, switch=True, seed=0):
    """Draw documents; each has a handful of own words where the switch is on."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.03), n_topics)
    background = rng.dirichlet(np.full(n_words, 0.2))
    thetas = rng.dirichlet(np.full(n_topics, 0.2), n_docs)
    shares = rng.dirichlet([6.0, 2.0, 3.0], n_docs) if switch else np.tile([1.0, 0, 0], (n_docs, 1))
    rows, counts, bounds, owns = [], [], [0], []
    for doc in range(n_docs):
        own = np.zeros(n_words)
        own[rng.choice(n_words, 3, replace=False)] = rng.dirichlet(np.full(3, 5.0))
        owns.append(own)
        p = (
            shares[doc, 0] * thetas[doc] @ topics
            + shares[doc, 1] * own
            + shares[doc, 2] * background
        )
        drawn = rng.multinomial(max(rng.poisson(length), 20), p / p.sum())
        present = np.flatnonzero(drawn)
        rows.append(present)
        counts.append(drawn[present])
        bounds.append(bounds[-1] + len(present))
    rows = np.concatenate(rows).astype(np.int32)
    bags = Bags(np.array(bounds, np.int64), rows, np.concatenate(counts).astype(np.int32))
    vocabulary = Vocabulary(np.arange(n_words), np.bincount(rows, minlength=n_words), n_docs)
    return Drawn(vocabulary, bags, topics, background, shares, thetas, owns)


def term_counts(drawn, docs):
    bags = drawn.bags.take(np.asarray(docs))
    return TermCounts(bags.bounds, drawn.vocabulary.terms[bags.rows].astype(np.int32), bags.counts)
