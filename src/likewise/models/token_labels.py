"""Which words of this text are topical, which its own, which background?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from likewise.collection.records import TermCounts
from likewise.collection.snapshot import Snapshot
from likewise.collection.text_counts import counts_of
from likewise.compiled import Doubles
from likewise.errors import UsageError
from likewise.models.model import Model
from likewise.models.surface_forms import readable_terms, surface_words
from likewise.models.topic_summary import Word
from likewise.models.triple import OWN_WORDS, Triples
from likewise.show.text import harmless
from likewise.text.analysis import Analyzer
from likewise.text.tokens import tokens_of

_TOPIC_WORDS = 6
_MOST_TOPICS = 6
_LEAST_SHARE = 0.01


class Kind(StrEnum):
    """What a word is in its document; `STOP` is one that the analysis leaves out."""

    TOPIC = "topic"
    OWN = "own"
    BACKGROUND = "background"
    STOP = "stop"


_ROUTES = (Kind.TOPIC, Kind.OWN, Kind.BACKGROUND)


class Route(NamedTuple):
    """How a term of a document came about: its shares, and the likeliest of the topics."""

    topic: float
    own: float
    background: float
    number: int

    @property
    def kind(self) -> Kind:
        """The largest of the three; ties go to the first."""
        return _ROUTES[int(np.argmax(self[:3]))]


class Piece(NamedTuple):
    """A stretch of a text: a word with its kind, or (without one) what stands between words."""

    text: str
    kind: Kind | None = None
    route: Route | None = None


@dataclass(frozen=True)
class TopicPart:
    """A topic of a document: its share of the document's words, and the words that tell it here.

    The words of an axis are those of the pole on whose side the document stands.
    """

    number: int
    label: str
    share: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Decomposition:
    """What a text is made of; `shares` are those of topics, specific words and background.

    `topics` are the largest, at most six; `own` words have their shares of the own part (in a
    space those of the squared residual, without words that it has less of than its topics
    promise); `routes` has every term of the text; the pieces, joined, are the text.
    """

    model: str
    shares: tuple[float, float, float]
    topics: tuple[TopicPart, ...]
    own: tuple[Word, ...]
    routes: Mapping[str, Route]
    counts: Mapping[str, int]
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The text."""
        return "".join(piece.text for piece in self.pieces)


def decompose_text(
    model: Model, collection: Snapshot, text: str, *, words: int = OWN_WORDS, title: str = ""
) -> Decomposition:
    """Take a text apart, of the collection or not, down to each word; it may have a title.

    Of vectors from elsewhere, topical is what a vector can know of a word; they have no topics.
    """
    counts, names = counts_of(collection, text, title=title)
    if not names:
        raise UsageError(
            "the text holds no word to decompose: after stop words and analysis nothing is left"
        )
    by_words = model.word_model
    triples = by_words.transform(counts, words=len(counts.terms))
    routes = dict(zip(names.values(), word_routes(by_words, counts, triples), strict=True))
    surfaces = surface_words([text], collection.analyzer)
    shares = triples.shares[0].tolist()
    weights = triples.weights if by_words.distributions else np.square(triples.weights)
    own = [
        Word(names[number], surfaces.get(names[number], names[number]), weight)
        for number, weight, signed in zip(
            triples.terms.tolist(), weights.tolist(), triples.weights.tolist(), strict=True
        )
        if signed > 0
    ]
    return Decomposition(
        model=model.name,
        shares=(shares[0], shares[1], shares[2]),
        # A word's number would be that of an axis, which nobody named.
        topics=() if model.has_own_vectors else _topic_parts(model, collection, triples),
        own=tuple(own[:words]),
        routes=routes,
        counts=dict(zip(names.values(), counts.counts.tolist(), strict=True)),
        pieces=tuple(colour(text, collection.analyzer, routes)),
    )


def word_routes(model: Model, counts: TermCounts, triples: Triples) -> list[Route]:
    """Give the routes of each term of one document; `triples` has all of its specific words."""
    found, numbers = model.routes(counts, triples)
    return [
        Route(topical, own, background, number)
        for (topical, own, background), number in zip(found.tolist(), numbers.tolist(), strict=True)
    ]


def _topic_parts(model: Model, collection: Snapshot, triples: Triples) -> tuple[TopicPart, ...]:
    topics = triples.topics[0].astype(np.float64)
    weights = topics if model.distributions else np.square(topics)
    parts: Doubles = float(triples.shares[0, 0]) * weights / max(weights.sum(), 1e-12)
    order = np.argsort(-parts, kind="stable")[:_MOST_TOPICS]
    chosen = order[parts[order] >= _LEAST_SHARE]
    chosen = chosen if len(chosen) else order[:1]
    rows = model.distinctive_rows(collection, topics, chosen, _TOPIC_WORDS)
    terms = [collection.terms(np.asarray(model.vocabulary.terms)[its]) for its in rows]
    readable = readable_terms(collection, [term for its in terms for term in its])
    labels = model.labels
    return tuple(
        TopicPart(
            k, labels[k] if labels else "", float(parts[k]), tuple(readable[term] for term in its)
        )
        for k, its in zip(chosen.tolist(), terms, strict=True)
    )


# Texts


def colour(text: str, analyzer: Analyzer, routes: Mapping[str, Route]) -> Iterator[Piece]:
    """Cut a text into pieces; joined again they are the text."""
    end = 0
    for token in tokens_of(text, analyzer):
        if token.start > end:
            yield Piece(text[end : token.start])
        end = token.stop
        route = _joint([routes[term] for term in token.terms if term in routes])
        kind = route.kind if route else Kind.STOP
        yield Piece(text[token.start : token.stop], kind, route)
    if end < len(text):
        yield Piece(text[end:])


def _joint(routes: Sequence[Route]) -> Route | None:
    if len(routes) < 2:
        return routes[0] if routes else None
    topical, own, background = np.mean([route[:3] for route in routes], axis=0).tolist()
    strongest = max(routes, key=lambda route: route.topic)
    return Route(topical, own, background, strongest.number)


_STYLES = {
    Kind.TOPIC: "\x1b[34m",
    Kind.OWN: "\x1b[1;33m",
    Kind.BACKGROUND: "",
    Kind.STOP: "\x1b[2m",
}
_PLAIN = "\x1b[0m"


def to_ansi(pieces: Sequence[Piece]) -> str:
    """Colour a text for a terminal: topics blue, specific words bold and yellow, stop words dim."""
    out = []
    for piece in pieces:
        style = _STYLES[piece.kind] if piece.kind else ""
        shown = harmless(piece.text)
        out.append(f"{style}{shown}{_PLAIN}" if style else shown)
    return "".join(out)
