"""Queries as a notebook holds them: texts, records, a dict of ids and texts, or a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from likewise.errors import UsageError, WrongType
from likewise.records import Query
from likewise.sources.fields import scalar
from likewise.sources.frames import Frame, as_frame
from likewise.stages.stage import Result, as_results

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame, IntoSeries

Queries: TypeAlias = (
    "str | Query | Result | Iterable[str | Query | Result] | Mapping[str, str] | IntoFrame"
    " | IntoSeries"
)

# As PyTerrier calls them.
_ASKED = ("qid", "query")
_EXPECTED = (
    "queries are a text, a Query, a list of these, a dict of query ids and texts, or a frame with "
    f"the columns {' and '.join(_ASKED)}"
)


def query_frame(given: object) -> Frame | None:
    """Take queries that stand in a frame; None for those that do not."""
    if isinstance(given, str | Query | Result):
        return None
    frame = as_frame(given)
    return None if frame is None or frame.column else frame


def as_queries(given: Queries) -> list[Result]:
    """Take queries as they may be given, or raise."""
    if isinstance(given, str | Query | Result):
        return as_results(given)
    if isinstance(given, Mapping):
        return _identified(given.items())
    frame = as_frame(given)
    if frame is not None:
        return frame_queries(frame)
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise WrongType.of(given, _EXPECTED)
    return as_results(given)


def frame_queries(frame: Frame) -> list[Result]:
    """Take the queries of a frame: a row each, or of a column each text by its number."""
    if frame.column:
        return as_results([_text(text) for (text,) in frame.rows.iter_rows()])
    missing = [name for name in _ASKED if name not in frame.names]
    if missing:
        raise UsageError(
            f"a frame of queries has the columns {' and '.join(_ASKED)}; this one has no "
            f"{' and no '.join(missing)}, but {frame.listed}: rename its columns"
        )
    qid, text = (frame.names.index(name) for name in _ASKED)
    return _identified((row[qid], row[text]) for row in frame.rows.iter_rows())


def _identified(pairs: Iterable[tuple[object, object]]) -> list[Result]:
    found: dict[str, Result] = {}
    for given, text in pairs:
        qid = _qid(given)
        if qid in found:
            raise UsageError(f"two queries have the id {qid!r}")
        found[qid] = Result(Query(qid, _text(text, qid)))
    return [*found.values()]


def _qid(given: object) -> str:
    """Give the id of a query: a text, or a whole number, which becomes one."""
    try:
        found = scalar(given)
    except TypeError:
        found = None
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise WrongType.of(given, "the id of a query is a text that is not empty, or a number")
    return str(found)


def _text(given: object, qid: str = "") -> str:
    if not isinstance(given, str):
        raise WrongType.of(given, f"query {qid!r} is a text" if qid else "a query is a text")
    return given
