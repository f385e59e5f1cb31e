"""The space that topics span, used as that of LSI: the decomposition paper's other second half."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.fitting import FitJob
from likewise.models.kinds import load_model
from likewise.models.lanczos import overlap, slabs, times
from likewise.models.model import LIKE, Model
from likewise.models.subspace import Subspace
from likewise.models.topics import TopicModel
from likewise.models.weighting import Scale

# An axis with less than this share of the first is the noise of single precision.
_LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Span:
    """The space that a model's topics span, used as LSI's is: `span(of=ddm)`."""

    of: str = "ddm"
    notation: ClassVar[str] = "span"
    role: ClassVar[str] = LIKE

    def __str__(self) -> str:
        return notation.write(self)

    def fit(self, snapshot: Snapshot, job: FitJob) -> Model:
        """Give the space of the topics of a model that is stored."""
        job.refuse(self, "warm_start", "vectors", "gram")
        model: Model = load_model(snapshot, self.of)
        return span_of(model.topics("to span a space"))


def span_of(
    model: TopicModel, *, vocabulary: Vocabulary | None = None, threads: int = 1
) -> Subspace:
    """Give the subspace that topics span: the left singular vectors of `idf · √φ`.

    With a wider vocabulary its other words keep their own idf; without one they count as rare,
    even those that were left out of the topics for being everywhere.
    """
    words = vocabulary or model.vocabulary
    factors = Scale(model.vocabulary, "tfidf", 1.0).factors[:-1]
    with slabs(threads) as pool:
        roots = factors[:, None] * np.sqrt(model.word_topics[:, : model.width])
        squares, turns = np.linalg.eigh(overlap(roots, roots, pool))
        squares, turns = squares[::-1], turns[:, ::-1]
        good = squares > _LEAST_SHARE * squares[0]
        basis = times(roots, turns[:, good] / np.sqrt(squares[good]), pool)
        # The products were in single precision: once more, without turning an axis.
        inner, back = np.linalg.eigh(overlap(basis, basis, pool))
        basis = times(basis, (back / np.sqrt(inner)) @ back.T, pool)
    if vocabulary is not None:
        narrow, known = basis, Scale(vocabulary, "tfidf", 1.0).rows
        terms = model.vocabulary.terms
        inside = terms < len(known)
        rows = np.where(inside, known[np.minimum(terms, len(known) - 1)], -1)
        if (rows < 0).any():
            raise UsageError("the wider vocabulary lacks words that the topics have")
        basis = np.zeros((len(vocabulary), narrow.shape[1]), np.float32)
        basis[rows] = narrow
    return Subspace(
        name=f"{model.name}-span",
        vocabulary=words,
        basis=basis,
        values=np.sqrt(squares[good]),
        settings=dict(model.settings),
        history=model.history,
    )
