"""Does likeness hold on every collection, whether the same subject is wanted or the same thing?

    LIKEWISE_DATA=FOLDER[:FOLDER…] python benchmarks/likeness.py [--choose] [--parts] [--only NAMES]

Documents are queries, the document itself left out. *Same subject*: of one group or category, or
relevant to the same query. *Same thing*: linked, related by their authors, duplicates. P@10, where
judgements have grades nDCG@10. For each task the methods are held against the best of TF-IDF, BM25
of the whole document and dense vectors alone; `below` are the tasks that a method is significantly
below that on (paired t-test, Holm over tasks, .05).

With `--choose` the constants of the score are chosen anew: for each collection on all others, by
the mean of one kind without the collection that speaks for it most, and in the middle of the dial
by the fewest tasks significantly below, then by the mean of both kinds, less what the worst task
loses beyond 5%. Both are printed: what each collection gets by what the others chose, and the
choice by all; with titles and without. With `--parts` what the parts are made of is varied: axes,
rungs, how many specific words, feedback.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

import likewise as lw
from defaults import chance_below, n_below, n_passed
from likewise.compiled import Bools, Doubles, Ints
from likewise.evaluate.links import qrels_from_labels, qrels_from_links
from likewise.like.components import EncodedQuery, Encoder
from likewise.like.focus import weights_at
from likewise.like.hybrid import Hybrid, Likeness
from likewise.like.typical import measure_typical
from likewise.models.lsi import LSI, fit_lsi
from likewise.models.model import BALANCED, Typical, Weights
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.retrieve.question import of_doc
from likewise.sources.docstrings import JUDGED_FIELD
from likewise_papers.folders import find_collection

# What tells which documents are alike: a field of labels or of links, or judgements ("").
TASKS = {
    "20newsgroups": ("category",),
    "wikipedia-schools": ("categories", "links"),
    "docstrings": (JUDGED_FIELD,),
    "reuters21578": ("categories",),
    "arxiv": ("categories",),
    "planetmath": ("",),
    "mdn": ("",),
    "gitbugs2": ("",),
    "cran": ("",),
    "cisi": ("",),
    "med": ("",),
    "npl": ("",),
    "cf": ("",),
}
LINKS = ("links", JUDGED_FIELD)
SINGLE = {"tfidf": "tfidf", "bm25": "bm25", "dense": "hybrid(only=dense)"}
FOCUSED = {name: f"hybrid(focus={name})" for name in ("subject", "balanced", "thing")}
# What is chosen among: the weight of words, the share of specific words in it, that of titles.
GRID = tuple(
    product((0.2, 0.3, 0.4, 0.5, 0.75, 1.0), (0.3, 0.4), (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8))
)
TOLERANCE, DEPTH = 0.05, 10


class Task(NamedTuple):
    """Documents as queries, and the grades of what is relevant to each."""

    name: str
    collection: lw.Collection
    docs: Ints
    grades: list[dict[int, float]]
    thing: bool
    graded: bool

    @property
    def owner(self) -> str:
        """The collection's name."""
        return self.name.partition(",")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=Path("/tmp/likewise-likeness"))
    parser.add_argument("--queries", type=int, default=400, help="at most, of each task")
    parser.add_argument("--only", default=",".join(TASKS))
    parser.add_argument("--choose", action="store_true", help="choose constants anew")
    parser.add_argument("--parts", action="store_true", help="vary what the parts are made of")
    options = parser.parse_args()
    tasks = [task for name in options.only.split(",") for task in tasks_of(name, options)]
    if options.choose:
        choose_constants(tasks)
    elif options.parts:
        vary_parts(tasks)
    else:
        compare(tasks)


# Tasks


def tasks_of(name: str, options: argparse.Namespace) -> Iterator[Task]:
    """Give the tasks of a collection, which is indexed first."""
    folder = find_collection(name)
    if folder is None and name != "docstrings":
        return
    to = options.cache / f"{name}.lw"
    if not to.exists():
        source = "docstrings:" if folder is None else str(next(Path(folder).glob("corpus.jsonl*")))
        subprocess.run(
            [sys.executable, "-m", "likewise", "index", source, "--to", str(to), "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    collection = lw.open(to)
    for field in TASKS[name]:
        grades, thing = read_grades(collection, Path(folder or ""), field)
        ids = drawn(sorted(grades), options.queries)
        snapshot = collection.snapshot
        docs = snapshot.find_docs(ids)
        relevant = []
        for doc_id in ids:
            its = grades[doc_id]
            numbers = snapshot.find_docs([*its]).tolist()
            relevant.append(
                {doc: grade for doc, grade in zip(numbers, its.values(), strict=True) if doc >= 0}
            )
        keep = [i for i, its in enumerate(relevant) if its and snapshot.lengths(docs[i : i + 1])[0]]
        graded = not field and thing
        shown = f"{name}, {field}" if field else name
        yield Task(shown, collection, docs[keep], [relevant[i] for i in keep], thing, graded)


def read_grades(
    collection: lw.Collection, folder: Path, field: str
) -> tuple[dict[str, dict[str, float]], bool]:
    """Give what is relevant to documents by a field, or by judgements; and if that is a thing."""
    if field:
        values = {document.id: document.fields.get(field, []) for document in collection}
        if field not in LINKS:
            asking = [one for one, its in values.items() if its not in ([], "", None)]
            wanted = drawn(asking, 2000)
            return {
                one: dict(its) for one, its in _items(qrels_from_labels(values, wanted=wanted))
            }, False
        links = {one: [*its] if isinstance(its, list) else [] for one, its in values.items()}
        if field == JUDGED_FIELD:
            for one, its in [(one, [*its]) for one, its in links.items()]:
                for other in its:
                    if other in links:
                        links[other].append(one)
        found = qrels_from_links(links.items(), known=links)
        return {one: dict(its) for one, its in _items(found)}, True
    qrels = lw.read_qrels(str(folder / "qrels.txt"))
    rows = [orjson.loads(line) for line in (folder / "queries.jsonl").read_bytes().splitlines()]
    grades: dict[str, dict[str, float]] = {}
    if rows[0].get("doc_id"):
        for row in rows:
            own, its = row["doc_id"], qrels.get(row["id"], {})
            mine = {doc: grade for doc, grade in its.items() if grade > 0 and doc != own}
            if mine:
                grades[own] = mine
        return grades, True
    for qid in qrels:
        together = [doc for doc, grade in qrels[qid].items() if grade > 0]
        for one in together:
            grades.setdefault(one, {}).update({doc: 1 for doc in together if doc != one})
    return {one: its for one, its in grades.items() if its}, False


def _items(qrels: Any) -> Iterator[tuple[str, dict[str, float]]]:
    for qid in qrels:
        yield qid, qrels[qid]


def drawn(ids: Sequence[str], n: int) -> list[str]:
    if len(ids) <= n:
        return [*ids]
    chosen = np.random.default_rng(0).choice(len(ids), n, replace=False)
    return [ids[i] for i in np.sort(chosen).tolist()]


def quality(task: Task, i: int, docs: Ints) -> float:
    """Give P@10 of a ranking, or nDCG@10 where judgements have grades."""
    gains = np.array([task.grades[i].get(doc, 0.0) for doc in docs[:DEPTH].tolist()])
    if not task.graded:
        return float((gains > 0).sum() / DEPTH)
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    ideal = np.sort([*task.grades[i].values()])[::-1][:DEPTH]
    return float((gains * discounts[: len(gains)]).sum() / (ideal * discounts[: len(ideal)]).sum())


# Methods


def by_method(method: str) -> Callable[[Task], Doubles]:
    """Give what a method of `like` gets."""

    def values(task: Task) -> Doubles:
        ids = task.collection.snapshot.doc_ids(task.docs)
        found = []
        for i, doc_id in enumerate(ids):
            answers = task.collection.like(doc_id, k=DEPTH, method=method)
            docs = task.collection.snapshot.find_docs([answer.doc_id for answer in answers])
            found.append(quality(task, i, docs))
        return np.array(found)

    return values


def compare(tasks: Sequence[Task]) -> None:
    """Print how methods do on every task."""
    head(tasks)
    found = {}
    for name, method in (SINGLE | FOCUSED | {"balanced, all": "hybrid(candidates=0)"}).items():
        found[name] = [by_method(method)(task) for task in tasks]
        if len(found) >= len(SINGLE):
            best = best_of([found[one] for one in SINGLE])
            for one in SINGLE if len(found) == len(SINGLE) else (name,):
                show(one, tasks, found[one], best)


def head(tasks: Sequence[Task]) -> None:
    print(f"{'':22}" + "".join(f"{task.owner[:7]:>8}" for task in tasks), end="")
    print("   subject   thing   worst  below")
    kinds = "".join(f"{'thing' if task.thing else 'subject':>8}" for task in tasks)
    print(f"{'':22}{kinds}   % of the best single method, mean")


def best_of(singles: Sequence[list[Doubles]]) -> list[Doubles]:
    """Give for every task the values of the single method that is best there."""
    return [max(values, key=lambda its: float(its.mean())) for values in zip(*singles, strict=True)]


def show(name: str, tasks: Sequence[Task], found: list[Doubles], best: list[Doubles]) -> None:
    gains = np.array([a.mean() / b.mean() - 1 for a, b in zip(found, best, strict=True)])
    thing = np.array([task.thing for task in tasks])
    below = n_below(dict(enumerate(best)), dict(enumerate(found)))
    print(
        f"{name:22}"
        + "".join(f"{values.mean():8.3f}" for values in found)
        + f"{_mean(gains[~thing]):+10.2f}{_mean(gains[thing]):+8.2f}"
        + f"{100 * gains.min():+8.1f}{below:7d}",
        flush=True,
    )


def _mean(gains: Doubles) -> float:
    return 100 * float(gains.mean()) if len(gains) else float("nan")


# Constants


class Scored(NamedTuple):
    """A query and its candidates: their scores by each part, and their dense vectors."""

    point: Doubles
    docs: Ints
    parts: Doubles
    rows: Doubles


def scored(task: Task, stored: StoredVectors, n: int = 300) -> list[Scored]:
    """Score the candidates of every query by each part."""
    likeness = Likeness(Encoder(stored), Weights(1, 1, 1, 1))
    live = stored.collection.live_docs()
    out = []
    for doc in task.docs.tolist():
        query: EncodedQuery = likeness.encoder.encode(*of_doc(stored.collection, doc))
        found = []
        for _, component in likeness.components:
            scores = np.zeros(stored.collection.n_slots, np.float32)
            component.scan(query, 1.0, scores)
            found.append(live[np.argsort(-scores[live], kind="stable")[:n]])
        docs = np.setdiff1d(np.concatenate(found), [doc])
        parts = np.stack([component.score(query, docs) for _, component in likeness.components])
        out.append(Scored(query.point, docs, parts, likeness.rows(docs)))
    return out


def ranked(one: Scored, weights: Weights, feedback: int) -> Ints:
    """Rank candidates, with feedback."""
    dense, *by_words = astuple(weights)
    words = by_words @ one.parts[1:]
    scores = dense * one.parts[0] + words
    if feedback and len(one.docs):
        first = np.argsort(-scores, kind="stable")[:feedback]
        point = one.point + one.rows[first].mean(axis=0)
        point /= np.linalg.norm(point) or 1
        scores = dense * (one.rows @ point) + words
    return one.docs[np.argsort(-scores, kind="stable")[:DEPTH]]


def weighed(typical: Typical, words: float, specific: float, titles: float) -> Weights:
    return Weights(
        1 / typical.dense,
        words * specific / typical.specific,
        words * (1 - specific) / typical.words,
        titles / typical.titles if typical.titles else 0.0,
    )


def choose_constants(tasks: Sequence[Task]) -> None:
    """Choose the weights of parts for each collection on the others, and on all."""
    for kind in (False, True):
        if len({task.owner for task in tasks if task.thing == kind}) < 3:
            raise SystemExit("--choose needs three collections of each kind: LIKEWISE_DATA")
    feedback = Hybrid().feedback
    best = best_of([[by_method(method)(task) for task in tasks] for method in SINGLE.values()])
    gains = np.zeros((len(GRID), len(tasks)))
    chances = np.ones((len(GRID), len(tasks)))
    for t, task in enumerate(tasks):
        stored = vectors_of(task.collection.snapshot)
        candidates = scored(task, stored)
        for g, chosen in enumerate(GRID):
            weights = weighed(stored.typical, *chosen)
            values = [
                quality(task, i, ranked(one, weights, feedback)) for i, one in enumerate(candidates)
            ]
            gains[g, t] = np.mean(values) / best[t].mean() - 1
            chances[g, t] = chance_below(best[t], np.array(values))
        print(f"{task.name}: best at {GRID[int(gains[:, t].argmax())]}", flush=True)
    thing = np.array([task.thing for task in tasks])
    owners = np.array([task.owner for task in tasks])

    def by_kind(on: Bools) -> Doubles:
        """The mean, without the collection that speaks for it most."""
        means = [gains[:, on & (owners != owner)].mean(axis=1) for owner in np.unique(owners[on])]
        return np.min(means, axis=0)

    def by_both(on: Bools) -> Doubles:
        mean = (gains[:, on & ~thing].mean(axis=1) + gains[:, on & thing].mean(axis=1)) / 2
        lost = np.maximum(-gains[:, on].min(axis=1) - TOLERANCE, 0)
        return mean - lost - np.array([n_passed(one) for one in chances[:, on]])

    aims: dict[str, Callable[[Bools], Doubles]] = {
        "subject": lambda on: by_kind(on & ~thing),
        "balanced": by_both,
        "thing": lambda on: by_kind(on & thing),
    }
    print("\n% of the best single method; held out: by what the other collections choose")
    every = np.ones(len(tasks), np.bool_)
    untitled = np.array([titles == 0 for _, _, titles in GRID])
    for name, aim in aims.items():
        for kind, among in (("with titles", every[:1]), ("without", untitled)):
            worth = {
                owner: np.where(among, aim(owners != owner), -np.inf) for owner in [*owners, ""]
            }
            chosen = int(worth[""].argmax())
            held = np.array([gains[int(worth[o].argmax()), t] for t, o in enumerate(owners)])
            below = n_passed(chances[chosen])
            for what, its in (
                (f"by all {GRID[chosen]}, {below} below", gains[chosen]),
                ("held out", held),
            ):
                print(
                    f"{name:9} {kind:11} {what:32} subject {_mean(its[~thing]):+6.2f}  thing "
                    f"{_mean(its[thing]):+6.2f}  worst {100 * its.min():+6.2f}"
                )


# What the parts are made of


def vary_parts(tasks: Sequence[Task]) -> None:
    """Print how likeness does with other axes, rungs and numbers of specific words."""
    best = best_of([[by_method(method)(task) for task in tasks] for method in SINGLE.values()])
    head(tasks)
    for topics, rungs, words, feedback in (
        (200, 4, 75, 3),
        (200, 4, 30, 3),
        (100, 3, 75, 3),
        (100, 3, 30, 3),
        (200, 1, 75, 3),
        (200, 2, 75, 3),
        (200, 6, 75, 3),
        (400, 5, 75, 3),
        (200, 4, 75, 0),
    ):
        found = []
        for task in tasks:
            snapshot = task.collection.snapshot
            model = fit_lsi(snapshot, LSI(topics=topics, rungs=rungs))
            stored = StoredVectors(snapshot, model, words=words)
            weights = weights_at(BALANCED, measure_typical(Encoder(stored)))
            candidates = scored(task, stored)
            values = [
                quality(task, i, ranked(one, weights, feedback)) for i, one in enumerate(candidates)
            ]
            found.append(np.array(values))
        show(f"{topics} axes, {rungs} rungs, {words}, f{feedback}", tasks, found, best)


if __name__ == "__main__":
    main()
