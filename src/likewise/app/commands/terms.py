"""terms, distance, predict-terms: which terms are related?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.figures import check_figure, draw_figure, say
from likewise.app.graphs import graph_name, listed, see_graph
from likewise.app.opening import open_to_ask
from likewise.app.options import (
    Commands,
    add_document,
    add_json,
    add_k,
    command,
    positive,
    print_json,
    spoken,
)
from likewise.app.texts import read_document
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.terms import Predicted
    from likewise.terms.query_nodes import Unknown
    from likewise.terms.related import Between, Related, TermGraph

_NEARNESS = """\
how nearness is measured:
  --kernel     resistance(eps=1)  diffusion(variance=3)  walk(alpha=2,steps=1)
  --laplacian  normalised, or combinatorial as in the paper, where distance ranks and the frequent
               terms of a large graph are near to everything
  --weights    of edges: idf (documents that have both, times the idf of each), counts, cosine,
               ppmi, npmi
  --sets       mean, collapse (the terms made one node; exact for resistance on the combinatorial
               Laplacian), nystrom (the paper's approximation; for graphs of a few thousand terms)
"""

_TERMS_MANUAL = f"""\
The score is the kernel between the term and those asked for (similarity, the more the nearer).
Beside it stand the terms through which they are near, with their share of the score; a term asked
for among them means that both are said together.

{_NEARNESS}
examples:
  likewise terms papers.lw designer software
  likewise terms papers.lw "heat transfer" -k 50 --kernel "diffusion(variance=5)" --json
  likewise terms papers.lw designer software --plot designer
"""

_DISTANCE_MANUAL = f"""\
A text is the set of the terms that it mentions, weighed by idf: a word, a phrase, a document.
Similarity is the kernel between both, K(a, b), and distance K(a, a) + K(b, b) - 2 K(a, b); the
cosine, K(a, b) / √(K(a, a) K(b, b)), is comparable between pairs of texts of any length.

{_NEARNESS}
examples:
  likewise distance papers.lw "boundary layer" "skin friction"
  likewise distance papers.lw --doc-a one.txt --doc-b two.txt --json
"""

_PREDICT_MANUAL = """\
Documents like it (by TF-IDF cosine) vote for the terms that they mention, each by the square of its
score; a quarter of the votes takes a step along the graph, to terms that are said with those. It is
meant first for names (term-graph --names): of all words the frequent ones are likely anywhere.
Terms that the document mentions are left out unless --known.

  --by likely        by share of all votes, p (default for names)
  --by distinctive   by p log(p/q), q the share of all mentions in documents: what it would mention
                     more than documents do in general (default for words)

examples:
  likewise predict-terms papers.lw --doc draft.txt
  likewise predict-terms papers.lw --id 1999-17 -k 50 --graph names --by distinctive
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    terms = command(commands, "terms", _terms, manual=_TERMS_MANUAL)
    terms.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    terms.add_argument("text", nargs="+", metavar="WORDS", help="the terms, or a text")
    add_k(terms, 20, "terms")
    terms.add_argument(
        "--plot", type=Path, metavar="NAME", help="draw them: write NAME.svg and NAME.png"
    )
    _add_nearness(terms)

    distance = command(
        commands,
        "distance",
        _distance,
        manual=_DISTANCE_MANUAL,
    )
    distance.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    distance.add_argument("texts", nargs="*", metavar="TEXT", help="the two texts")
    distance.add_argument("--doc-a", metavar="FILE", help="the first text is in a file")
    distance.add_argument("--doc-b", metavar="FILE", help="the second text is in a file")
    _add_nearness(distance)

    predict = command(
        commands,
        "predict-terms",
        _predict,
        manual=_PREDICT_MANUAL,
    )
    predict.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    add_document(predict)
    add_k(predict, 20, "terms")
    predict.add_argument(
        "--by",
        choices=("likely", "distinctive"),
        default="",
        help="rank by share of votes, or by what sets it apart (default: see below)",
    )
    predict.add_argument("--known", action="store_true", help="terms that it mentions as well")
    _add_graph(predict)
    add_json(predict)


def _add_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--graph",
        type=graph_name,
        default="",
        metavar="NAME",
        help="which graph (default: graph; where there is none, the one made last)",
    )
    parser.add_argument("--quiet", action="store_true", help="no messages on standard error")


def _add_nearness(parser: argparse.ArgumentParser) -> None:
    _add_graph(parser)
    parser.add_argument("--kernel", default="resistance", metavar="NAME", help="see below")
    parser.add_argument("--laplacian", default="normalised", metavar="NAME", help="see below")
    parser.add_argument("--weights", default="idf", metavar="NAME", help="see below")
    parser.add_argument("--sets", default="mean", metavar="NAME", help="see below")
    parser.add_argument(
        "--damping",
        type=float,
        default=1.0,
        metavar="X",
        help="so many mean degrees are added to each (default 1)",
    )
    parser.add_argument(
        "--least", type=positive, default=1, metavar="N", help="edges of N documents (default 1)"
    )
    add_json(parser)


def _terms(options: argparse.Namespace) -> None:
    check_figure(options)
    text = spoken(options.text)
    graph = _opened(options)
    mentioned = graph.mentioned(text)
    related = graph.nearest(text, options.k)
    options.no_plot = options.plot is None
    figure = draw_figure(options, lambda to: _draw(graph, text, options, to))
    if mentioned.unknown:
        say(options, f"not in the graph: {_listed(mentioned.unknown)}")
    if options.json:
        asked = graph.names(mentioned.members.nodes, said=text)
        print_json(_terms_json(text, graph, asked, related, mentioned.unknown))
    elif related:
        print(_terms_table(related))
    else:
        say(options, "nothing in the graph is connected with it")
    figure.tell(options)


def _terms_json(
    text: str,
    graph: TermGraph,
    asked: Sequence[str],
    related: Sequence[Related],
    unknown: Sequence[Unknown],
) -> dict[str, Any]:
    return {
        "text": text,
        "graph": graph.stored.name,
        "nearness": asdict(graph.nearness),
        "asked": list(asked),
        "unknown": [one._asdict() for one in unknown],
        "terms": [
            one._asdict() | {"through": [link._asdict() for link in one.through]} for one in related
        ],
    }


def _listed(unknown: Sequence[Unknown]) -> str:
    return listed([f"{one.word} ({one.reason})" for one in unknown])


def _terms_table(related: Sequence[Related]) -> str:
    from likewise.show.table import align
    from likewise.show.text import shorten

    ranked = "similarity" if related[0].distance is None else "distance"
    rows = [("", "term", ranked, "through")]
    for rank, one in enumerate(related, 1):
        value = one.similarity if one.distance is None else one.distance
        through = ", ".join(
            f"{shorten(link.name, 24)} {link.part / one.similarity:.0%}"
            for link in one.through
            if one.similarity > 0 and link.part >= 0.005 * one.similarity
        )
        path = f"  ({' → '.join(one.path)})" if len(one.path) > 2 else ""
        rows.append((f"{rank:3}", shorten(one.name, 40), f"{value:10.4g}", through + path))
    return "\n".join(align(rows, "><><"))


def _draw(graph: TermGraph, text: str, options: argparse.Namespace, to: Path) -> list[Path]:
    from likewise.draw.network import Network, draw_network
    from likewise.show.text import shorten

    around = graph.neighbourhood(text, min(options.k, 60))
    network = Network(*around)
    title = f"Terms near “{shorten(text, 40)}”"
    return draw_network(network, to, title=title, most=min(options.k, 60))


def _distance(options: argparse.Namespace) -> None:
    a, b = _two_texts(options)
    graph = _opened(options)
    found = graph.between(a, b)
    if options.json:
        print_json(_between_json(graph, a, b, found))
        return
    for label, text, one in (("a", a, found.a), ("b", b, found.b)):
        missing = f"   not in the graph: {_listed(one.unknown)}" if one.unknown else ""
        print(f"{label:>10}  {listed(graph.names(one.members.nodes, said=text))}{missing}")
    print(f"similarity  {found.similarity:.4g}")
    print(f"  distance  {found.distance:.4g}")
    print(f"    cosine  {found.cosine:.4g}")
    through = ", ".join(
        f"{link.name} {link.part / found.similarity:.0%}"
        for link in found.through
        if found.similarity > 0
    )
    if through:
        print(f"   through  {through}")


def _two_texts(options: argparse.Namespace) -> tuple[str, str]:
    files = {"a": options.doc_a, "b": options.doc_b}
    given = [spoken([one]) for one in options.texts]
    if len(given) + sum(file is not None for file in files.values()) != 2:
        raise UsageError("distance needs two texts: quote each, or name files by --doc-a, --doc-b")
    a, b = (read_document(file) if file is not None else given.pop(0) for file in files.values())
    return a, b


def _between_json(graph: TermGraph, a: str, b: str, found: Between) -> dict[str, Any]:
    return {
        "graph": graph.stored.name,
        "nearness": asdict(graph.nearness),
        "similarity": found.similarity,
        "distance": found.distance,
        "cosine": found.cosine,
        "a": graph.names(found.a.members.nodes, said=a),
        "b": graph.names(found.b.members.nodes, said=b),
        "unknown_a": [one._asdict() for one in found.a.unknown],
        "unknown_b": [one._asdict() for one in found.b.unknown],
        "through": [link._asdict() for link in found.through],
    }


def _predict(options: argparse.Namespace) -> None:
    collection = open_to_ask(options)
    text = read_document(options.doc) if options.doc else options.text or ""
    if not options.id and not collection.snapshot.analyzer.terms(text):
        raise UsageError("the text holds no word to compare")
    if not options.graph:
        see_graph(collection, options)
    found = collection.terms.predict(
        text,
        id=options.id or "",
        k=options.k,
        graph=options.graph,
        known=options.known,
        by=options.by,
    )
    if options.json:
        print_json([_predicted_json(one) for one in found])
    elif found:
        print(_predicted_table(found))
    else:
        say(options, "no document like it mentions a term of the graph")


def _predicted_json(one: Predicted) -> dict[str, Any]:
    documents = [{"id": doc_id, "part": part} for doc_id, part in one.documents]
    return one._asdict() | {"documents": documents}


def _predicted_table(found: Sequence[Predicted]) -> str:
    from likewise.show.table import align
    from likewise.show.text import shorten

    # Likely terms are ranked by the share itself.
    distinctive = any(one.score != one.share for one in found)
    rows = [["", "term", *(["distinctive"] if distinctive else []), "share", "found"]]
    for rank, one in enumerate(found, 1):
        by = ", ".join(shorten(doc_id, 24) for doc_id, _ in one.documents)
        score = [f"{one.score:10.4g}"] if distinctive else []
        where = f"in {by}" if by else "along the graph alone"
        rows.append([f"{rank:3}", shorten(one.name, 40), *score, f"{one.share:9.4%}", where])
    return "\n".join(align(rows, "><>><" if distinctive else "><><"))


def _opened(options: argparse.Namespace) -> TermGraph:
    collection = open_to_ask(options)
    nearness = _nearness(options)
    if not options.graph:
        see_graph(collection, options)
    return collection.terms.graph(options.graph, **nearness)


def _nearness(options: argparse.Namespace) -> dict[str, Any]:
    names = ("kernel", "laplacian", "damping", "weights", "least", "sets")
    return {name: getattr(options, name) for name in names}
