"""Words that stand together count for more, and titles more still: a stage after a search.

To the scores of a ranking's first documents parts are added, each from 0 up to a share of the best
score: `near` for words that stand in the document as in the query (ordered pairs within a window,
as in Metzler, Croft 2005), `title` for words in the title (BM25 of the titles), `exact` where the
title is the query, and `spelling` for words as they are spelled, where the analysis drops or folds
them and few documents have them. Nothing is ever taken off, so the first documents stay the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, pairwise, product
from numbers import Integral
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.collection.words import EXACT, TITLE
from likewise.compiled import Doubles, Int, Ints, kernel
from likewise.errors import UsageError
from likewise.records import Explanation, Part, Query, Ranking, explanation
from likewise.retrieve.documents import score_records
from likewise.retrieve.models import BM25, bm25_idf
from likewise.retrieve.words import retriever_of
from likewise.stages.recent import Recent
from likewise.stages.stage import Context, Result, Scorer, Stage
from likewise.text.query_syntax import MOST_WORDS
from likewise.text.tokens import tokens_of

# Shares of the best score, chosen on judged collections leaving one out: benchmarks/adjacency.py.
NEAR, IN_TITLE, EXACT_TITLE = 0.15, 0.02, 0.1
# From .2 to 1.5 no mean changes by .1%; this much puts the spelling that was typed before others.
SPELLING = 1.5
# How far the second word of a pair may stand behind the first, beyond its place in the query.
WINDOW = 2
# So many documents are looked at, whatever is asked for: the first of few and of many are the same.
CANDIDATES = 30
# Searches may have two such stages, and several threads: so many queries' words are kept, and what
# places say of so many documents.
_KEPT, _MOST_FOUND = 8, 1000
# Words of a query that stand further apart are no pair.
_FURTHEST = 3
_BM25 = BM25()
# A word of more of the documents says nothing by its spelling: most are stop words.
_MOST_COMMON = 0.1
# A title that is the query has the same score but for rounding.
_ROUNDED = 1e-4
TITLE_NAME, EXACT_NAME, SPELLING_NAME = "(title)", "(exact title)", "(exact spelling)"


@dataclass(frozen=True)
class Proximity(Stage):
    """Add to the scores of the first documents what the places of the query's words say for them.

    `near`, `title`, `exact` and `spelling` are shares of the best score.
    """

    near: float = NEAR
    title: float = IN_TITLE
    exact: float = EXACT_TITLE
    spelling: float = SPELLING
    window: int = WINDOW
    candidates: int = CANDIDATES
    notation: ClassVar[str] = "proximity"

    def __post_init__(self) -> None:
        for name in ("near", "title", "exact", "spelling"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 10:
                raise UsageError(f"proximity needs {name} from 0 (none) to 10, not {value!r}")
        for name in ("window", "candidates"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise UsageError(f"proximity needs {name} of at least 1, not {value!r}")

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Add to each ranking; of long texts and documents in hand they stay as they were."""
        return context.map(lambda result: self._add(result, context), batch)

    def depth(self, k: int, *, log: bool) -> int:
        """As deep as its candidates, whatever is asked for."""
        return 0 if k == 0 else max(k, self.candidates)

    def _add(self, result: Result, context: Context) -> Result:
        context.check()
        query, ranking, scorer, _ = result
        asked = words_asked(query, context.snapshot)
        if asked is None or not len(ranking.docs):
            return result._replace(ranking=ranking.cut(context.k))
        first = ranking.cut(self.candidates)
        gain = Proximate(self, asked, first, context.snapshot)
        after = None if scorer is None else WithGain(scorer, gain)
        return Result(query, lift(ranking, gain, self.candidates).cut(context.k), after)


class Asked(NamedTuple):
    """The words of a query: its terms in their order, by name and by number (-1: not known).

    `places` are their positions, `spelled` the rarer of those words that analysis drops or folds;
    `seen` is what stages have worked out by them.
    """

    text: str
    names: tuple[str, ...]
    terms: Ints
    idf: Doubles
    places: Ints
    spelled: Mapping[str, float]
    seen: Recent[Proximity, Seen]


class Seen(NamedTuple):
    """What a stage knows by a query's words.

    `found` has for documents from 0 to 1 what pairs, the title, the exact title and spelling are.
    """

    terms: Ints
    pairs: Pairs
    in_titles: InTitles | None
    found: dict[int, Doubles]


class Pairs(NamedTuple):
    """Words of a query side by side: columns of both, their reach, and which words they are."""

    first: Ints
    second: Ints
    reach: Ints
    idf: Doubles
    words: list[tuple[int, int]]


class InTitles(NamedTuple):
    """A query of titles: its terms as weighed, and what a title scores that has all and no more.

    `whole` is None where that cannot be told.
    """

    terms: Ints
    weights: Doubles
    whole: float | None


def words_asked(query: Query, snapshot: Snapshot) -> Asked | None:
    """Take the words of a query; None where it is no short text or has no known word."""
    if query.like or not query.text or len(query.text.split()) > MOST_WORDS:
        return None
    made: Recent[str, Asked | None]
    made = snapshot.memo("words asked", lambda: Recent(most=_KEPT))
    return made.of(query.text, partial(_words_of, snapshot))


def _words_of(snapshot: Snapshot, text: str) -> Asked | None:
    placed = snapshot.analyzer.placed(text)
    names = tuple(term for term, _ in placed)
    numbers, doc_freqs, _ = retriever_of(snapshot, _BM25).known(names)
    if not (numbers >= 0).any():
        return None
    places = np.array([place for _, place in placed], np.int64)
    idf = bm25_idf(snapshot.n_docs, doc_freqs)
    words = text.split()
    # Where every word is letters and became a term, none is to be looked for by its spelling.
    plain = text.isascii() and len(words) == len(placed) and all(map(str.isalnum, words))
    spelled = {} if plain else _spelled(text, snapshot)
    return Asked(text, names, numbers, idf, places, spelled, Recent(most=_KEPT))


def _spelled(text: str, snapshot: Snapshot) -> dict[str, float]:
    """Count the words of a text that are not terms as they are spelled, common ones left out."""
    if not snapshot.has_field(EXACT):
        return {}
    counts = Counter(snapshot.analyzer.exact(text))
    numbers, doc_freqs, _ = retriever_of(snapshot, _BM25, EXACT).known([*counts])
    rare = (numbers >= 0) & (doc_freqs <= _MOST_COMMON * snapshot.n_docs)
    return {word: float(n) for (word, n), kept in zip(counts.items(), rare, strict=True) if kept}


class Gain(Protocol):
    """What is added to the scores of a ranking's first documents, in named parts."""

    @property
    def names(self) -> list[tuple[str, str]]:
        """The kinds and names of parts."""
        ...

    def parts(self, docs: Ints) -> Doubles:
        """Give the parts of documents, a row for each, from 0 up."""
        ...

    def of(self, docs: Ints) -> Doubles:
        """Add up the parts of documents."""
        ...


def lift(ranking: Ranking, gain: Gain, n: int) -> Ranking:
    """Add to the scores of the first n documents, and order them by what they come to."""
    first = ranking.cut(n)
    scores = first.scores + gain.of(first.docs)
    order = np.lexsort((first.docs, -scores))
    return Ranking(
        np.concatenate([first.docs[order], ranking.docs[n:]]),
        np.concatenate([scores[order], ranking.scores[n:]]),
    )


class Proximate:
    """What the places of a query's words add to the scores of a ranking's first documents."""

    def __init__(self, how: Proximity, asked: Asked, first: Ranking, snapshot: Snapshot) -> None:
        self.how, self.asked, self.snapshot = how, asked, snapshot
        self.docs = np.sort(first.docs)
        # Logarithms and other scores below zero count from the lowest.
        self.scale = float(first.scores.max() - min(first.scores.min(), 0.0))

    def of(self, docs: Ints) -> Doubles:
        """Add up the parts of documents; 0 for those that were not among the first."""
        total: Doubles = self.parts(docs).sum(axis=1)
        return total

    @property
    def names(self) -> list[tuple[str, str]]:
        """The kinds and names of parts."""
        text = self.asked.text
        analyzer = self.snapshot.analyzer.of_text(text)
        typed = [text[one.start : one.stop] for one in tokens_of(text, analyzer) for _ in one.terms]
        pairs = [("phrase", f'"{typed[i]} {typed[j]}"') for i, j in self._seen.pairs.words]
        return [*pairs, ("title", TITLE_NAME), ("title", EXACT_NAME), ("spelling", SPELLING_NAME)]

    def parts(self, docs: Ints) -> Doubles:
        """Give the parts of documents: a column for each of the names."""
        how, n_pairs = self.how, len(self._seen.pairs.words)
        out = np.zeros((len(docs), n_pairs + 3))
        if not self.scale > 0:
            return out
        at = np.minimum(np.searchsorted(self.docs, docs), len(self.docs) - 1)
        places = np.flatnonzero(self.docs[at] == docs)
        most = np.array([how.near] * n_pairs + [how.title, how.exact, how.spelling]) * self.scale
        if len(places):
            out[places] = most * self._shares(docs[places])
        return out

    @cached_property
    def _seen(self) -> Seen:
        """What is known by the query's words, worked out by the first such stage."""

        def see(how: Proximity) -> Seen:
            terms = np.unique(self.asked.terms[self.asked.terms >= 0])
            pairs = _pairs_of(self.asked, terms, how.window)
            return Seen(terms, pairs, _in_titles(how, self.asked, terms, self.snapshot), {})

        return self.asked.seen.of(self.how, see)

    def _shares(self, docs: Ints) -> Doubles:
        """Give from 0 to 1 what documents have of each part; what was found before is not again."""
        found, asked = self._seen.found, docs.tolist()
        mine = {doc: row for doc in asked if (row := found.get(doc)) is not None}
        missing = [doc for doc in asked if doc not in mine]
        if missing:
            rows = self._find_shares(np.array(missing, np.int64))
            mine |= zip(missing, rows, strict=True)
            if len(found) + len(missing) > _MOST_FOUND:
                found.clear()
            found.update(mine)
        return np.array([mine[doc] for doc in asked])

    def _find_shares(self, docs: Ints) -> Doubles:
        pairs = self._seen.pairs
        out = np.zeros((len(docs), len(pairs.words) + 3))
        if self.how.near and pairs.words:
            out[:, :-3] = self._near(docs)
        if self._seen.in_titles is not None:
            out[:, -3], out[:, -2] = self._titles(docs, self._seen.in_titles)
        if self.how.spelling and self.asked.spelled:
            out[:, -1] = self._spelling(docs)
        return out

    def _near(self, docs: Ints) -> Doubles:
        """Give from 0 to 1 how often the pairs of the query stand in documents."""
        terms, pairs = self._seen.terms, self._seen.pairs
        places = self.snapshot.positions(docs, terms)
        counts = count_pairs(
            places.bounds, places.values, (pairs.first, pairs.second, pairs.reach), len(terms)
        )
        norms = retriever_of(self.snapshot, _BM25).norms(docs).astype(np.float64)[:, None]
        shares: Doubles = counts / (counts + norms) * (pairs.idf / pairs.idf.sum())
        return shares

    def _titles(self, docs: Ints, asked: InTitles) -> tuple[Doubles, Doubles]:
        """Give from 0 to 1 how much of the query titles have, and 1 where they are the query."""
        snapshot, names = self.snapshot, self.asked.names
        retriever = retriever_of(snapshot, _BM25, TITLE)
        query = asked.weights.astype(np.float32), np.ones(len(asked.terms), np.float32)
        scores = score_records(retriever, (asked.terms, *query, np.float32(0)), docs)
        lengths = snapshot.lengths(docs, TITLE)
        if asked.whole is None:
            fits = (lengths <= len(names)) & (scores > 0)
        else:
            fits = np.abs(scores - asked.whole) <= _ROUNDED * asked.whole
            fits &= lengths == len(names)
        exact = np.zeros(len(docs))
        whole = np.flatnonzero(fits)
        for place, card in zip(whole.tolist(), snapshot.cards(docs[whole]), strict=True):
            exact[place] = snapshot.analyzer.terms(card.title) == [*names]
        return scores / asked.weights.sum(), exact

    def _spelling(self, docs: Ints) -> Doubles:
        """Give from 0 to 1 how much of the query documents have as it is spelled."""
        retriever = retriever_of(self.snapshot, _BM25, EXACT)
        _, numbers, weights, factors, shares = retriever.weigh([self.asked.spelled])
        scores = score_records(retriever, (numbers, weights, factors, shares[0]), docs)
        most = float(weights.sum()) + float(self.asked.idf[self.asked.terms >= 0].sum())
        return np.maximum(scores, 0) / most


def _pairs_of(asked: Asked, terms: Ints, window: int) -> Pairs:
    """Give the pairs of words of a query whose known terms, ascending, are these."""
    found = dict[tuple[int, int], tuple[int, float, tuple[int, int]]]()
    # In several languages a word may be several terms, all at its place.
    at_places = groupby(range(len(asked.terms)), asked.places.__getitem__)
    words = [[*terms] for _, terms in at_places]
    for i, j in (pair for sides in pairwise(words) for pair in product(*sides)):
        gap = int(asked.places[j] - asked.places[i])
        if asked.terms[i] >= 0 and asked.terms[j] >= 0 and gap <= _FURTHEST:
            key = int(asked.terms[i]), int(asked.terms[j])
            mean = float(asked.idf[i] + asked.idf[j]) / 2
            found.setdefault(key, (gap + window - 1, mean, (i, j)))
    first, second = (
        np.searchsorted(terms, [key[side] for key in found]).astype(np.int64) for side in (0, 1)
    )
    reach = np.array([value[0] for value in found.values()], np.int64)
    idf = np.array([value[1] for value in found.values()], np.float64)
    return Pairs(first, second, reach, idf, [value[2] for value in found.values()])


def _in_titles(how: Proximity, asked: Asked, terms: Ints, snapshot: Snapshot) -> InTitles | None:
    """Give the query that is asked of titles; None where no title can answer it."""
    if not (how.title or how.exact) or not snapshot.has_field(TITLE):
        return None
    retriever = retriever_of(snapshot, _BM25, TITLE)
    names = dict(zip(asked.terms.tolist(), asked.names, strict=True))
    numbers, doc_freqs, _ = retriever.known([names[term] for term in terms.tolist()])
    if not (numbers >= 0).any():
        return None
    known = asked.terms[asked.terms >= 0]
    counts = np.bincount(np.searchsorted(terms, known), minlength=len(terms))
    weights = counts * bm25_idf(snapshot.n_docs, doc_freqs)
    # Where words are several terms, one for each language, a title has those of its own.
    if len(np.unique(asked.places)) < len(asked.places):
        return InTitles(terms, weights, None)
    length = np.array([len(asked.terms)], np.uint32)
    norm = float(_BM25.norms_of(length, retriever.statistics)[0])
    return InTitles(terms, weights, float((weights * (counts / (counts + norm))).sum()))


class WithGain:
    """Scores documents as the stage before did, with what their words' places add."""

    def __init__(self, before: Scorer, gain: Gain) -> None:
        self.before, self.gain = before, gain

    @property
    def log(self) -> bool:
        """Whether scores are logarithms."""
        return self.before.log

    @property
    def searches(self) -> Stage | None:
        """The search by words behind the scores."""
        return self.before.searches

    def score(self, docs: Ints) -> Doubles:
        """Score documents with the bits of the search; -inf for what it would not find."""
        scores = self.before.score(docs)
        return scores + self.gain.of(docs)

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores: the parts before, and those of pairs and titles."""
        names = self.gain.names
        added = self.gain.parts(docs)
        found = []
        for told, row, total in zip(
            self.before.explain(docs), added.tolist(), added.sum(axis=1).tolist(), strict=True
        ):
            more = [Part(*name, part) for name, part in zip(names, row, strict=True) if part]
            score = told.score + total
            found.append(explanation(score, [*told.parts, *more])._replace(evidence=told.evidence))
        return found


@kernel
def count_pairs(
    bounds: Ints, values: Ints, pairs: tuple[Ints, Ints, Ints], n_terms: Int
) -> NDArray[np.float64]:
    """Count in each document how often the second term of a pair follows the first within reach.

    Equals for each document and pair `sum(any(p < q <= p + reach for q in second) for p in first)`.
    """
    first, second, reach = pairs
    n_docs = (len(bounds) - 1) // n_terms
    out = np.zeros((n_docs, len(first)))
    for i in range(n_docs):
        for j in range(len(first)):
            start, stop = bounds[i * n_terms + first[j]], bounds[i * n_terms + first[j] + 1]
            at, end = bounds[i * n_terms + second[j]], bounds[i * n_terms + second[j] + 1]
            for place in values[start:stop]:
                while at < end and values[at] <= place:
                    at += 1
                if at == end:
                    break
                if values[at] <= place + reach[j]:
                    out[i, j] += 1
    return out
