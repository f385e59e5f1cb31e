"""Pages from Jinja2 templates: each one file with its style sheet, no scripts, nothing fetched."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from likewise.show.text import harmless

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
# The style sheet has classes t0 to t3 for so many topics, and t for all others.
COLOURED_TOPICS = 4


class Marked(NamedTuple):
    """A stretch of a text with its style classes and its tooltip; "" for none."""

    text: str
    style: str = ""
    hint: str = ""


class Stretch(NamedTuple):
    """A part of a bar: its style class, its size beside the others', and its tooltip."""

    style: str
    size: float
    hint: str


def render(template: str, *, folder: Path = _HERE, **values: Any) -> str:
    """Fill in a template of a folder, which may extend those that stand here.

    All text that is filled in is escaped, and what a browser would act on is replaced.
    """
    return _environment(folder).get_template(template).render(values)


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        finalize=_filled_in,
        keep_trailing_newline=True,
        loader=FileSystemLoader(list(dict.fromkeys([folder, _HERE]))),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["number"] = format
    return made


def _filled_in(value: Any) -> Any:
    # Markup has been through here already; it knows itself by this method.
    return harmless(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
