"""info, show: what is in a collection?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.app.fields import field_line, without
from likewise.app.opening import outdated_note
from likewise.app.options import (
    Commands,
    add_json,
    command,
    human_size,
    print_json,
)
from likewise.text.languages import title_of

if TYPE_CHECKING:
    from likewise.collection.snapshot import Snapshot

_MOST_FIELDS = 40
_INFO_MANUAL = """\
examples:
  likewise info papers.lw
  likewise info papers.lw --check         read every file and verify its checksum
"""

_SHOW_MANUAL = """\
examples:
  likewise show papers.lw 1999-17
  likewise show papers.lw 1999-17 --terms       how it was analysed (a title's words count more)
  likewise show papers.lw 1999-17 --sentences   a sentence a line
"""


def register(commands: Commands) -> None:
    """Add the commands."""
    info = command(commands, "info", _info, manual=_INFO_MANUAL)
    info.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    info.add_argument("--check", action="store_true", help="verify every file")
    add_json(info)
    show = command(commands, "show", _show, manual=_SHOW_MANUAL)
    show.add_argument("collection", type=Path, metavar="DIR", help="the collection")
    show.add_argument("id", metavar="ID", help="the document")
    how = show.add_mutually_exclusive_group()
    how.add_argument("--terms", action="store_true", help="show its terms and their counts")
    how.add_argument("--sentences", action="store_true", help="show its sentences")
    add_json(show)


def _info(options: argparse.Namespace) -> None:
    from likewise.collection.snapshot import open_snapshot
    from likewise.engine.info import describe
    from likewise.engine.models import Models
    from likewise.engine.state import State

    snapshot = open_snapshot(options.collection)
    if options.check:
        snapshot.check()
    drift = Models(State(snapshot)).drift()
    info = describe(snapshot, drift) | ({"checked": True} if options.check else {})
    if options.json:
        print_json(info)
        return
    segments = f"{info['segments']} segment{'s' * (info['segments'] != 1)}"
    rows = [
        ("documents", f"{info['documents']:,}"),
        ("terms", f"{info['terms']:,}"),
        ("tokens", f"{info['tokens']:,} ({info['average_length']:,.1f} a document)"),
        ("on disk", f"{human_size(info['bytes'])} in {segments}"),
        *_languages(info["languages"]),
        *_fields(info["fields"]),
        ("models", _named(info["models"], info["defaults"].get("like", ""))),
        ("kernels", _named(info["kernels"], info["defaults"].get("smooth", ""))),
        ("graphs", ", ".join(info["graphs"])),
        ("format", f"{info['format']}, generation {info['generation']}"),
        ("by kind", ", ".join(f"{k} {human_size(n)}" for k, n in info["bytes_by_kind"].items())),
        ("analysis", _analysis(snapshot)),
    ]
    if info["deleted"]:
        rows.insert(1, ("deleted", f"{info['deleted']:,} (their room is freed by merge)"))
    rows += [
        ("unknown", f"{one['kind']} {one['name']!r}: of a later likewise, left as it is")
        for one in info["derived"]
        if not one["known"]
    ]
    rows += [("without", one) for one in without(info["not_stored"])]
    if info["outdated"]:
        rows.append(("outdated", outdated_note(options.collection)))
    rows += [("held", one) for one in _held(info)]
    # Whoever deletes something in confidence has to know, after a merge as well.
    rows += [("keeps", f"{one}, deleted ones too") for one in info["keeps"]]
    rows += [("drift", f"{one}{'; fit it again' * one.aged}") for one in drift]
    if options.check:
        rows.append(("checked", "every file is as it was written"))
    print(info["folder"])
    for name, value in rows:
        print(f"  {name:<10} {value or '-'}")


def _fields(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Describe each field, the first few of many."""
    width = max((len(name) for name in fields), default=0)
    width = min(width, 24)
    rows = [f"{name:<{width}}  {field_line(about)}" for name, about in fields.items()]
    if len(rows) > _MOST_FIELDS:
        rows[_MOST_FIELDS:] = [f"… ({len(fields):,} in all; --json has them)"]
    return [("" if i else "fields", row) for i, row in enumerate(rows or [""])]


def _languages(counts: dict[str, int]) -> list[tuple[str, str]]:
    """Give the shares of languages, where there are several."""
    if len(counts) < 2:
        return []
    total = sum(counts.values())
    shown = [f"{title_of(name)} {100 * n / total:.1f}%" for name, n in counts.items()]
    return [("languages", ", ".join(shown[:8]) + (f", … ({len(shown)})" if len(shown) > 8 else ""))]


def _named(names: list[str], default: str) -> str:
    """List models, with the one that answers where none is named."""
    if len(names) < 2:
        return ", ".join(names)
    return ", ".join(f"{name} (default)" if name == default else name for name in names)


def _held(info: dict[str, Any]) -> list[str]:
    """Say what is still on disk and no longer of the collection."""
    said = []
    for one in info["older_generations"] if info["leases"] else ():
        pids = f" (pid {', '.join(map(str, one['readers']))})" if one["readers"] else ""
        now = f"is still being read{pids}" if one["in_use"] else "is no longer needed"
        said.append(f"generation {one['generation']} {now} and goes with the next change")
    if not info["leases"]:
        said.append("no leases here: old states stay until `likewise clean` removes them")
    said += [
        f"{job}: broken off; run it again, or remove it by: likewise clean"
        for job in info["unfinished"]
    ]
    return said


def _analysis(snapshot: Snapshot) -> str:
    from likewise.text.analysis import Analysis

    analysis, plain = snapshot.analysis, Analysis()
    language = f"mixed, mainly {analysis.language}" if analysis.languages else analysis.language
    parts = [f"language {language}", f"stemmer {analysis.stemmer_name}"]
    for name in (
        "stop",
        "numbers",
        "min_length",
        "max_length",
        "title_weight",
        "fold",
        "positions",
        "min_df",
        "max_df",
        "min_count",
        "max_count",
    ):
        if getattr(analysis, name) != getattr(plain, name):
            parts.append(f"{name} {getattr(analysis, name)}")
    if analysis.stop_list:
        parts.append(f"{len(analysis.stop_list)} stop words of its own")
    return ", ".join(parts)


def _show(options: argparse.Namespace) -> None:
    import numpy as np

    from likewise.collection.snapshot import open_snapshot

    snapshot = open_snapshot(options.collection)
    doc = snapshot.find_doc(options.id)
    document = snapshot.document(doc)
    terms: dict[str, int] = {}
    if options.json or options.terms:
        counts = snapshot.term_counts(np.array([doc]))
        terms = dict(zip(snapshot.terms(counts.terms), counts.counts.tolist(), strict=True))
    if options.json:
        values: dict[str, Any] = document._asdict()
        print_json(values | {"terms": terms, "sentences": snapshot.sentences(doc)})
        return
    if options.terms:
        ranked = sorted(terms.items(), key=lambda item: (-item[1], item[0]))
        print("\n".join(f"{count:>6}  {term}" for term, count in ranked))
        return
    if options.sentences:
        print("\n".join(" ".join(sentence.split()) for sentence in snapshot.sentences(doc)))
        return
    print(document.title or document.id)
    for name, value in [
        ("id", document.id),
        *document.fields.items(),
        ("read from", document.place),
    ]:
        shown = _listed(value) if isinstance(value, list) else str(value)
        if shown:
            print(f"  {name}: {' '.join(shown.split())}")
    print(f"\n{document.text}")


def _listed(values: list[Any]) -> str:
    from likewise.collection.field_values import is_vector

    if is_vector(values):
        return f"{', '.join(map(str, values[:3]))}, … ({len(values)} numbers)"
    return ", ".join(map(str, values))
