"""Why documents are like the ones in hand: parts that add up to each score, and passages.

All answers are explained in one batch: their terms are read once, one product splits the dense part
of every score, and the words that parts are named by are looked up together.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from likewise.collection.build import content
from likewise.compiled import Doubles, Ints
from likewise.like.components import EncodedQuery, Parts
from likewise.like.passages import TermNumbers, TextWords, merge_shares
from likewise.models.attribution import Attribution, EncodedDocument, Shares, by_magnitude
from likewise.models.surface_forms import readable_terms
from likewise.records import Explanation, Part, Passage, Topic, WordShares, in_order
from likewise.retrieve.question import Question

if TYPE_CHECKING:
    from likewise.like.hybrid import Likeness

# Groups of parts, and parts that no word stands for.
TOPICS, RELATED, SPECIFIC = "topics", "related words", "specific words"
VECTORS, ROUNDING, FEEDBACK, OTHERS = "vectors", "rounding", "feedback documents", "other words"
_TOPIC_WORDS = 6
_NAMED = 500
# A query's vector is in single precision.
_LEAST_FEEDBACK = 1e-4


class LikeQuery(NamedTuple):
    """What was asked: the documents in hand, each as it was encoded, and all of them mixed.

    `asked` is what was compared in the end; `text` that of the query where it is one text that the
    collection does not have.
    """

    question: Question
    encoded: Sequence[EncodedDocument]
    asked: EncodedQuery
    text: str = ""


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
        rows = self.likeness.weights.points * self.likeness.rows(docs)
        counts = self.snapshot.term_counts(docs)
        told = self.model.attribute(query.encoded, query.asked.point, counts, rows)
        return _Reading(self, query, docs, split, told).explanations()

    @cached_property
    def topics(self) -> list[Topic]:
        """The names of the model's topics."""
        numbers, every = np.arange(self.model.width), np.ones(self.model.width)
        rows = self.model.telling_rows(self.snapshot, every, numbers, _TOPIC_WORDS)
        known = np.asarray(self.model.vocabulary.terms)
        terms = [self.snapshot.terms(known[mine]) for mine in rows]
        readable = readable_terms(self.snapshot, [term for mine in terms for term in mine])
        labels = self.model.labels or [""] * self.model.width
        return [
            Topic(i, labels[i], tuple(readable[term] for term in mine))
            for i, mine in enumerate(terms)
        ]


class _Reading:
    """The answers to one query with their texts: names parts, and finds passages."""

    def __init__(
        self,
        explainer: Explainer,
        query: LikeQuery,
        docs: Ints,
        split: Sequence[Parts],
        told: Sequence[Attribution],
    ) -> None:
        self.explainer = explainer
        self.query = query
        self.split = split
        self.told = told
        snapshot = explainer.snapshot
        documents = [snapshot.document(doc) for doc in docs.tolist()]
        examples, given = query.question.examples, [query.text] * bool(query.text)
        hand = [snapshot.document(e.doc) for e in examples[len(given) :] if e.doc >= 0]
        self.n_hand = len(given) + len(hand)
        self.words = TextWords(
            [*given, *map(content, (*hand, *documents))],
            snapshot.analyzer,
            TermNumbers.of(snapshot),
        )
        self.skips = [0] * len(given) + [len(one.title) for one in (*hand, *documents)]
        # The text of the query is shown where it is one: then it is the first.
        self.shown = len(query.question.like) == 1 and (bool(given) or examples[0].doc >= 0)
        self._name()

    def _name(self) -> None:
        """Look up the words of all parts at once."""
        n = len(self.split)
        wanted = [part.terms for part in self.split]
        wanted += [one.pairs.terms.ravel() for one in self.told if one.pairs is not None]
        sizes = [len(terms) for terms in wanted]
        terms = np.concatenate(wanted)
        owners = np.repeat(self.n_hand + np.arange(len(wanted)) % n, sizes)
        found = self._or_terms(self.words.surfaces(owners, terms), terms)
        ends = np.cumsum(sizes).tolist()
        names = [found[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        self.specific, self.paired = names[:n], names[n:]
        self.asked = self._asked_names()

    def _asked_names(self) -> list[str]:
        """Give the words that the query's terms stand for in its texts, or in the collection."""
        pairs = self.told[0].pairs
        if pairs is None:
            return []
        snapshot = self.explainer.snapshot
        terms, scores = self.told[0].query.terms, self.told[0].query.scores
        found = [""] * len(terms)
        for text in range(self.n_hand):
            mine = self.words.surfaces(np.full(len(terms), text), terms)
            found = [a or b for a, b in zip(found, mine, strict=True)]
        if self.n_hand < len(self.query.question.examples):
            order = np.argsort(-np.abs(scores), kind="stable")[:_NAMED]
            known = snapshot.terms(terms[order])
            readable = readable_terms(snapshot, known)
            for i, term in zip(order.tolist(), known, strict=True):
                found[i] = found[i] or readable[term]
        return self._or_terms(found, terms)

    def _or_terms(self, names: list[str], terms: Ints) -> list[str]:
        """Let terms that no word is known of stand for themselves."""
        missing = [i for i, name in enumerate(names) if not name]
        if missing:
            found = self.explainer.snapshot.terms(terms[missing])
            for i, term in zip(missing, found, strict=True):
                names[i] = term
        return names

    def explanations(self) -> list[Explanation]:
        """Give the trees of the answers' scores."""
        found = []
        related = iter(self._related())
        for i, (split, told) in enumerate(zip(self.split, self.told, strict=True)):
            dense = float(split.topics.sum())
            words = _word_parts(self.specific[i], split.words.tolist())
            groups = [
                *self._dense(told, dense, [] if told.pairs is None else next(related)),
                *_group(SPECIFIC, words, float(split.words.sum())),
            ]
            found.append(Explanation(split.score, in_order(groups), LikeEvidence(self, i)))
        return found

    def _dense(self, told: Attribution, dense: float, related: list[Part]) -> Iterator[Part]:
        if len(told.topics):
            names, order = self.explainer.topics, by_magnitude(told.topics).tolist()
            scores = told.topics.tolist()
            parts = [Part("topic", str(names[k]), scores[k]) for k in order]
            yield from _group(TOPICS, parts, dense)
        elif told.pairs is not None:
            rest = dense - sum([part[2] for part in related])
            if rest:
                sizes = [-abs(part[2]) for part in related]
                related.insert(bisect(sizes, -abs(rest)), Part("rest", self._rest_name, rest))
            yield from _group(RELATED, related, dense)
        elif dense:
            yield Part("group", VECTORS, dense, (Part("rest", VECTORS, dense),))

    def _related(self) -> Iterator[list[Part]]:
        """Split dense scores by the query's words, and these by the words behind them.

        Parts of all answers are made together: each step here takes a list of them.
        """
        told = [(one.query.scores, one.pairs) for one in self.told if one.pairs is not None]
        if not told:
            return
        given = [scores[pairs.order] for scores, pairs in told]
        paired = np.concatenate([pairs.scores for _, pairs in told])
        totals = np.concatenate([pairs.totals for _, pairs in told])
        sizes = [len(pairs.totals) for _, pairs in told]
        first = np.concatenate([mine[:n] for mine, n in zip(given, sizes, strict=True)])
        names = [name for mine in self.paired for name in mine]
        behind = _parts("word", names, paired.ravel())
        others = _parts("rest", repeat(OTHERS), totals - paired.sum(axis=1))
        rounding = _parts("rest", repeat(ROUNDING), first - totals)
        # Words that there are come first in a row.
        width, n_behind = paired.shape[1], (paired != 0).sum(axis=1).tolist()
        inner = [
            (*behind[j * width : j * width + n], other, rounded)
            for j, (n, other, rounded) in enumerate(zip(n_behind, others, rounding, strict=True))
        ]
        at = 0
        for (_, pairs), mine, n in zip(told, given, sizes, strict=True):
            words = map(self.asked.__getitem__, pairs.order.tolist())
            nothing = repeat((), len(mine) - n)
            yield _parts("word", words, mine, chain(inner[at : at + n], nothing))
            at += n

    @cached_property
    def _rest_name(self) -> str:
        """What else a dense score is: feedback documents turned the vector, or it is rounding."""
        asked = self.query.asked.point
        mixed = sum(one.weight * one.point for one in self.query.encoded)
        much = np.linalg.norm(asked - mixed) > _LEAST_FEEDBACK * np.linalg.norm(asked)
        return FEEDBACK if much else ROUNDING


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

    @cached_property
    def answer_words(self) -> WordShares:
        """What the words of the answer give."""
        return _merged(self._reading.told[self._i].answer, self._reading.split[self._i])

    @cached_property
    def query_words(self) -> WordShares:
        """What the words of the query give."""
        return _merged(self._reading.told[self._i].query, self._reading.split[self._i])

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The passages of the answer that give most."""
        reading, text = self._reading, self._reading.n_hand + self._i
        return reading.words.passages(text, self.answer_words, skip=reading.skips[text])

    @cached_property
    def query_passages(self) -> tuple[Passage, ...]:
        """The passages of the query that give most, where it is one text."""
        reading = self._reading
        if not reading.shown:
            return ()
        return reading.words.passages(0, self.query_words, skip=reading.skips[0])


def _parts(
    kind: str,
    names: Iterable[str],
    scores: Doubles,
    parts: Iterable[tuple[Part, ...]] = repeat(()),
) -> list[Part]:
    """Make parts of one kind: as `Part` of each, in a fraction of the time."""
    made = partial(tuple.__new__, Part)
    return [*map(made, zip(repeat(kind), names, scores.tolist(), parts))]


def _group(name: str, parts: Sequence[Part], total: float) -> list[Part]:
    """Give a group of parts, which come by magnitude; none where there are no parts."""
    return [Part("group", name, total, tuple(parts))] if parts else []


def _word_parts(names: Sequence[str], scores: list[float]) -> list[Part]:
    order = sorted(range(len(scores)), key=lambda i: -abs(scores[i]))
    return [Part("word", names[i], scores[i]) for i in order if scores[i]]


def _merged(dense: Shares, split: Parts) -> WordShares:
    """Put what words carry of both parts of a score together, without those that give nothing."""
    carried = (dense.terms, dense.scores, dense.topics)
    return WordShares(*merge_shares(carried, (split.terms, split.words)))
