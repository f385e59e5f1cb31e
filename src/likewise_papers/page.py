"""The page of results: every claim, table and figure of the papers, measured again."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from likewise import __version__
from likewise.draw import style
from likewise.draw.curves import draw_risk
from likewise.draw.words import draw_words
from likewise.errors import LikewiseError, MissingExtra, UsageError
from likewise.show.page import render
from likewise_papers.data import DOCSTRINGS
from likewise_papers.experiment import (
    FAILS,
    HOLDS,
    SEVERAL,
    SIGNS,
    UNTESTABLE,
    VERDICTS,
    Drawing,
    Table,
)
from likewise_papers.panels import Panel, panels_figure
from likewise_papers.running import Done

_KINDS = {HOLDS: "yes", FAILS: "no", UNTESTABLE: "open"}
_NONE = "–"
_DOCSTRINGS = (
    "Docstrings are those of the Python that it was run by: functions are alike that name each "
    "other under See Also. Where nothing else is there that has judged queries, their titles are "
    "queries, and where nothing has abstracts, the first paragraphs of their texts are."
)
KINDS = ("panels", "risk", "words")


def page(
    done: Sequence[Done],
    *,
    quick: bool,
    data: Mapping[str, str],
    left_out: Mapping[str, str] | None = None,
) -> str:
    """Write results as an HTML page of its own; `data` are collections' hashes by name.

    `left_out` are collections that nothing could be asked of, with the reason.

    The same results give the same bytes: what it says of time is what the experiments took when
    they were run.
    """
    length = "a quick run, of smaller settings" if quick else "a full run"
    taken = f"{span(sum(one.seconds for one in done))} in all"
    notes = [_DOCSTRINGS] if DOCSTRINGS in data else []
    notes += [f"{name} was left out: {reason}." for name, reason in (left_out or {}).items()]
    return render(
        "page.html",
        folder=Path(__file__).parent,
        title="Do the published claims hold?",
        about=" · ".join([f"likewise {__version__}", length, f"{len(done)} experiments", taken]),
        tally=[
            ("Published claims", _tally(done, ours=False)),
            ("Claims of ours", _tally(done, ours=True)),
        ],
        papers=[(paper, list(some)) for paper, some in groupby(done, key=lambda one: one.paper)],
        data=data,
        notes=notes,
        kinds=_KINDS,
        signs=SIGNS,
        several=SEVERAL,
        number_of=lambda table: partial(number, digits=table.digits, bare=is_bare(table)),
        drawn=_drawn,
        setting_of=_setting,
    )


def inline(drawing: Drawing) -> str:
    """Draw a figure as an `<svg>` element."""
    labels = {"x_label": drawing.x_label, "y_label": drawing.y_label, "title": drawing.title}
    if drawing.kind not in KINDS:
        raise UsageError(f"a drawing is one of {', '.join(KINDS)}, not {drawing.kind!r}")
    if drawing.kind == "panels":
        panels = [Panel(p["name"], p["lines"], p.get("levels", {})) for p in drawing.panels]
        return style.svg_text(panels_figure(panels, **labels))
    with tempfile.TemporaryDirectory(prefix="likewise-") as aside:
        to = Path(aside) / "figure.svg"
        extra = drawing.extra
        if drawing.kind == "risk":
            if len(drawing.panels) != 1:
                raise UsageError(f"it has one panel of curves, not {len(drawing.panels)}")
            draw_risk(drawing.panels[0]["lines"], marks=extra.get("marks"), to=to, **labels)
        else:
            points = np.array(extra["points"], np.float64).reshape(-1, 2)
            draw_words(points, extra["labels"], extra["marked"], to=to, **labels)
        text = to.read_text("utf-8")
    return text[text.index("<svg") :]


def number(value: float, digits: int, *, bare: bool = False) -> str:
    """Write a number with so many digits after the point; `bare` leaves out a zero before it."""
    if not math.isfinite(value):
        return _NONE
    sign = "−" if round(value, digits) < 0 else ""
    text = f"{abs(value):,.{digits}f}"
    return sign + (text[1:] if bare and text.startswith("0.") else text)


def span(seconds: float) -> str:
    """Write a length of time."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def is_bare(table: Table) -> bool:
    """Tell whether all numbers of a table are shares, which are written without a zero."""
    numbers = [
        number
        for row in table.rows
        for number in (*(value.mean for value in row.values.values()), *row.published.values())
    ]
    return table.unit != "%" and all(abs(n) <= 1 for n in numbers if math.isfinite(n))


def _tally(done: Sequence[Done], *, ours: bool) -> dict[str, int]:
    claims = [claim for one in done for claim in one.result.claims if claim.ours is ours]
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def _drawn(drawing: Drawing) -> tuple[str, str]:
    """Draw a figure, or say why it cannot be drawn."""
    try:
        return inline(drawing), ""
    except MissingExtra as error:
        return "", str(error)
    except LikewiseError as error:
        return "", f"it cannot be drawn: {error}"


def _setting(done: Done) -> list[tuple[str, str]]:
    items = [(name, written(value)) for name, value in done.setting.items()]
    items.append(("seed", str(done.experiment.seed)))
    if done.collections:
        items.append(("data", ", ".join(done.collections)))
    if done.seconds >= 0.05:
        items.append(("time", span(done.seconds)))
    return items


def written(value: Any) -> str:
    """Write a value of a setting in a line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {written(one)}" for name, one in value.items()) or "none"
    if isinstance(value, Iterable) and not isinstance(value, str):
        parts = [
            f"({written(one)})" if isinstance(one, list | tuple | dict) else written(one)
            for one in value
        ]
        return ", ".join(parts) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
