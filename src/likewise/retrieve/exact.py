"""Search by words as they are spelled: for queries of which the analysis leaves nothing.

"The Who", "c++" or "to be or not to be" are all stop words, single letters and marks: these stand
in a field of their own, which is ranked by BM25. That tells little of words that nearly all
documents have, so that the texts of the first documents are read: how often the words stand there
one after the other, and whether the title is the query. Where nearly all documents have each of
the words, nothing else tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from likewise.collection.build import content
from likewise.collection.snapshot import Snapshot
from likewise.collection.words import EXACT
from likewise.compiled import Bools, Doubles, Ints
from likewise.records import Explanation, Query, Ranking
from likewise.retrieve.models import BM25
from likewise.retrieve.proximity import EXACT_NAME, WithGain, lift
from likewise.retrieve.words import WordScorer, retriever_of
from likewise.stages.match import MOST_WORDS, exact_pattern
from likewise.stages.stage import Context, Result, Stage

# So many documents are read at most, whatever is asked for, of `MOST_WORDS` words.
CANDIDATES = 1000
# Shares of the best score, which of such words says little: the order of words decides.
IN_ORDER, EXACT_TITLE = 1.0, 1.0
# Words of more of the documents find nothing by themselves: "the of".
COMMON = 0.8


@dataclass(frozen=True)
class ExactWords(Stage):
    """Rank by the words of a query that the analysis drops or changes, as they are spelled."""

    notation: ClassVar[str] = "exact"
    log: ClassVar[bool] = False

    def run(self, batch: Sequence[Result], context: Context) -> list[Result]:
        """Rank for each query; earlier rankings are replaced."""
        return context.map(lambda result: self._rank(result.query, context), batch)

    def depth(self, k: int, *, log: bool) -> int:
        """It reads no ranking."""
        return 0

    def _rank(self, query: Query, context: Context) -> Result:
        context.check()
        terms = exact_words(query, context.snapshot)
        if not terms or not context.k:
            return Result(query)
        retriever = retriever_of(context.snapshot, BM25(), EXACT)
        mask = context.mask(query)
        [ranking] = retriever.rank(
            [terms],
            k=max(context.k, CANDIDATES),
            allowed=mask.segments if mask.bars else None,
            threads=context.threads,
        )
        if not len(ranking.docs):
            return Result(query)
        n_read = _how_many(ranking.cut(CANDIDATES), context.snapshot)
        gain = InOrder(query.text, ranking.cut(n_read), context.snapshot)
        if are_common(query, context.snapshot):
            ranking = ranking.cut(n_read)
            told = np.flatnonzero(gain.tells(ranking.docs))
            ranking = Ranking(ranking.docs[told], ranking.scores[told])
        scorer = WithGain(AsSpelled(retriever, terms), gain)
        return Result(query, lift(ranking, gain, n_read).cut(context.k), scorer)


def _how_many(ranking: Ranking, snapshot: Snapshot) -> int:
    """Tell how many of the first documents are read: what they come to is bounded."""
    lengths = snapshot.lengths(ranking.docs) + snapshot.lengths(ranking.docs, EXACT)
    return max(int(np.searchsorted(np.cumsum(lengths), MOST_WORDS, "right")), 1)


def exact_words(query: Query, snapshot: Snapshot) -> Mapping[str, float]:
    """Count the words of a query that are not terms as they are spelled."""
    if query.like or not snapshot.has_field(EXACT):
        return {}
    return dict(Counter(snapshot.analyzer.exact(query.text)))


def are_common(query: Query, snapshot: Snapshot) -> bool:
    """Tell whether nearly every document has each of the words as it is spelled."""
    words = [*exact_words(query, snapshot)]
    doc_freqs = retriever_of(snapshot, BM25(), EXACT).known(words)[1]
    return bool(words) and bool((doc_freqs > COMMON * snapshot.n_docs).all())


class AsSpelled(WordScorer):
    """Scores documents by words as they are spelled, of which no other forms are shown."""

    def explain(self, docs: Ints) -> list[Explanation]:
        """Split scores by these words."""
        return [
            told._replace(parts=tuple(one._replace(kind="spelling") for one in told.parts))
            for told in super().explain(docs)
        ]


class InOrder:
    """What documents gain by the words of a query one after the other, or as the title."""

    def __init__(self, text: str, first: Ranking, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.docs = np.sort(first.docs)
        self.scale = float(first.scores.max())
        self._words = text.casefold().split()
        self._pattern = exact_pattern(self._words)
        self._norms = retriever_of(snapshot, BM25()).norms

    @property
    def names(self) -> list[tuple[str, str]]:
        """The kinds and names of parts."""
        return [("phrase", f'"{" ".join(self._words)}"'), ("title", EXACT_NAME)]

    def of(self, docs: Ints) -> Doubles:
        """Add up the parts of documents; 0 for those that were not among the first."""
        total: Doubles = self.parts(docs).sum(axis=1)
        return total

    def tells(self, docs: Ints) -> Bools:
        """Tell which documents have several words one after the other, or the query as a title."""
        parts = self.parts(docs)
        return np.asarray(parts[:, 1] > 0 if len(self._words) == 1 else parts.sum(axis=1) > 0)

    def parts(self, docs: Ints) -> Doubles:
        """Give the parts of documents: for the order of words, and for the exact title."""
        out = np.zeros((len(docs), 2))
        places = np.flatnonzero(np.isin(docs, self.docs))
        rows = np.searchsorted(self.docs, docs[places])
        counts, titles = self._read[0][rows], self._read[1][rows]
        norms = self._norms(docs[places]).astype(np.float64)
        out[places, 0] = IN_ORDER * self.scale * counts / (counts + norms)
        out[places, 1] = EXACT_TITLE * self.scale * titles
        return out

    @cached_property
    def _read(self) -> tuple[Doubles, Doubles]:
        """How often the first documents have the words in order, and 1 where they are the title.

        They are read once, in the order in which they are stored: so is each block of them.
        """
        counts, titles = np.zeros(len(self.docs)), np.zeros(len(self.docs))
        for i, doc in enumerate(self.docs.tolist()):
            document = self.snapshot.document(doc)
            counts[i] = len(self._pattern.findall(content(document).casefold()))
            titles[i] = document.title.casefold().split() == self._words
        return counts, titles
