"""What was found, as frames: answers for a person, a run for a pipeline of PyTerrier's kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from likewise.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from likewise.evaluate.trec import Run
    from likewise.sources.frames import Frame

LIBRARIES = ("pandas", "polars")
# As PyTerrier calls them.
_RUN = ("qid", "docno", "score", "rank")


def rows_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], library: str) -> Any:
    """Give rows as a frame of pandas or polars; without any it has these columns."""
    if library not in LIBRARIES:
        raise UsageError(f"a frame is one of {' or '.join(LIBRARIES)}, not {library!r}")
    try:
        module = import_module(library)
    except ImportError:
        raise MissingExtra(f"a frame of {library}", extra=library) from None
    if library == "pandas":
        return module.DataFrame(rows, columns=None if rows else list(columns))
    # A field may hold a number here and a text there.
    options = {"infer_schema_length": None, "strict": False}
    return module.DataFrame(rows, schema=None if rows else list(columns), **options)


def run_frame(run: Run, *, like: Frame) -> Any:
    """Give a run as a frame of the library that another one is of; ranks begin with 1."""
    import narwhals as nw

    rows = [
        (qid, doc_id, score, rank)
        for qid, ranking in run.items()
        for rank, (doc_id, score) in enumerate(ranking, 1)
    ]
    columns: Sequence[Sequence[Any]] = [*zip(*rows, strict=True)] or [()] * len(_RUN)
    values = {name: list(column) for name, column in zip(_RUN, columns, strict=True)}
    types = (nw.String(), nw.String(), nw.Float64(), nw.Int64())
    schema = dict(zip(_RUN, types, strict=True))
    return nw.from_dict(values, schema, backend=like.rows.implementation).to_native()
