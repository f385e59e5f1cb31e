"""Why is this document like the one in hand? Parts that add up to the score, and passages.

Own words that both have are parts as they are. The compact half is split by topics where there
are any, and else by the words of the question: its vector is a sum over its words, so that each
has its part of the inner product, and behind it stand the words of the document that are related.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise.collection.build import content
from likewise.collection.records import TermCounts
from likewise.compiled import Doubles, Ints
from likewise.like.carried import Carried, Sum, add, as_sum, by_word, word_shares
from likewise.like.likeness import Likeness, Parts
from likewise.like.passages import (
    PASSAGES,
    Passage,
    Share,
    Stretch,
    find_passages,
    find_sentences,
    find_stretches,
)
from likewise.like.view import Asked
from likewise.models.reading import relevant_rows
from likewise.models.subspace import Subspace
from likewise.models.surfaces import readable_terms, surface_words
from likewise.models.topics import TopicModel
from likewise.records import Part
from likewise.retrieve.question import AGAINST, Question

# What halves of a score are called, and parts that no word stands for.
RELATED, OWN = "related words", "own words"
VECTORS, ROUNDING, BEYOND = "vectors", "rounding", "nearest answers"
_TOPIC_WORDS = 6
_NAMED_BY = 3
_PAIRED = 20
_PAIRS = 3
_NAMED = 500
# A question's vector is in single precision.
_LEAST_BEYOND = 1e-4


class TopicReason(NamedTuple):
    """What a topic that both have gives to a score, and the topic's telling words."""

    number: int
    label: str
    words: tuple[str, ...]
    score: float


class WordReason(NamedTuple):
    """What a word gives to a score."""

    term: str
    word: str
    score: float


class TermReason(NamedTuple):
    """What a word of the question gives to the compact half of a score.

    `pairs` are the strongest of the document's words behind it and `others` all its other words;
    what is missing to the score is the rounding of the document's stored vector. A part that no
    word stands for has the term "".
    """

    term: str
    word: str
    score: float
    pairs: tuple[WordReason, ...] = ()
    others: float = 0.0

    @property
    def rounding(self) -> float:
        """What pairs and others leave."""
        return self.score - self.others - sum(pair.score for pair in self.pairs)


@dataclass(frozen=True)
class Reasons:
    """Why an answer is like the question: topics (or terms) and own words add up to the score.

    Parts are ordered by magnitude; one below zero speaks against the answer. `answer_words` and
    `question_words` are what the terms of either side carry, for colouring texts.
    """

    score: float
    topics: tuple[TopicReason, ...] = ()
    terms: tuple[TermReason, ...] = ()
    own: tuple[WordReason, ...] = ()
    passages: tuple[Passage, ...] = ()
    question_passages: tuple[Passage, ...] = ()
    answer_words: Mapping[str, Share] = field(default_factory=dict)
    question_words: Mapping[str, Share] = field(default_factory=dict)

    @property
    def parts(self) -> list[Part]:
        """All parts of the score, the largest first."""
        return _sorted([part for _, parts in self.by_half() for part in parts])

    def by_half(self) -> list[tuple[str, list[Part]]]:
        """Give the parts of each half that there is under its name, the largest first."""
        spoken = any(term.term for term in self.terms)
        halves = [
            ("topics", [Part("topic", name_of(topic), topic.score) for topic in self.topics]),
            (
                RELATED if spoken else VECTORS,
                [Part("word" if t.term else "rest", _related(t), t.score) for t in self.terms],
            ),
            (OWN, [Part("word", word.word, word.score) for word in self.own]),
        ]
        return [(name, _sorted(parts)) for name, parts in halves if parts]

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "score": self.score,
            "topics": [topic._asdict() | {"words": [*topic.words]} for topic in self.topics],
            "terms": [
                term._asdict() | {"pairs": [pair._asdict() for pair in term.pairs]}
                for term in self.terms
            ],
            "own": [word._asdict() for word in self.own],
            "passages": [passage.to_json() for passage in self.passages],
            "question_passages": [passage.to_json() for passage in self.question_passages],
        }


def name_of(topic: TopicReason) -> str:
    """Name a topic by its label, or by its first words."""
    return topic.label or f"topic {topic.number} ({', '.join(topic.words[:_NAMED_BY])})"


def _related(term: TermReason) -> str:
    pairs = ", ".join(pair.word for pair in term.pairs)
    return f"{term.word} ~ {pairs}" if pairs else term.word


def _sorted(parts: list[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (-abs(part.score), part.name))


class Reasoner:
    """Says why documents are like what was asked; words of topics are looked up once.

    `against` is what `unlike` weighed when the question was mixed.
    """

    def __init__(self, likeness: Likeness, *, against: float = AGAINST) -> None:
        self.likeness = likeness
        self.against = against
        self.collection = likeness.collection
        self.model = likeness.view.model

    def explain(
        self,
        question: Question,
        asked: Asked,
        docs: Iterable[int],
        *,
        text: str = "",
        passages: int = PASSAGES,
    ) -> list[Reasons]:
        """Say why each document is like what was asked: `asked` is the question as it was mixed.

        `text` is that of the question where it is one text that the collection does not have.
        """
        told = self._take(question, asked, text)
        return [self._explain(told, doc, passages) for doc in docs]

    @cached_property
    def _topic_words(self) -> list[tuple[str, ...]]:
        assert isinstance(self.model, TopicModel)
        numbers = np.arange(self.model.width)
        rows = relevant_rows(self.model, self.collection, numbers, n=_TOPIC_WORDS)
        known = np.asarray(self.model.vocabulary.terms)
        terms = [self.collection.terms(known[mine]) for mine in rows]
        readable = readable_terms(self.collection, [term for mine in terms for term in mine])
        return [tuple(readable[term] for term in mine) for mine in terms]

    # The question

    def _take(self, question: Question, asked: Asked, text: str) -> _Told:
        weights = [1 / len(question.like) for _ in question.like]
        weights += [-self.against / len(question.unlike) for _ in question.unlike]
        told = _Told(question, asked, weights, text)
        if not text and len(question.like) == 1 and question.like[0].doc >= 0:
            document = self.collection.document(question.like[0].doc)
            told.text, told.skip = content(document), len(document.title)
        sentences = find_sentences(told.text)
        told.stretches = find_stretches(sentences, self.collection.analyzer)
        if isinstance(self.model, TopicModel):
            told.asks = [self.likeness.view.ask(e.counts) for e in question.examples]
            told.shares = [word_shares(self.model, e.counts) for e in question.examples]
        elif isinstance(self.model, Subspace):
            told.asks = [self.likeness.view.ask(e.counts) for e in question.examples]
            told.sum = self._sum(told)
            told.surfaces = self._surfaces(told)
        return told

    def _sum(self, told: _Told) -> Sum:
        assert isinstance(self.model, Subspace)
        sums = []
        for example, ask, weight in zip(
            told.question.examples, told.asks, told.weights, strict=True
        ):
            one = as_sum(self.model, example.counts, float(np.linalg.norm(ask.point)))
            sums.append(one._replace(weights=one.weights * weight))
        return add(sums)

    def _surfaces(self, told: _Told) -> dict[str, str]:
        """Map the question's terms to words of its texts, or of the collection if it lacks one."""
        assert told.sum is not None
        docs = [example.doc for example in told.question.examples]
        texts = [content(self.collection.document(doc)) for doc in docs if doc >= 0]
        n_texts = len(texts) + bool(told.text and told.question.like[0].doc < 0)
        texts += [told.text] if n_texts > len(texts) else []
        found = surface_words(texts, self.collection.analyzer) if texts else {}
        if n_texts == len(docs):
            return found
        order = np.argsort(-np.abs(told.sum.weights), kind="stable")[:_NAMED]
        strong = self.collection.terms(told.sum.terms[order])
        return readable_terms(self.collection, strong) | found

    # An answer

    def _explain(self, told: _Told, doc: int, n_passages: int) -> Reasons:
        parts = self.likeness.parts(told.asked, doc)
        counts = self.collection.term_counts(np.array([doc]))
        document = self.collection.document(doc)
        analyzer = self.collection.analyzer
        here = _Here(doc, parts, counts, surface_words([content(document)], analyzer))
        topics: tuple[TopicReason, ...] = ()
        terms: tuple[TermReason, ...] = ()
        mine = its = _NOTHING
        if isinstance(self.model, TopicModel):
            topics = self._topics(parts)
            mine, its = self._topic_sides(told, here)
        elif isinstance(self.model, Subspace):
            terms, mine, its = self._terms(told, here)
        elif parts.topics.any():
            terms = (TermReason("", VECTORS, float(parts.topics.sum())),)
        answer_words, question_words = self._shares(its, parts), self._shares(mine, parts)
        stretches = find_stretches(self.collection.sentences(doc), analyzer)
        return Reasons(
            score=parts.score,
            topics=topics,
            terms=terms,
            own=self._own(here),
            passages=find_passages(stretches, answer_words, n=n_passages, skip=len(document.title)),
            question_passages=find_passages(
                told.stretches, question_words, n=n_passages, skip=told.skip
            ),
            answer_words=answer_words,
            question_words=question_words,
        )

    def _own(self, here: _Here) -> tuple[WordReason, ...]:
        order = _by_magnitude(here.parts.words)
        terms = self.collection.terms(here.parts.terms[order])
        scores = here.parts.words[order].tolist()
        return tuple(
            WordReason(term, here.surfaces.get(term, term), score)
            for term, score in zip(terms, scores, strict=True)
        )

    def _topics(self, parts: Parts) -> tuple[TopicReason, ...]:
        assert isinstance(self.model, TopicModel)
        labels: Sequence[str] = self.model.labels or [""] * self.model.width
        return tuple(
            TopicReason(k, labels[k], self._topic_words[k], float(parts.topics[k]))
            for k in _by_magnitude(parts.topics).tolist()
        )

    def _topic_sides(self, told: _Told, here: _Here) -> tuple[Carried, Carried]:
        assert isinstance(self.model, TopicModel)
        stored = self._stored(here.doc)
        rows = [
            shares * (weight * ask.point * stored)
            for shares, ask, weight in zip(told.shares, told.asks, told.weights, strict=True)
        ]
        terms = np.concatenate([example.counts.terms for example in told.question.examples])
        its = word_shares(self.model, here.counts) * here.parts.topics
        return by_word(terms, np.concatenate(rows)), by_word(here.counts.terms, its)

    def _terms(self, told: _Told, here: _Here) -> tuple[tuple[TermReason, ...], Carried, Carried]:
        """Split the compact half by the question's words; give what words of both sides carry."""
        assert isinstance(self.model, Subspace)
        assert told.sum is not None
        weights, vectors = told.sum.weights, told.sum.vectors
        stored = self._stored(here.doc)
        scores = weights * (vectors @ stored)
        its = as_sum(self.model, here.counts, float(np.linalg.norm(stored)))
        order = _by_magnitude(scores)
        names = self.collection.terms(told.sum.terms[order])
        words = [told.surfaces.get(name, here.surfaces.get(name, name)) for name in names]
        its_names = self.collection.terms(its.terms)
        found = []
        whole = its.vector
        for place, (i, name, word) in enumerate(zip(order.tolist(), names, words, strict=True)):
            pairs: tuple[WordReason, ...] = ()
            all_pairs = float(weights[i] * (vectors[i] @ whole))
            if place < _PAIRED:
                each = weights[i] * (its.vectors @ vectors[i]) * its.weights
                # Those that speak for the word's part: the others are what they outweigh.
                signed = each if scores[i] > 0 else -each
                best = [j for j in np.argsort(-signed, kind="stable")[:_PAIRS] if signed[j] > 0]
                pairs = tuple(
                    WordReason(n, here.surfaces.get(n, n), float(each[j]))
                    for j in best
                    for n in [its_names[j]]
                )
            others = all_pairs - sum(pair.score for pair in pairs)
            found.append(TermReason(name, word, float(scores[i]), pairs, others))
        rest = float(here.parts.topics.sum()) - sum(term.score for term in found)
        if rest:
            beyond = np.linalg.norm(told.asked.point - told.sum.vector)
            much = beyond > _LEAST_BEYOND * np.linalg.norm(told.asked.point)
            found.append(TermReason("", BEYOND if much else ROUNDING, rest))
            found.sort(key=lambda term: -abs(term.score))
        none = np.full(len(scores), -1)
        carried = its.weights * (its.vectors @ told.asked.point)
        return (
            tuple(found),
            Carried(told.sum.terms, scores, none),
            Carried(its.terms, carried, np.full(len(carried), -1)),
        )

    def _stored(self, doc: int) -> Doubles:
        """Give the stored vector of a document, weighed as its half is."""
        ones = Asked(np.ones(self.model.width), _NOTHING.terms, _NOTHING.scores)
        return self.likeness.parts(ones, doc).topics

    def _shares(self, carried: Carried, parts: Parts) -> dict[str, Share]:
        terms = np.union1d(carried.terms, parts.terms)
        own, compact = np.zeros(len(terms)), np.zeros(len(terms))
        topics = np.full(len(terms), -1)
        own[np.searchsorted(terms, parts.terms)] = parts.words
        places = np.searchsorted(terms, carried.terms)
        compact[places], topics[places] = carried.scores, carried.topics
        used = np.flatnonzero((own != 0) | (compact != 0))
        names = self.collection.terms(terms[used])
        values = zip(own[used].tolist(), compact[used].tolist(), topics[used].tolist(), strict=True)
        return dict(zip(names, map(Share._make, values), strict=True))


_NOTHING = Carried(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


@dataclass
class _Told:
    """A question, taken apart once for all answers: its examples, and how each is weighed."""

    question: Question
    asked: Asked
    weights: list[float]
    text: str = ""
    skip: int = 0
    stretches: list[Stretch] = field(default_factory=list)
    surfaces: dict[str, str] = field(default_factory=dict)
    asks: list[Asked] = field(default_factory=list)
    shares: list[Doubles] = field(default_factory=list)
    sum: Sum | None = None


class _Here(NamedTuple):
    """An answer: its parts, its terms, and the words that they stand for in it."""

    doc: int
    parts: Parts
    counts: TermCounts
    surfaces: dict[str, str]


def _by_magnitude(scores: Doubles) -> Ints:
    order = np.argsort(-np.abs(scores), kind="stable")
    found: Ints = order[scores[order] != 0]
    return found
