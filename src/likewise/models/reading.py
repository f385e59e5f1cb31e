"""What is a topic about? Words, coherence, neighbours and documents that a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.collection.snapshot import Snapshot
from likewise.compiled import Doubles, Floats, Ints
from likewise.errors import UsageError
from likewise.models.bags import Vocabulary
from likewise.models.coherence import mean_npmi
from likewise.models.supplied import SuppliedModel
from likewise.models.surfaces import readable_terms, spaced
from likewise.models.topics import TopicModel
from likewise.models.triple import Triples

if TYPE_CHECKING:
    from likewise.models.stored import AnyModel
    from likewise.models.subspace import Subspace

RELEVANCE = 0.6
_LEAST_OF_BEST = 0.01
_COHERENT_WORDS = 10
_NEAREST = 3
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

    `words` are the likeliest, `telling` the most relevant (see `relevance`). An axis has two
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
    telling: tuple[Word, ...] = ()
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
        """The shares of topics, own words and background in all words; they add up to one."""
        shares = self.lengths @ self.triples.shares.astype(np.float64)
        return np.asarray(shares / max(shares.sum(), 1e-12))

    @property
    def topic_shares(self) -> Doubles:
        """The share of each topic in all words; together they are the topics' share."""
        weights = self.lengths * self.triples.shares[:, 0].astype(np.float64)
        used = weights @ self.triples.topics.astype(np.float64)
        total = (self.lengths[:, None] * self.triples.shares).sum(dtype=np.float64)
        return np.asarray(used / max(total, 1e-12))


def with_words(model: AnyModel) -> TopicModel | Subspace:
    """Give a model whose topics or axes have words, or raise."""
    if isinstance(model, SuppliedModel):
        raise UsageError(
            f"model {model.name!r} is of vectors from elsewhere, whose dimensions are no topics to "
            "list; name another with --model, or fit one: likewise fit"
        )
    return model


def survey(model: TopicModel | Subspace, collection: Snapshot, *, threads: int = 1) -> Survey:
    """Decompose a collection's documents, at most 20,000 of them, to see what it is made of."""
    most = min(_SURVEYED, max(_SURVEYED_CELLS // max(model.n_topics, 1), 1))
    docs = spaced(collection.live_docs(), most)
    counts = collection.term_counts(docs)
    lengths = np.add.reduceat(np.append(counts.counts, 0), counts.bounds[:-1]).astype(np.int64)
    lengths[np.diff(counts.bounds) == 0] = 0
    return Survey(docs, lengths, model.decompose(counts, words=1, threads=threads))


def describe(
    model: TopicModel | Subspace,
    collection: Snapshot,
    *,
    words: int = 10,
    docs: int = 3,
    threads: int = 1,
    surveyed: Survey | None = None,
) -> list[TopicDescription]:
    """Describe every topic of a model by words and by documents of the collection."""
    seen = surveyed or survey(model, collection, threads=threads)
    numbers = np.arange(model.n_topics)
    likely = top_rows(model, numbers, n=max(words, _COHERENT_WORDS))
    if isinstance(model, TopicModel):
        second = relevant_rows(model, collection, numbers, n=words)
        shares, nearest = seen.topic_shares, _nearest(model)
    else:
        second = top_rows(model, numbers, n=max(words, _COHERENT_WORDS), sign=-1)
        squares = np.square(np.asarray(model.values, np.float64))
        shares, nearest = squares / max(squares.sum(), 1e-12), [()] * model.n_topics
    read = _Reader(model.vocabulary, collection, [*likely, *second])
    first = _coherence(likely, read, collection)
    other = first if isinstance(model, TopicModel) else _coherence(second, read, collection)
    examples = _examples(model, seen, collection, docs)
    labels = getattr(model, "labels", ()) or [""] * model.n_topics
    out = []
    for k in numbers.tolist():
        weights = _weights(model, k)
        ours, others = (
            read.words(likely[k][:words], weights),
            read.words(second[k][:words], weights),
        )
        topical, mean = isinstance(model, TopicModel), float(first[k] + other[k]) / 2
        out.append(
            TopicDescription(
                number=k,
                label=labels[k],
                share=float(shares[k]),
                coherence=float(first[k]) if topical or not len(others) else mean,
                words=ours,
                telling=others if topical else (),
                opposite=() if topical else others,
                pole_coherence=() if topical else (float(first[k]), float(other[k])),
                nearest=nearest[k],
                documents=examples[k],
            )
        )
    return out


# Words


def top_rows(model: TopicModel | Subspace, topics: Ints, *, n: int, sign: int = 1) -> list[Ints]:
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

    def __init__(
        self, vocabulary: Vocabulary, collection: Snapshot, row_sets: Iterable[Ints]
    ) -> None:
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *row_sets])).astype(np.int64)
        terms = collection.terms(np.asarray(vocabulary.terms)[rows])
        self.terms = dict(zip(rows.tolist(), terms, strict=True))
        self._readable = readable_terms(collection, terms)

    def words(self, rows: Ints, weights: NDArray[np.floating]) -> tuple[Word, ...]:
        terms = [self.terms[row] for row in rows.tolist()]
        chances = weights[rows].tolist()
        return tuple(
            Word(term, self._readable[term], weight)
            for term, weight in zip(terms, chances, strict=True)
        )


def _weights(model: TopicModel | Subspace, k: int) -> NDArray[np.floating]:
    matrix = model.word_topics if isinstance(model, TopicModel) else model.basis
    column: Floats = matrix[:, k]
    return column


def _columns(model: TopicModel | Subspace, topics: Ints) -> Iterable[NDArray[np.float32]]:
    matrix = model.word_topics if isinstance(model, TopicModel) else model.basis
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
    roots = np.sqrt(model.word_topics[:, : model.n_topics])
    distances = np.sqrt(np.maximum(1 - roots.T @ roots, 0)).astype(np.float64)
    np.fill_diagonal(distances, np.inf)
    n = min(_NEAREST, model.n_topics - 1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :n]
    return [
        tuple(Near(j, float(distances[k, j])) for j in row) for k, row in enumerate(order.tolist())
    ]


def _examples(
    model: TopicModel | Subspace, seen: Survey, collection: Snapshot, n: int
) -> list[tuple[Example, ...]]:
    """Give the documents that have most of each topic, among those with enough words."""
    if not len(seen.docs):
        return [()] * seen.triples.topics.shape[1]
    enough = min(_ENOUGH_WORDS, float(np.median(seen.lengths)) / 2)
    able = np.flatnonzero(seen.lengths >= max(enough, 1))
    if isinstance(model, TopicModel):
        weights = seen.triples.topics[able] * seen.triples.shares[able, :1]
    else:
        # Shares of a document in a space are squares; the positive pole is the one described.
        weights = np.square(np.maximum(seen.triples.topics[able], 0))
    out = []
    for column in weights.T:
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
