"""Kernel LSA as a stage: `bm25 >> klsa` (Park, Ramamohanarao 2009, sections 3.2 and 3.3).

The first documents of a ranking spread their scores over the documents that are like them: with
rows u of U and weights w of the first z documents, all documents have `e = ⟨Σ w u, u'⟩`. A score is
`share · e + (1 - share) · s`, s the score that was.

Beyond the paper: weights go by rank (`by=rank`: the top score over the rank), so that more than a
few documents count without drowning the first; and both parts are first divided by their maximum
(`scale=max`), so that one share does for any first ranking. Scores below zero, as logarithms give
them, count from the lowest that was ranked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

import numpy as np

from likewise import notation
from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError
from likewise.records import Query, Ranking
from likewise.retrieve.explain import Part
from likewise.smooth.search import RowSearch
from likewise.stages.fusion import Fuse
from likewise.stages.stage import Answered, Chain, Stage

BY, SCALES = ("rank", "score"), ("max", "raw")
# So many of the documents that are most like the first are scored by both parts, beside all that
# were ranked. Where everything that matches was ranked, the best so many are those of all.
DEPTH = 200
# Logarithms count from the lowest of so many, whatever is asked for, so that the first answers to
# few and to many are the same: rankings of them are to be as deep.
FLOOR_DEPTH = 1000
AS_RANKED, LOWEST = "(as ranked before)", "(lowest score)"


@dataclass(frozen=True)
class Smoothing:
    """How a ranking is smoothed.

    `docs` is the paper's z, how many of the first documents count (0: all that were ranked, which
    goes with k), and `share` its λ; `model` is the kernel model, "" the one called "klsa", else the
    one fitted last. The paper's own is
    `klsa(docs=1,share=0.9,by=score,scale=raw)`.
    """

    docs: int = 20
    share: float = 0.3
    by: str = "rank"
    scale: str = "max"
    model: str = ""
    notation: ClassVar[str] = "klsa"

    def __post_init__(self) -> None:
        whole = isinstance(self.docs, Integral) and not isinstance(self.docs, bool)
        if not whole or self.docs < 0:
            raise UsageError(f"klsa needs docs of 0 (all) or more, not {self.docs!r}")
        if not isinstance(self.share, Real) or not 0 <= self.share <= 1:
            raise UsageError(f"klsa needs share from 0 (as it was) to 1, not {self.share}")
        for name, value, known in (("by", self.by, BY), ("scale", self.scale, SCALES)):
            if value not in known:
                raise UsageError(f"klsa: {name} is one of {', '.join(known)}, not {value!r}")

    def __str__(self) -> str:
        return notation.write(self)


def read_smoothing(how: str | Smoothing) -> Smoothing:
    """Read a configuration as it is written: `klsa`, `klsa(docs=10,share=0.7)`."""
    if isinstance(how, Smoothing):
        return how
    return notation.read(how, {Smoothing.notation: Smoothing}, what="smoothing")


class _Smoothed(Ranking):
    """A ranking that was smoothed; `before` is the one that an earlier smoothing was given."""

    before: Ranking | None = None


class _Spread(NamedTuple):
    """What a ranking gives to documents that are like its first ones.

    `first` are those documents, with `weights`. A score s counts as `(s - floor) / top`. `point`
    is the weighted sum of their rows; it gives `docs`, which are those that can be answers, `like`,
    of which `most` is the largest.
    """

    ranking: Ranking
    first: Ints
    weights: Doubles
    floor: float
    top: float
    point: Doubles
    docs: Ints
    like: Doubles
    most: float


class Smooth(Stage):
    """Smooth rankings by a kernel model of the documents.

    Documents that were not ranked are scored by the stage before, or where it cannot tell count
    nothing by it; what neither part knows is no answer. `deep` 0 scores every document by both
    parts: the reference. Without `allowed` the filter of the stage before holds.
    """

    def __init__(
        self,
        search: RowSearch,
        how: Smoothing = Smoothing(),
        *,
        k: int = 1000,
        deep: int = DEPTH,
        allowed: Sequence[Bools] | None = None,
        threads: int = 1,
        before: Stage | None = None,
    ) -> None:
        if k < 1 or min(deep, threads) < 0:
            raise UsageError(
                f"klsa needs k of 1 or more, deep and threads of 0 (all) or more, not k={k}, "
                f"deep={deep}, threads={threads}"
            )
        self.search = search
        self.how = how
        self.k = k
        self.deep = deep
        self.allowed = allowed
        self._threads = threads
        self._before = before

    def after(self, before: Stage) -> Smooth:
        """Know what comes before: it scores what it did not rank, and explains its part."""
        return Smooth(
            self.search,
            self.how,
            k=self.k,
            deep=self.deep,
            allowed=_filter_of(before) if self.allowed is None else self.allowed,
            threads=self._threads,
            before=before,
        )

    def apply(self, batch: Sequence[Answered]) -> list[Answered]:
        """Smooth each ranking; the queries remember it as it was."""
        threads = min(self._threads or os.cpu_count() or 1, len(batch))
        if threads < 2:
            return [self._smooth(answered) for answered in batch]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self._smooth, batch))

    def score(self, query: Query, docs: Ints) -> Doubles | None:
        """Score documents whether or not they were ranked; None for a query not smoothed here."""
        spread = self._spread(query.ranked)
        if spread is None:
            return None
        like = self.search.scores(spread.point, docs)
        return self._mixed(spread, self._scores(_earlier(query), spread, docs), like)

    def explain(self, query: Query, doc: int) -> list[Part]:
        """Split a score by what the stage before gave it, and by the documents that are like it."""
        spread = self._spread(query.ranked)
        if spread is None:
            return []
        share, kept = self._shares(spread)
        [row] = self.search.stored.of(np.array([doc])).astype(np.float64)
        like = self.search.stored.of(spread.first).astype(np.float64) @ row
        parts = [
            Part(f"like {doc_id}", part)
            for doc_id, part in zip(
                self.search.collection.doc_ids(spread.first),
                (like * spread.weights * share).tolist(),
                strict=True,
            )
        ]
        [score] = self._scores(_earlier(query), spread, np.array([doc])).tolist()
        # What counts as nothing has no parts: the stage before may have given it less.
        if score > spread.floor:
            before = self._parts_before(_earlier(query), doc, score)
            parts += [Part(name, part * kept) for name, part in before]
            parts.append(Part(LOWEST, -spread.floor * kept))
        parts = [part for part in parts if part.score]
        return sorted(parts, key=lambda part: (-abs(part.score), part.term))

    def __repr__(self) -> str:
        return str(self.how)

    def _smooth(self, answered: Answered) -> Answered:
        query, ranking = answered
        smoothed = _Smoothed(*ranking)
        smoothed.before = query.ranked
        after = query._replace(ranked=smoothed)
        spread = self._spread(ranking)
        if spread is None:
            return Answered(after, Ranking(ranking.docs[:0], ranking.scores[:0]))
        docs = spread.docs
        before = self._scores(query, spread, docs)
        known = (before > spread.floor) | (spread.like != 0) | np.isin(docs, spread.ranking.docs)
        scores = self._mixed(spread, before, spread.like)
        order = np.lexsort((docs, -scores))
        order = order[known[order]][: self.k]
        return Answered(after, Ranking(docs[order], scores[order]))

    def _spread(self, ranking: Ranking | None) -> _Spread | None:
        """Spread the weights of the first documents; None where none are left to spread from."""
        ranking = None if ranking is None else self._open(ranking)
        if ranking is None or not len(ranking.docs):
            return None
        scores = ranking.scores.astype(np.float64)
        if not np.isfinite(scores).all():
            raise UsageError(f"{self} smooths finite scores only, and the stage before gave others")
        floor = min(float(scores[:FLOOR_DEPTH].min()), 0.0)
        if float(scores.max()) == floor:
            # All are as low as the lowest, and yet they were ranked: each counts one.
            floor -= 1.0
        n = min(self.how.docs or len(scores), len(scores))
        weights = scores[:n] - floor
        if self.how.by == "rank":
            weights = weights[0] / np.arange(1, n + 1)
        first, docs = ranking.docs[:n], ranking.docs
        point = self.search.point(first, weights)
        if self.how.share:
            n = max(self.deep, self.k) if self.deep else 0
            docs = np.union1d(docs, self.search.nearest(point, n, allowed=self.allowed).docs)
        else:
            docs = np.sort(docs)
        like = self.search.scores(point, docs)
        top, most = float(scores.max()) - floor, float(like.max(initial=0.0))
        return _Spread(ranking, first, weights, floor, top, point, docs, like, most)

    def _open(self, ranking: Ranking) -> Ranking:
        """Leave out what is deleted, or not allowed: it is no answer, and nothing is like it."""
        collection, docs = self.search.collection, ranking.docs
        inside = np.empty(len(docs), np.bool_)
        owners = np.searchsorted(collection.bases, docs, "right") - 1
        for i in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == i)
            local = docs[mine] - collection.bases[i]
            inside[mine] = collection.segments[i].live[local]
            if self.allowed is not None:
                inside[mine] &= self.allowed[i][local]
        return ranking if inside.all() else Ranking(ranking.docs[inside], ranking.scores[inside])

    def _shares(self, spread: _Spread) -> tuple[float, float]:
        """Give what likeness and the score as it was are multiplied by."""
        share, kept = self.how.share, 1 - self.how.share
        if self.how.scale == "max":
            share, kept = share / (spread.most or 1.0), kept / spread.top
        return share, kept

    def _mixed(self, spread: _Spread, scores: Doubles, like: Doubles) -> Doubles:
        share, kept = self._shares(spread)
        return share * like + kept * (scores - spread.floor)

    def _scores(self, query: Query, spread: _Spread, docs: Ints) -> Doubles:
        """Give the scores that documents had, ranked or not; the query is as it was before."""
        ranking, floor = spread.ranking, spread.floor
        order = np.argsort(ranking.docs, kind="stable")
        places = np.minimum(np.searchsorted(ranking.docs[order], docs), len(order) - 1)
        ranked = ranking.docs[order[places]] == docs
        scores = np.where(ranked, np.maximum(ranking.scores[order[places]], floor), floor)
        if self._before is not None and not ranked.all():
            told = self._before.score(query, docs[~ranked])
            if told is not None:
                scores[~ranked] = np.maximum(told, floor)
        return scores

    def _parts_before(self, query: Query, doc: int, score: float) -> list[Part]:
        """Split what the stage before gave, where it says what its scores are made of."""
        if self._before is not None:
            with suppress(UsageError):
                return self._before.explain(query, doc)
        return [Part(AS_RANKED, score)]


def _earlier(query: Query) -> Query:
    """Give a query as it was before it was smoothed."""
    return query._replace(ranked=getattr(query.ranked, "before", None))


def _filter_of(stage: Stage) -> Sequence[Bools] | None:
    """Give the filter of the last search of a stage; of fused ones what any lets through."""
    for part in reversed(stage.stages if isinstance(stage, Chain) else (stage,)):
        if isinstance(part, Fuse):
            filters = [_filter_of(one) for one in part.stages]
            given = [one for one in filters if one is not None]
            if len(given) < len(filters):
                return None
            return [np.logical_or.reduce(masks) for masks in zip(*given, strict=True)]
        if hasattr(part, "allowed"):
            found: Sequence[Bools] | None = part.allowed
            return found
    return None
