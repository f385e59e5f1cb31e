"""Collections taken apart by models: fitted, and the vectors of all their documents worked out.

What several experiments need is kept while a collection is open.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles
from likewise.like.components import Encoder
from likewise.like.focus import weights_at
from likewise.like.hybrid import Hybrid, HybridRanker, Likeness, LikenessStage
from likewise.like.typical import measure_typical
from likewise.models.bags import Sample
from likewise.models.ddm import BETA_OWN, GAMMA
from likewise.models.document_vectors import DocumentVectors
from likewise.models.fitting import FitJob, fit_model, read_config
from likewise.models.kinds import STORED_WORDS
from likewise.models.model import BALANCED, Model
from likewise.models.stored_vectors import StoredVectors
from likewise.models.topics import TopicModel
from likewise.retrieve.documents import Whole
from likewise.retrieve.models import TFIDF
from likewise.retrieve.search import Retriever
from likewise_papers.bench import Bench
from likewise_papers.like.simhash_tfidf import Hashed, HashedRanker
from likewise_papers.like.topn import TopN, TopNTopics, TopNTopicsRanker, top_n
from likewise_papers.models.span import span_of
from likewise_papers.papers.decomposition.tasks import Ranker

DDM, LDA, LDA_DS, LSI, SPAN = "ddm", "lda", "lda-ds", "lsi", "span"
_KEPT: WeakKeyDictionary[Snapshot, dict[str, Apart]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Apart:
    """A fitted model, the vectors of all documents by it, and what the fit took."""

    model: Model
    segments: tuple[DocumentVectors, ...]
    seconds: float
    processor: float

    def stored(self, snapshot: Snapshot, words: int = STORED_WORDS) -> StoredVectors:
        """Give the vectors with so many specific words of each document at most."""
        stored = StoredVectors(snapshot, self.model, words=words)
        stored.segments = [cut(vectors, words) for vectors in self.segments]
        return stored

    def ranker(self, snapshot: Snapshot, config: LikenessStage, *, words: int) -> HybridRanker:
        """Give a ranker of these vectors."""
        return config.ranker(self.stored(snapshot, words))


def take_apart(bench: Bench, snapshot: Snapshot, kind: str, topics: int = 0) -> Apart:
    """Fit a model of so many topics (0: its default) and work out the vectors of all documents.

    Those of the main number of topics, and defaults, are kept.
    """
    written = kind if not topics else f"{kind}({topics})"
    settings = f"{written}, {bench['sweeps']} sweeps, {bench['tokens']} tokens"
    kept = _KEPT.setdefault(snapshot, {})
    if settings not in kept:
        clock, processor = time.perf_counter(), time.process_time()
        model = _fit(bench, snapshot, kind, topics)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        stored = StoredVectors(snapshot, model, threads=bench.threads)
        apart = Apart(model, tuple(stored.segments), clock, processor)
        if topics not in (0, bench["topics"]):
            return apart
        kept[settings] = apart
    return kept[settings]


def cut(vectors: DocumentVectors, words: int) -> DocumentVectors:
    """Leave fewer specific words of each document: they stand the largest first."""
    bounds = vectors.bounds.astype(np.int64)
    sizes = np.minimum(np.diff(bounds), words)
    kept = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(kept[-1]) + np.repeat(bounds[:-1] - kept[:-1], sizes)
    return vectors._replace(
        bounds=kept.astype(vectors.bounds.dtype),
        terms=vectors.terms[places],
        weights=vectors.weights[places],
    )


def with_specific_words(lda: TopicModel, snapshot: Snapshot) -> TopicModel:
    """Make topics of LDA a model that decomposes as DDM does ("LDA + DS", Section 3.3).

    The background is the whole collection.
    """
    _, term_freqs = snapshot.frequencies(lda.vocabulary.terms)
    return replace(
        lda,
        name=LDA_DS,
        switch=True,
        background=(term_freqs / term_freqs.sum()).astype(np.float32),
        priors=lda.priors._replace(gamma=np.full(3, GAMMA), beta_own=BETA_OWN),
    )


# Methods


def whole(snapshot: Snapshot) -> Ranker:
    """TF-IDF with the cosine, the first baseline."""
    return Whole(Retriever(snapshot, TFIDF()))


def hashed(snapshot: Snapshot, *, threads: int) -> Ranker:
    """Locality-sensitive hashing straight on TF-IDF vectors, the second baseline."""
    return HashedRanker(snapshot, Hashed(), threads=threads)


def best_words(snapshot: Snapshot, words: int) -> Ranker:
    """The best words by TF-IDF, the third baseline."""
    return top_n(snapshot, TopN(max(words, 1)))


def best_words_and_topics(snapshot: Snapshot, lda: Apart, words: int) -> Ranker:
    """The best words mixed with topics of LDA, the fourth baseline."""
    topics = lda.ranker(snapshot, Hybrid(only="dense"), words=0).likeness
    return TopNTopicsRanker(snapshot, TopNTopics(words=max(words, 1)), topics)


def by_default(snapshot: Snapshot, apart: Apart, words: int = STORED_WORDS) -> Ranker:
    """Dense vectors, specific words and all words, as `likewise like` has them."""
    stored = apart.stored(snapshot, words)
    weights = weights_at(BALANCED, measure_typical(Encoder(stored)))
    how = Hybrid()
    likeness = Likeness(Encoder(stored), weights)
    return HybridRanker(likeness, candidates=how.candidates, feedback=how.feedback)


def _fit(bench: Bench, snapshot: Snapshot, kind: str, topics: int) -> Model:
    if kind in (LDA_DS, SPAN):
        fitted = take_apart(bench, snapshot, LDA if kind == LDA_DS else DDM, topics).model
        base = fitted.topics("to start from")
        return with_specific_words(base, snapshot) if kind == LDA_DS else span_of(base)
    told = [f"topics={topics}"] if topics else []
    if kind in (DDM, LDA):
        told.append(f"sweeps={bench['sweeps']}")
    config = read_config(f"{kind}({','.join(told)})" if told else kind)
    job = FitJob(sample=sampled(bench, snapshot), threads=bench.threads)
    return fit_model(snapshot, config, job)


def sampled(bench: Bench, snapshot: Snapshot) -> Sample:
    """Give the documents that topics are fitted on: of about so many tokens in all (0: all)."""
    return Sample(docs=math.ceil(bench["tokens"] / max(snapshot.average_length, 1)))


def mean_of(values: list[Doubles]) -> Doubles:
    """Give the mean of each query over several settings."""
    averaged: Doubles = np.mean(np.array(values), axis=0)
    return averaged
