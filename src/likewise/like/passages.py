"""Which passages of a text carry a score? Sentences, by what their words carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from likewise.models.colour import Token, tokens
from likewise.text.analysis import Analyzer, encode
from likewise.text.chunks import cut

PASSAGES = 3
# A longer sentence (a table, a list, code) is cut where a word begins.
_LONGEST = 320


class Share(NamedTuple):
    """What a term carries of a score: as an own word, and of the compact half.

    `topic` is the one that it carries most of, -1 where the compact half has no topics.
    """

    own: float = 0.0
    compact: float = 0.0
    topic: int = -1

    @property
    def score(self) -> float:
        """Both together."""
        return self.own + self.compact


class Mark(NamedTuple):
    """A word of a text that carries something, from `start` to `stop`."""

    start: int
    stop: int
    share: Share


class Passage(NamedTuple):
    """A stretch of a text from `start` on; the score is the sum over its distinct terms."""

    start: int
    text: str
    score: float
    marks: tuple[Mark, ...]

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        marks = [{"start": m.start, "stop": m.stop} | m.share._asdict() for m in self.marks]
        return {"start": self.start, "text": self.text, "score": self.score, "marks": marks}


class Stretch(NamedTuple):
    """A sentence, or a piece of a long one, with its words."""

    start: int
    text: str
    words: tuple[Token, ...]


def find_marks(text: str, analyzer: Analyzer, shares: Mapping[str, Share]) -> list[Mark]:
    """Find the words of a text that carry something."""
    return [mark for mark, _ in _carriers(tokens(text, analyzer), shares)]


def find_sentences(text: str) -> list[str]:
    """Cut a text into sentences, as those of documents are; together they are the text."""
    data = encode(text)
    ends = np.cumsum(cut([data]).sentences, dtype=np.int64).tolist()
    return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


def find_stretches(sentences: Iterable[str], analyzer: Analyzer) -> list[Stretch]:
    """Take sentences as stretches that a passage may be."""
    out = []
    for start, text in _short(sentences):
        body = text.strip()
        at = start + len(text) - len(text.lstrip())
        out.append(Stretch(at, body, tuple(tokens(body, analyzer))))
    return out


def find_passages(
    stretches: Iterable[Stretch], shares: Mapping[str, Share], *, n: int = PASSAGES, skip: int = 0
) -> tuple[Passage, ...]:
    """Choose at most n passages, the one that carries most first.

    Each is chosen for the terms that those before it do not have, so that they do not say the
    same. Passages that begin before `skip` (a title, which is shown anyway) are left out if there
    are others.
    """
    found = [_passage(stretch, shares) for stretch in stretches]
    found = [(passage, terms) for passage, terms in found if passage.score > 0]
    left = [entry for entry in found if entry[0].start >= skip] or found
    seen: set[str] = set()
    chosen: list[Passage] = []
    while left and len(chosen) < n:
        gains = [sum(shares[t].score for t in terms if t not in seen) for _, terms in left]
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        passage, terms = left.pop(best)
        chosen.append(passage)
        seen.update(terms)
    return tuple(sorted(chosen, key=lambda passage: -passage.score))


def _passage(stretch: Stretch, shares: Mapping[str, Share]) -> tuple[Passage, list[str]]:
    found = [*_carriers(stretch.words, shares)]
    # In one order, so that the sum has the same bits whenever it is taken.
    terms = [*dict.fromkeys(term for _, mine in found for term in mine)]
    score = sum(shares[term].score for term in terms)
    marks = tuple(mark for mark, _ in found)
    return Passage(stretch.start, stretch.text, score, marks), terms


def _carriers(
    words: Iterable[Token], shares: Mapping[str, Share]
) -> Iterator[tuple[Mark, list[str]]]:
    for word in words:
        terms = [term for term in word.terms if term in shares]
        if terms:
            mine = [shares[term] for term in terms]
            strongest = max(mine, key=lambda share: abs(share.compact))
            joint = Share(
                sum(share.own for share in mine),
                sum(share.compact for share in mine),
                strongest.topic,
            )
            yield Mark(word.start, word.stop, joint), terms


def _short(sentences: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Give sentences with their places; those that are too long in pieces."""
    at = 0
    for sentence in sentences:
        rest = sentence
        while len(rest) > _LONGEST:
            # A clause's end in the second half is better than a space farther on.
            ends = [1 + rest.rfind(end, _LONGEST // 2, _LONGEST) for end in "\n;:,"]
            end = max(ends) or 1 + rest.rfind(" ", 1, _LONGEST) or _LONGEST
            yield at, rest[:end]
            at, rest = at + end, rest[end:]
        yield at, rest
        at += len(rest)
