"""compile: kernels compiled ahead, for this machine."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from likewise.app.options import Commands, command, human_size
from likewise.app.progress import Progress
from likewise.errors import LikewiseError

_MANUAL = """\
A wheel for this processor comes with compiled code. What was installed from source compiles when
it is first used, and each process loads that by numba, which takes most of a second. This command
compiles all that a tour of likewise uses, once, in a few minutes, into a file that is loaded in a
millisecond: for containers, clusters and people in a hurry. It needs a C compiler (CC names one).

With --to the file is put there, and used where NUMBA_CACHE_DIR names DIR; else it is found by
itself. Code that has changed since, or is for another processor, is never run: it is compiled when
it is used.

examples:
  likewise compile
  likewise compile --to /opt/kernels          then: export NUMBA_CACHE_DIR=/opt/kernels
"""


def register(commands: Commands) -> None:
    """Add the command."""
    made = command(commands, "compile", _compile, manual=_MANUAL)
    made.add_argument("--to", type=Path, metavar="DIR", help="keep the file here")
    made.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _compile(options: argparse.Namespace) -> None:
    from likewise import kernel_folders, linking
    from likewise.app import tour
    from likewise.compiled import recording

    folder = options.to / "likewise" if options.to else kernel_folders.room()
    if folder is None or (options.to is None and folder == kernel_folders.private_folder()):
        raise LikewiseError("no folder can be written to; name one by --to")
    # What would fail at the end is tried first: the tour takes minutes.
    linking.find_compiler()
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    with (
        tempfile.TemporaryDirectory(prefix="likewise-tour-") as aside,
        recording() as recorded,
        Progress("compile", unit="commands", quiet=options.quiet) as progress,
    ):
        tour.run(Path(aside), progress=lambda line: progress.advance(1))
    linked = linking.link(recorded, to=folder)
    for name, reason in linked.left_out.items():
        print(f"likewise: left out: {name}: {reason}", file=sys.stderr)
    n = len(set(linked.names))
    print(f"{linked.path}: {n} kernels, {human_size(os.path.getsize(linked.path))}")
    if options.to:
        print(f"use it by: export NUMBA_CACHE_DIR={options.to.absolute()}")
