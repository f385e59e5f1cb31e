"""Why documents are like the ones in hand: parts that add up to each score, and passages.

All answers are explained in one batch: their terms are read once, one product splits the dense part
of every score, and the words that parts are named by are looked up together, in the texts in hand
or else in the collection. The texts of answers are read when their passages are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ints
from likewise.like.components import EncodedQuery, Parts
from likewise.like.passages import TextWords
from likewise.like.term_numbers import TermNumbers
from likewise.models.attribution import (
    LEADING,
    Attribution,
    EncodedDocument,
    Shares,
    by_magnitude,
    merge_shares,
)
from likewise.models.surface_forms import readable_terms, surface_words
from likewise.models.triple import largest
from likewise.records import Explanation, Part, Passage, Topic, WordShares, in_order
from likewise.retrieve.question import Question

if TYPE_CHECKING:
    from likewise.like.hybrid import Likeness

# Groups of parts, and parts that no word stands for.
TOPICS, RELATED, SPECIFIC, WORDS = "topics", "related words", "specific words", "all words"
TITLES = "words of its title"
VECTORS, ROUNDING, FEEDBACK, OTHERS = "vectors", "rounding", "feedback documents", "other words"
_TOPIC_WORDS = 6
# A query's vector is in single precision.
_LEAST_FEEDBACK = 1e-4
# Makes a part of a tuple of its values: as `Part` does, in half the time.
_part: Callable[[tuple[str, str, float, tuple[Part, ...]]], Part] = partial(tuple.__new__, Part)


class LikeQuery(NamedTuple):
    """What was asked: the documents in hand, each as it was encoded, and all of them mixed.

    `asked` is what was compared in the end; `text` that of the query where it is one text that the
    collection does not have.
    """

    question: Question
    encoded: Sequence[EncodedDocument]
    asked: EncodedQuery
    text: str = ""


class ReadTexts:
    """Texts that were read: those that are given come first, then those of documents."""

    def __init__(self, snapshot: Snapshot, docs: Sequence[int], given: Sequence[str] = ()) -> None:
        documents = [snapshot.document(doc) for doc in docs]
        self.texts = [*given, *map(content, documents)]
        # Before these is a title.
        self._skips = [0] * len(given) + [len(one.title) for one in documents]
        self._snapshot = snapshot

    @cached_property
    def words(self) -> TextWords:
        """Their words."""
        return TextWords(self.texts, self._snapshot.analyzer, TermNumbers.of(self._snapshot))

    def passages(
        self, texts: Sequence[int], shares: Sequence[WordShares]
    ) -> list[tuple[Passage, ...]]:
        """Choose passages of texts, other than their titles."""
        return self.words.passages(texts, shares, skips=[self._skips[text] for text in texts])


class Explainer:
    """Explains scores of likeness; words of topics are looked up once."""

    def __init__(self, likeness: Likeness) -> None:
        self.likeness = likeness
        self.snapshot = likeness.collection
        self.model = likeness.encoder.model

    def explain(self, query: LikeQuery, docs: Ints) -> list[Explanation]:
        """Split the scores of documents."""
        if not len(docs):
            return []
        split = self.likeness.split(query.asked, docs)
        rows = self.likeness.weights.dense * self.likeness.rows(docs)
        counts = self.snapshot.term_counts(docs)
        told = self.model.attribute(query.encoded, query.asked.point, counts, rows)
        return _Reading(self, query, docs, split, told).explanations()

    @cached_property
    def topics(self) -> list[Topic]:
        """The names of the model's topics."""
        numbers, every = np.arange(self.model.width), np.ones(self.model.width)
        rows = self.model.distinctive_rows(self.snapshot, every, numbers, _TOPIC_WORDS)
        known = np.asarray(self.model.vocabulary.terms)
        terms = [self.snapshot.terms(known[mine]) for mine in rows]
        readable = readable_terms(self.snapshot, [term for mine in terms for term in mine])
        labels = self.model.labels or [""] * self.model.width
        return [
            Topic(i, labels[i], tuple(readable[term] for term in mine))
            for i, mine in enumerate(terms)
        ]


class _Reading:
    """The answers to one query: makes trees of their scores, and finds passages."""

    def __init__(
        self,
        explainer: Explainer,
        query: LikeQuery,
        docs: Ints,
        split: Sequence[Parts],
        told: Sequence[Attribution],
    ) -> None:
        self.explainer = explainer
        self.snapshot = explainer.snapshot
        self.query = query
        self.docs = docs
        self.split = split
        self.told = told

    @property
    def shown(self) -> bool:
        """Whether the query is one text, whose passages can be shown: then it is in hand."""
        question, given = self.query.question, bool(self.query.text)
        return len(question.like) == 1 and (given or question.examples[0].doc >= 0)

    @cached_property
    def in_hand(self) -> ReadTexts:
        """The texts in hand, as far as there are any."""
        given = [self.query.text] * bool(self.query.text)
        docs = [one.doc for one in self.query.question.examples[len(given) :] if one.doc >= 0]
        return ReadTexts(self.snapshot, docs, given)

    @cached_property
    def answers(self) -> ReadTexts:
        """The texts of the answers."""
        return ReadTexts(self.snapshot, self.docs.tolist())

    @cached_property
    def answer_words(self) -> list[WordShares]:
        """What the words of each answer give."""
        both = zip(self.told, self.split, strict=True)
        return [_merged(told.answer, split) for told, split in both]

    @cached_property
    def query_words(self) -> list[WordShares]:
        """What the words of the query give to each answer."""
        both = zip(self.told, self.split, strict=True)
        return [_merged(told.query, split) for told, split in both]

    @cached_property
    def passages(self) -> list[tuple[Passage, ...]]:
        """The passages of each answer that give most."""
        return self.answers.passages(range(len(self.docs)), self.answer_words)

    @cached_property
    def query_passages(self) -> list[tuple[Passage, ...]]:
        """The passages of the query that give most to each answer, where it is one text."""
        if not self.shown:
            return [()] * len(self.docs)
        return self.in_hand.passages([0] * len(self.docs), self.query_words)

    def explanations(self) -> list[Explanation]:
        """Give the trees of the answers' scores."""
        leading = _leading(self.split)
        names = self._names(leading)
        found: list[Explanation] = []
        for i, (split, told) in enumerate(zip(self.split, self.told, strict=True)):
            groups = [
                *self._dense(told, float(split.topics.sum()), names),
                *_by_words(SPECIFIC, split.specific, leading[3 * i], names),
                *_by_words(WORDS, split.words, leading[3 * i + 1], names),
                *_by_words(TITLES, split.titles, leading[3 * i + 2], names),
            ]
            found.append(Explanation(split.score, in_order(groups), LikeEvidence(self, i)))
        return found

    def _names(self, leading: Sequence[_Leading]) -> Mapping[int, str]:
        """Give the words that the terms of parts stand for: in the texts in hand, or elsewhere."""
        wanted = [np.array([term for each in leading for term in each.terms], np.int64)]
        for query, _, _, pairs in self.told:
            if pairs is not None:
                wanted += [query.terms[pairs.words], pairs.terms[pairs.scores != 0]]
        numbers = np.unique(np.concatenate(wanted))
        terms = self.snapshot.terms(numbers)
        words = surface_words(self.in_hand.texts, self.snapshot.analyzer, {*terms})
        missing = [term for term in terms if term not in words]
        words |= readable_terms(self.snapshot, missing)
        return {number: words[term] for number, term in zip(numbers.tolist(), terms, strict=True)}

    def _dense(self, told: Attribution, dense: float, names: Mapping[int, str]) -> Iterator[Part]:
        if len(told.topics):
            topics, order = self.explainer.topics, by_magnitude(told.topics).tolist()
            scores = told.topics.tolist()
            parts = [Part("topic", str(topics[k]), scores[k]) for k in order]
            yield from _group(TOPICS, parts, dense)
        elif told.pairs is not None:
            yield from _group(RELATED, [*self._related(told, dense, names)], dense)
        elif dense:
            yield Part("group", VECTORS, dense, (Part("rest", VECTORS, dense),))

    def _related(self, told: Attribution, dense: float, names: Mapping[int, str]) -> Iterator[Part]:
        """Split a dense score by the leading words of the query, and these by the words behind."""
        assert told.pairs is not None
        (terms, scores, _), (words, behind, pairs) = told.query, told.pairs
        rest = dense
        if self._by_feedback:
            rest = float(scores.sum())
        left = rest
        columns = (terms[words], scores[words], behind, pairs)
        for term, score, its, gives in zip(*(each.tolist() for each in columns), strict=True):
            inner = [_part(("word", names[t], s, ())) for t, s in zip(its, gives, strict=True) if s]
            inner.append(_part(("rest", OTHERS, score - sum(gives), ())))
            yield _part(("word", names[term], score, tuple(inner)))
            left -= score
        if dense != rest:
            yield Part("rest", FEEDBACK, dense - rest)
        if left:
            yield Part("rest", OTHERS if np.count_nonzero(scores) > len(words) else ROUNDING, left)

    @cached_property
    def _by_feedback(self) -> bool:
        """Whether feedback documents turned the vector, and not only rounding did."""
        asked = self.query.asked.point
        mixed = sum(one.weight * one.point for one in self.query.encoded)
        apart = np.linalg.norm(asked - mixed)
        return bool(apart > _LEAST_FEEDBACK * np.linalg.norm(asked))


class LikeEvidence:
    """The words and passages of the query's text and of one answer's that give its score."""

    def __init__(self, reading: _Reading, i: int) -> None:
        self._reading = reading
        self._i = i

    @property
    def topics(self) -> Sequence[Topic]:
        """The names of topics by number, where the score splits by such."""
        told = self._reading.told[self._i]
        return self._reading.explainer.topics if len(told.topics) else ()

    @property
    def answer_words(self) -> WordShares:
        """What the words of the answer give."""
        return self._reading.answer_words[self._i]

    @property
    def query_words(self) -> WordShares:
        """What the words of the query give."""
        return self._reading.query_words[self._i]

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages of the answer that give most."""
        return self._reading.passages[self._i]

    @property
    def query_passages(self) -> tuple[Passage, ...]:
        """The passages of the query that give most, where it is one text."""
        return self._reading.query_passages[self._i]


def _group(name: str, parts: Sequence[Part], total: float) -> list[Part]:
    """Give a group of parts; none where there are no parts."""
    return [Part("group", name, total, tuple(parts))] if parts else []


class _Leading(NamedTuple):
    """The words that give most to a part, by magnitude, what they give, and whether others do."""

    terms: list[int]
    scores: list[float]
    others: bool


def _leading(split: Sequence[Parts]) -> list[_Leading]:
    """Find the leading words of the three parts of each score."""
    every = [part for one in split for part in (one.specific, one.words, one.titles)]
    bounds = np.cumsum([0, *map(len, every)], dtype=np.int64)
    scores = np.concatenate(every)
    terms = np.concatenate([one.terms for one in split for _ in range(3)])
    ends, places = largest(bounds, np.abs(scores), LEADING + 1)
    columns = terms[places].tolist(), scores[places].tolist()
    found = []
    for start, stop in pairwise(ends.tolist()):
        shown = slice(start, min(stop, start + LEADING))
        found.append(_Leading(columns[0][shown], columns[1][shown], stop - start > LEADING))
    return found


def _by_words(
    group: str, every: Doubles, leading: _Leading, names: Mapping[int, str]
) -> list[Part]:
    """Give the group of the leading words, and what the others give."""
    terms, scores, others = leading
    if not terms:
        return []
    total = float(every.sum())
    parts = [
        _part(("word", names[term], score, ())) for term, score in zip(terms, scores, strict=True)
    ]
    if others:
        parts.append(_part(("rest", OTHERS, total - sum(scores), ())))
    return _group(group, parts, total)


def _merged(dense: Shares, split: Parts) -> WordShares:
    """Put what words carry of all parts of a score together, without those that give nothing."""
    carried = (dense.terms, dense.scores, dense.topics)
    return WordShares(*merge_shares(carried, (split.terms, split.by_words)))
