"""Which documents are like these? A hybrid score of dense vectors and of words, as a stage.

Level one finds candidates by each component; level two scores them by all and ranks them. With
`candidates` 0 every document is scored: the reference.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.like.by_words import WordScores
from likewise.like.candidates import Candidates
from likewise.like.components import (
    AllWords,
    Component,
    Dense,
    EncodedQuery,
    Encoder,
    Parts,
    SpecificWords,
    mix,
)
from likewise.like.explain import Explainer, LikeQuery
from likewise.like.focus import named_focus, read_focus, weights_at
from likewise.like.rescoring import Rescorer, ranked
from likewise.like.titles import Titles
from likewise.models.attribution import EncodedDocument
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.records import Explanation, Query, Ranking
from likewise.retrieve.question import AGAINST, Question, question_of
from likewise.stages.masks import mask_of
from likewise.stages.stage import Context, Result, Stage

CANDIDATES = 250
# This share of them may be scored to find feedback documents.
_FIRST = 0.4
_ALONE = {
    "dense": Weights(1, 0, 0),
    "specific": Weights(0, 1, 0),
    "words": Weights(0, 0, 1),
    "titles": Weights(0, 0, 0, 1),
}
# Parts that find candidates of their own; by others alone every document is scored.
_FINDING = ("dense", "words")
# A scan adds up in single precision and any order: whatever is this near the last is scored.
_ROUNDING = 1e-5
_NONE: Ints = np.empty(0, np.int64)


class LikenessStage(Stage):
    """Ranks by the stored vectors of a model, by its name."""

    model: str
    log: ClassVar[bool] = False
    compares_vectors: ClassVar[bool] = True

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for the documents of each query; earlier rankings are replaced."""
        return rank_like(self, batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0

    @abstractmethod
    def ranker(self, stored: StoredVectors) -> HybridRanker:
        """Make a ranker of stored vectors."""


@dataclass(frozen=True)
class Hybrid(LikenessStage):
    """Compare dense vectors, specific words, all words and titles: see `like.focus` for the score.

    `model` "" is the model fitted last. `focus` is the dial from `subject` over `balanced` to
    `thing`, or a number from 0 to 1; "" is what was learnt for the collection, else balanced.
    `candidates` are how many may be scored by all parts, times what the collection takes
    (`effort`), and up to four tenths as many before feedback; 0 scores every document. The mean of
    the dense vectors of the `feedback` best answers is added to the query's, and candidates are
    ranked once more: that draws answers together (on 14 tasks 2% more documents of the same
    subject, as many that say the same thing).

    `only` "dense", "specific", "words" or "titles" compares that part alone, without feedback;
    specific words and titles are then compared with those of every document.
    """

    model: str = ""
    focus: str = ""
    candidates: int = CANDIDATES
    feedback: int = 3
    only: str = ""
    notation: ClassVar[str] = "hybrid"

    def __post_init__(self) -> None:
        check_candidates(self.notation, self.candidates)
        if self.feedback < 0:
            raise UsageError(
                f"method {self.notation}: feedback must be 0 or more, not {self.feedback}"
            )
        if self.only not in ("", *_ALONE):
            raise UsageError(
                f"method {self.notation}: only must be dense, specific, words or titles, not "
                f"{self.only}"
            )
        if not (isinstance(self.focus, str) and self.focus == ""):
            # As it is written, however it was given: what answers alike is equal.
            object.__setattr__(self, "focus", named_focus(read_focus(self.focus)))
            if self.only:
                raise UsageError(
                    f"method {self.notation}: only={self.only} compares one part, and focus weighs "
                    "all of them: leave one of the two out"
                )

    def ranker(self, stored: StoredVectors) -> HybridRanker:
        """Make a ranker of stored vectors."""
        encoder = Encoder(stored)
        if self.only:
            candidates = self.candidates if self.only in _FINDING else 0
            return HybridRanker(Likeness(encoder, _ALONE[self.only]), candidates=candidates)
        likeness = Likeness(encoder, weights_of(stored, self.focus))
        return HybridRanker(likeness, candidates=self.candidates, feedback=self.feedback)


def with_focus(stage: Stage, focus: str | float) -> Stage:
    """Give a stage that compares documents at another place of the dial."""
    if not isinstance(stage, Hybrid):
        raise UsageError(
            f"focus is how hybrid compares documents, and method {stage} has none; it may be a "
            "part of a method: hybrid(focus=thing) >> cut(5)"
        )
    return replace(stage, focus=named_focus(read_focus(focus)))


def weights_of(stored: StoredVectors, focus: str = "") -> Weights:
    """Weigh the parts by the dial; "" is what was learnt for the collection, else balanced."""
    if not focus and stored.weights_before is not None:
        return stored.weights_before
    place = read_focus(focus or stored.focus)
    return weights_at(place, stored.typical, dense=stored.model.dense_weight)


def rank_like(how: LikenessStage, batch: Sequence[Result], context: Context) -> list[Result]:
    """Rank for the documents of each query, or for its text as one, by stored vectors."""
    snapshot = context.snapshot
    if not context.k:
        return [Result(result.query) for result in batch]
    ranker = snapshot.memo(("like", how), lambda: how.ranker(vectors_of(snapshot, how.model)))

    def one(result: Result) -> Result:
        context.check()
        question = question_of(result.query, snapshot, how)
        mask = context.mask(result.query)
        allowed = mask.segments if mask.bars else None
        text = _only_text(result.query)
        return Result(result.query, *ranker.rank(question, k=context.k, allowed=allowed, text=text))

    return context.map(one, batch)


def _only_text(query: Query) -> str:
    """Give the text of a query where that is all that is in hand."""
    if not query.like:
        return query.text
    return query.like[0].text if len(query.like) == 1 else ""


class HybridRanker:
    """Ranks for documents in hand."""

    def __init__(self, likeness: Likeness, *, candidates: int, feedback: int = 0) -> None:
        self.likeness = likeness
        self.candidates = candidates
        self.feedback = feedback

    def encode(self, question: Question) -> tuple[EncodedQuery, list[EncodedDocument]]:
        """Encode the documents of a question; give them mixed, and one by one."""
        encode = self.likeness.encoder.encode
        like = [encode(*example) for example in question.like]
        unlike = [encode(*example) for example in question.unlike]
        weights = [1 / len(like)] * len(like)
        weights += [-AGAINST / len(unlike) for _ in unlike]
        taken = zip(question.examples, (*like, *unlike), weights, strict=True)
        return mix(like, unlike, against=AGAINST), [
            EncodedDocument(example.counts, one.point, weight) for example, one, weight in taken
        ]

    def rank(
        self,
        question: Question,
        *,
        k: int,
        allowed: Sequence[Bools | None] | None = None,
        text: str = "",
    ) -> tuple[Ranking, HybridScorer]:
        """Find the k best documents for a question, without its own documents.

        A score is the mean of those for each of `like`, less `AGAINST` times the mean of those
        for `unlike`. `text` is that of the question, where it is one that the collection does not
        have: explanations show its passages.
        """
        first, encoded = self.encode(question)
        ranking, query = self.likeness.rank(
            first,
            k=k,
            candidates=self.candidates,
            feedback=self.feedback,
            allowed=allowed,
            omit=question.docs,
        )
        return ranking, HybridScorer(self, LikeQuery(question, encoded, query, text))

    @cached_property
    def explainer(self) -> Explainer:
        """What explains scores; words of topics are looked up once."""
        return Explainer(self.likeness)


class HybridScorer:
    """Scores documents by their likeness to the query after feedback."""

    log = False
    searches = None

    def __init__(self, ranker: HybridRanker, query: LikeQuery) -> None:
        self.ranker = ranker
        self.query = query

    def score(self, docs: Ints) -> Doubles:
        """Score documents; what shares nothing with the query, or is in hand, is not found."""
        likeness = self.ranker.likeness
        scores = likeness.score(self.query.asked, docs)
        live = mask_of(likeness.collection).holds(docs, likeness.collection)
        scores[(scores == 0) | ~live | np.isin(docs, self.query.question.docs)] = -np.inf
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Say why documents are like those in hand."""
        return self.ranker.explainer.explain(self.query, docs)


class Likeness:
    """Ranks documents by likeness: `dense · ⟨x, x'⟩ + specific · ⟨ψ, ψ'⟩ + words · b + titles · t`.

    A component of weight 0 is neither sought nor scored.
    """

    def __init__(self, encoder: Encoder, weights: Weights) -> None:
        self.encoder = encoder
        self.weights = weights
        self.collection = encoder.collection
        self.dense = Dense(encoder)
        self.specific = SpecificWords(encoder)
        self.words = AllWords(encoder)
        self.titles = Titles(encoder)
        self.candidates = Candidates(encoder, weights, effort=encoder.stored.effort)
        every: tuple[tuple[float, Component], ...] = (
            (weights.dense, self.dense),
            (weights.specific, self.specific),
            (weights.words, self.words),
            (weights.titles, self.titles),
        )
        self.components = [(weight, component) for weight, component in every if weight]

    def rank(
        self,
        query: EncodedQuery,
        *,
        k: int,
        candidates: int,
        feedback: int = 0,
        allowed: Sequence[Bools | None] | None = None,
        omit: Ints = _NONE,
    ) -> tuple[Ranking, EncodedQuery]:
        """Find the k documents most like the query; give the query after feedback too.

        Documents that share nothing with the query are no answers; `omit` is left out. The mean of
        the dense vectors of the `feedback` best answers is added to the query's, which keeps its
        length, and candidates are ranked once more. Words stay.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        masks, scorer = self._masks(allowed), self._word_scores(query)
        if candidates:
            listed = self.candidates.find(query, max(candidates, k), masks, omit)
            rescorer = Rescorer(listed, self._dense, scorer)
            if feedback:
                first = rescorer.best(query, feedback, share=_FIRST)
                query = self.with_feedback(query, first.docs)
            return rescorer.best(query, k), query

        def best(query: EncodedQuery, k: int) -> Ranking:
            docs = _without(self._all(query, k + len(omit), masks), omit)
            return ranked(docs, self._dense(query, docs) + scorer.score(docs), k)

        if feedback:
            query = self.with_feedback(query, best(query, feedback).docs)
        return best(query, k), query

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents; 0 for those that share nothing with the query."""
        return self._dense(query, docs) + self._word_scores(query).score(docs)

    def _dense(self, query: EncodedQuery, docs: Ints) -> Doubles:
        if not self.weights.dense:
            return np.zeros(len(docs))
        return self.weights.dense * self.dense.score(query, docs)

    def _word_scores(self, query: EncodedQuery) -> WordScores:
        """Score by the parts that feedback does not change."""
        return WordScores(self.encoder, query, self.weights)

    def parts(self, query: EncodedQuery, doc: int) -> Parts:
        """Take the score of a document apart."""
        return self.split(query, np.array([doc]))[0]

    def split(self, query: EncodedQuery, docs: Ints) -> list[Parts]:
        """Take the scores of documents apart."""
        topics = self.weights.dense * self.rows(docs) * query.point
        terms, parts = self._word_scores(query).split(docs)
        there = map(np.flatnonzero, (parts != 0).any(axis=0))
        return [
            Parts(row, terms[mine], *parts[:, i, mine])
            for i, (row, mine) in enumerate(zip(topics, there, strict=True))
        ]

    def with_feedback(self, query: EncodedQuery, docs: Ints) -> EncodedQuery:
        """Turn a query towards the mean of the dense vectors of documents."""
        length = float(np.linalg.norm(query.point))
        if not len(docs) or not length:
            return query
        point = query.point / length + np.mean(self.rows(docs), axis=0)
        return query._replace(point=point * (length / (np.linalg.norm(point) or 1.0)))

    def rows(self, docs: Ints) -> Doubles:
        """Give the dense vectors of documents as they are compared."""
        return self.dense.rows(docs)

    def _all(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        """Scan all documents for those that may be among the n best."""
        scores = np.zeros(self.collection.n_slots, np.float32)
        for weight, component in self.components:
            component.scan(query, weight, scores)
        for i, mask in enumerate(masks):
            if mask is not None:
                scores[self.collection.bases[i] :][: len(mask)][~mask] = -np.inf
        return _best(scores, n)

    def _masks(self, allowed: Sequence[Bools | None] | None) -> list[Bools | None]:
        """Leave out the documents that are deleted, or do not meet a filter."""
        masks: list[Bools | None] = []
        for i, segment in enumerate(self.collection.segments):
            mask = None if segment.entry.deleted is None else segment.live
            met = None if allowed is None else allowed[i]
            if met is not None:
                mask = met if mask is None else mask & met
            masks.append(mask)
        return masks


def check_candidates(method: str, candidates: int) -> None:
    """Refuse a negative number of candidates."""
    if candidates < 0:
        raise UsageError(
            f"method {method}: candidates must be 1 or more, or 0 for all, not {candidates}"
        )


def _best(scores: Floats, n: int) -> Ints:
    """Give the rows of the n best scores, and those as good; 0 is none, and takes no place."""
    there = scores[scores != 0]
    if n < len(there):
        least = np.partition(there, len(there) - n)[len(there) - n]
        rows = np.flatnonzero(scores >= least - _ROUNDING)
    else:
        rows = np.arange(len(scores))
    best: Ints = rows[np.isfinite(scores[rows])]
    return best


def _without(docs: Ints, omit: Ints) -> Ints:
    return docs[~np.isin(docs, omit)]
