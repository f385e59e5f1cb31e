"""What an experiment is given: its setting, the collections, and pipelines to run on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.compiled import Doubles
from likewise.engine.pipeline import Pipeline
from likewise.evaluate.measures import evaluate
from likewise.evaluate.trec import Run
from likewise.expand.expansion import read_expander
from likewise.retrieve.models import read_model
from likewise.stages.stage import Result, Stage
from likewise_papers.data import Data, Ready, Watch


@dataclass(frozen=True)
class Bench:
    """The bench on which an experiment is done.

    `sets` are the collections of the kinds that it is done on, `beside` those that it named.
    """

    data: Data
    setting: Mapping[str, Any]
    sets: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    seed: int = 0
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    say: Watch = lambda line: None

    def __getitem__(self, name: str) -> Any:
        """Give a value of the setting."""
        return self.setting[name]

    def open(self, name: str) -> Ready:
        """Open a collection."""
        return self.data.open(name)


def search(
    ready: Ready, method: str = "bm25", *, expand: str = "none", k: int = 1000, threads: int = 1
) -> Pipeline:
    """Give a search by words as a pipeline, expanded or not."""
    first = read_model(method)
    stage: Stage = first
    if expand != "none":
        stage = first >> read_expander(expand) >> first
    return Pipeline(ready.snapshot, stage, k=k, threads=threads)


def as_run(ready: Ready, results: Sequence[Result], name: str) -> Run:
    """Turn what a pipeline gave into a run."""
    run = Run(name)
    for query, ranking, *_ in results:
        ids = ready.snapshot.doc_ids(ranking.docs)
        run.add(query.qid, zip(ids, ranking.scores.tolist(), strict=True))
    return run


def measured(ready: Ready, by: Pipeline | Sequence[Result], measure: str = "AP") -> Doubles:
    """Give the measure of each query of a collection, by a pipeline or by what one gave."""
    results = by(ready.queries) if isinstance(by, Pipeline) else by
    run = as_run(ready, results, "run")
    return np.asarray(evaluate(run, ready.qrels, measures=measure)[measure])
