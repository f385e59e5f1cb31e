"""Which documents are asked for, and what is relevant to them?"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from likewise.compiled import Doubles
from likewise.errors import UsageError
from likewise.evaluate.links import qrels_from_labels, qrels_from_links
from likewise.evaluate.trec import Qrels
from likewise.records import Ranking
from likewise.retrieve.question import Question, of_doc
from likewise.sources.docstrings import JUDGED_FIELD
from likewise_papers.bench import Bench
from likewise_papers.data import LABELS, Ready

# Documents are relevant that have the same label, that the one asked for links to, or that link to
# each other in either direction.
SAME, LINKS, LINKED = "same", "links", "linked"
_LINKING = {"links": LINKS, JUDGED_FIELD: LINKED}


class Ranker(Protocol):
    """Ranks documents by their likeness to those in hand."""

    def rank(self, question: Question, *, k: int) -> tuple[Ranking, Any]:
        """Find the k best documents for a question, without its own documents."""
        ...


@dataclass(frozen=True)
class Task:
    """Documents of a collection as queries, and the numbers of those relevant to each."""

    name: str
    questions: Sequence[Question]
    relevant: Sequence[frozenset[int]]

    def precision(self, ranker: Ranker, *, k: int = 10, threads: int = 1) -> Doubles:
        """Give P@k of each query."""
        with ThreadPoolExecutor(threads) as pool:
            found = [*pool.map(lambda question: ranker.rank(question, k=k), self.questions)]
        hits = [
            sum(doc in its for doc in ranking.docs.tolist())
            for (ranking, _), its in zip(found, self.relevant, strict=True)
        ]
        return np.array(hits, np.float64) / k


def tasks_of(bench: Bench) -> Iterator[tuple[Ready, list[Task]]]:
    """Give the collections in which some documents are alike, each with its tasks."""
    any_asked = False
    for name in (*bench.sets, *bench.beside):
        ready = bench.open(name)
        tasks = [
            make_task(ready, field, how, queries=bench["queries"], seed=bench.seed)
            for field, how in judging(bench.data.fields_of(name))
        ]
        asked = [task for task in tasks if task.questions]
        if asked:
            any_asked = True
            yield ready, asked
    if not any_asked:
        raise UsageError("no document has another that is alike by its labels or links")


def judging(fields: Container[str]) -> list[tuple[str, str]]:
    """Give the fields that tell which documents are alike, and how: one of labels, all of links."""
    label = [(field, SAME) for field in LABELS if field in fields][:1]
    return label + [(field, how) for field, how in _LINKING.items() if field in fields]


def make_task(ready: Ready, field: str, how: str, *, queries: int, seed: int) -> Task:
    """Draw documents to be asked for, of those that something is relevant to."""
    snapshot = ready.snapshot
    values = {document.id: document.fields.get(field, []) for _, document in snapshot.documents()}
    qrels = _judge(values, how, queries, seed)
    qids = [*qrels]
    docs = snapshot.find_docs(qids).tolist()
    return Task(
        f"{ready.name}, {field.replace('_', ' ')}",
        [Question(qid, (of_doc(snapshot, doc),)) for qid, doc in zip(qids, docs, strict=True)],
        [frozenset(snapshot.find_docs(sorted(qrels.relevant(qid))).tolist()) for qid in qids],
    )


def _judge(values: dict[str, Any], how: str, queries: int, seed: int) -> Qrels:
    if how == SAME:
        asking = [doc_id for doc_id, value in values.items() if value not in ([], "", None)]
        return qrels_from_labels(values, wanted=_drawn(asking, queries, seed))
    if how not in (LINKS, LINKED):
        raise UsageError(f"documents are relevant by {SAME}, {LINKS} or {LINKED}, not {how!r}")
    given = {
        doc_id: [one for one in its if isinstance(one, str)] if isinstance(its, list) else []
        for doc_id, its in values.items()
    }
    links = {doc_id: [*its] for doc_id, its in given.items()}
    if how == LINKED:
        for doc_id, its in given.items():
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
