"""How much expansion does a query bear? Terms chosen by a programme that weighs gain and risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.expand.expansion import (
    NO_SHARE,
    Expander,
    ExpansionResult,
    Feedback,
    WordSearch,
    check_counts,
    check_share,
    mix,
)
from likewise.expand.feedback import NO_ANSWER, RankedRM
from likewise.expand.qp import Limits, solve
from likewise.expand.similarity import SIMILARITIES, Context
from likewise.records import Ranking

# So many queries are searched for together: the documents of all are held until they are done.
_TOGETHER = 64
# So many of a query's terms, the weightiest, are aspects that are to be covered.
_MOST_ASPECTS = 8
# So many documents of the first ranking tell how flat its scores are.
FIRST = 20
FLAT = "the scores of the first documents are all the same: nothing tells which to learn from"
# So many times as many documents are ranked as are read, where that saves searches.
_DEEPER = 5
# A term of less than this part of the weightiest only costs time.
_LEAST = 0.01


@dataclass(frozen=True)
class Robust(Expander):
    """Expansion with controlled risk (Collins-Thompson 2008, 2009).

    Candidates are the `terms` that `rrm` finds in the first `docs`, c their weights over the
    largest; chosen are the x that minimise `-cᵀx + κ/2 xᵀ(Σ + γ I)x` within the limits (see
    `qp.Limits`). Σ tells which words stand and fall together in the first `context`
    documents (0: `docs`; see `similarity`): `loo` and `tat` are perturbation kernels. Where no
    choice meets the limits the query is left alone.

    With `adapt` the share is smaller where the scores of the first ranking are flat, as these say
    little of which documents to learn from: it is `share · min(1, adapt · d)`, d how far scores
    fall from the first to the tenth. 0: it is the same for all queries.
    """

    similarity: str = "loo"
    docs: int = 20
    terms: int = 60
    share: float = 0.5
    kappa: float = 1.0
    gamma: float = 1.0
    context: int = 0
    coverage: float = 0.0
    balance: float = 1.0
    keep: float = 0.0
    budget: float = 0.0
    adapt: float = 0.0
    notation: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        check_counts("robust", docs=self.docs, terms=self.terms, context=self.context or self.docs)
        if 0 < self.context < self.docs:
            raise UsageError(
                f"robust needs context of at least docs ({self.docs}), or 0 for as many, not "
                f"{self.context}"
            )
        check_share("robust", self.share)
        if self.similarity not in SIMILARITIES:
            raise UsageError(
                f"robust: unknown similarity {self.similarity!r}; it is one of "
                f"{', '.join(SIMILARITIES)}"
            )
        for name in ("kappa", "gamma"):
            # Beyond these the solver's tolerances decide, not the programme.
            if not 1e-6 <= getattr(self, name) <= 1e6:
                raise UsageError(f"robust needs {name} from 1e-6 to 1e6, not {getattr(self, name)}")
        for name in ("coverage", "budget", "adapt"):
            if not 0 <= getattr(self, name) < np.inf:
                raise UsageError(f"robust needs {name} from 0 up, not {getattr(self, name)}")
        for name in ("balance", "keep"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"robust needs {name} from 0 to 1, not {getattr(self, name)}")

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs."""
        reads = 0 if SIMILARITIES[self.similarity].searches else self._deepest
        return max(reads, FIRST) if self.adapt else reads

    def depth(self, k: int, *, log: bool) -> int:
        """Deeper where perturbed queries are searched for: their best are mostly among these."""
        found = super().depth(k, log=log)
        # A query whose ranking is too short is searched for again, and is to be as before.
        searches = SIMILARITIES[self.similarity].searches
        more = self.adapt and searches and found >= self._deepest
        return max(found, _DEEPER * self._deepest) if more else found

    @property
    def by_graph(self) -> bool:
        """Whether it asks a graph of terms."""
        return self.similarity == "graph"

    @property
    def _deepest(self) -> int:
        return self.context or self.docs

    def with_share(self, share: float) -> Robust:
        """Give the same with another share of the expansion."""
        return replace(self, share=share)

    def with_similarity(self, name: str) -> Robust:
        """Give the same by another similarity of words."""
        return replace(self, similarity=name)

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries."""
        if self.share == 0:
            return [ExpansionResult({}, NO_SHARE)] * len(batch)
        look = SIMILARITIES[self.similarity].contexts
        pieces = (batch[i : i + _TOGETHER] for i in range(0, len(batch), _TOGETHER))
        return [
            self._expand(context, self._share(feedback.ranking))
            for piece in pieces
            for feedback, context in zip(piece, look(piece, search, self._deepest), strict=True)
        ]

    def _share(self, first: Ranking) -> float:
        """Give the share of the expansion for a query, by its first ranking."""
        return self.share * min(1.0, self.adapt * first.decline()) if self.adapt else self.share

    def _expand(self, context: Context, share: float) -> ExpansionResult:
        pool = context.pool
        if len(pool.docs) == 0:
            return ExpansionResult({}, NO_ANSWER)
        if share == 0:
            return ExpansionResult({}, FLAT)
        columns, gains = self.candidates(context)
        asked = pool.asked
        limits = Limits(self.coverage, self.balance, self.keep, self.budget)
        nearness = np.empty((0, len(columns)))
        if limits.of_aspects:
            aspects = _weightiest(pool.query[asked] * pool.idf[asked])
            nearness = context.similarity(columns)[aspects]
        x = solve(
            gains,
            context.risk(columns),
            nearness,
            n_asked=len(asked),
            kappa=self.kappa,
            gamma=self.gamma,
            limits=limits,
        )
        if x is None and limits != Limits():
            return ExpansionResult({}, f"no choice of terms meets {self._limits()}")
        if x is None:
            return ExpansionResult({}, f"the programme cannot be solved with {self}")
        x[x < _LEAST * x.max(initial=0)] = 0
        return mix(pool, columns, x, share, norm="sum")._replace(note=context.note)

    def candidates(self, context: Context) -> tuple[Ints, Doubles]:
        """Give the terms to choose from, the query's own first, and what each promises."""
        pool = context.pool
        chosen, weights = RankedRM(docs=self.docs, terms=self.terms).choose(pool)
        promised = np.zeros(len(pool.terms))
        promised[chosen] = weights / weights.max(initial=1e-300)
        columns = np.concatenate([pool.asked, chosen[pool.query[chosen] == 0]])
        return columns, promised[columns]

    def _limits(self) -> str:
        given = {name: getattr(self, name) for name in ("coverage", "balance", "keep", "budget")}
        default = Limits()
        parts = [f"{k}={v:g}" for k, v in given.items() if v != getattr(default, k)]
        return ", ".join(parts)


def _weightiest(weights: Doubles) -> Ints:
    return np.sort(np.argsort(-weights, kind="stable")[:_MOST_ASPECTS])
