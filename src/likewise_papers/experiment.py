"""What is an experiment? A claim that was published, and what we measure of it: plain values all.

Results are written to JSON and read back, so that a run can be resumed and a page made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.errors import UsageError
from likewise.evaluate.significance import bootstrap_interval

if TYPE_CHECKING:
    from likewise_papers.bench import Bench

HOLDS, FAILS, UNTESTABLE = "holds", "does not hold", "not testable here"
VERDICTS = (HOLDS, FAILS, UNTESTABLE)
# Of several claims; and a sign for each, as colour alone says nothing.
SEVERAL = {HOLDS: "hold", FAILS: "do not hold", UNTESTABLE: "not testable here"}
SIGNS = {HOLDS: "✓", FAILS: "✗", UNTESTABLE: "○"}


@dataclass(frozen=True)
class Value:
    """A number, and its 95% confidence interval where there is one."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Row:
    """A method: what was published for it and what we measure, by column.

    `ours` marks what the paper does not have.
    """

    name: str
    values: Mapping[str, Value] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)
    ours: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of values by column; `digits` after the point, `unit` such as "MAP" or "%"."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    digits: int = 3
    unit: str = ""
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure as data: panels of lines through points (x, y), and levels.

    `kind` is how it is drawn: "panels" (draw/panels), "risk" (draw/curves: the lines of the one
    panel; `extra` may have `marks`) or "words" (draw/words: `extra` has `points`, `labels` and
    `marked`). A panel is `{"name": …, "lines": {name: [(x, y), …]}, "levels": {name: y}}`.
    """

    kind: str
    title: str
    x_label: str = ""
    y_label: str = ""
    panels: tuple[Mapping[str, Any], ...] = ()
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A sentence that was published, or is `ours`, whether it holds, and what that was seen by."""

    text: str
    verdict: str
    reason: str
    ours: bool = False

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise UsageError(f"a verdict is one of {', '.join(VERDICTS)}, not {self.verdict!r}")


@dataclass(frozen=True)
class Result:
    """What an experiment gave."""

    claims: tuple[Claim, ...]
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Experiment:
    """An experiment as it is declared.

    `where` is its place in the paper ("Table 2"), `in_place_of` what its collections stand in for.
    `on` are the kinds of collections that it is done on (see `data`), and `beside` the names of
    others that it takes where they are there. `setting` are plain values, all of them, of which
    `sets` is how many collections are taken at most (0: all); `quick` replaces some for a short
    run.
    `tried` says what was done where a claim does not hold. `packages` are those without which some
    of it is left out. An experiment is `ours` if it goes beyond the paper. Whoever changes what
    `run` does counts `version` up, so that no old result is taken for new.
    """

    name: str
    where: str
    title: str
    run: Callable[[Bench], Result]
    on: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    in_place_of: str = ""
    tried: str = ""
    packages: tuple[str, ...] = ()
    ours: bool = False
    setting: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    version: int = 1


@dataclass(frozen=True)
class Paper:
    """A paper and its experiments, in the order of its tables and figures."""

    name: str
    title: str
    source: str
    experiments: tuple[Experiment, ...]
    about: str = ""


def read_result(values: Mapping[str, Any]) -> Result:
    """Read what `to_json` gave."""
    return Result(
        claims=tuple(Claim(**claim) for claim in values["claims"]),
        tables=tuple(read_table(table) for table in values["tables"]),
        drawings=tuple(_drawing(drawing) for drawing in values["drawings"]),
    )


def untestable(text: str, reason: str, *, ours: bool = False) -> Result:
    """Give the result of an experiment that cannot be done with what is there."""
    return Result((Claim(text, UNTESTABLE, reason, ours),))


def estimate(values: Sequence[float] | np.ndarray[Any, Any], *, seed: int = 0) -> Value:
    """Give the mean of a value for each query, and a bootstrap interval of it."""
    array = np.asarray(values, np.float64)
    if array.size < 2:
        return Value(float(array.mean()) if array.size else float("nan"))
    low, high = bootstrap_interval(array, seed=seed)
    return Value(float(array.mean()), float(low), float(high))


def verdict(holds: bool) -> str:
    """Say whether a claim holds."""
    return HOLDS if holds else FAILS


def read_table(values: Mapping[str, Any]) -> Table:
    """Read a table from plain values."""
    rows = tuple(
        Row(
            row["name"],
            {name: _value(value) for name, value in row["values"].items()},
            row["published"],
            row["ours"],
        )
        for row in values["rows"]
    )
    return Table(**{**values, "rows": rows, "columns": tuple(values["columns"])})


def _value(values: Mapping[str, Any]) -> Value:
    # What is not a number, as the mean of no queries, is null in JSON.
    mean = values["mean"]
    return Value(float("nan") if mean is None else mean, values["low"], values["high"])


def _drawing(values: Mapping[str, Any]) -> Drawing:
    return Drawing(**{**values, "panels": tuple(values["panels"])})
