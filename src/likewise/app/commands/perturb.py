"""perturb: which words move together as a query changes?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.app.figures import add_figure, check_figure, draw_figure, say
from likewise.app.options import (
    Commands,
    add_json,
    add_shared,
    command,
    positive,
    print_json,
    spoken,
)
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.collection import Collection
    from likewise.expand.perturb import Perturbed

_MANUAL = """\
The query is asked again, each time without one of its words (loo, leave one out) or with one
alone (tat, a term at a time). A word's co-ordinates say how its probability in the first
documents, p, answers each time: below 0 it becomes less likely. Words that answer alike are alike
in the context of the query; the distance is the square of that between co-ordinates. The words
shown are those of the query that change (*) and the strongest others, by p and rarity.

A query of one word has nothing to leave out: it is asked together with each of its four strongest
feedback words. Of a query of more than eight words the eight weightiest are perturbed.

The figure has the first two co-ordinates on signed-log axes. It is written to perturb.svg and
perturb.png unless --plot gives another name.

examples:
  likewise perturb news.lw "japanese wave"
  likewise perturb news.lw "japanese wave" --near tsunami --no-plot
  likewise perturb news.lw "japanese wave" --strategy tat --plot wave.svg
"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "perturb",
        _perturb,
        manual=_MANUAL,
    )
    parser.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    parser.add_argument("query", nargs="+", metavar="WORDS", help="the query")
    parser.add_argument(
        "--strategy", choices=("loo", "tat"), default="loo", help="how it changes (default loo)"
    )
    parser.add_argument("--near", metavar="WORD", help="the words nearest to this one")
    parser.add_argument(
        "--words", type=positive, default=20, metavar="N", help="words shown (default 20)"
    )
    parser.add_argument(
        "--docs", type=positive, default=50, metavar="N", help="documents each (default 50)"
    )
    add_shared(parser, "method", method="bm25")
    add_figure(parser, "perturb")
    add_json(parser)


class _Row(NamedTuple):
    """A word in the context of the query; `other` is the word that the distance is to."""

    term: str
    word: str
    asked: bool
    p: float
    coordinates: list[float]
    other: str
    distance: float | None


class _Report(NamedTuple):
    """What is shown: the perturbations by name, words, and what was not done as asked for."""

    labels: list[str]
    rows: list[_Row]
    note: str


def _perturb(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    check_figure(options)
    query = spoken(options.query)
    report = _report(Collection(options.collection), query, options)
    figure = draw_figure(options, lambda to: _draw(report, query, to))
    if report.note:
        say(options, report.note)
    if options.json:
        print_json(_as_json(report, query, options))
    else:
        print(_table(report, options))
    figure.tell(options)


def _report(collection: Collection, query: str, options: argparse.Namespace) -> _Report:
    import numpy as np

    from likewise.models.surface_forms import readable_terms, surface_words

    found = _found(collection, query, options)
    pool = found.pool
    if options.near is None:
        own = [column for column in found.terms.tolist() if pool.query[column] > 0]
        columns = [*own, *found.strongest(options.words).tolist()]
        others, distances = _nearest(found, columns, len(own))
    else:
        # The word itself, then the nearest to it.
        near = found.nearest(options.near, options.words)
        columns = [found.find(options.near), *(found.find(term) for term, _ in near)]
        others = [-1, *([columns[0]] * len(near))]
        distances = [None, *(distance for _, distance in near)]
    shown = np.array(columns)
    names = pool.names(shown)
    perturbed = pool.names(found.terms)
    words = readable_terms(collection.snapshot, [*names, *perturbed])
    # What was typed stays as it was typed.
    words |= surface_words([query], collection.snapshot.analyzer)
    other_words = {c: words[name] for c, name in zip(columns, names, strict=True)} | {-1: ""}
    rows = [
        _Row(name, words[name], asked, p, coordinates, other_words[other], distance)
        for name, asked, p, coordinates, other, distance in zip(
            names,
            (pool.query[shown] > 0).tolist(),
            found.models[0, shown].tolist(),
            found.features(shown).tolist(),
            others,
            distances,
            strict=True,
        )
    ]
    labels = _labels(found, [words[term] for term in perturbed], options.strategy)
    note = found.note
    if 0 < len(labels) < len(perturbed):
        note = (
            f"one word has no perturbation: '{words[perturbed[0]]}' is asked "
            f"{', '.join(labels)}, one at a time"
        )
    return _Report(labels, rows, note)


def _found(collection: Collection, query: str, options: argparse.Namespace) -> Perturbed:
    if not collection.snapshot.analyzer.counts(query):
        raise UsageError(f"the query {query!r} holds no word that is searched for")
    found = collection.terms.perturb(
        query, options.strategy, docs=options.docs, method=options.method
    )
    if len(found.pool.docs) == 0:
        raise UsageError(f"the query {query!r} cannot be perturbed: {found.note}")
    return found


def _nearest(
    found: Perturbed, columns: list[int], n_own: int
) -> tuple[list[int], list[float | None]]:
    """Give for each word the nearest term of the query (the first columns) and its distance.

    A term of the query has the nearest of the others; -1 is none.
    """
    import numpy as np

    distances = found.distances(np.array(columns))[:, :n_own]
    np.fill_diagonal(distances, np.inf)
    places = np.argmin(distances, axis=1)
    least = distances[np.arange(len(columns)), places].tolist()
    others = [
        columns[place] if gap < np.inf else -1
        for place, gap in zip(places.tolist(), least, strict=True)
    ]
    return others, [gap if gap < np.inf else None for gap in least]


def _labels(found: Perturbed, words: Sequence[str], strategy: str) -> list[str]:
    """Say in plain words what each perturbation is."""
    n = len(found.weights)
    if n < len(words):
        return [f"with '{word}'" for word in words[len(words) - n :]]
    return [f"{'without' if strategy == 'loo' else 'only'} '{word}'" for word in words]


def _as_json(report: _Report, query: str, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "query": query,
        "method": options.method,
        "strategy": options.strategy,
        "docs": options.docs,
        "note": report.note,
        "perturbations": report.labels,
        "near": options.near,
        "words": [row._asdict() for row in report.rows],
    }


def _table(report: _Report, options: argparse.Namespace) -> str:
    from likewise.show.table import align
    from likewise.show.text import shorten

    lines = [f"{i:3}  {label}" for i, label in enumerate(report.labels, 1)]
    numbers = [f"{i:8}" for i in range(1, len(report.labels) + 1)]
    rows = [["  word", "p", *numbers, "distance", "to"]]
    for row in report.rows:
        coordinates = [f"{value:+8.3g}" for value in row.coordinates]
        gap = ("-", "") if row.distance is None else (f"{row.distance:9.3g}", row.other)
        star = "*" if row.asked else " "
        rows.append([f"{star} {shorten(row.word, 32)}", f"{row.p:8.5f}", *coordinates, *gap])
    return "\n".join([*lines, "", *align(rows, "<" + ">" * (len(rows[0]) - 2) + "<")])


def _draw(report: _Report, query: str, to: Path) -> list[Path]:
    import numpy as np

    from likewise.draw.words import draw_words
    from likewise.show.text import shorten

    if not report.labels:
        raise UsageError("there is no perturbation")
    # Where there is one perturbation only, the other axis is the probability.
    points = np.array([[*row.coordinates, row.p][:2] for row in report.rows])
    moved = [f"{label}: less (−) or more (+) likely" for label in report.labels]
    x_label, y_label = [*moved, "probability p"][:2]
    return draw_words(
        points,
        [row.word for row in report.rows],
        [row.asked for row in report.rows],
        x_label=x_label,
        y_label=y_label,
        title=f"Words in the context of “{shorten(query, 40)}”",
        to=to,
    )
