"""Opens the collection that a command asks, and says where it was analysed by earlier code."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.engine.collection import Collection


def open_to_ask(options: argparse.Namespace) -> Collection:
    """Open the collection that a command asks, and say where it finds less than it would anew."""
    from likewise.engine.collection import Collection

    collection = Collection(options.collection)
    if collection.snapshot.manifest.outdated and not getattr(options, "quiet", False):
        note = outdated_note(options.collection)
        print(f"likewise: {options.collection} was {note}", file=sys.stderr)
    return collection


def outdated_note(folder: Path) -> str:
    """Say of a collection that was analysed by earlier code what that means, and the remedy."""
    return (
        "indexed by an earlier likewise, which read accents, acronyms with dots and Arabic "
        "otherwise: some queries find less; index its source again: "
        f"likewise index SOURCE --to {shlex.quote(str(folder))} --overwrite"
    )
