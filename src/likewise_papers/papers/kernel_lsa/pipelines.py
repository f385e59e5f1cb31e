"""Beyond the paper: one setting for all sets, the default search, and queries of other kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from likewise.evaluate.trec import Run
from likewise.like.smooth import SmoothWith, read_smoothing
from likewise.models.klsa import KLSA, fit_space
from likewise.models.stored_vectors import StoredVectors
from likewise_papers.bench import Bench, search
from likewise_papers.comparing import claim_above, compare, with_enough
from likewise_papers.data import LINKS
from likewise_papers.experiment import Claim, Result, untestable, verdict
from likewise_papers.judged import Judged, gain_tables, of_collection, of_names, of_titles
from likewise_papers.papers.kernel_lsa.figure import lsi

DEFAULT = "robust and klsa (the default search)"
LSI = "LSI"
# Every pipeline: how queries are expanded, and rankings smoothed.
WAYS = {
    "RM3": ["rm3", "none"],
    "klsa": ["none", "klsa"],
    "robust": ["robust", "none"],
    DEFAULT: ["robust", "klsa"],
}
OURS = ("klsa", "robust", DEFAULT)
TITLE = "One setting for all sets"
_UNSEEN = (
    "On queries of kinds that nothing was chosen by, the default search is above BM25 and RM3."
)


def one_setting(bench: Bench) -> Result:
    """Measure whole pipelines on the judged queries of collections."""
    sets = [of_collection(bench.open(name), bench.threads) for name in bench.sets]
    runs = _runs(bench, sets)
    runs = {LSI: [one.answered(lsi(bench, one.ready), LSI) for one in sets], **runs}
    return Result(
        claims=(
            _in_the_mean(sets, runs, "klsa"),
            _in_the_mean(sets, runs, DEFAULT),
            claim_above(
                "The default search is above RM3 on each set.",
                {
                    one.name: (one.ap(ours), one.ap(theirs))
                    for one, ours, theirs in zip(sets, runs[DEFAULT], runs["RM3"], strict=True)
                },
                ours=True,
            ),
        ),
        tables=tuple(gain_tables(sets, runs, TITLE, ours=OURS, seed=bench.seed)),
    )


def unseen(bench: Bench) -> Result:
    """Measure the same on names of categories, and on titles of documents that link to others."""
    sets = asked_otherwise(bench)
    if not sets:
        reason = "no collection has categories of enough documents, or links"
        return untestable(_UNSEEN, reason, ours=True)
    runs = _runs(bench, sets)
    return Result(
        claims=(
            claim_above(
                _UNSEEN,
                {
                    f"{one.name}, over {name}": (one.ap(ours), one.ap(theirs))
                    for name, of in {"BM25": [s.plain for s in sets], "RM3": runs["RM3"]}.items()
                    for one, ours, theirs in zip(sets, runs[DEFAULT], of, strict=True)
                },
                ours=True,
            ),
        ),
        tables=tuple(gain_tables(sets, runs, TITLE, ours=OURS, seed=bench.seed)),
    )


def asked_otherwise(bench: Bench) -> list[Judged]:
    """Give names of categories, and titles of documents that link to others, as judged queries."""
    found = []
    for name in (*bench.sets, *bench.beside):
        ready, fields = bench.open(name), bench.data.fields_of(name)
        if name in bench.sets:
            label, last = bench.data.label_of(name), name in bench["last"]
            threads = bench.threads
            found.append(of_names(ready, label, least=bench["least"], last=last, threads=threads))
        linking = [field for field in LINKS if field in fields]
        found += [of_titles(ready, field, threads=bench.threads) for field in linking]
    return [one for one in found if one.queries]


def _runs(bench: Bench, sets: Sequence[Judged]) -> dict[str, list[Run]]:
    """Run every pipeline on every set; a collection's kernel model is fitted once."""
    runs: dict[str, list[Run]] = {way: [] for way in bench["ways"]}
    rows: dict[str, StoredVectors] = {}
    for one in sets:
        bench.say(one.name)
        ready = one.ready
        if ready.name not in rows:
            space = fit_space(ready.snapshot, KLSA(), threads=bench.threads)
            rows[ready.name] = StoredVectors(ready.snapshot, space)
        for way, (expand, smooth) in bench["ways"].items():
            stage = search(ready, expand=expand, threads=bench.threads)
            if smooth != "none":
                last = read_smoothing(smooth)
                stage = stage >> SmoothWith(rows[ready.name], last)
            runs[way].append(one.answered(stage, way))
    return runs


def _in_the_mean(sets: Sequence[Judged], runs: Mapping[str, Sequence[Run]], way: str) -> Claim:
    gains = {
        name: [float(one.change(run).mean()) for one, run in zip(sets, of, strict=True)]
        for name, of in runs.items()
    }
    told = "; ".join(
        f"{name} {np.mean(gain):+.1%} in the mean, {min(gain):+.1%} at worst"
        for name, gain in gains.items()
        if name in (way, LSI, "RM3")
    )
    over = {
        one.name: compare(one.ap(run), one.ap(one.plain))
        for one, run in zip(sets, runs[way], strict=True)
    }
    best = max(float(np.mean(gains[name])) for name in (LSI, "RM3"))
    held = all(gap.above for gap in over.values()) and float(np.mean(gains[way])) > best
    claim = Claim(
        f"{way[0].upper()}{way[1:]}, one setting for all sets, is above BM25 on each, and above "
        "LSI and RM3 in the mean.",
        verdict(held),
        f"{told}; over BM25 {', '.join(f'{name} {gap}' for name, gap in over.items())}",
        ours=True,
    )
    return with_enough(claim, {one.name: len(one.queries) for one in sets})
