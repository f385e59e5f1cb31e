"""Which documents are like these? A hybrid score of dense vectors and specific words, as a stage.

Level one finds candidates by each component; level two scores them by all and ranks them. With
`candidates` 0 every document is scored: the reference.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.like.components import (
    Component,
    Dense,
    EncodedQuery,
    Encoder,
    Parts,
    Scoring,
    SpecificWords,
    mix,
)
from likewise.like.explain import Explainer, LikeQuery
from likewise.models.attribution import EncodedDocument
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.records import Explanation, Query, Ranking
from likewise.retrieve.question import AGAINST, Question, question_of
from likewise.stages.masks import mask_of
from likewise.stages.stage import Context, Result, Stage

CANDIDATES = 100
DENSE, SPECIFIC = "dense", "specific"
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
    """Compare dense vectors and specific words: `⟨x, x'⟩ + beta ⟨ψ, ψ'⟩`.

    `model` "" is the model fitted last. `beta` below zero is the one that was chosen for the
    collection. `scoring` is `even` (vectors of length one) or `shares` (as long as the root of
    their shares). `candidates` are how many are taken by each component; 0 scores every document.
    The mean of the dense vectors of the `feedback` best answers is added to the query's, and
    candidates are ranked once more: that draws answers together. It raised the share of answers of
    the same group or category by .01 to .02, and lowered that of pages linked to by .008.

    `only` "dense" or "specific" compares that component alone, without feedback; specific words
    are then compared with those of every document.
    """

    model: str = ""
    beta: float = -1.0
    scoring: str = "even"
    candidates: int = CANDIDATES
    feedback: int = 3
    only: str = ""
    notation: ClassVar[str] = "hybrid"

    def __post_init__(self) -> None:
        if self.scoring not in (Scoring.EVEN, Scoring.SHARES):
            raise UsageError(
                f"method {self.notation}: scoring must be even or shares, not {self.scoring}"
            )
        check_candidates(self.notation, self.candidates)
        if self.feedback < 0:
            raise UsageError(
                f"method {self.notation}: feedback must be 0 or more, not {self.feedback}"
            )
        if self.only not in ("", DENSE, SPECIFIC):
            raise UsageError(
                f"method {self.notation}: only must be dense or specific, not {self.only}"
            )

    def ranker(self, stored: StoredVectors) -> HybridRanker:
        """Make a ranker of stored vectors."""
        encoder = Encoder(stored, Scoring(self.scoring))
        if self.only == DENSE:
            return HybridRanker(Likeness(encoder, Weights(1.0, 0.0)), candidates=self.candidates)
        if self.only == SPECIFIC:
            return HybridRanker(Likeness(encoder, Weights(0.0, 1.0)), candidates=0)
        chosen = stored.weights or Weights()
        beta = chosen.words if self.beta < 0 else self.beta
        # Vectors that nothing speaks for find no candidates: then it is the words' ranking.
        candidates = self.candidates if chosen.points else 0
        likeness = Likeness(encoder, Weights(chosen.points, beta))
        return HybridRanker(likeness, candidates=candidates, feedback=self.feedback)


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
    """Ranks documents by likeness: `points · ⟨x, x'⟩ + words · ⟨ψ, ψ'⟩`.

    A component of weight 0 is neither sought nor scored.
    """

    def __init__(self, encoder: Encoder, weights: Weights) -> None:
        self.encoder = encoder
        self.weights = weights
        self.collection = encoder.collection
        self.dense = Dense(encoder)
        self.specific = SpecificWords(encoder)
        both: tuple[tuple[float, Component], ...]
        both = ((weights.points, self.dense), (weights.words, self.specific))
        self.components = [(weight, component) for weight, component in both if weight]

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
        length, and candidates, among which is what is near them, are ranked once more. Words stay.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        n = max(candidates, 2 * k) + len(omit) if candidates else 0
        masks = self._masks(allowed)
        docs = (
            self._candidates(query, n, masks)
            if n
            else self._all(query, (feedback or k) + len(omit), masks)
        )
        docs = _without(docs, omit)
        if feedback:
            query = self._with_feedback(query, self._ranked(docs, query, feedback).docs)
            if not n:
                docs = _without(self._all(query, k + len(omit), masks), omit)
        return self._ranked(docs, query, k), query

    def score(self, query: EncodedQuery, docs: Ints) -> Doubles:
        """Score documents; 0 for those that share nothing with the query."""
        scores = np.zeros(len(docs))
        for weight, component in self.components:
            scores += weight * component.score(query, docs)
        return scores

    def parts(self, query: EncodedQuery, doc: int) -> Parts:
        """Take the score of a document apart."""
        return self.split(query, np.array([doc]))[0]

    def split(self, query: EncodedQuery, docs: Ints) -> list[Parts]:
        """Take the scores of documents apart."""
        topics = self.weights.points * self.rows(docs) * query.point
        words = self.specific.split(query, self.weights.words, docs)
        return [Parts(row, *mine) for row, mine in zip(topics, words, strict=True)]

    def rows(self, docs: Ints) -> Doubles:
        """Give the dense vectors of documents as they are compared."""
        return self.dense.rows(docs)

    def _candidates(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        found = [component.find(query, n, masks) for _, component in self.components]
        return np.unique(np.concatenate([_NONE, *found]))

    def _all(self, query: EncodedQuery, n: int, masks: Sequence[Bools | None]) -> Ints:
        """Scan all documents for those that may be among the n best."""
        found = [_NONE]
        for i, (mask, segment) in enumerate(zip(masks, self.collection.segments, strict=True)):
            scores = np.zeros(segment.n_docs, np.float32)
            for weight, component in self.components:
                component.scan(query, weight, i, scores)
            found.append(_best(scores, n, mask) + self.collection.bases[i])
        return np.concatenate(found)

    def _with_feedback(self, query: EncodedQuery, docs: Ints) -> EncodedQuery:
        length = float(np.linalg.norm(query.point))
        if not len(docs) or not length:
            return query
        point = query.point / length + np.mean(self.rows(docs), axis=0)
        return query._replace(point=point * (length / (np.linalg.norm(point) or 1.0)))

    def _ranked(self, docs: Ints, query: EncodedQuery, k: int) -> Ranking:
        scores = self.score(query, docs)
        there = scores != 0
        docs, scores = docs[there], scores[there]
        order = np.lexsort((docs, -scores))[:k]
        return Ranking(docs[order], scores[order])

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


def _best(scores: Floats, n: int, mask: Bools | None) -> Ints:
    """Give the rows of the n best scores, and those as good."""
    if mask is not None:
        scores[~mask] = -np.inf
    if n < len(scores):
        least = np.partition(scores, len(scores) - n)[len(scores) - n]
        rows = np.flatnonzero(scores >= least - _ROUNDING)
    else:
        rows = np.arange(len(scores))
    best: Ints = rows[np.isfinite(scores[rows])]
    return best


def _without(docs: Ints, omit: Ints) -> Ints:
    for doc in omit.tolist():
        docs = docs[docs != doc]
    return docs
