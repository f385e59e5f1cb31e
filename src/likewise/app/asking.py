"""The collection as what answers queries: search, expansion, smoothing, runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from likewise.app.opened import of_one_state
from likewise.app.relating import Relating
from likewise.engine.answers import Answers
from likewise.engine.pipeline import Pipeline
from likewise.errors import UsageError
from likewise.evaluate.trec import Qrels, Run
from likewise.records import EMPTY, Filter, Query
from likewise.retrieve.models import BM25, Model, read_model
from likewise.stages.reading import read_stage
from likewise.stages.stage import Stage, Where

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.evaluate.risk_table import RiskTable
    from likewise.expand.expander import Expander
    from likewise.expand.perturb import Perturbed, Strategy
    from likewise.like.smooth import Smoothing

Method: TypeAlias = "str | Stage"
Filters: TypeAlias = "str | Filter | Sequence[str | Filter]"

# What is done with a query where nothing is named: the best on judged collections.
DEFAULT_EXPAND, DEFAULT_SMOOTH = "robust", "klsa"


class Asking(Relating):
    """Answers queries, one or many."""

    def search(
        self,
        query: str | Query,
        *,
        k: int = 10,
        filter: Filters = (),
        method: Method | None = None,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        explain: bool = False,
    ) -> Answers:
        """Find the k documents that best match a query, by words or (`near`) by topics.

        Where none of method, expand and smooth is named, they are as in `pipeline`.
        """
        pipeline = self.pipeline(method, k=k, expand=expand, smooth=smooth, filter=filter)
        return _searching(pipeline).answers(query, explain=explain)

    def run(
        self,
        queries: Iterable[str | Query],
        *,
        k: int = 1000,
        filter: Filters = (),
        method: Method | None = None,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        name: str = "",
        threads: int = 0,
    ) -> Run:
        """Answer many queries, for evaluation or a TREC run file; methods as for `search`."""
        pipeline = self.pipeline(
            method, k=k, expand=expand, smooth=smooth, filter=filter, threads=threads
        )
        return _searching(pipeline).run(queries, name=name)

    @of_one_state
    def pipeline(
        self,
        method: Method | None = None,
        *,
        k: int = 1000,
        filter: Filters = (),
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        threads: int = 1,
    ) -> Pipeline:
        """Give what `search` and `run` do as a pipeline, which takes further stages by `>>`.

        Where nothing is named it is `bm25 >> robust >> bm25 >> klsa`, without the last where the
        collection has no kernel model; else what is named, and `bm25` if that is no method. With an
        expander it is the method, the expander, and the method again; smoothing comes last.
        """
        if method is None and expand is None and smooth is None:
            smooth = DEFAULT_SMOOTH if "smooth" in self._snapshot.manifest.defaults else None
            expand = DEFAULT_EXPAND
        stage = _method(method)
        if expand is not None and not _is_none(expand):
            from likewise.expand.reading import read_expander

            how = read_expander(expand)
            if not isinstance(stage.steps[-1], Model):
                raise UsageError(
                    f"{stage} has no terms to expand; bm25, ql, ql-jm and tfidf search by them"
                )
            stage = stage >> how >> stage.steps[-1]
        if smooth is not None and not _is_none(smooth):
            stage = stage >> _smoothing(smooth)
        for step in stage.steps:
            if getattr(step, "by_graph", False):
                # The graph that an expander asks is made where there is none.
                self.term_graph(getattr(step, "graph", ""))
        if filter:
            stage = Where(Filter.read(filter)) >> stage
        return Pipeline(self._snapshot, stage, k=k, threads=threads)

    @of_one_state
    def perturb(
        self,
        query: str | Query,
        strategy: str | Strategy | ArrayLike = "loo",
        *,
        docs: int = 50,
        method: str | Model = BM25(),
    ) -> Perturbed:
        """Ask a query again with its terms weighed otherwise: which words move together?"""
        from likewise.expand.expander import Asked, Setting
        from likewise.expand.perturb import perturb
        from likewise.retrieve.words import retriever_of, terms_of

        model = read_model(method) if isinstance(method, str) else method
        terms = terms_of(Query("1", query) if isinstance(query, str) else query, self._snapshot)
        setting = Setting(retriever_of(self._snapshot, model))
        [found] = perturb([Asked(terms, EMPTY)], setting, strategy, docs=docs)
        return found

    @of_one_state
    def risk(
        self,
        queries: Iterable[Query],
        qrels: Qrels,
        expand: str | Expander | Sequence[str | Expander] = "robust",
        *,
        method: Method = BM25(),
        k: int = 1000,
        shares: Sequence[float] | None = None,
        depths: Sequence[int] | None = None,
        measures: str | Sequence[str] | None = None,
        seed: int = 0,
        threads: int = 0,
    ) -> RiskTable:
        """Tell what expanders gain over the queries as they are, and what they put at risk."""
        from likewise.app.risk import risk_of
        from likewise.evaluate.risk import MEASURES, SHARES

        many = isinstance(expand, Sequence) and not isinstance(expand, str)
        return risk_of(
            self,
            queries,
            qrels,
            cast("Sequence[str | Expander]", expand if many else [expand]),
            method=method,
            k=k,
            shares=SHARES if shares is None else shares,
            depths=depths,
            measures=MEASURES if measures is None else measures,
            seed=seed,
            threads=threads,
        )


def _method(method: Method | None) -> Stage:
    if method is None:
        return BM25()
    return read_stage(method) if isinstance(method, str) else method


def _searching(pipeline: Pipeline) -> Pipeline:
    """Refuse stages that find nothing because nothing comes before them."""
    first = next(one for one in pipeline.stage.steps if not isinstance(one, Where))
    if first.depth(pipeline.k, log=False) > 0:
        raise UsageError(f"{first} works on a ranking: put a search before it, bm25 >> {first}")
    return pipeline


def _is_none(how: object) -> bool:
    return isinstance(how, str) and how.strip().lower() == "none"


def _smoothing(how: str | Smoothing) -> Smoothing:
    from likewise.like.smooth import Smoothing, read_smoothing

    if not isinstance(how, str | Smoothing):
        raise UsageError(f"{how!r} is no smoothing: write klsa, klsa(docs=10), or none")
    return read_smoothing(how)
