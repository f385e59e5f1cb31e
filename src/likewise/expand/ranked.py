"""A relevance model by rank and rarity: ours, and what robust expansion chooses from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise.compiled import Doubles, Ints
from likewise.expand.expander import Grown, Setting, mix, rank_weights
from likewise.expand.feedback import Feedback, relevance
from likewise.expand.pool import Pool
from likewise.records import Ranking


@dataclass(frozen=True)
class RankedRM(Feedback):
    """A relevance model whose documents weigh by rank and whose terms by rarity.

    `p = Σ 1/rank · tf/(length + average)` over the first `docs`; without the average, a document
    of a title alone would outweigh all others. Terms are chosen by `p idf`, weighed by `p √idf`.
    """

    docs: int = 20
    terms: int = 50
    share: float = 0.5
    notation: ClassVar[str] = "rrm"

    def join(self, pool: Pool, ranking: Ranking, setting: Setting) -> Grown:
        """Join the query with its relevance model."""
        chosen, weights = self.choose(pool)
        return mix(pool, chosen, weights, self.share, norm="sum")

    def choose(self, pool: Pool) -> tuple[Ints, Doubles]:
        """Choose terms of a pool whose first documents are the ranking's, and weigh them."""
        n = min(self.docs, len(pool.docs))
        by_rank = np.zeros(len(pool.docs))
        by_rank[:n] = rank_weights(n)
        p = relevance(pool, by_rank, damping=pool.collection.average_length)
        chosen = pool.largest(p * pool.idf, self.terms)
        return chosen, (p * np.sqrt(pool.idf))[chosen]
