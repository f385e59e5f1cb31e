"""Which terms are told, and from what? Lexicons with their counts, and questions to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Bools, Doubles, Ints
from likewise.errors import UsageError
from likewise.records import Query
from likewise.terms.counting import Counted, count_pairs, subtract
from likewise.terms.extracting import extract_nodes
from likewise.terms.nodes import DOCUMENT, SENTENCE, Filters, Nodes, choose_nodes
from likewise.terms.occurrences import Occurrences, occurrences
from likewise.terms.predict import VOTERS
from likewise_papers.auc import predicted, summarise
from likewise_papers.bench import Bench, search
from likewise_papers.papers.term_graph.abstracts import Split

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WORDS = re.compile("[^\\W_]+")


def names_of(text: str) -> list[str]:
    """Give the words that look like names of genes and proteins: TP53, mTORC1, BRCA."""
    return [word for word in _WORDS.findall(text) if len(word) >= 3 and _is_name(word)]


def _is_name(word: str) -> bool:
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    return sum(map(str.isupper, word)) >= 2 or (letters and digits)


@dataclass
class Questions:
    """Texts with what they mention, and what is to be predicted; `hidden` must not be asked."""

    texts: list[str]
    sets: list[Ints]
    labels: Bools
    hidden: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def others(self) -> Bools:
        """All candidates but those that a text mentions itself."""
        mask = np.ones(self.labels.shape, np.bool_)
        for row, nodes in zip(mask, self.sets, strict=True):
            row[nodes] = False
        return mask

    @property
    def n_told(self) -> int:
        """How many texts there is something to predict of, beyond what they mention."""
        return int((self.labels & self.others).any(axis=1).sum())

    def aucs(self, scores: Doubles, *, every: bool = False) -> Doubles:
        """Give the AUC of scores, a column for each text or one for all."""
        columns = np.broadcast_to(scores.reshape(len(scores), -1), self.labels.T.shape)
        return predicted(columns.T, self.labels, among=None if every else self.others)

    def mean(self, scores: Doubles) -> float:
        """Give the mean AUC over the texts, their own terms left out."""
        return summarise(self.aucs(scores)).mean

    def own_first(self, scores: Doubles) -> Doubles:
        """Put the terms that a text mentions itself before all others."""
        columns = np.array(np.broadcast_to(scores.reshape(len(scores), -1), self.labels.T.shape))
        columns[~self.others.T] += 1 + columns.max() - columns.min()
        return columns


class Lexicon:
    """Nodes with their counts in all training abstracts, and in those that are not held out."""

    def __init__(self, name: str, split: Split, bench: Bench) -> None:
        self.name, self.split = name, split
        self.nodes = _nodes(name, split, bench)
        docs = np.random.default_rng(bench.seed).permutation(self.snapshot.live_docs())
        # Of the first pairs are learnt, on the second parameters are chosen.
        tuned = min(bench["tuned"], len(docs) // 4)
        self.paired, self.tuned = np.sort(docs[: 2 * tuned].reshape(2, -1), axis=1)
        held = np.union1d(self.paired, self.tuned)
        self.all = {within: self._count(None, within) for within in (SENTENCE, DOCUMENT)}
        self.rest = {
            within: subtract(counted, self._count(held, within))
            for within, counted in self.all.items()
        }
        mentions = [seen.nodes for seen in self._seen(None, SENTENCE)]
        self.term_freqs = np.bincount(np.concatenate(mentions), minlength=len(self.nodes))
        self.test = self._read_papers()
        self.train = self._halve(held)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def snapshot(self) -> Snapshot:
        """The abstracts that are trained on."""
        return self.split.training.snapshot

    def _seen(self, docs: Ints | None, within: str) -> Iterator[Occurrences]:
        # So few abstracts are one segment.
        return occurrences(self.snapshot, self.nodes, 0, docs, within=within)

    def _count(self, docs: Ints | None, within: str) -> Counted:
        return count_pairs(self._seen(docs, within), len(self.nodes))

    def _read_papers(self) -> Questions:
        found = []
        for paper in self.split.papers:
            text = f"{paper['title']}\n{paper['abstract']}"
            own = self.nodes.find(self.snapshot, text)
            if len(own):
                said = np.zeros(len(self), np.bool_)
                said[self.nodes.find(self.snapshot, paper["body"])] = True
                found.append((text, own, said))
        return _questions(found)

    def _halve(self, held: Ints) -> Questions:
        """The terms of the second half of abstracts, from the first half."""
        found = []
        for seen in self._seen(self.tuned, SENTENCE):
            for doc, (a, b) in zip(seen.docs.tolist(), pairwise(seen.bounds.tolist()), strict=True):
                sentences = self.snapshot.sentences(doc)
                half = (len(sentences) + 1) // 2
                first = seen.sentences[a:b] < half
                own = np.unique(seen.nodes[a:b][first]).astype(np.int64)
                said = np.zeros(len(self), np.bool_)
                said[seen.nodes[a:b][~first]] = True
                said[own] = False
                if len(own) and said.any():
                    found.append(("".join(sentences[:half]), own, said))
        return _questions(found, held)

    @cached_property
    def pairs(self) -> Ints:
        """The pairs that are said together in held-out abstracts, in one sentence."""
        bounds, columns, _ = self._count(self.paired, SENTENCE).pairs
        rows = np.repeat(np.arange(len(self)), np.diff(bounds))
        return np.column_stack([rows, columns]).astype(np.int64)

    @cached_property
    def mentioned(self) -> csr_array:
        """Which abstracts mention which nodes."""
        from scipy.sparse import csr_array

        seen = [*self._seen(None, DOCUMENT)]
        nodes = np.concatenate([batch.nodes for batch in seen])
        sizes = np.concatenate([np.diff(batch.bounds) for batch in seen])
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        matrix = csr_array((np.ones(len(nodes)), nodes, bounds), shape=(len(sizes), len(self)))
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix

    def alike(self, asked: Questions) -> list[tuple[Ints, Doubles]]:
        """Give the abstracts that are like each text, and their scores by TF-IDF."""
        stage = search(self.split.training, "tfidf", k=VOTERS)
        answers = stage([Query(str(i), text) for i, text in enumerate(asked.texts)])
        found = [(ranking.docs, ranking.scores.astype(np.float64)) for _, ranking, *_ in answers]
        kept = [~np.isin(docs, asked.hidden) for docs, _ in found]
        return [(docs[k], scores[k]) for (docs, scores), k in zip(found, kept, strict=True)]


class TooFew(UsageError):
    """There is nothing to ask of a lexicon."""


def make_lexicon(name: str, split: Split, bench: Bench, *, fewest: int) -> Lexicon | None:
    """Make a lexicon; None where there is something to tell of fewer papers than that."""
    try:
        lexicon = Lexicon(name, split, bench)
    except TooFew:
        return None
    return lexicon if lexicon.test.n_told >= fewest else None


def _nodes(name: str, split: Split, bench: Bench) -> Nodes:
    snapshot = split.training.snapshot
    if name == "names":
        return extract_nodes(snapshot, names_of, min_df=bench["name_df"])
    return choose_nodes(snapshot, Filters(min_df=bench["word_df"], max_df=0.3, size=bench["terms"]))


def _questions(found: list[tuple[str, Ints, Bools]], hidden: Ints | None = None) -> Questions:
    if not found:
        raise TooFew("too few abstracts mention terms of the lexicon to ask anything by them")
    texts, sets, labels = zip(*found, strict=True)
    asked = Questions([*texts], [*sets], np.stack(labels))
    if hidden is not None:
        asked.hidden = hidden
    return asked
