"""Which smoothing, and which pipeline, should a search be that nobody has set?

    python benchmarks/klsa.py [--only setting,pipeline] [--data DIR] [--cache DIR]

`setting`: which share, number of first documents, weights and number of axes? Chosen by
leave-one-collection-out: for each set by the mean gain on the others, losses counting 1 + 5 times.

`pipeline`: whole pipelines on the sets with judged queries; and on titles of documents that link to
others and on names of categories, which nothing is chosen by.

What the paper measured, and the defaults beside BM25, RM3 and LSI, is in `likewise reproduce
kernel-lsa`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import itertools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import likewise as lw
from likewise.engine.pipeline import Pipeline
from likewise.evaluate.measures import evaluate
from likewise.evaluate.significance import TOLERANCE
from likewise.like.smooth import Smoothing, SmoothWith
from likewise.models.klsa import KLSA, fit_space
from likewise.models.stored_vectors import StoredVectors
from likewise.stages.stage import Result
from likewise_papers.bench import Bench, as_run, search
from likewise_papers.data import JUDGED, Data
from likewise_papers.folders import named_folders
from likewise_papers.judged import Judged, of_collection
from likewise_papers.papers.kernel_lsa import PAPER
from likewise_papers.papers.kernel_lsa.pipelines import asked_otherwise
from likewise_papers.papers.perturbation.choosing import pick

LOSS = 5.0
# How many axes for so many documents.
AXES: dict[str, Callable[[int], int]] = {
    "N/7": lambda n: n // 7,
    "N/14": lambda n: n // 14,
    "N/28": lambda n: n // 28,
}
LEAST, MOST = 50, 300
THREADS = 2


class Asked:
    """A set of judged queries; what is found once is kept: models, and first rankings."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.n_docs = judged.ready.snapshot.n_docs
        self.before = judged.ap(judged.plain)
        self._models: dict[KLSA, StoredVectors] = {}
        self._first: dict[str, list[Result]] = {}

    def model(self, config: KLSA) -> StoredVectors:
        if config not in self._models:
            snapshot = self.judged.ready.snapshot
            self._models[config] = StoredVectors(snapshot, fit_space(snapshot, config))
        return self._models[config]

    def first(self, expand: str) -> list[Result]:
        if expand not in self._first:
            stage = search(self.judged.ready, expand=expand, threads=THREADS)
            self._first[expand] = stage(self.judged.queries)
        return self._first[expand]

    def ap(self, smooth: Smoothing | None, *, config: KLSA = KLSA(), expand: str = "none"):
        return self.measured(self.smoothed(smooth, config=config, expand=expand))

    def smoothed(self, smooth: Smoothing | None, *, config: KLSA = KLSA(), expand: str = "none"):
        found = self.first(expand)
        if smooth is None:
            return found
        stage = SmoothWith(self.model(config), smooth)
        return Pipeline(self.judged.ready.snapshot, stage, threads=THREADS)(found)

    def measured(self, answered: list[Result]) -> np.ndarray:
        run = self.judged.counted(as_run(self.judged.ready, answered, "run"))
        return np.asarray(evaluate(run, self.judged.qrels, measures="AP")["AP"])


def setting(sets: list[Asked]) -> None:
    print(f"## The setting, leave one collection out (losses count {1 + LOSS:g} times)\n")
    grid = [
        (axes, Smoothing(docs=z, share=share, by=by))
        for axes, z, share, by in itertools.product(
            AXES, (5, 10, 20, 50), (0.3, 0.4, 0.5, 0.6), ("rank", "score")
        )
    ]

    def run(one: Asked, axes: str, how: Smoothing) -> np.ndarray:
        n = min(max(AXES[axes](one.n_docs), LEAST), MOST)
        return one.ap(how, config=KLSA(axes=n))

    found = [[run(one, *how) for one in sets] for how in grid]
    leave_one_out(sets, [f"{axes} {how}" for axes, how in grid], found)


def leave_one_out(
    sets: list[Asked], names: Sequence[str], found: Sequence[Sequence[np.ndarray]]
) -> None:
    """Print what is chosen for each set by the others, and what it gains there."""

    def best_for(kept: Sequence[int]) -> int:
        before = [sets[i].before for i in kept]
        return pick(
            before, [[of[i] for i in kept] for of in found], LOSS, lambda n: np.ones(n, bool)
        )

    rows = [["set", "chosen by the others", "AP", "gain", "hurt/helped"]]
    gains = []
    for i, one in enumerate(sets):
        best = best_for([j for j in range(len(sets)) if j != i])
        after = found[best][i]
        gains.append(after.mean() / one.before.mean() - 1)
        rows.append([one.judged.name, names[best], f"{after.mean():.4f}", f"{gains[-1]:+.1%}"])
        rows[-1].append(hurt(one, after))
    cells(rows)
    print(
        f"mean gain {np.mean(gains):+.1%}, worst {min(gains):+.1%}; by all sets: "
        f"{names[best_for(range(len(sets)))]}\n"
    )


def hurt(one: Asked, after: np.ndarray) -> str:
    change = after - one.before
    return f"{int((change < -TOLERANCE).sum())}/{int((change > TOLERANCE).sum())}"


PIPELINES: dict[str, tuple[str, Smoothing | None]] = {
    "bm25": ("none", None),
    "rrm": ("rrm", None),
    "robust": ("robust", None),
    "robust by graph": ("robust(similarity=graph)", None),
} | {
    f"{expand} >> klsa, share {share:g}".replace("none", "bm25"): (expand, Smoothing(share=share))
    for expand in ("none", "rm3", "rrm", "robust")
    for share in (0.2, 0.3, 0.4, 0.5)
}


def fused(one: Asked, expand: str, how: Smoothing) -> np.ndarray:
    """Half the smoothed scores of the query as it is, half those of the expanded query."""
    _, grown = one.first(expand)
    found = []
    for left, right in zip(grown, one.smoothed(how), strict=True):
        total: dict[int, float] = {}
        for docs, scores in (left.ranking, right.ranking):
            top = float(scores.max(initial=0.0)) or 1.0
            for doc, score in zip(docs.tolist(), (scores / top / 2).tolist(), strict=True):
                total[doc] = total.get(doc, 0.0) + score
        order = sorted(total, key=lambda doc: (-total[doc], doc))[:1000]
        docs, scores = np.array(order, np.int64), np.array([total[doc] for doc in order])
        found.append(left._replace(ranking=lw.Ranking(docs, scores)))
    return one.measured(found)


def pipeline(judged: list[Asked], others: list[Asked]) -> None:
    print("## Whole pipelines\n")
    sets = [*judged, *others]
    rows = {
        name: [one.ap(how, expand=expand) for one in sets]
        for name, (expand, how) in PIPELINES.items()
    }
    half = Smoothing(docs=10, share=0.7, by="score", scale="raw")
    rows["½ klsa + ½ rrm, max-normalised"] = [fused(one, "rrm", half) for one in sets]
    print("Judged queries:\n")
    compare(judged, {name: found[: len(judged)] for name, found in rows.items()})
    print("Others, that no constant was chosen by:\n")
    compare(others, {name: found[len(judged) :] for name, found in rows.items()})
    print(f"Leave one of the judged sets out (losses count {1 + LOSS:g} times):\n")
    leave_one_out(judged, list(rows), [found[: len(judged)] for found in rows.values()])


def compare(sets: list[Asked], rows: dict[str, list[np.ndarray]]) -> None:
    """Print AP, hurt/helped, and gains over the first row."""
    out = [["", *(one.judged.name for one in sets), "mean gain, worst", "hurt"]]
    for name, found in rows.items():
        pairs = [*zip(sets, found, strict=True)]
        gains = [after.mean() / one.before.mean() - 1 for one, after in pairs]
        n_hurt = sum(int((after < one.before - TOLERANCE).sum()) for one, after in pairs)
        row = [f"{after.mean():.4f}, {hurt(one, after)}" for one, after in pairs]
        out.append([name, *row, f"{np.mean(gains):+.1%}, {min(gains):+.1%}", str(n_hurt)])
    cells(out)


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
    parser.add_argument("--only", default="setting,pipeline")
    parser.add_argument("--data", action="append", help="folders (default: $LIKEWISE_DATA)")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    wanted = options.only.split(",")
    folders = options.data or named_folders()
    if not folders:
        parser.error("--data FOLDER or LIKEWISE_DATA: where are the collections?")
    with tempfile.TemporaryDirectory() as aside:
        data = Data(folders, options.cache or Path(aside))
        judged = [Asked(of_collection(data.open(name), THREADS)) for name in data.of([JUDGED])]
        if "setting" in wanted:
            setting(judged)
        if "pipeline" in wanted:
            [unseen] = [one for one in PAPER.experiments if one.name == "unseen"]
            bench = Bench(data, unseen.setting, sets=data.of(unseen.on), beside=unseen.beside)
            pipeline(judged, [*map(Asked, asked_otherwise(bench))])


if __name__ == "__main__":
    main()
