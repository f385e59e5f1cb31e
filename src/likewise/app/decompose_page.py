"""The page of a decomposed text: its topics, its specific words, and where each word comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from likewise.models.token_labels import Kind
from likewise.show.page import COLOURED_TOPICS, Marked, Stretch, render
from likewise.show.text import one_line

if TYPE_CHECKING:
    from likewise.models.token_labels import Decomposition, TopicPart


def decompose_page(decomposition: Decomposition, *, title: str = "") -> str:
    """Write a decomposition as an HTML page of its own."""
    topics = decomposition.topics
    styles = {topic.number: f"t{i}" for i, topic in enumerate(topics[:COLOURED_TOPICS])}
    return render(
        "decompose.html",
        title=one_line(title) or "Decomposition of a text",
        about=f"What it is made of, by the model {decomposition.model}",
        parts=decomposition,
        styles=styles,
        stretches=_bar(decomposition, styles),
        pieces=_marked(decomposition, styles),
        largest=max([topic.share for topic in topics], default=1) or 1,
        rest=decomposition.shares[0] - sum(topic.share for topic in topics),
    )


def _marked(decomposition: Decomposition, styles: Mapping[int, str]) -> Iterator[Marked]:
    """Mark the words of the text by kind; tooltips say what they are made of."""
    names = {topic.number: _name(topic) for topic in decomposition.topics}
    for text, kind, route in decomposition.pieces:
        if kind is Kind.STOP:
            yield Marked(text, "stop")
        elif kind is None or route is None:
            yield Marked(text)
        else:
            parts = (
                f"topic {route.topic:.0%}, own {route.own:.0%}, background {route.background:.0%}"
            )
            if kind is Kind.TOPIC:
                name = names.get(route.number, f"topic {route.number}")
                yield Marked(text, f"w {styles.get(route.number, 't')}", f"{name}\n{parts}")
            elif kind is Kind.OWN:
                yield Marked(text, "w own", f"a word of its own\n{parts}")
            else:
                yield Marked(text, "back", f"background\n{parts}")


def _name(topic: TopicPart) -> str:
    label = f"topic {topic.number}" + (f", {topic.label}" if topic.label else "")
    return f"{label}: {', '.join(topic.words)}"


def _bar(decomposition: Decomposition, styles: Mapping[int, str]) -> list[Stretch]:
    topical, own, background = decomposition.shares
    parts = [
        (styles[topic.number], topic.share, _name(topic))
        for topic in decomposition.topics
        if topic.number in styles
    ]
    parts.append(("t", topical - sum(share for _, share, _ in parts), "other topics"))
    parts += [("own", own, "words of its own"), ("back", background, "background")]
    return [
        Stretch(style, share, f"{share:.0%} {name}")
        for style, share, name in parts
        if share >= 0.0005
    ]
