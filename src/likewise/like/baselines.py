"""Which documents are like this one, by the simpler ways that others are measured against?

The baselines of the decomposition paper (section 5.2): the whole document as a query, its best
words as a query, and these mixed with topics. (`hashed` has the fourth.) All go by one scheme: each
document in hand finds candidates by itself, then every candidate is scored for every document in
hand, from its forward record. So an explanation always adds up to the score, however deep the
candidates were looked for.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from likewise import notation
from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Floats, Ids, Int, Ints, kernel
from likewise.errors import UsageError
from likewise.like.likeness import Likeness
from likewise.like.question import AGAINST, Example, Question
from likewise.like.store import Weights
from likewise.like.view import Asked
from likewise.neighbours.coded import score_points
from likewise.records import Ranking
from likewise.retrieve.explain import Part, explain
from likewise.retrieve.impacts import impact
from likewise.retrieve.models import TFIDF, idf
from likewise.retrieve.search import Retriever

# How deep candidates are looked for where no single ranking is the answer.
_LEAST_DEPTH, _DEPTH_FACTOR = 1000, 10
_DOCS_AT_ONCE = 4096

Taken = TypeVar("Taken")


@dataclass(frozen=True)
class TopN:
    """The `words` of a document with the largest TF-IDF weights, as a query (Yang et al. 2009).

    A score is the cosine of these words' TF-IDF vector with a document's whole one.
    """

    words: int = 15
    notation: ClassVar[str] = "topn"

    def __post_init__(self) -> None:
        if self.words < 1:
            raise UsageError(f"{self}: words must be 1 or more")

    def __str__(self) -> str:
        return notation.write(self)


@dataclass(frozen=True)
class TopNTopics:
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

    def __post_init__(self) -> None:
        if self.words < 1 or not 0 <= self.weight <= 1:
            raise UsageError(f"{self}: words must be 1 or more, weight from 0 to 1")

    def __str__(self) -> str:
        return notation.write(self)


class ByExample(ABC, Generic[Taken]):
    """A ranker that works on one document in hand at a time; safe to use from several threads."""

    @abstractmethod
    def take(self, example: Example) -> Taken:
        """Make of a document in hand what others are compared with."""

    @abstractmethod
    def find(self, taken: Taken, n: int, allowed: Sequence[Bools] | None) -> Ints:
        """Find at least the n best documents, where there are as many, in any order."""

    @abstractmethod
    def score(self, taken: Taken, docs: Ints) -> Doubles:
        """Score documents."""

    @abstractmethod
    def split(self, taken: Taken, doc: int) -> list[Part]:
        """Split the score of a document."""

    def rank(
        self,
        questions: Sequence[Question],
        *,
        k: int,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> list[Ranking]:
        """Find the k best documents for each question, without its own documents.

        Answers to several documents are among the best for each of `like`, a thousand at least.
        Documents that score 0 are no answers.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        if threads < 0:
            raise UsageError(f"threads must be at least 1, or 0 for all cores, not {threads}")

        def one(question: Question) -> Ranking:
            return self._rank(question, k, allowed)

        if threads == 1 or len(questions) < 2:
            return [one(question) for question in questions]
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            return list(pool.map(one, questions))

    def explain(
        self,
        question: Question,
        doc: int,
        *,
        k: int = 10,
        allowed: Sequence[Bools] | None = None,
    ) -> list[Part]:
        """Split the score of a document into parts that add up to it, the largest first."""
        totals: dict[str, float] = {}
        for example, weight in combine(question):
            for part in self.split(self.take(example), doc):
                totals[part.term] = totals.get(part.term, 0.0) + weight * part.score
        parts = [Part(term, score) for term, score in totals.items() if score]
        return sorted(parts, key=lambda part: (-abs(part.score), part.term))

    def _rank(self, question: Question, k: int, allowed: Sequence[Bools] | None) -> Ranking:
        own = question.docs
        n = k if len(question.examples) == 1 else max(_LEAST_DEPTH, _DEPTH_FACTOR * k)
        taken = [(self.take(example), weight) for example, weight in combine(question)]
        found = [self.find(one, n + len(own), allowed) for one, weight in taken if weight > 0]
        docs = np.setdiff1d(np.concatenate([*found, np.empty(0, np.int64)]), own)
        scores = np.zeros(len(docs))
        for one, weight in taken:
            scores += weight * self.score(one, docs)
        docs, scores = docs[scores != 0], scores[scores != 0]
        order = np.lexsort((docs, -scores))[:k]
        return Ranking(docs[order], scores[order])


def combine(question: Question) -> list[tuple[Example, float]]:
    """Give the documents in hand with what each one's scores count for: see `Ranker.rank`."""
    like, unlike = question.like, question.unlike
    out = [(example, 1 / len(like)) for example in like]
    return out + [(example, -AGAINST / len(unlike)) for example in unlike]


# By words

WordQuery = Mapping[str, float]


class Whole(ByExample[WordQuery]):
    """The document as the query, by any model of retrieval; with `words`, only the best of it.

    By `TFIDF` that is the cosine of TF-IDF vectors, the paper's first baseline.
    """

    def __init__(self, retriever: Retriever, *, words: int = 0) -> None:
        self.retriever = retriever
        self.collection = retriever.collection
        self.words = words

    def take(self, example: Example) -> WordQuery:
        """Give the words with their counts."""
        return words_of(self.collection, example.counts, self.words)

    def find(self, taken: WordQuery, n: int, allowed: Sequence[Bools] | None) -> Ints:
        """Find the best by the inverted index."""
        return self.retriever.rank([taken], k=n, allowed=allowed)[0].docs

    def score(self, taken: WordQuery, docs: Ints) -> Doubles:
        """Score documents by their forward records, with the bits that a search would give."""
        _, terms, weights, factors, shares = self.retriever.weigh([taken])
        order = np.argsort(terms)
        query = (terms[order], order, weights, factors)
        model = (self.retriever.model.impact, shares[0])
        scores = np.empty(len(docs))
        for start in range(0, len(docs), _DOCS_AT_ONCE):
            block = docs[start : start + _DOCS_AT_ONCE]
            out = scores[start : start + _DOCS_AT_ONCE]
            counts = self.collection.term_counts(block)
            score_counts(counts, query, model, self._norms[block], out)
        return scores

    def split(self, taken: WordQuery, doc: int) -> list[Part]:
        """Split a score by words."""
        return explain(self.retriever, taken, doc)

    @cached_property
    def _norms(self) -> Floats:
        model = self.retriever.model
        norms = [model.norms(segment, self.collection) for segment in self.collection.segments]
        return np.concatenate([*norms, np.empty(0, np.float32)])


def top_n(collection: Snapshot, config: TopN = TopN()) -> Whole:
    """Rank by the best words of the document as the query, by TF-IDF."""
    return Whole(Retriever(collection, TFIDF()), words=config.words)


def words_of(collection: Snapshot, counts: TermCounts, n: int = 0) -> dict[str, float]:
    """Give the known words of one document with their counts; with n, the best by TF-IDF alone.

    Of words with the same weight the first by the alphabet is the better.
    """
    terms, numbers, weights = _weighed(collection, counts)
    if n and len(terms) > n:
        keep = np.flatnonzero(weights >= np.partition(weights, -n)[-n])
        names = collection.terms(terms[keep])
        best = sorted(range(len(keep)), key=lambda i: (-weights[keep[i]], names[i]))[:n]
        return {names[i]: float(numbers[keep[i]]) for i in best}
    names = collection.terms(terms)
    return dict(zip(names, numbers.astype(np.float64).tolist(), strict=True))


def _weighed(collection: Snapshot, counts: TermCounts) -> tuple[Ints, Ids, Doubles]:
    """Give the terms of a document that are searched for, their counts and TF-IDF weights."""
    known = counts.terms < collection.n_terms
    terms, numbers = counts.terms[known].astype(np.int64), counts.counts[known]
    doc_freqs, term_freqs = collection.frequencies(terms)
    there = collection.admitted(doc_freqs, term_freqs)
    terms, numbers = terms[there], numbers[there]
    weights = (1 + np.log(numbers)) * idf(collection.n_docs, doc_freqs[there])
    return terms, numbers, weights


@kernel
def score_counts(
    counted: TermCounts,
    query: tuple[Ints, Ints, Floats, Floats],
    model: tuple[Int, Any],
    norms: Floats,
    out: Doubles,
) -> None:
    """Score documents given by their term counts.

    `query` is its terms, ascending, the place of each in the order in which a search adds up, and
    in that order weights and factors; `model` the kind of impact and the share of the documents'
    own part. Equals for each document `(weights * impact(kind, counts, norm, factors)).sum()`
    over shared terms plus `share * norm`.
    """
    bounds, doc_terms, counts = counted
    terms, places, weights, factors = query
    kind, share = model
    parts = np.empty(len(weights), np.float32)
    for i in range(len(bounds) - 1):
        parts[:] = 0
        at = 0
        for j in range(bounds[i], bounds[i + 1]):
            term = np.int64(doc_terms[j])
            while at < len(terms) and terms[at] < term:
                at += 1
            if at == len(terms):
                break
            if terms[at] == term:
                place = places[at]
                value = impact(kind, np.float32(counts[j]), norms[i], factors[place])
                parts[place] = weights[place] * value
        total = np.float32(0)
        for place in range(len(parts)):
            total += parts[place]
        if share != 0:
            total = np.float32(total + share * norms[i])
        out[i] = total


# By words and topics


class Mixed(NamedTuple):
    """A document in hand: its best words, what these are multiplied by, and its topics."""

    words: WordQuery
    scale: float
    topics: Asked


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
        self._topics = Likeness(likeness.view, Weights(points=1.0, words=0.0))
        self._name = name

    def take(self, example: Example) -> Mixed:
        """Give the best words, scaled so that the document itself would get 1, and the topics."""
        asked = self._topics.view.ask(*example)
        _, _, weights = _weighed(self.collection, example.counts)
        squares = np.sort(np.square(weights))[::-1]
        share = float(squares[: self.config.words].sum() / (squares.sum() or 1.0))
        scale = (1 - self.config.weight) / np.sqrt(share) if share else 0.0
        return Mixed(self._words.take(example), float(scale), asked)

    def find(self, taken: Mixed, n: int, allowed: Sequence[Bools] | None) -> Ints:
        """Find the best of both sides."""
        n = max(n, _LEAST_DEPTH)
        by_words = self._words.find(taken.words, n, allowed)
        by_topics = self._topics.rank([taken.topics], k=n, depth=n, allowed=allowed)[0].docs
        return np.union1d(by_words, by_topics)

    def score(self, taken: Mixed, docs: Ints) -> Doubles:
        """Score documents by both sides."""
        topics = np.zeros(len(docs))
        bases = self.collection.bases
        owners = np.searchsorted(bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            places = np.flatnonzero(owners == i)
            lot = self._topics.view.lots[i]
            part = np.empty(len(places))
            score_points(docs[places] - bases[i], lot.codes, lot.scales, taken.topics.point, part)
            topics[places] = part
        words = self._words.score(taken.words, docs)
        return taken.scale * words + self.config.weight * topics

    def split(self, taken: Mixed, doc: int) -> list[Part]:
        """Split a score by words and topics."""
        words = [
            Part(part.term, taken.scale * part.score)
            for part in self._words.split(taken.words, doc)
        ]
        topics = self.config.weight * self._topics.parts(taken.topics, doc).topics
        used = np.flatnonzero(topics).tolist()
        return words + [Part(self._name(i), float(topics[i])) for i in used]
