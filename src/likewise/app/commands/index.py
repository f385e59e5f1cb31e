"""index, add, delete, merge: how a collection is made and changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from likewise.app.analysis import add_analysis, read_analysis, said_of_language
from likewise.app.fields import FIELDS, add_types, field_line, say_fields, without
from likewise.app.first_use import compiled_beside
from likewise.app.interrupts import saying_what_is_done
from likewise.app.options import (
    Commands,
    add_json,
    add_resources,
    command,
    human_size,
    print_json,
    resources,
)
from likewise.app.progress import OutOf, Progress
from likewise.app.reading import SOURCES, Reading, add_reading
from likewise.errors import UsageError
from likewise.show.text import counted

if TYPE_CHECKING:
    from likewise.collection.adding import Added
    from likewise.models.fitting import Config

_INDEX_MANUAL = f"""\
{SOURCES}
{FIELDS}
language:
  It is detected by the first 500 documents, and said; English where they do not tell. If they are
  in several (or with --language mixed) each is analysed in its own: see `likewise info`, and search
  in one with --filter language=fr. --language none: no stemmer, no stop list.

examples:
  likewise index papers.jsonl --to papers.lw
  likewise index grants.csv --to grants.lw --id grant_no --text abstract,aims --type zip=text
  likewise index news/ --to news.lw --language de         or german, Deutsch, de-AT; pt-BR; zh
  likewise index offers.csv --to offers.lw --delimiter ";" --encoding cp1252
  zcat dump.jsonl.gz | likewise index - --to dump.lw --skip-bad
"""

_ADD_MANUAL = f"""\
{SOURCES}
example:
  likewise add papers.lw more.jsonl --replace
"""

_DELETE_MANUAL = """\
examples:
  likewise delete papers.lw 1999-17 2001-3
  likewise delete papers.lw --from withdrawn.txt        an id a line; - is standard input
"""

_MERGE_MANUAL = """\
Additions make segments, deletions leave gaps. Both are tidied up as a collection grows; merging
by hand gives one segment without gaps: the smallest and fastest form. Texts are not analysed again:
what a collection was made without (positions, words of titles, exact forms) it does not get, and
what only some of its segments have is dropped; both are said.

example:
  likewise merge grants.lw --type "Filing Date=date-dmy"     another type for a field
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    index = command(commands, "index", _index, manual=_INDEX_MANUAL)
    index.add_argument("sources", nargs="+", metavar="SOURCE", help="where documents come from")
    index.add_argument("--to", required=True, type=Path, metavar="DIR", help="the new collection")
    index.add_argument(
        "--overwrite", action="store_true", help="take the place of a collection that is there"
    )
    add_reading(index)
    add_types(index)
    add_analysis(index)
    index.add_argument(
        "--model",
        default="lsi",
        metavar="NAME",
        help="fit this model at the end, or none (default lsi)",
    )
    index.add_argument(
        "--smooth",
        default="auto",
        metavar="NAME",
        help="and this kernel model, to smooth rankings by, or none (default klsa, beside a model)",
    )
    add_resources(index)
    add_json(index)

    add = command(commands, "add", _add, manual=_ADD_MANUAL)
    add.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    add.add_argument("sources", nargs="+", metavar="SOURCE", help="where documents come from")
    add_reading(add)
    add_types(add)
    add_resources(add)
    add_json(add)

    delete = command(commands, "delete", _delete, manual=_DELETE_MANUAL)
    delete.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    delete.add_argument("ids", nargs="*", metavar="ID", help="documents to delete")
    delete.add_argument("--from", dest="file", metavar="FILE", help="a file with an id a line")
    delete.add_argument(
        "--missing-ok", action="store_true", help="pass over ids that are not there"
    )
    add_json(delete)

    merge = command(
        commands,
        "merge",
        _merge,
        manual=_MERGE_MANUAL,
    )
    merge.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    add_types(merge)
    add_resources(merge)
    add_json(merge)


def _index(options: argparse.Namespace) -> None:
    with compiled_beside(quiet=options.quiet):
        _make(options)


def _make(options: argparse.Namespace) -> None:
    from likewise.collection.creating import build
    from likewise.collection.schema import read_types
    from likewise.engine.fitting import fit_where_possible, read_indexed

    analysis = read_analysis(options)
    types = read_types(options.types)
    configs = read_indexed(options.model, options.smooth)
    reading = Reading(options)
    with Progress("index", quiet=options.quiet) as progress:
        added = build(
            options.to,
            progress.follow(reading.documents(required=True), measured=reading),
            analysis=analysis,
            overwrite=options.overwrite,
            replace=options.replace,
            resources=resources(options),
            types=types,
        )
    waiting = [config for config in configs if config is not None and added.n_docs]
    with saying_what_is_done(lambda: _without_models(options.to, added.n_docs, waiting)):
        while waiting:
            what = f"fit {waiting[0].notation}"
            with Progress(what, unit="steps", quiet=options.quiet) as progress:
                fit_where_possible(
                    options.to,
                    waiting[0],
                    threads=options.threads,
                    progress=_advance(progress),
                )
            del waiting[0]
    if added.languages is not None and not options.quiet:
        for line in said_of_language(added.languages):
            print(line, file=sys.stderr)
    _report(options, options.to, added, reading)


def _without_models(folder: Path, n_docs: int, waiting: Sequence[Config]) -> str:
    """Say that documents are in and models are not, and how these are fitted."""
    names = " and ".join(str(config) for config in waiting)
    fits = " && ".join(
        f"likewise fit {quote(str(folder))} --model {quote(str(config))}" for config in waiting
    )
    are = f"{counted(n_docs, 'document')} {'is' if n_docs == 1 else 'are'} in {folder}"
    if not waiting:
        return f"{are}, with all models"
    return f"{are}, {names} {'is' if len(waiting) == 1 else 'are'} not fitted; go on with: {fits}"


def _advance(progress: Progress) -> Callable[[object], None]:
    return lambda note: progress.advance(1)


def _add(options: argparse.Namespace) -> None:
    from likewise.collection.manifest import read_pointer
    from likewise.collection.schema import read_types
    from likewise.collection.writer import Writer
    from likewise.derived.keeping import keep_up

    read_pointer(options.collection)
    types = read_types(options.types)
    reading = Reading(options)
    with (
        Writer(options.collection, keep_up) as writer,
        Progress("add", quiet=options.quiet) as progress,
    ):
        added = writer.add(
            progress.follow(reading.documents(), measured=reading),
            replace=options.replace,
            resources=resources(options),
            types=types,
        )
    _warn_of_age(options.collection)
    _report(options, options.collection, added, reading)


def _warn_of_age(folder: Path) -> None:
    from likewise.engine.collection import Collection

    for found in Collection(folder).models.drift():
        if found.aged:
            named = "" if found.config.startswith(found.model) else f" --name {found.model}"
            again = f'likewise fit {folder} --model "{found.config}"{named}'
            print(f"likewise: {found}; fit it again with: {again}", file=sys.stderr)


def _delete(options: argparse.Namespace) -> None:
    from likewise.engine.collection import Collection

    ids = list(options.ids)
    if options.file:
        ids += _id_lines(options.file)
    if not ids:
        raise UsageError("no id to delete: name some, or a file of them with --from")
    deleted = Collection(options.collection).delete(ids, missing_ok=options.missing_ok)
    if options.json:
        print_json({"deleted": deleted})
    else:
        print(f"{deleted:,} document{'s' * (deleted != 1)} deleted from {options.collection}")


def _merge(options: argparse.Namespace) -> None:
    from likewise.collection.schema import read_types
    from likewise.engine.collection import Collection

    collection = Collection(options.collection)
    types = read_types(options.types)
    with Progress("merge", quiet=options.quiet) as progress:
        measured = OutOf(len(collection), progress)
        segments = collection.merge(
            resources=resources(options),
            progress=lambda n_docs: progress.advance(n_docs, measured=measured),
            types=types,
        )
    about = collection.info()
    for name in types:
        print(f"{name}: {field_line(about['fields'][name])}", file=sys.stderr)
    for one in without(about["not_stored"]):
        print(f"without {one}", file=sys.stderr)
    if options.json:
        print_json(
            {
                "segments_before": segments,
                "segments": min(segments, 1),
                "not_stored": about["not_stored"],
            }
        )
    else:
        plural = "s" * (segments != 1)
        print(f"{options.collection}: {segments} segment{plural} became {min(segments, 1)}")


def _id_lines(file: str) -> list[str]:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"ids of {file}: {error}") from None
    return [line for line in text.split("\n") if line]


def _report(options: argparse.Namespace, folder: Path, added: Added, reading: Reading) -> None:
    from likewise.collection.snapshot import open_snapshot

    now = open_snapshot(folder)
    skipped = reading.skipped()
    if skipped:
        print(f"likewise: skipped {skipped}", file=sys.stderr)
    say_fields(options, folder, added, now.field_types)
    values: dict[str, Any] = {
        "folder": str(folder),
        "added": added.n_docs,
        "replaced": added.n_replaced,
        "skipped": len(skipped),
        "skipped_by_reason": skipped.counts,
        "documents": now.n_docs,
        "terms": now.n_terms,
        "tokens": now.n_tokens,
        "bytes": now.n_bytes,
        "language": now.analysis.language,
        "languages": now.language_counts(),
    }
    if options.json:
        print_json(values)
        return
    extra = "".join(
        f", {count:,} {what}"
        for count, what in ((added.n_replaced, "replaced"), (len(skipped), "skipped"))
        if count
    )
    each = f", {now.n_bytes / now.n_docs:,.0f} bytes each" if now.n_docs else ""
    print(f"{folder}: {counted(added.n_docs, 'document')} added{extra}")
    print(
        f"now {counted(now.n_docs, 'document')}, {counted(now.n_terms, 'term')}, "
        f"{counted(now.n_tokens, 'token')}; "
        f"{human_size(now.n_bytes)} on disk{each}"
    )
