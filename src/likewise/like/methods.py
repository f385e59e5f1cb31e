"""By which method is likeness measured? Those that compare stored halves, as stages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError
from likewise.like.explain import Explainer, LikeQuery
from likewise.like.likeness import Likeness
from likewise.like.view import Asked, How, View, mix
from likewise.models.attribution import EncodedDocument
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.records import Explanation, Query, Ranking
from likewise.retrieve.question import AGAINST, Question, question_of
from likewise.stages.masks import mask_of
from likewise.stages.stage import Context, Result, Stage

CANDIDATES = 100


class HalvesStage(Stage):
    """Ranks by stored halves, of a model by its name."""

    model: str
    log: ClassVar[bool] = False
    compares_vectors: ClassVar[bool] = True

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for the documents of each query; earlier rankings are replaced."""
        return rank_halves(self, batch, context)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0

    @abstractmethod
    def ranker(self, halves: StoredVectors) -> HalvesRanker:
        """Make a ranker of stored halves."""


@dataclass(frozen=True)
class ByHalves(HalvesStage):
    """Compare both halves: `⟨x, x'⟩ + beta ⟨ψ, ψ'⟩`.

    `model` "" is the model fitted last. `beta` below zero is the one that was chosen for the
    collection. `how` is `even` (halves of length one) or `shares` (as long as the root of their
    shares). `candidates` are how many are taken by each half; 0 scores every document. The
    mean of the compact halves of the `again` best answers is added to the one that is asked for,
    and candidates are ranked once more: that draws answers together. It raised the share of answers
    of the same group or category by .01 to .02, and lowered that of pages linked to by .008.
    """

    model: str = ""
    beta: float = -1.0
    how: str = "even"
    candidates: int = CANDIDATES
    again: int = 3
    notation: ClassVar[str] = "halves"

    def __post_init__(self) -> None:
        if self.how not in (How.EVEN, How.SHARES):
            raise UsageError(f"method {self.notation}: how must be even or shares, not {self.how}")
        check_candidates(self.notation, self.candidates)
        if self.again < 0:
            raise UsageError(f"method {self.notation}: again must be 0 or more, not {self.again}")

    def ranker(self, halves: StoredVectors) -> HalvesRanker:
        """Make a ranker of stored halves."""
        chosen = halves.weights or Weights()
        beta = chosen.words if self.beta < 0 else self.beta
        # Vectors that nothing speaks for find no candidates: then it is the words' ranking.
        candidates = self.candidates if chosen.points else 0
        likeness = Likeness(View(halves, How(self.how)), Weights(chosen.points, beta))
        return HalvesRanker(likeness, candidates=candidates, again=self.again)


@dataclass(frozen=True)
class TopicsOnly(HalvesStage):
    """Compare the compact halves only."""

    model: str = ""
    notation: ClassVar[str] = "topics"

    def ranker(self, halves: StoredVectors) -> HalvesRanker:
        """Make a ranker of stored halves."""
        return HalvesRanker(Likeness(View(halves), Weights(1.0, 0.0)), candidates=CANDIDATES)


@dataclass(frozen=True)
class WordsOnly(HalvesStage):
    """Compare the own words only."""

    model: str = ""
    notation: ClassVar[str] = "words"

    def ranker(self, halves: StoredVectors) -> HalvesRanker:
        """Make a ranker of stored halves."""
        return HalvesRanker(Likeness(View(halves), Weights(0.0, 1.0)), candidates=0)


def rank_halves(how: HalvesStage, batch: Sequence[Result], context: Context) -> list[Result]:
    """Rank for the documents of each query, or for its text as one, by stored halves."""
    snapshot = context.snapshot
    if not context.k:
        return [Result(result.query) for result in batch]
    ranker = snapshot.memo(("like", how), lambda: how.ranker(vectors_of(snapshot, how.model)))

    def one(result: Result) -> Result:
        context.check()
        question = question_of(result.query, snapshot, how)
        mask = context.mask(result.query.filter)
        allowed = mask.segments if mask.bars else None
        text = _only_text(result.query)
        return Result(result.query, *ranker.rank(question, k=context.k, allowed=allowed, text=text))

    return context.map(one, batch)


def _only_text(query: Query) -> str:
    """Give the text of a query where that is all that is in hand."""
    if not query.like:
        return query.text
    return query.like[0].text if len(query.like) == 1 else ""


class HalvesRanker:
    """Ranks by stored halves."""

    def __init__(self, likeness: Likeness, *, candidates: int, again: int = 0) -> None:
        self.likeness = likeness
        self.candidates = candidates
        self.again = again

    def ask(self, question: Question) -> tuple[Asked, list[EncodedDocument]]:
        """Take the documents of a question apart; give them mixed, and one by one."""
        encode = self.likeness.view.ask
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
    ) -> tuple[Ranking, LikenessScorer]:
        """Find the k best documents for a question, without its own documents.

        A score is the mean of those for each of `like`, less `AGAINST` times the mean of those
        for `unlike`. `text` is that of the question, where it is one that the collection does not
        have: explanations show its passages.
        """
        first, encoded = self.ask(question)
        ranking, asked = self.likeness.rank(
            first,
            k=k,
            depth=self.candidates,
            again=self.again,
            allowed=allowed,
            omit=question.docs,
        )
        return ranking, LikenessScorer(self, LikeQuery(question, encoded, asked, text))

    @cached_property
    def explainer(self) -> Explainer:
        """What explains scores; words of topics are looked up once."""
        return Explainer(self.likeness)


class LikenessScorer:
    """Scores documents by their likeness to what was asked in the end."""

    log = False
    searches = None

    def __init__(self, ranker: HalvesRanker, query: LikeQuery) -> None:
        self.ranker = ranker
        self.query = query

    def score(self, docs: Ints) -> Doubles:
        """Score documents; what shares nothing with what is asked, or is in hand, is not found."""
        likeness = self.ranker.likeness
        scores = likeness.score(self.query.asked, docs)
        live = mask_of(likeness.collection).holds(docs, likeness.collection)
        scores[(scores == 0) | ~live | np.isin(docs, self.query.question.docs)] = -np.inf
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Say why documents are like those in hand."""
        return self.ranker.explainer.explain(self.query, docs)


def check_candidates(method: str, candidates: int) -> None:
    """Refuse a negative number of candidates."""
    if candidates < 0:
        raise UsageError(
            f"method {method}: candidates must be 1 or more, or 0 for all, not {candidates}"
        )
