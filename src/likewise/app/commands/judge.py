"""eval: how good are runs?"""

from __future__ import annotations

import argparse
import sys

from likewise.app.options import Commands, command, print_json, whole

_MANUAL = """\
The first run is the baseline unless --baseline names another. Differences are tested by a
randomisation test (†) and a paired t-test (‡), p corrected by Holm over all that is compared;
+/- counts the queries that the run helped and hurt. Queries without a relevant document are left
out; a judged query that a run does not answer counts as 0.

measures, as in ir_measures:  AP  nDCG@10  P@10  R@1000  RR  Bpref  Rprec  …

examples:
  likewise eval --qrels qrels.txt bm25.run
  likewise eval --qrels qrels.txt bm25.run ql.run --measures AP,nDCG@10 --json
"""


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "eval", _eval, summary="measure runs against judgements", manual=_MANUAL
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="TREC run files")
    parser.add_argument("--qrels", required=True, metavar="FILE", help="TREC judgements")
    parser.add_argument(
        "--measures", default="AP nDCG@10 P@10 R@1000", metavar="LIST", help="default: %(default)s"
    )
    parser.add_argument("--baseline", metavar="NAME", help="the run to compare with")
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="of the randomisation")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--per-query", action="store_true", help="print every query's values (TSV)")


def _eval(options: argparse.Namespace) -> None:
    from likewise.evaluate import compare, read_qrels, read_run
    from likewise.evaluate.measures import parse_measures

    measures = parse_measures(options.measures)
    qrels = read_qrels(options.qrels)
    runs = [read_run(path) for path in options.runs]
    comparison = compare(
        runs, qrels, measures=measures, baseline=options.baseline, seed=options.seed
    )
    if options.json:
        print_json(comparison.to_json())
    elif options.csv:
        sys.stdout.write(comparison.to_csv())
    elif options.per_query:
        for value in comparison.per_query():
            print(f"{value.qid}\t{value.run}\t{value.measure}\t{value.value:.6f}")
    else:
        print(comparison)
