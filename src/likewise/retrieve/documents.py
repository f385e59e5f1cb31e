"""A document as the query: documents in hand find candidates, which are scored for all of them.

Each document in hand finds candidates by itself, then every candidate is scored for every one in
hand, from its forward record: so an explanation always adds up to the score, however deep the
candidates were looked for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Floats, Ids, Int, Ints, kernel
from likewise.errors import UsageError
from likewise.records import Explanation, Part, Ranking, explanation
from likewise.retrieve.impacts import impact
from likewise.retrieve.models import idf
from likewise.retrieve.question import AGAINST, Example, Question, question_of
from likewise.retrieve.search import Retriever
from likewise.stages.masks import mask_of
from likewise.stages.stage import Context, Result, Stage

# How deep candidates are looked for where no single ranking is the answer.
_LEAST_DEPTH, _DEPTH_FACTOR = 1000, 10
_DOCS_AT_ONCE = 4096

Taken = TypeVar("Taken")


class ByExample(ABC, Generic[Taken]):
    """Ranks for one document in hand at a time; safe to use from several threads."""

    collection: Snapshot

    @abstractmethod
    def take(self, example: Example) -> Taken:
        """Make of a document in hand what others are compared with."""

    @abstractmethod
    def find(self, taken: Taken, n: int, allowed: Sequence[Bools | None] | None) -> Ints:
        """Find at least the n best documents, where there are as many, in any order."""

    @abstractmethod
    def score(self, taken: Taken, docs: Ints) -> Doubles:
        """Score documents."""

    @abstractmethod
    def split(self, taken: Taken, docs: Ints) -> list[list[Part]]:
        """Split the scores of documents."""

    def rank(
        self, question: Question, *, k: int, allowed: Sequence[Bools | None] | None = None
    ) -> tuple[Ranking, ExampleScorer]:
        """Find the k best documents for a question, without its own documents.

        A score is the mean of those for each of `like`, less `AGAINST` times the mean of those
        for `unlike`. Answers to several documents are among the best for each of `like`, a thousand
        at least. Documents that score 0 are no answers.
        """
        if k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        own = question.docs
        n = k if len(question.examples) == 1 else max(_LEAST_DEPTH, _DEPTH_FACTOR * k)
        taken = [(self.take(example), weight) for example, weight in combine(question)]
        found = [self.find(one, n + len(own), allowed) for one, weight in taken if weight > 0]
        docs = np.setdiff1d(np.concatenate([*found, np.empty(0, np.int64)]), own)
        scorer = ExampleScorer(self, taken, own)
        scores = scorer.score(docs)
        docs, scores = docs[scores > -np.inf], scores[scores > -np.inf]
        order = np.lexsort((docs, -scores))[:k]
        return Ranking(docs[order], scores[order]), scorer


class ExampleScorer:
    """Scores documents for documents in hand."""

    log = False
    searches = None

    def __init__(self, by: ByExample[Any], taken: Sequence[tuple[Any, float]], own: Ints) -> None:
        self._by = by
        self._taken = taken
        self._own = own

    def score(self, docs: Ints) -> Doubles:
        """Score documents; what has nothing of those in hand, or is one of them, is not found."""
        scores = np.zeros(len(docs))
        for one, weight in self._taken:
            scores += weight * self._by.score(one, docs)
        live = mask_of(self._by.collection).holds(docs, self._by.collection)
        scores[(scores == 0) | ~live | np.isin(docs, self._own)] = -np.inf
        return scores

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores, by what each document in hand gives."""
        totals: list[dict[tuple[str, str], float]] = [{} for _ in docs]
        for one, weight in self._taken:
            for mine, parts in zip(totals, self._by.split(one, docs), strict=True):
                for kind, name, score, _ in parts:
                    mine[kind, name] = mine.get((kind, name), 0.0) + weight * score
        return [
            explanation(score, [Part(*key, part) for key, part in mine.items() if part])
            for score, mine in zip(self.score(docs).tolist(), totals, strict=True)
        ]


def rank_examples(
    how: Stage, by: ByExample[Any], batch: Sequence[Result], context: Context
) -> list[Result]:
    """Rank for the documents of each query, or for its text as one."""
    if not context.k:
        return [Result(result.query) for result in batch]

    def one(result: Result) -> Result:
        context.check()
        question = question_of(result.query, context.snapshot, how)
        mask = context.mask(result.query)
        allowed = mask.segments if mask.bars else None
        return Result(result.query, *by.rank(question, k=context.k, allowed=allowed))

    return context.map(one, batch)


def combine(question: Question) -> list[tuple[Example, float]]:
    """Give the documents in hand with what each one's scores count for: see `ByExample.rank`."""
    like, unlike = question.like, question.unlike
    out = [(example, 1 / len(like)) for example in like]
    return out + [(example, -AGAINST / len(unlike)) for example in unlike]


# By words


def score_records(
    retriever: Retriever,
    query: tuple[Ints, Floats, Floats, Any],
    docs: Ints,
    *,
    absent: float | None = None,
) -> Doubles:
    """Score documents by their records: terms, weights, factors and share are as weighed.

    `absent` is the score of those that have none of the terms; None: as the formula has it.
    """
    terms, weights, factors, share = query
    order = np.argsort(terms)
    ordered = (terms[order], order, weights, factors)
    model = (retriever.model.impact, share)
    scores = np.empty(len(docs))
    for start in range(0, len(docs), _DOCS_AT_ONCE):
        block = docs[start : start + _DOCS_AT_ONCE]
        counts = retriever.collection.term_counts(block, retriever.field)
        out = scores[start : start + _DOCS_AT_ONCE]
        missing = np.nan if absent is None else absent
        score_counts(counts, ordered, model, retriever.norms(block), out, missing)
    return scores


OWN_PART = "(document length)"


def split_records(
    retriever: Retriever, query: tuple[Ints, Floats, Floats, Any], docs: Ints
) -> list[list[Part]]:
    """Split the scores of documents by the words of a query, from their records: as weighed."""
    snapshot, kind = retriever.collection, retriever.model.impact
    terms, weights, factors, share = query
    bounds, doc_terms, doc_counts = snapshot.term_counts(docs, retriever.field)
    order = np.argsort(terms, kind="stable")
    names, norms = snapshot.terms(terms[order]), retriever.norms(docs)
    parts = np.full((len(docs), len(terms)), np.nan, np.float32)
    query_words = (terms[order], weights[order], factors[order])
    split_counts((bounds, doc_terms, doc_counts), query_words, kind, norms, parts)
    found = []
    for i, scores in enumerate(parts.tolist()):
        mine = [
            Part("word", name, score)
            for name, score in zip(names, scores, strict=True)
            if not math.isnan(score)
        ]
        if share:
            mine.append(Part("rest", OWN_PART, float(share * norms[i])))
        found.append(mine)
    return found


WordQuery = Mapping[str, float]


class Whole(ByExample[WordQuery]):
    """The document as the query, by any model of retrieval; with `words`, only the best of it.

    By `TFIDF` that is the cosine of TF-IDF vectors, the paper's first baseline.
    """

    def __init__(self, retriever: Retriever, *, words: int = 0) -> None:
        self.retriever = retriever
        self.collection = retriever.collection
        self.words = words

    def take(self, example: Example) -> WordQuery:
        """Give the words with their counts."""
        return words_of(self.collection, example.counts, self.words)

    def find(self, taken: WordQuery, n: int, allowed: Sequence[Bools | None] | None) -> Ints:
        """Find the best by the inverted index."""
        return self.retriever.rank([taken], k=n, allowed=allowed)[0].docs

    def score(self, taken: WordQuery, docs: Ints) -> Doubles:
        """Score documents by their forward records, with the bits that a search would give."""
        _, terms, weights, factors, shares = self.retriever.weigh([taken])
        return score_records(self.retriever, (terms, weights, factors, shares[0]), docs)

    def split(self, taken: WordQuery, docs: Ints) -> list[list[Part]]:
        """Split scores by words."""
        _, terms, weights, factors, shares = self.retriever.weigh([taken])
        return split_records(self.retriever, (terms, weights, factors, shares[0]), docs)


def words_of(collection: Snapshot, counts: TermCounts, n: int = 0) -> dict[str, float]:
    """Give the known words of one document with their counts; with n, the best by TF-IDF alone.

    Of words with the same weight the first by the alphabet is the better.
    """
    terms, numbers, weights = weigh_terms(collection, counts)
    if n and len(terms) > n:
        keep = np.flatnonzero(weights >= np.partition(weights, -n)[-n])
        names = collection.terms(terms[keep])
        best = sorted(range(len(keep)), key=lambda i: (-weights[keep[i]], names[i]))[:n]
        return {names[i]: float(numbers[keep[i]]) for i in best}
    names = collection.terms(terms)
    return dict(zip(names, numbers.astype(np.float64).tolist(), strict=True))


def weigh_terms(collection: Snapshot, counts: TermCounts) -> tuple[Ints, Ids, Doubles]:
    """Give the terms of a document that are searched for, their counts and TF-IDF weights."""
    known = counts.terms < collection.n_terms
    terms, numbers = counts.terms[known].astype(np.int64), counts.counts[known]
    doc_freqs, term_freqs = collection.frequencies(terms)
    there = collection.admitted(doc_freqs, term_freqs)
    terms, numbers = terms[there], numbers[there]
    weights = (1 + np.log(numbers)) * idf(collection.n_docs, doc_freqs[there])
    return terms, numbers, weights


@kernel
def score_counts(
    counted: TermCounts,
    query: tuple[Ints, Ints, Floats, Floats],
    model: tuple[Int, Any],
    norms: Floats,
    out: Doubles,
    absent: float,
) -> None:
    """Score documents given by their term counts.

    `query` is its terms, ascending, the place of each in the order in which a search adds up, and
    in that order weights and factors; `model` the kind of impact and the share of the documents'
    own part. Equals for each document `(weights * impact(kind, counts, norm, factors)).sum()`
    over shared terms plus `share * norm`; `absent`, if that is a number,
    for those that share none.
    """
    bounds, doc_terms, counts = counted
    terms, places, weights, factors = query
    kind, share = model
    parts = np.empty(len(weights), np.float32)
    for i in range(len(bounds) - 1):
        parts[:] = 0
        at, n_shared = 0, 0
        for j in range(bounds[i], bounds[i + 1]):
            term = np.int64(doc_terms[j])
            while at < len(terms) and terms[at] < term:
                at += 1
            if at == len(terms):
                break
            if terms[at] == term:
                n_shared += 1
                place = places[at]
                value = impact(kind, np.float32(counts[j]), norms[i], factors[place])
                parts[place] = weights[place] * value
        total = np.float32(0)
        for place in range(len(parts)):
            total += parts[place]
        if share != 0:
            total = np.float32(total + share * norms[i])
        out[i] = absent if n_shared == 0 and not np.isnan(absent) else total


@kernel
def split_counts(
    counted: tuple[Ints, Ids, Ids],
    query: tuple[Ints, Floats, Floats],
    kind: Int,
    norms: Floats,
    out: NDArray[np.float32],
) -> None:
    """Give what each term of a query, ascending, adds to the scores of documents, a row for each.

    Equals `weights * impact(kind, counts, norm, factors)` where a document has the term; others are
    left as they are.
    """
    bounds, doc_terms, counts = counted
    terms, weights, factors = query
    for i in range(len(bounds) - 1):
        at = 0
        for j in range(bounds[i], bounds[i + 1]):
            term = np.int64(doc_terms[j])
            while at < len(terms) and terms[at] < term:
                at += 1
            if at == len(terms):
                break
            if terms[at] == term:
                value = impact(kind, np.float32(counts[j]), norms[i], factors[at])
                out[i, at] = weights[at] * value
