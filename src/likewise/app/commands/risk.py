"""risk: what does expansion gain, and what does it put at risk?"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.figures import add_figure, check_figure, draw_figure, say
from likewise.app.options import Commands, command, positive, print_json, whole
from likewise.app.progress import OutOf, Progress
from likewise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from likewise.evaluate.risk_table import RiskTable
    from likewise.expand.expansion import Expander

_MANUAL = """\
Expansion helps most queries and hurts some. With --queries, a collection answers them as they are
and expanded: as each --expand says, and with 0, 0.1, … 1 of the expansion in the query. Without,
run files are held against the first of them.

  gain     relative change of the mean of the first measure (AP: of MAP)
  RI       robustness index, (helped - hurt) / queries
  R-Loss   relevant documents that the queries hurt lost from the first 1000 (and 100) places;
           a query that is hurt and yet finds more of them counts 0

The figure shows a curve for each expander, gain over R-Loss: higher and further left is better.
It is written to risk.svg and risk.png unless --plot gives another name. R-Loss is that at the first
of --depths at which anything is lost.

--against names another expander, which is also compared directly; or only the similarity of words
(jaccard, loo, tat) that a robust expander is to use in place of its own.

examples:
  likewise risk cran.lw --queries queries.jsonl --qrels qrels.txt --expand robust --against jaccard
  likewise risk cran.lw --queries queries.jsonl --qrels qrels.txt --expand rm3 --depths 100,1000
  likewise risk --qrels qrels.txt bm25.run rm3.run --no-plot
"""


def register(commands: Commands) -> None:
    """Add the command."""
    risk = command(commands, "risk", _risk, manual=_MANUAL)
    risk.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="with --queries the collection; else TREC run files, the first is the baseline",
    )
    risk.add_argument("--qrels", required=True, metavar="FILE", help="TREC judgements, or ir:ID")
    risk.add_argument("--queries", metavar="FILE", help="the queries, - or ir:ID")
    risk.add_argument(
        "--expand",
        action="append",
        default=[],
        metavar="NAME",
        help="an expander (see `likewise search --help`); may be repeated",
    )
    risk.add_argument("--against", metavar="NAME", help="an expander, or a similarity of words")
    risk.add_argument("--method", metavar="NAME", help="how to score (default bm25)")
    risk.add_argument("-k", type=positive, metavar="N", help="answers each (default 1000)")
    risk.add_argument(
        "--shares", type=_shares, metavar="S[,…]", help="of the expansion (default 0,0.1,…,1)"
    )
    risk.add_argument(
        "--depths", type=_depths, metavar="N[,…]", help="of R-Loss (default 1000,100)"
    )
    risk.add_argument(
        "--measures", default="AP nDCG@10", metavar="LIST", help="default: %(default)s"
    )
    risk.add_argument("--seed", type=whole, default=0, metavar="N", help="of the randomisation")
    risk.add_argument("--topic-fields", metavar="NAME[,…]", help="of TREC topics (default title)")
    add_figure(risk, "risk")
    risk.add_argument("--threads", type=whole, metavar="N", help="threads (default: all cores)")
    form = risk.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV")


def _shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not numbers separated by commas, such as 0,0.5,1"
        ) from None


def _depths(text: str) -> list[int]:
    return [positive(part.strip()) for part in text.split(",")]


def _risk(options: argparse.Namespace) -> None:
    _check(options)
    table = _read(options) if options.queries is None else _asked(options)
    figure = draw_figure(options, lambda to: _draw(table, to))
    if options.json:
        print_json(table.to_json())
    elif options.csv:
        sys.stdout.write(table.to_csv())
    else:
        print(table)
    figure.tell(options)


def _check(options: argparse.Namespace) -> None:
    """Refuse mixtures of the two forms, and a figure that could not be written in the end."""
    n_paths = len(options.paths)
    if options.queries is not None:
        if n_paths != 1:
            raise UsageError(
                f"with --queries one path is expected, the collection, not {n_paths}; "
                "run files are compared without --queries"
            )
        if not options.expand:
            raise UsageError("--expand is needed with --queries: name an expander, such as rm3")
    else:
        named = {
            "--expand": options.expand,
            "--against": options.against is not None,
            "--method": options.method is not None,
            "-k": options.k,
            "--shares": options.shares,
            "--topic-fields": options.topic_fields is not None,
            "--threads": options.threads is not None,
        }
        useless = [name for name, given in named.items() if given]
        if useless:
            raise UsageError(
                f"{useless[0]} is for queries that a collection is asked: give the collection and "
                "--queries FILE, or leave it out to compare run files"
            )
        if n_paths < 2:
            raise UsageError(
                f"only {options.paths[0]} is given: to compare run files name two or more, the "
                "first is the baseline; to ask a collection, add --queries FILE and --expand NAME"
            )
    check_figure(options)


def _asked(options: argparse.Namespace) -> RiskTable:
    from likewise.engine.collection import Collection
    from likewise.engine.risk import asked_qrels, check_reach, n_runs
    from likewise.evaluate import read_qrels, read_queries
    from likewise.evaluate.measures import parse_measures
    from likewise.evaluate.risk import SHARES, check_shares
    from likewise.expand.expansion import read_expander

    measures = parse_measures(options.measures)
    k = options.k or 1000
    depths = check_reach(options.depths, k)
    shares = check_shares(options.shares or SHARES)
    expanders = [read_expander(name) for name in options.expand]
    against = _against(options.against, expanders) if options.against is not None else []
    collection = Collection(options.paths[0])
    queries = read_queries(
        options.queries, fields=tuple((options.topic_fields or "title").split(","))
    )
    qrels = read_qrels(options.qrels)
    n_left = len(qrels) - len(asked_qrels(queries, qrels))
    if n_left:
        what = "query is" if n_left == 1 else "queries are"
        say(options, f"{n_left:,} judged {what} not asked and not counted")
    with Progress("risk", unit="queries", quiet=options.quiet) as progress:
        total = n_runs(expanders, against, shares) * len(queries)
        measured = OutOf(total, progress)
        return collection.risk(
            queries,
            qrels,
            expanders,
            against=against,
            method=options.method or "bm25",
            k=k,
            shares=shares,
            measures=measures,
            depths=depths,
            seed=options.seed,
            threads=options.threads or 0,
            progress=lambda n: progress.advance(n, measured=measured),
        )


def _against(name: str, expanders: Sequence[Expander]) -> list[tuple[Expander, Expander]]:
    """For each expander what it is compared with: another, or itself with other similarities."""
    from likewise.expand.expansion import read_expander
    from likewise.expand.similarity import SIMILARITIES

    if name not in SIMILARITIES:
        other = read_expander(name)
        return [(how, other) for how in expanders]
    pairs = [(how, how.with_similarity(name)) for how in expanders]
    found = [(how, other) for how, other in pairs if other is not None]
    if not found:
        shown = ", ".join(map(str, expanders))
        raise UsageError(
            f"--against {name} is a similarity of words, and {shown} uses none: add "
            "--expand robust, or name an expander to compare with"
        )
    return found


def _read(options: argparse.Namespace) -> RiskTable:
    from likewise.evaluate import read_qrels, read_run
    from likewise.evaluate.measures import parse_measures
    from likewise.evaluate.risk import DEPTHS
    from likewise.evaluate.risk_table import compare_risk

    measures = parse_measures(options.measures)
    qrels = read_qrels(options.qrels)
    return compare_risk(
        [read_run(path) for path in options.paths],
        qrels,
        measures=measures,
        depths=options.depths or DEPTHS,
        seed=options.seed,
    )


def _draw(table: RiskTable, to: Path) -> list[Path]:
    from likewise.draw.curves import draw_risk

    depth = table.first_depth_with_loss
    lines = table.lines(depth)
    if any(math.isnan(gain) for line in lines.values() for _, gain in line):
        raise UsageError("the baseline's mean is 0, and nothing is a gain over it")
    return draw_risk(
        lines,
        x_label=f"R-Loss at {depth}: relevant documents lost by the queries hurt",
        y_label=f"gain in mean {table.comparison.measures[0]}, %",
        title=f"Risk and reward against {table.comparison.baseline}, "
        f"{table.risks[0].n_queries} queries",
        to=to,
        marks=_marks(table),
    )


def _marks(table: RiskTable) -> list[str]:
    """What is written at the points: the first, the middle and the last share."""
    if not table.curves:
        return [""]
    shares = [share for share, _ in table.curves[0].points]
    chosen = {0, len(shares) // 2, len(shares) - 1}
    return [f"share {share:g}" if i in chosen else "" for i, share in enumerate(shares)]
