"""eval, qrels, tune: how good are runs, and what can be learnt from judgements?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.app.options import Commands, add_json, command, print_json, whole
from likewise.app.texts import write_text
from likewise.errors import UsageError

if TYPE_CHECKING:
    from likewise.engine.collection import Collection
    from likewise.evaluate import Qrels

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

_QRELS_MANUAL = """\
Judgements from metadata, in TREC form, with documents as queries: relevant are those that a field
names (--links), or those that share a value of a field (--same).

examples:
  likewise qrels papers.lw --links cites > cites.txt
  likewise qrels papers.lw --same category --sample 1000 --ids ids.txt > category.txt
  likewise run papers.lw --like ids.txt -k 100 > like.run
  likewise eval --qrels category.txt like.run --measures P@10,AP@100
"""

_TUNE_MANUAL = """\
In what documents are to be alike (the focus of `likewise like`, from subject to thing) can be
learnt from judgements of your own, from metadata or a file of TREC judgements whose queries are
ids: the focus with the best AP@100 is stored with the collection, and what choosing is worth on
documents that were not chosen by is printed (five folds). Where that is less than what was there,
it stays.

examples:
  likewise tune papers.lw --same category
  likewise tune papers.lw --links cites --model ddm --dry-run
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    _register_eval(commands)
    qrels = command(commands, "qrels", _qrels, manual=_QRELS_MANUAL)
    qrels.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    _add_judging(qrels, required=True)
    qrels.add_argument("--ids", type=Path, metavar="FILE", help="write the queries' ids here")
    tune = command(commands, "tune", _tune, manual=_TUNE_MANUAL)
    tune.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    _add_judging(tune, required=False)
    tune.add_argument("--qrels", metavar="FILE", help="TREC judgements, or ir:ID")
    tune.add_argument("--model", default="", metavar="NAME", help="default: fitted last")
    tune.add_argument("--dry-run", action="store_true", help="print, and store nothing")
    add_json(tune)


def _add_judging(parser: argparse.ArgumentParser, *, required: bool) -> None:
    what = parser.add_mutually_exclusive_group(required=required)
    what.add_argument("--links", metavar="FIELD", help="relevant: what this field names")
    what.add_argument("--same", metavar="FIELD", help="relevant: what shares a value of it")
    parser.add_argument(
        "--sample", type=whole, default=1000, metavar="N", help="queries (default 1000; 0: all)"
    )
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="of the sample")


def _register_eval(commands: Commands) -> None:
    parser = command(commands, "eval", _eval, manual=_MANUAL)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="TREC run files")
    parser.add_argument("--qrels", required=True, metavar="FILE", help="TREC judgements, or ir:ID")
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


def _qrels(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection
    from likewise.evaluate import write_qrels

    qrels = _judgements(Collection(options.collection), options)
    if options.ids:
        write_text(options.ids, "".join(f"{qid}\n" for qid in qrels))
    write_qrels(qrels, sys.stdout)


def _tune(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection
    from likewise.evaluate import read_qrels
    from likewise.like.focus import named_focus

    collection = Collection(options.collection)
    if bool(options.qrels) == bool(options.links or options.same):
        raise UsageError("judgements come from a file (--qrels) or a field (--links, --same)")
    qrels = read_qrels(options.qrels) if options.qrels else _judgements(collection, options)
    learnt = collection.tune(qrels, model=options.model, store=not options.dry_run)
    if options.json:
        print_json(learnt.to_json())
        return
    print(learnt)
    if not options.dry_run:
        shown = named_focus(learnt.chosen)
        if learnt.validated < learnt.before:
            print(f"that is less than before: likeness in {options.collection} stays as it is")
        else:
            print(f"{shown} is now the focus of likeness in {options.collection}")


def _judgements(collection: Collection, options: argparse.Namespace) -> Qrels:
    field = options.links or options.same
    if field not in collection.snapshot.field_names():
        shown = ", ".join(collection.snapshot.field_names()[:20]) or "none"
        raise UsageError(f"no document has a field {field!r}; the fields are {shown}")
    return collection.judgements(
        links=options.links or "",
        same=options.same or "",
        sample=options.sample,
        seed=options.seed,
    )
