"""The collection as what answers queries: search, expansion, smoothing, runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

from likewise.app.answers import Answers
from likewise.app.opened import of_one_state
from likewise.app.relating import Relating
from likewise.errors import UsageError
from likewise.evaluate.trec import Qrels, Run
from likewise.records import Query
from likewise.retrieve.filters import Filter
from likewise.retrieve.models import BM25, Model
from likewise.stages.retrieval import Retrieve
from likewise.stages.stage import NOTHING, Answered, Stage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from likewise.evaluate.risk_table import RiskTable
    from likewise.expand.expander import Expander
    from likewise.expand.perturb import Perturbed, Strategy
    from likewise.expand.stage import Expand
    from likewise.like.methods import Config
    from likewise.like.near import Near
    from likewise.smooth.stage import Smooth, Smoothing

Method: TypeAlias = "str | Model | Near | Config"
Where: TypeAlias = str | Filter | Sequence[str | Filter]

_DEFAULT = BM25()
# What is done with a query where nothing is named: the best on judged collections.
DEFAULT_EXPAND, DEFAULT_SMOOTH = "robust", "klsa"
BY_LIKENESS = {"halves", "eq4", "topics", "words", "topn", "topn-lda", "lsh-tfidf"}


class Asking(Relating):
    """Answers queries, one or many."""

    @of_one_state
    def search(
        self,
        query: str | Query,
        *,
        k: int = 10,
        method: Method | None = None,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        where: Where = (),
        explained: bool = False,
    ) -> Answers:
        """Find the k documents that best match a query, by words or (`near`) by topics.

        Where none of method, expand and smooth is named, they are as in `pipeline`.
        """
        query = Query("1", query) if isinstance(query, str) else query
        stage = self.pipeline(method, k=k, expand=expand, smooth=smooth, where=where)
        [answered] = stage([query])
        return self.answers(answered, method=repr(stage), stage=stage if explained else None)

    @of_one_state
    def pipeline(
        self,
        method: Method | None = None,
        *,
        k: int = 1000,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        where: Where = (),
        threads: int = 1,
    ) -> Stage:
        """Give as a stage what `search` and `run` do.

        Where nothing is named it is `bm25 >> robust >> bm25 >> klsa`, without the last where the
        collection has no kernel model; else what is named, and `bm25` if that is no method.
        """
        if method is None and expand is None and smooth is None:
            smooth = DEFAULT_SMOOTH if "smooth" in self._snapshot.manifest.defaults else None
            expand = DEFAULT_EXPAND
        method = _DEFAULT if method is None else method
        return self.retrieve(
            method, k=k, expand=expand, smooth=smooth, where=where, threads=threads
        )

    @of_one_state
    def retrieve(
        self,
        method: Method = _DEFAULT,
        *,
        k: int = 1000,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        where: Where = (),
        threads: int = 1,
    ) -> Stage:
        """Give a search as a stage, for pipelines: `c.retrieve("bm25") >> …`.

        With an expander it is three: a first search (which some do themselves), the expander, and
        the search again. Smoothing comes last, over a ranking deep enough for it.
        """
        if smooth is None or _is_none(smooth):
            return self._searched(method, k, expand, where, threads)
        from likewise.smooth.stage import DEPTH, FLOOR_DEPTH

        how = _smoothing(smooth)
        if _named(method) in BY_LIKENESS or _is_near(method):
            raise UsageError(
                f"{_named(method)} goes by likeness already, and is not smoothed by {how}; bm25, "
                "ql, ql-jm, tfidf and inner can be"
            )
        is_log = self.retriever(cast("str | Model", method)).model.is_log
        deep = max(k, FLOOR_DEPTH if is_log else DEPTH)
        searched = self._searched(method, deep, expand, where, threads)
        return searched >> self._smoothing(how, k, where, threads)

    @of_one_state
    def expand(
        self,
        how: str | Expander,
        *,
        method: Method | None = None,
        where: Where = (),
        threads: int = 1,
    ) -> Expand:
        """Give an expander as a stage: `bm25 >> c.expand("rm3") >> bm25`.

        `method` is how it searches itself: as the stage before does, unless another is named.
        """
        return self._growing(how, method, where, threads)

    @of_one_state
    def smooth(
        self,
        how: str | Smoothing = DEFAULT_SMOOTH,
        *,
        k: int = 1000,
        where: Where = (),
        threads: int = 1,
    ) -> Smooth:
        """Give smoothing by a kernel model as a stage: `c.retrieve("bm25") >> c.smooth("klsa")`.

        The filter is for the documents that it brings in.
        """
        return self._smoothing(how, k, where, threads)

    def _searched(
        self,
        method: Method,
        k: int,
        expand: str | Expander | None,
        where: Where,
        threads: int,
    ) -> Stage:
        if expand is not None and not _is_none(expand):
            growing = self._growing(expand, method, where, threads)
            search, depth, allowed = growing.retriever, growing.how.depth, growing.allowed
            last = Retrieve(search, k=k, allowed=allowed, threads=threads)
            if depth == 0:
                return growing >> last
            return Retrieve(search, k=depth, allowed=allowed, threads=threads) >> growing >> last
        allowed = self.allowed(where)
        if _named(method) in BY_LIKENESS:
            from likewise.like.methods import RankLike

            ranker = self.ranker(cast("str | Config", method))
            return RankLike(
                self._snapshot, ranker, str(method), k=k, allowed=allowed, threads=threads
            )
        if _is_near(method):
            from likewise.like.near import RankNear, read_near

            space, near = self.space(method), read_near(method)
            return RankNear(space, near, k=k, allowed=allowed, threads=threads)
        return Retrieve(
            self.retriever(cast("str | Model", method)), k=k, allowed=allowed, threads=threads
        )

    def _growing(
        self,
        how: str | Expander,
        method: Method | None,
        where: Where,
        threads: int,
    ) -> Expand:
        from likewise.expand.reading import read_expander
        from likewise.expand.stage import Expand

        config = read_expander(how)
        fixed = method is not None
        method = _DEFAULT if method is None else method
        if _named(method) in BY_LIKENESS or _is_near(method):
            raise UsageError(
                f"{_named(method)} has no terms to expand; bm25, ql, ql-jm and tfidf search by them"
            )
        if getattr(config, "by_graph", False):
            # Before anything else is taken of the state: a graph may be made, and then be shown.
            self.term_graph(getattr(config, "graph", ""))
        retriever, allowed = self.retriever(cast("str | Model", method)), self.allowed(where)
        return Expand(retriever, config, allowed=allowed, threads=threads, fixed=fixed)

    def _smoothing(self, how: str | Smoothing, k: int, where: Where, threads: int) -> Smooth:
        from likewise.smooth.stage import Smooth

        config = _smoothing(how)
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        rows, allowed = self.rows(config.model), self.allowed(where)
        return Smooth(rows, config, k=k, allowed=allowed, threads=threads)

    def perturb(
        self,
        query: str | Query,
        strategy: str | Strategy | ArrayLike = "loo",
        *,
        docs: int = 50,
        method: Method = _DEFAULT,
    ) -> Perturbed:
        """Ask a query again with its terms weighed otherwise: which words move together?"""
        from likewise.expand.expander import Asked, Setting
        from likewise.expand.perturb import perturb

        search = Retrieve(self.retriever(cast("str | Model", method)))
        terms = search.terms(Query("1", query) if isinstance(query, str) else query)
        [found] = perturb([Asked(terms, NOTHING)], Setting(search.retriever), strategy, docs=docs)
        return found

    @of_one_state
    def risk(
        self,
        queries: Iterable[Query],
        qrels: Qrels,
        expand: str | Expander | Sequence[str | Expander] = "robust",
        *,
        method: Method = _DEFAULT,
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

    @of_one_state
    def run(
        self,
        queries: Iterable[Query],
        *,
        k: int = 1000,
        method: Method | None = None,
        expand: str | Expander | None = None,
        smooth: str | Smoothing | None = None,
        where: Where = (),
        name: str = "",
        threads: int = 0,
    ) -> Run:
        """Answer many queries, for evaluation or a TREC run file; methods as for `search`."""
        threads = threads or os.cpu_count() or 1
        stage = self.pipeline(
            method, k=k, expand=expand, smooth=smooth, where=where, threads=threads
        )
        return self.as_run(stage(queries), name=name or repr(stage))

    def as_run(self, answered: Iterable[Answered], *, name: str) -> Run:
        """Turn what a pipeline of stages gave into a run."""
        run = Run(name)
        for query, ranking in answered:
            doc_ids = self._snapshot.doc_ids(ranking.docs)
            run.add(query.qid, zip(doc_ids, ranking.scores.tolist(), strict=True))
        return run

    @of_one_state
    def answers(
        self,
        answered: Answered,
        *,
        method: str = "",
        stage: Stage | None = None,
    ) -> Answers:
        """Turn what a pipeline gave for one query into answers; with a stage, explained by it."""
        query, ranking = answered
        explain = (lambda doc: stage.explain(query, doc)) if stage else None
        found = self._found(ranking, explain, query=query.text, method=method)
        found = found.grown(query) if query.expansion else found
        return found.spelt(self._words(answered)) if stage else found

    def _words(self, answered: Answered) -> dict[str, str]:
        """Give the words that the terms of a query stand for in it and in its answers."""
        from likewise.models.surfaces import readable_terms, surface_words

        (query, ranking), s = answered, self._snapshot
        terms = s.analyzer.terms(query.text) if query.terms is None else query.terms
        documents = [s.document(doc) for doc in ranking.docs.tolist()]
        words = readable_terms(s, terms, [f"{d.title} {d.text}" for d in documents])
        # What was typed stays as it was typed.
        return words | surface_words([query.text], s.analyzer)


def _is_near(method: Method) -> TypeGuard[str | Near]:
    return _named(method) == "near"


def _named(method: Method) -> str:
    """Give the name of a method, without importing what it needs."""
    written = method if isinstance(method, str) else method.notation
    return written.strip().partition("(")[0].rstrip().lower()


def _is_none(how: object) -> bool:
    return isinstance(how, str) and how.strip().lower() == "none"


def _smoothing(how: str | Smoothing) -> Smoothing:
    from likewise.smooth.stage import Smoothing, read_smoothing

    if not isinstance(how, str | Smoothing):
        raise UsageError(f"{how!r} is no smoothing: write klsa, klsa(docs=10), or none")
    return read_smoothing(how)
