"""How does a decomposed text look on a page? One file, no scripts, nothing from outside."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from likewise.models.token_labels import Kind, harmless

if TYPE_CHECKING:
    from likewise.models.token_labels import Decomposition, Piece, TopicPart

COLOURED_TOPICS = 4

# The colours are Okabe and Ito's, which stay apart for the colour-blind; lines differ as well.
STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #fff; --ink: #1d2129; --soft: #5c6470; --faint: #8d949f;
  --line: #e4e1da; --t0: #0072b2; --t1: #009e73; --t2: #b3568f; --t3: #3a9bd9; --t: #7a86c2;
  --own: #d55e00; --back: #b9bec6; --tint: 13%;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --card: #1b1e24; --ink: #e6e8ec; --soft: #a0a8b4; --faint: #7b838f;
    --line: #2c313a; --t0: #4aa8e0; --t1: #2fc59a; --t2: #e08fc0; --t3: #8fd0f5; --t: #9aa5e0;
    --own: #ff9a4d; --back: #565d69; --tint: 20%;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 74rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 {
  font-size: .75rem; font-weight: 600; letter-spacing: .07em; text-transform: uppercase;
  color: var(--soft); margin: 0 0 .8rem;
}
.about { color: var(--soft); margin: 0 0 1.6rem; }
.bar { display: flex; gap: 2px; height: 1.1rem; border-radius: .3rem; overflow: hidden; }
.bar i { min-width: 2px; background: var(--c); }
.legend {
  display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin: .8rem 0 2rem; padding: 0;
  list-style: none; font-size: .9rem; color: var(--soft);
}
.legend b { color: var(--ink); font-variant-numeric: tabular-nums; }
.columns {
  display: grid; grid-template-columns: minmax(0, 1fr) 20rem; gap: 1.5rem; align-items: start;
}
.card {
  padding: 1.4rem; background: var(--card); border: 1px solid var(--line); border-radius: .7rem;
}
.text {
  padding: 1.6rem 1.9rem; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4;
  font: 1.06rem/1.9 Charter, "Bitstream Charter", Georgia, Cambria, serif;
}
aside {
  position: sticky; top: 1rem; display: grid; gap: 1rem;
  max-height: calc(100vh - 2rem); overflow: auto;
}
.w {
  color: inherit; border-radius: .2em; padding: .1em .05em; margin: 0 -.05em;
  background: color-mix(in srgb, var(--c) var(--tint), transparent);
  border-bottom: 2px solid var(--c);
  -webkit-box-decoration-break: clone; box-decoration-break: clone;
}
.own { --c: var(--own); font-weight: 700; }
.t { --c: var(--t); }
.t0 { --c: var(--t0); }
.t1 { --c: var(--t1); }
.t2 { --c: var(--t2); }
.t3 { --c: var(--t3); }
.w.t { border-bottom-style: dotted; }
.w.t1 { border-bottom-style: dashed; }
.w.t2 { border-bottom-style: double; border-bottom-width: 4px; }
.w.t3 { border-bottom-style: dotted; border-bottom-width: 3px; }
.back { --c: var(--back); }
.text .back { color: var(--soft); }
.stop { color: var(--faint); }
.topics { list-style: none; margin: 0; padding: 0; display: grid; gap: .9rem; }
.topics li {
  display: grid; grid-template-columns: 3.2rem 1fr; gap: .4rem .7rem; font-size: .92rem;
}
.topics .share { font-weight: 600; font-variant-numeric: tabular-nums; text-align: right; }
.topics .meter { grid-column: 2; height: .3rem; border-radius: .15rem; background: var(--line); }
.topics .meter i {
  display: block; height: 100%; min-width: 2px; border-radius: inherit; background: var(--c);
}
.topics .name { color: var(--soft); }
.topics .w { font-weight: 600; }
.chips { display: flex; flex-wrap: wrap; gap: .45rem .75rem; font-size: .92rem; }
.chips small { color: var(--soft); font-weight: 400; font-variant-numeric: tabular-nums; }
@supports selector(:has(*)) {
  .columns:has(.topics .t0:hover) .text .w:not(.t0),
  .columns:has(.topics .t1:hover) .text .w:not(.t1),
  .columns:has(.topics .t2:hover) .text .w:not(.t2),
  .columns:has(.topics .t3:hover) .text .w:not(.t3),
  .columns:has(.chips:hover) .text .w:not(.own) { background: none; border-color: transparent; }
}
@media (max-width: 56rem) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  aside { position: static; max-height: none; overflow: visible; }
  .text { padding: 1.2rem 1.3rem; }
}
@media print {
  :root { color-scheme: light; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { background: none; font-size: 10.5pt; }
  main { padding: 0; max-width: none; }
  .text { line-height: 1.7; }
  .columns { display: block; }
  .card { border: 0; padding: 0; margin: 0 0 1rem; background: none; }
  aside { display: block; position: static; max-height: none; overflow: visible; }
  .topics li { break-inside: avoid; }
}
"""


def page(decomposition: Decomposition, *, title: str = "") -> str:
    """Write a decomposition as an HTML page of its own."""
    numbers = [topic.number for topic in decomposition.topics[:COLOURED_TOPICS]]
    classes = {number: f"t{i}" for i, number in enumerate(numbers)}
    names = {topic.number: _name(topic) for topic in decomposition.topics}
    text = marked(decomposition.pieces, classes, names)
    shown = one_line(title) or "Decomposition of a text"
    return whole(
        shown,
        f'<p class="about">What it is made of, by the model {safe(decomposition.model)}</p>\n',
        _bar(decomposition, classes),
        _legend(decomposition),
        '<div class="columns">\n',
        f'<article class="card text">{text}</article>\n',
        f"<aside>\n{_topics(decomposition, classes)}{_own(decomposition)}</aside>\n",
        "</div>\n",
    )


def whole(title: str, *content: str, style: str = "") -> str:
    """Write a page of its own: `content` is HTML, the title is not; `style` adds to that of all."""
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{safe(title)}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n",
            f"<body>\n<main>\n<h1>{safe(title)}</h1>\n",
            *content,
            "</main>\n</body>\n</html>\n",
        ]
    )


def marked(
    pieces: tuple[Piece, ...],
    classes: dict[int, str] | None = None,
    names: dict[int, str] | None = None,
) -> str:
    """Mark the words of a text by kind; without the tags it is the text, escaped.

    `classes` are the style classes of topics that have one of their own, `names` what the
    tooltip of a topic says.
    """
    classes, names = classes or {}, names or {}
    out = []
    for piece in pieces:
        text = safe(piece.text)
        if piece.kind is Kind.STOP:
            out.append(f'<span class="stop">{text}</span>')
        elif piece.kind is None or piece.route is None:
            out.append(text)
        else:
            route = piece.route
            parts = (
                f"topic {route.topic:.0%}, own {route.own:.0%}, background {route.background:.0%}"
            )
            if piece.kind is Kind.TOPIC:
                name = names.get(route.number, f"topic {route.number}")
                hint, style = f"{name}\n{parts}", f"w {classes.get(route.number, 't')}"
            elif piece.kind is Kind.OWN:
                hint, style = f"a word of its own\n{parts}", "w own"
            else:
                hint, style = f"background\n{parts}", "back"
            out.append(f'<span class="{style}" title="{safe(hint)}">{text}</span>')
    return "".join(out)


def _name(topic: TopicPart) -> str:
    label = f"topic {topic.number}" + (f", {topic.label}" if topic.label else "")
    return f"{label}: {', '.join(topic.words)}"


def _bar(decomposition: Decomposition, classes: dict[int, str]) -> str:
    _, own, background = decomposition.shares
    pieces = [
        (classes[t.number], t.share, _name(t)) for t in decomposition.topics if t.number in classes
    ]
    pieces.append(("t", decomposition.shares[0] - sum(p[1] for p in pieces), "other topics"))
    pieces += [("own", own, "words of its own"), ("back", background, "background")]
    bars = "".join(
        f'<i class="{style}" style="flex:{share:.4f}" title="{safe(f"{share:.0%} {name}")}"></i>'
        for style, share, name in pieces
        if share >= 0.0005
    )
    return f'<div class="bar">{bars}</div>\n'


def _legend(decomposition: Decomposition) -> str:
    topic, own, background = decomposition.shares
    return (
        '<ul class="legend">\n'
        f'<li><span class="w t0">topics</span> <b>{topic:.0%}</b>, a colour and line each</li>\n'
        f'<li><span class="w own">words of its own</span> <b>{own:.0%}</b></li>\n'
        f"<li>background <b>{background:.0%}</b>, plain</li>\n"
        '<li><span class="stop">stop words</span>, not counted</li>\n'
        "</ul>\n"
    )


def _topics(decomposition: Decomposition, classes: dict[int, str]) -> str:
    largest = max([t.share for t in decomposition.topics], default=1) or 1
    items = []
    for topic in decomposition.topics:
        style = classes.get(topic.number, "t")
        name = safe(f"topic {topic.number}" + (f" · {topic.label}" if topic.label else ""))
        items.append(
            f'<li class="{style}"><span class="share">{topic.share:.1%}</span>'
            f'<span><span class="w {style}">{name}</span><br>'
            f"{safe(', '.join(topic.words))}</span>"
            f'<span class="meter"><i style="width:{topic.share / largest:.1%}"></i></span></li>\n'
        )
    rest = decomposition.shares[0] - sum(t.share for t in decomposition.topics)
    if rest >= 0.005:
        items.append(
            f'<li class="t"><span class="share">{rest:.1%}</span>'
            '<span class="name">all other topics</span></li>\n'
        )
    return card("Topics", f'<ul class="topics">\n{"".join(items)}</ul>')


def _own(decomposition: Decomposition) -> str:
    if not decomposition.own:
        return ""
    chips = "\n".join(
        f'<span><span class="w own">{safe(word.word)}</span> '
        f"<small>{word.weight:.1%}</small></span>"
        for word in decomposition.own
    )
    return card("Words of its own", f'<div class="chips">\n{chips}\n</div>')


def card(heading: str, content: str) -> str:
    """Put content, which is HTML, in a card with a heading."""
    return f'<section class="card"><h2>{heading}</h2>{content}</section>\n'


def safe(text: str) -> str:
    """Make text harmless within HTML, attributes included."""
    return escape(harmless(text), quote=True)


def one_line(text: str) -> str:
    """Turn white space runs into spaces."""
    return " ".join(text.split())
