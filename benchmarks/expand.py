"""What does expansion gain, what does it risk, and what does it cost?

    python benchmarks/expand.py [--only quality,check,curve,speed] [--sets cran,cisi,cacm,med]
        [--folds 5] [--loss 5] [--limit 64000] [--queries 300] [--seed 0] [--cache DIR]

`quality`: one setting for all sets. Parameters are chosen by cross-validation over queries (the
share of the expansion is ½ throughout): on the other folds of all sets together, by the relative
change of AP, in which losses count 1 + `--loss` times (5 as in the risk-sensitive task of TREC's
Web Track). What is printed are the queries that were not chosen by, then the defaults as they are.
AP and nDCG@10, queries hurt and helped, RI = (helped - hurt)/queries, R-Loss at 1000 and 100, p of
AP against no expansion and against rm3 (randomisation, not corrected).

`check`: the defaults on other collections, with names of categories as queries and their documents
as relevant: nothing was chosen by these.

`curve`: gain and R-Loss over the share, for robust expansion by perturbation and by Jaccard at the
same parameters, all sets together.

`speed`: one query a call on descriptions of Debian packages: times over that of the unexpanded
query, where the time goes, and queries perturbed one at a time against all at once.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import itertools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import likewise as lw
from corpora import debian
from likewise.evaluate import evaluate
from likewise.evaluate.risk import SHARES, Risk, measure_risk
from likewise.evaluate.significance import randomisation_test
from likewise.expand.expander import Asked, Expander, Setting, rank_weights
from likewise.expand.feedback import RM3, Bo1, relevance
from likewise.expand.perturb import perturb
from likewise.expand.pool import read_pool
from likewise.expand.programme import solve
from likewise.expand.ranked import RankedRM
from likewise.expand.robust import Robust
from likewise.expand.similarity import SIMILARITIES
from likewise.retrieve.search import Retriever
from likewise.stages.stage import NOTHING

DEPTHS = (1000, 100)
DEPTH = Robust().docs


def grid(kind: type, **options: Sequence) -> list[Expander]:
    return [
        kind(**dict(zip(options, chosen, strict=True)))
        for chosen in itertools.product(*options.values())
    ]


GRIDS = {
    "rm3": grid(RM3, docs=[5, 10, 20], terms=[10, 20, 50]),
    "bo1": grid(Bo1, docs=[3, 5, 10], terms=[10, 20, 50]),
    "rrm": grid(RankedRM, docs=[10, 20], terms=[30, 50]),
} | {
    f"robust {name}": grid(Robust, similarity=[name], gamma=[0.3, 1.0, 3.0, 10.0])
    for name in ("jaccard", "loo", "tat")
}
DEFAULTS: dict[str, Expander] = {
    "rm3": RM3(),
    "bo1": Bo1(),
    "rrm": RankedRM(),
    "robust jaccard": Robust(similarity="jaccard"),
    "robust loo": Robust(),
    "robust tat": Robust(similarity="tat"),
    "robust loo-near": Robust(similarity="loo-near"),
}


@dataclass
class Judged:
    """A collection with judged queries, and its answers to the queries as they are."""

    name: str
    collection: lw.Collection
    queries: list[lw.Query]
    qrels: lw.Qrels
    plain: lw.Run

    def run(self, how: Expander) -> lw.Run:
        return self.collection.run(self.queries, expand=how, name=str(how))

    def ap(self, run: lw.Run) -> np.ndarray:
        return evaluate(run, self.qrels, measures="AP")["AP"]


def open_judged(data: Path, name: str, cache: Path) -> Judged:
    folder = cache / f"{name}.lw"
    [corpus] = sorted((data / name).glob("corpus.jsonl*"))
    if not folder.exists():
        lw.index(corpus, to=folder, model=None)
    collection = lw.open(folder)
    qrels = lw.read_qrels(data / name / "qrels.txt")
    asked = lw.read_queries(data / name / "queries.jsonl")
    queries = [query for query in asked if qrels.relevant(query.qid)]
    return Judged(name, collection, queries, qrels, collection.run(queries))


def quality(sets: list[Judged], *, folds: int, loss: float) -> None:
    print(f"## Quality: {folds} folds, losses count {1 + loss:g} times\n")
    assembled: dict[str, list[lw.Run]] = {"none": [judged.plain for judged in sets]}
    for name, settings in GRIDS.items():
        runs = [[judged.run(how) for judged in sets] for how in settings]
        changes = [[relative(j, run) for j, run in zip(sets, of, strict=True)] for of in runs]
        assembled[name] = [lw.Run(name) for _ in sets]
        chosen: Counter[str] = Counter()
        for fold in range(folds):
            best = pick(changes, loss, lambda n, fold=fold: np.arange(n) % folds != fold)
            chosen[str(settings[best])] += 1
            for out, run, judged in zip(assembled[name], runs[best], sets, strict=True):
                for query in judged.queries[fold::folds]:
                    out.add(query.qid, run.get(query.qid, []))
        everywhere = pick(changes, loss, lambda n: np.ones(n, bool))
        picked = ", ".join(f"{how} ({n})" for how, n in chosen.most_common())
        print(f"{name}: {settings[everywhere]} by all queries; by folds {picked}")
    print()
    table(sets, assembled)
    print("\nThe defaults:\n")
    fixed = {name: [judged.run(how) for judged in sets] for name, how in DEFAULTS.items()}
    table(sets, {"none": assembled["none"]} | fixed)
    print()
    hold_against(sets, fixed, "robust loo")


def hold_against(sets: list[Judged], runs: dict[str, list[lw.Run]], one: str) -> None:
    """Print how one expander differs from the others: p of AP, and which queries are hurt."""
    aps = {
        name: [judged.ap(run) for judged, run in zip(sets, of, strict=True)]
        for name, of in runs.items()
    }
    before = [judged.ap(judged.plain) for judged in sets]

    def is_hurt(name: str) -> np.ndarray:
        return np.concatenate([a < b - 1e-9 for a, b in zip(aps[name], before, strict=True)])

    for name in runs:
        if name != one:
            p = [randomisation_test(a - b) for a, b in zip(aps[one], aps[name], strict=True)]
            mine = int((is_hurt(one) & ~is_hurt(name)).sum())
            other = int((is_hurt(name) & ~is_hurt(one)).sum())
            sign = binomtest(mine, mine + other).pvalue if mine + other else 1.0
            shown = ", ".join(f"{value:.3f}" for value in p)
            print(
                f"{one} against {name}: p of AP {shown}; hurt by the first alone {mine}, by the "
                f"other alone {other}, p {sign:.4f} (sign test)"
            )
    print()


def check(data: Path, cache: Path) -> None:
    print("## Names of categories as queries\n")
    fields = {"wikipedia-schools": "categories", "20newsgroups": "category", "elife": "categories"}
    sets = [open_named(data, name, field, cache) for name, field in fields.items()]
    runs = {name: [judged.run(how) for judged in sets] for name, how in DEFAULTS.items()}
    table(sets, {"none": [judged.plain for judged in sets]} | runs)
    print()


def open_named(data: Path, name: str, field: str, cache: Path) -> Judged:
    """A collection asked for the names of its categories of five documents or more."""
    folder = cache / f"{name}.lw"
    [corpus] = sorted((data / name).glob("corpus.jsonl*"))
    if not folder.exists():
        lw.index(corpus, to=folder, model=None)
    collection = lw.open(folder)
    members: dict[str, dict[str, int]] = {}
    for document in collection:
        values = document.fields.get(field, [])
        for value in [values] if isinstance(values, str) else values:
            members.setdefault(value, {})[document.id] = 1
    kept = {qid: found for qid, found in members.items() if len(found) >= 5}
    # Of a path, as in "History.British History", the last part is the name; of a group all are.
    cut = -1 if name == "wikipedia-schools" else 0
    queries = [lw.Query(qid, " ".join(qid.split(".")[cut:])) for qid in kept]
    return Judged(name, collection, queries, lw.Qrels(kept), collection.run(queries))


def relative(judged: Judged, run: lw.Run) -> np.ndarray:
    """The change of each query's AP, over the mean of the unexpanded queries."""
    before = judged.ap(judged.plain)
    return (judged.ap(run) - before) / before.mean()


def pick(changes: list[list[np.ndarray]], loss: float, kept: Callable[[int], np.ndarray]) -> int:
    """The setting that is worth most on the queries that are kept."""

    def worth(of_sets: list[np.ndarray]) -> float:
        parts = [change[kept(len(change))] for change in of_sets]
        weighed = [np.where(part < 0, (1 + loss) * part, part).mean() for part in parts]
        return float(np.mean(weighed))

    return max(range(len(changes)), key=lambda i: worth(changes[i]))


def table(sets: list[Judged], runs: dict[str, list[lw.Run]]) -> None:
    for i, judged in enumerate(sets):
        print(f"### {judged.name}, {len(judged.queries)} queries\n")
        print("| | AP | | nDCG@10 | hurt/helped | RI | R-Loss@1000 | @100 | p | p rm3 |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        by_rm3 = judged.ap(runs["rm3"][i])
        for name, of in runs.items():
            risk = measure_risk(judged.plain, of[i], judged.qrels, depths=DEPTHS)
            p = randomisation_test(judged.ap(of[i]) - by_rm3)
            print(f"| {name} | {cells(risk)} | {risk.rewards[0].p_randomisation:.3f} | {p:.3f} |")
        print()
    print("| all sets | mean AP | mean gain | worst gain | hurt | helped | R-Loss@1000 | @100 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, of in runs.items():
        risks = [
            measure_risk(j.plain, run, j.qrels, depths=DEPTHS)
            for j, run in zip(sets, of, strict=True)
        ]
        gains = [risk.percent for risk in risks]
        losses = [sum(risk.losses[i].lost for risk in risks) for i in range(2)]
        print(
            f"| {name} | {np.mean([risk.rewards[0].after for risk in risks]):.4f} "
            f"| {np.mean(gains):+.1f}% | {min(gains):+.1f}% "
            f"| {sum(risk.changes.hurt for risk in risks)} "
            f"| {sum(risk.changes.helped for risk in risks)} | {losses[0]} | {losses[1]} |"
        )


def cells(risk: Risk) -> str:
    ap, ndcg = risk.rewards
    return (
        f"{ap.after:.4f} | {ap.percent:+.1f}% | {ndcg.after:.4f} "
        f"| {risk.changes.hurt}/{risk.changes.helped} | {risk.robustness:+.2f} "
        f"| {risk.losses[0].lost} | {risk.losses[1].lost}"
    )


def curve(sets: list[Judged]) -> None:
    print("## Risk and reward over the share of the expansion\n")
    ways = {name: Robust(similarity=name) for name in ("loo", "tat", "jaccard")} | {"rm3": RM3()}
    print("mean gain in AP, and R-Loss at 100 / hurt queries over all sets\n")
    print("| share | " + " | ".join(ways) + " |\n" + "|---" * (len(ways) + 1) + "|")
    for share in SHARES:
        row = []
        for how in ways.values():
            risks = [
                measure_risk(j.plain, j.run(how.at(share)), j.qrels, depths=(100,)) for j in sets
            ]
            lost = sum(risk.losses[0].lost for risk in risks)
            hurt = sum(risk.changes.hurt for risk in risks)
            row.append(f"{np.mean([risk.percent for risk in risks]):+.1f}%, {lost} / {hurt}")
        print(f"| {share:.1f} | " + " | ".join(row) + " |", flush=True)
    print()


def speed(cache: Path, *, limit: int, n_queries: int, seed: int) -> None:
    title, documents = debian(cache, limit)
    if not documents:
        print(f"{title}: left out")
        return
    folder = cache / "packages.lw"
    if not folder.exists():
        lw.index(documents, to=folder, model=None)
    collection = lw.open(folder)
    queries = draw_queries(collection, n_queries, seed)
    print(f"## Speed: {title}, one query of 2-6 terms a call, k = 10\n")
    ways = {
        "none": "none",
        "rm3": RM3(),
        "rrm": RankedRM(),
        "robust jaccard": Robust(similarity="jaccard"),
        "robust loo": Robust(),
        "robust tat": Robust(similarity="tat"),
    }
    stages = {name: collection.retrieve("bm25", k=10, expand=how) for name, how in ways.items()}
    calls = {name: lambda q, s=stage: s([q]) for name, stage in stages.items()}
    times = timed(calls, queries)
    print("| | ms | times the unexpanded |\n|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {1e3 * taken:.2f} | {taken / times['none']:.1f} |")
    print()
    breakdown(collection, queries, times["none"])


def breakdown(collection: lw.Collection, queries: list[lw.Query], plain: float) -> None:
    """Where the time of robust expansion goes, part by part, and what the batch saves."""
    retriever = collection.retriever()
    how = Robust()
    first = collection.retrieve("bm25", k=DEPTH)
    setting = Setting(retriever)
    bare = [Asked(first.terms(query), NOTHING) for query in queries]
    look = SIMILARITIES[how.similarity].contexts
    contexts = [look([one], setting, DEPTH)[0] for one in bare]
    chosen = [how.candidates(context) for context in contexts]
    risks = [c.risk(columns) for c, (columns, _) in zip(contexts, chosen, strict=True)]
    grown = [how.grow([one], setting)[0] for one in bare]
    perturbed = [
        [{t: w for t, w in one.terms.items() if t != left} or dict(one.terms) for left in one.terms]
        for one in bare
    ]

    def choose(i: int) -> None:
        columns, gains = chosen[i]
        n_asked = len(contexts[i].pool.asked)
        nothing = np.empty((0, len(columns)))
        solve(gains, risks[i], nothing, n_asked=n_asked, kappa=1.0, gamma=1.0)

    numbers = list(range(len(queries)))
    last = [dict(g.terms) or dict(a.terms) for g, a in zip(grown, bare, strict=True)]
    parts = {
        "n + 1 searches, in one batch": lambda i: retriever.rank(
            [bare[i].terms, *perturbed[i]], k=DEPTH
        ),
        "these, documents read and relevance models": lambda i: perturb(
            [bare[i]], setting, docs=DEPTH
        ),
        "candidates and covariance": lambda i: contexts[i].risk(how.candidates(contexts[i])[0]),
        "solver": choose,
        "last search": lambda i: retriever.rank([last[i]], k=10),
    }
    print("| part of robust loo | ms | times the unexpanded |\n|---|---|---|")
    alone = "n + 1 times: search, documents read, relevance model"
    parts[alone] = lambda i: unbatched(retriever, [bare[i].terms, *perturbed[i]])
    times = timed(parts, numbers)
    for name, taken in times.items():
        print(f"| {name} | {1e3 * taken:.2f} | {taken / plain:.1f} |")
    batch = times["these, documents read and relevance models"]
    print(f"\nqueries perturbed one at a time over one batch: {times[alone] / batch:.2f}×\n")


def unbatched(retriever: Retriever, queries: list[Mapping[str, float]]) -> list[np.ndarray]:
    """Relevance models of queries, each searched for and its documents read alone."""
    models = []
    for query in queries:
        [ranking] = retriever.rank([query], k=DEPTH)
        pool = read_pool(retriever.collection, ranking.docs, query)
        models.append(relevance(pool, rank_weights(len(pool.docs))))
    return models


def draw_queries(collection: lw.Collection, n: int, seed: int) -> list[lw.Query]:
    """Two to six words each that are searched for, of one document."""
    generator = np.random.default_rng(seed)
    ids = [document.id for document in collection]
    queries = []
    while len(queries) < n:
        document = collection[ids[int(generator.integers(len(ids)))]]
        words = {word for word in f"{document.title} {document.text}".split() if word.isalpha()}
        kept = sorted(word for word in words if collection.snapshot.analyzer.terms(word))
        size = int(generator.integers(2, 7))
        if len(kept) >= 10:
            chosen = generator.choice(kept, size, replace=False)
            queries.append(lw.Query(str(len(queries)), " ".join(chosen.tolist())))
    return queries


def timed(calls: Mapping[str, Callable], items: Sequence, rounds: int = 5) -> dict[str, float]:
    """Seconds of processor time for one item, the best of some rounds in which all take turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            for item in items:
                call(item)
            best[name] = min(best[name], (time.process_time() - start) / len(items))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="quality,check,curve,speed")
    parser.add_argument("--sets", default="cran,cisi,cacm,med")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--loss", type=float, default=5)
    parser.add_argument("--limit", type=int, default=64_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    only = options.only.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        cache = options.cache or Path(temporary)
        cache.mkdir(parents=True, exist_ok=True)
        data = os.environ.get("LIKEWISE_DATA")
        if {"quality", "check", "curve"} & {*only}:
            if not data:
                print("LIKEWISE_DATA does not name the folder of test collections: left out")
            else:
                sets = [open_judged(Path(data), n, cache) for n in options.sets.split(",")]
                if "quality" in only:
                    quality(sets, folds=options.folds, loss=options.loss)
                if "check" in only:
                    check(Path(data), cache)
                if "curve" in only:
                    curve(sets)
        if "speed" in only:
            speed(cache, limit=options.limit, n_queries=options.queries, seed=options.seed)


if __name__ == "__main__":
    main()
