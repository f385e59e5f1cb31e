"""Which documents may be most like a query? Two lists of candidates, for all parts to score.

By words: a document's sum of the query's words, weighed as the score weighs them, over the ordinary
postings. A posting has its impact in BM25, and stands for what the word gives as a specific one
too, which is on average `ratio · idf` times as much. The weightiest words are read, as many as have
a number of postings together. Words of titles are read likewise, for what they say of them.

By dense vectors and words together: the cells near the query's vector (`neighbours.cells`) are
read, or where a segment has none all of its vectors, and what words have added up for a document is
there already.

What is listed has an estimate by whole vectors and sums, by which it is scored (`like.rescoring`):
before feedback, and after it by the query as it has turned. How much is read, listed and scored is
multiplied by the collection's `effort`, which is counted on a sample of its documents when a model
is stored (`like.effort`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from likewise.collection.postings import BLOCK, bm25_norms
from likewise.collection.segment import Segment
from likewise.collection.words import MAIN, TITLE, term_rows
from likewise.compiled import Bools, Doubles, Floats, Ints
from likewise.like.candidate_kernels import (
    Sums,
    Weighed,
    add_words,
    choose_within,
    gather_rows,
    largest_scores,
    largest_sums,
    room_for_maxima,
)
from likewise.like.components import EncodedQuery, Encoder
from likewise.models.model import Weights
from likewise.neighbours.cells import CellsFinder
from likewise.neighbours.int8 import Coded, scan_points, scan_rows
from likewise.neighbours.largest import room_for, rows_of
from likewise.retrieve.models import bm25_idf

# Shares of the documents: so many postings are read for words and for words of titles, so many
# vectors in cells, at an effort of 1. A filter that leaves fewer than the last share has them all
# compared.
# benchmarks/like_scale.py has what they find, on real documents and on others.
_POSTINGS, _TITLES, _READ, _FEW = 0.6, 0.15, 0.03, 0.1
_LEAST_POSTINGS, _LEAST_READ = 60_000, 12_000
# For each candidate that is wanted, so many are listed by words and by heads of vectors.
_BY_WORDS, _BY_HEADS = 2, 8
# Sums of words are of 16 bits.
_LARGEST_SUM = 32_000
_IMPACT = 255
# What specific words give for their impact is measured on so many documents.
_SAMPLE = 200

# Terms and their weights.
_Weighed = tuple[Ints, Doubles]
_ALL: Bools = np.zeros(0, np.bool_)
_NO_SUMS: Sums = np.zeros(0, np.int16)
_NO_DOCS: Ints = np.zeros(0, np.int64)
_NO_WORDS = _NO_DOCS, np.zeros(0, np.int32)


class Candidates:
    """Finds candidates for a likeness of these weights; safe to use from several threads."""

    def __init__(self, encoder: Encoder, weights: Weights, *, effort: float) -> None:
        self.encoder = encoder
        self.collection = encoder.collection
        self.weights = weights
        self.effort = effort
        self._spaces: list[Sums] = []

    def find(
        self, query: EncodedQuery, n: int, masks: Sequence[Bools | None], omit: Ints = _NO_DOCS
    ) -> Listed:
        """List documents of the masks, of which about n (times the effort) are to be scored.

        Among these are, if all goes well, those most like the query; those of `omit` are not.
        """
        segments = self.collection.segments
        opened = [
            segment.n_docs if mask is None else int(np.count_nonzero(mask))
            for segment, mask in zip(segments, masks, strict=True)
        ]
        n = max(math.ceil(n * self.effort), 1)
        if not sum(opened):
            return Listed(self, _NO_DOCS, None, n)
        if sum(opened) <= _BY_HEADS * n:
            docs = self._all(masks)
            return Listed(self, docs[without(docs, omit)], None, n)
        share = self.collection.n_docs / sum(opened)
        fields = self._weighed(query, share)
        point = self.weights.dense * query.point
        scale = math.sqrt(float(point @ point))
        scale += sum(float(np.abs(weights).sum()) for _, weights in fields.values())
        if not scale:
            return Listed(self, _NO_DOCS, None, n)
        # Documents in hand are listed before others, and left out below. Lists have room for a few.
        listed = max(n, n // 2 + len(omit))
        # Only the order counts: scores are made at most 1.
        words = _Words({name: (its, weights / scale) for name, (its, weights) in fields.items()})
        found, sums = list[Ints](), list[Sums]()
        for i, mask in enumerate(masks):
            if opened[i]:
                rows, mine = self._of_segment(i, words, point / scale, listed, (mask, opened[i]))
                found.append(rows + self.collection.bases[i])
                sums.append(mine)
        docs, added = np.concatenate(found), np.concatenate(sums)
        left = without(docs, omit)
        by_words: Floats = added[left] * np.float32(words.factor * scale)
        return Listed(self, docs[left], by_words, n)

    def _all(self, masks: Sequence[Bools | None]) -> Ints:
        """Give all documents of the masks: where they are few, or many are wanted."""
        rows = [
            np.arange(segment.n_docs) if mask is None else np.flatnonzero(mask)
            for segment, mask in zip(self.collection.segments, masks, strict=True)
        ]
        bases = self.collection.bases[: len(rows)]
        return np.concatenate([its + base for its, base in zip(rows, bases, strict=True)])

    def _of_segment(
        self, i: int, words: _Words, point: Doubles, n: int, opened: tuple[Bools | None, int]
    ) -> tuple[Ints, Sums]:
        """List documents of a segment, ascending, with what words have added up for each."""
        segment, (mask, n_open) = self.collection.segments[i], opened
        lists, sums, factor = list[Ints](), _NO_SUMS, words.factor
        with self._space(segment.n_docs) as space:
            if factor:
                sums, maxima = space, room_for_maxima(space)
                words.add(segment, mask, sums, maxima)
                wanted = min(_BY_WORDS * n, n_open)
                keys = room_for(wanted)
                found = largest_sums(sums, segment.n_docs, maxima, keys, wanted)
                lists.append(keys[:found])
                if found < wanted and not self.weights.dense:
                    # Away from a document: answers below nothing.
                    below = np.flatnonzero(sums[: segment.n_docs] < 0)
                    keys, scores = room_for(wanted - found), np.zeros(len(below), np.float32)
                    found = largest_scores(below, scores, (sums, factor), keys, wanted - found)
                    lists.append(keys[:found])
            if self.weights.dense:
                wanted = min(_BY_HEADS * n, n_open)
                lists.append(self._by_dense(i, point, wanted, (sums, factor), opened))
            rows = rows_of(*lists)
            return rows, sums[rows] if factor else np.zeros(len(rows), np.int16)

    def _by_dense(
        self,
        i: int,
        point: Doubles,
        wanted: int,
        added: tuple[Sums, float],
        opened: tuple[Bools | None, int],
    ) -> Ints:
        """Give keys of rows of a segment by dense vectors, with what words have added up."""
        finder, n, (mask, n_open) = self._finders[i], self.collection.segments[i].n_docs, opened
        if isinstance(finder, CellsFinder) and n_open >= _FEW * n:
            # Of what is read a filter leaves a share.
            read = max((_READ * n + _LEAST_READ) * self.effort, 2 * wanted)
            read = math.ceil(read * n / n_open)
            return finder.largest(point, wanted, read=read, added=added, allowed=mask)
        codes, scales, _ = self.encoder.segments[i]
        rows = np.arange(n) if mask is None else np.flatnonzero(mask)
        scores = np.empty(len(rows), np.float32)
        if mask is None:
            scan_points(codes, scales, point.astype(np.float32), scores)
        else:
            scan_rows(rows, codes, scales, point.astype(np.float32), scores)
        keys = room_for(wanted)
        found: Ints = keys[: largest_scores(rows, scores, added, keys, wanted)]
        return found

    @contextmanager
    def _space(self, n_docs: int) -> Iterator[Sums]:
        """Lend sums, to the end of a block; they are used again and again."""
        try:
            space = self._spaces.pop()
        except IndexError:
            most = max(segment.n_docs for segment in self.collection.segments)
            space = np.empty(-(-most // BLOCK) * BLOCK, np.int16)
        yield space[: -(-n_docs // BLOCK) * BLOCK]
        self._spaces.append(space)

    def _weighed(self, query: EncodedQuery, share: float) -> dict[str, _Weighed]:
        """Choose the words of each field that are read, and what a posting of each adds.

        That is for an impact of 1. All words of the documents in hand count in titles, so that
        the others are among them.
        """
        collection, weights = self.collection, self.weights
        known = query.said_terms < collection.n_terms
        terms = query.said_terms[known]
        doc_freqs, _ = collection.frequencies(terms)
        rarity = bm25_idf(collection.n_docs, doc_freqs)
        main = np.zeros(len(terms))
        if weights.words:
            main[np.searchsorted(terms, query.words.terms)] += weights.words * query.words.weights
        if weights.specific:
            own = (query.terms < collection.n_terms) & (query.weights > 0)
            at = np.searchsorted(terms, query.terms[own])
            main[at] += weights.specific * self.ratio * query.weights[own] * rarity[at]
        found = {MAIN: self._within(_POSTINGS * share, terms, doc_freqs, main)}
        if weights.titles and collection.has_field(TITLE):
            title_freqs, _ = collection.frequencies(terms, TITLE)
            said = weights.titles * self.title_ratio * query.said[known] * rarity
            found[TITLE] = self._within(_TITLES * share, terms, title_freqs, said)
        return found

    def _within(self, share: float, terms: Ints, doc_freqs: Ints, weights: Doubles) -> _Weighed:
        """Choose the weightiest words that have no more postings together than may be read."""
        limit = max(share * self.collection.n_docs, _LEAST_POSTINGS) * self.effort
        # Terms ascend, also among equals.
        order = np.argsort(-np.abs(weights), kind="stable")
        chosen = choose_within(order, weights, doc_freqs, limit)
        return terms[chosen], weights[chosen]

    @cached_property
    def ratio(self) -> float:
        """What a specific word of a document weighs on average, for its impact and rarity in BM25.

        The least squares over the stored words of a sample of documents.
        """
        collection = self.collection
        live = collection.live_docs()
        docs = live[:: max(len(live) // _SAMPLE, 1)][:_SAMPLE]
        products = squares = 0.0
        for i, _, rows in collection.by_segment(docs):
            counted = collection.term_counts(rows + collection.bases[i])
            norms = self.encoder.retriever.norms(rows + collection.bases[i])
            bounds, own, weights, scales = self.encoder.segments[i].words
            for j, row in enumerate(rows.tolist()):
                mine = slice(int(bounds[row]), int(bounds[row + 1]))
                its = slice(int(counted.bounds[j]), int(counted.bounds[j + 1]))
                terms, counts = counted.terms[its], counted.counts[its].astype(np.float64)
                at = np.minimum(np.searchsorted(terms, own[mine]), max(len(terms) - 1, 0))
                there = np.flatnonzero(weights[mine] > 0)
                if not len(terms) or not len(there):
                    continue
                at = at[there]
                given = weights[mine][there] * np.float64(scales[row])
                doc_freqs, _ = collection.frequencies(terms[at].astype(np.int64))
                impacts = counts[at] / (counts[at] + norms[j])
                impacts *= bm25_idf(collection.n_docs, doc_freqs)
                products += float(given @ impacts)
                squares += float(impacts @ impacts)
        return products / squares if squares else 0.0

    @cached_property
    def title_ratio(self) -> float:
        """What a word is of its title on average, by its rarity, for the impact of its posting."""
        collection = self.collection
        live = collection.live_docs()
        docs = live[:: max(len(live) // _SAMPLE, 1)][:_SAMPLE]
        bounds, terms, _ = collection.term_counts(docs, TITLE)
        doc_freqs, _ = collection.frequencies(terms.astype(np.int64))
        sums = np.zeros(len(docs))
        owners = np.repeat(np.arange(len(docs)), np.diff(bounds))
        np.add.at(sums, owners, bm25_idf(collection.n_docs, doc_freqs))
        lengths = collection.lengths(docs, TITLE).astype(np.uint32)
        average = max(collection.average_length_of(TITLE), 1e-9)
        impacts = 1 / (1 + bm25_norms(lengths, average).astype(np.float64))
        there = sums > 0
        squares = float(np.square(impacts[there]).sum())
        return float((impacts[there] / sums[there]).sum()) / squares if squares else 0.0

    @cached_property
    def _finders(self) -> Sequence[Any]:
        """What finds the vectors of each segment, where they are compared as they are stored."""
        if self.encoder.as_stored:
            return self.encoder.stored.finders
        return [None] * len(self.collection.segments)


def without(docs: Ints, omit: Ints) -> Bools:
    """Tell which of ascending documents are not among some others."""
    left = np.ones(len(docs), np.bool_)
    if len(docs):
        at = np.minimum(np.searchsorted(docs, omit), len(docs) - 1)
        left[at[docs[at] == omit]] = False
    return left


class Listed:
    """Documents that were listed, ascending, and what words give to each, as far as was read.

    Where there is no such number all of them are to be scored; else about n of them.
    """

    def __init__(self, by: Candidates, docs: Ints, by_words: Floats | None, n: int) -> None:
        self._by = by
        self.docs = docs
        self.by_words = by_words
        self.n = n

    def limit(self, share: float = 1.0, *, least: int = 0) -> int:
        """Give how many are to be scored, of a share of them and no fewer than the least."""
        return max(math.ceil(share * self.n), least)

    def estimates(self, query: EncodedQuery) -> Floats:
        """Give scores by whole dense vectors and what words give; `query` may have turned since."""
        scores = np.zeros(len(self.docs), np.float32)
        if self._by.weights.dense and len(self.docs):
            asked = (self._by.weights.dense * query.point).astype(np.float32)
            scan_points(*self._vectors, asked, scores)
        if self.by_words is not None:
            scores += self.by_words
        # Of damaged vectors.
        scores[np.isnan(scores)] = -np.inf
        return scores

    @cached_property
    def _vectors(self) -> Coded:
        """The dense vectors of what was listed, which stand all over memory, side by side."""
        segments = self._by.encoder.segments
        made = Coded(
            np.empty((len(self.docs), segments[0].codes.shape[1]), segments[0].codes.dtype),
            np.empty(len(self.docs), np.float32),
        )
        for i, places, rows in self._by.collection.by_segment(self.docs):
            gather_rows(rows, *segments[i][:2], places, *made)
        return made


class _Words:
    """Words of fields that are read, with weights as whole numbers whose sum fits 16 bits."""

    def __init__(self, fields: Mapping[str, _Weighed]) -> None:
        unit = sum(float(np.abs(weights).sum()) for _, weights in fields.values()) / _LARGEST_SUM
        self.fields = {
            name: (terms, (weights / (unit or 1.0)).astype(np.int32))
            for name, (terms, weights) in fields.items()
        }
        # What a sum is multiplied by: an impact of 255 is one of 1, and products are cut to 256ths.
        self.factor = unit * (_IMPACT + 1) / _IMPACT

    def add(self, segment: Segment, mask: Bools | None, sums: Sums, maxima: Sums) -> None:
        """Add up what the words give to documents of a segment, and the maxima of columns."""
        main, titles = (self._rows(segment, field) for field in (MAIN, TITLE))
        add_words(main, titles, _ALL if mask is None else mask, sums, maxima)

    def _rows(self, segment: Segment, field: str) -> Weighed:
        """Give the words of a field by their rows; none where none of it is read."""
        terms, whole = self.fields.get(field, _NO_WORDS)
        postings = segment.words(field if len(terms) else MAIN).postings
        return postings, term_rows(terms, postings.terms), whole
