"""Table 4: queries expanded by the terms that are near to them on the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from likewise.compiled import Doubles
from likewise.engine.pipeline import Pipeline
from likewise.evaluate.measures import evaluate
from likewise.evaluate.risk import measure_risk
from likewise.expand.expansion import Expander, ExpansionResult, Feedback, WordSearch, join
from likewise.retrieve.models import BM25
from likewise.terms.graph_cache import open_graph
from likewise.terms.nearness import Nearness
from likewise.terms.related import TermGraph
from likewise_papers.bench import Bench, as_run, search
from likewise_papers.comparing import claim_above, claim_close
from likewise_papers.data import Ready
from likewise_papers.experiment import Claim, Result, Row, Table, Value, estimate

TREC = ("Genomics 03", "Genomics 04", "Ad Hoc 7", "Ad Hoc 8")
NONE, PRF, KERNEL = "BM25 (Terrier)", "Bo1", "resistance, as published"
OURS = "`graph`, the default"
_HOW = {NONE: "none", PRF: "bo1", "RM3": "rm3", OURS: "graph"}
_ROWS = (NONE, PRF, KERNEL, "RM3", OURS)
_FIRST = 100
PUBLISHED = {
    NONE: (0.19, 0.31, 0.18, 0.24),
    PRF: (0.22, 0.37, 0.22, 0.26),
    KERNEL: (0.24, 0.37, 0.22, 0.25),
}


@dataclass(frozen=True)
class NearestTerms(Expander):
    """Expansion by the terms nearest to the query's set in resistance distance, as published.

    Counts, the combinatorial Laplacian, and the set as one node: the collapse that the paper's
    auxiliary node stands for. It does not say how many terms are added, nor with which weight:
    so many `terms`, each by its similarity, with a `share` of the query.
    """

    terms: int = 50
    share: float = 0.2
    notation: ClassVar[str] = "nearest-terms"

    @property
    def feedback_docs(self) -> int:
        """How many documents of the first ranking it needs: it looks at none."""
        return 0

    def with_share(self, share: float) -> NearestTerms:
        """Give the same with another share of the expansion."""
        return replace(self, share=share)

    def expand(self, batch: Sequence[Feedback], search: WordSearch) -> list[ExpansionResult]:
        """Expand queries."""
        nearness = Nearness(laplacian="combinatorial", weights="counts", sets="collapse")
        graph = open_graph(search.retriever.collection, "", nearness, threads=search.threads)
        node_of = graph.stored.node_of
        sets = []
        for one in batch:
            numbers, _, _ = search.retriever.known([*one.terms])
            sets.append([node_of[number] for number in numbers.tolist() if number in node_of])
        asked = [nodes for nodes in sets if nodes]
        # Queries have words in common: their columns are worked out once.
        far = iter(graph.metric.distances_of(asked).T) if asked else iter(())
        near = iter(graph.metric.similarities_of(asked).T) if asked else iter(())
        return [
            self._expanded(one, graph, nodes, next(far), next(near))
            if nodes
            else ExpansionResult({}, "no word of it is a term of the graph")
            for one, nodes in zip(batch, sets, strict=True)
        ]

    def _expanded(
        self, one: Feedback, graph: TermGraph, nodes: list[int], far: Doubles, near: Doubles
    ) -> ExpansionResult:
        others = np.setdiff1d(np.arange(len(graph)), nodes)
        best = others[np.lexsort((others, far[others]))][: self.terms]
        best = best[near[best] > 0]
        names = graph.collection.terms(graph.stored.term_numbers[best])
        found = dict(zip(names, near[best].tolist(), strict=True))
        return join(one.terms, found, self.share, norm="sum", where="the graph")


def table_4(bench: Bench) -> Result:
    """Run the experiment."""
    found: dict[str, dict[str, Doubles]] = {}
    risks: dict[str, tuple[int, ...]] = dict.fromkeys(_ROWS[1:], (0, 0, 0))
    for name in bench.sets:
        ready = bench.open(name)
        bench.say(name)
        stages = {
            row: search(ready, expand=how, threads=bench.threads) for row, how in _HOW.items()
        }
        stages[KERNEL] = _nearest(bench, ready)
        runs = {row: as_run(ready, stage(ready.queries), row) for row, stage in stages.items()}
        found[name] = {
            row: np.asarray(evaluate(run, ready.qrels, measures="AP")["AP"])
            for row, run in runs.items()
        }
        for row in _ROWS[1:]:
            risk = measure_risk(runs[NONE], runs[row], ready.qrels, depths=(_FIRST,))
            changed = (*risk.changes[:2], risk.losses[0].lost)
            risks[row] = tuple(map(sum, zip(risks[row], changed, strict=True)))
    return Result(
        claims=tuple(make_claims(found)),
        tables=(_table(found), _risks(risks)),
    )


def make_claims(found: Mapping[str, Mapping[str, Doubles]]) -> list[Claim]:
    """Give the claims: AP of each query by collection and row."""

    def over(row: str, other: str) -> dict[str, tuple[Doubles, Doubles]]:
        return {name: (values[row], values[other]) for name, values in found.items()}

    return [
        claim_above("Expansion by the resistance kernel is above none.", over(KERNEL, NONE)),
        claim_close(
            "Expansion by the resistance kernel is above Bo1's or comes close.", over(KERNEL, PRF)
        ),
        claim_above(
            "The default expansion on the graph is above none.", over(OURS, NONE), ours=True
        ),
        claim_close(
            "The default expansion on the graph is above Bo1's or comes close.",
            over(OURS, PRF),
            ours=True,
        ),
    ]


def _table(found: Mapping[str, Mapping[str, Doubles]]) -> Table:
    rows = [
        Row(
            row,
            {name: estimate(values[row]) for name, values in found.items()},
            dict(zip(TREC, PUBLISHED[row], strict=True)) if row in PUBLISHED else {},
            ours=row not in PUBLISHED,
        )
        for row in _ROWS
    ]
    return Table("MAP", (*TREC, *found), tuple(rows), digits=4, unit="MAP")


def _risks(risks: Mapping[str, Sequence[int]]) -> Table:
    columns = ("helped", "hurt", f"lost from the first {_FIRST}")
    rows = [
        Row(
            row,
            {name: Value(float(n)) for name, n in zip(columns, counts, strict=True)},
            ours=row not in PUBLISHED,
        )
        for row, counts in risks.items()
    ]
    return Table("Queries helped and hurt, relevant documents lost", columns, tuple(rows), digits=0)


def _nearest(bench: Bench, ready: Ready) -> Pipeline:
    how = NearestTerms(terms=bench["terms"], share=bench["share"])
    return Pipeline(ready.snapshot, how >> BM25(), k=1000, threads=bench.threads)
