"""fuse: how do several runs become one?"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.options import Commands, add_json, command, positive, print_json
from likewise.errors import StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from likewise.evaluate import Run

_MANUAL = """\
The fused run goes to standard output in TREC form, or with --to into a file. A query that only
some runs answer is fused from those; a document in one list only keeps its score there. Equal
scores are ordered by document id.

methods, of a document's normalised scores in the lists that hold it:
  sum   CombSUM: their sum                    min   CombMIN: the lowest
  anz   CombANZ: their mean                   max   CombMAX: the highest
  mnz   CombMNZ: their sum times their number
  rrf   reciprocal rank fusion: the sum of 1/(60 + rank), however --normalise is set

normalisations:
  score   (score - lowest) / (highest - lowest) of the list, 1 where all are equal
  rank    1 - (rank - 1) / n of a list of n

Weights multiply the normalised scores; a run of weight 0 is left out.

examples:
  likewise fuse bm25.run ql.run > fused.run
  likewise fuse bm25.run ql.run --method mnz --normalise rank --to fused.run
  likewise fuse bm25.run ql.run lsi.run --weights 1,1,0.5 --name mine -k 100 --to fused.run
"""


def register(commands: Commands) -> None:
    """Add the command."""
    fuse = command(commands, "fuse", _fuse, manual=_MANUAL)
    fuse.add_argument("runs", nargs="+", metavar="RUN", help="TREC run files; - is standard input")
    fuse.add_argument(
        "--method",
        default="sum",
        metavar="NAME",
        help="min, max, sum, anz, mnz or rrf (default sum)",
    )
    fuse.add_argument(
        "--normalise",
        "--normalize",
        default="score",
        metavar="NAME",
        help="by score or by rank (default score)",
    )
    fuse.add_argument(
        "--weights", type=_numbers, metavar="W[,…]", help="one for each run (default: all 1)"
    )
    fuse.add_argument("-k", type=positive, metavar="N", help="answers each (default: all)")
    fuse.add_argument(
        "--name", default="", metavar="NAME", help="the run's name (default: as sum(bm25,ql))"
    )
    fuse.add_argument("--to", type=Path, metavar="FILE", help="write the run into this file")
    add_json(fuse)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not numbers separated by commas, such as 1,0.5"
        ) from None


def _fuse(options: argparse.Namespace) -> None:
    from likewise.evaluate import read_run
    from likewise.evaluate.fusion import fuse_runs
    from likewise.stages.fusion import check_fusion

    how = {"method": options.method, "normalise": options.normalise, "weights": options.weights}
    check_fusion(len(options.runs), **how)
    _check_files(options.runs, options.to)
    runs = [read_run(file) for file in options.runs]
    fused = fuse_runs(runs, k=options.k, name=options.name, **how)
    for note in _notes(options.runs, runs, fused):
        print(f"likewise: {note}", file=sys.stderr)
    if options.to:
        _save(options.to, _trec(fused))
        _report(options, fused)
    elif options.json:
        print_json(fused.to_json())
    else:
        sys.stdout.write(_trec(fused))


def _check_files(files: Sequence[str], to: Path | None) -> None:
    file, times = Counter(files).most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"{file} is given {times} times; to let a run count more, give it a weight: "
            "--weights 2,1"
        )
    if to is None or not os.path.exists(to):
        return
    if any(os.path.exists(file) and os.path.samefile(file, to) for file in files):
        raise UsageError(f"--to {to} is one of the runs; name another file")


def _notes(files: Sequence[str], runs: Sequence[Run], fused: Run) -> list[str]:
    """What may be a mistake: runs of one name, and queries that a run does not answer."""
    notes = []
    for name, times in Counter(run.name for run in runs).items():
        if times > 1:
            same = [file for file, run in zip(files, runs, strict=True) if run.name == name]
            notes.append(f"{', '.join(same)} have one name, {name}; all are counted")
    for file, run in zip(files, runs, strict=True):
        answered = len(fused.keys() & run.keys())
        if answered < len(fused):
            notes.append(f"{file} answers {answered:,} of the {len(fused):,} queries")
    return notes


def _trec(run: Run) -> str:
    # As a whole, because ids that cannot be told apart in a file are found while writing it.
    from likewise.evaluate import write_run

    stream = io.StringIO()
    write_run(run, stream)
    return stream.getvalue()


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be written ({reason})") from None


def _report(options: argparse.Namespace, fused: Run) -> None:
    n_runs, n_queries = len(options.runs), len(fused)
    n_answers = sum(map(len, fused.values()))
    if options.json:
        counts = {"runs": n_runs, "queries": n_queries, "answers": n_answers}
        print_json({"file": str(options.to), "name": fused.name} | counts)
        return
    print(
        f"{options.to}: {fused.name}, {n_queries:,} quer{'y' if n_queries == 1 else 'ies'}, "
        f"{n_answers:,} answer{'s' * (n_answers != 1)} from {n_runs} run{'s' * (n_runs != 1)}"
    )
