"""copy, clean, upgrade: a collection as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from likewise.app.options import (
    Commands,
    add_json,
    add_resources,
    command,
    human_size,
    print_json,
    resources,
)
from likewise.app.progress import Progress

_COPY_MANUAL = """\
The copy is of one state, and checked, whoever writes to the collection meanwhile; it is there whole
or not at all.

examples:
  likewise copy papers.lw backup/papers.lw
"""

_CLEAN_MANUAL = """\
Every command that writes removes what nobody needs any more. That is left to this one where it
cannot be told who still reads a collection (on a network file system), and for work that was broken
off and could be resumed: `likewise info` shows both. Readers that are still there may fail on a
network file system: run it when there are none.

examples:
  likewise clean papers.lw
"""

_UPGRADE_MANUAL = """\
A collection that an earlier version of likewise wrote is brought to the format of this one: ids,
texts, fields, models, your own vectors, graphs and weights are carried over, nothing is fitted
again. It becomes real in one step at the end; if it is broken off, the same command takes it up.

examples:
  likewise upgrade papers.lw
  likewise upgrade papers.lw --keep       leave the old files in papers.lw/format-1
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    copy = command(commands, "copy", _copy, manual=_COPY_MANUAL)
    copy.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    copy.add_argument("to", type=Path, metavar="TO", help="a folder that is new or empty")
    add_json(copy)
    clean = command(commands, "clean", _clean, manual=_CLEAN_MANUAL)
    clean.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    add_json(clean)
    upgrade = command(
        commands,
        "upgrade",
        _upgrade,
        manual=_UPGRADE_MANUAL,
    )
    upgrade.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    upgrade.add_argument("--keep", action="store_true", help="leave the old files there")
    add_resources(upgrade)
    add_json(upgrade)


def _copy(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    size = Collection(options.collection).copy(options.to).snapshot.n_bytes
    if options.json:
        print_json({"folder": str(options.to), "bytes": size})
    else:
        print(f"{options.to}: {human_size(size)} copied and checked")


def _clean(options: argparse.Namespace) -> None:
    from likewise.collection.cleaning import clean

    freed = clean(options.collection)
    if options.json:
        print_json({"folder": str(options.collection), "freed": freed})
    else:
        print(f"{options.collection}: {human_size(freed)} freed")


def _upgrade(options: argparse.Namespace) -> None:
    from likewise.engine.upgrading import upgrade

    with Progress("upgrade", quiet=options.quiet) as progress:
        n_docs = upgrade(
            options.collection,
            resources=resources(options),
            keep=options.keep,
            progress=progress.advance,
        )
    if options.json:
        print_json({"folder": str(options.collection), "documents": n_docs})
    else:
        print(f"{options.collection}: upgraded, {n_docs:,} documents")
