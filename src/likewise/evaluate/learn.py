"""Which weight of specific words suits the user's own judgements? Learnt by cross-validation."""

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
from likewise.like.hybrid import Hybrid, Likeness
from likewise.models.model import Weights
from likewise.records import Ranking
from likewise.retrieve.question import Question, of_doc

GRID = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
MEASURE = "AP@100"
_FOLDS = 5
_LEAST_QUERIES = 10


@dataclass(frozen=True)
class Learnt:
    """What was learnt: the mean of each weight, and what choosing is worth.

    `validated` is the mean over queries of what the weight chosen on the other folds gave them;
    `before` that of the weight that was there.
    """

    measure: str
    n_queries: int
    means: dict[float, float]
    chosen: float
    validated: float
    before: float

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return vars(self) | {"means": {str(weight): mean for weight, mean in self.means.items()}}

    def __str__(self) -> str:
        lines = [f"{self.measure} of {self.n_queries:,} documents as queries", "  beta   mean"]
        lines += [
            f"{weight:6.2f}  {mean:.4f}{'  chosen' * (weight == self.chosen)}"
            for weight, mean in self.means.items()
        ]
        lines.append(
            f"chosen on other queries {self.validated:.4f} (cross-validated); "
            f"before {self.before:.4f}"
        )
        return "\n".join(lines)


def learn_weights(
    encoder: Encoder,
    now: Weights,
    qrels: Qrels,
    *,
    grid: Sequence[float] = GRID,
    folds: int = _FOLDS,
    seed: int = 0,
    threads: int = 1,
) -> Learnt:
    """Choose how much specific words count, by judgements whose queries are documents by id.

    Documents are ranked as `like` does by default.
    """
    collection = encoder.collection
    qids = [qid for qid in qrels if qrels.relevant(qid)]
    if len(qids) < _LEAST_QUERIES:
        raise UsageError(
            f"only {len(qids)} documents have others judged like them: {_LEAST_QUERIES} or more "
            "are needed to learn from"
        )
    weights = sorted({*grid, now.words})
    docs = [collection.find_doc(qid) for qid in qids]
    questions = [
        Question(qid, (of_doc(collection, doc),)) for qid, doc in zip(qids, docs, strict=True)
    ]
    asked = [encoder.encode(*question.like[0]) for question in questions]

    def run(weight: float) -> Run:
        likeness = Likeness(encoder, Weights(now.points, weight))
        omit = [question.docs for question in questions]
        how = Hybrid()

        def rank(i: int) -> Ranking:
            return likeness.rank(
                asked[i], k=100, candidates=how.candidates, feedback=how.feedback, omit=omit[i]
            )[0]

        with ThreadPoolExecutor(threads) as pool:
            rankings = [*pool.map(rank, range(len(asked)))]
        found = Run(str(weight))
        for qid, ranking in zip(qids, rankings, strict=True):
            doc_ids = collection.doc_ids(ranking.docs)
            found.add(qid, zip(doc_ids, ranking.scores.tolist(), strict=True))
        return found

    values: Doubles = np.stack(
        [evaluate(run(weight), qrels, measures=MEASURE).values[0] for weight in weights]
    )
    fold_of = np.random.default_rng(seed).permutation(len(qids)) % min(folds, len(qids))
    validated = np.empty(len(qids))
    for fold in range(int(fold_of.max()) + 1):
        inside = fold_of == fold
        validated[inside] = values[int(values[:, ~inside].mean(axis=1).argmax())][inside]
    means = values.mean(axis=1)
    return Learnt(
        measure=MEASURE,
        n_queries=len(qids),
        means=dict(zip(weights, means.tolist(), strict=True)),
        chosen=weights[int(means.argmax())],
        validated=float(validated.mean()),
        before=float(means[weights.index(now.words)]),
    )
