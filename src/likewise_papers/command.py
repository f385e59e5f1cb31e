"""`likewise reproduce`: do the published claims hold?"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.options import Commands, add_json, command, print_json, whole
from likewise.app.progress import is_unwanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from likewise_papers.running import Done

_MANUAL = """\
Papers: term-graph, decomposition, perturbation, kernel-lsa, simplex; all of them if none is named.

A collection is a folder with corpus.jsonl (or .jsonl.gz), or an id of ir_datasets (ir:cranfield).
--data names it, or a folder of such folders; so does LIKEWISE_DATA, a list of them as PATH is. It
serves for the first of these that it has:
  queries.jsonl and qrels.txt        short queries: expansion, Kernel LSA, fusion
  documents with abstract and body   terms of a body, told from its abstract (further abstracts in
                                     more-abstracts.jsonl.gz); names of their categories as queries
  categories, category, links        query by document, topics; names of categories and titles as
    or see_also                      queries
The docstrings of this machine's Python are one more collection of documents that are alike. Where
there is none of another kind they serve for it too: their titles as queries, their See Also
sections as judgements, their first paragraphs as abstracts.

OUT/index.html is the page, OUT/summary.json the same as data. Results are kept in OUT/kept, by
all that they depend on: a run that was interrupted goes on where it stopped, and one that changes
nothing only writes the page again. The exit code is 0 whatever the verdicts.
"""

_NARROWEST = 24


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "reproduce",
        _reproduce,
        manual=_MANUAL,
        summary="run the papers' experiments again, and say which claims hold",
    )
    parser.add_argument("paper", nargs="*", metavar="PAPER", help="which papers (default: all)")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="DIR",
        help="collections: a folder, or ir:ID; may be repeated (default: $LIKEWISE_DATA)",
    )
    parser.add_argument("--quick", action="store_true", help="smaller settings: minutes, not hours")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reproduction"),
        metavar="DIR",
        help="where to write (default: reproduction)",
    )
    parser.add_argument(
        "--threads", type=whole, default=0, metavar="N", help="threads (default: all cores)"
    )
    add_json(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _reproduce(options: argparse.Namespace) -> None:
    from likewise_papers.folders import named_folders
    from likewise_papers.papers import all_papers
    from likewise_papers.report import reproduce
    from likewise_papers.running import choose
    from likewise_papers.summary import tallied

    chosen = choose(all_papers(), options.paper)
    progress = _Progress(sum(len(paper.experiments) for paper in chosen), quiet=options.quiet)
    try:
        values = reproduce(
            options.paper,
            data=options.data or named_folders(),
            out=options.out,
            quick=options.quick,
            threads=options.threads,
            watch=progress.say,
            finish=progress.finish,
        )
    except KeyboardInterrupt:
        progress.clear()
        raise KeyboardInterrupt(
            f"interrupted; {progress.done} of {progress.total} experiments are done and kept in "
            f"{options.out}: the same command goes on from there"
        ) from None
    for name, reason in values["left_out"].items():
        print(f"likewise: {name} was left out: {reason}", file=sys.stderr)
    if options.json:
        print_json(values)
        return
    print(_table(values["claims"]))
    print()
    for whose, told in (("published", "published claims"), ("ours", "claims of ours")):
        print(f"{told}: {tallied(values['verdicts'][whose])}")
    print(options.out / "index.html")


def _table(claims: Sequence[Mapping[str, Any]]) -> str:
    """Write claims for a terminal: the last column, the claim, takes as many lines as it needs."""
    from likewise.show.table import align
    from likewise.show.text import columns
    from likewise_papers.experiment import SIGNS

    rows = [("paper", "where", "verdict", "claim")]
    for claim in claims:
        shown = f"{SIGNS[claim['verdict']]} {claim['verdict']}"
        text = f"(ours) {claim['text']}" if claim["ours"] else claim["text"]
        rows.append((claim["paper"], claim["where"], shown, text))
    return "\n".join(align(rows, "<<<<", width=columns(), least=_NARROWEST, wrap=True))


class _Progress:
    """Tells on standard error which experiment is under way, and how many are left."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total = total
        self.done = 0
        self._quiet = quiet or is_unwanted()
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def say(self, line: str) -> None:
        """Tell what is under way; on a terminal the next line takes its place."""
        if self._quiet:
            return
        left = f"{self.total - self.done} of {self.total} left"
        text = f"{self._elapsed()} · {left} · {line}"
        if self._terminal:
            width = shutil.get_terminal_size((100, 24)).columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def finish(self, one: Done) -> None:
        """Tell that an experiment is done."""
        self.done += 1
        if self._quiet:
            return
        from likewise_papers.page import span

        self.clear()
        how = "kept from an earlier run" if one.kept else span(one.seconds)
        left = f"{self.total - self.done} of {self.total} left"
        place = f"{one.paper.name}: {one.experiment.where}, {one.experiment.title}"
        sys.stderr.write(f"{self._elapsed()} · {left} · done: {place} ({how})\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take away the line that the next would replace."""
        if self._terminal and not self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
