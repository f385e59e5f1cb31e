"""Which figures does README show? The product's main claims, by results of experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from likewise_papers.judged import GAIN, HURT, PLAIN, WORST
from likewise_papers.page import number
from likewise_papers.papers.decomposition.methods import DDM, LSI_DS, MIXED, TFIDF
from likewise_papers.papers.decomposition.methods import OURS as HYBRID
from likewise_papers.papers.kernel_lsa.pipelines import DEFAULT, TITLE
from likewise_papers.papers.perturbation.choosing import BY_DEFAULT
from likewise_papers.papers.perturbation.choosing import OURS as EXPANDED
from likewise_papers.papers.simplex.searching import CERTIFIED, LSH, TREE
from likewise_papers.papers.term_graph.prediction import OTHERS, kernel_row
from likewise_papers.papers.term_graph.prediction import OURS as VOTES

_DIGITS = 3


@dataclass(frozen=True)
class Main:
    """One of the product's main claims: a row of a table of an experiment, held against others.

    `columns` are those that are shown, with what they are called; without any, all as they are.
    `table` is the title of the table where the experiment has several with that row, `lower` says
    that less is better.
    """

    task: str
    paper: str
    experiment: str
    row: str
    against: tuple[str, ...]
    table: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    measure: str = ""
    lower: bool = False


_OVER = f"{{}}: over {PLAIN}"
_GAINS = {GAIN: "mean gain", WORST: "worst gain"}
_SEARCH = Main(
    "search",
    "kernel-lsa",
    "one-setting",
    DEFAULT,
    (PLAIN, "RM3", "LSI"),
    table=f"{TITLE}: MAP",
    columns={"cran": "Cranfield", "cisi": "CISI", "cacm": "CACM", "med": "MED"},
)
_GAINED = replace(
    _SEARCH,
    task="search, all of these",
    against=("robust", "RM3", "LSI"),
    table=_OVER.format(TITLE),
    columns=_GAINS,
    measure="MAP over BM25, %",
)
_EXPANSION = replace(
    _GAINED,
    task="expansion of queries, the same sets",
    paper="perturbation",
    row=EXPANDED,
    against=("rrm", "rm3", "bo1"),
    table=_OVER.format(BY_DEFAULT),
)
_NEAREST = Main(
    "ten nearest by Jensen-Shannon divergence",
    "simplex",
    "table-1",
    CERTIFIED,
    # The scan is exact by another distance, and hard to beat where there are few documents.
    (LSH[0.8], TREE, "He, scan"),
    columns={"MAP": "quality"},
    measure="MAP",
)
MAIN = (
    _SEARCH,
    _GAINED,
    replace(
        _GAINED,
        task="search, kinds of queries that nothing was chosen by",
        experiment="unseen",
        against=("robust", "RM3"),
    ),
    _EXPANSION,
    replace(_EXPANSION, columns={HURT: "queries hurt"}, measure="fewer are better", lower=True),
    Main(
        "query by document",
        "decomposition",
        "methods",
        HYBRID,
        (TFIDF, MIXED, LSI_DS, DDM),
        columns={
            "20newsgroups, category": "20 Newsgroups, same group",
            "wikipedia-schools, categories": "Wikipedia for Schools, a category in common",
            "wikipedia-schools, links": "Wikipedia for Schools, linked",
            "docstrings, see also": "docstrings, See Also",
        },
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
    _NEAREST,
    replace(_NEAREST, columns={"speed-up": "over an exhaustive search"}, measure=""),
)


def quality_table(values: Mapping[str, Any], *, main: Sequence[Main] = MAIN) -> str:
    """Write the product's main claims as a table in Markdown, a line for each set of data."""
    lines = ["| | measure | likewise | others |", "|---|---|---|---|"]
    for one in main:
        lines += _lines(one, values)
    return "\n".join(lines) + "\n"


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
            ours = _value(names, main.row, column)
            if ours is not None:
                others = {name: _value(names, name, column) for name in main.against}
                found = {name: value for name, value in others.items() if value is not None}
                yield _line(main, column, ours, found, table)


def _line(
    main: Main,
    column: str,
    ours: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]],
    table: Mapping[str, Any],
) -> str:
    """Write a line; bold is what is better than all others as they are written."""
    means = [ours["mean"], *(other["mean"] for other in others.values())]
    whole = all(float(mean).is_integer() for mean in means)
    digits = 0 if whole else min(table["digits"], _DIGITS)
    first, *rest = (round(-mean if main.lower else mean, digits) for mean in means)
    told = number(ours["mean"], digits, bare=True)
    told = f"**{told}**" if all(first > other for other in rest) else told
    if ours["low"] is not None and ours["high"] is not None:
        ends = (number(ours[end], digits, bare=True) for end in ("low", "high"))
        told += f" [{' '.join(ends)}]"
    against = ", ".join(
        f"{plain(name)} {number(other['mean'], digits, bare=True)}"
        for name, other in others.items()
    )
    name = plain(main.columns.get(column, column))
    measure = plain(main.measure or table["unit"])
    return f"| {main.task}, {name} | {measure} | {told} | {against} |"


def _value(rows: Mapping[str, Any], name: str, column: str) -> dict[str, Any] | None:
    value = rows[name]["values"].get(column) if name in rows else None
    return value if value and value["mean"] is not None else None


def plain(text: str) -> str:
    """Keep text from ending a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())
