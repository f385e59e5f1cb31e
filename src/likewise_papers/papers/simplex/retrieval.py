"""Tables 2, 3 and 5: retrieval by topics, by how many, and fused with a search by words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from likewise.compiled import Doubles
from likewise.evaluate.measures import evaluate
from likewise.stages.fusion import fuse_rankings
from likewise.stages.stage import Result as Found
from likewise_papers.bench import Bench, as_run, measured, search
from likewise_papers.comparing import Pairs, claim_above, claim_close, claim_same
from likewise_papers.data import Ready
from likewise_papers.experiment import Claim, Result, Row, Table, estimate, verdict
from likewise_papers.papers.simplex.searching import LSH, TOPICS
from likewise_papers.papers.simplex.topics import fitted, near_queries

WORDS, JS, HE, TREE, FUSED = "BM25 (Xue and Croft)", "JS", "He", "He k-d tree", "fused by rank"
EVERY, PATENTS = "all queries", "patents"
MEASURES = {"AP": "MAP", "P@10": "P@10", "R@10": "R@10"}
# MAP, P@10 and R@10 on patents, 500 topics.
PUBLISHED = {
    WORDS: (0.204, 0.416, 0.138),
    JS: (0.172, 0.343, 0.111),
    HE: (0.178, 0.345, 0.112),
    LSH[0.4]: (0.056, 0.161, 0.051),
    LSH[0.6]: (0.091, 0.248, 0.078),
    LSH[0.8]: (0.161, 0.344, 0.111),
    TREE: (0.159, 0.345, 0.112),
    FUSED: (0.232, 0.442, 0.145),
}
# P@10 by the number of topics.
BY_TOPICS = {
    JS: (0.212, 0.266, 0.306, 0.343),
    HE: (0.222, 0.273, 0.320, 0.345),
    LSH[0.4]: (0.168, 0.170, 0.181, 0.161),
    LSH[0.6]: (0.219, 0.252, 0.276, 0.248),
    LSH[0.8]: (0.223, 0.274, 0.319, 0.344),
    TREE: (0.223, 0.274, 0.320, 0.345),
}
# P@10 of fusion on the development set, normalised by score and by rank.
FUSION = {
    "BM25 (Xue and Croft)": (0.173, 0.173),
    "JS": (0.158, 0.158),
    "CombMIN": (0.077, 0.143),
    "CombMAX": (0.174, 0.178),
    "CombSUM": (0.174, 0.187),
    "CombANZ": (0.079, 0.151),
    "CombMNZ": (0.174, 0.187),
}
COMBINED = {"CombMIN": "min", "CombMAX": "max", "CombSUM": "sum", "CombANZ": "anz"} | {
    "CombMNZ": "mnz"
}
NORMALISED = ("score", "rank")
_WEIGHTED = "CombSUM, weights 1 and .3"
_RECIPROCAL = "reciprocal rank"
_DEPTH = 1000
# Metric and index of each row.
_NEAR = {JS: ("js", "scan"), HE: ("hellinger", "scan"), TREE: ("hellinger", "tree")} | {
    name: ("hellinger", f"lsh(radius={radius})") for radius, name in LSH.items()
}
_APPROXIMATE = (*LSH.values(), TREE)

# The values of a row, of all queries.
Rows = Callable[[str], Doubles]


@dataclass
class Values:
    """A measure of each query, by collection and row."""

    of: dict[str, dict[str, Doubles]] = field(default_factory=dict)

    def put(self, name: str, row: str, values: Doubles) -> None:
        """Take the values of a collection's queries."""
        self.of.setdefault(name, {})[row] = values

    def every(self, row: str) -> Doubles:
        """Give the values of all queries of all collections."""
        return np.concatenate([rows[row] for rows in self.of.values()])

    def pairs(self, row: str, other: str) -> Pairs:
        """Set two rows against one another on each collection."""
        return {name: (rows[row], rows[other]) for name, rows in self.of.items()}


def table_2(bench: Bench) -> Result:
    """Search by topics, exhaustively and not, and fused with a search by words."""
    values = {measure: Values() for measure in MEASURES}
    for name in bench.sets:
        ready = bench.open(name)
        words = search(ready, threads=bench.threads)(ready.queries)
        runs = {WORDS: words} | _near_runs(
            bench, ready, bench["topics"], all_of=_DEPTH, some=bench["depth"]
        )
        runs[FUSED] = _fused(words, runs[JS], "mnz", "rank")
        for row, run in runs.items():
            found = evaluate(as_run(ready, run, row), ready.qrels, measures=[*MEASURES])
            for measure, held in values.items():
                held.put(name, row, np.asarray(found[measure]))
    return Result(
        claims=tuple(retrieval_claims(values["AP"], values["P@10"])),
        tables=tuple(
            _by_set(held, PUBLISHED, title, i, note=f"{bench['topics']} topics.")
            for i, (held, title) in enumerate(zip(values.values(), MEASURES.values(), strict=True))
        ),
    )


def retrieval_claims(precision: Values, ten: Values) -> list[Claim]:
    """Give the claims of Table 2: AP and P@10 by collection and row."""
    return [
        claim_above(
            "Topics alone are below the search by words (MAP).",
            {
                f"{name}, words over {row}": pair
                for row in (JS, HE)
                for name, pair in precision.pairs(WORDS, row).items()
            },
        ),
        claim_close(
            "Hellinger distance is as good as Jensen-Shannon divergence (MAP).",
            precision.pairs(HE, JS),
        ),
        claim_same(
            "LSH with R = .8 and the k-d tree have almost the P@10 of the exhaustive search.",
            {f"{row} over He": (ten.every(row), ten.every(HE)) for row in (LSH[0.8], TREE)},
        ),
        claim_above(
            "Fused with topics the search by words gets better (MAP).",
            precision.pairs(FUSED, WORDS),
        ),
    ]


def table_3(bench: Bench) -> Result:
    """Search by ever more topics."""
    by_topics: dict[int, Values] = {}
    for topics in bench["topics"]:
        held = by_topics[topics] = Values()
        for name in bench.sets:
            ready = bench.open(name)
            for row, run in _near_runs(bench, ready, topics, all_of=10, some=10).items():
                held.put(name, row, measured(ready, run, "P@10"))
    columns = tuple(f"T = {topics}" for topics in by_topics)
    rows = tuple(
        Row(
            row,
            {f"T = {topics}": estimate(held.every(row)) for topics, held in by_topics.items()},
            {
                f"T = {topics}": value
                for topics, value in zip(TOPICS, published, strict=True)
                if topics in by_topics
            },
        )
        for row, published in BY_TOPICS.items()
    )
    return Result(
        claims=tuple(topic_claims({t: held.every for t, held in by_topics.items()})),
        tables=(Table("P@10 of all queries", columns, rows, unit="P@10"),),
    )


def topic_claims(found: Mapping[int, Rows]) -> list[Claim]:
    """Give the claims of Table 3: the P@10 of all queries by a row's name, for each T."""
    sizes = sorted(found)
    steps = list(pairwise(sizes))
    return [
        claim_above(
            "P@10 grows with the number of topics.",
            {
                f"{row}, T = {more} over {fewer}": (found[more](row), found[fewer](row))
                for row in (JS, HE)
                for fewer, more in steps
            },
        ),
        claim_close(
            "Hellinger distance is as good as Jensen-Shannon divergence, with any number.",
            {f"T = {t}": (found[t](HE), found[t](JS)) for t in sizes},
        ),
        claim_same(
            "LSH with R = .8 and the k-d tree are as good as the exhaustive search, with any "
            "number.",
            {
                f"{row}, T = {t}": (found[t](row), found[t](HE))
                for row in (LSH[0.8], TREE)
                for t in sizes
            },
        ),
        claim_above(
            "LSH with R = .4 is below the exhaustive search, with any number.",
            {f"T = {t}": (found[t](HE), found[t](LSH[0.4])) for t in sizes},
        ),
    ]


def table_5(bench: Bench) -> Result:
    """Fuse a run by words with one by topics in all the ways."""
    ten, precision = Values(), Values()
    for name in bench.sets:
        ready = bench.open(name)
        words = search(ready, threads=bench.threads)(ready.queries)
        stored = fitted(bench, ready, bench["topics"])
        topics = near_queries(ready, stored, *_NEAR[JS], k=_DEPTH)
        runs = {WORDS: words, JS: topics}
        for row, method in COMBINED.items():
            for by in NORMALISED:
                runs[f"{row} by {by}"] = _fused(words, topics, method, by)
        runs[_RECIPROCAL] = _fused(words, topics, "rrf", "rank")
        runs[_WEIGHTED] = _fused(words, topics, "sum", "score", [1.0, 0.3])
        for row, run in runs.items():
            found = evaluate(as_run(ready, run, row), ready.qrels, measures=["AP", "P@10"])
            precision.put(name, row, np.asarray(found["AP"]))
            ten.put(name, row, np.asarray(found["P@10"]))
    rows = []
    for row, published in FUSION.items():
        both = [row if row in (WORDS, JS) else f"{row} by {by}" for by in NORMALISED]
        columns = [f"by {by}" for by in NORMALISED]
        rows.append(
            Row(
                row,
                {c: estimate(ten.every(one)) for c, one in zip(columns, both, strict=True)},
                dict(zip(columns, published, strict=True)),
            )
        )
    for row, column in ((_RECIPROCAL, "by rank"), (_WEIGHTED, "by score")):
        rows.append(Row(row, {column: estimate(ten.every(row))}, ours=True))
    note = f"{bench['topics']} topics."
    return Result(
        claims=tuple(fusion_claims(ten, precision)),
        tables=(
            Table("P@10 of all queries", ("by score", "by rank"), tuple(rows), note=note),
            _by_set(precision, {}, "MAP", 0, note=note),
        ),
    )


def fusion_claims(ten: Values, precision: Values) -> list[Claim]:
    """Give the claims of Table 5: P@10 and AP by collection and row."""
    by_rank = {row: float(ten.every(f"{row} by rank").mean()) for row in COMBINED}
    best = sorted(by_rank, key=lambda row: (-by_rank[row], row))[:2]
    return [
        Claim(
            "By rank CombSUM and CombMNZ are the best of the five (P@10).",
            verdict({*best} == {"CombSUM", "CombMNZ"}),
            ", ".join(f"{row} {mean:.3f}" for row, mean in by_rank.items()),
        ),
        claim_same(
            "CombSUM and CombMNZ are alike (P@10).",
            {
                f"by {by}": (ten.every(f"CombSUM by {by}"), ten.every(f"CombMNZ by {by}"))
                for by in NORMALISED
            },
        ),
        claim_above(
            "To normalise by rank is better than by score (P@10).",
            {
                row: (ten.every(f"{row} by rank"), ten.every(f"{row} by score"))
                for row in ("CombSUM", "CombMNZ")
            },
        ),
        claim_above(
            "CombSUM by rank is above both that it is made of (P@10).",
            {f"over {row}": (ten.every("CombSUM by rank"), ten.every(row)) for row in (WORDS, JS)},
        ),
        claim_above(
            "CombSUM by score with weights 1 and .3 is above words alone (MAP).",
            precision.pairs(_WEIGHTED, WORDS),
            ours=True,
        ),
    ]


def _near_runs(
    bench: Bench, ready: Ready, topics: int, *, all_of: int, some: int
) -> dict[str, list[Found]]:
    """Run each way to search by topics; approximate ones give only some of what others do."""
    stored = fitted(bench, ready, topics)
    return {
        row: near_queries(ready, stored, metric, method, k=some if row in _APPROXIMATE else all_of)
        for row, (metric, method) in _NEAR.items()
    }


def _fused(
    one: Sequence[Found],
    other: Sequence[Found],
    method: str,
    by: str,
    weights: Sequence[float] | None = None,
) -> list[Found]:
    return [
        Found(
            a.query,
            fuse_rankings([a.ranking, b.ranking], method=method, normalise=by, weights=weights),
        )
        for a, b in zip(one, other, strict=True)
    ]


def _by_set(
    values: Values, published: Mapping[str, Sequence[float]], title: str, at: int, *, note: str
) -> Table:
    """Make a table of a column for each collection, one for all queries, and what is published."""
    names = list(values.of)
    rows = [
        Row(
            row,
            {name: estimate(values.of[name][row]) for name in names}
            | {EVERY: estimate(values.every(row))},
            {PATENTS: published[row][at]} if row in published else {},
            ours=bool(published) and row not in published,
        )
        for row in (published or values.of[names[0]])
    ]
    columns = (*([PATENTS] if published else []), *names, EVERY)
    return Table(title, columns, tuple(rows), unit=title, note=note)
