"""What was found first by the words of a query stays first, whatever expansion and likeness say.

Someone who looks for one document often has it first by the words alone. Expansion and smoothing
find more that is like it, and may put some of that before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.errors import UsageError
from likewise.records import Ranking
from likewise.retrieve.proximity import WithGain
from likewise.stages.stage import Context, Result, Stage

# Chosen on judged collections leaving one out: benchmarks/defaults.py.
DOCS, GAP = 3, 0.05
KEPT_NAME = "(first by its words)"
# A kept document is ahead of the next by so much of its score, so that no rounding undoes it.
_AHEAD = 1e-5


@dataclass(frozen=True)
class Keep(Stage):
    """Keep the first documents of the ranking before expansion in their places.

    Up to `docs` of them are kept, as long as each is ahead of the next by `gap` of the first
    score. What that adds to their scores is a part of them, "(first by its words)".
    """

    docs: int = DOCS
    gap: float = GAP
    notation: ClassVar[str] = "keep"

    def __post_init__(self) -> None:
        if not isinstance(self.docs, Integral) or isinstance(self.docs, bool) or self.docs < 1:
            raise UsageError(f"keep needs docs of at least 1, not {self.docs!r}")
        if not isinstance(self.gap, Real) or not 0 <= self.gap <= 1:
            raise UsageError(f"keep needs gap from 0 to 1, not {self.gap!r}")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Put back what was first; a query that was not expanded stays as it is."""
        return [self._keep(result, context) for result in batch]

    def depth(self, k: int, *, log: bool) -> int:
        """As deep, and as many more as may be put before."""
        return 0 if k == 0 else k + self.docs

    def _keep(self, result: Result, context: Context) -> Result:
        query, ranking, scorer, first = result
        kept = self.chosen(first)
        kept = kept[context.mask(query).holds(kept, context.snapshot)]
        if not len(kept) or not len(ranking.docs):
            return result._replace(ranking=ranking.cut(context.k))
        there = np.isin(ranking.docs, kept)
        others, below = ranking.docs[~there], ranking.scores[~there].astype(np.float64)
        own = dict(zip(ranking.docs[there].tolist(), ranking.scores[there].tolist(), strict=True))
        missing = np.array([doc for doc in kept.tolist() if doc not in own], np.int64)
        if scorer is not None and len(missing):
            own |= dict(zip(missing.tolist(), scorer.score(missing).tolist(), strict=True))
        docs = [doc for doc in kept.tolist() if np.isfinite(own.get(doc, -np.inf))]
        least = float(below[0]) if len(below) else -np.inf
        scores = dict[int, float]()
        for doc in reversed(docs):
            ahead = least + _AHEAD * abs(least) if np.isfinite(least) else least
            least = scores[doc] = max(own[doc], ahead)
        added = {doc: scores[doc] - own[doc] for doc in docs}
        ranked = Ranking(
            np.concatenate([np.array(docs, np.int64), others]),
            np.concatenate([[scores[doc] for doc in docs], below]),
        )
        after = None if scorer is None else WithGain(scorer, Kept(added))
        return Result(query, ranked.cut(context.k), after)

    def chosen(self, first: Ranking) -> Ints:
        """Give the documents of a first ranking that are kept."""
        scores = first.scores[: self.docs + 1].astype(np.float64)
        scores = scores - min(float(first.scores.min(initial=0.0)), 0.0)
        if not len(scores):
            return first.docs
        after = np.append(scores[1:], 0.0)[: self.docs]
        ahead = scores[: self.docs] - after >= self.gap * scores[0]
        n = self.docs if ahead.all() else int(np.argmin(ahead))
        return first.docs[:n]


class Kept:
    """What keeping their places adds to the scores of documents."""

    def __init__(self, added: dict[int, float]) -> None:
        self._added = added

    @property
    def names(self) -> list[tuple[str, str]]:
        """The kind and name of its part."""
        return [("kept", KEPT_NAME)]

    def parts(self, docs: Ints) -> Doubles:
        """Give the part of each document."""
        return np.array([[self._added.get(doc, 0.0)] for doc in docs.tolist()]).reshape(-1, 1)

    def of(self, docs: Ints) -> Doubles:
        """Give what is added to each document."""
        total: Doubles = self.parts(docs)[:, 0]
        return total
