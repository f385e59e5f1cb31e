"""term-graph, terms, distance, predict-terms: which terms are related?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.figures import check_figure, draw_figure, say
from likewise.app.graphs import see_graph, watch_pairs
from likewise.app.options import Commands, add_json, command, positive, print_json, spoken, whole
from likewise.app.progress import Progress
from likewise.app.texts import read_text
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.app.library import Collection
    from likewise.app.relating import Predicted
    from likewise.terms.extracting import Extractor
    from likewise.terms.nearness import Nearness
    from likewise.terms.nodes import Filters
    from likewise.terms.related import Between, Related, TermGraph

_GRAPH_MANUAL = """\
Two terms are joined by the number of documents in which a sentence has both. The graph is stored
with the collection and kept up as documents come and go; its terms stay those that were chosen.
`terms`, `distance`, `predict-terms` and `--expand graph` use the graph made last, and make one of
the collection's terms where there is none.

Names (genes, products, statutes) are given by a file, one a line, of one word or several. They are
found as the collection's analysis sees them, or with --exact letter for letter; the longest one
wins. A function of yours that takes a sentence and gives the names in it is used by --extract; it
is run once, and in documents added later its names are found letter for letter.

examples:
  likewise term-graph papers.lw
  likewise term-graph papers.lw --min-df 5 --size 20000 --within document
  likewise term-graph papers.lw --names genes.txt --exact --name genes
  likewise term-graph papers.lw --extract mymodule:find_genes --name genes
"""

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

{_NEARNESS}
examples:
  likewise distance papers.lw "boundary layer" "skin friction"
  likewise distance papers.lw --doc-a one.txt --doc-b two.txt --json
"""

_PREDICT_MANUAL = """\
Documents like it (by TF-IDF cosine) vote for the terms that they mention, each by the square of its
score; a quarter of the votes takes a step along the graph, to terms that are said with those. The
score is a term's share of all votes. Terms that the document mentions are left out unless --known.

examples:
  likewise predict-terms papers.lw --doc draft.txt
  likewise predict-terms papers.lw --id 1999-17 -k 50 --graph genes
"""

# Words of a text that are not in the graph: a whole document may have thousands.
_MOST_NAMED = 12


def register(commands: Commands) -> None:
    """Add the commands."""
    _register_graph(commands)
    terms = command(
        commands, "terms", _terms, summary="find the terms nearest to some", manual=_TERMS_MANUAL
    )
    terms.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    terms.add_argument("text", nargs="+", metavar="WORDS", help="the terms, or a text")
    terms.add_argument("-k", type=positive, default=20, metavar="N", help="terms (default 20)")
    terms.add_argument(
        "--plot", type=Path, metavar="NAME", help="draw them: write NAME.svg and NAME.png"
    )
    _add_nearness(terms)

    distance = command(
        commands,
        "distance",
        _distance,
        summary="tell how near two texts are by their terms",
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
        summary="tell which terms a document can be expected to mention",
        manual=_PREDICT_MANUAL,
    )
    predict.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    which = predict.add_mutually_exclusive_group(required=True)
    which.add_argument("--doc", metavar="FILE", help="a text file; - is standard input")
    which.add_argument("--id", metavar="ID", help="a document of the collection")
    which.add_argument("--text", metavar="TEXT", help="this text")
    predict.add_argument("-k", type=positive, default=20, metavar="N", help="terms (default 20)")
    predict.add_argument("--known", action="store_true", help="terms that it mentions as well")
    _add_graph(predict)
    add_json(predict)


def _register_graph(commands: Commands) -> None:
    graph = command(
        commands,
        "term-graph",
        _graph,
        summary="make the graph of terms that are said together",
        manual=_GRAPH_MANUAL,
    )
    graph.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    graph.add_argument(
        "--name", type=_name, default="graph", metavar="NAME", help="its name (default graph)"
    )
    graph.add_argument(
        "--within",
        choices=("sentence", "document"),
        default="sentence",
        help="where both must stand (default sentence)",
    )
    which = graph.add_mutually_exclusive_group()
    which.add_argument("--names", metavar="FILE", help="names, one a line; - is standard input")
    which.add_argument("--extract", metavar="MODULE:FUNCTION", help="what finds names in a text")
    graph.add_argument("--exact", action="store_true", help="names are found letter for letter")
    graph.add_argument(
        "--min-df",
        type=positive,
        metavar="N",
        help="terms in N documents (default 3; fewer in a small collection)",
    )
    graph.add_argument(
        "--max-df",
        type=float,
        metavar="SHARE",
        help="and at most this share of them (default 0.5; all in a small collection)",
    )
    graph.add_argument(
        "--size", type=whole, default=0, metavar="N", help="the N most frequent (default all)"
    )
    graph.add_argument("--threads", type=whole, default=0, metavar="N", help="default: all cores")
    graph.add_argument("--drop", action="store_true", help="remove the graph of this name")
    graph.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(graph)


def _add_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--graph",
        type=_name,
        default="",
        metavar="NAME",
        help="which graph (default: the one made last)",
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


def _name(text: str) -> str:
    return spoken([text])


def _graph(options: argparse.Namespace) -> None:
    from likewise.app.library import Collection

    collection = Collection(options.collection)
    if options.drop:
        _drop(options)
        return
    if options.exact and not options.names:
        raise UsageError("--exact goes with --names")
    if options.names and (options.min_df or options.max_df or options.size):
        raise UsageError("--min-df, --max-df and --size choose terms; names are taken as they are")
    if options.extract and (options.max_df or options.size):
        raise UsageError("--max-df and --size choose terms; of names found --min-df does")
    names = read_text(options.names).split("\n") if options.names else None
    with Progress("count pairs", quiet=options.quiet) as progress:
        made = collection.make_term_graph(
            filters=None if names else _filters(collection, options),
            names=names,
            exact=options.exact,
            extract=_extractor(options.extract) if options.extract else None,
            within=options.within,
            name=options.name,
            origin=spoken([options.names or options.extract or ""]),
            threads=options.threads,
            watch=watch_pairs(collection, progress),
        )
    _report_graph(options, made, progress.elapsed)


def _filters(collection: Collection, options: argparse.Namespace) -> Filters:
    from dataclasses import replace

    from likewise.terms.nodes import usual_filters

    usual = usual_filters(collection.snapshot.n_docs)
    given = {"min_df": options.min_df, "max_df": options.max_df, "size": options.size}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})


def _drop(options: argparse.Namespace) -> None:
    from likewise.collection.snapshot import open_snapshot
    from likewise.collection.writer import Writer
    from likewise.terms.store import find_graph

    find_graph(open_snapshot(options.collection), options.name)
    with Writer(options.collection) as writer:
        writer.drop_model(options.name)
    if options.json:
        print_json({"dropped": options.name})
    else:
        print(f"{options.collection}: the graph {options.name} was removed")


def _report_graph(options: argparse.Namespace, made: TermGraph, seconds: float) -> None:
    import numpy as np

    counted, nodes = made.stored.counted, made.stored.nodes
    seen = int(np.count_nonzero(counted.doc_freqs))
    values: dict[str, Any] = {
        "folder": str(options.collection),
        "name": made.stored.name,
        "kind": nodes.kind,
        "within": options.within,
        "terms": len(nodes),
        "mentioned": seen,
        "pairs": len(counted.pairs.columns),
        "documents": counted.n_docs,
        "left_out": nodes.n_left_out,
        "seconds": round(seconds, 2),
    }
    if nodes.n_left_out:
        say(options, f"names without a word that can be searched for: {nodes.n_left_out:,}")
    if options.json:
        print_json(values)
        return
    what = "terms" if nodes.kind == "terms" else "names"
    unseen = f" ({len(nodes) - seen:,} of them nowhere)" if seen < len(nodes) else ""
    print(
        f"{options.collection}: {made.stored.name} made, {len(nodes):,} {what}{unseen} and "
        f"{values['pairs']:,} pairs within a {options.within} of {counted.n_docs:,} documents, "
        f"{seconds:.1f} s"
    )


def _terms(options: argparse.Namespace) -> None:
    check_figure(options)
    text = spoken(options.text)
    graph = _opened(options)
    mentioned = graph.mentioned(text)
    related = graph.nearest(text, options.k)
    options.no_plot = options.plot is None
    figure = draw_figure(options, lambda to: _draw(graph, text, options, to))
    if mentioned.unknown:
        missing = mentioned.unknown
        more = f", … ({len(missing):,})" if len(missing) > _MOST_NAMED else ""
        say(options, f"not in the graph: {', '.join(missing[:_MOST_NAMED])}{more}")
    if options.json:
        asked = graph.names(mentioned.members.nodes)
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
    unknown: Sequence[str],
) -> dict[str, Any]:
    return {
        "text": text,
        "graph": graph.stored.name,
        "nearness": str(graph.nearness),
        "asked": list(asked),
        "unknown": list(unknown),
        "terms": [
            one._asdict() | {"through": [link._asdict() for link in one.through]} for one in related
        ],
    }


def _terms_table(related: Sequence[Related]) -> str:
    from likewise.app.answers import display_width, pad, shorten

    names = [shorten(one.name, 40) for one in related]
    width = max(map(display_width, names))
    lines = []
    for rank, (one, name) in enumerate(zip(related, names, strict=True), 1):
        value = one.similarity if one.distance is None else one.distance
        through = ", ".join(
            f"{shorten(link.name, 24)} {link.part / one.similarity:.0%}"
            for link in one.through
            if one.similarity > 0 and link.part >= 0.005 * one.similarity
        )
        path = f"  ({' → '.join(one.path)})" if len(one.path) > 2 else ""
        lines.append(f"{rank:3}  {pad(name, width)}  {value:10.4g}  {through}{path}".rstrip())
    return "\n".join(lines)


def _draw(graph: TermGraph, text: str, options: argparse.Namespace, to: Path) -> list[Path]:
    from likewise.app.answers import shorten
    from likewise.draw.network import Network, draw_network

    around = graph.neighbourhood(text, min(options.k, 60))
    network = Network(*around)
    title = f"Terms near “{shorten(text, 40)}”"
    return draw_network(network, to, title=title, most=min(options.k, 60))


def _distance(options: argparse.Namespace) -> None:
    a, b = _two_texts(options)
    graph = _opened(options)
    found = graph.between(a, b)
    if options.json:
        print_json(_between_json(graph, found))
        return
    for label, one in (("a", found.a), ("b", found.b)):
        missing = f"   not in the graph: {', '.join(one.unknown[:8])}" if one.unknown else ""
        names = graph.names(one.members.nodes)
        shown = ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")
        print(f"{label:>10}  {shown}{missing}")
    print(f"similarity  {found.similarity:.4g}")
    print(f"  distance  {found.distance:.4g}")
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
    a, b = (read_text(file) if file is not None else given.pop(0) for file in files.values())
    return a, b


def _between_json(graph: TermGraph, found: Between) -> dict[str, Any]:
    return {
        "graph": graph.stored.name,
        "nearness": str(graph.nearness),
        "similarity": found.similarity,
        "distance": found.distance,
        "a": graph.names(found.a.members.nodes),
        "b": graph.names(found.b.members.nodes),
        "unknown_a": list(found.a.unknown),
        "unknown_b": list(found.b.unknown),
        "through": [link._asdict() for link in found.through],
    }


def _predict(options: argparse.Namespace) -> None:
    from likewise.app.library import Collection

    collection = Collection(options.collection)
    text = read_text(options.doc) if options.doc else options.text or ""
    if not options.id and not collection.snapshot.analyzer.terms(text):
        raise UsageError("the text holds no word to compare")
    if not options.graph:
        see_graph(collection, options)
    found = collection.predict_terms(
        text, doc_id=options.id or "", k=options.k, graph=options.graph, known=options.known
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
    from likewise.app.answers import display_width, pad, shorten

    names = [shorten(one.name, 40) for one in found]
    width = max(map(display_width, names))
    lines = []
    for rank, (one, name) in enumerate(zip(found, names, strict=True), 1):
        by = ", ".join(shorten(doc_id, 24) for doc_id, _ in one.documents)
        lines.append(
            f"{rank:3}  {pad(name, width)}  {one.score:9.4%}  "
            f"{f'in {by}' if by else 'along the graph alone'}"
        )
    return "\n".join(lines)


def _opened(options: argparse.Namespace) -> TermGraph:
    from likewise.app.library import Collection

    collection = Collection(options.collection)
    nearness = _nearness(options)
    if not options.graph:
        see_graph(collection, options)
    return collection.term_graph(options.graph, nearness)


def _nearness(options: argparse.Namespace) -> Nearness:
    from likewise.terms.nearness import Nearness

    return Nearness(
        kernel=options.kernel,
        laplacian=options.laplacian,
        damping=options.damping,
        weights=options.weights,
        least=options.least,
        sets=options.sets,
    )


def _extractor(named: str) -> Extractor:
    import importlib

    module, colon, function = named.partition(":")
    if not colon or not module or not function:
        raise UsageError(f"--extract {named}: write it as module:function")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as error:
        # Whatever the user's module does when it is imported.
        raise UsageError(f"--extract {named}: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UsageError(f"--extract {named}: {function} is no function")
    extract: Extractor = found
    return extract
