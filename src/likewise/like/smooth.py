"""Kernel LSA as a stage: `bm25 >> klsa` (Park, Ramamohanarao 2009, sections 3.2 and 3.3).

The first documents of a ranking spread their scores over the documents that are like them: with
rows u of U and weights w of the first z documents, all documents have `e = ⟨Σ w u, u'⟩`. A score is
`share · e + (1 - share) · s`, s the score that was.

Beyond the paper: weights go by rank (`by=rank`: the top score over the rank), so that more than a
few documents count without drowning the first; and both parts are first divided by their maximum
(`scale=max`), so that one share does for any first ranking. Scores below zero, as logarithms give
them, count from the lowest that was ranked. And the share may follow the query (`adapt`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, overload

import numpy as np

from likewise import notation
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError
from likewise.models.model import SMOOTH
from likewise.models.stored_vectors import StoredVectors, vectors_of
from likewise.records import EMPTY, Explanation, Part, Query, Ranking, explanation
from likewise.retrieve.question import docs_in_hand
from likewise.retrieve.words import WordScorer, terms_of
from likewise.stages.masks import Mask
from likewise.stages.stage import Context, Result, Scorer, Stage

BY, SCALES = ("rank", "score"), ("max", "raw")
# So many that were ranked, and so many of the documents that are most like the first, are scored by
# both parts however few are asked for: up to here the answers to few are the first of those to
# many. A little above 1000, as stages that follow read more than they give.
DEPTH = 1024
# Of both so many, or so many times as many as are asked for, are read first; where others may be
# among the answers so many times as many by words, then all. Others are taken to be no more like
# the first than the last of so many that were found.
_FIRST_READ, _TIMES, _MORE, _NEVER_MISSED = 128, 4, 3, 64
# For so many answers a rough look is enough: what it missed changed none in
# benchmarks/default_scale.py --deep, and some where 50 were asked for.
_MOST_ROUGH = 32
# Scores below zero count from the lowest of so many, whatever is asked for.
FLOOR_DEPTH = 1000
# A query of more terms says what it wants. Chosen by benchmarks/defaults.py.
TERMS = 9
# What is compared with a bound may be rounded otherwise.
_ROUNDED, _LEAST_SHARE = 1e-9, 1e-300
AS_RANKED, LOWEST = "(as ranked before)", "(lowest score)"


@dataclass(frozen=True)
class Smoothing(Stage):
    """Smooth rankings by a kernel model of the documents.

    `docs` is the paper's z, how many of the first documents count (0: all that were ranked, which
    goes with k), and `share` its λ; `model` is the kernel model, "" the collection's default. So
    many `candidates` are looked for among the documents that are most like the first, beside all
    that were ranked (0: all documents). The paper's own is
    `klsa(docs=1,share=0.9,by=score,scale=raw)`.

    Documents that were not ranked are scored by what made the ranking, or where nothing tells how
    it was made count nothing by it; what neither part knows is no answer.

    With `adapt` above 0 the share follows the query, and `share` has no say: likeness weighs
    `adapt · √d · min(1, terms/n)²` against 1 of the score as it was, with d how far the scores of
    the ranking fall from the first to the tenth, and n terms that were asked for. Flat scores, and
    long queries, are changed less. And where the query was expanded the documents that spread their
    scores are the first by the words that were typed.
    """

    docs: int = 20
    share: float = 0.3
    by: str = "rank"
    scale: str = "max"
    model: str = ""
    candidates: int = DEPTH
    adapt: float = 0.0
    terms: int = TERMS
    notation: ClassVar[str] = "klsa"
    log: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, least in (("docs", "0 (all)"), ("candidates", "0 (all)"), ("terms", "1")):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or value < int(least[0]):
                raise UsageError(f"klsa needs {name} of {least} or more, not {value!r}")
        if not isinstance(self.share, Real) or not 0 <= self.share <= 1:
            raise UsageError(f"klsa needs share from 0 (as it was) to 1, not {self.share}")
        if not isinstance(self.adapt, Real) or not 0 <= self.adapt <= 10:
            raise UsageError(f"klsa needs adapt from 0 (the same share) to 10, not {self.adapt}")
        for name, value, known in (("by", self.by, BY), ("scale", self.scale, SCALES)):
            if value not in known:
                raise UsageError(f"klsa: {name} is one of {', '.join(known)}, not {value!r}")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Smooth each ranking."""
        if not context.k:
            return [Result(result.query) for result in batch]
        rows = vectors_of(context.snapshot, self.model, SMOOTH)
        return context.map(lambda result: self.smooth(result, rows, context), batch)

    def depth(self, k: int, *, log: bool) -> int:
        """Deep enough for the best by both parts."""
        return 0 if k == 0 else max(k, DEPTH)

    def enough(self, k: int) -> int:
        """Of most queries those that come later by words are not among the answers."""
        n = max(_TIMES * k, _FIRST_READ, self.docs)
        return n if k and self.docs and n < DEPTH else 0

    def smooth(self, result: Result, rows: StoredVectors, context: Context) -> Result:
        """Smooth a ranking by the rows of documents."""
        context.check()
        query, ranking, scorer, first = result
        own = docs_in_hand(query, context.snapshot)
        mask = context.mask(query).without(own, context.snapshot)
        read = ranking.cut(self.depth(context.k, log=False))
        ranking = _open(read, mask, context)
        if ranking is not read and isinstance(scorer, WordScorer) and scorer.left:
            # Without the documents in hand too few may be left.
            ranking = _open(scorer.find_left(), mask, context)
        if not len(ranking.docs):
            return Result(query)
        seeds = _open(first, mask, context) if self.adapt else EMPTY
        share = self._share(ranking, len(asked_terms(query, context.snapshot)))
        spread = Spread(
            replace(self, share=share), ranking, scorer, rows, context.k, mask, seeds=seeds
        )
        return Result(query, spread.rank(context.k), spread)

    def _share(self, ranking: Ranking, n_terms: int) -> float:
        """Give the share of likeness for a query."""
        if not self.adapt:
            return self.share
        weight = (
            self.adapt * math.sqrt(ranking.decline()) * min(1, self.terms / max(n_terms, 1)) ** 2
        )
        return weight / (1 + weight)


def asked_terms(query: Query, snapshot: Snapshot) -> Mapping[str, float]:
    """Give the terms that were asked for, before the query was expanded."""
    return query.expansion.before if query.expansion else terms_of(query, snapshot)


def _open(ranking: Ranking, mask: Mask, context: Context) -> Ranking:
    """Leave out what is no answer: nothing is like it."""
    inside = mask.holds(ranking.docs, context.snapshot)
    return ranking if inside.all() else Ranking(ranking.docs[inside], ranking.scores[inside])


def read_smoothing(how: str | Smoothing) -> Smoothing:
    """Read a configuration as it is written: `klsa`, `klsa(docs=10,share=0.7)`."""
    if isinstance(how, Smoothing):
        return how
    return notation.read(how, {Smoothing.notation: Smoothing}, what="smoothing")


@dataclass(frozen=True)
class SmoothWith(Stage):
    """Smooth by rows that need not be stored with the collection."""

    rows: StoredVectors
    how: Smoothing = Smoothing()
    log: ClassVar[bool] = False

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Smooth each ranking."""
        return context.map(lambda result: self.how.smooth(result, self.rows, context), batch)

    def depth(self, k: int, *, log: bool) -> int:
        """As deep as the smoothing looks."""
        return self.how.depth(k, log=log)

    def __str__(self) -> str:
        return str(self.how)


def _kth_largest(values: Doubles, k: int) -> float:
    """Give the k-th largest; there are fewer, and anything is among the k best."""
    if len(values) < k:
        return -math.inf
    return float(np.partition(values, len(values) - k)[-k])


class Spread:
    """What a ranking gives to documents that are like its first ones, and so their scores.

    `first` are those documents, with `weights`. A score s counts as `(s - floor) / top`. `point`
    is the weighted sum of their rows, and `most` the largest that any document that can be an
    answer has by the point.
    """

    log = False
    searches = None

    def __init__(
        self,
        how: Smoothing,
        ranking: Ranking,
        before: Scorer | None,
        rows: StoredVectors,
        k: int,
        mask: Mask,
        *,
        seeds: Ranking = EMPTY,
    ) -> None:
        scores = ranking.scores.astype(np.float64)
        if not np.isfinite(scores).all():
            raise UsageError(f"{how} smooths finite scores only, and the stage before gave others")
        self.how, self.before, self.rows = how, before, rows
        self.floor = min(float(scores[:FLOOR_DEPTH].min()), 0.0)
        if float(scores.max()) == self.floor:
            # All are as low as the lowest, and yet they were ranked: each counts one.
            self.floor -= 1.0
        seeds = seeds if len(seeds.docs) else ranking
        n = min(how.docs or len(seeds.docs), len(seeds.docs))
        self.weights = seeds.scores[:n].astype(np.float64) - self.floor
        if how.by == "rank":
            self.weights = self.weights[0] / np.arange(1, n + 1)
        self.first = seeds.docs[:n]
        self.point = rows.weighted_sum(self.first, self.weights)
        self.top = float(scores.max()) - self.floor
        self._mask = mask
        self._wanted = max(how.candidates, k) if how.candidates else 0
        self._nearest, self._unread = EMPTY, 0
        self._take(ranking)
        self._compare()
        read = self._wanted
        if isinstance(before, WordScorer) and before.found is ranking:
            read = min(read, max(_TIMES * k, _FIRST_READ))
        if how.share:
            self._near(read, k)

    def _near(self, n: int, k: int = 0) -> None:
        """Find the n documents that are most like the first (0: all).

        Where more are wanted only those that may be among the k best, though words say no more for
        them than for the last of the ranking, or that may be the most like of all.
        """
        self._unread, least = n if n < self._wanted else 0, -math.inf
        is_rough = self._unread and k <= _MOST_ROUGH
        search = self.rows.rough_search if is_rough else self.rows.search
        if self._unread:
            share, kept = self._shares
            rest = _kth_largest(self._mixed_ranked, k) - kept * (self._last - self.floor)
            least = min(rest / max(share, _LEAST_SHARE), self.most)
            least -= _ROUNDED * abs(least)
        self._nearest = search.nearest(self.point, n, self._mask.segments, least=least)
        self._compare()

    def _take(self, ranking: Ranking) -> None:
        """Take a ranking, and compare its documents with the first."""
        self.ranking = ranking
        self._like = self.rows.search.scores(self.point, ranking.docs)

    def _compare(self) -> None:
        """Put what else is like the first beside the ranking; find the most like of all."""
        docs, scores = self._nearest
        new = ~self._ranked(docs)[0]
        self._others = Ranking(docs[new], scores[new])
        self.most = max(float(self._like.max(initial=0.0)), float(scores.max(initial=0.0)))

    def rank(self, k: int) -> Ranking:
        """Rank what either part knows.

        What a search by words did not find scores no more than the last that it found: most of what
        is like the first documents cannot be among the k best, and is not scored by words.
        """
        ranked = self._mixed_ranked
        docs, like = self._others
        before = self.before
        words = before if isinstance(before, WordScorer) else None
        if words is not None and words.found is not self.ranking:
            words = None
        if words is not None:
            may_win = self._mixed(self._last, like) >= _kth_largest(ranked, k)
            docs, like = docs[may_win], like[may_win]
        by_words = np.full(len(docs), self.floor)
        if before is not None and len(docs):
            by_words = np.maximum(before.score(docs), self.floor)
        known = (by_words > self.floor) | (like != 0)
        docs = np.concatenate([self.ranking.docs, docs[known]])
        scores = np.concatenate([ranked, self._mixed(by_words, like)[known]])
        if words is not None:
            is_certain = self._mixed(self._last, self._most_unread) < _kth_largest(scores, k)
            if self._read_on(words, certain=is_certain):
                return self.rank(k)
        order = np.lexsort((docs, -scores))[:k]
        return Ranking(docs[order], scores[order])

    def _read_on(self, before: WordScorer, *, certain: bool) -> bool:
        """Read more of either part unless it is certain what the answers are; tell whether."""
        if certain or not (before.left or self._unread):
            return False
        if before.left:
            self._take(before.find_left(_MORE * len(self.ranking.docs)))
            self._compare()
        else:
            self._near(self._wanted)
        return True

    @property
    def _last(self) -> float:
        """What words say at most for documents that they did not find."""
        return max(float(self.ranking.scores[-1]), self.floor)

    @property
    def _mixed_ranked(self) -> Doubles:
        return self._mixed(np.maximum(self.ranking.scores, self.floor), self._like)

    @property
    def _most_unread(self) -> float:
        """The most by the point that documents have which neither part has found.

        Those found by the point have more, but for what a finder of them misses: so not the least
        of these counts, but one of the first.
        """
        scores = self._nearest.scores
        if self._unread and len(scores) < min(self._unread, _NEVER_MISSED):
            # Fewer than were asked for: all that may matter was found.
            return -math.inf
        return float(scores[min(_NEVER_MISSED, len(scores)) - 1]) if len(scores) else 0.0

    def score(self, docs: Ints) -> Doubles:
        """Score documents, whether or not they were ranked."""
        return self._scored(docs, self._before(docs))

    def _scored(self, docs: Ints, before: Doubles) -> Doubles:
        like = self.rows.search.scores(self.point, docs)
        scores = self._mixed(before, like)
        known = (before > self.floor) | (like != 0) | np.isin(docs, self.ranking.docs)
        scores[~known] = -np.inf
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores by what the stage before gave, and by the documents that are like them."""
        share, kept = self._shares
        rows = self.rows.rows(docs).astype(np.float64)
        like = self.rows.rows(self.first).astype(np.float64) @ rows.T
        given = (like * (self.weights * share)[:, None]).T.tolist()
        names = self.rows.collection.doc_ids(self.first)
        # Scores are taken of explanations: what was not ranked is not to be searched for.
        before, told = self._split_before(docs)
        found = []
        for i, score in enumerate(self._scored(docs, before).tolist()):
            parts = [Part("document", *pair) for pair in zip(names, given[i], strict=True)]
            # What counts as nothing has no parts: the stage before may have given it less.
            if before[i] > self.floor:
                parts += [part.scaled(kept) for part in told[i]]
                parts.append(Part("rest", LOWEST, -self.floor * kept))
            found.append(explanation(score, [part for part in parts if part.score]))
        return found

    @property
    def _shares(self) -> tuple[float, float]:
        """What likeness and the score as it was are multiplied by."""
        share, kept = self.how.share, 1 - self.how.share
        if self.how.scale == "max":
            share, kept = share / (self.most or 1.0), kept / self.top
        return share, kept

    @overload
    def _mixed(self, before: float, like: float) -> float: ...
    @overload
    def _mixed(self, before: Doubles | float, like: Doubles) -> Doubles: ...
    def _mixed(self, before: Any, like: Any) -> Any:
        share, kept = self._shares
        return share * like + kept * (before - self.floor)

    def _before(self, docs: Ints) -> Doubles:
        """Give the scores that documents had, ranked or not."""
        ranked, scores = self._ranked(docs)
        if self.before is not None and not ranked.all():
            scores[~ranked] = np.maximum(self.before.score(docs[~ranked]), self.floor)
        return scores

    def _ranked(self, docs: Ints) -> tuple[Bools, Doubles]:
        """Tell which documents were ranked; give the scores that they had, the others the least."""
        ranking, floor = self.ranking, self.floor
        order = np.argsort(ranking.docs, kind="stable")
        places = np.minimum(np.searchsorted(ranking.docs[order], docs), len(order) - 1)
        ranked = ranking.docs[order[places]] == docs
        scores = np.where(ranked, np.maximum(ranking.scores[order[places]], floor), floor)
        return ranked, scores

    def _split_before(self, docs: Ints) -> tuple[Doubles, list[Sequence[Part]]]:
        """Give the scores that documents had, with their parts where it is known what made them."""
        ranked, scores = self._ranked(docs)
        if self.before is None:
            return scores, [[Part("rest", AS_RANKED, score)] for score in scores.tolist()]
        told = self.before.explain(docs)
        given = np.maximum([one.score for one in told], self.floor)
        return np.where(ranked, scores, given), [one.parts for one in told]
