"""Table 2: which terms does a paper's body have, told from its abstract?

Trained on abstracts only. Parameters are chosen on training abstracts that are left out of the
counts meanwhile: the terms of the second half of their sentences are told from the first half.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from likewise.compiled import Doubles
from likewise.errors import UsageError
from likewise.terms.catalogue import Stored
from likewise.terms.graph import Graph
from likewise.terms.kinds import GraphSettings
from likewise.terms.nearness import Nearness
from likewise.terms.nodes import DOCUMENT, SENTENCE
from likewise.terms.predict import predict
from likewise.terms.related import TermGraph
from likewise.terms.transforms import Resistance
from likewise.terms.weights import weigh
from likewise_papers.auc import difference, summarise
from likewise_papers.bench import Bench
from likewise_papers.comparing import FEWEST, Pairs, claim_above, claim_same
from likewise_papers.experiment import Claim, Result, Row, Table, Value
from likewise_papers.papers.term_graph.abstracts import split_papers
from likewise_papers.papers.term_graph.kernels import PUBLISHED as AS_PUBLISHED
from likewise_papers.papers.term_graph.kernels import SETTINGS, Kernels, lifted
from likewise_papers.papers.term_graph.lexicon import Lexicon, Questions, make_lexicon
from likewise_papers.terms.baselines import (
    PHITS,
    fit_phits,
    popularity,
    shortest_paths,
    tfidf_ranking,
)

BASELINES = ("TF-IDF", "PHITS", "shortest path")
KERNELS = ("diffusion", "resistance", "non-parametric")
PUBLISHED = {
    "TF-IDF": 0.782,
    "PHITS": 0.781,
    "shortest path": 0.745,
    "diffusion": 0.878,
    "resistance": 0.883,
    "non-parametric": 0.870,
}
OURS = "documents alike vote, votes take a step, by document"
OWN_FIRST = ", the abstract's own first"
EVERY, OTHERS = "all candidates", "without the abstract's own"


def kernel_row(kernel: str, setting: str = AS_PUBLISHED.name) -> str:
    """Give the name of a kernel's row."""
    return f"{kernel}, {setting}"


class Told:
    """What was told by each method: AUCs for each paper, by whether its own terms count."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.aucs: dict[str, dict[str, Doubles]] = {EVERY: {}, OTHERS: {}}
        self.chosen: dict[str, str] = {}

    def add(self, name: str, scores: Doubles, chosen: str = "", *, own_first: bool = False) -> None:
        """Take what a method scored; the abstract's own terms stand where the scores put them."""
        asked = self.lexicon.test
        self.aucs[OTHERS][name] = asked.aucs(scores)
        self.aucs[EVERY][name] = asked.aucs(scores, every=True)
        if own_first:
            first = asked.aucs(asked.own_first(scores), every=True)
            self.aucs[EVERY][name + OWN_FIRST] = first
        if chosen:
            self.chosen[name] = chosen


def table_2(bench: Bench) -> Result:
    """Run the experiment."""
    split = split_papers(bench)
    told, about = {}, []
    for name in bench["lexicons"]:
        lexicon = make_lexicon(name, split, bench, fewest=FEWEST)
        if lexicon is None:
            about.append(f"{name.capitalize()}: left out, as too few papers have any.")
            continue
        bench.say(f"{name}: {len(lexicon):,} terms, {len(lexicon.test.sets)} papers")
        found = told[name] = Told(lexicon)
        _simple(found, bench)
        _by_kernels(found, bench)
        _by_votes(found)
        about.append(_about(found))
    if not told:
        raise UsageError("too few papers have terms to be told")
    aucs = {name: found.aucs for name, found in told.items()}
    return Result(
        claims=tuple(make_claims({name: found[EVERY] for name, found in aucs.items()})),
        tables=(_table(aucs, " ".join(about)), _differences(aucs)),
    )


def make_claims(aucs: Mapping[str, Mapping[str, Doubles]]) -> list[Claim]:
    """Give the claims: AUCs for each paper by lexicon and method, all candidates."""

    def against(ours: tuple[str, ...], theirs: tuple[str, ...]) -> Pairs:
        return {
            f"{name}, {one} over {other}": (found[one], found[other])
            for name, found in aucs.items()
            for one in ours
            for other in theirs
            if one in found and other in found
        }

    published = tuple(kernel_row(kernel) for kernel in KERNELS)
    diffusion, resistance, free = published
    by_document = tuple(kernel_row(kernel, "normalised, by document") for kernel in KERNELS[:2])
    rows = {row for found in aucs.values() for row in found}
    others = tuple(sorted(row for row in rows if "vote" not in row))
    return [
        claim_above(
            "All three kernels are above TF-IDF, PHITS and shortest paths.",
            against(published, BASELINES),
        ),
        claim_above(
            "The resistance kernel is above the diffusion and the non-parametric one.",
            against((resistance,), (diffusion, free)),
        ),
        claim_same(
            "The diffusion and the non-parametric kernel do not differ.",
            against((diffusion,), (free,)),
        ),
        claim_above(
            "Diffusion and resistance on the normalised Laplacian, counted by document, "
            "are above TF-IDF, PHITS and shortest paths.",
            against(by_document, BASELINES),
            ours=True,
        ),
        claim_above(
            "Votes of the documents alike, with a step on the graph and the abstract's "
            "own terms first, are above every kernel and baseline.",
            against((OURS + OWN_FIRST,), others),
            ours=True,
        ),
    ]


def _table(aucs: Mapping[str, Mapping[str, Mapping[str, Doubles]]], note: str) -> Table:
    """One column for each lexicon and kind of candidates; published are names, all candidates."""
    columns = tuple(f"{name}, {kind}" for kind in (EVERY, OTHERS) for name in aucs)
    first = columns[0]
    rows = []
    for row in _rows(aucs):
        values = {
            f"{name}, {kind}": _value(found[kind][row])
            for name, found in aucs.items()
            for kind in found
            if row in found[kind]
        }
        kind = row.removesuffix(f", {AS_PUBLISHED.name}")
        rows.append(
            Row(
                row,
                values,
                {first: PUBLISHED[kind]} if kind in PUBLISHED else {},
                ours=kind not in PUBLISHED,
            )
        )
    return Table("AUC of terms told", columns, tuple(rows), digits=4, unit="AUC", note=note)


def _differences(aucs: Mapping[str, Mapping[str, Mapping[str, Doubles]]]) -> Table:
    names = tuple(aucs)
    rows = []
    for row in _rows(aucs):
        values = {}
        for name in names:
            found = aucs[name][EVERY]
            if row != "TF-IDF" and row in found:
                mean, (low, high), _, _ = difference(found[row], found["TF-IDF"])
                values[name] = Value(mean, low, high)
        if values:
            ours = row.removesuffix(f", {AS_PUBLISHED.name}") not in PUBLISHED
            rows.append(Row(row, values, ours=ours))
    return Table(
        "Above TF-IDF, paper by paper", names, tuple(rows), digits=4, unit="AUC", note=f"{EVERY}."
    )


def _rows(aucs: Mapping[str, Mapping[str, Mapping[str, Doubles]]]) -> list[str]:
    return [*dict.fromkeys(row for found in aucs.values() for row in found[EVERY])]


def _value(aucs: Doubles) -> Value:
    mean, (low, high), _ = summarise(aucs)
    return Value(mean, low, high)


def _about(told: Told) -> str:
    asked = told.lexicon.test
    chosen = ", ".join(f"{row}: {value}" for row, value in told.chosen.items())
    return (
        f"{told.lexicon.name.capitalize()}: {len(told.lexicon):,} terms, {len(asked.sets)} papers, "
        f"{np.mean([len(nodes) for nodes in asked.sets]):.1f} terms in an abstract and "
        f"{asked.labels.sum(axis=1).mean():.1f} in a body. Chosen in training: {chosen}."
    )


def _simple(told: Told, bench: Bench) -> None:
    """What knows no kernel: popularity, TF-IDF, PHITS and shortest paths."""
    lexicon, asked = told.lexicon, told.lexicon.test
    counted = lexicon.all[SENTENCE]
    told.add("TF-IDF", tfidf_ranking(counted.doc_freqs, lexicon.term_freqs, counted.n_docs))
    graph, part = weigh(counted, "counts"), weigh(lexicon.rest[SENTENCE], "counts")
    sizes = bench["topics"]
    scored = [lexicon.train.mean(_by_phits(part, lexicon.train, n)) for n in sizes]
    topics = sizes[int(np.argmax(scored))]
    told.add("PHITS", _by_phits(graph, asked, topics), f"{topics} topics")
    told.add("shortest path", -np.column_stack([shortest_paths(graph, s) for s in asked.sets]))
    told.add("popularity", popularity(counted.doc_freqs), own_first=True)


def _by_phits(graph: Graph, asked: Questions, topics: int) -> Doubles:
    aspects = fit_phits(graph, PHITS(topics=topics))
    return np.column_stack([aspects.scores(nodes) for nodes in asked.sets])


def _by_kernels(told: Told, bench: Bench) -> None:
    """Kernels as the paper has them, and as they are meant here."""
    lexicon, asked = told.lexicon, told.lexicon.test
    for name in bench["kernels"]:
        bench.say(f"{lexicon.name}: kernels {name}")
        kernels = Kernels(lexicon, SETTINGS[name], bench)
        for family in KERNELS[:2]:
            transform, chosen = kernels.fitted(family)
            told.add(kernel_row(family, name), kernels.scores(transform, asked), chosen)
        step, chosen = kernels.learnt()
        told.add(kernel_row(KERNELS[2], name), kernels.scores(step, asked), chosen)
        if kernels.setting.by == "similarity":
            near = kernels.scores(Resistance(1.0), asked)
            popular = lexicon.all[kernels.setting.within].doc_freqs
            told.add(f"log df + ½ log lift, {name}", lifted(near, kernels.degrees, popular))


def _by_votes(told: Told) -> None:
    """Documents alike vote for their terms, and votes take one step along the graph."""
    lexicon, asked = told.lexicon, told.lexicon.test
    alike = lexicon.alike(asked)
    for within in (SENTENCE, DOCUMENT):
        stored = Stored(lexicon.snapshot, None, lexicon.nodes, GraphSettings(within=within))
        graph = TermGraph(stored, Nearness())
        sets = [graph.mentioned(text).members for text in asked.texts]
        told.add(f"`likewise terms` by default, by {within}", graph.metric.similarities_of(sets))
        found = [predict(graph, docs, scores) for docs, scores in alike]
        stepped = np.column_stack([one.scores for one in found])
        if within == SENTENCE:
            told.add("documents alike vote", np.column_stack([one.voted for one in found]))
            told.add("documents alike vote, votes take a step, by sentence", stepped)
        else:
            told.add(OURS, stepped, own_first=True)
