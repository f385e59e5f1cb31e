"""Figures 4 to 7: how many topics, how many words, and two levels against the accurate ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles
from likewise.like.hybrid import Hybrid
from likewise_papers.bench import Bench
from likewise_papers.comparing import claim_above, claim_close, claim_same
from likewise_papers.experiment import UNTESTABLE, Claim, Drawing, Result, Row, Table, estimate
from likewise_papers.like.published import Published
from likewise_papers.papers.decomposition import apart
from likewise_papers.papers.decomposition.apart import mean_of, take_apart
from likewise_papers.papers.decomposition.methods import (
    DDM,
    LDA_DS,
    LSH,
    LSI_DS,
    MIXED,
    OURS,
    TFIDF,
    TOPICS,
    TOPN,
    WORDS,
)
from likewise_papers.papers.decomposition.tasks import Ranker, tasks_of

TWO_DDM, TWO_LSI = "DDM, two levels", "LSI+DS, two levels"
_INDEXED = {TWO_DDM: DDM, TWO_LSI: LSI_DS}

# P@10 of each query: by method, task and the number that goes along x.
Swept = dict[str, dict[str, dict[int, Doubles]]]


def over_topics(bench: Bench) -> Result:
    """Measure methods over the number of topics, with as many specific words as published."""
    found: Swept = {}
    levels: dict[str, dict[str, float]] = {}
    for ready, tasks in tasks_of(bench):
        snapshot = ready.snapshot
        flat = {TFIDF: apart.whole(snapshot), LSH: apart.hashed(snapshot, threads=bench.threads)}
        for task in tasks:
            levels[task.name] = {
                name: float(task.precision(ranker, threads=bench.threads).mean())
                for name, ranker in flat.items()
            }
        for topics in bench["over"]:
            bench.say(f"{ready.name}: {topics} topics")
            for name, ranker in _with_topics(bench, snapshot, topics):
                for task in tasks:
                    values = task.precision(ranker, threads=bench.threads)
                    found.setdefault(name, {}).setdefault(task.name, {})[topics] = values
    return Result(
        claims=tuple(topic_claims(found, bench["published"])),
        tables=_tables(bench, found, "topics"),
        drawings=(
            _drawing("P@10 over the number of topics", "topics", _accurate(found), levels),
            _drawing(
                "Two levels, and our default, over the number of topics", "topics", _indexed(found)
            ),
        ),
    )


def over_words(bench: Bench) -> Result:
    """Measure methods over the number of words, with as many topics as published."""
    found: Swept = {}
    levels: dict[str, dict[str, float]] = {}
    for ready, tasks in tasks_of(bench):
        snapshot = ready.snapshot
        tfidf = apart.whole(snapshot)
        for task in tasks:
            precision = task.precision(tfidf, threads=bench.threads)
            levels[task.name] = {TFIDF: float(precision.mean())}
        for words in bench["over"]:
            bench.say(f"{ready.name}: {words} words")
            for name, ranker in _with_words(bench, snapshot, words):
                for task in tasks:
                    values = task.precision(ranker, threads=bench.threads)
                    found.setdefault(name, {}).setdefault(task.name, {})[words] = values
    return Result(
        claims=tuple(word_claims(found, bench["words"])),
        tables=_tables(bench, found, "words"),
        drawings=(
            _drawing("P@10 over the number of words", "words", _accurate(found), levels),
            _drawing(
                "Two levels, and our default, over the number of words", "words", _indexed(found)
            ),
        ),
    )


def _with_topics(bench: Bench, snapshot: Snapshot, topics: int) -> Iterator[tuple[str, Ranker]]:
    words = bench["words"]
    lda = take_apart(bench, snapshot, apart.LDA, topics)
    yield MIXED, apart.best_words_and_topics(snapshot, lda, words)
    ddm = take_apart(bench, snapshot, apart.DDM, topics)
    yield TOPICS, ddm.ranker(snapshot, Hybrid(only="dense"), words=words)
    yield WORDS, ddm.ranker(snapshot, Hybrid(only="specific"), words=words)
    yield from _both_ways(bench, snapshot, topics, words)
    yield OURS, apart.by_default(snapshot, take_apart(bench, snapshot, apart.LSI, topics))


def _with_words(bench: Bench, snapshot: Snapshot, words: int) -> Iterator[tuple[str, Ranker]]:
    topics = bench["topics"]
    yield TOPN, apart.best_words(snapshot, words)
    lda = take_apart(bench, snapshot, apart.LDA, topics)
    yield MIXED, apart.best_words_and_topics(snapshot, lda, words)
    ddm = take_apart(bench, snapshot, apart.DDM, topics)
    yield WORDS, ddm.ranker(snapshot, Hybrid(only="specific"), words=words)
    yield from _both_ways(bench, snapshot, topics, words)
    yield OURS, apart.by_default(snapshot, take_apart(bench, snapshot, apart.LSI), words)


def _both_ways(
    bench: Bench, snapshot: Snapshot, topics: int, words: int
) -> Iterator[tuple[str, Ranker]]:
    """Give DDM and X+DS, and where the published figures have it two levels of them."""
    exact, indexed = Published(candidates=0), Published(candidates=bench["depth"])
    ddm = take_apart(bench, snapshot, apart.DDM, topics)
    yield DDM, ddm.ranker(snapshot, exact, words=words)
    yield TWO_DDM, ddm.ranker(snapshot, indexed, words=words)
    lda = take_apart(bench, snapshot, apart.LDA_DS, topics)
    yield LDA_DS, lda.ranker(snapshot, exact, words=words)
    lsi = take_apart(bench, snapshot, apart.LSI, topics)
    yield LSI_DS, lsi.ranker(snapshot, exact, words=words)
    yield TWO_LSI, lsi.ranker(snapshot, indexed, words=words)


def topic_claims(found: Swept, main: int) -> list[Claim]:
    """Judge Figures 4 and 6."""
    ends = {task: (min(of), max(of)) for task, of in found[DDM].items()}
    return [
        claim_above(
            "Topics alone find more as there are more of them.",
            {
                f"{task}, {most} over {least}": (
                    found[TOPICS][task][most],
                    found[TOPICS][task][least],
                )
                for task, (least, most) in ends.items()
            },
        ),
        claim_above(
            "Words alone find less as there are more topics.",
            {
                f"{task}, {least} over {most}": (
                    found[WORDS][task][least],
                    found[WORDS][task][most],
                )
                for task, (least, most) in ends.items()
            },
        ),
        _best(f"DDM is best at around {main} topics on every set.", found[DDM], main),
        *_two_levels(found),
    ]


def word_claims(found: Swept, main: int) -> list[Claim]:
    """Judge Figures 5 and 7."""
    least = min(min(of) for of in found[DDM].values())
    return [
        _best(f"{main} specific words are enough for DDM on every set.", found[DDM], main),
        claim_above(
            f"With {least} specific words DDM is above TopN with {main}.",
            {
                task: (of[least], found[TOPN][task][main if main in of else least])
                for task, of in found[DDM].items()
            },
        ),
        claim_above(
            "DDM is above TopN+LDA, whatever the number of words (in the mean over them).",
            {
                task: (mean_of([*of.values()]), mean_of([*found[MIXED][task].values()]))
                for task, of in found[DDM].items()
            },
        ),
        *_two_levels(found),
    ]


def _best(text: str, of_tasks: Mapping[str, Mapping[int, Doubles]], main: int) -> Claim:
    """Claim that the published number is not below the best one by more than chance.

    That cannot be told where no larger number was measured.
    """
    if any(main not in of or main == max(of) for of in of_tasks.values()):
        numbers = sorted({n for of in of_tasks.values() for n in of})
        reason = f"measured were {', '.join(map(str, numbers))} only"
        return Claim(text, UNTESTABLE, reason)
    best = {task: max(of, key=lambda n: (float(of[n].mean()), -n)) for task, of in of_tasks.items()}
    told = "the best: " + ", ".join(f"{n} ({task})" for task, n in best.items())
    pairs = {
        f"{task}, {main} against {n}": (of_tasks[task][main], of_tasks[task][n])
        for task, n in best.items()
    }
    claim = claim_close(text, pairs)
    return replace(claim, reason=f"{told}; {claim.reason}")


def _two_levels(found: Swept) -> list[Claim]:
    """Judge two levels in the mean over all points: the same, or at least no worse."""
    pairs = {
        f"{two}, {task}": (mean_of([*of.values()]), mean_of([*found[one][task].values()]))
        for two, one in _INDEXED.items()
        for task, of in found[two].items()
    }
    return [
        claim_same("Two levels are statistically the same as the accurate ranking.", pairs),
        claim_close("Two levels lose nothing against the accurate ranking.", pairs),
    ]


def _accurate(found: Swept) -> Swept:
    return {name: of for name, of in found.items() if name not in {*_INDEXED, OURS}}


def _indexed(found: Swept) -> Swept:
    kept = {*_INDEXED, *_INDEXED.values(), OURS}
    return {name: of for name, of in found.items() if name in kept}


def _drawing(
    title: str, what: str, found: Swept, levels: Mapping[str, Mapping[str, float]] | None = None
) -> Drawing:
    tasks = list(dict.fromkeys(task for of in found.values() for task in of))
    panels = [
        {
            "name": task,
            "lines": {
                name: [(n, float(values.mean())) for n, values in of[task].items()]
                for name, of in found.items()
            },
            "levels": dict((levels or {}).get(task, {})),
        }
        for task in tasks
    ]
    return Drawing("panels", title, x_label=what, y_label="P@10", panels=tuple(panels))


def _tables(bench: Bench, found: Swept, what: str) -> tuple[Table, ...]:
    tasks = list(dict.fromkeys(task for of in found.values() for task in of))
    return tuple(
        Table(
            f"P@10, {task}",
            tuple(f"{n} {what}" for n in bench["over"]),
            tuple(
                Row(
                    name,
                    {
                        f"{n} {what}": estimate(values, seed=bench.seed)
                        for n, values in of[task].items()
                    },
                    ours=name == OURS,
                )
                for name, of in found.items()
            ),
            unit="P@10",
        )
        for task in tasks
    )
