"""Section 5.3: which method finds the documents that are like a document?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles
from likewise.like.hybrid import Hybrid
from likewise_papers.bench import Bench
from likewise_papers.comparing import claim_above, claim_close, compare
from likewise_papers.experiment import Claim, Result, Row, Table, estimate, verdict
from likewise_papers.like.published import Published
from likewise_papers.papers.decomposition import apart
from likewise_papers.papers.decomposition.apart import take_apart
from likewise_papers.papers.decomposition.tasks import Ranker, tasks_of

TFIDF, LSH, TOPN, MIXED = "TF-IDF", "LSH on TF-IDF", "TopN", "TopN+LDA"
TOPICS, WORDS = "topics only (DDM)", "words only (DDM)"
DDM, LDA_DS, LSI_DS = "DDM (Eq. 4)", "LDA+DS (Eq. 4)", "LSI+DS (Eq. 2)"
OURS, SPAN = "LSI, hybrid (default)", "DDM's axes, hybrid"
BASELINES = (TFIDF, LSH, TOPN, MIXED)

# P@10 of each query, by method and task.
Found = Mapping[str, Mapping[str, Doubles]]


def compare_methods(bench: Bench) -> Result:
    """Measure every method on every task, at the published numbers of topics and words."""
    found: dict[str, dict[str, Doubles]] = {}
    names = []
    for ready, tasks in tasks_of(bench):
        names += [task.name for task in tasks]
        for method, ranker in rankers(bench, ready.snapshot):
            bench.say(f"{ready.name}: {method}")
            for task in tasks:
                values = task.precision(ranker, threads=bench.threads)
                found.setdefault(method, {})[task.name] = values
    rows = tuple(
        Row(
            method,
            {name: estimate(values, seed=bench.seed) for name, values in of.items()},
            ours=method in (OURS, SPAN),
        )
        for method, of in found.items()
    )
    n = {task: len(values) for task, values in found[TFIDF].items()}
    fitted = f"{bench['tokens']:,}" if bench["tokens"] else "all"
    note = "Queries: " + ", ".join(f"{size:,} ({task})" for task, size in n.items())
    note += f". Models of {bench['topics']} topics, {bench['sweeps']} sweeps, on {fitted} tokens."
    return Result(
        claims=tuple(claims(found)),
        tables=(Table("Macro P@10", tuple(names), rows, unit="P@10", note=note),),
    )


def rankers(bench: Bench, snapshot: Snapshot) -> Iterator[tuple[str, Ranker]]:
    """Give the methods one after the other."""
    words, exact = bench["words"], Published(candidates=0)
    yield TFIDF, apart.whole(snapshot)
    yield LSH, apart.hashed(snapshot, threads=bench.threads)
    yield TOPN, apart.best_words(snapshot, words)
    lda = take_apart(bench, snapshot, apart.LDA, bench["topics"])
    yield MIXED, apart.best_words_and_topics(snapshot, lda, words)
    ddm = take_apart(bench, snapshot, apart.DDM, bench["topics"])
    yield TOPICS, ddm.ranker(snapshot, Hybrid(only="dense"), words=words)
    yield WORDS, ddm.ranker(snapshot, Hybrid(only="specific"), words=words)
    yield DDM, ddm.ranker(snapshot, exact, words=words)
    lda = take_apart(bench, snapshot, apart.LDA_DS, bench["topics"])
    yield LDA_DS, lda.ranker(snapshot, exact, words=words)
    lsi = take_apart(bench, snapshot, apart.LSI, bench["topics"])
    yield LSI_DS, lsi.ranker(snapshot, exact, words=words)
    yield OURS, apart.by_default(snapshot, take_apart(bench, snapshot, apart.LSI))
    span = take_apart(bench, snapshot, apart.SPAN, bench["topics"])
    yield SPAN, apart.by_default(snapshot, span)


def claims(found: Found) -> list[Claim]:
    """Judge the published order: DDM > X+DS > TopN+LDA > TF-IDF > LSH on TF-IDF."""
    return [
        _above_baselines(found),
        _worst(found),
        claim_close(
            "What takes topics from elsewhere and DDM's second half (X+DS) is close to DDM: not "
            "below it.",
            {
                f"{way}, {task}": (found[way][task], found[DDM][task])
                for way in (LDA_DS, LSI_DS)
                for task in found[way]
            },
        ),
        claim_above(
            "TopN+LDA is above TF-IDF.",
            {task: (found[MIXED][task], found[TFIDF][task]) for task in found[MIXED]},
        ),
        claim_above(
            "DDM is above its topics and above its words alone.",
            {
                f"over {way}, {task}": (found[DDM][task], found[way][task])
                for way in (TOPICS, WORDS)
                for task in found[DDM]
            },
        ),
        claim_above(
            "Dense and sparse vectors at length one, with axes, are above TF-IDF.",
            {task: (found[OURS][task], found[TFIDF][task]) for task in found[OURS]},
            ours=True,
        ),
    ]


def _above_baselines(found: Found) -> Claim:
    told, held = [], True
    for task, values in found[DDM].items():
        gaps = {name: compare(values, found[name][task]) for name in BASELINES}
        above = [name for name, gap in gaps.items() if gap.above]
        held = held and len(above) == len(gaps)
        against = ", ".join(f"{name} {gap.difference:+.3f}" for name, gap in gaps.items())
        told.append(f"{task}: significantly above {', '.join(above) or 'none'} ({against})")
    return Claim("DDM is significantly above all baselines.", verdict(held), "; ".join(told))


def _worst(found: Found) -> Claim:
    published = [name for name in found if name not in (OURS, SPAN)]
    told, held = [], True
    for task in found[LSH]:
        means = {name: float(found[name][task].mean()) for name in published}
        last = min(means, key=lambda name: means[name])
        held = held and last == LSH
        other = "" if last == LSH else f", where LSH has {means[LSH]:.3f}"
        told.append(f"{task}: {last} {means[last]:.3f}{other}")
    text = "LSH straight on TF-IDF vectors is the worst."
    return Claim(text, verdict(held), "the worst: " + "; ".join(told))
