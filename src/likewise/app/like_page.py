"""How do answers to a document look on a page? One file, no scripts, nothing from outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from likewise.app.page import COLOURED_TOPICS, card, one_line, safe, whole
from likewise.like.explain import RELATED, SPECIFIC, TOPICS, VECTORS
from likewise.records import Explanation, Mark, Part, Passage, Topic, WordShares

if TYPE_CHECKING:
    from likewise.like.passages import TextWords

_SHOWN_TOPICS = 5
_SHOWN_WORDS = 12
_SHOWN_TERMS = 8
_LEAST_SHOWN = 0.005
# So much of a text is in sight at once, and so much of it is on the page.
_IN_SIGHT = 900
_MOST_TEXT = 40_000
# Steps of strength, by the share of the strongest word of a text; weaker words stay plain.
_STEPS = (0.06, 0.18, 0.4, 0.7)
_RELATED_STYLE = "t0"

_STYLE = """\
.columns.hand { grid-template-columns: 23rem minmax(0, 1fr); }
.columns.alone { grid-template-columns: minmax(0, 1fr); }
.hand aside .text { padding: 0; font-size: .98rem; line-height: 1.7; }
.hand aside .card { padding: 1.2rem 1.3rem; }
.answers { display: grid; gap: 1.2rem; }
.head {
  display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: .2rem .8rem;
  align-items: baseline;
}
.head h3 { margin: 0; font-size: 1.15rem; line-height: 1.35; overflow-wrap: anywhere; }
.rank, .score { font-variant-numeric: tabular-nums; font-weight: 600; }
.rank { color: var(--faint); font-size: 1.15rem; }
.score { font-size: 1.15rem; }
.head small { grid-column: 2 / 4; color: var(--faint); overflow-wrap: anywhere; }
.answer .bar { margin: .9rem 0 .4rem; height: .8rem; }
.sum { margin: 0 0 1.2rem; font-size: .88rem; color: var(--soft); }
.sum b { color: var(--ink); font-variant-numeric: tabular-nums; }
.why {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr));
  gap: 1.1rem 2rem; margin: 0 0 1.2rem;
}
.why h4, .pair h4 {
  margin: 0 0 .55rem; font-size: .72rem; font-weight: 600; letter-spacing: .06em;
  text-transform: uppercase; color: var(--soft);
}
.why .topics { gap: .6rem; }
.why .topics li, .terms li { font-size: .9rem; }
.why .topics .w, .terms .w { font-weight: 600; }
.topics .of { color: var(--soft); overflow-wrap: anywhere; }
.terms { list-style: none; margin: 0; padding: 0; display: grid; gap: .4rem; }
.terms li { display: grid; grid-template-columns: 3.2rem minmax(0, 1fr); gap: .7rem; }
.terms .share { font-weight: 600; font-variant-numeric: tabular-nums; text-align: right; }
.terms .of { color: var(--soft); }
.pair {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr));
  gap: 1rem 2rem;
}
.pair > * { min-width: 0; }
.answer .text { padding: 0; font-size: .98rem; line-height: 1.7; }
blockquote {
  margin: 0 0 .7rem; padding: 0 0 0 .8rem; border-left: 3px solid var(--line);
  font: .98rem/1.7 Charter, "Bitstream Charter", Georgia, Cambria, serif;
  overflow-wrap: anywhere;
}
details { margin: .8rem 0 0; border-top: 1px solid var(--line); padding: .7rem 0 0; }
summary { cursor: pointer; font-size: .88rem; color: var(--soft); }
summary:hover { color: var(--ink); }
details > .pair, details > .text { margin-top: .9rem; }
.w.own, .chips .w { font-weight: 600; }
.w.s0 { --tint: 5%; border-bottom-color: color-mix(in srgb, var(--c) 35%, transparent); }
.w.s1 { --tint: 12%; border-bottom-color: color-mix(in srgb, var(--c) 60%, transparent); }
.w.s2 { --tint: 22%; }
.w.s3 { --tint: 36%; }
.w.against { --c: var(--back); border-bottom-style: dashed; font-weight: 400; }
.bar .against, .against { --c: var(--back); }
.nothing { color: var(--soft); margin: 0; }
@media (max-width: 64rem) {
  .columns.hand { grid-template-columns: minmax(0, 1fr); }
  .hand aside { position: static; max-height: none; overflow: visible; }
}
@media (max-width: 36rem) {
  main { padding: 1.4rem .9rem 3rem; }
  .card { padding: 1.1rem; }
}
@media print {
  .answers { display: block; }
  .answer { border-top: 1px solid var(--line); padding: .8rem 0 0; }
  .head, .bar, .why li, blockquote { break-inside: avoid; }
  details { display: none; }
}
"""


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

    def _group(self, name: str) -> tuple[Part, ...]:
        return next((part.parts for part in self.explanation.parts if part.name == name), ())


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
    shown = one_line(title)
    heading = f"Like “{shown}”" if shown else "Documents like a text"
    found = f"{len(answers)} answer{'s' * (len(answers) != 1)}"
    cards = "".join(sheet.answer(i, question_text) for i in range(len(answers)))
    return whole(
        heading,
        f'<p class="about">{safe(f"{found}, {about}" if about else found)}</p>\n',
        sheet.legend(),
        f'<div class="columns{" hand" if question_text.strip() else " alone"}">\n',
        sheet.hand(question_text),
        f'<div class="answers">\n{cards or _NOTHING}</div>\n',
        "</div>\n",
        style=_STYLE,
    )


_NOTHING = '<section class="card"><p class="nothing">No document is like it.</p></section>\n'


class _Sheet:
    """What all answers on a page have in common: the colours of topics, and the best score."""

    def __init__(
        self, answers: Sequence[LikeAnswer], read: Callable[[Sequence[str]], TextWords]
    ) -> None:
        self.answers = answers
        self.read = read
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

    def legend(self) -> str:
        items = []
        for name, style in self.styles.items():
            topic = self.topics[name]
            words = ", ".join(topic.words[:4])
            shown = f"{topic.label}: {words}" if topic.label else words
            items.append(f'<span class="w {style}">{safe(one_line(shown))}</span>')
        if self.n_topics > len(self.styles):
            items.append('<span class="w t">other topics</span>')
        if any(part.kind == "word" for answer in self.answers for part in answer.related):
            items.append(f'<span class="w {_RELATED_STYLE}">related words</span>')
        if any(answer.specific for answer in self.answers):
            items.append('<span class="w own">specific words that both have</span>')
        if items:
            items.append("the stronger the colour, the more a word gives to the score")
        return f'<ul class="legend">\n{"".join(f"<li>{i}</li>{_NL}" for i in items)}</ul>\n'

    def hand(self, text: str) -> str:
        """Colour the document in hand by what it has in common with all answers."""
        if not text.strip():
            return ""
        evidence = [answer.explanation.evidence for answer in self.answers]
        pieces = [*self._pieces(text, _added([one.query_words for one in evidence if one]))]
        first = _fitting(pieces, _IN_SIGHT)
        shown = f'<div class="text">{"".join(html for _, html in pieces[:first])}</div>'
        rest = "".join(html for _, html in pieces[first:])
        if rest:
            rest = f'<div class="text">{rest}</div>'
            shown += f"<details><summary>the rest</summary>{rest}</details>"
        return f"<aside>\n{card('The document in hand', shown)}</aside>\n"

    def answer(self, i: int, question_text: str) -> str:
        answer = self.answers[i]
        title = one_line(answer.title) or answer.doc_id
        small = f"<small>{safe(answer.doc_id)}</small>" if title != answer.doc_id else ""
        return "".join(
            [
                '<article class="card answer">\n',
                f'<div class="head"><span class="rank">{i + 1}</span><h3>{safe(title)}</h3>',
                f'<span class="score">{answer.explanation.score:.3f}</span>{small}</div>\n',
                self._bar(answer),
                self._why(answer),
                self._passages(answer.explanation),
                self._texts(answer, question_text),
                "</article>\n",
            ]
        )

    def _bar(self, answer: LikeAnswer) -> str:
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
        most = sum(score for _, score, _ in parts) or 1.0
        bars = "".join(
            f'<i class="{style}" style="flex:{100 * score / most:.2f}" '
            f'title="{safe(f"{score:.3f} {name}")}"></i>'
            for style, score, name in parts
            if score >= 0.001 * most
        )
        score = answer.explanation.score
        width = max(score, 0) / self.best if self.best > 0 else 0.0
        bar = f'<div class="bar" style="width:{width:.1%}">{bars}</div>\n'
        shown = " + ".join(f"{p.name} <b>{p.score:.3f}</b>" for p in _groups(answer.explanation))
        return f'{bar}<p class="sum"><b>{score:.3f}</b> = {shown}</p>\n'

    def _why(self, answer: LikeAnswer) -> str:
        columns = [self._topics(answer), self._related(answer), _specific(answer)]
        return f'<div class="why">\n{"".join(columns)}</div>\n'

    def _topics(self, answer: LikeAnswer) -> str:
        if not answer.topics:
            return ""
        score = answer.explanation.score
        largest = max(abs(part.score) for part in answer.topics)
        items = []
        for part in answer.topics[:_SHOWN_TOPICS]:
            topic = self.topics[part.name]
            style = self.styles.get(part.name, "t") if part.score > 0 else "against"
            name = one_line(topic.label) or f"topic {topic.number}"
            items.append(
                f'<li class="{style}"><span class="share">{_share(part.score, score)}</span>'
                f'<span><span class="w {style}">{safe(name)}</span> '
                f'<span class="of">{safe(", ".join(topic.words))}</span></span>'
                f'<span class="meter"><i style="width:{abs(part.score) / largest:.1%}"></i></span>'
                "</li>\n"
            )
        items += _others(answer.topics[_SHOWN_TOPICS:], "topics", score)
        return (
            f'<section><h4>Shared topics</h4><ul class="topics">{"".join(items)}</ul></section>\n'
        )

    def _related(self, answer: LikeAnswer) -> str:
        if not answer.related:
            return ""
        score = answer.explanation.score
        items = []
        for part in answer.related[:_SHOWN_TERMS]:
            word = part.kind == "word"
            style = "against" if part.score < 0 else _RELATED_STYLE if word else "t"
            behind = ", ".join(inner.name for inner in part.parts if inner.kind == "word")
            beside = f' <span class="of">with {safe(behind)}</span>' if behind else ""
            items.append(
                f'<li><span class="share">{_share(part.score, score)}</span>'
                f'<span><span class="w {style}">{safe(part.name)}</span>{beside}</span></li>\n'
            )
        items += _others(answer.related[_SHOWN_TERMS:], "words", score)
        return _section("Words in hand, with related ones", "terms", items)

    def _passages(self, explanation: Explanation) -> str:
        evidence = explanation.evidence
        if evidence is None:
            return ""
        sides = [
            ("In the document in hand", evidence.query_passages, evidence.query_words),
            ("In this answer", evidence.passages, evidence.answer_words),
        ]
        shown = [
            f"<section><h4>{name}</h4>{self._quotes(passages, words)}</section>\n"
            for name, passages, words in sides
            if passages
        ]
        return f'<div class="pair">\n{"".join(shown)}</div>\n' if shown else ""

    def _quotes(self, passages: Sequence[Passage], words: WordShares) -> str:
        scale = _Scale(words)
        return "".join(
            f"<blockquote>{''.join(self._marked(p.text, p.marks, scale))}</blockquote>\n"
            for p in passages
        )

    def _texts(self, answer: LikeAnswer, question_text: str) -> str:
        evidence = answer.explanation.evidence
        sides = [
            ("The document in hand", question_text, evidence.query_words if evidence else NO_WORDS),
            ("This answer", answer.text, evidence.answer_words if evidence else NO_WORDS),
        ]
        shown = "".join(
            f'<section><h4>{name}</h4><div class="text">'
            f"{''.join(html for _, html in self._pieces(text, words))}</div></section>\n"
            for name, text, words in sides
            if text.strip()
        )
        named = "both texts side by side" if question_text.strip() else "the text"
        return f'<details><summary>{named}</summary><div class="pair">\n{shown}</div></details>\n'

    def _pieces(self, text: str, shares: WordShares) -> Iterator[tuple[str, str]]:
        """Colour a text: its pieces, and these as HTML."""
        shown = text[:_MOST_TEXT]
        marks = self.read([shown]).marks(0, shares)
        htmls = self._marked(shown, marks, _Scale(shares))
        for (piece, _), html in zip(_split(shown, marks), htmls, strict=True):
            yield piece, html
        if len(text) > len(shown):
            yield "…", f'<span class="stop"> … {len(text) - len(shown):,} characters more</span>'

    def _marked(self, text: str, marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
        for piece, mark in _split(text, marks):
            style = scale.style(mark, self.classes) if mark else ""
            if mark is None or not style:
                yield safe(piece)
                continue
            hint = f"{mark.score:.4f}"
            if style.startswith("own"):
                hint += " as a specific word that both have"
            elif mark.topic in self.names:
                hint += f", most by {self.names[mark.topic]}"
            yield f'<span class="w {style}" title="{safe(hint)}">{safe(piece)}</span>'


class _Scale:
    """How strongly words are coloured: specific words and others each by the strongest of them."""

    def __init__(self, shares: WordShares) -> None:
        self.specific = float(np.abs(shares.specific).max(initial=0.0))
        self.dense = float(np.abs(shares.dense).max(initial=0.0))

    def style(self, mark: Mark, classes: Mapping[int, str]) -> str:
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
        return f"{'own' if specific else related} s{step}"


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


def _groups(explanation: Explanation) -> list[Part]:
    """Give the groups of parts in one order for all answers."""
    order = {name: i for i, name in enumerate((TOPICS, RELATED, VECTORS, SPECIFIC))}
    return sorted(explanation.parts, key=lambda part: order.get(part.name, len(order)))


def _others(parts: Sequence[Part], what: str, score: float) -> list[str]:
    """Sum up the parts that are not shown."""
    if not parts:
        return []
    share = _share(sum(part.score for part in parts), score)
    return [
        f'<li><span class="share">{share}</span>'
        f'<span class="of">{len(parts)} other {what}</span></li>\n'
    ]


def _section(heading: str, style: str, items: Sequence[str]) -> str:
    listed = f'<ul class="{style}">\n{"".join(items)}</ul>'
    return f"<section><h4>{heading}</h4>{listed}</section>\n"


def _specific(answer: LikeAnswer) -> str:
    heading = "<section><h4>Specific words that both have</h4>"
    parts, score = answer.specific, answer.explanation.score
    if not parts:
        return f'{heading}<p class="nothing">none</p></section>\n'
    # Words come by magnitude: after the first that is next to nothing there are only such.
    large = [abs(part.score) >= _LEAST_SHOWN * score for part in parts]
    n = min(max(sum(large), 1), _SHOWN_WORDS)
    chips = "\n".join(
        f'<span><span class="w {"own" if part.score > 0 else "against"}">{safe(part.name)}</span> '
        f"<small>{_share(part.score, score)}</small></span>"
        for part in parts[:n]
    )
    if parts[n:]:
        rest = _share(sum(part.score for part in parts[n:]), score)
        chips += f"\n<span>{len(parts) - n} more <small>{rest}</small></span>"
    return f'{heading}<div class="chips">\n{chips}\n</div></section>\n'


_NL = "\n"


def _share(part: float, score: float) -> str:
    """Write a part as a share of the score."""
    if score <= 0:
        return f"{part:.3f}"
    share = part / score
    if 0 < abs(share) < _LEAST_SHOWN:
        return "&lt;1%" if share > 0 else "&minus;&lt;1%"
    return f"{share:.0%}".replace("-", "&minus;")


def _split(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, Mark | None]]:
    end = 0
    for mark in marks:
        if mark.start > end:
            yield text[end : mark.start], None
        yield text[mark.start : mark.stop], mark
        end = mark.stop
    if end < len(text):
        yield text[end:], None


def _fitting(pieces: Sequence[tuple[str, str]], room: int) -> int:
    """Tell how many pieces fit; all of them if little is left."""
    length = 0
    for i, (piece, _) in enumerate(pieces):
        length += len(piece)
        if length > room:
            left = sum(len(p) for p, _ in islice(pieces, i, None))
            return len(pieces) if left < room // 3 else i
    return len(pieces)
