"""demo: the main jobs, on a corpus that every machine has."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.options import Commands, command
from likewise.app.progress import Progress

if TYPE_CHECKING:
    from likewise.engine.collection import Collection
    from likewise.evaluate import Qrels, Run

_MANUAL = """\
The corpus is the docstrings of numpy, scipy, scikit-learn (where installed) and the standard
library; their "See Also" sections are taken out of the texts and serve as judgements.
"""

_QUERIES = ("butterworth filter design", "sparse matrix eigenvalues", "parse command line options")

_TERMS = ("eigenvalues", "sparse")
_MODEL = "ddm(topics=60,sweeps=60)"
# How titles are asked: the last as who names nothing.
_WAYS: tuple[dict[str, Any], ...] = (
    {"method": "bm25"},
    {"method": "ql"},
    {"method": "tfidf"},
    {"method": "bm25", "smooth": "klsa"},
    {},
)
_DOCUMENT = "scipy.signal.butter"


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "demo", _demo, manual=_MANUAL)
    parser.add_argument("--to", type=Path, metavar="DIR", help="keep the collection here")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _demo(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="likewise-demo-") as aside:
        folder = options.to or Path(aside) / "docstrings.lw"
        collection = _build(folder, quiet=options.quiet)
        _smooth(folder, quiet=options.quiet)
        collection.refresh()
        _search(collection)
        _like(folder, quiet=options.quiet)
        _terms(folder, quiet=options.quiet)
        _decompose(folder, quiet=options.quiet)
        collection.refresh()
        _measure_like(collection, quiet=options.quiet)
        _measure(collection, quiet=options.quiet)
        if options.to:
            print(f"\nyours to go on with: likewise like {folder} --id …")


def _build(folder: Path, *, quiet: bool) -> Collection:
    from likewise.collection.creating import build
    from likewise.engine.collection import Collection
    from likewise.sources import open_source

    _say("likewise index docstrings: --to DIR")
    source = open_source("docstrings:")
    with Progress("index", quiet=quiet) as progress:
        build(folder, progress.follow(source, measured=source), overwrite=True)
    collection = Collection(folder)
    info = collection.info()
    print(
        f"{info['documents']:,} documents, {info['terms']:,} terms, {info['tokens']:,} tokens, "
        f"{info['bytes'] / info['documents']:,.0f} bytes a document on disk"
    )
    return collection


def _smooth(folder: Path, *, quiet: bool) -> None:
    from likewise.app.cli import main

    _say("likewise fit DIR --model klsa")
    main(["fit", str(folder), "--model", "klsa", *(["--quiet"] if quiet else [])])


def _search(collection: Collection) -> None:
    for query in _QUERIES:
        _say(f'likewise search DIR "{query}" -k 5')
        print(collection.search(query, k=5))
    _say(f'likewise search DIR "{_QUERIES[0]}" -k 2 --filter package=scipy --explain')
    print(collection.search(_QUERIES[0], k=2, filter="package=scipy", explain=True))
    _say(f'likewise search DIR "{_QUERIES[0]}" -k 5 --method bm25')
    print(collection.search(_QUERIES[0], k=5, method="bm25"))


def _like(folder: Path, *, quiet: bool) -> None:
    from likewise.app.cli import main

    _say("likewise fit DIR --model lsi")
    main(["fit", str(folder), "--model", "lsi", *(["--quiet"] if quiet else [])])
    _say(f"likewise like DIR --id {_DOCUMENT} -k 5")
    main(["like", str(folder), "--id", _DOCUMENT, "-k", "5"])
    _say(f"likewise like DIR --id {_DOCUMENT} -k 1 --explain")
    main(["like", str(folder), "--id", _DOCUMENT, "-k", "1", "--explain"])


def _terms(folder: Path, *, quiet: bool) -> None:
    from likewise.app.cli import main

    hushed = ["--quiet"] if quiet else []
    _say("likewise term-graph DIR")
    main(["term-graph", str(folder), *hushed])
    _say(f"likewise terms DIR {' '.join(_TERMS)} -k 8")
    main(["terms", str(folder), *_TERMS, "-k", "8"])
    _say(f'likewise search DIR "{_QUERIES[1]}" -k 2 --expand graph --explain')
    main(["search", str(folder), _QUERIES[1], "-k", "2", "--expand", "graph", "--explain"])


def _decompose(folder: Path, *, quiet: bool) -> None:
    from likewise.app.cli import main

    fitting = ["--model", _MODEL, *(["--quiet"] if quiet else [])]
    _say(f'likewise fit DIR --model "{_MODEL}"')
    main(["fit", str(folder), *fitting])
    _say(f"likewise decompose DIR --id {_DOCUMENT}")
    main(["decompose", str(folder), "--id", _DOCUMENT])


def _measure_like(collection: Collection, *, quiet: bool) -> None:
    from likewise.evaluate import compare
    from likewise.records import Query, QueryDocument
    from likewise.sources.docstrings import JUDGED_FIELD

    qrels = collection.judgements(links=JUDGED_FIELD)
    _say(f"likewise qrels DIR --links {JUDGED_FIELD} --sample 0 --ids ids.txt > see-also.txt")
    print("$ likewise run DIR --like ids.txt -k 100 --method … > RUN")
    print("$ likewise eval --qrels see-also.txt RUN…")
    print(f"{len(qrels):,} functions as queries; relevant: what their See Also sections name\n")
    queries = [Query(doc_id, like=(QueryDocument(doc_id),)) for doc_id in qrels]
    runs = []
    with Progress("like", unit="methods", quiet=quiet) as progress:
        for method in progress.follow(
            ["tfidf", "bm25", "hybrid(model=lsi)", "hybrid(model=ddm,only=dense)"]
        ):
            runs.append(collection.run(queries, k=100, method=method, name=method))
    print(compare(runs, qrels, measures="P@10 AP R@100"))


def _measure(collection: Collection, *, quiet: bool) -> None:
    from likewise.evaluate import compare
    from likewise.records import Query

    qrels = _judgements(collection)
    _say("likewise run DIR --queries titles.jsonl --method … --expand … --smooth … > RUN")
    print("$ likewise eval --qrels see-also.txt RUN…")
    print(f"{len(qrels):,} titles as queries; relevant: what their See Also sections name\n")
    queries = [
        Query(document.id, document.title) for document in collection if document.id in qrels
    ]
    runs = []
    with Progress("run", unit="methods", quiet=quiet) as progress:
        for how in progress.follow(_WAYS):
            # A document finds itself first; what counts is what comes after.
            run = collection.run(queries, k=101, **how)
            runs.append(_without_self(run))
    print(compare(runs, qrels, measures="AP P@5 R@100"))


def _judgements(collection: Collection) -> Qrels:
    from likewise.sources.docstrings import JUDGED_FIELD

    return collection.judgements(links=JUDGED_FIELD)


def _without_self(run: Run) -> Run:
    from likewise.evaluate import Run

    kept = {qid: [pair for pair in ranking if pair[0] != qid] for qid, ranking in run.items()}
    return Run(run.name, kept)


def _say(command_line: str) -> None:
    print(f"\n$ {command_line}", flush=True)
