"""Figure 1: Kernel LSA over its share, by how many first documents are smoothed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from likewise.compiled import Doubles
from likewise.engine.pipeline import Pipeline
from likewise.like.near import NearIn
from likewise.like.smooth import Smoothing, SmoothWith
from likewise.like.space import open_space
from likewise.models.klsa import KLSA, fit_space
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.stored_vectors import StoredVectors
from likewise_papers.bench import Bench, measured, search
from likewise_papers.comparing import claim_above, with_enough
from likewise_papers.data import Ready
from likewise_papers.experiment import (
    Claim,
    Drawing,
    Result,
    Row,
    Table,
    estimate,
    verdict,
)

PUBLISHED = (1, 0.9)
_BASELINES = {"BM25": "plain", "LSI": "lsi"}


# AP of each query by z and λ, and those of BM25 and LSI.
Found = Mapping[tuple[int, float], Doubles]


class Set(NamedTuple):
    """What was measured of a collection."""

    found: Found
    plain: Doubles
    lsi: Doubles

    @property
    def best(self) -> tuple[int, float]:
        """The z and λ that are best on these queries."""
        return max(self.found, key=lambda key: (float(self.found[key].mean()), key))


def figure_1(bench: Bench) -> Result:
    """Measure every z and λ, as published, and what is chosen of them on other queries."""
    sets = {}
    for name in bench.sets:
        ready = bench.open(name)
        bench.say(f"{name}: {len(bench['first']) * len(bench['shares'])} settings")
        sets[name] = Set(
            _smoothed(bench, ready), _plain(bench, ready), measured(ready, lsi(bench, ready))
        )
    panels = tuple(
        {
            "name": name,
            "lines": {
                f"z = {z}": [
                    (share, float(one.found[z, share].mean())) for share in bench["shares"]
                ]
                for z in bench["first"]
            },
            "levels": {"BM25": float(one.plain.mean()), "LSI": float(one.lsi.mean())},
        }
        for name, one in sets.items()
    )
    chosen = choose(sets, bench["folds"])
    rows: dict[str, dict[str, Doubles]] = {
        "BM25": {name: one.plain for name, one in sets.items()},
        "LSI": {name: one.lsi for name, one in sets.items()},
    }
    for z in bench["first"]:
        of = {name: one.found[z, PUBLISHED[1]] for name, one in sets.items()}
        rows[f"Kernel LSA, z = {z}, λ = .9"] = of
    rows["z and λ chosen on other queries, one setting for all sets"] = chosen
    rows["the best z and λ of each set, chosen on these queries"] = {
        name: one.found[one.best] for name, one in sets.items()
    }
    table = Table(
        "MAP",
        tuple(sets),
        tuple(
            Row(row, {name: estimate(values, seed=bench.seed) for name, values in of.items()})
            for row, of in rows.items()
        ),
        digits=4,
        unit="MAP",
        note=f"The best: {_told(sets)}.",
    )
    drawing = Drawing(
        "panels",
        "MAP over the share λ, z first documents",
        x_label="λ, the share of smoothed scores",
        y_label="MAP",
        panels=panels,
    )
    return Result(
        claims=tuple(figure_claims(sets, chosen, bench["first"])),
        tables=(table,),
        drawings=(drawing,),
    )


def choose(sets: Mapping[str, Set], folds: int) -> dict[str, Doubles]:
    """Give each query's AP at the z and λ that gain most, over BM25, on the other folds."""
    settings = [*next(iter(sets.values())).found]
    out = {name: np.empty_like(one.plain) for name, one in sets.items()}
    for fold in range(folds):
        gains = np.zeros(len(settings))
        for one in sets.values():
            others = np.arange(len(one.plain)) % folds != fold
            before = one.plain[others].sum() or 1.0
            gains += [one.found[key][others].sum() / before for key in settings]
        best = settings[int(np.argmax(gains))]
        for name, one in sets.items():
            out[name][fold::folds] = one.found[best][fold::folds]
    return out


def figure_claims(
    sets: Mapping[str, Set], chosen: Mapping[str, Doubles], first: Sequence[int]
) -> list[Claim]:
    """Judge Figure 1; `chosen` is AP at settings that were chosen on other queries."""
    falling = {
        name: all(np.diff([one.found[z, PUBLISHED[1]].mean() for z in first]) <= 0)
        for name, one in sets.items()
    }
    judged = [
        Claim(
            "The best setting is z = 1 with λ = .9.",
            verdict(all(one.best == PUBLISHED for one in sets.values())),
            f"the best here: {_told(sets)}",
        ),
        Claim(
            "At λ = .9 MAP grows as z falls.",
            verdict(all(falling.values())),
            f"it does on {', '.join(n for n, held in falling.items() if held) or 'no set'}, "
            f"of {', '.join(falling)}",
        ),
        claim_above(
            "Kernel LSA is above BM25 and LSI, at z = 1 with λ = .9.",
            {
                f"{name}, over {other}": (one.found[PUBLISHED], getattr(one, field))
                for name, one in sets.items()
                for other, field in _BASELINES.items()
            },
        ),
        claim_above(
            "Kernel LSA is above BM25, at one setting for all sets, chosen on other queries.",
            {name: (chosen[name], one.plain) for name, one in sets.items()},
        ),
        claim_above(
            "Kernel LSA is above LSI, at one setting for all sets, chosen on other queries.",
            {name: (chosen[name], one.lsi) for name, one in sets.items()},
        ),
    ]
    return [
        with_enough(claim, {name: len(one.plain) for name, one in sets.items()}) for claim in judged
    ]


def _told(sets: Mapping[str, Set]) -> str:
    best = {name: one.best for name, one in sets.items()}
    return ", ".join(f"{name} z = {z}, λ = {share:g}" for name, (z, share) in best.items())


def _first(bench: Bench) -> str:
    return str(bench["method"])


def _plain(bench: Bench, ready: Ready) -> Doubles:
    return measured(ready, search(ready, _first(bench), threads=bench.threads))


def lsi(bench: Bench, ready: Ready) -> Pipeline:
    """LSI: the cosine of axes of TF-IDF vectors."""
    model = fit_lsi(ready.snapshot, LSI(topics=bench["axes"], power=1.0), threads=bench.threads)
    space = open_space(StoredVectors(ready.snapshot, model))
    return Pipeline(ready.snapshot, NearIn(space), k=1000, threads=bench.threads)


def _smoothed(bench: Bench, ready: Ready) -> Found:
    """Measure every z and share, by exact scores of all documents."""
    config = KLSA(kernel=bench["kernel"], axes=bench["axes"])
    space = fit_space(ready.snapshot, config, threads=bench.threads)
    rows = StoredVectors(ready.snapshot, space)
    n_docs = ready.snapshot.n_docs
    results = search(ready, _first(bench), k=n_docs, threads=bench.threads)(ready.queries)
    how = Smoothing(by="score", scale="raw", candidates=0)
    out = {}
    for z in bench["first"]:
        for share in bench["shares"]:
            last = SmoothWith(rows, replace(how, docs=z, share=share))
            pipeline = Pipeline(ready.snapshot, last, k=1000, threads=bench.threads)
            out[z, share] = measured(ready, pipeline(results))
    return out
