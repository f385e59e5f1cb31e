"""Collections of plain words, asked and expanded."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import likewise as lw
from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.writer import Writer
from likewise.expand.expansion import Feedback, WordSearch
from likewise.records import Document, Ranking
from likewise.retrieve.models import BM25
from likewise.retrieve.search import Retriever

PLAIN = lw.Analysis(language="none", stemmer="none", stop="none", min_length=1)


class Shelf:
    """A collection, what the tests know of it by counting, and ways to ask it.

    `texts` are those of all documents, deleted ones too; a document's number is its place there.
    """

    def __init__(self, folder, texts, *, pieces=1, deleted=(), analysis=PLAIN):
        create(folder, analysis)
        step = -(-len(texts) // pieces) or 1
        with Writer(folder) as writer:
            writer._merge = lambda *_: None
            for first in range(0, len(texts), step):
                writer.add(
                    [
                        Document(f"d{first + i}", text=text)
                        for i, text in enumerate(texts[first : first + step])
                    ],
                    resources=Resources(threads=1),
                )
            if deleted:
                writer.delete([f"d{i}" for i in deleted])
        self.collection = lw.open(folder)
        self.snapshot = self.collection.snapshot
        self.counts = [Counter(text.split()) for text in texts]
        self.lengths = [len(text.split()) for text in texts]
        live = [i for i in range(len(texts)) if i not in set(deleted)]
        self.n_docs = len(live)
        self.n_tokens = sum(self.lengths[i] for i in live)
        self.doc_freqs = Counter(term for i in live for term in self.counts[i])
        self.term_freqs = sum((self.counts[i] for i in live), Counter())

    def search(self, model=BM25(), **options):
        return WordSearch(Retriever(self.snapshot, model), **options)

    def ask(self, terms, *, model=BM25(), k=1000, **options):
        """Give a query with the ranking that a search has for it."""
        return Feedback(terms, self.search(model).retriever.rank([terms], k=k, **options)[0])

    def expand(self, how, asked, *, model=BM25()):
        """Expand one query."""
        [grown] = how.expand([asked], self.search(model))
        return grown


def ranked(*pairs):
    """Make a ranking of (doc, score) pairs."""
    docs = np.array([doc for doc, _ in pairs], np.int64)
    return Ranking(docs, np.array([score for _, score in pairs], np.float64))


@pytest.fixture
def shelve(tmp_path):
    """Make collections of texts."""
    numbers = iter(range(1000))

    def made(texts, **options):
        return Shelf(tmp_path / f"c{next(numbers)}", texts, **options)

    return made


@pytest.fixture(scope="session")
def shelved():
    """Make a collection that lasts as long as a block, for property tests."""

    @contextmanager
    def made(texts, **options):
        with tempfile.TemporaryDirectory() as folder:
            yield Shelf(Path(folder) / "c", texts, **options)

    return made


@pytest.fixture(scope="session")
def rank():
    """Make a ranking of (doc, score) pairs."""
    return ranked
