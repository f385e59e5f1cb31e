"""What do results come to? Plain values for a JSON file, and from that README's table of quality.

`python -m likewise.reproduce.summary docs/reproduction.json README.md` writes the table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from likewise import __version__
from likewise.errors import LikewiseError, UsageError
from likewise.reproduce.experiment import VERDICTS
from likewise.reproduce.page import number
from likewise.reproduce.papers.decomposition.methods import DDM, LSI_DS, TFIDF
from likewise.reproduce.papers.decomposition.methods import OURS as HALVES
from likewise.reproduce.papers.simplex.searching import CERTIFIED, LSH, TREE
from likewise.reproduce.papers.term_graph.prediction import OTHERS, kernel_row
from likewise.reproduce.papers.term_graph.prediction import OURS as VOTES
from likewise.reproduce.running import Done

FORMAT = 1
START, END = "<!-- quality: made by likewise reproduce -->", "<!-- /quality -->"

_DIGITS = 3
_LISTS = ("claims", "tables", "drawings")


@dataclass(frozen=True)
class Main:
    """One of the product's main claims: a row of a table of an experiment, held against others.

    `columns` are those that are shown, with what they are called; without any, all as they are.
    `table` is the title of the table where the experiment has several with that row.
    """

    task: str
    paper: str
    experiment: str
    row: str
    against: tuple[str, ...]
    table: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    measure: str = ""


# The scan is exact by another distance, and hard to beat where there are few documents.
_SEARCHED = (LSH[0.8], TREE, "He, scan")
MAIN = (
    Main(
        "search",
        "kernel-lsa",
        "ours",
        "robust and klsa (the default search)",
        ("BM25", "RM3", "LSI"),
        columns={"cran": "Cranfield", "cisi": "CISI", "cacm": "CACM", "med": "MED"},
    ),
    Main(
        "query by document",
        "decomposition",
        "methods",
        HALVES,
        (TFIDF, DDM, LSI_DS),
    ),
    Main(
        "terms of a paper from its abstract",
        "term-graph",
        "table-2",
        VOTES,
        ("TF-IDF", "PHITS", "popularity", kernel_row("resistance")),
        table="AUC of terms told",
        columns={f"{name}, {OTHERS}": name for name in ("names", "words")},
    ),
    Main(
        "ten nearest by Jensen-Shannon divergence",
        "simplex",
        "table-1",
        CERTIFIED,
        _SEARCHED,
        columns={"MAP": "quality"},
        measure="MAP",
    ),
    Main(
        "ten nearest by Jensen-Shannon divergence",
        "simplex",
        "table-1",
        CERTIFIED,
        _SEARCHED,
        columns={"speed-up": "over an exhaustive search"},
    ),
)


def summary(done: Sequence[Done], *, quick: bool, data: Mapping[str, str]) -> dict[str, Any]:
    """Give all results as plain values; `data` are collections' hashes by name.

    Claims, tables and drawings are lists of their own, each with its paper and experiment.
    """
    values = [one.to_json() for one in done]
    out: dict[str, Any] = {
        "format": FORMAT,
        "likewise": __version__,
        "quick": quick,
        "data": dict(data),
        "seconds": round(sum(one["seconds"] for one in values), 1),
        "verdicts": {
            verdict: sum(claim["verdict"] == verdict for one in values for claim in one["claims"])
            for verdict in VERDICTS
        },
        "papers": [
            {
                "name": paper.name,
                "title": paper.title,
                "source": paper.source,
                "about": paper.about,
                "experiments": [
                    {name: v for name, v in one.to_json().items() if name not in ("paper", *_LISTS)}
                    for one in some
                ],
            }
            for paper, some in groupby(done, key=lambda one: one.paper)
        ],
    }
    for name in _LISTS:
        out[name] = [
            {"paper": one["paper"], "experiment": one["experiment"], "where": one["where"], **item}
            for one in values
            for item in one[name]
        ]
    return out


def to_bytes(values: Mapping[str, Any]) -> bytes:
    """Write a summary as the JSON of a file; what is not a number becomes null."""
    flags = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(values, option=flags)


def readme_table(values: Mapping[str, Any], *, main: Sequence[Main] = MAIN) -> str:
    """Write the product's main claims as a table in Markdown, a line for each set of data."""
    lines = ["| | measure | likewise | others |", "|---|---|---|---|"]
    for one in main:
        lines += _lines(one, values)
    return "\n".join(lines) + "\n"


def update_readme(path: Path, values: Mapping[str, Any]) -> None:
    """Put the table between the two comments that a file has for it."""
    if values["quick"]:
        raise UsageError(
            "these are the results of a quick run: README.md takes those of a full one"
        )
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise UsageError(f"{path}: nowhere to put the table; it has no {START} with {END} after it")
    path.write_text(f"{before}{start}\n{readme_table(values)}{end}{after}", "utf-8")


def _lines(main: Main, values: Mapping[str, Any]) -> Iterator[str]:
    for table in values["tables"]:
        names = {row["name"]: row for row in table["rows"]}
        place = (table["paper"], table["experiment"])
        if place != (main.paper, main.experiment) or main.row not in names:
            continue
        if main.table and table["title"] != main.table:
            continue
        for column in table["columns"]:
            if main.columns and column not in main.columns:
                continue
            ours = names[main.row]["values"].get(column)
            if ours is None or ours["mean"] is None:
                continue
            best = max(
                (v["mean"] for name in main.against if (v := _value(names, name, column))),
                default=-math.inf,
            )
            told = _told(ours, table)
            first = f"**{told}**" if ours["mean"] > best else told
            interval = _interval(ours, table)
            others = ", ".join(
                f"{_plain(name)} {_told(v, table)}"
                for name in main.against
                if (v := _value(names, name, column))
            )
            name = _plain(main.columns.get(column, column))
            measure = _plain(main.measure or table["unit"])
            yield f"| {main.task}, {name} | {measure} | {first}{interval} | {others} |"


def _value(rows: Mapping[str, Any], name: str, column: str) -> dict[str, Any] | None:
    value = rows[name]["values"].get(column) if name in rows else None
    return value if value and value["mean"] is not None else None


def _told(value: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    return number(value["mean"], min(table["digits"], _DIGITS), bare=True)


def _interval(value: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    if value["low"] is None or value["high"] is None:
        return ""
    digits = min(table["digits"], _DIGITS)
    ends = (number(value[end], digits, bare=True) for end in ("low", "high"))
    return f" [{' '.join(ends)}]"


def _plain(text: str) -> str:
    """Keep text from ending a cell of the table."""
    return " ".join(text.replace("|", "\\|").split())


def main(arguments: Sequence[str]) -> int:
    """Write the table of a summary into a file that has a place for it; give the exit code."""
    try:
        if len(arguments) != 2:
            raise UsageError("give two files: a summary as JSON, and the README to write to")
        source, to = map(Path, arguments)
        try:
            values = orjson.loads(source.read_bytes())
        except OSError as error:
            raise UsageError(f"{source}: cannot be read ({error.strerror})") from None
        except ValueError:
            raise UsageError(f"{source}: not a summary as likewise reproduce writes it") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise UsageError(f"{source}: not a summary as likewise reproduce writes it")
        update_readme(to, values)
    except LikewiseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
