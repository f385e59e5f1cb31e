"""Types of fields on the command line: how they are said, and shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.collection.adding import Added

FIELDS = """\
fields:
  A field is text, a number, true or false, or a date, as nine in ten of its values in the first
  segment (a million documents) show; a list has the type of its members. Dates are written as
  2015, 2015-03, 2015-03-04T10:11:12Z, 4 March 2015, Mar 4, 2015 or 04/03/2015, where a value such
  as 25/03/2015 shows what comes first. Digits with a leading zero are text. Values that do not fit
  are kept as text and counted. --type FIELD=TYPE says it otherwise: date-dmy and date-mdy are dates
  with the day or the month first. `likewise info` shows types, `likewise merge --type` changes one.
"""


def add_types(parser: argparse.ArgumentParser) -> None:
    """Add --type."""
    parser.add_argument(
        "--type",
        action="append",
        default=[],
        dest="types",
        metavar="FIELD=TYPE",
        help="text, number, boolean, date, date-dmy or date-mdy (default: as its values show)",
    )


def say_fields(
    options: argparse.Namespace, folder: Path, added: Added, there: Mapping[str, str]
) -> None:
    """Say of what type new fields are, and what did not fit."""
    from likewise.collection.schema import no_such_field, notes_said, read_types

    new = () if options.quiet else added.new_fields
    for line in notes_said(added.fields, folder, new=new):
        print(line, file=sys.stderr)
    for name in read_types(options.types):
        if name not in there:
            print(f"--type {name}: {no_such_field(name, there)}", file=sys.stderr)


_WITHOUT = {
    "positions": "where words stand: phrases take longer, and nearness does not count",
    "titles": "words of titles: title:word takes longer, and matches in titles add nothing",
    "exact": "exact forms: accents, stop words and c++ are not told apart",
}


def without(not_stored: Sequence[str]) -> list[str]:
    """Say what a collection was made without, what that means, and how it is had."""
    return [f"{_WITHOUT[kind]} (index again to have them)" for kind in not_stored]


def field_line(about: Mapping[str, Any]) -> str:
    """Describe a field: its type, how many documents have it, and its range or an example."""
    from likewise.collection.schema import FieldType

    count = f"{about['documents']:,} document" + "s" * (about["documents"] != 1)
    parts = [FieldType(about["type"]).phrase + ", lists" * about["lists"], count]
    example = about["example"] if len(about["example"]) < 60 else about["example"][:59] + "…"
    if about["range"] and about["type"] != FieldType.BOOLEAN:
        parts.append(" to ".join(map(str, about["range"])))
    if about["as_text"]:
        parts.append(f"{about['as_text']:,} kept as text, such as {example!r}")
    elif example:
        parts.append(f"such as {example!r}")
    return "; ".join(parts)
