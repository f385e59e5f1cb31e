"""neighbours: which documents are near in a model's space?"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.opening import open_to_ask
from likewise.app.options import (
    Commands,
    add_json,
    add_k,
    add_shared,
    command,
    print_json,
    whole,
)
from likewise.app.progress import OutOf, Progress
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.collection import Collection
    from likewise.like.near import Near

_MANUAL = """\
Documents are near by their topics alone (or, with lsi, by their place along its axes). With
--all the nearest neighbours of every document are written to a file, for maps and clusters: a
line each of doc_id, neighbour_id, rank and distance. If that is stopped, the same command goes on
where it was.

metrics:
  hellinger   sum of (√p - √q)², at most 2   the default for topics; score 1 - distance / 2
  js          Jensen-Shannon, in nats        score 1 - distance / ln 2
  kl          Kullback-Leibler, in nats      score -distance
  cosine      1 - cosine                     the default for lsi; score the cosine
  inner       -inner product                 score the inner product
  euclidean   squared                        score -distance

indexes (options in brackets, as in --index "ivf(probes=8)"): auto scan lists ivf, and those of the
papers: hnsw tree lsh codes. auto builds none: by the default metric it searches vectors as they are
stored, by others it reads all of them. Others are built in memory for this command. auto may miss a
neighbour by the default metric where a part of the collection has 50,000 documents or more; scan
never does.

examples:
  likewise neighbours papers.lw 1999-17 -k 5 --explain
  likewise neighbours papers.lw --all -k 10 --to graph.parquet
"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "neighbours",
        _neighbours,
        manual=_MANUAL,
    )
    parser.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    parser.add_argument("ids", nargs="*", metavar="ID", help="documents of the collection")
    parser.add_argument("--all", action="store_true", help="of every document, into a file")
    parser.add_argument("--to", type=Path, metavar="FILE", help="with --all: .parquet or .jsonl")
    parser.add_argument("--overwrite", action="store_true", help="replace the file")
    add_k(parser, 10, "neighbours each")
    parser.add_argument("--model", default="", metavar="NAME", help="default: fitted last")
    parser.add_argument("--metric", default="", metavar="NAME", help="default: by the model")
    parser.add_argument("--index", default="auto", metavar="NAME", help="default: auto")
    add_shared(parser, "explain")
    parser.add_argument(
        "--threads", type=whole, default=0, metavar="N", help="threads (default: all cores)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    add_json(parser)


def _neighbours(options: argparse.Namespace) -> None:
    from likewise.like.near import Near

    if options.all == bool(options.ids):
        raise UsageError("name documents by their ids, or all of them with --all --to FILE")
    if options.all != (options.to is not None):
        raise UsageError("--all and --to FILE go together")
    collection = open_to_ask(options)
    near = Near(model=options.model, metric=options.metric, index=options.index)
    options.threads = options.threads or os.cpu_count() or 1
    if options.all:
        _all(options, collection, near)
        return
    for doc_id in options.ids:
        collection.snapshot.find_doc(doc_id)
    found = [
        collection.like(doc_id, k=options.k, method=near, explain=options.explain)
        for doc_id in options.ids
    ]
    if options.json:
        print_json([answers.to_json() for answers in found])
        return
    for i, answers in enumerate(found):
        if len(found) > 1:
            print(("\n" if i else "") + f"{answers.query}")
        print(answers)


def _all(options: argparse.Namespace, collection: Collection, near: Near) -> None:
    with Progress("neighbours", quiet=options.quiet) as progress:
        measured = OutOf(len(collection), progress)
        n = collection.write_neighbours(
            options.to,
            k=options.k,
            method=near,
            threads=options.threads,
            overwrite=options.overwrite,
            progress=lambda n: progress.advance(n, measured=measured),
        )
    report = {"file": str(options.to), "documents": len(collection), "lines": n}
    if options.json:
        print_json(report)
    else:
        print(f"{n:,} neighbours of {len(collection):,} documents in {options.to}")
