"""How do results look on a page? One file, no scripts, nothing from outside."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from likewise import __version__
from likewise.draw import style
from likewise.draw.curves import draw_risk
from likewise.draw.words import draw_words
from likewise.errors import LikewiseError, MissingExtra, UsageError
from likewise.show.text import harmless
from likewise_papers.data import DOCSTRINGS
from likewise_papers.experiment import (
    FAILS,
    HOLDS,
    SEVERAL,
    SIGNS,
    UNTESTABLE,
    VERDICTS,
    Claim,
    Drawing,
    Paper,
    Row,
    Table,
    Value,
)
from likewise_papers.page_style import STYLE
from likewise_papers.panels import Panel, panels_figure
from likewise_papers.running import Done

_KINDS = {HOLDS: "yes", FAILS: "no", UNTESTABLE: "open"}
_OURS = '<span class="ours">ours</span>'
# Tables of so many columns are set smaller where they cannot be scrolled: on paper.
_WIDE, _WIDEST = 6, 10
_NONE = "–"
_DOCSTRINGS = (
    "Docstrings are those of the Python that it was run by: functions are alike that name each "
    "other under See Also. Where nothing else is there that has judged queries, their titles are "
    "queries, and where nothing has abstracts, the first paragraphs of their texts are."
)
KINDS = ("panels", "risk", "words")

_ABOUT = """\
<p>Every table and figure of the papers below, measured again by <code>likewise reproduce</code>.
Published values stand beside ours; a verdict is worked out from what was measured here, on the
data named below, which are seldom the paper's own. Intervals are of 95%.</p>
"""


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
    papers = [(paper, list(some)) for paper, some in groupby(done, key=lambda one: one.paper)]
    title = "Do the published claims hold?"
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n",
            f"<body>\n<main>\n<header>\n<h1>{title}</h1>\n",
            _about(done, quick=quick),
            f"</header>\n{_tally(done)}{_summary(papers)}{_data(data, left_out or {})}",
            *(_paper(paper, some) for paper, some in papers),
            "</main>\n</body>\n</html>\n",
        ]
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


def _about(done: Sequence[Done], *, quick: bool) -> str:
    length = "a quick run, of smaller settings" if quick else "a full run"
    told = [f"likewise {__version__}", length, f"{len(done)} experiments"]
    told.append(f"{span(sum(one.seconds for one in done))} in all")
    return f'<p class="about">{_safe(" · ".join(told))}</p>\n{_ABOUT}'


def _tally(done: Sequence[Done]) -> str:
    claims = [claim for one in done for claim in one.result.claims]
    lists = []
    for whose, ours in (("Published claims", False), ("Claims of ours", True)):
        verdicts = [claim.verdict for claim in claims if claim.ours is ours]
        items = "".join(
            f'<li class="{_KINDS[verdict]}"><span class="sign">{SIGNS[verdict]}</span> '
            f"<b>{verdicts.count(verdict)}</b> {SEVERAL[verdict]}</li>\n"
            for verdict in VERDICTS
        )
        lists.append(f'<ul class="tally">\n<li class="whose">{whose}</li>\n{items}</ul>\n')
    return "".join(lists)


def _summary(papers: Sequence[tuple[Paper, list[Done]]]) -> str:
    bodies = []
    for paper, some in papers:
        rows = [
            f'<tr><td class="where"><a href="#{_anchor(one)}">{_safe(one.experiment.where)}</a>'
            f"</td><td>{_claim(claim)}</td><td>{_verdict(claim)}</td></tr>\n"
            for one in some
            for claim in one.result.claims
        ]
        bodies.append(
            f'<tbody>\n<tr class="group"><th colspan="3" scope="rowgroup">'
            f'<a href="#{_safe(paper.name)}">{_safe(paper.title)}</a></th></tr>\n'
            f"{''.join(rows)}</tbody>\n"
        )
    head = "<thead>\n<tr><th>Where</th><th>Claim</th><th>Verdict</th></tr>\n</thead>\n"
    table = f'<table class="claims">\n{head}{"".join(bodies)}</table>\n'
    return (
        f'<section class="card">\n<h2>All claims</h2>\n{_scroll(table, "All claims")}</section>\n'
    )


def _data(data: Mapping[str, str], left_out: Mapping[str, str]) -> str:
    if not data and not left_out:
        return ""
    items = "".join(
        f"<li><b>{_safe(name)}</b> <code>{_safe(digest)}</code></li>\n"
        for name, digest in data.items()
    )
    notes = [_DOCSTRINGS] if DOCSTRINGS in data else []
    notes += [f"{name} was left out: {reason}." for name, reason in left_out.items()]
    told = "".join(f'<p class="note">{_safe(note)}</p>\n' for note in notes)
    return (
        '<section class="card">\n<h2>Data, and a hash of each</h2>\n'
        f'<ul class="hashes">\n{items}</ul>\n{told}</section>\n'
    )


def _paper(paper: Paper, done: Sequence[Done]) -> str:
    about = f"<p>{_safe(paper.about)}</p>\n" if paper.about else ""
    return (
        f'<section class="paper" id="{_safe(paper.name)}">\n<h2>{_safe(paper.title)}</h2>\n'
        f'<p class="source">{_safe(paper.source)}</p>\n{about}'
        f"{''.join(map(_experiment, done))}</section>\n"
    )


def _experiment(done: Done) -> str:
    one, result = done.experiment, done.result
    parts = [
        f'<article class="card" id="{_anchor(done)}">\n<h3><span class="place">'
        f"{_safe(one.where)}</span> {_safe(one.title)}</h3>\n"
    ]
    if one.in_place_of:
        parts.append(f'<p class="in-place-of"><b>In place of:</b> {_safe(one.in_place_of)}</p>\n')
    claims = "".join(
        f"<li>{_verdict(claim)}<div><p>{_claim(claim)}</p>"
        f'<p class="reason">{_safe(claim.reason)}</p></div></li>\n'
        for claim in result.claims
    )
    parts.append(f'<ul class="verdicts">\n{claims}</ul>\n')
    parts += map(_table, result.tables)
    parts += map(_figure, result.drawings)
    if one.tried:
        parts.append(f'<div class="tried"><h4>What was tried</h4>\n{_text(one.tried)}</div>\n')
    parts.append(_setting(done))
    return "".join([*parts, "</article>\n"])


def _table(table: Table) -> str:
    bare, both = is_bare(table), any(row.published for row in table.rows)
    heads = "".join(f'<th scope="col">{_safe(name)}</th>' for name in table.columns)
    rows = "".join(_row(row, table, bare=bare) for row in table.rows)
    told = table.unit if table.unit not in table.title else ""
    unit = f' <span class="unit">{_safe(told)}</span>' if told else ""
    size = len(table.columns)
    wide = " widest" if size > _WIDEST else " wide" if size > _WIDE else ""
    text = (
        f'<table class="values{wide}">\n<caption>{_safe(table.title)}{unit}</caption>\n'
        f"<thead>\n<tr><td></td>{heads}</tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
    notes = [_safe(table.note)] if table.note else []
    keys = ['<span class="published">paper</span>: as published'] if both else []
    if any(row.ours for row in table.rows):
        keys.append(f"{_OURS}: the paper does not have it")
    notes += [" · ".join(keys)] if keys else []
    note = f'<p class="note">{"<br>".join(notes)}</p>\n' if notes else ""
    return _scroll(text, table.title) + note


def _row(row: Row, table: Table, *, bare: bool) -> str:
    cells = []
    for column in table.columns:
        value, published = row.values.get(column), row.published.get(column)
        lines = [] if value is None else [_measured(value, table.digits, bare=bare)]
        if published is not None:
            told = number(published, table.digits, bare=bare)
            lines.append(f'<span class="published">paper {told}</span>')
        cells.append(f"<td>{''.join(lines) or _NONE}</td>")
    mark = f"{_OURS} "
    kind = ' class="beyond"' if row.ours else ""
    head = f'<th scope="row">{mark if row.ours else ""}{_safe(row.name)}</th>'
    return f"<tr{kind}>{head}{''.join(cells)}</tr>\n"


def _measured(value: Value, digits: int, *, bare: bool) -> str:
    told = f'<span class="mean">{number(value.mean, digits, bare=bare)}</span>'
    if value.low is None or value.high is None:
        return told
    low, high = (number(end, digits, bare=bare) for end in (value.low, value.high))
    return f"{told}<small>{low}–{high}</small>"


def _figure(drawing: Drawing) -> str:
    note = f"<figcaption>{_safe(drawing.note)}</figcaption>\n" if drawing.note else ""
    try:
        drawn = inline(drawing)
    except MissingExtra as error:
        return _undrawn(drawing, f"{error}", note)
    except LikewiseError as error:
        return _undrawn(drawing, f"it cannot be drawn: {error}", note)
    return f"<figure>\n{_scroll(drawn, drawing.title)}{note}</figure>\n"


def _undrawn(drawing: Drawing, reason: str, note: str) -> str:
    told = f"<p><b>{_safe(drawing.title)}</b><br>{_safe(reason)}</p>\n"
    return f'<figure class="undrawn">\n{told}{note}</figure>\n'


def _setting(done: Done) -> str:
    items = [(name, written(value)) for name, value in done.setting.items()]
    items.append(("seed", str(done.experiment.seed)))
    if done.collections:
        items.append(("data", ", ".join(done.collections)))
    if done.seconds >= 0.05:
        items.append(("time", span(done.seconds)))
    terms = "".join(
        f"<div><dt>{_safe(name)}</dt> <dd>{_safe(text)}</dd></div>\n" for name, text in items
    )
    return f'<dl class="setting">\n{terms}</dl>\n'


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


def _claim(claim: Claim) -> str:
    return f"{f'{_OURS} ' if claim.ours else ''}{_safe(claim.text)}"


def _verdict(claim: Claim) -> str:
    sign = f'<span class="sign">{SIGNS[claim.verdict]}</span>'
    return f'<span class="verdict {_KINDS[claim.verdict]}">{sign} {claim.verdict}</span>'


def _scroll(content: str, title: str) -> str:
    """Let what is wider than its card scroll inside it, by keys as well."""
    label = _safe(title)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">\n{content}</div>\n'
    )


def _anchor(done: Done) -> str:
    return _safe(f"{done.paper.name}-{done.experiment.name}")


def _text(text: str) -> str:
    return "".join(f"<p>{_safe(part)}</p>\n" for part in text.split("\n\n"))


def _safe(text: str) -> str:
    """Make text harmless within HTML, attributes included."""
    return escape(harmless(text), quote=True)
