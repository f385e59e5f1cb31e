"""How well does a model know a document by half of it? What follows, where nobody has judged any.

The words of sample documents are dealt out to two halves at random, and a model is asked with one
half, by dense vectors alone, for the other among some thousand documents. Where long texts are
recognised at once, topics say nearly all, and words that are everywhere count as much as rare
ones; where they are not (short texts, names, code), specific words and rare words have to say more.
With a the share that is not recognised (one less the mean reciprocal rank),

    beta = .5 + 4 a      weight of specific words against dense vectors
    power = .7 + .8 a    of idf in the weights of words

The constants are round numbers, set by eye on 20 Newsgroups, Wikipedia for Schools and docstrings
(on four collections of abstracts small weights were right as well); they are no more than a good
start, and `likewise tune` learns from judgements. Choosing the weight or the power with the best
rank of the other half did worse: long documents are always found, and short samples prefer rare
words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ints
from likewise.models.bags import Bags, counts_in
from likewise.models.heldout import split

if TYPE_CHECKING:
    from likewise.models.model import Model

_AMONG, _SAMPLE, _LEAST_WORDS = 5600, 600, 20
_LEAST_BETA, _BETA = 0.5, 4.0
_LEAST_POWER, _POWER = 0.7, 0.8


def unrecognised(model: Model, collection: Snapshot, *, seed: int = 0, threads: int = 1) -> float:
    """Give the share a of documents that are not recognised by half of them: from 0 to 1.

    It depends on how many documents there are to take it for: at most 5,600 are looked at.
    """
    generator = np.random.default_rng(seed)
    docs = collection.live_docs()
    docs = docs[np.sort(generator.permutation(len(docs))[:_AMONG])]
    counts = collection.term_counts(docs)
    long_enough = np.flatnonzero(counts_in(counts) >= _LEAST_WORDS)
    if not len(long_enough):
        return 0.5
    sample = np.sort(generator.permutation(long_enough)[:_SAMPLE])
    ranks = reciprocal_ranks(model, counts, sample, seed=seed, threads=threads)
    return float(1 - ranks.mean())


def weight_of_words(unknown: float) -> float:
    """Give beta for a share that is not recognised."""
    return _LEAST_BETA + _BETA * unknown


def power_of_idf(unknown: float) -> float:
    """Give the power of idf for a share that is not recognised."""
    return _LEAST_POWER + _POWER * unknown


def reciprocal_ranks(
    model: Model, counts: TermCounts, sample: Ints, *, seed: int = 0, threads: int = 1
) -> Doubles:
    """Give one over the rank of each sample document's other half among all documents.

    `sample` are rows of `counts`; a document itself does not stand in the way of its half. Those
    with an empty half count 0.
    """
    asked, wanted = (
        TermCounts(half.bounds, half.rows, half.counts)
        for half in split(Bags(*counts).take(sample), seed=seed)
    )
    among, questions, others = (
        _points(model, lot, threads=threads) for lot in (counts, asked, wanted)
    )
    scores = questions @ among.T
    scores[np.arange(len(sample)), sample] = -np.inf
    own = np.einsum("ij,ij->i", questions, others)
    # Ties count against it: a model that finds everything alike finds nothing.
    ranks = 1 + (scores >= own[:, None]).sum(axis=1)
    there = (np.diff(asked.bounds) > 0) & (np.diff(wanted.bounds) > 0)
    return np.where(there, 1 / ranks, 0.0)


def _points(model: Model, counts: TermCounts, *, threads: int) -> Doubles:
    """Give dense vectors of length one."""
    rows = model.compact(counts, model.transform(counts, words=0, threads=threads))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float64)
