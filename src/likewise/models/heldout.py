"""How well does a model predict text? Half of each document's words are seen, half predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.collection.records import TermCounts
from likewise.compiled import Floats, Ids, Ints, kernel
from likewise.models.bags import Bags

if TYPE_CHECKING:
    from likewise.models.topics import TopicModel


def split(bags: Bags, *, seed: int) -> tuple[Bags, Bags]:
    """Deal the tokens of each document out to two halves, at random."""
    tokens = np.repeat(np.arange(len(bags.rows)), bags.counts)
    seen = np.random.default_rng(seed).random(len(tokens)) < 0.5
    parts = []
    for chosen in (seen, ~seen):
        counts = np.bincount(tokens[chosen], minlength=len(bags.rows)).astype(np.int32)
        kept = counts > 0
        ends = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        parts.append(Bags(ends[bags.bounds], bags.rows[kept], counts[kept]))
    return parts[0], parts[1]


def perplexity(model: TopicModel, seen: Bags, predicted: Bags, *, threads: int = 1) -> float:
    """Give the perplexity of the second halves under what the first say of each document.

    exp(-mean ln p(w|d)), p(w|d) = λ₁ Σ θ φ + λ₂ ψ + λ₃ Ω.
    """
    terms = model.vocabulary.terms
    counts = TermCounts(seen.bounds, terms[seen.rows].astype(np.int32), seen.counts)
    most = int(np.diff(seen.bounds).max(initial=1))
    triples = model.transform(counts, words=max(most, 1), threads=threads)
    own_rows = np.searchsorted(terms, triples.terms).astype(np.int32)
    topics = np.zeros((seen.n_docs, model.word_topics.shape[1]), np.float32)
    topics[:, : model.width] = triples.topics
    total = _log_likelihood(
        (predicted.bounds, predicted.rows, predicted.counts),
        (model.word_topics, model.background),
        (topics, triples.shares),
        (triples.bounds, own_rows, triples.weights),
        np.float64(model.priors.beta_own if model.switch else 0.0),
    )
    return float(np.exp(-total / max(predicted.n_tokens, 1)))


@kernel
def _log_likelihood(
    bags: tuple[Ints, Ids, Ids],
    model: tuple[Floats, Floats],
    documents: tuple[Floats, Floats],
    own: tuple[Ints, Ids, Floats],
    beta_own: float,
) -> float:
    bounds, rows, counts = bags
    word_topics, background = model
    topics, shares = documents
    own_bounds, own_rows, own_weights = own
    n_rows = len(background)
    total = 0.0
    for doc in range(len(bounds) - 1):
        for j in range(bounds[doc], bounds[doc + 1]):
            row = rows[j]
            p = 0.0
            for k in range(topics.shape[1]):
                p += topics[doc, k] * word_topics[row, k]
            p *= shares[doc, 0]
            p += shares[doc, 2] * background[row]
            if beta_own > 0:
                # ψ is smoothed over the vocabulary as in the sampler's equation.
                psi = beta_own / (n_rows * beta_own + 1.0)
                for i in range(own_bounds[doc], own_bounds[doc + 1]):
                    if own_rows[i] == row:
                        psi += own_weights[i] / (n_rows * beta_own + 1.0)
                p += shares[doc, 1] * psi
            total += counts[j] * np.log(max(p, 1e-30))
    return total
