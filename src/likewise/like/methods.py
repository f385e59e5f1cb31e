"""By which method is likeness measured? One door to all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools
from likewise.errors import UsageError
from likewise.like.baselines import TopN, TopNTopics, TopNTopicsRanker, Whole, top_n
from likewise.like.hashed import Hashed, HashedRanker
from likewise.like.likeness import Likeness
from likewise.like.question import AGAINST, Question, Ranker, of_text
from likewise.like.reasons import Reasoner, Reasons
from likewise.like.store import StoredHalves, Weights
from likewise.like.view import Asked, How, View, mix
from likewise.records import Query, Ranking
from likewise.retrieve.explain import Part
from likewise.retrieve.models import MODELS, Model
from likewise.retrieve.search import Retriever
from likewise.stages.stage import Answered, Stage, text_of

_CANDIDATES = 100


@dataclass(frozen=True)
class ByHalves:
    """Compare both halves: `⟨x, x'⟩ + beta ⟨ψ, ψ'⟩`.

    `model` "" is the model fitted last. `beta` below zero is the one that was chosen for the
    collection. `how` is `even` (halves of length one) or `shares` (as long as the root of their
    shares). `depth` is how many candidates are taken by each half; 0 scores every document. The
    mean of the compact halves of the `again` best answers is added to the one that is asked for,
    and candidates are ranked once more: that draws answers together. It raised the share of answers
    of the same group or category by .01 to .02, and lowered that of pages linked to by .008.
    """

    model: str = ""
    beta: float = -1.0
    how: str = "even"
    depth: int = _CANDIDATES
    again: int = 3
    notation: ClassVar[str] = "halves"

    def __post_init__(self) -> None:
        if self.how not in (How.EVEN, How.SHARES):
            raise UsageError(f"method {self.notation}: how must be even or shares, not {self.how}")
        _check_depth(self.notation, self.depth)
        if self.again < 0:
            raise UsageError(f"method {self.notation}: again must be 0 or more, not {self.again}")

    def __str__(self) -> str:
        return notation.write(self)


@dataclass(frozen=True)
class Published:
    """Compare as published: `λ₁λ₁'⟨θ, θ'⟩ + λ₂λ₂'⟨ψ, ψ'⟩` (Eq. 4)."""

    model: str = ""
    depth: int = _CANDIDATES
    notation: ClassVar[str] = "eq4"

    def __post_init__(self) -> None:
        _check_depth(self.notation, self.depth)

    def __str__(self) -> str:
        return notation.write(self)


@dataclass(frozen=True)
class TopicsOnly:
    """Compare the compact halves only."""

    model: str = ""
    notation: ClassVar[str] = "topics"

    def __str__(self) -> str:
        return notation.write(self)


@dataclass(frozen=True)
class WordsOnly:
    """Compare the own words only."""

    model: str = ""
    notation: ClassVar[str] = "words"

    def __str__(self) -> str:
        return notation.write(self)


HalvesConfig = ByHalves | Published | TopicsOnly | WordsOnly
Config = HalvesConfig | TopN | TopNTopics | Hashed | Model

HALVES: dict[str, type[HalvesConfig]] = {
    "halves": ByHalves,
    "eq4": Published,
    "topics": TopicsOnly,
    "words": WordsOnly,
}
METHODS: dict[str, type[Config]] = {
    **HALVES,
    "topn": TopN,
    "topn-lda": TopNTopics,
    "lsh-tfidf": Hashed,
    **MODELS,
}


def read_method(text: str) -> Config:
    """Read a method as it is written: `halves`, `halves(beta=2,depth=0)`, `bm25`."""
    config: Config = notation.read(text, METHODS, what="method")
    return config


def make_ranker(
    collection: Snapshot, config: Config, halves: Callable[[str], StoredHalves]
) -> Ranker:
    """Make the ranker of a method; `halves` gives what is stored by the model of a name."""
    if isinstance(config, ByHalves | Published | TopicsOnly | WordsOnly):
        return halves_ranker(halves(config.model), config)
    if isinstance(config, TopN):
        return top_n(collection, config)
    if isinstance(config, TopNTopics):
        likeness = halves_ranker(halves(config.model), TopicsOnly()).likeness
        return TopNTopicsRanker(collection, config, likeness)
    if isinstance(config, Hashed):
        return HashedRanker(collection, config)
    return Whole(Retriever(collection, config))


class HalvesRanker:
    """Ranks by stored halves."""

    def __init__(self, likeness: Likeness, *, depth: int, again: int = 0) -> None:
        self.likeness = likeness
        self.depth = depth
        self.again = again

    def ask(self, question: Question) -> Asked:
        """Take the documents of a question apart, and mix them."""
        ask = self.likeness.view.ask
        like = [ask(*example) for example in question.like]
        unlike = [ask(*example) for example in question.unlike]
        return mix(like, unlike, against=AGAINST)

    def rank(
        self,
        questions: Sequence[Question],
        *,
        k: int,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> list[Ranking]:
        """Find the k best documents for each question, without its own documents."""
        return self.likeness.rank(
            [self.ask(question) for question in questions],
            k=k,
            depth=self.depth,
            again=self.again,
            allowed=allowed,
            omit=[question.docs for question in questions],
            threads=threads,
        )

    def explain(
        self,
        question: Question,
        doc: int,
        *,
        k: int = 10,
        allowed: Sequence[Bools] | None = None,
    ) -> list[Part]:
        """Split the score of a document into parts that add up to it, the largest first."""
        return self.reasons(question, [doc], k=k, allowed=allowed)[0].parts

    def reasons(
        self,
        question: Question,
        docs: Sequence[int],
        *,
        k: int = 10,
        allowed: Sequence[Bools] | None = None,
        text: str = "",
    ) -> list[Reasons]:
        """Say why documents are like those of a question, ranked with this k and these allowed.

        `text` is that of the question, where it is one that the collection does not have.
        """
        asked = self.likeness.settle(
            self.ask(question),
            again=self.again,
            depth=self.depth,
            k=k,
            allowed=allowed,
            omit=question.docs,
        )
        return self._reasoner.explain(question, asked, docs, text=text)

    @cached_property
    def _reasoner(self) -> Reasoner:
        return Reasoner(self.likeness)


def halves_ranker(halves: StoredHalves, config: HalvesConfig) -> HalvesRanker:
    """Make a ranker of stored halves."""
    chosen = halves.weights or Weights()
    if isinstance(config, ByHalves):
        beta = chosen.words if config.beta < 0 else config.beta
        weights = Weights(chosen.points, beta)
        # Vectors that nothing speaks for find no candidates: then it is the words' ranking.
        depth = config.depth if chosen.points else 0
        likeness = Likeness(View(halves, How(config.how)), weights)
        return HalvesRanker(likeness, depth=depth, again=config.again)
    if isinstance(config, Published):
        likeness = Likeness(View(halves, How.PUBLISHED), Weights())
        return HalvesRanker(likeness, depth=config.depth)
    if isinstance(config, TopicsOnly):
        return HalvesRanker(Likeness(View(halves), Weights(1.0, 0.0)), depth=_CANDIDATES)
    return HalvesRanker(Likeness(View(halves), Weights(0.0, 1.0)), depth=0)


def _check_depth(method: str, depth: int) -> None:
    if depth < 0:
        raise UsageError(f"method {method}: depth must be 1 or more, or 0 for all, not {depth}")


class RankLike(Stage):
    """Rank the documents most like each query's text; earlier rankings are replaced."""

    def __init__(
        self,
        collection: Snapshot,
        ranker: Ranker,
        method: str,
        *,
        k: int = 1000,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
    ) -> None:
        self.k = k
        self._collection = collection
        self._ranker = ranker
        self._method = method
        self._allowed = allowed
        self._threads = threads

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Take the queries as documents, and rank what is like them."""
        questions = [self._question(answered.query) for answered in batch]
        rankings = self.rank(questions)
        return [
            Answered(answered.query, ranking)
            for answered, ranking in zip(batch, rankings, strict=True)
        ]

    def rank(self, questions: Sequence[Question]) -> list[Ranking]:
        """Rank the documents most like those of each question."""
        return self._ranker.rank(questions, k=self.k, allowed=self._allowed, threads=self._threads)

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split a score."""
        question = self._question(query)
        return self._ranker.explain(question, doc, k=self.k, allowed=self._allowed)

    def _question(self, query: Query) -> Question:
        return Question(query.qid, (of_text(self._collection, text_of(query, self)),))

    def __repr__(self) -> str:
        return self._method
