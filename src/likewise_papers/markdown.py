"""How do results look as Markdown? All claims and tables, for who reads the project's pages.

`python -m likewise_papers.markdown docs/reproduction.json README.md` writes `reproduction.md`
beside the results of a full run, and README's table of quality.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from likewise.errors import LikewiseError, UsageError
from likewise_papers.experiment import SIGNS, Table, read_table
from likewise_papers.page import is_bare, number, span
from likewise_papers.quality import plain, quality_table
from likewise_papers.summary import FORMAT, tallied

START, END = "<!-- quality: made by likewise reproduce -->", "<!-- /quality -->"
_ABOUT = """\
Made from `reproduction.json` by `make reproduce`, not by hand. Published values stand in *italics*
beside ours; intervals are of 95%. The page that `likewise reproduce` writes has the figures too.
"""


def markdown(values: Mapping[str, Any]) -> str:
    """Write a summary's claims and tables."""
    verdicts = "; ".join(f"{whose}: {tallied(of)}" for whose, of in values["verdicts"].items())
    data = ", ".join(values["data"])
    lines = [
        "# Do the published claims hold?",
        "",
        _ABOUT,
        f"likewise {values['likewise']}, {span(values['seconds'])} in all, on {data}. "
        f"Claims, {verdicts}.",
    ]
    for paper in values["papers"]:
        lines += ["", f"## {paper['title']}", "", paper["source"]]
        for one in paper["experiments"]:
            lines += _experiment(paper["name"], one, values)
    return "\n".join(lines) + "\n"


def update(stored: Path, readme: Path) -> None:
    """Write the Markdown of a stored summary beside it, and its table into a README."""
    values = _read(stored)
    if values["quick"]:
        raise UsageError(f"{stored}: of a quick run; what is published are those of a full one")
    try:
        text = readme.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{readme}: cannot be read ({error.strerror})") from None
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise UsageError(
            f"{readme}: nowhere to put the table; it has no {START} with {END} after it"
        )
    stored.with_suffix(".md").write_text(markdown(values), "utf-8")
    readme.write_text(f"{before}{start}\n{quality_table(values)}{end}{after}", "utf-8")


def _plain(text: str) -> str:
    """Keep text from being taken for a mark or for the end of a cell."""
    for mark in "\\*_<":
        text = text.replace(mark, f"\\{mark}")
    return plain(text)


def _experiment(paper: str, one: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[str]:
    place = (paper, one["experiment"])

    def of(name: str) -> list[Any]:
        return [item for item in values[name] if (item["paper"], item["experiment"]) == place]

    yield from ("", f"### {_plain(one['where'])}: {_plain(one['title'])}", "")
    if one["in_place_of"]:
        yield from (f"In place of: {_plain(one['in_place_of'])}.", "")
    for claim in of("claims"):
        told = f"{SIGNS[claim['verdict']]} {claim['verdict']}"
        whose = " (ours)" if claim["ours"] else ""
        yield f"- **{told}**{whose}: {_plain(claim['text'])} ({_plain(claim['reason'])})"
    for table in of("tables"):
        yield from _table(read_table({k: v for k, v in table.items() if k not in _PLACE}))
    if one["tried"]:
        yield from ("", _plain(one["tried"]))
    data = ", ".join(one["collections"]) or "none"
    yield from ("", f"Data: {_plain(data)}; seed {one['seed']}; {span(one['seconds'])}.")


_PLACE = ("paper", "experiment", "where")


def _table(table: Table) -> Iterator[str]:
    bare = is_bare(table)
    told = f", {table.unit}" if table.unit and table.unit not in table.title else ""
    yield from ("", f"**{_plain(table.title)}**{_plain(told)}", "")
    yield f"| | {' | '.join(map(_plain, table.columns))} |"
    yield "|---" * (len(table.columns) + 1) + "|"
    for row in table.rows:
        cells = []
        for column in table.columns:
            value, published = row.values.get(column), row.published.get(column)
            parts = []
            if value is not None:
                parts.append(number(value.mean, table.digits, bare=bare))
                if value.low is not None and value.high is not None:
                    ends = (number(e, table.digits, bare=bare) for e in (value.low, value.high))
                    parts.append(f"[{' '.join(ends)}]")
            if published is not None:
                parts.append(f"*{number(published, table.digits, bare=bare)}*")
            cells.append(" ".join(parts))
        yield f"| {_plain(row.name)} | {' | '.join(cells)} |"
    if table.note:
        yield from ("", _plain(table.note))


def _read(stored: Path) -> dict[str, Any]:
    try:
        values = orjson.loads(stored.read_bytes())
    except OSError as error:
        raise UsageError(f"{stored}: cannot be read ({error.strerror})") from None
    except ValueError:
        values = None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise UsageError(f"{stored}: not a summary as likewise reproduce writes it")
    return values


def main(arguments: Sequence[str]) -> int:
    """Bring the files up to date; give the exit code."""
    try:
        if len(arguments) != 2:
            raise UsageError("give two files: a summary as JSON, and the README to write to")
        update(*map(Path, arguments))
    except LikewiseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
