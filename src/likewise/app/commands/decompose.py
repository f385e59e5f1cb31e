"""topics, decompose: what is a collection made of, and what a document?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.options import (
    Commands,
    add_document,
    add_json,
    command,
    positive,
    print_json,
    whole,
)
from likewise.app.texts import read_document, write_text
from likewise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from likewise.models.token_labels import Decomposition
    from likewise.models.topic_summary import Survey, TopicDescription, Word

_TOPICS_MANUAL = """\
Share is the topic's part of all words of the collection; coherence is the mean NPMI of the first
ten words, from -1 (they never meet in a document) to 1 (they never part). An axis of a space such
as lsi has two poles, whose words are told apart by + and -. Topics are numbered from 0.

The words of the table are the distinctive ones: likely in the topic, and likelier than elsewhere
(relevance, Sievert and Shirley 2014, lambda 0.6). --topic shows the likeliest as well.

examples:
  likewise topics papers.lw                         every topic, a line each
  likewise topics papers.lw --sort coherence --words 6
  likewise topics papers.lw --topic 3 17            more about two of them
"""

_DECOMPOSE_MANUAL = """\
A document is topics, words of its own, and background. --colour shows it word by word: topics
blue, specific words bold and yellow, background plain, stop words dim. It colours terminals only,
unless FORCE_COLOR is set in the environment.

examples:
  likewise decompose papers.lw --id 1999-17
  likewise decompose papers.lw --doc draft.txt --html draft.html
  likewise decompose papers.lw --text "flutter of swept wings" --colour
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    topics = command(commands, "topics", _topics, manual=_TOPICS_MANUAL)
    topics.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    _add_model(topics)
    topics.add_argument(
        "--words", type=positive, default=10, metavar="N", help="words of a topic (default 10)"
    )
    topics.add_argument(
        "--topic", type=whole, nargs="+", default=[], metavar="K", help="more about these topics"
    )
    topics.add_argument(
        "--sort", choices=("share", "coherence"), help="the largest first (default: by number)"
    )
    topics.add_argument(
        "--threads", type=whole, default=0, metavar="N", help="threads (default: all cores)"
    )
    add_json(topics)

    parts = command(
        commands,
        "decompose",
        _decompose,
        manual=_DECOMPOSE_MANUAL,
    )
    parts.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    add_document(parts)
    _add_model(parts)
    parts.add_argument(
        "--words", type=positive, default=15, metavar="N", help="specific words (default 15)"
    )
    parts.add_argument("--html", type=Path, metavar="FILE", help="write the text as a page")
    parts.add_argument(
        "--colour", "--color", action="store_true", help="show the text, coloured by kind of word"
    )
    add_json(parts)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="NAME", help="the model (default: the last one fitted)")


# topics


def _topics(options: argparse.Namespace) -> None:
    from likewise.collection.snapshot import open_snapshot
    from likewise.models.kinds import load_model
    from likewise.models.topic_summary import describe, survey

    snapshot = open_snapshot(options.collection)
    model = load_model(snapshot, options.model)
    _ = model.word_weights
    beyond = [k for k in options.topic if k >= model.width]
    if beyond:
        raise UsageError(
            f"no topic {beyond[0]} in the model {model.name}: its topics are 0 to {model.width - 1}"
        )
    threads = options.threads or os.cpu_count() or 1
    seen = survey(model, snapshot, threads=threads)
    described = describe(model, snapshot, words=options.words, threads=threads, surveyed=seen)
    numbers = dict.fromkeys(options.topic) or range(model.width)
    chosen = [described[k] for k in numbers]
    if options.sort:
        chosen = sorted(chosen, key=lambda topic: -getattr(topic, options.sort))
    if options.json:
        print_json(_as_json(model.name, seen, chosen))
    elif options.topic:
        print("\n\n".join(_details(topic, described) for topic in chosen))
    else:
        topical, own, background = seen.routes.tolist()
        what = "axes" if model.kind == "subspace" else "topics"
        print(
            f"{model.name}: {model.width} {what}; documents are {topical:.1%} topical, "
            f"{own:.1%} their own, {background:.1%} background\n"
        )
        print(_table(chosen))


def _as_json(name: str, seen: Survey, chosen: Sequence[TopicDescription]) -> dict[str, Any]:
    routes = dict(zip(("topic", "own", "background"), seen.routes.tolist(), strict=True))
    return {"model": name, "shares": routes, "topics": [_topic_json(topic) for topic in chosen]}


def _topic_json(topic: TopicDescription) -> dict[str, Any]:
    values: dict[str, Any] = {
        "number": topic.number,
        "label": topic.label,
        "share": topic.share,
        "coherence": topic.coherence,
    }
    for name in ("words", "distinctive", "opposite", "nearest", "documents"):
        values[name] = [part._asdict() for part in getattr(topic, name)]
    return values | {"pole_coherence": list(topic.pole_coherence)}


def _table(topics: Sequence[TopicDescription]) -> str:
    from likewise.show.table import align
    from likewise.show.text import shorten

    labelled = any(topic.label for topic in topics)
    label = ["label"] if labelled else []
    rows = [["", "share", "coherence", *label, "words"]]
    for topic in topics:
        label = [shorten(topic.label, 28)] if labelled else []
        first = [str(topic.number), f"{topic.share:6.2%}", f"{topic.coherence:9.3f}", *label]
        if topic.opposite:
            rows.append([*first, "+ " + _words(topic.words)])
            rows.append([*[""] * len(first), "- " + _words(topic.opposite)])
        else:
            rows.append([*first, _words(topic.distinctive or topic.words)])
    width = shutil.get_terminal_size((120, 24)).columns
    return "\n".join(align(rows, ">>><<" if labelled else ">>><", width=width, least=40))


def _details(topic: TopicDescription, described: Sequence[TopicDescription]) -> str:
    from likewise.show.text import one_line, shorten

    label = f" ({one_line(topic.label)})" if topic.label else ""
    axis = bool(topic.pole_coherence)
    what, whole = ("axis", "squared singular values") if axis else ("topic", "words")
    lines = [
        f"{what} {topic.number}{label}: {topic.share:.2%} of the {whole}, "
        f"coherence {topic.coherence:.3f}"
    ]
    if axis:
        lines += [
            f"  positive    {_weighed(topic.words)}",
            f"  negative    {_weighed(topic.opposite) or '-'}",
        ]
    else:
        lines += [
            f"  likeliest   {_weighed(topic.words)}",
            f"  distinctive {_words(topic.distinctive)}",
        ]
    for i, near in enumerate(topic.nearest):
        words = _words(described[near.number].words[:6])
        start = "nearest" if i == 0 else ""
        lines.append(f"  {start:<11} {near.distance:.3f}  topic {near.number}: {words}")
    for i, example in enumerate(topic.documents):
        start = "documents" if i == 0 else ""
        title = f"{one_line(example.doc_id)}  {shorten(example.title, 72)}"
        lines.append(f"  {start:<11} {example.weight:6.1%} {title}")
    return "\n".join(lines)


def _words(words: Sequence[Word]) -> str:
    return ", ".join(word.word for word in words)


def _weighed(words: Sequence[Word]) -> str:
    return ", ".join(f"{word.word} {word.weight:.3f}" for word in words)


# decompose


def _decompose(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    collection = Collection(options.collection)
    how: dict[str, Any] = {"model": options.model or "", "words": options.words}
    title = ""
    if options.id is not None:
        parts = collection.models.decompose(options.id, **how)
        title = collection[options.id].title or options.id
    elif options.doc is not None:
        parts = collection.models.decompose(text=read_document(options.doc), **how)
        title = "" if options.doc == "-" else Path(options.doc).name
    else:
        parts = collection.models.decompose(text=options.text, **how)
    if options.html:
        from likewise.app.decompose_page import decompose_page

        write_text(options.html, decompose_page(parts, title=title))
    if options.json:
        print_json(_parts_json(parts, title))
        return
    print(_summary(parts, title))
    if options.colour:
        print("\n" + _coloured(parts))
    if options.html:
        print(f"likewise: the page is in {options.html}", file=sys.stderr)


def _parts_json(parts: Decomposition, title: str) -> dict[str, Any]:
    from likewise.show.text import harmless

    return {
        "model": parts.model,
        "title": harmless(title),
        "shares": dict(zip(("topic", "own", "background"), parts.shares, strict=True)),
        "topics": [vars(topic) for topic in parts.topics],
        "own": [word._asdict() for word in parts.own],
        "terms": [
            {"term": term, "count": parts.counts[term], "kind": str(route.kind)}
            | {"topic": route.topic, "own": route.own, "background": route.background}
            | {"number": route.number}
            for term, route in parts.routes.items()
        ],
    }


def _summary(parts: Decomposition, title: str) -> str:
    from likewise.show.text import display_width, one_line, pad, shorten

    topical, own, background = parts.shares
    lines = [shorten(title, 100)] if title else []
    lines += [f"by the model {parts.model}", "", f"topics {topical:.1%}"]
    for topic in parts.topics:
        label = f"{one_line(topic.label)}: " if topic.label else ""
        lines.append(
            f"  {topic.share:6.1%}  topic {topic.number:<4} {label}{', '.join(topic.words)}"
        )
    rest = topical - sum(topic.share for topic in parts.topics)
    if parts.topics and rest >= 0.0005:
        lines.append(f"  {rest:6.1%}  all others")
    lines += ["", f"words of its own {own:.1%}"]
    width = max([display_width(word.word) for word in parts.own], default=0)
    cells = [f"{word.weight:6.1%}  {pad(word.word, width)}" for word in parts.own]
    columns = max(min(96 // (width + 10), 5), 1)
    n_rows = -(-len(cells) // columns)
    lines += [("  " + "  ".join(cells[row::n_rows])).rstrip() for row in range(n_rows)]
    return "\n".join([*lines, "", f"background {background:.1%}"])


def _coloured(parts: Decomposition) -> str:
    from likewise.models.token_labels import to_ansi
    from likewise.show.text import harmless

    forced = bool(os.environ.get("FORCE_COLOR"))
    if forced or (sys.stdout.isatty() and not os.environ.get("NO_COLOR")):
        return to_ansi(parts.pieces)
    print(
        "likewise: no colours, standard output is not a terminal; set FORCE_COLOR=1 to have them",
        file=sys.stderr,
    )
    return harmless(parts.text)
