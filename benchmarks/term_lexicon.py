"""Papers to tell the terms of, and the lexicons that these are told in (see term_prediction.py)."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import likewise as lw
from likewise.collection.snapshot import Snapshot
from likewise.evaluate.prediction import predicted, summarise
from likewise.records import Document
from likewise.terms.counting import Counted, count_pairs, subtract
from likewise.terms.nodes import DOCUMENT, SENTENCE, Nodes
from likewise.terms.predict import VOTERS
from likewise.terms.sightings import sightings

_WORDS = re.compile("[^\\W_]+")


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    terms: int = 5000
    test: int = 480
    tuned: int = 400
    topics: tuple[int, ...] = (10, 25, 50, 100)
    points: int = 13
    steps: int = 4
    abstracts: int = 0


QUICK = Size(terms=1200, test=120, tuned=100, topics=(25,), points=5, steps=1, abstracts=4000)


@dataclass
class Papers:
    """Training abstracts as a collection, and papers to tell the terms of."""

    collection: lw.Collection
    papers: list[dict]

    @property
    def snapshot(self) -> Snapshot:
        return self.collection.snapshot


@dataclass
class Questions:
    """Texts with what they mention, and what is to be foretold."""

    texts: list[str]
    sets: list[np.ndarray]
    labels: np.ndarray
    # Documents that must not be asked.
    hidden: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def others(self) -> np.ndarray:
        """All candidates but those that a text mentions itself."""
        mask = np.ones(self.labels.shape, bool)
        for row, nodes in zip(mask, self.sets, strict=True):
            row[nodes] = False
        return mask

    def aucs(self, scores: np.ndarray, *, every: bool = False) -> np.ndarray:
        """The AUC of scores, a column for each text or one for all."""
        columns = np.broadcast_to(scores.reshape(len(scores), -1), self.labels.T.shape)
        return predicted(columns.T, self.labels, among=None if every else self.others)

    def mean(self, scores: np.ndarray) -> float:
        return summarise(self.aucs(scores)).mean


def read_papers(data: Path, folder: Path, size: Size, seed: int) -> Papers:
    """Split the papers, and index the abstracts to train on."""
    papers, more = (
        _records(data / "elife" / f"{n}.jsonl.gz") for n in ("corpus", "more-abstracts")
    )
    order = np.random.default_rng(seed).permutation(len(papers))
    n_test = len(papers) // 5
    training = [papers[i] for i in np.sort(order[n_test:])] + more
    training = training[-size.abstracts :] if size.abstracts else training
    documents = [Document(paper["id"], paper["title"], paper["abstract"]) for paper in training]
    collection = lw.index(documents, to=folder, model=None)
    return Papers(collection, [papers[i] for i in np.sort(order[:n_test])][: size.test])


def _records(path: Path) -> list[dict]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def names_of(text: str) -> list[str]:
    """Words that look like names of genes and proteins."""
    return [word for word in _WORDS.findall(text) if len(word) >= 3 and _is_name(word)]


def _is_name(word: str) -> bool:
    letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
    return sum(map(str.isupper, word)) >= 2 or (letters and digits)


class Lexicon:
    """Nodes with their counts in all training abstracts, and in those that are not held out."""

    def __init__(self, name: str, papers: Papers, nodes: Nodes, size: Size, seed: int) -> None:
        self.name, self.papers, self.nodes, self.size = name, papers, nodes, size
        docs = np.random.default_rng(seed).permutation(papers.snapshot.live_docs())
        # Of the first pairs are learnt, on the second parameters are chosen.
        self.paired, self.tuned = np.sort(docs[: 2 * size.tuned].reshape(2, -1), axis=1)
        held = np.union1d(self.paired, self.tuned)
        self.all = {within: self._count(None, within) for within in (SENTENCE, DOCUMENT)}
        self.rest = {
            within: subtract(counted, self._count(held, within))
            for within, counted in self.all.items()
        }
        mentions = [seen.nodes for seen in self._seen(None, SENTENCE)]
        self.term_freqs = np.bincount(np.concatenate(mentions), minlength=len(nodes))
        self.test = self._read_papers()
        self.train = self._halve(held)

    def __len__(self) -> int:
        return len(self.nodes)

    def _seen(self, docs: np.ndarray | None, within: str) -> Iterator:
        # So few abstracts are one segment.
        return sightings(self.papers.snapshot, self.nodes, 0, docs, within=within)

    def _count(self, docs: np.ndarray | None, within: str) -> Counted:
        return count_pairs(self._seen(docs, within), len(self.nodes))

    def _read_papers(self) -> Questions:
        found = []
        for paper in self.papers.papers:
            text = f"{paper['title']}\n{paper['abstract']}"
            own = self.nodes.find(self.papers.snapshot, text)
            if len(own):
                said = np.zeros(len(self), bool)
                said[self.nodes.find(self.papers.snapshot, paper["body"])] = True
                found.append((text, own, said))
        texts, sets, labels = zip(*found, strict=True)
        return Questions([*texts], [*sets], np.stack(labels))

    def _halve(self, held: np.ndarray) -> Questions:
        """The terms of the second half of abstracts, from the first half."""
        found = []
        for seen in self._seen(self.tuned, SENTENCE):
            for doc, (a, b) in zip(seen.docs.tolist(), pairwise(seen.bounds.tolist()), strict=True):
                sentences = self.papers.snapshot.sentences(doc)
                first = seen.sentences[a:b] < (len(sentences) + 1) // 2
                own = np.unique(seen.nodes[a:b][first]).astype(np.int64)
                said = np.zeros(len(self), bool)
                said[seen.nodes[a:b][~first]] = True
                said[own] = False
                if len(own) and said.any():
                    found.append(("".join(sentences[: (len(sentences) + 1) // 2]), own, said))
        texts, sets, labels = zip(*found, strict=True)
        return Questions([*texts], [*sets], np.stack(labels), held)

    @cached_property
    def pairs(self) -> np.ndarray:
        """The pairs that are said together in held-out abstracts, in one sentence."""
        bounds, columns, _ = self._count(self.paired, SENTENCE).pairs
        return np.column_stack([np.repeat(np.arange(len(self)), np.diff(bounds)), columns])

    @cached_property
    def mentioned(self) -> csr_array:
        """Which abstracts mention which nodes."""
        seen = [*self._seen(None, DOCUMENT)]
        nodes = np.concatenate([batch.nodes for batch in seen])
        sizes = np.concatenate([np.diff(batch.bounds) for batch in seen])
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        matrix = csr_array((np.ones(len(nodes)), nodes, bounds), shape=(len(sizes), len(self)))
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix

    def alike(self, asked: Questions) -> list[tuple[np.ndarray, np.ndarray]]:
        """The abstracts that are like each text, and their scores by TF-IDF."""
        stage = self.papers.collection.retrieve("tfidf", k=VOTERS)
        answers = stage([lw.Query(str(i), text) for i, text in enumerate(asked.texts)])
        found = [(ranking.docs, ranking.scores.astype(np.float64)) for _, ranking in answers]
        kept = [~np.isin(docs, asked.hidden) for docs, _ in found]
        return [(docs[k], scores[k]) for (docs, scores), k in zip(found, kept, strict=True)]
