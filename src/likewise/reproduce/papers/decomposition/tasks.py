"""Which documents are asked for, and what is relevant to them?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.compiled import Doubles
from likewise.errors import UsageError
from likewise.evaluate.links import qrels_from_labels, qrels_from_links
from likewise.evaluate.trec import Qrels
from likewise.like.question import Question, Ranker, of_doc
from likewise.reproduce.bench import Bench
from likewise.reproduce.data import Ready

# Documents are relevant that have the same label, that the one asked for links to, or that link to
# each other in either direction.
SAME, LINKS, LINKED = "same", "links", "linked"


@dataclass(frozen=True)
class Task:
    """Documents of a collection as queries, and the numbers of those relevant to each."""

    name: str
    questions: Sequence[Question]
    relevant: Sequence[frozenset[int]]

    def precision(self, ranker: Ranker, *, k: int = 10, threads: int = 1) -> Doubles:
        """Give P@k of each query."""
        rankings = ranker.rank(self.questions, k=k, threads=threads)
        hits = [
            sum(doc in its for doc in ranking.docs.tolist())
            for ranking, its in zip(rankings, self.relevant, strict=True)
        ]
        return np.array(hits, np.float64) / k


def tasks_of(bench: Bench) -> Iterator[tuple[Ready, list[Task]]]:
    """Give the collections that are there, each with its tasks."""
    by_collection: dict[str, list[tuple[str, str, str]]] = {}
    for task, (collection, how, field) in bench["tasks"].items():
        by_collection.setdefault(collection, []).append((task, how, field))
    for collection in bench.there([*by_collection]):
        ready = bench.open(collection)
        yield (
            ready,
            [
                make_task(ready, task, how, field, queries=bench["queries"], seed=bench.seed)
                for task, how, field in by_collection[collection]
            ],
        )


def make_task(ready: Ready, name: str, how: str, field: str, *, queries: int, seed: int) -> Task:
    """Draw documents to be asked for, of those that something is relevant to."""
    snapshot = ready.snapshot
    values = {document.id: document.fields.get(field, []) for _, document in snapshot.documents()}
    qrels = _judge(values, how, queries, seed)
    qids = [*qrels]
    docs = snapshot.find_docs(qids).tolist()
    return Task(
        name,
        [Question(qid, (of_doc(snapshot, doc),)) for qid, doc in zip(qids, docs, strict=True)],
        [frozenset(snapshot.find_docs(sorted(qrels.relevant(qid))).tolist()) for qid in qids],
    )


def _judge(values: dict[str, Any], how: str, queries: int, seed: int) -> Qrels:
    if how == SAME:
        asking = [doc_id for doc_id, value in values.items() if value not in ([], "", None)]
        return qrels_from_labels(values, wanted=_drawn(asking, queries, seed))
    if how not in (LINKS, LINKED):
        raise UsageError(f"documents are relevant by {SAME}, {LINKS} or {LINKED}, not {how!r}")
    links = {doc_id: list(its) for doc_id, its in values.items()}
    if how == LINKED:
        for doc_id, its in values.items():
            for other in its:
                if other in links:
                    links[other].append(doc_id)
    qrels = qrels_from_links(links.items(), known=links)
    return Qrels({qid: qrels[qid] for qid in _drawn([*qrels], queries, seed)})


def _drawn(ids: list[str], n: int, seed: int) -> list[str]:
    if not 0 < n < len(ids):
        return ids
    chosen = np.random.default_rng(seed).choice(len(ids), n, replace=False)
    return [ids[i] for i in np.sort(chosen).tolist()]
