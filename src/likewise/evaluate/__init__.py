"""How good is it?

Runs and judgements in TREC form, measures, and whether a difference is more than chance.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# For type checkers; `_HOME` says the same to Python.
if TYPE_CHECKING:
    from likewise.evaluate.measures import evaluate as evaluate
    from likewise.evaluate.queries import read_queries as read_queries
    from likewise.evaluate.report import compare as compare
    from likewise.evaluate.trec import Qrels as Qrels
    from likewise.evaluate.trec import Run as Run
    from likewise.evaluate.trec import read_qrels as read_qrels
    from likewise.evaluate.trec import read_run as read_run
    from likewise.evaluate.trec import write_qrels as write_qrels
    from likewise.evaluate.trec import write_run as write_run

# Names are imported when they are first used: a search needs runs, not measures.
_HOME = {
    "evaluate": "measures",
    "read_queries": "queries",
    "compare": "report",
    **dict.fromkeys(["Qrels", "Run", "read_qrels", "read_run", "write_qrels", "write_run"], "trec"),
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'likewise.evaluate' has no attribute {name!r}")
    return getattr(import_module(f"likewise.evaluate.{_HOME[name]}"), name)
