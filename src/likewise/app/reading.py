"""The sources of a command: options, how far they are read, and what was skipped."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from likewise.errors import SourceError, UsageError

if TYPE_CHECKING:
    from likewise.records import Document
    from likewise.sources import Skipped, Source

SOURCES = """\
sources:
  TABLE            .jsonl .json .csv .tsv .xlsx .parquet: a document a row
  DOCUMENT         .txt .html .md .pdf .docx .eml: one document, the file's name its id
  DOCUMENTS        .sgml .trec .mbox: many documents
  FOLDER           every document in it, of any of these formats, the path its id; tables,
                   collections, hidden files and what is no text are skipped and counted
  ir:ID            a data set of ir_datasets, such as ir:cranfield
  docstrings:      the docstrings of the installed scientific Python stack
  -                standard input (JSONL, or as --format says)
Files may be compressed (.gz, .zst). PDF needs: pip install 'likewise[files]'.
Each document has an id, a title and a text; the other columns are kept as metadata. Encodings and
delimiters are found out; HTML in titles and texts is stripped where there is some.
A document that cannot be read stops the work with file:line: reason and changes nothing, unless
--skip-bad. Empty files are skipped and counted. Two documents with one id are an error, unless
--replace.
"""


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading."""
    group = parser.add_argument_group("reading")
    group.add_argument("--id", metavar="COLUMN", help="the id (default: id)")
    group.add_argument(
        "--title", default="title", metavar="COLUMN", help="the title (default: title)"
    )
    group.add_argument(
        "--text",
        default="text",
        metavar="COLUMN[,…]",
        help="the text; several are joined (default: text)",
    )
    group.add_argument(
        "--auto-id", action="store_true", help="where there is no id, make one: file:line"
    )
    group.add_argument(
        "--format",
        metavar="NAME",
        help="of all files: jsonl json csv tsv xlsx parquet sgml mbox text html markdown pdf docx "
        "eml",
    )
    group.add_argument("--encoding", default="", metavar="NAME", help="utf-8, cp1252, …")
    group.add_argument("--delimiter", default="", metavar="CHAR", help="of CSV: , ; tab or |")
    group.add_argument(
        "--markup",
        default="auto",
        choices=("auto", "strip", "keep"),
        help="HTML in titles and texts of tables: strip where it is (auto), everywhere, or keep",
    )
    group.add_argument("--skip-bad", action="store_true", help="skip and count what cannot be read")
    group.add_argument("--replace", action="store_true", help="the last document of an id wins")


class Reading:
    """The sources of a command, how far they are, and what was skipped."""

    def __init__(self, options: argparse.Namespace) -> None:
        from likewise.sources import Columns, Skipped, open_source

        if options.auto_id and options.id is not None:
            raise UsageError(
                f"--auto-id and --id {options.id} are at odds: ids are those of a column, "
                "or made of file and line; give one of both"
            )
        self._bad = Skipped()
        columns = Columns(
            id="id" if options.id is None else options.id,
            title=options.title,
            text=tuple(options.text.split(",")),
            auto_id=options.auto_id,
            markup=options.markup,
        )
        self.sources: Sequence[Source] = [
            open_source(
                source,
                columns=columns,
                format=options.format,
                encoding=options.encoding,
                delimiter=options.delimiter,
                on_bad=self._skip if options.skip_bad else None,
            )
            for source in options.sources
        ]

    @property
    def total(self) -> int | None:
        """How much there is to read, where that is known."""
        sizes = [source.total for source in self.sources]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def done(self) -> int:
        """How much has been read."""
        return sum(source.done for source in self.sources)

    def documents(self, *, required: bool = False) -> Iterator[Document]:
        """The documents of all sources; where one is `required`, none is an error."""
        from likewise.sources import at_least_one

        found = chain.from_iterable(self.sources)
        return at_least_one(found, self.sources, self.skipped) if required else found

    def skipped(self) -> Skipped:
        """What was skipped by now: files of folders, and what could not be read."""
        from likewise.sources import Skipped

        skipped = Skipped()
        for one in (self._bad, *(source.skipped for source in self.sources)):
            skipped.update(one)
        return skipped

    def _skip(self, error: SourceError) -> None:
        self._bad.add_error(error)
        if self._bad.counts[error.kind] <= 3:
            print(f"skipped: {error.in_shell}", file=sys.stderr)
