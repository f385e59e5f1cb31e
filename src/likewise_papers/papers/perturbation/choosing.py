"""Beyond the paper: expanders at one setting for all sets, and on queries none was chosen by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from likewise.compiled import Bools, Doubles
from likewise.evaluate.trec import Run
from likewise_papers.bench import Bench
from likewise_papers.comparing import compare, with_enough
from likewise_papers.experiment import (
    Claim,
    Result,
    untestable,
    verdict,
)
from likewise_papers.judged import (
    Judged,
    gain_tables,
    hurt_alone,
    of_collection,
    of_names,
    sign_test,
    told_hurt,
)

OURS = "robust loo"
BY_DEFAULT = "The defaults"
_NOT_PUBLISHED = ("rrm", *(f"robust {way}" for way in ("jaccard", "loo", "tat", "loo-near")))
_TEXT = (
    "No expander gains significantly more than robust expansion by perturbation, and none "
    "hurts fewer queries."
)


def cross_validated(bench: Bench) -> Result:
    """Choose each expander's parameters on the other folds of all sets, and measure the rest."""
    sets = [of_collection(bench.open(name), bench.threads) for name in bench.sets]
    by_default = {name: [j.run(how) for j in sets] for name, how in bench["defaults"].items()}
    assembled: dict[str, list[Run]] = {}
    chosen: dict[str, str] = {}
    for name, settings in bench["grids"].items():
        bench.say(f"{name}: {len(settings)} settings")
        assembled[name], chosen[name] = choose(
            sets, name, settings, folds=bench["folds"], loss=bench["loss"]
        )
    told = "; ".join(f"{name}: {how}" for name, how in chosen.items())
    tables = gain_tables(sets, by_default, BY_DEFAULT, ours=_NOT_PUBLISHED, seed=bench.seed)
    if assembled:
        title = f"Parameters chosen on the other {bench['folds'] - 1} folds"
        note = f"Chosen most often: {told}."
        tables += gain_tables(
            sets, assembled, title, ours=_NOT_PUBLISHED, seed=bench.seed, note=note
        )
    return Result(
        claims=(_claim(sets, by_default),),
        tables=tuple(tables),
    )


def by_names(bench: Bench) -> Result:
    """Measure the defaults with names of categories as queries: nothing was chosen by these."""
    sets = [
        of_names(
            bench.open(name),
            bench.data.label_of(name),
            least=bench["least"],
            last=name in bench["last"],
            threads=bench.threads,
        )
        for name in bench.sets
    ]
    sets = [judged for judged in sets if judged.queries]
    if not sets:
        return untestable(_TEXT, "no collection has categories of enough documents", ours=True)
    runs = {name: [j.run(how) for j in sets] for name, how in bench["defaults"].items()}
    return Result(
        claims=(_claim(sets, runs),),
        tables=tuple(gain_tables(sets, runs, BY_DEFAULT, ours=_NOT_PUBLISHED, seed=bench.seed)),
    )


def choose(
    sets: Sequence[Judged], name: str, settings: Sequence[str], *, folds: int, loss: float
) -> tuple[list[Run], str]:
    """Give the runs of queries that parameters were not chosen by, and what was chosen most."""
    runs = [[judged.run(how) for judged in sets] for how in settings]
    before = [judged.ap(judged.plain) for judged in sets]
    after = [[j.ap(run) for j, run in zip(sets, of, strict=True)] for of in runs]
    out = [Run(f"{name}, chosen by folds") for _ in sets]
    counted: Counter[str] = Counter()
    for fold in range(folds):

        def others(n: int, fold: int = fold) -> Bools:
            kept: Bools = np.arange(n) % folds != fold
            return kept

        best = pick(before, after, loss, others)
        counted[settings[best]] += 1
        for one, run, judged in zip(out, runs[best], sets, strict=True):
            for query in judged.queries[fold::folds]:
                one.add(query.qid, run.get(query.qid, []))
    return out, counted.most_common(1)[0][0]


def pick(
    before: Sequence[Doubles],
    after: Sequence[Sequence[Doubles]],
    loss: float,
    kept: Callable[[int], Bools],
) -> int:
    """Give the setting that gains most on the queries that are kept; losses count more.

    AP of each query, by set, and by setting and set. Gains are over a set's mean on these queries.
    """

    def worth(of_sets: Sequence[Doubles]) -> float:
        weighed = []
        for old, new in zip(before, of_sets, strict=True):
            some = kept(len(old))
            change = (new - old)[some] / (old[some].mean() or 1.0)
            weighed.append(np.where(change < 0, (1 + loss) * change, change).mean())
        return float(np.mean(weighed))

    return max(range(len(after)), key=lambda i: worth(after[i]))


def _claim(sets: Sequence[Judged], runs: Mapping[str, Sequence[Run]]) -> Claim:
    def changes(name: str) -> Doubles:
        return np.concatenate([j.change(run) for j, run in zip(sets, runs[name], strict=True)])

    hurt = {
        name: sum(int(j.hurt(run).sum()) for j, run in zip(sets, of, strict=True))
        for name, of in runs.items()
    }
    others = [name for name in runs if name != OURS]
    gaps = {name: compare(changes(OURS), changes(name)) for name in others}
    alone = {name: hurt_alone(sets, runs[OURS], runs[name]) for name in others}
    told = [
        f"against {name}: change of AP {gaps[name]}; "
        + told_hurt({OURS: alone[name][0], name: alone[name][1]}, sign_test(*alone[name]))
        for name in others
    ]
    held = not any(gap.below for gap in gaps.values()) and hurt[OURS] <= min(hurt.values())
    claim = Claim(_TEXT, verdict(held), "; ".join(told), ours=True)
    return with_enough(claim, {"all sets": sum(len(judged.queries) for judged in sets)})
