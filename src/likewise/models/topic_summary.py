"""What is a topic about? Words, coherence, neighbours and documents that a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.models.coherence import mean_npmi
from likewise.models.surface_forms import readable_terms, spaced
from likewise.models.triple import Triples

if TYPE_CHECKING:
    from likewise.models.model import Model
    from likewise.models.subspace import Subspace
    from likewise.models.topics import TopicModel

RELEVANCE = 0.6
_LEAST_OF_BEST = 0.01
_COHERENT_WORDS = 10
_NEAREST = 3
_NAMED_BY = 3
_SURVEYED = 20_000
_SURVEYED_CELLS = 40_000_000
_COUNTED = 200_000
_ENOUGH_WORDS = 50
_TOPICS_AT_ONCE = 32


class Word(NamedTuple):
    """A term, the commonest word that it stands for, and its weight."""

    term: str
    word: str
    weight: float


class Near(NamedTuple):
    """Another topic, and its Hellinger distance: 0 for the same words, 1 for none in common."""

    number: int
    distance: float


class Example(NamedTuple):
    """A document with much of a topic: `weight` is the topic's share of it."""

    doc_id: str
    title: str
    weight: float


@dataclass(frozen=True)
class TopicDescription:
    """A topic, or an axis of a space, for people.

    `words` are the likeliest, `distinctive` the most relevant (see `relevance`). An axis has two
    poles: its `words` are those of the positive one, `opposite` those of the negative one, and
    its share is that of its squared singular value. Coherence is the mean NPMI of the first ten
    words; that of an axis is the mean of its poles (the first axis often has one only), which are
    in `pole_coherence`.
    """

    number: int
    label: str
    share: float
    coherence: float
    words: tuple[Word, ...]
    distinctive: tuple[Word, ...] = ()
    opposite: tuple[Word, ...] = ()
    pole_coherence: tuple[float, ...] = ()
    nearest: tuple[Near, ...] = ()
    documents: tuple[Example, ...] = ()


class Survey(NamedTuple):
    """The decomposition of a collection, or of evenly spaced documents of a large one."""

    docs: Ints
    lengths: Ints
    triples: Triples

    @property
    def routes(self) -> Doubles:
        """The shares of topics, specific words and background in all words; they add up to one."""
        shares = self.lengths @ self.triples.shares.astype(np.float64)
        return np.asarray(shares / max(shares.sum(), 1e-12))

    @property
    def topic_shares(self) -> Doubles:
        """The share of each topic in all words; together they are the topics' share."""
        weights = self.lengths * self.triples.shares[:, 0].astype(np.float64)
        used = weights @ self.triples.topics.astype(np.float64)
        total = (self.lengths[:, None] * self.triples.shares).sum(dtype=np.float64)
        return np.asarray(used / max(total, 1e-12))


def survey(model: Model, collection: Snapshot, *, threads: int = 1) -> Survey:
    """Decompose a collection's documents, at most 20,000 of them, to see what it is made of.

    A model whose topics have no words is refused.
    """
    _ = model.word_weights
    most = min(_SURVEYED, max(_SURVEYED_CELLS // max(model.width, 1), 1))
    docs = spaced(collection.live_docs(), most)
    counts = collection.term_counts(docs)
    lengths = np.add.reduceat(np.append(counts.counts, 0), counts.bounds[:-1]).astype(np.int64)
    lengths[np.diff(counts.bounds) == 0] = 0
    return Survey(docs, lengths, model.transform(counts, words=1, threads=threads))


def describe(
    model: Model,
    collection: Snapshot,
    *,
    words: int = 10,
    docs: int = 3,
    threads: int = 1,
    surveyed: Survey | None = None,
) -> list[TopicDescription]:
    """Describe every topic of a model by words and by documents of the collection."""
    seen = surveyed or survey(model, collection, threads=threads)
    return model.describe(collection, seen, words=words, docs=docs)


def describe_topics(
    model: TopicModel, collection: Snapshot, seen: Survey, *, words: int, docs: int
) -> list[TopicDescription]:
    """Describe topics by their likeliest words and their most relevant ones."""
    numbers = np.arange(model.width)
    likely = top_rows(model, numbers, n=max(words, _COHERENT_WORDS))
    relevant = relevant_rows(model, collection, numbers, n=words)
    read = _Reader(model, collection, [*likely, *relevant])
    coherence = _coherence(likely, read, collection)
    examples = _examples(seen.triples.topics * seen.triples.shares[:, :1], seen, collection, docs)
    labels, nearest, shares = model.labels or [""] * model.width, _nearest(model), seen.topic_shares
    return [
        TopicDescription(
            number=k,
            label=labels[k],
            share=float(shares[k]),
            coherence=float(coherence[k]),
            words=read.words(likely[k][:words], k),
            distinctive=read.words(relevant[k], k),
            nearest=nearest[k],
            documents=examples[k],
        )
        for k in range(model.width)
    ]


def describe_axes(
    model: Subspace, collection: Snapshot, seen: Survey, *, words: int, docs: int
) -> list[TopicDescription]:
    """Describe axes by the words of both poles."""
    numbers = np.arange(model.width)
    poles = [top_rows(model, numbers, n=max(words, _COHERENT_WORDS), sign=sign) for sign in (1, -1)]
    read = _Reader(model, collection, [*poles[0], *poles[1]])
    coherence = np.stack([_coherence(pole, read, collection) for pole in poles], axis=1)
    # Shares of a document in a space are squares; the positive pole is the one described.
    examples = _examples(np.square(np.maximum(seen.triples.topics, 0)), seen, collection, docs)
    squares = np.square(np.asarray(model.values, np.float64))
    shares = squares / max(squares.sum(), 1e-12)
    out = []
    for k in range(model.width):
        first, other = coherence[k].tolist()
        opposite = read.words(poles[1][k][:words], k)
        out.append(
            TopicDescription(
                number=k,
                label="",
                share=float(shares[k]),
                coherence=(first + other) / 2 if opposite else first,
                words=read.words(poles[0][k][:words], k),
                opposite=opposite,
                pole_coherence=(first, other),
                documents=examples[k],
            )
        )
    return out


def named_by_words(model: Model, collection: Snapshot, unit: str) -> list[str]:
    """Name topics or axes by their first words: `topic 3 (wing, lift, tail)`."""
    rows = top_rows(model, np.arange(model.width), n=_NAMED_BY)
    terms = [collection.terms(np.asarray(model.vocabulary.terms)[mine]) for mine in rows]
    return [f"{unit} {k} ({', '.join(its)})" for k, its in enumerate(terms)]


# Words


def top_rows(model: Model, topics: Ints, *, n: int, sign: int = 1) -> list[Ints]:
    """Find the vocabulary rows of the n likeliest words of topics, or of one pole of axes."""
    return [_best(sign * column, n) for column in _columns(model, topics)]


def relevant_rows(model: TopicModel, collection: Snapshot, topics: Ints, *, n: int) -> list[Ints]:
    """Find the vocabulary rows of the n most relevant words of topics."""
    _, term_freqs = collection.frequencies(np.asarray(model.vocabulary.terms))
    corpus = np.maximum(term_freqs, 1) / max(term_freqs.sum(), 1)
    return [_best(np.exp(relevance(column, corpus)), n) for column in _columns(model, topics)]


def relevance(topic: NDArray[np.floating], corpus: Doubles) -> Doubles:
    """Weigh words by probability and lift: `.6 ln p(w|k) + .4 ln(p(w|k)/p(w))`.

    Sievert, Shirley 2014 (LDAvis), equation 1. Words less likely than a hundredth of the topic's
    likeliest are left out (-inf), because a rare word's lift is chance.
    """
    chances = topic.astype(np.float64)
    logs = np.log(np.maximum(chances, 1e-30))
    weighed = RELEVANCE * logs + (1 - RELEVANCE) * (logs - np.log(corpus))
    return np.where(chances >= _LEAST_OF_BEST * chances.max(initial=0), weighed, -np.inf)


class _Reader:
    """Reads vocabulary rows as words."""

    def __init__(self, model: Model, collection: Snapshot, row_sets: Iterable[Ints]) -> None:
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *row_sets])).astype(np.int64)
        terms = collection.terms(np.asarray(model.vocabulary.terms)[rows])
        self.terms = dict(zip(rows.tolist(), terms, strict=True))
        self._readable = readable_terms(collection, terms)
        self._weights = model.word_weights

    def words(self, rows: Ints, topic: int) -> tuple[Word, ...]:
        terms = [self.terms[row] for row in rows.tolist()]
        chances = self._weights[rows, topic].tolist()
        return tuple(
            Word(term, self._readable[term], weight)
            for term, weight in zip(terms, chances, strict=True)
        )


def _columns(model: Model, topics: Ints) -> Iterable[NDArray[np.float32]]:
    matrix = model.word_weights
    for first in range(0, len(topics), _TOPICS_AT_ONCE):
        yield from np.ascontiguousarray(matrix[:, topics[first : first + _TOPICS_AT_ONCE]].T)


def _best(values: NDArray[np.floating], n: int) -> Ints:
    """Find the places of the n largest values above zero, ties by place."""
    n = min(n, len(values))
    places = np.sort(np.argpartition(-values, n - 1)[:n]) if n else np.empty(0, np.int64)
    places = places[values[places] > 0]
    return places[np.argsort(-values[places], kind="stable")].astype(np.int64)


def _coherence(row_sets: Sequence[Ints], read: _Reader, collection: Snapshot) -> Doubles:
    sets = [[read.terms[row] for row in rows[:_COHERENT_WORDS].tolist()] for rows in row_sets]
    return mean_npmi(sets, collection, docs=spaced(collection.live_docs(), _COUNTED))


# Neighbours and documents


def _nearest(model: TopicModel) -> list[tuple[Near, ...]]:
    roots = np.sqrt(model.word_topics[:, : model.width])
    distances = np.sqrt(np.maximum(1 - roots.T @ roots, 0)).astype(np.float64)
    np.fill_diagonal(distances, np.inf)
    n = min(_NEAREST, model.width - 1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :n]
    return [
        tuple(Near(j, float(distances[k, j])) for j in row) for k, row in enumerate(order.tolist())
    ]


def _examples(
    weights: Floats, seen: Survey, collection: Snapshot, n: int
) -> list[tuple[Example, ...]]:
    """Give the documents that have most of each topic, among those with enough words."""
    if not len(seen.docs):
        return [()] * weights.shape[1]
    enough = min(_ENOUGH_WORDS, float(np.median(seen.lengths)) / 2)
    able = np.flatnonzero(seen.lengths >= max(enough, 1))
    out = []
    for column in weights[able].T:
        best = _best(column, n)
        docs = seen.docs[able[best]].tolist()
        out.append(
            tuple(
                Example(document.id, document.title or document.text, float(weight))
                for document, weight in zip(
                    map(collection.document, docs), column[best], strict=True
                )
            )
        )
    return out
