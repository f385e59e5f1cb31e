"""The decomposition paper's score: topics and specific words as distributions, by their shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from likewise.compiled import Doubles, Floats
from likewise.errors import UsageError
from likewise.like.components import Encoder
from likewise.like.hybrid import CANDIDATES, HybridRanker, Likeness, LikenessStage, check_candidates
from likewise.like.kernels import Rows
from likewise.models.document_vectors import DocumentVectors
from likewise.models.ladder import unnest
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors
from likewise.models.subspace import Subspace
from likewise.models.triple import Triples
from likewise.neighbours.int8 import decode


@dataclass(frozen=True)
class Published(LikenessStage):
    """Compare as published: `λ₁λ₁'⟨θ, θ'⟩ + λ₂λ₂'⟨ψ, ψ'⟩` (Eq. 4)."""

    model: str = ""
    candidates: int = CANDIDATES
    notation: ClassVar[str] = "eq4"

    def __post_init__(self) -> None:
        check_candidates(self.notation, self.candidates)

    def ranker(self, stored: StoredVectors) -> HybridRanker:
        """Make a ranker of stored vectors."""
        return HybridRanker(
            Likeness(PublishedEncoder(stored), Weights()), candidates=self.candidates
        )


class PublishedEncoder(Encoder):
    """Topics and specific words as distributions, each times its share λ (Eq. 4).

    Of a space, projection and residual as they are (Eq. 2): each as long as the root of its share.
    """

    as_stored = False

    def __init__(self, stored: StoredVectors) -> None:
        super().__init__(stored)
        if isinstance(stored.model, Subspace):
            if stored.model.vectors is not None:
                raise UsageError(
                    "eq4 compares projections, and this model stores sums of trained word vectors; "
                    "fit lsi without train"
                )
            self.model = replace(stored.model, ladder=())

    def weigh(self, point: Doubles, triples: Triples) -> tuple[Doubles, Doubles]:
        """Give both vectors of one document in hand, as long as they count."""
        shares = triples.shares[0, :2].astype(np.float64)
        weights = triples.weights.astype(np.float64)
        if not self.topical:
            return point * np.sqrt(shares[0]), weights * np.sqrt(shares[1])
        return triples.topics[0].astype(np.float64) * shares[0], weights * shares[1]

    def scaled(self, i: int, vectors: DocumentVectors) -> tuple[Rows, Floats, Floats]:
        """Give the topics of a segment with their scales, and the scales of specific words."""
        if not self.topical:
            rows = self._projections(decode(vectors.dense), vectors.shares)
            word_scales = vectors.word_scales * np.sqrt(vectors.shares[:, 1])
            return rows, np.ones(len(rows), np.float32), word_scales
        word_scales = vectors.word_scales * vectors.shares[:, 1]
        return self._topics(i, vectors), vectors.shares[:, 0].copy(), word_scales

    def _projections(self, rows: Floats, shares: Floats) -> Floats:
        """Give vectors of length one as they lie in the space."""
        if isinstance(self.stored.model, Subspace):
            rows = unnest(rows, self.stored.model.ladder)
        return rows * np.sqrt(shares[:, :1])

    def _topics(self, i: int, vectors: DocumentVectors) -> Floats:
        """Give topics with their prior: what `without_prior` took away is known."""
        alpha = self.model.topics("to compare as published").priors.alpha
        lengths = np.asarray(self.stored.collection.segments[i].lengths, np.float64)
        n_words = lengths * vectors.shares[:, 0]
        mine = np.square(decode(vectors.dense), dtype=np.float64) * n_words[:, None]
        rows: Floats = ((mine + alpha) / (n_words + alpha.sum())[:, None]).astype(np.float32)
        rows[vectors.dense.scales == 0] = 0
        return rows
