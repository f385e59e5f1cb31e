"""A collection with judged queries, and what an expansion of them gains and loses by query."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from likewise.compiled import Bools, Doubles
from likewise.engine.pipeline import Pipeline
from likewise.evaluate.measures import evaluate
from likewise.evaluate.significance import TOLERANCE
from likewise.evaluate.trec import Qrels, Run
from likewise.expand.expansion import Expander
from likewise.records import Query
from likewise_papers.bench import as_run, search
from likewise_papers.comparing import told_p
from likewise_papers.data import Ready
from likewise_papers.experiment import Row, Table, Value, estimate
from likewise_papers.titles import judged_titles

NONE, PLAIN = "none", "BM25"
GAIN, WORST, HURT = "mean gain, %", "worst gain, %", "queries hurt"
DEPTHS = (1000, 100)


@dataclass
class Judged:
    """A collection and its judged queries; runs of the same name are measured once.

    Where a document's own title is asked, `itself` says whether it may be an answer.
    """

    name: str
    ready: Ready
    queries: Sequence[Query]
    qrels: Qrels
    threads: int = 1
    itself: bool = True
    _scores: dict[str, Doubles] = field(default_factory=dict)

    @cached_property
    def plain(self) -> Run:
        """The answers to the queries as they are, by BM25."""
        return self.run(NONE)

    def run(self, how: str | Expander) -> Run:
        """Give the answers to the queries as an expander makes them."""
        return self.answered(search(self.ready, expand=str(how), threads=self.threads), str(how))

    def answered(self, stage: Pipeline, name: str) -> Run:
        """Give the answers of a stage to the queries."""
        return self.counted(as_run(self.ready, stage(self.queries), name))

    def counted(self, run: Run) -> Run:
        """Leave out a document that is no answer to its own title."""
        if self.itself:
            return run
        kept = {qid: [a for a in ranking if a[0] != qid] for qid, ranking in run.items()}
        return Run(run.name, kept)

    def ap(self, run: Run) -> Doubles:
        """Give the average precision of each query."""
        if run.name not in self._scores:
            self._scores[run.name] = np.asarray(evaluate(run, self.qrels, measures="AP")["AP"])
        return self._scores[run.name]

    def change(self, run: Run) -> Doubles:
        """Give the change of each query's AP, over the mean of the unexpanded queries."""
        before = self.ap(self.plain)
        changed: Doubles = (self.ap(run) - before) / (before.mean() or 1.0)
        return changed

    def hurt(self, run: Run) -> Bools:
        """Tell which queries are made worse."""
        return self.ap(run) < self.ap(self.plain) - TOLERANCE

    def lost(self, run: Run, depth: int) -> Doubles:
        """Give what each query adds to R-Loss: relevant documents lost, where it is made worse."""
        qids = [qid for qid in self.qrels if self.qrels.relevant(qid)]
        gaps = [self._found(self.plain, q, depth) - self._found(run, q, depth) for q in qids]
        return np.where(self.hurt(run), np.maximum(gaps, 0), 0).astype(np.float64)

    def _found(self, run: Run, qid: str, depth: int) -> int:
        relevant = self.qrels.relevant(qid)
        return sum(doc_id in relevant for doc_id, _ in run.get(qid, [])[:depth])


def of_collection(ready: Ready, threads: int) -> Judged:
    """Take a collection with its own queries and judgements."""
    return Judged(ready.name, ready, ready.queries, ready.qrels, threads)


def of_names(ready: Ready, label: str, *, least: int, last: bool, threads: int) -> Judged:
    """Ask a collection for the names of its categories of `least` documents or more.

    Of a path, as in "History.British History", the `last` part is the name, or all are.
    """
    members: dict[str, dict[str, int]] = {}
    for _, document in ready.snapshot.documents():
        values = document.fields.get(label, [])
        for value in values if isinstance(values, list) else [values]:
            members.setdefault(str(value), {})[document.id] = 1
    kept = {qid: found for qid, found in members.items() if qid and len(found) >= least}
    queries = [Query(qid, " ".join(qid.split(".")[-1 if last else 0 :])) for qid in kept]
    return Judged(ready.name, ready, queries, Qrels(kept), threads)


def of_titles(ready: Ready, field: str, *, threads: int) -> Judged:
    """Ask a collection for titles of documents that link to others by a field."""
    documents = (one for _, one in ready.snapshot.documents())
    queries, qrels = judged_titles(documents, field, itself=False)
    name = f"{ready.name}, titles ({field.replace('_', ' ')})"
    return Judged(name, ready, queries, qrels, threads, itself=False)


def gain_tables(
    sets: Sequence[Judged],
    runs: Mapping[str, Sequence[Run]],
    title: str,
    *,
    ours: Container[str] = (),
    seed: int = 0,
    note: str = "",
) -> list[Table]:
    """Make a table of MAP, and one of what is gained over BM25 and lost by the queries hurt."""
    means, risks = [], []
    for name, of in {PLAIN: [judged.plain for judged in sets], **runs}.items():
        pairs = [*zip(sets, of, strict=True)]
        aps = {judged.name: estimate(judged.ap(run), seed=seed) for judged, run in pairs}
        gains = [100 * float(judged.change(run).mean()) for judged, run in pairs]
        means.append(Row(name, aps, ours=name in ours))
        told = {
            GAIN: float(np.mean(gains)),
            WORST: min(gains),
            HURT: float(sum(int(judged.hurt(run).sum()) for judged, run in pairs)),
        }
        for depth in DEPTHS:
            lost = sum(float(judged.lost(run, depth).sum()) for judged, run in pairs)
            told[f"R-Loss at {depth}"] = lost
        values = {column: Value(value) for column, value in told.items()}
        risks.append(Row(name, values, ours=name in ours))
    n = sum(len(judged.queries) for judged in sets)
    note = f"{n:,} queries. {note}".strip()
    return [
        Table(f"{title}: MAP", tuple(s.name for s in sets), tuple(means), digits=4, unit="MAP"),
        Table(f"{title}: over {PLAIN}", tuple(told), tuple(risks[1:]), digits=1, note=note),
    ]


def hurt_alone(sets: Sequence[Judged], one: Sequence[Run], other: Sequence[Run]) -> tuple[int, int]:
    """Count the queries that one expansion alone makes worse, and those that the other does."""
    mine = np.concatenate([judged.hurt(run) for judged, run in zip(sets, one, strict=True)])
    others = np.concatenate([judged.hurt(run) for judged, run in zip(sets, other, strict=True)])
    return int((mine & ~others).sum()), int((others & ~mine).sum())


def sign_test(mine: int, others: int) -> float:
    """Give the p that as many of these differ by chance."""
    from scipy.stats import binomtest

    return float(binomtest(mine, mine + others).pvalue) if mine + others else 1.0


def told_hurt(alone: Mapping[str, int], p: float) -> str:
    """Say which queries are hurt by one of two expansions only."""
    counts = ", ".join(f"by {name} alone {n}" for name, n in alone.items())
    return f"queries hurt {counts}, p {told_p(p)} (sign test)"
