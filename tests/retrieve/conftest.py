"""Collections made of plain lists of terms."""

import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.text.analysis import Analysis

PLAIN = Analysis(language="none", stemmer="none", stop="none", min_length=1)


def as_documents(texts, first=0):
    return [Document(f"d{i}", "", " ".join(terms)) for i, terms in enumerate(texts, first)]


def fill(folder, texts, *, pieces=1, cuts=(), analysis=PLAIN, deleted=()):
    """Make a collection of numbered documents: of as many segments as pieces, or cut there."""
    create(folder, analysis)
    step = -(-len(texts) // pieces) or 1
    firsts = [0, *cuts] if cuts else list(range(0, len(texts), step))
    with Writer(folder) as writer:
        writer._merge = lambda *_: None
        for first, last in zip(firsts, [*firsts[1:], len(texts)], strict=False):
            batch = as_documents(texts[first:last], first)
            writer.add(batch, resources=Resources(threads=1))
        if deleted:
            writer.delete([f"d{i}" for i in deleted])
    return open_snapshot(folder)


@contextmanager
def temporary(texts, **options):
    with tempfile.TemporaryDirectory() as folder:
        yield fill(Path(folder) / "c", texts, **options)


class Corpus:
    """What the tests know of a collection, by counting."""

    def __init__(self, texts):
        self.counts = [Counter(terms) for terms in texts]
        self.lengths = [len(terms) for terms in texts]
        self.n_docs = len(texts)
        self.n_tokens = sum(self.lengths)
        self.doc_freqs = Counter(term for counts in self.counts for term in counts)
        self.term_freqs = Counter(term for terms in texts for term in terms)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Leave out waiting for the disk, where tests make hundreds of collections."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.fixture
def make(tmp_path):
    """Make collections of lists of terms."""
    numbers = iter(range(1000))

    def made(texts, **options):
        return fill(tmp_path / f"c{next(numbers)}", texts, **options)

    return made


@pytest.fixture
def made_for_a_while():
    """Make a collection that lasts as long as a block, for property tests."""
    return temporary


@pytest.fixture
def count():
    """Count the terms of lists of terms."""
    return Corpus
