"""What does expansion gain on one's own queries, and what does it put at risk?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from likewise.arguments import check_counts, check_kind, numbers
from likewise.errors import UsageError, WrongType
from likewise.evaluate.risk import DEPTHS, MEASURES, SHARES, Curve, Point, Ruler, check_shares
from likewise.evaluate.risk_table import RiskTable, compare_risk
from likewise.evaluate.trec import Qrels, Run
from likewise.stages.stage import Result

if TYPE_CHECKING:
    from ir_measures import Measure

    from likewise.derived.kind import Progress
    from likewise.engine.collection import Collection
    from likewise.engine.pipeline import Method
    from likewise.expand.expansion import Expander
    from likewise.records import Query

# Queries between two looks at the progress: expansion may take some hundredths of a second each.
_BATCH = 128


def risk_of(
    collection: Collection,
    queries: Iterable[Query],
    qrels: Qrels,
    expanders: Sequence[str | Expander],
    *,
    against: Sequence[tuple[str | Expander, str | Expander]] = (),
    method: Method = "bm25",
    k: int = 1000,
    shares: Sequence[float] = SHARES,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    depths: Sequence[int] | None = None,
    seed: int = 0,
    threads: int = 0,
    progress: Progress | None = None,
) -> RiskTable:
    """Hold expanders against the unexpanded queries: as they are, and at several shares.

    `against` are pairs of an expander and another that it is compared with directly. `depths` are
    those of R-Loss: 1000 and 100, as far as k goes. Judged queries that are not asked do not count.
    `progress` is told of queries, `n_runs` times as many as are asked.
    """
    asked = list(queries)
    judged = asked_qrels(asked, qrels)
    at = check_shares(shares)
    deep = check_reach(depths, k)
    ways, pairs = _ways(expanders, against)
    # A method that cannot be expanded is refused before any query is asked.
    collection.pipeline(method, expand=ways[0])

    def ask(how: Expander | None) -> Run:
        pipeline = collection.pipeline(method, k=k, expand=how or "none", threads=threads)

        def answer(start: int) -> list[Result]:
            results = pipeline(asked[start : start + _BATCH])
            if progress is not None:
                progress(len(results))
            return results

        batches = map(answer, range(0, len(asked), _BATCH))
        return pipeline.as_run(
            chain.from_iterable(batches), name=pipeline.name if how is None else str(how)
        )

    baseline = ask(None)
    ruler = Ruler(baseline, judged, measures=measures, depths=deep, seed=seed)
    runs: dict[Expander, Run] = {}
    curves = []
    for how in ways:
        points = []
        for share in at:
            run = ask(how.with_share(share))
            points.append(Point(share, ruler.measure(run)))
            # The expander as it is may be one of its points; the other runs are not kept.
            if how.with_share(share) == how:
                runs[how] = run
        curves.append(Curve(str(how), tuple(points)))
        if how not in runs:
            runs[how] = ask(how)
    return compare_risk(
        [baseline, *(runs[how] for how in ways)],
        judged,
        measures=ruler.measures,
        depths=deep,
        seed=seed,
        curves=curves,
        pairs=[(runs[how], runs[other]) for how, other in pairs],
    )


def n_runs(
    expanders: Sequence[str | Expander],
    against: Sequence[tuple[str | Expander, str | Expander]],
    shares: Sequence[float],
) -> int:
    """Count the runs that `risk_of` makes: one without expansion, and of each expander."""
    ways, _ = _ways(expanders, against)
    return 1 + sum(len(shares) + (how not in map(how.with_share, shares)) for how in ways)


def asked_qrels(queries: Sequence[Query], qrels: Qrels) -> Qrels:
    """Give the judgements of the queries that are asked."""
    qids = {query.qid for query in queries}
    judged = Qrels({qid: grades for qid, grades in qrels.items() if qid in qids})
    if not qids or not qrels:
        raise UsageError(f"there is no {'judgement' if qids else 'query'}: none was given")
    if not judged:
        raise UsageError(
            f"none of the queries is judged: there are queries {_some(qids)}, and judgements of "
            f"{_some(qrels)}; give the judgements of these queries"
        )
    return judged


def check_reach(depths: Sequence[int] | None, k: int) -> tuple[int, ...]:
    """Refuse depths of R-Loss that rankings of k documents do not reach; default: what they do."""
    check_counts(least=1, k=k)
    if depths is None:
        return tuple(depth for depth in DEPTHS if depth <= k) or (k,)
    given = numbers(depths, "depths")
    if any(depth > k for depth in given):
        raise UsageError(
            f"R-Loss at {max(given)} needs rankings as long, and they have {k} documents: "
            "give a larger k, or smaller depths"
        )
    return tuple(given)


def _ways(
    expanders: Sequence[str | Expander], against: Sequence[tuple[str | Expander, str | Expander]]
) -> tuple[list[Expander], list[tuple[Expander, Expander]]]:
    """All expanders, each once, and the pairs of them that are compared."""
    from likewise.expand.expansion import read_expander

    expected = "against are pairs of expanders, as in [('robust', 'rm3')]"
    check_kind(against, Sequence, expected)
    for pair in against:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise WrongType.of(pair, expected)
    pairs = [(read_expander(how), read_expander(other)) for how, other in against]
    ways = dict.fromkeys([*map(read_expander, expanders), *chain.from_iterable(pairs)])
    if not ways:
        raise UsageError("there is no expander to measure; name one, such as rm3")
    same = [how for how, other in pairs if how == other]
    if same:
        raise UsageError(f"{same[0]} cannot be compared with itself; name another expander")
    return [*ways], pairs


def _some(qids: Iterable[str]) -> str:
    names = sorted(qids)
    return ", ".join(map(repr, names[:3])) + (" …" if len(names) > 3 else "")
