"""Which documents are like this one, by simpler ways that others are measured against?

Baselines of the decomposition paper (section 5.2): the best words of a document as a query, and
these mixed with topics. (`hashed` has another; the whole document as a query is every search by
words.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError
from likewise.like.components import EncodedQuery, Encoder
from likewise.like.hybrid import Likeness
from likewise.models.model import Weights
from likewise.models.stored_vectors import vectors_of
from likewise.records import Part
from likewise.retrieve.documents import (
    ByExample,
    Whole,
    WordQuery,
    rank_examples,
    weigh_terms,
)
from likewise.retrieve.models import TFIDF
from likewise.retrieve.question import Example
from likewise.retrieve.words import retriever_of
from likewise.stages.stage import Context, Result, Stage

# How deep candidates are looked for on each side.
_LEAST_DEPTH = 1000


@dataclass(frozen=True)
class TopN(Stage):
    """The `words` of a document with the largest TF-IDF weights, as a query (Yang et al. 2009).

    A score is the cosine of these words' TF-IDF vector with a document's whole one.
    """

    words: int = 15
    notation: ClassVar[str] = "topn"
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.words < 1:
            raise UsageError(f"{self}: words must be 1 or more")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for the documents of each query; earlier rankings are replaced."""
        return rank_examples(self, top_n(context.snapshot, self), batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0


@dataclass(frozen=True)
class TopNTopics(Stage):
    """The best words mixed with topics: `(1 - weight) · words + weight · topics`.

    After Wei and Croft (2006), of whom the paper takes the linear mix but neither its weight nor
    its scale. Here both sides are 1 for the document itself: the words' cosine is divided by the
    one that the document itself would get (one that says little else may get more), topics are
    compared as `Likeness` does. `model` is the name of a stored model, "" the one fitted last.
    """

    words: int = 15
    weight: float = 0.5
    model: str = ""
    notation: ClassVar[str] = "topn-lda"
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.words < 1 or not 0 <= self.weight <= 1:
            raise UsageError(f"{self}: words must be 1 or more, weight from 0 to 1")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for the documents of each query; earlier rankings are replaced."""
        return rank_examples(self, top_n_topics(context.snapshot, self), batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0


def top_n(collection: Snapshot, config: TopN = TopN()) -> Whole:
    """Rank by the best words of the document as the query, by TF-IDF."""
    return Whole(retriever_of(collection, TFIDF()), words=config.words)


def top_n_topics(collection: Snapshot, config: TopNTopics) -> TopNTopicsRanker:
    """Rank by the best words mixed with the topics of a stored model."""
    topics = Likeness(Encoder(vectors_of(collection, config.model)), Weights(1.0, 0.0))
    return collection.memo(("like", config), lambda: TopNTopicsRanker(collection, config, topics))


class Mixed(NamedTuple):
    """A document in hand: its best words, what these are multiplied by, and its topics."""

    words: WordQuery
    scale: float
    topics: EncodedQuery


class TopNTopicsRanker(ByExample[Mixed]):
    """The best words of the document mixed with its topics.

    Candidates are the best by words and the best by topics, a thousand each at least. `name`
    gives a topic's name in explanations.
    """

    def __init__(
        self,
        collection: Snapshot,
        config: TopNTopics,
        likeness: Likeness,
        *,
        name: Callable[[int], str] = "topic {}".format,
    ) -> None:
        self.config = config
        self.collection = collection
        self._words = top_n(collection, TopN(config.words))
        self._topics = Likeness(likeness.encoder, Weights(1.0, 0.0))
        self._name = name

    def take(self, example: Example) -> Mixed:
        """Give the best words, scaled so that the document itself would get 1, and the topics."""
        asked = self._topics.encoder.encode(*example)
        _, _, weights = weigh_terms(self.collection, example.counts)
        squares = np.sort(np.square(weights))[::-1]
        share = float(squares[: self.config.words].sum() / (squares.sum() or 1.0))
        scale = (1 - self.config.weight) / np.sqrt(share) if share else 0.0
        return Mixed(self._words.take(example), float(scale), asked)

    def find(self, taken: Mixed, n: int, allowed: Sequence[Bools | None] | None) -> Ints:
        """Find the best of both sides."""
        n = max(n, _LEAST_DEPTH)
        by_words = self._words.find(taken.words, n, allowed)
        by_topics = self._topics.rank(taken.topics, k=n, candidates=n, allowed=allowed)[0].docs
        return np.union1d(by_words, by_topics)

    def score(self, taken: Mixed, docs: Ints) -> Doubles:
        """Score documents by both sides."""
        topics = self._topics.dense.score(taken.topics, docs)
        words = self._words.score(taken.words, docs)
        return taken.scale * words + self.config.weight * topics

    def split(self, taken: Mixed, docs: Ints) -> list[list[Part]]:
        """Split scores by words and topics."""
        found = []
        for doc, words in zip(docs.tolist(), self._words.split(taken.words, docs), strict=True):
            parts = [part._replace(score=taken.scale * part.score) for part in words]
            topics = self.config.weight * self._topics.parts(taken.topics, doc).topics
            for i in np.flatnonzero(topics).tolist():
                parts.append(Part("topic", self._name(i), float(topics[i])))
            found.append(parts)
        return found
