"""Collections made of lists of terms, and Kernel LSA on them written out with dense matrices."""

import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from likewise.collection.build import Resources
from likewise.collection.creating import create
from likewise.collection.snapshot import open_snapshot
from likewise.collection.writer import Writer
from likewise.records import Document
from likewise.text.analysis import Analysis

PLAIN = Analysis(language="none", stemmer="none", stop="none", min_length=1)


def fill(folder, texts, *, pieces=1, analysis=PLAIN, deleted=(), fields=()):
    """Make a collection of as many segments as pieces; document i is `di`."""
    create(folder, analysis)
    step = -(-len(texts) // pieces) or 1
    documents = [
        Document(f"d{i}", "", " ".join(terms), fields[i] if fields else {})
        for i, terms in enumerate(texts)
    ]
    with Writer(folder) as writer:
        writer._merge = lambda *_: None
        for first in range(0, len(texts), step):
            writer.add(documents[first : first + step], resources=Resources(threads=1))
        if deleted:
            writer.delete([f"d{i}" for i in deleted])
    return open_snapshot(folder)


@contextmanager
def temporary(texts, **options):
    with tempfile.TemporaryDirectory() as folder:
        yield fill(Path(folder) / "c", texts, **options)


def drawn(n, seed=0, n_words=400, kinds=8):
    """Documents of some kinds, each with its words, and with words of all."""
    random = np.random.default_rng(seed)
    out = []
    for i in range(n):
        own = random.geometric(0.1, random.integers(3, 30)) % 60
        usual = random.geometric(0.02, random.integers(3, 30)) % n_words
        out.append([f"k{i % kinds}x{w}" for w in own] + [f"w{w}" for w in usual])
    return out


class Dense:
    """Documents as a matrix of counts, their kernels, and how a ranking is smoothed."""

    def __init__(self, texts):
        self.terms = sorted({term for terms in texts for term in terms})
        column = {term: i for i, term in enumerate(self.terms)}
        self.counts = np.zeros((len(texts), len(self.terms)))
        for i, terms in enumerate(texts):
            for term, count in Counter(terms).items():
                self.counts[i, column[term]] = count
        self.lengths = self.counts.sum(axis=1)

    def features(self, kernel):
        f, n = self.counts, (self.counts > 0).sum(axis=0)
        n_docs = len(f)
        if kernel == "bm25":
            norms = 1.2 * (0.25 + 0.75 * self.lengths / self.lengths.mean())
            return np.log1p((n_docs - n + 0.5) / (n + 0.5)) * 2.2 * f / (norms[:, None] + f)
        if kernel == "bm25(k1=2,power=0.5,idf=rsj)":
            norms = 2 * (0.25 + 0.75 * self.lengths / self.lengths.mean())
            rarity = np.maximum(np.log((n_docs - n + 0.5) / (n + 0.5)), 0)
            return np.sqrt(rarity) * 3 * f / (norms[:, None] + f)
        if kernel == "inner":
            return f
        if kernel == "inner(power=1)":
            return f * np.log(n_docs / n)
        if kernel == "cosine":
            damped = np.where(f > 0, 1 + np.log(np.maximum(f, 1)), 0) * np.log(n_docs / n)
            lengths = np.linalg.norm(damped, axis=1, keepdims=True)
            return damped / np.where(lengths > 0, lengths, 1)
        assert kernel == "ql"
        return np.log(1 + f / (1000 * f.sum(axis=0) / f.sum()))

    def spectrum(self, kernel):
        """Eigenvalues, descending, and eigenvectors of K = ΦΦᵀ."""
        phi = self.features(kernel)
        values, vectors = np.linalg.eigh(phi @ phi.T)
        return values[::-1], vectors[:, ::-1]

    @staticmethod
    def smoothed(ranking, u, how):
        """Smooth a ranking by rows U: all scores, what was spread, and the part of each."""
        ranked = np.zeros(len(u), bool)
        ranked[ranking.docs] = True
        scores = np.zeros(len(u))
        scores[ranking.docs] = ranking.scores
        floor = min(scores[ranked].min(), 0.0)
        if scores[ranked].max() == floor:
            floor -= 1
        scores = np.where(ranked, scores - floor, 0.0)
        z = how.docs or len(ranking.docs)
        first, weights = ranking.docs[:z], np.zeros(len(u))
        weights[first] = scores[first]
        if how.by == "rank":
            weights[first] = scores[first[0]] / np.arange(1, len(first) + 1)
        spread = weights @ u @ u.T
        kept, share, most = 1 - how.share, how.share, max(spread.max(), 0)
        if how.scale == "max":
            kept, share = kept / scores.max(), share / (most or 1)
        return share * spread + kept * scores, spread, weights


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


@pytest.fixture(scope="session")
def draw():
    """Draw lists of terms."""
    return drawn


@pytest.fixture(scope="session")
def dense():
    """Kernel LSA written out."""
    return Dense


@pytest.fixture(scope="session")
def kinds(tmp_path_factory):
    """Three segments of 600 documents of eight kinds, three of them deleted."""
    folder = tmp_path_factory.mktemp("smooth") / "kinds"
    fields = [{"third": "yes" if i % 200 % 3 == 0 else "no"} for i in range(600)]
    return fill(folder, drawn(600), pieces=3, deleted=[3, 250, 599], fields=fields)
