"""Made-up results, and their summary as it is read back."""

import math

import orjson

from likewise_papers.experiment import Experiment, Paper, Result, Row, Table, Value
from likewise_papers.running import Done
from likewise_papers.summary import summary, to_bytes


def done(result, name="one", paper="p"):
    one = Experiment(
        name, "Table 1", "a title", None, setting={"a": 1}, seed=7, tried="That.\n\nAnd this."
    )
    return Done(Paper(paper, "P", "S", ()), one, {"a": 1}, ("notes",), result, 2.25)


def searched(*, title="t", new=0.4):
    columns = ("first | set", "second")
    rows = (
        Row("old", {"first | set": Value(0.3), "second": Value(0.5)}),
        Row("older", {"first | set": Value(0.2), "second": Value(math.nan)}),
        Row("new", {"first | set": Value(new, 0.35, 0.45), "second": Value(0.25)}, ours=True),
    )
    return Result((), (Table(title, columns, rows, unit="MAP"),))


def values(*all_done, quick=False):
    told = summary(all_done or [done(searched())], quick=quick, data={"notes": "ab"})
    return orjson.loads(to_bytes(told))
