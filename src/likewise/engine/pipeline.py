"""A stage with its context: what answers the queries of a collection."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from likewise.arguments import check_counts, check_kind
from likewise.collection.build import content
from likewise.collection.cards import LEAD
from likewise.collection.snapshot import Snapshot
from likewise.engine.answers import Answer, Answers, names_in, words_in
from likewise.engine.frames import run_frame
from likewise.engine.queries import Queries, as_queries, frame_queries, query_frame
from likewise.errors import UsageError, WrongType
from likewise.evaluate.trec import Run
from likewise.records import ALL, Filter, Query, in_order
from likewise.retrieve.models import BM25
from likewise.show.text import one_line
from likewise.stages.by_length import ByLength
from likewise.stages.compounds import part_of, sum_compounds
from likewise.stages.stage import Chain, Context, Result, Stage, Where, as_results, as_stage

if TYPE_CHECKING:
    from likewise.compiled import Ints
    from likewise.expand.expansion import Expander
    from likewise.like.smooth import Smoothing
    from likewise.records import Explanation, Part

Method: TypeAlias = "str | Stage"
Expansion: TypeAlias = "str | Expander"
Smooth: TypeAlias = "str | Smoothing"
Filters: TypeAlias = "str | Filter | Sequence[str | Filter]"

# What is done with a query where nothing is named: the best on judged collections.
# Words; words expanded; what is like the first by words; where words stand; what was first stays.
# Its constants are chosen on judged collections leaving one out: benchmarks/defaults.py.
DEFAULT = (
    *("bm25", "proximity", "robust(adapt=10)"),
    *("bm25", "klsa(adapt=0.5)", "proximity", "keep"),
)
# Queries of so many distinct terms go over to likeness: benchmarks/defaults.py --choose.
LONG = (20, 60)
# Pipelines of a snapshot that are kept.
_KEPT = 64
# Results hold what explains them: a run drops them batch by batch.
_BATCH = 1024
_READ_FOR_WORDS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Pipeline:
    """Stages bound to a snapshot, the number of documents asked for, and threads.

    It cannot be altered: those that are named alike are one.
    """

    snapshot: Snapshot
    stage: Stage
    _: KW_ONLY
    k: int = 1000
    threads: int = 1

    def __post_init__(self) -> None:
        check_counts(least=1, k=self.k)
        check_counts(threads=self.threads)
        object.__setattr__(self, "k", int(self.k))
        object.__setattr__(self, "threads", int(self.threads) or os.cpu_count() or 1)

    @overload
    def __call__(
        self, queries: str | Query | Result | Iterable[str | Query | Result] | Mapping[str, str]
    ) -> list[Result]: ...
    @overload
    def __call__(self, queries: Any) -> Any: ...
    def __call__(self, queries: Any) -> Any:
        """Answer queries: texts, `Query` records, results of a pipeline, a dict of ids and texts.

        A frame of queries (`qid`, `query`) gives a frame of the same library, of documents: `qid`,
        `docno`, `score` and `rank`, which begins with 1.
        """
        frame = query_frame(queries)
        if frame is not None:
            return run_frame(self.as_run(self._batches(frame_queries(frame))), like=frame)
        return self._results(as_queries(queries))

    def __rshift__(self, other: Stage | Pipeline | str | Callable[[Result], Result]) -> Pipeline:
        """Send what this gives through other stages; k and threads are those of the last."""
        if isinstance(other, Pipeline):
            stage = self.stage >> other.stage
            return Pipeline(other.snapshot, stage, k=other.k, threads=other.threads)
        stage = self.stage >> as_stage(other)
        return Pipeline(self.snapshot, stage, k=self.k, threads=self.threads)

    def run(self, queries: Queries, *, name: str = "") -> Run:
        """Answer many queries, for evaluation or a TREC run file."""
        return self.as_run(self.results(queries), name=name)

    def as_run(self, results: Iterable[Result], *, name: str = "") -> Run:
        """Turn results into a run."""
        run = Run(name or self.name)
        expected = "results are those that a pipeline gives"
        check_kind(results, Iterable, expected)
        for result in results:
            check_kind(result, Result, expected)
            doc_ids = self.snapshot.doc_ids(result.ranking.docs)
            run.add(result.query.qid, zip(doc_ids, result.ranking.scores.tolist(), strict=True))
        return run

    def results(self, queries: Queries) -> Iterator[Result]:
        """Answer queries as they come, some at a time."""
        return self._batches(as_queries(queries))

    def _batches(self, asked: Sequence[Result]) -> Iterator[Result]:
        for start in range(0, len(asked), _BATCH):
            yield from self._results(asked[start : start + _BATCH])

    def _results(self, asked: Sequence[Result]) -> list[Result]:
        return self._chain.run(asked, self._context)

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self.stage.steps)

    @cached_property
    def _context(self) -> Context:
        return Context(self.snapshot, self.k, threads=self.threads)

    def answers(self, query: str | Query, *, explain: bool = False) -> Answers:
        """Answer one query as a person reads it."""
        if not isinstance(query, (str, Query)):
            raise WrongType.of(query, "a query is a text or a Query (run answers several)")
        [result] = self._results(as_results(query))
        return self.read(result, explain=explain)

    def read(self, result: Result, *, explain: bool = False) -> Answers:
        """Turn a result into answers; explained, with the parts of their scores."""
        check_kind(result, Result, "a result is a Result, as results gives them")
        query, (docs, scores), scorer, _ = result
        explained: list[Explanation | None] = [None] * len(docs)
        if explain:
            if scorer is None and len(docs):
                raise UsageError(f"{self} does not say what its scores are made of")
            explained = [] if scorer is None else self._summed(query, scorer.explain(docs))
        ids, cards = self.snapshot.doc_ids(docs), self.snapshot.cards(docs)
        found = [
            Answer(doc_id, score, title or one_line(lead), fields, one)
            for doc_id, score, (title, lead, fields, _), one in zip(
                ids, scores.tolist(), cards, explained, strict=True
            )
        ]
        answers = Answers(found, query=_shown(query), method=self.name)
        if query.expansion:
            typed = self.snapshot.analyzer.terms(query.text)
            answers = answers.grown(
                query,
                partial(self._plain_words, query.text, docs),
                lambda term: part_of(term, typed, self.snapshot),
            )
        if explain:
            return answers.with_words(partial(self._words, query.text, docs, found))
        return answers

    def _summed(self, query: Query, explained: Sequence[Explanation]) -> list[Explanation | None]:
        """Put parts of compounds under the words asked for; likeness has no such parts."""
        typed = self.snapshot.analyzer.terms(query.text)
        return [one._replace(parts=self._sum(one.parts, typed)) for one in explained]

    def _sum(self, parts: Sequence[Part], typed: Sequence[str]) -> tuple[Part, ...]:
        opened = [
            part._replace(parts=self._sum(part.parts, typed)) if part.kind == "list" else part
            for part in parts
        ]
        return in_order(sum_compounds(opened, typed, self.snapshot))

    def _plain_words(self, text: str, docs: Ints, terms: Iterable[str]) -> dict[str, str]:
        """Give the words that terms stand for in a query, in its first answers, or anywhere."""
        from likewise.models.surface_forms import readable_terms, surface_words

        s = self.snapshot
        texts = [content(s.document(doc)) for doc in docs[:_READ_FOR_WORDS].tolist()]
        typed = surface_words([text], s.analyzer)
        return readable_terms(s, terms, texts) | typed

    def _words(
        self, text: str, docs: Ints, answers: Sequence[Answer], terms: Iterable[str]
    ) -> dict[str, str]:
        """Give the words that terms stand for in a query, in titles of its answers, or in these.

        An answer is read only for parts of its score that neither the titles nor those before have.
        """
        from likewise.models.surface_forms import readable_terms, surface_words

        s = self.snapshot
        # What was typed stays as it was typed.
        words = surface_words([answer.title for answer in answers], s.analyzer)
        words |= surface_words([text], s.analyzer)
        missing = {term for term in terms if term not in words}
        texts, left = list[str](), set(missing)
        for doc, answer in zip(docs.tolist(), answers, strict=True):
            if not left:
                break
            parts = answer.explanation.parts if answer.explanation else ()
            n_left = len(left)
            left.difference_update(
                name for words in words_in(parts) for part in words for name in names_in(part)
            )
            if len(left) < n_left:
                texts.append(s.document(doc).text)
        return readable_terms(s, missing, texts) | words if missing else words

    @cached_property
    def graphs(self) -> tuple[str, ...]:
        """The graphs that its expanders ask, by name."""
        asking = (step for step in self.stage.steps if getattr(step, "by_graph", False))
        return tuple(getattr(step, "graph", "") for step in asking)

    @cached_property
    def first(self) -> Stage:
        """The first stage that does more than to narrow the filter."""
        return next(one for one in self.stage.steps if not one.only_filters)

    @cached_property
    def finds(self) -> bool:
        """Whether its first stage finds documents, rather than work on a ranking."""
        return self.first.depth(self.k, log=False) == 0

    @cached_property
    def name(self) -> str:
        """How it is written, without its filter: the name of runs and answers."""
        return " >> ".join(str(one) for one in self.stage.steps if not one.only_filters)

    def __repr__(self) -> str:
        return str(self.stage)

    __str__ = __repr__


def make_pipeline(
    snapshot: Snapshot,
    method: Method,
    expand: Expansion,
    smooth: Smooth,
    filter: Filters,
    k: int,
    threads: int,
) -> Pipeline:
    """Make a pipeline of what `Collection.pipeline` takes."""
    stage = read_search(snapshot, method, expand, smooth)
    return Pipeline(snapshot, read_method(stage, filter), k=k, threads=threads)


def named_pipelines(snapshot: Snapshot) -> Callable[..., Pipeline]:
    """Give what makes the pipelines of a snapshot, where they are named; some are kept."""

    def keep() -> Callable[..., Pipeline]:
        # Typed, as 10.0 is no number of documents.
        return lru_cache(_KEPT, typed=True)(partial(make_pipeline, snapshot))

    return snapshot.memo("pipelines", keep)


def default_search(snapshot: Snapshot) -> Stage:
    """Give the search of those who name none, as far as the collection has what it takes."""
    lacking = set()
    if "smooth" not in snapshot.manifest.defaults:
        lacking.add("klsa")
    if not snapshot.has_positions:
        lacking.add("proximity")
    steps = [step for step in DEFAULT if step.partition("(")[0] not in lacking]
    short = as_stage(" >> ".join(steps))
    if "like" not in snapshot.manifest.defaults:
        return short
    return ByLength(short, as_stage("hybrid"), *LONG)


def read_search(
    snapshot: Snapshot, method: Method = "", expand: Expansion = "", smooth: Smooth = ""
) -> Stage:
    """Read a search as `Collection.pipeline` takes it."""
    if not method and not expand and not smooth:
        return snapshot.memo("default search", lambda: default_search(snapshot))
    stage = read_method(method) if method else BM25()
    if expand and not _is_none(expand):
        from likewise.expand.expansion import read_expander

        how = read_expander(expand)
        if not stage.steps[-1].by_terms:
            raise UsageError(
                f"{stage} has no terms to expand; bm25, ql, ql-jm and tfidf search by them"
            )
        stage = stage >> how >> stage.steps[-1]
    if smooth and not _is_none(smooth):
        from likewise.like.smooth import Smoothing, read_smoothing

        if not isinstance(smooth, str | Smoothing):
            raise WrongType(f"{smooth!r} is no smoothing: write klsa, klsa(docs=10), or none")
        stage = stage >> read_smoothing(smooth)
    return stage


def read_method(method: Method, filter: Filters = "") -> Stage:
    """Read a stage, with a filter before it."""
    stage = as_stage(method)
    found = ALL if filter is None else Filter.read(filter)
    return stage if found == ALL else Where(found) >> stage


def check_searches(pipeline: Pipeline) -> Pipeline:
    """Refuse stages that find nothing because nothing comes before them."""
    if not pipeline.finds:
        first = pipeline.first
        raise UsageError(f"{first} works on a ranking: put a search before it, bm25 >> {first}")
    return pipeline


def _is_none(how: object) -> bool:
    return isinstance(how, str) and how.strip().lower() == "none"


def _shown(query: Query) -> str:
    """Give what was asked, to be shown: a text, or what is known of the documents in hand."""
    if not query.like:
        return query.text
    shown = ", ".join(one.doc_id or one_line(one.text) for one in query.like)
    return shown[:LEAD]
