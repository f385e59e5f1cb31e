"""The page of answers to a document in hand: scores by their parts, and coloured texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.like.explain import (
    OTHERS,
    RELATED,
    ROUNDING,
    SPECIFIC,
    TITLES,
    TOPICS,
    VECTORS,
    WORDS,
)
from likewise.records import Explanation, Mark, Part, Topic, WordShares
from likewise.show.page import COLOURED_TOPICS, Marked, Stretch, render
from likewise.show.text import one_line

if TYPE_CHECKING:
    from likewise.like.passages import TextWords

_SHOWN_TOPICS = 5
_LEAST_SHOWN = 0.005
_ROUNDING = 1e-6
# So much of a text is in sight at once, and so much of it is on the page.
_IN_SIGHT = 900
_MOST_TEXT = 40_000
# Steps of strength, by the share of the strongest word of a text; weaker words stay plain.
_STEPS = (0.06, 0.18, 0.4, 0.7)
_RELATED_STYLE = "t0"
_IN_ORDER = (TOPICS, RELATED, VECTORS, SPECIFIC, WORDS, TITLES)


@dataclass(frozen=True)
class LikeAnswer:
    """An answer, its text (with its title, as it was analysed), and why it is one."""

    doc_id: str
    title: str
    text: str
    explanation: Explanation

    @property
    def topics(self) -> tuple[Part, ...]:
        """The topics' parts of the score."""
        return self._group(TOPICS)

    @property
    def related(self) -> tuple[Part, ...]:
        """The parts of the query's words, with the related words behind them."""
        return self._group(RELATED) or self._group(VECTORS)

    @property
    def specific(self) -> tuple[Part, ...]:
        """The parts of the specific words that both have."""
        return self._group(SPECIFIC)

    @property
    def words(self) -> tuple[Part, ...]:
        """The parts of all words that both have."""
        return self._group(WORDS)

    @property
    def in_title(self) -> tuple[Part, ...]:
        """The parts of the words of its title that the document in hand has."""
        return self._group(TITLES)

    @property
    def groups(self) -> list[Part]:
        """The groups of parts in one order for all answers; in place of a list those it has."""
        opened = [
            inner
            for part in self.explanation.parts
            for inner in (part.parts if _has_groups(part) else (part,))
        ]
        order = {name: i for i, name in enumerate(_IN_ORDER)}
        return sorted(opened, key=lambda part: order.get(part.name, len(order)))

    def _group(self, name: str) -> tuple[Part, ...]:
        return tuple(inner for part in self.groups if part.name == name for inner in part.parts)


class _Item(NamedTuple):
    """A line of a list: what it is, its share of the score, what stands behind it.

    `style` is "" for parts that are summed up, and `size` that of its meter, if it has one.
    """

    style: str
    name: str
    share: str
    of: str = ""
    size: float = 0.0


def like_page(
    title: str,
    question_text: str,
    answers: Sequence[LikeAnswer],
    *,
    read: Callable[[Sequence[str]], TextWords],
    about: str = "",
) -> str:
    """Write the answers to a document in hand as an HTML page of its own, best first."""
    sheet = _Sheet(answers, read)
    text = question_text if question_text.strip() else ""
    named = one_line(title)
    found = f"{len(answers)} answer{'s' * (len(answers) != 1)}"
    return render(
        "like.html",
        title=f"Like “{named}”" if named else "Documents like a text",
        about=f"{found}, {about}" if about else found,
        legend=sheet.legend(),
        in_hand=sheet.in_hand(text) if text else None,
        answers=[sheet.answer(answer, text) for answer in answers],
    )


class _Sheet:
    """What all answers on a page have in common: the colours of topics, and the best score."""

    def __init__(
        self, answers: Sequence[LikeAnswer], read: Callable[[Sequence[str]], TextWords]
    ) -> None:
        self.answers = answers
        self.read = read
        # In texts a word that both have is of one colour, be it specific or not.
        self.both = "own" if any(answer.specific for answer in answers) else "all"
        self.best = max([answer.explanation.score for answer in answers], default=0.0)
        evidence = [answer.explanation.evidence for answer in answers]
        self.topics: dict[str, Topic] = {
            str(topic): topic for one in evidence if one for topic in one.topics
        }
        amounts: dict[str, float] = defaultdict(float)
        for answer in answers:
            for topic in answer.topics:
                amounts[topic.name] += abs(topic.score)
        self.n_topics = len(amounts)
        order = sorted(amounts, key=lambda name: (-amounts[name], self.topics[name].number))
        self.styles = {name: f"t{i}" for i, name in enumerate(order[:COLOURED_TOPICS])}
        self.classes = {self.topics[name].number: style for name, style in self.styles.items()}
        self.names = {topic.number: name for name, topic in self.topics.items()}

    def legend(self) -> list[tuple[str, str]]:
        """Give style classes, and what they stand for."""
        items = []
        for name, style in self.styles.items():
            topic = self.topics[name]
            words = ", ".join(topic.words[:4])
            items.append((style, one_line(f"{topic.label}: {words}" if topic.label else words)))
        if self.n_topics > len(self.styles):
            items.append(("t", "other topics"))
        if any(part.kind == "word" for answer in self.answers for part in answer.related):
            items.append((_RELATED_STYLE, "related words"))
        if any(answer.specific for answer in self.answers):
            items.append(("own", "specific words that both have"))
        if any(answer.words for answer in self.answers):
            items.append(("all", "all words that both have"))
        if any(answer.in_title for answer in self.answers):
            items.append(("titled", "words of an answer's title that are in hand"))
        return items

    def in_hand(self, text: str) -> tuple[list[Marked], list[Marked]]:
        """Colour the document in hand by what it has in common with all answers.

        The second list is what is out of sight until it is asked for.
        """
        evidence = [answer.explanation.evidence for answer in self.answers]
        pieces = self._whole(text, _added([one.query_words for one in evidence if one]))
        first = _fitting(pieces, _IN_SIGHT)
        return pieces[:first], pieces[first:]

    def answer(self, answer: LikeAnswer, question_text: str) -> dict[str, Any]:
        """Give the values that the template shows of an answer."""
        score, evidence = answer.explanation.score, answer.explanation.evidence
        mine, theirs = (
            (evidence.query_words, evidence.answer_words) if evidence else (NO_WORDS, NO_WORDS)
        )
        passages = [
            ("In the document in hand", evidence.query_passages if evidence else (), mine),
            ("In this answer", evidence.passages if evidence else (), theirs),
        ]
        texts = [
            ("The document in hand", question_text, mine),
            ("This answer", answer.text, theirs),
        ]
        return {
            "title": one_line(answer.title) or answer.doc_id,
            "doc_id": answer.doc_id,
            "score": score,
            "width": f"{max(score, 0) / self.best if self.best > 0 else 0.0:.1%}",
            "stretches": self._bar(answer),
            "groups": answer.groups,
            "topics": self._topics(answer.topics, score),
            "related": _related(answer.related, score),
            "specific": _words(answer.specific, score, style="own"),
            "words": _words(answer.words, score, style="all"),
            "in_title": _words(answer.in_title, score, style="titled"),
            "passages": [
                (heading, [self._marked(one.text, one.marks, _Scale(words)) for one in some])
                for heading, some, words in passages
                if some
            ],
            "texts": [
                (heading, self._whole(text, words))
                for heading, text, words in texts
                if text.strip()
            ],
        }

    def _bar(self, answer: LikeAnswer) -> list[Stretch]:
        topics = [part for part in answer.topics if part.score > 0]
        parts = [
            (self.styles[part.name], part.score, part.name)
            for part in topics
            if part.name in self.styles
        ]
        parts.sort(key=lambda part: part[0])
        other = sum(part.score for part in topics if part.name not in self.styles)
        parts.append(("t", other, "other topics"))
        related = [part for part in answer.related if part.score > 0]
        words = sum(part.score for part in related if part.kind == "word")
        parts.append((_RELATED_STYLE, words, RELATED))
        parts += [("t", part.score, part.name) for part in related if part.kind != "word"]
        parts.append(("own", sum(p.score for p in answer.specific if p.score > 0), SPECIFIC))
        parts.append(("all", sum(p.score for p in answer.words if p.score > 0), WORDS))
        parts.append(("titled", sum(p.score for p in answer.in_title if p.score > 0), TITLES))
        others = [part for part in answer.groups if part.name not in _IN_ORDER]
        parts += [("back", part.score, part.name) for part in others]
        most = sum(score for _, score, _ in parts) or 1.0
        return [
            Stretch(style, 100 * score / most, f"{score:.3f} {name}")
            for style, score, name in parts
            if score >= 0.001 * most
        ]

    def _topics(self, parts: Sequence[Part], score: float) -> list[_Item]:
        largest = max([abs(part.score) for part in parts], default=1.0)
        items = []
        for part in parts[:_SHOWN_TOPICS]:
            topic = self.topics[part.name]
            style = self.styles.get(part.name, "t") if part.score > 0 else "against"
            name = one_line(topic.label) or f"topic {topic.number}"
            size = abs(part.score) / largest
            items.append(
                _Item(style, name, _share(part.score, score), ", ".join(topic.words), size)
            )
        more = len(parts) - len(items)
        name = f"{more} other topic{'s' * (more != 1)}"
        return items + _others(parts[_SHOWN_TOPICS:], name, score)

    def _whole(self, text: str, shares: WordShares) -> list[Marked]:
        """Colour a text."""
        shown = text[:_MOST_TEXT]
        pieces = self._marked(shown, self.read([shown]).marks(0, shares), _Scale(shares))
        if len(text) > len(shown):
            pieces.append(Marked(f" … {len(text) - len(shown):,} characters more", "stop"))
        return pieces

    def _marked(self, text: str, marks: Sequence[Mark], scale: _Scale) -> list[Marked]:
        pieces = []
        for piece, mark in _split(text, marks):
            style = scale.style(mark, self.classes, self.both) if mark else ""
            if mark is None or not style:
                pieces.append(Marked(piece))
                continue
            hint = f"{mark.score:.4f}"
            if style.startswith(self.both):
                hint += " as a word that both have"
            elif mark.topic in self.names:
                hint += f", most by {self.names[mark.topic]}"
            pieces.append(Marked(piece, f"w {style}", hint))
        return pieces


class _Scale:
    """How strongly words are coloured: words of both and others each by the strongest of them."""

    def __init__(self, shares: WordShares) -> None:
        self.specific = float(np.abs(shares.specific).max(initial=0.0))
        self.dense = float(np.abs(shares.dense).max(initial=0.0))

    def style(self, mark: Mark, classes: Mapping[int, str], both: str) -> str:
        """Give the style classes of a word, "" for one that is too weak."""
        specific = abs(mark.specific) >= abs(mark.dense)
        largest = self.specific if specific else self.dense
        part = (abs(mark.specific) if specific else abs(mark.dense)) / largest if largest > 0 else 0
        step = sum(part >= least for least in _STEPS) - 1
        if step < 0:
            return ""
        if mark.score < 0:
            return f"against s{step}"
        related = _RELATED_STYLE if mark.topic < 0 else classes.get(mark.topic, "t")
        return f"{both if specific else related} s{step}"


NO_WORDS = WordShares(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.int64))


def _added(sides: Sequence[WordShares]) -> WordShares:
    """Add up what words give to several scores; a word's topic is that of its largest part."""
    terms, specific, dense, topics = (
        np.concatenate(each) for each in zip(NO_WORDS, *sides, strict=True)
    )
    distinct, places = np.unique(terms, return_inverse=True)
    order = np.lexsort((topics, dense))
    strongest = np.full(len(distinct), -1)
    strongest[places[order]] = np.where(dense[order] > 0, topics[order], -1)
    added = WordShares(distinct, np.zeros(len(distinct)), np.zeros(len(distinct)), strongest)
    np.add.at(added.specific, places, specific)
    np.add.at(added.dense, places, dense)
    return added


def _has_groups(part: Part) -> bool:
    return part.kind == "list" and any(inner.kind == "group" for inner in part.parts)


def _related(parts: Sequence[Part], score: float) -> list[_Item]:
    items = []
    rest = [part for part in parts if part.kind == "rest" and part.name in (OTHERS, ROUNDING)]
    for part in parts:
        if part in rest:
            continue
        word = part.kind == "word"
        style = "against" if part.score < 0 else _RELATED_STYLE if word else "t"
        behind = ", ".join(inner.name for inner in part.parts if inner.kind == "word")
        share = _share(part.score, score)
        items.append(_Item(style, part.name, share, f"with {behind}" if behind else ""))
    return items + _others(rest, OTHERS, score)


def _words(parts: Sequence[Part], score: float, *, style: str) -> list[_Item]:
    # Words come by magnitude: after the first that is next to nothing there are only such.
    large = [part.kind == "word" and abs(part.score) >= _LEAST_SHOWN * score for part in parts]
    n = max(sum(large), 1)
    items = [
        _Item(style if part.score > 0 else "against", part.name, _share(part.score, score))
        for part in parts[:n]
    ]
    return items + _others(parts[n:], OTHERS, score)


def _others(parts: Sequence[Part], name: str, score: float) -> list[_Item]:
    """Sum up the parts that are not shown, unless they are rounding."""
    total = sum(part.score for part in parts)
    return [_Item("", name, _share(total, score))] if abs(total) > _ROUNDING else []


def _share(part: float, score: float) -> str:
    """Write a part as a share of the score."""
    if score <= 0:
        return f"{part:.3f}"
    share = part / score
    if 0 < abs(share) < _LEAST_SHOWN:
        return "<1%" if share > 0 else "−<1%"
    return f"{share:.0%}".replace("-", "−")


def _split(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, Mark | None]]:
    end = 0
    for mark in marks:
        if mark.start > end:
            yield text[end : mark.start], None
        yield text[mark.start : mark.stop], mark
        end = mark.stop
    if end < len(text):
        yield text[end:], None


def _fitting(pieces: Sequence[Marked], room: int) -> int:
    """Tell how many pieces fit; all of them if little is left."""
    length = 0
    for i, piece in enumerate(pieces):
        length += len(piece.text)
        if length > room:
            left = sum(len(piece.text) for piece in islice(pieces, i, None))
            return len(pieces) if left < room // 3 else i
    return len(pieces)
