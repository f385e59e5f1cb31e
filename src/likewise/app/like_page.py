"""How do answers to a document look on a page? One file, no scripts, nothing from outside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from likewise.app.page import COLOURED_TOPICS, card, one_line, safe, whole
from likewise.like.passages import Mark, Share, find_marks
from likewise.like.reasons import name_of

if TYPE_CHECKING:
    from likewise.like.passages import Passage
    from likewise.like.reasons import Reasons, TopicReason
    from likewise.text.analysis import Analyzer

_SHOWN_TOPICS = 5
_SHOWN_WORDS = 12
_SHOWN_TERMS = 8
_LEAST_SHOWN = 0.005
# So much of a text is in sight at once, and so much of it is on the page.
_IN_SIGHT = 900
_MOST_TEXT = 40_000
# Steps of strength, by the share of the strongest word of a text; weaker words stay plain.
_STEPS = (0.06, 0.18, 0.4, 0.7)
_RELATED = "t0"

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
    reasons: Reasons


def like_page(
    title: str,
    question_text: str,
    answers: Sequence[LikeAnswer],
    *,
    analyzer: Analyzer,
    about: str = "",
) -> str:
    """Write the answers to a document in hand as an HTML page of its own, best first."""
    sheet = _Sheet(answers, analyzer)
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

    def __init__(self, answers: Sequence[LikeAnswer], analyzer: Analyzer) -> None:
        self.answers = answers
        self.analyzer = analyzer
        self.best = max([answer.reasons.score for answer in answers], default=0.0)
        amounts: dict[int, float] = defaultdict(float)
        self.topics: dict[int, TopicReason] = {}
        for answer in answers:
            for topic in answer.reasons.topics:
                amounts[topic.number] += abs(topic.score)
                self.topics[topic.number] = topic
        order = sorted(amounts, key=lambda number: (-amounts[number], number))
        self.classes = {k: f"t{i}" for i, k in enumerate(order[:COLOURED_TOPICS])}

    def legend(self) -> str:
        items = []
        for number, style in self.classes.items():
            topic = self.topics[number]
            words = ", ".join(topic.words[:4])
            name = f"{topic.label}: {words}" if topic.label else words
            items.append(f'<span class="w {style}">{safe(one_line(name))}</span>')
        if len(self.topics) > len(self.classes):
            items.append('<span class="w t">other topics</span>')
        if any(term.term for a in self.answers for term in a.reasons.terms):
            items.append(f'<span class="w {_RELATED}">related words</span>')
        if any(answer.reasons.own for answer in self.answers):
            items.append('<span class="w own">own words that both have</span>')
        if items:
            items.append("the stronger the colour, the more a word gives to the score")
        return f'<ul class="legend">\n{"".join(f"<li>{i}</li>{_NL}" for i in items)}</ul>\n'

    def hand(self, text: str) -> str:
        """Colour the document in hand by what it has in common with all answers."""
        if not text.strip():
            return ""
        own: dict[str, float] = defaultdict(float)
        compact: dict[str, float] = defaultdict(float)
        topics: dict[str, tuple[float, int]] = {}
        for answer in self.answers:
            for term, share in answer.reasons.question_words.items():
                own[term] += share.own
                compact[term] += share.compact
                topics[term] = max(topics.get(term, (0.0, -1)), (share.compact, share.topic))
        shares = {term: Share(own[term], compact[term], topics[term][1]) for term in own}
        pieces = [*self._pieces(text, shares)]
        first = _fitting(pieces, _IN_SIGHT)
        shown = f'<div class="text">{"".join(html for _, html in pieces[:first])}</div>'
        rest = "".join(html for _, html in pieces[first:])
        if rest:
            rest = f'<div class="text">{rest}</div>'
            shown += f"<details><summary>the rest</summary>{rest}</details>"
        return f"<aside>\n{card('The document in hand', shown)}</aside>\n"

    def answer(self, i: int, question_text: str) -> str:
        answer, reasons = self.answers[i], self.answers[i].reasons
        title = one_line(answer.title) or answer.doc_id
        small = f"<small>{safe(answer.doc_id)}</small>" if title != answer.doc_id else ""
        return "".join(
            [
                '<article class="card answer">\n',
                f'<div class="head"><span class="rank">{i + 1}</span><h3>{safe(title)}</h3>',
                f'<span class="score">{reasons.score:.3f}</span>{small}</div>\n',
                self._bar(reasons),
                self._why(reasons),
                self._passages(reasons),
                self._texts(answer, question_text),
                "</article>\n",
            ]
        )

    def _bar(self, reasons: Reasons) -> str:
        parts = [
            (self.classes[t.number], t.score, name_of(t))
            for t in reasons.topics
            if t.number in self.classes and t.score > 0
        ]
        parts.sort(key=lambda part: part[0])
        other = [t.score for t in reasons.topics if t.number not in self.classes and t.score > 0]
        parts.append(("t", sum(other), "other topics"))
        terms = [term for term in reasons.terms if term.score > 0]
        words = sum(term.score for term in terms if term.term)
        parts.append((_RELATED, words, "related words"))
        parts += [("t", term.score, term.word) for term in terms if not term.term]
        parts.append(("own", sum(w.score for w in reasons.own if w.score > 0), "own words"))
        most = sum(score for _, score, _ in parts) or 1.0
        bars = "".join(
            f'<i class="{style}" style="flex:{100 * score / most:.2f}" '
            f'title="{safe(f"{score:.3f} {name}")}"></i>'
            for style, score, name in parts
            if score >= 0.001 * most
        )
        width = max(reasons.score, 0) / self.best if self.best > 0 else 0.0
        bar = f'<div class="bar" style="width:{width:.1%}">{bars}</div>\n'
        return bar + self._sum(reasons)

    def _sum(self, reasons: Reasons) -> str:
        amounts = [(name, sum(part.score for part in parts)) for name, parts in reasons.by_half()]
        shown = " + ".join(f"{name} <b>{score:.3f}</b>" for name, score in amounts)
        return f'<p class="sum"><b>{reasons.score:.3f}</b> = {shown}</p>\n'

    def _why(self, reasons: Reasons) -> str:
        columns = [self._topics(reasons), self._terms(reasons), _own(reasons)]
        return f'<div class="why">\n{"".join(columns)}</div>\n'

    def _topics(self, reasons: Reasons) -> str:
        if not reasons.topics:
            return ""
        largest = max(abs(topic.score) for topic in reasons.topics)
        items = []
        for topic in reasons.topics[:_SHOWN_TOPICS]:
            style = self.classes.get(topic.number, "t")
            style = style if topic.score > 0 else "against"
            name = one_line(topic.label) or f"topic {topic.number}"
            items.append(
                f'<li class="{style}"><span class="share">{_share(topic.score, reasons)}</span>'
                f'<span><span class="w {style}">{safe(name)}</span> '
                f'<span class="of">{safe(", ".join(topic.words))}</span></span>'
                f'<span class="meter"><i style="width:{abs(topic.score) / largest:.1%}"></i></span>'
                "</li>\n"
            )
        rest = reasons.topics[_SHOWN_TOPICS:]
        if rest:
            score = sum(topic.score for topic in rest)
            items.append(
                f'<li><span class="share">{_share(score, reasons)}</span>'
                f'<span class="of">{len(rest)} other topics</span></li>\n'
            )
        return (
            f'<section><h4>Shared topics</h4><ul class="topics">{"".join(items)}</ul></section>\n'
        )

    def _terms(self, reasons: Reasons) -> str:
        if not reasons.terms:
            return ""
        items = []
        for term in reasons.terms[:_SHOWN_TERMS]:
            style = "against" if term.score < 0 else _RELATED if term.term else "t"
            pairs = ", ".join(pair.word for pair in term.pairs)
            beside = f' <span class="of">with {safe(pairs)}</span>' if pairs else ""
            items.append(
                f'<li><span class="share">{_share(term.score, reasons)}</span>'
                f'<span><span class="w {style}">{safe(term.word)}</span>{beside}</span></li>\n'
            )
        rest = reasons.terms[_SHOWN_TERMS:]
        if rest:
            score = sum(term.score for term in rest)
            items.append(
                f'<li><span class="share">{_share(score, reasons)}</span>'
                f'<span class="of">{len(rest)} other words</span></li>\n'
            )
        return _section("Words in hand, with related ones", "terms", items)

    def _passages(self, reasons: Reasons) -> str:
        sides = [
            ("In the document in hand", reasons.question_passages, reasons.question_words),
            ("In this answer", reasons.passages, reasons.answer_words),
        ]
        shown = [
            f"<section><h4>{name}</h4>{self._quotes(passages, words)}</section>\n"
            for name, passages, words in sides
            if passages
        ]
        return f'<div class="pair">\n{"".join(shown)}</div>\n' if shown else ""

    def _quotes(self, passages: Sequence[Passage], words: Mapping[str, Share]) -> str:
        scale = _Scale(words)
        return "".join(
            f"<blockquote>{''.join(self._marked(p.text, p.marks, scale))}</blockquote>\n"
            for p in passages
        )

    def _texts(self, answer: LikeAnswer, question_text: str) -> str:
        sides = [
            ("The document in hand", question_text, answer.reasons.question_words),
            ("This answer", answer.text, answer.reasons.answer_words),
        ]
        shown = "".join(
            f'<section><h4>{name}</h4><div class="text">'
            f"{''.join(html for _, html in self._pieces(text, words))}</div></section>\n"
            for name, text, words in sides
            if text.strip()
        )
        named = "both texts side by side" if question_text.strip() else "the text"
        return f'<details><summary>{named}</summary><div class="pair">\n{shown}</div></details>\n'

    def _pieces(self, text: str, shares: Mapping[str, Share]) -> Iterator[tuple[str, str]]:
        """Colour a text: its pieces, and these as HTML."""
        shown = text[:_MOST_TEXT]
        marks = find_marks(shown, self.analyzer, shares)
        htmls = self._marked(shown, marks, _Scale(shares))
        for (piece, _), html in zip(_split(shown, marks), htmls, strict=True):
            yield piece, html
        if len(text) > len(shown):
            yield "…", f'<span class="stop"> … {len(text) - len(shown):,} characters more</span>'

    def _marked(self, text: str, marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
        for piece, mark in _split(text, marks):
            style = scale.style(mark.share, self.classes) if mark else ""
            if mark is None or not style:
                yield safe(piece)
                continue
            hint = f"{mark.share.score:.4f}"
            topic = self.topics.get(mark.share.topic)
            if style.startswith("own"):
                hint += " as an own word that both have"
            elif topic:
                hint += f", most by {name_of(topic)}"
            yield f'<span class="w {style}" title="{safe(hint)}">{safe(piece)}</span>'


class _Scale:
    """How strongly words are coloured: own words and others each by the strongest of them."""

    def __init__(self, shares: Mapping[str, Share]) -> None:
        self.own = max([abs(share.own) for share in shares.values()], default=0.0)
        self.compact = max([abs(share.compact) for share in shares.values()], default=0.0)

    def style(self, share: Share, classes: Mapping[int, str]) -> str:
        """Give the style classes of a word, "" for one that is too weak."""
        own = abs(share.own) >= abs(share.compact)
        largest = self.own if own else self.compact
        part = (abs(share.own) if own else abs(share.compact)) / largest if largest > 0 else 0
        step = sum(part >= least for least in _STEPS) - 1
        if step < 0:
            return ""
        if share.score < 0:
            return f"against s{step}"
        kind = "own" if own else _RELATED if share.topic < 0 else classes.get(share.topic, "t")
        return f"{kind} s{step}"


def _section(heading: str, style: str, items: Sequence[str]) -> str:
    listed = f'<ul class="{style}">\n{"".join(items)}</ul>'
    return f"<section><h4>{heading}</h4>{listed}</section>\n"


def _own(reasons: Reasons) -> str:
    heading = "<section><h4>Own words that both have</h4>"
    if not reasons.own:
        return f'{heading}<p class="nothing">none</p></section>\n'
    # Words come by magnitude: after the first that is next to nothing there are only such.
    large = [abs(word.score) >= _LEAST_SHOWN * reasons.score for word in reasons.own]
    n = min(max(sum(large), 1), _SHOWN_WORDS)
    chips = "\n".join(
        f'<span><span class="w {"own" if word.score > 0 else "against"}">{safe(word.word)}</span> '
        f"<small>{_share(word.score, reasons)}</small></span>"
        for word in reasons.own[:n]
    )
    rest = reasons.own[n:]
    if rest:
        score = _share(sum(word.score for word in rest), reasons)
        chips += f"\n<span>{len(rest)} more <small>{score}</small></span>"
    return f'{heading}<div class="chips">\n{chips}\n</div></section>\n'


_NL = "\n"


def _share(part: float, reasons: Reasons) -> str:
    """Write a part as a share of the score."""
    if reasons.score <= 0:
        return f"{part:.3f}"
    share = part / reasons.score
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
