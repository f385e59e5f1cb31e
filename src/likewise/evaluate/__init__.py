"""How good is it?

Runs and judgements in TREC form, measures, and whether a difference is more than chance.
"""

from likewise.evaluate.measures import evaluate
from likewise.evaluate.queries import read_queries
from likewise.evaluate.report import compare
from likewise.evaluate.trec import (
    Qrels,
    Run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

__all__ = [
    "Qrels",
    "Run",
    "compare",
    "evaluate",
    "read_qrels",
    "read_queries",
    "read_run",
    "write_qrels",
    "write_run",
]
