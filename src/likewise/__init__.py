"""Find the documents like this one, on one CPU, and say exactly why.

import likewise as lw

c = lw.index("papers.jsonl", to="papers.lw")
print(c.search("boundary layer transition"))
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

# For type checkers; `_ROOMS` says the same to Python.
if TYPE_CHECKING:
    from likewise.collection.build import Resources as Resources
    from likewise.engine.answers import Answer as Answer
    from likewise.engine.answers import Answers as Answers
    from likewise.engine.collection import Collection as Collection
    from likewise.engine.collection import open as open
    from likewise.engine.indexing import index as index
    from likewise.engine.upgrading import upgrade as upgrade
    from likewise.errors import LikewiseError as LikewiseError
    from likewise.evaluate import Qrels as Qrels
    from likewise.evaluate import Run as Run
    from likewise.evaluate import compare as compare
    from likewise.evaluate import read_qrels as read_qrels
    from likewise.evaluate import read_queries as read_queries
    from likewise.evaluate import read_run as read_run
    from likewise.evaluate import write_qrels as write_qrels
    from likewise.evaluate import write_run as write_run
    from likewise.evaluate.fusion import fuse_runs as fuse_runs
    from likewise.evaluate.risk import measure_risk as measure_risk
    from likewise.models.bags import Sample as Sample
    from likewise.neighbours.index import build_neighbours as build_neighbours
    from likewise.neighbours.store import open_neighbours as open_neighbours
    from likewise.records import Document as Document
    from likewise.records import Explanation as Explanation
    from likewise.records import Filter as Filter
    from likewise.records import Query as Query
    from likewise.records import QueryDocument as QueryDocument
    from likewise.records import Ranking as Ranking
    from likewise.sources import Columns as Columns
    from likewise.sources import open_source as open_source
    from likewise.stages import Result as Result
    from likewise.stages import Stage as Stage
    from likewise.stages import fuse as fuse
    from likewise.stages.reading import stage as stage
    from likewise.text.analysis import Analysis as Analysis

# A library is quiet unless the program that uses it wants to hear.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = "0.1.0"

# Names are imported when they are first used: `import likewise` costs nothing.
_ROOMS = {
    "collection.build": "Resources",
    "engine.answers": "Answer Answers",
    "engine.collection": "Collection open",
    "engine.indexing": "index",
    "engine.upgrading": "upgrade",
    "errors": "LikewiseError",
    "evaluate": "Qrels Run compare read_qrels read_queries read_run write_qrels write_run",
    "evaluate.fusion": "fuse_runs",
    "evaluate.risk": "measure_risk",
    "models.bags": "Sample",
    "neighbours.index": "build_neighbours",
    "neighbours.store": "open_neighbours",
    "records": "Document Explanation Filter Query QueryDocument Ranking",
    "sources": "Columns open_source",
    "stages": "Result Stage fuse",
    "stages.reading": "stage",
    "text.analysis": "Analysis",
}
_HOME = {name: f"likewise.{room}" for room, names in _ROOMS.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'likewise' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
