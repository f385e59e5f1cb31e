"""Models with topics: distributions over words, from whatever source, and DDM's inference.

Inference replaces sampling by expectations: each word of a document has a share on the topics,
on the document itself and on the background, and the shares are made consistent with each other
by iteration. A word must not count itself on the document's own route, or that route explains
everything: a word goes there as far as its *repetition* is not explained elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.arrays import Arrays, require
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import find_rows
from likewise.compiled import Doubles, Floats, Ids, Int, Ints, fast_kernel, kernel
from likewise.models.attribution import (
    Attribution,
    EncodedDocument,
    by_word,
    or_one,
    owners_of,
    sums_of,
    weights_by_place,
)
from likewise.models.bags import Vocabulary, counts_in
from likewise.models.document_vectors import document_vectors, layout_of, to_arrays
from likewise.models.gibbs import padded
from likewise.models.heldout import perplexity, split
from likewise.models.model import Model
from likewise.models.priors import Priors
from likewise.models.triple import OWN_WORDS, Triples, largest

if TYPE_CHECKING:
    from likewise.models.topic_summary import Survey, TopicDescription

TOLERANCE = 1e-2
MOST_ITERATIONS = 200
_CHUNK = 256
_WEIGHED_TOGETHER = 64
# Less than this of a word is what is left of the prior after rounding.
_LEAST_WORDS = 1e-3


@dataclass(frozen=True, eq=False)
class TopicModel(Model):
    """Topics φ (a padded row for each word), background Ω, and the priors of a document.

    With `switch` off a document is topics only, as in LDA. `history` is what the fit reported.
    """

    kind: ClassVar[str] = "topics"
    metric: ClassVar[str] = "hellinger"
    dimension: ClassVar[str] = "topic"
    distributions: ClassVar[bool] = True
    name: str
    vocabulary: Vocabulary
    word_topics: NDArray[np.float32]
    background: Floats
    priors: Priors
    switch: bool
    labels: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Mapping[str, float], ...] = ()

    @property
    def width(self) -> int:
        """How many topics there are."""
        return len(self.priors.alpha)

    # Stored

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that it is stored as."""
        return self.vocabulary.arrays() | {
            "word-topics": np.ascontiguousarray(self.word_topics, np.float32),
            "background": np.asarray(self.background, np.float32),
            "alpha": np.asarray(self.priors.alpha, np.float64),
            "gamma": np.asarray(self.priors.gamma, np.float64),
        }

    def about(self) -> dict[str, Any]:
        """Give the plain values that it is stored with."""
        return {
            "n_docs": self.vocabulary.n_docs,
            **super().about(),
            "betas": list(self.priors[2:]),
            "switch": self.switch,
            "labels": list(self.labels),
        }

    @classmethod
    def load(cls, name: str, arrays: Arrays, about: Mapping[str, Any]) -> TopicModel:
        """Give it as it was stored."""
        vocabulary = Vocabulary.load(arrays, about["n_docs"])
        n_terms, width = len(vocabulary), padded(len(arrays["alpha"]))
        require(arrays, name, background=(n_terms,), **{"word-topics": (n_terms, width)})
        return cls(
            name,
            vocabulary,
            arrays["word-topics"],
            arrays["background"],
            Priors(arrays["alpha"], arrays["gamma"], *about["betas"]),
            about["switch"],
            tuple(about["labels"]),
            about["settings"],
            tuple(about["history"]),
        )

    @property
    def layout(self) -> dict[str, tuple[Any, int]]:
        """Name the arrays of `encode`."""
        return layout_of(self.width)

    def encode(
        self, collection: Snapshot, docs: Ints, *, words: int, threads: int = 1
    ) -> dict[str, NDArray[Any]]:
        """Give what is stored of documents to compare them: vectors, and so many specific words."""
        counts = collection.term_counts(docs)
        triples = self.transform(counts, words=words, threads=threads)
        return to_arrays(document_vectors(triples, self.compact(counts, triples)))

    def coordinates(self, vectors: Floats, shares: Floats) -> Floats:
        """Give vectors as they are stored as shares of topics."""
        return vectors * vectors

    def transform(
        self,
        counts: TermCounts,
        *,
        words: int = OWN_WORDS,
        threads: int = 1,
        tolerance: float = TOLERANCE,
    ) -> Triples:
        """Decompose documents; a term that the model does not know can only be a document's own."""
        rows = find_rows(self.vocabulary.terms, counts.terms.astype(np.int64)).astype(np.int32)
        n_docs = len(counts.bounds) - 1
        topics = np.zeros((n_docs, self.word_topics.shape[1]), np.float32)
        shares = np.zeros((n_docs, 3), np.float32)
        own = np.zeros(len(rows), np.float32)
        alpha = np.zeros(self.word_topics.shape[1], np.float32)
        alpha[: self.width] = self.priors.alpha

        def infer_chunk(first: int) -> None:
            last = min(first + _CHUNK, n_docs)
            infer(
                counts.bounds[first : last + 1],
                (rows, counts.counts),
                (self.word_topics, self.background),
                (alpha, self.priors.gamma.astype(np.float32), np.float32(self.priors.beta_own)),
                self.switch,
                (np.float32(tolerance), MOST_ITERATIONS),
                (topics[first:last], shares[first:last], own),
            )

        chunks = range(0, n_docs, _CHUNK)
        if threads == 1 or len(chunks) < 2:
            for first in chunks:
                infer_chunk(first)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(infer_chunk, chunks))
        bounds, places = largest(counts.bounds, own, words)
        return Triples(
            topics[:, : self.width],
            bounds,
            counts.terms[places].astype(np.int64),
            own[places],
            shares,
        )

    def compact(self, counts: TermCounts, triples: Triples) -> NDArray[np.float32]:
        """Give the square roots of topics' shares without their prior.

        Their inner product is Bhattacharyya's, which goes with Hellinger distance.
        """
        known = self.vocabulary.bags(counts)
        n_words = counts_in(counts) * triples.shares[:, 0] if self.switch else counts_in(known)
        # Inference gives the prior to a document of which the model knows no word.
        topics = triples.topics * (np.diff(known.bounds) > 0)[:, None]
        return np.sqrt(without_prior(topics, self.priors.alpha, n_words))

    # Meaning

    @property
    def word_weights(self) -> NDArray[np.float32]:
        """What words weigh in topics."""
        return self.word_topics

    def topics(self, purpose: str) -> TopicModel:
        """Give itself."""
        return self

    def dimension_names(self, collection: Snapshot) -> list[str]:
        """Name topics by their labels, or by their likeliest words."""
        from likewise.models.topic_summary import named_by_words

        return list(self.labels) or named_by_words(self, collection, "topic")

    def describe(
        self, collection: Snapshot, seen: Survey, *, words: int, docs: int
    ) -> list[TopicDescription]:
        """Describe every topic."""
        from likewise.models.topic_summary import describe_topics

        return describe_topics(self, collection, seen, words=words, docs=docs)

    def fit_error(self, counts: TermCounts, *, seed: int = 0) -> float:
        """Give the perplexity of half the words of documents given the others."""
        return perplexity(self, *split(self.vocabulary.bags(counts), seed=seed))

    # What words carry

    def attribute(
        self, asked: Sequence[EncodedDocument], point: Doubles, counts: TermCounts, rows: Doubles
    ) -> list[Attribution]:
        """Split the dense scores of answers, given by their terms and stored rows, by topics."""
        asked_terms = np.concatenate([one.counts.terms for one in asked])
        asked_rows = np.concatenate(
            [self.word_shares(one.counts) * (one.weight * one.point) for one in asked]
        )
        topics = rows * point
        carried = self.word_shares(counts) * topics[owners_of(counts.bounds)]
        found = []
        for i in range(len(rows)):
            mine = slice(int(counts.bounds[i]), int(counts.bounds[i + 1]))
            query = by_word(asked_terms, asked_rows * rows[i])
            answer = by_word(counts.terms[mine], carried[mine])
            found.append(Attribution(query, answer, topics[i]))
        return found

    def word_shares(self, counts: TermCounts) -> Doubles:
        """Give the shares of documents' words in each topic: a row a word, one for each document.

        A word's share of topic k is that of `n_w p(topical|w) p(k|w)` (see `routes`).
        """
        most = int(np.diff(counts.bounds).max(initial=0))
        triples = self.transform(counts, words=max(most, 1))
        topical = self.routes(counts, triples)[0][:, 0]
        rows = find_rows(np.asarray(self.vocabulary.terms), counts.terms.astype(np.int64))
        docs = owners_of(counts.bounds)
        by_topic = (
            self.word_topics[np.maximum(rows, 0), : self.width]
            * triples.topics.astype(np.float64)[docs]
        )
        by_topic *= (counts.counts * topical)[:, None] / or_one(by_topic.sum(axis=1, keepdims=True))
        return np.asarray(by_topic / or_one(sums_of(by_topic, counts.bounds))[docs])

    def distinctive_rows(
        self, collection: Snapshot, weights: Doubles, numbers: Ints, n: int
    ) -> list[Ints]:
        """Find the vocabulary rows of the n most relevant words of topics."""
        from likewise.models.topic_summary import relevant_rows

        return relevant_rows(self, collection, numbers, n=n)

    def routes(self, counts: TermCounts, triples: Triples) -> tuple[Doubles, Ints]:
        """Give for each word of documents how far it is topical, its own, background; its topic.

        λ₂ ψ_w is the share of the document's tokens that are w by the own route, so that divided
        by w's share of the tokens it is p(own|w,d); the rest goes to topics and background as
        λ₁ Σ_k θ_k φ_kw to λ₃ Ω_w. `triples` has all specific words. A term unknown to the model is
        the document's own.
        """
        rows = find_rows(np.asarray(self.vocabulary.terms), counts.terms.astype(np.int64))
        at, docs = np.maximum(rows, 0), owners_of(counts.bounds)
        shares = triples.shares.astype(np.float64)[docs]
        by_topic = self.word_topics[at, : self.width] * triples.topics.astype(np.float64)[docs]
        topical = shares[:, 0] * by_topic.sum(axis=1)
        behind = shares[:, 2] * np.asarray(self.background)[at].astype(np.float64)
        own = shares[:, 1] * weights_by_place(counts, triples)
        own = np.clip(own * counts_in(counts)[docs] / counts.counts, 0, 1)
        rest = (1 - own) / np.maximum(topical + behind, 1e-300)
        found = np.stack([topical * rest, own, behind * rest], axis=1)
        found[rows < 0] = (0, 1, 0)
        return found, by_topic.argmax(axis=1)


def without_prior(
    topics: NDArray[np.float32], alpha: Doubles, n_words: Doubles
) -> NDArray[np.float32]:
    """Give the shares of topics in a document's specific words, from the mean of its posterior.

    The prior is the same for all documents, and in a short one most of the mean: nearness would
    be that of priors. On 20 Newsgroups neighbours without it are of the same group in .67 of the
    cases, with it in .60 (LDA, 250 topics, ten neighbours by Hellinger distance).
    """
    words = topics * (alpha.sum() + n_words)[:, None] - alpha
    words[words < _LEAST_WORDS] = 0
    words[~np.asarray(topics.any(axis=1))] = 0
    totals = words.sum(axis=1, keepdims=True)
    shares: NDArray[np.float32] = (words / np.where(totals > 0, totals, 1)).astype(np.float32)
    return shares


def distributions(
    word_topics: NDArray[Any], background: NDArray[Any], priors: Priors
) -> tuple[NDArray[np.float32], Floats]:
    """Turn counts of words by topic (unpadded) and by background into distributions, smoothed."""
    n_rows, n_topics = word_topics.shape
    out = np.zeros((n_rows, padded(n_topics)), np.float32)
    smoothed = word_topics + priors.beta_topic
    out[:, :n_topics] = smoothed / smoothed.sum(axis=0)
    behind = background + priors.beta_background
    return out, (behind / behind.sum()).astype(np.float32)


@fast_kernel
def _dot(a: Floats, b: Floats) -> Any:
    total: Any = np.float32(0.0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@fast_kernel
def _add_product(out: Floats, a: Floats, b: Floats, factor: Any) -> None:
    for k in range(len(out)):
        out[k] += a[k] * b[k] * factor


@kernel
def _own_share(count: Any, elsewhere: Any, others: Any, priors: tuple[Any, Any, Any]) -> Any:
    """Give the expected share of a word's tokens on the document's own route.

    The tokens of a word are weighed together: m of them are own with probability proportional to
    `C(c, m) · elsewhere^(c - m) · Π_{j<m} (γ₂ + n + j)(β₂ + j)/(Wβ₂ + n + j)`, n being the
    document's other own tokens. One by one, the first could not go there and the rest follow it.
    """
    gamma, beta, total = priors
    c: Any = min(np.int64(count), np.int64(_WEIGHED_TOGETHER))
    term, norm, mean = 1.0, 1.0, 0.0
    for j in range(c):
        odds = (gamma + others + j) * (beta + j) / ((total + others + j) * elsewhere)
        term *= odds * (c - j) / (j + 1.0)
        norm += term
        mean += term * (j + 1)
        if norm > 1e250:
            term, norm, mean = term * 1e-250, norm * 1e-250, mean * 1e-250
    return mean / (norm * c)


@fast_kernel
def infer(
    bounds: Ints,
    words: tuple[Ids, Ids],
    model: tuple[NDArray[np.float32], Floats],
    priors: tuple[Floats, Floats, Any],
    switch: bool,
    until: tuple[Any, Int],
    out: tuple[NDArray[np.float32], NDArray[np.float32], Floats],
) -> None:
    """Work out topics and shares of documents, and how much of each word is the document's own.

    `until` is the change of the topics' shares at which a document is done, and the most
    iterations.
    """
    rows, counts = words
    word_topics, background = model
    alpha, gamma, beta_own = priors
    tolerance, most = until
    topics, shares, own = out
    n_rows, width = word_topics.shape
    alpha_sum = alpha.sum()
    mass = np.empty(width, np.float32)
    weights = np.empty(width, np.float32)
    for doc in range(len(bounds) - 1):
        start, stop = bounds[doc], bounds[doc + 1]
        n_tokens = np.float32(0.0)
        n_known = np.float32(0.0)
        for j in range(start, stop):
            n_tokens += counts[j]
            if rows[j] >= 0:
                n_known += counts[j]
        if n_tokens == 0 or (n_known == 0 and not switch):
            continue
        # By route: topic, own, background. A word that the model does not know can only be own.
        routes = np.array([n_known, n_tokens - n_known, 0.0], np.float32)
        by_route = np.zeros((stop - start, 3), np.float32)
        for j in range(start, stop):
            by_route[j - start, 0 if rows[j] >= 0 else 1] = 1.0
        for k in range(width):
            mass[k] = alpha[k] * n_known / alpha_sum
        for _ in range(most):
            for k in range(width):
                weights[k] = alpha[k] + mass[k]
            previous = mass.copy()
            mass[:] = 0
            now = np.zeros(3, np.float32)
            for j in range(start, stop):
                row, share = rows[j], by_route[j - start]
                count = np.float32(counts[j])
                if row < 0:
                    now[1] += count * share[1]
                    continue
                explained = _dot(weights, word_topics[row])
                if switch:
                    others = routes[0] - count * share[0]
                    by_topic = explained * (gamma[0] + others) / (alpha_sum + routes[0])
                    behind = (gamma[2] + routes[2] - count * share[2]) * background[row]
                    share[1] = _own_share(
                        count,
                        by_topic + behind,
                        max(routes[1] - count * share[1], np.float32(0.0)),
                        (gamma[1], beta_own, n_rows * beta_own),
                    )
                    share[0] = (1 - share[1]) * by_topic / (by_topic + behind)
                    share[2] = 1 - share[0] - share[1]
                    now[1] += count * share[1]
                    now[2] += count * share[2]
                now[0] += count * share[0]
                if explained > 0:
                    _add_product(mass, weights, word_topics[row], count * share[0] / explained)
            routes = now
            change = np.float32(0.0)
            for k in range(width):
                change += abs(mass[k] - previous[k])
            if change <= tolerance * n_tokens:
                break
        for k in range(width):
            topics[doc, k] = (alpha[k] + mass[k]) / (alpha_sum + routes[0])
        for j in range(start, stop):
            if switch and routes[1] > 0:
                own[j] = counts[j] * by_route[j - start, 1] / routes[1]
        if switch:
            for x in range(3):
                shares[doc, x] = routes[x] / n_tokens
        else:
            shares[doc, 0] = 1
