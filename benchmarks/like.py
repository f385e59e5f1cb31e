"""Which documents are like this one: how good, how fast, how large?

    python benchmarks/like.py [--only quality,figures,scale] [--collections news,schools,docs]
        [--models lsi,ddm,lda,span] [--topics 250] [--sweeps 200] [--queries 1000] [--seed 0]
        [--limit N] [--untitled] [--slow] [--docs 20000,200000]

A query is a document of the collection. What is relevant to it its authors said: 20 Newsgroups has
groups, Wikipedia for Schools categories (one in common is enough) and links, docstrings `See Also`
sections, which count both ways. The first two are read from the folder that LIKEWISE_DATA names.

`quality` compares methods: P@10 with the 95% interval of the bootstrap over queries, MAP of the
best hundred, processor time on one core for the best ten, from term counts to ranking, and the
cells that are stored of a document (a coordinate is one, a word with its weight two). + and - mark
what is better and worse than tfidf (P@10, paired randomisation, p < .05 by Holm over the rows).
Two-level is tested against accurate ranking in the same way, each pair by itself. `figures` goes
over topics, own words and depths, with the same queries: what is chosen by it has to be measured
with another `--seed`. `scale` is that of like_scale.py.

Titles count: those of 20 Newsgroups are subjects, which answers repeat, so that much of what is
found there is the same thread. `--untitled` leaves them out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import like_scale
import likewise as lw
from likewise.evaluate import evaluate
from likewise.evaluate.links import qrels_from_links
from likewise.like.hashed import Hashed
from likewise.like.methods import HALVES, ByHalves, TopicsOnly, WordsOnly, halves_ranker
from likewise.like.question import Question, of_doc
from likewise.like.store import STORED_WORDS, Weights, make_halves
from likewise.models.bags import Sample
from likewise.models.fitting import fit_model, read_config
from likewise.sources import open_source

K, DEEP = 10, 100
TOPICS = (50, 100, 150, 250, 500)
WORDS = (0, 5, 15, 30, 50, 75)
DEPTHS = (25, 50, 100, 200, 500)
BASELINES = ("tfidf", "bm25", "topn", "lsh-tfidf", "topn-lda(model=lda)")
BY_HALVES = (
    "topics(model={})",
    "words(model={})",
    "eq4(model={})",
    "eq4(model={},depth=0)",
    "halves(model={},again=0)",
    "halves(model={})",
    "halves(model={},depth=0)",
)

# Collections and what is relevant there


def undirected(c, field, sample, seed):
    """Judge linked documents relevant to each other, whichever of them has the link."""
    links = {document.id: list(document.fields.get(field, [])) for document in c}
    for doc_id, its in [(doc_id, list(its)) for doc_id, its in links.items()]:
        for other in its:
            if other in links:
                links[other].append(doc_id)
    qrels = qrels_from_links(links.items(), known=links)
    qids = [*qrels]
    if 0 < sample < len(qids):
        chosen = np.random.default_rng(seed).choice(len(qids), sample, replace=False)
        qids = [qids[i] for i in np.sort(chosen).tolist()]
    return lw.Qrels({qid: qrels[qid] for qid in qids})


def by_label(field):
    return lambda c, sample, seed: c.judgements(same=field, sample=sample, seed=seed)


COLLECTIONS = {
    "news": ("20newsgroups/corpus.jsonl.gz", {"20 Newsgroups, same group": by_label("category")}),
    "schools": (
        "wikipedia-schools/corpus.jsonl.gz",
        {
            "Wikipedia for Schools, a category in common": by_label("categories"),
            "Wikipedia for Schools, linked": lambda c, sample, seed: c.judgements(
                links="links", sample=sample, seed=seed
            ),
        },
    ),
    "docs": (
        "docstrings:",
        {"docstrings, see also": lambda c, *options: undirected(c, "see_also", *options)},
    ),
}


def indexed(key, folder, limit=0, untitled=False):
    """Index a collection with the default model; with a limit, every n-th document."""
    source = COLLECTIONS[key][0]
    if not source.endswith(":"):
        source = Path(os.environ["LIKEWISE_DATA"]) / source
    if limit or untitled:
        documents = [*open_source(source)]
        step = max(1, len(documents) // limit) if limit else 1
        source = documents[::step][: limit or None]
    if untitled:
        source = [document._replace(title="") for document in source]
    return lw.index(source, to=folder / f"{key}.lw")


class Task:
    """A collection with judgements, and its queries as questions."""

    def __init__(self, c, title, qrels):
        self.c, self.title, self.qrels = c, title, qrels
        snapshot = c.snapshot
        self.questions = [
            Question(qid, (of_doc(snapshot, snapshot.find_doc(qid)),)) for qid in qrels
        ]

    def run(self, ranker, name, k=K):
        """Answer all queries; give the run and the processor time of each."""
        ranker.rank(self.questions[:3], k=k)
        start = time.process_time()
        rankings = ranker.rank(self.questions, k=k)
        each = (time.process_time() - start) / len(self.questions)
        run = lw.Run(name)
        for question, (docs, scores) in zip(self.questions, rankings, strict=True):
            run.add(question.qid, zip(self.c.snapshot.doc_ids(docs), scores.tolist(), strict=True))
        return run, each

    def precision(self, run):
        return evaluate(run, self.qrels, measures="P@10").means["P@10"]

    def heading(self):
        n_relevant = np.mean([len(grades) for grades in self.qrels.values()])
        return (
            f"\n{self.title}: {len(self.c):,} documents, {len(self.qrels):,} queries, "
            f"{n_relevant:.1f} relevant on average"
        )


def tasks_of(c, key, options):
    return [
        Task(c, title, judge(c, options.queries, options.seed))
        for title, judge in COLLECTIONS[key][1].items()
    ]


def rounded(value, digits=3):
    """Write a share without its leading zero."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def chance(p):
    return "<.001" if p < 0.001 else rounded(p)


# Quality


def fitted(c, models, options):
    """Fit what is not there; say how each model was fitted and how its halves are weighed."""
    settings = f"(topics={options.topics},sweeps={options.sweeps})"
    configs = {"ddm": f"ddm{settings}", "lda": f"lda{settings}", "span": "span(of=ddm)"}
    for name in models:
        seconds = 0.0
        if name in configs:
            start = time.process_time()
            c.fit(configs[name])
            seconds = time.process_time() - start
        model, weights = c.model(name), c.halves(name).weights or Weights()
        power = f", power of idf {model.power:g}" if hasattr(model, "power") else ""
        spent = f", {seconds:.0f} s to fit" if seconds else ""
        print(
            f"  {configs.get(name, name)}: {model.n_topics} axes{power}, halves count "
            f"{weights.points:g} and {weights.words:g} ({weights.chosen}){spent}",
            flush=True,
        )


def cells(c, method):
    """Count the cells that are stored of a document on average."""
    name, _, inside = method.partition("(")
    model = inside.partition("model=")[2].rstrip(")").partition(",")[0]
    if name in HALVES:
        halves = c.halves(model)
        n_words = sum(len(lot.terms) for lot in halves.segments) / c.snapshot.n_slots
        axes = 0 if name == "words" else halves.model.n_topics
        return axes + (0 if name == "topics" else 2 * n_words)
    sample = c.snapshot.live_docs()[:: max(1, len(c) // 2000)]
    whole = 2 * len(c.snapshot.term_counts(sample).terms) / len(sample)
    more = {"lsh-tfidf": Hashed().tables, "topn-lda": c.model(model).n_topics if model else 0}
    return whole + more.get(name, 0)


def quality(task, models):
    """Print a row for each method, and two-level against accurate ranking."""
    methods = [m for m in BASELINES if "lda" not in m or "lda" in models]
    for model in models:
        methods += [method.format(model) for method in BY_HALVES]
        if model == "lsi":
            methods.append("halves(model=lsi,how=shares)")
    runs, times, deep = {}, {}, {}
    for method in methods:
        ranker = task.c.ranker(method)
        runs[method], times[method] = task.run(ranker, method)
        scores = evaluate(task.run(ranker, method, DEEP)[0], task.qrels, measures=f"AP@{DEEP}")
        deep[method] = scores.means[f"AP@{DEEP}"]
    compared = lw.compare([*runs.values()], task.qrels, measures="P@10", baseline="tfidf")
    print(task.heading())
    print(f"{'':32}{'P@10':>7}{'95%':>14}{'MAP':>9}{'ms/query':>11}{'over tfidf':>12}{'cells':>8}")
    for method in methods:
        cell = compared[method, "P@10"]
        mark = " "
        if cell.difference and cell.difference.p_randomisation_holm < 0.05:
            mark = "+" if cell.difference.absolute > 0 else "-"
        low, high = map(rounded, cell.interval)
        each = times[method]
        print(
            f"{method:32}{rounded(cell.mean):>7}{mark}{f'[{low} {high}]':>13}"
            f"{rounded(deep[method]):>9}{each * 1e3:11.2f}{each / times['tfidf']:11.2f}×"
            f"{cells(task.c, method):8.0f}"
        )
    print(
        f"{'two-level against accurate, P@10':32}{'two-level':>10}{'accurate':>10}"
        f"{'difference':>12}{'p':>8}{'same ten':>10}{'speed':>8}"
    )
    for quick, exact in two_levels(models):
        pair = [runs[exact], runs[quick]]
        found = lw.compare(pair, task.qrels, measures="P@10", baseline=exact)
        means = [rounded(found[name, "P@10"].mean) for name in (quick, exact)]
        difference = found[quick, "P@10"].difference
        print(
            f"{quick:32}{means[0]:>10}{means[1]:>10}{difference.absolute:+12.4f}"
            f"{chance(difference.p_randomisation):>8}{rounded(shared(*pair)):>10}"
            f"{times[exact] / times[quick]:7.1f}×",
            flush=True,
        )


def two_levels(models):
    """List the two-level methods, each with the accurate one."""
    kinds = [(kind, model) for model in models for kind in ("eq4", "halves")]
    return [(f"{kind}(model={model})", f"{kind}(model={model},depth=0)") for kind, model in kinds]


def shared(reference, run):
    """Give the share of the reference's ten that a run has among its ten."""
    ten = [({d for d, _ in a[:K]}, {d for d, _ in run[qid][:K]}) for qid, a in reference.items()]
    return sum(len(a & b) for a, b in ten) / max(sum(len(a) for a, _ in ten), 1)


# Figures


def rankers_of(c, model, words=STORED_WORDS):
    """Give rankers by topics, by own words and by both, of a model that is not stored.

    Both count as they do for the stored model: what is chosen anew for each row is no figure.
    """
    halves = make_halves(c.snapshot, model, words=words)
    both = ByHalves(beta=(c.halves("lsi").weights or Weights()).words)
    kinds = {"topics": TopicsOnly(), "words": WordsOnly(), "both": both}
    return {name: halves_ranker(halves, config) for name, config in kinds.items()}


def bar(value):
    return "▇" * round(40 * value)


def figures(tasks, options):
    """Print P@10 over topics, own words and depths."""
    c = tasks[0].c
    kinds = {"lsi": "lsi(topics={})"}
    if options.slow:
        kinds["ddm"] = f"ddm(topics={{}},sweeps={options.sweeps})"
    for kind, config in kinds.items():
        rows = {}
        for n in TOPICS:
            model = fit_model(c.snapshot, read_config(config.format(n)), sample=Sample())
            rows[n] = rankers_of(c, model)
        for task in tasks:
            over(task, f"topics of {kind}, {STORED_WORDS} own words", rows)
    model = c.model("lsi")
    rows = {n: rankers_of(c, model, n) for n in WORDS}
    for task in tasks:
        over(task, f"own words, {model.n_topics} axes of lsi", rows)
        depths(task)


def over(task, what, rows):
    print(f"{task.heading()}\nP@10 over {what}")
    print(f"{'':8}{'topics':>8}{'words':>8}{'both':>8}{'ms':>8}")
    for n, rankers in rows.items():
        answered = {name: task.run(ranker, name) for name, ranker in rankers.items()}
        values = {name: task.precision(run) for name, (run, _) in answered.items()}
        shown = "".join(f"{rounded(value):>8}" for value in values.values())
        print(f"{n:8}{shown}{answered['both'][1] * 1e3:8.2f}  {bar(values['both'])}", flush=True)


def depths(task):
    """Print how deep candidates have to be looked for."""
    exact, slow = task.run(task.c.ranker("halves(model=lsi,depth=0)"), "accurate")
    print(f"{task.heading()}\ncandidates by each half, lsi")
    print(f"{'':10}{'of the ten':>12}{'P@10':>8}{'ms':>8}{'over accurate':>15}")
    for depth in DEPTHS:
        run, each = task.run(task.c.ranker(f"halves(model=lsi,depth={depth})"), "two-level")
        print(
            f"{depth:10}{rounded(shared(exact, run)):>12}{rounded(task.precision(run)):>8}"
            f"{each * 1e3:8.2f}{slow / each:14.1f}×",
            flush=True,
        )
    print(f"{'accurate':10}{'1':>12}{rounded(task.precision(exact)):>8}{slow * 1e3:8.2f}{1:14.1f}×")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="quality,figures")
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--models", default="lsi,ddm,lda,span")
    parser.add_argument("--topics", type=int, default=250, help="of ddm and lda")
    parser.add_argument("--sweeps", type=int, default=200, help="of ddm and lda")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the sample of queries")
    parser.add_argument("--limit", type=int, default=0, help="only so many documents")
    parser.add_argument("--untitled", action="store_true", help="leave titles out")
    parser.add_argument("--slow", action="store_true", help="figures over the topics of ddm, too")
    parser.add_argument("--docs", default="20000,200000", help="sizes for scale")
    options = parser.parse_args()
    only, models = options.only.split(","), options.models.split(",")
    for key in options.collections.split(",") if {"quality", "figures"} & {*only} else ():
        if key != "docs" and "LIKEWISE_DATA" not in os.environ:
            print(f"\n{key}: left out, LIKEWISE_DATA names no folder of collections")
            continue
        with tempfile.TemporaryDirectory() as name:
            c = indexed(key, Path(name), options.limit, options.untitled)
            tasks = tasks_of(c, key, options)
            if "quality" in only:
                print(f"\n{key}:")
                fitted(c, models, options)
                for task in tasks:
                    quality(task, models)
            if "figures" in only:
                figures(tasks, options)
    if "scale" in only:
        like_scale.scale([int(size) for size in options.docs.split(",")])


if __name__ == "__main__":
    main()
