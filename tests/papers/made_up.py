"""A made-up paper, and collections for it."""

import json

from likewise.errors import MissingExtra
from likewise_papers.bench import measured, search
from likewise_papers.data import JUDGED
from likewise_papers.experiment import (
    FAILS,
    HOLDS,
    UNTESTABLE,
    Claim,
    Drawing,
    Experiment,
    Paper,
    Result,
    Row,
    Table,
    Value,
    estimate,
    verdict,
)

NOTES = [
    ("1", "Wing flutter", "Flutter of a wing. Wings do flutter."),
    ("2", "Heat transfer", "Heat transfer to a blunt body."),
    ("3", "Boundary layers", "The boundary layer on a wing."),
    ("4", "Panel flutter", "Panels in supersonic flow."),
]


def write_collection(folder, *, notes=NOTES, judged=True, **fields):
    """Write a collection as `likewise reproduce` takes it."""
    folder.mkdir(parents=True)
    lines = [json.dumps({"id": i, "title": t, "text": x, **fields}) for i, t, x in notes]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    if judged:
        queries = [{"id": "a", "text": "flutter"}, {"id": "b", "text": "heat of a wing"}]
        queries.append({"id": "c", "text": "nothing relevant"})
        (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
        (folder / "qrels.txt").write_text("a 0 1 1\na 0 4 1\nb 0 2 1\nb 0 3 1\n")


def _real(bench):
    """Measure something on what is there."""
    bench.say("looking")
    rows = []
    for method in bench["methods"]:
        found = {}
        for name in bench.sets:
            ready = bench.open(name)
            found[name] = estimate(measured(ready, search(ready, method)), seed=bench.seed)
        rows.append(Row(method, found, {"notes": 0.25}, ours=method != "bm25"))
    best = all(row.values[bench.sets[0]].mean > 0.5 for row in rows)
    claims = (Claim("Search finds it.", verdict(best), "the means are in the table"),)
    columns = tuple(bench.sets)
    return Result(claims, (Table("Mean of two", columns, tuple(rows), unit="MAP"),))


def everything(*, text="plain", lines=2):
    """Give a result that has some of all that there is."""
    points = [(x / 4, 0.3 + x * 0.01) for x in range(5)]
    drawn = {f"{text} {i}": [(x, y + i / 50) for x, y in points] for i in range(lines)}
    columns = tuple(f"{text} {i}" for i in range(12))
    rows = (
        Row(f"{text} base", {c: Value(0.3123, 0.28, 0.341) for c in columns}, {columns[0]: 0.5}),
        Row(f"{text} new", {columns[1]: Value(float("nan"))}, {}, ours=True),
    )
    return Result(
        claims=(
            Claim(f"{text} holds.", HOLDS, f"{text} seen"),
            Claim(f"{text} fails.", FAILS, f"{text} not seen"),
            Claim(f"{text} is open.", UNTESTABLE, f"{text} not there"),
            Claim(f"{text} is ours.", HOLDS, f"{text} seen too", ours=True),
        ),
        tables=(
            Table(f"{text} wide", columns, rows, digits=4, unit="MAP", note=f"{text} note"),
            Table("seconds", ("a",), (Row("r", {"a": Value(-1234.5)}),), digits=1, unit="ms"),
        ),
        drawings=(
            Drawing(
                "panels",
                f"{text} panels",
                x_label="x",
                y_label="y",
                panels=tuple(
                    {"name": f"{text} {n}", "lines": drawn, "levels": {"level": 0.31}}
                    for n in range(2)
                ),
                note=f"{text} caption",
            ),
            Drawing("risk", f"{text} risk", "risk", "gain", ({"name": "", "lines": drawn},)),
            Drawing(
                "words",
                f"{text} words",
                "x",
                "y",
                extra={
                    "points": [[0.1, 0.2], [-0.3, 0.01]],
                    "labels": [text, "other"],
                    "marked": [True, False],
                },
            ),
        ),
    )


def _absent(bench):
    return bench.open("elsewhere")


def _missing(bench):
    raise MissingExtra("this", extra="vectors")


PAPER = Paper(
    "made-up",
    "On notes",
    "Nobody, Nowhere 1999",
    (
        Experiment(
            "table-1",
            "Table 1",
            "search for notes",
            _real,
            on=(JUDGED,),
            in_place_of="a million notes",
            setting={"methods": ["bm25", "ql"], "share": 0.5},
            quick={"methods": ["bm25"]},
            seed=3,
        ),
        Experiment("table-2", "Table 2", "of what is not there", _absent),
        Experiment(
            "figure-1",
            "Figure 1",
            "all there is",
            lambda bench: everything(),
            tried="plain tried.\n\nAnd that.",
        ),
        Experiment("figure-2", "Figure 2", "of another package", _missing),
    ),
    about="What it is about.",
)
