"""What does Kernel LSA gain, and which pipeline should a search be that nobody has set?

    python benchmarks/klsa.py [--only figure,setting,default,pipeline] [--cache DIR]
        [--to FOLDER] [--titles 300]

`figure`: the paper's Figure 1 for four sets: MAP over λ for z = 1, 5, 10, 20, 50, the paper's
kernels (BM25, k1 = 2, 300 axes), beside BM25 and LSI; a table, and a drawing in FOLDER.

`setting`: which share, number of first documents, weights and number of axes? Chosen by
leave-one-collection-out: for each set by the mean gain on the others, losses counting 1 + 5 times.

`default`: the default smoothing against BM25, RM3 and LSI: AP, hurt/helped, p (randomisation).

`pipeline`: the same for whole pipelines, on the four sets, on titles of docstrings and of articles
(relevant: what they refer to), and on names of categories; what each row is chosen by is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import likewise as lw
from expand import Judged, open_judged, open_named
from likewise.draw.panels import Panel, draw_panels
from likewise.evaluate.significance import randomisation_test
from likewise.smooth.search import RowSearch
from likewise.smooth.space import KLSA, fit_space
from likewise.smooth.stage import DEPTH, Smooth, Smoothing
from likewise.smooth.store import StoredRows
from likewise.stages.stage import Stage

SETS = ("cran", "cisi", "cacm", "med")
NAMED = {"wikipedia-schools": "categories", "20newsgroups": "category", "elife": "categories"}
LOSS = 5.0
PAPER = KLSA(kernel="bm25(k1=2,power=0.5,idf=rsj)", axes=300)
FIRST = (1, 5, 10, 20, 50)
SHARES = tuple(np.round(np.arange(0, 1.01, 0.1), 1).tolist())


# How many axes for so many documents.
AXES: dict[str, Callable[[int], int]] = {
    "N/7": lambda n: n // 7,
    "N/14": lambda n: n // 14,
    "N/28": lambda n: n // 28,
}
LEAST, MOST = 50, 300


@dataclass
class Asked(Judged):
    """Judged queries; a document whose own title is asked (`own`) does not count."""

    own: bool = False

    def ap(self, run: lw.Run) -> np.ndarray:
        if self.own:
            kept = {qid: [pair for pair in pairs if pair[0] != qid] for qid, pairs in run.items()}
            run = lw.Run(run.name, kept)
        return super().ap(run)


class Bench:
    """A set of judged queries; what is found once is kept: models, and first rankings."""

    def __init__(self, judged: Judged) -> None:
        self.name, self.judged = judged.name, judged
        self.n_docs = len(judged.collection)
        self.before = judged.ap(judged.plain)
        self._models: dict[KLSA, RowSearch] = {}
        self._first: dict[tuple[str, int], tuple[Stage, list]] = {}

    def model(self, config: KLSA) -> RowSearch:
        if config not in self._models:
            snapshot = self.judged.collection.snapshot
            self._models[config] = RowSearch(StoredRows(snapshot, fit_space(snapshot, config)))
        return self._models[config]

    def first(self, method: str, expand: str, k: int = 1000) -> tuple[Stage, list]:
        key = (f"{method} {expand}", k)
        if key not in self._first:
            stage = self.judged.collection.retrieve(method, k=k, expand=expand, threads=2)
            self._first[key] = (stage, stage(self.judged.queries))
        return self._first[key]

    def ap(
        self,
        smooth: Smoothing | None,
        *,
        config: KLSA = KLSA(),
        method: str = "bm25",
        expand: str = "none",
        exact: bool = False,
    ) -> np.ndarray:
        stage, answered = self.first(method, expand, self.n_docs if exact else 1000)
        if smooth is not None:
            last = Smooth(self.model(config), smooth, deep=0 if exact else DEPTH, threads=2)
            answered = last.after(stage).apply(answered)
        return self.judged.ap(self.judged.collection.as_run(answered, name="run"))

    def changes(self, after: np.ndarray) -> np.ndarray:
        return (after - self.before) / self.before.mean()


def titled(name: str, collection: lw.Collection, field: str, n: int) -> Asked:
    """Titles of documents that refer to two others or more; relevant is what they refer to."""
    told = collection.judgements(links=field)
    able = [qid for qid in told if len(told.relevant(qid)) > 1]
    chosen = np.random.default_rng(0).permutation(len(able))[:n]
    ids = [able[i] for i in np.sort(chosen).tolist()]
    queries = [lw.Query(qid, collection[qid].title or collection[qid].text[:80]) for qid in ids]
    qrels = lw.Qrels({qid: told[qid] for qid in ids})
    return Asked(name, collection, queries, qrels, collection.run(queries, method="bm25"), own=True)


def open_others(data: Path, cache: Path, n: int) -> list[Bench]:
    """Sets that nothing was chosen by."""
    named = [open_named(data, name, field, cache) for name, field in NAMED.items()]
    docstrings = cache / "docstrings.lw"
    if not docstrings.exists():
        lw.index("docstrings:", to=docstrings, model=None)
    articles = lw.open(cache / "wikipedia-schools.lw")
    others = [
        titled("docstrings", lw.open(docstrings), "see_also", n),
        titled("articles", articles, "links", n),
        *named,
    ]
    return [Bench(judged) for judged in others]


# The paper's figure


def figure(benches: list[Bench], to: Path | None) -> None:
    print("## MAP over the share of Kernel LSA (Figure 1)\n")
    print("The paper's kernels: bm25 (k1 = 2, b = .75), 300 axes; exact scores of all documents.\n")
    panels = []
    for bench in benches:
        plain = bench.ap(None, method="bm25(k1=2)", exact=True).mean()
        lsi = lsi_ap(bench).mean()
        lines = {}
        for z in FIRST:
            how = Smoothing(docs=z, by="score", scale="raw")
            values = [
                bench.ap(
                    replace(how, share=share), config=PAPER, method="bm25(k1=2)", exact=True
                ).mean()
                for share in SHARES
            ]
            lines[f"z = {z}"] = [*zip(SHARES, values, strict=True)]
        panels.append(Panel(bench.name, lines, {"BM25": plain, "LSI": lsi}))
        print(f"{bench.name}: BM25 {plain:.4f}, LSI {lsi:.4f}\n")
        cells(
            [
                ["z", *(f"λ {share:g}" for share in SHARES)],
                *([name, *(f"{y:.4f}" for _, y in line)] for name, line in lines.items()),
            ]
        )
    if to is not None:
        title = "Kernel LSA: MAP over the share λ, z first documents"
        files = draw_panels(
            panels,
            x_label="λ, the share of smoothed scores",
            y_label="MAP",
            title=title,
            to=to / "klsa",
        )
        print("drawn: " + ", ".join(map(str, files)) + "\n")


def lsi_ap(bench: Bench) -> np.ndarray:
    """LSI: the cosine of 300 axes of TF-IDF vectors."""
    from likewise.like.near import Near, RankNear
    from likewise.like.space import build_space
    from likewise.like.store import make_halves
    from likewise.models.subspace import LSI, fit_lsi

    snapshot = bench.judged.collection.snapshot
    model = fit_lsi(snapshot, LSI(topics=300, power=1.0))
    stage = RankNear(build_space(make_halves(snapshot, model)), Near(), k=1000)
    found = stage(bench.judged.queries)
    return bench.judged.ap(bench.judged.collection.as_run(found, name="lsi"))


# Chosen by other sets than those it is measured on


def setting(benches: list[Bench]) -> None:
    print(f"## The setting, leave one collection out (losses count {1 + LOSS:g} times)\n")
    grid = [
        (axes, Smoothing(docs=z, share=share, by=by))
        for axes, z, share, by in itertools.product(
            AXES, (5, 10, 20, 50), (0.3, 0.4, 0.5, 0.6), ("rank", "score")
        )
    ]

    def run(bench: Bench, axes: str, how: Smoothing) -> np.ndarray:
        n = min(max(AXES[axes](bench.n_docs), LEAST), MOST)
        return bench.ap(how, config=KLSA(axes=n))

    found = [[run(bench, *one) for bench in benches] for one in grid]
    leave_one_out(benches, [f"{axes} {how}" for axes, how in grid], found)


def leave_one_out(
    benches: list[Bench], names: Sequence[str], found: Sequence[Sequence[np.ndarray]]
) -> None:
    """Print what is chosen for each set by the others, and what it gains there."""
    changes = [[b.changes(ap) for b, ap in zip(benches, of, strict=True)] for of in found]
    rows = [["set", "chosen by the others", "AP", "gain", "hurt/helped"]]
    gains = []
    for i, bench in enumerate(benches):
        others = [[one for j, one in enumerate(of) if j != i] for of in changes]
        best = pick(others)
        after = found[best][i]
        gains.append(after.mean() / bench.before.mean() - 1)
        rows.append([bench.name, names[best], f"{after.mean():.4f}", f"{gains[-1]:+.1%}"])
        rows[-1].append(hurt(bench, after))
    cells(rows)
    print(
        f"mean gain {np.mean(gains):+.1%}, worst {min(gains):+.1%}; by all sets: "
        f"{names[pick(changes)]}\n"
    )


def pick(changes: Sequence[Sequence[np.ndarray]]) -> int:
    """Choose the setting with the largest mean change, in which losses count more."""
    worth = [
        np.mean([np.where(one < 0, one * (1 + LOSS), one).mean() for one in of]) for of in changes
    ]
    return int(np.argmax(worth))


def hurt(bench: Bench, after: np.ndarray) -> str:
    change = after - bench.before
    return f"{int((change < -1e-9).sum())}/{int((change > 1e-9).sum())}"


# One setting for all


def compare(benches: list[Bench], rows: Mapping[str, list[np.ndarray]], against: str = "") -> None:
    """Print AP, hurt/helped and p against the first row, and against another."""
    head = ["", *(bench.name for bench in benches), "mean gain, worst", "hurt"]
    out = [head]
    for name, found in rows.items():
        row, gains, n_hurt = [name], [], 0
        for i, (bench, after) in enumerate(zip(benches, found, strict=True)):
            gains.append(after.mean() / bench.before.mean() - 1)
            n_hurt += int((after < bench.before - 1e-9).sum())
            p = randomisation_test(after - bench.before) if gains[-1] else 1.0
            cell = f"{after.mean():.4f}, {hurt(bench, after)}, p {p:.3f}"
            if against and name != against:
                other = randomisation_test(rows[against][i] - after)
                cell += f", {other:.3f}"
            row.append(cell)
        out.append([*row, f"{np.mean(gains):+.1%}, {min(gains):+.1%}", str(n_hurt)])
    cells(out)


def default(benches: list[Bench]) -> None:
    print("## The default smoothing (p against bm25, then of klsa against the row)\n")
    rows = {
        "bm25": [bench.before for bench in benches],
        "rm3": [bench.ap(None, expand="rm3") for bench in benches],
        "LSI": [lsi_ap(bench) for bench in benches],
        "klsa as published": [
            bench.ap(Smoothing(docs=1, share=0.9, by="score", scale="raw"), config=PAPER)
            for bench in benches
        ],
        "klsa": [bench.ap(Smoothing()) for bench in benches],
    }
    compare(benches, rows, "klsa")


PIPELINES: dict[str, tuple[str, Smoothing | None]] = {
    "bm25": ("none", None),
    "rm3": ("rm3", None),
    "rrm": ("rrm", None),
    "robust": ("robust", None),
    "robust by graph": ("robust(similarity=graph)", None),
} | {
    f"{expand} >> klsa, share {share:g}".replace("none", "bm25"): (expand, Smoothing(share=share))
    for expand in ("none", "rm3", "rrm", "robust")
    for share in (0.2, 0.3, 0.4, 0.5)
}


def fused(bench: Bench, expand: str, how: Smoothing, config: KLSA = KLSA()) -> np.ndarray:
    """Half the smoothed scores of the query as it is, half those of the expanded query."""
    _, grown = bench.first("bm25", expand)
    stage, plain = bench.first("bm25", "none")
    smoothed = Smooth(bench.model(config), how).after(stage).apply(plain)
    found = []
    for one, two in zip(grown, smoothed, strict=True):
        total: dict[int, float] = {}
        for docs, scores in (one.ranking, two.ranking):
            top = float(scores.max(initial=0.0)) or 1.0
            for doc, score in zip(docs.tolist(), (scores / top / 2).tolist(), strict=True):
                total[doc] = total.get(doc, 0.0) + score
        order = sorted(total, key=lambda doc: (-total[doc], doc))[:1000]
        docs, scores = np.array(order, np.int64), np.array([total[doc] for doc in order])
        found.append(one._replace(ranking=lw.Ranking(docs, scores)))
    return bench.judged.ap(bench.judged.collection.as_run(found, name="fused"))


def pipeline(four: list[Bench], others: list[Bench]) -> None:
    print("## Whole pipelines\n")
    benches = [*four, *others]
    rows = {
        name: [bench.ap(how, expand=expand) for bench in benches]
        for name, (expand, how) in PIPELINES.items()
    }
    half = Smoothing(docs=10, share=0.7, by="score", scale="raw")
    rows["½ klsa + ½ rrm, max-normalised"] = [fused(bench, "rrm", half) for bench in benches]
    print("Four sets:\n")
    compare(four, {name: found[: len(four)] for name, found in rows.items()})
    print("Others, that no constant was chosen by:\n")
    compare(others, {name: found[len(four) :] for name, found in rows.items()})
    print(f"Leave one collection out over all (losses count {1 + LOSS:g} times):\n")
    leave_one_out(benches, list(rows), list(rows.values()))


def cells(rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    for i, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if i == 0:
            print("|---" * len(row) + "|")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="figure,setting,default,pipeline")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--data", type=Path, default=os.environ.get("LIKEWISE_DATA"))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--to", type=Path, help="where the figure is drawn")
    parser.add_argument("--titles", type=int, default=300, help="titles asked, of each corpus")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if options.data is None:
        parser.error("--data FOLDER or LIKEWISE_DATA: where are the collections?")
    with tempfile.TemporaryDirectory() as aside:
        cache = options.cache or Path(aside)
        cache.mkdir(parents=True, exist_ok=True)
        data = Path(options.data)
        four = [Bench(open_judged(data, name, cache)) for name in options.sets.split(",")]
        if "figure" in wanted:
            figure(four, options.to)
        if "setting" in wanted:
            setting(four)
        if "default" in wanted:
            default(four)
        if "pipeline" in wanted:
            pipeline(four, open_others(data, cache, options.titles))


if __name__ == "__main__":
    main()
