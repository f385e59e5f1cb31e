"""`likewise reproduce`: do the published claims hold?"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.options import Commands, add_json, command, print_json, whole
from likewise.errors import StorageError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from likewise.reproduce.data import Data
    from likewise.reproduce.experiment import Paper
    from likewise.reproduce.running import Done

_MANUAL = """\
Papers: term-graph, decomposition, perturbation, kernel-lsa, simplex; all of them if none is named.

A collection is a folder under --data with corpus.jsonl (or .jsonl.gz) and, if it has them,
queries.jsonl and qrels.txt: cran, cisi, cacm, med, 20newsgroups, wikipedia-schools, elife. Without
--data (or $LIKEWISE_DATA) there are the docstrings of this machine's Python alone. An experiment
whose collections are missing is "not testable here".

OUT/index.html is the page, OUT/summary.json the same as data. Results are kept in OUT/kept, by
all that they depend on: a run that was interrupted goes on where it stopped, and one that changes
nothing only writes the page again. The exit code is 0 whatever the verdicts.
"""

_SIGNS = {"holds": "✓", "does not hold": "✗", "not testable here": "○"}
_NARROWEST = 24


def register(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands,
        "reproduce",
        _reproduce,
        summary="run the papers' experiments again, and say which claims hold",
        manual=_MANUAL,
    )
    parser.add_argument("paper", nargs="*", metavar="PAPER", help="which papers (default: all)")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="collections (default: $LIKEWISE_DATA)"
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
    from likewise.reproduce import papers
    from likewise.reproduce.data import Data
    from likewise.reproduce.page import page
    from likewise.reproduce.running import choose
    from likewise.reproduce.summary import summary, to_bytes

    chosen = choose(papers.all_papers(), options.paper)
    folder = _folder(options.data)
    _make(options.out)
    progress = _Progress(sum(len(paper.experiments) for paper in chosen), quiet=options.quiet)
    data = Data(folder, options.out / "collections", watch=progress.say)
    if folder is not None and not data.names:
        raise UsageError(
            f"--data {folder}: none of its folders has a corpus.jsonl; a collection is a folder "
            "with that file in it"
        )
    done = _run(chosen, data, options, progress)
    used = sorted({name for one in done for name in one.collections})
    told: dict[str, Any] = {
        "quick": options.quick,
        "data": {name: data.hash_of(name) for name in used},
    }
    values = summary(done, **told)
    _write(options.out / "summary.json", to_bytes(values))
    _write(options.out / "index.html", page(done, **told).encode("utf-8"))
    if options.json:
        print_json(values)
        return
    print(_table(done))
    counted = ", ".join(f"{n} {_several(verdict)}" for verdict, n in values["verdicts"].items())
    print(f"\n{counted}\n{options.out / 'index.html'}")


def _run(
    chosen: Sequence[Paper], data: Data, options: argparse.Namespace, progress: _Progress
) -> list[Done]:
    from likewise.reproduce.running import run_papers

    done: list[Done] = []
    running = run_papers(
        chosen,
        data,
        kept=options.out / "kept",
        quick=options.quick,
        threads=options.threads,
        watch=progress.say,
    )
    try:
        for one in running:
            done.append(one)
            progress.finish(one)
    except KeyboardInterrupt:
        progress.clear()
        raise KeyboardInterrupt(
            f"interrupted; {len(done)} of {progress.total} experiments are done and kept in "
            f"{options.out}: the same command goes on from there"
        ) from None
    return done


def _folder(named: Path | None) -> Path | None:
    """Give the folder of collections: what was named, else that of the environment."""
    if named is not None:
        return named
    given = os.environ.get("LIKEWISE_DATA", "")
    if given and not Path(given).is_dir():
        raise UsageError(
            f"LIKEWISE_DATA is {given}, and there is no such folder: name it by --data"
        )
    return Path(given) if given else None


def _make(out: Path) -> None:
    """Make the folder to write to, before anything takes long."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"--out {out}: a file; name a folder") from None
    except OSError as error:
        raise StorageError(f"--out {out}: cannot be made ({error.strerror})") from None
    if not os.access(out, os.W_OK):
        raise StorageError(f"--out {out}: cannot be written to")


def _write(path: Path, written: bytes) -> None:
    from likewise.collection.files import storage_errors, write_bytes

    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors(path):
        write_bytes(aside, written)
        aside.replace(path)


def _table(done: Sequence[Done]) -> str:
    """Write claims for a terminal: the last column, the claim, takes as many lines as it needs."""
    from likewise.models.colour import harmless

    rows = [("paper", "where", "verdict", "claim")]
    for one in done:
        for claim in one.result.claims:
            shown = f"{_SIGNS[claim.verdict]} {claim.verdict}"
            rows.append((one.paper.name, one.experiment.where, shown, claim.text))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    room = shutil.get_terminal_size((100, 24)).columns - sum(widths) - 6
    lines = []
    for *first, text in rows:
        start = "".join(f"{cell:<{width}}  " for cell, width in zip(first, widths, strict=True))
        for line in textwrap.wrap(harmless(text), max(room, _NARROWEST)) or [""]:
            lines.append((start + line).rstrip())
            start = " " * len(start)
    return "\n".join(lines)


def _several(verdict: str) -> str:
    return {"holds": "hold", "does not hold": "do not hold"}.get(verdict, verdict)


class _Progress:
    """Tells on standard error which experiment is under way, and how many are left."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total = total
        self._done = 0
        self._quiet = quiet
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def say(self, line: str) -> None:
        """Tell what is under way; on a terminal the next line takes its place."""
        if self._quiet:
            return
        left = f"{self.total - self._done} of {self.total} left"
        text = f"{self._elapsed()} · {left} · {line}"
        if self._terminal:
            width = shutil.get_terminal_size((100, 24)).columns - 1
            sys.stderr.write(f"\r\x1b[K{text[:width]}")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def finish(self, one: Done) -> None:
        """Tell that an experiment is done."""
        self._done += 1
        if self._quiet:
            return
        from likewise.reproduce.page import span

        self.clear()
        how = "kept from an earlier run" if one.kept else span(one.seconds)
        left = f"{self.total - self._done} of {self.total} left"
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
