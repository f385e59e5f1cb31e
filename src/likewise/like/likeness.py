"""Which documents are like these? Candidates by each half, then both halves of these.

Level one finds the documents whose compact halves are nearest (a scan, or an index where there
are many documents), and those that have the weightiest own words (the collection's postings).
Level two scores them by both halves and ranks them. With `depth` 0 every document is scored by
both halves: the reference.

Postings are beyond the published index: of the ten documents most like one of 20 Newsgroups, 200
candidates by compact halves alone have .963, 100 by each half .997.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.like.kernels import Table, scan_words, score_words, table_of
from likewise.like.view import Asked, How, View
from likewise.models.model import Weights
from likewise.neighbours.int8 import Coded, scan_points
from likewise.neighbours.vectors import VectorSearch
from likewise.records import Ranking
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

# A scan adds up in single precision and any order: whatever is this near the last is scored.
_ROUNDING = 1e-5
# The own words that candidates are looked up by.
_LOOKED_UP = 10
_READ = 50_000


class Open(NamedTuple):
    """The documents of each segment that may be answers (None: all), and their share of all."""

    masks: list[Bools | None]
    share: float


_NONE: Ints = np.empty(0, np.int64)


class Parts(NamedTuple):
    """What makes up a score: a part for each topic or axis, and for each shared own word."""

    topics: Doubles
    terms: Ints
    words: Doubles

    @property
    def score(self) -> float:
        """Their sum."""
        return float(self.topics.sum() + self.words.sum())


class Likeness:
    """Ranks documents by likeness: `points · ⟨x, x'⟩ + words · ⟨ψ, ψ'⟩`."""

    def __init__(self, view: View, weights: Weights) -> None:
        self.view = view
        self.weights = weights
        self.collection = view.halves.collection

    def rank(
        self,
        asked: Asked,
        *,
        k: int,
        depth: int,
        again: int = 0,
        allowed: Sequence[Bools | None] | None = None,
        omit: Ints = _NONE,
    ) -> tuple[Ranking, Asked]:
        """Find the k documents most like what is asked, and give what was asked in the end.

        Documents that share nothing with what is asked are no answers; `omit` is left out. The
        mean of the compact halves of the `again` best answers is added to the compact half asked
        for, which keeps its length, and candidates are ranked once more. Words stay.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        deep = max(depth, 2 * k) if depth else 0
        open_docs = self._open(allowed)
        if not again:
            return self._rank(asked, k, deep, open_docs, omit), asked
        return self._rank_again(asked, again, k, deep, open_docs, omit)

    def score(self, asked: Asked, docs: Ints) -> Doubles:
        """Score documents; 0 for those that share nothing with what is asked."""
        return self._scores(docs, asked, table_of(asked.terms, asked.weights))

    def parts(self, asked: Asked, doc: int) -> Parts:
        """Take the score of a document apart."""
        return self.split(asked, np.array([doc]))[0]

    def split(self, asked: Asked, docs: Ints) -> list[Parts]:
        """Take the scores of documents apart."""
        topics = self.weights.points * self.rows(docs) * asked.point
        found = [Parts(row, _NONE, np.empty(0)) for row in topics]
        for i, places, rows in self.collection.by_segment(docs):
            bounds, terms, weights, scales = self.view.lots[i].words
            starts, stops = bounds[rows].astype(np.int64), bounds[rows + 1].astype(np.int64)
            sizes = stops - starts
            ends = np.cumsum(sizes)
            at = np.arange(ends[-1]) + np.repeat(starts - ends + sizes, sizes)
            own, owners = terms[at].astype(np.int64), np.repeat(np.arange(len(rows)), sizes)
            if not len(own) or not len(asked.terms):
                continue
            near = np.minimum(np.searchsorted(asked.terms, own), len(asked.terms) - 1)
            shared = np.flatnonzero(asked.terms[near] == own)
            # Own words of a document are stored by weight: parts come by their numbers.
            shared = shared[np.lexsort((own[shared], owners[shared]))]
            mine = weights[at[shared]] * scales[rows].astype(np.float64)[owners[shared]]
            given = self.weights.words * mine * asked.weights[near[shared]]
            cuts = np.searchsorted(owners[shared], np.arange(len(rows) + 1)).tolist()
            for place, first, last in zip(places.tolist(), cuts, cuts[1:], strict=False):
                found[place] = Parts(topics[place], own[shared[first:last]], given[first:last])
        return found

    def rows(self, docs: Ints) -> Doubles:
        """Give the dense vectors of documents as they are compared."""
        out = np.empty((len(docs), self.view.model.width))
        for i, places, rows in self.collection.by_segment(docs):
            lot = self.view.lots[i]
            out[places] = lot.codes[rows] * lot.scales[rows].astype(np.float64)[:, None]
        return out

    def _rank(self, asked: Asked, k: int, depth: int, allowed: Open, omit: Ints) -> Ranking:
        table = table_of(asked.terms, asked.weights)
        if depth:
            docs = self._candidates(asked, depth + len(omit), allowed)
        else:
            docs = self._all(asked, table, k + len(omit), allowed)
        return self._ranked(_without(docs, omit), asked, table, k)

    def _rank_again(
        self, asked: Asked, again: int, k: int, depth: int, allowed: Open, omit: Ints
    ) -> tuple[Ranking, Asked]:
        """Rank, and rank once more by what the first answers add to what is asked.

        Candidates stay as they are: what is near the first answers is among them.
        """
        table = table_of(asked.terms, asked.weights)
        if not depth:
            first = self._rank(asked, again, 0, allowed, omit)
            added = self._with_points(asked, first.docs)
            return self._rank(added, k, 0, allowed, omit), added
        docs = _without(self._candidates(asked, depth + len(omit), allowed), omit)
        first = self._ranked(docs, asked, table, again)
        added = self._with_points(asked, first.docs)
        return self._ranked(docs, added, table, k), added

    def _with_points(self, asked: Asked, docs: Ints) -> Asked:
        length = float(np.linalg.norm(asked.point))
        if not len(docs) or not length:
            return asked
        point = asked.point / length + np.mean(self.rows(docs), axis=0)
        return asked._replace(point=point * (length / (np.linalg.norm(point) or 1.0)))

    def _ranked(self, docs: Ints, asked: Asked, table: Table, k: int) -> Ranking:
        scores = self._scores(docs, asked, table)
        there = scores != 0
        docs, scores = docs[there], scores[there]
        order = np.lexsort((docs, -scores))[:k]
        return Ranking(docs[order], scores[order])

    def _open(self, allowed: Sequence[Bools | None] | None) -> Open:
        """Leave out the documents that are deleted, or do not meet a filter."""
        masks: list[Bools | None] = []
        n_open = 0
        for i, segment in enumerate(self.collection.segments):
            mask = None if segment.entry.deleted is None else segment.live
            met = None if allowed is None else allowed[i]
            if met is not None:
                mask = met if mask is None else mask & met
            n_open += segment.n_docs if mask is None else int(mask.sum())
            masks.append(mask)
        return Open(masks, n_open / max(self.collection.n_slots, 1))

    def _all(self, asked: Asked, table: Table, k: int, allowed: Open) -> Ints:
        """Scan both halves of all documents for those that may be among the k best."""
        found = []
        for i, lot in enumerate(self.view.lots):
            scores = np.zeros(len(lot.scales), np.float32)
            if self.weights.points:
                point = (self.weights.points * asked.point).astype(np.float32)
                scan_points(lot.codes, lot.scales, point, scores)
            if self.weights.words:
                scan_words(lot.words, table, self.weights.words, scores)
            found.append(self._best(i, scores, k, allowed.masks[i]))
        return _joined(found)

    def _candidates(self, asked: Asked, depth: int, allowed: Open) -> Ints:
        near = _joined([])
        if self.weights.points:
            near = np.sort(self.points.nearest(asked.point, depth, allowed.masks).docs)
        if not self.weights.words:
            return near
        return np.union1d(near, self._having(asked, depth, allowed))

    @cached_property
    def _retriever(self) -> Retriever:
        return Retriever(self.collection, BM25())

    def _having(self, asked: Asked, depth: int, allowed: Open) -> Ints:
        """Find the documents that have the weightiest of the words asked for."""
        known = np.flatnonzero((asked.weights > 0) & (asked.terms < self.collection.n_terms))
        likely = known[np.argsort(-asked.weights[known], kind="stable")[: 2 * _LOOKED_UP]]
        doc_freqs, _ = self.collection.frequencies(asked.terms[likely])
        # What is in very many documents brings no candidates of its own, and takes long to read.
        left, chosen = _READ, list[int]()
        for place, doc_freq in zip(likely.tolist(), doc_freqs.tolist(), strict=True):
            if 0 < doc_freq <= left and len(chosen) < _LOOKED_UP:
                chosen.append(place)
                left -= doc_freq
        if not chosen:
            return _joined([])
        best = np.array(chosen, np.int64)
        names = self.collection.terms(asked.terms[best])
        query = dict(zip(names, asked.weights[best].tolist(), strict=True))
        masks = None
        if allowed.share < 1:
            segments = zip(allowed.masks, self.collection.segments, strict=True)
            masks = [segment.live if mask is None else mask for mask, segment in segments]
        [ranking] = self._retriever.rank([query], k=depth, allowed=masks)
        return ranking.docs

    @cached_property
    def points(self) -> VectorSearch:
        """The search over compact halves; finders know these as they are stored only."""
        if self.view.how is How.EVEN:
            return self.view.halves.search
        parts = [Coded(lot.codes, lot.scales) for lot in self.view.lots]
        return VectorSearch(parts, self.collection.bases)

    def _best(self, segment: int, scores: Floats, n: int, mask: Bools | None) -> Ints:
        """Give the documents of a segment with the n best scores, and those as good."""
        if mask is not None:
            scores[~mask] = -np.inf
        if n < len(scores):
            least = np.partition(scores, len(scores) - n)[len(scores) - n]
            rows = np.flatnonzero(scores >= least - _ROUNDING)
        else:
            rows = np.arange(len(scores))
        docs: Ints = rows[np.isfinite(scores[rows])] + self.collection.bases[segment]
        return docs

    def _scores(self, docs: Ints, asked: Asked, table: Table) -> Doubles:
        scores = np.zeros(len(docs))
        if self.weights.points:
            scores += self.weights.points * self.points.scores(asked.point, docs)
        if self.weights.words:
            for i, places, rows in self.collection.by_segment(docs):
                part = np.empty(len(rows))
                score_words(rows, self.view.lots[i].words, table, part)
                scores[places] += self.weights.words * part
        return scores


def _joined(found: list[Ints]) -> Ints:
    return np.concatenate([*found, np.empty(0, np.int64)])


def _without(docs: Ints, omit: Ints) -> Ints:
    for doc in omit.tolist():
        docs = docs[docs != doc]
    return docs
