"""How do steps make a search? Results flow from stage to stage: `bm25 >> rm3 >> bm25 >> klsa`.

A stage is a value: it prints as it is written and is bound to no collection. A context brings the
snapshot. What a stage must know of those before it comes with the data: the filter in the query,
and in the result the scorer that made its scores.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from time import monotonic
from typing import ClassVar, NamedTuple, Protocol, TypeVar, cast

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Ints
from likewise.errors import DeadlineExceeded, UsageError, WrongType
from likewise.records import ALL, EMPTY, Explanation, Filter, Match, Query, Ranking
from likewise.stages.masks import Mask, mask_of

# How deep a ranking is read by what does not say how deep it looks.
DEPTH = 1000
# Plans that a chain keeps.
_PLANS = 64

Item = TypeVar("Item")
Found = TypeVar("Found")


class Scorer(Protocol):
    """Scores any document for one query, and splits any score: what a search leaves behind.

    `log`: scores are logarithms. `searches`: the search by words that made the scores, for
    stages that search again; None where there is none.
    """

    @property
    def log(self) -> bool:
        """Whether scores are logarithms."""
        ...

    @property
    def searches(self) -> Stage | None:
        """The search by words behind the scores."""
        ...

    def score(self, docs: Ints) -> Doubles:
        """Score documents with the bits of the search; -inf for what it would not find."""
        ...

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split the scores of documents; never by another search."""
        ...


class Result(NamedTuple):
    """A query, the ranking it has so far (empty before the first search), and what made it.

    `first` is the ranking by the query's own words, where it was expanded since.
    """

    query: Query
    ranking: Ranking = EMPTY
    scorer: Scorer | None = None
    first: Ranking = EMPTY


@dataclass(frozen=True)
class Context:
    """Where stages run: on a snapshot, to give k documents, on so many threads.

    A search by words may give `enough` in place of k, if not 0, where its scorer finds the others.
    `deadline` is a moment of `time.monotonic`.
    """

    snapshot: Snapshot
    k: int = 10
    enough: int = 0
    threads: int = 1
    deadline: float = math.inf

    def mask(self, query: Query) -> Mask:
        """Give what may be an answer to a query: live documents that its filter and match pass."""
        return mask_of(self.snapshot, query.filter, query.match)

    def giving(self, k: int, enough: int) -> Context:
        """Give the context of a stage that is to give so many."""
        if (k, enough) == (self.k, self.enough):
            return self
        return Context(self.snapshot, k, enough, self.threads, self.deadline)

    def check(self) -> None:
        """Raise where the deadline has passed."""
        if self.deadline < math.inf and monotonic() > self.deadline:
            raise DeadlineExceeded("the search took longer than it was given")

    def map(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Call a function on each item, in order, on the threads of the context."""
        threads = min(self.threads or os.cpu_count() or 1, len(items))
        if threads < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, items))


class Stage:
    """A step of a search; subclasses are frozen dataclasses with a `notation`.

    `log` tells whether scores are logarithms; None: they are those of the stage before.
    """

    notation: ClassVar[str] = ""
    log: ClassVar[bool | None] = None
    # Whether documents in hand may come with vectors of the user's.
    compares_vectors: ClassVar[bool] = False
    # Whether it searches by weighted terms, which an expander can give it.
    by_terms: ClassVar[bool] = False
    # Whether it narrows the filter and does nothing else.
    only_filters: ClassVar[bool] = False

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Take results, give as many in the same order, each with `context.k` documents at most."""
        raise UsageError(f"{type(self).__name__} does not say what it does: define run")

    def depth(self, k: int, *, log: bool) -> int:
        """How much of the ranking before it is read, to give k; `log`: of logarithms."""
        return k

    def enough(self, k: int) -> int:
        """How much of a search by words is mostly read, to give k; 0: all of the depth."""
        return 0

    @property
    def steps(self) -> tuple[Stage, ...]:
        """The stages it is made of."""
        return (self,)

    def __rshift__(self, other: Stage | str | Callable[[Result], Result]) -> Chain:
        """Send what this stage gives through another, or through a function of one result."""
        return Chain((*self.steps, *as_stage(other).steps))

    @cached_property
    def _written(self) -> str:
        return notation.write(self)

    def __str__(self) -> str:
        return self._written


@dataclass(frozen=True)
class Chain(Stage):
    """Stages one after the other: the only place where stages are run."""

    stages: tuple[Stage, ...]

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Run every stage on what the last one gave, as deep as the next one reads.

        What a query's filter and match bar is dropped after each, whatever a stage does.
        """
        results = [*batch]
        for stage, k, enough in self._plan(context.k):
            context.check()
            found = stage.run(results, context.giving(k, enough))
            if len(found) != len(results):
                raise UsageError(
                    f"{stage} gave {len(found)} results for {len(results)} queries: a stage gives "
                    "one for each, in the same order"
                )
            # What was found first goes with the query, whatever is made of it later.
            results = [
                _without_barred(_with_first(new, old.first), context)
                for new, old in zip(found, results, strict=True)
            ]
        return results

    def _plan(self, k: int) -> tuple[tuple[Stage, int, int], ...]:
        """Give the stages, each with how many it gives and how many of these may be enough."""
        made = self._plans.get(k)
        if made is None:
            depths = self._depths(k)[1:]
            # What reads a search by words may begin with fewer than its depth.
            enough = [
                after.enough(depth) if stage.by_terms else 0
                for (stage, after), depth in zip(pairwise(self.stages), depths[1:], strict=True)
            ]
            made = tuple(zip(self.stages, depths, [*enough, 0], strict=True))
            if len(self._plans) < _PLANS:
                self._plans[k] = made
        return made

    @cached_property
    def _plans(self) -> dict[int, tuple[tuple[Stage, int, int], ...]]:
        """The plans that were made, by how many documents the last stage gives."""
        return {}

    def depth(self, k: int, *, log: bool) -> int:
        """How much of the ranking before the first stage is read."""
        return self._depths(k, log=log)[0]

    def _depths(self, k: int, *, log: bool = False) -> list[int]:
        """Give what each stage reads of the one before, and last what the last one gives."""
        depths = [k]
        for i in range(len(self.stages) - 1, -1, -1):
            known = [stage.log for stage in self.stages[:i] if stage.log is not None]
            before = known[-1] if known else log
            depths.append(self.stages[i].depth(depths[-1], log=before))
        return depths[::-1]

    @property
    def steps(self) -> tuple[Stage, ...]:
        """The stages."""
        return self.stages

    def __str__(self) -> str:
        return " >> ".join(map(str, self.stages))


def _with_first(result: Result, first: Ranking) -> Result:
    """Give a result with what was found first, unless it has one."""
    known = first is result.first or len(result.first.docs)
    return result if known else result._replace(first=first)


def _without_barred(result: Result, context: Context) -> Result:
    mask = context.mask(result.query)
    if not mask.bars or not len(result.ranking.docs):
        return result
    inside = mask.holds(result.ranking.docs, context.snapshot)
    if inside.all():
        return result
    docs, scores = result.ranking
    return result._replace(ranking=Ranking(docs[inside], scores[inside]))


@dataclass(frozen=True)
class Each(Stage):
    """A function of one result, as a stage: to rewrite queries or re-rank.

    What it does to a ranking nobody can explain: a changed one comes without its scorer.
    """

    function: Callable[[Result], Result]

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Call the function on each."""
        return [self._call(result) for result in batch]

    def _call(self, result: Result) -> Result:
        found = self.function(result)
        if not isinstance(found, Result):
            raise UsageError(f"{self} gave {type(found).__name__}: a stage gives a Result for each")
        same = found.ranking is result.ranking
        return found if same else found._replace(scorer=None)

    def depth(self, k: int, *, log: bool) -> int:
        """It may look as deep as it likes."""
        return max(k, DEPTH)

    def __str__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


@dataclass(frozen=True)
class Cut(Stage):
    """Keep the n best documents."""

    n: int
    notation: ClassVar[str] = "cut"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"a cut-off must be at least 1, not {self.n}")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Cut each ranking."""
        return [result._replace(ranking=result.ranking.cut(self.n)) for result in batch]

    def depth(self, k: int, *, log: bool) -> int:
        """No deeper than it leaves."""
        return min(k, self.n)

    def __str__(self) -> str:
        return f"cut({self.n})"


@dataclass(frozen=True)
class Where(Stage):
    """Let only documents through that meet a filter, here and in all stages that follow."""

    filter: Filter = ALL
    notation: ClassVar[str] = "where"
    only_filters: ClassVar[bool] = True

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Narrow each query's filter; what it bars is dropped where stages are run."""
        mask_of(context.snapshot, self.filter)
        return [
            result._replace(query=result.query._replace(filter=result.query.filter & self.filter))
            for result in batch
        ]

    def __str__(self) -> str:
        return f"where({self.filter})"


def as_stage(given: Stage | str | Callable[[Result], Result]) -> Stage:
    """Give a stage: as it is, as it is written, or as a function of one result."""
    if isinstance(given, Stage):
        return given
    if isinstance(given, str):
        from likewise.stages.reading import read_stage

        return read_stage(given)
    bound = getattr(given, "stage", None)
    if isinstance(bound, Stage):
        raise UsageError(f"{given} is bound to a collection: give it as a stage, {str(bound)!r}")
    if callable(given) and not isinstance(given, type):
        return Each(given)
    raise WrongType.of(given, "a stage is a text such as 'bm25', a Stage or a function of a result")


def as_results(queries: str | Query | Result | Iterable[str | Query | Result]) -> list[Result]:
    """Take queries as they may be given: texts, records, or results of another stage."""
    if isinstance(queries, str | Query | Result):
        return [_as_result(queries, 1)]
    given = cast("Iterable[str | Query | Result]", queries)
    return [_as_result(query, number) for number, query in enumerate(given, 1)]


def _as_result(query: str | Query | Result, number: int) -> Result:
    if isinstance(query, Result):
        return query
    if isinstance(query, str):
        return Result(Query(str(number), query))
    if isinstance(query, Query) and isinstance(query.text, str):
        return Result(query)
    raise WrongType.of(query, "a query is a text, or a Query whose text is one")


def by_mask(batch: Sequence[Result], context: Context) -> list[tuple[Mask, list[int]]]:
    """Group results by what may be an answer, for stages that search for many at once."""
    if len(batch) == 1:
        return [(context.mask(batch[0].query), [0])]
    groups: dict[tuple[Filter, Match | None], list[int]] = {}
    for i, result in enumerate(batch):
        groups.setdefault((result.query.filter, result.query.match), []).append(i)
    return [(context.mask(batch[places[0]].query), places) for places in groups.values()]
