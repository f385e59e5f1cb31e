"""Which focus of likeness suits the user's own judgements? Learnt by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.compiled import Doubles
from likewise.errors import UsageError
from likewise.evaluate.measures import evaluate
from likewise.evaluate.trec import Qrels, Run
from likewise.like.components import Encoder
from likewise.like.focus import LEVELS, weights_at
from likewise.like.hybrid import Hybrid, Likeness, weights_of
from likewise.models.model import Weights
from likewise.models.stored_vectors import StoredVectors
from likewise.records import Ranking
from likewise.retrieve.question import Question, of_doc

GRID = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
MEASURE = "AP@100"
_FOLDS = 5
_LEAST_QUERIES = 10


@dataclass(frozen=True)
class Learnt:
    """What was learnt: the mean at each place of the dial, and what choosing is worth.

    `validated` is the mean over queries of what the place chosen on the other folds gave them;
    `before` that of the weights that were there. Where choosing is worth less, `chosen` is what
    was in force.
    """

    measure: str
    n_queries: int
    means: dict[float, float]
    chosen: float
    validated: float
    before: float

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return vars(self) | {"means": {str(place): mean for place, mean in self.means.items()}}

    def __str__(self) -> str:
        lines = [f"{self.measure} of {self.n_queries:,} documents as queries", " focus  mean"]
        names = {place: f"  {name}" for name, place in LEVELS.items()}
        lines += [
            f"{place:6.3f}  {mean:.4f}{names.get(place, '')}{'  chosen' * (place == self.chosen)}"
            for place, mean in self.means.items()
        ]
        lines.append(
            f"chosen on other queries {self.validated:.4f} (cross-validated); "
            f"before {self.before:.4f}"
        )
        return "\n".join(lines)


def learn_focus(
    stored: StoredVectors,
    qrels: Qrels,
    *,
    grid: Sequence[float] = GRID,
    folds: int = _FOLDS,
    seed: int = 0,
    threads: int = 1,
) -> Learnt:
    """Choose the focus of likeness, by judgements whose queries are documents by id.

    Documents are ranked as `like` does by default.
    """
    encoder, collection = Encoder(stored), stored.collection
    qids = [qid for qid in qrels if qrels.relevant(qid)]
    if len(qids) < _LEAST_QUERIES:
        raise UsageError(
            f"only {len(qids)} documents have others judged like them: {_LEAST_QUERIES} or more "
            "are needed to learn from"
        )
    docs = [collection.find_doc(qid) for qid in qids]
    questions = [
        Question(qid, (of_doc(collection, doc),)) for qid, doc in zip(qids, docs, strict=True)
    ]
    asked = [encoder.encode(*question.like[0]) for question in questions]
    how = Hybrid()

    def values_of(weights: Weights) -> Doubles:
        likeness = Likeness(encoder, weights)

        def rank(i: int) -> Ranking:
            return likeness.rank(
                asked[i],
                k=100,
                candidates=how.candidates,
                feedback=how.feedback,
                omit=questions[i].docs,
            )[0]

        with ThreadPoolExecutor(threads) as pool:
            rankings = [*pool.map(rank, range(len(asked)))]
        found = Run("likeness")
        for qid, ranking in zip(qids, rankings, strict=True):
            doc_ids = collection.doc_ids(ranking.docs)
            found.add(qid, zip(doc_ids, ranking.scores.tolist(), strict=True))
        values: Doubles = evaluate(found, qrels, measures=MEASURE).values[0]
        return values

    dense = stored.model.dense_weight
    values = np.stack([values_of(weights_at(one, stored.typical, dense=dense)) for one in grid])
    fold_of = np.random.default_rng(seed).permutation(len(qids)) % min(folds, len(qids))
    validated = np.empty(len(qids))
    for fold in range(int(fold_of.max()) + 1):
        inside = fold_of == fold
        validated[inside] = values[int(values[:, ~inside].mean(axis=1).argmax())][inside]
    means = values.mean(axis=1)
    before = float(values_of(weights_of(stored)).mean())
    # Of places as good the one nearest to that in force, which stays where choosing is worth less.
    best = np.flatnonzero(means == means.max())
    chosen = min((grid[i] for i in best.tolist()), key=lambda place: abs(place - stored.focus))
    if validated.mean() < before:
        chosen = stored.focus
    return Learnt(
        measure=MEASURE,
        n_queries=len(qids),
        means=dict(zip(grid, means.tolist(), strict=True)),
        chosen=chosen,
        validated=float(validated.mean()),
        before=before,
    )
