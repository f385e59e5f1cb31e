"""How do several runs become one? By the fusion of rankings, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from likewise.arguments import check_counts, several
from likewise.errors import UsageError
from likewise.evaluate.trec import Run
from likewise.records import Ranking
from likewise.stages.fusion import check_fusion, fuse_rankings


def fuse_runs(
    runs: Iterable[Run],
    *,
    method: str = "sum",
    normalise: str = "score",
    weights: Sequence[float] | None = None,
    k: int | None = None,
    name: str = "",
) -> Run:
    """Fuse runs; a query that only some of them answer is fused from those.

    Ranks are those of the runs, so equal scores keep their order there; equal fused scores are
    ordered by doc_id. `k` cuts what was fused. The name tells how: `sum(bm25,0.5*ql)`.
    """
    runs = several(runs, Run, "runs are a list of Run, as in fuse_runs([run, other])")
    if not runs:
        raise UsageError("there is no run to fuse; give at least one")
    if k is not None:
        check_counts(least=1, k=k)
    given = check_fusion(len(runs), method=method, normalise=normalise, weights=weights)
    counted = [(run, weight) for run, weight in zip(runs, given, strict=True) if weight > 0]
    fused = Run(name or _name(counted, method=method, normalise=normalise))
    for qid in dict.fromkeys(qid for run, _ in counted for qid in run):
        answering = [(run[qid], weight) for run, weight in counted if qid in run]
        # Documents are numbered in the order of their ids: ties by number are ties by id.
        doc_ids = sorted({doc_id for ranking, _ in answering for doc_id, _ in ranking})
        docs = {doc_id: doc for doc, doc_id in enumerate(doc_ids)}
        rankings = [
            Ranking(
                np.array([docs[doc_id] for doc_id, _ in ranking], np.int64),
                np.array([score for _, score in ranking], np.float64),
            )
            for ranking, _ in answering
        ]
        try:
            best = fuse_rankings(
                rankings,
                method=method,
                normalise=normalise,
                weights=[weight for _, weight in answering],
            )
        except UsageError as error:
            raise UsageError(f"query {qid!r}: {error}") from None
        pairs = zip(best.docs[:k].tolist(), best.scores[:k].tolist(), strict=True)
        fused.add(qid, ((doc_ids[doc], score) for doc, score in pairs))
    return fused


def _name(counted: Sequence[tuple[Run, float]], *, method: str, normalise: str) -> str:
    parts = [run.name if weight == 1 else f"{weight:g}*{run.name}" for run, weight in counted]
    if normalise != "score" and method != "rrf":
        parts.append(f"normalise={normalise}")
    return f"{method}({','.join(parts)})"
